// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The system: sysfs, procfs, debugfs, `/dev/fgio`, and the few files that fgio keeps.
//!
//! Everything that reads or changes the system is here, and nothing that judges it.
//! Every function takes a [`Root`], so that a directory that looks like a system can
//! stand in for one.

#![deny(unsafe_code)]

pub mod block;
pub mod cache_limits;
pub mod cache_shares;
pub mod cgroup;
pub mod cgroup_io;
pub mod cgroup_memory;
pub mod class;
pub mod clock;
pub mod control;
pub mod counters;
pub mod drive;
pub mod drop_behind;
pub mod error;
pub mod files;
pub mod inheritance;
pub mod kernel;
pub mod line_file;
pub mod load;
pub mod load_failure;
pub mod module;
pub mod persist;
pub mod priority;
pub mod request;
pub mod root;
pub mod scheduler;
pub mod setting;
pub mod share;
pub mod supported;
#[allow(unsafe_code)]
mod syscall;
pub mod tag;
pub mod task;
pub mod uapi;
pub mod wait;
pub mod watermark_boost;

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;

pub use error::{Error, ErrorKind, Result};
pub use root::Root;

/// Name of the elevator, the module and the debugfs directory.
pub const FGIO: &str = "fgio";

/// Version of the tools, which are released together with the module.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
