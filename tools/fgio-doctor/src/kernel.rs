// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The running kernel: is it one that fgio is built for, and can fgio be built
//! and loaded on it.

use std::fs;

use super::Finding;
use fgio_sys::error::is_permission;
use fgio_sys::kernel::{BTF, is_realtime, refusal};
use fgio_sys::supported::{ADVICE, RUNS_ON, is_tested, version};
use fgio_sys::{Result, Root, files, module};

const SECURE_BOOT: &str =
    "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

/// The one finding about a kernel that cannot have the module: other obstacles
/// do not matter there, and advice about them would lead nowhere.
pub(super) fn refuse(root: &Root) -> Result<Option<Finding>> {
    let release = module::kernel_release(root)?;
    let found = refusal(root, &release);
    Ok(found.map(|found| Finding::error("kernel-unsupported", found, ADVICE)))
}

pub(super) fn examine(root: &Root, findings: &mut Vec<Finding>) -> Result<()> {
    let release = module::kernel_release(root)?;
    findings.push(series(&release));
    findings.extend(limits(&release));
    findings.extend(realtime(root, &release));
    findings.push(headers(root, &release));
    findings.extend(type_information(root));
    findings.push(secure_boot(root));
    findings.push(lockdown(root));
    Ok(())
}

/// Only a module that was built by hand gets as far as this on another series.
fn series(release: &str) -> Finding {
    const ID: &str = "kernel-release";
    if is_tested(release) {
        let found = format!("kernel {release} is of a series that fgio is tested on");
        return Finding::ok(ID, found);
    }
    Finding::warning(
        ID,
        format!("kernel {release} is of a series that fgio is not tested on; it runs on {RUNS_ON}"),
        "boot one of these kernels",
    )
}

/// Limits of fgio on a kernel, even where everything is set up.
fn limits(release: &str) -> Vec<Finding> {
    const ID: &str = "kernel-limits";
    const UP_TO_6_1: [&str; 2] = [
        "on 6.1, writes with a flush or FUA (the last block of a journal commit, for one) pass every I/O scheduler by: fgio can neither hold nor promote them; 6.12 schedules them",
        "on 6.1, zoned disks need a scheduler that orders writes by zone, and fgio refuses them; 6.12 does so by itself",
    ];
    match version(release) {
        Some((6, 1)) => UP_TO_6_1
            .iter()
            .map(|limit| Finding::info(ID, *limit))
            .collect(),
        _ => Vec::new(),
    }
}

fn realtime(root: &Root, release: &str) -> Option<Finding> {
    is_realtime(root, release).then(|| {
        Finding::error(
            "kernel-realtime",
            format!(
                "kernel {release} is a real-time (PREEMPT_RT) kernel, which fgio is not made for"
            ),
            "boot the kernel of the same version without -rt",
        )
    })
}

fn headers(root: &Root, release: &str) -> Finding {
    const ID: &str = "kernel-headers";
    let build = format!("/lib/modules/{release}/build");
    if root.path(&build).join("Makefile").exists() {
        return Finding::ok(ID, format!("headers are in {build}"));
    }
    Finding::warning(
        ID,
        format!("no headers for the running kernel: {build} is missing or empty"),
        format!("install the package linux-headers-{release}, which building the module needs"),
    )
}

/// Nothing when there is none, and a module that was built without it is loaded.
fn type_information(root: &Root) -> Option<Finding> {
    let found = format!("the kernel describes its types in {BTF}");
    let exists = root.path(BTF).exists();
    exists.then(|| Finding::ok("kernel-btf", found))
}

fn secure_boot(root: &Root) -> Finding {
    const ID: &str = "secure-boot";
    // Four bytes of attributes come before the variable's one byte.
    let enabled = match fs::read(root.path(SECURE_BOOT)) {
        Ok(bytes) => bytes.get(4) == Some(&1),
        Err(source) if is_permission(&source) => {
            return Finding::info(ID, "Secure Boot: not known without root")
                .advise("run `fgio doctor` as root");
        }
        Err(_) => false,
    };
    if !enabled {
        return Finding::ok(ID, "Secure Boot is off");
    }
    if module::is_loaded(root) {
        return Finding::ok(ID, "Secure Boot is on, and the module was loaded");
    }
    Finding::warning(
        ID,
        "Secure Boot is on: the kernel loads signed modules only",
        "enrol the key that DKMS signs with: `mokutil --import /var/lib/dkms/mok.pub`, reboot and confirm it",
    )
}

fn lockdown(root: &Root) -> Finding {
    const ID: &str = "lockdown";
    let text = files::read_optional(&root.path("/sys/kernel/security/lockdown"));
    let state = text.as_deref().and_then(|text| {
        let start = text.find('[')? + 1;
        let end = text[start..].find(']')? + start;
        text.get(start..end)
    });
    let enforced = files::read_optional(&root.path("/sys/module/module/parameters/sig_enforce"));
    match (state, enforced.as_deref()) {
        (None | Some("none"), Some("Y")) => {
            signed_only(root, "modules must be signed (sig_enforce)")
        }
        (None | Some("none"), _) => Finding::ok(ID, "the kernel is not locked down"),
        (Some(state), _) => signed_only(root, &format!("the kernel is locked down ({state})")),
    }
}

fn signed_only(root: &Root, found: &str) -> Finding {
    const ID: &str = "lockdown";
    if module::is_loaded(root) {
        return Finding::ok(ID, format!("{found}, and the module was loaded"));
    }
    Finding::warning(
        ID,
        format!("{found}: only a signed module can be loaded"),
        "sign the module with an enrolled key (DKMS does, see `mokutil --import /var/lib/dkms/mok.pub`)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, levels};
    use fgio_sys::fixture::Fixture;

    fn examined(release: &str, prepare: impl Fn(&Fixture)) -> Vec<Finding> {
        let fixture = Fixture::new();
        fixture.file("/proc/sys/kernel/osrelease", &format!("{release}\n"));
        prepare(&fixture);
        let mut findings = Vec::new();
        examine(fixture.root(), &mut findings).unwrap();
        findings
    }

    fn refused(release: &str, prepare: impl Fn(&Fixture)) -> Option<String> {
        let fixture = Fixture::new();
        fixture.file("/proc/sys/kernel/osrelease", &format!("{release}\n"));
        prepare(&fixture);
        let finding = refuse(fixture.root()).unwrap()?;
        let is_told = finding
            .advice
            .is_some_and(|advice| advice.contains("linux-image"));
        assert_eq!((finding.level, is_told), (Level::Error, true));
        Some(finding.found)
    }

    #[test]
    fn kernels_that_cannot_have_the_module_are_refused() {
        let types = |fixture: &Fixture| fixture.file(BTF, "");
        for release in ["6.12.117+deb12-amd64", "6.1.0-56-amd64"] {
            assert_eq!(refused(release, types), None, "{release}");
            let found = refused(release, |_| {}).unwrap();
            assert!(found.ends_with("does not describe its types (CONFIG_DEBUG_INFO_BTF)"));
        }
        for release in ["6.6.0", "6.18.44-cloud", "5.10.0-1-amd64", "nonsense"] {
            let found = refused(release, types).unwrap();
            assert!(found.contains("6.12 and 6.1"), "{found}");
            assert!(
                found.ends_with(&format!("{release}, is of another series")),
                "{found}"
            );
        }
        for release in ["6.12.117+deb12-rt-amd64", "6.1.0-rt15"] {
            let found = refused(release, types).unwrap();
            assert!(
                found.ends_with("is a real-time (PREEMPT_RT) kernel"),
                "{found}"
            );
        }
        let found = refused("6.12.1", |fixture| {
            types(fixture);
            fixture.file("/sys/kernel/realtime", "1\n");
        });
        assert!(found.unwrap().contains("PREEMPT_RT"));
        // One error says all there is to say.
        let found = refused("5.10.0-rt1", |_| {}).unwrap();
        assert_eq!(found.matches(", and ").count(), 2, "{found}");
    }

    #[test]
    fn a_module_that_runs_all_the_same_is_not_refused() {
        let loaded = |fixture: &Fixture| fixture.directory("/sys/module/fgio");
        assert_eq!(refused("6.6.0-rt1", loaded), None);
        let findings = examined("6.6.0-rt1", loaded);
        assert_eq!(levels(&findings, "kernel-release"), [Level::Warning]);
        assert_eq!(levels(&findings, "kernel-realtime"), [Level::Error]);
        let findings = examined("6.12.1", |_| {});
        assert_eq!(levels(&findings, "kernel-release"), [Level::Ok]);
        assert!(levels(&findings, "kernel-realtime").is_empty());
    }

    #[test]
    fn limits_of_old_kernels_are_told() {
        let findings = examined("6.1.0-56-amd64", |_| {});
        assert_eq!(levels(&findings, "kernel-limits"), [Level::Info; 2]);
        let findings = examined("6.12.117+deb12-amd64", |_| {});
        assert!(levels(&findings, "kernel-limits").is_empty());
    }

    #[test]
    fn headers_and_types_are_looked_for() {
        let findings = examined("6.12.1", |_| {});
        assert_eq!(levels(&findings, "kernel-headers"), [Level::Warning]);
        assert!(levels(&findings, "kernel-btf").is_empty());
        let findings = examined("6.12.1", |fixture| {
            fixture.file("/lib/modules/6.12.1/build/Makefile", "");
            fixture.file(BTF, "");
        });
        assert_eq!(levels(&findings, "kernel-headers"), [Level::Ok]);
        assert_eq!(levels(&findings, "kernel-btf"), [Level::Ok]);
    }

    #[test]
    fn secure_boot_and_lockdown_matter_until_the_module_is_loaded() {
        let locked = |fixture: &Fixture| {
            fixture.file(SECURE_BOOT, "\u{6}\0\0\0\u{1}");
            fixture.file(
                "/sys/kernel/security/lockdown",
                "none [integrity] confidentiality\n",
            );
        };
        let findings = examined("6.12.1", locked);
        assert_eq!(levels(&findings, "secure-boot"), [Level::Warning]);
        assert_eq!(levels(&findings, "lockdown"), [Level::Warning]);
        let findings = examined("6.12.1", |fixture| {
            locked(fixture);
            fixture.directory("/sys/module/fgio");
        });
        assert_eq!(levels(&findings, "secure-boot"), [Level::Ok]);
        assert_eq!(levels(&findings, "lockdown"), [Level::Ok]);
        let findings = examined("6.12.1", |fixture| {
            fixture.file(SECURE_BOOT, "\u{6}\0\0\0\0");
            fixture.file(
                "/sys/kernel/security/lockdown",
                "[none] integrity confidentiality\n",
            );
        });
        assert_eq!(levels(&findings, "secure-boot"), [Level::Ok]);
        assert_eq!(levels(&findings, "lockdown"), [Level::Ok]);
    }
}
