// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fair shares: what the module says of the cgroups that use a disk.

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
}

impl Share {
    pub(crate) fn from_kernel(share: &FgioShare) -> Self {
        const WHOLE: f64 = 1e6;
        const SECTOR: u64 = 512;
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
            ..FgioShare::default()
        });
        assert_eq!(
            (share.bytes, share.guarantee, share.asks),
            (4096, 0.25, true)
        );
        assert!(!Share::from_kernel(&FgioShare::default()).asks);
    }
}
