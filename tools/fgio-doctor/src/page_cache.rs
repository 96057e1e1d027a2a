// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What dividing the page cache by weight (`fgiod cache`) needs.

use super::Finding;
use fgio_sys::{Root, cache_limits, cgroup_memory, files, watermark_boost};

pub(super) fn examine(root: &Root, release: &str, findings: &mut Vec<Finding>) {
    const CGROUPS: &str = "page-cache-cgroups";
    if cache_limits::is_left_over(root) {
        findings.push(Finding::warning(
            "page-cache-limits",
            "memory.low of cgroups is still as a `fgiod cache` set it that is gone: it holds no task back, but memory is shared by old weights",
            "`fgiod cache --restore`, or start it again",
        ));
    }
    if let Some(before) = watermark_boost::left_off(root) {
        findings.push(Finding::warning(
            "page-cache-boosts",
            "boosts of watermarks (vm.watermark_boost_factor) are still off, as a `fgio run --drop-behind` that was killed had them",
            format!("`sysctl vm.watermark_boost_factor={before}` as root; the next such command sets it back, too"),
        ));
    }
    // Most hosts do not use it: what is missing there is no fault.
    if let Some((found, advice)) = cgroup_memory::obstacle(root) {
        findings.push(
            Finding::info(
                CGROUPS,
                format!("`fgiod cache` cannot divide the page cache by weight: {found}"),
            )
            .advise(advice),
        );
        return;
    }
    findings.push(Finding::ok(
        CGROUPS,
        match cache_limits::is_running(root) {
            true => "cgroup v2 and its memory controller are there; `fgiod cache` runs",
            false => "cgroup v2 and its memory controller are there; `fgiod cache` does not run",
        },
    ));
    if !root.path("/proc/pressure/memory").exists() {
        findings.push(
            Finding::info(
                "page-cache-pressure",
                "the kernel does not measure stalls for memory (PSI): `fgiod cache` cannot reclaim more slowly from cgroups that stall",
            )
            .advise("boot with psi=1"),
        );
    }
    if is_multi_generational(root) {
        findings.push(
            Finding::info(
                "page-cache-lru",
                "the kernel's reclaim has multiple generations (MGLRU), which on 6.12 heeds memory.low only at first: parts of the page cache hold while `fgiod cache` reclaims as fast as memory fills",
            )
            .advise("where a drive fills all of memory within seconds, try `echo n > /sys/kernel/mm/lru_gen/enabled`"),
        );
    }
    if knows_no_swappiness(release) && cgroup_memory::has_swap(root) {
        findings.push(
            Finding::info(
                "page-cache-reclaim",
                format!("kernel {release} cannot reclaim file pages alone from a cgroup, and there is swap space: `fgiod cache` protects each cgroup's part, but does not reclaim what is beyond it ahead of time, and `fgio run --drop-behind` does nothing"),
            )
            .advise("run Linux 6.10 or later, or do without swap space (swapoff -a)"),
        );
    }
}

/// The lowest bit of the file's mask is the main switch.
fn is_multi_generational(root: &Root) -> bool {
    files::read_optional(&root.path("/sys/kernel/mm/lru_gen/enabled"))
        .and_then(|mask| u32::from_str_radix(mask.trim_start_matches("0x"), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}

fn knows_no_swappiness(release: &str) -> bool {
    let mut numbers = release.split(['.', '-']).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < (6, 10),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, levels};
    use fgio_sys::fixture::Fixture;

    fn examined(fixture: &Fixture, release: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        examine(fixture.root(), release, &mut findings);
        findings
    }

    #[test]
    fn what_is_missing_is_said() {
        let fixture = Fixture::new();
        let findings = examined(&fixture, "6.12.9-amd64");
        assert_eq!(levels(&findings, "page-cache-cgroups"), [Level::Info]);
        assert!(findings[0].advice.as_ref().unwrap().contains("unified"));
        fixture.file("/sys/fs/cgroup/cgroup.controllers", "memory\n");
        fixture.file("/sys/fs/cgroup/cgroup.subtree_control", "memory\n");
        fixture.file("/proc/swaps", "Filename\n/dev/sda2\n");
        let findings = examined(&fixture, "6.12.9-amd64");
        assert_eq!(levels(&findings, "page-cache-cgroups"), [Level::Ok]);
        assert_eq!(levels(&findings, "page-cache-pressure"), [Level::Info]);
        assert_eq!(levels(&findings, "page-cache-reclaim"), []);
        assert_eq!(levels(&findings, "page-cache-lru"), []);
        fixture.file("/proc/pressure/memory", "");
        fixture.file("/sys/kernel/mm/lru_gen/enabled", "0x0007\n");
        let findings = examined(&fixture, "6.1.0-28-amd64");
        assert_eq!(levels(&findings, "page-cache-pressure"), []);
        assert_eq!(levels(&findings, "page-cache-lru"), [Level::Info]);
        assert_eq!(levels(&findings, "page-cache-reclaim"), [Level::Info]);
        fixture.file("/sys/kernel/mm/lru_gen/enabled", "0x0000\n");
        fixture.file("/proc/swaps", "Filename\n");
        let findings = examined(&fixture, "6.1.0-28-amd64");
        assert_eq!(levels(&findings, "page-cache-lru"), []);
        assert_eq!(levels(&findings, "page-cache-reclaim"), []);
    }

    #[test]
    fn what_a_killed_one_left_is_warned_of() {
        let fixture = Fixture::new();
        fixture.file(cache_limits::RECORD, "+ 0 0 4096 /a\n");
        let findings = examined(&fixture, "6.12.9");
        assert_eq!(levels(&findings, "page-cache-limits"), [Level::Warning]);
        assert_eq!(levels(&findings, "page-cache-boosts"), []);
        fixture.file("/proc/sys/vm/watermark_boost_factor", "0\n");
        fixture.file("/run/fgio/drop-behind/watermark_boost_factor", "15000\n");
        fixture.file("/run/fgio/drop-behind/lock", "");
        let findings = examined(&fixture, "6.12.9");
        assert_eq!(levels(&findings, "page-cache-boosts"), [Level::Warning]);
    }
}
