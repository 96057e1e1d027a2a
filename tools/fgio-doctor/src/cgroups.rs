// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Control groups: policies that hold I/O back before fgio sees it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::Finding;
use fgio_sys::block::Disk;
use fgio_sys::{Result, Root, files};

const HIERARCHY: &str = "/sys/fs/cgroup";

/// A policy, found in files of this name.
struct Policy {
    file: &'static str,
    id: &'static str,
    effect: &'static str,
    /// `None` when the policy by itself does not hinder fgio.
    advice: Option<&'static str>,
    in_force: fn(&str) -> bool,
}

const POLICIES: [Policy; 4] = [
    Policy {
        file: "io.max",
        id: "cgroup-io-max",
        effect: "its I/O waits for the limit, foreground or not, before fgio sees it",
        advice: Some(
            "lift the limit (`echo 'MAJ:MIN rbps=max wbps=max riops=max wiops=max' > .../io.max`), or keep foreground tasks out of the cgroup",
        ),
        in_force: |_| true,
    },
    Policy {
        file: "io.latency",
        id: "cgroup-io-latency",
        effect: "other cgroups are held back before fgio sees their I/O",
        advice: Some(
            "remove the target (`echo 'MAJ:MIN target=0' > .../io.latency`), or keep foreground tasks in the protected cgroup",
        ),
        in_force: |line| !line.contains("target=0"),
    },
    Policy {
        file: "io.cost.qos",
        id: "cgroup-io-cost",
        effect: "io.cost takes the time in which I/O waits for its turn in fgio for a saturated disk, and slows all I/O down, the foreground's included",
        advice: Some(
            "switch it off (`echo 'MAJ:MIN enable=0' > /sys/fs/cgroup/io.cost.qos`), or pin its rate (`echo 'MAJ:MIN min=100 max=100' > /sys/fs/cgroup/io.cost.qos`) and give foreground cgroups a high io.weight",
        ),
        in_force: |line| line.split_whitespace().any(|word| word == "enable=1"),
    },
    Policy {
        file: "io.weight",
        id: "cgroup-io-weight",
        effect: "a weight of one disk has an effect under io.cost only; fgio's shares go by the line `default`",
        advice: None,
        in_force: |_| true,
    },
];

/// Disks by device number, with whether they are under fgio.
type Disks<'a> = BTreeMap<String, (&'a str, bool)>;

pub(super) fn examine(root: &Root, disks: &[Disk], findings: &mut Vec<Finding>) -> Result<()> {
    let disks: Disks<'_> = disks
        .iter()
        .filter_map(|disk| {
            let number = disk.device_number()?;
            Some((number, (disk.name.as_str(), disk.is_under_fgio())))
        })
        .collect();
    let before = findings.len();
    walk(root, &root.path(HIERARCHY), &disks, findings);
    if findings.len() == before {
        findings.push(Finding::ok(
            "cgroup-policies",
            "no cgroup limits or weighs I/O",
        ));
    }
    Ok(())
}

fn walk(root: &Root, directory: &Path, disks: &Disks<'_>, findings: &mut Vec<Finding>) {
    for policy in &POLICIES {
        let path = directory.join(policy.file);
        // Most cgroups lack most of the files.
        let text = files::read_optional(&path).unwrap_or_default();
        let subject = root.system_path(&path).display().to_string();
        let lines = text.lines().filter_map(|line| judge(policy, line, disks));
        findings.extend(lines.map(|finding| finding.about(&subject)));
    }
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(root, &entry.path(), disks, findings);
        }
    }
}

/// Judges one line, which starts with a device number, or with `default` (a
/// weight) that is about no device.
fn judge(policy: &Policy, line: &str, disks: &Disks<'_>) -> Option<Finding> {
    let (number, setting) = line.split_once(' ')?;
    if !number.contains(':') || !(policy.in_force)(line) {
        return None;
    }
    let (name, under_fgio) = disks.get(number).copied().unwrap_or((number, false));
    let found = format!("{name} has {} {setting}: {}", policy.file, policy.effect);
    let finding = match policy.advice {
        Some(advice) if under_fgio => {
            Finding::warning(policy.id, found, advice.replace("MAJ:MIN", number))
        }
        _ => Finding::info(policy.id, found),
    };
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, levels};
    use fgio_sys::block;
    use fgio_sys::fixture::Fixture;

    fn examined(fixture: &Fixture) -> Vec<Finding> {
        let disks = block::disks(fixture.root()).unwrap();
        let mut findings = Vec::new();
        examine(fixture.root(), &disks, &mut findings).unwrap();
        findings
    }

    #[test]
    fn policies_on_disks_under_fgio_are_warned_of() {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "none [fgio]");
        fixture.disk("sdb", "8:16", "[none] fgio");
        let group = "/sys/fs/cgroup/a.slice/b.service";
        fixture.file(
            &format!("{group}/io.max"),
            "8:0 rbps=1048576 wbps=max riops=max wiops=max\n8:16 rbps=max wbps=1 riops=max wiops=max\n",
        );
        fixture.file(&format!("{group}/io.weight"), "default 100\n8:0 300\n");
        fixture.file(
            "/sys/fs/cgroup/io.cost.qos",
            "8:0 enable=1 ctrl=auto\n8:16 enable=0 ctrl=auto\n",
        );
        let findings = examined(&fixture);
        assert_eq!(
            levels(&findings, "cgroup-io-max"),
            [Level::Warning, Level::Info]
        );
        assert_eq!(levels(&findings, "cgroup-io-weight"), [Level::Info]);
        assert_eq!(levels(&findings, "cgroup-io-cost"), [Level::Warning]);
        let cost = findings
            .iter()
            .find(|finding| finding.id == "cgroup-io-cost")
            .unwrap();
        assert!(cost.found.contains("slows all I/O down"));
        assert!(cost.advice.as_deref().unwrap().contains("8:0 min=100"));
        let limit = findings
            .iter()
            .find(|finding| finding.id == "cgroup-io-max")
            .unwrap();
        assert_eq!(
            limit.subject.as_deref(),
            Some("/sys/fs/cgroup/a.slice/b.service/io.max")
        );
        assert!(limit.advice.as_deref().unwrap().contains("8:0 rbps=max"));
    }

    #[test]
    fn empty_policies_are_fine() {
        let fixture = Fixture::new();
        fixture.file("/sys/fs/cgroup/a/io.max", "\n");
        fixture.file("/sys/fs/cgroup/a/io.weight", "default 100\n");
        assert_eq!(levels(&examined(&fixture), "cgroup-policies"), [Level::Ok]);
    }
}
