// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cgroups of the unified hierarchy: their paths, ids and I/O weights.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Error, Result, Root, files};

/// Where the unified hierarchy is mounted: alone, or beside those of version 1.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
const WEIGHT: &str = "io.weight";
/// A file that each cgroup of version 2 has, and none of version 1.
const MARK: &str = "cgroup.controllers";
const CONTROLLERS: &str = "cgroup.subtree_control";
const SYSTEMD: &str = "/run/systemd/system";
const UNITS: [&str; 3] = [".service", ".scope", ".slice"];

/// Weights that the kernel takes.
pub const WEIGHTS: std::ops::RangeInclusive<u32> = 1..=10_000;
/// The weight of a cgroup that was given no other.
pub const WEIGHT_DEFAULT: u32 = 100;

/// The id of the root cgroup.
pub const ROOT_ID: u64 = 1;

/// A cgroup, by its path from the root cgroup: `/system.slice/cron.service`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cgroup {
    path: String,
}

/// The outcome of [`set_weight`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Weighted {
    pub cgroup: Cgroup,
    pub previous: u32,
    pub weight: u32,
    pub changed: bool,
    /// The unit of systemd that the cgroup is: systemd may set its own weight again.
    pub unit: Option<String>,
}

impl Cgroup {
    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn is_root(&self) -> bool {
        self.path == "/"
    }

    /// `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        let (parent, _) = self.path.rsplit_once('/')?;
        (!self.is_root()).then(|| Self {
            path: if parent.is_empty() { "/" } else { parent }.to_owned(),
        })
    }

    /// Its name, if systemd manages it.
    fn unit(&self, root: &Root) -> Option<String> {
        let name = self.path.rsplit('/').next()?;
        let is_unit = UNITS.iter().any(|suffix| name.ends_with(suffix));
        (is_unit && root.path(SYSTEMD).is_dir()).then(|| name.to_owned())
    }

    fn directory(&self, root: &Root) -> Result<PathBuf> {
        Ok(hierarchy(root)?.join(self.path.trim_start_matches('/')))
    }

    /// The id that the module knows it by.
    pub fn id(&self, root: &Root) -> Result<u64> {
        let directory = self.directory(root)?;
        let metadata = fs::metadata(&directory).map_err(|_| Error::NoSuchCgroup {
            name: self.path.clone(),
        })?;
        Ok(metadata.ino())
    }

    /// The cgroup that its I/O is counted for: the nearest, from itself upward, that
    /// the io controller is enabled for.
    pub fn accounted(&self, root: &Root) -> Result<Self> {
        let mut cgroup = self.clone();
        while let Some(parent) = cgroup.parent() {
            if has_io(root, &parent)? {
                return Ok(cgroup);
            }
            cgroup = parent;
        }
        Ok(cgroup)
    }

    /// Its weight for all disks; `None` where it has none.
    pub fn weight(&self, root: &Root) -> Result<Option<u32>> {
        let text = files::read_optional(&self.directory(root)?.join(WEIGHT));
        Ok(text.as_deref().and_then(parse_weight))
    }
}

/// The line `default 100` of io.weight; others are of single disks.
pub(crate) fn parse_weight(text: &str) -> Option<u32> {
    let line = text.lines().find_map(|line| line.strip_prefix("default "));
    line.unwrap_or(text).trim().parse().ok()
}

fn has_io(root: &Root, cgroup: &Cgroup) -> Result<bool> {
    let text = files::read_optional(&cgroup.directory(root)?.join(CONTROLLERS));
    Ok(text.is_some_and(|text| text.split_whitespace().any(|word| word == "io")))
}

/// The folder of the root cgroup.
fn hierarchy(root: &Root) -> Result<PathBuf> {
    let mounts = MOUNTS.iter().map(|mount| root.path(mount));
    let mut mounts = mounts.filter(|mount| mount.join(MARK).is_file());
    mounts.next().ok_or(Error::NoCgroup2)
}

/// The cgroups that exist, by id.
pub fn paths(root: &Root) -> Result<BTreeMap<u64, Cgroup>> {
    let mut found = BTreeMap::new();
    let top = hierarchy(root)?;
    let id = fs::metadata(&top).map_or(ROOT_ID, |metadata| metadata.ino());
    let path = "/".to_owned();
    found.insert(id, Cgroup { path });
    walk(&top, "", &mut found);
    Ok(found)
}

/// Cgroups come and go meanwhile: one that cannot be read is not there.
fn walk(directory: &Path, path: &str, found: &mut BTreeMap<u64, Cgroup>) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = format!("{path}/{}", entry.file_name().to_string_lossy());
        walk(&entry.path(), &path, found);
        if let Ok(metadata) = entry.metadata() {
            found.insert(metadata.ino(), Cgroup { path });
        }
    }
}

/// The cgroup that a user names: a path from the root cgroup, a folder below
/// /sys/fs/cgroup, or the name of a unit or another cgroup, if one alone has it.
pub fn find(root: &Root, name: &str) -> Result<Cgroup> {
    let top = hierarchy(root)?;
    let mut path = name.trim_end_matches('/');
    for mount in MOUNTS.iter().rev() {
        if let Some(rest) = path.strip_prefix(mount)
            && (rest.is_empty() || rest.starts_with('/'))
        {
            path = rest;
            break;
        }
    }
    let none = || Error::NoSuchCgroup {
        name: name.to_owned(),
    };
    if name.is_empty() || path.split('/').any(|part| part == "..") {
        return Err(none());
    }
    let path = path.trim_start_matches('/');
    if top.join(path).join(MARK).is_file() {
        return Ok(Cgroup {
            path: format!("/{path}"),
        });
    }
    if path.contains('/') || name.starts_with('/') {
        return Err(none());
    }
    let mut named: Vec<Cgroup> = paths(root)?
        .into_values()
        .filter(|cgroup| cgroup.path.rsplit('/').next() == Some(path))
        .collect();
    match (named.pop(), named.len()) {
        (Some(cgroup), 0) => Ok(cgroup),
        (Some(cgroup), _) => Err(Error::AmbiguousCgroup {
            name: name.to_owned(),
            paths: named
                .into_iter()
                .chain([cgroup])
                .map(|one| one.path)
                .collect(),
        }),
        (None, _) => Err(none()),
    }
}

/// Gives a cgroup a weight for all disks, and checks that the kernel took it. Needs root.
pub fn set_weight(root: &Root, cgroup: &Cgroup, weight: u32) -> Result<Weighted> {
    let Some(parent) = cgroup.parent() else {
        return Err(Error::RootCgroup);
    };
    let unit = cgroup.unit(root);
    let path = cgroup.directory(root)?.join(WEIGHT);
    if !path.exists() {
        return Err(match has_io(root, &parent)? {
            true => Error::NoIoWeight,
            false => Error::IoNotEnabled {
                cgroup: cgroup.path.clone(),
                parent: parent.path,
                unit,
                weight,
            },
        });
    }
    let previous = cgroup.weight(root)?.unwrap_or(WEIGHT_DEFAULT);
    files::write_existing(&path, &format!("default {weight}"))
        .map_err(|source| Error::writing(&path, source))?;
    let found = cgroup.weight(root)?.unwrap_or(WEIGHT_DEFAULT);
    if found != weight {
        return Err(Error::SettingNotTaken {
            name: format!("io.weight of {}", cgroup.path),
            wanted: weight.to_string(),
            found: found.to_string(),
        });
    }
    Ok(Weighted {
        cgroup: cgroup.clone(),
        previous,
        weight,
        changed: previous != weight,
        unit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::fixture::Fixture;

    fn cgroup(fixture: &Fixture, path: &str, controllers: &str) {
        let folder = format!("/sys/fs/cgroup{path}");
        fixture.file(&format!("{folder}/{MARK}"), "io memory\n");
        fixture.file(&format!("{folder}/{CONTROLLERS}"), controllers);
    }

    /// /a has two cgroups with weights; /b has one that io is not enabled for.
    fn fixture() -> Fixture {
        let fixture = Fixture::new();
        cgroup(&fixture, "", "io memory\n");
        cgroup(&fixture, "/a", "memory io\n");
        cgroup(&fixture, "/b", "memory\n");
        for path in ["/a/x.service", "/a/y", "/b/y"] {
            cgroup(&fixture, path, "");
        }
        for path in ["/a", "/b", "/a/x.service", "/a/y"] {
            fixture.file(
                &format!("/sys/fs/cgroup{path}/{WEIGHT}"),
                "default 100\n8:0 700\n",
            );
        }
        fixture
    }

    fn named(fixture: &Fixture, name: &str) -> Result<String> {
        find(fixture.root(), name).map(|cgroup| cgroup.path)
    }

    #[test]
    fn cgroups_are_found_by_path_folder_and_name() {
        let fixture = fixture();
        for (name, path) in [
            ("/a/y", "/a/y"),
            ("a/y/", "/a/y"),
            ("/sys/fs/cgroup/b/y", "/b/y"),
            ("/sys/fs/cgroup", "/"),
            ("/", "/"),
            ("x.service", "/a/x.service"),
        ] {
            assert_eq!(named(&fixture, name).unwrap(), path, "{name}");
        }
        for name in [
            "/x.service",
            "a/z",
            "z",
            "",
            "../b",
            "a/../b",
            "/sys/fs/cgroups",
        ] {
            let error = named(&fixture, name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{name}");
        }
        let error = named(&fixture, "y").unwrap_err();
        assert!(
            error.to_string().contains("/a/y, /b/y") || error.to_string().contains("/b/y, /a/y")
        );
        let error = named(&Fixture::new(), "/a").unwrap_err();
        assert!(matches!(error, Error::NoCgroup2));
    }

    #[test]
    fn ids_lead_back_to_paths() {
        let fixture = fixture();
        let paths = paths(fixture.root()).unwrap();
        assert_eq!(paths.len(), 6);
        for cgroup in paths.values() {
            let id = cgroup.id(fixture.root()).unwrap();
            assert_eq!(paths.get(&id), Some(cgroup));
        }
    }

    #[test]
    fn weights_are_set_for_all_disks() {
        let fixture = fixture();
        let root = fixture.root();
        let cgroup = find(root, "x.service").unwrap();
        let weighted = set_weight(root, &cgroup, 300).unwrap();
        assert_eq!(
            (weighted.previous, weighted.weight, weighted.changed),
            (100, 300, true)
        );
        assert_eq!(weighted.unit, None);
        assert_eq!(
            fixture.text("/sys/fs/cgroup/a/x.service/io.weight"),
            "default 300"
        );
        fixture.directory(SYSTEMD);
        let weighted = set_weight(root, &cgroup, 300).unwrap();
        assert!(!weighted.changed);
        assert_eq!(weighted.unit.as_deref(), Some("x.service"));
    }

    #[test]
    fn refusals_say_what_to_do() {
        let fixture = fixture();
        let root = fixture.root();
        let refused = |name: &str| {
            let error = set_weight(root, &find(root, name).unwrap(), 300).unwrap_err();
            (error.to_string(), error.advice())
        };
        let (message, advice) = refused("/b/y");
        assert!(message.contains("not enabled for /b/y"), "{message}");
        assert!(
            advice.contains("echo +io >/sys/fs/cgroup/b/cgroup.subtree_control"),
            "{advice}"
        );
        let (_, advice) = refused("/");
        assert!(advice.contains("cgroup of their own"));
        // A unit of systemd, and a kernel without io.cost.
        cgroup(&fixture, "/b/z.service", "");
        fixture.directory(SYSTEMD);
        let (_, advice) = refused("z.service");
        assert!(
            advice.contains("systemctl set-property z.service IOWeight=300"),
            "{advice}"
        );
        fixture.remove("/sys/fs/cgroup/a/io.weight");
        let (message, _) = refused("/a");
        assert!(message.contains("io.cost"), "{message}");
    }

    #[test]
    fn io_is_counted_for_the_nearest_cgroup_with_the_controller() {
        let fixture = fixture();
        let root = fixture.root();
        for (name, accounted) in [("/a/y", "/a/y"), ("/b/y", "/b"), ("/", "/")] {
            let cgroup = find(root, name).unwrap().accounted(root).unwrap();
            assert_eq!(cgroup.path(), accounted, "{name}");
        }
    }
}
