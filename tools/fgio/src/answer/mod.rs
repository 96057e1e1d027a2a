// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Answers that are both put together and drawn in several steps.

pub mod blame;
pub mod profile;
pub mod share;
