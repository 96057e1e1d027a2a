// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fair shares: what the module says of the cgroups that use a disk.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::uapi::{self, FgioShare};

/// A cgroup's share of one disk, now. Counts and times are totals since it first
/// used the disk under fgio, for the time in which the disk was shared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Share {
    /// Inode number of the cgroup's folder.
    pub cgroup: u64,
    /// The same of its parent; 0: it is the root.
    pub parent: u64,
    /// 1 to 10,000.
    pub weight: u32,
    /// Its part of the disk's time among the cgroups that ask, 0 to 1; if it does
    /// not ask, the part that it would have.
    pub guarantee: f64,
    /// It has I/O, or had some lately.
    pub asks: bool,
    pub requests: u64,
    pub bytes: u64,
    /// Time of the disk charged to it.
    pub drive_ns: u64,
    /// Times that it was below its guarantee and others were held back.
    pub held: u64,
    /// By how much it is behind its guarantee.
    pub lag_ns: u64,
    pub queued: u32,
    pub in_drive: u32,
    /// What its weight counts for, as a part of it; `None`: for itself. The guarantee has it.
    pub scale: Option<f64>,
}

impl Share {
    /// Its weight as it counts.
    pub fn counted_weight(&self) -> f64 {
        f64::from(self.weight) * self.scale.unwrap_or(1.0)
    }

    pub(crate) fn from_kernel(share: &FgioShare) -> Self {
        const WHOLE: f64 = 1e6;
        const SECTOR: u64 = 512;
        const SCALE_ONE: u32 = 1024;
        Self {
            cgroup: share.cgroup,
            parent: share.parent,
            weight: share.weight,
            guarantee: f64::from(share.guarantee) / WHOLE,
            asks: share.flags & uapi::SHARE_ASKS != 0,
            requests: share.requests,
            bytes: share.sectors.saturating_mul(SECTOR),
            drive_ns: share.drive_ns,
            held: share.held,
            lag_ns: share.lag_ns,
            queued: share.queued,
            in_drive: share.in_drive,
            scale: match share.scale {
                // 0: a module that knows no scales.
                0 | SCALE_ONE => None,
                scale => Some(f64::from(scale) / f64::from(SCALE_ONE)),
            },
        }
    }
}

/// The cgroups that have used a disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shares {
    /// The disk came under fgio while the setting `shares` was not 0.
    pub followed: bool,
    /// It is shared by weight now.
    pub on: bool,
    pub cgroups: Vec<Share>,
}

/// The call of the module that lists shares; a trait so that tests can stand in for
/// the kernel.
pub trait Sharing {
    /// The cgroups that have used the disk `major`:`minor`, in the order in which
    /// they came. Needs root.
    fn shares(&self, major: u32, minor: u32) -> Result<Shares>;
}

/// The call of the module that lets weights count for more or less than users set them.
pub trait Scaling {
    /// Lets the weight of the cgroup with this id count for `scale` parts of 1,024 on all disks,
    /// for a time. Whether some disk under fgio knows the cgroup. Needs root.
    fn scale_share(&self, cgroup: u64, scale: u32, hold: Duration) -> Result<bool>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_people() {
        let share = Share::from_kernel(&FgioShare {
            cgroup: 7,
            parent: 1,
            sectors: 8,
            guarantee: 250_000,
            flags: uapi::SHARE_ASKS | 1 << 9,
            scale: 512,
            ..FgioShare::default()
        });
        assert_eq!(
            (share.bytes, share.guarantee, share.asks, share.scale),
            (4096, 0.25, true, Some(0.5))
        );
        assert_eq!(Share::from_kernel(&FgioShare::default()).scale, None);
        assert!(!Share::from_kernel(&FgioShare::default()).asks);
    }
}
