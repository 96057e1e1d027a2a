// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waits of foreground tasks as text.

use fgio_model::blame::{Cause, cause_of};
use fgio_sys::clock;
use fgio_sys::wait::{Actions, Wait};

use super::{counted, wrapped_table};
use crate::answer::blame::Answer;

/// `fgio blame`
pub fn summary(answer: &Answer, width: Option<u16>) -> String {
    let mut text = heading(answer);
    for note in &answer.notes {
        text += &format!("Note: {note}\n");
    }
    if answer.causes.is_empty() {
        return text;
    }
    let offset = clock::wall_offset_ns();
    let rows = answer.causes.iter().map(|cause| row(cause, offset));
    let rows = rows.collect();
    let header = [
        "COUNT", "TOTAL ms", "MEAN ms", "MAX ms", "SHARE", "FGIO", "CAUSE",
    ];
    text += &format!("\n{}", wrapped_table(&header, rows, 5, width));
    if answer.omitted > 0 {
        text += &format!(
            "and {}; --top N shows more\n",
            counted(answer.omitted, "other cause")
        );
    }
    text += "\nFGIO: b boosted a blocking task, r promoted a request, s promoted a task\n      that slept for a slot, w let a writer go, - nothing\n";
    text
}

fn heading(answer: &Answer) -> String {
    let from = answer.threshold_us.map_or_else(String::new, |threshold| {
        format!(" of {} ms and longer", threshold as f64 / 1000.0)
    });
    let Some(period) = &answer.period else {
        return format!("No wait of a foreground task{from} is remembered.\n");
    };
    let offset = clock::wall_offset_ns();
    let at = |ns: u64| clock::date_and_time(ns.cast_signed().saturating_add(offset));
    format!(
        "Waits of foreground tasks{from}: {} in {:.1} s of waiting,\nfrom {} to {}\n",
        answer.waits,
        answer.total_ms / 1000.0,
        at(period.first_end_ns),
        at(period.last_end_ns)
    )
}

/// @offset_ns: from `CLOCK_MONOTONIC` to the Unix epoch.
fn row(cause: &Cause, offset_ns: i64) -> Vec<String> {
    vec![
        cause.count.to_string(),
        format!("{:.1}", cause.total_ms),
        format!("{:.1}", cause.mean_ms),
        format!("{:.1}", cause.max_ms),
        format!("{:.0}%", cause.share * 100.0),
        letters(cause),
        described(cause, offset_ns),
    ]
}

/// A user's request with what it waited for longest; other causes as they are.
fn described(cause: &Cause, offset_ns: i64) -> String {
    let Some(request) = cause.request else {
        return cause.cause.clone();
    };
    let end_ns = cause.longest.end_ns.cast_signed();
    format!(
        "{}: {}",
        request.describe(end_ns.saturating_add(offset_ns)),
        cause_of(&cause.longest)
    )
}

/// Actions on a wait, in the letters that summaries explain.
pub fn actions_in_letters(actions: Actions) -> String {
    in_letters([
        actions.boosted,
        actions.promoted_request,
        actions.promoted_sleeper,
        actions.promoted_writer,
    ])
}

/// Actions on some of the waits of a cause.
pub fn letters(cause: &Cause) -> String {
    in_letters(
        [
            cause.boosted,
            cause.promoted_request,
            cause.promoted_sleeper,
            cause.promoted_writer,
        ]
        .map(|count| count > 0),
    )
}

fn in_letters(done: [bool; 4]) -> String {
    let done = done.into_iter().zip("brsw".chars());
    let letters: String = done
        .filter_map(|(done, letter)| done.then_some(letter))
        .collect();
    if letters.is_empty() {
        return "-".to_owned();
    }
    letters
}

/// A line of `fgio blame --follow`.
pub fn line(wait: &Wait, epoch_ns: i64) -> String {
    let time = clock::time_of_day(epoch_ns);
    let mut text = format!("{time} {:>9.1} ms  {}", wait.waited_ms, wait.chain());
    let done = actions(wait.actions);
    if !done.is_empty() {
        text += &format!("  ({})", done.join(", "));
    }
    if let Some(request) = wait.request {
        text += &format!("  [{}]", request.describe(epoch_ns));
    }
    text
}

fn actions(actions: Actions) -> Vec<&'static str> {
    let all = [
        (actions.boosted, "boosted"),
        (actions.promoted_request, "request promoted"),
        (actions.promoted_sleeper, "sleeper promoted"),
        (actions.promoted_writer, "writer let go"),
    ];
    let done = all.into_iter().filter(|(done, _)| *done);
    done.map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::blame::Period;
    use fgio_model::blame::{By, Summary};
    use fgio_sys::request::Request;
    use fgio_sys::wait::{Kind, Reason, Step};

    const JOURNAL_COMMIT: u32 = 6;
    const IO: u32 = 24;

    fn wait(comm: &str, waited_ms: f64) -> Wait {
        Wait {
            end_ns: 1_000_000_000,
            waited_ms,
            tid: 123,
            comm: comm.into(),
            kind: Kind::new(JOURNAL_COMMIT),
            inner_kind: Kind::new(JOURNAL_COMMIT),
            object: 1,
            steps: vec![Step {
                tid: Some(50),
                comm: Some("jbd2/sda-8".into()),
                kind: Some(Kind::new(IO)),
            }],
            request: None,
            reason: Reason::FOUND,
            actions: Actions {
                boosted: true,
                promoted_request: true,
                ..Actions::default()
            },
        }
    }

    fn answer(by: By, waits: &[Wait]) -> Answer {
        let mut summary = Summary::new(by);
        waits.iter().for_each(|wait| summary.add(wait));
        Answer {
            by,
            waits: summary.waits,
            total_ms: summary.total_ms,
            period: (!waits.is_empty()).then_some(Period {
                first_end_ns: 1,
                last_end_ns: 2,
            }),
            lost: 0,
            threshold_us: Some(10_000),
            boost: Some(true),
            causes: summary.causes(),
            omitted: 0,
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_summary_fits_80_columns() {
        let waits = [wait("postgres", 1_234_567.8), wait("a-name-of-15-ch", 10.0)];
        for by in [By::Cause, By::Kind, By::Task, By::Chain, By::Request] {
            let text = summary(&answer(by, &waits), Some(80));
            assert!(
                text.lines().all(|line| line.chars().count() <= 80),
                "{text}"
            );
            assert!(text.contains("1234567.8"), "{text}");
            assert!(text.contains("br"), "{text}");
        }
        let text = summary(&answer(By::Cause, &waits), None);
        assert!(
            text.contains("100%  br    journal commit, by jbd2/sda-8\n"),
            "{text}"
        );
        assert!(
            text.contains("of 10 ms and longer: 2 in 1234.6 s"),
            "{text}"
        );
    }

    /// The longest wait of two of one request, which ended 131 ms after it arrived.
    #[test]
    fn a_request_is_shown_with_its_age_and_what_it_waited_for() {
        let offset_ns = 1_700_000_000_000_000_000;
        let arrived_ms: u64 = 1_700_000_001_000 - 131;
        let request = Request::from_kernel(arrived_ms << 24, 100, 0);
        let waits = [wait("postgres", 90.0), wait("postgres", 12.0)];
        let mut summary = Summary::new(By::Request);
        for wait in waits {
            summary.add(&Wait { request, ..wait });
        }
        let cells = row(&summary.causes()[0], offset_ns);
        assert_eq!((&*cells[0], &*cells[1], &*cells[3]), ("2", "102.0", "90.0"));
        let id = request.unwrap().id;
        assert_eq!(
            cells[6],
            format!("{id}, 131 ms old, wanted in 100 ms: journal commit, by jbd2/sda-8")
        );
        let served = Wait {
            request,
            ..wait("postgres", 15.0)
        };
        let text = line(&served, 1_700_000_001_000_000_000);
        let end = format!("promoted)  [{id}, 131 ms old, wanted in 100 ms]");
        assert!(text.ends_with(&end), "{text}");
    }

    #[test]
    fn notes_and_omissions_are_shown() {
        let mut answer = answer(By::Cause, &[wait("postgres", 20.0)]);
        answer.omitted = 1;
        answer.notes.push("diagnosis only".into());
        let text = summary(&answer, None);
        assert!(text.contains("Note: diagnosis only\n"), "{text}");
        assert!(text.contains("and 1 other cause; --top N"), "{text}");
    }

    #[test]
    fn nothing_to_show_is_said() {
        let text = summary(&answer(By::Cause, &[]), Some(80));
        assert_eq!(
            text,
            "No wait of a foreground task of 10 ms and longer is remembered.\n"
        );
    }

    #[test]
    fn a_line_tells_the_whole_story() {
        let text = line(&wait("postgres", 15.25), 1_700_000_056_789_000_000);
        assert!(
            text.ends_with(":16.789      15.2 ms  postgres[123] -> journal commit -> jbd2/sda-8[50] -> device I/O  (boosted, request promoted)"),
            "{text}"
        );
    }
}
