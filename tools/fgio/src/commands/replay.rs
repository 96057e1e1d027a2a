// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio replay`: shows a recording of `fgio record`.

use fgio_store::Recording;

use crate::Context;
use crate::cli::ReplayArguments;
use crate::failure::{self, Failure};
use crate::view::source::Replay;
use crate::view::terminal;

pub fn replay(context: &Context, arguments: &ReplayArguments) -> Result<u8, Failure> {
    let recording = Recording::open(&arguments.recording)?;
    for damage in recording.damage() {
        context
            .output
            .warning(&damage.message, "the rest of the recording is shown");
    }
    let shown = &arguments.shown;
    let at = match &arguments.at {
        Some(moment) => recording.find_moment(moment)?,
        // The end of the recording is shown once.
        None if shown.once => recording.count() - 1,
        None => 0,
    };
    let mut replay = Replay::new(recording, shown.window, at, arguments.speed)?;
    if shown.once {
        terminal::show_once(context.output, &replay, shown.size)?;
    } else {
        terminal::show(context.output, &mut replay)?;
    }
    Ok(failure::OK)
}
