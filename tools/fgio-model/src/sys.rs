// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The system calls that have no safe wrapper elsewhere.

use std::fs::File;
use std::io;

use rustix::io::Errno;
use rustix::ioctl::{Getter, Setter, Updater, ioctl};

use crate::uapi::{self, FgioInfo, FgioTag, FgioTagList};

/// `FGIO_IOC_INFO`
pub fn info(device: &File) -> Result<FgioInfo, Errno> {
    // SAFETY: the driver writes one struct fgio_info, of which FgioInfo is the
    // exact layout; every bit pattern is a valid FgioInfo.
    unsafe { ioctl(device, Getter::<{ uapi::IOC_INFO }, FgioInfo>::new()) }
}

/// `FGIO_IOC_SET_TAG`
pub fn set_tag(device: &File, tag: FgioTag) -> Result<(), Errno> {
    // SAFETY: the driver reads one struct fgio_tag, of which FgioTag is the
    // exact layout, and writes nothing.
    unsafe { ioctl(device, Setter::<{ uapi::IOC_SET_TAG }, FgioTag>::new(tag)) }
}

/// `FGIO_IOC_GET_TAG`
pub fn get_tag(device: &File, tid: i32) -> Result<FgioTag, Errno> {
    let mut tag = FgioTag { tid, class: 0 };
    // SAFETY: the driver reads and writes one struct fgio_tag, of which FgioTag
    // is the exact layout; every bit pattern is a valid FgioTag.
    unsafe {
        ioctl(
            device,
            Updater::<{ uapi::IOC_GET_TAG }, FgioTag>::new(&mut tag),
        )
    }?;
    Ok(tag)
}

/// `FGIO_IOC_LIST_TAGS` into `tags`; returns how many tags there are, which
/// can be more than fit.
pub fn list_tags(device: &File, tags: &mut [FgioTag]) -> Result<u32, Errno> {
    let mut list = FgioTagList {
        tags: tags.as_mut_ptr() as u64,
        capacity: u32::try_from(tags.len()).map_err(|_| Errno::INVAL)?,
        count: 0,
    };
    // SAFETY: the driver reads and writes one struct fgio_tag_list, of which
    // FgioTagList is the exact layout, and writes at most `capacity` entries
    // through `list.tags`, which `tags` borrows mutably for the whole call.
    unsafe {
        ioctl(
            device,
            Updater::<{ uapi::IOC_LIST_TAGS }, FgioTagList>::new(&mut list),
        )
    }?;
    Ok(list.count)
}

/// `ioprio_set(2)` on the calling thread.
pub fn set_own_io_priority(priority: libc::c_int) -> io::Result<()> {
    const IOPRIO_WHO_PROCESS: libc::c_int = 1;
    const CALLING_THREAD: libc::c_int = 0;
    // SAFETY: ioprio_set takes three integers and touches no user memory.
    let result = unsafe {
        libc::syscall(
            libc::SYS_ioprio_set,
            IOPRIO_WHO_PROCESS,
            CALLING_THREAD,
            priority,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
