// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How the page cache is divided among groups by weight, and what its hits count for on drives:
//! `core/cache_shares.c` and `core/cache_hits.c`, with their types.
//!
//! Their headers describe the policies and each field.

#![deny(unsafe_code)]

mod group;
mod hits;
#[allow(unsafe_code)]
mod policy;

pub use group::{Group, Level, Memory};
pub use hits::{Family, Hits};
pub use policy::{count_hits, decide, keep_free};

/// Pages of core, in bytes.
pub const PAGE: u64 = 4096;

/// A weight that counts for itself.
pub const SCALE_ONE: u64 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// Spare memory, pause, capacity and deficit.
    fn keep_of_memory(change: fn(&mut Memory)) -> (u64, u64, u64, u64) {
        let mut memory = Memory {
            free: 10_000,
            high: 10_000,
            file: 790_000,
            rest_ms: 500,
            ..Memory::default()
        };
        change(&mut memory);
        let level = keep_free(&mut memory, 500);
        assert_eq!((memory.was_free, memory.known), (memory.free, 1));
        (memory.spare, memory.pause_ms, level.capacity, level.deficit)
    }

    /// Each fact moves the decision that it is for, so no field is taken for another one.
    #[test]
    fn fields_are_those_of_the_header() {
        let level = Level {
            capacity: 300_000,
            deficit: 1000,
            interval_ms: 500,
        };
        let group = Group {
            weight: 100,
            file: 200_000,
            max: u64::MAX,
            ..Group::default()
        };
        let decided = |change: fn(&mut Group)| {
            let mut groups = [group, group];
            change(&mut groups[0]);
            decide(&level, &mut groups);
            groups[0]
        };
        let plain = decided(|_| {});
        assert_eq!((plain.entitled, plain.granted), (150_000, 150_000));
        assert_eq!((plain.held, plain.known), (200_000, 1));
        assert_eq!(plain.protect, 150_000 - 150_000 / 32);
        assert_eq!(
            (
                plain.hungry,
                decided(|group| group.refaults = 99_999).hungry
            ),
            (0, 1)
        );
        assert!(plain.reclaim > 0 && plain.reclaim <= 500);
        assert_eq!(keep_of_memory(|_| {}), (20_000, 500, 780_000, 10_000));
        assert_eq!(keep_of_memory(|memory| memory.free = 40_000).2, 810_000);
        assert_eq!(keep_of_memory(|memory| memory.high = 30_000).0, 60_000);
        assert_eq!(keep_of_memory(|memory| memory.file = 8000).2, 0);
        assert_eq!(keep_of_memory(|memory| memory.rest_ms = 300).1, 300);
        // 50,000 pages were taken in 500 ms: twice that would be more than an eighth of file memory.
        let inflow = |memory: &mut Memory| {
            memory.known = 1;
            memory.was_free = 20_000;
            memory.freed = 40_000;
        };
        assert_eq!(keep_of_memory(inflow), (108_750, 62, 691_250, 98_750));
        assert_eq!(decided(|group| group.weight = 200).entitled, 200_000);
        assert_eq!(
            decided(|group| group.file = 8).granted,
            decided(|group| group.file = 8).need
        );
        assert_eq!(decided(|group| group.other = 7).protect, plain.protect + 7);
        assert_eq!(decided(|group| group.busy = 200_000).reclaim, 0);
        assert!(decided(|group| group.refaults = 99).need == plain.need + 198);
        assert_eq!(decided(|group| group.low = 190_000).protect, 190_000);
        assert_eq!(decided(|group| group.min = 200_000).reclaim, 0);
        assert_eq!(decided(|group| group.max = 5000).granted, 5000);
        // One that stalls gives nothing because its sibling asks.
        let given = |stalled| {
            let asks = Group {
                file: 100_000,
                refaults: 50_000,
                ..group
            };
            let mut groups = [Group { stalled, ..group }, asks];
            let level = Level {
                deficit: 0,
                ..level
            };
            decide(&level, &mut groups);
            groups[0].reclaim
        };
        assert!(given(0) > 0);
        assert_eq!(given(1000), 0);
    }

    #[test]
    fn fields_of_hits_are_those_of_the_header() {
        let group = Hits {
            weight: 100,
            hungry: 1,
            moved: 1 << 30,
            missed: 1 << 30,
            ..Hits::default()
        };
        let scaled = |change: fn(&mut Hits)| {
            let mut groups = [group, group];
            change(&mut groups[0]);
            count_hits(&mut Family::default(), &mut groups, 1000);
            (groups[0].scale, groups[1].scale)
        };
        assert_eq!(scaled(|_| {}), (SCALE_ONE, SCALE_ONE));
        assert_eq!(scaled(|group| group.missed = 0), (682, 1365));
        assert_eq!(scaled(|group| group.moved = 2 << 30), (682, 1365));
        assert_eq!(
            scaled(|group| (group.missed, group.hungry) = (0, 0)).0,
            1024
        );
        // 819, of which a quarter is not applied: it has a half, and is due three quarters.
        assert_eq!(
            scaled(|group| (group.missed, group.weight) = (0, 300)).0,
            870
        );
        let mut groups = [group];
        let mut family = Family::default();
        count_hits(&mut family, &mut groups, 1000);
        assert_eq!((family.interval_ms, family.withheld), (1000, 0));
        let kept = (
            groups[0].moved_kept,
            groups[0].missed_kept,
            groups[0].hungry_ms,
        );
        assert_eq!(kept, (1 << 30, 1 << 30, 8000));
    }
}
