// SPDX-License-Identifier: Apache-2.0 OR MIT
//! State of a system with fgio: samples of all of it, activity between them, waits
//! of foreground tasks.
//!
//! [`fgio_sys`] reads; here it is put together, compared and sorted. Nothing here
//! knows how it is shown or kept.

#![forbid(unsafe_code)]

pub mod activity;
pub mod blame;
pub mod metric;
pub mod rates;
pub mod sample;
pub mod share;
pub mod status;
