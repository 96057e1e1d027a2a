// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Failures and their exit statuses, which are stable.

use std::io;

use fgio_sys::ErrorKind;
use rustix::fs::FileType;
use serde::Serialize;

pub const OK: u8 = 0;
pub const FAILED: u8 = 1;
pub const USAGE: u8 = 2;
pub const MODULE_UNAVAILABLE: u8 = 3;
pub const PERMISSION_DENIED: u8 = 4;
pub const NOT_FOUND: u8 = 5;
/// `fgio run` itself failed, as with env(1).
pub const RUN_FAILED: u8 = 125;
/// The command of `fgio run` cannot be run, as with env(1).
pub const COMMAND_NOT_RUNNABLE: u8 = 126;
/// The command of `fgio run` does not exist, as with env(1).
pub const COMMAND_NOT_FOUND: u8 = 127;

/// A failure, its remedy, and the exit status.
#[derive(Debug, Serialize)]
pub struct Failure {
    pub kind: &'static str,
    pub message: String,
    pub advice: String,
    #[serde(rename = "exit_status")]
    pub status: u8,
    /// The reader of standard output is gone, so that there is nothing to tell.
    #[serde(skip)]
    pub silent: bool,
}

impl Failure {
    pub fn new(
        kind: &'static str,
        status: u8,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            message: message.into(),
            advice: advice.into(),
            status,
            silent: false,
        }
    }

    /// The failure to write the answer.
    pub fn writing(source: &io::Error) -> Self {
        let silent = is_reader_gone(source);
        let failure = Self::new(
            ErrorKind::OperationFailed.name(),
            if silent { OK } else { FAILED },
            format!("cannot write the answer: {source}"),
            "check where standard output goes, and whether there is room",
        );
        Self { silent, ..failure }
    }
}

/// Whether an answer has no reader any more: the other end of a pipe was closed, or
/// the terminal was hung up. A file that cannot be written is another matter.
fn is_reader_gone(source: &io::Error) -> bool {
    const EIO: i32 = rustix::io::Errno::IO.raw_os_error();
    let is_terminal = || {
        let stat = rustix::fs::fstat(io::stdout());
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice)
    };
    source.kind() == io::ErrorKind::BrokenPipe
        || source.raw_os_error() == Some(EIO) && is_terminal()
}

/// Says a failure of each crate in the same way.
macro_rules! from_errors {
    ($($error:ty),+ $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                let kind = error.kind();
                Self::new(kind.name(), status(kind), error.to_string(), error.advice())
            }
        }
    )+};
}

from_errors!(fgio_sys::Error, fgio_store::Error, fgio_measure::Error);

fn status(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::OperationFailed => FAILED,
        ErrorKind::ModuleUnavailable => MODULE_UNAVAILABLE,
        ErrorKind::PermissionDenied => PERMISSION_DENIED,
        ErrorKind::NotFound => NOT_FOUND,
        ErrorKind::Usage => USAGE,
    }
}

impl From<io::Error> for Failure {
    fn from(source: io::Error) -> Self {
        Self::writing(&source)
    }
}
