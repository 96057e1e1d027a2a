// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio run`

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{self, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fgio_profile::{Patterns, procfs};
use fgio_sys::cgroup;
use fgio_sys::drop_behind::DropBehind;
use fgio_sys::priority;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;

use crate::Context;
use crate::cli::RunArguments;
use crate::commands::warn_unless_effective;
use crate::failure::{self, Failure};

/// Between two looks for processes to adopt; and this times what a look took.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
const LOOK_INTERVAL_LOOKS: u32 = 50;

/// Becomes the command; returns only when that fails.
pub fn run(context: &Context, arguments: &RunArguments) -> Result<u8, Failure> {
    let class = arguments.class();
    warn_unless_effective(context, &format!("the class {}", class.name()));
    priority::set_own(class).map_err(|error| Failure {
        status: failure::RUN_FAILED,
        ..Failure::from(error)
    })?;
    let mut words = arguments.command.iter();
    let Some(program) = words.next() else {
        return Err(Failure::new(
            "usage",
            failure::USAGE,
            "no command given",
            "name the command to run after --",
        ));
    };
    let mut command = Command::new(program);
    command.args(words);
    let name = program.to_string_lossy();
    if let Some(mib) = arguments.drop_behind {
        let servers = Servers::new(context, &arguments.with, arguments.of.as_deref())?;
        let keep = mib.map(|mib| mib << 20);
        return watch(
            context,
            &mut command,
            &name,
            keep,
            servers,
            arguments.summary,
        );
    }
    let source = command.exec();
    Err(not_run(&name, &source))
}

/// Processes of a server that work for the command: those of a cgroup, by their titles.
struct Servers {
    titles: Patterns,
    group: String,
    next_look: Instant,
}

impl Servers {
    fn new(context: &Context, titles: &[String], of: Option<&str>) -> Result<Self, Failure> {
        let mut patterns = Patterns::none();
        for title in titles {
            patterns.add(title).map_err(|fault| {
                Failure::new(
                    "usage",
                    failure::USAGE,
                    format!("--with '{title}': {fault}"),
                    "give a regular expression for the whole title",
                )
            })?;
        }
        let group = match of {
            Some(name) => server_group(context, name)?,
            None => "/".to_owned(),
        };
        Ok(Self {
            titles: patterns,
            group,
            next_look: Instant::now(),
        })
    }

    /// Moves those that are new to the command's cgroup. One that cannot be moved keeps no other from
    /// it. Returns the first error.
    fn look(&mut self, context: &Context, group: &mut DropBehind) -> io::Result<()> {
        let begin = Instant::now();
        if self.titles.sources().is_empty() || begin < self.next_look {
            return Ok(());
        }
        let mut moved = Ok(());
        for pid in procfs::processes(&context.root) {
            let title = procfs::title(&context.root, pid).unwrap_or_default();
            if pid.unsigned_abs() != process::id() && self.titles.match_whole(&title) {
                moved = moved.and(group.adopt(pid, &self.group));
            }
        }
        self.next_look = begin + LOOK_INTERVAL.max(LOOK_INTERVAL_LOOKS * begin.elapsed());
        moved
    }
}

/// All processes are below the root, and any user can give one any title.
fn server_group(context: &Context, name: &str) -> Result<String, Failure> {
    let found = cgroup::find(&context.root, name)
        .map_err(|error| refused(format!("--of {name}: {error}"), &error.advice()))?;
    if found.is_root() {
        return Err(refused(
            format!("--of {name}: all processes are in it"),
            "give the cgroup of the server alone, such as postgresql@15-main.service",
        ));
    }
    Ok(found.path().to_owned())
}

fn refused(message: String, advice: &str) -> Failure {
    Failure::new("operation-failed", failure::RUN_FAILED, message, advice)
}

/// Runs the command to its end, and drops its page cache behind it.
fn watch(
    context: &Context,
    command: &mut Command,
    name: &str,
    keep: Option<u64>,
    mut servers: Servers,
    summary: bool,
) -> Result<u8, Failure> {
    // Those that a terminal or a service manager sends to stop the command.
    let passed_on = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        flag::register_usize(signal, Arc::clone(&passed_on), signal as usize)
            .map_err(|error| refused(format!("cannot wait for signals: {error}"), "try again"))?;
    }
    // A signal before the command begins is passed on to it: nothing is left behind.
    let mut group = DropBehind::prepare(&context.root, keep)
        .map_err(|refusal| refused(refusal.found, refusal.advice))?;
    let started = group.spawn(command);
    let mut child = match started {
        Ok(child) => child,
        Err(source) => {
            group.finish();
            return Err(not_run(name, &source));
        }
    };
    let mut complained = false;
    let mut refused_to_move = false;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(source) => {
                group.finish();
                return Err(refused(
                    format!("cannot wait for {name}: {source}"),
                    "it may still run",
                ));
            }
        }
        let signal = passed_on.swap(0, Ordering::Relaxed);
        if signal != 0
            && let (Some(signal), Some(pid)) = (
                Signal::from_named_raw(signal as i32),
                Pid::from_raw(child.id() as i32),
            )
        {
            // It may have ended just now.
            let _ = kill_process(pid, signal);
        }
        if let Err(error) = servers.look(context, &mut group)
            && !refused_to_move
        {
            refused_to_move = true;
            context.output.warning(
                &format!("a process of {} cannot be moved: {error}", servers.group),
                "what it brings in for the command stays in memory; run `fgio run` as root",
            );
        }
        if let Err(error) = group.drop_behind()
            && !complained
        {
            complained = true;
            context.output.warning(
                &format!("the page cache of {name} cannot be dropped: {error}"),
                "`fgio doctor` says what is missing; the command runs all the same",
            );
        }
        thread::sleep(group.pause());
    };
    let limit = group.limit();
    let (dropped, most) = group.finish();
    if summary {
        context.output.progress(&format!(
            "fgio: {} MiB of page cache dropped behind {name}, {} MiB at once at most; the limit was {} MiB",
            dropped >> 20,
            most >> 20,
            limit >> 20
        ));
    }
    // As a shell has it.
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(u8::try_from(code).unwrap_or(failure::RUN_FAILED))
}

fn not_run(name: &str, source: &io::Error) -> Failure {
    let message = format!("cannot run {name}: {source}");
    if source.kind() == io::ErrorKind::NotFound {
        return Failure::new(
            "command-not-found",
            failure::COMMAND_NOT_FOUND,
            message,
            "check its spelling and PATH",
        );
    }
    Failure::new(
        "command-not-runnable",
        failure::COMMAND_NOT_RUNNABLE,
        message,
        "check that it is a program that you may execute",
    )
}
