// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `uapi.rs` against `uapi/fgio.h`, as the C compiler sees it.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a failure to prepare a test is a panic"
)]

use std::collections::BTreeMap;
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

use fgio_sys::setting::KNOWN;
use fgio_sys::uapi::*;

const CONSTANTS: [(&str, u64); 72] = [
    ("FGIO_ABI_VERSION", ABI_VERSION as u64),
    ("FGIO_TAG_NONE", TAG_NONE as u64),
    ("FGIO_TAG_FOREGROUND", TAG_FOREGROUND as u64),
    ("FGIO_TAG_BACKGROUND", TAG_BACKGROUND as u64),
    ("FGIO_HOOK_BLOCK_BIO_QUEUE", HOOK_BLOCK_BIO_QUEUE as u64),
    (
        "FGIO_HOOK_SCHED_PROCESS_EXIT",
        HOOK_SCHED_PROCESS_EXIT as u64,
    ),
    ("FGIO_IOC_MAGIC", IOC_MAGIC as u64),
    ("FGIO_IOC_INFO", IOC_INFO as u64),
    ("FGIO_IOC_SET_TAG", IOC_SET_TAG as u64),
    ("FGIO_IOC_GET_TAG", IOC_GET_TAG as u64),
    ("FGIO_IOC_LIST_TAGS", IOC_LIST_TAGS as u64),
    ("FGIO_IOC_PROMOTE", IOC_PROMOTE as u64),
    ("FGIO_WAIT_NONE", wait::NONE as u64),
    ("FGIO_WAIT_MUTEX", wait::MUTEX as u64),
    ("FGIO_WAIT_RWSEM_READ", wait::RWSEM_READ as u64),
    ("FGIO_WAIT_RWSEM_WRITE", wait::RWSEM_WRITE as u64),
    ("FGIO_WAIT_SEMAPHORE", wait::SEMAPHORE as u64),
    ("FGIO_WAIT_PERCPU_RWSEM", wait::PERCPU_RWSEM as u64),
    ("FGIO_WAIT_JOURNAL_COMMIT", wait::JOURNAL_COMMIT as u64),
    ("FGIO_WAIT_JOURNAL_LOCKED", wait::JOURNAL_LOCKED as u64),
    ("FGIO_WAIT_JOURNAL_UPDATES", wait::JOURNAL_UPDATES as u64),
    ("FGIO_WAIT_JOURNAL_SPACE", wait::JOURNAL_SPACE as u64),
    ("FGIO_WAIT_JOURNAL_FAST", wait::JOURNAL_FAST as u64),
    ("FGIO_WAIT_JOURNAL_SHADOW", wait::JOURNAL_SHADOW as u64),
    ("FGIO_WAIT_XFS_LOG", wait::XFS_LOG as u64),
    ("FGIO_WAIT_XFS_BUFFER", wait::XFS_BUFFER as u64),
    ("FGIO_WAIT_PAGE_LOCK", wait::PAGE_LOCK as u64),
    ("FGIO_WAIT_PAGE_WRITEBACK", wait::PAGE_WRITEBACK as u64),
    ("FGIO_WAIT_BUFFER", wait::BUFFER as u64),
    ("FGIO_WAIT_FILE_WRITEBACK", wait::FILE_WRITEBACK as u64),
    ("FGIO_WAIT_FUTEX", wait::FUTEX as u64),
    ("FGIO_WAIT_CONDITION", wait::CONDITION as u64),
    ("FGIO_WAIT_SYSV_SEMAPHORE", wait::SYSV_SEMAPHORE as u64),
    ("FGIO_WAIT_THREAD", wait::THREAD as u64),
    ("FGIO_WAIT_ADMISSION", wait::ADMISSION as u64),
    ("FGIO_WAIT_DIRTY", wait::DIRTY as u64),
    ("FGIO_WAIT_IO", wait::IO as u64),
    ("FGIO_WAIT_KINDS", wait::KINDS as u64),
    ("FGIO_REASONS", reason::REASONS as u64),
    ("FGIO_REQUEST_MS_SHIFT", REQUEST_MS_SHIFT as u64),
    ("FGIO_REQUEST_ORIGINS", REQUEST_ORIGINS),
    ("FGIO_REQUEST_FOREIGN_MS", REQUEST_FOREIGN_MS as u64),
    ("FGIO_REASONS_ROOM", REASONS_ROOM as u64),
    ("FGIO_IOC_REASONS", IOC_REASONS as u64),
    ("FGIO_HOOK_WORKS", HOOK_WORKS as u64),
    ("FGIO_HOOK_ATTACHED", HOOK_ATTACHED as u64),
    ("FGIO_HOOK_OPTIONAL", HOOK_OPTIONAL as u64),
    ("FGIO_BLAME_STEPS", BLAME_STEPS as u64),
    ("FGIO_BLAME_BOOSTED", BLAME_BOOSTED as u64),
    ("FGIO_BLAME_PROMOTED_REQUEST", BLAME_PROMOTED_REQUEST as u64),
    ("FGIO_BLAME_PROMOTED_SLEEPER", BLAME_PROMOTED_SLEEPER as u64),
    ("FGIO_BLAME_PROMOTED_WRITER", BLAME_PROMOTED_WRITER as u64),
    ("FGIO_IOC_WAIT_FOR", IOC_WAIT_FOR as u64),
    ("FGIO_IOC_HOOKS", IOC_HOOKS as u64),
    ("FGIO_IOC_STATE", IOC_STATE as u64),
    ("FGIO_IOC_REARM", IOC_REARM as u64),
    ("FGIO_IOC_REARM_DISK", IOC_REARM_DISK as u64),
    ("FGIO_IOC_SHARES", IOC_SHARES as u64),
    ("FGIO_IOC_SCALE_SHARE", IOC_SCALE_SHARE as u64),
    ("FGIO_SCALE_LEAST", SCALE_LEAST as u64),
    ("FGIO_SCALE_MOST", SCALE_MOST as u64),
    ("FGIO_SCALE_HOLD_MS_MAX", SCALE_HOLD_MS_MAX as u64),
    ("FGIO_SHARE_ASKS", SHARE_ASKS as u64),
    ("FGIO_SHARES_FOLLOWED", SHARES_FOLLOWED as u64),
    ("FGIO_SHARES_ON", SHARES_ON as u64),
    ("FGIO_SHARES_AT_ONCE", SHARES_AT_ONCE as u64),
    ("FGIO_IOC_BLAME", IOC_BLAME as u64),
    ("FGIO_IOC_SET_WORD", IOC_SET_WORD as u64),
    ("FGIO_IOC_TIE_WORD", IOC_TIE_WORD as u64),
    ("FGIO_WORDS_BYTES_MAX", WORDS_BYTES_MAX as u64),
    ("FGIO_WORD_CLEAR", WORD_CLEAR as u64),
    ("sizeof(FGIO_DEVICE_PATH) - 1", DEVICE_PATH.len() as u64),
];

/// Counts the settings that C sees; arguments that no macro uses are dropped.
const SETTINGS: &str = "0 FGIO_SETTING_LIST(ONE, ONE, ONE, ONE, ONE)";

macro_rules! layout {
    ($($c:literal => $rust:ty { $($field:ident),+ $(,)? })+) => {
        vec![$(
            (format!("sizeof(struct {})", $c), size_of::<$rust>() as u64),
            $((
                format!("offsetof(struct {}, {})", $c, stringify!($field)),
                offset_of!($rust, $field) as u64,
            )),+
        ),+]
    };
}

fn expected() -> BTreeMap<String, u64> {
    let layouts = layout! {
        "fgio_info" => FgioInfo {
            abi, hooks_expected, hooks_live, tags, tags_max, queues, reserved, version,
        }
        "fgio_tag" => FgioTag { tid, class }
        "fgio_tag_list" => FgioTagList { tags, capacity, count }
        "fgio_promote" => FgioPromote { sector, major, minor, promoted, reserved }
        "fgio_rearm" => FgioRearm { major, minor, tripped, reserved }
        "fgio_wait_for" => FgioWaitFor { tid, reserved }
        "fgio_hook_state" => FgioHookState { name, mechanism, state, error, missed }
        "fgio_hook_list" => FgioHookList { hooks, capacity, count }
        "fgio_state" => FgioState {
            foreground_waiting, boosted, walks, walk_ns, boosts, boosted_ns, boosted_in_vain_ns,
            promoted_requests, promoted_sleepers, promoted_writers, parked_ns, waits_lost,
            walk_overflows, blame_lost, watchdog_tripped, watches_lost, watchdog_at_ns,
            watchdog_reason,
        }
        "fgio_blame_step" => FgioBlameStep { tid, kind, comm }
        "fgio_blame_entry" => FgioBlameEntry {
            end_ns, waited_ns, object, request, deadline_ms, parts, tid, kind, inner_kind, actions, steps, reason, comm, step,
        }
        "fgio_reasons" => FgioReasons { waits, waited_ns }
        "fgio_blame" => FgioBlame { cursor, entries, capacity, count, lost }
        "fgio_word" => FgioWord { class, reserved, request, deadline_ms, parts, reserved_more }
        "fgio_word_slot" => FgioWordSlot { index, flags }
        "fgio_word_at" => FgioWordAt { address }
        "fgio_share" => FgioShare {
            cgroup, parent, requests, sectors, drive_ns, held, lag_ns, weight, guarantee, queued,
            in_drive, flags, scale,
        }
        "fgio_share_scale" => FgioShareScale { cgroup, scale, hold_ms }
        "fgio_share_list" => FgioShareList {
            cursor, shares, capacity, count, major, minor, state, groups, asking, reserved,
        }
    };
    let constants = CONSTANTS.map(|(name, value)| (name.to_owned(), value));
    let settings = [(SETTINGS.to_owned(), KNOWN.len() as u64)];
    let all = constants.into_iter().chain(settings);
    all.chain(layouts).collect()
}

/// Compiles and runs a program that prints `expression` and its value in lines.
fn values_in_c(expressions: impl Iterator<Item = String>) -> BTreeMap<String, u64> {
    let directory = tempfile::tempdir().unwrap();
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../uapi");
    let source = directory.path().join("print.c");
    let program = directory.path().join("print");
    let mut text = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include \"fgio.h\"\n\
         #include \"fgio_request.h\"\n#include \"fgio_settings.h\"\n#define ONE(...) + 1\nint main(void)\n{\n",
    );
    for expression in expressions {
        text += &format!(
            "\tprintf(\"%s\\t%llu\\n\", \"{expression}\", (unsigned long long)({expression}));\n"
        );
    }
    text += &format!("\treturn __builtin_strcmp(FGIO_DEVICE_PATH, \"{DEVICE_PATH}\") != 0;\n}}\n");
    std::fs::write(&source, text).unwrap();
    let compiled = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(header)
        .arg("-o")
        .args([&program, &source])
        .output()
        .expect("cc is needed to compare uapi.rs with uapi/fgio.h: install gcc");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "FGIO_DEVICE_PATH differs");
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| {
            let (name, value) = line.split_once('\t').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

#[test]
fn rust_and_c_agree() {
    let expected = expected();
    assert_eq!(values_in_c(expected.keys().cloned()), expected);
}
