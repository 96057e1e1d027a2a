// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A closed load: a thread for each I/O that is under way at once.
//!
//! Threads with pread(2), not io_uring: it may be switched off where databases run
//! (`kernel.io_uring_disabled`), and a thread sees the time that its caller would see.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::samples::Samples;

/// Alignment of direct I/O in bytes, enough for every disk and file system.
pub const BLOCK: usize = 4096;

/// The share of a load's time that fills queues, caches and buckets, and does not count.
const WARM_UP: f64 = 0.2;

/// How soon a load ends after an I/O has failed.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Read,
    Write,
    /// Reads and writes by chance, half of each.
    Mixed,
    /// A write, and a flush that is timed.
    Flush,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    pub operation: Operation,
    /// Size of an I/O; a multiple of [`BLOCK`].
    pub bytes: usize,
    /// I/Os under way at once.
    pub depth: usize,
    /// One stream from the middle on, where a hard disk is neither fast nor slow.
    pub is_sequential: bool,
}

/// The outcome of a load.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub samples: Samples,
    pub per_second: f64,
    /// Of all I/Os, those that did not count included.
    pub bytes_moved: u64,
}

/// Memory that direct I/O takes.
pub struct Buffer {
    memory: Vec<u8>,
    begin: usize,
    bytes: usize,
}

impl Buffer {
    /// Filled by chance: a drive may compress its data.
    pub fn new(bytes: usize) -> Self {
        let mut memory = vec![0; bytes + BLOCK];
        fastrand::fill(&mut memory);
        let begin = memory.as_ptr().align_offset(BLOCK).min(BLOCK);
        Self {
            memory,
            begin,
            bytes,
        }
    }

    pub fn slice(&mut self) -> &mut [u8] {
        &mut self.memory[self.begin..self.begin + self.bytes]
    }
}

/// Waits for a time; returns whether to end before it is over.
pub type Wait<'a> = &'a mut dyn FnMut(Duration) -> io::Result<bool>;

/// Puts a load on the first `size` bytes of a file for `time`. `None` when `wait` ended it.
pub fn run(
    file: &File,
    size: u64,
    load: &Load,
    time: Duration,
    wait: Wait,
) -> io::Result<Option<Outcome>> {
    let blocks = size / load.bytes as u64;
    if blocks == 0 {
        return Err(io::Error::other("too small for an I/O of that size"));
    }
    // Before the time begins: buckets that are full after a pause are to be empty after the warm-up.
    let mut buffers: Vec<Buffer> = Vec::new();
    buffers.resize_with(load.depth, || Buffer::new(load.bytes));
    let begin = Instant::now();
    let shared = Shared {
        file,
        load,
        blocks,
        warm: begin + time.mul_f64(WARM_UP),
        end: begin + time,
        next: AtomicU64::new(blocks / 2),
        is_over: AtomicBool::new(false),
        failure: Mutex::new(None),
    };
    let (tallies, is_ended) = thread::scope(|scope| {
        let shared = &shared;
        let workers: io::Result<Vec<_>> = buffers
            .into_iter()
            .map(|buffer| thread::Builder::new().spawn_scoped(scope, move || shared.work(buffer)))
            .collect();
        // Without all threads there is no such load: those there are end at once.
        let waited = match &workers {
            Ok(_) => shared.wait(wait),
            Err(_) => Ok(true),
        };
        if !matches!(waited, Ok(false)) {
            shared.is_over.store(true, Ordering::Relaxed);
        }
        let tallies: Vec<Tally> = workers?
            .into_iter()
            .map(|worker| worker.join().unwrap_or_default())
            .collect();
        Ok::<_, io::Error>((tallies, waited?))
    })?;
    let outcome = summarize(&tallies, &shared);
    match shared.failure.into_inner() {
        Ok(None) if is_ended => Ok(None),
        Ok(None) => Ok(outcome),
        Ok(Some(failure)) => Err(failure),
        Err(_) => Err(io::Error::other("a thread of the load failed")),
    }
}

fn summarize(tallies: &[Tally], shared: &Shared) -> Option<Outcome> {
    let ios = || tallies.iter().flatten();
    let counts = |moment: Instant| (shared.warm..=shared.end).contains(&moment);
    // By when they began: by their end, the longest would be missing.
    let begun = ios().filter(|io| counts(io.begin)).map(Io::ns).collect();
    let samples = Samples::new(begun).or_else(|| Samples::new(ios().map(Io::ns).collect()))?;
    let ended = ios().filter(|io| counts(io.end)).count();
    let counted = shared.end.duration_since(shared.warm).as_secs_f64();
    // Where hardly an I/O ended in time, each took about as long as another (Little's law).
    let per_second = match ended {
        0..10 => shared.load.depth as f64 * 1e9 / samples.mean().max(1.0),
        _ => ended as f64 / counted,
    };
    Some(Outcome {
        samples,
        per_second,
        bytes_moved: ios().count() as u64 * shared.load.bytes as u64,
    })
}

struct Io {
    begin: Instant,
    end: Instant,
}

impl Io {
    fn ns(&self) -> u64 {
        self.end.duration_since(self.begin).as_nanos() as u64
    }
}

/// The outcome of one thread.
type Tally = Vec<Io>;

/// State that the threads of a load share.
struct Shared<'a> {
    file: &'a File,
    load: &'a Load,
    blocks: u64,
    warm: Instant,
    end: Instant,
    /// The block where the stream goes on.
    next: AtomicU64,
    is_over: AtomicBool,
    failure: Mutex<Option<io::Error>>,
}

impl Shared<'_> {
    /// Waits until the time is over; returns whether to end before.
    fn wait(&self, wait: Wait) -> io::Result<bool> {
        loop {
            let left = self.end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_over.load(Ordering::Relaxed) {
                return Ok(false);
            }
            if wait(left.min(LOOK))? {
                return Ok(true);
            }
        }
    }

    fn work(&self, buffer: Buffer) -> Tally {
        let mut tally = Tally::default();
        if let Err(failure) = self.submit_all(buffer, &mut tally) {
            self.is_over.store(true, Ordering::Relaxed);
            if let Ok(mut first) = self.failure.lock() {
                first.get_or_insert(failure);
            }
        }
        tally
    }

    fn submit_all(&self, mut buffer: Buffer, tally: &mut Tally) -> io::Result<()> {
        let mut random = fastrand::Rng::new();
        loop {
            let begin = self.submit(buffer.slice(), &mut random)?;
            let end = Instant::now();
            tally.push(Io { begin, end });
            if end >= self.end || self.is_over.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }

    /// Does one I/O; returns the begin of the timed part.
    fn submit(&self, buffer: &mut [u8], random: &mut fastrand::Rng) -> io::Result<Instant> {
        let block = if self.load.is_sequential {
            self.next.fetch_add(1, Ordering::Relaxed) % self.blocks
        } else {
            random.u64(..self.blocks)
        };
        let place = block * self.load.bytes as u64;
        let is_read = match self.load.operation {
            Operation::Read => true,
            Operation::Mixed => random.bool(),
            Operation::Write | Operation::Flush => false,
        };
        if !is_read {
            // No two blocks alike: a drive may keep one for both.
            for block in buffer.chunks_exact_mut(BLOCK) {
                random.fill(&mut block[..16]);
            }
        }
        let begin = Instant::now();
        if is_read {
            self.file.read_exact_at(buffer, place)?;
        } else {
            self.file.write_all_at(buffer, place)?;
        }
        if self.load.operation != Operation::Flush {
            return Ok(begin);
        }
        let begin = Instant::now();
        self.file.sync_data()?;
        Ok(begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Load = Load {
        operation: Operation::Read,
        bytes: BLOCK,
        depth: 1,
        is_sequential: false,
    };
    const TIME: Duration = Duration::from_millis(50);
    const SIZE: u64 = 1 << 20;

    fn file() -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(SIZE).unwrap();
        file
    }

    fn sleep(time: Duration) -> io::Result<bool> {
        thread::sleep(time);
        Ok(false)
    }

    #[test]
    fn every_load_yields_samples_and_a_rate() {
        let file = file();
        for operation in [
            Operation::Read,
            Operation::Write,
            Operation::Mixed,
            Operation::Flush,
        ] {
            for (depth, is_sequential) in [(1, false), (4, true)] {
                let load = Load {
                    operation,
                    depth,
                    is_sequential,
                    bytes: 2 * BLOCK,
                };
                let outcome = run(&file, SIZE, &load, TIME, &mut sleep).unwrap().unwrap();
                assert!(outcome.samples.count() >= 1, "{load:?}");
                assert!(outcome.per_second > 0.0, "{load:?}");
                assert!(outcome.bytes_moved >= outcome.samples.count() as u64 * 2 * BLOCK as u64);
            }
        }
        assert_eq!(file.metadata().unwrap().len(), SIZE);
    }

    #[test]
    fn a_load_ends_when_it_is_told_to() {
        let hour = Duration::from_secs(3600);
        let outcome = run(&file(), SIZE, &READ, hour, &mut |_| Ok(true)).unwrap();
        assert!(outcome.is_none());
        let failure = run(&file(), SIZE, &READ, hour, &mut |_| {
            Err(io::Error::other("no"))
        });
        assert_eq!(failure.unwrap_err().to_string(), "no");
    }

    #[test]
    fn an_io_that_fails_ends_the_load() {
        let hour = Duration::from_secs(3600);
        let short = tempfile::tempfile().unwrap();
        let failure = run(&short, SIZE, &READ, hour, &mut sleep).unwrap_err();
        assert_eq!(failure.kind(), io::ErrorKind::UnexpectedEof);
        let failure = run(&file(), 100, &READ, TIME, &mut sleep).unwrap_err();
        assert!(failure.to_string().contains("too small"));
        let path = tempfile::NamedTempFile::new().unwrap();
        path.as_file().set_len(SIZE).unwrap();
        let load = Load {
            operation: Operation::Write,
            ..READ
        };
        let readonly = File::open(path.path()).unwrap();
        assert!(run(&readonly, SIZE, &load, hour, &mut sleep).is_err());
    }

    #[test]
    fn buffers_are_aligned() {
        for bytes in [BLOCK, 64 * BLOCK] {
            let mut buffer = Buffer::new(bytes);
            assert_eq!(buffer.slice().len(), bytes);
            assert_eq!(buffer.slice().as_ptr().align_offset(BLOCK), 0);
        }
    }
}
