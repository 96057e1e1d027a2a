// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading and writing the small text files of sysfs and its relatives.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::{Error, Result, Root};

/// Where the choices that fgio replaced are remembered: the scheduler of a disk, the
/// drive's own priority. Gone at reboot, as the choices are.
pub const MEMORY: &str = "/run/fgio";

/// The text of `path` without the white space around it.
pub fn read(path: &Path) -> Result<String> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).trim().to_owned()),
        Err(source) => Err(Error::reading(path, source)),
    }
}

/// Like [`read`], but `None` when the file cannot be read, for any reason.
pub fn read_optional(path: &Path) -> Option<String> {
    read(path).ok()
}

/// Writes `text` to an existing file in one `write(2)`, as sysfs wants it.
pub fn write_existing(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(path)?;
    file.write_all(text.as_bytes())
}

/// Remembers a text as a line of its own in a file that may be new.
pub fn remember(root: &Root, path: &str, text: &str) -> Result<()> {
    let path = root.path(path);
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(|source| Error::writing(directory, source))?;
    }
    fs::write(&path, format!("{text}\n")).map_err(|source| Error::writing(&path, source))
}

/// Replaces a file of the system's configuration, or removes it for an empty `text`. The new one is
/// written beside it, under a name that programs which read the directory pass over, and renamed:
/// a crash leaves the one or the other.
pub fn replace(root: &Root, path: &str, text: &str) -> Result<()> {
    let path = root.path(path);
    let failed = |source| Error::writing(&path, source);
    if text.is_empty() {
        return match fs::remove_file(&path) {
            Err(source) if source.kind() != ErrorKind::NotFound => Err(failed(source)),
            _ => Ok(()),
        };
    }
    let mut fresh = path.clone().into_os_string();
    fresh.push(".new");
    let directory = path.parent().unwrap_or(&path);
    fs::create_dir_all(directory)
        .and_then(|()| fs::File::create(&fresh))
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&fresh, &path))
        .and_then(|()| fs::File::open(directory)?.sync_all())
        .map_err(failed)
}

/// Forgets a remembered text. A file that stays is overwritten the next time: no harm done.
pub fn forget(path: &Path) {
    let _ = fs::remove_file(path);
}

/// The names in a directory, sorted; none when the directory does not exist.
pub fn names(directory: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(source) if source.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(Error::reading(directory, source)),
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}
