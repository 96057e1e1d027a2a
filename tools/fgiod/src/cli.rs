// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The arguments, and the actions that do not run the service.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser, Subcommand};
use fgio_profile::{Library, procfs};
use fgio_sys::Root;
use fgio_sys::class::Class;
use fgio_sys::control::Control;

use crate::config::Config;
use crate::ledger::{Ledger, PATH};
use crate::module::Module;

const DETAILS: &str = "\
Files:
  /etc/fgio/fgiod.toml            settings; `fgiod cat-config` shows all
  /usr/lib/fgio/profiles/*.toml   profiles; see `fgio profile`
  /etc/fgio/profiles/*.toml       those of the same name mask the former
  /run/fgio/fgiod/tags            the tags that fgiod has set
  /run/fgio/cache/limits          the memory.low that `fgiod cache` has set

Signals:
  SIGHUP    read settings and profiles again
  SIGTERM   end; tags stay, and the next fgiod takes them over

Exit status: 0 done, 1 failed (with --check: something is wrong), 2 wrong usage.";

/// Tag the threads of databases as they appear.
///
/// fgiod learns from the kernel of each process and thread that starts, is
/// renamed or ends, and tags those that a profile says serve requests. It leaves
/// tags alone that it has not set. It needs CAP_NET_ADMIN (process events) and
/// CAP_SYS_NICE (tags on threads of other users).
#[derive(Debug, Parser)]
#[command(name = "fgiod", version, after_long_help = DETAILS)]
pub struct Arguments {
    /// Check settings and profiles, then exit
    #[arg(long)]
    pub check: bool,

    /// Work on a directory that imitates a system (for tests)
    #[arg(long, hide = true, value_name = "DIR")]
    pub root: Option<PathBuf>,

    #[command(subcommand)]
    pub action: Option<Action>,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// Print the settings in force
    CatConfig,

    /// Take away the tags that fgiod has set, when it runs no more
    Clear,

    /// Divide the page cache among cgroups by their weights
    ///
    /// Each cgroup's part of the memory for files follows its io.weight (IOWeight= of systemd), among
    /// its siblings. What a cgroup does not need is lent to the others. Parts are protected by
    /// memory.low; file pages beyond them are reclaimed when another cgroup needs the memory. Runs
    /// until SIGTERM, and then takes back what it has set. Needs root.
    Cache {
        /// Take back what was set by one that was killed, then exit
        #[arg(long)]
        restore: bool,
    },

    /// Write the manual pages
    #[command(hide = true)]
    Man {
        /// Existing directory to write them to
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

fn print(text: &str) -> Result<(), String> {
    let written = std::io::stdout().write_all(text.as_bytes());
    written.map_err(|source| format!("cannot write the answer: {source}"))
}

pub fn cat_config(root: &Root) -> Result<(), String> {
    let config = Config::load(root).map_err(|fault| format!("{fault}\n  {}", fault.advice))?;
    print(&config.to_string())
}

pub fn restore_cache(root: &Root) -> Result<(), String> {
    let count = crate::cache::restore(root)?;
    print(&format!(
        "{count} cgroups have their own memory.low again\n"
    ))
}

pub fn man(out: &Path) -> Result<(), String> {
    let written = clap_mangen::generate_to(Arguments::command(), out);
    written.map_err(|source| {
        let out = out.display();
        format!("cannot write manual pages to {out}: {source}\n  name an existing directory that you may write to")
    })
}

/// Fails with all that is wrong.
pub fn check(root: &Root) -> Result<(), String> {
    let library = Library::load(root);
    let mut faults = library.faults;
    faults.extend(Config::load(root).err());
    let mut wrong: Vec<String> = faults
        .iter()
        .map(|fault| format!("{fault}\n  {}", fault.advice))
        .collect();
    for profile in &library.profiles {
        let (_, failures) = profile.check();
        wrong.extend(
            failures
                .iter()
                .map(|one| format!("{}: {}", one.place, one.message)),
        );
    }
    if wrong.is_empty() {
        return print(&format!("{} profiles, no fault\n", library.profiles.len()));
    }
    Err(wrong.join("\n"))
}

/// Removes the tags of the ledger, but for threads that have ended since and
/// tags that another program has changed.
pub fn clear(root: &Root) -> Result<(), String> {
    let mut ledger = Ledger::open(root).map_err(|source| format!("{PATH}: {source}"))?;
    let module = Module::new(root);
    let mut cleared = 0;
    for (tid, entry) in ledger.entries() {
        let same = procfs::process_of(root, tid)
            .is_some_and(|pid| procfs::start_time(root, pid, tid) == Some(entry.started));
        if same && module.get_tag(tid).is_ok_and(|class| class == entry.class) {
            let failed = |error| format!("thread {tid} keeps its tag: {error}");
            module.set_tag(tid, Class::None).map_err(failed)?;
            cleared += 1;
        }
        ledger.remove(tid);
    }
    print(&format!("{cleared} threads have no tag any more\n"))
}
