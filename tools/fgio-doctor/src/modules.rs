// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The module: is it there, does it match the tools, do its hooks live.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::Finding;
use fgio_sys::control::{Control, DeviceFile, Info};
use fgio_sys::{Error, FGIO, Result, Root, VERSION, files, module, setting, uapi};

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
            findings.extend(permissions(root));
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
    for (name, state) in setting::switches(root) {
        if state != Some(false) {
            continue;
        }
        let effect = setting::description(name).map_or("", |known| known.when_off);
        findings.push(
            Finding::warning(
                ID,
                format!("switched off: {effect}"),
                format!("run `fgio set {name} on` as root, unless it is off on purpose"),
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

/// A line of /etc/group.
struct Group {
    name: String,
    members: String,
}

fn group(root: &Root, id: u32) -> Option<Group> {
    let text = files::read_optional(&root.path("/etc/group"))?;
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?.to_owned();
        let found: u32 = fields.nth(1)?.parse().ok()?;
        let members = fields.next().unwrap_or_default().to_owned();
        (found == id).then_some(Group { name, members })
    })
}

fn permissions(root: &Root) -> Option<Finding> {
    let found = fs::metadata(root.path(uapi::DEVICE_PATH)).ok()?;
    Some(judge_mode(found.mode() & 0o777, group(root, found.gid())))
}

fn judge_mode(mode: u32, group: Option<Group>) -> Finding {
    const ID: &str = "device-file";
    const READ_WRITE: u32 = 0o6;
    let path = uapi::DEVICE_PATH;
    let allows = |shift: u32| mode >> shift & READ_WRITE == READ_WRITE;
    if allows(0) {
        let found = format!("{path} answers every user (mode {mode:04o})");
        return Finding::info(ID, found)
            .advise("docs/trust.md says how to admit users and set their limits");
    }
    match group {
        Some(Group { name, members }) if name != "root" && allows(3) => {
            let members = match members.as_str() {
                "" => "no user so far".to_owned(),
                members => members.replace(',', ", "),
            };
            Finding::ok(
                ID,
                format!("{path} answers root, fgiod and the group {name} ({members})"),
            )
        }
        _ => Finding::warning(
            ID,
            format!(
                "{path} answers root alone (mode {mode:04o}): fgiod, libfgio and the databases' extensions cannot tag"
            ),
            format!(
                "install the package fgio or run `make install`, which give it to the group {FGIO}; then `udevadm trigger {path}`"
            ),
        ),
    }
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
    use crate::{Level, levels};
    use fgio_sys::control::Hook;
    use fgio_sys::fixture::Fixture;

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
    fn those_that_may_open_the_device_are_named() {
        let fixture = fixture();
        fixture.file("/etc/group", "root:x:0:\nfgio:x:105:postgres,redis\n");
        let judged = |mode, id| judge_mode(mode, group(fixture.root(), id));
        let finding = judged(0o660, 105);
        assert_eq!(finding.level, Level::Ok);
        assert!(
            finding.found.contains("(postgres, redis)"),
            "{}",
            finding.found
        );
        assert_eq!(judged(0o666, 0).level, Level::Info);
        for (mode, id) in [(0o660, 0), (0o600, 105), (0o640, 105), (0o660, 7)] {
            assert_eq!(judged(mode, id).level, Level::Warning, "{mode:o} {id}");
        }
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
