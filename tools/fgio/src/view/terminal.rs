// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Showing a source: on a terminal that is left as it was, or as text.

use std::io::{self, IsTerminal};
use std::mem::ManuallyDrop;
use std::time::{Duration, Instant};

use anstream::ColorChoice;
use fgio_model::activity::Report;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::KeyEvent;
use rustix::termios::{Winsize, tcgetwinsize};
use serde::Serialize;

use super::draw;
use super::keys::Keyboard;
use super::source::{Place, Source};
use super::{View, Wish};
use crate::failure::Failure;
use crate::output::Output;
use crate::signal::{End, Until, Woken};

/// Columns of text that goes to no terminal.
const COLUMNS: u16 = 100;

/// The size of the terminal is looked at this often. An escape that nothing has
/// followed for as long is the key Esc.
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
    let end = End::new(Until::AnswersUnread, "run it with --once")?;
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    if output.is_json() || is_dumb || !io::stdout().is_terminal() {
        return print_all(output, source, &end);
    }
    let choice = anstream::AutoStream::choice(&io::stdout());
    let mut view = View::new(choice != ColorChoice::Never);
    let mut screen = Screen::open()?;
    screen.run(source, &mut view, &end)
}

/// Shows the report of a source once.
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
fn print_all(output: Output, source: &mut dyn Source, end: &End) -> Result<(), Failure> {
    let columns = output.width().unwrap_or(COLUMNS);
    let mut shown = false;
    while let Some(due) = source.due(false) {
        let left = due.saturating_duration_since(Instant::now());
        if end.wait(left)? {
            return Ok(());
        }
        source.advance()?;
        // A report without rates yet is not worth a block.
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
/// panic leaves it so, too, before its message.
struct Screen {
    /// Not dropped: it would complain of a terminal that is gone, and panic where
    /// standard error is gone with it.
    terminal: ManuallyDrop<DefaultTerminal>,
    keyboard: Option<Keyboard>,
}

impl Screen {
    fn open() -> Result<Self, Failure> {
        match ratatui::try_init() {
            Ok(terminal) => Ok(Self {
                terminal: ManuallyDrop::new(terminal),
                keyboard: Keyboard::open(),
            }),
            Err(source) => {
                let _ = ratatui::try_restore();
                Err(source.into())
            }
        }
    }

    fn run(&mut self, source: &mut dyn Source, view: &mut View, end: &End) -> Result<(), Failure> {
        let mut report = source.report();
        let mut drawn = None;
        loop {
            let size = size();
            if drawn != Some(size) {
                self.draw(source, report.as_ref(), view)?;
                drawn = Some(size);
            }
            let Some(keys) = self.keys(source.due(view.paused), end)? else {
                return Ok(());
            };
            let mut is_new = !keys.is_empty();
            for key in keys {
                if !take_key(key, source, view)? {
                    return Ok(());
                }
            }
            if source
                .due(view.paused)
                .is_some_and(|due| due <= Instant::now())
            {
                source.advance()?;
                is_new = true;
            }
            if is_new {
                drawn = None;
                if !(view.paused && source.goes_on_while_paused()) {
                    report = source.report();
                }
            }
        }
    }

    /// Waits for keys until another sample is due, or for a while. `None`: it is
    /// time to end, or the terminal is gone.
    fn keys(&mut self, due: Option<Instant>, end: &End) -> Result<Option<Vec<KeyEvent>>, Failure> {
        let left = due.map(|due| due.saturating_duration_since(Instant::now()));
        let left = left.unwrap_or(PATIENCE).min(PATIENCE);
        let input = self.keyboard.as_ref().map(Keyboard::as_fd);
        let woken = end.wait_or_input(left, input)?;
        Ok(match (woken, &mut self.keyboard) {
            (Woken::End, _) => None,
            (Woken::Input, Some(keyboard)) => keyboard.read(),
            (Woken::Time, Some(keyboard)) => Some(keyboard.settle().into_iter().collect()),
            (_, None) => Some(Vec::new()),
        })
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
        // A terminal that is gone needs no restoring.
        let _ = ratatui::try_restore();
        let _ = self.terminal.show_cursor();
    }
}

/// The size of the terminal, where it says one.
fn size() -> Option<(u16, u16)> {
    let Winsize { ws_row, ws_col, .. } = tcgetwinsize(io::stdout()).ok()?;
    Some((ws_col, ws_row))
}

/// Returns whether to go on.
fn take_key(key: KeyEvent, source: &mut dyn Source, view: &mut View) -> Result<bool, Failure> {
    match view.key(key) {
        Wish::Nothing => {}
        Wish::Quit => return Ok(false),
        Wish::Seek(seek) => source.seek(seek)?,
        Wish::Speed(factor) => source.accelerate(factor),
    }
    Ok(true)
}
