// SPDX-License-Identifier: Apache-2.0 OR MIT
//! fgiod as administrators meet it, against an imitation of a system.

#![allow(clippy::unwrap_used, reason = "a failure to prepare a test is a panic")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use assert_cmd::Command;
use predicates::str::contains;

const PROFILE: &str = "[program]\ncomm = 'server'\n[[rule]]\nname = 'all'\nclass = 'foreground'\n";

struct System(tempfile::TempDir);

impl System {
    fn new(files: &[(&str, &str)]) -> Self {
        let system = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            system.file(path, text);
        }
        system
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn fgiod(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("fgiod"));
        command.arg("--root").arg(self.0.path()).args(arguments);
        command
    }
}

#[test]
fn a_fault_is_reported_with_its_line() {
    let system = System::new(&[("etc/fgio/profiles/a.toml", PROFILE)]);
    system
        .fgiod(&["--check"])
        .assert()
        .success()
        .stdout("1 profiles, no fault\n");
    system.file("etc/fgio/fgiod.toml", "\nrescan_interval = 1\n");
    system.file("etc/fgio/profiles/b.toml", "[program]\ncom = 'x'\n");
    let case = format!("{PROFILE}[[case]]\nprocess = 'server'\nclass = 'none'\n");
    system.file("etc/fgio/profiles/a.toml", &case);
    let assert = system.fgiod(&["--check"]).assert().code(1);
    let said = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    for part in [
        "fgiod.toml:2:1",
        "rescan_interval_ms",
        "b.toml:2:1",
        "a.toml:6:1",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for arguments in [&["cat-config"][..], &[]] {
        let assert = system.fgiod(arguments).assert().code(1);
        assert.stderr(contains("fgiod.toml:2:1"));
    }
}

#[test]
fn settings_in_force_are_printed() {
    let system = System::new(&[("etc/fgio/fgiod.toml", "title_interval_ms = 20\n")]);
    let printed = contains("title_interval_ms = 20\n");
    system
        .fgiod(&["cat-config"])
        .assert()
        .success()
        .stdout(printed);
    system.fgiod(&["nonsense"]).assert().code(2);
}

#[test]
fn nothing_is_cleared_where_nothing_was_tagged() {
    let system = System::new(&[]);
    let none = "0 threads have no tag any more\n";
    system.fgiod(&["clear"]).assert().success().stdout(none);
    system.file("run/fgio/fgiod/tags", "+ 4711 5 foreground\n");
    system.fgiod(&["clear"]).assert().success().stdout(none);
}

/// Killed when the test ends, however it ends.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn signal(daemon: &Daemon, name: &str) {
    let id = daemon.0.id().to_string();
    Command::new("kill")
        .args([&format!("-{name}"), &id])
        .assert()
        .success();
}

#[test]
fn it_reloads_and_ends_when_it_is_told_to() {
    let system = System::new(&[
        ("etc/fgio/profiles/a.toml", PROFILE),
        ("etc/fgio/fgiod.toml", "metrics_address = '127.0.0.1:0'\n"),
    ]);
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("fgiod"));
    command.arg("--root").arg(system.0.path());
    let mut daemon = Daemon(command.stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(daemon.0.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let mut say = |part: &str| lines.by_ref().find(|line| line.contains(part)).unwrap();
    say("metrics are at http://127.0.0.1:");
    system.file("etc/fgio/profiles/b.toml", "[[rule]]\n");
    system.file("etc/fgio/fgiod.toml", "!");
    std::thread::sleep(Duration::from_millis(50));
    signal(&daemon, "HUP");
    say("settings stay as they were: ");
    say("b.toml:1:");
    say("1 profiles read");
    signal(&daemon, "TERM");
    assert!(daemon.0.wait().unwrap().success());
}
