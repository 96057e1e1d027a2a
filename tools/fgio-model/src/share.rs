// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fair shares: what each cgroup got of a disk over an interval, beside its guarantee.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fgio_sys::cgroup::Cgroup;
use fgio_sys::share::{Share, Shares};
use serde::Serialize;

/// Parts that differ by less than this part of the guarantee are alike.
const SLACK: f64 = 0.05;

/// How a cgroup stands to its guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// No I/O.
    Idle,
    /// It got less, and still had I/O to do.
    Below,
    /// It got less, and did not ask for more.
    AsksLess,
    /// It got its guarantee.
    Due,
    /// It got more: what others left.
    Above,
}

impl Standing {
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Below => "below",
            Self::AsksLess => "asks less",
            Self::Due => "as due",
            Self::Above => "above",
        }
    }
}

/// A cgroup's share of a disk over an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CgroupShare {
    /// `None`: it has gone, or is in another hierarchy.
    pub cgroup: Option<Cgroup>,
    pub id: u64,
    pub weight: u32,
    /// Part of the disk's time, 0 to 1, that it has by its weight; if it does not ask,
    /// the part that it would have.
    pub guarantee: f64,
    /// Part of the disk's time that it got, of all that was charged to cgroups; 0
    /// while the disk is not shared.
    pub got: f64,
    pub standing: Standing,
    pub requests_per_second: f64,
    pub bytes_per_second: f64,
    /// Times per second that others were held back, since it was below its guarantee.
    pub held_per_second: f64,
    /// Behind its guarantee now.
    pub lag_ms: f64,
    pub queued: u32,
    pub in_drive: u32,
    /// What its weight counts for, as a part of it, by hits in the page cache; `None`: for itself.
    pub scale: Option<f64>,
}

impl CgroupShare {
    /// Its path, or what is known of it.
    pub fn name(&self) -> String {
        match &self.cgroup {
            Some(cgroup) => cgroup.path().to_owned(),
            None => format!("(gone, id {})", self.id),
        }
    }

    pub fn is_idle(&self) -> bool {
        self.standing == Standing::Idle
    }
}

/// The cgroups that have used a disk, those that got most of it first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiskShares {
    pub device: String,
    /// It came under fgio while the setting `shares` was not 0.
    pub followed: bool,
    /// It is shared by weight now.
    pub shared: bool,
    pub cgroups: Vec<CgroupShare>,
}

/// Compares two readings that are `elapsed` apart. A cgroup that came in between, or
/// whose totals began anew, counts from 0.
pub fn compare(
    device: &str,
    before: &Shares,
    now: &Shares,
    elapsed: Duration,
    paths: &BTreeMap<u64, Cgroup>,
) -> DiskShares {
    let old: BTreeMap<u64, &Share> = before.cgroups.iter().map(|one| (one.cgroup, one)).collect();
    let grown = |share: &Share, total: fn(&Share) -> u64| {
        let before = old.get(&share.cgroup).map_or(0, |old| total(old));
        total(share).checked_sub(before).unwrap_or(total(share)) as f64
    };
    let drive = |share: &Share| grown(share, |share| share.drive_ns);
    let all: f64 = now.cgroups.iter().map(drive).sum();
    let seconds = elapsed.as_secs_f64().max(1e-9);
    let describe = |share: &Share| {
        let requests = grown(share, |share| share.requests);
        let got = if all > 0.0 { drive(share) / all } else { 0.0 };
        CgroupShare {
            cgroup: paths.get(&share.cgroup).cloned(),
            id: share.cgroup,
            weight: share.weight,
            guarantee: share.guarantee,
            got,
            standing: standing(share, requests, got),
            requests_per_second: requests / seconds,
            bytes_per_second: grown(share, |share| share.bytes) / seconds,
            held_per_second: grown(share, |share| share.held) / seconds,
            lag_ms: share.lag_ns as f64 / 1e6,
            queued: share.queued,
            in_drive: share.in_drive,
            scale: share.scale,
        }
    };
    let mut cgroups: Vec<CgroupShare> = now.cgroups.iter().map(describe).collect();
    cgroups.sort_by(|one, other| {
        let order = other.got.total_cmp(&one.got);
        order.then(other.guarantee.total_cmp(&one.guarantee))
    });
    DiskShares {
        device: device.to_owned(),
        followed: now.followed,
        shared: now.on,
        cgroups,
    }
}

fn standing(share: &Share, requests: f64, got: f64) -> Standing {
    if !share.asks && requests == 0.0 {
        Standing::Idle
    } else if got > share.guarantee * (1.0 + SLACK) {
        Standing::Above
    } else if got >= share.guarantee * (1.0 - SLACK) {
        Standing::Due
    } else if share.lag_ns > 0 || share.queued > 0 {
        Standing::Below
    } else {
        Standing::AsksLess
    }
}

/// One step on the way from the root to a cgroup: its weight among those beside it that
/// do I/O, or have a cgroup below them that does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The cgroup; at the last step, its own tasks beside its children.
    pub cgroup: Option<Cgroup>,
    pub weight: u32,
    /// The weight as it counts, and the sum of it and of those beside it.
    pub counts: f64,
    pub of: f64,
    /// The weights beside it by the paths of their cgroups.
    pub beside: Vec<(String, u32)>,
}

impl Step {
    pub fn part(&self) -> f64 {
        self.counts / self.of.max(1.0)
    }
}

/// How the guarantee of the cgroup `id` comes about: the parts of all steps, multiplied.
/// Empty: it has not used the disk.
pub fn steps(shares: &Shares, id: u64, paths: &BTreeMap<u64, Cgroup>) -> Vec<Step> {
    let by_id: BTreeMap<u64, &Share> = shares.cgroups.iter().map(|one| (one.cgroup, one)).collect();
    let active = active(&by_id);
    let mut steps = Vec::new();
    let Some(share) = by_id.get(&id) else {
        return steps;
    };
    let name = |id: u64| match paths.get(&id) {
        Some(cgroup) => cgroup.path().to_owned(),
        None => format!("(gone, id {id})"),
    };
    let step = |share: &Share, parent: u64, is_own: bool| {
        let children = by_id.values().filter(|one| one.parent == parent);
        let children: Vec<&&Share> = children
            .filter(|one| active.contains(&one.cgroup))
            .filter(|one| is_own || one.cgroup != share.cgroup)
            .collect();
        // What a cgroup hits counts in all of it, and not in its own tasks beside its children.
        let counts = match is_own {
            true => f64::from(share.weight),
            false => share.counted_weight(),
        };
        let mut of: f64 = children.iter().map(|one| one.counted_weight()).sum();
        of += counts;
        let mut beside: Vec<(String, u32)> = (children.iter())
            .map(|one| (name(one.cgroup), one.weight))
            .collect();
        if let Some(parent) = by_id.get(&parent)
            && !is_own
            && parent.asks
        {
            beside.push((format!("tasks of {}", name(parent.cgroup)), parent.weight));
            of += f64::from(parent.weight);
        }
        Step {
            cgroup: paths.get(&share.cgroup).cloned(),
            weight: share.weight,
            counts,
            of,
            beside,
        }
    };
    let own = step(share, share.cgroup, true);
    if !own.beside.is_empty() || share.parent == 0 {
        steps.push(own);
    }
    let mut at = *share;
    while at.parent != 0 {
        steps.push(step(at, at.parent, false));
        match by_id.get(&at.parent) {
            Some(parent) => at = parent,
            None => break,
        }
    }
    steps.reverse();
    steps
}

/// The cgroups that ask, and all above them.
fn active(by_id: &BTreeMap<u64, &Share>) -> BTreeSet<u64> {
    let mut active = BTreeSet::new();
    for share in by_id.values().filter(|share| share.asks) {
        let mut at = Some(*share);
        while let Some(share) = at.filter(|share| active.insert(share.cgroup)) {
            at = by_id.get(&share.parent).copied();
        }
    }
    active
}

/// What cgroups got of a disk in total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShareTotals {
    pub drive_ns: u64,
    pub requests: u64,
    pub bytes: u64,
    pub held: u64,
}

impl ShareTotals {
    pub fn of(share: &Share) -> Self {
        Self {
            drive_ns: share.drive_ns,
            requests: share.requests,
            bytes: share.bytes,
            held: share.held,
        }
    }

    /// Adds the growth from `before`; all of `now` where totals began anew.
    fn grow(&mut self, before: Self, now: Self) {
        let before = match now.requests < before.requests || now.drive_ns < before.drive_ns {
            true => Self::default(),
            false => before,
        };
        self.drive_ns += now.drive_ns.saturating_sub(before.drive_ns);
        self.requests += now.requests.saturating_sub(before.requests);
        self.bytes += now.bytes.saturating_sub(before.bytes);
        self.held += now.held.saturating_sub(before.held);
    }
}

/// The cgroups of a disk that got most of it in total, each by itself, and the rest
/// together: as many series, however many cgroups there are.
#[derive(Clone, Debug, Default)]
pub struct Largest {
    seen: BTreeMap<u64, ShareTotals>,
    /// What cgroups got while they were in the rest. Only grows.
    pub rest: ShareTotals,
    /// Cgroups in the rest now.
    pub rest_count: usize,
}

impl Largest {
    /// Takes a reading; returns those that are named, `most` of them at most. One
    /// without a path is in the rest.
    pub fn update<'a>(
        &mut self,
        shares: &'a Shares,
        paths: &'a BTreeMap<u64, Cgroup>,
        most: usize,
    ) -> Vec<(&'a Cgroup, &'a Share)> {
        let mut all: Vec<&Share> = shares.cgroups.iter().collect();
        all.sort_by_key(|share| (std::cmp::Reverse(share.drive_ns), share.cgroup));
        let mut named = Vec::new();
        let mut seen = BTreeMap::new();
        for share in all {
            let now = ShareTotals::of(share);
            seen.insert(share.cgroup, now);
            match paths.get(&share.cgroup) {
                Some(cgroup) if named.len() < most => named.push((cgroup, share)),
                _ => {
                    let before = self.seen.get(&share.cgroup).copied();
                    self.rest.grow(before.unwrap_or_default(), now);
                }
            }
        }
        self.rest_count = seen.len() - named.len();
        self.seen = seen;
        named
    }
}

#[cfg(test)]
mod tests {
    use fgio_sys::cgroup;
    use fgio_sys::fixture::Fixture;

    use super::*;

    fn share(cgroup: u64, parent: u64, weight: u32, asks: bool) -> Share {
        Share {
            cgroup,
            parent,
            weight,
            asks,
            ..Share::default()
        }
    }

    fn shares(cgroups: &[Share]) -> Shares {
        Shares {
            followed: true,
            on: true,
            cgroups: cgroups.to_vec(),
        }
    }

    fn compared(before: &[Share], now: &[Share]) -> DiskShares {
        let second = Duration::from_secs(2);
        compare(
            "sda",
            &shares(before),
            &shares(now),
            second,
            &BTreeMap::new(),
        )
    }

    #[test]
    fn what_each_got_is_a_part_of_all_that_was_charged() {
        let old = [Share {
            drive_ns: 1000,
            requests: 10,
            ..share(2, 1, 300, true)
        }];
        let now = [
            Share {
                drive_ns: 100,
                bytes: 8192,
                guarantee: 0.25,
                ..share(3, 1, 100, true)
            },
            Share {
                drive_ns: 1300,
                requests: 14,
                guarantee: 0.75,
                ..share(2, 1, 300, true)
            },
        ];
        let found = compared(&old, &now);
        let ids: Vec<u64> = found.cgroups.iter().map(|one| one.id).collect();
        assert_eq!(ids, [2, 3]);
        assert_eq!((found.cgroups[0].got, found.cgroups[1].got), (0.75, 0.25));
        assert_eq!(found.cgroups[0].requests_per_second, 2.0);
        assert_eq!(found.cgroups[1].bytes_per_second, 4096.0);
        assert!(
            found
                .cgroups
                .iter()
                .all(|one| one.standing == Standing::Due)
        );
        // Totals that began anew.
        let found = compared(&now, &old);
        assert_eq!(found.cgroups[0].got, 1.0);
        assert!(found.cgroups[0].name().contains("id 2"));
    }

    #[test]
    fn less_than_the_guarantee_is_below_only_where_more_was_asked_for() {
        let other = |drive_ns| Share {
            drive_ns,
            ..share(9, 1, 100, true)
        };
        let standing = |share: Share, others: u64| {
            let found = compared(&[], &[share, other(others)]);
            let one = found.cgroups.iter().find(|one| one.id == 2).unwrap();
            one.standing
        };
        let base = Share {
            drive_ns: 100,
            guarantee: 0.5,
            ..share(2, 1, 100, true)
        };
        assert_eq!(standing(base.clone(), 300), Standing::AsksLess);
        assert_eq!(
            standing(
                Share {
                    queued: 1,
                    ..base.clone()
                },
                300
            ),
            Standing::Below
        );
        assert_eq!(
            standing(
                Share {
                    lag_ns: 1,
                    ..base.clone()
                },
                300
            ),
            Standing::Below
        );
        assert_eq!(
            standing(
                Share {
                    lag_ns: 1,
                    ..base.clone()
                },
                104
            ),
            Standing::Due
        );
        assert_eq!(standing(base.clone(), 50), Standing::Above);
        assert_eq!(standing(share(2, 1, 100, false), 50), Standing::Idle);
    }

    fn product(shares: &Shares, id: u64) -> f64 {
        let steps = steps(shares, id, &BTreeMap::new());
        steps.iter().map(Step::part).product()
    }

    #[test]
    fn steps_multiply_to_the_guarantee() {
        // 1 root; 2 (300) and 3 (100) below it; 4 (100) and 5 (300) below 2; 6 below 3.
        let mut all = vec![
            share(1, 0, 100, false),
            share(2, 1, 300, false),
            share(3, 1, 100, true),
            share(4, 2, 100, true),
            share(5, 2, 300, true),
            share(6, 3, 100, false),
        ];
        let now = shares(&all);
        assert_eq!(product(&now, 5), 0.75 * 0.75);
        assert_eq!(product(&now, 4), 0.75 * 0.25);
        assert_eq!(product(&now, 3), 0.25);
        assert_eq!(steps(&now, 3, &BTreeMap::new()).len(), 1);
        // An idle sibling does not count; one that would ask does.
        all[4].asks = false;
        assert_eq!(product(&shares(&all), 4), 0.75);
        assert_eq!(product(&shares(&all), 5), 0.75 * 0.75);
        // Tasks of a cgroup beside its children, and those of the root.
        all[5].asks = true;
        assert_eq!(product(&shares(&all), 3), 0.25 * 0.5);
        all[0].asks = true;
        assert_eq!(product(&shares(&all), 3), 0.2 * 0.5);
        assert_eq!(product(&shares(&all), 1), 0.2);
        assert!(steps(&now, 77, &BTreeMap::new()).is_empty());
    }

    /// A weight counts among siblings as the module says, and in full for tasks beside children.
    #[test]
    fn steps_count_weights_as_they_are_scaled() {
        let scaled = |share: Share, scale: f64| Share {
            scale: Some(scale),
            ..share
        };
        let all = shares(&[
            share(1, 0, 100, false),
            scaled(share(2, 1, 300, true), 0.5),
            scaled(share(3, 1, 100, true), 2.5),
            share(4, 2, 300, true),
        ]);
        let of = |id| -> Vec<(u32, f64, f64)> {
            let steps = steps(&all, id, &BTreeMap::new());
            let figures = steps.iter().map(|step| (step.weight, step.counts, step.of));
            figures.collect()
        };
        assert_eq!(of(3), [(100, 250.0, 400.0)]);
        assert_eq!(of(4), [(300, 150.0, 400.0), (300, 300.0, 600.0)]);
        assert_eq!(of(2), [(300, 150.0, 400.0), (300, 300.0, 600.0)]);
    }

    #[test]
    fn cgroups_have_the_names_of_their_folders() {
        let fixture = Fixture::new();
        fixture.file("/sys/fs/cgroup/cgroup.controllers", "io\n");
        fixture.file("/sys/fs/cgroup/a/cgroup.controllers", "io\n");
        let paths = cgroup::paths(fixture.root()).unwrap();
        let id = cgroup::find(fixture.root(), "/a")
            .unwrap()
            .id(fixture.root())
            .unwrap();
        let now = shares(&[share(id, 1, 100, true)]);
        let found = compare("sda", &Shares::default(), &now, Duration::ZERO, &paths);
        assert_eq!(found.cgroups[0].name(), "/a");
    }

    #[test]
    fn the_rest_of_many_cgroups_only_grows() {
        let fixture = Fixture::new();
        fixture.file("/sys/fs/cgroup/cgroup.controllers", "io\n");
        for number in 0..9 {
            fixture.file(
                &format!("/sys/fs/cgroup/n{number}/cgroup.controllers"),
                "io\n",
            );
        }
        let paths = cgroup::paths(fixture.root()).unwrap();
        let ids: Vec<u64> = paths.keys().copied().collect();
        let mut largest = Largest::default();
        let mut read = |drive_ns: &[u64]| {
            let one = |(id, ns): (&u64, &u64)| Share {
                drive_ns: *ns,
                requests: *ns,
                ..share(*id, 0, 100, true)
            };
            let now = shares(&ids.iter().zip(drive_ns).map(one).collect::<Vec<_>>());
            let named = largest.update(&now, &paths, 2);
            let named: Vec<u64> = named.iter().map(|(_, share)| share.drive_ns).collect();
            (named, largest.rest.drive_ns, largest.rest_count)
        };
        assert_eq!(read(&[50, 40, 3, 2]), (vec![50, 40], 5, 2));
        // The third enters: what it got before stays in the rest.
        assert_eq!(read(&[50, 40, 60, 4]), (vec![60, 50], 7, 2));
        // The second, now in the rest, adds what it got since.
        assert_eq!(read(&[50, 45, 60, 4]), (vec![60, 50], 12, 2));
        // One has gone, and one began anew.
        assert_eq!(read(&[1, 45]), (vec![45, 1], 12, 0));
        assert_eq!(read(&[]), (vec![], 12, 0));
        // Without a path.
        let nameless = shares(&[Share {
            drive_ns: 7,
            ..share(u64::MAX, 0, 100, true)
        }]);
        assert!(largest.update(&nameless, &paths, 2).is_empty());
        assert_eq!((largest.rest.drive_ns, largest.rest_count), (19, 1));
    }
}
