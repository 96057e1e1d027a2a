// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Loads the module.

use std::path::Path;
use std::process::Command;

use crate::load_failure::LoadFailure;
use crate::module::{is_loaded, kernel_release};
use crate::{Error, FGIO, Result, Root, kernel};

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
