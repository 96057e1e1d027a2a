// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The system calls that have no safe wrapper elsewhere.

use std::fs::File;
use std::io;

use rustix::io::Errno;
use rustix::ioctl::{Getter, NoArg, Setter, Updater, ioctl};

use crate::uapi::{
    self, FgioBlame, FgioBlameEntry, FgioHookList, FgioHookState, FgioInfo, FgioPromote, FgioRearm,
    FgioReasons, FgioShare, FgioShareList, FgioShareScale, FgioState, FgioTag, FgioTagList,
    FgioWaitFor,
};

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

/// `FGIO_IOC_PROMOTE`; returns how many requests were moved.
pub fn promote(device: &File, major: u32, minor: u32, sector: u64) -> Result<u32, Errno> {
    let mut promote = FgioPromote {
        sector,
        major,
        minor,
        ..FgioPromote::default()
    };
    // SAFETY: the driver reads and writes one struct fgio_promote, of which
    // FgioPromote is the exact layout; every bit pattern is a valid one.
    unsafe {
        ioctl(
            device,
            Updater::<{ uapi::IOC_PROMOTE }, FgioPromote>::new(&mut promote),
        )
    }?;
    Ok(promote.promoted)
}

/// `FGIO_IOC_WAIT_FOR`
pub fn wait_for(device: &File, tid: i32) -> Result<(), Errno> {
    let hint = FgioWaitFor { tid, reserved: 0 };
    // SAFETY: the driver reads one struct fgio_wait_for, of which FgioWaitFor
    // is the exact layout, and writes nothing.
    unsafe {
        ioctl(
            device,
            Setter::<{ uapi::IOC_WAIT_FOR }, FgioWaitFor>::new(hint),
        )
    }
}

/// `FGIO_IOC_HOOKS` into `hooks`; returns how many hooks there are, which can
/// be more than fit.
pub fn hooks(device: &File, hooks: &mut [FgioHookState]) -> Result<u32, Errno> {
    let mut list = FgioHookList {
        hooks: hooks.as_mut_ptr() as u64,
        capacity: u32::try_from(hooks.len()).map_err(|_| Errno::INVAL)?,
        count: 0,
    };
    // SAFETY: the driver reads and writes one struct fgio_hook_list, of which
    // FgioHookList is the exact layout, and writes at most `capacity` entries
    // through `list.hooks`, which `hooks` borrows mutably for the whole call.
    unsafe {
        ioctl(
            device,
            Updater::<{ uapi::IOC_HOOKS }, FgioHookList>::new(&mut list),
        )
    }?;
    Ok(list.count)
}

/// `FGIO_IOC_REASONS`
pub fn reasons(device: &File) -> Result<FgioReasons, Errno> {
    // SAFETY: the driver writes one struct fgio_reasons, of which FgioReasons is
    // the layout.
    unsafe { ioctl(device, Getter::<{ uapi::IOC_REASONS }, FgioReasons>::new()) }
}

/// `FGIO_IOC_STATE`
pub fn state(device: &File) -> Result<FgioState, Errno> {
    // SAFETY: the driver writes one struct fgio_state, of which FgioState is
    // the exact layout; every bit pattern is a valid FgioState.
    unsafe { ioctl(device, Getter::<{ uapi::IOC_STATE }, FgioState>::new()) }
}

/// `FGIO_IOC_REARM`
pub fn rearm(device: &File) -> Result<(), Errno> {
    // SAFETY: the call takes no argument and touches no user memory.
    unsafe { ioctl(device, NoArg::<{ uapi::IOC_REARM }>::new()) }
}

/// `FGIO_IOC_REARM_DISK`; returns whether the watchdog had tripped for it.
pub fn rearm_disk(device: &File, major: u32, minor: u32) -> Result<bool, Errno> {
    let mut rearm = FgioRearm {
        major,
        minor,
        ..FgioRearm::default()
    };
    // SAFETY: the driver reads and writes one struct fgio_rearm, of which
    // FgioRearm is the exact layout; every bit pattern is a valid one.
    unsafe {
        ioctl(
            device,
            Updater::<{ uapi::IOC_REARM_DISK }, FgioRearm>::new(&mut rearm),
        )
    }?;
    Ok(rearm.tripped != 0)
}

/// `FGIO_IOC_BLAME` from `cursor` on into `entries`; in the answer `cursor`,
/// `count` and `lost` have a meaning.
pub fn blame(
    device: &File,
    cursor: u64,
    entries: &mut [FgioBlameEntry],
) -> Result<FgioBlame, Errno> {
    let mut blame = FgioBlame {
        cursor,
        entries: entries.as_mut_ptr() as u64,
        capacity: u32::try_from(entries.len()).map_err(|_| Errno::INVAL)?,
        ..FgioBlame::default()
    };
    // SAFETY: the driver reads and writes one struct fgio_blame, of which
    // FgioBlame is the exact layout, and writes at most `capacity` entries
    // through `blame.entries`, which `entries` borrows mutably for the whole
    // call.
    unsafe {
        ioctl(
            device,
            Updater::<{ uapi::IOC_BLAME }, FgioBlame>::new(&mut blame),
        )
    }?;
    Ok(blame)
}

/// `FGIO_IOC_SHARES` of the disk `major`:`minor` from `cursor` on into `shares`; in the
/// answer `cursor`, `count`, `state`, `groups` and `asking` have a meaning.
pub fn shares(
    device: &File,
    (major, minor): (u32, u32),
    cursor: u64,
    shares: &mut [FgioShare],
) -> Result<FgioShareList, Errno> {
    let mut list = FgioShareList {
        cursor,
        shares: shares.as_mut_ptr() as u64,
        capacity: u32::try_from(shares.len()).map_err(|_| Errno::INVAL)?,
        major,
        minor,
        ..FgioShareList::default()
    };
    // SAFETY: the driver reads and writes one struct fgio_share_list, of which
    // FgioShareList is the exact layout, and writes at most `capacity` entries
    // through `list.shares`, which `shares` borrows mutably for the whole call.
    unsafe {
        ioctl(
            device,
            Updater::<{ uapi::IOC_SHARES }, FgioShareList>::new(&mut list),
        )
    }?;
    Ok(list)
}

/// `FGIO_IOC_SCALE_SHARE`
pub fn scale_share(device: &File, scale: FgioShareScale) -> Result<(), Errno> {
    // SAFETY: the driver reads one struct fgio_share_scale, of which FgioShareScale is the exact
    // layout, and writes nothing.
    unsafe {
        ioctl(
            device,
            Setter::<{ uapi::IOC_SCALE_SHARE }, FgioShareScale>::new(scale),
        )
    }
}

/// Hour, minute and second of the system's time zone at `seconds` of the Unix
/// epoch; `None` when the C library knows none.
pub fn local_time(seconds: i64) -> Option<LocalTime> {
    let mut parts = std::mem::MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: localtime_r reads one time_t and writes one struct tm, both
    // alive for the whole call; a zeroed struct tm is a valid one.
    let parts = unsafe {
        if libc::localtime_r(&seconds, parts.as_mut_ptr()).is_null() {
            return None;
        }
        parts.assume_init()
    };
    Some(LocalTime {
        year: parts.tm_year + 1900,
        month: parts.tm_mon + 1,
        day: parts.tm_mday,
        hour: parts.tm_hour,
        minute: parts.tm_min,
        second: parts.tm_sec,
    })
}

/// A moment as the system's time zone has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    pub year: i32,
    pub month: i32,
    pub day: i32,
    pub hour: i32,
    pub minute: i32,
    pub second: i32,
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
