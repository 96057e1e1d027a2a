// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The counters of a disk under fgio, from debugfs.

use std::collections::BTreeMap;

use crate::{Error, Result, Root, files};

/// Counters by name; names that end in `_in_device` or `_waiting` are
/// present figures, all others only grow while the disk is under fgio.
pub type Counters = BTreeMap<String, u64>;

/// Reads the counters of `disk`. Needs root.
pub fn read(root: &Root, disk: &str) -> Result<Counters> {
    let directory = root.path("/sys/kernel/debug");
    // Tells a debugfs that others may not enter from one that is not mounted.
    if let Err(source) = std::fs::read_dir(&directory) {
        return Err(Error::reading(&directory, source));
    }
    let path = directory.join("fgio").join(disk).join("counters");
    Ok(parse(&files::read(&path)?))
}

/// The counters that a text lists, a name and a number a line.
pub fn parse(text: &str) -> Counters {
    text.lines()
        .filter_map(|line| {
            let (name, value) = line.split_once(char::is_whitespace)?;
            Some((name.to_owned(), value.trim().parse().ok()?))
        })
        .collect()
}
