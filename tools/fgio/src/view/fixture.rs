// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Samples of a system that does not exist, for tests.

use fgio_model::sample::{DeviceSample, LoadedModule, Sample, Tags, Task, Waits};
use fgio_sys::counters::Counters;
use fgio_sys::inheritance::State;
use fgio_sys::wait::{Actions, Kind, Reason, Step, Wait};

const S: i64 = 1_000_000_000;
pub const BEGIN_S: i64 = 1_700_000_000;

const JOURNAL_COMMIT: u32 = 6;
const RWSEM_WRITE: u32 = 3;
const IO: u32 = 24;

fn step(tid: i32, comm: &str, kind: u32) -> Step {
    Step {
        tid: Some(tid),
        comm: Some(comm.to_owned()),
        kind: Some(Kind::new(kind)),
    }
}

fn wait(tid: i32, second: u64, waited_ms: f64, kind: u32, steps: Vec<Step>) -> Wait {
    Wait {
        end_ns: second * S.unsigned_abs() - 1000,
        waited_ms,
        tid,
        comm: "postgres".to_owned(),
        kind: Kind::new(kind),
        inner_kind: Kind::new(if steps.is_empty() { kind } else { IO }),
        object: 7,
        request: None,
        reason: Reason::FOUND,
        actions: Actions {
            boosted: steps.len() > 1,
            promoted_request: !steps.is_empty(),
            ..Actions::default()
        },
        steps,
    }
}

/// Three waits that ended in a second.
fn waits(second: u64) -> Vec<Wait> {
    let journal = step(211, "jbd2/vda-8", IO);
    let writer = step(4321, "pg_basebackup", JOURNAL_COMMIT);
    let long = 20.0 + second as f64;
    vec![
        wait(1001, second, 12.5, IO, Vec::new()),
        wait(1002, second, long, JOURNAL_COMMIT, vec![journal.clone()]),
        wait(1003, second, 45.0, RWSEM_WRITE, vec![writer, journal]),
    ]
}

fn counters(second: u64) -> Counters {
    let counters = [
        ("critical_admitted", 1000 * second),
        ("critical_dispatched", 1000 * second),
        ("critical_dispatched_bytes", 8_192_000 * second),
        ("critical_completed", 1000 * second),
        ("critical_promoted", 12 * second),
        ("critical_waited_ns", 250_000_000 * second),
        ("critical_admission_waited_ns", 0),
        ("critical_in_device", 3),
        ("critical_waiting", 0),
        ("noncritical_admitted", 70 * second),
        ("noncritical_dispatched", 70 * second),
        ("noncritical_dispatched_bytes", 35_000_000 * second),
        ("noncritical_completed", 70 * second),
        ("noncritical_waited_ns", 1_260_000_000 * second),
        ("noncritical_admission_waited_ns", 15_400_000_000 * second),
        ("noncritical_in_device", 1),
        ("noncritical_waiting", 104),
    ];
    let counters = counters.into_iter();
    counters
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The sample of a second since [`BEGIN_S`].
pub fn sample(second: u64) -> Sample {
    let tasks = (1001..1009).map(|tid| Task {
        tid,
        comm: Some("postgres".to_owned()),
    });
    let disk = |device: &str, scheduler: &str, counters| DeviceSample {
        device: device.to_owned(),
        scheduler: scheduler.to_owned(),
        counters,
    };
    Sample {
        at_ns: BEGIN_S * S + second.cast_signed() * S,
        monotonic_ns: second * S.unsigned_abs(),
        module: Some(LoadedModule {
            version: Some("0.1.0".to_owned()),
            instance: 1,
            boost: Some(true),
            threshold_us: Some(10_000),
            state: Some(State {
                foreground_waiting: 2,
                boosted: 1,
                boosts: 45 * second,
                promoted_requests: 12 * second,
                ..State::default()
            }),
        }),
        devices: vec![
            disk("sda", "mq-deadline", None),
            disk("vda", "fgio", Some(counters(second))),
        ],
        tags: Some(Tags {
            foreground: tasks.collect(),
            foreground_count: 8,
            background_count: 0,
        }),
        waits: Waits {
            longest: waits(second),
            ..Waits::default()
        },
        notes: Vec::new(),
        ..Sample::default()
    }
}

/// The same while the module is not loaded.
pub fn sample_without_module(second: u64) -> Sample {
    let sample = sample(second);
    let devices = sample.devices.into_iter().map(|device| DeviceSample {
        scheduler: "none".to_owned(),
        counters: None,
        ..device
    });
    Sample {
        module: None,
        tags: None,
        waits: Waits::default(),
        devices: devices.collect(),
        ..sample
    }
}
