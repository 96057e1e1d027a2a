// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Inheritance: does the module see the waits of foreground tasks, and has the
//! watchdog let everything through.

use std::collections::BTreeMap;

use super::Finding;
use fgio_sys::control::{DeviceFile, Diagnosis};
use fgio_sys::inheritance::{HookState, State};
use fgio_sys::{Error, Result, Root, module};

pub(super) fn examine(root: &Root, findings: &mut Vec<Finding>) {
    // Findings about the module or its device are made there.
    let Ok(device) = DeviceFile::open(root) else {
        return;
    };
    judge(root, &device, findings);
}

fn judge(root: &Root, device: &dyn Diagnosis, findings: &mut Vec<Finding>) {
    match ask(device) {
        Ok((hooks, state)) => {
            judge_hooks(root, &hooks, findings);
            watchdog(&state, findings);
            tables(&state, findings);
        }
        Err(error) => findings.push(not_answered(&error)),
    }
}

fn ask(device: &dyn Diagnosis) -> Result<(Vec<HookState>, State)> {
    Ok((device.hooks()?, device.state()?))
}

fn not_answered(error: &Error) -> Finding {
    const ID: &str = "module-calls";
    Finding::warning(
        ID,
        format!("{error}: tasks that block foreground tasks are not boosted"),
        error.advice(),
    )
}

const SPLIT: &str = "split";

/// Consequence of a missing hook of a mechanism.
fn effect(mechanism: &str) -> &'static str {
    match mechanism {
        "locks" => "foreground tasks may wait unhelped for kernel locks",
        "journal" => "foreground tasks may wait unhelped for the file system's journal",
        "io" => "foreground tasks may wait unhelped for I/O of others",
        "user" => "foreground tasks may wait unhelped for locks and conditions of user space",
        "uring" => "foreground tasks may wait unhelped for requests of io_uring",
        "file_locks" => "foreground tasks may wait unhelped for locks and leases of files",
        "replies" => "foreground tasks may wait unhelped for messages of other tasks and for FUSE",
        SPLIT => "foreground I/O may wait for long requests that the drive has begun",
        "pagecache" => "background writers may fill the page cache",
        "blame" => "`fgio blame` may not show all waits",
        _ => "some waits of foreground tasks may go unnoticed",
    }
}

fn judge_hooks(root: &Root, hooks: &[HookState], findings: &mut Vec<Finding>) {
    const ID: &str = "wait-hooks";
    let mut working: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut not_needed: BTreeMap<&str, usize> = BTreeMap::new();
    let retried = hooks.iter().any(|hook| hook.attached);
    for hook in hooks {
        findings.extend(missed(hook));
        let (works, all) = working.entry(&hook.mechanism).or_default();
        if let Some(module) = absent_module(root, hook) {
            *not_needed.entry(module).or_default() += 1;
            continue;
        }
        *works += usize::from(hook.works);
        *all += 1;
        // One of its hooks is enough; that none works is told of the mechanism.
        if !hook.works && hook.mechanism != SPLIT {
            findings.push(broken(hook, retried).about(&hook.name));
        }
    }
    let working = working.into_iter().filter(|(_, (_, all))| *all > 0);
    findings.extend(
        working.map(|(mechanism, (works, all))| match (mechanism, works) {
            (SPLIT, 0) => not_split(),
            _ => Finding::ok(ID, format!("{works} of {all} hooks work")).about(mechanism),
        }),
    );
    findings.extend(not_needed.into_iter().map(|(module, count)| {
        let found =
            format!("{count} hooks are not needed: the kernel's module {module} is not loaded");
        Finding::info(ID, found)
    }));
}

/// Linux 6.1 has no function that a hook could tell how long a request may be.
fn not_split() -> Finding {
    Finding::info(
        "wait-hooks",
        format!(
            "no hook works, as on Linux 6.1, and long background requests are not split: {}; where a drive \
             takes long for them, a max_sectors_kb of 128 in /sys/block/DISK/queue limits all its requests",
            effect(SPLIT)
        ),
    )
    .about(SPLIT)
}

/// The module of the kernel that a hook waits for, so that it is not needed yet.
fn absent_module<'a>(root: &Root, hook: &'a HookState) -> Option<&'a str> {
    let module = hook.kernel_module()?;
    (!hook.works && !module::is_present(root, module)).then_some(module)
}

/// `retried`: whether hooks have been tried since the module was loaded.
fn broken(hook: &HookState, retried: bool) -> Finding {
    const ID: &str = "wait-hooks";
    let reason = hook.reason();
    if hook.kernel_module().is_some() && !retried {
        return Finding::info(
            ID,
            format!(
                "could not be attached when that was last tried ({reason}); tried again once there is a foreground task"
            ),
        );
    }
    if hook.optional {
        return Finding::info(ID, format!("not attached, which does no harm: {reason}"));
    }
    Finding::warning(
        ID,
        format!("cannot be attached ({reason}): {}", effect(&hook.mechanism)),
        "look for fgio in the kernel log (`dmesg | grep fgio`), and boot a kernel that fgio is tested on",
    )
}

fn missed(hook: &HookState) -> Option<Finding> {
    (hook.missed > 0).then(|| {
        Finding::warning(
            "wait-hooks-missed",
            format!(
                "{} calls were missed, because too many tasks were inside at once: {}",
                hook.missed,
                effect(&hook.mechanism)
            ),
            "run `fgio set hook_sleepers_max NUMBER --persist` with a larger number and reload the module",
        )
        .about(&hook.name)
    })
}

fn watchdog(state: &State, findings: &mut Vec<Finding>) {
    const ID: &str = "watchdog";
    if !state.watchdog.tripped {
        findings.push(Finding::ok(ID, "the watchdog has not tripped"));
        return;
    }
    let reason = state.watchdog.reason.as_deref();
    findings.push(Finding::error(
        ID,
        format!(
            "the watchdog tripped, and all I/O of {} is let through as if there were no foreground tasks: {}",
            state.watchdog.which(),
            reason.unwrap_or("no reason given")
        ),
        "look at the disk and at the kernel log (`dmesg`), then run `fgio rearm` as root",
    ));
}

fn tables(state: &State, findings: &mut Vec<Finding>) {
    const ID: &str = "waits-lost";
    if state.waits_lost > 0 {
        findings.push(Finding::warning(
            ID,
            format!(
                "{} waits were not recorded or were given up, because tables were full: they were not followed",
                state.waits_lost
            ),
            "run `fgio set waits_max NUMBER --persist` with a larger number and reload the module",
        ));
    }
    if state.watches_lost > 0 {
        findings.push(Finding::info(
            ID,
            format!(
                "{} conditions were forgotten that foreground tasks wait for, because they wait for more than \
                 there is room for: some tasks that signal them may not be boosted",
                state.watches_lost
            ),
        ));
    }
    if state.walk_overflows > 0 {
        findings.push(Finding::info(
            ID,
            format!(
                "walks had no room for {} tasks that foreground tasks waited for: these were boosted late, or not at all",
                state.walk_overflows
            ),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, levels};
    use fgio_sys::fixture::Fixture;
    use fgio_sys::inheritance::Watchdog;
    use fgio_sys::wait::{Page, Reasons};

    #[derive(Default)]
    struct Module {
        hooks: Vec<HookState>,
        state: State,
        is_old: bool,
    }

    impl Diagnosis for Module {
        fn hooks(&self) -> Result<Vec<HookState>> {
            if self.is_old {
                return Err(Error::ModuleOlder { call: "HOOKS" });
            }
            Ok(self.hooks.clone())
        }

        fn state(&self) -> Result<State> {
            Ok(self.state.clone())
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
            Ok(Page {
                waits: Vec::new(),
                cursor,
                lost: 0,
            })
        }
    }

    fn hook(name: &str, mechanism: &str, error: Option<i32>) -> HookState {
        HookState {
            name: name.into(),
            mechanism: mechanism.into(),
            works: error.is_none(),
            attached: error.is_none(),
            optional: false,
            error,
            missed: 0,
        }
    }

    fn judged(fixture: &Fixture, module: &Module) -> Vec<Finding> {
        let mut findings = Vec::new();
        judge(fixture.root(), module, &mut findings);
        findings
    }

    #[test]
    fn a_healthy_module_is_all_right() {
        let module = Module {
            hooks: vec![
                hook("contention_begin", "locks", None),
                hook("jbd2:jbd2_log_wait_commit", "journal", None),
            ],
            ..Module::default()
        };
        let findings = judged(&Fixture::new(), &module);
        assert_eq!(levels(&findings, "wait-hooks"), [Level::Ok, Level::Ok]);
        assert_eq!(levels(&findings, "watchdog"), [Level::Ok]);
        assert_eq!(findings.len(), 3);
    }

    #[test]
    fn broken_hooks_name_their_consequence() {
        let optional = HookState {
            optional: true,
            ..hook("wait_transaction_switching", "journal", Some(2))
        };
        let module = Module {
            hooks: vec![
                hook("folio_wait_bit_common", "io", Some(22)),
                optional,
                hook("futex_wait", "user", None),
            ],
            ..Module::default()
        };
        let findings = judged(&Fixture::new(), &module);
        let first = &findings[0];
        assert_eq!(first.level, Level::Warning);
        assert_eq!(first.subject.as_deref(), Some("folio_wait_bit_common"));
        assert!(first.found.contains("invalid argument"), "{}", first.found);
        assert!(first.found.contains("I/O of others"), "{}", first.found);
        assert_eq!(findings[1].level, Level::Info);
        assert_eq!(findings[1].advice, None);
    }

    #[test]
    fn a_kernel_that_cannot_split_is_told_what_would_help() {
        let split = |name: &str, error| HookState {
            optional: true,
            ..hook(name, SPLIT, error)
        };
        let mut module = Module {
            hooks: vec![
                split("bio_split_rw_at", Some(2)),
                split("bio_split_io_at", Some(2)),
            ],
            ..Module::default()
        };
        let findings = judged(&Fixture::new(), &module);
        assert_eq!(levels(&findings, "wait-hooks"), [Level::Info]);
        assert!(findings[0].found.contains("max_sectors_kb"));
        module.hooks[0] = split("bio_split_rw_at", None);
        let findings = judged(&Fixture::new(), &module);
        assert_eq!(levels(&findings, "wait-hooks"), [Level::Ok]);
    }

    #[test]
    fn hooks_in_modules_that_are_not_loaded_are_not_needed() {
        let fixture = Fixture::new();
        let mut module = Module {
            hooks: vec![
                hook("xfs:xlog_wait_on_iclog", "journal", Some(2)),
                hook("futex_wait", "user", None),
            ],
            ..Module::default()
        };
        let found = |fixture: &Fixture, module: &Module| judged(fixture, module)[0].clone();
        let findings = judged(&fixture, &module);
        assert_eq!(levels(&findings, "wait-hooks"), [Level::Ok, Level::Info]);
        assert!(findings[1].found.contains("not needed"));
        fixture.directory("/sys/module/xfs");
        assert_eq!(found(&fixture, &module).level, Level::Warning);
        // Not tried again since xfs came: nothing is known.
        module.hooks[1].attached = false;
        let finding = found(&fixture, &module);
        assert_eq!(finding.level, Level::Info);
        assert!(finding.found.contains("tried again"), "{}", finding.found);
    }

    #[test]
    fn misses_losses_and_the_watchdog_are_told() {
        let module = Module {
            hooks: vec![HookState {
                missed: 7,
                ..hook("futex_wait", "user", None)
            }],
            state: State {
                waits_lost: 3,
                watches_lost: 2,
                walk_overflows: 1,
                watchdog: Watchdog {
                    tripped: true,
                    disks: 1,
                    at_ns: Some(1),
                    reason: Some("sda: nothing moved".into()),
                },
                ..State::default()
            },
            is_old: false,
        };
        let findings = judged(&Fixture::new(), &module);
        assert_eq!(levels(&findings, "wait-hooks-missed"), [Level::Warning]);
        assert_eq!(
            levels(&findings, "waits-lost"),
            [Level::Warning, Level::Info, Level::Info]
        );
        assert_eq!(levels(&findings, "watchdog"), [Level::Error]);
        let tripped = findings.iter().find(|finding| finding.id == "watchdog");
        let tripped = tripped.unwrap();
        assert!(tripped.found.contains("sda: nothing moved"));
        assert!(tripped.advice.as_deref().unwrap().contains("`fgio rearm`"));
    }

    #[test]
    fn an_old_module_is_told() {
        let module = Module {
            is_old: true,
            ..Module::default()
        };
        let findings = judged(&Fixture::new(), &module);
        assert_eq!(levels(&findings, "module-calls"), [Level::Warning]);
        assert!(findings[0].found.contains("older"), "{}", findings[0].found);
        assert_eq!(findings.len(), 1);
    }
}
