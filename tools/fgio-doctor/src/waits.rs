// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waits of foreground tasks that fgio does not follow to their cause: how long they took,
//! what they were for, and the remedy for each reason.

use std::collections::BTreeMap;

use super::Finding;
use fgio_sys::control::{DeviceFile, Diagnosis};
use fgio_sys::uapi::reason;
use fgio_sys::wait::{Reason, ReasonTotal, Reasons, Wait};
use fgio_sys::{Error, Result, Root};

const ID: &str = "waits-not-followed";
const SHARE_ID: &str = "waits-for-shares";
/// A reason that holds for less of the waiting time than this is worth knowing, no more.
const SHARE_MIN: f64 = 0.05;
/// Kinds of waits that are named for a reason, those that took most time.
const KINDS_NAMED: usize = 3;
/// The waits that the module remembers are read in pages of this size, and this many.
const PAGE: u32 = 1024;
const PAGES_MAX: usize = 64;

pub(super) fn examine(root: &Root, findings: &mut Vec<Finding>) {
    // Findings about the module or its device are made there.
    let Ok(device) = DeviceFile::open(root) else {
        return;
    };
    judge(&device, findings);
}

fn judge(device: &dyn Diagnosis, findings: &mut Vec<Finding>) {
    let totals = match device.reasons() {
        Ok(Reasons(totals)) => totals,
        // An old module is told of elsewhere.
        Err(Error::ModuleOlder { .. }) => return,
        Err(error) => {
            let found = format!("{error}: it is not known which waits are not followed");
            findings.push(Finding::warning(ID, found, error.advice()));
            return;
        }
    };
    // Who may not read the waits learns the totals alone.
    let waits = remembered(device).unwrap_or_default();
    let all_ms: f64 = totals.iter().map(|total| total.waited_ms).sum();
    let open = totals
        .iter()
        .filter(|total| total.waits > 0 && !total.reason.is_found());
    findings.extend(totals.iter().filter_map(|total| for_share(total, all_ms)));
    let before = findings.len();
    findings.extend(open.map(|total| finding(total, all_ms, &kinds(&waits, total.reason))));
    if findings.len() == before {
        findings.push(Finding::ok(
            ID,
            "every wait of a foreground task beyond the threshold of blame was followed to its cause",
        ));
    }
}

/// The waits that the module remembers.
fn remembered(device: &dyn Diagnosis) -> Result<Vec<Wait>> {
    let (mut waits, mut cursor) = (Vec::new(), 0);
    for _ in 0..PAGES_MAX {
        let page = device.blame(cursor, PAGE)?;
        let count = page.waits.len();
        waits.extend(page.waits);
        cursor = page.cursor;
        if count < PAGE as usize {
            break;
        }
    }
    Ok(waits)
}

/// The kinds of waits that ended for a reason, those of the most time first.
fn kinds(waits: &[Wait], reason: Reason) -> Vec<String> {
    let mut times: BTreeMap<String, f64> = BTreeMap::new();
    for wait in waits.iter().filter(|wait| wait.reason == reason) {
        *times.entry(wait.inner_kind.label()).or_default() += wait.waited_ms;
    }
    let mut kinds: Vec<(String, f64)> = times.into_iter().collect();
    kinds.sort_by(|one, other| other.1.total_cmp(&one.1));
    kinds.truncate(KINDS_NAMED);
    kinds.into_iter().map(|(label, _)| label).collect()
}

/// Whether foreground tasks wait while other cgroups have their turn. That is what weights are
/// for, so it is no fault.
fn for_share(total: &ReasonTotal, all_ms: f64) -> Option<Finding> {
    if total.reason != Reason::SHARE || total.waits == 0 {
        return None;
    }
    let found = format!(
        "{} waits of foreground tasks, {:.1} s in all, {:.0} % of their waiting time, were for another tenant's share",
        total.waits,
        total.waited_ms / 1000.0,
        total.waited_ms / all_ms * 100.0,
    );
    let advice = "run `fgio share` as root: a tenant that is to wait less needs a larger weight (`fgio share set`)";
    Some(Finding::info(SHARE_ID, found).advise(advice))
}

fn finding(total: &ReasonTotal, all_ms: f64, kinds: &[String]) -> Finding {
    let share = total.waited_ms / all_ms;
    let named = if kinds.is_empty() {
        String::new()
    } else {
        format!(", lately: {}", kinds.join(", "))
    };
    let found = format!(
        "{} waits of foreground tasks, {:.1} s in all, {:.0} % of their waiting time: {}{named}",
        total.waits,
        total.waited_ms / 1000.0,
        share * 100.0,
        meaning(total.reason),
    );
    let finding = match remedy(total.reason) {
        Some(advice) if share >= SHARE_MIN => Finding::warning(ID, found, advice),
        Some(advice) => Finding::info(ID, found).advise(advice),
        None => Finding::info(ID, found),
    };
    finding.about(total.reason.name())
}

/// What a reason says of a wait.
fn meaning(of: Reason) -> &'static str {
    match of.number() {
        reason::SHORT => "they were over before fgio looked",
        reason::RUNNING => "the task that they waited for was running, so no I/O held them up",
        reason::ASLEEP => {
            "the task that they waited for slept for something that is no I/O, such as a timer or a client"
        }
        reason::UNSEEN => {
            "the task that they waited for slept in a function of the kernel that fgio has no hook in"
        }
        reason::OFF => "a switch of fgio is off",
        reason::HOOK => "a hook could not be attached",
        reason::OWNER => "the holder or waker is not known",
        reason::IO => "the I/O is in no queue of fgio",
        reason::FULL => "a table of the module was full",
        reason::DEPTH => "the chain of waits is longer than fgio follows",
        _ => "for a reason that this version of the tools does not know",
    }
}

/// What to do about a reason; `None` where nothing needs to be done.
fn remedy(of: Reason) -> Option<&'static str> {
    match of.number() {
        reason::SHORT => Some(
            "lower walk_delay_us (`fgio set walk_delay_us MICROSECONDS`) when these waits are too long for you",
        ),
        reason::RUNNING => {
            Some("give the task more processor time: fgio orders I/O, not processors")
        }
        reason::UNSEEN => Some(
            "run `fgio blame --by chain`, see /proc/TID/stack of the last task while it waits, and report the function",
        ),
        reason::OFF => Some("run `fgio set` to see the switches, and `fgio set NAME on`"),
        reason::HOOK => Some("see the findings wait-hooks; boot a kernel that fgio is tested on"),
        reason::OWNER => Some(
            "idle threads of a pool wait so, too, and need nothing; of locks of your own program tell fgio the \
             holder (libfgio, fgio_wait_for()); raise helper_window_ms when a condition is signalled more rarely",
        ),
        reason::IO => Some(
            "run `fgio status`: enable fgio on each disk that the file system uses, also below RAID and encryption \
             (`fgio enable`)",
        ),
        reason::FULL => Some(
            "run `fgio set waits_max NUMBER --persist` with a larger number and reload the module; have fewer \
             foreground threads",
        ),
        reason::DEPTH => {
            Some("run `fgio set transitive on`; else report the chain of `fgio blame --by chain`")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, levels};
    use fgio_sys::inheritance::{HookState, State};
    use fgio_sys::uapi::{FgioBlameEntry, FgioReasons, wait};
    use fgio_sys::wait::Page;

    /// A module that remembers `waits`; `may_read`: whether the caller may see them.
    struct Module {
        totals: FgioReasons,
        waits: Vec<Wait>,
        may_read: bool,
    }

    impl Module {
        fn new(waits: &[(u32, u32, u64)]) -> Self {
            let mut totals = FgioReasons::default();
            let waits = waits.iter().map(|&(kind, reason, waited_ms)| {
                totals.waits[reason as usize] += 1;
                totals.waited_ns[reason as usize] += waited_ms * 1_000_000;
                Wait::from_kernel(&FgioBlameEntry {
                    waited_ns: waited_ms * 1_000_000,
                    kind,
                    inner_kind: kind,
                    reason,
                    ..FgioBlameEntry::default()
                })
            });
            let waits = waits.collect();
            Self {
                totals,
                waits,
                may_read: true,
            }
        }
    }

    impl Diagnosis for Module {
        fn hooks(&self) -> Result<Vec<HookState>> {
            Ok(Vec::new())
        }

        fn state(&self) -> Result<State> {
            Ok(State::default())
        }

        fn reasons(&self) -> Result<Reasons> {
            Ok(Reasons::from_kernel(&self.totals))
        }

        fn rearm(&self) -> Result<()> {
            Ok(())
        }

        fn rearm_disk(&self, _: u32, _: u32) -> Result<bool> {
            Ok(false)
        }

        fn blame(&self, cursor: u64, capacity: u32) -> Result<Page> {
            if !self.may_read {
                return Err(Error::Permission {
                    action: "read waits".into(),
                });
            }
            let last = self.waits.len().min(cursor as usize + capacity as usize);
            Ok(Page {
                waits: self.waits[cursor as usize..last].to_vec(),
                cursor: last as u64,
                lost: 0,
            })
        }
    }

    fn judged(module: &Module) -> Vec<Finding> {
        let mut findings = Vec::new();
        judge(module, &mut findings);
        findings
    }

    #[test]
    fn each_reason_has_a_meaning_and_a_remedy_or_needs_none() {
        let unknown = meaning(Reason::new(99));
        for reason in Reason::all().filter(|reason| !reason.is_found()) {
            assert_ne!(meaning(reason), unknown, "{}", reason.name());
            let harmless = reason.number() == reason::ASLEEP;
            assert_eq!(remedy(reason).is_none(), harmless, "{}", reason.name());
        }
    }

    #[test]
    fn waits_that_were_followed_are_all_right() {
        assert_eq!(levels(&judged(&Module::new(&[])), ID), [Level::Ok]);
        let module = Module::new(&[(wait::IO, reason::NONE, 500)]);
        assert_eq!(levels(&judged(&module), ID), [Level::Ok]);
        assert!(levels(&judged(&module), SHARE_ID).is_empty());
    }

    #[test]
    fn waits_for_other_tenants_are_told_and_count_as_followed() {
        let module = Module::new(&[
            (wait::IO, reason::NONE, 300),
            (wait::IO, reason::SHARE, 100),
        ]);
        let findings = judged(&module);
        assert_eq!(levels(&findings, ID), [Level::Ok]);
        assert_eq!(levels(&findings, SHARE_ID), [Level::Info]);
        assert!(findings[0].found.contains("25 % of their waiting time"));
    }

    #[test]
    fn what_is_not_followed_is_summed_up_with_its_remedy() {
        let module = Module::new(&[
            (wait::IO, reason::NONE, 800),
            (wait::FUTEX, reason::OWNER, 50),
            (wait::SEMAPHORE, reason::OWNER, 150),
            (wait::PAGE_LOCK, reason::IO, 10),
            (wait::MUTEX, reason::ASLEEP, 40),
        ]);
        let findings = judged(&module);
        let about = |subject: &str| {
            let found = findings
                .iter()
                .find(|finding| finding.subject.as_deref() == Some(subject));
            found.unwrap().clone()
        };
        assert_eq!(findings.len(), 3);
        let owner = about("owner");
        assert_eq!(owner.level, Level::Warning);
        assert!(
            owner
                .found
                .starts_with("2 waits of foreground tasks, 0.2 s in all, 19 %"),
            "{}",
            owner.found
        );
        assert!(
            owner.found.ends_with("lately: semaphore, user lock"),
            "{}",
            owner.found
        );
        assert!(owner.advice.unwrap().contains("libfgio"));
        let io = about("io");
        assert_eq!(io.level, Level::Info, "1 % of the time");
        assert!(io.advice.unwrap().contains("fgio enable"));
        assert_eq!(about("asleep").advice, None);
    }

    #[test]
    fn without_the_right_to_read_waits_the_totals_are_told() {
        let mut module = Module::new(&[(wait::FUTEX, reason::OFF, 50)]);
        module.may_read = false;
        let findings = judged(&module);
        assert_eq!(levels(&findings, ID), [Level::Warning]);
        assert!(!findings[0].found.contains("lately"));
    }
}
