// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgiod cache`: divides the page cache among cgroups by weight, until it is told to end.
//!
//! A process and a unit of its own: it needs to write to cgroups, and nothing that the daemon which
//! tags threads needs.

mod control;
mod hits;

#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use fgio_sys::cache_limits::{self, Limits};
use fgio_sys::control::DeviceFile;
use fgio_sys::{Error, Root, cache_shares, cgroup_memory};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::ClockId;
use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::config::Config;
use crate::service::{Level, notify, on_signal, say};
use crate::system::time_of;
use crate::throttle::Throttle;

use control::Controller;
use hits::Hits;

/// When the page cache is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Never.
    Off,
    /// While cgroups that hold memory have different weights.
    Weights,
    /// Always.
    All,
}

impl Mode {
    pub const NAMES: [(&'static str, Self); 3] = [
        ("off", Self::Off),
        ("weights", Self::Weights),
        ("all", Self::All),
    ];

    pub fn name(self) -> &'static str {
        let mut names = Self::NAMES.iter();
        names
            .find(|(_, mode)| *mode == self)
            .map_or("", |(name, _)| name)
    }
}

/// New and removed cgroups, and new weights, are found so often at most.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);
/// So often, the shares are written down for metrics.
const PUBLISH_INTERVAL: Duration = Duration::from_secs(1);
/// So often, what cgroups hit is counted towards their parts of drives.
const HITS_INTERVAL: Duration = Duration::from_secs(1);

fn no_record(source: &io::Error) -> String {
    let path = cache_limits::RECORD;
    format!(
        "{path} cannot be used: {source}\n  give fgiod a directory of its own there (RuntimeDirectory=fgio/cache), and run it as root"
    )
}

/// Takes back what was set by a process that is gone.
pub fn restore(root: &Root) -> Result<usize, String> {
    let _lock = cache_limits::lock(root)
        .map_err(|source| no_record(&source))?
        .ok_or(
            "another fgiod divides the page cache\n  stop it first: systemctl stop fgiod-cache",
        )?;
    cache_shares::remove(root);
    Limits::open(root)
        .and_then(|mut limits| limits.restore_all())
        .map_err(|source| no_record(&source))
}

/// Runs until SIGTERM or SIGINT.
pub fn run(root: &Root, mut config: Config) -> Result<(), String> {
    if let Some((found, advice)) = cgroup_memory::obstacle(root) {
        return Err(format!(
            "the page cache cannot be divided: {found}\n  {advice}"
        ));
    }
    let left = restore(root)?;
    if left > 0 {
        let text =
            format!("{left} cgroups have the memory.low back that the last fgiod had changed");
        say(Level::Info, &text);
    }
    let _lock = cache_limits::lock(root)
        .map_err(|source| no_record(&source))?
        .ok_or("another fgiod divides the page cache\n  let one of them run: systemctl status fgiod-cache")?;
    let no_signals = |error| format!("cannot wait for signals: {error}");
    let terminate = on_signal(&[SIGTERM, SIGINT]).map_err(no_signals)?;
    let mut reload = on_signal(&[SIGHUP]).map_err(no_signals)?;
    let limits = Limits::open(root).map_err(|source| no_record(&source))?;
    let mut controller = Controller::new(root, limits, config.page_cache);
    notify(&[NotifyState::Ready]);
    let mut next = Next::new(root);
    loop {
        next.work(&mut controller, &config);
        if let Some(complaint) = controller.take_complaint() {
            say(Level::Warning, &complaint);
        }
        let timeout = Timespec::try_from(next.pause()).unwrap_or(Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        });
        let mut files = [
            PollFd::from_borrowed_fd(terminate.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(reload.as_fd(), PollFlags::IN),
        ];
        match poll(&mut files, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(format!("fgiod cannot wait: {errno}")),
        }
        if !files[0].revents().is_empty() {
            break;
        }
        if !files[1].revents().is_empty() {
            let mut signals = [0; 64];
            while matches!(io::Read::read(&mut reload, &mut signals), Ok(count) if count > 0) {}
            match Config::load(root) {
                Ok(fresh) => config = fresh,
                Err(fault) => say(
                    Level::Error,
                    &format!("settings stay as they were: {fault}\n  {}", fault.advice),
                ),
            }
            controller.set_mode(config.page_cache);
        }
    }
    notify(&[NotifyState::Stopping]);
    cache_shares::remove(root);
    next.end();
    controller.end().map_err(|source| no_record(&source))
}

fn now() -> Duration {
    time_of(ClockId::Monotonic)
}

/// When what is due.
struct Next {
    root: Root,
    hits: Hits,
    scan: Duration,
    step: Duration,
    publish: Duration,
    count: Duration,
}

impl Next {
    fn new(root: &Root) -> Self {
        Self {
            root: root.clone(),
            hits: Hits::new(root),
            scan: Duration::ZERO,
            step: Duration::ZERO,
            publish: Duration::ZERO,
            count: Duration::ZERO,
        }
    }

    /// Scans, steps, hits and the record have a quarter of the limit each, whatever the number of
    /// cgroups. Reclaim is not counted: it is work that the kernel would do otherwise, and has a rate
    /// of its own.
    fn work(&mut self, controller: &mut Controller, config: &Config) {
        let cost = |work: &mut dyn FnMut() -> Duration| {
            let before = time_of(ClockId::ThreadCPUTime);
            let apart = work();
            let spent = time_of(ClockId::ThreadCPUTime).saturating_sub(before);
            spent.saturating_sub(apart)
        };
        let pause = |interval, cost: Duration| {
            Throttle::new(interval, config.page_cache_cpu_percent_max).pause_after(cost * 4)
        };
        if now() >= self.scan {
            let spent = cost(&mut || {
                controller.scan();
                Duration::ZERO
            });
            self.scan = now() + pause(SCAN_INTERVAL, spent);
        }
        if now() >= self.step {
            let rest = config.page_cache_interval;
            let spent = cost(&mut || controller.step(now(), rest));
            self.step = now() + pause(controller.pause(rest), spent);
        }
        if now() >= self.count {
            let spent = cost(&mut || {
                self.count_hits(controller, config.page_cache_hits);
                Duration::ZERO
            });
            self.count = now() + pause(HITS_INTERVAL, spent);
        }
        if now() >= self.publish {
            let spent = cost(&mut || {
                controller.publish();
                Duration::ZERO
            });
            self.publish = now() + pause(PUBLISH_INTERVAL, spent);
            notify(&[NotifyState::Watchdog]);
        }
    }

    fn pause(&self) -> Duration {
        self.scan
            .min(self.step)
            .min(self.count)
            .min(self.publish)
            .saturating_sub(now())
    }

    /// Without the module, drives are divided by others, if at all. It may be loaded at any time, so
    /// it is opened anew for each look: no open file keeps it from being unloaded.
    fn count_hits(&mut self, controller: &mut Controller, wanted: bool) {
        let Ok(module) = DeviceFile::open(&self.root) else {
            return;
        };
        let done = match wanted {
            true => self.hits.look(now(), &controller.families(), &module),
            false => self.hits.end(&module),
        };
        match done {
            Err(Error::ModuleOlder { .. }) => controller.complain("hits in the page cache do not count towards the parts of drives: the module is older than fgiod\n  load the one that came with it".to_owned()),
            Err(fault) => controller.complain(format!(
                "hits in the page cache do not count towards the parts of drives: {fault}\n  {}",
                fault.advice()
            )),
            Ok(()) if self.hits.is_forbidden() => controller.complain("what some processes hit in the page cache does not count: their /proc/PID/io cannot be read\n  give fgiod CAP_SYS_PTRACE (its unit has it), or set page_cache_hits = false".to_owned()),
            Ok(()) => {}
        }
    }

    /// The module would forget the scales by itself, some seconds later.
    fn end(&mut self) {
        if let Ok(module) = DeviceFile::open(&self.root) {
            let _ = self.hits.end(&module);
        }
    }
}
