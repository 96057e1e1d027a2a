// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernels that fgio supports.

/// Kernel series that the module is built for and every release is tested on.
const SUPPORTED: [(u32, u32); 2] = [(6, 12), (6, 1)];

/// The supported kernels, as part of a sentence.
pub const RUNS_ON: &str =
    "Debian's kernels of the series 6.12 and 6.1 for amd64, not the real-time ones";

/// Advice for a kernel that cannot have the module.
pub const ADVICE: &str = "boot such a kernel (Debian 12: `apt install linux-image-amd64` for 6.1, `apt install -t bookworm-backports linux-image-amd64` for 6.12); until then `fgio run` still sets I/O priorities, which bfq and mq-deadline heed";

/// The version of a release: `(6, 12)` of `6.12.117+deb12-amd64`.
pub fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Whether a release is of a series that fgio is tested on.
pub fn is_tested(release: &str) -> bool {
    version(release).is_some_and(|version| SUPPORTED.contains(&version))
}
