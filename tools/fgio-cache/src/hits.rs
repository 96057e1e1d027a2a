// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The structs of `core/cache_hits.h`.

/// `struct fgio_cache_hits`: a group, what it moved, and what its weight counts for on drives.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    pub weight: u64,
    pub hungry: u64,
    /// Bytes, as is `missed`.
    pub moved: u64,
    pub missed: u64,

    /// In parts of [`crate::SCALE_ONE`].
    pub scale: u64,

    pub moved_kept: u64,
    pub missed_kept: u64,
    pub hungry_ms: u64,
}

/// `struct fgio_cache_family`: what siblings have in common.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Family {
    pub interval_ms: u64,
    pub withheld: u64,
}
