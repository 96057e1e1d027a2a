// SPDX-License-Identifier: Apache-2.0 OR MIT
//! fgiod: tags the threads of databases as they appear, by profiles. `fgiod cache`, a process of its
//! own, divides the page cache by weight.

#![forbid(unsafe_code)]

mod arrival;
mod cache;
mod cli;
mod config;
mod engine;
mod events;
mod ledger;
mod metrics;
mod module;
mod service;
mod share_metrics;
mod system;
mod throttle;
mod unit;

use std::process::ExitCode;

use clap::Parser;
use fgio_sys::Root;

use cli::{Action, Arguments};
use config::Config;

/// As with the `fgio` command.
const FAILED: u8 = 1;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let root = arguments.root.clone().map_or_else(Root::system, Root::at);
    let done = match (arguments.check, &arguments.action) {
        (true, _) => cli::check(&root),
        (false, Some(Action::CatConfig)) => cli::cat_config(&root),
        (false, Some(Action::Clear)) => cli::clear(&root),
        (false, Some(Action::Cache { restore: true })) => cli::restore_cache(&root),
        (false, Some(Action::Cache { restore: false })) => Config::load(&root)
            .map_err(|fault| format!("{fault}\n  {}", fault.advice))
            .and_then(|config| cache::run(&root, config)),
        (false, Some(Action::Man { out })) => cli::man(out),
        (false, None) => Config::load(&root)
            .map_err(|fault| format!("{fault}\n  {}", fault.advice))
            .and_then(|config| service::run(&root, config)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            service::say(service::Level::Error, &message);
            ExitCode::from(FAILED)
        }
    }
}
