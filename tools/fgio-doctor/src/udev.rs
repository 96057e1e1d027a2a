// SPDX-License-Identifier: Apache-2.0 OR MIT
//! udev: do rules choose schedulers.

use std::collections::BTreeMap;

use super::Finding;
use fgio_sys::{FGIO, Result, Root, files};

/// Where udev looks for rules; a file hides those of its name further down.
const RULES: [&str; 5] = [
    "/etc/udev/rules.d",
    "/run/udev/rules.d",
    "/usr/local/lib/udev/rules.d",
    "/usr/lib/udev/rules.d",
    "/lib/udev/rules.d",
];

const ID: &str = "udev-rule";
const ATTRIBUTE: &str = "queue/scheduler";

pub(super) fn examine(root: &Root, findings: &mut Vec<Finding>) -> Result<()> {
    let before = findings.len();
    for path in rule_files(root)?.into_values() {
        let Some(text) = files::read_optional(&root.path(&path)) else {
            continue;
        };
        for choice in choices(&text) {
            findings.push(judge(&choice).about(format!("{path}:{}", choice.line)));
        }
    }
    if findings.len() == before {
        findings.push(Finding::ok(ID, "no udev rule chooses schedulers"));
    }
    Ok(())
}

/// The rule files in force, as path by name: udev's order.
fn rule_files(root: &Root) -> Result<BTreeMap<String, String>> {
    let mut rules = BTreeMap::new();
    for directory in RULES {
        for name in files::names(&root.path(directory))? {
            if name.ends_with(".rules") {
                let path = format!("{directory}/{name}");
                rules.entry(name).or_insert(path);
            }
        }
    }
    Ok(rules)
}

/// A rule that chooses a scheduler.
#[derive(Debug, PartialEq, Eq)]
struct Choice {
    line: usize,
    /// `None` when a program is run that writes it.
    scheduler: Option<String>,
}

fn choices(text: &str) -> Vec<Choice> {
    logical_lines(text)
        .into_iter()
        .filter(|(_, rule)| !rule.trim_start().starts_with('#'))
        .filter_map(|(line, rule)| {
            let scheduler = chosen(&rule)?;
            Some(Choice { line, scheduler })
        })
        .collect()
}

/// Rules with the lines that a backslash continues joined, each with the number
/// of its first line.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut continues = false;
    for (index, line) in text.lines().enumerate() {
        let part = line.strip_suffix('\\').unwrap_or(line);
        match lines.last_mut() {
            Some((_, rule)) if continues => rule.push_str(part),
            _ => lines.push((index + 1, part.to_owned())),
        }
        continues = line.ends_with('\\');
    }
    lines
}

/// The scheduler that a rule chooses: `None` when nothing, `Some(None)` when
/// it runs a program that writes it.
fn chosen(rule: &str) -> Option<Option<String>> {
    let mut runs = false;
    for (position, _) in rule.match_indices(ATTRIBUTE) {
        let rest = &rule[position + ATTRIBUTE.len()..];
        let Some(operation) = rest.strip_prefix('}') else {
            runs |= rule[..position].contains("RUN") || rule[..position].contains("PROGRAM");
            continue;
        };
        let operation = operation.trim_start();
        if operation.starts_with("==") || operation.starts_with("!=") {
            continue;
        }
        let value = operation.split('"').nth(1).unwrap_or_default();
        return Some(Some(value.to_owned()));
    }
    runs.then_some(None)
}

fn judge(choice: &Choice) -> Finding {
    const ADVICE: &str = "hide it with a file of its name in /etc/udev/rules.d, or make it leave out the disks of `fgio enable DEV --persist`; a rule acts again whenever its disk changes";
    match &choice.scheduler {
        Some(scheduler) if scheduler == FGIO => {
            Finding::ok(ID, "a rule chooses fgio for the disks it matches")
        }
        Some(scheduler) => Finding::warning(
            ID,
            format!("a rule chooses the scheduler {scheduler} for the disks it matches"),
            ADVICE,
        ),
        None => Finding::warning(
            ID,
            "a rule runs a program that writes queue/scheduler",
            ADVICE,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, levels};
    use fgio_sys::fixture::Fixture;

    #[test]
    fn assignments_are_told_from_matches() {
        let rules = concat!(
            "# ATTR{queue/scheduler}=\"bfq\"\n",
            "ATTR{queue/scheduler}==\"none\", GOTO=\"end\"\n",
            "ACTION==\"add\", SUBSYSTEM==\"block\", \\\n",
            "  ATTR{queue/scheduler}!=\"bfq\", ATTR{queue/scheduler}=\"bfq\"\n",
            "KERNEL==\"sda\", RUN+=\"/bin/sh -c 'echo kyber > /sys/block/sda/queue/scheduler'\"\n",
            "KERNEL==\"sdb\", ATTR{queue/scheduler} := \"fgio\"\n",
        );
        let expected = [
            (3, Some("bfq".to_owned())),
            (5, None),
            (6, Some("fgio".to_owned())),
        ];
        let expected = expected.map(|(line, scheduler)| Choice { line, scheduler });
        assert_eq!(choices(rules), expected);
    }

    #[test]
    fn files_hide_those_of_their_name() {
        let fixture = Fixture::new();
        let rule = "ATTR{queue/scheduler}=\"bfq\"\n";
        fixture.file("/usr/lib/udev/rules.d/60-scheduler.rules", rule);
        fixture.file("/usr/lib/udev/rules.d/README", rule);
        let examined = || {
            let mut findings = Vec::new();
            examine(fixture.root(), &mut findings).unwrap();
            findings
        };
        let findings = examined();
        assert_eq!(levels(&findings, ID), [Level::Warning]);
        assert_eq!(
            findings[0].subject.as_deref(),
            Some("/usr/lib/udev/rules.d/60-scheduler.rules:1")
        );
        fixture.file("/etc/udev/rules.d/60-scheduler.rules", "");
        assert_eq!(levels(&examined(), ID), [Level::Ok]);
    }
}
