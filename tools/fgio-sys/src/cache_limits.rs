// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory.low that fgiod has set, recorded so that any later program can take it back.
//!
//! A line is added to the record before a value is set: `+ ORIGINAL BEFORE OURS PATH`, in bytes, and
//! `- PATH` after it was taken back. A process that is killed at any moment leaves a record of all
//! that it set, and perhaps of one value that it did not. A line that is cut off is of a value that
//! was not set. The record is gone at reboot, as are the values.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::process;

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};

use crate::line_file::LineFile;
use crate::{Root, cgroup_memory};

pub const RECORD: &str = "/run/fgio/cache/limits";
const LOCK: &str = "/run/fgio/cache/lock";
/// Name of the process that holds the lock for long.
const HOLDER: &str = "fgiod";

/// The value of one cgroup. In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// As the administrator had it.
    original: u64,
    /// Just before ours was set: it is still there when the process was killed in between.
    before: u64,
    ours: u64,
}

/// The values set, and the record of them.
pub struct Limits {
    root: Root,
    entries: BTreeMap<String, Entry>,
    record: LineFile,
}

impl Limits {
    /// Reads the record that the last process left.
    pub fn open(root: &Root) -> io::Result<Self> {
        let (record, lines) = LineFile::read(root.path(RECORD))?;
        let mut limits = Self {
            root: root.clone(),
            entries: BTreeMap::new(),
            record,
        };
        for line in &lines {
            limits.apply(line);
        }
        Ok(limits)
    }

    fn apply(&mut self, line: &str) {
        if let Some(path) = line.strip_prefix("- ") {
            self.entries.remove(path);
            return;
        }
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        if let ["+", original, before, ours, path] = words[..]
            && let (Ok(original), Ok(before), Ok(ours)) =
                (original.parse(), before.parse(), ours.parse())
        {
            let entry = Entry {
                original,
                before,
                ours,
            };
            self.entries.insert(path.to_owned(), entry);
        }
    }

    /// The entries are those of the line.
    fn append(&mut self, line: &str) -> io::Result<()> {
        if self.record.is_open() && !self.record.is_long(self.entries.len()) {
            return self.record.append(line);
        }
        let lines: Vec<String> = self
            .entries
            .iter()
            .map(|(path, entry)| line_of(path, *entry))
            .collect();
        self.record.replace(&lines)
    }

    /// The administrator's value, where a cgroup has `now`: its own unless that is what was set last.
    pub fn original(&self, group: &str, now: u64) -> u64 {
        match self.entries.get(group) {
            Some(entry) if now == entry.ours || now == entry.before => entry.original,
            _ => now,
        }
    }

    /// Cgroups with a value of ours.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The cgroups with a value of ours.
    pub fn groups(&self) -> Vec<String> {
        self.entries.keys().cloned().collect()
    }

    pub fn has(&self, group: &str) -> bool {
        self.entries.contains_key(group)
    }

    fn note(&mut self, group: &str, now: u64, bytes: u64) -> io::Result<()> {
        let entry = Entry {
            original: self.original(group, now),
            before: now,
            ours: bytes,
        };
        self.entries.insert(group.to_owned(), entry);
        self.append(&line_of(group, entry))
    }

    /// Sets a value, recorded first; when that fails, it is not set. Never below the
    /// administrator's own.
    pub fn set(&mut self, group: &str, bytes: u64) -> io::Result<()> {
        let Some(now) = cgroup_memory::number(&self.root, group, "memory.low") else {
            return self.forget(group);
        };
        let bytes = bytes.max(self.original(group, now));
        if bytes == now {
            return Ok(());
        }
        self.note(group, now, bytes)?;
        cgroup_memory::set_low(&self.root, group, bytes)
    }

    fn forget(&mut self, group: &str) -> io::Result<()> {
        if self.entries.remove(group).is_none() {
            return Ok(());
        }
        self.append(&format!("- {group}\n"))
    }

    /// Takes a value back, unless another program has changed it since. A cgroup that is gone has
    /// none.
    pub fn restore(&mut self, group: &str) -> io::Result<()> {
        let Some(entry) = self.entries.get(group).copied() else {
            return Ok(());
        };
        let now = cgroup_memory::number(&self.root, group, "memory.low");
        if now.is_some_and(|now| now == entry.ours || now == entry.before) {
            match cgroup_memory::set_low(&self.root, group, entry.original) {
                Err(source) if source.kind() == ErrorKind::NotFound => {}
                done => done?,
            }
        }
        self.forget(group)
    }

    /// Takes back all values and removes the record. Returns how many there were; the first failure
    /// does not keep the others from being taken back.
    pub fn restore_all(&mut self) -> io::Result<usize> {
        let groups = self.groups();
        let mut failed = None;
        for group in &groups {
            if let Err(source) = self.restore(group) {
                failed.get_or_insert(io::Error::new(
                    source.kind(),
                    format!("memory.low of {group}: {source}"),
                ));
            }
        }
        if let Some(source) = failed {
            return Err(source);
        }
        self.record.remove()?;
        Ok(groups.len())
    }
}

fn line_of(group: &str, entry: Entry) -> String {
    let Entry {
        original,
        before,
        ours,
    } = entry;
    format!("+ {original} {before} {ours} {group}\n")
}

/// Held by the one process that may set values; `None` when another process has it. The kernel
/// releases it when the process ends in any way.
pub fn lock(root: &Root) -> io::Result<Option<File>> {
    let path = root.path(LOCK);
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            // For others that want it to end; an older one's is of no use.
            file.set_len(0)?;
            (&file).write_all(process::id().to_string().as_bytes())?;
            Ok(Some(file))
        }
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Tells the process that divides the page cache to end, which takes back what it set. `NotFound`
/// where none runs, or it is not known which: its file is in another PID namespace.
pub fn terminate(root: &Root) -> io::Result<()> {
    let gone = || io::Error::from(ErrorKind::NotFound);
    let text = fs::read_to_string(root.path(LOCK))?;
    if !is_running(root) {
        return Err(gone());
    }
    let process = text.parse().ok().and_then(Pid::from_raw).ok_or_else(gone)?;
    let name = fs::read_to_string(format!("/proc/{process}/comm"))?;
    if name.trim_end() != HOLDER {
        return Err(gone());
    }
    Ok(kill_process(process, Signal::TERM)?)
}

/// Whether a process divides the page cache now.
pub fn is_running(root: &Root) -> bool {
    let Ok(file) = File::open(root.path(LOCK)) else {
        return false;
    };
    flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
}

/// Whether values are set that no running process answers for.
pub fn is_left_over(root: &Root) -> bool {
    !is_running(root) && Limits::open(root).is_ok_and(|limits| !limits.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::line_file::SLACK_LINES;

    const GROUPS: [&str; 3] = ["/a", "/b c", "/d/e"];

    fn tree() -> Fixture {
        let fixture = Fixture::new();
        for (group, low) in GROUPS.into_iter().zip(["0\n", "8192\n", "max\n"]) {
            fixture.file(&format!("/sys/fs/cgroup{group}/memory.low"), low);
        }
        fixture
    }

    fn low(fixture: &Fixture, group: &str) -> u64 {
        cgroup_memory::number(fixture.root(), group, "memory.low").unwrap()
    }

    fn lows(fixture: &Fixture) -> [u64; 3] {
        GROUPS.map(|group| low(fixture, group))
    }

    const ORIGINAL: [u64; 3] = [0, 8192, cgroup_memory::MAX];

    /// Killed after each step, and between the record and the value: the next one restores all.
    #[test]
    fn killed_at_any_moment_nothing_stays() {
        let steps = [
            ("/a", 4096),
            ("/b c", 16384),
            ("/a", 12288),
            ("/d/e", 4096),
            ("/a", 0),
            ("/b c", 4096),
        ];
        for killed in 0..=steps.len() {
            for between in [false, true] {
                let fixture = tree();
                let mut limits = Limits::open(fixture.root()).unwrap();
                for (group, bytes) in &steps[..killed] {
                    limits.set(group, *bytes).unwrap();
                }
                if between && killed < steps.len() {
                    let (group, bytes) = steps[killed];
                    limits.note(group, low(&fixture, group), bytes).unwrap();
                }
                drop(limits);
                let mut next = Limits::open(fixture.root()).unwrap();
                next.restore_all().unwrap();
                assert_eq!(lows(&fixture), ORIGINAL, "{killed} {between}");
                assert!(!fixture.exists(RECORD));
            }
        }
    }

    #[test]
    fn a_line_that_is_cut_off_says_nothing() {
        let fixture = tree();
        fixture.file(RECORD, "+ 0 0 4096 /a\n+ 0 0 40");
        fixture.file("/sys/fs/cgroup/a/memory.low", "4096\n");
        let mut limits = Limits::open(fixture.root()).unwrap();
        assert_eq!(limits.len(), 1);
        assert_eq!(limits.restore_all().unwrap(), 1);
        assert_eq!(lows(&fixture), ORIGINAL);
    }

    #[test]
    fn the_administrators_value_is_a_minimum_and_comes_back() {
        let fixture = tree();
        let mut limits = Limits::open(fixture.root()).unwrap();
        limits.set("/b c", 4096).unwrap();
        assert_eq!(low(&fixture, "/b c"), 8192);
        assert!(!limits.has("/b c"));
        limits.set("/b c", 16384).unwrap();
        assert_eq!(low(&fixture, "/b c"), 16384);
        // The administrator sets another one meanwhile, which counts from now on.
        fixture.file("/sys/fs/cgroup/b c/memory.low", "12288\n");
        assert_eq!(limits.original("/b c", 12288), 12288);
        limits.set("/b c", 4096).unwrap();
        assert_eq!(low(&fixture, "/b c"), 12288);
        limits.set("/b c", 20480).unwrap();
        limits.restore("/b c").unwrap();
        assert_eq!(low(&fixture, "/b c"), 12288);
        // A change by the administrator at the end is left alone.
        limits.set("/a", 4096).unwrap();
        fixture.file("/sys/fs/cgroup/a/memory.low", "40960\n");
        limits.restore_all().unwrap();
        assert_eq!(low(&fixture, "/a"), 40960);
    }

    #[test]
    fn nothing_is_set_that_cannot_be_recorded() {
        let fixture = tree();
        let mut limits = Limits::open(fixture.root()).unwrap();
        fixture.file("/run/fgio", "in the way");
        assert!(limits.set("/a", 4096).is_err());
        assert_eq!(lows(&fixture), ORIGINAL);
    }

    #[test]
    fn cgroups_that_are_gone_are_forgotten_and_the_record_stays_short() {
        let fixture = tree();
        let mut limits = Limits::open(fixture.root()).unwrap();
        for number in 0..3_000 {
            limits.set("/a", 4096 * (1 + number % 2)).unwrap();
        }
        let lines = fixture.text(RECORD).lines().count();
        assert!(lines < SLACK_LINES + 8, "{lines}");
        fixture.remove_directory("/sys/fs/cgroup/a");
        limits.set("/a", 4096).unwrap();
        assert!(limits.is_empty());
        assert_eq!(limits.restore_all().unwrap(), 0);
    }

    #[test]
    fn one_process_at_a_time_sets_values() {
        let fixture = tree();
        assert!(!is_running(fixture.root()));
        let held = lock(fixture.root()).unwrap();
        assert!(held.is_some() && is_running(fixture.root()));
        assert!(lock(fixture.root()).unwrap().is_none());
        fixture.file(RECORD, "+ 0 0 4096 /a\n");
        assert!(!is_left_over(fixture.root()));
        // The holder is this process, which is not called fgiod.
        let refused = terminate(fixture.root()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotFound);
        drop(held);
        assert!(is_left_over(fixture.root()) && !is_running(fixture.root()));
    }
}
