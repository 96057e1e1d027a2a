// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Profiles and drop-ins as they are written.

use std::path::{Path, PathBuf};

use crate::case::{self, Case};
use crate::profile::{Conditions, Rule};
use crate::value::{class, thread};
use crate::{Document, Fault, Field, Patterns};

/// A file: a profile, or a drop-in, which may leave out any part.
pub struct Part {
    pub file: PathBuf,
    pub summary: Option<String>,
    pub program: Option<ProgramPart>,
    pub rules: Vec<Rule>,
    pub cases: Vec<Case>,
}

/// The part of a file about the program.
pub struct ProgramPart {
    pub comm: Option<Patterns>,
    pub conditions: Conditions,
}

const PROCESS_CONDITIONS: [&str; 8] = [
    "title",
    "user",
    "unit",
    "cgroup",
    "parent_comm",
    "parent_title",
    "ancestor_comm",
    "ancestor_title",
];

/// Reads the content of `file`.
pub fn part(file: &Path, text: &str) -> Result<Part, Fault> {
    let document = Document::parse(file, text)?;
    let mut part = Part {
        file: file.to_owned(),
        summary: None,
        program: None,
        rules: Vec::new(),
        cases: Vec::new(),
    };
    for field in document.fields(&["summary", "program", "rule", "case"])? {
        match field.name {
            "summary" => part.summary = Some(field.text()?.to_owned()),
            "program" => part.program = Some(program(&field)?),
            "rule" => part.rules = rules(&field)?,
            _ => part.cases = cases(&field)?,
        }
    }
    Ok(part)
}

fn program(field: &Field<'_>) -> Result<ProgramPart, Fault> {
    let mut program = ProgramPart {
        comm: None,
        conditions: Conditions::default(),
    };
    let known: Vec<&str> = ["comm"].into_iter().chain(PROCESS_CONDITIONS).collect();
    for field in field.fields(&known)? {
        match field.name {
            "comm" => program.comm = Some(comm(&field)?),
            _ => process_condition(&mut program.conditions, &field)?,
        }
    }
    Ok(program)
}

/// The kernel cuts names: an expression without any special character that is
/// longer can never match.
fn comm(field: &Field<'_>) -> Result<Patterns, Fault> {
    const LONGEST: usize = 15;
    for element in field.elements() {
        let text = element.text()?;
        let literal = !text.contains(|letter: char| r"\.+*?()|[]{}^$".contains(letter));
        if literal && text.len() > LONGEST {
            return Err(element.fault(
                format!("no thread is called {text}: names have {LONGEST} bytes at most"),
                format!("the kernel cuts it to `{}`", cut(text, LONGEST)),
            ));
        }
    }
    field.patterns()
}

fn cut(text: &str, longest: usize) -> &str {
    let mut end = longest.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn process_condition(conditions: &mut Conditions, field: &Field<'_>) -> Result<(), Fault> {
    let patterns = Some(match field.name {
        "parent_comm" | "ancestor_comm" => comm(field)?,
        _ => field.patterns()?,
    });
    match field.name {
        "title" => conditions.title = patterns,
        "user" => conditions.user = patterns,
        "unit" => conditions.unit = patterns,
        "cgroup" => conditions.cgroup = patterns,
        "parent_comm" => conditions.parent.comm = patterns,
        "parent_title" => conditions.parent.title = patterns,
        "ancestor_comm" => conditions.ancestor.comm = patterns,
        _ => conditions.ancestor.title = patterns,
    }
    Ok(())
}

fn rules(field: &Field<'_>) -> Result<Vec<Rule>, Fault> {
    let mut rules: Vec<Rule> = Vec::new();
    for element in field.elements() {
        let rule = rule(&element)?;
        if let Some(former) = rules.iter().find(|former| former.name == rule.name) {
            let line = former.place.line;
            return Err(Fault::new(
                rule.place,
                format!("the rule {} is in line {line} already", rule.name),
                "give each rule a name of its own",
            ));
        }
        rules.push(rule);
    }
    Ok(rules)
}

fn rule(element: &Field<'_>) -> Result<Rule, Fault> {
    let mut name = None;
    let mut chosen = None;
    let mut why = None;
    let mut leader = None;
    let mut conditions = Conditions::default();
    let known: Vec<&str> = ["name", "class", "leader", "why", "comm", "thread"]
        .into_iter()
        .chain(PROCESS_CONDITIONS)
        .collect();
    for field in element.fields(&known)? {
        match field.name {
            "name" => name = Some((field.text()?.to_owned(), field.place())),
            "class" => chosen = Some(class(&field)?),
            "leader" => leader = Some(leader_mark(&field)?),
            "why" => why = Some(field.text()?.to_owned()),
            "comm" => conditions.comm = Some(comm(&field)?),
            "thread" => conditions.thread = Some(thread(&field)?),
            _ => process_condition(&mut conditions, &field)?,
        }
    }
    let (name, place) = name.ok_or_else(|| {
        element.fault(
            "a rule has no name",
            "add `name = \"...\"`: `fgio profile test` shows it",
        )
    })?;
    let class = chosen.ok_or_else(|| {
        Fault::new(
            place.clone(),
            format!("the rule {name} has no `class`"),
            "add `class = \"foreground\"`, `\"background\"` or `\"none\"`",
        )
    })?;
    Ok(Rule {
        name,
        class,
        leader,
        why,
        conditions,
        place,
    })
}

fn leader_mark(field: &Field<'_>) -> Result<String, Fault> {
    let text = field.text()?;
    if text.is_empty() {
        return Err(field.fault(
            "`leader` is empty",
            "give the text of the title before the process id, such as `for PID `",
        ));
    }
    Ok(text.to_owned())
}

fn cases(field: &Field<'_>) -> Result<Vec<Case>, Fault> {
    let mut all = Vec::new();
    for element in field.elements() {
        all.extend(case::parse(&element)?);
    }
    Ok(all)
}
