// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Block devices: finding the whole disk that a name stands for.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::{Error, Result, Root, files};

/// A whole disk, known by its directory in sysfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The kernel's name, such as `sda` (`cciss!c0d0` where `/dev` has a `/`).
    pub name: String,
    directory: PathBuf,
}

/// The device that a name given by a user stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub disk: Disk,
    /// The partition that was named, when it was one.
    pub partition: Option<String>,
}

/// The schedulers of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedulers {
    pub current: String,
    pub available: Vec<String>,
}

impl Schedulers {
    /// Parses `queue/scheduler`; `None` when it offers no choice, which is how
    /// the kernel marks devices that pass their I/O on instead of queueing it.
    fn parse(text: &str) -> Option<Self> {
        let available: Vec<String> = text
            .split_whitespace()
            .map(|word| word.trim_matches(['[', ']']).to_owned())
            .collect();
        let chosen = text
            .split_whitespace()
            .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
        let current = match (chosen, available.as_slice()) {
            (Some(current), _) => current.to_owned(),
            (None, [only]) if only != "none" => only.clone(),
            _ => return None,
        };
        Some(Self { current, available })
    }
}

impl Disk {
    /// A file of the disk in sysfs, such as `queue/nr_requests`.
    pub fn path(&self, file: &str) -> PathBuf {
        self.directory.join(file)
    }

    /// The text of a file of the disk in sysfs; `None` when it has none.
    pub fn attribute(&self, file: &str) -> Option<String> {
        files::read_optional(&self.path(file))
    }

    /// A file of the disk in sysfs that holds a number.
    pub fn number(&self, file: &str) -> Option<u64> {
        self.attribute(file)?.parse().ok()
    }

    /// The tunables of a disk under fgio (`queue/iosched`), by name.
    pub fn tunables(&self) -> BTreeMap<String, u64> {
        files::names(&self.path("queue/iosched"))
            .unwrap_or_default()
            .into_iter()
            .filter_map(|name| {
                let value = self.number(&format!("queue/iosched/{name}"))?;
                Some((name, value))
            })
            .collect()
    }

    /// The device number, `MAJOR:MINOR`.
    pub fn device_number(&self) -> Option<String> {
        self.attribute("dev")
    }

    /// The same as two numbers.
    pub fn major_minor(&self) -> Option<(u32, u32)> {
        let number = self.device_number()?;
        let (major, minor) = number.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    /// The schedulers of the disk.
    pub fn schedulers(&self) -> Result<Schedulers> {
        let none = || Error::NoScheduler {
            name: self.name.clone(),
        };
        let path = self.path("queue/scheduler");
        if !path.exists() {
            return Err(none());
        }
        Schedulers::parse(&files::read(&path)?).ok_or_else(none)
    }

    /// Whether fgio schedules the disk now.
    pub fn is_under_fgio(&self) -> bool {
        self.schedulers()
            .is_ok_and(|schedulers| schedulers.current == crate::FGIO)
    }

    /// Number of hardware queues, at least 1.
    pub fn hardware_queues(&self) -> usize {
        files::names(&self.path("mq")).map_or(1, |names| names.len().max(1))
    }

    /// Fails when the disk cannot have a scheduler of its own.
    pub fn check_can_schedule(&self) -> Result<()> {
        let slaves = files::names(&self.path("slaves"))?;
        let kind = if self.path("dm").is_dir() {
            "device-mapper"
        } else if self.path("md").is_dir() {
            "software RAID (md)"
        } else if slaves.is_empty() {
            return self.schedulers().map(|_| ());
        } else {
            "stacked"
        };
        let is_multipath = self
            .attribute("dm/uuid")
            .is_some_and(|uuid| uuid.starts_with("mpath-"));
        if is_multipath {
            let name = self.name.clone();
            return Err(Error::MultipathDevice { name });
        }
        let mut disks = BTreeSet::new();
        self.collect_underlying(&mut disks, 0);
        Err(Error::StackedDevice {
            name: self.name.clone(),
            kind,
            disks: disks.into_iter().collect(),
        })
    }

    fn collect_underlying(&self, disks: &mut BTreeSet<String>, depth: usize) {
        // Stacks of devices are a handful deep; the bound guards against a
        // loop in a damaged imitation of sysfs.
        const DEPTH_MAX: usize = 16;
        let slaves = files::names(&self.path("slaves")).unwrap_or_default();
        if slaves.is_empty() || depth == DEPTH_MAX {
            disks.insert(self.name.clone());
            return;
        }
        for slave in slaves {
            if let Ok(resolved) = from_directory(&self.path("slaves").join(slave)) {
                resolved.disk.collect_underlying(disks, depth + 1);
            }
        }
    }
}

/// Finds the disk that `name` stands for: a kernel name (`sda`), the path of a
/// device node or of a link to one, or one of a partition.
pub fn resolve(root: &Root, name: &str) -> Result<Resolved> {
    if name.is_empty() || name == "." || name == ".." {
        return Err(no_such_device(name));
    }
    if !name.starts_with('/') {
        let directory = root.path("/sys/class/block").join(name.replace('/', "!"));
        if directory.exists() {
            return from_directory(&directory);
        }
        if !name.contains('/') {
            return Err(no_such_device(name));
        }
    }
    resolve_node(root, name)
}

fn resolve_node(root: &Root, name: &str) -> Result<Resolved> {
    let path = if name.starts_with('/') {
        root.path(name)
    } else {
        PathBuf::from(name)
    };
    if let Err(source) = fs::metadata(&path) {
        return Err(match source.kind() {
            std::io::ErrorKind::NotFound => no_such_device(name),
            _ => Error::reading(&path, source),
        });
    }
    let number = node_number(root, &path).ok_or_else(|| Error::NotBlockDevice {
        path: name.to_owned(),
    })?;
    let directory = root.path("/sys/dev/block").join(number);
    if !directory.exists() {
        return Err(no_such_device(name));
    }
    from_directory(&directory)
}

fn node_number(root: &Root, path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    if metadata.file_type().is_block_device() {
        let device = metadata.rdev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        return Some(format!("{major}:{minor}"));
    }
    if root.is_system() || !metadata.is_file() {
        return None;
    }
    let text = files::read_optional(path)?;
    text.strip_prefix("block ").map(str::to_owned)
}

/// Finds the disk, and the partition, with the device number `MAJOR:MINOR`.
pub fn by_number(root: &Root, number: &str) -> Result<Resolved> {
    from_directory(&root.path("/sys/dev/block").join(number))
}

fn no_such_device(name: &str) -> Error {
    Error::NoSuchDevice {
        name: name.to_owned(),
    }
}

fn from_directory(link: &Path) -> Result<Resolved> {
    let directory = fs::canonicalize(link).map_err(|source| Error::reading(link, source))?;
    let name = file_name(&directory);
    if !directory.join("partition").exists() {
        let partition = None;
        let disk = Disk { name, directory };
        return Ok(Resolved { disk, partition });
    }
    let whole = directory.parent().unwrap_or(&directory).to_owned();
    let disk = Disk {
        name: file_name(&whole),
        directory: whole,
    };
    let partition = Some(name);
    Ok(Resolved { disk, partition })
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// All whole disks that queue I/O themselves, sorted by name. Disks of size 0
/// (loop devices without a file, empty drives) are left out.
pub fn disks(root: &Root) -> Result<Vec<Disk>> {
    let directory = root.path("/sys/block");
    let mut disks = Vec::new();
    for name in files::names(&directory)? {
        // A disk can go away while the directory is read.
        let Ok(resolved) = from_directory(&directory.join(name)) else {
            continue;
        };
        let disk = resolved.disk;
        if disk.number("size") != Some(0) && disk.schedulers().is_ok() {
            disks.push(disk);
        }
    }
    Ok(disks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn scheduler_files_are_parsed() {
        let parse = |text| Schedulers::parse(text).map(|found| found.current);
        assert_eq!(
            parse("none [mq-deadline] kyber\n").as_deref(),
            Some("mq-deadline")
        );
        assert_eq!(parse("[none]\n").as_deref(), Some("none"));
        assert_eq!(parse("none\n"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn names_paths_links_and_partitions_lead_to_the_disk() {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "[none] mq-deadline");
        fixture.partition("sda", "sda1", "8:1");
        fixture.link("/dev/disk/by-id/ata-1", "../../sda");
        for name in ["sda", "/dev/sda", "/dev/disk/by-id/ata-1"] {
            let resolved = resolve(fixture.root(), name).unwrap();
            assert_eq!(resolved.disk.name, "sda", "{name}");
            assert_eq!(resolved.partition, None, "{name}");
        }
        for name in ["sda1", "/dev/sda1"] {
            let resolved = resolve(fixture.root(), name).unwrap();
            assert_eq!(resolved.disk.name, "sda", "{name}");
            assert_eq!(resolved.partition.as_deref(), Some("sda1"), "{name}");
        }
    }

    #[test]
    fn wrong_names_are_refused() {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "[none]");
        fixture.file("/dev/null", "");
        for name in ["sdb", "/dev/sdb", "", "..", "../sda", "/sys/class/block"] {
            assert!(resolve(fixture.root(), name).is_err(), "{name}");
        }
        let error = resolve(fixture.root(), "/dev/null").unwrap_err();
        assert!(matches!(error, Error::NotBlockDevice { .. }));
    }

    #[test]
    fn stacked_devices_name_the_disks_below() {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "[none]");
        fixture.partition("sda", "sda1", "8:1");
        fixture.disk("sdb", "8:16", "[none]");
        fixture.disk("md0", "9:0", "none");
        fixture.directory("/sys/devices/virtual/block/md0/md");
        fixture.slave("md0", "sda1");
        fixture.slave("md0", "sdb");
        fixture.disk("dm-0", "253:0", "none");
        fixture.directory("/sys/devices/virtual/block/dm-0/dm");
        fixture.slave("dm-0", "md0");
        let disk = resolve(fixture.root(), "dm-0").unwrap().disk;
        match disk.check_can_schedule().unwrap_err() {
            Error::StackedDevice { disks, .. } => assert_eq!(disks, ["sda", "sdb"]),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn only_disks_with_a_queue_and_a_size_are_listed() {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "[none] mq-deadline");
        fixture.disk("dm-0", "253:0", "none");
        fixture.disk("loop0", "7:0", "[none] mq-deadline");
        fixture.file("/sys/devices/virtual/block/loop0/size", "0\n");
        let names: Vec<_> = disks(fixture.root())
            .unwrap()
            .into_iter()
            .map(|disk| disk.name)
            .collect();
        assert_eq!(names, ["sda"]);
    }
}
