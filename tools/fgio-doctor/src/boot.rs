// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arrangements for each boot, and whether they took effect: disks, the module, fgiod.

use super::Finding;
use fgio_sys::block::Disk;
use fgio_sys::persist::{self, Rule};
use fgio_sys::{Result, Root, files, module};

const DISKS: &str = "boot-disks";
const MODULE: &str = "boot-module";
const DAEMON: &str = "fgiod";

pub(super) fn examine(root: &Root, disks: &[Disk], findings: &mut Vec<Finding>) -> Result<()> {
    let rules = persist::rules(root)?;
    for disk in disks {
        let rule = rules.iter().find(|rule| rule.is_of(root, disk));
        findings.extend(about_disk(disk, rule).map(|finding| finding.about(&disk.name)));
    }
    for rule in &rules {
        findings.extend(about_rule(root, disks, rule));
    }
    if !rules.is_empty() {
        findings.extend(about_module(root));
    }
    findings.extend(about_daemon(root)?);
    Ok(())
}

fn about_disk(disk: &Disk, rule: Option<&Rule>) -> Option<Finding> {
    let name = &disk.name;
    let scheduler = disk.schedulers().ok()?.current;
    match (rule, disk.is_under_fgio()) {
        (Some(rule), true) => {
            let known_by = rule.identity.describe();
            let found = format!("put under fgio at each boot (known by {known_by})");
            Some(match rule.identity.is_stable() {
                true => Finding::ok(DISKS, found),
                false => Finding::info(DISKS, found + ": another disk may have that name then"),
            })
        }
        (Some(_), false) => Some(Finding::warning(
            DISKS,
            format!(
                "to be under fgio from boot on, but is under {scheduler}: the module could not be loaded then, or another program changed it"
            ),
            format!(
                "run `fgio enable {name}`; `fgio disable {name}` if it is to stay under {scheduler}"
            ),
        )),
        (None, true) => Some(
            Finding::info(DISKS, "under fgio until the next boot")
                .advise(format!("run `fgio enable {name} --persist` to keep it")),
        ),
        (None, false) => None,
    }
}

fn about_rule(root: &Root, disks: &[Disk], rule: &Rule) -> Option<Finding> {
    let known_by = rule.identity.describe();
    if !root.path(&rule.program).exists() {
        let found = format!(
            "the rule for the disk of {known_by} runs {}, which does not exist",
            rule.program.display()
        );
        let advice = "run `fgio enable DEV --persist` again";
        return Some(Finding::warning(DISKS, found, advice).about(persist::RULES));
    }
    let is_here = disks.iter().any(|disk| rule.is_of(root, disk));
    (!is_here).then(|| {
        Finding::info(
            DISKS,
            format!("there is a rule for the disk of {known_by}, which is not here now"),
        )
        .about(persist::RULES)
    })
}

fn about_module(root: &Root) -> Option<Finding> {
    if !module::is_loaded(root) {
        return Some(Finding::warning(
            MODULE,
            "disks are to be under fgio from boot on, but the module is not loaded",
            "run `modprobe fgio` as root; why it was not: `dkms status fgio`, `journalctl -b -u systemd-modules-load -u systemd-udevd`",
        ));
    }
    (!persist::is_loaded_at_boot(root)).then(|| {
        Finding::info(
            MODULE,
            format!(
                "the module is loaded when a disk's rule needs it: {} is missing",
                persist::MODULES
            ),
        )
    })
}

fn about_daemon(root: &Root) -> Result<Option<Finding>> {
    const ENABLED: &str = "/etc/systemd/system/multi-user.target.wants/fgiod.service";
    let is_enabled = root.path(ENABLED).is_symlink();
    Ok(match (is_enabled, is_running(root, DAEMON)?) {
        (true, false) => Some(Finding::warning(
            DAEMON,
            "fgiod is enabled but does not run: profiles tag no thread",
            "run `systemctl restart fgiod`; `journalctl -u fgiod` says why it ended",
        )),
        (true, true) => Some(Finding::ok(DAEMON, "fgiod runs, and starts at each boot")),
        (false, true) => Some(
            Finding::info(DAEMON, "fgiod runs until the next boot")
                .advise("run `systemctl enable fgiod` to keep it"),
        ),
        (false, false) => None,
    })
}

fn is_running(root: &Root, name: &str) -> Result<bool> {
    let is_it = |process: &String| {
        process.bytes().all(|byte| byte.is_ascii_digit())
            && files::read_optional(&root.path(format!("/proc/{process}/comm"))).as_deref()
                == Some(name)
    };
    Ok(files::names(&root.path("/proc"))?.iter().any(is_it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, levels};
    use fgio_sys::block;
    use fgio_sys::fixture::Fixture;
    use fgio_sys::scheduler::Options;

    const SCHEDULER: &str = "/sys/block/sda/queue/scheduler";

    fn fixture() -> Fixture {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "none [fgio]");
        fixture.file("/run/udev/data/b8:0", "E:ID_WWN=0x1\n");
        fixture.file("/usr/bin/fgio", "");
        fixture.directory("/sys/module/fgio");
        fixture
    }

    fn examined(fixture: &Fixture) -> Vec<Finding> {
        let mut findings = Vec::new();
        let disks = block::disks(fixture.root()).unwrap();
        examine(fixture.root(), &disks, &mut findings).unwrap();
        findings
    }

    fn persist(fixture: &Fixture) {
        let options = Options {
            drive_priority: true,
        };
        persist::persist(fixture.root(), "sda", options).unwrap();
    }

    #[test]
    fn a_disk_that_lost_fgio_is_told_from_one_that_has_it() {
        let fixture = fixture();
        assert_eq!(levels(&examined(&fixture), DISKS), [Level::Info]);
        persist(&fixture);
        assert_eq!(levels(&examined(&fixture), DISKS), [Level::Ok]);
        assert!(levels(&examined(&fixture), MODULE).is_empty());
        fixture.file(SCHEDULER, "[mq-deadline] none\n");
        fixture.remove_directory("/sys/module/fgio");
        let findings = examined(&fixture);
        assert_eq!(levels(&findings, DISKS), [Level::Warning]);
        assert!(findings[0].found.contains("under mq-deadline"));
        assert_eq!(levels(&findings, MODULE), [Level::Warning]);
    }

    #[test]
    fn rules_without_a_disk_or_a_program_are_said() {
        let fixture = fixture();
        persist(&fixture);
        fixture.file("/run/udev/data/b8:0", "E:ID_WWN=0x2\n");
        fixture.file(SCHEDULER, "[none]\n");
        assert_eq!(levels(&examined(&fixture), DISKS), [Level::Info]);
        fixture.remove("/usr/bin/fgio");
        assert_eq!(levels(&examined(&fixture), DISKS), [Level::Warning]);
    }

    #[test]
    fn a_daemon_that_should_run_is_missed() {
        let fixture = fixture();
        assert!(levels(&examined(&fixture), DAEMON).is_empty());
        fixture.link(
            "/etc/systemd/system/multi-user.target.wants/fgiod.service",
            "/lib/systemd/system/fgiod.service",
        );
        assert_eq!(levels(&examined(&fixture), DAEMON), [Level::Warning]);
        fixture.file("/proc/77/comm", "fgiod\n");
        assert_eq!(levels(&examined(&fixture), DAEMON), [Level::Ok]);
    }
}
