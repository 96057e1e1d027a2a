// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes samples to a directory of segments, and removes the oldest.

use std::collections::VecDeque;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fgio_model::sample::Sample;
use fgio_sys::clock;
use rustix::fs::FlockOperation;

use crate::header::{Header, PAYLOAD_MAX};
use crate::moment::nanoseconds;
use crate::{Error, Result, segment};

const COMPRESSION: i32 = 3;

/// Segments that a recording is divided into: it can exceed the time to be kept by one
/// of them.
const SEGMENTS: u32 = 12;

/// Limits of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub keep: Duration,
    /// Bytes on disk, at most.
    pub size_max: u64,
}

/// A segment that is not written to any more.
struct Finished {
    path: PathBuf,
    size: u64,
    last_ns: i64,
}

/// The segment that is written to.
struct Current {
    file: File,
    path: PathBuf,
    size: u64,
    first_ns: i64,
    last_ns: i64,
}

/// Writes samples, and removes the oldest.
pub struct Writer {
    directory: PathBuf,
    /// Holds the lock that keeps others from writing here.
    _lock: File,
    limits: Limits,
    session: u64,
    number: u64,
    next_segment: u64,
    finished: VecDeque<Finished>,
    current: Option<Current>,
}

impl Writer {
    /// Makes the directory if need be; goes on where a former recording ended.
    pub fn open(directory: &Path, limits: Limits) -> Result<Self> {
        create_directory(directory)?;
        let lock = lock(directory)?;
        let mut finished = VecDeque::new();
        let mut next_segment = 1;
        for (number, path) in segment::all(directory)? {
            next_segment = number + 1;
            finished.push_back(former(path)?);
        }
        Ok(Self {
            directory: directory.to_owned(),
            _lock: lock,
            limits,
            session: (clock::monotonic_ns().cast_signed() + clock::wall_offset_ns())
                .cast_unsigned(),
            number: 0,
            next_segment,
            finished,
            current: None,
        })
    }

    /// Bytes on disk.
    pub fn size(&self) -> u64 {
        let finished: u64 = self.finished.iter().map(|segment| segment.size).sum();
        finished + self.current.as_ref().map_or(0, |current| current.size)
    }

    /// Writes a sample, and removes segments beyond the limits.
    pub fn append(&mut self, sample: &Sample) -> Result<()> {
        let frame = self.encode(sample)?;
        let length = frame.len() as u64;
        if self.is_full(sample.at_ns, length) {
            self.finish()?;
        }
        self.remove_old(sample.at_ns, length)?;
        let current = match &mut self.current {
            Some(current) => current,
            None => {
                let number = self.next_segment;
                self.next_segment += 1;
                let begun = begin(&self.directory, number, sample.at_ns)?;
                self.current.insert(begun)
            }
        };
        if let Err(source) = current.file.write_all(&frame) {
            // The written part of the frame would only be in the way.
            let _ = current.file.set_len(current.size);
            return Err(Error::writing(&current.path, source));
        }
        current.size += length;
        current.last_ns = sample.at_ns;
        self.number += 1;
        Ok(())
    }

    fn encode(&self, sample: &Sample) -> Result<Vec<u8>> {
        let failed = |source| Error::writing(&self.directory, source);
        let json = serde_json::to_vec(sample).map_err(|error| failed(error.into()))?;
        let payload = zstd::bulk::compress(&json, COMPRESSION).map_err(failed)?;
        if payload.len() > PAYLOAD_MAX {
            return Err(failed(io::ErrorKind::FileTooLarge.into()));
        }
        let header = Header {
            length: payload.len() as u32,
            session: self.session,
            number: self.number,
            at_ns: sample.at_ns,
        };
        Ok(header.frame(&payload))
    }

    fn is_full(&self, at_ns: i64, more: u64) -> bool {
        let Some(current) = &self.current else {
            return false;
        };
        let age = u128::from(at_ns.saturating_sub(current.first_ns).unsigned_abs());
        age >= (self.limits.keep / SEGMENTS).as_nanos()
            || current.size + more > self.limits.size_max / u64::from(SEGMENTS)
    }

    /// Ends the current segment; the next sample begins another.
    pub fn finish(&mut self) -> Result<()> {
        let Some(current) = self.current.take() else {
            return Ok(());
        };
        let synced = current.file.sync_data();
        self.finished.push_back(Finished {
            path: current.path.clone(),
            size: current.size,
            last_ns: current.last_ns,
        });
        synced.map_err(|source| Error::writing(&current.path, source))
    }

    fn remove_old(&mut self, at_ns: i64, more: u64) -> Result<()> {
        let oldest_ns = at_ns.saturating_sub(nanoseconds(self.limits.keep));
        while let Some(oldest) = self.finished.front() {
            if oldest.last_ns >= oldest_ns && self.size() + more <= self.limits.size_max {
                break;
            }
            match std::fs::remove_file(&oldest.path) {
                // Another process removed it.
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::writing(&oldest.path, source));
                }
                _ => {}
            }
            self.finished.pop_front();
        }
        Ok(())
    }
}

fn create_directory(directory: &Path) -> Result<()> {
    // It names the tasks of all users: for its owner alone.
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(source) if source.kind() == io::ErrorKind::AlreadyExists => {
            if directory.is_dir() {
                return Ok(());
            }
            Err(Error::NotRecording {
                path: directory.to_owned(),
            })
        }
        outcome => outcome.map_err(|source| Error::writing(directory, source)),
    }
}

fn lock(directory: &Path) -> Result<File> {
    let file = File::open(directory).map_err(|source| Error::reading(directory, source))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::RecordingBusy {
            path: directory.to_owned(),
        }),
        Err(errno) => Err(Error::writing(directory, errno.into())),
    }
}

/// A segment of a former recording; one that has no whole frame is as old as
/// can be.
fn former(path: PathBuf) -> Result<Finished> {
    let bytes = std::fs::read(&path).map_err(|source| Error::reading(&path, source))?;
    let (frames, _) = segment::scan(&bytes);
    Ok(Finished {
        path,
        size: bytes.len() as u64,
        last_ns: frames.last().map_or(i64::MIN, |frame| frame.1.at_ns),
    })
}

fn begin(directory: &Path, number: u64, at_ns: i64) -> Result<Current> {
    let path = segment::path(directory, number);
    let file = OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .map_err(|source| Error::writing(&path, source))?;
    Ok(Current {
        file,
        path,
        size: 0,
        first_ns: at_ns,
        last_ns: at_ns,
    })
}
