// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the engine learns of threads.

use std::cell::RefCell;
use std::time::Duration;

use fgio_profile::procfs::{self, Users};
use fgio_profile::{Needs, ProcessFacts};
use fgio_sys::Root;
use rustix::time::{ClockId, clock_gettime};

/// The questions of the engine; a trait so that tests can stand in for the kernel. `None`
/// says that the process or thread has ended.
pub trait System {
    /// The clock of process events.
    fn now(&self) -> Duration;
    fn processes(&self) -> Vec<i32>;
    fn threads(&self, pid: i32) -> Vec<i32>;
    fn comm(&self, pid: i32) -> Option<String>;
    fn thread_comm(&self, pid: i32, tid: i32) -> Option<String>;
    fn title(&self, pid: i32) -> Option<String>;
    fn facts(&self, pid: i32, comm: String, needs: Needs) -> Option<ProcessFacts>;
    fn process_of(&self, tid: i32) -> Option<i32>;
    fn start_time(&self, pid: i32, tid: i32) -> Option<u64>;
    /// Forgets remembered facts that change rarely.
    fn refresh(&self);
}

/// The running system.
pub struct Procfs {
    root: Root,
    users: RefCell<Users>,
}

impl Procfs {
    pub fn new(root: &Root) -> Self {
        Self {
            root: root.clone(),
            users: RefCell::new(Users::read(root)),
        }
    }
}

pub fn time_of(clock: ClockId) -> Duration {
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}

impl System for Procfs {
    fn now(&self) -> Duration {
        time_of(ClockId::Monotonic)
    }

    fn processes(&self) -> Vec<i32> {
        procfs::processes(&self.root)
    }

    fn threads(&self, pid: i32) -> Vec<i32> {
        procfs::threads(&self.root, pid)
    }

    fn comm(&self, pid: i32) -> Option<String> {
        procfs::comm(&self.root, pid)
    }

    fn thread_comm(&self, pid: i32, tid: i32) -> Option<String> {
        procfs::thread_comm(&self.root, pid, tid)
    }

    fn title(&self, pid: i32) -> Option<String> {
        procfs::title(&self.root, pid)
    }

    fn facts(&self, pid: i32, comm: String, needs: Needs) -> Option<ProcessFacts> {
        procfs::facts_besides_comm(&self.root, &self.users.borrow(), pid, comm, needs)
    }

    fn process_of(&self, tid: i32) -> Option<i32> {
        procfs::process_of(&self.root, tid)
    }

    fn start_time(&self, pid: i32, tid: i32) -> Option<u64> {
        procfs::start_time(&self.root, pid, tid)
    }

    fn refresh(&self) {
        *self.users.borrow_mut() = Users::read(&self.root);
    }
}
