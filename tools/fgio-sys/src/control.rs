// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The calls of `/dev/fgio`.

use std::fs::File;
use std::io;
use std::time::Duration;

use rustix::io::Errno;
use serde::Serialize;

use crate::class::Class;
use crate::error::is_permission;
use crate::inheritance::{HookState, State};
use crate::share::{Scaling, Share, Shares, Sharing};
use crate::uapi::{
    self, FgioBlameEntry, FgioHookState, FgioInfo, FgioShare, FgioShareScale, FgioTag,
};
use crate::wait::{Page, Reasons, Wait};
use crate::{Error, Result, Root, module, syscall};

/// A hook that the module attaches to the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hook {
    pub name: String,
    /// The purpose of the hook.
    pub purpose: String,
    pub live: bool,
}

/// The state of the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Info {
    pub version: String,
    pub abi: u32,
    /// The hooks that this module has on this kernel.
    pub hooks: Vec<Hook>,
    /// Threads tagged now.
    pub tags: u32,
    /// Threads that can be tagged at once.
    pub tags_max: u32,
    /// Block device queues under fgio now.
    pub queues: u32,
}

impl Info {
    fn from_kernel(info: &FgioInfo) -> Self {
        Self {
            version: uapi::text(&info.version),
            abi: info.abi,
            hooks: hooks(info.hooks_expected, info.hooks_live),
            tags: info.tags,
            tags_max: info.tags_max,
            queues: info.queues,
        }
    }
}

fn hooks(expected: u32, live: u32) -> Vec<Hook> {
    let known = |bit| match bit {
        uapi::HOOK_BLOCK_BIO_QUEUE => ("block_bio_queue", "classes reach the block layer"),
        uapi::HOOK_SCHED_PROCESS_EXIT => ("sched_process_exit", "tags end with their thread"),
        _ => (
            "unknown",
            "a hook that this version of the tools does not know",
        ),
    };
    (0..u32::BITS)
        .map(|shift| 1 << shift)
        .filter(|bit| expected & bit != 0)
        .map(|bit| {
            let (name, purpose) = known(bit);
            Hook {
                name: name.to_owned(),
                purpose: purpose.to_owned(),
                live: live & bit != 0,
            }
        })
        .collect()
}

/// The calls of the module; a trait so that tests can stand in for the kernel.
pub trait Control {
    /// The state of the module and of its hooks.
    fn info(&self) -> Result<Info>;

    /// Sets the tag of thread `tid`, or clears it with [`Class::None`].
    fn set_tag(&self, tid: i32, class: Class) -> Result<()>;

    /// The tag of thread `tid`.
    fn get_tag(&self, tid: i32) -> Result<Class>;

    /// The tags that exist, in no order, as thread id and class.
    fn list_tags(&self) -> Result<Vec<(i32, Class)>>;
}

/// The calls of the module that report on inheritance; older modules
/// have none of them, and answer with [`Error::ModuleOlder`].
pub trait Diagnosis {
    /// The places in the kernel where the module looks on.
    fn hooks(&self) -> Result<Vec<HookState>>;

    /// Counters of inheritance and the watchdog.
    fn state(&self) -> Result<State>;

    /// The waits of foreground tasks since the module was loaded, by why their cause
    /// is not known.
    fn reasons(&self) -> Result<Reasons>;

    /// Takes up work again on all disks that the watchdog lets through.
    fn rearm(&self) -> Result<()>;

    /// The same on the disk `major`:`minor`; returns whether the watchdog had
    /// tripped for it.
    fn rearm_disk(&self, major: u32, minor: u32) -> Result<bool>;

    /// Waits of foreground tasks from `cursor` on, at most `capacity`.
    fn blame(&self, cursor: u64, capacity: u32) -> Result<Page>;
}

/// `/dev/fgio`, open.
#[derive(Debug)]
pub struct DeviceFile {
    file: File,
}

impl DeviceFile {
    /// Opens `/dev/fgio` and checks that tools and module speak the same
    /// version of the interface.
    pub fn open(root: &Root) -> Result<Self> {
        let device = Self::open_unchecked(root)?;
        let info = device.info()?;
        if info.abi != uapi::ABI_VERSION {
            return Err(Error::AbiMismatch { module: info.abi });
        }
        Ok(device)
    }

    /// Opens `/dev/fgio`; only [`Control::info`] is sure to be understood.
    pub fn open_unchecked(root: &Root) -> Result<Self> {
        let path = root.path(uapi::DEVICE_PATH);
        match File::open(&path) {
            Ok(file) => Ok(Self { file }),
            Err(source) if is_absence(&source) && module::is_loaded(root) => {
                Err(Error::DeviceFileMissing)
            }
            Err(source) if is_absence(&source) => Err(Error::ModuleNotLoaded),
            Err(source) if is_permission(&source) => Err(Error::DeviceFileForbidden),
            Err(source) => Err(Error::reading(&path, source)),
        }
    }
}

/// A node can outlive the module: then opening it says that no driver is there.
fn is_absence(source: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(source),
        Some(Errno::NOENT | Errno::NXIO | Errno::NODEV)
    )
}

fn call_failed(call: &'static str, errno: Errno) -> Error {
    let source = io::Error::from(errno);
    match errno {
        Errno::NOTTY => Error::DeviceFileForeign { source },
        Errno::PERM | Errno::ACCESS => Error::Permission {
            action: format!("use the call {call} of the module"),
        },
        _ => Error::Call { call, source },
    }
}

impl Control for DeviceFile {
    fn info(&self) -> Result<Info> {
        let info = syscall::info(&self.file).map_err(|errno| call_failed("INFO", errno))?;
        Ok(Info::from_kernel(&info))
    }

    fn set_tag(&self, tid: i32, class: Class) -> Result<()> {
        let tag = FgioTag {
            tid,
            class: class.to_kernel(),
        };
        syscall::set_tag(&self.file, tag).map_err(|errno| match errno {
            Errno::SRCH => Error::NoSuchTask { id: tid },
            Errno::PERM => Error::TagNotAllowed { tid, tagged: 0 },
            Errno::ACCESS => Error::CgroupNotListed { tid, tagged: 0 },
            Errno::DQUOT => Error::ForegroundLimit { tid, tagged: 0 },
            Errno::NOSPC => Error::TagsFull {
                tid,
                maximum: self
                    .info()
                    .map_or_else(|_| "too many".to_owned(), |info| info.tags_max.to_string()),
                tagged: 0,
            },
            Errno::OPNOTSUPP => Error::TagsUnsupported,
            errno => call_failed("SET_TAG", errno),
        })
    }

    fn get_tag(&self, tid: i32) -> Result<Class> {
        match syscall::get_tag(&self.file, tid) {
            Ok(tag) => Ok(Class::from_kernel(tag.class)),
            Err(Errno::SRCH) => Err(Error::NoSuchTask { id: tid }),
            Err(errno) => Err(call_failed("GET_TAG", errno)),
        }
    }

    fn list_tags(&self) -> Result<Vec<(i32, Class)>> {
        let mut capacity = 256;
        loop {
            let mut tags = vec![FgioTag::default(); capacity];
            let count = syscall::list_tags(&self.file, &mut tags)
                .map_err(|errno| call_failed("LIST_TAGS", errno))? as usize;
            if count <= capacity || capacity == uapi::TAG_LIST_CAPACITY_MAX as usize {
                tags.truncate(count);
                return Ok(tags
                    .into_iter()
                    // Counted, but not written: it came while they were listed.
                    .filter(|tag| tag.tid != 0)
                    .map(|tag| (tag.tid, Class::from_kernel(tag.class)))
                    .collect());
            }
            // Room to spare: tags appear while they are listed.
            capacity = (count * 2).min(uapi::TAG_LIST_CAPACITY_MAX as usize);
        }
    }
}

/// For calls that came later than [`Control::info`], which `device` answered
/// when it was opened: the module is fgio, if it does not know a call it is old.
fn later_call_failed(call: &'static str, errno: Errno) -> Error {
    match errno {
        Errno::NOTTY => Error::ModuleOlder { call },
        errno => call_failed(call, errno),
    }
}

impl Diagnosis for DeviceFile {
    fn hooks(&self) -> Result<Vec<HookState>> {
        let mut capacity = 128;
        loop {
            let mut hooks = vec![FgioHookState::default(); capacity];
            let count = syscall::hooks(&self.file, &mut hooks)
                .map_err(|errno| later_call_failed("HOOKS", errno))?
                as usize;
            if count <= capacity {
                hooks.truncate(count);
                return Ok(hooks.iter().map(HookState::from_kernel).collect());
            }
            capacity = count;
        }
    }

    fn state(&self) -> Result<State> {
        let state =
            syscall::state(&self.file).map_err(|errno| later_call_failed("STATE", errno))?;
        Ok(State::from_kernel(&state))
    }

    fn reasons(&self) -> Result<Reasons> {
        let reasons =
            syscall::reasons(&self.file).map_err(|errno| later_call_failed("REASONS", errno))?;
        Ok(Reasons::from_kernel(&reasons))
    }

    fn rearm(&self) -> Result<()> {
        syscall::rearm(&self.file).map_err(|errno| later_call_failed("REARM", errno))
    }

    fn rearm_disk(&self, major: u32, minor: u32) -> Result<bool> {
        syscall::rearm_disk(&self.file, major, minor).map_err(|errno| match errno {
            Errno::NODEV => Error::NotUnderFgio { major, minor },
            errno => later_call_failed("REARM_DISK", errno),
        })
    }

    fn blame(&self, cursor: u64, capacity: u32) -> Result<Page> {
        let capacity = capacity.min(uapi::BLAME_CAPACITY_MAX);
        let mut entries = vec![FgioBlameEntry::default(); capacity as usize];
        let answer = syscall::blame(&self.file, cursor, &mut entries)
            .map_err(|errno| later_call_failed("BLAME", errno))?;
        entries.truncate(answer.count as usize);
        Ok(Page {
            waits: entries.iter().map(Wait::from_kernel).collect(),
            cursor: answer.cursor,
            lost: answer.lost,
        })
    }
}

impl Sharing for DeviceFile {
    fn shares(&self, major: u32, minor: u32) -> Result<Shares> {
        let mut shares = Shares::default();
        let mut cursor = 0;
        loop {
            let mut page = [FgioShare::default(); uapi::SHARES_AT_ONCE as usize];
            let answer = syscall::shares(&self.file, (major, minor), cursor, &mut page).map_err(
                |errno| match errno {
                    Errno::NODEV => Error::NotUnderFgio { major, minor },
                    errno => later_call_failed("SHARES", errno),
                },
            )?;
            let written = page.iter().take(answer.count as usize);
            shares.cgroups.extend(written.map(Share::from_kernel));
            shares.followed = answer.state & uapi::SHARES_FOLLOWED != 0;
            shares.on = answer.state & uapi::SHARES_ON != 0;
            if answer.count < uapi::SHARES_AT_ONCE {
                return Ok(shares);
            }
            cursor = answer.cursor;
        }
    }
}

impl Scaling for DeviceFile {
    fn scale_share(&self, cgroup: u64, scale: u32, hold: Duration) -> Result<bool> {
        let hold_ms = u32::try_from(hold.as_millis()).unwrap_or(u32::MAX);
        let scale = FgioShareScale {
            cgroup,
            scale: scale.clamp(uapi::SCALE_LEAST, uapi::SCALE_MOST),
            hold_ms: hold_ms.clamp(1, uapi::SCALE_HOLD_MS_MAX),
        };
        match syscall::scale_share(&self.file, scale) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(later_call_failed("SCALE_SHARE", errno)),
        }
    }
}

impl DeviceFile {
    /// Declares that the calling thread waits for thread `tid`, for locks that the
    /// kernel cannot see; [`DeviceFile::end_wait`] ends it.
    pub fn wait_for(&self, tid: i32) -> Result<()> {
        syscall::wait_for(&self.file, tid).map_err(|errno| match errno {
            Errno::SRCH => Error::NoSuchTask { id: tid },
            Errno::PERM | Errno::ACCESS => Error::TagNotAllowed { tid, tagged: 0 },
            errno => later_call_failed("WAIT_FOR", errno),
        })
    }

    /// Ends the wait declared by [`DeviceFile::wait_for`].
    pub fn end_wait(&self) -> Result<()> {
        syscall::wait_for(&self.file, 0).map_err(|errno| later_call_failed("WAIT_FOR", errno))
    }

    /// Makes the requests critical that are queued at `sector` of the disk
    /// `major`:`minor`; returns how many those were.
    pub fn promote(&self, major: u32, minor: u32, sector: u64) -> Result<u32> {
        syscall::promote(&self.file, major, minor, sector).map_err(|errno| match errno {
            Errno::NODEV => Error::NotUnderFgio { major, minor },
            errno => call_failed("PROMOTE", errno),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn info_is_understood() {
        let mut kernel = FgioInfo {
            abi: 1,
            hooks_expected: 0b111,
            hooks_live: 0b001,
            ..FgioInfo::default()
        };
        kernel.version[..5].copy_from_slice(b"0.1.0");
        let info = Info::from_kernel(&kernel);
        assert_eq!(info.version, "0.1.0");
        let hooks: Vec<_> = info
            .hooks
            .iter()
            .map(|hook| (hook.name.as_str(), hook.live))
            .collect();
        assert_eq!(
            hooks,
            [
                ("block_bio_queue", true),
                ("sched_process_exit", false),
                ("unknown", false)
            ]
        );
    }

    #[test]
    fn a_missing_device_file_is_told_from_a_missing_module() {
        let fixture = Fixture::new();
        let error = DeviceFile::open(fixture.root()).unwrap_err();
        assert!(matches!(error, Error::ModuleNotLoaded));
        fixture.directory("/sys/module/fgio");
        let error = DeviceFile::open(fixture.root()).unwrap_err();
        assert!(matches!(error, Error::DeviceFileMissing));
        fixture.file("/dev/fgio", "");
        let error = DeviceFile::open(fixture.root()).unwrap_err();
        assert!(matches!(error, Error::DeviceFileForeign { .. }));
    }

    #[test]
    fn calls_that_an_old_module_lacks_are_told_from_a_foreign_device() {
        let fixture = Fixture::new();
        fixture.file("/dev/fgio", "");
        let file = File::open(fixture.root().path("/dev/fgio")).unwrap();
        let device = DeviceFile { file };
        let errors = [
            Diagnosis::hooks(&device).unwrap_err(),
            device.state().unwrap_err(),
            device.rearm().unwrap_err(),
            device.rearm_disk(8, 0).unwrap_err(),
            device.blame(0, 16).unwrap_err(),
            device.shares(8, 0).unwrap_err(),
            device
                .scale_share(7, 512, Duration::from_secs(1))
                .unwrap_err(),
            device.wait_for(1).unwrap_err(),
            device.end_wait().unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, Error::ModuleOlder { .. }), "{error}");
            assert_eq!(error.kind(), crate::ErrorKind::ModuleUnavailable);
            assert!(error.to_string().contains("older"));
        }
        let error = device.promote(8, 0, 0).unwrap_err();
        assert!(matches!(error, Error::DeviceFileForeign { .. }));
    }
}
