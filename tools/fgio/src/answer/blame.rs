// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The answer of `fgio blame`.

use fgio_model::blame::{By, Cause};
use serde::Serialize;

/// When waits ended, in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Period {
    pub first_end_ns: u64,
    pub last_end_ns: u64,
}

/// A summary of waits.
#[derive(Debug, Serialize)]
pub struct Answer {
    pub by: By,
    pub waits: u64,
    pub total_ms: f64,
    /// `None` when there was no wait.
    pub period: Option<Period>,
    /// Waits that were overwritten before they were read.
    pub lost: u64,
    /// Waits shorter than this are not remembered.
    pub threshold_us: Option<u64>,
    /// Whether fgio acts on waits, or only looks on.
    pub boost: Option<bool>,
    /// The causes of most of the waiting time.
    pub causes: Vec<Cause>,
    /// Causes that are left out.
    pub omitted: usize,
    pub notes: Vec<String>,
}
