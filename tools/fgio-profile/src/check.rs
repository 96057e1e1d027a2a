// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks a profile by its cases.

use serde::Serialize;

use crate::facts::{ProcessFacts, TaskFacts};
use crate::{Case, Decision, Place, Profile};

/// A case that is not as its profile says.
#[derive(Clone, Debug, Serialize)]
pub struct CaseFailure {
    pub profile: String,
    #[serde(flatten)]
    pub place: Place,
    pub message: String,
}

/// The difference from the expected tag.
fn failure(case: &Case, profile: &Profile) -> Option<String> {
    let Case { process, comm, .. } = case;
    let facts = TaskFacts {
        tid: case.tid,
        comm,
        process,
    };
    let mut name = format!("thread {comm} of {}", process.comm);
    if !process.title.is_empty() {
        name += &format!(" ({})", process.title);
    }
    let program = profile.program.matches(process);
    let rule = profile.rule_for(&facts).filter(|_| program);
    let leader = |pid| {
        Some(ProcessFacts {
            pid,
            title: case.leader_title.clone()?,
            ..process.clone()
        })
    };
    let class = Decision { profile, rule }.class(process, leader);
    let by = match rule {
        Some(rule) => format!("by rule {}", rule.name),
        None if program => "since no rule applies".to_owned(),
        None => "since it is not the program of the profile".to_owned(),
    };
    let (expected, found) = (case.class.name(), class.name());
    if class != case.class {
        return Some(format!("{name} is {found} {by}, expected: {expected}"));
    }
    let other = case
        .rule
        .as_ref()
        .filter(|name| rule.is_none_or(|rule| rule.name != **name));
    other.map(|rule| format!("{name} is {found} {by}, expected: by rule {rule}"))
}

impl Profile {
    /// Checks the profile's cases. Returns how many there are, and those that fail.
    pub fn check(&self) -> (usize, Vec<CaseFailure>) {
        let (mut count, mut failures) = match &self.origin {
            Some(origin) => origin.check(),
            None => (0, Vec::new()),
        };
        count += self.cases.len();
        failures.extend(self.cases.iter().filter_map(|case| {
            let message = failure(case, self)?;
            Some(CaseFailure {
                profile: self.name.clone(),
                place: case.place.clone(),
                message,
            })
        }));
        (count, failures)
    }
}
