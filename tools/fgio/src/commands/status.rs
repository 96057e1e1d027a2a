// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio status`, once or again and again.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use fgio_model::rates::{self, Rates};
use fgio_model::status::{self, Status};
use serde::Serialize;

use crate::Context;
use crate::failure::{self, Failure};
use crate::output::Output;
use crate::render;
use crate::signal::{End, Until};

pub fn once(context: &Context) -> Result<u8, Failure> {
    let status = status::read(&context.root)?;
    context.output.answer(&status, || render::status(&status))?;
    Ok(failure::OK)
}

/// One answer of `--watch`.
#[derive(Serialize)]
struct Sample<'a> {
    #[serde(flatten)]
    status: &'a Status,
    /// Seconds that the rates cover.
    seconds: f64,
    rates: BTreeMap<&'a str, Rates>,
}

pub fn watch(context: &Context, interval: Duration) -> Result<u8, Failure> {
    let end = End::new(Until::AnswersUnread, "run `fgio status` without --watch")?;
    let screen = Screen::open(context.output)?;
    let mut before = status::read(&context.root)?;
    let mut read_at = Instant::now();
    if screen.is_terminal {
        screen.show("measuring ...\n")?;
    }
    while !end.wait(interval)? {
        let now = status::read(&context.root)?;
        let elapsed = read_at.elapsed();
        read_at = Instant::now();
        let sample = Sample {
            rates: rates(&before, &now, elapsed),
            seconds: elapsed.as_secs_f64(),
            status: &now,
        };
        if context.output.is_json() {
            context.output.answer(&sample, String::new)?;
        } else {
            screen.show(&render::watch(&now, &sample.rates, elapsed))?;
        }
        before = now;
    }
    Ok(failure::OK)
}

fn rates<'a>(before: &Status, now: &'a Status, elapsed: Duration) -> BTreeMap<&'a str, Rates> {
    let old = |name: &str| {
        let device = before.devices.iter().find(|device| device.device == name)?;
        device.counters.as_ref()
    };
    now.devices
        .iter()
        .filter_map(|device| {
            let rates = rates::rates(old(&device.device)?, device.counters.as_ref()?, elapsed);
            Some((device.device.as_str(), rates))
        })
        .collect()
}

/// A terminal that is redrawn, and left as it was; or any other standard
/// output, which gets one block after the other.
struct Screen {
    output: Output,
    is_terminal: bool,
}

impl Screen {
    fn open(output: Output) -> Result<Self, Failure> {
        let is_terminal = io::stdout().is_terminal() && !output.is_json();
        if is_terminal {
            // The alternate screen, without a cursor.
            output.print("\x1b[?1049h\x1b[?25l")?;
        }
        Ok(Self {
            output,
            is_terminal,
        })
    }

    fn show(&self, text: &str) -> Result<(), Failure> {
        if !self.is_terminal {
            return self.output.print(&format!("{text}\n"));
        }
        // Serial consoles do not know their size and report none.
        let rows = rustix::termios::tcgetwinsize(io::stdout())
            .ok()
            .map(|size| usize::from(size.ws_row))
            .filter(|&rows| rows > 1)
            .unwrap_or(usize::MAX);
        let lines: Vec<&str> = text.lines().take(rows - 1).collect();
        // Clearing line ends while drawing flickers less than clearing first.
        let drawn = lines.join("\x1b[K\r\n");
        self.output.print(&format!("\x1b[H{drawn}\x1b[K\x1b[J"))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if self.is_terminal {
            // A terminal that has gone needs no restoring.
            let _ = self.output.print("\x1b[?25h\x1b[?1049l");
        }
    }
}
