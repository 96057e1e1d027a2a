// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio measure` on files, and its output against core's own reader of models.

#![allow(clippy::unwrap_used, reason = "a failure to prepare a test is a panic")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command as Program, Stdio};

use assert_cmd::Command;
use fgio_measure::spec;
use predicates::prelude::*;
use predicates::str::{contains, is_empty};
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// A folder on a disk, since memory-backed file systems may refuse direct I/O; with a file in it.
struct Folder {
    directory: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A file with data.
    fn file(&self, name: &str, mib: u64) {
        fs::write(self.path(name), vec![7; (mib * MIB) as usize]).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).unwrap();
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        entries.map(|entry| name(entry.unwrap())).collect()
    }

    fn measure(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("fgio"));
        command.env_remove("FGIO_TEST_ROOT");
        command.current_dir(self.directory.path());
        command.arg("measure").args(arguments);
        command
    }
}

/// lab/drive.c, which asks core/simdisk_spec.c.
fn core(directory: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let core = root.join("core");
    let sources = fs::read_dir(&core)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let sources = sources.filter(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("simdisk_") && name.ends_with(".c")
    });
    let program = directory.join("drive");
    let status = Program::new("cc")
        .args(["-std=gnu11", "-O1", "-o"])
        .arg(&program)
        .arg(format!("-I{}", root.display()))
        .arg(root.join("lab/drive.c"))
        .arg(core.join("tests/model_host.c"))
        .args(sources)
        .status()
        .unwrap();
    assert!(status.success());
    program
}

fn is_accepted(core: &Path, spec: &str) -> bool {
    let output = Program::new(core).args(["check", spec]).output().unwrap();
    output.status.success()
}

#[test]
fn a_file_is_measured_and_core_takes_the_model() {
    let folder = Folder::new();
    folder.file("data", 64);
    let assert = folder
        .measure(&["data", "--seconds", "1", "--json"])
        .assert();
    let output = assert.success();
    let answer: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(answer["model"], "drive.txt");
    let text = fs::read_to_string(folder.path("drive.txt")).unwrap();
    let spec = spec::joined(&text);
    assert_eq!(answer["spec"], spec.as_str());
    assert!(is_accepted(&core(folder.directory.path()), &spec), "{spec}");
    // A published model names no file.
    assert!(!text.contains("data") && !text.contains(folder.directory.path().to_str().unwrap()));
    assert!(
        text.contains("# fgio 0.1.0: fgio measure --seconds 1, 20"),
        "{text}"
    );
    let again = folder.measure(&["data", "--seconds", "1"]).assert().code(1);
    again.stderr(contains("drive.txt exists").and(contains("--force")));
    assert_eq!(fs::read_to_string(folder.path("drive.txt")).unwrap(), text);
}

#[test]
fn writes_are_measured_in_a_file_that_is_gone_afterwards() {
    let folder = Folder::new();
    fs::write(folder.path("model"), "old").unwrap();
    let arguments = [".", "--write", "--size", "32Mi", "--seconds", "2"];
    let mut command = folder.measure(&arguments);
    let assert = command
        .args(["--out", "model", "--force"])
        .assert()
        .success();
    assert.stdout(contains("flushes after a write")).stderr(
        contains("slow")
            .and(contains("writes of 4 KiB anywhere, 128 at once"))
            .and(contains("small part of a drive")),
    );
    assert_eq!(folder.names(), ["model"]);
    let text = fs::read_to_string(folder.path("model")).unwrap();
    assert!(
        text.contains("write_4k=") && !text.contains("not measured"),
        "{text}"
    );
    assert_eq!(spec::check(&spec::joined(&text)), Ok(()));
}

#[test]
fn an_interrupted_measurement_leaves_nothing() {
    let folder = Folder::new();
    folder.file("data", 32);
    for arguments in [&["data"][..], &[".", "--write", "--size", "16Mi"]] {
        // Tests that run in the background may have inherited an ignored SIGINT.
        let mut child = Program::new("env")
            .arg("--default-signal=INT")
            .arg(assert_cmd::cargo::cargo_bin!("fgio"))
            .arg("measure")
            .args(arguments)
            .current_dir(folder.directory.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let measures = |line: &String| line.contains("anywhere");
        lines
            .find(|line| line.as_ref().is_ok_and(measures))
            .unwrap()
            .unwrap();
        let process = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1));
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        assert!(
            rest.iter()
                .any(|line| line.contains("no model was written")),
            "{rest:?}"
        );
        assert_eq!(folder.names(), ["data"]);
    }
}

#[test]
fn refusals_have_advice() {
    let folder = Folder::new();
    folder.file("small", 1);
    let cases: [(&[&str], i32, &str); 10] = [
        (&["small"], 1, "with --write"),
        (&["nosuch"], 5, "lsblk"),
        (&["."], 2, "fgio measure --write ."),
        (&["small", "--write"], 2, "name a directory"),
        (&["small", "--destroy-data"], 2, "name a directory"),
        (&[".", "--write", "--size", "16384Gi"], 1, "smaller --size"),
        (
            &[".", "--write", "--destroy-data"],
            2,
            "cannot be given together",
        ),
        (&["small", "--size", "1Gi"], 2, "--write is missing"),
        (&["small", "--seconds", "0"], 2, "from 1 to 3600"),
        (
            &["small", "--out", "nosuch/drive.txt"],
            1,
            "cannot write nosuch/drive.txt",
        ),
    ];
    for (arguments, status, advice) in cases {
        let assert = folder.measure(arguments).assert().code(status);
        assert.stdout(is_empty()).stderr(contains(advice));
        assert_eq!(folder.names(), ["small"], "{arguments:?}");
    }
}

const GOOD: &str = "measured:parallel=256,rotational=on,physical_block=4096,max_io=1280Ki,queue_depth=32,iops=3012,read_iops=20k,write_iops=1M,bytes_per_s=125800k,write_bytes_per_s=1.5G,read_stream=200M,read_scaling=1.9/3.5/6/9.25/10/10/9,write_scaling=1/1/0.5/0.25/10%/0.01/1000,read_4k=999ns/1us/12.3us/100us/123us/999us/1ms/10ms/100ms/4s,volatile_cache=on,flush_times=0ns/0ns/1us/1us/1us/2us/3us/4us/5us/6.000000001s";

/// Both readers say the same of every spec with one character changed, dropped or added.
#[test]
fn the_check_is_that_of_core() {
    let folder = Folder::new();
    let core = core(folder.directory.path());
    let good = GOOD.replace("6.000000001s", "3.999999999s");
    assert!(is_accepted(&core, &good) && spec::check(&good).is_ok());
    assert!(!is_accepted(&core, GOOD) && spec::check(GOOD).is_err());
    let mut accepted = 0;
    for (place, _) in good.char_indices() {
        for new in [
            "", "0", "9", ".", "/", "k", "M", "s", "m", "i", "%", ",", "=",
        ] {
            // Processes take their time: a third of them will do.
            if (place + new.len() + usize::from(new.bytes().next().unwrap_or(0))) % 3 > 0 {
                continue;
            }
            let changed = format!("{}{new}{}", &good[..place], &good[place + 1..]);
            let is_good = is_accepted(&core, &changed);
            assert_eq!(spec::check(&changed).is_ok(), is_good, "{changed}");
            accepted += usize::from(is_good);
        }
    }
    assert!(accepted > 100, "{accepted}");
}
