// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio profile` as text.

use std::path::PathBuf;

use fgio_profile::{Fault, ProcessFacts, Profile};

use super::{BOLD, RED, table, wrapped_table};
use crate::answer::profile::{Checked, Listed, Shown, Tested};

pub fn list(profiles: &[Listed<'_>], masked: &[PathBuf], width: Option<u16>) -> String {
    let rows = profiles.iter().map(|profile| {
        vec![
            profile.name.to_owned(),
            profile.program.join(" "),
            profile.summary.to_owned(),
        ]
    });
    let mut text = match profiles {
        [] => "no profiles\n".to_owned(),
        _ => wrapped_table(
            &["profile", "program", "foreground"],
            rows.collect(),
            0,
            width,
        ),
    };
    for file in masked {
        text += &format!("switched off: {}\n", file.display());
    }
    text
}

pub fn show(profile: &Profile, rules: &[Shown<'_>]) -> String {
    let mut text = format!("{BOLD}{}{BOLD:#}: {}\n", profile.name, profile.summary);
    for file in &profile.files {
        text += &format!("  {}\n", file.display());
    }
    let program = profile.program.comm.sources().join(" ");
    text += &format!("program: {program}\nrules, the first that applies decides:\n");
    for rule in rules {
        text += &format!("  {}: {} ({})\n", rule.name, rule.class.name(), rule.place);
        if let Some(why) = rule.why {
            text += &format!("    {why}\n");
        }
    }
    text
}

pub fn check(profiles: &[Checked<'_>], refused: &[Fault]) -> String {
    let mut text = String::new();
    for profile in profiles {
        let Checked {
            name, rules, cases, ..
        } = profile;
        let state = match profile.failures.len() {
            0 => "all as they say".to_owned(),
            failures => format!("{failures} not as they say"),
        };
        text += &format!("{name}: {rules} rules, {cases} cases, {state}\n");
        for failure in &profile.failures {
            text += &format!("  {}: {}\n", failure.place, failure.message);
        }
    }
    for fault in refused {
        text += &format!("{RED}refused:{RED:#} {fault}\n  {}\n", fault.advice);
    }
    text
}

pub fn test(process: &ProcessFacts, profile: Option<&Profile>, threads: &[Tested<'_>]) -> String {
    let mut text = facts(process);
    let Some(profile) = profile else {
        text += "profile: none, this program has no profile\n";
        return text + &tags(threads);
    };
    text += &format!("profile: {}\n\n", profile.name);
    let mut sorted = Vec::new();
    for thread in threads {
        let (rule, place, why) = match &thread.rule {
            Some(rule) => (
                rule.name,
                rule.place.to_string(),
                rule.why.unwrap_or_default(),
            ),
            None => ("", String::new(), "no rule applies"),
        };
        sorted.push(vec![
            thread.tid.to_string(),
            thread.comm.clone(),
            thread.class.name().to_owned(),
            tag(thread),
            rule.to_owned(),
            place,
            why.to_owned(),
        ]);
    }
    let header = ["tid", "comm", "class", "tag now", "rule", "where", "why"];
    text + &table(&header, sorted, header.len())
}

fn tag(thread: &Tested<'_>) -> String {
    thread.tag.map_or("?", |tag| tag.name()).to_owned()
}

fn tags(threads: &[Tested<'_>]) -> String {
    let rows = threads
        .iter()
        .map(|thread| vec![thread.tid.to_string(), thread.comm.clone(), tag(thread)]);
    format!(
        "\n{}",
        table(&["tid", "comm", "tag now"], rows.collect(), 3)
    )
}

fn facts(process: &ProcessFacts) -> String {
    let ProcessFacts {
        pid,
        comm,
        title,
        user,
        cgroup,
        unit,
        ancestors,
    } = process;
    let parent = match ancestors.first() {
        Some(parent) => format!("{} {} ({})", parent.pid, parent.comm, parent.title),
        None => "none".to_owned(),
    };
    let or_none = |text: &str| {
        if text.is_empty() {
            "none".to_owned()
        } else {
            text.to_owned()
        }
    };
    format!(
        "process: {pid} {comm}\ntitle: {}\nuser: {user}\nunit: {}\ncgroup: {cgroup}\nparent: {parent}\n",
        or_none(title),
        or_none(unit),
    )
}
