// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recordings: samples on disk, in a directory of segments of which the oldest go.

#![forbid(unsafe_code)]

mod error;
mod header;
mod moment;
mod reader;
mod segment;
#[cfg(test)]
mod tests;
mod writer;

pub use error::{Error, Result};
pub use moment::Moment;
pub use reader::{Damage, Recording};
pub use writer::{Limits, Writer};
