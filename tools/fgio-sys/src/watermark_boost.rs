// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Boosts of the kernel's watermarks, off while commands run that drop their page cache behind them.
//!
//! When an allocation has to take a block of pages of another mobility, the kernel raises the zone's
//! watermarks for a moment (vm.watermark_boost_factor) and kswapd reclaims as many pages, 2 MiB at
//! least, from all cgroups, however much memory is free. A stream of page cache meets such blocks again
//! and again, and what goes is mostly what others hold.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};

use crate::{Error, Result, Root, files};

const FACTOR: &str = "/proc/sys/vm/watermark_boost_factor";
/// The factor that was set before.
const RECORD: &str = "/run/fgio/drop-behind/watermark_boost_factor";
/// Each command holds it shared. The one that gets it alone is the first, or the last.
const LOCK: &str = "/run/fgio/drop-behind/lock";
/// To meet others that start or end at the same time.
const TRIES: usize = 4;

/// Boosts are off as long as one of these is there.
pub struct NoBoost {
    root: Root,
    lock: File,
}

/// Others cannot open it, and so not lock it: a command waits for the lock.
fn lock_file(root: &Root) -> Result<File> {
    let path = root.path(LOCK);
    let failed = |source| Error::writing(&path, source);
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(failed)?;
    }
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(failed)
}

/// Who cannot turn boosts back on has no part in them, or might be the last.
fn check_writable(root: &Root) -> Result<()> {
    let path = root.path(FACTOR);
    match OpenOptions::new().write(true).open(&path) {
        Ok(_) => Ok(()),
        Err(source) => Err(Error::writing(&path, source)),
    }
}

fn record(root: &Root) -> PathBuf {
    root.path(RECORD)
}

/// Records the factor and sets 0. What a killed command left recorded is kept.
fn turn_off(root: &Root) -> Result<()> {
    let path = root.path(FACTOR);
    let now = files::read(&path)?;
    if now == "0" {
        return Ok(());
    }
    files::remember(root, RECORD, &now)?;
    files::write_existing(&path, "0").map_err(|source| {
        files::forget(&record(root));
        Error::writing(&path, source)
    })
}

/// A factor that an administrator set meanwhile stays.
fn turn_back(root: &Root) -> Result<()> {
    let Some(before) = files::read_optional(&record(root)) else {
        return Ok(());
    };
    let path = root.path(FACTOR);
    if files::read(&path)? == "0" {
        files::write_existing(&path, &before).map_err(|source| Error::writing(&path, source))?;
    }
    files::forget(&record(root));
    Ok(())
}

impl NoBoost {
    /// Turns boosts off. `None` on a kernel without them.
    pub fn hold(root: &Root) -> Result<Option<Self>> {
        if !root.path(FACTOR).exists() {
            return Ok(None);
        }
        check_writable(root)?;
        // From here on, what was turned off is turned on again on any way out.
        let held = Self {
            root: root.clone(),
            lock: lock_file(root)?,
        };
        let failed = |source: rustix::io::Errno| Error::writing(&root.path(LOCK), source.into());
        for _ in 0..TRIES {
            if flock(&held.lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
                turn_off(root)?;
            }
            flock(&held.lock, FlockOperation::LockShared).map_err(failed)?;
            // Else the last of the others has just turned them on again.
            if files::read(&root.path(FACTOR))? == "0" {
                break;
            }
        }
        Ok(Some(held))
    }
}

impl Drop for NoBoost {
    fn drop(&mut self) {
        if flock(&self.lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // `fgio disable` tries again.
            let _ = turn_back(&self.root);
        }
    }
}

/// Sets the factor that a killed command left recorded, unless another one runs.
pub fn restore(root: &Root) -> Result<()> {
    if !record(root).exists() {
        return Ok(());
    }
    let lock = lock_file(root)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => turn_back(root),
        Err(_) => Ok(()),
    }
}

/// The factor before a killed command turned boosts off, as long as they are and no other one runs.
/// `None` as well where the caller may not look.
pub fn left_off(root: &Root) -> Option<String> {
    let before = files::read_optional(&record(root))?;
    let lock = File::open(root.path(LOCK)).ok()?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
    let now = files::read(&root.path(FACTOR)).ok()?;
    (now == "0").then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn boosts_are_off_until_the_last_one_ends() {
        let fixture = Fixture::new();
        assert!(NoBoost::hold(fixture.root()).unwrap().is_none());
        fixture.file(FACTOR, "15000\n");
        let first = NoBoost::hold(fixture.root()).unwrap();
        let second = NoBoost::hold(fixture.root()).unwrap();
        assert_eq!(fixture.text(FACTOR), "0");
        assert_eq!(left_off(fixture.root()), None);
        drop(first);
        restore(fixture.root()).unwrap();
        assert_eq!(fixture.text(FACTOR), "0");
        drop(second);
        assert_eq!(fixture.text(FACTOR), "15000");
        assert!(!fixture.exists(RECORD));
    }

    #[test]
    fn what_an_administrator_sets_stays() {
        let fixture = Fixture::new();
        fixture.file(FACTOR, "0\n");
        drop(NoBoost::hold(fixture.root()).unwrap());
        assert_eq!(fixture.text(FACTOR), "0\n");
        fixture.file(FACTOR, "15000\n");
        let held = NoBoost::hold(fixture.root()).unwrap();
        fixture.file(FACTOR, "10000\n");
        drop(held);
        assert_eq!(fixture.text(FACTOR), "10000\n");
        assert!(!fixture.exists(RECORD));
    }

    #[test]
    fn what_a_killed_one_left_is_set_again() {
        for restores in [true, false] {
            let fixture = Fixture::new();
            fixture.file(FACTOR, "0\n");
            fixture.file(RECORD, "15000\n");
            fixture.file(LOCK, "");
            assert_eq!(left_off(fixture.root()).as_deref(), Some("15000"));
            match restores {
                true => restore(fixture.root()).unwrap(),
                false => drop(NoBoost::hold(fixture.root()).unwrap()),
            }
            assert_eq!(fixture.text(FACTOR), "15000");
            assert!(!fixture.exists(RECORD));
        }
    }
}
