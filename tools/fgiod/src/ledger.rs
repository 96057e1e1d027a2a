// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which tags are ours, kept in a file so that the next fgiod knows, too.
//!
//! Lines are added as things happen: `+ TID STARTED CLASS` before a tag is set,
//! `- TID` when it is gone. A line that is cut off, since we were killed, is
//! ignored. The file is written anew when most of it says nothing any more.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

use fgio_sys::Root;
use fgio_sys::class::Class;

pub const PATH: &str = "/run/fgio/fgiod/tags";

/// A tag of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When the thread started: with its id, it is one of a kind.
    pub started: u64,
    pub class: Class,
}

pub struct Ledger {
    entries: HashMap<i32, Entry>,
    path: PathBuf,
    /// `None` when it cannot be written: then tags are ours until we end.
    file: Option<File>,
    lines: usize,
}

impl Ledger {
    /// Superfluous lines that are tolerated before the file is written again.
    const SLACK_LINES: usize = 1024;

    /// Reads the ledger of the last fgiod.
    pub fn open(root: &Root) -> io::Result<Self> {
        let path = root.path(PATH);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(source) if source.kind() == ErrorKind::NotFound => String::new(),
            Err(source) => return Err(source),
        };
        let mut ledger = Self {
            entries: HashMap::new(),
            path,
            file: None,
            lines: 0,
        };
        for line in text
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n'))
        {
            ledger.apply(line);
        }
        ledger.rewrite()?;
        Ok(ledger)
    }

    fn apply(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["+", tid, started, class] => {
                if let (Ok(tid), Ok(started), Some(class)) =
                    (tid.parse(), started.parse(), class_of(class))
                {
                    self.entries.insert(tid, Entry { started, class });
                }
            }
            ["-", tid] => {
                if let Ok(tid) = tid.parse::<i32>() {
                    self.entries.remove(&tid);
                }
            }
            _ => {}
        }
    }

    /// Writes the present entries, all or none of them.
    fn rewrite(&mut self) -> io::Result<()> {
        let text: String = self
            .entries
            .iter()
            .map(|(tid, entry)| line_of(*tid, *entry))
            .collect();
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        let fresh = self.path.with_extension("new");
        fs::write(&fresh, text)?;
        fs::rename(&fresh, &self.path)?;
        self.file = Some(OpenOptions::new().append(true).open(&self.path)?);
        self.lines = self.entries.len();
        Ok(())
    }

    fn append(&mut self, line: &str) {
        self.lines += 1;
        if self.lines > 4 * self.entries.len() + Self::SLACK_LINES {
            // The entries are those of the line.
            self.file = None;
            let _ = self.rewrite();
        } else if let Some(file) = &mut self.file
            && file.write_all(line.as_bytes()).is_err()
        {
            self.file = None;
        }
    }

    pub fn is_written(&self) -> bool {
        self.file.is_some()
    }

    /// Notes a tag that is going to be set.
    pub fn add(&mut self, tid: i32, entry: Entry) {
        if self.entries.insert(tid, entry) != Some(entry) {
            self.append(&line_of(tid, entry));
        }
    }

    /// Notes that a tag is gone, or was changed by another program.
    pub fn remove(&mut self, tid: i32) {
        if self.entries.remove(&tid).is_some() {
            self.append(&format!("- {tid}\n"));
        }
    }

    pub fn get(&self, tid: i32) -> Option<Entry> {
        self.entries.get(&tid).copied()
    }

    pub fn entries(&self) -> Vec<(i32, Entry)> {
        self.entries
            .iter()
            .map(|(tid, entry)| (*tid, *entry))
            .collect()
    }
}

fn line_of(tid: i32, entry: Entry) -> String {
    format!("+ {tid} {} {}\n", entry.started, entry.class.name())
}

fn class_of(name: &str) -> Option<Class> {
    let tagged = [Class::Foreground, Class::Background];
    tagged.into_iter().find(|class| class.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOREGROUND: Entry = Entry {
        started: 5,
        class: Class::Foreground,
    };

    #[test]
    fn the_next_fgiod_knows_the_entries() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path());
        let mut ledger = Ledger::open(&root).unwrap();
        ledger.add(7, FOREGROUND);
        ledger.add(8, FOREGROUND);
        ledger.remove(7);
        ledger.remove(9);
        drop(ledger);
        // Killed in the middle of a line.
        let path = root.path(PATH);
        let text = fs::read_to_string(&path).unwrap() + "+ 10 5 backgr\n+ 11 5 foreground\n- 1";
        fs::write(&path, text + "1").unwrap();
        let ledger = Ledger::open(&root).unwrap();
        let mut entries = ledger.entries();
        entries.sort_by_key(|(tid, _)| *tid);
        assert_eq!(entries, [(8, FOREGROUND), (11, FOREGROUND)]);
    }

    #[test]
    fn the_file_stays_short() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path());
        let mut ledger = Ledger::open(&root).unwrap();
        for tid in 0..10_000 {
            ledger.add(tid, FOREGROUND);
            ledger.remove(tid);
        }
        ledger.add(1, FOREGROUND);
        let lines = fs::read_to_string(root.path(PATH)).unwrap().lines().count();
        assert!(lines <= Ledger::SLACK_LINES + 4, "{lines}");
        assert_eq!(Ledger::open(&root).unwrap().get(1), Some(FOREGROUND));
    }

    #[test]
    fn an_unwritable_ledger_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path());
        fs::write(root.path("/run"), "").unwrap();
        assert!(Ledger::open(&root).is_err());
    }
}
