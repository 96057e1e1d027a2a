// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The whole state at a time, to be recorded and shown later.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;

use fgio_sys::block::{self, Disk};
use fgio_sys::cgroup::{self, Cgroup};
use fgio_sys::class::Class;
use fgio_sys::control::{Control, DeviceFile, Diagnosis};
use fgio_sys::counters::{self, Counters};
use fgio_sys::inheritance::State;
use fgio_sys::share::{Shares, Sharing};
use fgio_sys::wait::Wait;
use fgio_sys::{Error, FGIO, Result, Root, clock, module, setting, task};
use serde::{Deserialize, Serialize};

use crate::blame::{self, Reader};
use crate::status;

/// Foreground tasks that a sample names, at most.
pub const TASKS_MAX: usize = 1024;

/// Waits that a sample holds, at most.
pub const WAITS_MAX: usize = 4096;

/// Cgroups of a disk that a sample holds, at most: those that got most of it.
pub const CGROUPS_MAX: usize = 1024;

/// The loaded module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadedModule {
    pub version: Option<String>,
    /// Tells one time that the module is loaded from the next.
    pub instance: u64,
    /// Whether fgio acts on waits, or only looks on.
    pub boost: Option<bool>,
    /// Waits shorter than this are not remembered.
    pub threshold_us: Option<u64>,
    /// `None` when `/dev/fgio` does not answer; the notes say why.
    pub state: Option<State>,
}

/// A disk that has an I/O scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceSample {
    pub device: String,
    pub scheduler: String,
    /// `None` unless fgio schedules the disk and the counters can be read.
    pub counters: Option<Counters>,
}

/// A foreground task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub tid: i32,
    /// `None` when it has just ended.
    pub comm: Option<String>,
}

/// The tags that there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tags {
    /// Those that waited first, [`TASKS_MAX`] at most, by thread id.
    pub foreground: Vec<Task>,
    /// How many foreground tasks there are in all.
    pub foreground_count: usize,
    pub background_count: usize,
}

/// The waits that ended since the sample before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Waits {
    /// In the order in which they ended: [`WAITS_MAX`] at most, the longest.
    pub longest: Vec<Wait>,
    /// Waits that are left out, and how long they took.
    pub omitted: u64,
    pub omitted_ms: f64,
    /// Waits that were overwritten before they were read.
    pub lost: u64,
}

/// The state at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sample {
    /// Nanoseconds of the Unix epoch.
    pub at_ns: i64,
    /// `CLOCK_MONOTONIC`, by which periods are measured.
    pub monotonic_ns: u64,
    /// `None` when the module is not loaded.
    pub module: Option<LoadedModule>,
    pub devices: Vec<DeviceSample>,
    /// `None` when they cannot be listed; the notes say why.
    pub tags: Option<Tags>,
    pub waits: Waits,
    /// Of disks that are shared by weight.
    pub shares: BTreeMap<String, Shares>,
    /// The cgroups that these name, by id.
    pub cgroups: BTreeMap<u64, Cgroup>,
    /// Parts that are missing from this sample, and why.
    pub notes: Vec<String>,
}

/// All calls of the module.
pub trait Calls: Control + Diagnosis + Sharing {}

impl<T: Control + Diagnosis + Sharing> Calls for T {}

type Connect = dyn Fn(&Root) -> Result<Box<dyn Calls>>;

/// Takes samples. Holds nothing open between them, so that the module can be
/// unloaded and loaded meanwhile.
pub struct Sampler {
    root: Root,
    connect: Box<Connect>,
    instance: Option<u64>,
    /// Where the waits go on that have not been seen.
    cursor: u64,
}

impl Sampler {
    /// Samples of the system.
    pub fn new(root: Root) -> Self {
        Self::with(root, |root| Ok(Box::new(DeviceFile::open(root)?)))
    }

    /// Samples of a system with another way to reach its module.
    pub fn with(root: Root, connect: impl Fn(&Root) -> Result<Box<dyn Calls>> + 'static) -> Self {
        Self {
            root,
            connect: Box::new(connect),
            instance: None,
            cursor: 0,
        }
    }

    /// Looks at the system. Unreadable parts are left out, with a note. The
    /// first sample has all waits that the module remembers.
    pub fn take(&mut self) -> Sample {
        let mut sample = Sample {
            at_ns: clock::monotonic_ns().cast_signed() + clock::wall_offset_ns(),
            monotonic_ns: clock::monotonic_ns(),
            ..Sample::default()
        };
        self.look_at_devices(&mut sample);
        match instance(&self.root) {
            Some(instance) => self.look_at_module(&mut sample, instance),
            None => self.instance = None,
        }
        sample
    }

    fn look_at_devices(&self, sample: &mut Sample) {
        match block::disks(&self.root) {
            // A disk that goes away meanwhile is left out.
            Ok(disks) => {
                let mut notes = Vec::new();
                let devices = disks.iter();
                sample.devices = devices
                    .filter_map(|disk| device(&self.root, disk, &mut notes))
                    .collect();
                notes.into_iter().for_each(|text| note(sample, text));
            }
            Err(error) => note_error(sample, &error),
        }
    }

    fn look_at_module(&mut self, sample: &mut Sample, instance: u64) {
        if self.instance != Some(instance) {
            self.instance = Some(instance);
            self.cursor = 0;
        }
        let mut module = LoadedModule {
            version: module::version(&self.root),
            instance,
            boost: setting::is_on(&self.root, "boost"),
            threshold_us: setting::number_of(&self.root, "blame_threshold_us"),
            state: None,
        };
        match (self.connect)(&self.root) {
            Ok(calls) => {
                self.read_waits(sample, &*calls);
                self.read_shares(sample, &*calls);
                match calls.state() {
                    Ok(state) => module.state = Some(state),
                    Err(error) => note_error(sample, &error),
                }
                match calls.list_tags() {
                    Ok(tags) => sample.tags = Some(self.describe_tags(&tags, &sample.waits)),
                    Err(error) => note_error(sample, &error),
                }
            }
            Err(error) => note_error(sample, &error),
        }
        for text in blame::notes(&self.root, module.state.as_ref()) {
            note(sample, text);
        }
        sample.module = Some(module);
    }

    fn read_waits(&mut self, sample: &mut Sample, calls: &dyn Calls) {
        let mut reader = Reader::resume(calls, self.cursor);
        let mut waits = Vec::new();
        let outcome = reader.read(|wait| waits.push(wait));
        self.cursor = reader.cursor();
        sample.waits = Waits {
            lost: reader.lost,
            ..keep_longest(waits)
        };
        if let Err(error) = outcome {
            note_error(sample, &error);
        }
    }

    /// A module that is too old or denies it has none to tell of.
    fn read_shares(&self, sample: &mut Sample, calls: &dyn Calls) {
        for disk in block::disks(&self.root).unwrap_or_default() {
            let number = disk.major_minor().filter(|_| disk.is_under_fgio());
            let shares = number.and_then(|(major, minor)| calls.shares(major, minor).ok());
            let Some(mut shares) = shares.filter(|shares| shares.on) else {
                continue;
            };
            let all = shares.cgroups.len();
            if all > CGROUPS_MAX {
                (shares.cgroups).sort_by_key(|share| std::cmp::Reverse(share.drive_ns));
                shares.cgroups.truncate(CGROUPS_MAX);
                let name = &disk.name;
                note(
                    sample,
                    format!("{name}: {CGROUPS_MAX} of {all} cgroups are sampled"),
                );
            }
            sample.shares.insert(disk.name, shares);
        }
        if sample.shares.is_empty() {
            return;
        }
        let mut paths = cgroup::paths(&self.root).unwrap_or_default();
        let named = sample.shares.values().flat_map(|shares| &shares.cgroups);
        let named = named.filter_map(|share| paths.remove_entry(&share.cgroup));
        sample.cgroups = named.collect();
    }

    fn describe_tags(&self, tags: &[(i32, Class)], waits: &Waits) -> Tags {
        let of = |class| tags.iter().filter(move |tag| tag.1 == class);
        let mut waited: HashMap<i32, f64> = HashMap::new();
        for wait in &waits.longest {
            *waited.entry(wait.tid).or_default() += wait.waited_ms;
        }
        let mut foreground: Vec<i32> = of(Class::Foreground).map(|tag| tag.0).collect();
        let count = foreground.len();
        foreground.sort_unstable_by_key(|tid| (!waited.contains_key(tid), *tid));
        foreground.truncate(TASKS_MAX);
        foreground.sort_unstable();
        let tasks = foreground.into_iter().map(|tid| Task {
            tid,
            comm: task::name(&self.root, tid),
        });
        Tags {
            foreground: tasks.collect(),
            foreground_count: count,
            background_count: of(Class::Background).count(),
        }
    }
}

fn note(sample: &mut Sample, text: String) {
    if !sample.notes.contains(&text) {
        sample.notes.push(text);
    }
}

fn note_error(sample: &mut Sample, error: &Error) {
    note(sample, format!("{error}: {}", error.advice()));
}

/// The directory of a module is made anew whenever the module is loaded.
fn instance(root: &Root) -> Option<u64> {
    let metadata = fs::metadata(root.path("/sys/module/fgio")).ok()?;
    metadata.is_dir().then(|| metadata.ino())
}

fn device(root: &Root, disk: &Disk, notes: &mut Vec<String>) -> Option<DeviceSample> {
    let scheduler = disk.schedulers().ok()?.current;
    let counters = (scheduler == FGIO).then(|| counters::read(root, &disk.name));
    let counters = match counters {
        Some(Err(error)) => {
            notes.push(status::counters_note(&error));
            None
        }
        counters => counters.and_then(Result::ok),
    };
    Some(DeviceSample {
        device: disk.name.clone(),
        scheduler,
        counters,
    })
}

fn keep_longest(mut waits: Vec<Wait>) -> Waits {
    if waits.len() <= WAITS_MAX {
        return Waits {
            longest: waits,
            ..Waits::default()
        };
    }
    waits.sort_by(|one, other| other.waited_ms.total_cmp(&one.waited_ms));
    let omitted = waits.split_off(WAITS_MAX);
    waits.sort_by_key(|wait| wait.end_ns);
    Waits {
        longest: waits,
        omitted: omitted.len() as u64,
        omitted_ms: omitted.iter().map(|wait| wait.waited_ms).sum(),
        lost: 0,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use fgio_sys::control::Info;
    use fgio_sys::fixture::Fixture;
    use fgio_sys::inheritance::HookState;
    use fgio_sys::share::Share;
    use fgio_sys::wait::{Actions, Kind, Page, Reason, Reasons, Step};

    use super::*;

    fn wait(tid: i32, end_ns: u64, waited_ms: f64) -> Wait {
        Wait {
            end_ns,
            waited_ms,
            tid,
            comm: "postgres".into(),
            kind: Kind::new(6),
            inner_kind: Kind::new(24),
            object: 0xffff_ffff_ffff_fff0,
            steps: vec![Step {
                tid: Some(50),
                comm: Some("jbd2/sda-8".into()),
                kind: Some(Kind::new(99)),
            }],
            request: None,
            reason: Reason::FOUND,
            actions: Actions {
                boosted: true,
                ..Actions::default()
            },
        }
    }

    #[derive(Clone, Default)]
    struct Module {
        shares: Shares,
        ring: Rc<RefCell<Vec<Wait>>>,
        tags: Rc<RefCell<Vec<(i32, Class)>>>,
    }

    impl Control for Module {
        fn info(&self) -> Result<Info> {
            Err(Error::ModuleNotLoaded)
        }

        fn set_tag(&self, tid: i32, class: Class) -> Result<()> {
            self.tags.borrow_mut().push((tid, class));
            Ok(())
        }

        fn get_tag(&self, _: i32) -> Result<Class> {
            Ok(Class::None)
        }

        fn list_tags(&self) -> Result<Vec<(i32, Class)>> {
            Ok(self.tags.borrow().clone())
        }
    }

    impl Diagnosis for Module {
        fn hooks(&self) -> Result<Vec<HookState>> {
            Ok(Vec::new())
        }

        fn state(&self) -> Result<State> {
            Err(Error::ModuleOlder { call: "STATE" })
        }

        fn reasons(&self) -> Result<Reasons> {
            Ok(Reasons::default())
        }

        fn rearm(&self) -> Result<()> {
            Ok(())
        }

        fn rearm_disk(&self, _: u32, _: u32) -> Result<bool> {
            Ok(false)
        }

        fn blame(&self, cursor: u64, _: u32) -> Result<Page> {
            let ring = self.ring.borrow();
            let from = (cursor as usize).min(ring.len());
            Ok(Page {
                waits: ring[from..].to_vec(),
                cursor: ring.len() as u64,
                lost: 0,
            })
        }
    }

    impl Sharing for Module {
        fn shares(&self, major: u32, minor: u32) -> Result<Shares> {
            match (major, minor) {
                (8, 0) => Ok(self.shares.clone()),
                _ => Err(Error::NotUnderFgio { major, minor }),
            }
        }
    }

    #[test]
    fn shares_are_sampled_with_the_names_of_cgroups() {
        let fixture = Fixture::new();
        loaded(&fixture);
        fixture.disk("sda", "8:0", "[fgio]");
        fixture.disk("sdb", "8:16", "[fgio]");
        fixture.disk("sdc", "8:32", "[none]");
        for path in ["", "/a", "/b"] {
            fixture.file(&format!("/sys/fs/cgroup{path}/cgroup.controllers"), "io\n");
        }
        let found = cgroup::find(fixture.root(), "/a").unwrap();
        let share = |cgroup, drive_ns| Share {
            cgroup,
            drive_ns,
            ..Share::default()
        };
        let mut module = Module::default();
        module.shares.cgroups = vec![share(found.id(fixture.root()).unwrap(), 9)];
        let sample = sampler(&fixture, &module).take();
        assert!(sample.shares.is_empty() && sample.cgroups.is_empty());
        module.shares.on = true;
        let sample = sampler(&fixture, &module).take();
        assert_eq!(sample.shares.keys().collect::<Vec<_>>(), ["sda"]);
        assert_eq!(sample.cgroups.values().collect::<Vec<_>>(), [&found]);
        let json = serde_json::to_string(&sample).unwrap();
        assert_eq!(serde_json::from_str::<Sample>(&json).unwrap(), sample);
        // Of very many, those that got most.
        let many = (0..CGROUPS_MAX as u64 + 5).map(|id| share(id, id));
        module.shares.cgroups = many.collect();
        let sample = sampler(&fixture, &module).take();
        let kept = &sample.shares["sda"].cgroups;
        assert_eq!(kept.len(), CGROUPS_MAX);
        assert!(kept.iter().all(|share| share.drive_ns >= 5));
        assert!(
            sample
                .notes
                .iter()
                .any(|note| note.contains("1024 of 1029"))
        );
    }

    fn sampler(fixture: &Fixture, module: &Module) -> Sampler {
        let module = module.clone();
        Sampler::with(fixture.root().clone(), move |_| {
            Ok(Box::new(module.clone()))
        })
    }

    fn loaded(fixture: &Fixture) {
        fixture.file("/sys/module/fgio/version", "0.1.0\n");
        fixture.file("/sys/module/fgio/parameters/boost", "N\n");
        fixture.file("/sys/module/fgio/parameters/blame_threshold_us", "10000\n");
    }

    #[test]
    fn the_whole_state_is_sampled_and_survives_a_round_trip() {
        let fixture = Fixture::new();
        loaded(&fixture);
        fixture.disk("sda", "8:0", "none [fgio]");
        fixture.disk("sdb", "8:16", "[none] fgio");
        let counters = "/sys/kernel/debug/fgio/sda/counters";
        fixture.file(counters, "critical_completed 7\n");
        fixture.file("/proc/11/comm", "postgres\n");
        let module = Module::default();
        module.ring.borrow_mut().push(wait(11, 5, 45.0));
        let tags = [
            (11, Class::Foreground),
            (10, Class::Foreground),
            (12, Class::Background),
        ];
        module.tags.borrow_mut().extend(tags);
        let sample = sampler(&fixture, &module).take();
        assert_eq!(
            sample.devices[0].counters.as_ref().unwrap()["critical_completed"],
            7
        );
        assert_eq!(sample.devices[1].scheduler, "none");
        let tags = sample.tags.as_ref().unwrap();
        assert_eq!((tags.foreground_count, tags.background_count), (2, 1));
        assert_eq!(tags.foreground[1].comm.as_deref(), Some("postgres"));
        assert_eq!(tags.foreground[0].comm, None);
        let loaded = sample.module.as_ref().unwrap();
        assert_eq!(
            (loaded.boost, loaded.threshold_us),
            (Some(false), Some(10_000))
        );
        // No state, and why; the switch boost.
        assert_eq!(sample.notes.len(), 2, "{:?}", sample.notes);
        let text = serde_json::to_string(&sample).unwrap();
        assert_eq!(serde_json::from_str::<Sample>(&text).unwrap(), sample);
    }

    #[test]
    fn waits_are_seen_once_and_anew_when_the_module_is_loaded_again() {
        let fixture = Fixture::new();
        loaded(&fixture);
        let module = Module::default();
        let mut sampler = sampler(&fixture, &module);
        module.ring.borrow_mut().push(wait(1, 5, 45.0));
        assert_eq!(sampler.take().waits.longest.len(), 1);
        assert!(sampler.take().waits.longest.is_empty());
        // Two directories that exist at once are sure to differ.
        fixture.directory("/sys/module/later");
        let path = |name| fixture.root().path("/sys/module").join(name);
        fs::rename(path("fgio"), path("former")).unwrap();
        let without = sampler.take();
        assert!(without.module.is_none() && without.tags.is_none());
        fs::rename(path("later"), path("fgio")).unwrap();
        assert_eq!(sampler.take().waits.longest.len(), 1);
    }

    #[test]
    fn samples_are_bounded_and_keep_the_longest_waits() {
        let fixture = Fixture::new();
        loaded(&fixture);
        let module = Module::default();
        let count = WAITS_MAX as u64 + 10;
        let waits = (0..count).map(|end| wait(9999, end, if end % 2 == 0 { 50.0 } else { 10.0 }));
        module.ring.borrow_mut().extend(waits);
        let tids = (1..10_000).map(|tid| (tid, Class::Foreground));
        module.tags.borrow_mut().extend(tids);
        let sample = sampler(&fixture, &module).take();
        let Waits {
            longest,
            omitted,
            omitted_ms,
            ..
        } = &sample.waits;
        assert_eq!(
            (longest.len(), *omitted, *omitted_ms),
            (WAITS_MAX, 10, 100.0)
        );
        assert!(longest.is_sorted_by_key(|wait| wait.end_ns));
        let tags = sample.tags.unwrap();
        assert_eq!(
            (tags.foreground.len(), tags.foreground_count),
            (TASKS_MAX, 9999)
        );
        // It waited, though 1,024 others come before it.
        assert_eq!(tags.foreground.last().unwrap().tid, 9999);
    }
}
