// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An imitation of a system, for unit tests of this crate and of those above it.

#![allow(
    clippy::new_without_default,
    clippy::unwrap_used,
    reason = "a failure to prepare a test is a panic"
)]

use std::fs;
use std::os::unix::fs::symlink;

use crate::Root;

pub struct Fixture {
    root: Root,
    /// Removed with the fixture.
    _directory: tempfile::TempDir,
}

impl Fixture {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path());
        Self {
            root,
            _directory: directory,
        }
    }

    pub fn root(&self) -> &Root {
        &self.root
    }

    pub fn directory(&self, path: &str) {
        fs::create_dir_all(self.root.path(path)).unwrap();
    }

    pub fn file(&self, path: &str, text: &str) {
        let path = self.root.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.path(path)).unwrap()
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.root.path(path)).unwrap();
    }

    pub fn remove_directory(&self, path: &str) {
        fs::remove_dir_all(self.root.path(path)).unwrap();
    }

    pub fn exists(&self, path: &str) -> bool {
        self.root.path(path).exists()
    }

    pub fn link(&self, path: &str, target: &str) {
        let path = self.root.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    /// A disk with the given `queue/scheduler`.
    pub fn disk(&self, name: &str, number: &str, scheduler: &str) {
        let directory = format!("/sys/devices/virtual/block/{name}");
        self.file(
            &format!("{directory}/queue/scheduler"),
            &format!("{scheduler}\n"),
        );
        self.file(&format!("{directory}/size"), "2048\n");
        self.node(name, number, &directory);
        self.link(
            &format!("/sys/block/{name}"),
            &format!("../devices/virtual/block/{name}"),
        );
    }

    pub fn partition(&self, disk: &str, name: &str, number: &str) {
        let directory = format!("/sys/devices/virtual/block/{disk}/{name}");
        self.file(&format!("{directory}/partition"), "1\n");
        self.node(name, number, &directory);
    }

    /// Stacks `upper` on `lower`, which is a disk or a partition.
    pub fn slave(&self, upper: &str, lower: &str) {
        let target = fs::canonicalize(self.root.path("/sys/class/block").join(lower)).unwrap();
        let path = format!("/sys/devices/virtual/block/{upper}/slaves/{lower}");
        self.link(&path, target.to_str().unwrap());
    }

    fn node(&self, name: &str, number: &str, directory: &str) {
        self.file(&format!("{directory}/dev"), &format!("{number}\n"));
        self.file(&format!("/dev/{name}"), &format!("block {number}\n"));
        let relative = directory.trim_start_matches("/sys/");
        self.link(
            &format!("/sys/class/block/{name}"),
            &format!("../../{relative}"),
        );
        self.link(
            &format!("/sys/dev/block/{number}"),
            &format!("../../{relative}"),
        );
    }
}
