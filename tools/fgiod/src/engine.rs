// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The threads that profiles are about, kept up to date by events, and the tags
//! that follow from their facts.
//!
//! Processes with a command name of no profile are not remembered, and cost one
//! lookup each. Events can be lost: [`Engine::rescan`] corrects the consequences.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use fgio_profile::{Library, Needs, Patterns, ProcessFacts, TaskFacts};
use fgio_sys::class::Class;
use fgio_sys::control::Control;
use fgio_sys::{Error, ErrorKind};

use crate::events::{Event, Happened};
use crate::ledger::{Entry, Ledger};
use crate::metrics::Metrics;
use crate::system::System;

/// A new process has its parent's title until it writes its own, which a backend does once its
/// client has said who it is: it is looked at at these times after its start, until the title has
/// changed. Looks at all others may be seconds apart where there are many.
const FIRST_LOOKS: [Duration; 10] = [
    Duration::from_millis(2),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(40),
    Duration::from_millis(80),
    Duration::from_millis(160),
    Duration::from_millis(320),
    Duration::from_millis(640),
    Duration::from_millis(1280),
];

/// The origin of the tag of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    /// None, as far as is known.
    Absent,
    Ours(Class),
    /// Set by another program: it is left alone.
    Foreign,
}

struct Thread {
    comm: String,
    tag: Tag,
    /// When it appeared or was renamed, by an event; until its tag is set.
    since: Option<Duration>,
}

/// A process is new, or another program by now.
struct Birth {
    at: Duration,
    /// The title that it has from its parent.
    title: Option<String>,
}

/// A new process that is about to change its title.
struct Youth {
    /// When it started.
    at: Duration,
    /// The title it was started with.
    title: String,
    looks: usize,
}

struct Process {
    facts: ProcessFacts,
    threads: HashMap<i32, Thread>,
    /// Whether a rule looks at its title.
    titled: bool,
    youth: Option<Youth>,
}

/// Profiles and settings.
pub struct Policy {
    pub library: Library,
    /// The users that processes must have to get tags; all users when empty.
    pub users: Patterns,
    pub threads_max: usize,
}

impl Policy {
    fn needs(&self, comm: &str) -> Needs {
        let mut needs = self.library.needs(comm);
        needs.user |= !self.users.sources().is_empty();
        needs
    }

    /// `facts_of` gives the facts of another process, which it may work for.
    fn class(
        &self,
        facts: &TaskFacts<'_>,
        facts_of: impl FnOnce(i32) -> Option<ProcessFacts>,
    ) -> Class {
        let users = &self.users;
        if !users.sources().is_empty() && !users.match_whole(&facts.process.user) {
            return Class::None;
        }
        let decision = self.library.decide(facts);
        decision.map_or(Class::None, |decision| {
            decision.class(facts.process, facts_of)
        })
    }
}

pub struct Engine<S, C> {
    system: S,
    control: C,
    policy: Policy,
    ledger: Ledger,
    metrics: Metrics,
    processes: HashMap<i32, Process>,
    threads: usize,
    /// New processes, by when they are to be looked at.
    looks: BTreeSet<(Duration, i32)>,
    /// The last failure to set a tag, said once.
    complaint: Option<String>,
}

/// For each start, whether that process or thread has ended by the last of `happened`.
/// Most processes of a build or a script are gone before their facts can be read.
fn outlived(happened: &[Happened]) -> Vec<bool> {
    let mut ended = HashSet::new();
    let mut outlived: Vec<bool> = happened
        .iter()
        .rev()
        .map(|Happened { event, .. }| match event {
            Event::End { tid, .. } => {
                ended.insert(*tid);
                false
            }
            // It may be more than its first thread, which alone is known to have ended.
            Event::Start { pid, tid, .. } if pid != tid => {
                ended.remove(pid);
                ended.contains(tid)
            }
            Event::Start { tid: id, .. } | Event::Exec { pid: id } => ended.contains(id),
            Event::Rename { .. } => false,
        })
        .collect();
    outlived.reverse();
    outlived
}

impl<S: System, C: Control> Engine<S, C> {
    pub fn new(system: S, control: C, policy: Policy, ledger: Ledger, metrics: Metrics) -> Self {
        Self {
            system,
            control,
            policy,
            ledger,
            metrics,
            processes: HashMap::new(),
            threads: 0,
            looks: BTreeSet::new(),
            complaint: None,
        }
    }

    pub fn system(&self) -> &S {
        &self.system
    }

    pub fn control(&self) -> &C {
        &self.control
    }

    pub fn ledger_is_written(&self) -> bool {
        self.ledger.is_written()
    }

    /// A failure to set tags that has not been said yet.
    pub fn take_complaint(&mut self) -> Option<String> {
        self.complaint.take()
    }

    /// Follows new profiles or settings; [`Engine::rescan`] is to come next.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// Follows events in their order, but for processes that have ended by now.
    pub fn handle_all(&mut self, happened: Vec<Happened>) {
        let outlived = outlived(&happened);
        for (Happened { event, at }, is_over) in happened.into_iter().zip(outlived) {
            match is_over {
                true => self.metrics.count_event(event.kind()),
                false => self.handle(event, at),
            }
        }
        self.metrics.followed(self.processes.len(), self.threads);
    }

    /// Follows an event that happened at `at`.
    fn handle(&mut self, event: Event, at: Duration) {
        self.metrics.count_event(event.kind());
        match event {
            Event::Start { parent, pid, tid } if pid == tid => {
                // A child has its parent's name, so nothing need be read of others.
                if let Some(parent) = self.processes.get(&parent) {
                    let title = parent.facts.title.clone();
                    self.follow(
                        pid,
                        Some(Birth {
                            at,
                            title: Some(title),
                        }),
                    );
                }
            }
            Event::Start { pid, tid, .. } => self.thread_appeared(pid, tid, at),
            Event::Exec { pid } => self.follow(pid, Some(Birth { at, title: None })),
            Event::Rename { pid, tid, comm } => self.renamed(pid, tid, comm, at),
            Event::End { pid, tid } => self.ended(pid, tid),
        }
    }

    /// Takes a new process into account, or one that runs another program now.
    fn follow(&mut self, pid: i32, birth: Option<Birth>) {
        let facts = self.system.comm(pid).and_then(|comm| {
            let concerned = self.policy.library.may_concern(&comm);
            let needs = concerned.then(|| self.policy.needs(&comm))?;
            self.system.facts(pid, comm, needs)
        });
        let Some(facts) = facts else {
            return self.forget(pid);
        };
        let titled = self.policy.needs(&facts.comm).title;
        if !titled && self.policy.library.profile_of(&facts).is_none() {
            return self.forget(pid);
        }
        let at = birth.as_ref().map(|birth| birth.at);
        let youth = birth.and_then(|birth| {
            let title = birth.title.unwrap_or_else(|| facts.title.clone());
            let is_young = titled && title == facts.title;
            is_young.then_some(Youth {
                at: birth.at,
                title,
                looks: 0,
            })
        });
        if let Some(youth) = &youth {
            self.looks.insert((youth.at + FIRST_LOOKS[0], pid));
        }
        let process = self.processes.entry(pid).or_insert_with(|| Process {
            facts: ProcessFacts::default(),
            threads: HashMap::new(),
            titled,
            youth: None,
        });
        process.facts = facts;
        process.titled = titled;
        if at.is_some() {
            process.youth = youth;
        }
        let tids = match at {
            // Only the one thread is left, or was there ever.
            Some(_) => vec![pid],
            None => self.system.threads(pid),
        };
        self.set_threads(pid, &tids, at);
        if self
            .processes
            .get(&pid)
            .is_some_and(|process| process.threads.is_empty())
        {
            self.processes.remove(&pid);
        }
        self.classify(pid);
    }

    /// Makes the threads of a process those in `tids`.
    fn set_threads(&mut self, pid: i32, tids: &[i32], at: Option<Duration>) {
        let Some(process) = self.processes.get(&pid) else {
            return;
        };
        let process_comm = process.facts.comm.clone();
        let present: HashSet<i32> = tids.iter().copied().collect();
        let gone = process.threads.keys().filter(|tid| !present.contains(tid));
        for tid in gone.copied().collect::<Vec<_>>() {
            self.drop_thread(pid, tid);
        }
        for tid in tids {
            let comm = match *tid == pid {
                true => Some(process_comm.clone()),
                false => self.system.thread_comm(pid, *tid),
            };
            self.set_thread(pid, *tid, comm, at);
        }
    }

    /// Adds a thread, or gives it its name; `None`: it has ended.
    fn set_thread(&mut self, pid: i32, tid: i32, comm: Option<String>, at: Option<Duration>) {
        let Some(comm) = comm else {
            return self.drop_thread(pid, tid);
        };
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        if let Some(thread) = process.threads.get_mut(&tid) {
            thread.comm = comm;
            thread.since = at.or(thread.since);
            return;
        }
        if self.threads >= self.policy.threads_max {
            self.metrics.count_tag_error("threads-max");
            return;
        }
        self.threads += 1;
        let thread = Thread {
            comm,
            tag: Tag::Absent,
            since: at,
        };
        process.threads.insert(tid, thread);
    }

    /// A thread is no more.
    fn drop_thread(&mut self, pid: i32, tid: i32) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        if let Some(thread) = process.threads.remove(&tid) {
            self.threads -= 1;
            self.note_tag(tid, thread.tag, Tag::Absent);
        }
    }

    /// Keeps the ledger and the gauges right when a tag goes.
    fn note_tag(&mut self, tid: i32, was: Tag, is: Tag) {
        if let Tag::Ours(class) = was {
            self.metrics.tagged(class, -1);
            if !matches!(is, Tag::Ours(_)) {
                self.ledger.remove(tid);
            }
        }
        if let Tag::Ours(class) = is {
            self.metrics.tagged(class, 1);
        }
        if was == Tag::Foreign {
            self.metrics.foreign(-1);
        }
        if is == Tag::Foreign {
            self.metrics.foreign(1);
        }
    }

    /// A process is no longer a program of a profile, or has ended: it keeps no
    /// tag of ours.
    fn forget(&mut self, pid: i32) {
        let Some(process) = self.processes.get(&pid) else {
            return;
        };
        for tid in process.threads.keys().copied().collect::<Vec<_>>() {
            self.tag(pid, tid, Class::None);
            self.drop_thread(pid, tid);
        }
        self.processes.remove(&pid);
    }

    fn thread_appeared(&mut self, pid: i32, tid: i32, at: Duration) {
        if self.processes.contains_key(&pid) {
            let comm = self.system.thread_comm(pid, tid);
            self.set_thread(pid, tid, comm, Some(at));
            self.classify_thread(pid, tid);
        }
    }

    fn renamed(&mut self, pid: i32, tid: i32, comm: String, at: Duration) {
        let followed = self.processes.contains_key(&pid);
        if pid == tid && (followed || self.policy.library.may_concern(&comm)) {
            self.follow(pid, None);
        } else if followed {
            self.set_thread(pid, tid, Some(comm), Some(at));
            self.classify_thread(pid, tid);
        }
    }

    /// Other threads may outlive the first.
    fn ended(&mut self, pid: i32, tid: i32) {
        self.drop_thread(pid, tid);
        let process = self.processes.get(&pid);
        if process.is_some_and(|process| process.threads.is_empty()) {
            self.processes.remove(&pid);
        }
    }

    fn classify(&mut self, pid: i32) {
        let Some(process) = self.processes.get(&pid) else {
            return;
        };
        for tid in process.threads.keys().copied().collect::<Vec<_>>() {
            self.classify_thread(pid, tid);
        }
    }

    fn classify_thread(&mut self, pid: i32, tid: i32) {
        let Some(process) = self.processes.get(&pid) else {
            return;
        };
        let Some(thread) = process.threads.get(&tid) else {
            return;
        };
        let facts = TaskFacts {
            tid,
            comm: &thread.comm,
            process: &process.facts,
        };
        let class = self.policy.class(&facts, |leader| self.facts_now(leader));
        self.tag(pid, tid, class);
    }

    /// The facts of a process at this moment: a worker may start before its leader's title is
    /// looked at again, or be found before its leader is.
    fn facts_now(&self, pid: i32) -> Option<ProcessFacts> {
        let comm = self.system.comm(pid)?;
        let needs = self.policy.needs(&comm);
        self.system.facts(pid, comm, needs)
    }

    /// Sees to it that a thread has the tag `class`, unless its tag is not ours.
    fn tag(&mut self, pid: i32, tid: i32, class: Class) {
        let thread = self
            .processes
            .get(&pid)
            .and_then(|process| process.threads.get(&tid));
        let Some(thread) = thread else {
            return;
        };
        let is_right = match thread.tag {
            Tag::Foreign => true,
            Tag::Absent => class == Class::None && self.ledger.get(tid).is_none(),
            Tag::Ours(present) => present == class,
        };
        if is_right {
            return;
        }
        let was = thread.tag;
        match self.set_tag(pid, tid, was, class) {
            Ok(is) => self.tag_is(pid, tid, is),
            Err(Error::NoSuchTask { .. }) => self.drop_thread(pid, tid),
            Err(error) => self.complain(&error),
        }
    }

    fn tag_is(&mut self, pid: i32, tid: i32, is: Tag) {
        let process = self.processes.get_mut(&pid);
        let Some(thread) = process.and_then(|process| process.threads.get_mut(&tid)) else {
            return;
        };
        let was = std::mem::replace(&mut thread.tag, is);
        let since = thread.since.take().filter(|_| matches!(is, Tag::Ours(_)));
        if let Some(since) = since {
            let took = self.system.now().saturating_sub(since);
            self.metrics.classified_after(took);
        }
        self.note_tag(tid, was, is);
    }

    /// Asks the module for the tag, then sets it. Returns the tag of the thread now.
    fn set_tag(&mut self, pid: i32, tid: i32, was: Tag, class: Class) -> Result<Tag, Error> {
        let present = self.control.get_tag(tid)?;
        let started = || {
            let started = self.system.start_time(pid, tid);
            started.ok_or(Error::NoSuchTask { id: tid })
        };
        let ours = match was {
            Tag::Ours(class) => present == class || present == Class::None,
            // The fgiod before us may have set it.
            _ if present != Class::None => {
                let entry = Entry {
                    started: started()?,
                    class: present,
                };
                self.ledger.get(tid) == Some(entry)
            }
            _ => true,
        };
        if !ours {
            self.ledger.remove(tid);
            return Ok(Tag::Foreign);
        }
        if class == Class::None {
            if present != Class::None {
                self.control.set_tag(tid, class)?;
                self.metrics.count_tag_change(class);
            }
            self.ledger.remove(tid);
            return Ok(Tag::Absent);
        }
        let entry = Entry {
            started: started()?,
            class,
        };
        self.ledger.add(tid, entry);
        if present != class {
            self.control.set_tag(tid, class).inspect_err(|_| {
                // No tag was set, and the present one is not `class`.
                self.ledger.remove(tid);
            })?;
            self.metrics.count_tag_change(class);
        }
        Ok(Tag::Ours(class))
    }

    fn complain(&mut self, error: &Error) {
        self.metrics.count_tag_error(match error.kind() {
            ErrorKind::ModuleUnavailable => "module-unavailable",
            ErrorKind::PermissionDenied => "permission-denied",
            _ => "operation-failed",
        });
        let effect = match error {
            Error::ModuleNotLoaded => "fgiod waits for the module",
            _ => "a tag cannot be set",
        };
        self.complaint = Some(format!("{effect}: {error}\n  {}", error.advice()));
    }

    /// When a new process is to be looked at next.
    pub fn next_look(&self) -> Option<Duration> {
        self.looks.first().map(|(due, _)| *due)
    }

    /// Looks at the new processes that are due.
    pub fn look_at_the_young(&mut self) {
        let now = self.system.now();
        while let Some((due, pid)) = self.looks.first().copied() {
            if due > now {
                return;
            }
            self.looks.pop_first();
            self.look_at_youth(pid, due);
        }
    }

    fn look_at_youth(&mut self, pid: i32, due: Duration) {
        let of_age = |youth: &Youth| youth.at + FIRST_LOOKS[youth.looks] == due;
        let process = self.processes.get(&pid);
        let youth = process.and_then(|process| process.youth.as_ref());
        // The id may be that of another process by now, with looks of its own.
        if !youth.is_some_and(of_age) {
            return;
        }
        self.look(pid);
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        let Some(youth) = &mut process.youth else {
            return;
        };
        youth.looks += 1;
        if process.facts.title != youth.title || youth.looks == FIRST_LOOKS.len() {
            process.youth = None;
        } else {
            self.looks
                .insert((youth.at + FIRST_LOOKS[youth.looks], pid));
        }
    }

    /// Follows a change of a title.
    fn look(&mut self, pid: i32) {
        self.metrics.count_look();
        let Some(title) = self.system.title(pid) else {
            return self.forget(pid);
        };
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        if process.facts.title != title {
            process.facts.title = title;
            self.classify(pid);
        }
    }

    /// Whether there is any title that a rule looks at.
    pub fn has_titles(&self) -> bool {
        self.processes.values().any(|process| process.titled)
    }

    /// Looks at all titles that rules look at.
    pub fn look_at_all(&mut self) {
        let titled = self.processes.iter().filter(|(_, process)| process.titled);
        for pid in titled.map(|(pid, _)| *pid).collect::<Vec<_>>() {
            self.look(pid);
        }
    }

    /// Looks through all of /proc and at all tags.
    pub fn rescan(&mut self) {
        self.metrics.count_rescan();
        self.system.refresh();
        let present: HashSet<i32> = self.system.processes().into_iter().collect();
        let gone = self.processes.keys().filter(|pid| !present.contains(pid));
        for pid in gone.copied().collect::<Vec<_>>() {
            self.vanished(pid);
        }
        self.compare_tags();
        for pid in present {
            self.follow(pid, None);
        }
        self.disown_strays();
        self.metrics.followed(self.processes.len(), self.threads);
    }

    /// Like [`Engine::forget`], for a process that is sure to have ended.
    fn vanished(&mut self, pid: i32) {
        if let Some(process) = self.processes.get(&pid) {
            for tid in process.threads.keys().copied().collect::<Vec<_>>() {
                self.drop_thread(pid, tid);
            }
        }
        self.processes.remove(&pid);
    }

    /// Notices tags that another program has changed, and those that went with the module
    /// when it was unloaded.
    fn compare_tags(&mut self) {
        let listed: HashMap<i32, Class> = match self.control.list_tags() {
            Ok(tags) => tags.into_iter().collect(),
            Err(error) => return self.complain(&error),
        };
        let mut changed = Vec::new();
        for (pid, process) in &self.processes {
            for (tid, thread) in &process.threads {
                let present = listed.get(tid).copied();
                let is = match (thread.tag, present) {
                    (Tag::Ours(class), Some(present)) if present != class => Tag::Foreign,
                    (Tag::Ours(_) | Tag::Foreign, None) => Tag::Absent,
                    (tag, _) => tag,
                };
                if is != thread.tag {
                    changed.push((*pid, *tid, is));
                }
            }
        }
        for (pid, tid, is) in changed {
            self.tag_is(pid, tid, is);
        }
    }

    /// Takes tags away that the fgiod before us has set on threads that are no
    /// concern of any profile now.
    fn disown_strays(&mut self) {
        let followed: HashSet<i32> = self
            .processes
            .values()
            .flat_map(|process| process.threads.keys().copied())
            .collect();
        for (tid, entry) in self.ledger.entries() {
            if followed.contains(&tid) {
                continue;
            }
            let started = self
                .system
                .process_of(tid)
                .and_then(|pid| self.system.start_time(pid, tid));
            let is_ours = started == Some(entry.started)
                && self
                    .control
                    .get_tag(tid)
                    .is_ok_and(|class| class == entry.class);
            if !is_ours {
                self.ledger.remove(tid);
                continue;
            }
            match self.control.set_tag(tid, Class::None) {
                Ok(()) => {
                    self.metrics.count_tag_change(Class::None);
                    self.ledger.remove(tid);
                }
                Err(error) => self.complain(&error),
            }
        }
    }
}

#[cfg(test)]
mod tests;
