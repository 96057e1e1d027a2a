// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The present state: the module, the disks, the tags.

use std::collections::BTreeMap;

use fgio_sys::block::{self, Disk};
use fgio_sys::class::Class;
use fgio_sys::control::{Control, DeviceFile, Diagnosis, Info};
use fgio_sys::counters::{self, Counters};
use fgio_sys::drive::{self, Priority};
use fgio_sys::inheritance::State;
use fgio_sys::persist::{self, Identity, Rule};
use fgio_sys::setting::{self, Switches};
use fgio_sys::{Error, FGIO, Result, Root, module, task};
use serde::Serialize;

/// The loaded module.
#[derive(Clone, Debug, Serialize)]
pub struct ModuleStatus {
    pub version: Option<String>,
    pub switches: Switches,
    /// `None` when `/dev/fgio` does not answer; the notes say why.
    pub info: Option<Info>,
    /// `None` when `/dev/fgio` does not answer, or the module is too old; the
    /// notes say why.
    pub state: Option<State>,
    /// The setting `request_order`; `None` when the module has none.
    pub request_order: Option<u64>,
    /// Calls that hooks missed since the module was loaded, all hooks together;
    /// `None` as with `state`.
    pub calls_missed: Option<u64>,
}

/// A disk.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceStatus {
    pub device: String,
    pub scheduler: String,
    /// Whether fgio schedules the disk.
    pub enabled: bool,
    /// How the rule that puts it under fgio at each boot knows it; `None` when there is none.
    pub persistent: Option<Identity>,
    pub hardware_queues: usize,
    pub nr_requests: Option<u64>,
    /// `None` when the drive offers none.
    pub drive_priority: Option<Priority>,
    /// The files of `queue/iosched` by name; empty unless enabled.
    pub tunables: BTreeMap<String, u64>,
    /// `None` unless enabled and readable, which takes root.
    pub counters: Option<Counters>,
}

/// A tagged thread.
#[derive(Clone, Debug, Serialize)]
pub struct TagStatus {
    pub tid: i32,
    /// The process of the thread; `None` when it has just ended.
    pub process: Option<i32>,
    pub class: Class,
    pub comm: Option<String>,
}

/// Everything `fgio status` shows.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// `None` when the module is not loaded.
    pub module: Option<ModuleStatus>,
    pub devices: Vec<DeviceStatus>,
    /// `None` when they cannot be listed; the notes say why.
    pub tags: Option<Vec<TagStatus>>,
    /// Parts that are missing from this status, and why.
    pub notes: Vec<String>,
}

/// Looks at the system. Unreadable parts are left out, with a note.
pub fn read(root: &Root) -> Result<Status> {
    let mut notes = Vec::new();
    let mut devices = Vec::new();
    let rules = persist::rules(root).unwrap_or_default();
    for disk in block::disks(root)? {
        // A disk that goes away meanwhile is left out.
        if let Ok(device) = device(root, &disk, &rules, &mut notes) {
            devices.push(device);
        }
    }
    let answers = if module::is_loaded(root) {
        ask(root, &mut notes)
    } else {
        Answers::default()
    };
    let module = module::is_loaded(root).then(|| ModuleStatus {
        version: module::version(root),
        switches: setting::switches(root),
        info: answers.info,
        state: answers.state,
        request_order: setting::number_of(root, "request_order"),
        calls_missed: answers.calls_missed,
    });
    Ok(Status {
        module,
        devices,
        tags: answers.tags,
        notes,
    })
}

fn note(notes: &mut Vec<String>, text: String) {
    if !notes.contains(&text) {
        notes.push(text);
    }
}

/// The answers of `/dev/fgio`.
#[derive(Default)]
struct Answers {
    info: Option<Info>,
    state: Option<State>,
    calls_missed: Option<u64>,
    tags: Option<Vec<TagStatus>>,
}

fn ask(root: &Root, notes: &mut Vec<String>) -> Answers {
    let mut answers = Answers::default();
    let mut failed = |error: Error| note(notes, format!("{error}: {}", error.advice()));
    match DeviceFile::open_unchecked(root).and_then(|device| device.info()) {
        Ok(info) => answers.info = Some(info),
        Err(error) => {
            failed(error);
            return answers;
        }
    }
    let device = match DeviceFile::open(root) {
        Ok(device) => device,
        Err(error) => {
            failed(error);
            return answers;
        }
    };
    match device.list_tags() {
        Ok(tags) => answers.tags = Some(describe_tags(root, tags)),
        Err(error) => failed(error),
    }
    match device.state() {
        Ok(state) => answers.state = Some(state),
        Err(error) => failed(error),
    }
    // Its missing parts are noted above; hooks came with the state.
    answers.calls_missed = device
        .hooks()
        .ok()
        .map(|hooks| hooks.iter().map(|hook| hook.missed).sum());
    answers
}

fn describe_tags(root: &Root, mut tags: Vec<(i32, Class)>) -> Vec<TagStatus> {
    tags.sort_unstable();
    tags.into_iter()
        .map(|(tid, class)| TagStatus {
            tid,
            process: task::process_of(root, tid).ok(),
            class,
            comm: task::name(root, tid),
        })
        .collect()
}

fn device(
    root: &Root,
    disk: &Disk,
    rules: &[Rule],
    notes: &mut Vec<String>,
) -> Result<DeviceStatus> {
    let scheduler = disk.schedulers()?.current;
    let enabled = scheduler == FGIO;
    let rule = rules.iter().find(|rule| rule.is_of(root, disk));
    if rule.is_some() && !enabled {
        note(
            notes,
            format!(
                "{} is to be under fgio from boot on, but is not: run `fgio doctor`",
                disk.name
            ),
        );
    }
    let mut status = DeviceStatus {
        device: disk.name.clone(),
        scheduler,
        enabled,
        persistent: rule.map(|rule| rule.identity.clone()),
        hardware_queues: disk.hardware_queues(),
        nr_requests: disk.number("queue/nr_requests"),
        drive_priority: drive::priority(disk),
        tunables: BTreeMap::new(),
        counters: None,
    };
    if enabled {
        status.tunables = disk.tunables();
        match counters::read(root, &disk.name) {
            Ok(counters) => status.counters = Some(counters),
            Err(error) => note(notes, counters_note(&error)),
        }
    }
    Ok(status)
}

pub(crate) fn counters_note(error: &Error) -> String {
    match error {
        Error::Permission { .. } => "the counters need root: run the command as root".to_owned(),
        error => {
            format!("no counters ({error}): is debugfs mounted on /sys/kernel/debug?")
        }
    }
}

#[cfg(test)]
mod tests {
    use fgio_sys::fixture::Fixture;
    use fgio_sys::scheduler::Options;

    use super::*;

    #[test]
    fn a_system_without_the_module_has_a_status() {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "[none] mq-deadline");
        let status = read(fixture.root()).unwrap();
        assert!(status.module.is_none() && status.tags.is_none());
        assert_eq!(status.devices[0].scheduler, "none");
        assert!(!status.devices[0].enabled);
        assert!(status.notes.is_empty());
        let options = Options {
            drive_priority: true,
        };
        persist::persist(fixture.root(), "sda", options).unwrap();
        let status = read(fixture.root()).unwrap();
        assert!(status.devices[0].persistent.is_some());
        assert!(status.notes[0].contains("sda is to be under fgio"));
    }

    #[test]
    fn tunables_and_counters_are_read() {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "none [fgio]");
        let queue = "/sys/block/sda/queue";
        fixture.file(&format!("{queue}/nr_requests"), "256\n");
        fixture.file(&format!("{queue}/iosched/version"), "0.1.0\n");
        fixture.file(&format!("{queue}/iosched/critical_slots"), "128\n");
        fixture.file("/sys/module/fgio/version", "0.1.0\n");
        fixture.file(
            "/sys/kernel/debug/fgio/sda/counters",
            "critical_completed 7\n",
        );
        let status = read(fixture.root()).unwrap();
        let device = &status.devices[0];
        assert_eq!(device.nr_requests, Some(256));
        assert_eq!(device.tunables.len(), 1);
        assert_eq!(device.tunables["critical_slots"], 128);
        assert_eq!(device.counters.as_ref().unwrap()["critical_completed"], 7);
        // The imitation has no /dev/fgio: said in a note, not an error.
        assert_eq!(status.notes.len(), 1);
    }

    #[test]
    fn missing_counters_are_noted_once() {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "[fgio]");
        fixture.disk("sdb", "8:16", "[fgio]");
        fixture.directory("/sys/kernel");
        let status = read(fixture.root()).unwrap();
        assert_eq!(status.notes.len(), 1, "{:?}", status.notes);
        assert!(
            status
                .devices
                .iter()
                .all(|device| device.counters.is_none())
        );
    }
}
