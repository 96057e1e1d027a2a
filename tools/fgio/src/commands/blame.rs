// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio blame`: the waits of foreground tasks.

use std::time::{Duration, Instant};

use fgio_model::blame::{self, By, Reader, Summary};
use fgio_sys::Root;
use fgio_sys::clock;
use fgio_sys::control::{DeviceFile, Diagnosis};
use fgio_sys::request;
use fgio_sys::setting;
use fgio_sys::wait::Wait;
use serde::Serialize;

use crate::Context;
use crate::answer::blame::{Answer, Period};
use crate::cli::BlameArguments;
use crate::failure::{self, Failure};
use crate::render;
use crate::signal::{End, Until};

/// How often the module is asked for more: often enough for a person who watches,
/// and for the module's memory not to run over.
const INTERVAL: Duration = Duration::from_millis(100);

/// A line of `--follow`.
#[derive(Serialize)]
struct Line<'a> {
    /// Seconds of the Unix epoch.
    ended_at: f64,
    #[serde(flatten)]
    wait: &'a Wait,
    chain: String,
}

/// Which waits are asked for.
struct Filter {
    min_ms: f64,
    /// Those that ended before are left out; `CLOCK_MONOTONIC`.
    since_ns: u64,
    /// `None`: of all requests, and of none.
    request: Option<request::Id>,
}

impl Filter {
    fn new(arguments: &BlameArguments) -> Self {
        let since_ns = arguments.since.map_or(0, |since| {
            let since = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
            clock::monotonic_ns().saturating_sub(since)
        });
        Self {
            min_ms: arguments.min.unwrap_or(0.0),
            since_ns,
            request: arguments.request,
        }
    }

    fn wants(&self, wait: &Wait) -> bool {
        let served = wait.request.map(|request| request.id);
        wait.waited_ms >= self.min_ms
            && wait.end_ns >= self.since_ns
            && (self.request.is_none() || self.request == served)
    }
}

pub fn blame(context: &Context, arguments: &BlameArguments) -> Result<u8, Failure> {
    let device = DeviceFile::open(&context.root)?;
    let filter = Filter::new(arguments);
    if arguments.follow {
        let end = End::new(Until::AnswersUnread, "run `fgio blame` without --follow")?;
        follow(context, &device, arguments.since.is_some(), &filter, &end)?;
        return Ok(failure::OK);
    }
    let mut counted = Counted::new(arguments.by.into());
    let mut reader = Reader::new(&device);
    if let Some(period) = arguments.period {
        let end = End::new(Until::AnswersUnread, "run `fgio blame` without --for")?;
        collect(&mut reader, period, &filter, &end, &mut counted)?;
    } else {
        reader.read(|wait| counted.add(&wait, &filter))?;
    }
    let notes = notes(&context.root, &device);
    let answer = counted.answer(&context.root, arguments.top, reader.lost, notes);
    let width = context.output.width();
    context
        .output
        .answer(&answer, || render::blame::summary(&answer, width))?;
    Ok(failure::OK)
}

/// Waits, summed up.
struct Counted {
    by: By,
    summary: Summary,
    period: Option<Period>,
}

impl Counted {
    fn new(by: By) -> Self {
        Self {
            by,
            summary: Summary::new(by),
            period: None,
        }
    }

    fn add(&mut self, wait: &Wait, filter: &Filter) {
        if !filter.wants(wait) {
            return;
        }
        self.summary.add(wait);
        let period = self.period.get_or_insert(Period {
            first_end_ns: wait.end_ns,
            last_end_ns: wait.end_ns,
        });
        period.first_end_ns = period.first_end_ns.min(wait.end_ns);
        period.last_end_ns = period.last_end_ns.max(wait.end_ns);
    }

    fn answer(&self, root: &Root, top: usize, lost: u64, mut notes: Vec<String>) -> Answer {
        let mut causes = self.summary.causes();
        let omitted = causes.len().saturating_sub(top);
        causes.truncate(top);
        if lost > 0 {
            notes.push(format!(
                "{lost} waits were overwritten before they were read, and are not counted"
            ));
        }
        Answer {
            by: self.by,
            waits: self.summary.waits,
            total_ms: self.summary.total_ms,
            period: self.period,
            lost,
            threshold_us: setting::number_of(root, "blame_threshold_us"),
            boost: setting::is_on(root, "boost"),
            causes,
            omitted,
            notes,
        }
    }
}

/// Caveats for readers of waits.
fn notes(root: &Root, device: &dyn Diagnosis) -> Vec<String> {
    blame::notes(root, device.state().ok().as_ref())
}

/// Adds the waits of a period that begins now.
fn collect(
    reader: &mut Reader,
    period: Duration,
    filter: &Filter,
    end: &End,
    counted: &mut Counted,
) -> Result<(), Failure> {
    let begin = Instant::now();
    reader.skip()?;
    loop {
        let left = period.saturating_sub(begin.elapsed());
        let stopped = end.wait(INTERVAL.min(left))?;
        reader.read(|wait| counted.add(&wait, filter))?;
        if stopped || begin.elapsed() >= period {
            return Ok(());
        }
    }
}

fn follow(
    context: &Context,
    device: &dyn Diagnosis,
    with_old: bool,
    filter: &Filter,
    end: &End,
) -> Result<(), Failure> {
    for note in notes(&context.root, device) {
        context.output.line(format_args!("Note: {note}"))?;
    }
    let mut reader = Reader::new(device);
    if !with_old {
        reader.skip()?;
    }
    let mut lost = 0;
    loop {
        show_new(context, &mut reader, filter)?;
        if reader.lost > lost {
            context.output.warning(
                &format!(
                    "{} waits were overwritten before they were read",
                    reader.lost - lost
                ),
                "raise blame_threshold_us (`fgio set`) to keep longer waits alone",
            );
            lost = reader.lost;
        }
        if end.wait(INTERVAL)? {
            return Ok(());
        }
    }
}

/// Shows the waits that have come since the last time.
fn show_new(context: &Context, reader: &mut Reader, filter: &Filter) -> Result<(), Failure> {
    let offset = clock::wall_offset_ns();
    let mut waits = Vec::new();
    reader.read(|wait| waits.push(wait))?;
    for wait in waits.iter().filter(|wait| filter.wants(wait)) {
        let epoch_ns = wait.end_ns.cast_signed().saturating_add(offset);
        let line = Line {
            ended_at: epoch_ns as f64 / 1e9,
            wait,
            chain: wait.chain(),
        };
        let text = || format!("{}\n", render::blame::line(wait, epoch_ns));
        context.output.answer(&line, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::fs;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use fgio_sys::Result;
    use fgio_sys::inheritance::{HookState, State, Watchdog};
    use fgio_sys::request::Request;
    use fgio_sys::wait::{Actions, Kind, Page, Reason, Reasons};

    use super::*;

    fn wait(end_ns: u64, waited_ms: f64) -> Wait {
        Wait {
            end_ns,
            waited_ms,
            tid: 1,
            comm: "postgres".into(),
            kind: Kind::new(1),
            inner_kind: Kind::new(1),
            object: 0,
            steps: Vec::new(),
            request: None,
            reason: Reason::FOUND,
            actions: Actions::default(),
        }
    }

    /// A module with one more wait at each call.
    struct Module {
        ring: RefCell<Vec<Wait>>,
        tripped: Cell<bool>,
    }

    impl Module {
        fn new(waits: &[Wait]) -> Self {
            Self {
                ring: RefCell::new(waits.to_vec()),
                tripped: Cell::new(false),
            }
        }
    }

    impl Diagnosis for Module {
        fn hooks(&self) -> Result<Vec<HookState>> {
            Ok(Vec::new())
        }

        fn state(&self) -> Result<State> {
            Ok(State {
                watchdog: Watchdog {
                    tripped: self.tripped.get(),
                    ..Watchdog::default()
                },
                ..State::default()
            })
        }

        fn reasons(&self) -> Result<Reasons> {
            Ok(Reasons::default())
        }

        fn rearm(&self) -> Result<()> {
            Ok(())
        }

        fn rearm_disk(&self, _: u32, _: u32) -> Result<bool> {
            Ok(false)
        }

        fn blame(&self, cursor: u64, _: u32) -> Result<Page> {
            let mut ring = self.ring.borrow_mut();
            let waits = ring[cursor as usize..].to_vec();
            let page = Page {
                waits,
                cursor: ring.len() as u64,
                lost: 0,
            };
            ring.push(wait(1000, 5.0));
            Ok(page)
        }
    }

    fn filter(min_ms: f64, since_ns: u64) -> Filter {
        Filter {
            min_ms,
            since_ns,
            request: None,
        }
    }

    #[test]
    fn a_period_begins_now_and_ends_at_a_signal() {
        let module = Module::new(&[wait(1, 900.0), wait(2, 900.0)]);
        let (signals, mut signal) = UnixStream::pair().unwrap();
        signal.write_all(b"x").unwrap();
        let end = End::at(signals);
        let mut counted = Counted::new(By::Cause);
        let mut reader = Reader::new(&module);
        let long = Duration::from_secs(3600);
        collect(&mut reader, long, &filter(0.0, 0), &end, &mut counted).unwrap();
        assert_eq!((counted.summary.waits, counted.summary.total_ms), (1, 5.0));
        let short = Duration::from_millis(1);
        collect(&mut reader, short, &filter(0.0, 0), &end, &mut counted).unwrap();
        assert!(counted.summary.waits > 1);
    }

    #[test]
    fn waits_are_filtered_and_the_rest_is_left_out() {
        let mut counted = Counted::new(By::Cause);
        let filter = filter(10.0, 100);
        for wait in [
            wait(99, 50.0),
            wait(100, 9.9),
            wait(300, 10.0),
            wait(200, 11.0),
        ] {
            counted.add(&wait, &filter);
        }
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path());
        let answer = counted.answer(&root, 0, 3, Vec::new());
        assert_eq!((answer.waits, answer.omitted), (2, 1));
        let period = answer.period.unwrap();
        assert_eq!((period.first_end_ns, period.last_end_ns), (200, 300));
        assert!(answer.notes[0].starts_with("3 waits were overwritten"));
        assert_eq!((answer.threshold_us, answer.boost), (None, None));
    }

    #[test]
    fn waits_of_one_request_can_be_asked_for() {
        let of = |id: Option<u64>| Wait {
            request: id.and_then(|id| Request::from_kernel(id, 0, 0)),
            ..wait(100, 50.0)
        };
        let filter = Filter {
            request: request::Id::new(7),
            ..filter(10.0, 0)
        };
        assert!(filter.wants(&of(Some(7))));
        assert!(!filter.wants(&of(Some(8))) && !filter.wants(&of(None)));
        let short = Wait {
            waited_ms: 9.0,
            ..of(Some(7))
        };
        assert!(!filter.wants(&short));
    }

    #[test]
    fn obstacles_are_noted() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path());
        let parameters = directory.path().join("sys/module/fgio/parameters");
        fs::create_dir_all(&parameters).unwrap();
        let module = Module::new(&[]);
        assert!(notes(&root, &module).is_empty());
        for name in ["boost", "io", "admission"] {
            fs::write(parameters.join(name), "N\n").unwrap();
        }
        module.tripped.set(true);
        let notes = notes(&root, &module);
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert!(notes[0].starts_with("diagnosis only"));
        assert!(notes[1].contains("switched off are io ("), "{}", notes[1]);
        assert!(notes[2].contains("watchdog"));
    }
}
