// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio measure`: a model of a drive, for the lab.

use std::time::Duration;

use fgio_measure::{self as measure, Report, Target};
use serde::Serialize;

use crate::Context;
use crate::cli::MeasureArguments;
use crate::failure::{self, Failure};
use crate::signal::{End, Until};

/// The answer to a measurement.
#[derive(Serialize)]
struct Answer<'a> {
    model: String,
    target: &'a str,
    drive: Option<&'a str>,
    /// As `lab/run --device` and the module simdisk take it.
    spec: String,
    seconds: f64,
    facts: &'a [String],
    notes: &'a [String],
}

pub fn measure(context: &Context, arguments: &MeasureArguments) -> Result<u8, Failure> {
    let output = measure::check_output(&arguments.out, arguments.force)?;
    let end = End::new(Until::Signal, "try again")?;
    let access = arguments.access();
    let target = Target::open(&context.root, &arguments.target, access)?;
    warn(context, arguments, &target);
    let report = measure::measure(
        &context.root,
        &target,
        access,
        arguments.seconds,
        &mut |time| {
            end.wait(time)
                .map_err(|failure| std::io::Error::other(failure.message))
        },
        &mut |line| context.output.progress(line),
    )?;
    let report = report.ok_or_else(ended)?;
    for note in &report.notes {
        context.output.warning(
            note,
            "the model file says so, too; measure again without it",
        );
    }
    measure::write_output(&output, &report.text, arguments.force)?;
    tell(context, arguments, &target, &report)?;
    Ok(failure::OK)
}

fn warn(context: &Context, arguments: &MeasureArguments, target: &Target) {
    let time = humantime::format_duration(Duration::from_secs(arguments.seconds.as_secs().max(1)));
    let what = &target.what;
    let on = target.disk.as_ref().map_or(what, |disk| &disk.name);
    context.output.warning(
        &format!("measuring {what} loads {on} fully for {time}: other programs that use it are slow meanwhile"),
        "Ctrl-C ends it, and writes nothing",
    );
}

fn ended() -> Failure {
    Failure::new(
        fgio_sys::ErrorKind::OperationFailed.name(),
        failure::FAILED,
        "ended before all was measured: no model was written",
        "run it again, with a shorter --seconds if it takes too long",
    )
}

fn tell(
    context: &Context,
    arguments: &MeasureArguments,
    target: &Target,
    report: &Report,
) -> Result<(), Failure> {
    let model = arguments.out.display().to_string();
    let answer = Answer {
        target: &target.what,
        drive: target.model.as_deref(),
        spec: measure::spec::joined(&report.text),
        seconds: report.seconds,
        facts: &report.facts,
        notes: &report.notes,
        model,
    };
    context.output.answer(&answer, || {
        let facts: Vec<String> = answer.facts.iter().map(|fact| format!("  {fact}\n")).collect();
        format!(
            "{} is the model of {}, measured in {:.0} s\n{}in fgio's source: lab/run depth --device @{}\n",
            answer.model,
            answer.target,
            answer.seconds,
            facts.concat(),
            answer.model
        )
    })
}
