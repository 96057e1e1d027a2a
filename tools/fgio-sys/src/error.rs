// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Errors: each names the failure and its remedy.

use std::io;
use std::path::{Path, PathBuf};

use crate::load_failure::LoadFailure;
use crate::supported;
use crate::uapi;

pub type Result<T> = std::result::Result<T, Error>;

/// The sort of failure of an [`Error`]. Stable: callers act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The system refused or did something else.
    OperationFailed,
    /// The module is not loaded, cannot be loaded or does not match the tools.
    ModuleUnavailable,
    /// The caller is not allowed to do this.
    PermissionDenied,
    /// No such device, task or setting.
    NotFound,
    /// The request makes no sense.
    Usage,
}

impl ErrorKind {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::OperationFailed => "operation-failed",
            Self::ModuleUnavailable => "module-unavailable",
            Self::PermissionDenied => "permission-denied",
            Self::NotFound => "not-found",
            Self::Usage => "usage",
        }
    }
}

/// A failure. `Display` names it; [`Error::advice`] has the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("{name}: no such block device")]
    NoSuchDevice { name: String },

    #[error("{path}: not a block device")]
    NotBlockDevice { path: String },

    #[error("{name} is a {kind} device, whose I/O is scheduled on the disks below it")]
    StackedDevice {
        name: String,
        kind: &'static str,
        disks: Vec<String>,
    },

    #[error("{name} is a multipath device, which fgio does not schedule yet")]
    MultipathDevice { name: String },

    #[error("{name} has no I/O scheduler")]
    NoScheduler { name: String },

    #[error("the kernel refused the scheduler {scheduler} for {device}: {source}")]
    SchedulerRefused {
        device: String,
        scheduler: String,
        source: io::Error,
    },

    #[error("{device} uses {found}, although {wanted} was written to it without an error")]
    SchedulerNotTaken {
        device: String,
        wanted: String,
        found: String,
    },

    #[error("the module fgio is not loaded")]
    ModuleNotLoaded,

    #[error("the module fgio could not be loaded: {message}")]
    ModuleLoad {
        message: String,
        failure: LoadFailure,
        release: String,
    },

    #[error("{reason}")]
    KernelUnsupported { reason: String },

    #[error("the module fgio is loaded, but {} does not exist", uapi::DEVICE_PATH)]
    DeviceFileMissing,

    #[error("{} may not be opened: permission denied", uapi::DEVICE_PATH)]
    DeviceFileForbidden,

    #[error("{} is not the device of the module fgio: {source}", uapi::DEVICE_PATH)]
    DeviceFileForeign { source: io::Error },

    #[error(
        "the module speaks version {module} of its interface, this command version {}",
        uapi::ABI_VERSION
    )]
    AbiMismatch { module: u32 },

    #[error("cannot {action}: permission denied")]
    Permission { action: String },

    #[error("{} or a folder that it is in can be changed by other users than root: no rule may run it at boot", path.display())]
    ProgramNotRoots { path: PathBuf },

    #[error("no thread or process has the id {id}")]
    NoSuchTask { id: i32 },

    #[error("thread {tid} belongs to another user{}", progress(.tagged))]
    TagNotAllowed { tid: i32, tagged: usize },

    #[error("thread {tid} is in none of the cgroups whose threads may be foreground{}", progress(.tagged))]
    CgroupNotListed { tid: i32, tagged: usize },

    #[error("thread {tid} cannot be tagged: its user or its cgroup has as many such threads as it may{}", progress(.tagged))]
    ForegroundLimit { tid: i32, tagged: usize },

    #[error("thread {tid} cannot be tagged: {maximum} threads are tagged already{}", progress(.tagged))]
    TagsFull {
        tid: i32,
        maximum: String,
        tagged: usize,
    },

    #[error("the module cannot keep tags on this kernel: its hook on thread exit did not attach")]
    TagsUnsupported,

    #[error("no disk {major}:{minor} is under fgio")]
    NotUnderFgio { major: u32, minor: u32 },

    #[error("the module refused the call {call}: {source}")]
    Call {
        call: &'static str,
        source: io::Error,
    },

    #[error("the loaded module is older than this command: it does not know the call {call}")]
    ModuleOlder { call: &'static str },

    #[error("the loaded module is older than this command: it has no setting {name}")]
    SettingMissing { name: String },

    #[error("the module has no setting {name}{}", suggestion(.near))]
    NoSuchSetting { name: String, near: Vec<String> },

    #[error("{text:?} is no value for {name}, which {}", sort(.is_switch))]
    SettingValue {
        name: String,
        text: String,
        is_switch: bool,
    },

    #[error("the module refused {value} for {name}{}: {source}", bounds(.range))]
    SettingRefused {
        name: String,
        value: String,
        range: Option<(u64, u64)>,
        source: io::Error,
    },

    #[error("{name} is {found}, although {wanted} was written to it without an error")]
    SettingNotTaken {
        name: String,
        wanted: String,
        found: String,
    },

    #[error("{name} can only be set when the module is loaded")]
    SettingAtLoad { name: String },

    #[error("no cgroup {name}")]
    NoSuchCgroup { name: String },

    #[error("several cgroups are named {name}: {}", paths.join(", "))]
    AmbiguousCgroup { name: String, paths: Vec<String> },

    #[error("cgroup v2 is not mounted on /sys/fs/cgroup")]
    NoCgroup2,

    #[error("the root cgroup has no weight: its tasks count as one more cgroup of weight 100")]
    RootCgroup,

    #[error("the io controller is not enabled for {cgroup}: its I/O counts as that of {parent}")]
    IoNotEnabled {
        cgroup: String,
        parent: String,
        /// The unit of systemd that the cgroup is, if it is one.
        unit: Option<String>,
        weight: u32,
    },

    #[error("this kernel keeps no io.weight: it has no io.cost")]
    NoIoWeight,

    #[error("cannot set the I/O priority: {source}")]
    SetPriority { source: io::Error },

    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },

    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Whether an error says that the caller is not allowed to do this.
pub fn is_permission(source: &io::Error) -> bool {
    matches!(
        source.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    )
}

fn progress(tagged: &usize) -> String {
    match tagged {
        0 => String::new(),
        1 => " (1 thread of the process was done before)".to_owned(),
        count => format!(" ({count} threads of the process were done before)"),
    }
}

fn suggestion(near: &[String]) -> String {
    match near {
        [] => String::new(),
        near => format!("; did you mean {}?", near.join(" or ")),
    }
}

fn sort(is_switch: &bool) -> &'static str {
    if *is_switch {
        "is on or off"
    } else {
        "is a whole number"
    }
}

fn bounds(range: &Option<(u64, u64)>) -> String {
    range.map_or_else(String::new, |(low, high)| {
        format!(", which is from {low} to {high}")
    })
}

impl Error {
    /// The error for a file that could not be read.
    pub fn reading(path: &Path, source: io::Error) -> Self {
        if is_permission(&source) {
            let action = format!("read {}", path.display());
            return Self::Permission { action };
        }
        Self::Read {
            path: path.to_owned(),
            source,
        }
    }

    /// The error for a file that could not be written.
    pub fn writing(path: &Path, source: io::Error) -> Self {
        if is_permission(&source) {
            let action = format!("write {}", path.display());
            return Self::Permission { action };
        }
        Self::Write {
            path: path.to_owned(),
            source,
        }
    }

    /// The sort of failure.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSuchDevice { .. }
            | Self::NotUnderFgio { .. }
            | Self::NoSuchTask { .. }
            | Self::NoSuchCgroup { .. }
            | Self::NoSuchSetting { .. } => ErrorKind::NotFound,
            Self::SettingValue { .. } | Self::AmbiguousCgroup { .. } | Self::RootCgroup => {
                ErrorKind::Usage
            }
            Self::ModuleNotLoaded
            | Self::KernelUnsupported { .. }
            | Self::ModuleLoad { .. }
            | Self::DeviceFileMissing
            | Self::DeviceFileForeign { .. }
            | Self::ModuleOlder { .. }
            | Self::SettingMissing { .. }
            | Self::AbiMismatch { .. } => ErrorKind::ModuleUnavailable,
            Self::Permission { .. }
            | Self::DeviceFileForbidden
            | Self::TagNotAllowed { .. }
            | Self::CgroupNotListed { .. }
            | Self::ForegroundLimit { .. } => ErrorKind::PermissionDenied,
            _ => ErrorKind::OperationFailed,
        }
    }

    /// The remedy for the user, in one line.
    pub fn advice(&self) -> String {
        match self {
            Self::NotUnderFgio { .. } => "run `fgio enable DEV` as root".into(),
            Self::NoSuchDevice { .. } => "run `lsblk -d` to see the disks of this system".into(),
            Self::NotBlockDevice { .. } => {
                "name a disk, such as sda or /dev/nvme0n1; `lsblk -d` lists them".into()
            }
            Self::StackedDevice { disks, .. } => stacked_advice(disks),
            Self::MultipathDevice { .. } => {
                "use fgio on disks that are not part of a multipath map".into()
            }
            Self::NoScheduler { .. } => {
                "choose a disk that has one: `fgio status` lists them".into()
            }
            Self::SchedulerRefused { .. } => {
                "the reason is in the kernel log: run `dmesg | tail`".into()
            }
            Self::SchedulerNotTaken { .. } => {
                "another program may have changed it back: run `fgio doctor`".into()
            }
            Self::ModuleNotLoaded => {
                "run `fgio enable DEV` as root, which loads it; if that fails, run `fgio doctor`"
                    .into()
            }
            Self::ModuleLoad {
                failure, release, ..
            } => failure.advice(release),
            Self::KernelUnsupported { .. } => supported::ADVICE.into(),
            Self::DeviceFileMissing => {
                "check that devtmpfs is mounted on /dev; reload the module with `modprobe -r fgio` and `modprobe fgio`".into()
            }
            Self::DeviceFileForeign { .. } => {
                format!("remove {} and load the module again", uapi::DEVICE_PATH)
            }
            Self::ModuleOlder { .. } | Self::SettingMissing { .. } => {
                "install module and tools of the same release, then reload the module (`modprobe -r fgio`, `modprobe fgio`)".into()
            }
            Self::NoSuchSetting { .. } => "run `fgio set` to see all settings".into(),
            Self::SettingValue {
                name, is_switch, ..
            } => {
                let value = if *is_switch { "on|off" } else { "NUMBER" };
                format!("run `fgio set {name} {value}`")
            }
            Self::SettingRefused { name, .. } => {
                format!("run `fgio set {name}` for its value, and `fgio set` for its default")
            }
            Self::SettingNotTaken { .. } => {
                "another program may have changed it back: run `fgio set` again".into()
            }
            Self::SettingAtLoad { name } => format!(
                "run `fgio set {name} VALUE --persist`, then reload the module (`modprobe -r fgio`, `modprobe fgio`)"
            ),
            Self::AbiMismatch { .. } => {
                "install the module and the tools of the same release".into()
            }
            Self::Permission { .. } => "run the command as root".into(),
            Self::DeviceFileForbidden => format!(
                "run the command as root, or put its user into the group that `ls -l {}` shows (`adduser USER fgio`; it counts from the next login, or start of the service, on)",
                uapi::DEVICE_PATH
            ),
            Self::ProgramNotRoots { .. } => {
                "install fgio (the package, or `make install`), and use the installed command".into()
            }
            Self::TagNotAllowed { .. } => {
                "run the command as root (it needs CAP_SYS_NICE) or as the thread's user".into()
            }
            Self::CgroupNotListed { .. } => {
                "run the command as root, or have its cgroup added: `fgio set foreground_cgroups` lists them".into()
            }
            Self::ForegroundLimit { .. } => {
                "run the command as root, or have the limit raised: `fgio set user_foreground_max`, `fgio set foreground_cgroups`".into()
            }
            Self::NoSuchTask { .. } => "run `ps -eLo pid,tid,comm` to see the ids".into(),
            Self::TagsFull { .. } => {
                "clear tags that are not needed: `fgio status` lists them, `fgio tag ID --none` clears".into()
            }
            Self::TagsUnsupported => {
                "use `fgio run` (I/O priorities) instead; `fgio doctor` shows the hooks".into()
            }
            Self::NoSuchCgroup { .. } => {
                "run `systemd-cgls`, or `find /sys/fs/cgroup -type d`, to see the cgroups".into()
            }
            Self::AmbiguousCgroup { .. } => "name one of these".into(),
            Self::NoCgroup2 => {
                "boot with the kernel parameter systemd.unified_cgroup_hierarchy=1".into()
            }
            Self::RootCgroup => "put its tasks into a cgroup of their own".into(),
            Self::IoNotEnabled {
                unit: Some(unit),
                weight,
                ..
            } => format!(
                "run `systemctl set-property {unit} IOWeight={weight}` as root, which enables it"
            ),
            Self::IoNotEnabled { parent, .. } => format!(
                "run `echo +io >/sys/fs/cgroup{}/cgroup.subtree_control` as root, and the same for each cgroup above it",
                parent.trim_end_matches('/')
            ),
            Self::NoIoWeight => {
                "use a kernel with CONFIG_BLK_CGROUP_IOCOST, as those of Debian are".into()
            }
            Self::Call { .. } => "run `fgio doctor`, and look at the kernel log".into(),
            Self::SetPriority { .. } => {
                "check whether a container or a security policy forbids ioprio_set(2)".into()
            }
            Self::Read { .. } | Self::Write { .. } => {
                "check that the file system is mounted and has room; run `fgio doctor`".into()
            }
        }
    }
}

fn stacked_advice(disks: &[String]) -> String {
    match disks {
        [] => "name the disks below it".into(),
        disks => format!("run `fgio enable {}`", disks.join(" ")),
    }
}
