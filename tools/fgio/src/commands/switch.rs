// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio enable` and `fgio disable`.

use std::thread;
use std::time::{Duration, Instant};

use fgio_sys::block::{self, Disk};
use fgio_sys::cache_limits::{self, Limits};
use fgio_sys::drive::Outcome;
use fgio_sys::persist::{self, Persisted};
use fgio_sys::scheduler::{self, Disabled, Enabled, Options, Origin};
use fgio_sys::{Error, Root, watermark_boost};
use serde::Serialize;

use crate::Context;
use crate::cli::EnableArguments;
use crate::failure::{self, Failure};

#[derive(Serialize)]
struct Answer<T> {
    devices: Vec<T>,
}

#[derive(Serialize)]
struct Enabling {
    #[serde(flatten)]
    enabled: Enabled,
    /// The arrangement for the next boot, if that was asked for.
    persisted: Option<Persisted>,
}

#[derive(Serialize)]
struct Disabling {
    #[serde(flatten)]
    disabled: Disabled,
    /// Whether it would have been under fgio again at the next boot.
    was_persistent: bool,
}

pub fn enable(context: &Context, arguments: &EnableArguments) -> Result<u8, Failure> {
    let options = Options {
        drive_priority: !arguments.no_drive_priority,
    };
    each(
        context,
        &arguments.devices,
        |root, device| {
            let enabled = scheduler::enable(root, device, options)?;
            let persisted = arguments
                .persist
                .then(|| persist::persist(root, device, options));
            Ok(Enabling {
                enabled,
                persisted: persisted.transpose()?,
            })
        },
        describe_enabling,
    )
}

pub fn disable(context: &Context, devices: &[String]) -> Result<u8, Failure> {
    restore_page_cache(context);
    let status = each(
        context,
        devices,
        |root, device| {
            Ok(Disabling {
                disabled: scheduler::disable(root, device)?,
                was_persistent: persist::forget(root, device)?,
            })
        },
        describe_disabling,
    )?;
    if cache_limits::is_running(&context.root) && !is_any_under_fgio(&context.root) {
        end_page_cache(context)?;
    }
    Ok(status)
}

fn is_any_under_fgio(root: &Root) -> bool {
    block::disks(root).is_ok_and(|disks| disks.iter().any(Disk::is_under_fgio))
}

/// Ends the `fgiod cache` that runs, so that nothing of fgio is left with the last disk.
fn end_page_cache(context: &Context) -> Result<(), Failure> {
    const PATIENCE: Duration = Duration::from_secs(10);
    let asked = cache_limits::terminate(&context.root);
    let begun = Instant::now();
    while asked.is_ok() && cache_limits::is_running(&context.root) && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(20));
    }
    if cache_limits::is_running(&context.root) {
        context.output.warning(
            "fgiod still divides the page cache: cgroups keep the memory.low that it set",
            "run `systemctl stop fgiod-cache` as root (without systemd, end `fgiod cache`)",
        );
        return Ok(());
    }
    // It may have been killed meanwhile.
    restore_page_cache(context);
    context.output.line("fgiod cache: ended, since no disk is under fgio\n  memory.low of all cgroups is as it was; `systemctl start fgiod-cache` divides the page cache again")
}

/// Takes back what was set by a `fgiod cache` or a `fgio run --drop-behind` that is gone.
fn restore_page_cache(context: &Context) {
    if let Err(error) = watermark_boost::restore(&context.root) {
        context.output.warning(
            &format!("boosts of watermarks are off, as `fgio run --drop-behind` had them: {error}"),
            "set `sysctl vm.watermark_boost_factor` as root to what it was, 15000 unless it was changed",
        );
    }
    if !cache_limits::is_left_over(&context.root) {
        return;
    }
    // Held, so that none starts meanwhile.
    let restored = cache_limits::lock(&context.root).and_then(|lock| match lock {
        Some(_held) => Limits::open(&context.root)?.restore_all(),
        None => Ok(0),
    });
    if let Err(error) = restored {
        context.output.warning(
            &format!("cgroups keep the memory.low that fgiod has set: {error}"),
            "run `fgiod cache --restore` as root",
        );
    }
}

/// Does the same to each device. One that fails does not keep the others from
/// being done; the exit status is that of the first failure.
pub fn each<T: Serialize>(
    context: &Context,
    devices: &[String],
    action: impl Fn(&Root, &str) -> Result<T, Error>,
    describe: fn(&T) -> String,
) -> Result<u8, Failure> {
    let mut status = failure::OK;
    let mut done = Vec::new();
    for device in devices {
        match action(&context.root, device) {
            Ok(outcome) => {
                context.output.line(describe(&outcome))?;
                done.push(outcome);
            }
            Err(error) => {
                let failure = Failure::from(error);
                context.output.failure(&failure);
                if status == failure::OK {
                    status = failure.status;
                }
            }
        }
    }
    context
        .output
        .answer(&Answer { devices: done }, String::new)?;
    Ok(status)
}

pub fn partition_note(device: &str, partition: Option<&String>) -> String {
    partition.map_or_else(String::new, |partition| {
        format!("\n  {partition} is a partition: schedulers belong to the whole disk, {device}")
    })
}

fn drive_note(outcome: &Outcome) -> String {
    match outcome {
        Outcome::On => "\n  the drive serves critical requests first, too".to_owned(),
        Outcome::Refused(reason) => {
            format!("\n  the drive's own priority could not be turned on: {reason}")
        }
        Outcome::NotOffered | Outcome::Off => String::new(),
    }
}

fn describe_enabling(enabling: &Enabling) -> String {
    let mut text = describe_enabled(&enabling.enabled);
    let Some(Persisted { identity, changed }) = &enabling.persisted else {
        return text;
    };
    text += match changed {
        true => "\n  and from now on at each boot",
        false => "\n  and at each boot, as before",
    };
    text += &match identity.is_stable() {
        true => format!(": known by {} ({})", identity.describe(), persist::RULES),
        false => format!(
            ": known by its {} ({}), which another disk may have then: it has no serial number of its own",
            identity.describe(),
            persist::RULES
        ),
    };
    text
}

fn describe_disabling(disabling: &Disabling) -> String {
    let mut text = describe_disabled(&disabling.disabled);
    if disabling.was_persistent {
        text += "\n  and not under fgio at the next boot any more";
    }
    text
}

fn describe_enabled(enabled: &Enabled) -> String {
    let Enabled {
        device, previous, ..
    } = enabled;
    let mut text = match (enabled.changed, previous) {
        (true, Some(previous)) => format!("{device}: under fgio now, was {previous}"),
        (true, None) => format!("{device}: under fgio now"),
        (false, _) => format!("{device}: under fgio already"),
    };
    text += &partition_note(device, enabled.partition.as_ref());
    if enabled.module_loaded {
        text += "\n  the module fgio was loaded";
    }
    text += &drive_note(&enabled.drive_priority);
    text
}

fn describe_disabled(disabled: &Disabled) -> String {
    let Disabled {
        device, scheduler, ..
    } = disabled;
    let mut text = match disabled.origin {
        Origin::Remembered => format!("{device}: back to {scheduler}"),
        Origin::KernelDefault => format!("{device}: {scheduler} now, the kernel's own choice"),
        Origin::Unchanged => format!("{device}: not under fgio, still {scheduler}"),
    };
    text += &partition_note(device, disabled.partition.as_ref());
    text
}
