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

use fgio_model::uapi::*;

const CONSTANTS: [(&str, u64); 13] = [
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
    ("sizeof(FGIO_DEVICE_PATH) - 1", DEVICE_PATH.len() as u64),
];

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
    };
    let constants = CONSTANTS.map(|(name, value)| (name.to_owned(), value));
    constants.into_iter().chain(layouts).collect()
}

/// Compiles and runs a program that prints `expression` and its value in lines.
fn values_in_c(expressions: impl Iterator<Item = String>) -> BTreeMap<String, u64> {
    let directory = tempfile::tempdir().unwrap();
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../uapi");
    let source = directory.path().join("print.c");
    let program = directory.path().join("print");
    let mut text = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include \"fgio.h\"\nint main(void)\n{\n",
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
