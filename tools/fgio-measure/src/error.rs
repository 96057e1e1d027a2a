// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a drive is not measured, with advice.

use std::io;
use std::path::{Path, PathBuf};

use fgio_sys::ErrorKind;

use crate::size::{SIZE_MIN, size};

pub type Result<T> = std::result::Result<T, Error>;

/// A failure. `Display` names it; [`Error::advice`] has the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    System(#[from] fgio_sys::Error),

    #[error("{name} has {}, too little to measure", size(*bytes))]
    TooSmallToMeasure { name: String, bytes: u64 },

    #[error("{name} is a directory, which is measured by writing to it")]
    DirectoryNeedsWrite { name: String },

    #[error("writes to {name} destroy its data")]
    WriteNeedsConsent { name: String },

    #[error("{name} is not a disk: writes are not measured on it as it is")]
    WriteToFile { name: String },

    #[error("{name} has {} free, too little for a file of {}", size(*free), size(*bytes))]
    NoRoomToMeasure { name: String, bytes: u64, free: u64 },

    #[error("{name} is in use: a file system, a volume or swap is on it")]
    DeviceInUse { name: String },

    #[error("{name} holds data ({found})")]
    HoldsData { name: String, found: String },

    #[error("cannot find out whether {name} holds data: wipefs: {source}")]
    SignaturesUnknown { name: String, source: io::Error },

    #[error("{name} does no direct I/O, so memory would be measured")]
    NoDirectIo { name: String },

    #[error("cannot {action} {name}: permission denied")]
    MeasureForbidden { name: String, action: &'static str },

    #[error("cannot {action} {name}: {source}")]
    Measuring {
        action: &'static str,
        name: String,
        source: io::Error,
    },

    #[error("{} exists", path.display())]
    OutputExists { path: PathBuf },

    #[error("{} is not the name of a file", path.display())]
    NotFileName { path: PathBuf },

    #[error("the model would not be accepted: {reason}")]
    ModelRefused { reason: String },
}

impl Error {
    /// The error for a file that could not be written.
    pub(crate) fn writing(path: &Path, source: io::Error) -> Self {
        Self::System(fgio_sys::Error::writing(path, source))
    }

    /// The sort of failure.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::System(error) => error.kind(),
            Self::DirectoryNeedsWrite { .. }
            | Self::WriteNeedsConsent { .. }
            | Self::WriteToFile { .. }
            | Self::NotFileName { .. } => ErrorKind::Usage,
            Self::MeasureForbidden { .. } => ErrorKind::PermissionDenied,
            _ => ErrorKind::OperationFailed,
        }
    }

    /// The remedy for the user, in one line.
    pub fn advice(&self) -> String {
        match self {
            Self::System(error) => error.advice(),
            Self::TooSmallToMeasure { .. } => format!(
                "name one of at least {}, or a directory with --write",
                size(SIZE_MIN)
            ),
            Self::DirectoryNeedsWrite { name } => format!(
                "run `fgio measure --write {name}`: it makes a file there, measures reads and writes in it, and removes it"
            ),
            Self::WriteNeedsConsent { .. } => {
                "name a directory of a file system on it instead; or, if nothing on it is needed, give --destroy-data".into()
            }
            Self::WriteToFile { .. } => {
                "name a directory with --write, in which a file is made and removed again".into()
            }
            Self::NoRoomToMeasure { .. } => {
                "give a smaller --size: at most half of the free space is used".into()
            }
            Self::DeviceInUse { .. } => {
                "name another device, or a directory on this one with --write; fgio never writes to a device in use".into()
            }
            Self::HoldsData { name, .. } => format!(
                "run `wipefs --all /dev/{name}` if nothing on it is needed, then this command again"
            ),
            Self::SignaturesUnknown { .. } => "install util-linux, and run the command as root".into(),
            Self::NoDirectIo { .. } => {
                "name a file or directory of a file system on a disk, such as ext4 or xfs".into()
            }
            Self::MeasureForbidden { .. } => {
                "run the command as root, or measure a directory on it that you may write to: `fgio measure --write DIR`".into()
            }
            Self::Measuring { .. } => "the reason is in the kernel log: run `dmesg | tail`".into(),
            Self::OutputExists { .. } => "name another file with --out, or give --force".into(),
            Self::NotFileName { .. } => "name a file with --out, such as drive.txt".into(),
            Self::ModelRefused { .. } => {
                "this is a fault of fgio: report it, with the output of the command".into()
            }
        }
    }
}
