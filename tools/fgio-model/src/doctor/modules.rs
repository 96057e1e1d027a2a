// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The module: is it there, does it match the tools, do its hooks live.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Finding;
use crate::control::{Control, DeviceFile, Info};
use crate::{Error, Result, Root, VERSION, module, setting, uapi};

pub(super) fn examine(root: &Root, findings: &mut Vec<Finding>) -> Result<()> {
    if !module::is_loaded(root) {
        findings.push(not_loaded(root)?);
        return Ok(());
    }
    findings.push(Finding::ok("module-loaded", "the module fgio is loaded"));
    findings.push(version(module::version(root)));
    switches(root, findings);
    match DeviceFile::open_unchecked(root).and_then(|device| device.info()) {
        Ok(info) => {
            findings.push(permissions(root));
            findings.push(interface(&info));
            hooks(&info, findings);
            findings.extend(room_for_tags(&info));
        }
        Err(error) => findings.push(device_file(&error)),
    }
    Ok(())
}

fn not_loaded(root: &Root) -> Result<Finding> {
    const ID: &str = "module-loaded";
    let release = module::kernel_release(root)?;
    Ok(match module::installed(root, &release) {
        Some(path) => Finding::error(
            ID,
            format!("the module is installed ({path}) but not loaded"),
            "run `fgio enable DEV` or `modprobe fgio` as root",
        ),
        None => Finding::error(
            ID,
            "the module is neither loaded nor installed for the running kernel",
            format!(
                "install the packages fgio-dkms and linux-headers-{release}, or build it (`make -C kmod`) and load it (`insmod build/kmod/{release}/fgio.ko`)"
            ),
        ),
    })
}

fn version(found: Option<String>) -> Finding {
    const ID: &str = "module-version";
    match found {
        Some(version) if version == VERSION => {
            Finding::ok(ID, format!("module and tools are both version {VERSION}"))
        }
        Some(version) => Finding::warning(
            ID,
            format!("the module is version {version}, the tools are version {VERSION}"),
            "install both from the same release, then reload the module",
        ),
        None => Finding::warning(
            ID,
            "the module does not say its version",
            "install module and tools from the same release",
        ),
    }
}

fn switches(root: &Root, findings: &mut Vec<Finding>) {
    const ID: &str = "module-switches";
    let before = findings.len();
    for (name, state) in module::switches(root) {
        if state != Some(false) {
            continue;
        }
        let effect = setting::description(name).map_or("", |known| known.when_off);
        findings.push(
            Finding::warning(
                ID,
                format!("switched off: {effect}"),
                format!("run `fgio set {name} on` as root, unless that is meant"),
            )
            .about(name),
        );
    }
    if findings.len() == before {
        findings.push(Finding::ok(ID, "no part of the module is switched off"));
    }
}

fn device_file(error: &Error) -> Finding {
    Finding::error("device-file", error.to_string(), error.advice())
}

fn permissions(root: &Root) -> Finding {
    const ID: &str = "device-file";
    let path = root.path(uapi::DEVICE_PATH);
    let mode = fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode() & 0o777);
    if mode & 0o004 != 0 {
        let found = format!("{} answers (mode {mode:04o})", uapi::DEVICE_PATH);
        return Finding::ok(ID, found);
    }
    Finding::warning(
        ID,
        format!(
            "{} has mode {mode:04o}: users other than its owner and group cannot tag their threads",
            uapi::DEVICE_PATH
        ),
        format!(
            "run `chmod 0666 {}`; the module checks permissions itself, per call",
            uapi::DEVICE_PATH
        ),
    )
}

fn interface(info: &Info) -> Finding {
    const ID: &str = "module-abi";
    if info.abi == uapi::ABI_VERSION {
        let found = format!(
            "module and tools speak version {} of the interface",
            info.abi
        );
        return Finding::ok(ID, found);
    }
    let error = Error::AbiMismatch { module: info.abi };
    Finding::error(ID, error.to_string(), error.advice())
}

fn hooks(info: &Info, findings: &mut Vec<Finding>) {
    const ID: &str = "module-hooks";
    for hook in &info.hooks {
        let finding = if hook.live {
            Finding::ok(ID, format!("live: {}", hook.purpose))
        } else {
            Finding::error(
                ID,
                format!("did not attach, although needed: {}", hook.purpose),
                "look for fgio in the kernel log (`dmesg | grep fgio`) and rebuild the module for this kernel",
            )
        };
        findings.push(finding.about(hook.name.clone()));
    }
}

fn room_for_tags(info: &Info) -> Option<Finding> {
    (info.tags_max > 0 && info.tags >= info.tags_max).then(|| {
        Finding::warning(
            "tags-full",
            format!("all {} tags are taken", info.tags_max),
            "clear tags that are not needed with `fgio tag ID --none`",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Hook;
    use crate::doctor::{Level, levels};
    use crate::fixture::Fixture;

    fn fixture() -> Fixture {
        let fixture = Fixture::new();
        fixture.file("/proc/sys/kernel/osrelease", "6.12.1\n");
        fixture
    }

    fn examined(fixture: &Fixture) -> Vec<Finding> {
        let mut findings = Vec::new();
        examine(fixture.root(), &mut findings).unwrap();
        findings
    }

    #[test]
    fn an_installed_module_is_told_from_a_missing_one() {
        let fixture = fixture();
        let advice = |fixture: &Fixture| examined(fixture)[0].advice.clone().unwrap();
        assert!(advice(&fixture).contains("fgio-dkms"));
        fixture.file("/lib/modules/6.12.1/modules.dep", "extra/fgio.ko:\n");
        assert!(advice(&fixture).contains("modprobe fgio"));
    }

    #[test]
    fn versions_switches_and_the_device_file_are_checked() {
        let fixture = fixture();
        fixture.file("/sys/module/fgio/version", "0.0.1\n");
        fixture.file("/sys/module/fgio/parameters/stamp", "N\n");
        let findings = examined(&fixture);
        assert_eq!(levels(&findings, "module-loaded"), [Level::Ok]);
        assert_eq!(levels(&findings, "module-version"), [Level::Warning]);
        assert_eq!(levels(&findings, "module-switches"), [Level::Warning]);
        let switch = findings
            .iter()
            .find(|finding| finding.id == "module-switches");
        let advice = switch.unwrap().advice.as_deref().unwrap();
        assert!(advice.contains("`fgio set stamp on`"), "{advice}");
        assert_eq!(levels(&findings, "device-file"), [Level::Error]);
    }

    #[test]
    fn hooks_and_interface_are_judged() {
        let hook = |name: &str, live| Hook {
            name: name.into(),
            purpose: String::new(),
            live,
        };
        let info = Info {
            version: VERSION.into(),
            abi: 2,
            hooks: vec![hook("a", true), hook("b", false)],
            tags: 4,
            tags_max: 4,
            queues: 0,
        };
        let mut findings = vec![interface(&info)];
        hooks(&info, &mut findings);
        findings.extend(room_for_tags(&info));
        assert_eq!(levels(&findings, "module-abi"), [Level::Error]);
        assert_eq!(levels(&findings, "module-hooks"), [Level::Ok, Level::Error]);
        assert_eq!(levels(&findings, "tags-full"), [Level::Warning]);
    }
}
