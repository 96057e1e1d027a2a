// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The daemon: waits for events, signals and the time to look again.

use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use fgio_profile::Library;
use fgio_sys::Root;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::ClockId;
use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::arrival::Arrivals;
use crate::config::Config;
use crate::engine::{Engine, Policy};
use crate::events::{Connector, Happened, Received};
use crate::ledger::{self, Ledger};
use crate::metrics::Metrics;
use crate::module::Module;
use crate::system::{Procfs, System, time_of};
use crate::throttle::{RecentCosts, Throttle};

/// After events were lost, /proc is looked through no more often than this.
const OVERRUN_INTERVAL: Duration = Duration::from_secs(1);
/// Without events, /proc is looked through at least this often.
const BLIND_INTERVAL: Duration = Duration::from_secs(1);
/// Under churn, events are taken by the handful: to wake up for each of them would
/// cost more than to follow it, and threads that ended meanwhile need not be followed.
const GATHER: Duration = Duration::from_millis(1);
/// They are gathered for longer when to follow them takes more of a processor ...
const EVENTS_CPU_PERCENT_MAX: u64 = 3;
/// ... but for no longer than this, so that no tag is wrong for long.
const GATHER_MAX: Duration = Duration::from_millis(10);
/// Weight of the mean cost, in handfuls: one expensive handful must not delay the
/// events after it.
const HANDFULS: u32 = 16;
/// Events read before anything else gets its turn.
const BATCH: usize = 1024;

#[derive(Clone, Copy)]
pub enum Level {
    Error,
    Warning,
    Info,
}

/// Tells the administrator, through the journal where that listens.
pub fn say(level: Level, text: &str) {
    let priority = match level {
        Level::Error => "<3>",
        Level::Warning => "<4>",
        Level::Info => "<6>",
    };
    let prefix = if std::env::var_os("JOURNAL_STREAM").is_some() && !io::stderr().is_terminal() {
        priority
    } else {
        "fgiod: "
    };
    let mut stderr = io::stderr().lock();
    for line in text.lines() {
        // A terminal or a pipe that is gone must not end the daemon.
        let _ = writeln!(stderr, "{prefix}{line}");
    }
}

/// A service manager that does not listen is no reason to stop.
pub fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        say(
            Level::Warning,
            &format!("cannot notify the service manager: {error}"),
        );
    }
}

struct Service {
    root: Root,
    config: Config,
    metrics: Metrics,
    engine: Engine<Procfs, Module>,
    connector: Option<Connector>,
    /// `None` where inotify is not to be had: the module is then found by the next rescan.
    arrivals: Option<Arrivals>,
    terminate: UnixStream,
    reload: UnixStream,
    next_rescan: Duration,
    last_rescan: Duration,
    next_titles: Duration,
    /// Processor time of a look at all titles.
    titles_costs: RecentCosts,
    /// Mean processor time of a handful of events.
    events_cost: Duration,
    /// The last complaint, to say each of a row of the same once.
    complaint: Option<String>,
}

/// Runs until SIGTERM or SIGINT.
pub fn run(root: &Root, config: Config) -> Result<(), String> {
    let mut service = Service::new(root, config)?;
    if let Some(address) = service.config.metrics_address {
        let bound = service.metrics.serve(root, address)?;
        say(
            Level::Info,
            &format!("metrics are at http://{bound}/metrics"),
        );
    }
    service.rescan();
    notify(&[NotifyState::Ready]);
    service.work()?;
    notify(&[NotifyState::Stopping]);
    Ok(())
}

/// A stream that can be read from once the signal has come.
pub fn on_signal(signals: &[i32]) -> io::Result<UnixStream> {
    let (receiver, sender) = UnixStream::pair()?;
    receiver.set_nonblocking(true)?;
    for signal in signals {
        pipe::register(*signal, sender.try_clone()?)?;
    }
    Ok(receiver)
}

fn policy(config: &Config, library: Library) -> Policy {
    Policy {
        library,
        users: config.users.clone(),
        threads_max: config.threads_max,
    }
}

fn load_library(root: &Root, metrics: &Metrics) -> Library {
    let library = Library::load(root);
    for fault in &library.faults {
        say(
            Level::Error,
            &format!("a profile is refused: {fault}\n  {}", fault.advice),
        );
    }
    let usable = library.profiles.len();
    if usable == 0 {
        say(
            Level::Warning,
            "there is no profile: no thread will be tagged",
        );
    }
    metrics.profiles(usable, library.faults.len());
    library
}

impl Service {
    fn new(root: &Root, config: Config) -> Result<Self, String> {
        let no_signals = |error| format!("cannot wait for signals: {error}");
        let terminate = on_signal(&[SIGTERM, SIGINT]).map_err(no_signals)?;
        let reload = on_signal(&[SIGHUP]).map_err(no_signals)?;
        let ledger = Ledger::open(root).map_err(|source| {
            let path = ledger::PATH;
            format!("{path} cannot be used: {source}\n  give fgiod a directory of its own there (RuntimeDirectory=fgio/fgiod)")
        })?;
        // Before the first look at /proc, so that nothing falls in between.
        let connector = Connector::open().inspect_err(|error| {
            say(
                Level::Warning,
                &format!(
                    "the kernel sends no process events ({error}): new threads are found within {} s\n  fgiod needs CAP_NET_ADMIN and the initial namespaces, the kernel CONFIG_PROC_EVENTS",
                    BLIND_INTERVAL.as_secs()
                ),
            );
        });
        let metrics = Metrics::default();
        let policy = policy(&config, load_library(root, &metrics));
        let engine = Engine::new(
            Procfs::new(root),
            Module::new(root),
            policy,
            ledger,
            metrics.clone(),
        );
        Ok(Self {
            root: root.clone(),
            config,
            metrics,
            engine,
            connector: connector.ok(),
            arrivals: Arrivals::watch(root).ok(),
            terminate,
            reload,
            next_rescan: Duration::ZERO,
            last_rescan: Duration::ZERO,
            next_titles: Duration::ZERO,
            titles_costs: RecentCosts::default(),
            events_cost: Duration::ZERO,
            complaint: None,
        })
    }

    fn now(&self) -> Duration {
        self.engine.system().now()
    }

    fn work(&mut self) -> Result<(), String> {
        loop {
            let ready = self
                .wait()
                .map_err(|error| format!("fgiod cannot wait: {error}"))?;
            if ready.terminate {
                return Ok(());
            }
            if ready.reload {
                self.reload();
            }
            if ready.module {
                self.greet_module();
            }
            let gather = ready.events.then(|| self.take_events());
            self.do_due_work();
            self.report();
            // It must not stand in the way of unloading the module.
            self.engine.control().release();
            if let Some(pause) = gather {
                thread::sleep(pause);
            }
        }
    }

    fn due(&self) -> Duration {
        let due = match self.engine.has_titles() {
            true => self.next_rescan.min(self.next_titles),
            false => self.next_rescan,
        };
        self.engine.next_look().map_or(due, |look| due.min(look))
    }

    fn wait<'a>(&'a self) -> io::Result<Ready> {
        let pause = self.due().saturating_sub(self.now());
        let timeout = Timespec::try_from(pause).unwrap_or(Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        });
        let mut files = vec![
            PollFd::from_borrowed_fd(self.terminate.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.reload.as_fd(), PollFlags::IN),
        ];
        let mut add = |file: Option<BorrowedFd<'a>>| {
            let file = file?;
            files.push(PollFd::from_borrowed_fd(file, PollFlags::IN));
            Some(files.len() - 1)
        };
        let events = add(self.connector.as_ref().map(AsFd::as_fd));
        let module = add(self.arrivals.as_ref().map(AsFd::as_fd));
        match poll(&mut files, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let is_ready = |at: usize| !files[at].revents().is_empty();
        Ok(Ready {
            terminate: is_ready(0),
            reload: is_ready(1),
            events: events.is_some_and(is_ready),
            module: module.is_some_and(is_ready),
        })
    }

    /// Tags all threads at once when the module appears, instead of at the next rescan.
    fn greet_module(&mut self) {
        let arrived = self.arrivals.as_ref().is_some_and(Arrivals::take);
        if arrived {
            self.next_rescan = Duration::ZERO;
        }
    }

    /// Follows the events that have come. Returns for how long the next ones are to
    /// be gathered.
    fn take_events(&mut self) -> Duration {
        let before = time_of(ClockId::ThreadCPUTime);
        let happened = self.receive_events();
        self.engine.handle_all(happened);
        let cost = time_of(ClockId::ThreadCPUTime).saturating_sub(before);
        self.events_cost = (self.events_cost * (HANDFULS - 1) + cost) / HANDFULS;
        let throttle = Throttle::new(GATHER, EVENTS_CPU_PERCENT_MAX);
        throttle.pause_after(self.events_cost).min(GATHER_MAX)
    }

    fn receive_events(&mut self) -> Vec<Happened> {
        let mut happened = Vec::new();
        while happened.len() < BATCH
            && let Some(connector) = &self.connector
        {
            match connector.receive() {
                Ok(Received::Event(event)) => happened.push(event),
                Ok(Received::Other) => {}
                Ok(Received::Nothing) => break,
                Ok(Received::Lost) => {
                    self.metrics.count_lost();
                    let soon = self.last_rescan + OVERRUN_INTERVAL;
                    self.next_rescan = self.next_rescan.min(soon);
                }
                Err(error) => {
                    say(
                        Level::Error,
                        &format!("process events have stopped: {error}"),
                    );
                    self.connector = None;
                }
            }
        }
        happened
    }

    fn do_due_work(&mut self) {
        self.engine.look_at_the_young();
        let now = self.now();
        if now >= self.next_titles {
            let before = time_of(ClockId::ThreadCPUTime);
            self.engine.look_at_all();
            let cost = time_of(ClockId::ThreadCPUTime).saturating_sub(before);
            let config = &self.config;
            let throttle = Throttle::new(config.title_interval, config.title_cpu_percent_max);
            let cost = self.titles_costs.take(cost);
            self.next_titles = self.now() + throttle.pause_after(cost);
        }
        if now >= self.next_rescan {
            self.rescan();
        }
    }

    fn rescan(&mut self) {
        self.engine.rescan();
        self.last_rescan = self.now();
        let interval = match self.connector {
            Some(_) => self.config.rescan_interval,
            None => self.config.rescan_interval.min(BLIND_INTERVAL),
        };
        self.next_rescan = self.last_rescan + interval;
        notify(&[NotifyState::Watchdog]);
    }

    /// Says a complaint once, and again when another came in between.
    fn report(&mut self) {
        let forgetful = || {
            let path = ledger::PATH;
            let text = format!(
                "{path} cannot be written: the next fgiod will not know our tags\n  make room in /run, then restart fgiod"
            );
            (!self.engine.ledger_is_written()).then_some(text)
        };
        let complaint = forgetful();
        if let Some(complaint) = self.engine.take_complaint().or(complaint)
            && self.complaint.as_ref() != Some(&complaint)
        {
            say(Level::Warning, &complaint);
            self.complaint = Some(complaint);
        }
    }

    /// An unreadable file leaves the settings as they were.
    fn reload(&mut self) {
        let mut signals = [0; 64];
        // One signal or several: all are answered by this.
        while matches!(io::Read::read(&mut self.reload, &mut signals), Ok(count) if count > 0) {}
        match Config::load(&self.root) {
            Ok(config) => {
                if config.metrics_address != self.config.metrics_address {
                    say(
                        Level::Warning,
                        "metrics_address changes when fgiod is restarted",
                    );
                }
                self.config = config;
            }
            Err(fault) => say(
                Level::Error,
                &format!("settings stay as they were: {fault}\n  {}", fault.advice),
            ),
        }
        let library = load_library(&self.root, &self.metrics);
        say(
            Level::Info,
            &format!("{} profiles read", library.profiles.len()),
        );
        self.engine.set_policy(policy(&self.config, library));
        self.rescan();
    }
}

/// Descriptors that are ready to be read.
struct Ready {
    terminate: bool,
    reload: bool,
    events: bool,
    /// Something happened in /dev.
    module: bool,
}
