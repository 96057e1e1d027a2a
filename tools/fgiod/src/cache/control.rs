// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One look at all cgroups and what follows from it: facts for the policy, and its decisions as
//! memory.low and memory.reclaim.

use std::collections::{HashMap, HashSet};
use std::io::{self, ErrorKind};
use std::mem;
use std::time::{Duration, Instant};

use fgio_cache::{Group, Level, PAGE, decide, keep_free};
use fgio_sys::Root;
use fgio_sys::cache_limits::Limits;
use fgio_sys::cache_shares::{self, Share, Totals};
use fgio_sys::cgroup_memory::{self, Bounds, Memory, Reader};

use super::Mode;
use super::hits::Sibling;

/// Cgroups that are charged less have no part worth dividing: nothing below them is read.
const LEAST: u64 = 4 << 20;
/// Written at once to memory.reclaim, so that a signal or another cgroup need not wait for long.
const CHUNK: u64 = 4 << 20;
/// Reclaim of one step ends after this part of the time since the step before.
const RECLAIM_TIME: u32 = 4;
/// After reclaim that found less than it was to take, the cgroup is left alone for this time, twice as
/// long each time in a row: before it gives up, the kernel searches all lists of the cgroup many times.
const VAIN: Duration = Duration::from_millis(500);
const VAIN_MOST: Duration = Duration::from_secs(4);
/// A cgroup that is charged the very number of bytes that it was is looked at whole only once in this
/// number of steps: to write memory.stat, the kernel takes ten times as long as for all else.
const UNCHANGED_MOST: u64 = 8;
/// memory.low is left as it is while it differs by less than 1 MiB, or by this part of it.
const LOW_SLACK: u64 = 1 << 20;
const LOW_PART: u64 = 32;

/// A cgroup of the last scan.
#[derive(Debug)]
struct Node {
    group: String,
    weight: u64,
    bounds: Bounds,
    children: Vec<Node>,
}

/// Of a cgroup, from step to step.
#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    need: u64,
    held: u64,
    known: u64,
    /// Pages.
    granted: u64,
    /// The kernel's counter; `None` before the first look.
    refaults: Option<u64>,
    reclaimed: u64,
    /// Zero: the last reclaim took all that it was to take. Else it did not, and this was the time
    /// without the next one, which ends at `again`.
    vain: Duration,
    again: Duration,
    /// The step that saw it last.
    step: u64,
    memory: Memory,
    /// The step that read all of `memory`; 0: none did.
    looked: u64,
    /// Steps that the refaults of the last look are of.
    steps: u64,
    /// It read again what it lost, since that was asked for last.
    hungry: bool,
}

impl Kept {
    fn note_reclaim(&mut self, found_less: bool, now: Duration) {
        self.vain = match found_less {
            true => (self.vain * 2).clamp(VAIN, VAIN_MOST),
            false => Duration::ZERO,
        };
        self.again = now + self.vain;
    }
}

/// How memory.reclaim can be used on this kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reclaim {
    /// File pages alone (6.10 and later).
    FileOnly,
    /// It knows no kinds, and there is no swap space: what it takes are file pages.
    Plain,
    /// It would swap out.
    Never,
}

pub struct Controller {
    root: Root,
    reader: Reader,
    limits: Limits,
    mode: Mode,
    tree: Vec<Node>,
    differ: bool,
    kept: HashMap<String, Kept>,
    pub(super) reclaim: Reclaim,
    reclaim_until: Instant,
    reclaim_time: Duration,
    last: Option<Duration>,
    memory: fgio_cache::Memory,
    /// Bytes that reclaim freed until the last step, as the kernel counts them.
    freed: Option<u64>,
    steps: u64,
    shares: Vec<Share>,
    totals: Totals,
    complaint: Option<String>,
    said: HashSet<String>,
}

impl Controller {
    pub fn new(root: &Root, limits: Limits, mode: Mode) -> Self {
        let mut controller = Self {
            root: root.clone(),
            reader: Reader::new(root),
            limits,
            mode,
            tree: Vec::new(),
            differ: false,
            kept: HashMap::new(),
            reclaim: Reclaim::FileOnly,
            reclaim_until: Instant::now(),
            reclaim_time: Duration::ZERO,
            last: None,
            memory: fgio_cache::Memory::default(),
            freed: None,
            steps: 0,
            shares: Vec::new(),
            totals: Totals::default(),
            complaint: None,
            said: HashSet::new(),
        };
        controller.scan();
        controller
    }

    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
    }

    /// A complaint that was not made before.
    pub fn take_complaint(&mut self) -> Option<String> {
        self.complaint.take()
    }

    pub(super) fn complain(&mut self, text: String) {
        if self.said.len() < 64 && self.said.insert(text.clone()) {
            self.complaint = Some(text);
        }
    }

    pub fn is_active(&self) -> bool {
        match self.mode {
            Mode::Off => false,
            Mode::Weights => self.differ,
            Mode::All => true,
        }
    }

    /// Finds the cgroups that hold memory, and their weights.
    pub fn scan(&mut self) {
        let mut seen = HashSet::new();
        let mut listed = HashSet::new();
        self.differ = false;
        self.tree = self.look("/", &mut seen, &mut listed);
        self.reader.keep(&listed);
        for group in self.limits.groups() {
            if !seen.contains(&group)
                && let Err(source) = self.limits.restore(&group)
            {
                self.refused(&group, &source);
            }
        }
    }

    /// `seen`: those that are large enough; `listed`: those and their siblings.
    fn look(
        &mut self,
        parent: &str,
        seen: &mut HashSet<String>,
        listed: &mut HashSet<String>,
    ) -> Vec<Node> {
        let mut nodes: Vec<Node> = Vec::new();
        for group in cgroup_memory::children(&self.root, parent) {
            // No such file where the memory controller is not enabled.
            let least = match self.limits.has(&group) {
                true => LEAST / 2,
                false => LEAST,
            };
            listed.insert(group.clone());
            let current = self.reader.current(&group);
            if current.is_none_or(|current| current < least) {
                continue;
            }
            seen.insert(group.clone());
            let children = self.look(&group, seen, listed);
            let weight = self.reader.weight(&group);
            let bounds = self.reader.bounds(&group);
            nodes.push(Node {
                group,
                weight,
                bounds,
                children,
            });
        }
        self.differ |= nodes.iter().any(|node| node.weight != nodes[0].weight);
        nodes
    }

    /// Divides the page cache as it is now; the next step is to follow after `rest`, or sooner as
    /// [`Self::pause`] says. Returns the time that reclaim took.
    pub fn step(&mut self, now: Duration, rest: Duration) -> Duration {
        let since = self
            .last
            .map_or(rest, |last| now.saturating_sub(last))
            .max(Duration::from_millis(1));
        self.last = Some(now);
        self.reclaim_time = Duration::ZERO;
        self.shares.clear();
        if !self.is_active() {
            self.kept.clear();
            self.freed = None;
            self.memory = fgio_cache::Memory::default();
            if !self.limits.is_empty()
                && let Err(source) = self.limits.restore_all()
            {
                self.refused("/", &source);
            }
            return Duration::ZERO;
        }
        let Some(free) = cgroup_memory::free(&self.root) else {
            self.complain("/proc/meminfo, /proc/zoneinfo and /proc/vmstat do not say how much memory is free: the page cache is not divided\n  give fgiod the host's /proc".to_owned());
            return Duration::ZERO;
        };
        self.steps += 1;
        self.reclaim_until = Instant::now() + since / RECLAIM_TIME;
        let interval_ms = since.as_millis() as u64;
        let freed = self.freed.replace(free.freed);
        self.memory.free = free.free / PAGE;
        self.memory.high = free.high / PAGE;
        self.memory.freed = freed.map_or(0, |before| free.freed.saturating_sub(before)) / PAGE;
        self.memory.rest_ms = rest.as_millis() as u64;
        let tree = mem::take(&mut self.tree);
        let (members, mut groups) = self.look_at(&tree);
        self.memory.file = groups.iter().map(|group| group.file).sum();
        let level = keep_free(&mut self.memory, interval_ms);
        decide(&level, &mut groups);
        self.follow(members, groups, interval_ms);
        self.tree = tree;
        let steps = self.steps;
        self.kept.retain(|_, kept| kept.step == steps);
        self.reclaim_time
    }

    /// Time until the next step, as the inflow asks for it.
    pub fn pause(&self, rest: Duration) -> Duration {
        match self.memory.pause_ms {
            0 => rest,
            pause_ms => rest.min(Duration::from_millis(pause_ms)),
        }
    }

    /// The facts of siblings.
    fn look_at<'a>(&mut self, nodes: &'a [Node]) -> (Vec<(&'a Node, Memory)>, Vec<Group>) {
        let mut members: Vec<(&Node, Memory)> = Vec::new();
        let mut groups: Vec<Group> = Vec::new();
        for node in nodes {
            // One that is gone meanwhile has no part.
            if let Some(memory) = self.memory_of(&node.group) {
                groups.push(self.facts(node, &memory));
                members.push((node, memory));
            }
        }
        (members, groups)
    }

    /// A cgroup that neither grew nor shrank has read nothing again, most likely, and is not reclaimed
    /// unless it is beyond its grant.
    fn memory_of(&mut self, group: &str) -> Option<Memory> {
        let current = self.reader.current(group)?;
        let low = self.reader.low(group)?;
        let kept = self.kept.entry(group.to_owned()).or_default();
        let is_recent = kept.looked > 0 && self.steps - kept.looked < UNCHANGED_MOST;
        let is_beyond = kept.memory.file / PAGE > kept.granted;
        if !is_recent || is_beyond || kept.memory.current != current {
            kept.memory = self.reader.memory(group)?;
            kept.steps = match kept.looked {
                0 => 1,
                looked => self.steps.saturating_sub(looked).max(1),
            };
            kept.looked = self.steps;
        }
        kept.memory.low = low;
        Some(kept.memory)
    }

    /// Does what was decided of siblings, and divides the grant of each among its children.
    fn follow(&mut self, members: Vec<(&Node, Memory)>, groups: Vec<Group>, interval_ms: u64) {
        for ((node, memory), group) in members.into_iter().zip(groups) {
            self.apply(node, &memory, &group);
            if node.children.is_empty() {
                continue;
            }
            let below = Level {
                capacity: group.granted,
                deficit: 0,
                interval_ms,
            };
            let (members, mut groups) = self.look_at(&node.children);
            decide(&below, &mut groups);
            self.follow(members, groups, interval_ms);
        }
    }

    fn facts(&mut self, node: &Node, memory: &Memory) -> Group {
        let kept = self.kept.entry(node.group.clone()).or_default();
        let before = kept.refaults.replace(memory.refaults);
        kept.step = self.steps;
        let refaults = before.map_or(0, |before| memory.refaults.saturating_sub(before));
        Group {
            weight: node.weight,
            file: memory.file / PAGE,
            busy: memory.busy / PAGE,
            other: memory.current.saturating_sub(memory.file) / PAGE,
            refaults: refaults / kept.steps.max(1),
            low: self.limits.original(&node.group, memory.low) / PAGE,
            min: node.bounds.min / PAGE,
            max: match node.bounds.max {
                cgroup_memory::MAX => u64::MAX,
                max => max / PAGE,
            },
            // Of those alone that may be reclaimed: each file read costs.
            stalled: match memory.file / PAGE > kept.granted {
                true => self.reader.stalled(&node.group),
                false => 0,
            },
            need: kept.need,
            held: kept.held,
            known: kept.known,
            ..Group::default()
        }
    }

    fn apply(&mut self, node: &Node, memory: &Memory, group: &Group) {
        let low = group.protect.saturating_mul(PAGE);
        let differs = low.abs_diff(memory.low);
        if differs > LOW_SLACK && differs > low / LOW_PART {
            match self.limits.set(&node.group, low) {
                Ok(()) => self.totals.changes += 1,
                Err(source) => self.refused(&node.group, &source),
            }
        }
        let reclaimed = self.reclaim_of(&node.group, group.reclaim * PAGE);
        self.totals.reclaimed += reclaimed;
        let Some(kept) = self.kept.get_mut(&node.group) else {
            return;
        };
        kept.need = group.need;
        kept.held = group.held;
        kept.known = group.known;
        kept.granted = group.granted;
        kept.hungry |= group.hungry > 0;
        kept.reclaimed += reclaimed;
        self.shares.push(Share {
            group: node.group.clone(),
            weight: node.weight,
            held: memory.file,
            entitled: group.entitled * PAGE,
            granted: group.granted * PAGE,
            protected: low,
            reclaimed: kept.reclaimed,
            refaults: memory.refaults,
        });
    }

    /// Reclaims file pages, unless that was in vain lately. Returns the bytes of complete pieces.
    fn reclaim_of(&mut self, group: &str, bytes: u64) -> u64 {
        let now = self.last.unwrap_or_default();
        if bytes == 0 || self.kept.get(group).is_some_and(|kept| now < kept.again) {
            return 0;
        }
        let (done, found_less) = self.reclaim(group, bytes);
        if let (Some(kept), Some(found_less)) = (self.kept.get_mut(group), found_less) {
            kept.note_reclaim(found_less, now);
        }
        done
    }

    /// Reclaims file pages, in pieces, while there is time. Returns the bytes of complete pieces, and
    /// whether the cgroup had less to give; `None`: it was not asked for any.
    fn reclaim(&mut self, group: &str, bytes: u64) -> (u64, Option<bool>) {
        let mut done = 0;
        let mut found_less = None;
        let begun = Instant::now();
        while done < bytes && Instant::now() < self.reclaim_until {
            if self.reclaim == Reclaim::Plain && cgroup_memory::has_swap(&self.root) {
                self.cannot_keep_anonymous();
            }
            if self.reclaim == Reclaim::Never || !cgroup_memory::can_reclaim(&self.root, group) {
                break;
            }
            let piece = CHUNK.min(bytes - done);
            let file_only = self.reclaim == Reclaim::FileOnly;
            match cgroup_memory::reclaim(&self.root, group, piece, file_only) {
                Ok(()) => {
                    done += piece;
                    found_less = Some(false);
                }
                Err(source) if source.kind() == ErrorKind::InvalidInput && file_only => {
                    self.cannot_keep_anonymous();
                }
                Err(source) if source.kind() == ErrorKind::WouldBlock => {
                    found_less = Some(true);
                    break;
                }
                // The cgroup is gone; or a signal came.
                Err(source)
                    if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::Interrupted) =>
                {
                    break;
                }
                Err(source) => {
                    self.refused(group, &source);
                    break;
                }
            }
        }
        self.reclaim_time += begun.elapsed();
        (done, found_less)
    }

    /// The kernel takes no `swappiness=`.
    pub(super) fn cannot_keep_anonymous(&mut self) {
        if !cgroup_memory::has_swap(&self.root) {
            self.reclaim = Reclaim::Plain;
            return;
        }
        self.reclaim = Reclaim::Never;
        self.complain("memory.reclaim would swap out on this kernel: pages beyond a cgroup's share go when memory is short, not before\n  it needs Linux 6.10 or later, or a host without swap space; memory.low works as it is".to_owned());
    }

    /// The sets of siblings that are divided, and which of them were hungry since the last call.
    pub fn families(&mut self) -> Vec<Vec<Sibling>> {
        let mut families = Vec::new();
        if !self.is_active() {
            return families;
        }
        let tree = mem::take(&mut self.tree);
        let mut left = vec![&tree];
        while let Some(nodes) = left.pop() {
            left.extend(nodes.iter().map(|node| &node.children));
            let sibling = |node: &Node| Sibling {
                group: node.group.clone(),
                weight: node.weight,
                hungry: (self.kept.get_mut(&node.group))
                    .is_some_and(|kept| mem::take(&mut kept.hungry)),
            };
            match nodes.len() {
                // Alone among its siblings, whatever it hits counts for nothing.
                0 | 1 => {}
                _ => families.push(nodes.iter().map(sibling).collect()),
            }
        }
        self.tree = tree;
        families
    }

    fn refused(&mut self, group: &str, source: &io::Error) {
        self.totals.errors += 1;
        let advice = match source.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                "run `fgiod cache` as root, with /sys/fs/cgroup writable (its unit has it)"
            }
            _ => "look at the kernel's log; `fgiod cache --restore` takes back all that was set",
        };
        self.complain(format!(
            "the memory of cgroup {group} cannot be protected or reclaimed: {source}\n  {advice}"
        ));
    }

    /// Writes the shares down, for metrics.
    pub fn publish(&mut self) {
        if let Err(source) = cache_shares::publish(&self.root, &self.totals, &self.shares) {
            self.refused("/", &source);
        }
    }

    #[cfg(test)]
    pub(super) fn shares(&self) -> &[Share] {
        &self.shares
    }

    /// Takes back all that was set.
    pub fn end(&mut self) -> io::Result<()> {
        self.limits.restore_all().map(|_| ())
    }
}
