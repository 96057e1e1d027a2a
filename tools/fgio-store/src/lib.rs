// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recordings: samples on disk.

#![forbid(unsafe_code)]

pub mod error;
pub mod recording;

pub use error::{Error, Result};
