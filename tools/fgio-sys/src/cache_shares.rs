// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `fgiod cache` publishes: each cgroup's share of the page cache as it is now, in a file for
//! metrics and `fgio share list`.

use std::fmt::Write as _;
use std::fs;
use std::io;

use serde::Serialize;

use crate::{Root, cache_limits};

/// Rewritten each second while the page cache is divided.
pub const PATH: &str = "/run/fgio/cache/shares";

/// A cgroup's share. Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    pub group: String,
    pub weight: u64,
    pub held: u64,
    pub entitled: u64,
    pub granted: u64,
    pub protected: u64,
    /// Reclaimed from it by fgiod, in all.
    pub reclaimed: u64,
    /// Pages that it read again, in all, as the kernel counts them.
    pub refaults: u64,
}

impl Share {
    /// Bytes of what it is entitled to that it leaves to others.
    pub fn lent(&self) -> u64 {
        self.entitled.saturating_sub(self.granted)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes reclaimed.
    pub reclaimed: u64,
    /// Changes of memory.low.
    pub changes: u64,
    /// Files of cgroups that could not be written.
    pub errors: u64,
}

/// Replaces the file.
pub fn publish(root: &Root, totals: &Totals, shares: &[Share]) -> io::Result<()> {
    let mut text = format!(
        "total {} {} {}\n",
        totals.reclaimed, totals.changes, totals.errors
    );
    for share in shares {
        let _ = writeln!(
            text,
            "{} {} {} {} {} {} {} {}",
            share.weight,
            share.held,
            share.entitled,
            share.granted,
            share.protected,
            share.reclaimed,
            share.refaults,
            share.group,
        );
    }
    let path = root.path(PATH);
    let fresh = path.with_extension("new");
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(&fresh, text)?;
    fs::rename(&fresh, &path)
}

pub fn remove(root: &Root) {
    let _ = fs::remove_file(root.path(PATH));
}

/// What the running process published last; `None` when none runs.
pub fn read(root: &Root) -> Option<(Totals, Vec<Share>)> {
    let text = fs::read_to_string(root.path(PATH)).ok()?;
    if !cache_limits::is_running(root) {
        return None;
    }
    let mut lines = text.lines();
    let totals = numbers(lines.next()?.strip_prefix("total ")?)?;
    let [reclaimed, changes, errors] = totals[..] else {
        return None;
    };
    let totals = Totals {
        reclaimed,
        changes,
        errors,
    };
    Some((totals, lines.filter_map(share).collect()))
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    text.split(' ').map(|word| word.parse().ok()).collect()
}

fn share(line: &str) -> Option<Share> {
    let (numbers_text, group) = line.split_at_checked(line.find(" /")?)?;
    let [
        weight,
        held,
        entitled,
        granted,
        protected,
        reclaimed,
        refaults,
    ] = numbers(numbers_text)?[..]
    else {
        return None;
    };
    Some(Share {
        group: group.trim_start().to_owned(),
        weight,
        held,
        entitled,
        granted,
        protected,
        reclaimed,
        refaults,
    })
}
