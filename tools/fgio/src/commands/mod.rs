// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One file per command.

pub mod blame;
pub mod doctor;
pub mod export;
pub mod generate;
pub mod measure;
pub mod profile;
pub mod rearm;
pub mod record;
pub mod replay;
pub mod run;
pub mod set;
pub mod share;
pub mod status;
pub mod switch;
pub mod tag;
pub mod top;

use crate::Context;

/// Warns when classes make no difference, since fgio schedules no disk.
fn warn_unless_effective(context: &Context, what: &str) {
    let disks = fgio_sys::block::disks(&context.root).unwrap_or_default();
    if disks.iter().any(|disk| disk.is_under_fgio()) {
        return;
    }
    let reason = if fgio_sys::module::is_loaded(&context.root) {
        "no disk is under fgio"
    } else {
        "the module fgio is not loaded"
    };
    context.output.warning(
        &format!("{what} has no effect in fgio yet: {reason}"),
        "run `fgio enable DEV` as root",
    );
}
