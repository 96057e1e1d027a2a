// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Metrics: names, units and meanings of all counters, in one place for
//! the daemon and for exports of recordings.

use fgio_sys::counters::Counters;
use fgio_sys::inheritance::State;
use fgio_sys::share::Share;

use crate::share::ShareTotals;

/// The prefix of the names of all metrics.
pub const PREFIX: &str = "fgio";

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A present figure.
    Gauge,
    /// A total that only grows until it begins anew.
    Counter,
}

/// The unit of a metric; none for a plain count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Bytes,
    Ratio,
}

impl Unit {
    /// The name, with which names of metrics end.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
            Self::Ratio => "ratio",
        }
    }
}

/// A metric of things of type `T`.
#[derive(Debug)]
pub struct Metric<T: ?Sized> {
    /// Without prefix, unit and the `total` of counters.
    pub name: &'static str,
    pub sort: Sort,
    pub unit: Option<Unit>,
    pub help: &'static str,
    /// `None` where the module does not count it.
    pub value: fn(&T) -> Option<f64>,
}

impl<T: ?Sized> Metric<T> {
    /// Name and unit: the name of a family in OpenMetrics, without its prefix.
    pub fn family(&self) -> String {
        match self.unit {
            Some(unit) => format!("{}_{}", self.name, unit.name()),
            None => self.name.to_owned(),
        }
    }
}

const fn gauge<T: ?Sized>(
    name: &'static str,
    help: &'static str,
    value: fn(&T) -> Option<f64>,
) -> Metric<T> {
    Metric {
        name,
        sort: Sort::Gauge,
        unit: None,
        help,
        value,
    }
}

const fn counter<T: ?Sized>(
    name: &'static str,
    unit: Option<Unit>,
    help: &'static str,
    value: fn(&T) -> Option<f64>,
) -> Metric<T> {
    Metric {
        name,
        sort: Sort::Counter,
        unit,
        help,
        value,
    }
}

const SECONDS: Option<Unit> = Some(Unit::Seconds);

fn of_ms(ms: f64) -> Option<f64> {
    Some(ms / 1e3)
}

fn of(count: u64) -> Option<f64> {
    Some(count as f64)
}

/// Counters of inheritance and the watchdog; totals since the module was loaded.
pub const STATE: [Metric<State>; 16] = [
    gauge(
        "foreground_waiting",
        "Foreground threads that wait now",
        |state| of(state.foreground_waiting.into()),
    ),
    gauge("boosted_threads", "Threads boosted now", |state| {
        of(state.boosted.into())
    }),
    gauge(
        "watchdog_tripped",
        "Disks that the watchdog lets through",
        |state| of(state.watchdog.disks.into()),
    ),
    counter("boosts", None, "Boosts granted", |state| of(state.boosts)),
    counter("boosted", SECONDS, "Thread time under a boost", |state| {
        of_ms(state.boosted_ms)
    }),
    counter(
        "boosted_in_vain",
        SECONDS,
        "Thread time under a boost that served no wait, at most",
        |state| of_ms(state.boosted_in_vain_ms),
    ),
    counter(
        "promoted_requests",
        None,
        "Queued requests made critical",
        |state| of(state.promoted_requests),
    ),
    counter(
        "promoted_sleepers",
        None,
        "Threads made critical while they slept for a slot of the queue",
        |state| of(state.promoted_sleepers),
    ),
    counter(
        "promoted_writers",
        None,
        "Threads released from the dirty limit",
        |state| of(state.promoted_writers),
    ),
    counter(
        "parked",
        SECONDS,
        "Thread time at the dirty limit",
        |state| of_ms(state.parked_ms),
    ),
    counter("walks", None, "Walks over the wait graph", |state| {
        of(state.walks)
    }),
    counter("walk", SECONDS, "Time of these walks", |state| {
        of_ms(state.walk_ms)
    }),
    counter(
        "walk_overflows",
        None,
        "Threads that a walk had no room for",
        |state| of(state.walk_overflows),
    ),
    counter(
        "waits_lost",
        None,
        "Waits not recorded, or given up, because a table was full",
        |state| of(state.waits_lost),
    ),
    counter(
        "watches_lost",
        None,
        "Awaited conditions pushed out of the history of wakers",
        |state| of(state.watches_lost),
    ),
    counter(
        "blame_lost",
        None,
        "Entries of the blame ring that were overwritten",
        |state| of(state.blame_lost),
    ),
];

/// The metric of the state that is called `name`.
pub fn of_state(name: &str) -> Option<&'static Metric<State>> {
    STATE.iter().find(|metric| metric.name == name)
}

const fn share_gauge(
    name: &'static str,
    unit: Option<Unit>,
    help: &'static str,
    value: fn(&Share) -> Option<f64>,
) -> Metric<Share> {
    Metric {
        unit,
        ..gauge(name, help, value)
    }
}

/// The share of a cgroup of a disk, now.
pub const SHARE: [Metric<Share>; 4] = [
    share_gauge("share_weight", None, "Weight of the cgroup", |share| {
        of(share.weight.into())
    }),
    share_gauge(
        "share_guarantee",
        Some(Unit::Ratio),
        "Part of the disk's time that the cgroup is guaranteed",
        |share| Some(share.guarantee),
    ),
    share_gauge(
        "share_lag",
        SECONDS,
        "Disk time that the cgroup is behind its guarantee",
        |share| Some(share.lag_ns as f64 / 1e9),
    ),
    share_gauge(
        "share_queued_requests",
        None,
        "Requests of the cgroup in the scheduler's queue now",
        |share| of(share.queued.into()),
    ),
];

/// The same in total, also of several cgroups together.
pub const SHARE_TOTALS: [Metric<ShareTotals>; 4] = [
    counter(
        "share_disk",
        SECONDS,
        "Disk time charged to the cgroup",
        |totals| Some(totals.drive_ns as f64 / 1e9),
    ),
    counter(
        "share_requests",
        None,
        "Requests of the cgroup sent to the disk",
        |totals| of(totals.requests),
    ),
    counter(
        "share_sent",
        Some(Unit::Bytes),
        "Bytes of these requests",
        |totals| of(totals.bytes),
    ),
    counter(
        "share_holds",
        None,
        "Times that the cgroup was below its guarantee and others were held back",
        |totals| of(totals.held),
    ),
];

/// A metric of one class of I/O of a disk under fgio, or of the disk as a whole.
#[derive(Debug)]
pub struct DiskMetric {
    /// As the module calls it, without the class.
    counter: &'static str,
    /// Nanoseconds in the module's counters are seconds here.
    scale: f64,
    metric: Metric<f64>,
}

impl DiskMetric {
    pub fn metric(&self) -> &Metric<f64> {
        &self.metric
    }

    /// The value for a class (see [`CLASSES`]), or of the disk without one; `None` where
    /// the module does not count it.
    pub fn value(&self, counters: &Counters, class: Option<&str>) -> Option<f64> {
        let count = match class {
            Some(class) => counters.get(&format!("{class}_{}", self.counter)),
            None => counters.get(self.counter),
        };
        count.and_then(|&count| (self.metric.value)(&(count as f64 * self.scale)))
    }
}

/// The classes of I/O, as counters and labels call them.
pub const CLASSES: [&str; 2] = ["critical", "noncritical"];

const fn requests(counter: &'static str, name: &'static str, help: &'static str) -> DiskMetric {
    DiskMetric {
        counter,
        scale: 1.0,
        metric: self::counter(name, None, help, |value| Some(*value)),
    }
}

const fn present(name: &'static str, metric: &'static str, help: &'static str) -> DiskMetric {
    DiskMetric {
        counter: name,
        scale: 1.0,
        metric: gauge(metric, help, |value| Some(*value)),
    }
}

const fn seconds(counter: &'static str, name: &'static str, help: &'static str) -> DiskMetric {
    DiskMetric {
        counter,
        scale: 1e-9,
        metric: self::counter(name, SECONDS, help, |value| Some(*value)),
    }
}

/// Counters for each class of I/O of a disk.
pub const OF_CLASS: [DiskMetric; 11] = [
    requests(
        "admitted",
        "disk_admitted_requests",
        "Requests that got a slot of the queue",
    ),
    requests("queued", "disk_queued_requests", "Requests queued"),
    requests(
        "dispatched",
        "disk_dispatched_requests",
        "Requests sent to the device",
    ),
    DiskMetric {
        counter: "dispatched_bytes",
        scale: 1.0,
        metric: counter(
            "disk_dispatched",
            Some(Unit::Bytes),
            "Bytes of the requests sent to the device",
            |value| Some(*value),
        ),
    },
    requests("completed", "disk_completed_requests", "Requests completed"),
    requests(
        "promoted",
        "disk_promoted_requests",
        "Queued requests that became critical",
    ),
    requests(
        "merged",
        "disk_merged_requests",
        "I/Os merged into queued requests",
    ),
    seconds(
        "waited_ns",
        "disk_queue_wait",
        "Time in the queue of the requests sent to the device",
    ),
    seconds(
        "admission_waited_ns",
        "disk_slot_wait",
        "Thread time spent waiting for a slot of the queue",
    ),
    present(
        "in_device",
        "disk_in_device_requests",
        "Requests in the device now",
    ),
    present(
        "waiting",
        "disk_waiting_threads",
        "Threads that wait for a slot of the queue now",
    ),
];

/// Counters of a disk as a whole.
pub const OF_DISK: [DiskMetric; 3] = [
    requests(
        "starvation_releases",
        "disk_starvation_releases",
        "Non-critical requests released because they had waited long enough",
    ),
    requests(
        "critical_flushes",
        "disk_critical_flushes",
        "Flushes of critical I/O",
    ),
    seconds(
        "critical_flushes_ns",
        "disk_critical_flush",
        "Time of flushes of critical I/O",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_those_of_the_field_and_unique() {
        let state = STATE.iter().map(|metric| (metric.family(), metric.help));
        let disks = OF_CLASS.iter().chain(&OF_DISK);
        let disks = disks.map(|disk| (disk.metric.family(), disk.metric.help));
        let shares = SHARE.iter().map(|metric| (metric.family(), metric.help));
        let totals = SHARE_TOTALS
            .iter()
            .map(|metric| (metric.family(), metric.help));
        let all: Vec<(String, &str)> = state.chain(disks).chain(shares).chain(totals).collect();
        let is_of_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        for (name, help) in &all {
            assert!(name.chars().all(is_of_name), "{name}");
            assert!(!name.ends_with("_total") && !help.is_empty(), "{name}");
        }
        let names: BTreeSet<&String> = all.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), all.len());
        assert!(of_state("boosts").is_some() && of_state("nonsense").is_none());
    }

    #[test]
    fn counters_of_disks_become_base_units() {
        let counters = Counters::from([
            ("critical_waited_ns".to_owned(), 1_500_000_000),
            ("critical_flushes".to_owned(), 3),
        ]);
        let find = |name: &str| {
            let mut all = OF_CLASS.iter().chain(&OF_DISK);
            all.find(|disk| disk.metric.name == name).unwrap()
        };
        let value = |name: &str, class| find(name).value(&counters, class);
        assert_eq!(value("disk_queue_wait", Some("critical")), Some(1.5));
        assert_eq!(value("disk_queue_wait", Some("noncritical")), None);
        assert_eq!(value("disk_critical_flushes", None), Some(3.0));
    }
}
