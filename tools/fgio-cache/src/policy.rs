// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The call into core.

use crate::group::{Group, Level, Memory};
use crate::hits::{Family, Hits};

unsafe extern "C" {
    fn fgio_cache_decide(level: *const Level, groups: *mut Group, count: u64);
    fn fgio_cache_count_hits(family: *mut Family, groups: *mut Hits, count: u64);
    fn fgio_cache_keep_free(memory: *mut Memory, level: *mut Level);
}

/// Decides how much memory to keep free. The top level, with its capacity and deficit.
pub fn keep_free(memory: &mut Memory, interval_ms: u64) -> Level {
    let mut level = Level {
        capacity: 0,
        deficit: 0,
        interval_ms,
    };
    // SAFETY: both structs have the layout of the header's, u64 alone; the function keeps no pointer.
    unsafe { fgio_cache_keep_free(memory, &mut level) };
    level
}

/// Divides the page cache among siblings.
pub fn decide(level: &Level, groups: &mut [Group]) {
    // SAFETY: the structs have the layout of the header's, u64 alone; the function keeps to the
    // slice, and keeps no pointer.
    unsafe { fgio_cache_decide(level, groups.as_mut_ptr(), groups.len() as u64) }
}

/// Scales the weights of siblings on drives by what they hit in the page cache.
pub fn count_hits(family: &mut Family, groups: &mut [Hits], interval_ms: u64) {
    family.interval_ms = interval_ms;
    // SAFETY: the structs have the layout of the header's, u64 alone; the function keeps to the
    // slice, and keeps no pointer.
    unsafe { fgio_cache_count_hits(family, groups.as_mut_ptr(), groups.len() as u64) }
}
