// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio export`: recordings for other programs, whole, damaged and none.

#![allow(clippy::unwrap_used, reason = "a failure to prepare a test is a panic")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use assert_cmd::Command;
use fgio_model::sample::{DeviceSample, LoadedModule, Sample};
use fgio_store::{Limits, Writer};
use fgio_sys::counters::Counters;
use fgio_sys::inheritance::State;
use predicates::prelude::*;
use predicates::str::{contains, is_empty};

const S: i64 = 1_000_000_000;
const BEGIN_S: i64 = 1_700_000_000;

fn sample(second: i64) -> Sample {
    let count = second.unsigned_abs();
    Sample {
        at_ns: (BEGIN_S + second) * S,
        monotonic_ns: count * S.unsigned_abs(),
        module: Some(LoadedModule {
            state: Some(State {
                boosts: count,
                ..State::default()
            }),
            ..LoadedModule::default()
        }),
        devices: vec![DeviceSample {
            device: "sda".into(),
            scheduler: "fgio".into(),
            counters: Some(Counters::from([("critical_completed".into(), count * 10)])),
        }],
        ..Sample::default()
    }
}

struct Recorded {
    directory: tempfile::TempDir,
}

impl Recorded {
    fn new(seconds: impl IntoIterator<Item = i64>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let limits = Limits {
            keep: Duration::from_secs(1_000_000),
            size_max: 1 << 30,
        };
        let mut writer = Writer::open(directory.path(), limits).unwrap();
        for second in seconds {
            writer.append(&sample(second)).unwrap();
        }
        Self { directory }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn segment(&self) -> PathBuf {
        self.path().join("00000001.fgiorec")
    }

    fn export(&self, arguments: &[&str]) -> Command {
        export(self.path(), arguments)
    }
}

fn export(recording: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("fgio"));
    command.arg("export").arg(recording).args(arguments);
    command
}

fn lines(command: &mut Command) -> Vec<String> {
    let assert = command.assert().success().stderr(is_empty());
    let text = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn csv_has_a_line_of_names_and_a_line_for_each_row() {
    let recorded = Recorded::new(0..5);
    let disks = lines(&mut recorded.export(&["--format", "csv"]));
    assert_eq!(disks.len(), 1 + 5);
    assert!(disks[0].starts_with("time_seconds,device,scheduler,enabled,critical_"));
    assert!(
        disks[3].starts_with("1700000002,sda,fgio,true,"),
        "{}",
        disks[3]
    );
    let commas = |line: &String| line.matches(',').count();
    assert!(disks.iter().all(|line| commas(line) == commas(&disks[0])));
    let state = lines(&mut recorded.export(&["--format", "csv", "--table", "state"]));
    assert_eq!(state.len(), 1 + 5);
    let waits = lines(&mut recorded.export(&["--format", "csv", "--table", "waits"]));
    assert_eq!(waits.len(), 1, "there were none");
}

#[test]
fn openmetrics_has_each_sample_with_its_time() {
    let recorded = Recorded::new(0..3);
    let lines = lines(&mut recorded.export(&["--format", "openmetrics"]));
    for line in [
        "# TYPE fgio_boosts counter",
        "fgio_boosts_total 2 1700000002",
        "fgio_disk_completed_requests_total{device=\"sda\",class=\"critical\"} 10 1700000001",
        "fgio_module_loaded 1 1700000000",
    ] {
        assert!(lines.iter().any(|found| found == line), "{line}: {lines:?}");
    }
    assert_eq!(lines.last().unwrap(), "# EOF");
}

#[test]
fn a_part_can_be_chosen() {
    let recorded = Recorded::new(0..60);
    let range = ["--format", "csv", "--since", "+10s", "--until", "-40s"];
    assert_eq!(lines(&mut recorded.export(&range)).len(), 1 + 10);
    let segment = export(&recorded.segment(), &["--format", "csv"]);
    assert_eq!(lines(&mut { segment }).len(), 1 + 60);
    for (arguments, status, message) in [
        (
            ["--since", "+50s", "--until", "+10s"],
            2,
            "--until is before --since",
        ),
        (
            ["--since", "+2h", "--until", "-1s"],
            5,
            "not within the recording",
        ),
        (["--since", "noon", "--until", "-1s"], 2, "no value for"),
    ] {
        let mut command = recorded.export(&["--format", "csv"]);
        let assert = command
            .args(arguments)
            .assert()
            .code(status)
            .stdout(is_empty());
        assert.stderr(contains(message));
    }
}

#[test]
fn wrong_usage_has_advice() {
    let recorded = Recorded::new(0..2);
    recorded
        .export(&[])
        .assert()
        .code(2)
        .stderr(contains("--format"));
    recorded
        .export(&["--format", "xml"])
        .assert()
        .code(2)
        .stderr(contains("csv"));
    let arguments = ["--format", "openmetrics", "--table", "waits"];
    let assert = recorded
        .export(&arguments)
        .assert()
        .code(2)
        .stdout(is_empty());
    assert.stderr(contains("--table is for --format csv"));
}

#[test]
fn other_files_are_no_recording() {
    let directory = tempfile::tempdir().unwrap();
    for format in ["csv", "openmetrics"] {
        let arguments = ["--format", format];
        let missing = directory.path().join("missing");
        let assert = export(&missing, &arguments)
            .assert()
            .code(5)
            .stdout(is_empty());
        assert.stderr(contains("no such recording"));
        let assert = export(directory.path(), &arguments).assert().code(1);
        assert
            .stdout(is_empty())
            .stderr(contains("is no recording of fgio"));
    }
}

#[test]
fn readable_parts_of_a_damaged_recording_are_exported() {
    for format in ["csv", "openmetrics"] {
        let arguments = ["--format", format];
        let recorded = Recorded::new(0..20);
        let bytes = fs::read(recorded.segment()).unwrap();
        fs::write(recorded.segment(), &bytes[..bytes.len() - 1]).unwrap();
        let assert = recorded.export(&arguments).assert().code(1);
        assert
            .stdout(contains("1700000018").and(contains("1700000019").not()))
            .stderr(contains("ends within a sample").and(contains("1 part of the recording")));
        // In the middle: the samples after it are there.
        let mut bytes = bytes;
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0xff;
        fs::write(recorded.segment(), &bytes).unwrap();
        let assert = recorded.export(&arguments).assert().code(1);
        assert
            .stdout(contains("1700000000").and(contains("1700000019")))
            .stderr(contains("is damaged from byte"));
        fs::write(recorded.segment(), "nonsense").unwrap();
        let assert = recorded
            .export(&arguments)
            .assert()
            .code(1)
            .stdout(is_empty());
        assert.stderr(contains("no sample that can be read"));
    }
}

#[test]
fn errors_are_json_where_that_is_asked_for() {
    let recorded = Recorded::new(0..20);
    let bytes = fs::read(recorded.segment()).unwrap();
    fs::write(recorded.segment(), &bytes[..bytes.len() - 1]).unwrap();
    let assert = recorded
        .export(&["--format", "csv", "--json"])
        .assert()
        .code(1);
    let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    let lines: Vec<serde_json::Value> = stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines[0]["warning"]["message"].is_string());
    assert_eq!(lines.last().unwrap()["error"]["exit_status"], 1);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    // More than a pipe holds.
    let recorded = Recorded::new(0..2000);
    for format in ["csv", "openmetrics"] {
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("fgio"))
            .arg("export")
            .arg(recorded.path())
            .args(["--format", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        reader.read_line(&mut first).unwrap();
        assert!(!first.is_empty());
        drop(reader);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{format}");
        assert!(output.stderr.is_empty());
    }
}
