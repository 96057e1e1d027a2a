// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters of inheritance and the watchdog, and the places in the kernel that
//! the module observes.

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::clock::milliseconds;
use crate::uapi::{self, FgioHookState, FgioState};

/// A place in the kernel where the module looks on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HookState {
    /// A function, with `module:` before it where it is in a module, or a
    /// tracepoint.
    pub name: String,
    /// Name of the switch that it serves.
    pub mechanism: String,
    /// It could be attached when that was last tried.
    pub works: bool,
    /// It is attached now: hooks are while foreground tasks exist.
    pub attached: bool,
    /// Some kernels do not have it.
    pub optional: bool,
    /// Error number why it cannot be attached.
    pub error: Option<i32>,
    /// Calls missed because too many tasks were inside.
    pub missed: u64,
}

impl HookState {
    pub(crate) fn from_kernel(hook: &FgioHookState) -> Self {
        let is = |bit| hook.state & bit != 0;
        let error = i32::try_from(hook.error).ok();
        Self {
            name: uapi::text(&hook.name),
            mechanism: uapi::text(&hook.mechanism),
            works: is(uapi::HOOK_WORKS),
            attached: is(uapi::HOOK_ATTACHED),
            optional: is(uapi::HOOK_OPTIONAL),
            error: error.filter(|&error| error != 0),
            missed: hook.missed,
        }
    }

    /// The module of the kernel that the function is in, when it is in one.
    pub fn kernel_module(&self) -> Option<&str> {
        self.name.split_once(':').map(|(module, _)| module)
    }

    /// Why it cannot be attached, in words.
    pub fn reason(&self) -> String {
        match self.error.map(Errno::from_raw_os_error) {
            None => "no reason given".to_owned(),
            Some(Errno::NOENT) => "this kernel does not have it".to_owned(),
            Some(Errno::OPNOTSUPP) => "this kernel is built without such hooks".to_owned(),
            Some(errno) => {
                let text = std::io::Error::from(errno).to_string();
                // Without the " (os error 22)" of the standard library.
                let end = text.find(" (").unwrap_or(text.len());
                text[..end].to_lowercase()
            }
        }
    }
}

/// Whether the watchdog let all I/O of a disk through, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Watchdog {
    pub tripped: bool,
    /// Disks that it tripped for.
    pub disks: u32,
    /// When it tripped first, nanoseconds of the Unix epoch.
    pub at_ns: Option<u64>,
    /// The I/O that stood still on the first of them.
    pub reason: Option<String>,
}

/// Counters of inheritance; totals since the module was loaded unless said
/// otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// Foreground tasks that wait now.
    pub foreground_waiting: u32,
    /// Tasks that are boosted now.
    pub boosted: u32,
    /// Walks over the waits, and the time they took.
    pub walks: u64,
    pub walk_ms: f64,
    /// Boosts granted.
    pub boosts: u64,
    /// Task time under a boost, and the part that served no wait, at most.
    pub boosted_ms: f64,
    pub boosted_in_vain_ms: f64,
    pub promoted_requests: u64,
    pub promoted_sleepers: u64,
    pub promoted_writers: u64,
    /// Time that writers spent at the dirty limit.
    pub parked_ms: f64,
    /// Waits that were not recorded, or were given up, since tables were full.
    pub waits_lost: u64,
    /// Conditions that foreground tasks wait for, pushed out of the history of wakers.
    pub watches_lost: u64,
    /// Tasks that a walk had no room for.
    pub walk_overflows: u64,
    /// Waits that `fgio blame` cannot show any more.
    pub blame_lost: u64,
    pub watchdog: Watchdog,
}

impl Watchdog {
    /// The disks that are let through, for a sentence: `1 disk`, `3 disks`.
    pub fn which(&self) -> String {
        match self.disks {
            1 => "1 disk".to_owned(),
            disks => format!("{disks} disks"),
        }
    }
}

impl State {
    pub(crate) fn from_kernel(state: &FgioState) -> Self {
        let tripped = state.watchdog_tripped != 0;
        let reason = uapi::text(&state.watchdog_reason);
        Self {
            foreground_waiting: state.foreground_waiting,
            boosted: state.boosted,
            walks: state.walks,
            walk_ms: milliseconds(state.walk_ns),
            boosts: state.boosts,
            boosted_ms: milliseconds(state.boosted_ns),
            boosted_in_vain_ms: milliseconds(state.boosted_in_vain_ns),
            promoted_requests: state.promoted_requests,
            promoted_sleepers: state.promoted_sleepers,
            promoted_writers: state.promoted_writers,
            parked_ms: milliseconds(state.parked_ns),
            waits_lost: state.waits_lost,
            watches_lost: state.watches_lost.into(),
            walk_overflows: state.walk_overflows,
            blame_lost: state.blame_lost,
            watchdog: Watchdog {
                tripped,
                disks: state.watchdog_tripped,
                at_ns: Some(state.watchdog_at_ns).filter(|&at| tripped && at != 0),
                reason: Some(reason).filter(|reason| tripped && !reason.is_empty()),
            },
        }
    }

    /// The share of the boosted time that served no wait, at most.
    pub fn in_vain(&self) -> Option<f64> {
        (self.boosted_ms > 0.0).then(|| self.boosted_in_vain_ms / self.boosted_ms)
    }

    /// How long a walk took, in microseconds.
    pub fn mean_walk_us(&self) -> Option<f64> {
        (self.walks > 0).then(|| self.walk_ms * 1000.0 / self.walks as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field<const LENGTH: usize>(text: &str) -> [u8; LENGTH] {
        let mut field = [0; LENGTH];
        field[..text.len()].copy_from_slice(text.as_bytes());
        field
    }

    #[test]
    fn hooks_are_understood() {
        let hook = HookState::from_kernel(&FgioHookState {
            name: field("jbd2:jbd2_log_wait_commit"),
            mechanism: field("journal"),
            state: uapi::HOOK_OPTIONAL,
            error: 22,
            missed: 3,
        });
        assert_eq!(hook.kernel_module(), Some("jbd2"));
        assert_eq!(hook.mechanism, "journal");
        assert!(hook.optional && !hook.works && !hook.attached);
        assert_eq!(hook.reason(), "invalid argument");
        let gone = HookState {
            error: Some(2),
            ..hook
        };
        assert_eq!(gone.reason(), "this kernel does not have it");
    }

    #[test]
    fn the_watchdog_has_a_reason_only_when_it_tripped() {
        let mut kernel = FgioState {
            walks: 4,
            walk_ns: 8_000,
            boosted_ns: 4_000_000,
            boosted_in_vain_ns: 1_000_000,
            watchdog_at_ns: 5,
            watchdog_reason: field("sda: non-critical I/O has not moved for 30 s"),
            ..FgioState::default()
        };
        let state = State::from_kernel(&kernel);
        assert_eq!(state.watchdog, Watchdog::default());
        assert_eq!(state.mean_walk_us(), Some(2.0));
        assert_eq!(state.in_vain(), Some(0.25));
        assert_eq!(State::default().in_vain(), None);
        kernel.watchdog_tripped = 2;
        let watchdog = State::from_kernel(&kernel).watchdog;
        assert!(watchdog.tripped);
        assert_eq!(watchdog.disks, 2);
        assert_eq!(watchdog.at_ns, Some(5));
        assert!(watchdog.reason.unwrap().starts_with("sda"));
    }
}
