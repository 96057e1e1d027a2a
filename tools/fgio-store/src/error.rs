// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a recording cannot be written or read, with advice.

use std::io;
use std::path::{Path, PathBuf};

use fgio_sys::ErrorKind;

pub type Result<T> = std::result::Result<T, Error>;

/// A failure. `Display` names it; [`Error::advice`] has the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    System(#[from] fgio_sys::Error),

    #[error("{}: no such recording", path.display())]
    NoSuchRecording { path: PathBuf },

    #[error("{} is no recording of fgio", path.display())]
    NotRecording { path: PathBuf },

    #[error("{} is being recorded to already", path.display())]
    RecordingBusy { path: PathBuf },

    #[error("{} has no sample that can be read{}", path.display(), because(.damage))]
    RecordingEmpty { path: PathBuf, damage: String },

    #[error("the sample of {at} in {} cannot be understood: {source}", path.display())]
    RecordedSample {
        path: PathBuf,
        at: String,
        source: io::Error,
    },

    #[error("{time:?} is not within the recording, which is from {first} to {last}")]
    NotRecorded {
        time: String,
        first: String,
        last: String,
    },
}

fn because(reason: &str) -> String {
    match reason {
        "" => String::new(),
        reason => format!(": {reason}"),
    }
}

impl Error {
    /// The error for a file that could not be read.
    pub(crate) fn reading(path: &Path, source: io::Error) -> Self {
        Self::System(fgio_sys::Error::reading(path, source))
    }

    /// The error for a file that could not be written.
    pub(crate) fn writing(path: &Path, source: io::Error) -> Self {
        Self::System(fgio_sys::Error::writing(path, source))
    }

    /// The sort of failure.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::System(error) => error.kind(),
            Self::NoSuchRecording { .. } | Self::NotRecorded { .. } => ErrorKind::NotFound,
            _ => ErrorKind::OperationFailed,
        }
    }

    /// The remedy for the user, in one line.
    pub fn advice(&self) -> String {
        match self {
            Self::System(error) => error.advice(),
            Self::NoSuchRecording { .. } => {
                "run `fgio record` first, or name the directory that it recorded to".into()
            }
            Self::NotRecording { .. } => {
                "name a directory that `fgio record` wrote, or a file of it; to record, one that does not exist yet".into()
            }
            Self::RecordingBusy { .. } => {
                "end the other `fgio record`, or name another directory".into()
            }
            Self::RecordingEmpty { .. } => "record again: nothing of this recording can be read".into(),
            Self::RecordedSample { .. } => {
                "replay it with the release of fgio that recorded it, or a later one".into()
            }
            Self::NotRecorded { .. } => {
                "give a time of the recording, such as 12:34:56, +10m after its begin or -5m before its end".into()
            }
        }
    }
}
