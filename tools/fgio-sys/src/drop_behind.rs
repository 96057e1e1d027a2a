// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands that leave little in the page cache: each runs in a cgroup of its own, and file pages
//! that it brought in are reclaimed from that as it goes on.
//!
//! A page is charged to the cgroup that brought it in, so pages that other tasks had in memory before
//! stay, whatever the command reads. Processes of a server that work for the command can be moved to
//! its cgroup for as long. No limit is set: the command is never throttled, and a
//! supervisor that is killed leaves a command that runs on as any other, in a cgroup without limits.

use std::fs;
use std::io::{self, ErrorKind};
use std::process::{self, Child, Command};
use std::time::{Duration, Instant};

use crate::cgroup_memory::{self, Free, Memory, Reader};
use crate::watermark_boost::NoBoost;
use crate::{Root, files};

/// Reclaimed at once, so that the command's own allocations need not wait for long.
const PIECE: u64 = 16 << 20;
/// Kept also where memory is short, beside what is to be written: what was read ahead of the command is not
/// dropped before it is used.
const LEAST: u64 = 4 << 20;
/// What a command may keep that asks for no limit: of what is free as it begins, a part, for beside it
/// stays what is still to be written, and others take from the same.
const OF_FREE: u64 = 6;
const DEFAULT_LEAST: u64 = 8 << 20;
const DEFAULT_MOST: u64 = 64 << 20;
/// Between two calls: at 1 GB/s, a command brings in 50 MB meanwhile.
const INTERVAL: Duration = Duration::from_millis(50);
/// The same where that could be more than is free; and this times what a look at memory takes.
const SHORT_INTERVAL: Duration = Duration::from_millis(5);
const INTERVAL_LOOKS: u32 = 20;
/// Bytes that a command brings in within an interval, before there is one to go by.
const FIRST_INFLOW: u64 = 50_000_000;
/// Of the names of cgroups for commands.
const RUN_PREFIX: &str = "fgio-run-";
/// Parents that are looked at to find who made a process.
const FAMILY_MOST: usize = 8;

/// A cgroup for one command.
pub struct DropBehind {
    root: Root,
    reader: Reader,
    group: String,
    /// Where this process was before.
    own: String,
    /// Processes of servers, and where each was before.
    adopted: Vec<(i32, String)>,
    /// Bytes of file memory that the command may keep.
    keep: u64,
    file_only: bool,
    /// File memory of the call before, after what it dropped; and when that was.
    before: u64,
    looked: Instant,
    /// Bytes that come in within an [`INTERVAL`]: the most of late.
    inflow: u64,
    /// Until the next call.
    pause: Duration,
    _no_boost: Option<NoBoost>,
    dropped: u64,
    most: u64,
}

/// Why there can be no such cgroup, and the remedy.
#[derive(Debug)]
pub struct Refusal {
    pub found: String,
    pub advice: &'static str,
}

fn refusal(found: impl Into<String>, advice: &'static str) -> Refusal {
    Refusal {
        found: found.into(),
        advice,
    }
}

fn parent_of(group: &str) -> &str {
    match group.rsplit_once('/') {
        None | Some(("", _)) => "/",
        Some((parent, _)) => parent,
    }
}

/// The parent of a process; `None` when it has ended.
fn parent_process(root: &Root, pid: i32) -> Option<i32> {
    let text = files::read_optional(&root.path(format!("/proc/{pid}/stat")))?;
    // After the name, which may have anything in it: the state, then the parent.
    let mut words = text.rsplit_once(')')?.1.split_whitespace();
    words.nth(1)?.parse().ok()
}

fn default_limit(host: Option<Free>) -> u64 {
    host.map_or(DEFAULT_MOST, |host| {
        (host.free.saturating_sub(host.high) / OF_FREE).clamp(DEFAULT_LEAST, DEFAULT_MOST)
    })
}

/// Of what comes in within `of`, as much as in `time`.
fn scaled(bytes: u64, time: Duration, of: Duration) -> u64 {
    (bytes as f64 * time.as_secs_f64() / of.as_secs_f64()) as u64
}

/// Whether a cgroup is another one or below it.
fn is_within(group: &str, other: &str) -> bool {
    group == other || group.starts_with(&format!("{}/", other.trim_end_matches('/')))
}

/// The cgroup of a process; `None` when it has ended.
fn group_of(root: &Root, process: &str) -> Option<String> {
    let text = files::read_optional(&root.path(format!("/proc/{process}/cgroup")))?;
    let group = text.lines().find_map(|line| line.strip_prefix("0::"));
    group.map(str::to_owned)
}

impl DropBehind {
    /// Makes the cgroup, beside that of the calling process. Needs root, or a delegated subtree.
    /// `keep`: bytes of file memory that the command may keep; `None`: by what is free now.
    pub fn prepare(root: &Root, keep: Option<u64>) -> Result<Self, Refusal> {
        if let Some((found, advice)) = cgroup_memory::obstacle(root) {
            return Err(refusal(found, advice));
        }
        let own = group_of(root, "self").unwrap_or_else(|| "/".to_owned());
        let parent = parent_of(&own);
        let group = format!(
            "{}/{RUN_PREFIX}{}",
            parent.trim_end_matches('/'),
            process::id()
        );
        let path = root.path(cgroup_memory::HIERARCHY).join(&group[1..]);
        fs::create_dir(&path).map_err(|source| {
            refusal(
                format!("cgroup {group} cannot be made: {source}"),
                "run it as root, or leave out --drop-behind",
            )
        })?;
        let made = Self {
            root: root.clone(),
            reader: Reader::new(root),
            group,
            own,
            adopted: Vec::new(),
            keep: keep.unwrap_or_else(|| default_limit(cgroup_memory::free(root))),
            file_only: true,
            before: 0,
            looked: Instant::now(),
            inflow: FIRST_INFLOW,
            pause: SHORT_INTERVAL,
            // Without it, more of what others hold may go.
            _no_boost: NoBoost::hold(root).unwrap_or_default(),
            dropped: 0,
            most: 0,
        };
        if cgroup_memory::can_reclaim(root, &made.group) {
            return Ok(made);
        }
        made.remove();
        Err(refusal(
            format!("cgroup {} has no memory.reclaim", made.group),
            "it takes Linux 6.1 or later, and the memory controller for the cgroups beside this one (systemd: MemoryAccounting=yes)",
        ))
    }

    /// Moves a process; 0 is the calling one.
    fn enter(&self, group: &str, pid: i32) -> io::Result<()> {
        let path = cgroup_memory::file_of(&self.root, group, "cgroup.procs");
        files::write_existing(&path, &pid.to_string())
    }

    /// Moves a process to the cgroup until the end, if it is in the cgroup `of` or below it: what it
    /// brings in from now on is dropped, too. One that has ended, or that another command has, stays.
    pub fn adopt(&mut self, pid: i32, of: &str) -> io::Result<()> {
        let former = group_of(&self.root, &pid.to_string());
        let Some(former) = former.filter(|group| is_within(group, of)) else {
            return Ok(());
        };
        if former.contains(RUN_PREFIX) {
            return Ok(());
        }
        match self.enter(&self.group, pid) {
            // It ended meanwhile.
            Err(source) if source.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
            moved => moved?,
        }
        self.adopted.retain(|(known, _)| *known != pid);
        self.adopted.push((pid, former));
        Ok(())
    }

    /// Where an adopted process was before, or the one that made this process.
    fn former_of(&self, pid: i32) -> Option<&str> {
        let mut at = pid;
        for _ in 0..FAMILY_MOST {
            if let Some((_, former)) = self.adopted.iter().find(|(known, _)| *known == at) {
                return Some(former);
            }
            at = parent_process(&self.root, at)?;
        }
        None
    }

    /// Those that still run go back, and what they started meanwhile. Another process may have the
    /// number of one that ended.
    fn give_back(&mut self) {
        if self.adopted.is_empty() {
            return;
        }
        let path = cgroup_memory::file_of(&self.root, &self.group, "cgroup.procs");
        let inside = files::read_optional(&path).unwrap_or_default();
        for pid in inside.lines().filter_map(|line| line.parse().ok()) {
            if let Some(former) = self.former_of(pid) {
                // That cgroup may be gone: then it stays here.
                let _ = self.enter(former, pid);
            }
        }
    }

    /// Starts the command in the cgroup; the calling process goes there for the moment of the fork.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        self.enter(&self.group, 0)?;
        let child = command.spawn();
        self.enter(&self.own, 0)?;
        child
    }

    fn allowed(&mut self, memory: &Memory) -> u64 {
        let now = Instant::now();
        let elapsed = now - std::mem::replace(&mut self.looked, now);
        let host = cgroup_memory::free(&self.root);
        self.allowed_beside(memory, host, elapsed, now.elapsed())
    }

    /// What may stay of the cgroup's file pages, which were looked at `elapsed` ago before, at a cost
    /// of `cost`. What is still to be written cannot go: to ask for it would take the kernel long, and in
    /// vain. Less than the limit where free memory is short: else the kernel's reclaim makes room
    /// for the command, and takes from all. It has nothing to do while free memory is beyond its
    /// watermarks by as much again, and by twice what the command brings in until the next call.
    fn allowed_beside(
        &mut self,
        memory: &Memory,
        host: Option<Free>,
        elapsed: Duration,
        cost: Duration,
    ) -> u64 {
        let (file, least) = (memory.file, memory.busy + LEAST.min(self.keep));
        let Some(host) = host else {
            self.pause = INTERVAL;
            return self.keep.max(least);
        };
        let came = file.saturating_sub(self.before);
        let elapsed = elapsed.clamp(SHORT_INTERVAL, INTERVAL);
        self.inflow = scaled(came, INTERVAL, elapsed).max(self.inflow - self.inflow / 8);
        let short = |inflow: u64| (2 * host.high + 2 * inflow).saturating_sub(host.free);
        self.pause = match short(self.inflow) {
            0 => INTERVAL,
            _ => SHORT_INTERVAL.max(INTERVAL_LOOKS * cost).min(INTERVAL),
        };
        let inflow = scaled(self.inflow, self.pause, INTERVAL);
        self.keep.min(file.saturating_sub(short(inflow))).max(least)
    }

    /// Until the next call of [`Self::drop_behind`].
    pub fn pause(&self) -> Duration {
        self.pause
    }

    /// Reclaims what is beyond the limit, or more where memory is short. Returns bytes reclaimed by
    /// this call.
    pub fn drop_behind(&mut self) -> io::Result<u64> {
        let Some(memory) = self.reader.memory(&self.group) else {
            return Ok(0);
        };
        let allowed = self.allowed(&memory);
        self.reclaim_beyond(allowed, &memory)
    }

    /// Returns bytes reclaimed.
    fn reclaim_beyond(&mut self, allowed: u64, memory: &Memory) -> io::Result<u64> {
        self.most = self.most.max(memory.file);
        let mut left = memory.file.saturating_sub(allowed);
        let mut done = 0;
        while left > 0 {
            let piece = left.min(PIECE);
            match cgroup_memory::reclaim(&self.root, &self.group, piece, self.file_only) {
                Ok(()) => {
                    done += piece;
                    left -= piece;
                }
                Err(source) if source.kind() == ErrorKind::InvalidInput && self.file_only => {
                    if cgroup_memory::has_swap(&self.root) {
                        return Err(io::Error::new(
                            ErrorKind::Unsupported,
                            "this kernel would swap out (it takes Linux 6.10, or no swap space)",
                        ));
                    }
                    self.file_only = false;
                }
                // Pages that have to be written first, or are in use: the next time.
                Err(source)
                    if matches!(
                        source.kind(),
                        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::NotFound
                    ) =>
                {
                    break;
                }
                Err(source) => return Err(source),
            }
        }
        self.before = memory.file - done.min(memory.file);
        self.dropped += done;
        Ok(done)
    }

    /// Bytes that the command may keep. More stays where more is still to be written.
    pub fn limit(&self) -> u64 {
        self.keep
    }

    /// Bytes reclaimed so far, and the most file memory that was seen.
    pub fn counters(&self) -> (u64, u64) {
        (self.dropped, self.most)
    }

    /// Reclaims the rest and removes the cgroup. One with tasks (the command left some behind)
    /// stays, as does what they use.
    pub fn finish(mut self) -> (u64, u64) {
        self.give_back();
        if let Some(memory) = self.reader.memory(&self.group) {
            // What cannot be reclaimed is the parent's from now on.
            let _ = self.reclaim_beyond(0, &memory);
        }
        self.remove();
        self.counters()
    }

    fn remove(&self) {
        let _ = fs::remove_dir(cgroup_memory::file_of(&self.root, &self.group, ""));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn host() -> Fixture {
        let fixture = Fixture::new();
        fixture.file("/sys/fs/cgroup/cgroup.controllers", "io memory\n");
        fixture.file("/sys/fs/cgroup/cgroup.subtree_control", "io memory\n");
        fixture.file("/proc/self/cgroup", "0::/user.slice/session-1.scope\n");
        fixture.directory("/sys/fs/cgroup/user.slice/session-1.scope");
        fixture
    }

    fn group() -> String {
        format!("/user.slice/fgio-run-{}", process::id())
    }

    fn made(fixture: &Fixture, keep: u64) -> DropBehind {
        DropBehind {
            root: fixture.root().clone(),
            reader: Reader::new(fixture.root()),
            group: group(),
            own: "/user.slice/session-1.scope".to_owned(),
            adopted: Vec::new(),
            keep,
            file_only: true,
            before: 0,
            looked: Instant::now(),
            inflow: FIRST_INFLOW,
            pause: SHORT_INTERVAL,
            _no_boost: None,
            dropped: 0,
            most: 0,
        }
    }

    #[test]
    fn what_is_beyond_the_limit_is_reclaimed() {
        let fixture = host();
        let place = format!("/sys/fs/cgroup{}", group());
        for (name, text) in [
            ("memory.current", "9000000\n"),
            ("memory.low", "0\n"),
            ("memory.reclaim", ""),
            (
                "memory.stat",
                "inactive_file 5000000\nactive_file 1000000\n",
            ),
        ] {
            fixture.file(&format!("{place}/{name}"), text);
        }
        let mut made = made(&fixture, 4_000_000);
        assert_eq!(made.drop_behind().unwrap(), 2_000_000);
        assert_eq!(
            fixture.text(&format!("{place}/memory.reclaim")),
            "2000000 swappiness=0"
        );
        made.keep = 6_000_000;
        assert_eq!(made.drop_behind().unwrap(), 0);
        assert_eq!(made.finish(), (8_000_000, 6_000_000));
    }

    #[test]
    fn without_a_limit_a_part_of_what_is_free_may_stay() {
        let host = |free_mib: u64| {
            Some(Free {
                free: free_mib << 20,
                high: 10 << 20,
                freed: 0,
            })
        };
        assert_eq!(default_limit(host(100)), 15 << 20);
        assert_eq!(default_limit(host(5)), DEFAULT_LEAST);
        assert_eq!(default_limit(host(100_000)), DEFAULT_MOST);
        assert_eq!(default_limit(None), DEFAULT_MOST);
    }

    #[test]
    fn adopted_processes_go_back_with_those_that_they_started() {
        let fixture = host();
        let server = "/system.slice/db.service";
        let unit = format!("/sys/fs/cgroup{server}/cgroup.procs");
        let inside = format!("/sys/fs/cgroup{}/cgroup.procs", group());
        for file in [&unit, &inside] {
            fixture.file(file, "");
        }
        let is_in = |pid: i32, place: &str, parent: i32| {
            fixture.file(&format!("/proc/{pid}/cgroup"), &format!("0::{place}\n"));
            fixture.file(
                &format!("/proc/{pid}/stat"),
                &format!("{pid} (a) b) S {parent} 1 1\n"),
            );
        };
        let mut made = made(&fixture, 0);
        is_in(7, server, 1);
        made.adopt(7, server).unwrap();
        assert_eq!(fixture.text(&inside), "7");
        is_in(7, &group(), 1);
        // Seen again; ended; of another cgroup, with the same title; another command's.
        is_in(9, "/user.slice/a", 1);
        is_in(10, &format!("{server}-else"), 1);
        is_in(11, &format!("{server}/fgio-run-99"), 1);
        for pid in [7, 8, 9, 10, 11] {
            made.adopt(pid, server).unwrap();
        }
        assert_eq!(made.adopted, [(7, server.to_owned())]);
        // The command itself stays.
        is_in(20, &group(), 1);
        fixture.file(&inside, "20\n7\n");
        made.give_back();
        assert_eq!(fixture.text(&unit), "7");
        // What it started is its child, or a child's.
        is_in(21, &group(), 7);
        is_in(22, &group(), 21);
        for child in ["21", "22"] {
            fixture.file(&unit, "");
            fixture.file(&inside, &format!("20\n{child}\n"));
            made.give_back();
            assert_eq!(fixture.text(&unit), child);
        }
        // The control: a child of the command.
        is_in(23, &group(), 20);
        fixture.file(&unit, "");
        fixture.file(&inside, "20\n23\n");
        made.give_back();
        assert_eq!(fixture.text(&unit), "");
    }

    #[test]
    fn less_stays_where_memory_is_short() {
        const MIB: u64 = 1 << 20;
        let fixture = host();
        fixture.file("/proc/vmstat", "pgsteal_file 0\n");
        fixture.file("/proc/zoneinfo", "        high     1024\n");
        let mut made = made(&fixture, 64 * MIB);
        let mut allowed = |free_mib: u64, inflow: u64, file_mib: u64, busy_mib: u64| {
            fixture.file(
                "/proc/meminfo",
                &format!("MemFree: {} kB\n", free_mib * 1024),
            );
            made.inflow = inflow;
            made.before = file_mib * MIB;
            let memory = Memory {
                file: file_mib * MIB,
                busy: busy_mib * MIB,
                ..Memory::default()
            };
            let host = cgroup_memory::free(&made.root);
            let allowed = made.allowed_beside(&memory, host, INTERVAL, Duration::ZERO) / MIB;
            (allowed, made.pause() == INTERVAL)
        };
        // Twice 4 MiB are to be free, and what comes in until the next call.
        assert_eq!(allowed(9, 0, 43, 0), (43, true));
        assert_eq!(allowed(4, 0, 43, 0), (39, false));
        assert_eq!(allowed(0, 0, 43, 0), (35, false));
        assert_eq!(allowed(0, 0, 9, 2), (6, false));
        // 7 MiB within the longer interval.
        assert_eq!(allowed(24, 8 * MIB, 70, 0), (64, true));
        // What is still to be written cannot go.
        assert_eq!(allowed(100, 0, 110, 90), (94, true));
        assert!(!allowed(20, 8 * MIB, 70, 0).1);
        // Looks take a twentieth of the time at most.
        let host = cgroup_memory::free(&made.root);
        let cost = Duration::from_millis(1);
        made.allowed_beside(&Memory::default(), host, INTERVAL, cost);
        assert_eq!(made.pause(), INTERVAL_LOOKS * cost);
    }

    #[test]
    fn a_kernel_or_a_place_without_reclaim_is_refused_and_nothing_stays() {
        let fixture = host();
        // The imitation's new folder is empty.
        let refused = DropBehind::prepare(fixture.root(), Some(0)).err().unwrap();
        assert!(refused.found.contains("memory.reclaim"), "{refused:?}");
        assert!(!fixture.exists(&format!("/sys/fs/cgroup{}", group())));
        fixture.remove("/sys/fs/cgroup/cgroup.controllers");
        let refused = DropBehind::prepare(fixture.root(), Some(0)).err().unwrap();
        assert!(refused.found.contains("not mounted"));
    }

    #[test]
    fn the_cgroup_is_beside_the_callers_own() {
        for (own, parent) in [("/", "/"), ("/a", "/"), ("/a/b.scope", "/a")] {
            assert_eq!(parent_of(own), parent);
        }
    }
}
