// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The module may be loaded after fgiod has started: inotify tells when `/dev/fgio` appears, or is
//! given to a group.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use fgio_sys::{FGIO, Root};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

pub struct Arrivals {
    inotify: OwnedFd,
}

impl Arrivals {
    pub fn watch(root: &Root) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let events = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ATTRIB;
        inotify::add_watch(&inotify, root.path("/dev"), events)?;
        Ok(Self { inotify })
    }

    /// Whether the module can be asked again: something happened to `/dev/fgio` since the last
    /// call.
    pub fn take(&self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.inotify, &mut buffer);
        let mut arrived = false;
        while let Ok(event) = events.next() {
            let name = event.file_name().map(|name| name.to_bytes());
            arrived |= name == Some(FGIO.as_bytes());
        }
        arrived
    }
}

impl AsFd for Arrivals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_devices_file_is_told_from_others() {
        let directory = tempfile::tempdir().unwrap();
        let dev = directory.path().join("dev");
        std::fs::create_dir(&dev).unwrap();
        let arrivals = Arrivals::watch(&Root::at(directory.path())).unwrap();
        std::fs::write(dev.join("fgio_test"), "").unwrap();
        assert!(!arrivals.take());
        std::fs::write(dev.join("fgio"), "").unwrap();
        assert!(arrivals.take());
        assert!(!arrivals.take());
    }
}
