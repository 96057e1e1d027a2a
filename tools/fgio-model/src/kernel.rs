// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The running kernel: is it one that the module can be built for and loaded into.

use crate::{Root, files, module};

/// Kernel series that the module is built for and every release is tested on.
const SUPPORTED: [(u32, u32); 2] = [(6, 12), (6, 1)];

/// Where a kernel describes its types.
pub(crate) const BTF: &str = "/sys/kernel/btf/vmlinux";

/// What fgio runs on, in a sentence's words.
pub(crate) const RUNS_ON: &str =
    "Debian's kernels of the series 6.12 and 6.1 for amd64, not the real-time ones";

/// What to do on a kernel that cannot have the module.
pub(crate) const ADVICE: &str = "boot such a kernel (Debian 12: `apt install linux-image-amd64` for 6.1, `apt install -t bookworm-backports linux-image-amd64` for 6.12); until then `fgio run` still sets I/O priorities, which bfq and mq-deadline heed";

/// The version of a release: `(6, 12)` of `6.12.117+deb12-amd64`.
pub(crate) fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Whether a release is of a series that fgio is tested on.
pub(crate) fn is_tested(release: &str) -> bool {
    version(release).is_some_and(|version| SUPPORTED.contains(&version))
}

/// Whether the kernel is a real-time one.
pub(crate) fn is_realtime(root: &Root, release: &str) -> bool {
    let is_named = release.split(['-', '+', '.']).any(|part| {
        part.strip_prefix("rt")
            .is_some_and(|number| number.chars().all(|character| character.is_ascii_digit()))
    });
    let running = files::read_optional(&root.path("/sys/kernel/realtime"));
    is_named || running.as_deref() == Some("1")
}

/// Why the module can be neither built for nor loaded into the running kernel;
/// `None` when it can, and when it is loaded all the same.
pub(crate) fn refusal(root: &Root, release: &str) -> Option<String> {
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
