// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The target of a measurement: a disk, a partition, a device on top of disks, a file, or a
//! file made for it; and whether writing to it destroys anything.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::load::Buffer;
use crate::size::{SIZE_MIN, size};
use crate::spec::Announced;
use fgio_sys::block::{self, Disk, Resolved};
use fgio_sys::error::is_permission;
use fgio_sys::{Root, files};

use crate::{Error, Result};

/// A file made for measuring takes at most this share of the free space.
const FREE_SHARE: u64 = 2;

const FILL_BYTES: usize = 1 << 20;

/// Permitted access to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    /// Write to a file of this size, made in the directory that is named.
    NewFile(u64),
    /// Write to the named device, and destroy its content.
    Destroy,
}

/// The target, open for direct I/O.
#[derive(Debug)]
pub struct Target {
    pub file: File,
    pub bytes: u64,
    /// In a few words, without anything that tells one drive from another of its model.
    pub what: String,
    /// The maker's name for the drive, where the kernel has one.
    pub model: Option<String>,
    /// The whole disk that it is on.
    pub disk: Option<Disk>,
    /// Reservations about the figures.
    pub notes: Vec<String>,
}

impl Target {
    /// Finds and opens the target `name`. Writes nothing yet.
    pub fn open(root: &Root, name: &str, access: Access) -> Result<Self> {
        let target = match block::resolve(root, name) {
            Ok(resolved) => device(root, name, resolved, access)?,
            // Not a device, but there: a file or a directory.
            Err(error) => match fs::metadata(name) {
                Ok(metadata) if metadata.is_dir() => directory(root, Path::new(name), access)?,
                Ok(metadata) if metadata.is_file() => file(root, Path::new(name), access)?,
                _ => return Err(error.into()),
            },
        };
        if target.bytes < SIZE_MIN {
            return Err(Error::TooSmallToMeasure {
                name: name.to_owned(),
                bytes: target.bytes,
            });
        }
        Ok(target)
    }

    /// Writes all of the file that was made: of parts without data the drive knows nothing.
    /// Returns whether `wait` ended it.
    pub fn fill(&self, wait: crate::load::Wait) -> Result<bool> {
        let failed = |source| Error::Measuring {
            action: "write to",
            name: self.what.clone(),
            source,
        };
        let mut place = 0;
        while place < self.bytes {
            let mut buffer = Buffer::new(FILL_BYTES);
            let bytes = buffer.slice().len().min((self.bytes - place) as usize);
            let data = &buffer.slice()[..bytes];
            self.file.write_all_at(data, place).map_err(failed)?;
            place += bytes as u64;
            if wait(std::time::Duration::ZERO).map_err(failed)? {
                return Ok(true);
            }
        }
        self.file.sync_all().map_err(failed)?;
        Ok(false)
    }

    /// The properties that the drive announces; of a file, the drive below it.
    pub fn announced(&self) -> Announced {
        let Some(disk) = &self.disk else {
            // Whether a flush does anything there is not known: its time says so.
            return Announced {
                has_volatile_cache: true,
                ..Announced::default()
            };
        };
        let number = |file| disk.number(file).unwrap_or(0);
        Announced {
            is_rotational: number("queue/rotational") == 1,
            has_volatile_cache: disk.attribute("queue/write_cache").as_deref()
                == Some("write back"),
            physical_block: number("queue/physical_block_size"),
            io_max: number("queue/max_sectors_kb") << 10,
            // Of SCSI and SATA; the others have room for more than is measured.
            queue_depth: number("device/queue_depth"),
        }
    }

    /// Bytes that the disk has moved, for all that use it.
    pub fn moved(&self) -> Option<u64> {
        const SECTOR: u64 = 512;
        // Documentation/block/stat.rst: sectors read, and written.
        const SECTORS: [usize; 2] = [2, 6];
        let stat = self.disk.as_ref()?.attribute("stat")?;
        let fields: Vec<u64> = stat
            .split_whitespace()
            .map(|field| field.parse().unwrap_or(0))
            .collect();
        SECTORS
            .iter()
            .map(|field| fields.get(*field).copied())
            .sum::<Option<u64>>()
            .map(|sectors| sectors * SECTOR)
    }

    pub fn scheduler(&self) -> Option<String> {
        Some(self.disk.as_ref()?.schedulers().ok()?.current)
    }
}

fn direct(path: &Path, flags: OFlags, is_written: bool) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(is_written)
        .custom_flags((OFlags::DIRECT | flags).bits() as i32)
        .open(path)
}

fn refused(name: &str, access: Access, source: io::Error) -> Error {
    let name = name.to_owned();
    match Errno::from_io_error(&source) {
        Some(Errno::BUSY) => Error::DeviceInUse { name },
        Some(Errno::INVAL) => Error::NoDirectIo { name },
        _ if is_permission(&source) => Error::MeasureForbidden {
            name,
            action: match access {
                Access::Read => "read",
                _ => "write to",
            },
        },
        _ => Error::Measuring {
            action: "open",
            name,
            source,
        },
    }
}

fn device(root: &Root, name: &str, resolved: Resolved, access: Access) -> Result<Target> {
    let Resolved { disk, partition } = resolved;
    let short = partition.as_deref().unwrap_or(&disk.name).to_owned();
    let node = root.path(Path::new("/dev").join(short.replace('!', "/")));
    let file = match access {
        Access::Read => direct(&node, OFlags::empty(), false),
        Access::NewFile(_) => return Err(Error::WriteNeedsConsent { name: short }),
        // The kernel refuses this while a file system, a volume or swap is on it, and keeps these
        // off while it is open.
        Access::Destroy => direct(&node, OFlags::EXCL, true),
    };
    let mut file = file.map_err(|source| refused(name, access, source))?;
    if access == Access::Destroy {
        let found = signatures(root, &node).map_err(|source| Error::SignaturesUnknown {
            name: short.clone(),
            source,
        })?;
        if !found.is_empty() {
            return Err(Error::HoldsData { name: short, found });
        }
    }
    let bytes = file
        .seek(SeekFrom::End(0))
        .map_err(|source| refused(name, access, source))?;
    let below = files::names(&disk.path("slaves")).unwrap_or_default();
    let on = match below.as_slice() {
        [] => String::new(),
        below => format!(" on {}", below.join(" and ")),
    };
    let what = match &partition {
        Some(partition) => format!("partition {partition}, {}", size(bytes)),
        None => format!("{}{on}, {}", disk.name, size(bytes)),
    };
    Ok(Target {
        file,
        bytes,
        what,
        model: model(&disk),
        disk: Some(disk),
        notes: Vec::new(),
    })
}

/// Signatures that wipefs(8) finds on a device: it knows every file system and partition table there is.
fn signatures(root: &Root, node: &Path) -> io::Result<String> {
    if !root.is_system() {
        return Ok(String::new());
    }
    let output = Command::new("wipefs")
        .args(["--no-act", "--noheadings", "--output", "TYPE"])
        .arg(node)
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(said.trim().to_owned()));
    }
    let types = String::from_utf8_lossy(&output.stdout);
    let mut types: Vec<&str> = types.split_whitespace().collect();
    types.dedup();
    Ok(types.join(", "))
}

fn file(root: &Root, path: &Path, access: Access) -> Result<Target> {
    let name = path.display().to_string();
    if access != Access::Read {
        return Err(Error::WriteToFile { name });
    }
    let file =
        direct(path, OFlags::empty(), false).map_err(|source| refused(&name, access, source))?;
    let metadata = file
        .metadata()
        .map_err(|source| refused(&name, access, source))?;
    let mut target = in_file_system(root, file, &metadata, "a file");
    if metadata.blocks() * 512 < metadata.len() / 10 * 9 {
        target.notes.push(
            "parts of the file have no data, and reading these takes no I/O: fill it first"
                .to_owned(),
        );
    }
    Ok(target)
}

fn directory(root: &Root, path: &Path, access: Access) -> Result<Target> {
    let name = path.display().to_string();
    let bytes = match access {
        Access::NewFile(bytes) => bytes,
        Access::Destroy => return Err(Error::WriteToFile { name }),
        Access::Read => return Err(Error::DirectoryNeedsWrite { name }),
    };
    let failed = |source| refused(&name, access, source);
    let space = rustix::fs::statvfs(path).map_err(|errno| failed(errno.into()))?;
    let free = space.f_bavail * space.f_frsize;
    if free / FREE_SHARE < bytes {
        return Err(Error::NoRoomToMeasure { name, bytes, free });
    }
    // It has no name: the file goes with the command, however that ends.
    let file = tempfile::tempfile_in(path).map_err(failed)?;
    let flags = rustix::fs::fcntl_getfl(&file).map_err(|errno| failed(errno.into()))?;
    rustix::fs::fcntl_setfl(&file, flags | OFlags::DIRECT).map_err(|errno| failed(errno.into()))?;
    let metadata = file.metadata().map_err(failed)?;
    let mut target = in_file_system(root, file, &metadata, "a new file");
    target.what = format!("a new file of {}{}", size(bytes), on(&target.disk));
    target.bytes = bytes;
    target
        .notes
        .push("a file of its own is a small part of a drive, which may hold it in a cache and seeks less within it".to_owned());
    Ok(target)
}

fn in_file_system(root: &Root, file: File, metadata: &fs::Metadata, sort: &str) -> Target {
    let device = metadata.dev();
    let number = format!(
        "{}:{}",
        rustix::fs::major(device),
        rustix::fs::minor(device)
    );
    // File systems on several devices, and those without any, have a number of their own.
    let disk = block::by_number(root, &number)
        .ok()
        .map(|resolved| resolved.disk);
    Target {
        what: format!("{sort} of {}{}", size(metadata.len()), on(&disk)),
        bytes: metadata.len(),
        model: disk.as_ref().and_then(model),
        notes: Vec::new(),
        file,
        disk,
    }
}

fn on(disk: &Option<Disk>) -> String {
    disk.as_ref()
        .map_or_else(String::new, |disk| format!(" on {}", disk.name))
}

fn model(disk: &Disk) -> Option<String> {
    let text = disk.attribute("device/model")?;
    let words: Vec<&str> = text.split_whitespace().collect();
    // A comment in the model file is a line of text.
    let printable = |character: &char| !character.is_control();
    let text: String = words.join(" ").chars().filter(printable).collect();
    (!text.is_empty()).then_some(text)
}

/// The file of the model: refuses one that exists, unless it is to be replaced.
pub fn check_output(path: &Path, is_replaced: bool) -> Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| Error::NotFileName {
        path: path.to_owned(),
    })?;
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let directory = fs::canonicalize(directory).map_err(|source| Error::writing(path, source))?;
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(Error::NotFileName {
            path: path.to_owned(),
        }),
        Ok(_) if !is_replaced => Err(Error::OutputExists {
            path: path.to_owned(),
        }),
        Err(source) if source.kind() != ErrorKind::NotFound => Err(Error::writing(path, source)),
        _ => Ok(directory.join(name)),
    }
}

/// Writes a file as a whole or not at all; one that appeared meanwhile stays.
pub fn write_output(path: &Path, text: &str, is_replaced: bool) -> Result<()> {
    let failed = |source: io::Error| Error::writing(path, source);
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666))
        .tempfile_in(directory)
        .map_err(failed)?;
    io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    let kept = match is_replaced {
        true => file.persist(path),
        false => file.persist_noclobber(path),
    };
    match kept {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Err(Error::OutputExists {
            path: path.to_owned(),
        }),
        Err(error) => Err(failed(error.error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fgio_sys::fixture::Fixture;

    /// A folder of the build: memory-backed file systems, as /tmp may be, may refuse direct I/O.
    fn folder() -> PathBuf {
        let program = std::env::current_exe().unwrap();
        program.parent().unwrap().to_owned()
    }

    fn holder(bytes: u64) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new_in(folder()).unwrap();
        file.as_file().set_len(bytes).unwrap();
        file
    }

    fn name(path: &Path) -> &str {
        path.to_str().unwrap()
    }

    #[test]
    fn a_file_is_measured_as_it_is() {
        let file = holder(SIZE_MIN);
        let target = Target::open(&Root::system(), name(file.path()), Access::Read).unwrap();
        assert_eq!(target.bytes, SIZE_MIN);
        assert!(
            target.what.starts_with("a file of 16 MiB"),
            "{}",
            target.what
        );
        assert!(target.notes[0].contains("no data"));
        assert!(target.file.write_at(&[0; 512], 0).is_err());
    }

    #[test]
    fn unsuitable_targets_are_named() {
        let open = |name: &str, access| Target::open(&Root::system(), name, access).unwrap_err();
        let small = holder(4096);
        let error = open(name(small.path()), Access::Read);
        assert!(matches!(
            error,
            Error::TooSmallToMeasure { bytes: 4096, .. }
        ));
        let directory = tempfile::tempdir().unwrap();
        let error = open(name(directory.path()), Access::Read);
        assert!(matches!(error, Error::DirectoryNeedsWrite { .. }));
        for access in [Access::NewFile(1), Access::Destroy] {
            let error = open(name(small.path()), access);
            assert!(matches!(error, Error::WriteToFile { .. }));
        }
        let error = open(name(directory.path()), Access::Destroy);
        assert!(matches!(error, Error::WriteToFile { .. }));
        let error = open(name(directory.path()), Access::NewFile(1 << 60));
        assert!(matches!(error, Error::NoRoomToMeasure { .. }));
        assert!(matches!(
            open("/dev/null", Access::Read),
            Error::System(fgio_sys::Error::NotBlockDevice { .. })
        ));
        assert!(matches!(
            open("nosuch", Access::Read),
            Error::System(fgio_sys::Error::NoSuchDevice { .. })
        ));
    }

    #[test]
    fn refusals_of_the_kernel_are_explained() {
        let told = |errno: Errno| refused("sda", Access::Destroy, errno.into());
        assert!(matches!(told(Errno::BUSY), Error::DeviceInUse { .. }));
        assert!(matches!(told(Errno::INVAL), Error::NoDirectIo { .. }));
        assert!(matches!(
            told(Errno::ACCESS),
            Error::MeasureForbidden { .. }
        ));
        assert!(matches!(told(Errno::IO), Error::Measuring { .. }));
    }

    #[test]
    fn a_new_file_has_no_name_and_its_data_is_written() {
        let directory = tempfile::tempdir_in(folder()).unwrap();
        let access = Access::NewFile(SIZE_MIN);
        let target = Target::open(&Root::system(), name(directory.path()), access).unwrap();
        assert!(fs::read_dir(directory.path()).unwrap().next().is_none());
        assert!(!target.fill(&mut |_| Ok(false)).unwrap());
        assert_eq!(target.file.metadata().unwrap().len(), SIZE_MIN);
        assert!(target.fill(&mut |_| Ok(true)).unwrap());
        assert!(target.fill(&mut |_| Err(io::Error::other("no"))).is_err());
    }

    /// A disk whose node is a file that direct I/O works on.
    fn disk() -> Fixture {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "none [kyber]");
        let sys = "/sys/devices/virtual/block/sda";
        fixture.file(&format!("{sys}/device/model"), "Disk  of\tLab \n");
        fixture.file(&format!("{sys}/device/serial"), "S123\n");
        fixture.file(&format!("{sys}/queue/rotational"), "1\n");
        fixture.file(&format!("{sys}/queue/write_cache"), "write back\n");
        fixture.file(&format!("{sys}/queue/max_sectors_kb"), "1280\n");
        fixture.file(&format!("{sys}/queue/physical_block_size"), "4096\n");
        fixture.file(&format!("{sys}/device/queue_depth"), "32\n");
        fixture.file(&format!("{sys}/stat"), "1 0 16 0 1 0 8 0 0 0 0\n");
        fixture
    }

    #[test]
    fn a_disk_is_described_without_its_identity() {
        let fixture = disk();
        let disk = block::resolve(fixture.root(), "sda").unwrap().disk;
        let target = Target {
            file: tempfile::tempfile().unwrap(),
            bytes: 1 << 40,
            what: String::new(),
            model: model(&disk),
            disk: Some(disk),
            notes: Vec::new(),
        };
        assert_eq!(target.model.as_deref(), Some("Disk of Lab"));
        assert_eq!(target.moved(), Some(24 * 512));
        assert_eq!(target.scheduler().as_deref(), Some("kyber"));
        let announced = target.announced();
        assert!(announced.is_rotational && announced.has_volatile_cache);
        assert_eq!(announced.physical_block, 4096);
        assert_eq!(announced.io_max, 1280 << 10);
        assert_eq!(announced.queue_depth, 32);
    }

    #[test]
    fn a_device_is_not_written_to_without_consent() {
        let fixture = disk();
        let access = Access::NewFile(SIZE_MIN);
        let error = Target::open(fixture.root(), "sda", access).unwrap_err();
        assert!(matches!(error, Error::WriteNeedsConsent { .. }));
    }

    #[test]
    fn outputs_are_whole_and_replace_nothing_unasked() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("drive.txt");
        let output = check_output(&path, false).unwrap();
        write_output(&output, "one\n", false).unwrap();
        assert!(matches!(
            check_output(&path, false),
            Err(Error::OutputExists { .. })
        ));
        let error = write_output(&output, "two\n", false).unwrap_err();
        assert!(matches!(error, Error::OutputExists { .. }));
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
        write_output(&check_output(&path, true).unwrap(), "two\n", true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two\n");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        for wrong in ["nosuch/drive.txt", ".", "/"] {
            assert!(
                check_output(&directory.path().join(wrong), true).is_err(),
                "{wrong}"
            );
        }
        assert!(write_output(&directory.path().join("nosuch/x"), "", false).is_err());
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(1 << 30), "1 GiB");
        assert_eq!(size(1_000_204_886_016), "931.5 GiB");
        assert_eq!(size(100), "100 bytes");
    }
}
