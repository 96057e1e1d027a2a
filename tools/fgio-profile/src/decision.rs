// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The class of a thread, and why.

use fgio_sys::class::Class;

use crate::facts::{ProcessFacts, TaskFacts};
use crate::{Profile, Rule};

/// The class of a thread, and why.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    pub profile: &'a Profile,
    /// `None` when no rule of the profile applies.
    pub rule: Option<&'a Rule>,
}

impl Decision<'_> {
    /// The class of the thread of `process`; `facts_of` gives the facts of another
    /// process, which it may work for.
    pub fn class(
        &self,
        process: &ProcessFacts,
        facts_of: impl FnOnce(i32) -> Option<ProcessFacts>,
    ) -> Class {
        self.rule.map_or(Class::None, |rule| {
            rule.class_for(process, |leader| self.class_of_leader(&facts_of(leader)?))
        })
    }

    /// Of a process of the same profile, and not of one with a leader of its own.
    fn class_of_leader(&self, leader: &ProcessFacts) -> Option<Class> {
        let facts = TaskFacts {
            tid: leader.pid,
            comm: &leader.comm,
            process: leader,
        };
        let is_ours = self.profile.program.matches(leader);
        let rule = self.profile.rule_for(&facts).filter(|_| is_ours)?;
        rule.leader.is_none().then_some(rule.class)
    }
}
