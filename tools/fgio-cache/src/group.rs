// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The structs of the header.

/// `struct fgio_cache_group`: a group, its facts, its decisions, and the estimate between. Memory is
/// in pages.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    pub weight: u64,
    pub file: u64,
    pub other: u64,
    pub refaults: u64,
    pub low: u64,
    pub min: u64,
    pub max: u64,
    pub stalled: u64,

    pub entitled: u64,
    pub granted: u64,
    pub protect: u64,
    pub reclaim: u64,

    pub need: u64,
    pub held: u64,
    pub known: u64,
}

/// `struct fgio_cache_level`: what siblings have in common.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// Pages that they may hold together.
    pub capacity: u64,
    /// Pages that are to be freed for all.
    pub deficit: u64,
    pub interval_ms: u64,
}
