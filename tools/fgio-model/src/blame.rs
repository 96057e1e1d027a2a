// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waits of foreground tasks: their reasons, the tasks on the way, their durations.

use std::collections::HashMap;

use fgio_sys::control::Diagnosis;
use fgio_sys::inheritance::State;
use fgio_sys::request::Request;
use fgio_sys::wait::{Kind, Reason, Step, Wait};
use fgio_sys::{Result, Root, setting};
use serde::Serialize;

/// Reads the waits that the module keeps, in their order.
pub struct Reader<'a> {
    device: &'a dyn Diagnosis,
    cursor: u64,
    /// Waits that were overwritten before they were read.
    pub lost: u64,
}

impl<'a> Reader<'a> {
    /// Begins with the oldest wait that the module keeps.
    pub fn new(device: &'a dyn Diagnosis) -> Self {
        Self {
            device,
            cursor: 0,
            lost: 0,
        }
    }

    /// Goes on where another reader was.
    pub fn resume(device: &'a dyn Diagnosis, cursor: u64) -> Self {
        Self {
            device,
            cursor,
            lost: 0,
        }
    }

    /// Where another reader can go on.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Leaves out the waits that have ended before now.
    pub fn skip(&mut self) -> Result<()> {
        self.read(|_| {})?;
        self.lost = 0;
        Ok(())
    }

    /// Hands all waits that have come since the last call to `take`.
    pub fn read(&mut self, mut take: impl FnMut(Wait)) -> Result<()> {
        const CAPACITY: u32 = 1024;
        // Waits that fill the ring faster than it is read must not keep this loop going.
        const PAGES_MAX: usize = 256;
        for _ in 0..PAGES_MAX {
            let page = self.device.blame(self.cursor, CAPACITY)?;
            let count = page.waits.len();
            self.cursor = page.cursor;
            self.lost += page.lost;
            page.waits.into_iter().for_each(&mut take);
            if count < CAPACITY as usize {
                break;
            }
        }
        Ok(())
    }
}

/// Caveats for readers of waits: waits not seen, waits not acted upon.
pub fn notes(root: &Root, state: Option<&State>) -> Vec<String> {
    /// The switches without which some waits are not seen.
    const SEEING: [&str; 8] = [
        "locks",
        "journal",
        "io",
        "user",
        "uring",
        "file_locks",
        "replies",
        "pagecache",
    ];
    let is_off = |name: &str| setting::is_on(root, name) == Some(false);
    let mut notes = Vec::new();
    if is_off("boost") {
        notes.push(
            "diagnosis only: the switch boost is off, so fgio boosts and promotes nothing"
                .to_owned(),
        );
    }
    let off: Vec<&str> = SEEING.into_iter().filter(|name| is_off(name)).collect();
    if !off.is_empty() {
        notes.push(format!(
            "not all waits are seen: switched off are {} (`fgio set`)",
            off.join(", ")
        ));
    }
    if state.is_some_and(|state| state.watchdog.tripped) {
        notes.push(
            "the watchdog tripped, so fgio boosts nothing on its disks: see `fgio status`"
                .to_owned(),
        );
    }
    notes
}

/// The property by which waits are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The reason, and the last task on the way.
    Cause,
    /// The reason.
    Kind,
    /// The waiting task.
    Task,
    /// Why the cause is not known, and the last kind of wait.
    Reason,
    /// The whole way.
    Chain,
    /// The user's request.
    Request,
}

/// The reason of a wait, and the last task on the way.
pub fn cause_of(wait: &Wait) -> String {
    match wait.steps.last() {
        Some(step) => format!(
            "{}, by {}{}",
            wait.what(),
            step.general_name(),
            wait.end_of_chain()
        ),
        None => wait.what() + &wait.end_of_chain(),
    }
}

impl By {
    fn text(self, wait: &Wait) -> String {
        match self {
            Self::Cause => cause_of(wait),
            Self::Kind => wait.what(),
            Self::Task => wait.comm.clone(),
            Self::Reason => format!("{}: {}", wait.reason.label(), wait.inner_kind.label()),
            Self::Chain => wait.chain_of_names(),
            Self::Request => wait.request.map_or_else(
                || "no request id".to_owned(),
                |request| request.id.to_string(),
            ),
        }
    }
}

/// Waits that are counted together. The properties they share depend on
/// [`By`]; the others are `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// The shared properties, in words.
    pub cause: String,
    pub kind: Option<Kind>,
    pub inner_kind: Option<Kind>,
    /// Why the cause is not known.
    pub reason: Option<Reason>,
    /// The waiting task.
    pub task: Option<String>,
    /// The last task on the way.
    pub last: Option<String>,
    /// The user's request.
    pub request: Option<Request>,
    pub count: u64,
    pub total_ms: f64,
    pub mean_ms: f64,
    pub max_ms: f64,
    /// The part of all waiting time, from 0 to 1.
    pub share: f64,
    /// In how many of these waits the module did this.
    pub boosted: u64,
    pub promoted_request: u64,
    pub promoted_sleeper: u64,
    pub promoted_writer: u64,
    /// The longest of them.
    pub longest: Wait,
}

impl Cause {
    fn new(by: By, cause: String, wait: &Wait) -> Self {
        let of_kind = matches!(by, By::Cause | By::Kind);
        let last = wait.steps.last().map(Step::general_name);
        Self {
            cause,
            kind: of_kind.then_some(wait.kind),
            inner_kind: (of_kind || by == By::Reason).then_some(wait.inner_kind),
            reason: matches!(by, By::Cause | By::Reason).then_some(wait.reason),
            task: (by == By::Task).then(|| wait.comm.clone()),
            last: last.filter(|_| by == By::Cause).map(str::to_owned),
            request: wait.request.filter(|_| by == By::Request),
            count: 0,
            total_ms: 0.0,
            mean_ms: 0.0,
            max_ms: 0.0,
            share: 0.0,
            boosted: 0,
            promoted_request: 0,
            promoted_sleeper: 0,
            promoted_writer: 0,
            longest: wait.clone(),
        }
    }

    fn add(&mut self, wait: &Wait) {
        self.count += 1;
        self.total_ms += wait.waited_ms;
        self.boosted += u64::from(wait.actions.boosted);
        self.promoted_request += u64::from(wait.actions.promoted_request);
        self.promoted_sleeper += u64::from(wait.actions.promoted_sleeper);
        self.promoted_writer += u64::from(wait.actions.promoted_writer);
        if wait.waited_ms > self.max_ms {
            self.max_ms = wait.waited_ms;
            self.longest = wait.clone();
        }
    }
}

/// Counts waits by their cause.
#[derive(Debug)]
pub struct Summary {
    by: By,
    causes: HashMap<String, Cause>,
    /// Waits in all, and how long they took.
    pub waits: u64,
    pub total_ms: f64,
}

impl Summary {
    pub fn new(by: By) -> Self {
        Self {
            by,
            causes: HashMap::new(),
            waits: 0,
            total_ms: 0.0,
        }
    }

    pub fn add(&mut self, wait: &Wait) {
        let text = self.by.text(wait);
        self.waits += 1;
        self.total_ms += wait.waited_ms;
        let by = self.by;
        self.causes
            .entry(text)
            .or_insert_with_key(|text| Cause::new(by, text.clone(), wait))
            .add(wait);
    }

    /// The causes, those of the most waiting time first.
    pub fn causes(&self) -> Vec<Cause> {
        let mut causes: Vec<Cause> = self.causes.values().cloned().collect();
        for cause in &mut causes {
            cause.mean_ms = cause.total_ms / cause.count as f64;
            if self.total_ms > 0.0 {
                cause.share = cause.total_ms / self.total_ms;
            }
        }
        causes.sort_by(|one, other| {
            let by_time = other.total_ms.total_cmp(&one.total_ms);
            by_time.then_with(|| one.cause.cmp(&other.cause))
        });
        causes
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use fgio_sys::Error;
    use fgio_sys::inheritance::HookState;
    use fgio_sys::uapi::{self, FgioBlameEntry, FgioBlameStep, reason, wait};
    use fgio_sys::wait::{Page, Reasons};

    use super::*;

    fn name(text: &str) -> [u8; 16] {
        let mut field = [0; 16];
        field[..text.len()].copy_from_slice(text.as_bytes());
        field
    }

    fn step(tid: i32, comm: &str, kind: u32) -> FgioBlameStep {
        FgioBlameStep {
            tid,
            kind,
            comm: name(comm),
        }
    }

    fn entry(kind: u32, waited_ms: u64, steps: &[FgioBlameStep]) -> FgioBlameEntry {
        let mut entry = FgioBlameEntry {
            waited_ns: waited_ms * 1_000_000,
            tid: 123,
            kind,
            inner_kind: kind,
            steps: steps.len() as u32,
            comm: name("postgres"),
            ..FgioBlameEntry::default()
        };
        entry.step[..steps.len()].copy_from_slice(steps);
        entry
    }

    /// A ring of which only the last `kept` entries can be read.
    struct Module {
        entries: RefCell<Vec<FgioBlameEntry>>,
        kept: usize,
    }

    impl Diagnosis for Module {
        fn hooks(&self) -> Result<Vec<HookState>> {
            Ok(Vec::new())
        }

        fn state(&self) -> Result<State> {
            Ok(State::default())
        }

        fn reasons(&self) -> Result<Reasons> {
            Ok(Reasons::default())
        }

        fn rearm(&self) -> Result<()> {
            Err(Error::ModuleOlder { call: "REARM" })
        }

        fn rearm_disk(&self, _: u32, _: u32) -> Result<bool> {
            Err(Error::ModuleOlder { call: "REARM_DISK" })
        }

        fn blame(&self, cursor: u64, capacity: u32) -> Result<Page> {
            let entries = self.entries.borrow();
            let oldest = entries.len().saturating_sub(self.kept);
            let wanted = cursor as usize;
            let first = wanted.max(oldest);
            let last = (first + capacity as usize).min(entries.len());
            Ok(Page {
                waits: entries[first..last].iter().map(Wait::from_kernel).collect(),
                cursor: last as u64,
                lost: (first - wanted) as u64,
            })
        }
    }

    #[test]
    fn the_reader_goes_on_where_it_was_and_counts_missed_waits() {
        let module = Module {
            entries: RefCell::new(vec![entry(wait::MUTEX, 1, &[]); 3000]),
            kept: 2500,
        };
        let mut reader = Reader::new(&module);
        let mut count = 0;
        reader.read(|_| count += 1).unwrap();
        assert_eq!((count, reader.lost), (2500, 500));
        reader.read(|_| count += 1).unwrap();
        assert_eq!(count, 2500);
        module.entries.borrow_mut().push(entry(wait::MUTEX, 1, &[]));
        reader.read(|_| count += 1).unwrap();
        assert_eq!((count, reader.lost), (2501, 500));
        let mut reader = Reader::new(&module);
        reader.skip().unwrap();
        reader.read(|_| panic!("skipped")).unwrap();
        assert_eq!(reader.lost, 0);
    }

    const REQUEST: u64 = 0x18bc_fe56_8000_0fff;

    fn summary(by: By) -> Vec<Cause> {
        let mut summary = Summary::new(by);
        let mut boosted = entry(
            wait::JOURNAL_COMMIT,
            30,
            &[step(1, "kworker/u8:1", wait::IO)],
        );
        boosted.actions = uapi::BLAME_BOOSTED | uapi::BLAME_PROMOTED_WRITER;
        boosted.request = REQUEST;
        let mut other = entry(wait::MUTEX, 20, &[]);
        other.request = REQUEST;
        other.reason = reason::OWNER;
        other.comm = name("redis");
        for entry in [
            boosted,
            entry(
                wait::JOURNAL_COMMIT,
                50,
                &[step(2, "kworker/0:2", wait::IO)],
            ),
            other,
        ] {
            summary.add(&Wait::from_kernel(&entry));
        }
        assert_eq!((summary.waits, summary.total_ms), (3, 100.0));
        summary.causes()
    }

    #[test]
    fn causes_are_counted_as_one() {
        let causes = summary(By::Cause);
        assert_eq!(causes.len(), 2);
        let first = &causes[0];
        assert_eq!(first.cause, "journal commit, by kworker");
        assert_eq!((first.count, first.total_ms), (2, 80.0));
        assert_eq!(
            (first.mean_ms, first.max_ms, first.share),
            (40.0, 50.0, 0.8)
        );
        assert_eq!((first.boosted, first.promoted_writer), (1, 1));
        assert_eq!(first.longest.steps[0].tid, Some(2));
        assert_eq!(first.last.as_deref(), Some("kworker"));
        assert_eq!(causes[1].cause, "mutex (holder or waker unknown)");
    }

    #[test]
    fn waits_can_be_counted_by_other_things() {
        let texts = |by| -> Vec<String> {
            let causes = summary(by);
            causes.into_iter().map(|cause| cause.cause).collect()
        };
        assert_eq!(texts(By::Kind), ["journal commit", "mutex"]);
        assert_eq!(texts(By::Task), ["postgres", "redis"]);
        assert_eq!(
            texts(By::Chain),
            [
                "postgres -> journal commit -> kworker -> device I/O",
                "redis -> mutex (holder or waker unknown)"
            ]
        );
        assert_eq!(
            texts(By::Reason),
            ["found: journal commit", "holder or waker unknown: mutex"]
        );
        assert_eq!(
            texts(By::Request),
            ["fgio:18bcfe5680000fff", "no request id"]
        );
        let by_request = summary(By::Request);
        let request = by_request[0].request.unwrap();
        assert_eq!(request.id.to_string(), by_request[0].cause);
        assert_eq!((by_request[0].count, by_request[0].total_ms), (2, 50.0));
        assert_eq!(by_request[1].request, None);
        assert_eq!(summary(By::Cause)[0].request, None);
        let by_reason = summary(By::Reason);
        assert_eq!(by_reason[1].reason, Some(Reason::new(reason::OWNER)));
        assert_eq!(summary(By::Task)[0].kind, None);
        assert_eq!(summary(By::Task)[0].task.as_deref(), Some("postgres"));
    }
}
