// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Activity between samples: rates, waits and their causes.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use fgio_sys::inheritance::State;
use fgio_sys::wait::Wait;
use fgio_sys::{FGIO, clock};
use serde::Serialize;

use crate::blame::{By, Cause, Summary};
use crate::rates::{self, Rates};
use crate::sample::{LoadedModule, Sample, Tags};
use crate::share::{self, DiskShares};

/// Waits that are kept, at most: the newest.
const KEPT_MAX: usize = 16_384;

/// A wait, and when it ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// Seconds of the Unix epoch.
    pub ended_at: f64,
    #[serde(flatten)]
    pub wait: Wait,
    pub chain: String,
}

/// A disk over the last interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceActivity {
    pub device: String,
    pub scheduler: String,
    /// Whether fgio schedules the disk.
    pub enabled: bool,
    /// `None` without two readings of the counters.
    pub rates: Option<Rates>,
}

/// A foreground task, and its waits within the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskActivity {
    pub tid: i32,
    pub comm: Option<String>,
    pub waits: u64,
    pub waited_ms: f64,
    pub longest_ms: f64,
    /// The reason of its last wait, in words.
    pub last: Option<String>,
}

/// Rates of inheritance over the last interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StateRates {
    pub boosts_per_second: f64,
    pub promoted_requests_per_second: f64,
    pub promoted_sleepers_per_second: f64,
    pub promoted_writers_per_second: f64,
    pub walks_per_second: f64,
}

/// A user's request, and its waits within the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestActivity {
    /// Its age when the longest of its waits ended; `None` where its id is no time near that.
    pub age_ms: Option<f64>,
    #[serde(flatten)]
    pub waits: Cause,
}

impl RequestActivity {
    fn new(waits: Cause, offset_ns: i64) -> Self {
        let at_ns = waits.longest.end_ns.cast_signed().saturating_add(offset_ns);
        let request = waits.request;
        Self {
            age_ms: request.and_then(|request| request.id.age_ms(at_ns)),
            waits,
        }
    }

    /// Whether it was beyond its deadline then.
    pub fn is_late(&self) -> bool {
        let request = self.waits.request;
        let deadline = request.and_then(|request| request.deadline_ms);
        self.age_ms
            .zip(deadline)
            .is_some_and(|(age, deadline)| age > f64::from(deadline))
    }
}

/// Everything that `fgio top` shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Seconds of the Unix epoch.
    pub at: f64,
    /// Seconds that the rates cover; 0 without two samples.
    pub seconds: f64,
    /// Seconds before `at` from which waits are shown and counted.
    pub window_seconds: f64,
    pub module: Option<LoadedModule>,
    pub state_rates: Option<StateRates>,
    pub devices: Vec<DeviceActivity>,
    /// `None` when tags cannot be listed; the notes say why.
    pub foreground: Option<Vec<TaskActivity>>,
    pub foreground_count: usize,
    pub background_count: usize,
    /// Waits within the window, the newest first.
    pub waits: Vec<Event>,
    /// Causes of waits within the window, the one with the most time first.
    pub causes: Vec<Cause>,
    pub total_ms: f64,
    /// Users' requests that waited within the window, the one with the most time first.
    pub requests: Vec<RequestActivity>,
    /// Of disks that are shared by weight, over the last interval.
    pub shares: Vec<DiskShares>,
    /// Waits within the window that could not be read, or were too many to be
    /// kept: they are not counted.
    pub missed: u64,
    pub notes: Vec<String>,
}

/// Waits that are missing, and when that was noticed.
#[derive(Clone, Copy)]
struct Missed {
    at_ns: i64,
    count: u64,
}

/// Follows samples, and sums up the activity between them.
pub struct Activity {
    window: Duration,
    previous: Option<Sample>,
    latest: Option<Sample>,
    /// With when they ended, nanoseconds of the Unix epoch.
    waits: VecDeque<(i64, Wait)>,
    missed: VecDeque<Missed>,
    /// When the module was found to be loaded anew.
    reloaded_at_ns: Option<i64>,
}

impl Activity {
    /// Waits are shown and counted for `window` after they ended.
    pub fn new(window: Duration) -> Self {
        Self {
            window,
            previous: None,
            latest: None,
            waits: VecDeque::new(),
            missed: VecDeque::new(),
            reloaded_at_ns: None,
        }
    }

    /// How long waits are shown and counted.
    pub fn window(&self) -> Duration {
        self.window
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::new(self.window);
    }

    /// Takes the next sample.
    pub fn push(&mut self, mut sample: Sample) {
        let offset = sample.at_ns - sample.monotonic_ns.cast_signed();
        let missed = sample.waits.lost + sample.waits.omitted;
        if missed > 0 {
            self.missed.push_back(Missed {
                at_ns: sample.at_ns,
                count: missed,
            });
        }
        let waits = std::mem::take(&mut sample.waits.longest);
        let ended = waits
            .into_iter()
            .map(|wait| (wait.end_ns.cast_signed().saturating_add(offset), wait));
        self.waits.extend(ended);
        self.previous = self.latest.take();
        if self.is_reload(&sample) {
            self.reloaded_at_ns = Some(sample.at_ns);
        }
        self.forget_before(sample.at_ns.saturating_sub(nanoseconds(self.window)));
        self.latest = Some(sample);
    }

    fn is_reload(&self, sample: &Sample) -> bool {
        let Some(now) = &sample.module else {
            return false;
        };
        let before = self.previous.as_ref().map(|previous| &previous.module);
        before.is_some_and(|before| {
            before
                .as_ref()
                .is_none_or(|before| before.instance != now.instance)
        })
    }

    fn forget_before(&mut self, at_ns: i64) {
        let too_many = self.waits.len().saturating_sub(KEPT_MAX);
        if too_many > 0 {
            let at_ns = self.waits[too_many].0;
            let count = too_many as u64;
            self.missed.push_back(Missed { at_ns, count });
            self.waits.drain(..too_many);
        }
        self.waits.retain(|wait| wait.0 >= at_ns);
        self.missed.retain(|missed| missed.at_ns >= at_ns);
        self.reloaded_at_ns = self.reloaded_at_ns.filter(|reloaded| *reloaded >= at_ns);
    }

    /// Sums up the activity up to the last sample; `None` before the first.
    pub fn report(&self) -> Option<Report> {
        let sample = self.latest.as_ref()?;
        let mut summary = Summary::new(By::Cause);
        self.waits.iter().for_each(|(_, wait)| summary.add(wait));
        let elapsed = self.elapsed(sample);
        let tags = sample.tags.as_ref();
        Some(Report {
            at: seconds(sample.at_ns),
            seconds: elapsed.as_secs_f64(),
            window_seconds: self.window.as_secs_f64(),
            module: sample.module.clone(),
            state_rates: self.state_rates(sample, elapsed),
            devices: self.devices(sample, elapsed),
            foreground: tags.map(|tags| self.tasks(tags)),
            foreground_count: tags.map_or(0, |tags| tags.foreground_count),
            background_count: tags.map_or(0, |tags| tags.background_count),
            waits: self.events(),
            causes: summary.causes(),
            total_ms: summary.total_ms,
            requests: self.requests(sample),
            shares: self.shares(sample, elapsed),
            missed: self.missed.iter().map(|missed| missed.count).sum(),
            notes: self.notes(sample),
        })
    }

    fn elapsed(&self, sample: &Sample) -> Duration {
        let before = self.previous.as_ref().map(|previous| previous.monotonic_ns);
        // The clock begins anew when the system is booted.
        let elapsed = before.and_then(|before| sample.monotonic_ns.checked_sub(before));
        Duration::from_nanos(elapsed.unwrap_or(0))
    }

    fn devices(&self, sample: &Sample, elapsed: Duration) -> Vec<DeviceActivity> {
        let before = |name: &str| {
            let devices = &self.previous.as_ref()?.devices;
            let device = devices.iter().find(|device| device.device == name)?;
            device.counters.as_ref()
        };
        let devices = sample.devices.iter().map(|device| DeviceActivity {
            device: device.device.clone(),
            scheduler: device.scheduler.clone(),
            enabled: device.scheduler == FGIO,
            rates: before(&device.device)
                .zip(device.counters.as_ref())
                .filter(|_| !elapsed.is_zero())
                .map(|(before, now)| rates::rates(before, now, elapsed)),
        });
        devices.collect()
    }

    fn shares(&self, sample: &Sample, elapsed: Duration) -> Vec<DiskShares> {
        let before = |name: &str| self.previous.as_ref()?.shares.get(name);
        let shared = sample.shares.iter().filter_map(|(name, now)| {
            let before = before(name).filter(|_| !elapsed.is_zero())?;
            Some(share::compare(name, before, now, elapsed, &sample.cgroups))
        });
        shared.collect()
    }

    fn state_rates(&self, sample: &Sample, elapsed: Duration) -> Option<StateRates> {
        let state = |sample: &'_ Sample| -> Option<(u64, State)> {
            let module = sample.module.as_ref()?;
            Some((module.instance, module.state.clone()?))
        };
        let (instance, now) = state(sample)?;
        let (instance_before, before) = state(self.previous.as_ref()?)?;
        if instance != instance_before || elapsed.is_zero() {
            return None;
        }
        let rate =
            |now: u64, before: u64| now.saturating_sub(before) as f64 / elapsed.as_secs_f64();
        Some(StateRates {
            boosts_per_second: rate(now.boosts, before.boosts),
            promoted_requests_per_second: rate(now.promoted_requests, before.promoted_requests),
            promoted_sleepers_per_second: rate(now.promoted_sleepers, before.promoted_sleepers),
            promoted_writers_per_second: rate(now.promoted_writers, before.promoted_writers),
            walks_per_second: rate(now.walks, before.walks),
        })
    }

    fn tasks(&self, tags: &Tags) -> Vec<TaskActivity> {
        let new = tags.foreground.iter().map(|task| TaskActivity {
            tid: task.tid,
            comm: task.comm.clone(),
            waits: 0,
            waited_ms: 0.0,
            longest_ms: 0.0,
            last: None,
        });
        let mut tasks: Vec<TaskActivity> = new.collect();
        let places = tasks.iter().enumerate();
        let places: HashMap<i32, usize> = places.map(|(place, task)| (task.tid, place)).collect();
        for (_, wait) in &self.waits {
            let Some(&place) = places.get(&wait.tid) else {
                continue;
            };
            let task = &mut tasks[place];
            task.waits += 1;
            task.waited_ms += wait.waited_ms;
            task.longest_ms = task.longest_ms.max(wait.waited_ms);
            task.last = Some(wait.what());
        }
        tasks
    }

    fn requests(&self, sample: &Sample) -> Vec<RequestActivity> {
        let offset = sample.at_ns - sample.monotonic_ns.cast_signed();
        let mut summary = Summary::new(By::Request);
        let served = self.waits.iter().filter(|(_, wait)| wait.request.is_some());
        served.for_each(|(_, wait)| summary.add(wait));
        let requests = summary.causes().into_iter();
        let requests = requests.map(|waits| RequestActivity::new(waits, offset));
        requests.collect()
    }

    fn events(&self) -> Vec<Event> {
        let mut events: Vec<Event> = self
            .waits
            .iter()
            .map(|(ended_ns, wait)| Event {
                ended_at: seconds(*ended_ns),
                wait: wait.clone(),
                chain: wait.chain(),
            })
            .collect();
        events.sort_by(|one, other| other.ended_at.total_cmp(&one.ended_at));
        events
    }

    fn notes(&self, sample: &Sample) -> Vec<String> {
        let mut notes = Vec::new();
        if sample.module.is_none() {
            notes.push(
                "the module fgio is not loaded: `fgio enable DEV` as root loads it".to_owned(),
            );
        } else if let Some(reloaded) = self.reloaded_at_ns {
            let time = clock::time_of_day(reloaded);
            let time = time.split('.').next().unwrap_or(&time);
            notes.push(format!(
                "the module was loaded (again) at {time}: its figures begin anew"
            ));
        }
        notes.extend(sample.notes.iter().cloned());
        notes
    }
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use fgio_sys::counters::Counters;
    use fgio_sys::wait::{Actions, Kind, Reason};

    use super::*;
    use crate::sample::{DeviceSample, Task, Waits};

    const S: u64 = 1_000_000_000;
    const BOOT_NS: i64 = 1_700_000_000_000_000_000;

    fn wait(tid: i32, end_ns: u64, waited_ms: f64) -> Wait {
        Wait {
            end_ns,
            waited_ms,
            tid,
            comm: "postgres".into(),
            kind: Kind::new(6),
            inner_kind: Kind::new(6),
            object: 1,
            steps: Vec::new(),
            request: None,
            reason: Reason::FOUND,
            actions: Actions::default(),
        }
    }

    fn sample(at_s: u64, waits: Vec<Wait>) -> Sample {
        let counters = Counters::from([("critical_completed".to_owned(), at_s * 100)]);
        let state = State {
            boosts: at_s * 10,
            ..State::default()
        };
        Sample {
            at_ns: BOOT_NS + (at_s * S) as i64,
            monotonic_ns: at_s * S,
            module: Some(LoadedModule {
                instance: 1,
                state: Some(state),
                ..LoadedModule::default()
            }),
            devices: vec![DeviceSample {
                device: "sda".into(),
                scheduler: "fgio".into(),
                counters: Some(counters),
            }],
            tags: Some(Tags {
                foreground: vec![Task {
                    tid: 7,
                    comm: Some("postgres".into()),
                }],
                foreground_count: 1,
                background_count: 0,
            }),
            waits: Waits {
                longest: waits,
                ..Waits::default()
            },
            notes: Vec::new(),
            ..Sample::default()
        }
    }

    fn activity() -> Activity {
        Activity::new(Duration::from_secs(60))
    }

    #[test]
    fn rates_need_two_samples_and_cover_the_time_between_them() {
        let mut activity = activity();
        assert!(activity.report().is_none());
        activity.push(sample(10, Vec::new()));
        let report = activity.report().unwrap();
        assert!(report.devices[0].rates.is_none() && report.state_rates.is_none());
        activity.push(sample(12, Vec::new()));
        let report = activity.report().unwrap();
        assert_eq!(report.seconds, 2.0);
        let rates = report.devices[0].rates.as_ref().unwrap();
        assert_eq!(rates.critical.completed_per_second, 100.0);
        assert_eq!(report.state_rates.unwrap().boosts_per_second, 10.0);
        assert_eq!(report.at, (BOOT_NS / S as i64) as f64 + 12.0);
    }

    #[test]
    fn waits_are_counted_for_the_window() {
        let mut activity = activity();
        // The first sample has waits from before the window.
        activity.push(sample(
            100,
            vec![wait(7, 30 * S, 900.0), wait(7, 99 * S, 30.0)],
        ));
        activity.push(sample(101, vec![wait(8, 100 * S + 1, 20.0)]));
        let report = activity.report().unwrap();
        assert_eq!(report.waits.len(), 2);
        assert_eq!(report.waits[0].wait.tid, 8);
        assert_eq!((report.causes.len(), report.total_ms), (1, 50.0));
        let task = &report.foreground.unwrap()[0];
        assert_eq!((task.waits, task.waited_ms), (1, 30.0));
        assert_eq!(task.last.as_deref(), Some("journal commit"));
        activity.push(sample(160, Vec::new()));
        let report = activity.report().unwrap();
        assert_eq!(report.waits.len(), 1, "one of them ended 61 s ago");
    }

    #[test]
    fn the_module_may_go_and_come_back() {
        let mut activity = activity();
        activity.push(sample(10, Vec::new()));
        let mut without = sample(11, Vec::new());
        without.module = None;
        without.tags = None;
        without.devices[0].scheduler = "none".into();
        without.devices[0].counters = None;
        activity.push(without);
        let report = activity.report().unwrap();
        assert!(report.notes[0].contains("not loaded"));
        assert!(report.devices[0].rates.is_none() && report.foreground.is_none());
        let mut back = sample(12, Vec::new());
        back.module.as_mut().unwrap().instance = 2;
        activity.push(back.clone());
        let report = activity.report().unwrap();
        assert!(
            report.notes[0].contains("loaded (again) at"),
            "{:?}",
            report.notes
        );
        assert!(report.state_rates.is_none());
        // Loaded again between two samples.
        back.module.as_mut().unwrap().instance = 3;
        back.at_ns += 100 * S as i64;
        back.monotonic_ns += 100 * S;
        activity.push(back);
        let report = activity.report().unwrap();
        assert!(report.notes[0].contains("loaded (again) at"));
        assert!(report.state_rates.is_none());
    }

    #[test]
    fn missed_waits_are_counted_and_memory_is_bounded() {
        let mut activity = activity();
        let mut many = sample(
            10,
            (0..KEPT_MAX as u64 + 5)
                .map(|i| wait(7, 9 * S + i, 10.0))
                .collect(),
        );
        many.waits.lost = 3;
        many.waits.omitted = 4;
        activity.push(many);
        let report = activity.report().unwrap();
        assert_eq!((report.missed, report.waits.len()), (12, KEPT_MAX));
        activity.push(sample(90, Vec::new()));
        assert_eq!(activity.report().unwrap().missed, 0);
    }
}
