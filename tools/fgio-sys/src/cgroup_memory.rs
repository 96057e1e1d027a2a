// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Control groups (version 2): weights, and the memory that each is charged.
//!
//! A cgroup is named by its path below the mount point, as in /proc/PID/cgroup: `/` is the root.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use crate::{Root, cgroup, files};

/// Where systemd mounts version 2, as do all distributions.
pub const HIERARCHY: &str = "/sys/fs/cgroup";

/// In memory.low and its like: no limit, or all of it.
pub const MAX: u64 = u64::MAX;

/// The memory of one cgroup and all below it. Sizes are in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// All that is charged to it.
    pub current: u64,
    /// File pages on the lists that reclaim goes by; shared memory and tmpfs are none.
    pub file: u64,
    /// Of those, dirty ones and those under writeback, which reclaim cannot take yet.
    pub busy: u64,
    /// File pages read again after they were evicted, a counter of pages.
    pub refaults: u64,
    pub low: u64,
}

/// What an administrator allows a cgroup, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    pub min: u64,
    /// The least of memory.max and memory.high.
    pub max: u64,
}

/// Free memory of the host, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Free {
    /// Without what low zones keep from allocations that higher ones can serve.
    pub free: u64,
    /// Below it, the kernel's reclaim goes on: the sum of the high watermarks of all zones.
    pub high: u64,
    /// What reclaim of any kind freed, a counter.
    pub freed: u64,
}

pub(crate) fn file_of(root: &Root, group: &str, name: &str) -> PathBuf {
    root.path(HIERARCHY)
        .join(group.trim_start_matches('/'))
        .join(name)
}

/// Why there is no memory to be divided; `None` when cgroups and the memory controller are there.
pub fn obstacle(root: &Root) -> Option<(&'static str, &'static str)> {
    let Some(controllers) = files::read_optional(&file_of(root, "/", "cgroup.controllers")) else {
        return Some((
            "cgroup v2 is not mounted at /sys/fs/cgroup",
            "boot with systemd.unified_cgroup_hierarchy=1 (without systemd: mount -t cgroup2 none /sys/fs/cgroup)",
        ));
    };
    if !controllers.split(' ').any(|name| name == "memory") {
        return Some((
            "cgroup v2 has no memory controller here",
            "boot without cgroup_disable=memory, and without cgroup v1 hierarchies that have it (systemd.unified_cgroup_hierarchy=1)",
        ));
    }
    let children = files::read_optional(&file_of(root, "/", "cgroup.subtree_control"));
    if !children
        .unwrap_or_default()
        .split(' ')
        .any(|name| name == "memory")
    {
        return Some((
            "the memory controller is not enabled for the cgroups below the root",
            "echo +memory > /sys/fs/cgroup/cgroup.subtree_control (with systemd: DefaultMemoryAccounting=yes)",
        ));
    }
    None
}

/// The cgroups right below one, sorted; none when it is gone.
pub fn children(root: &Root, group: &str) -> Vec<String> {
    let directory = file_of(root, group, "");
    // `.` and its name in its parent: no directory below. To list its 60 files costs five times as much.
    if fs::metadata(&directory).is_ok_and(|found| found.nlink() == 2) {
        return Vec::new();
    }
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut found: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .map(|name| format!("{}/{name}", group.trim_end_matches('/')))
        .collect();
    found.sort();
    found
}

fn parse_number(text: &str) -> Option<u64> {
    match text {
        "max" => Some(MAX),
        text => text.parse().ok(),
    }
}

/// A number of bytes, or `max`. `None` when there is no such file, or the cgroup is gone.
pub fn number(root: &Root, group: &str, name: &str) -> Option<u64> {
    parse_number(&files::read_optional(&file_of(root, group, name))?)
}

/// Files that a [`Reader`] keeps open, at most; half of what the process may open, if that is less.
const FILES_MOST: usize = 2048;
/// What is read at each step, in the divided cgroups. A quarter of the files are kept for these.
const STEP_FILES: [&str; 3] = ["memory.low", "memory.stat", "memory.pressure"];
/// Longer than any of them is.
const FILE_BYTES: usize = 32 << 10;

/// Reads files of cgroups again and again, and keeps them open: most of them take five times as long to
/// open as to read. An open file keeps no cgroup from going.
#[derive(Debug)]
pub struct Reader {
    root: Root,
    files: HashMap<String, Vec<(&'static str, File)>>,
    open: usize,
    most: usize,
    buffer: Vec<u8>,
}

impl Reader {
    pub fn new(root: &Root) -> Self {
        Self {
            root: root.clone(),
            files: HashMap::new(),
            open: 0,
            most: FILES_MOST.min(open_files_most() / 2),
            buffer: vec![0; FILE_BYTES],
        }
    }

    /// Closes the files of all other cgroups.
    pub fn keep(&mut self, groups: &HashSet<String>) {
        self.files.retain(|group, _| groups.contains(group));
        self.open = self.files.values().map(Vec::len).sum();
    }

    /// In one read: the kernel writes such a file whole.
    fn read(&mut self, group: &str, name: &'static str) -> Option<&str> {
        let kept = self.files.get(group).into_iter().flatten();
        let kept = kept.map(|(name, file)| (*name, file));
        let length = kept
            .filter(|(kept, _)| *kept == name)
            .find_map(|(_, file)| file.read_at(&mut self.buffer, 0).ok());
        let length = match length {
            Some(length) => length,
            // Not open; or the cgroup is gone, and perhaps another one has its name.
            None => self.open(group, name)?,
        };
        str::from_utf8(&self.buffer[..length]).ok().map(str::trim)
    }

    fn open(&mut self, group: &str, name: &'static str) -> Option<usize> {
        if let Some(gone) = self.files.get_mut(group) {
            let before = gone.len();
            gone.retain(|(kept, _)| *kept != name);
            self.open -= before - gone.len();
        }
        let file = File::open(file_of(&self.root, group, name)).ok()?;
        let length = file.read_at(&mut self.buffer, 0).ok()?;
        let most = match STEP_FILES.contains(&name) {
            true => self.most,
            false => self.most - self.most / 4,
        };
        if self.open < most {
            let kept = self.files.entry(group.to_owned()).or_default();
            kept.push((name, file));
            self.open += 1;
        }
        Some(length)
    }

    fn number(&mut self, group: &str, name: &'static str) -> Option<u64> {
        parse_number(self.read(group, name)?)
    }

    /// Bytes charged to a cgroup. `None` when it is gone or has no memory controller.
    pub fn current(&mut self, group: &str) -> Option<u64> {
        self.number(group, "memory.current")
    }

    /// What is protected of it.
    pub fn low(&mut self, group: &str) -> Option<u64> {
        self.number(group, "memory.low")
    }

    /// The memory of a cgroup. `None` when it is gone or has no memory controller.
    pub fn memory(&mut self, group: &str) -> Option<Memory> {
        let mut found = Memory {
            current: self.current(group)?,
            low: self.low(group)?,
            ..Memory::default()
        };
        for line in self.read(group, "memory.stat")?.lines() {
            match line.split_once(' ') {
                Some(("active_file" | "inactive_file", value)) => {
                    found.file += value.parse().unwrap_or(0);
                }
                Some(("file_dirty" | "file_writeback", value)) => {
                    found.busy += value.parse().unwrap_or(0);
                }
                Some(("workingset_refault_file", value)) => {
                    found.refaults = value.parse().unwrap_or(0);
                }
                _ => {}
            }
        }
        Some(found)
    }

    /// The weight among its siblings: io.weight, else io.bfq.weight, else the default.
    pub fn weight(&mut self, group: &str) -> u64 {
        ["io.weight", "io.bfq.weight"]
            .into_iter()
            .find_map(|name| cgroup::parse_weight(self.read(group, name)?))
            .unwrap_or(cgroup::WEIGHT_DEFAULT)
            .into()
    }

    /// What an administrator allows a cgroup; no bounds where it does not say.
    pub fn bounds(&mut self, group: &str) -> Bounds {
        let mut limit = |name| self.number(group, name).unwrap_or(MAX);
        let max = limit("memory.max").min(limit("memory.high"));
        Bounds {
            min: self.number(group, "memory.min").unwrap_or(0),
            max,
        }
    }

    /// Time in which a task of a cgroup stalled for memory in the last 10 s, in hundredths of a
    /// percent; 0 without PSI.
    pub fn stalled(&mut self, group: &str) -> u64 {
        let average = self
            .read(group, "memory.pressure")
            .unwrap_or_default()
            .lines()
            .find_map(|line| line.strip_prefix("some avg10="))
            .and_then(|rest| rest.split(' ').next())
            .and_then(|number| number.parse::<f64>().ok());
        (average.unwrap_or(0.0) * 100.0) as u64
    }
}

/// Of this process; as few as any system has where /proc does not say.
fn open_files_most() -> usize {
    const USUAL: usize = 1024;
    let text = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("Max open files"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(USUAL)
}

/// Sets memory.low, in bytes.
pub fn set_low(root: &Root, group: &str, bytes: u64) -> io::Result<()> {
    let text = match bytes {
        MAX => "max".to_owned(),
        bytes => bytes.to_string(),
    };
    files::write_existing(&file_of(root, group, "memory.low"), &text)
}

/// Reclaims bytes from a cgroup and all below it, in the calling thread, which may take as long as
/// that needs. `file_only`: no anonymous memory, which kernels before 6.10 refuse (`InvalidInput`).
/// `WouldBlock` says that fewer bytes could be reclaimed.
pub fn reclaim(root: &Root, group: &str, bytes: u64, file_only: bool) -> io::Result<()> {
    let which = if file_only { " swappiness=0" } else { "" };
    let path = file_of(root, group, "memory.reclaim");
    files::write_existing(&path, &format!("{bytes}{which}"))
}

/// Whether the kernel can reclaim from a cgroup at all (6.1 and later can).
pub fn can_reclaim(root: &Root, group: &str) -> bool {
    file_of(root, group, "memory.reclaim").exists()
}

/// Whether anonymous memory could be swapped out.
pub fn has_swap(root: &Root) -> bool {
    let text = files::read_optional(&root.path("/proc/swaps")).unwrap_or_default();
    text.lines().count() > 1
}

/// Free pages that the page cache cannot have where a zone for 32-bit devices keeps them: 256 MiB on a host
/// of 64 GiB (lowmem_reserve_ratio). kswapd wakes before they are used.
fn kept_of_low_zones(zones: &str) -> u64 {
    let (mut free, mut kept) = (0, 0);
    for line in zones.lines().map(str::trim) {
        if let Some(number) = line.strip_prefix("pages free ") {
            free = number.trim().parse().unwrap_or(0);
        } else if let Some(list) = line.strip_prefix("protection: (") {
            let numbers = list.trim_end_matches(')').split(", ");
            let most = numbers.filter_map(|number| number.parse().ok()).max();
            kept += free.min(most.unwrap_or(0));
        }
    }
    kept
}

/// Free memory of the host. `None` when /proc does not say.
pub fn free(root: &Root) -> Option<Free> {
    const PAGE: u64 = 4096;
    let text = files::read_optional(&root.path("/proc/meminfo"))?;
    let free: u64 = text
        .lines()
        .find_map(|line| line.strip_prefix("MemFree:"))?
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .ok()?;
    let zones = files::read_optional(&root.path("/proc/zoneinfo"))?;
    let high: u64 = zones
        .lines()
        .filter_map(|line| line.trim().strip_prefix("high "))
        .filter_map(|number| number.trim().parse::<u64>().ok())
        .sum();
    let kept = kept_of_low_zones(&zones);
    // Counted for reclaim by memory.reclaim, too, which pgsteal_kswapd and _direct are not.
    let events = files::read_optional(&root.path("/proc/vmstat"))?;
    let freed: u64 = events
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(name, _)| matches!(*name, "pgsteal_anon" | "pgsteal_file"))
        .filter_map(|(_, number)| number.parse::<u64>().ok())
        .sum();
    Some(Free {
        free: (free * 1024).saturating_sub(kept * PAGE),
        high: high * PAGE,
        freed: freed * PAGE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn memory_is_read_as_the_kernel_writes_it() {
        let fixture = Fixture::new();
        let group = "/sys/fs/cgroup/a b/c";
        fixture.file(
            &format!("{group}/memory.stat"),
            "anon 4096\nfile 999\ninactive_file 8192\nactive_file 4096\nfile_mapped 9\nfile_dirty 4096\nfile_writeback 1024\nworkingset_refault_anon 5\nworkingset_refault_file 7\n",
        );
        fixture.file(&format!("{group}/memory.current"), "20480\n");
        fixture.file(&format!("{group}/memory.low"), "0\n");
        fixture.file(&format!("{group}/memory.max"), "max\n");
        fixture.file(&format!("{group}/memory.high"), "65536\n");
        fixture.file(
            &format!("{group}/memory.pressure"),
            "some avg10=1.25 avg60=0.00 avg300=0.00 total=9\nfull avg10=9.00 avg60=0 avg300=0 total=0\n",
        );
        let mut reader = Reader::new(fixture.root());
        let found = reader.memory("/a b/c").unwrap();
        let expected = Memory {
            current: 20480,
            file: 12288,
            busy: 5120,
            refaults: 7,
            low: 0,
        };
        assert_eq!(found, expected);
        assert_eq!(reader.stalled("/a b/c"), 125);
        let expected = Bounds { min: 0, max: 65536 };
        assert_eq!(reader.bounds("/a b/c"), expected);
        assert_eq!(reader.memory("/a b"), None);
        assert_eq!(children(fixture.root(), "/"), ["/a b"]);
        assert_eq!(children(fixture.root(), "/a b"), ["/a b/c"]);
    }

    #[test]
    fn weights_are_those_of_either_policy() {
        let fixture = Fixture::new();
        fixture.file("/sys/fs/cgroup/a/io.weight", "default 300\n8:0 50\n");
        fixture.file("/sys/fs/cgroup/b/io.bfq.weight", "default 200\n");
        fixture.file("/sys/fs/cgroup/c/io.bfq.weight", "400\n");
        fixture.directory("/sys/fs/cgroup/d");
        let mut reader = Reader::new(fixture.root());
        let weights = ["/a", "/b", "/c", "/d"].map(|group| reader.weight(group));
        assert_eq!(weights, [300, 200, 400, 100]);
    }

    #[test]
    fn files_are_kept_open_up_to_a_bound_and_show_what_is_new() {
        let fixture = Fixture::new();
        let mut reader = Reader::new(fixture.root());
        reader.most = 2;
        for round in 1..4 {
            for group in ["/a", "/b", "/c"] {
                let path = format!("/sys/fs/cgroup{group}/memory.current");
                fixture.file(&path, &format!("{round}000\n"));
                assert_eq!(reader.current(group), Some(round * 1000));
            }
            assert_eq!(reader.open, 2);
        }
        reader.keep(&HashSet::from(["/b".to_owned()]));
        assert_eq!((reader.open, reader.files.len()), (1, 1));
        assert_eq!(reader.current("/none"), None);
    }

    #[test]
    fn free_memory_and_watermarks_are_read() {
        let fixture = Fixture::new();
        assert_eq!(free(fixture.root()), None);
        fixture.file("/proc/meminfo", "MemTotal: 8 kB\nMemFree:     12 kB\n");
        fixture.file(
            "/proc/zoneinfo",
            "Node 0, zone DMA\n  pages free     2\n        min 1\n        low 2\n        high     3\n        protection: (0, 1, 1)\n  pagesets\n    cpu: 0\n              high:  378\nNode 0, zone Normal\n  pages free 1\n        high 4\n        protection: (0, 0, 0)\n",
        );
        fixture.file(
            "/proc/vmstat",
            "nr_free_pages 3\npgsteal_kswapd 9\npgsteal_direct 9\npgsteal_anon 5\npgsteal_file 6\n",
        );
        let expected = Free {
            free: 2 * 4096,
            high: 7 * 4096,
            freed: 11 * 4096,
        };
        assert_eq!(free(fixture.root()), Some(expected));
    }

    #[test]
    fn obstacles_have_advice() {
        let fixture = Fixture::new();
        let found = |fixture: &Fixture| obstacle(fixture.root()).map(|(found, _)| found);
        assert!(found(&fixture).unwrap().contains("not mounted"));
        fixture.file("/sys/fs/cgroup/cgroup.controllers", "cpu io\n");
        assert!(found(&fixture).unwrap().contains("no memory controller"));
        fixture.file("/sys/fs/cgroup/cgroup.controllers", "cpu io memory\n");
        assert!(found(&fixture).unwrap().contains("not enabled"));
        fixture.file("/sys/fs/cgroup/cgroup.subtree_control", "io memory\n");
        assert_eq!(found(&fixture), None);
    }
}
