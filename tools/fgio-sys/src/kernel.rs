// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The running kernel: is it one that the module can be built for and loaded into.

use crate::supported::{RUNS_ON, is_tested};
use crate::{Root, files, module};

/// Where a kernel describes its types.
pub const BTF: &str = "/sys/kernel/btf/vmlinux";

/// Whether the kernel is a real-time one.
pub fn is_realtime(root: &Root, release: &str) -> bool {
    let is_named = release.split(['-', '+', '.']).any(|part| {
        part.strip_prefix("rt")
            .is_some_and(|number| number.chars().all(|character| character.is_ascii_digit()))
    });
    let running = files::read_optional(&root.path("/sys/kernel/realtime"));
    is_named || running.as_deref() == Some("1")
}

/// Why the module can be neither built for nor loaded into the running kernel;
/// `None` when it can, and when it is loaded all the same.
pub fn refusal(root: &Root, release: &str) -> Option<String> {
    if module::is_loaded(root) {
        return None;
    }
    let mut reasons = Vec::new();
    if !is_tested(release) {
        reasons.push("is of another series");
    }
    if is_realtime(root, release) {
        reasons.push("is a real-time (PREEMPT_RT) kernel");
    }
    if !root.path(BTF).exists() {
        reasons.push("does not describe its types (CONFIG_DEBUG_INFO_BTF)");
    }
    if cfg!(not(target_arch = "x86_64")) {
        reasons.push("is not for amd64");
    }
    if reasons.is_empty() {
        return None;
    }
    Some(format!(
        "fgio runs on {RUNS_ON}; the running kernel, {release}, {}",
        reasons.join(", and ")
    ))
}
