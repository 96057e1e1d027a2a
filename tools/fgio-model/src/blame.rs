// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What foreground tasks waited for, through whom, and for how long.

use std::collections::HashMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::control::Diagnosis;
use crate::inheritance::{State, milliseconds};
use crate::setting;
use crate::uapi::{self, FgioBlameEntry, FgioBlameStep, wait};
use crate::{Result, Root};

/// What was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind(u32);

/// The names of each kind: for JSON, for people.
const KINDS: [(&str, &str); wait::KINDS as usize] = [
    ("none", "nothing known"),
    ("mutex", "mutex"),
    ("rwsem-read", "inode/rw lock (read)"),
    ("rwsem-write", "inode/rw lock (write)"),
    ("semaphore", "semaphore"),
    ("percpu-rwsem", "per-CPU rw lock"),
    ("journal-commit", "journal commit"),
    ("journal-locked", "locked transaction"),
    ("journal-updates", "open journal handles"),
    ("journal-space", "room in the journal"),
    ("journal-fast", "fast commit"),
    ("journal-shadow", "buffer being journalled"),
    ("xfs-log", "XFS log"),
    ("xfs-buffer", "XFS buffer"),
    ("page-lock", "page lock"),
    ("page-writeback", "page under writeback"),
    ("buffer", "buffer I/O"),
    ("file-writeback", "writeback of the file"),
    ("futex", "user lock"),
    ("condition", "user condition"),
    ("sysv-semaphore", "System V semaphore"),
    ("thread", "thread named by hint"),
    ("admission", "slot of the queue"),
    ("dirty", "dirty limit"),
    ("io", "device I/O"),
];

impl Kind {
    pub const NONE: Self = Self(wait::NONE);

    /// The kind that the module calls `number`, `enum fgio_wait_kind`.
    pub fn new(number: u32) -> Self {
        Self(number)
    }

    fn names(self) -> Option<&'static (&'static str, &'static str)> {
        KINDS.get(self.0 as usize)
    }

    /// The name used in JSON.
    pub fn name(self) -> String {
        self.names()
            .map_or_else(|| format!("kind-{}", self.0), |names| names.0.to_owned())
    }

    /// The name for people.
    pub fn label(self) -> String {
        self.names().map_or_else(
            || format!("wait of kind {}", self.0),
            |names| names.1.to_owned(),
        )
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = KINDS.iter().position(|names| names.0 == name);
        let number = known.map(|number| number as u32).or_else(|| {
            let number = name.strip_prefix("kind-")?;
            number.parse().ok()
        });
        number
            .map(Self)
            .ok_or_else(|| D::Error::custom(format!("no kind of wait is called {name:?}")))
    }
}

/// A task on the way from a wait to its cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// `None` when it is not known.
    pub tid: Option<i32>,
    pub comm: Option<String>,
    /// What it waited for itself; `None` when it was running, or waited for
    /// something that is not followed.
    pub kind: Option<Kind>,
}

/// What the module did about a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Actions {
    /// Somebody on the way was boosted.
    pub boosted: bool,
    pub promoted_request: bool,
    pub promoted_sleeper: bool,
    pub promoted_writer: bool,
}

/// A wait of a foreground task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// When it ended, nanoseconds of `CLOCK_MONOTONIC`.
    pub end_ns: u64,
    pub waited_ms: f64,
    pub tid: i32,
    pub comm: String,
    pub kind: Kind,
    /// What the task waited for in the end, when the wait contained another;
    /// else the same as `kind`.
    pub inner_kind: Kind,
    /// What was waited for: has no meaning but equality.
    #[serde(serialize_with = "hexadecimal", deserialize_with = "from_hexadecimal")]
    pub object: u64,
    /// Who was waited for, whom that one waited for, and so on.
    pub steps: Vec<Step>,
    pub actions: Actions,
}

/// Not every reader of JSON keeps numbers of 64 bits.
fn hexadecimal<S: Serializer>(number: &u64, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{number:#x}"))
}

fn from_hexadecimal<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    let digits = text.strip_prefix("0x").unwrap_or(&text);
    u64::from_str_radix(digits, 16).map_err(D::Error::custom)
}

fn known(text: &[u8]) -> Option<String> {
    Some(uapi::text(text)).filter(|text| !text.is_empty())
}

impl Step {
    fn from_kernel(step: &FgioBlameStep) -> Self {
        Self {
            tid: Some(step.tid).filter(|&tid| tid != 0),
            comm: known(&step.comm),
            kind: Some(Kind(step.kind)).filter(|&kind| kind != Kind::NONE),
        }
    }
}

impl Wait {
    pub(crate) fn from_kernel(entry: &FgioBlameEntry) -> Self {
        let steps = (entry.steps as usize).min(entry.step.len());
        let did = |bit| entry.actions & bit != 0;
        let kind = Kind(entry.kind);
        let inner_kind = Kind(entry.inner_kind);
        Self {
            end_ns: entry.end_ns,
            waited_ms: milliseconds(entry.waited_ns),
            tid: entry.tid,
            comm: uapi::text(&entry.comm),
            kind,
            inner_kind: if inner_kind == Kind::NONE {
                kind
            } else {
                inner_kind
            },
            object: entry.object,
            steps: entry.step[..steps].iter().map(Step::from_kernel).collect(),
            actions: Actions {
                boosted: did(uapi::BLAME_BOOSTED),
                promoted_request: did(uapi::BLAME_PROMOTED_REQUEST),
                promoted_sleeper: did(uapi::BLAME_PROMOTED_SLEEPER),
                promoted_writer: did(uapi::BLAME_PROMOTED_WRITER),
            },
        }
    }

    /// What was waited for, and what for in the end.
    pub fn what(&self) -> String {
        let kind = self.kind.label();
        if self.inner_kind == self.kind {
            return kind;
        }
        format!("{kind}: {}", self.inner_kind.label())
    }

    /// Like [`Wait::what`], without what the last step says anyhow.
    fn first_part(&self) -> String {
        let last = self.steps.last().and_then(|step| step.kind);
        if last == Some(self.inner_kind) {
            return self.kind.label();
        }
        self.what()
    }

    /// Who waited for what and whom, down to the cause.
    pub fn chain(&self) -> String {
        let mut text = format!("{}[{}] -> {}", self.comm, self.tid, self.first_part());
        for step in &self.steps {
            let comm = step.comm.as_deref().unwrap_or("?");
            text += &match step.tid {
                Some(tid) => format!(" -> {comm}[{tid}]"),
                None => format!(" -> {comm}"),
            };
            if let Some(kind) = step.kind {
                text += &format!(" -> {}", kind.label());
            }
        }
        text
    }

    /// The same without what tells one task of a name from another.
    fn chain_of_names(&self) -> String {
        let mut text = format!("{} -> {}", general(&self.comm), self.first_part());
        for step in &self.steps {
            text += &format!(" -> {}", step.general_name());
            if let Some(kind) = step.kind {
                text += &format!(" -> {}", kind.label());
            }
        }
        text
    }
}

impl Step {
    fn general_name(&self) -> &str {
        self.comm.as_deref().map_or("?", general)
    }
}

/// The name of a task for all tasks like it: any worker of the kernel may do
/// the next piece of work.
fn general(comm: &str) -> &str {
    if comm.starts_with("kworker/") {
        return "kworker";
    }
    comm
}

/// What one call of the module gave.
#[derive(Debug)]
pub struct Page {
    pub waits: Vec<Wait>,
    /// Where to go on.
    pub cursor: u64,
    /// Waits before the cursor that were overwritten before they were read.
    pub lost: u64,
}

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
        // Who fills the ring faster than it is read must not keep us here.
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

/// What to know when reading waits: what is not seen, what is not acted upon.
pub fn notes(root: &Root, state: Option<&State>) -> Vec<String> {
    /// The switches without which some waits are not seen.
    const SEEING: [&str; 5] = ["locks", "journal", "io", "user", "pagecache"];
    let is_off = |name: &str| setting::is_on(root, name) == Some(false);
    let mut notes = Vec::new();
    if is_off("boost") {
        notes.push("diagnosis only: the switch boost is off, so fgio only looks on".to_owned());
    }
    let off: Vec<&str> = SEEING.into_iter().filter(|name| is_off(name)).collect();
    if !off.is_empty() {
        notes.push(format!(
            "not all waits are seen: switched off are {} (`fgio set`)",
            off.join(", ")
        ));
    }
    if state.is_some_and(|state| state.watchdog.tripped) {
        notes.push("the watchdog tripped, so fgio only looks on: see `fgio status`".to_owned());
    }
    notes
}

/// What waits are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// What was waited for, and the last task on the way.
    Cause,
    /// What was waited for.
    Kind,
    /// Who waited.
    Task,
    /// The whole way.
    Chain,
}

impl By {
    fn text(self, wait: &Wait) -> String {
        match self {
            Self::Cause => match wait.steps.last() {
                Some(step) => format!("{}, by {}", wait.what(), step.general_name()),
                None => wait.what(),
            },
            Self::Kind => wait.what(),
            Self::Task => wait.comm.clone(),
            Self::Chain => wait.chain_of_names(),
        }
    }
}

/// Waits that are counted together. What it is that they share depends on
/// [`By`]; what they do not share is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// What they share, in words.
    pub cause: String,
    pub kind: Option<Kind>,
    pub inner_kind: Option<Kind>,
    /// Who waited.
    pub task: Option<String>,
    /// Who was waited for in the end.
    pub last: Option<String>,
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
            inner_kind: of_kind.then_some(wait.inner_kind),
            task: (by == By::Task).then(|| wait.comm.clone()),
            last: last.filter(|_| by == By::Cause).map(str::to_owned),
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

    use super::*;
    use crate::Error;
    use crate::inheritance::{HookState, State};

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
    fn every_kind_has_names() {
        let mut names: Vec<String> = (0..wait::KINDS).map(|kind| Kind(kind).name()).collect();
        assert_eq!(Kind(wait::IO).name(), "io");
        assert_eq!(Kind(wait::ADMISSION).label(), "slot of the queue");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), wait::KINDS as usize);
        assert_eq!(Kind(99).name(), "kind-99");
        assert!((0..wait::KINDS).all(|kind| Kind(kind).label().len() <= 24));
    }

    #[test]
    fn chains_are_written_out() {
        let mut entry = entry(
            wait::RWSEM_WRITE,
            5,
            &[
                step(99, "checkpointer", wait::JOURNAL_COMMIT),
                step(50, "jbd2/sda-8", wait::IO),
            ],
        );
        assert_eq!(
            Wait::from_kernel(&entry).chain(),
            "postgres[123] -> inode/rw lock (write) -> checkpointer[99] -> journal commit -> jbd2/sda-8[50] -> device I/O"
        );
        entry.inner_kind = wait::IO;
        let chain = Wait::from_kernel(&entry).chain();
        assert!(chain.starts_with("postgres[123] -> inode/rw lock (write) -> "));
        entry.inner_kind = wait::ADMISSION;
        entry.step[1] = step(0, "", wait::NONE);
        let wait = Wait::from_kernel(&entry);
        assert!(wait.chain().ends_with(" -> journal commit -> ?"));
        assert!(
            wait.chain()
                .contains("inode/rw lock (write): slot of the queue")
        );
        assert_eq!(wait.steps[1].tid, None);
    }

    #[test]
    fn more_steps_than_fit_are_not_believed() {
        let mut entry = entry(wait::MUTEX, 1, &[]);
        entry.steps = 1000;
        assert_eq!(Wait::from_kernel(&entry).steps.len(), uapi::BLAME_STEPS);
    }

    #[test]
    fn the_reader_goes_on_where_it_was_and_counts_what_it_missed() {
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

    fn summary(by: By) -> Vec<Cause> {
        let mut summary = Summary::new(by);
        let mut boosted = entry(
            wait::JOURNAL_COMMIT,
            30,
            &[step(1, "kworker/u8:1", wait::IO)],
        );
        boosted.actions = uapi::BLAME_BOOSTED | uapi::BLAME_PROMOTED_WRITER;
        let mut other = entry(wait::MUTEX, 20, &[]);
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
    fn causes_are_counted_together() {
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
        assert_eq!(causes[1].cause, "mutex");
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
                "redis -> mutex"
            ]
        );
        assert_eq!(summary(By::Task)[0].kind, None);
        assert_eq!(summary(By::Task)[0].task.as_deref(), Some("postgres"));
    }

    #[test]
    fn json_names_kinds() {
        let wait = Wait::from_kernel(&entry(wait::FUTEX, 1, &[step(0, "", wait::NONE)]));
        let json = serde_json::to_value(&wait).unwrap();
        assert_eq!(json["kind"], "futex");
        assert_eq!(json["waited_ms"], 1.0);
        assert_eq!(json["object"], "0x0");
        assert_eq!(json["steps"][0]["tid"], serde_json::Value::Null);
        assert_eq!(json["steps"][0]["kind"], serde_json::Value::Null);
        assert_eq!(json["actions"]["boosted"], false);
    }
}
