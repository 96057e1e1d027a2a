// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the fgio tools know of the system.
//!
//! Everything that reads sysfs, procfs, debugfs or talks to `/dev/fgio` lives
//! here; nothing here knows how it is shown. Every function takes a [`Root`],
//! so that a directory that looks like a system can stand in for one.

#![deny(unsafe_code)]

pub mod activity;
pub mod blame;
pub mod block;
pub mod clock;
pub mod control;
pub mod counters;
pub mod doctor;
pub mod drive;
pub mod error;
mod files;
pub mod inheritance;
mod kernel;
pub mod measure;
pub mod module;
pub mod persist;
pub mod priority;
pub mod recording;
pub mod root;
pub mod sample;
pub mod scheduler;
pub mod setting;
pub mod status;
#[allow(unsafe_code)]
mod sys;
pub mod tag;
pub mod task;
pub mod uapi;

#[cfg(test)]
mod fixture;

pub use error::{Error, ErrorKind, Result};
pub use root::Root;

/// Name of the elevator, the module and the debugfs directory.
pub const FGIO: &str = "fgio";

/// Version of the tools, which are released together with the module.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
