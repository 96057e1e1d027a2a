// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters of a disk, per second.

use std::time::Duration;

use fgio_sys::counters::Counters;
use serde::Serialize;

/// One class of I/O over an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClassRates {
    pub admitted_per_second: f64,
    pub dispatched_per_second: f64,
    pub completed_per_second: f64,
    /// Bytes of the requests dispatched; `None` when the module does not count
    /// them.
    pub dispatched_bytes_per_second: Option<f64>,
    /// Requests that became of this class after they had been queued.
    pub promoted_per_second: f64,
    pub merged_per_second: f64,
    /// Mean wait in the queue of the requests dispatched, in milliseconds;
    /// `None` when none was dispatched.
    pub mean_queue_wait_ms: Option<f64>,
    /// Mean wait for a slot of the requests admitted, in milliseconds; `None`
    /// when none was admitted.
    pub mean_admission_wait_ms: Option<f64>,
    /// Requests in the device now.
    pub in_device: u64,
    /// Threads that wait for a slot now.
    pub waiting: u64,
}

/// A disk over an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rates {
    pub critical: ClassRates,
    pub noncritical: ClassRates,
    /// Non-critical I/Os released because they had waited long enough.
    pub starvation_releases_per_second: f64,
}

/// The activity between two readings that are `elapsed` apart.
pub fn rates(before: &Counters, now: &Counters, elapsed: Duration) -> Rates {
    let grown = |name: &str| {
        let new = now.get(name).copied().unwrap_or(0);
        let old = before.get(name).copied().unwrap_or(0);
        // Counters start anew when a disk is switched away and back.
        new.checked_sub(old).unwrap_or(new) as f64
    };
    let seconds = elapsed.as_secs_f64().max(1e-9);
    let class = |class: &str| {
        let grown = |name: &str| grown(&format!("{class}_{name}"));
        let present = |name: &str| now.get(&format!("{class}_{name}")).copied().unwrap_or(0);
        let (admitted, dispatched) = (grown("admitted"), grown("dispatched"));
        let mean_ms = |wait: f64, count: f64| (count > 0.0).then(|| wait / count / 1e6);
        ClassRates {
            admitted_per_second: admitted / seconds,
            dispatched_per_second: dispatched / seconds,
            completed_per_second: grown("completed") / seconds,
            dispatched_bytes_per_second: now
                .contains_key(&format!("{class}_dispatched_bytes"))
                .then(|| grown("dispatched_bytes") / seconds),
            promoted_per_second: grown("promoted") / seconds,
            merged_per_second: grown("merged") / seconds,
            mean_queue_wait_ms: mean_ms(grown("waited_ns"), dispatched),
            mean_admission_wait_ms: mean_ms(grown("admission_waited_ns"), admitted),
            in_device: present("in_device"),
            waiting: present("waiting"),
        }
    };
    Rates {
        critical: class("critical"),
        noncritical: class("noncritical"),
        starvation_releases_per_second: grown("starvation_releases") / seconds,
    }
}

#[cfg(test)]
mod tests {
    use fgio_sys::counters::parse;

    use super::*;

    #[test]
    fn rates_are_per_second() {
        let before =
            parse("critical_completed 100\ncritical_dispatched 100\ncritical_waited_ns 1000000\n");
        let now = parse(
            "critical_completed 300\ncritical_dispatched 200\ncritical_dispatched_bytes 8192\ncritical_waited_ns 51000000\ncritical_waiting 3\nnot a number\n",
        );
        let rates = rates(&before, &now, Duration::from_secs(2));
        assert_eq!(rates.critical.completed_per_second, 100.0);
        assert_eq!(rates.critical.mean_queue_wait_ms, Some(0.5));
        assert_eq!(rates.critical.dispatched_bytes_per_second, Some(4096.0));
        assert_eq!(rates.noncritical.dispatched_bytes_per_second, None);
        assert_eq!(rates.critical.waiting, 3);
        assert_eq!(rates.noncritical.mean_queue_wait_ms, None);
    }

    #[test]
    fn counters_that_start_anew_are_no_huge_rates() {
        let before = parse("critical_completed 100\n");
        let now = parse("critical_completed 10\n");
        let rates = rates(&before, &now, Duration::from_secs(1));
        assert_eq!(rates.critical.completed_per_second, 10.0);
    }
}
