// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Switching a disk to fgio and back.

use std::fs;

use serde::Serialize;

use crate::block::{self, Disk};
use crate::drive::{self, Outcome};
use crate::error::is_permission;
use crate::files::{self, MEMORY};
use crate::{Error, FGIO, Result, Root, load};

/// The outcome of [`enable`].
#[derive(Debug, Serialize)]
pub struct Enabled {
    pub device: String,
    /// The partition that was named; the whole disk was switched.
    pub partition: Option<String>,
    pub scheduler: String,
    /// The scheduler that [`disable`] would restore; `None` when that is not known.
    pub previous: Option<String>,
    /// `false` when the disk was under fgio already.
    pub changed: bool,
    /// Whether the module had to be loaded.
    pub module_loaded: bool,
    /// Whether the drive serves critical requests first, too.
    pub drive_priority: Outcome,
}

/// Options of [`enable`] beside switching.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Turn the drive's own priority on where it has one; otherwise, put it back.
    pub drive_priority: bool,
}

/// Where [`disable`] took the scheduler from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The disk had it before fgio.
    Remembered,
    /// The kernel would choose it for such a disk.
    KernelDefault,
    /// The disk was not under fgio: nothing was changed.
    Unchanged,
}

/// The outcome of [`disable`].
#[derive(Debug, Serialize)]
pub struct Disabled {
    pub device: String,
    /// The partition that was named; the whole disk was switched.
    pub partition: Option<String>,
    pub scheduler: String,
    pub origin: Origin,
    /// `false` when the disk was not under fgio.
    pub changed: bool,
    /// The outcome for the drive's own priority.
    pub drive_priority: Outcome,
}

/// Puts the disk that `name` stands for under fgio, loading the module if need
/// be, and remembers its scheduler. A disk under fgio stays there; the drive's
/// own priority is turned on or put back all the same.
pub fn enable(root: &Root, name: &str, options: Options) -> Result<Enabled> {
    let resolved = block::resolve(root, name)?;
    let disk = &resolved.disk;
    disk.check_can_schedule()?;
    let current = disk.schedulers()?.current;
    let changed = current != FGIO;
    let mut module_loaded = false;
    if changed {
        check_writable(disk)?;
        module_loaded = load::ensure_loaded(root)?;
        remember(root, disk, &current)?;
        if let Err(error) = choose(disk, FGIO) {
            forget(root, disk);
            return Err(error);
        }
    }
    let drive_priority = if options.drive_priority {
        drive::turn_on(root, disk)
    } else {
        drive::turn_off(root, disk)?
    };
    Ok(Enabled {
        device: disk.name.clone(),
        partition: resolved.partition,
        scheduler: FGIO.to_owned(),
        previous: remembered(root, disk),
        changed,
        module_loaded,
        drive_priority,
    })
}

/// Gives the disk that `name` stands for the scheduler back that it had before
/// fgio, or the kernel's own choice when that is not known or not to be had, and
/// puts the drive's knob back. A disk that is not under fgio keeps its scheduler.
pub fn disable(root: &Root, name: &str) -> Result<Disabled> {
    let resolved = block::resolve(root, name)?;
    let disk = &resolved.disk;
    let schedulers = disk.schedulers()?;
    let (scheduler, origin) = if schedulers.current != FGIO {
        (schedulers.current, Origin::Unchanged)
    } else {
        check_writable(disk)?;
        restore(root, disk)?
    };
    forget(root, disk);
    let drive_priority = drive::turn_off(root, disk)?;
    Ok(Disabled {
        device: disk.name.clone(),
        partition: resolved.partition,
        scheduler,
        origin,
        changed: origin != Origin::Unchanged,
        drive_priority,
    })
}

fn restore(root: &Root, disk: &Disk) -> Result<(String, Origin)> {
    if let Some(previous) = remembered(root, disk)
        && choose(disk, &previous).is_ok()
    {
        return Ok((previous, Origin::Remembered));
    }
    let default = kernel_default(disk);
    // A kernel built without mq-deadline falls back to none itself.
    choose(disk, default)
        .map(|()| default)
        .or_else(|_| choose(disk, "none").map(|()| "none"))
        .map(|scheduler| (scheduler.to_owned(), Origin::KernelDefault))
}

/// The scheduler that the kernel gives to new disks like this one.
fn kernel_default(disk: &Disk) -> &'static str {
    let asks_for_none = disk.path("loop").is_dir();
    if disk.hardware_queues() > 1 || asks_for_none {
        "none"
    } else {
        "mq-deadline"
    }
}

/// Switches the disk and makes sure that it took the scheduler.
fn choose(disk: &Disk, scheduler: &str) -> Result<()> {
    let path = disk.path("queue/scheduler");
    files::write_existing(&path, scheduler).map_err(|source| {
        if is_permission(&source) {
            return permission(disk);
        }
        Error::SchedulerRefused {
            device: disk.name.clone(),
            scheduler: scheduler.to_owned(),
            source,
        }
    })?;
    let found = disk.schedulers()?.current;
    if found == scheduler {
        return Ok(());
    }
    Err(Error::SchedulerNotTaken {
        device: disk.name.clone(),
        wanted: scheduler.to_owned(),
        found,
    })
}

/// Fails early, before anything is changed or loaded, when the caller may not
/// switch the disk.
fn check_writable(disk: &Disk) -> Result<()> {
    let path = disk.path("queue/scheduler");
    match fs::OpenOptions::new().write(true).open(&path) {
        Ok(_) => Ok(()),
        Err(source) if is_permission(&source) => Err(permission(disk)),
        Err(source) => Err(Error::writing(&path, source)),
    }
}

fn permission(disk: &Disk) -> Error {
    Error::Permission {
        action: format!("switch the I/O scheduler of {}", disk.name),
    }
}

fn memory(disk: &Disk) -> String {
    format!("{MEMORY}/{}.scheduler", disk.name)
}

fn remember(root: &Root, disk: &Disk, scheduler: &str) -> Result<()> {
    files::remember(root, &memory(disk), scheduler)
}

fn remembered(root: &Root, disk: &Disk) -> Option<String> {
    let path = root.path(memory(disk));
    files::read_optional(&path).filter(|name| !name.is_empty() && name != FGIO)
}

fn forget(root: &Root, disk: &Disk) {
    files::forget(&root.path(memory(disk)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    const SCHEDULER: &str = "/sys/block/sda/queue/scheduler";
    const MEMORY_FILE: &str = "/run/fgio/sda.scheduler";

    fn enable(root: &Root, name: &str) -> Result<Enabled> {
        super::enable(
            root,
            name,
            Options {
                drive_priority: true,
            },
        )
    }

    fn fixture() -> Fixture {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "none [kyber] fgio");
        fixture.partition("sda", "sda1", "8:1");
        fixture.directory("/sys/module/fgio");
        fixture
    }

    #[test]
    fn enable_remembers_and_disable_restores() {
        let fixture = fixture();
        let enabled = enable(fixture.root(), "sda1").unwrap();
        assert_eq!(enabled.device, "sda");
        assert_eq!(enabled.partition.as_deref(), Some("sda1"));
        assert_eq!(enabled.previous.as_deref(), Some("kyber"));
        assert!(enabled.changed && !enabled.module_loaded);
        assert_eq!(fixture.text(SCHEDULER), "fgio");
        assert_eq!(fixture.text(MEMORY_FILE), "kyber\n");

        let disabled = disable(fixture.root(), "sda").unwrap();
        assert_eq!(disabled.scheduler, "kyber");
        assert_eq!(disabled.origin, Origin::Remembered);
        assert!(!fixture.exists(MEMORY_FILE));
    }

    #[test]
    fn both_are_idempotent() {
        let fixture = fixture();
        assert!(enable(fixture.root(), "sda").unwrap().changed);
        let again = enable(fixture.root(), "sda").unwrap();
        assert!(!again.changed);
        assert_eq!(again.previous.as_deref(), Some("kyber"));
        assert!(disable(fixture.root(), "sda").unwrap().changed);
        let again = disable(fixture.root(), "sda").unwrap();
        assert!(!again.changed);
        assert_eq!(again.scheduler, "kyber");
    }

    #[test]
    fn without_memory_the_kernels_choice_is_restored() {
        for (queues, expected) in [(1, "mq-deadline"), (4, "none")] {
            let fixture = fixture();
            fixture.file(SCHEDULER, "[fgio] mq-deadline none");
            for queue in 0..queues {
                fixture.directory(&format!("/sys/block/sda/mq/{queue}"));
            }
            // An imitation of a disk does not turn a written `none` into the
            // marker of a chosen one, so only the choice itself is looked at.
            let disk = block::resolve(fixture.root(), "sda").unwrap().disk;
            assert_eq!(kernel_default(&disk), expected);
        }
        let fixture = fixture();
        fixture.file(SCHEDULER, "[fgio] mq-deadline none");
        let disabled = disable(fixture.root(), "sda").unwrap();
        assert_eq!(disabled.scheduler, "mq-deadline");
        assert_eq!(disabled.origin, Origin::KernelDefault);
    }

    #[test]
    fn without_the_module_nothing_is_touched() {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "[none] mq-deadline");
        let error = enable(fixture.root(), "sda").unwrap_err();
        assert!(matches!(error, Error::ModuleNotLoaded));
        assert!(fixture.text(SCHEDULER).contains("[none]"));
        assert!(!fixture.exists(MEMORY_FILE));
    }
}
