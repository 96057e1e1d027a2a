// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio top`: a live view of fgio at work.

use fgio_model::sample::Sampler;

use crate::Context;
use crate::cli::TopArguments;
use crate::failure::{self, Failure};
use crate::signal::{End, Until};
use crate::view::source::{Live, Source};
use crate::view::terminal;

pub fn top(context: &Context, arguments: &TopArguments) -> Result<u8, Failure> {
    let sampler = Sampler::new(context.root.clone());
    let shown = &arguments.shown;
    let mut live = Live::new(sampler, shown.window, arguments.interval);
    live.advance()?;
    if !shown.once {
        terminal::show(context.output, &mut live)?;
        return Ok(failure::OK);
    }
    let end = End::new(Until::AnswersUnread, "try again")?;
    // Rates take two samples.
    if !end.wait(arguments.interval)? {
        live.advance()?;
        terminal::show_once(context.output, &live, shown.size)?;
    }
    Ok(failure::OK)
}
