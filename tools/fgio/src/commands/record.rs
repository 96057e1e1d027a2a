// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio record`: keeps samples for `fgio replay`.

use std::time::{Duration, Instant};

use fgio_model::sample::{Sample, Sampler};
use fgio_store::{Limits, Writer};
use serde::Serialize;

use crate::Context;
use crate::cli::RecordArguments;
use crate::failure::{self, Failure};
use crate::signal::{End, Until};

/// The answer to a recording.
#[derive(Serialize)]
struct Answer {
    recording: String,
    /// Samples that were taken, also those that are kept no more.
    samples: u64,
    seconds: f64,
    /// Bytes on disk, those of former recordings in the same place included.
    bytes: u64,
}

pub fn record(context: &Context, arguments: &RecordArguments) -> Result<u8, Failure> {
    let limits = Limits {
        keep: arguments.keep,
        size_max: arguments.max_mib << 20,
    };
    // Not standard output: the recording is the answer.
    let end = End::new(Until::Signal, "try again")?;
    let mut writer = Writer::open(&arguments.recording, limits)?;
    let name = arguments.recording.display();
    context.output.line(format_args!(
        "recording to {name}: the last {}, at most {} MiB; Ctrl-C ends it",
        humantime::format_duration(arguments.keep),
        arguments.max_mib
    ))?;
    let begin = Instant::now();
    let samples = run(context, arguments, &mut writer, &end)?;
    writer.finish()?;
    let answer = Answer {
        recording: name.to_string(),
        samples,
        seconds: begin.elapsed().as_secs_f64(),
        bytes: writer.size(),
    };
    context.output.answer(&answer, || describe(&answer))?;
    Ok(failure::OK)
}

fn describe(answer: &Answer) -> String {
    format!(
        "{} samples in {:.0} s; {:.1} MiB are in {} (`fgio replay`)\n",
        answer.samples,
        answer.seconds,
        answer.bytes as f64 / f64::from(1 << 20),
        answer.recording
    )
}

/// Records until it is told to end; returns how many samples it took.
fn run(
    context: &Context,
    arguments: &RecordArguments,
    writer: &mut Writer,
    end: &End,
) -> Result<u64, Failure> {
    let mut sampler = Sampler::new(context.root.clone());
    let mut samples = 0;
    let begin = Instant::now();
    let mut due = begin;
    loop {
        let sample = sampler.take();
        if samples == 0 {
            report_missing_parts(context, &sample);
        }
        writer.append(&sample)?;
        samples += 1;
        // A late sample does not make the next one come sooner.
        due = (due + arguments.interval).max(Instant::now());
        let last = arguments.period.map(|period| begin + period);
        if last.is_some_and(|last| due > last) {
            let left = last.map_or(Duration::ZERO, |last| {
                last.saturating_duration_since(Instant::now())
            });
            end.wait(left)?;
            return Ok(samples);
        }
        let left = due.saturating_duration_since(Instant::now());
        if end.wait(left)? {
            return Ok(samples);
        }
    }
}

fn report_missing_parts(context: &Context, sample: &Sample) {
    if sample.module.is_none() {
        context.output.warning(
            "the module fgio is not loaded: there is little to record until it is",
            "run `fgio enable DEV` as root; the recording goes on meanwhile",
        );
    }
    for note in &sample.notes {
        context
            .output
            .warning(note, "the recording lacks it too, until it can be read");
    }
}
