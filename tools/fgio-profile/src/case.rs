// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests that a profile brings: threads, and the tags they must get.

use fgio_sys::class::Class;

use crate::facts::{self, Ancestor, ProcessFacts, ThreadKind};
use crate::{Fault, Field, Place, value};

/// A thread that may exist, and its expected tag.
#[derive(Clone, Debug)]
pub struct Case {
    pub(crate) process: ProcessFacts,
    pub(crate) tid: i32,
    pub(crate) comm: String,
    pub(crate) class: Class,
    /// The title of the process that it works for.
    pub(crate) leader_title: Option<String>,
    /// The rule that is to decide; any, when it is not given.
    pub(crate) rule: Option<String>,
    pub(crate) place: Place,
}

const FIELDS: [&str; 14] = [
    "class",
    "rule",
    "process",
    "comm",
    "thread",
    "title",
    "user",
    "cgroup",
    "unit",
    "parent_comm",
    "parent_title",
    "ancestor_comm",
    "ancestor_title",
    "leader_title",
];
const PROCESS: i32 = 100;
const OTHER_THREAD: i32 = 101;

/// The cases that a table stands for: one for each of its comms and titles.
pub fn parse(element: &Field<'_>) -> Result<Vec<Case>, Fault> {
    let mut process = ProcessFacts {
        pid: PROCESS,
        cgroup: "/".to_owned(),
        user: "root".to_owned(),
        ..ProcessFacts::default()
    };
    let mut parent = Ancestor::default();
    let mut ancestor = Ancestor::default();
    let (mut class, mut rule, mut thread) = (None, None, None);
    let (mut comms, mut titles) = (Vec::new(), Vec::new());
    let (mut unit, mut leader_title) = (None, None);
    for field in element.fields(&FIELDS)? {
        match field.name {
            "class" => class = Some(value::class(&field)?),
            "rule" => rule = Some(field.text()?.to_owned()),
            "thread" => thread = Some(value::thread(&field)?),
            "comm" => comms = field.texts()?,
            "title" => titles = field.texts()?,
            "process" => process.comm = field.text()?.to_owned(),
            "user" => process.user = field.text()?.to_owned(),
            "cgroup" => process.cgroup = field.text()?.to_owned(),
            "unit" => unit = Some(field.text()?.to_owned()),
            "parent_comm" => parent.comm = field.text()?.to_owned(),
            "parent_title" => parent.title = field.text()?.to_owned(),
            "leader_title" => leader_title = Some(field.text()?.to_owned()),
            "ancestor_comm" => ancestor.comm = field.text()?.to_owned(),
            _ => ancestor.title = field.text()?.to_owned(),
        }
    }
    if process.comm.is_empty() {
        return Err(element.fault(
            "a case has no `process`",
            "add `process = \"...\"`, the command name of the main thread",
        ));
    }
    let Some(class) = class else {
        return Err(element.fault(
            "a case has no `class`",
            "add `class = \"foreground\"`, `\"background\"` or `\"none\"`",
        ));
    };
    process.unit = unit.unwrap_or_else(|| facts::unit_of(&process.cgroup).to_owned());
    process.ancestors = vec![parent, ancestor];
    // A thread with a name of its own is rarely the main thread.
    let tid = match thread {
        Some(ThreadKind::Other) => OTHER_THREAD,
        None if !comms.is_empty() => OTHER_THREAD,
        _ => PROCESS,
    };
    if comms.is_empty() {
        comms.push(&process.comm);
    }
    if titles.is_empty() {
        titles.push("");
    }
    let mut cases = Vec::new();
    for comm in &comms {
        for title in &titles {
            cases.push(Case {
                process: ProcessFacts {
                    title: (*title).to_owned(),
                    ..process.clone()
                },
                tid,
                comm: (*comm).to_owned(),
                class,
                leader_title: leader_title.clone(),
                rule: rule.clone(),
                place: element.place(),
            });
        }
    }
    Ok(cases)
}
