// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How the page cache is divided among groups by weight: `core/cache_shares.c`, with its types.
//!
//! `core/cache_shares.h` describes the policy and each field.

#![deny(unsafe_code)]

mod group;
#[allow(unsafe_code)]
mod policy;

pub use group::{Group, Level};
pub use policy::decide;

/// Pages of core, in bytes.
pub const PAGE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(plain.reclaim > 0 && plain.reclaim <= 500);
        assert_eq!(decided(|group| group.weight = 200).entitled, 200_000);
        assert_eq!(
            decided(|group| group.file = 8).granted,
            decided(|group| group.file = 8).need
        );
        assert_eq!(decided(|group| group.other = 7).protect, plain.protect + 7);
        assert!(decided(|group| group.refaults = 99).need == plain.need + 198);
        assert_eq!(decided(|group| group.low = 190_000).protect, 190_000);
        assert_eq!(decided(|group| group.min = 200_000).reclaim, 0);
        assert_eq!(decided(|group| group.max = 5000).granted, 5000);
        assert_eq!(decided(|group| group.stalled = 1000).reclaim, 0);
    }
}
