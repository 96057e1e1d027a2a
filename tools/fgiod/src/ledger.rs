// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which tags are ours, kept in a file so that the next fgiod knows, too.
//!
//! Lines are added as things happen: `+ TID STARTED CLASS` before a tag is set,
//! `- TID` when it is gone.

use std::collections::HashMap;
use std::io;

use fgio_sys::Root;
use fgio_sys::class::Class;
use fgio_sys::line_file::LineFile;

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
    /// Closed when it cannot be written: then tags are ours until we end.
    file: LineFile,
}

impl Ledger {
    /// Reads the ledger of the last fgiod.
    pub fn open(root: &Root) -> io::Result<Self> {
        let (file, lines) = LineFile::read(root.path(PATH))?;
        let mut ledger = Self {
            entries: HashMap::new(),
            file,
        };
        for line in &lines {
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

    fn rewrite(&mut self) -> io::Result<()> {
        let lines: Vec<String> = self
            .entries
            .iter()
            .map(|(tid, entry)| line_of(*tid, *entry))
            .collect();
        self.file.replace(&lines)
    }

    /// The entries are those of the line.
    fn append(&mut self, line: &str) {
        let _ = match self.file.is_long(self.entries.len()) {
            true => self.rewrite(),
            false => self.file.append(line),
        };
    }

    pub fn is_written(&self) -> bool {
        self.file.is_open()
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
    use std::fs;

    use fgio_sys::line_file::SLACK_LINES;

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
        assert!(lines <= SLACK_LINES + 4, "{lines}");
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
