// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio profile`

use std::path::PathBuf;

use fgio_profile::procfs::{self, Users};
use fgio_profile::{Fault, Library, Needs, ProcessFacts, TaskFacts};
use fgio_sys::class::Class;
use fgio_sys::control::{Control, DeviceFile};
use fgio_sys::{Error, ErrorKind};
use serde::Serialize;

use crate::Context;
use crate::answer::profile::{Checked, Listed, Shown, Tested};
use crate::cli::ProfileCommand;
use crate::failure::{self, Failure};
use crate::render;

pub fn profile(context: &Context, command: &ProfileCommand) -> Result<u8, Failure> {
    match command {
        ProfileCommand::List => list(context),
        ProfileCommand::Show { name } => show(context, name),
        ProfileCommand::Check { files } => check(context, files),
        ProfileCommand::Test { pid } => test(context, *pid),
    }
}

#[derive(Serialize)]
struct List<'a> {
    profiles: Vec<Listed<'a>>,
    refused: &'a [Fault],
    masked: &'a [PathBuf],
}

fn list(context: &Context) -> Result<u8, Failure> {
    let library = Library::load(&context.root);
    let listed = library.profiles.iter().map(|profile| Listed {
        name: &profile.name,
        summary: &profile.summary,
        program: profile.program.comm.sources(),
        rules: profile.rules.len(),
        files: &profile.files,
    });
    let answer = List {
        profiles: listed.collect(),
        refused: &library.faults,
        masked: &library.masked,
    };
    let width = context.output.width();
    context.output.answer(&answer, || {
        render::profile::list(&answer.profiles, answer.masked, width)
    })?;
    warn_of_refused(context, &library.faults);
    Ok(failure::OK)
}

fn warn_of_refused(context: &Context, faults: &[Fault]) {
    for fault in faults {
        let message = format!("a profile is refused: {fault}");
        context.output.warning(&message, &fault.advice);
    }
}

#[derive(Serialize)]
struct Show<'a> {
    name: &'a str,
    summary: &'a str,
    program: &'a [String],
    files: &'a [PathBuf],
    rules: Vec<Shown<'a>>,
}

fn show(context: &Context, name: &str) -> Result<u8, Failure> {
    let library = Library::load(&context.root);
    warn_of_refused(context, &library.faults);
    let mut profiles = library.profiles.iter();
    let Some(profile) = profiles.find(|profile| profile.name == name) else {
        return Err(not_found(
            format!("there is no profile {name} that can be used"),
            "run `fgio profile list` to see all",
        ));
    };
    let answer = Show {
        name: &profile.name,
        summary: &profile.summary,
        program: profile.program.comm.sources(),
        files: &profile.files,
        rules: profile.rules.iter().map(Shown::from).collect(),
    };
    context
        .output
        .answer(&answer, || render::profile::show(profile, &answer.rules))?;
    Ok(failure::OK)
}

fn not_found(message: String, advice: &str) -> Failure {
    let kind = ErrorKind::NotFound.name();
    Failure::new(kind, failure::NOT_FOUND, message, advice)
}

#[derive(Serialize)]
struct Check<'a> {
    profiles: Vec<Checked<'a>>,
    refused: &'a [Fault],
}

fn check(context: &Context, files: &[PathBuf]) -> Result<u8, Failure> {
    let mut library = Library::default();
    if files.is_empty() {
        library = Library::load(&context.root);
    }
    for file in files {
        let one = Library::load_file(file);
        library.profiles.extend(one.profiles);
        library.faults.extend(one.faults);
    }
    let answer = Check {
        profiles: library.profiles.iter().map(Checked::new).collect(),
        refused: &library.faults,
    };
    context.output.answer(&answer, || {
        render::profile::check(&answer.profiles, answer.refused)
    })?;
    let failed = answer.profiles.iter().any(|one| !one.failures.is_empty());
    Ok(match failed || !library.faults.is_empty() {
        true => failure::FAILED,
        false => failure::OK,
    })
}

#[derive(Serialize)]
struct Test<'a> {
    process: &'a ProcessFacts,
    profile: Option<&'a str>,
    threads: Vec<Tested<'a>>,
}

fn test(context: &Context, id: i32) -> Result<u8, Failure> {
    let root = &context.root;
    let library = Library::load(root);
    warn_of_refused(context, &library.faults);
    let gone = || Error::NoSuchTask { id };
    let pid = procfs::process_of(root, id).ok_or_else(gone)?;
    let users = Users::read(root);
    let process = procfs::process_facts(root, &users, pid, Needs::ALL);
    let process = process.ok_or_else(gone)?;
    let module = DeviceFile::open(root);
    let mut tids = procfs::threads(root, pid);
    tids.sort_unstable();
    let threads = tids.into_iter().filter_map(|tid| {
        let comm = procfs::thread_comm(root, pid, tid)?;
        let facts = TaskFacts {
            tid,
            comm: &comm,
            process: &process,
        };
        let decision = library.decide(&facts);
        let rule = decision.and_then(|decision| decision.rule);
        let class = decision.map_or(Class::None, |decision| {
            decision.class(&process, |leader| {
                procfs::process_facts(root, &users, leader, Needs::ALL)
            })
        });
        let tag = module
            .as_ref()
            .ok()
            .and_then(|module| module.get_tag(tid).ok());
        Some(Tested {
            tid,
            class,
            rule: rule.map(Shown::from),
            tag,
            comm,
        })
    });
    let profile = library.profile_of(&process);
    let answer = Test {
        process: &process,
        profile: profile.map(|profile| profile.name.as_str()),
        threads: threads.collect(),
    };
    context.output.answer(&answer, || {
        render::profile::test(&process, profile, &answer.threads)
    })?;
    if let Err(error) = &module {
        let message = format!("the present tags are not known: {error}");
        context.output.warning(&message, &error.advice());
    }
    Ok(failure::OK)
}
