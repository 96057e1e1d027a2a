// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Text or JSON: answers on standard output, errors and warnings on standard
//! error.

use std::fmt::Display;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::json;

use crate::failure::Failure;

/// How answers are given.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    json: bool,
}

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

impl Output {
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    pub fn is_json(self) -> bool {
        self.json
    }

    /// Prints an answer: `value` as one line of JSON, or `text`.
    pub fn answer<T: Serialize>(
        self,
        value: &T,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if self.json {
            let line = serde_json::to_string(value).map_err(std::io::Error::from)?;
            return self.print(&format!("{line}\n"));
        }
        self.print(&text())
    }

    /// Prints a line of text; nothing when the answer is JSON.
    pub fn line(self, text: impl Display) -> Result<(), Failure> {
        if self.json {
            return Ok(());
        }
        self.print(&format!("{text}\n"))
    }

    /// Columns that text may take; `None` when standard output is no terminal.
    pub fn width(self) -> Option<u16> {
        // The usual size of serial consoles, which do not know theirs.
        const USUAL: u16 = 80;
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        Some(if size.ws_col == 0 { USUAL } else { size.ws_col })
    }

    /// Prints text as it is; colours vanish where they cannot be shown.
    pub fn print(self, text: &str) -> Result<(), Failure> {
        let mut stdout = anstream::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()?;
        Ok(())
    }

    /// Reports a failure.
    pub fn failure(self, failure: &Failure) {
        if failure.silent {
            return;
        }
        if self.json {
            self.complain(&json!({ "error": failure }).to_string());
            return;
        }
        let Failure {
            message, advice, ..
        } = failure;
        self.complain(&format!("fgio: {RED}error:{RED:#} {message}\n  {advice}"));
    }

    /// Reports a problem that does not keep the command from its work.
    pub fn warning(self, message: &str, advice: &str) {
        if self.json {
            let warning = json!({ "warning": { "message": message, "advice": advice } });
            self.complain(&warning.to_string());
            return;
        }
        self.complain(&format!(
            "fgio: {YELLOW}warning:{YELLOW:#} {message}\n  {advice}"
        ));
    }

    /// Reports progress on standard error; nothing when the answer is JSON.
    pub fn progress(self, text: &str) {
        if !self.json {
            self.complain(text);
        }
    }

    fn complain(self, text: &str) {
        // Nothing is left to be done when even this cannot be printed.
        let _ = writeln!(anstream::stderr(), "{text}");
    }
}
