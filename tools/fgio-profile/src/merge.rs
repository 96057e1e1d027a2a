// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A profile made of its file and its drop-ins.

use std::path::Path;

use crate::parse::{Part, ProgramPart};
use crate::profile::{Conditions, Kin, Program};
use crate::{Fault, Patterns, Place, Profile};

/// The profile that a file holds; `None` for a file without content, which masks.
pub fn profile(name: &str, part: Part) -> Result<Option<Profile>, Fault> {
    let is_empty = part.program.is_none() && part.rules.is_empty() && part.summary.is_none();
    if is_empty && part.cases.is_empty() {
        return Ok(None);
    }
    let lacks = |what: &str, advice: &str| {
        Fault::new(
            Place::at(&part.file, "", 0),
            format!("the profile {what}"),
            advice,
        )
    };
    let program = match part.program {
        Some(ProgramPart {
            comm: Some(comm),
            conditions,
        }) => Program { comm, conditions },
        _ => {
            return Err(lacks(
                "does not say which program it is about",
                "add `[program]` with `comm = \"...\"`",
            ));
        }
    };
    if part.rules.is_empty() {
        return Err(lacks(
            "has no rules",
            "add `[[rule]]` with `name` and `class`, or empty the file to switch the profile off",
        ));
    }
    Ok(Some(Profile {
        name: name.to_owned(),
        summary: part.summary.unwrap_or_default(),
        files: vec![part.file],
        program,
        rules: part.rules,
        cases: part.cases,
        origin: None,
    }))
}

/// The profile with its drop-ins, in their order.
pub fn with_drop_ins(profile: Profile, parts: Vec<Part>) -> Profile {
    if parts.is_empty() {
        return profile;
    }
    let mut merged = profile.clone();
    merged.cases = Vec::new();
    // New names come before all rules of the profile.
    let mut first = 0;
    for part in parts {
        merged.files.push(part.file);
        merged.cases.extend(part.cases);
        if let Some(summary) = part.summary {
            merged.summary = summary;
        }
        if let Some(program) = part.program {
            extend_program(&mut merged.program, program);
        }
        for rule in part.rules {
            match merged
                .rules
                .iter_mut()
                .find(|former| former.name == rule.name)
            {
                Some(former) => *former = rule,
                None => {
                    merged.rules.insert(first, rule);
                    first += 1;
                }
            }
        }
    }
    merged.origin = Some(Box::new(profile));
    merged
}

/// Names are added, conditions replaced one by one.
fn extend_program(program: &mut Program, part: ProgramPart) {
    if let Some(comm) = part.comm {
        program.comm.extend(comm);
    }
    let Conditions {
        title,
        parent,
        ancestor,
        cgroup,
        unit,
        user,
        ..
    } = part.conditions;
    let present = &mut program.conditions;
    replace(&mut present.title, title);
    replace(&mut present.cgroup, cgroup);
    replace(&mut present.unit, unit);
    replace(&mut present.user, user);
    replace_kin(&mut present.parent, parent);
    replace_kin(&mut present.ancestor, ancestor);
}

fn replace(present: &mut Option<Patterns>, new: Option<Patterns>) {
    if new.is_some() {
        *present = new;
    }
}

fn replace_kin(present: &mut Kin, new: Kin) {
    replace(&mut present.comm, new.comm);
    replace(&mut present.title, new.title);
}

/// The name of a profile or of a drop-in; `None` for files that are neither.
pub fn name_of(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let stem = name.strip_suffix(".toml")?;
    (!stem.is_empty() && !stem.starts_with('.')).then(|| stem.to_owned())
}
