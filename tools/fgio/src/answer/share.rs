// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The answers of `fgio share`.

use std::cmp::Reverse;

use fgio_model::share::{CgroupShare, DiskShares, Step};
use fgio_sys::cache_shares::Share;
use fgio_sys::cgroup::{self, Cgroup};
use fgio_sys::share::Shares;
use serde::Serialize;

/// A disk in the answer of `fgio share list`.
#[derive(Debug, Serialize)]
pub struct ListedDisk {
    #[serde(flatten)]
    pub shares: DiskShares,
    /// The reason why it is not shared.
    pub not_shared: Option<NotShared>,
    /// Cgroups without I/O that are not in the list.
    pub idle_left_out: usize,
    /// Other cgroups that are not in the list.
    pub left_out: usize,
}

#[derive(Debug, Serialize)]
pub struct List {
    /// Time that the figures cover.
    pub seconds: f64,
    pub disks: Vec<ListedDisk>,
    /// `None` while no `fgiod cache` runs.
    pub page_cache: Option<PageCache>,
}

/// A cgroup's file memory. Sizes are in bytes.
#[derive(Debug, Serialize)]
pub struct Pages {
    #[serde(flatten)]
    pub share: Share,
    pub lent: u64,
}

/// The page cache as `fgiod cache` divides it.
#[derive(Debug, Serialize)]
pub struct PageCache {
    /// Those that hold most first; none while all weights are equal.
    pub cgroups: Vec<Pages>,
    /// Others that are not in the list.
    pub left_out: usize,
}

impl PageCache {
    /// The `top` cgroups that hold most.
    pub fn of(mut shares: Vec<Share>, top: usize) -> Self {
        shares.sort_by_key(|share| Reverse(share.held));
        let left_out = shares.len().saturating_sub(top);
        shares.truncate(top);
        let pages = |share: Share| Pages {
            lent: share.lent(),
            share,
        };
        Self {
            cgroups: shares.into_iter().map(pages).collect(),
            left_out,
        }
    }
}

/// Why a disk under fgio is not shared by weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotShared {
    /// The setting `shares` is 0.
    Off,
    /// It was 0 when the disk came under fgio.
    CameBefore,
    /// The setting is 1, and no cgroup that used the disk has another weight than 100.
    EqualWeights,
    /// Any other: it is about to be, or the watchdog let all I/O through.
    NotNow,
}

/// A disk in the answer of `fgio share explain`.
#[derive(Debug, Serialize)]
pub struct ExplainedDisk {
    pub device: String,
    pub not_shared: Option<NotShared>,
    /// `None`: the cgroup has not used the disk.
    pub share: Option<CgroupShare>,
    pub steps: Vec<Step>,
    /// Others that did I/O, those that got most first.
    pub others: Vec<CgroupShare>,
}

#[derive(Debug, Serialize)]
pub struct Explanation {
    pub cgroup: Cgroup,
    /// The cgroup that its I/O counts for, if that is another: the io controller is
    /// not enabled for it.
    pub counts_as: Option<Cgroup>,
    /// `None` for the root.
    pub weight: Option<u32>,
    pub seconds: f64,
    pub disks: Vec<ExplainedDisk>,
}

impl NotShared {
    pub fn reason(self) -> &'static str {
        match self {
            Self::Off => "the setting shares is 0",
            Self::CameBefore => "the setting shares was 0 when it came under fgio",
            Self::EqualWeights => "no cgroup that uses it has another weight than 100",
            Self::NotNow => "not yet, or the watchdog lets all I/O through",
        }
    }

    pub fn advice(self) -> &'static str {
        match self {
            Self::Off => {
                "run `fgio set shares 1 --persist`, then `fgio disable DEV` and `fgio enable DEV`, as root"
            }
            Self::CameBefore => "run `fgio disable DEV` and `fgio enable DEV` as root",
            Self::EqualWeights => {
                "give one a weight (`fgio share set`), or run `fgio set shares 2` as root"
            }
            Self::NotNow => "run `fgio status`",
        }
    }

    pub fn of(setting: Option<u64>, shares: &Shares) -> Option<Self> {
        const DEFAULT: u32 = cgroup::WEIGHT_DEFAULT;
        let below_root = || shares.cgroups.iter().filter(|share| share.parent != 0);
        match setting {
            _ if shares.on => None,
            Some(0) => Some(Self::Off),
            _ if !shares.followed => Some(Self::CameBefore),
            Some(1) if below_root().all(|share| share.weight == DEFAULT) => {
                Some(Self::EqualWeights)
            }
            _ => Some(Self::NotNow),
        }
    }
}
