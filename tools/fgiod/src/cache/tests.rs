// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The controller over an imitation of a cgroup tree.

#![allow(clippy::unwrap_used, reason = "a failure to prepare a test is a panic")]

use std::fs;
use std::time::Duration;

use fgio_sys::Root;
use fgio_sys::cache_limits::{self, Limits, RECORD};
use fgio_sys::cache_shares;

use super::control::{Controller, Reclaim};
use super::{Mode, restore};

const MIB: u64 = 1 << 20;
const REST: Duration = Duration::from_millis(500);

struct Host {
    directory: tempfile::TempDir,
    now: Duration,
}

impl Host {
    fn new() -> Self {
        let host = Self {
            directory: tempfile::tempdir().unwrap(),
            now: Duration::from_secs(100),
        };
        host.file("sys/fs/cgroup/cgroup.controllers", "io memory\n");
        host.file("sys/fs/cgroup/cgroup.subtree_control", "io memory\n");
        // As much as is to be kept free.
        host.free(64, 0);
        host.file("proc/swaps", "Filename Type Size Used Priority\n");
        host
    }

    fn root(&self) -> Root {
        Root::at(self.directory.path())
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn text(&self, group: &str, name: &str) -> String {
        let path = self
            .directory
            .path()
            .join(format!("sys/fs/cgroup{group}/{name}"));
        fs::read_to_string(path).unwrap().trim().to_owned()
    }

    /// Free memory beside 32 MiB of watermarks, and what the kernel reclaimed so far.
    fn free(&self, mib: u64, reclaimed_mib: u64) {
        self.file("proc/meminfo", &format!("MemFree: {} kB\n", mib * 1024));
        self.file(
            "proc/vmstat",
            &format!(
                "pgsteal_anon 0\npgsteal_file {}\n",
                reclaimed_mib * MIB / 4096
            ),
        );
        self.file(
            "proc/zoneinfo",
            "Node 0, zone Normal\n        high     8192\n",
        );
    }

    /// A cgroup that holds file memory, with 8 MiB of other memory.
    fn group(&self, group: &str, weight: u64, file_mib: u64, refaults: u64) {
        let place = format!("sys/fs/cgroup{group}");
        self.file(
            &format!("{place}/io.weight"),
            &format!("default {weight}\n"),
        );
        self.held(group, file_mib, refaults);
        for (name, text) in [
            ("memory.low", "0\n"),
            ("memory.max", "max\n"),
            ("memory.reclaim", ""),
        ] {
            self.file(&format!("{place}/{name}"), text);
        }
    }

    fn held(&self, group: &str, file_mib: u64, refaults: u64) {
        let place = format!("sys/fs/cgroup{group}");
        self.file(
            &format!("{place}/memory.current"),
            // What reads again is charged for it, and for less soon.
            &format!("{}\n", (file_mib + 8) * MIB + refaults % 4096),
        );
        let half = file_mib * MIB / 2;
        self.file(
            &format!("{place}/memory.stat"),
            &format!(
                "anon 4096\ninactive_file {half}\nactive_file {half}\nworkingset_refault_file {refaults}\n"
            ),
        );
    }

    fn low_mib(&self, group: &str) -> u64 {
        self.text(group, "memory.low").parse::<u64>().unwrap() / MIB
    }

    fn controller(&self, mode: Mode) -> Controller {
        Controller::new(&self.root(), Limits::open(&self.root()).unwrap(), mode)
    }

    fn step(&mut self, controller: &mut Controller) {
        self.now += REST;
        controller.scan();
        controller.step(self.now, REST);
    }
}

/// Two that hold 700 MiB each; the heavier one reads again what was evicted.
fn contended() -> (Host, Controller) {
    let mut host = Host::new();
    host.group("/light", 100, 700, 0);
    host.group("/heavy", 300, 700, 0);
    let mut controller = host.controller(Mode::Weights);
    host.step(&mut controller);
    host.held("/heavy", 700, 50_000);
    host.held("/light", 700, 50_000);
    host.step(&mut controller);
    (host, controller)
}

#[test]
fn shares_follow_weights_and_what_is_beyond_them_is_reclaimed() {
    let (host, controller) = contended();
    // 350 and 1,050 MiB, less a part of 32, and 8 MiB that are no file memory.
    assert_eq!(host.low_mib("/light"), 350 - 11 + 8);
    assert!((840..=1025).contains(&host.low_mib("/heavy")));
    let asked = host.text("/light", "memory.reclaim");
    let (bytes, which) = asked.split_once(' ').unwrap();
    assert_eq!(which, "swappiness=0");
    assert!(bytes.parse::<u64>().unwrap() <= 4 * MIB);
    assert_eq!(host.text("/heavy", "memory.reclaim"), "");
    let light = &controller.shares()[1];
    assert_eq!(
        (light.group.as_str(), light.entitled / MIB),
        ("/light", 350)
    );
    assert!(light.reclaimed > 0 && light.lent() == 0);
}

#[test]
fn equal_weights_are_left_to_the_kernel_unless_told_otherwise() {
    let mut host = Host::new();
    host.group("/a", 100, 700, 0);
    host.group("/b", 100, 700, 0);
    let mut controller = host.controller(Mode::Weights);
    host.step(&mut controller);
    assert_eq!((host.low_mib("/a"), host.low_mib("/b")), (0, 0));
    controller.set_mode(Mode::All);
    host.step(&mut controller);
    assert!(host.low_mib("/a") > 500);
    // A new weight counts at the next step; with it gone, all is as it was.
    controller.set_mode(Mode::Weights);
    host.file("sys/fs/cgroup/b/io.weight", "default 200\n");
    host.step(&mut controller);
    assert!(host.low_mib("/a") > 400);
    host.file("sys/fs/cgroup/b/io.weight", "default 100\n");
    host.step(&mut controller);
    assert_eq!((host.low_mib("/a"), host.low_mib("/b")), (0, 0));
    controller.set_mode(Mode::Off);
    host.step(&mut controller);
    assert!(!host.directory.path().join(&RECORD[1..]).exists());
}

#[test]
fn a_hierarchy_is_divided_from_its_top() {
    let mut host = Host::new();
    host.group("/a", 100, 800, 0);
    host.group("/a/x", 100, 400, 0);
    host.group("/a/y", 100, 400, 0);
    host.group("/b", 300, 800, 0);
    // Too small to have a part; nothing below it is read.
    host.group("/small", 500, 0, 0);
    host.file("sys/fs/cgroup/small/memory.current", "4096\n");
    let mut controller = host.controller(Mode::Weights);
    host.step(&mut controller);
    for group in ["/a", "/a/x", "/a/y", "/b"] {
        host.held(group, if group.len() > 2 { 400 } else { 800 }, 99_000);
    }
    host.step(&mut controller);
    // Both have the same weight, and half of their parent's part.
    assert_eq!(host.low_mib("/a"), 400 - 12 + 8 - 1);
    assert!(host.low_mib("/a/x").abs_diff(200 - 6 + 8) <= 1);
    assert_eq!(host.low_mib("/a/x"), host.low_mib("/a/y"));
    assert_eq!(host.low_mib("/small"), 0);
    controller.end().unwrap();
    let left = ["/a", "/a/x", "/a/y", "/b"].map(|group| host.low_mib(group));
    assert_eq!(left, [0; 4]);
}

#[test]
fn the_next_one_takes_back_what_a_killed_one_set() {
    let (host, controller) = contended();
    drop(controller);
    assert!(host.low_mib("/light") > 0);
    assert!(cache_limits::is_left_over(&host.root()));
    let lock = cache_limits::lock(&host.root()).unwrap();
    assert!(restore(&host.root()).unwrap_err().contains("systemctl"));
    drop(lock);
    assert_eq!(restore(&host.root()).unwrap(), 2);
    assert_eq!((host.low_mib("/light"), host.low_mib("/heavy")), (0, 0));
}

#[test]
fn an_administrators_protection_stays() {
    let mut host = Host::new();
    host.group("/light", 100, 700, 0);
    host.group("/heavy", 300, 700, 0);
    host.file(
        "sys/fs/cgroup/light/memory.low",
        &format!("{}\n", 900 * MIB),
    );
    let mut controller = host.controller(Mode::Weights);
    host.step(&mut controller);
    host.held("/heavy", 700, 50_000);
    host.step(&mut controller);
    assert_eq!(host.low_mib("/light"), 900);
    assert_eq!(host.text("/light", "memory.reclaim"), "");
    assert!(host.low_mib("/heavy") > 500);
    controller.end().unwrap();
    assert_eq!((host.low_mib("/light"), host.low_mib("/heavy")), (900, 0));
}

#[test]
fn kernels_without_swappiness_reclaim_only_where_nothing_can_be_swapped() {
    let (host, mut controller) = contended();
    assert_eq!(controller.take_complaint(), None);
    controller.cannot_keep_anonymous();
    assert_eq!(controller.reclaim, Reclaim::Plain);
    host.file("proc/swaps", "Filename Type\n/dev/sda2 partition\n");
    controller.cannot_keep_anonymous();
    assert_eq!(controller.reclaim, Reclaim::Never);
    let complaint = controller.take_complaint().unwrap();
    assert!(complaint.contains("6.10"), "{complaint}");
    // Once is enough.
    controller.cannot_keep_anonymous();
    assert_eq!(controller.take_complaint(), None);
}

#[test]
fn cgroups_that_go_are_forgotten() {
    let (mut host, mut controller) = contended();
    fs::remove_dir_all(host.directory.path().join("sys/fs/cgroup/light")).unwrap();
    controller.step(host.now + REST, REST);
    host.step(&mut controller);
    assert_eq!(controller.take_complaint(), None);
    // One weight is left: nothing to divide.
    assert_eq!(host.low_mib("/heavy"), 0);
}

#[test]
fn shares_are_published_while_one_runs() {
    let (host, mut controller) = contended();
    controller.publish();
    assert_eq!(cache_shares::read(&host.root()), None);
    let _lock = cache_limits::lock(&host.root()).unwrap();
    let (totals, published) = cache_shares::read(&host.root()).unwrap();
    assert_eq!(published, controller.shares());
    assert!(totals.reclaimed > 0 && totals.changes >= 2 && totals.errors == 0);
}

/// What reclaim freed was taken, so free memory that stays the same is an inflow.
#[test]
fn spare_memory_follows_the_inflow() {
    let mut host = Host::new();
    host.group("/light", 100, 700, 0);
    host.group("/heavy", 300, 700, 0);
    let mut controller = host.controller(Mode::Weights);
    host.step(&mut controller);
    assert_eq!(controller.pause(REST), REST);
    assert_eq!(host.text("/light", "memory.reclaim"), "");
    // 40 MiB in 500 ms: twice that is kept free beside the watermarks, and the next look is soon.
    host.free(64, 40);
    host.held("/heavy", 700, 50_000);
    host.step(&mut controller);
    assert_eq!(controller.pause(REST), Duration::from_millis(200));
    let capacity = 1400 + 64 - 32 - 80;
    assert_eq!(host.low_mib("/light"), capacity / 4 * 31 / 32 + 8);
    assert!(
        host.text("/light", "memory.reclaim")
            .ends_with("swappiness=0")
    );
    assert_eq!(host.text("/heavy", "memory.reclaim"), "");
}

/// What is dirty has to be written first: reclaim would search for it in vain.
#[test]
fn dirty_pages_are_not_reclaimed() {
    let (mut host, mut controller) = contended();
    host.file("sys/fs/cgroup/light/memory.reclaim", "");
    host.held("/heavy", 700, 100_000);
    let path = "sys/fs/cgroup/light/memory.stat";
    let stat = |dirty_mib: u64| {
        format!(
            "active_file {}\nfile_dirty {}\nfile_writeback {}\nworkingset_refault_file 50000\n",
            700 * MIB,
            dirty_mib * MIB,
            100 * MIB
        )
    };
    host.file(path, &stat(600));
    host.step(&mut controller);
    assert_eq!(host.text("/light", "memory.reclaim"), "");
    // The control: written back, they are.
    host.file(path, &stat(0));
    host.held("/heavy", 700, 150_000);
    host.step(&mut controller);
    assert_ne!(host.text("/light", "memory.reclaim"), "");
}

/// The kernel takes long to write memory.stat.
#[test]
fn a_cgroup_that_is_charged_as_before_is_looked_at_more_rarely() {
    let (mut host, mut controller) = contended();
    let refaults = |controller: &Controller| {
        let found = controller.shares().iter().find(|one| one.group == "/heavy");
        found.unwrap().refaults
    };
    let before = refaults(&controller);
    host.file(
        "sys/fs/cgroup/heavy/memory.stat",
        "active_file 734003200\nworkingset_refault_file 60000\n",
    );
    for _ in 0..7 {
        host.step(&mut controller);
        assert_eq!(refaults(&controller), before);
    }
    host.step(&mut controller);
    assert_eq!(refaults(&controller), 60_000);
    // The control: a byte is enough.
    host.held("/heavy", 700, 70_000);
    host.step(&mut controller);
    assert_eq!(refaults(&controller), 70_000);
}

#[test]
fn names_of_modes_are_their_own() {
    for (name, mode) in Mode::NAMES {
        assert_eq!(mode.name(), name);
    }
}
