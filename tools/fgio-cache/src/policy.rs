// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The call into core.

use crate::group::{Group, Level};

unsafe extern "C" {
    fn fgio_cache_decide(level: *const Level, groups: *mut Group, count: u64);
}

/// Divides the page cache among siblings.
pub fn decide(level: &Level, groups: &mut [Group]) {
    // SAFETY: the structs have the layout of the header's, u64 alone; the function keeps to the
    // slice, and keeps no pointer.
    unsafe { fgio_cache_decide(level, groups.as_mut_ptr(), groups.len() as u64) }
}
