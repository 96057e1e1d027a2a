// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A file of lines that are added as things happen, so that a later program knows of them.
//!
//! A line that is cut off, since its writer was killed, is not read. The file is written anew, all
//! or nothing, when most of it says nothing any more.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

/// Superfluous lines that are tolerated before the file is written anew.
pub const SLACK_LINES: usize = 1024;

#[derive(Debug)]
pub struct LineFile {
    path: PathBuf,
    /// `None`: it cannot be written, or was not yet.
    file: Option<File>,
    lines: usize,
}

impl LineFile {
    /// Reads the lines that the last program left, without their ends; none where there is no file.
    /// The file is open once it has been written anew.
    pub fn read(path: PathBuf) -> io::Result<(Self, Vec<String>)> {
        let text = match fs::read_to_string(&path) {
            Err(source) if source.kind() == ErrorKind::NotFound => String::new(),
            text => text?,
        };
        let lines = text
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n'))
            .map(str::to_owned)
            .collect();
        let file = Self {
            path,
            file: None,
            lines: 0,
        };
        Ok((file, lines))
    }

    pub fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Whether it is to be written anew instead of with one more line, where `entries` lines would
    /// say all of it.
    pub fn is_long(&self, entries: usize) -> bool {
        self.lines >= 4 * entries + SLACK_LINES
    }

    /// Has these lines instead of all others. They end in `\n`.
    pub fn replace(&mut self, lines: &[String]) -> io::Result<()> {
        self.file = None;
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        let fresh = self.path.with_extension("new");
        fs::write(&fresh, lines.concat())?;
        fs::rename(&fresh, &self.path)?;
        self.file = Some(OpenOptions::new().append(true).open(&self.path)?);
        self.lines = lines.len();
        Ok(())
    }

    /// Adds a line, which ends in `\n`, to the file if it is open. Closed after an error: what was
    /// written of the line would be the begin of the next one.
    pub fn append(&mut self, line: &str) -> io::Result<()> {
        self.lines += 1;
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let done = file.write_all(line.as_bytes());
        if done.is_err() {
            self.file = None;
        }
        done
    }

    /// Removes the file, if there is one.
    pub fn remove(&mut self) -> io::Result<()> {
        self.file = None;
        match fs::remove_file(&self.path) {
            Err(source) if source.kind() != ErrorKind::NotFound => Err(source),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_added_to_one_that_was_cut_off() {
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let mut lines = LineFile {
            path: PathBuf::from("/dev/full"),
            file: Some(full),
            lines: 0,
        };
        assert!(lines.append("+ 1\n").is_err());
        assert!(!lines.is_open());
    }
}
