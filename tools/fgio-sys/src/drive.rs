// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The drive's own queue: whether its commands have a priority, and the knob that turns it on.
//!
//! Off the shelf the knob is off, and I/O of the real-time class changes nothing in the
//! drive. Under fgio the module gives that class to critical requests, and to no others, once it is
//! told to (`queue/iosched/drive_priority`).

use std::fs;

use serde::Serialize;

use crate::block::Disk;
use crate::files::{self, MEMORY};
use crate::{Error, Result, Root};

/// The module's file: critical requests carry the real-time class.
const TOLD: &str = "queue/iosched/drive_priority";
/// Command duration limits; with libata on, NCQ priority cannot be.
const LIMITS_SUPPORTED: &str = "device/cdl_supported";
const LIMITS_ENABLED: &str = "device/cdl_enable";
const ON: &str = "1";
const OFF: &str = "0";

/// The command that tells a drive of urgent I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// NCQ priority of a SATA disk at a SATA port (libata).
    Ncq,
    /// NCQ priority of a SATA disk behind a SAS adapter (mpt3sas, mpi3mr, smartpqi).
    SasNcq,
    /// The priority goes to the hypervisor with each request (virtio-blk); there is no knob.
    Virtio,
}

impl Command {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ncq => "NCQ priority",
            Self::SasNcq => "NCQ priority behind a SAS adapter",
            Self::Virtio => "the priority in virtio's requests",
        }
    }

    /// The files that say whether the drive can, and whether it shall.
    fn knob(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Ncq => Some(("device/ncq_prio_supported", "device/ncq_prio_enable")),
            Self::SasNcq => Some((
                "device/sas_ncq_prio_supported",
                "device/sas_ncq_prio_enable",
            )),
            Self::Virtio => None,
        }
    }
}

/// The priority command of a drive, and its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Priority {
    pub command: Command,
    /// The drive's knob; on where there is none.
    pub enabled: bool,
    /// Whether the module tells the drive; `None` when the disk is not under fgio, or the module is
    /// too old.
    pub told: Option<bool>,
}

/// The outcome of [`turn_on`] and [`turn_off`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state", content = "reason")]
pub enum Outcome {
    /// The drive has no such command, or its driver does not use it.
    NotOffered,
    /// Critical requests go first in the drive, too.
    On,
    /// They do not; the knob is as it was before fgio.
    Off,
    /// The drive or the kernel would not have it. The disk is under fgio all the same.
    Refused(String),
}

/// The command of the drive; `None`: none that the kernel knows.
pub fn priority(disk: &Disk) -> Option<Priority> {
    let command = command(disk)?;
    let enabled = command
        .knob()
        .is_none_or(|(_, enable)| disk.attribute(enable).as_deref() == Some(ON));
    Some(Priority {
        command,
        enabled,
        told: disk.number(TOLD).map(|told| told != 0),
    })
}

fn command(disk: &Disk) -> Option<Command> {
    let offered = |command: Command| {
        let (supported, enable) = command.knob()?;
        let is_refused = disk.attribute(supported).as_deref() == Some(OFF);
        // smartpqi does not report support: a write to the file succeeds or fails.
        let is_there = disk.path(enable).exists();
        (is_there && !is_refused).then_some(command)
    };
    let driver = fs::read_link(disk.path("device/driver")).ok();
    let is_virtio = driver.is_some_and(|driver| driver.ends_with("virtio_blk"));
    offered(Command::Ncq)
        .or_else(|| offered(Command::SasNcq))
        .or_else(|| is_virtio.then_some(Command::Virtio))
}

/// Whether the drive has command duration limits, and whether they are on.
pub fn duration_limits(disk: &Disk) -> Option<bool> {
    let supported = disk.attribute(LIMITS_SUPPORTED)?;
    (supported == ON).then(|| disk.attribute(LIMITS_ENABLED).as_deref() == Some(ON))
}

/// Has the drive serve critical requests first, and remembers how its knob was. The disk is under
/// fgio. Fails in no way that would have to undo that.
pub fn turn_on(root: &Root, disk: &Disk) -> Outcome {
    let Some(priority) = priority(disk) else {
        return Outcome::NotOffered;
    };
    let turned = match priority.command.knob() {
        _ if priority.told.is_none() => Err("the module is older than this command".to_owned()),
        Some((_, enable)) if !priority.enabled => turn_knob_on(root, disk, enable),
        _ => Ok(()),
    };
    let told = turned.and_then(|()| write(disk, TOLD, ON));
    match told {
        Ok(()) => Outcome::On,
        Err(reason) => {
            let _ = restore_knob(root, disk);
            Outcome::Refused(reason)
        }
    }
}

/// Has the drive serve requests as it did before fgio.
pub fn turn_off(root: &Root, disk: &Disk) -> Result<Outcome> {
    let Some(priority) = priority(disk) else {
        return Ok(Outcome::NotOffered);
    };
    if priority.told == Some(true) {
        let path = disk.path(TOLD);
        files::write_existing(&path, OFF).map_err(|source| Error::writing(&path, source))?;
    }
    restore_knob(root, disk)?;
    Ok(Outcome::Off)
}

fn turn_knob_on(root: &Root, disk: &Disk, enable: &str) -> std::result::Result<(), String> {
    if duration_limits(disk) == Some(true) {
        return Err(format!(
            "command duration limits are on, and the kernel has either these or NCQ priority (echo 0 > /sys/block/{}/{LIMITS_ENABLED})",
            disk.name
        ));
    }
    files::remember(root, &memory(disk), enable).map_err(|error| error.to_string())?;
    write(disk, enable, ON)
}

fn write(disk: &Disk, file: &str, text: &str) -> std::result::Result<(), String> {
    files::write_existing(&disk.path(file), text)
        .map_err(|source| format!("/sys/block/{}/{file}: {source}", disk.name))
}

fn memory(disk: &Disk) -> String {
    format!("{MEMORY}/{}.drive-priority", disk.name)
}

/// Turns the knob off where [`turn_on`] turned it on; does nothing otherwise. The remembered value is
/// the knob's own file.
pub(crate) fn restore_knob(root: &Root, disk: &Disk) -> Result<()> {
    let memory = root.path(memory(disk));
    let Some(enable) = files::read_optional(&memory) else {
        return Ok(());
    };
    let path = disk.path(&enable);
    if path.exists() {
        files::write_existing(&path, OFF).map_err(|source| Error::writing(&path, source))?;
    }
    files::forget(&memory);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block;
    use crate::fixture::Fixture;

    const DEVICE: &str = "/sys/block/sda/device";
    const TOLD_FILE: &str = "/sys/block/sda/queue/iosched/drive_priority";
    const MEMORY_FILE: &str = "/run/fgio/sda.drive-priority";

    fn fixture(files: &[(&str, &str)]) -> (Fixture, Disk) {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "none [fgio]");
        fixture.file(TOLD_FILE, "0\n");
        for (name, text) in files {
            fixture.file(&format!("{DEVICE}/{name}"), &format!("{text}\n"));
        }
        let disk = block::resolve(fixture.root(), "sda").unwrap().disk;
        (fixture, disk)
    }

    #[test]
    fn a_drive_is_turned_on_and_put_back() {
        for prefix in ["", "sas_"] {
            let (supported, enable) = (
                format!("{prefix}ncq_prio_supported"),
                format!("{prefix}ncq_prio_enable"),
            );
            let (fixture, disk) = fixture(&[(&supported, "1"), (&enable, "0")]);
            assert_eq!(turn_on(fixture.root(), &disk), Outcome::On);
            let priority = priority(&disk).unwrap();
            assert!(priority.enabled && priority.told == Some(true));
            assert_eq!(turn_on(fixture.root(), &disk), Outcome::On);
            assert_eq!(turn_off(fixture.root(), &disk).unwrap(), Outcome::Off);
            assert_eq!(fixture.text(&format!("{DEVICE}/{enable}")), "0");
            assert_eq!(fixture.text(TOLD_FILE), "0");
            assert!(!fixture.exists(MEMORY_FILE));
        }
    }

    #[test]
    fn a_knob_that_was_on_stays_on() {
        let (fixture, disk) = fixture(&[("ncq_prio_supported", "1"), ("ncq_prio_enable", "1")]);
        assert_eq!(turn_on(fixture.root(), &disk), Outcome::On);
        assert_eq!(turn_off(fixture.root(), &disk).unwrap(), Outcome::Off);
        assert_eq!(fixture.text(&format!("{DEVICE}/ncq_prio_enable")), "1\n");
        assert_eq!(fixture.text(TOLD_FILE), "0");
    }

    #[test]
    fn a_drive_that_cannot_is_left_alone() {
        let (fixture, disk) = fixture(&[("ncq_prio_supported", "0"), ("ncq_prio_enable", "0")]);
        assert_eq!(turn_on(fixture.root(), &disk), Outcome::NotOffered);
        assert_eq!(fixture.text(TOLD_FILE), "0\n");
        assert_eq!(
            turn_off(fixture.root(), &disk).unwrap(),
            Outcome::NotOffered
        );
    }

    #[test]
    fn duration_limits_that_are_on_are_left_on() {
        let (fixture, disk) = fixture(&[
            ("ncq_prio_supported", "1"),
            ("ncq_prio_enable", "0"),
            ("cdl_supported", "1"),
            ("cdl_enable", "1"),
        ]);
        let outcome = turn_on(fixture.root(), &disk);
        assert!(matches!(&outcome, Outcome::Refused(reason) if reason.contains("cdl_enable")));
        assert_eq!(fixture.text(TOLD_FILE), "0\n");
        assert_eq!(duration_limits(&disk), Some(true));
        assert!(!fixture.exists(MEMORY_FILE));
    }

    #[test]
    fn virtio_has_no_knob() {
        let (fixture, disk) = fixture(&[]);
        fixture.link(
            &format!("{DEVICE}/driver"),
            "../../../bus/virtio/drivers/virtio_blk",
        );
        assert_eq!(turn_on(fixture.root(), &disk), Outcome::On);
        assert_eq!(fixture.text(TOLD_FILE), "1");
        assert!(!fixture.exists(MEMORY_FILE));
    }

    #[test]
    fn a_module_that_knows_nothing_of_it_leaves_the_knob_off() {
        let (fixture, disk) = fixture(&[("ncq_prio_supported", "1"), ("ncq_prio_enable", "0")]);
        fixture.remove(TOLD_FILE);
        let outcome = turn_on(fixture.root(), &disk);
        assert!(matches!(&outcome, Outcome::Refused(reason) if reason.contains("older")));
        assert_eq!(fixture.text(&format!("{DEVICE}/ncq_prio_enable")), "0\n");
    }
}
