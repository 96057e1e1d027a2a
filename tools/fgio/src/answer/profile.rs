// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parts of the answers of `fgio profile`.

use std::path::PathBuf;

use fgio_profile::{CaseFailure, Place, Profile, Rule};
use fgio_sys::class::Class;
use serde::Serialize;

/// A profile in a list.
#[derive(Serialize)]
pub struct Listed<'a> {
    pub name: &'a str,
    pub summary: &'a str,
    pub program: &'a [String],
    pub rules: usize,
    pub files: &'a [PathBuf],
}

/// A rule as it is shown.
#[derive(Serialize)]
pub struct Shown<'a> {
    pub name: &'a str,
    pub class: Class,
    pub why: Option<&'a str>,
    pub place: &'a Place,
}

impl<'a> From<&'a Rule> for Shown<'a> {
    fn from(rule: &'a Rule) -> Self {
        Self {
            name: &rule.name,
            class: rule.class,
            why: rule.why.as_deref(),
            place: &rule.place,
        }
    }
}

/// A profile that was checked.
#[derive(Serialize)]
pub struct Checked<'a> {
    pub name: &'a str,
    pub rules: usize,
    pub cases: usize,
    pub failures: Vec<CaseFailure>,
}

impl<'a> Checked<'a> {
    pub fn new(profile: &'a Profile) -> Self {
        let (cases, failures) = profile.check();
        Self {
            name: &profile.name,
            rules: profile.rules.len(),
            cases,
            failures,
        }
    }
}

/// The decision of the profiles about a thread.
#[derive(Serialize)]
pub struct Tested<'a> {
    pub tid: i32,
    pub comm: String,
    pub class: Class,
    pub rule: Option<Shown<'a>>,
    /// The tag it has now; `None` when the module cannot be asked.
    pub tag: Option<Class>,
}
