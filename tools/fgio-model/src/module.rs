// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The module: is it loaded, is it installed, can it be loaded.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::setting::{self, Value};
use crate::{Error, FGIO, Result, Root, files, kernel};

/// Run-time switches of the module by name. `None`: this module has no such
/// switch.
pub type Switches = BTreeMap<&'static str, Option<bool>>;

/// Why the module could not be loaded, as far as modprobe's words tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadFailure {
    NotInstalled,
    NotSigned,
    WrongKernel,
    NoModprobe,
    Other,
}

impl LoadFailure {
    fn from_message(message: &str) -> Self {
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        if says(&["not found in directory", "not found."]) {
            Self::NotInstalled
        } else if says(&[
            "Key was rejected",
            "Required key not available",
            "Operation not permitted",
        ]) {
            Self::NotSigned
        } else if says(&[
            "Exec format error",
            "Invalid module format",
            "Unknown symbol",
        ]) {
            Self::WrongKernel
        } else {
            Self::Other
        }
    }

    pub(crate) fn advice(self, release: &str) -> String {
        match self {
            Self::NotInstalled => format!(
                "install the packages fgio-dkms and linux-headers-{release}, or load a module you built with `insmod build/kmod/{release}/fgio.ko`"
            ),
            Self::NotSigned => {
                "Secure Boot or lockdown wants a signed module: enrol the key of DKMS with `mokutil --import /var/lib/dkms/mok.pub` and reboot".into()
            }
            Self::WrongKernel => format!(
                "the module was built for another kernel: rebuild it for {release} (`dkms autoinstall`, or `make -C kmod`)"
            ),
            Self::NoModprobe => {
                format!("load the module yourself: `insmod build/kmod/{release}/fgio.ko`")
            }
            Self::Other => "the reason is in the kernel log: run `dmesg | tail`".into(),
        }
    }
}

/// Whether the module is loaded.
pub fn is_loaded(root: &Root) -> bool {
    root.path("/sys/module/fgio").is_dir()
}

/// Whether the kernel has the module `name`, loaded or built in.
pub fn is_present(root: &Root, name: &str) -> bool {
    root.path("/sys/module").join(name).is_dir()
}

/// The version of the loaded module; `None` when it is not loaded.
pub fn version(root: &Root) -> Option<String> {
    files::read_optional(&root.path("/sys/module/fgio/version"))
}

/// The run-time switches of the loaded module, of those that the tools know.
pub fn switches(root: &Root) -> Switches {
    let settings = setting::all(root).unwrap_or_default();
    let state = |name: &str| {
        let setting = settings.iter().find(|setting| setting.name == name)?;
        match setting.value {
            Value::Switch(on) => Some(on),
            _ => None,
        }
    };
    setting::KNOWN
        .iter()
        .filter(|known| known.is_switch())
        .map(|known| (known.name, state(known.name)))
        .collect()
}

/// The running kernel's release, such as `6.12.117+deb12-amd64`.
pub fn kernel_release(root: &Root) -> Result<String> {
    files::read(&root.path("/proc/sys/kernel/osrelease"))
}

/// Where the module is installed for `release`, if it is, according to depmod.
pub fn installed(root: &Root, release: &str) -> Option<String> {
    let index = root.path(format!("/lib/modules/{release}/modules.dep"));
    let text = files::read_optional(&index)?;
    text.lines()
        .filter_map(|line| line.split(':').next())
        .find(|path| is_module_file(path))
        .map(str::to_owned)
}

fn is_module_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(
        name,
        "fgio.ko" | "fgio.ko.xz" | "fgio.ko.zst" | "fgio.ko.gz"
    )
}

/// Loads the module unless it is loaded. Returns whether it had to be.
///
/// Runs modprobe, so it needs root.
pub fn ensure_loaded(root: &Root) -> Result<bool> {
    if is_loaded(root) {
        return Ok(false);
    }
    if !root.is_system() {
        return Err(Error::ModuleNotLoaded);
    }
    let release = kernel_release(root)?;
    if let Err(error) = load(&release) {
        // Nothing that the advice for modprobe's error names helps on a kernel that
        // cannot have the module. Asked last: a module built by hand may load.
        return Err(match kernel::refusal(root, &release) {
            Some(reason) if !matches!(error, Error::Permission { .. }) => {
                Error::KernelUnsupported { reason }
            }
            _ => error,
        });
    }
    if is_loaded(root) {
        return Ok(true);
    }
    Err(Error::ModuleLoad {
        message: "modprobe reported no error, but /sys/module/fgio does not exist".into(),
        failure: LoadFailure::Other,
        release,
    })
}

fn load(release: &str) -> Result<()> {
    // Users' PATH often lacks the directories of root's commands.
    let program = ["/usr/sbin/modprobe", "/sbin/modprobe"]
        .into_iter()
        .find(|path| Path::new(path).exists())
        .unwrap_or("modprobe");
    let failed = |message: String, failure| Error::ModuleLoad {
        message,
        failure,
        release: release.to_owned(),
    };
    let output = Command::new(program)
        .arg(FGIO)
        .env("LC_ALL", "C")
        .output()
        .map_err(|source| failed(format!("{program}: {source}"), LoadFailure::NoModprobe))?;
    if output.status.success() {
        return Ok(());
    }
    let message = summary(&String::from_utf8_lossy(&output.stderr), output.status);
    if message.contains("Operation not permitted") && !rustix::process::geteuid().is_root() {
        let action = "load the module fgio".to_owned();
        return Err(Error::Permission { action });
    }
    let failure = LoadFailure::from_message(&message);
    Err(failed(message, failure))
}

fn summary(stderr: &str, status: std::process::ExitStatus) -> String {
    match stderr.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => line.trim().to_owned(),
        None => format!("modprobe ended with {status}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn modprobe_messages_are_understood() {
        let cases = [
            (
                "modprobe: FATAL: Module fgio not found in directory /lib/modules/6.1.0",
                LoadFailure::NotInstalled,
            ),
            (
                "modprobe: ERROR: could not insert 'fgio': Key was rejected by service",
                LoadFailure::NotSigned,
            ),
            (
                "modprobe: ERROR: could not insert 'fgio': Exec format error",
                LoadFailure::WrongKernel,
            ),
            (
                "modprobe: ERROR: could not insert 'fgio': Cannot allocate memory",
                LoadFailure::Other,
            ),
        ];
        for (message, failure) in cases {
            assert_eq!(LoadFailure::from_message(message), failure, "{message}");
        }
    }

    #[test]
    fn installed_module_is_found_in_the_index() {
        let fixture = Fixture::new();
        fixture.file(
            "/lib/modules/6.12.1/modules.dep",
            "kernel/fs/ext4/ext4.ko: kernel/lib/crc16.ko\nupdates/dkms/notfgio.ko:\nupdates/dkms/fgio.ko.xz:\n",
        );
        assert_eq!(
            installed(fixture.root(), "6.12.1").as_deref(),
            Some("updates/dkms/fgio.ko.xz")
        );
        assert_eq!(installed(fixture.root(), "6.1.0"), None);
    }

    #[test]
    fn switches_are_read() {
        let fixture = Fixture::new();
        let found = switches(fixture.root());
        assert!(found.contains_key("journal") && !found.contains_key("watchdog_ms"));
        assert!(found.values().all(Option::is_none));
        fixture.file("/sys/module/fgio/parameters/stamp", "Y\n");
        fixture.file("/sys/module/fgio/parameters/admission", "N\n");
        let found = switches(fixture.root());
        assert_eq!(
            (found["stamp"], found["admission"], found["boost"]),
            (Some(true), Some(false), None)
        );
    }
}
