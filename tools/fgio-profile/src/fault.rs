// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A fault of a file, and its line.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// A place in a file, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    pub file: PathBuf,
    pub line: usize,
    /// In characters.
    pub column: usize,
}

impl Place {
    /// The place of byte `offset` in `text`, the content of `file`.
    pub fn at(file: &Path, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        write!(formatter, "{file}:{}:{}", self.line, self.column)
    }
}

/// A fault of a file, its line, and advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    #[serde(flatten)]
    pub place: Place,
    pub message: String,
    pub advice: String,
}

impl Fault {
    pub fn new(place: Place, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            place,
            message: message.into(),
            advice: advice.into(),
        }
    }

    /// A file or a directory that cannot be read at all.
    pub fn unreadable(path: &Path, source: &std::io::Error) -> Self {
        Self::new(
            Place::at(path, "", 0),
            format!("cannot be read: {source}"),
            "make it a readable file, or remove it",
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_1() {
        let text = "a\nbä = c\n";
        let place = |offset| Place::at(Path::new("/f"), text, offset).to_string();
        assert_eq!(place(0), "/f:1:1");
        assert_eq!(place(2), "/f:2:1");
        assert_eq!(place(text.find('=').unwrap()), "/f:2:4");
        assert_eq!(place(1000), "/f:3:1");
    }
}
