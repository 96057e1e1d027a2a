// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Segments: the files of a recording, each a sequence of frames.

use std::path::{Path, PathBuf};

use fgio_sys::files;

use crate::Result;
use crate::header::{Header, MARK};

const SUFFIX: &str = ".fgiorec";

pub fn path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:08}{SUFFIX}"))
}

/// The segments of a directory, by number.
pub fn all(directory: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let names = files::names(directory)?;
    let mut segments: Vec<(u64, PathBuf)> = names
        .iter()
        .filter_map(|name| {
            let number = name.strip_suffix(SUFFIX)?.parse().ok()?;
            Some((number, directory.join(name)))
        })
        .collect();
    segments.sort_unstable();
    Ok(segments)
}

/// Bytes of a segment that are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    pub from: usize,
    pub to: usize,
}

/// The frames of a segment, with where they begin, and the holes between them.
pub fn scan(bytes: &[u8]) -> (Vec<(usize, Header)>, Vec<Hole>) {
    let mut frames = Vec::new();
    let mut holes: Vec<Hole> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if let Some(header) = Header::parse(&bytes[at..]) {
            frames.push((at, header));
            at += Header::SIZE + header.payload();
            continue;
        }
        let next = next_mark(bytes, at + 1);
        match holes.last_mut() {
            Some(hole) if hole.to == at => hole.to = next,
            _ => holes.push(Hole { from: at, to: next }),
        }
        at = next;
    }
    (frames, holes)
}

/// Where the next mark is from `from` on, or the end.
fn next_mark(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let found = rest.windows(MARK.len()).position(|window| window == MARK);
    found.map_or(bytes.len(), |place| from + place)
}
