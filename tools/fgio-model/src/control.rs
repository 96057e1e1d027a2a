// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The calls of `/dev/fgio`.

use std::fs::File;
use std::io;

use rustix::io::Errno;
use serde::Serialize;

use crate::tag::Class;
use crate::uapi::{self, FgioInfo, FgioTag};
use crate::{Error, Result, Root, module, sys};

/// A hook that the module attaches to the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hook {
    pub name: String,
    /// What the hook is there for.
    pub purpose: String,
    pub live: bool,
}

/// What the module says of itself.
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
        let end = info.version.iter().position(|&byte| byte == 0);
        let version = &info.version[..end.unwrap_or(info.version.len())];
        Self {
            version: String::from_utf8_lossy(version).into_owned(),
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
    /// What the module is and which of its hooks are live.
    fn info(&self) -> Result<Info>;

    /// Sets the tag of thread `tid`, or clears it with [`Class::None`].
    fn set_tag(&self, tid: i32, class: Class) -> Result<()>;

    /// The tag of thread `tid`.
    fn get_tag(&self, tid: i32) -> Result<Class>;

    /// The tags that exist, in no order, as thread id and class.
    fn list_tags(&self) -> Result<Vec<(i32, Class)>>;
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
        let info = sys::info(&self.file).map_err(|errno| call_failed("INFO", errno))?;
        Ok(Info::from_kernel(&info))
    }

    fn set_tag(&self, tid: i32, class: Class) -> Result<()> {
        let tag = FgioTag {
            tid,
            class: class.to_kernel(),
        };
        sys::set_tag(&self.file, tag).map_err(|errno| match errno {
            Errno::SRCH => Error::NoSuchTask { id: tid },
            Errno::PERM | Errno::ACCESS => Error::TagNotAllowed { tid, tagged: 0 },
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
        match sys::get_tag(&self.file, tid) {
            Ok(tag) => Ok(Class::from_kernel(tag.class)),
            Err(Errno::SRCH) => Err(Error::NoSuchTask { id: tid }),
            Err(errno) => Err(call_failed("GET_TAG", errno)),
        }
    }

    fn list_tags(&self) -> Result<Vec<(i32, Class)>> {
        let mut capacity = 256;
        loop {
            let mut tags = vec![FgioTag::default(); capacity];
            let count = sys::list_tags(&self.file, &mut tags)
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
}
