// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processes and threads, from procfs.

use std::path::PathBuf;

use crate::{Error, Result, Root, files};

fn path(root: &Root, id: i32, file: &str) -> PathBuf {
    root.path(format!("/proc/{id}")).join(file)
}

/// The command name of a thread; `None` when it has ended.
pub fn name(root: &Root, tid: i32) -> Option<String> {
    files::read_optional(&path(root, tid, "comm"))
}

/// The process that thread or process `id` belongs to.
pub fn process_of(root: &Root, id: i32) -> Result<i32> {
    files::read_optional(&path(root, id, "status"))
        .and_then(|text| {
            text.lines()
                .find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
        })
        .ok_or(Error::NoSuchTask { id })
}

/// The threads of a process; none when it has ended.
pub fn threads(root: &Root, process: i32) -> Result<Vec<i32>> {
    let names = files::names(&path(root, process, "task"))?;
    let mut threads: Vec<i32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    threads.sort_unstable();
    Ok(threads)
}
