// SPDX-License-Identifier: Apache-2.0 OR MIT
//! tuned: does the active profile choose schedulers.

use std::collections::BTreeSet;

use super::Finding;
use fgio_sys::{FGIO, Result, Root, files};

/// Where tuned looks for profiles, in its order.
const PROFILES: [&str; 4] = [
    "/etc/tuned/profiles",
    "/etc/tuned",
    "/usr/lib/tuned/profiles",
    "/usr/lib/tuned",
];

const ID: &str = "tuned-profile";

pub(super) fn examine(root: &Root, findings: &mut Vec<Finding>) -> Result<()> {
    let Some(active) = files::read_optional(&root.path("/etc/tuned/active_profile")) else {
        return Ok(());
    };
    let before = findings.len();
    let mut seen = BTreeSet::new();
    for name in active.split_whitespace() {
        profile(root, name, &mut seen, findings);
    }
    if findings.len() == before && !active.is_empty() {
        let found = format!("the tuned profile {active} leaves schedulers alone");
        findings.push(Finding::ok(ID, found));
    }
    Ok(())
}

/// Judges a profile and those it includes.
fn profile(root: &Root, name: &str, seen: &mut BTreeSet<String>, findings: &mut Vec<Finding>) {
    if !seen.insert(name.to_owned()) {
        return;
    }
    let found = PROFILES.iter().find_map(|directory| {
        let path = format!("{directory}/{name}/tuned.conf");
        Some((files::read_optional(&root.path(&path))?, path))
    });
    let Some((text, path)) = found else {
        return;
    };
    for setting in settings(&text) {
        if setting.section == "main" && setting.key == "include" {
            for included in setting
                .value
                .split([',', ' '])
                .filter(|name| !name.is_empty())
            {
                profile(root, included.trim_start_matches('?'), seen, findings);
            }
        }
        let subject = format!("{path}:{}", setting.line);
        findings.extend(judge(name, &setting).map(|finding| finding.about(subject)));
    }
}

struct Setting<'a> {
    section: &'a str,
    /// The plug-in; the section's name unless it says otherwise.
    kind: &'a str,
    key: &'a str,
    value: &'a str,
    line: usize,
}

fn settings(text: &str) -> Vec<Setting<'_>> {
    let (mut section, mut kind) = ("", "");
    let mut settings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            (section, kind) = (name, name);
        } else if let Some((key, value)) = line.split_once('=') {
            let (key, value) = (key.trim(), value.trim());
            if key == "type" {
                kind = value;
            }
            settings.push(Setting {
                section,
                kind,
                key,
                value,
                line: index + 1,
            });
        }
    }
    settings
}

fn judge(profile: &str, setting: &Setting<'_>) -> Option<Finding> {
    let chooses = (setting.kind == "disk" && setting.key == "elevator")
        || (setting.kind == "sysfs" && setting.key.contains("queue/scheduler"));
    let value = setting.value;
    if chooses && value == FGIO {
        let found = format!("the tuned profile {profile} chooses fgio");
        return Some(Finding::ok(ID, found));
    }
    if chooses {
        return Some(Finding::warning(
            ID,
            format!("the tuned profile {profile} sets the scheduler {value}: it can replace fgio"),
            "make a profile of your own that includes it and sets elevator=fgio under [disk], or switch with `tuned-adm profile`",
        ));
    }
    (setting.kind == "disk" && !matches!(setting.key, "type" | "devices" | "replace")).then(|| {
        Finding::info(
            ID,
            format!(
                "the tuned profile {profile} sets {}={value} on disks, not their scheduler",
                setting.key
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, levels};
    use fgio_sys::fixture::Fixture;

    fn examined(fixture: &Fixture) -> Vec<Finding> {
        let mut findings = Vec::new();
        examine(fixture.root(), &mut findings).unwrap();
        findings
    }

    #[test]
    fn included_profiles_are_followed() {
        let fixture = Fixture::new();
        assert!(examined(&fixture).is_empty());
        fixture.file("/etc/tuned/active_profile", "mine\n");
        fixture.file("/etc/tuned/mine/tuned.conf", "[main]\ninclude=base, mine\n");
        fixture.file(
            "/usr/lib/tuned/profiles/base/tuned.conf",
            "[main]\nsummary=x\n\n[slow]\ntype=disk\nreadahead=>4096\nelevator=kyber\n",
        );
        let findings = examined(&fixture);
        assert_eq!(levels(&findings, ID), [Level::Info, Level::Warning]);
        assert_eq!(
            findings[1].subject.as_deref(),
            Some("/usr/lib/tuned/profiles/base/tuned.conf:7")
        );
    }

    #[test]
    fn harmless_profiles_are_fine() {
        let fixture = Fixture::new();
        fixture.file("/etc/tuned/active_profile", "mine\n");
        fixture.file("/etc/tuned/mine/tuned.conf", "[cpu]\ngovernor=x\n");
        assert_eq!(levels(&examined(&fixture), ID), [Level::Ok]);
        fixture.file("/etc/tuned/mine/tuned.conf", "[disk]\nelevator=fgio\n");
        assert_eq!(levels(&examined(&fixture), ID), [Level::Ok]);
        fixture.file(
            "/etc/tuned/mine/tuned.conf",
            "[sysfs]\n/sys/block/sda/queue/scheduler=bfq\n",
        );
        assert_eq!(levels(&examined(&fixture), ID), [Level::Warning]);
    }
}
