// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The structs of the header.

/// `struct fgio_cache_group`: a group, its facts, its decisions, and the estimate between. Memory is
/// in pages.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    pub weight: u64,
    pub file: u64,
    pub busy: u64,
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
    pub hungry: u64,

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

/// `struct fgio_cache_memory`: the free memory of the host, and how much to keep. In pages.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    pub free: u64,
    pub high: u64,
    pub file: u64,
    pub freed: u64,
    pub rest_ms: u64,

    pub spare: u64,
    pub pause_ms: u64,

    pub inflow: u64,
    pub was_free: u64,
    pub known: u64,
}
