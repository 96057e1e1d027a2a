// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the processes of cgroups read and write, and what of it reaches a drive: their
//! `/proc/PID/io`.
//!
//! The kernel counts a read or write of any file, pipe or socket by read(2), write(2) and their
//! kin, and none through a map. So a cgroup that moves much through pipes seems to hit more than it
//! does.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::cgroup_memory::{children, file_of};
use crate::{Root, files};

/// Processes of a cgroup that are looked at: a part is as good as all, since ratios are wanted.
const PROCESSES_MOST: usize = 512;
/// Cgroups below one that are looked through for them.
const DESCENDANTS_MOST: usize = 256;

/// Bytes: of a process since it began, or of a cgroup since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// By system calls that read and write.
    pub moved: u64,
    /// Of those, read from a drive or to be written to one.
    pub missed: u64,
}

/// Remembers the counters of processes from look to look.
#[derive(Debug)]
pub struct Movers {
    root: Root,
    known: HashMap<String, HashMap<u32, Moved>>,
    /// Some process could not be read, though it is there.
    forbidden: bool,
}

impl Movers {
    pub fn new(root: &Root) -> Self {
        Self {
            root: root.clone(),
            known: HashMap::new(),
            forbidden: false,
        }
    }

    /// Whether the last looks met processes that may not be read: that takes CAP_SYS_PTRACE.
    pub fn was_forbidden(&self) -> bool {
        self.forbidden
    }

    /// Forgets all other cgroups.
    pub fn keep(&mut self, stays: impl Fn(&str) -> bool) {
        self.known.retain(|group, _| stays(group));
    }

    /// What the processes of a cgroup, and of those below it, moved since the last look at it. A
    /// process counts from the second look on: it may be old, and come from elsewhere.
    pub fn look(&mut self, group: &str) -> Moved {
        let before = self.known.remove(group).unwrap_or_default();
        let mut now = HashMap::new();
        let mut sum = Moved::default();
        for pid in processes(&self.root, group) {
            let counted = match counters(&self.root, pid) {
                Ok(counted) => counted,
                Err(kind) => {
                    self.forbidden |= kind == std::io::ErrorKind::PermissionDenied;
                    continue;
                }
            };
            now.insert(pid, counted);
            let Some(known) = before.get(&pid) else {
                continue;
            };
            // Fewer than before: another process has the id.
            if let (Some(moved), Some(missed)) = (
                counted.moved.checked_sub(known.moved),
                counted.missed.checked_sub(known.missed),
            ) {
                sum.moved = sum.moved.saturating_add(moved);
                sum.missed = sum.missed.saturating_add(missed);
            }
        }
        self.known.insert(group.to_owned(), now);
        sum
    }
}

/// The id that the module knows a cgroup by; `None` when it is gone.
pub fn id(root: &Root, group: &str) -> Option<u64> {
    Some(fs::metadata(file_of(root, group, "")).ok()?.ino())
}

fn processes(root: &Root, group: &str) -> Vec<u32> {
    let mut found = Vec::new();
    let mut left = vec![group.to_owned()];
    let mut looked = 0;
    while let Some(group) = left.pop()
        && looked < DESCENDANTS_MOST
    {
        looked += 1;
        let text = files::read_optional(&file_of(root, &group, "cgroup.procs"));
        let text = text.unwrap_or_default();
        found.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
        if found.len() >= PROCESSES_MOST {
            found.truncate(PROCESSES_MOST);
            break;
        }
        left.extend(children(root, &group));
    }
    found
}

fn counters(root: &Root, pid: u32) -> Result<Moved, std::io::ErrorKind> {
    let text =
        fs::read_to_string(root.path(format!("/proc/{pid}/io"))).map_err(|source| source.kind())?;
    let mut counted = Moved::default();
    for line in text.lines() {
        let Some((name, value)) = line.split_once(": ") else {
            continue;
        };
        let value: u64 = value.parse().unwrap_or(0);
        match name {
            "rchar" | "wchar" => counted.moved = counted.moved.saturating_add(value),
            "read_bytes" | "write_bytes" => {
                counted.missed = counted.missed.saturating_add(value);
            }
            _ => {}
        }
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn process(fixture: &Fixture, pid: u32, moved: u64, missed: u64) {
        fixture.file(
            &format!("/proc/{pid}/io"),
            &format!(
                "rchar: {moved}\nwchar: 1\nsyscr: 9\nsyscw: 9\nread_bytes: {missed}\nwrite_bytes: 2\ncancelled_write_bytes: 7\n"
            ),
        );
    }

    #[test]
    fn what_a_cgroup_moved_is_counted_from_look_to_look() {
        let fixture = Fixture::new();
        fixture.file("/sys/fs/cgroup/a/cgroup.procs", "11\n12\n");
        fixture.file("/sys/fs/cgroup/a/b/cgroup.procs", "13\n");
        for pid in 11..14 {
            process(&fixture, pid, 1000, 100);
        }
        let mut movers = Movers::new(fixture.root());
        assert_eq!(movers.look("/a"), Moved::default());
        process(&fixture, 11, 1500, 200);
        process(&fixture, 13, 1010, 100);
        // One more came, one went, and one has the id of another.
        fixture.file("/sys/fs/cgroup/a/cgroup.procs", "11\n12\n14\n15\n");
        process(&fixture, 14, 7, 3);
        process(&fixture, 12, 10, 0);
        let expected = Moved {
            moved: 500 + 10,
            missed: 100,
        };
        assert_eq!(movers.look("/a"), expected);
        assert_eq!(movers.look("/a"), Moved::default());
        movers.keep(|group| group != "/a");
        process(&fixture, 11, 9999, 9999);
        assert_eq!(movers.look("/a"), Moved::default());
        assert!(!movers.was_forbidden());
        assert_eq!(movers.look("/gone"), Moved::default());
        assert_eq!(id(fixture.root(), "/gone"), None);
        assert!(id(fixture.root(), "/a").is_some());
    }
}
