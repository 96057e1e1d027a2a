// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio run`

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use fgio_sys::priority;

use crate::Context;
use crate::cli::RunArguments;
use crate::commands::warn_unless_effective;
use crate::failure::{self, Failure};

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
    let source = Command::new(program).args(words).exec();
    let name = program.to_string_lossy();
    Err(not_run(&name, &source))
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
