// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Measures a drive for the lab: service times, the rate of several I/Os
//! at once, limits, streams, and the cost of a flush. Writes a model file of the kind
//! `measured` (docs/drives.md).

#![forbid(unsafe_code)]

pub mod error;
mod fit;
mod load;
mod samples;
mod size;
pub mod spec;
mod target;

use std::io;
use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};

pub use error::{Error, Result};
use fit::{DEPTHS, Measured, SIZES, Side, Writes};
pub use load::Wait;
use load::{Load, Operation, Outcome};
pub use size::{SIZE_MIN, size};
pub use target::{Access, Target, check_output, write_output};

use fgio_sys::{FGIO, Root, VERSION, files};

/// Depths at which I/Os of 256 KiB are measured, beyond 1.
const LARGE_DEPTHS: [usize; 2] = [4, 32];
const STREAM_DEPTHS: [usize; 2] = [1, 8];
/// Depths of half reads, half writes: 4 KiB, 256 KiB.
const MIXED_DEPTHS: [usize; 2] = [64, 32];

/// Parts of the time that a load gets: quantiles of one at a time need the most samples.
const ALONE_PARTS: [u32; SIZES.len()] = [4, 2, 2];
const SIDE_PARTS: u32 = 4 + 2 + 2 + DEPTHS.len() as u32 + 2 + 2;
const FLUSH_PARTS: u32 = 2;
const WRITE_PARTS: u32 = SIDE_PARTS + 2 + FLUSH_PARTS;

/// The share of all I/O that others may have before a note says so.
const OTHERS_SHARE: f64 = 0.02;
/// From this share of the processors on, they may limit the rate instead of the drive.
const BUSY_SHARE: f64 = 0.8;

/// The findings, and the text of the model file.
#[derive(Clone, Debug)]
pub struct Report {
    pub text: String,
    /// One line a fact.
    pub facts: Vec<String>,
    /// Reservations about the figures.
    pub notes: Vec<String>,
    pub seconds: f64,
}

/// Measures for `time`. `None` when `wait` ended it. `say` gets a line whenever something is done.
pub fn measure(
    root: &Root,
    target: &Target,
    access: Access,
    time: Duration,
    wait: Wait,
    say: &mut dyn FnMut(&str),
) -> Result<Option<Report>> {
    let is_written = access != Access::Read;
    let parts = SIDE_PARTS + if is_written { WRITE_PARTS } else { 0 };
    let begin = Instant::now();
    let mut notes = target.notes.clone();
    if target.scheduler().as_deref() == Some(FGIO) {
        notes.push("the disk is under fgio, which reorders the measured I/O".to_owned());
    }
    let mut runner = Runner {
        target,
        part: time / parts,
        wait,
        say,
        moved: 0,
        is_busy: false,
    };
    if matches!(access, Access::NewFile(_)) {
        (runner.say)(&format!("writing {}", target.what));
        if target.fill(runner.wait)? {
            return Ok(None);
        }
    }
    let before = target.moved();
    let Some(measured) = runner.all(is_written)? else {
        return Ok(None);
    };
    if runner.is_busy {
        notes.push(
            "the processors were nearly busy with many I/Os at once: the drive may do more"
                .to_owned(),
        );
    }
    if let (Some(before), Some(after)) = (before, target.moved()) {
        notes.extend(others(after.saturating_sub(before), runner.moved));
    }
    let fitted = fit::fit(&measured);
    let model = spec::write(&fitted, &target.announced());
    let facts = facts(&measured);
    let text = format!("{}{model}", head(root, target, access, time, &notes));
    spec::check(&spec::joined(&text)).map_err(|reason| Error::ModelRefused { reason })?;
    Ok(Some(Report {
        text,
        facts,
        notes,
        seconds: begin.elapsed().as_secs_f64(),
    }))
}

/// A note on the I/O of others, of which the disk's own count knows.
fn others(all: u64, own: u64) -> Option<String> {
    let share = all.saturating_sub(own) as f64 / all.max(1) as f64;
    (share > OTHERS_SHARE).then(|| {
        format!(
            "other programs moved {:.0} % of the disk's bytes meanwhile: measure it when it is idle",
            100.0 * share
        )
    })
}

/// The comments at the head of a model file. It may be published: no name of a file, no path by
/// which a device was named, which may have its serial number.
fn head(root: &Root, target: &Target, access: Access, time: Duration, notes: &[String]) -> String {
    let kernel = files::read_optional(&root.path("/proc/sys/kernel/osrelease"));
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let day = now.split('T').next().unwrap_or_default();
    let options = match access {
        Access::Read => "",
        Access::NewFile(_) => " --write",
        Access::Destroy => " --destroy-data",
    };
    let mut lines = vec![
        target.model.clone().unwrap_or_else(|| "a drive".to_owned()),
        format!(
            "{}; kernel {}, scheduler {}",
            target.what,
            kernel.as_deref().unwrap_or("unknown"),
            target.scheduler().as_deref().unwrap_or("none")
        ),
        format!(
            "fgio {VERSION}: fgio measure{options} --seconds {}, {day}",
            time.as_secs_f64()
        ),
    ];
    if access == Access::Read {
        lines.push("writes and flushes were not measured".to_owned());
    }
    lines.extend(notes.iter().cloned());
    lines.iter().map(|line| format!("# {line}\n")).collect()
}

fn facts(measured: &Measured) -> Vec<String> {
    let mut facts = side_facts("reads", &measured.reads);
    if let Some(writes) = &measured.writes {
        facts.extend(side_facts("writes", &writes.side));
        facts.push(format!("flushes after a write: {}", times(&writes.flushes)));
    }
    facts
}

fn times(outcome: &Outcome) -> String {
    let ms = |share| outcome.samples.quantile(share) as f64 / 1e6;
    format!(
        "{:.3} ms median, {:.3} p90, {:.3} p99 ({} samples)",
        ms(0.5),
        ms(0.9),
        ms(0.99),
        outcome.samples.count()
    )
}

fn side_facts(name: &str, side: &Side) -> Vec<String> {
    let rates: Vec<String> = side
        .at_depths
        .iter()
        .map(|outcome| format!("{:.0}", outcome.per_second))
        .collect();
    let megabytes = |outcome: &Outcome| outcome.per_second * SIZES[2] as f64 / 1e6;
    let [stream, streams] = side.stream.each_ref().map(megabytes);
    vec![
        format!("{name} of 4 KiB: {}", times(&side.alone[0])),
        format!(
            "{name} of 4 KiB a second, 1, 2, 4 to 128 at once: {:.0} {}",
            side.alone[0].per_second,
            rates.join(" ")
        ),
        format!("{name} of 256 KiB: {}", times(&side.alone[2])),
        format!(
            "{name} in order: {:.0} MB/s, 8 at once {:.0}",
            stream, streams
        ),
    ]
}

struct Runner<'a> {
    target: &'a Target,
    part: Duration,
    wait: Wait<'a>,
    say: &'a mut dyn FnMut(&str),
    /// Bytes.
    moved: u64,
    /// Whether the processors were, in one of the loads.
    is_busy: bool,
}

/// A load that `wait` ended ends all: `?` passes it on.
type Ended<T> = std::result::Result<T, Stop>;

enum Stop {
    Ended,
    Failed(Error),
}

impl Runner<'_> {
    fn all(&mut self, is_written: bool) -> Result<Option<Measured>> {
        let measured = self.side(Operation::Read).and_then(|reads| {
            let writes = is_written.then(|| self.writes()).transpose()?;
            Ok(Measured { reads, writes })
        });
        match measured {
            Ok(measured) => Ok(Some(measured)),
            Err(Stop::Ended) => Ok(None),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    fn writes(&mut self) -> Ended<Writes> {
        let [small, large] = MIXED_DEPTHS;
        Ok(Writes {
            side: self.side(Operation::Write)?,
            mixed: [
                self.anywhere(Operation::Mixed, SIZES[0], small, 1)?,
                self.anywhere(Operation::Mixed, SIZES[2], large, 1)?,
            ],
            flushes: self.anywhere(Operation::Flush, SIZES[0], 1, FLUSH_PARTS)?,
        })
    }

    fn side(&mut self, operation: Operation) -> Ended<Side> {
        let [one, two, three] = SIZES;
        let parts = ALONE_PARTS;
        Ok(Side {
            alone: [
                self.anywhere(operation, one, 1, parts[0])?,
                self.anywhere(operation, two, 1, parts[1])?,
                self.anywhere(operation, three, 1, parts[2])?,
            ],
            at_depths: {
                let [a, b, c, d, e, f, g] = DEPTHS;
                let mut at = |depth| self.anywhere(operation, one, depth, 1);
                [at(a)?, at(b)?, at(c)?, at(d)?, at(e)?, at(f)?, at(g)?]
            },
            large: LARGE_DEPTHS
                .iter()
                .map(|depth| self.anywhere(operation, three, *depth, 1))
                .collect::<Ended<_>>()?,
            stream: {
                let [alone, several] = STREAM_DEPTHS;
                let mut at = |depth| {
                    let load = Load {
                        operation,
                        depth,
                        bytes: three,
                        is_sequential: true,
                    };
                    self.run(load, 1)
                };
                [at(alone)?, at(several)?]
            },
        })
    }

    fn anywhere(
        &mut self,
        operation: Operation,
        bytes: usize,
        depth: usize,
        parts: u32,
    ) -> Ended<Outcome> {
        let load = Load {
            operation,
            bytes,
            depth,
            is_sequential: false,
        };
        self.run(load, parts)
    }

    fn run(&mut self, load: Load, parts: u32) -> Ended<Outcome> {
        (self.say)(&describe(&load));
        let used = clock_gettime(ClockId::ProcessCPUTime);
        let begin = Instant::now();
        let Target { file, bytes, .. } = self.target;
        let outcome = load::run(file, *bytes, &load, self.part * parts, self.wait);
        let outcome = outcome.map_err(|source| Stop::Failed(self.failed(&load, source)))?;
        let outcome = outcome.ok_or(Stop::Ended)?;
        let used = clock_gettime(ClockId::ProcessCPUTime) - used;
        let used = used.tv_sec as f64 + used.tv_nsec as f64 / 1e9;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let share = used / begin.elapsed().as_secs_f64() / processors as f64;
        self.is_busy |= load.depth > 1 && share > BUSY_SHARE;
        self.moved += outcome.bytes_moved;
        Ok(outcome)
    }

    fn failed(&self, load: &Load, source: io::Error) -> Error {
        Error::Measuring {
            action: match load.operation {
                Operation::Read => "read",
                _ => "write to",
            },
            name: self.target.what.clone(),
            source,
        }
    }
}

fn describe(load: &Load) -> String {
    let what = match load.operation {
        Operation::Read => "reads",
        Operation::Write => "writes",
        Operation::Mixed => "reads and writes",
        Operation::Flush => return "a flush after each write".to_owned(),
    };
    let order = if load.is_sequential {
        "in order"
    } else {
        "anywhere"
    };
    format!(
        "{what} of {} {order}, {} at once",
        size(load.bytes as u64),
        load.depth
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(bytes: u64) -> Target {
        let file = tempfile::tempfile().unwrap();
        file.set_len(bytes).unwrap();
        Target {
            file,
            bytes,
            what: "a file".to_owned(),
            model: None,
            disk: None,
            notes: vec!["not a drive".to_owned()],
        }
    }

    fn sleep(time: Duration) -> io::Result<bool> {
        std::thread::sleep(time);
        Ok(false)
    }

    #[test]
    fn a_file_yields_a_model_of_reads() {
        let mut said = Vec::new();
        let report = measure(
            &Root::system(),
            &target(SIZE_MIN),
            Access::Read,
            Duration::from_millis(400),
            &mut sleep,
            &mut |line: &str| said.push(line.to_owned()),
        );
        let report = report.unwrap().unwrap();
        assert_eq!(said.len(), 14);
        assert_eq!(said[0], "reads of 4 KiB anywhere, 1 at once");
        assert_eq!(said[13], "reads of 256 KiB in order, 8 at once");
        assert!(report.text.starts_with("# a drive\n# a file; kernel "));
        assert!(report.text.contains("# not a drive\n"));
        assert!(report.text.contains("writes and flushes were not measured"));
        assert_eq!(report.facts.len(), 4);
        assert!(report.seconds > 0.3);
    }

    #[test]
    fn with_writes_there_are_flushes_too() {
        let target = target(SIZE_MIN);
        let access = Access::NewFile(SIZE_MIN);
        let time = Duration::from_millis(600);
        let report = measure(
            &Root::system(),
            &target,
            access,
            time,
            &mut sleep,
            &mut |_| {},
        );
        let report = report.unwrap().unwrap();
        assert!(report.text.contains("\nflush_times="), "{}", report.text);
        assert!(!report.text.contains("not measured"), "{}", report.text);
        assert_eq!(report.facts.len(), 9);
    }

    #[test]
    fn an_ended_or_failed_measurement_yields_nothing() {
        let root = Root::system();
        let time = Duration::from_secs(3600);
        for access in [Access::Read, Access::NewFile(SIZE_MIN)] {
            let target = target(SIZE_MIN);
            let report = measure(&root, &target, access, time, &mut |_| Ok(true), &mut |_| {});
            assert!(report.unwrap().is_none());
        }
        let mut broken = target(SIZE_MIN);
        broken.file.set_len(0).unwrap();
        broken.bytes = SIZE_MIN;
        let error = measure(&root, &broken, Access::Read, time, &mut sleep, &mut |_| {});
        assert!(matches!(
            error,
            Err(Error::Measuring { action: "read", .. })
        ));
    }

    #[test]
    fn the_io_of_others_is_told() {
        assert_eq!(others(1000, 990), None);
        assert_eq!(others(0, 0), None);
        assert!(others(1000, 500).unwrap().contains(" 50 % of"));
    }
}
