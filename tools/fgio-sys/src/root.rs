// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the system is: `/`, or a directory that imitates it in tests.

use std::path::{Path, PathBuf};

/// The directory that all system paths are taken from.
///
/// In a root other than `/`, a block device node is a regular file that holds
/// `block MAJOR:MINOR` (making a real node needs privileges that tests lack),
/// and no other program is ever run.
#[derive(Clone, Debug)]
pub struct Root {
    directory: PathBuf,
}

impl Root {
    /// The running system.
    pub fn system() -> Self {
        Self::at("/")
    }

    /// An imitation of a system in `directory`.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// Whether this is the running system, not an imitation.
    pub fn is_system(&self) -> bool {
        self.directory == Path::new("/")
    }

    /// Where the absolute path `path` of the system is found.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.directory.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The opposite of [`Root::path`]: how the system calls `path`.
    pub fn system_path(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.directory) {
            Ok(rest) => Path::new("/").join(rest),
            Err(_) => path.to_owned(),
        }
    }
}
