// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When a command that goes on by itself is to end: at a signal, or once nothing
//! reads its answers any more.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::failure::{self, Failure};

/// The reason why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The command is to end.
    End,
    /// The input can be read, or has been closed.
    Input,
    /// The time is over.
    Time,
}

/// Whether standard output decides, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    Signal,
    /// Also when the reader of standard output, a pipe or a terminal, is gone.
    AnswersUnread,
}

/// Tells when to end.
#[derive(Debug)]
pub struct End {
    signals: UnixStream,
    until: Until,
}

impl End {
    /// Waits for Ctrl-C, SIGTERM and hang-up from now on; those that are ignored
    /// stay ignored, as `nohup` wants it. `advice` is for when that cannot be done.
    pub fn new(until: Until, advice: &str) -> Result<Self, Failure> {
        let signals = register().map_err(|error| {
            Failure::new(
                fgio_sys::ErrorKind::OperationFailed.name(),
                failure::FAILED,
                format!("cannot wait for signals: {error}"),
                advice,
            )
        })?;
        Ok(Self { signals, until })
    }

    /// One that ends once the other side of `signals` has written or gone.
    #[cfg(test)]
    pub fn at(signals: UnixStream) -> Self {
        let until = Until::Signal;
        Self { signals, until }
    }

    /// Waits for `time`. Returns whether to end before it is over.
    pub fn wait(&self, time: Duration) -> Result<bool, Failure> {
        Ok(self.wait_or_input(time, None)? == Woken::End)
    }

    /// Waits for `time`, or until `input` can be read.
    pub fn wait_or_input(
        &self,
        time: Duration,
        input: Option<BorrowedFd<'_>>,
    ) -> Result<Woken, Failure> {
        let due = Instant::now().checked_add(time);
        loop {
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            match self.poll(left, input) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
                Ok(woken) => return Ok(woken),
            }
        }
    }

    fn poll(
        &self,
        left: Option<Duration>,
        input: Option<BorrowedFd<'_>>,
    ) -> rustix::io::Result<Woken> {
        let stdout = io::stdout();
        // No events are requested of standard output: poll then reports errors and
        // hang-up alone.
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if self.until == Until::AnswersUnread {
            fds.push(PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::empty()));
        }
        let ends = fds.len();
        fds.extend(input.map(|input| PollFd::from_borrowed_fd(input, PollFlags::IN)));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        poll(&mut fds, left.as_ref())?;
        let happened = |fds: &[PollFd<'_>]| fds.iter().any(|fd| !fd.revents().is_empty());
        Ok(if happened(&fds[..ends]) {
            Woken::End
        } else if happened(&fds[ends..]) {
            Woken::Input
        } else {
            Woken::Time
        })
    }
}

fn register() -> io::Result<UnixStream> {
    let (receiver, sender) = UnixStream::pair()?;
    receiver.set_nonblocking(true)?;
    let ignored = ignored_signals();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if ignored & (1 << (signal - 1)) == 0 {
            pipe::register(signal, sender.try_clone()?)?;
        }
    }
    Ok(receiver)
}

/// The signals that this process was started to ignore, as a mask.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn signals_count_for_more_than_input_and_last() {
        let (signals, mut signal) = UnixStream::pair().unwrap();
        let (input, mut keyboard) = UnixStream::pair().unwrap();
        let end = End::at(signals);
        let long = Duration::from_secs(3600);
        assert!(!end.wait(Duration::ZERO).unwrap());
        keyboard.write_all(b"x").unwrap();
        let woken = end.wait_or_input(long, Some(input.as_fd())).unwrap();
        assert_eq!(woken, Woken::Input);
        signal.write_all(b"x").unwrap();
        let woken = end.wait_or_input(long, Some(input.as_fd())).unwrap();
        assert_eq!(woken, Woken::End);
        assert!(end.wait(long).unwrap() && end.wait(long).unwrap());
    }

    #[test]
    fn input_that_is_closed_wakes() {
        let (signals, _signal) = UnixStream::pair().unwrap();
        let (input, keyboard) = UnixStream::pair().unwrap();
        drop(keyboard);
        let woken = End::at(signals).wait_or_input(Duration::from_secs(3600), Some(input.as_fd()));
        assert_eq!(woken.unwrap(), Woken::Input);
    }
}
