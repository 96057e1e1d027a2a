// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Showing a source: on a terminal that is left as it was, or as text.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use anstream::ColorChoice;
use fgio_model::activity::Report;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use serde::Serialize;

use super::draw;
use super::source::{Place, Source};
use super::{View, Wish};
use crate::failure::Failure;
use crate::output::Output;
use crate::signal::on_signal;

/// Columns of text that goes to no terminal.
const COLUMNS: u16 = 100;

/// Signals and samples are looked for so often while no key is pressed.
const PATIENCE: Duration = Duration::from_millis(100);

/// Columns and rows of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

/// A report in JSON.
#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    report: Report,
    recording: Option<Place>,
}

/// Shows a source until it is told to end.
pub fn show(output: Output, source: &mut dyn Source) -> Result<(), Failure> {
    let stop = on_signal("run it with --once")?;
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    if output.is_json() || is_dumb || !io::stdout().is_terminal() {
        return print_all(output, source, &stop);
    }
    let choice = anstream::AutoStream::choice(&io::stdout());
    let mut view = View::new(choice != ColorChoice::Never);
    let mut screen = Screen::open()?;
    screen.run(source, &mut view, &stop)
}

/// Shows what a source says once.
pub fn show_once(output: Output, source: &dyn Source, size: Option<Size>) -> Result<(), Failure> {
    let columns = size.map_or_else(|| output.width().unwrap_or(COLUMNS), |size| size.columns);
    let rows = size.map(|size| size.rows);
    print(output, source, columns, rows)
}

fn print(
    output: Output,
    source: &dyn Source,
    columns: u16,
    rows: Option<u16>,
) -> Result<(), Failure> {
    let Some(report) = source.report() else {
        return Ok(());
    };
    let answer = Answer {
        report,
        recording: source.place(),
    };
    output.answer(&answer, || {
        let report = Some(&answer.report);
        draw::text(
            columns,
            rows,
            &source.headline(),
            report,
            &mut View::new(false),
        )
    })
}

/// One block of text, or line of JSON, after the other.
fn print_all(output: Output, source: &mut dyn Source, stop: &Receiver<()>) -> Result<(), Failure> {
    let columns = output.width().unwrap_or(COLUMNS);
    let mut shown = false;
    while let Some(due) = source.due(false) {
        let left = due.saturating_duration_since(Instant::now());
        if stop.recv_timeout(left) != Err(RecvTimeoutError::Timeout) {
            return Ok(());
        }
        source.advance()?;
        // What has no rates yet is not worth a block.
        if source.report().is_some_and(|report| report.seconds > 0.0) {
            if shown && !output.is_json() {
                output.print("\n")?;
            }
            print(output, source, columns, None)?;
            shown = true;
        }
    }
    Ok(())
}

/// The terminal while it shows a view. Left as it was when this goes away; a
/// panic leaves it so, too, before it says what is wrong.
struct Screen {
    terminal: DefaultTerminal,
}

impl Screen {
    fn open() -> Result<Self, Failure> {
        match ratatui::try_init() {
            Ok(terminal) => Ok(Self { terminal }),
            Err(source) => {
                ratatui::restore();
                Err(source.into())
            }
        }
    }

    fn run(
        &mut self,
        source: &mut dyn Source,
        view: &mut View,
        stop: &Receiver<()>,
    ) -> Result<(), Failure> {
        let mut report = source.report();
        let mut is_new = true;
        while stop.try_recv() == Err(TryRecvError::Empty) {
            if is_new {
                self.draw(source, report.as_ref(), view)?;
                is_new = false;
            }
            let due = source.due(view.paused);
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            if event::poll(left.unwrap_or(PATIENCE).min(PATIENCE))? {
                if !take_event(&event::read()?, source, view)? {
                    return Ok(());
                }
                is_new = true;
            }
            if source
                .due(view.paused)
                .is_some_and(|due| due <= Instant::now())
            {
                source.advance()?;
                is_new = true;
            }
            if is_new && !(view.paused && source.goes_on_while_paused()) {
                report = source.report();
            }
        }
        Ok(())
    }

    fn draw(
        &mut self,
        source: &dyn Source,
        report: Option<&Report>,
        view: &mut View,
    ) -> Result<(), Failure> {
        let headline = source.headline();
        self.terminal.draw(|frame| {
            let area = frame.area();
            draw::screen(area, frame.buffer_mut(), &headline, report, view);
        })?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Returns whether to go on.
fn take_event(event: &Event, source: &mut dyn Source, view: &mut View) -> Result<bool, Failure> {
    let Event::Key(key) = event else {
        return Ok(true);
    };
    match view.key(*key) {
        Wish::Nothing => {}
        Wish::Quit => return Ok(false),
        Wish::Seek(seek) => source.seek(seek)?,
        Wish::Speed(factor) => source.accelerate(factor),
    }
    Ok(true)
}
