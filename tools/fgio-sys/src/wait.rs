// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The waits of foreground tasks, as the module tells of them.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::clock::milliseconds;
use crate::request::Request;
use crate::uapi::{
    self, FgioBlameEntry, FgioBlameStep, FgioReasons, REASON_NAMES, WAIT_KIND_NAMES, reason, wait,
};

/// The reason of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind(u32);

impl Kind {
    pub const NONE: Self = Self(wait::NONE);

    /// The kind that the module calls `number`, `enum fgio_wait_kind`.
    pub fn new(number: u32) -> Self {
        Self(number)
    }

    fn names(self) -> Option<&'static (&'static str, &'static str)> {
        WAIT_KIND_NAMES.get(self.0 as usize)
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
        let known = WAIT_KIND_NAMES.iter().position(|names| names.0 == name);
        let number = known.map(|number| number as u32).or_else(|| {
            let number = name.strip_prefix("kind-")?;
            number.parse().ok()
        });
        number
            .map(Self)
            .ok_or_else(|| D::Error::custom(format!("no kind of wait is called {name:?}")))
    }
}

/// Why nothing is known beyond the last task on the way of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reason(u32);

impl Reason {
    /// The cause was found: I/O, in a queue of fgio or in the device.
    pub const FOUND: Self = Self(reason::NONE);
    /// The same: I/O that was queued while other cgroups had their turn.
    pub const SHARE: Self = Self(reason::SHARE);

    /// The reason that the module calls `number`, `enum fgio_reason`.
    pub fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number, `enum fgio_reason`.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Whether the wait was followed to its cause.
    pub fn is_found(self) -> bool {
        self == Self::FOUND || self == Self::SHARE
    }

    /// All reasons that these tools know, [`Reason::FOUND`] among them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..reason::REASONS).map(Self)
    }

    fn names(self) -> Option<&'static (&'static str, &'static str)> {
        REASON_NAMES.get(self.0 as usize)
    }

    /// The name used in JSON and for labels of metrics.
    pub fn name(self) -> String {
        self.names()
            .map_or_else(|| format!("reason-{}", self.0), |names| names.0.to_owned())
    }

    /// The name for people.
    pub fn label(self) -> String {
        self.names()
            .map_or_else(|| format!("reason {}", self.0), |names| names.1.to_owned())
    }
}

impl Default for Reason {
    fn default() -> Self {
        Self::FOUND
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = Self::all().find(|reason| reason.name() == name);
        let number = || name.strip_prefix("reason-")?.parse().ok().map(Self);
        known
            .or_else(number)
            .ok_or_else(|| D::Error::custom(format!("no reason is called {name:?}")))
    }
}

/// Waits of foreground tasks of one reason, since the module was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReasonTotal {
    pub reason: Reason,
    pub waits: u64,
    pub waited_ms: f64,
}

/// Totals by reason, for all reasons that these tools know.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reasons(pub Vec<ReasonTotal>);

impl Reasons {
    pub fn from_kernel(reasons: &FgioReasons) -> Self {
        let total = |reason: Reason| {
            let place = reason.number() as usize;
            ReasonTotal {
                reason,
                waits: reasons.waits[place],
                waited_ms: milliseconds(reasons.waited_ns[place]),
            }
        };
        Self(Reason::all().map(total).collect())
    }
}

/// A task on the way from a wait to its cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// `None` when it is not known.
    pub tid: Option<i32>,
    pub comm: Option<String>,
    /// The reason of its own wait; `None` when it was running, or its wait is not
    /// followed.
    pub kind: Option<Kind>,
}

/// Actions of the module on a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Actions {
    /// A task on the way was boosted.
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
    /// The last reason, when the wait contained another;
    /// else the same as `kind`.
    pub inner_kind: Kind,
    /// Identity of the lock or object: has no meaning but equality.
    #[serde(serialize_with = "hexadecimal", deserialize_with = "from_hexadecimal")]
    pub object: u64,
    /// The task that was waited for, the task that this one waited for, and so on.
    pub steps: Vec<Step>,
    /// Why nothing is known beyond the last step. Recordings of earlier versions have
    /// none.
    #[serde(default)]
    pub reason: Reason,
    pub actions: Actions,
    /// The user's request that the task served. Recordings of earlier versions have none.
    #[serde(default)]
    pub request: Option<Request>,
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
    pub fn from_kernel(entry: &FgioBlameEntry) -> Self {
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
            reason: Reason(entry.reason),
            actions: Actions {
                boosted: did(uapi::BLAME_BOOSTED),
                promoted_request: did(uapi::BLAME_PROMOTED_REQUEST),
                promoted_sleeper: did(uapi::BLAME_PROMOTED_SLEEPER),
                promoted_writer: did(uapi::BLAME_PROMOTED_WRITER),
            },
            request: Request::from_kernel(entry.request, entry.deadline_ms, entry.parts),
        }
    }

    /// The reason, and the last reason where it differs.
    pub fn what(&self) -> String {
        let kind = self.kind.label();
        if self.inner_kind == self.kind {
            return kind;
        }
        format!("{kind}: {}", self.inner_kind.label())
    }

    /// Like [`Wait::what`], without the reason that the last step has, too.
    fn first_part(&self) -> String {
        let last = self.steps.last().and_then(|step| step.kind);
        if last == Some(self.inner_kind) {
            return self.kind.label();
        }
        self.what()
    }

    /// The waiting task, the reasons and the tasks on the way, down to the cause.
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
        text + &self.end_of_chain()
    }

    /// Why the chain ends where it does; empty where that is for I/O, and the drive.
    pub fn end_of_chain(&self) -> String {
        if self.reason == Reason::FOUND {
            return String::new();
        }
        format!(" ({})", self.reason.label())
    }

    /// The same without the ids of tasks.
    pub fn chain_of_names(&self) -> String {
        let mut text = format!("{} -> {}", general(&self.comm), self.first_part());
        for step in &self.steps {
            text += &format!(" -> {}", step.general_name());
            if let Some(kind) = step.kind {
                text += &format!(" -> {}", kind.label());
            }
        }
        text + &self.end_of_chain()
    }
}

impl Step {
    /// Its name for all tasks like it; `?` when it is not known.
    pub fn general_name(&self) -> &str {
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

/// The answer to one call of the module.
#[derive(Debug)]
pub struct Page {
    pub waits: Vec<Wait>,
    /// Where to go on.
    pub cursor: u64,
    /// Waits before the cursor that were overwritten before they were read.
    pub lost: u64,
}

#[cfg(test)]
mod tests {
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
    fn every_reason_has_names_and_ends_the_chain() {
        let mut names: Vec<String> = Reason::all().map(Reason::name).collect();
        assert_eq!(Reason::new(reason::OWNER).name(), "owner");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), reason::REASONS as usize);
        assert_eq!(Reason::new(99).name(), "reason-99");
        assert!(Reason::all().all(|reason| reason.label().len() <= 28));
        let mut entry = entry(wait::FUTEX, 1, &[]);
        assert_eq!(
            Wait::from_kernel(&entry).chain(),
            "postgres[123] -> user lock"
        );
        entry.reason = reason::OWNER;
        let wait = Wait::from_kernel(&entry);
        assert_eq!(
            wait.chain(),
            "postgres[123] -> user lock (holder or waker unknown)"
        );
        assert!(wait.chain_of_names().ends_with("(holder or waker unknown)"));
        assert!(!wait.reason.is_found());
        entry.reason = reason::SHARE;
        let wait = Wait::from_kernel(&entry);
        assert!(wait.chain().ends_with(" (another tenant's share)"));
        assert!(wait.reason.is_found());
    }

    #[test]
    fn reasons_survive_recordings_and_old_recordings_have_none() {
        for number in [reason::NONE, reason::SHARE, 99] {
            let mut entry = entry(wait::FUTEX, 1, &[]);
            entry.reason = number;
            let wait = Wait::from_kernel(&entry);
            let mut json = serde_json::to_value(&wait).unwrap();
            let again: Wait = serde_json::from_value(json.clone()).unwrap();
            assert_eq!(again, wait);
            json.as_object_mut().unwrap().remove("reason");
            let old: Wait = serde_json::from_value(json).unwrap();
            assert_eq!(old.reason, Reason::FOUND);
        }
    }

    #[test]
    fn requests_survive_recordings_and_old_recordings_have_none() {
        let mut entry = entry(wait::FUTEX, 1, &[]);
        entry.deadline_ms = 9;
        assert_eq!(Wait::from_kernel(&entry).request, None);
        entry.request = 0x18bc_fe56_8000_0fff;
        let wait = Wait::from_kernel(&entry);
        let mut json = serde_json::to_value(&wait).unwrap();
        assert_eq!(json["request"]["id"], "fgio:18bcfe5680000fff");
        assert_eq!(json["request"]["deadline_ms"], 9);
        assert_eq!(json["request"]["parts"], serde_json::Value::Null);
        let again: Wait = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(again, wait);
        json.as_object_mut().unwrap().remove("request");
        let old: Wait = serde_json::from_value(json).unwrap();
        assert_eq!(old.request, None);
    }

    #[test]
    fn totals_are_by_reason() {
        let mut kernel = FgioReasons::default();
        kernel.waits[reason::IO as usize] = 3;
        kernel.waited_ns[reason::IO as usize] = 7_500_000;
        let Reasons(totals) = Reasons::from_kernel(&kernel);
        assert_eq!(totals.len(), reason::REASONS as usize);
        let io = totals[reason::IO as usize];
        assert_eq!(
            (io.reason.name().as_str(), io.waits, io.waited_ms),
            ("io", 3, 7.5)
        );
    }

    #[test]
    fn more_steps_than_fit_are_not_believed() {
        let mut entry = entry(wait::MUTEX, 1, &[]);
        entry.steps = 1000;
        assert_eq!(Wait::from_kernel(&entry).steps.len(), uapi::BLAME_STEPS);
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
