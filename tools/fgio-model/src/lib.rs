// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the fgio tools make of the system: samples of the whole state, what
//! happened between them, what foreground tasks waited for.
//!
//! [`fgio_sys`] reads; here it is put together, compared and sorted. Nothing here
//! knows how it is shown or kept.

#![forbid(unsafe_code)]

pub mod activity;
pub mod blame;
pub mod metric;
pub mod rates;
pub mod sample;
pub mod status;
