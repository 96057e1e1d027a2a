// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio export`: a recording for other programs.

use std::io::{BufWriter, Write};

use fgio_model::sample::Sample;
use fgio_store::Recording;
use fgio_sys::ErrorKind;

use crate::Context;
use crate::cli::{ExportArguments, Format};
use crate::export::csv::Table;
use crate::export::openmetrics::Points;
use crate::failure::{self, Failure};

const REST: &str = "the rest of the recording is exported";

pub fn export(context: &Context, arguments: &ExportArguments) -> Result<u8, Failure> {
    if arguments.format == Format::Openmetrics && arguments.table.is_some() {
        return Err(wrong(
            "--table is for --format csv",
            "leave --table out: OpenMetrics has disks and state at once",
        ));
    }
    let recording = Recording::open(&arguments.recording)?;
    for damage in recording.damage() {
        context.output.warning(&damage.message, REST);
    }
    let first = match &arguments.since {
        Some(moment) => recording.find_moment(moment)?,
        None => 0,
    };
    let last = match &arguments.until {
        Some(moment) => recording.find_moment(moment)?,
        None => recording.count() - 1,
    };
    if last < first {
        return Err(wrong(
            "--until is before --since",
            "give a later time with --until",
        ));
    }
    let mut samples = Samples {
        recording: &recording,
        range: first..last + 1,
        unreadable: 0,
    };
    let mut output = BufWriter::new(std::io::stdout().lock());
    match arguments.format {
        Format::Csv => {
            let table = arguments.table.map_or(Table::Disks, Table::from);
            table.begin(&mut output)?;
            while let Some(sample) = samples.next(context) {
                table.add(&mut output, &sample)?;
            }
        }
        Format::Openmetrics => {
            let mut points = Points::default();
            while let Some(sample) = samples.next(context) {
                points.add(&sample);
            }
            if points.backwards > 0 {
                context.output.warning(
                    &format!(
                        "{} samples are left out: the clock was set back while they were recorded",
                        points.backwards
                    ),
                    "export them as CSV, or by themselves with --since and --until",
                );
            }
            points.write(&mut output)?;
        }
    }
    output.flush()?;
    match recording.damage().len() + samples.unreadable {
        0 => Ok(failure::OK),
        lost => Err(incomplete(lost)),
    }
}

fn wrong(message: &str, advice: &str) -> Failure {
    Failure::new(ErrorKind::Usage.name(), failure::USAGE, message, advice)
}

fn incomplete(lost: usize) -> Failure {
    let parts = match lost {
        1 => "1 part of the recording".to_owned(),
        lost => format!("{lost} parts of the recording"),
    };
    Failure::new(
        ErrorKind::OperationFailed.name(),
        failure::FAILED,
        format!("{parts} could not be read; the export has all that could"),
        "use it for the time that the warnings do not name",
    )
}

/// Samples of a recording, without those that cannot be read.
struct Samples<'a> {
    recording: &'a Recording,
    range: std::ops::Range<usize>,
    unreadable: usize,
}

impl Samples<'_> {
    fn next(&mut self, context: &Context) -> Option<Sample> {
        loop {
            let index = self.range.next()?;
            match self.recording.sample(index) {
                Ok(sample) => return Some(sample),
                Err(error) => {
                    // A recording of another release may hold thousands.
                    const TOLD_MAX: usize = 10;
                    if self.unreadable < TOLD_MAX {
                        context.output.warning(&error.to_string(), REST);
                    }
                    self.unreadable += 1;
                }
            }
        }
    }
}
