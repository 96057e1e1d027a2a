// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A profile: a program, and rules for the classes of its threads.

use std::path::PathBuf;

use fgio_sys::class::Class;

use crate::facts::{Ancestor, Needs, ProcessFacts, TaskFacts, ThreadKind};
use crate::{Case, Patterns, Place};

/// A parent or an ancestor, all that is given of it at once.
#[derive(Clone, Debug, Default)]
pub struct Kin {
    pub comm: Option<Patterns>,
    pub title: Option<Patterns>,
}

impl Kin {
    pub fn is_given(&self) -> bool {
        self.comm.is_some() || self.title.is_some()
    }

    fn matches(&self, ancestor: &Ancestor) -> bool {
        holds(self.comm.as_ref(), &ancestor.comm) && holds(self.title.as_ref(), &ancestor.title)
    }
}

/// Conditions, all of which must hold; those that are not given do.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// Of the thread.
    pub comm: Option<Patterns>,
    pub thread: Option<ThreadKind>,
    pub title: Option<Patterns>,
    pub parent: Kin,
    pub ancestor: Kin,
    pub cgroup: Option<Patterns>,
    pub unit: Option<Patterns>,
    pub user: Option<Patterns>,
}

fn holds(patterns: Option<&Patterns>, text: &str) -> bool {
    patterns.is_none_or(|patterns| patterns.match_whole(text))
}

impl Conditions {
    fn hold_for_process(&self, process: &ProcessFacts) -> bool {
        let mut ancestors = process.ancestors.iter();
        holds(self.title.as_ref(), &process.title)
            && holds(self.user.as_ref(), &process.user)
            && holds(self.unit.as_ref(), &process.unit)
            && holds(self.cgroup.as_ref(), &process.cgroup)
            && (!self.parent.is_given()
                || process
                    .ancestors
                    .first()
                    .is_some_and(|one| self.parent.matches(one)))
            && (!self.ancestor.is_given() || ancestors.any(|one| self.ancestor.matches(one)))
    }

    fn hold_for(&self, facts: &TaskFacts<'_>) -> bool {
        let right_kind = match self.thread {
            None => true,
            Some(ThreadKind::Main) => facts.is_main_thread(),
            Some(ThreadKind::Other) => !facts.is_main_thread(),
        };
        right_kind && holds(self.comm.as_ref(), facts.comm) && self.hold_for_process(facts.process)
    }

    pub fn needs(&self) -> Needs {
        Needs {
            title: self.title.is_some(),
            user: self.user.is_some(),
            cgroup: self.cgroup.is_some() || self.unit.is_some(),
            parent: self.parent.is_given(),
            ancestors: self.ancestor.is_given(),
        }
    }
}

/// The processes that a profile is about.
#[derive(Clone, Debug)]
pub struct Program {
    /// Of the main thread.
    pub comm: Patterns,
    /// Further conditions of the process.
    pub conditions: Conditions,
}

impl Program {
    pub fn matches(&self, process: &ProcessFacts) -> bool {
        self.comm.match_whole(&process.comm) && self.conditions.hold_for_process(process)
    }
}

/// The class of threads that meet conditions.
#[derive(Clone, Debug)]
pub struct Rule {
    pub name: String,
    pub class: Class,
    /// Text in the title before the id of the process that threads work for: they
    /// get its class, and `class` when that is not known.
    pub leader: Option<String>,
    /// For people.
    pub why: Option<String>,
    pub conditions: Conditions,
    pub place: Place,
}

impl Rule {
    fn needs(&self) -> Needs {
        let leader = Needs {
            title: self.leader.is_some(),
            ..Needs::default()
        };
        leader.and(self.conditions.needs())
    }

    /// The process that threads of `process` work for.
    fn leader_of(&self, process: &ProcessFacts) -> Option<i32> {
        let (_, rest) = process.title.rsplit_once(self.leader.as_ref()?)?;
        let end = rest.find(|letter: char| !letter.is_ascii_digit());
        rest[..end.unwrap_or(rest.len())].parse().ok()
    }

    /// The class of threads of `process`; `class_of` gives that of another process.
    pub fn class_for(
        &self,
        process: &ProcessFacts,
        class_of: impl FnOnce(i32) -> Option<Class>,
    ) -> Class {
        let leader = self.leader_of(process);
        leader.and_then(class_of).unwrap_or(self.class)
    }
}

/// A program, and rules for the classes of its threads.
#[derive(Clone, Debug)]
pub struct Profile {
    pub name: String,
    pub summary: String,
    /// The profile itself, then its drop-ins.
    pub files: Vec<PathBuf>,
    pub program: Program,
    /// The first one that applies decides.
    pub rules: Vec<Rule>,
    pub cases: Vec<Case>,
    /// The profile without drop-ins, with the cases meant for that.
    pub origin: Option<Box<Profile>>,
}

impl Profile {
    /// The first rule that applies to a thread of the program.
    pub fn rule_for(&self, facts: &TaskFacts<'_>) -> Option<&Rule> {
        self.rules
            .iter()
            .find(|rule| rule.conditions.hold_for(facts))
    }

    pub fn needs(&self) -> Needs {
        let rules = self.rules.iter().map(Rule::needs);
        rules.fold(self.program.conditions.needs(), Needs::and)
    }
}
