// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The disks: which of them are under fgio, and does each suit it.

use super::Finding;
use fgio_sys::block::Disk;

use fgio_sys::{Root, counters, drive, files};

pub(super) fn examine(root: &Root, disks: &[Disk], findings: &mut Vec<Finding>) {
    let enabled: Vec<&Disk> = disks.iter().filter(|disk| disk.is_under_fgio()).collect();
    if enabled.is_empty() {
        findings.push(
            Finding::info("devices", "no disk is under fgio")
                .advise("run `fgio enable DEV` as root; `fgio status` lists the disks"),
        );
    }
    for disk in enabled {
        findings.push(Finding::ok("devices", "under fgio").about(&disk.name));
        let about_disk = [
            slots(disk),
            throttling(root, disk),
            rotational(disk),
            zoned(disk),
            Some(drive_priority(disk)),
            duration_limits(disk),
            request_order(root, disk),
            one_queue(root, disk),
        ];
        let about_disk = about_disk.into_iter().flatten();
        findings.extend(about_disk.map(|finding| finding.about(&disk.name)));
    }
}

/// Fewer critical I/Os say nothing about ids.
const TELLING_IOS: u64 = 1000;

/// Whether critical I/O goes in the order of users' requests, where that is asked for. Needs root.
fn request_order(root: &Root, disk: &Disk) -> Option<Finding> {
    const ID: &str = "device-request-order";
    let setting = root.path("/sys/module/fgio/parameters/request_order");
    if files::read_optional(&setting)? == "0" {
        return None;
    }
    let counters = counters::read(root, &disk.name).ok()?;
    let count = |name: &str| counters.get(name).copied().unwrap_or(0);
    if count("request_order") == 0 {
        return Some(Finding::warning(
            ID,
            "request ids order nothing here: requests are queued for each hardware queue",
            format!("run `fgio disable {0} && fgio enable {0}`", disk.name),
        ));
    }
    let (all, with_id) = (count("critical_queued"), count("critical_with_id"));
    if all < TELLING_IOS || with_id >= all / 2 {
        return Some(Finding::ok(
            ID,
            format!("critical I/O goes in the order of requests; with an id: {with_id} of {all}"),
        ));
    }
    Some(Finding::warning(
        ID,
        format!(
            "{with_id} of {all} critical I/Os have a request id: the others go by their own arrival"
        ),
        "begin sections with the id of the request that they serve (fgio_request_begin_as)",
    ))
}

/// Whether hardware queues are not used because critical I/O goes in the order of users' requests.
/// Needs root.
fn one_queue(root: &Root, disk: &Disk) -> Option<Finding> {
    let counters = counters::read(root, &disk.name).ok()?;
    let queues = disk.hardware_queues();
    if queues < 2 || *counters.get("request_order")? == 0 {
        return None;
    }
    let finding = Finding::info(
        "device-one-queue",
        format!(
            "the I/O of all CPUs is in one queue with one lock, though the drive has {queues} hardware queues: request_order is on"
        ),
    );
    Some(finding.advise(format!(
        "where many CPUs saturate the lock, run `fgio set request_order 0`, then `fgio disable {0} && fgio enable {0}`",
        disk.name
    )))
}

fn slots(disk: &Disk) -> Option<Finding> {
    let tunables = disk.tunables();
    let critical = tunables.get("critical_slots")?;
    let noncritical = tunables.get("noncritical_slots")?;
    let requests = disk.number("queue/nr_requests")?;
    let needed = critical.saturating_add(*noncritical);
    (requests < needed).then(|| {
        Finding::warning(
            "device-slots",
            format!(
                "nr_requests is {requests}, less than the {critical} critical and {noncritical} non-critical slots asked for: the two classes get fewer, in proportion"
            ),
            format!(
                "run `echo {needed} > /sys/block/{0}/queue/nr_requests`, or lower critical_slots and noncritical_slots in /sys/block/{0}/queue/iosched",
                disk.name
            ),
        )
    })
}

fn throttling(root: &Root, disk: &Disk) -> Option<Finding> {
    const ID: &str = "device-wbt";
    const EFFECT: &str = "it holds writes back without regard to their class";
    // The file cannot be read where throttling was never set up.
    let latency = disk
        .number("queue/wbt_lat_usec")
        .filter(|&usec| usec != 0)?;
    let advice = format!("run `echo 0 > /sys/block/{}/queue/wbt_lat_usec`", disk.name);
    match throttling_state(root, disk) {
        Some(true) => Some(Finding::warning(
            ID,
            format!("writeback throttling is on (wbt_lat_usec {latency}): {EFFECT}"),
            advice,
        )),
        Some(false) => None,
        // Kernel 6.1 shows the latency of a throttling that is off as well.
        None => Some(
            Finding::info(
                ID,
                format!("wbt_lat_usec is {latency}: whether writeback throttling is on cannot be told without root"),
            )
            .advise("run `fgio doctor` as root"),
        ),
    }
}

/// Whether writeback throttling is on; `None` when that cannot be read.
fn throttling_state(root: &Root, disk: &Disk) -> Option<bool> {
    // The kernel's enum wbt_state: on by default, on by hand; the rest is off.
    const ON: [&str; 2] = ["1", "2"];
    let path = format!("/sys/kernel/debug/block/{}/rqos/wbt/enabled", disk.name);
    let state = files::read_optional(&root.path(path))?;
    Some(ON.contains(&state.as_str()))
}

fn rotational(disk: &Disk) -> Option<Finding> {
    let finding = match disk.number("queue/rotational")? {
        0 => Finding::info("device-rotational", "the disk says it does not rotate"),
        _ => Finding::info(
            "device-rotational",
            "the disk says it rotates, which virtual disks often do wrongly: fgio believes its reads more (`rotates` in its counters)",
        )
        .advise(format!(
            "if it does not rotate, run `echo 0 > /sys/block/{0}/queue/rotational && fgio disable {0} && fgio enable {0}`",
            disk.name
        )),
    };
    Some(finding)
}

fn drive_priority(disk: &Disk) -> Finding {
    const ID: &str = "device-drive-priority";
    let Some(priority) = drive::priority(disk) else {
        return Finding::info(
            ID,
            "the drive has no priority command that the kernel uses: it serves requests in its own order",
        );
    };
    let command = priority.command.name();
    match (priority.enabled, priority.told) {
        (true, Some(true)) => Finding::ok(
            ID,
            format!("critical requests go first in the drive, too ({command})"),
        ),
        (false, Some(true)) => Finding::warning(
            ID,
            format!(
                "fgio marks critical requests for the drive ({command}), but the drive's own setting is off"
            ),
            format!("run `fgio enable {}`", disk.name),
        ),
        (true, _) => Finding::info(
            ID,
            format!(
                "the drive takes priorities ({command}), but fgio does not mark critical requests"
            ),
        )
        .advise(format!("run `fgio enable {}`", disk.name)),
        (false, _) => Finding::info(ID, format!("the drive has {command}, which is off"))
            .advise(format!("run `fgio enable {}`", disk.name)),
    }
}

/// fgio uses none: limits are values stored in the drive by its administrator, and so is the
/// reaction to a command that exceeds one.
fn duration_limits(disk: &Disk) -> Option<Finding> {
    const ID: &str = "device-duration-limits";
    let are_on = drive::duration_limits(disk)?;
    let finding = if are_on {
        Finding::info(
            ID,
            "command duration limits are on; a SATA disk then has no NCQ priority, and critical requests none of the limits",
        )
        .advise(format!(
            "if no application uses them, run `echo 0 > /sys/block/{0}/device/cdl_enable && fgio enable {0}`",
            disk.name
        ))
    } else {
        Finding::info(
            ID,
            "the drive has command duration limits, which fgio does not use",
        )
    };
    Some(finding)
}

fn zoned(disk: &Disk) -> Option<Finding> {
    let model = disk.attribute("queue/zoned")?;
    (model != "none").then(|| {
        Finding::warning(
            "device-zoned",
            format!("the disk is zoned ({model}): fgio is not tested on zoned disks"),
            format!("run `fgio disable {}`", disk.name),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, levels};
    use fgio_sys::block;
    use fgio_sys::fixture::Fixture;

    fn examined(fixture: &Fixture) -> Vec<Finding> {
        let mut findings = Vec::new();
        examine(
            fixture.root(),
            &block::disks(fixture.root()).unwrap(),
            &mut findings,
        );
        findings
    }

    #[test]
    fn only_disks_under_fgio_are_judged() {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "[none] fgio");
        fixture.file("/sys/block/sda/queue/wbt_lat_usec", "75000\n");
        let findings = examined(&fixture);
        assert_eq!(levels(&findings, "devices"), [Level::Info]);
        assert!(levels(&findings, "device-wbt").is_empty());
    }

    #[test]
    fn slots_throttling_and_zones_are_judged() {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "none [fgio]");
        let queue = "/sys/block/sda/queue";
        fixture.file(&format!("{queue}/iosched/critical_slots"), "128\n");
        fixture.file(&format!("{queue}/iosched/noncritical_slots"), "128\n");
        fixture.file(&format!("{queue}/nr_requests"), "64\n");
        fixture.file(&format!("{queue}/wbt_lat_usec"), "75000\n");
        let throttling = "/sys/kernel/debug/block/sda/rqos/wbt/enabled";
        fixture.file(throttling, "1\n");
        fixture.file(&format!("{queue}/rotational"), "1\n");
        fixture.file(&format!("{queue}/zoned"), "host-managed\n");
        let findings = examined(&fixture);
        assert_eq!(levels(&findings, "device-slots"), [Level::Warning]);
        assert_eq!(levels(&findings, "device-wbt"), [Level::Warning]);
        assert_eq!(levels(&findings, "device-rotational"), [Level::Info]);
        assert_eq!(levels(&findings, "device-zoned"), [Level::Warning]);

        fixture.file(&format!("{queue}/nr_requests"), "256\n");
        fixture.file(throttling, "3\n");
        fixture.file(&format!("{queue}/zoned"), "none\n");
        let findings = examined(&fixture);
        for id in ["device-slots", "device-wbt", "device-zoned"] {
            assert!(levels(&findings, id).is_empty(), "{id}");
        }
    }

    #[test]
    fn a_disk_that_goes_by_no_ids_is_found() {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "none [fgio]");
        let counters = "/sys/kernel/debug/fgio/sda/counters";
        let level = |fixture: &Fixture| levels(&examined(fixture), "device-request-order");
        let text = |policy: u32, all: u32, with_id: u32| {
            format!("request_order {policy}\ncritical_queued {all}\ncritical_with_id {with_id}\n")
        };
        fixture.file(counters, &text(0, 5000, 0));
        assert!(level(&fixture).is_empty(), "a module without the setting");
        let setting = "/sys/module/fgio/parameters/request_order";
        fixture.file(setting, "0\n");
        assert!(level(&fixture).is_empty());
        fixture.file(setting, "3\n");
        assert_eq!(level(&fixture), [Level::Warning]);
        for (all, with_id, expected) in [
            (999, 0, Level::Ok),
            (1000, 499, Level::Warning),
            (1000, 500, Level::Ok),
        ] {
            fixture.file(counters, &text(3, all, with_id));
            assert_eq!(level(&fixture), [expected], "{with_id} of {all}");
        }
    }

    #[test]
    fn hardware_queues_that_are_not_used_are_told() {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "none [fgio]");
        let level = |fixture: &Fixture| levels(&examined(fixture), "device-one-queue");
        let counters = "/sys/kernel/debug/fgio/sda/counters";
        fixture.file(counters, "request_order 3\n");
        assert!(level(&fixture).is_empty(), "it has one");
        fixture.directory("/sys/block/sda/mq/0");
        fixture.directory("/sys/block/sda/mq/1");
        assert_eq!(level(&fixture), [Level::Info]);
        fixture.file(counters, "request_order 0\n");
        assert!(level(&fixture).is_empty(), "they are used");
    }

    #[test]
    fn the_drives_own_priority_is_judged() {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "none [fgio]");
        let level = |fixture: &Fixture| levels(&examined(fixture), "device-drive-priority");
        assert_eq!(level(&fixture), [Level::Info]);
        let told = "/sys/block/sda/queue/iosched/drive_priority";
        let knob = "/sys/block/sda/device/ncq_prio_enable";
        fixture.file("/sys/block/sda/device/ncq_prio_supported", "1\n");
        for (on, says, expected) in [
            ("0", "0", Level::Info),
            ("1", "0", Level::Info),
            ("0", "1", Level::Warning),
            ("1", "1", Level::Ok),
        ] {
            fixture.file(knob, on);
            fixture.file(told, says);
            assert_eq!(level(&fixture), [expected], "knob {on}, told {says}");
        }
        fixture.file("/sys/block/sda/device/cdl_supported", "1\n");
        fixture.file("/sys/block/sda/device/cdl_enable", "0\n");
        assert_eq!(
            levels(&examined(&fixture), "device-duration-limits"),
            [Level::Info]
        );
    }

    #[test]
    fn throttling_that_cannot_be_told_is_no_warning() {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "none [fgio]");
        let latency = "/sys/block/sda/queue/wbt_lat_usec";
        fixture.file(latency, "2000\n");
        assert_eq!(levels(&examined(&fixture), "device-wbt"), [Level::Info]);
        fixture.file(latency, "0\n");
        assert!(levels(&examined(&fixture), "device-wbt").is_empty());
    }
}
