// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Disks that are put under fgio at each boot: a udev rule for each, and the module in
//! modules-load.d.
//!
//! A rule runs `fgio enable` when its disk appears, so that the drive's priority and the memory of
//! the former scheduler are as if an administrator had done it. It acts on ACTION "add" alone: a
//! disk that was taken from fgio by hand stays so until it appears again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use serde::Serialize;

use crate::block::{self, Disk};
use crate::scheduler::Options;
use crate::{Error, FGIO, Result, Root, files};

/// The rules. After the rules that find out serial numbers (60-persistent-storage.rules).
pub const RULES: &str = "/etc/udev/rules.d/90-fgio-disks.rules";
/// The file that loads the module at boot.
pub const MODULES: &str = "/etc/modules-load.d/fgio.conf";

const RULES_HEAD: &str =
    "# Disks that `fgio enable DEV --persist` puts under fgio; `fgio disable DEV` removes them.\n";
const MODULES_TEXT: &str =
    "# Written by `fgio enable DEV --persist`, removed by the last `fgio disable DEV`.\nfgio\n";
const RULE_BEGIN: &str = "ACTION==\"add\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", ";
const NO_DRIVE_PRIORITY: &str = " --no-drive-priority";
const NAME: &str = "KERNEL";
/// Properties by which udev knows a disk, the best first.
const PROPERTIES: [&str; 3] = ["ID_WWN_WITH_EXTENSION", "ID_WWN", "ID_SERIAL"];

/// How a rule recognizes its disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// A property of udev, or `KERNEL` for the kernel's name.
    property: String,
    value: String,
}

impl Identity {
    /// Whether it stays with the disk; the kernel's name may be another disk's at the next boot.
    pub fn is_stable(&self) -> bool {
        self.property != NAME
    }

    /// As a reader is told: `ID_WWN 0x5000c500a1b2c3d4`, or `name sda`.
    pub fn describe(&self) -> String {
        let property = match self.is_stable() {
            true => &self.property,
            false => "name",
        };
        format!("{property} {}", self.value)
    }

    fn condition(&self) -> String {
        match self.is_stable() {
            true => format!("ENV{{{}}}==\"{}\"", self.property, self.value),
            false => format!("{NAME}==\"{}\"", self.value),
        }
    }

    fn parse(condition: &str) -> Option<Self> {
        let (property, value) = condition.split_once("==")?;
        let property = match property.strip_prefix("ENV{") {
            Some(rest) => rest.strip_suffix('}')?,
            None => property,
        };
        let value = value.strip_prefix('"')?.strip_suffix('"')?;
        Some(Self {
            property: property.to_owned(),
            value: value.to_owned(),
        })
    }

    fn is_of(&self, root: &Root, disk: &Disk) -> bool {
        let found = match self.is_stable() {
            true => properties(root, disk).remove(&self.property),
            false => Some(disk.name.clone()),
        };
        found.is_some_and(|value| literal(&value) == self.value)
    }
}

/// A line of [`RULES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub identity: Identity,
    /// The command that it runs.
    pub program: PathBuf,
    drive_priority: bool,
}

impl Rule {
    fn line(&self) -> String {
        let option = match self.drive_priority {
            true => "",
            false => NO_DRIVE_PRIORITY,
        };
        format!(
            "{RULE_BEGIN}{}, RUN+=\"{} enable $kernel{option}\"",
            self.identity.condition(),
            self.program.display()
        )
    }

    /// `None`: a line of other hands.
    fn parse(line: &str) -> Option<Self> {
        let (condition, run) = line.strip_prefix(RULE_BEGIN)?.split_once(", RUN+=\"")?;
        let run = run.strip_suffix('"')?;
        let (run, drive_priority) = match run.strip_suffix(NO_DRIVE_PRIORITY) {
            Some(run) => (run, false),
            None => (run, true),
        };
        Some(Self {
            identity: Identity::parse(condition)?,
            program: run.strip_suffix(" enable $kernel")?.into(),
            drive_priority,
        })
    }

    /// Whether the rule is for this disk.
    pub fn is_of(&self, root: &Root, disk: &Disk) -> bool {
        self.identity.is_of(root, disk)
    }
}

/// The outcome of [`persist`].
#[derive(Debug, Serialize)]
pub struct Persisted {
    pub identity: Identity,
    /// `false` when it was so before.
    pub changed: bool,
}

/// Has the disk that `name` stands for put under fgio whenever it appears. Needs root.
pub fn persist(root: &Root, name: &str, options: Options) -> Result<Persisted> {
    let disk = block::resolve(root, name)?.disk;
    let rule = Rule {
        identity: identify(root, &disk)?,
        program: program(root)?,
        drive_priority: options.drive_priority,
    };
    let _lock = lock(root)?;
    let old = text(root)?;
    let (mine, mut new) = without(root, &disk, &old);
    let changed = mine != [rule.clone()];
    if !is_loaded_at_boot(root) {
        files::replace(root, MODULES, MODULES_TEXT)?;
    }
    if changed {
        if new.is_empty() {
            new += RULES_HEAD;
        }
        new += &format!("{}\n", rule.line());
        files::replace(root, RULES, &new)?;
    }
    Ok(Persisted {
        identity: rule.identity,
        changed,
    })
}

/// Undoes [`persist`]. Returns whether there was anything to undo. Needs root, if so.
pub fn forget(root: &Root, name: &str) -> Result<bool> {
    let disk = block::resolve(root, name)?.disk;
    if !rules(root)?.iter().any(|rule| rule.is_of(root, &disk)) {
        return Ok(false);
    }
    let _lock = lock(root)?;
    let (_, new) = without(root, &disk, &text(root)?);
    if new.lines().any(|line| Rule::parse(line).is_some()) {
        files::replace(root, RULES, &new)?;
        return Ok(true);
    }
    let rest = if new == RULES_HEAD { "" } else { &new };
    files::replace(root, RULES, rest)?;
    if files::read_optional(&root.path(MODULES)).as_deref() == Some(MODULES_TEXT.trim()) {
        files::replace(root, MODULES, "")?;
    }
    Ok(true)
}

/// The rules that [`persist`] wrote.
pub fn rules(root: &Root) -> Result<Vec<Rule>> {
    Ok(text(root)?.lines().filter_map(Rule::parse).collect())
}

/// Whether a file of modules-load.d names the module.
pub fn is_loaded_at_boot(root: &Root) -> bool {
    const DIRECTORIES: [&str; 5] = [
        "/etc/modules-load.d",
        "/run/modules-load.d",
        "/usr/local/lib/modules-load.d",
        "/usr/lib/modules-load.d",
        "/lib/modules-load.d",
    ];
    let names_it = |path: &Path| {
        let text = files::read_optional(path).unwrap_or_default();
        text.lines().any(|line| line.trim() == FGIO)
    };
    let files = DIRECTORIES.iter().flat_map(|directory| {
        let directory = root.path(directory);
        let names = files::names(&directory).unwrap_or_default();
        names.into_iter().map(move |name| directory.join(name))
    });
    files.into_iter().any(|path| names_it(&path)) || names_it(&root.path("/etc/modules"))
}

fn text(root: &Root) -> Result<String> {
    let path = root.path(RULES);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(Error::reading(&path, source)),
    }
}

/// The rules for the disk, and all other lines.
fn without(root: &Root, disk: &Disk, text: &str) -> (Vec<Rule>, String) {
    let mut mine = Vec::new();
    let mut rest = String::new();
    for line in text.lines() {
        match Rule::parse(line) {
            Some(rule) if rule.is_of(root, disk) => mine.push(rule),
            _ => rest += &format!("{line}\n"),
        }
    }
    (mine, rest)
}

/// One writer at a time; until it is closed.
fn lock(root: &Root) -> Result<File> {
    let path = root.path(RULES);
    let directory = path.parent().unwrap_or(&path);
    fs::create_dir_all(directory)
        .and_then(|()| File::open(directory))
        .and_then(|file| {
            rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
            Ok(file)
        })
        .map_err(|source| Error::writing(directory, source))
}

/// The entry of a disk in the database of udev, which `udevadm info` shows.
fn properties(root: &Root, disk: &Disk) -> BTreeMap<String, String> {
    let number = disk.device_number().unwrap_or_default();
    let path = root.path(format!("/run/udev/data/b{number}"));
    let text = files::read_optional(&path).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.strip_prefix("E:")?.split_once('='))
        .map(|(property, value)| (property.to_owned(), value.to_owned()))
        .collect()
}

/// A property that no other disk of the system has. Virtual disks may share a serial number, the namespaces
/// of an NVMe drive do.
fn identify(root: &Root, disk: &Disk) -> Result<Identity> {
    let mine = properties(root, disk);
    let mut others = Vec::new();
    for name in files::names(&root.path("/sys/block"))? {
        if name != disk.name
            && let Ok(other) = block::resolve(root, &name)
        {
            others.push(properties(root, &other.disk));
        }
    }
    let unique = PROPERTIES.iter().find_map(|&property| {
        let value = mine.get(property).filter(|value| !value.is_empty())?;
        let is_shared = others
            .iter()
            .any(|other| other.get(property) == Some(value));
        (!is_shared).then_some((property, value.as_str()))
    });
    let (property, value) = unique.unwrap_or((NAME, &disk.name));
    Ok(Identity {
        property: property.to_owned(),
        value: literal(value),
    })
}

/// A pattern of udev for a text: a special character of patterns matches any one.
fn literal(value: &str) -> String {
    let is_plain = |character: char| !character.is_control() && !r#"*?[]|\"$%"#.contains(character);
    value
        .chars()
        .map(|character| if is_plain(character) { character } else { '?' })
        .collect()
}

/// The command that rules run, as root: this one, where only root can change it.
fn program(root: &Root) -> Result<PathBuf> {
    if !root.is_system() {
        return Ok("/usr/bin/fgio".into());
    }
    let path = std::env::current_exe()
        .and_then(fs::canonicalize)
        .map_err(|source| Error::reading(Path::new("/proc/self/exe"), source))?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._+-".contains(&byte);
    let is_roots = |path: &Path| {
        fs::metadata(path).is_ok_and(|found| found.uid() == 0 && found.mode() & 0o022 == 0)
    };
    if path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .copied()
        .all(is_plain)
        && path.ancestors().all(is_roots)
    {
        return Ok(path);
    }
    Err(Error::ProgramNotRoots { path })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    const OPTIONS: Options = Options {
        drive_priority: true,
    };

    fn fixture() -> Fixture {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "none [fgio]");
        fixture.partition("sda", "sda1", "8:1");
        fixture.disk("sdb", "8:16", "none [fgio]");
        fixture
    }

    fn udev(fixture: &Fixture, number: &str, properties: &str) {
        fixture.file(&format!("/run/udev/data/b{number}"), properties);
    }

    fn identity(fixture: &Fixture, name: &str) -> String {
        let persisted = persist(fixture.root(), name, OPTIONS).unwrap();
        persisted.identity.describe()
    }

    #[test]
    fn the_best_that_no_other_disk_has_counts() {
        let fixture = fixture();
        assert_eq!(identity(&fixture, "sda"), "name sda");
        udev(&fixture, "8:0", "S:disk/by-id/x\nE:ID_SERIAL=a b*\n");
        assert_eq!(identity(&fixture, "sda1"), "ID_SERIAL a b?");
        udev(&fixture, "8:0", "E:ID_SERIAL=same\nE:ID_WWN=0x1\n");
        udev(&fixture, "8:16", "E:ID_SERIAL=same\n");
        assert_eq!(identity(&fixture, "sda"), "ID_WWN 0x1");
        assert_eq!(identity(&fixture, "sdb"), "name sdb");
    }

    #[test]
    fn written_files_are_undone() {
        let fixture = fixture();
        udev(&fixture, "8:0", "E:ID_WWN=0x1\n");
        assert!(persist(fixture.root(), "sda", OPTIONS).unwrap().changed);
        let written = fixture.text(RULES);
        assert!(written.ends_with("ENV{ID_WWN}==\"0x1\", RUN+=\"/usr/bin/fgio enable $kernel\"\n"));
        assert!(is_loaded_at_boot(fixture.root()));
        assert!(!persist(fixture.root(), "sda", OPTIONS).unwrap().changed);
        assert_eq!(fixture.text(RULES), written);
        persist(fixture.root(), "sdb", OPTIONS).unwrap();

        assert!(forget(fixture.root(), "sdb").unwrap());
        assert!(!forget(fixture.root(), "sdb").unwrap());
        assert_eq!(fixture.text(RULES), written);
        assert!(forget(fixture.root(), "sda").unwrap());
        assert!(!fixture.exists(RULES) && !fixture.exists(MODULES));
        assert!(!is_loaded_at_boot(fixture.root()));
    }

    #[test]
    fn a_rule_follows_its_disk_and_its_options() {
        let fixture = fixture();
        persist(fixture.root(), "sda", OPTIONS).unwrap();
        let options = Options {
            drive_priority: false,
        };
        assert!(persist(fixture.root(), "sda", options).unwrap().changed);
        udev(&fixture, "8:0", "E:ID_SERIAL=s\n");
        persist(fixture.root(), "sda", options).unwrap();
        let rules = rules(fixture.root()).unwrap();
        assert_eq!(rules.len(), 1, "{rules:?}");
        assert!(!rules[0].drive_priority && rules[0].identity.is_stable());
        fixture.disk("sdz", "8:32", "none [fgio]");
        udev(&fixture, "8:32", "E:ID_SERIAL=s\n");
        let moved = block::resolve(fixture.root(), "sdz").unwrap().disk;
        assert!(rules[0].is_of(fixture.root(), &moved));
    }

    #[test]
    fn lines_of_other_hands_stay() {
        let fixture = fixture();
        let others = "# mine\nKERNEL==\"sdc\", ATTR{queue/nr_requests}=\"64\"\n";
        fixture.file(RULES, others);
        fixture.file(MODULES, "fgio\nbfq\n");
        persist(fixture.root(), "sda", OPTIONS).unwrap();
        assert!(fixture.text(RULES).starts_with(others));
        forget(fixture.root(), "sda").unwrap();
        assert_eq!(fixture.text(RULES), others);
    }
}
