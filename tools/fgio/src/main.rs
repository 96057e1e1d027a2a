// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The fgio command: arguments in, text or JSON and an exit status out.

#![forbid(unsafe_code)]

mod answer;
mod cli;
mod commands;
mod export;
mod failure;
mod output;
mod render;
mod signal;
mod usage;
mod view;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use fgio_sys::Root;

use cli::{Arguments, Command};
use failure::Failure;
use output::Output;

/// Context that every command has.
struct Context {
    root: Root,
    output: Output,
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return report_usage(&error),
    };
    let context = Context {
        root: arguments.root.map_or_else(Root::system, Root::at),
        output: Output::new(arguments.json),
    };
    let status = dispatch(&context, arguments.command).unwrap_or_else(|failure| {
        context.output.failure(&failure);
        failure.status
    });
    ExitCode::from(status)
}

fn dispatch(context: &Context, command: Command) -> Result<u8, Failure> {
    match command {
        Command::Enable(arguments) => commands::switch::enable(context, &arguments),
        Command::Disable { devices } => commands::switch::disable(context, &devices),
        Command::Status { watch: None } => commands::status::once(context),
        Command::Status {
            watch: Some(interval),
        } => commands::status::watch(context, interval),
        Command::Tag(arguments) => commands::tag::tag(context, &arguments),
        Command::Run(arguments) => commands::run::run(context, &arguments),
        Command::Top(arguments) => commands::top::top(context, &arguments),
        Command::Record(arguments) => commands::record::record(context, &arguments),
        Command::Replay(arguments) => commands::replay::replay(context, &arguments),
        Command::Export(arguments) => commands::export::export(context, &arguments),
        Command::Blame(arguments) => commands::blame::blame(context, &arguments),
        Command::Set(arguments) => commands::set::set(context, &arguments),
        Command::Share(arguments) => commands::share::share(context, &arguments),
        Command::Rearm { devices } => commands::rearm::rearm(context, &devices),
        Command::Profile(command) => commands::profile::profile(context, &command),
        Command::Measure(arguments) => commands::measure::measure(context, &arguments),
        Command::Doctor => commands::doctor::doctor(context),
        Command::Completions { shell } => commands::generate::completions(shell),
        Command::Man { out } => commands::generate::man(context, &out),
    }
}

/// Help and version go to standard output; wrong usage is an error like others.
fn report_usage(error: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os()
        .skip(1)
        .take_while(|argument| argument != "--")
        .any(|argument| argument == "--json");
    let is_answer = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    // Without a command, the help says more than an error; to a program, an error.
    let is_bare = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_answer || is_bare && !wants_json {
        // Nothing is left to be done when even this cannot be printed.
        let _ = error.print();
        return ExitCode::from(if is_answer {
            failure::OK
        } else {
            failure::USAGE
        });
    }
    let failure = usage::failure(error, std::env::args_os().skip(1));
    Output::new(wants_json).failure(&failure);
    ExitCode::from(failure.status)
}
