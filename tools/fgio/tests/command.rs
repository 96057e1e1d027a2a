// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command as users meet it, against an imitation of a system.

#![allow(clippy::unwrap_used, reason = "a failure to prepare a test is a panic")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::{contains, is_empty};
use serde_json::Value;

/// A system with one disk, `sda`, its partition, and no module.
struct System {
    directory: tempfile::TempDir,
}

impl System {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let system = Self { directory };
        let disk = "sys/devices/virtual/block/sda";
        system.file(&format!("{disk}/queue/scheduler"), "none [kyber]\n");
        system.file(&format!("{disk}/size"), "2048\n");
        system.file(&format!("{disk}/sda1/partition"), "1\n");
        system.link("sys/block/sda", "../devices/virtual/block/sda");
        for (name, number, path) in [("sda", "8:0", "sda"), ("sda1", "8:1", "sda/sda1")] {
            let target = format!("../../devices/virtual/block/{path}");
            system.link(&format!("sys/class/block/{name}"), &target);
            system.link(&format!("sys/dev/block/{number}"), &target);
            system.file(&format!("dev/{name}"), &format!("block {number}\n"));
        }
        system.file("dev/null", "");
        system.file("proc/sys/kernel/osrelease", "6.12.1-amd64\n");
        system.file("sys/kernel/btf/vmlinux", "");
        system
    }

    /// The same with the module loaded, as far as sysfs tells.
    fn with_module() -> Self {
        let system = Self::new();
        system.file("sys/module/fgio/version", "0.1.0\n");
        system
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.directory.path().join(path)
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn fgio(&self, arguments: &[&str]) -> Command {
        let mut command = fgio();
        command.arg("--root").arg(self.directory.path());
        command.args(arguments);
        command
    }
}

fn fgio() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("fgio"));
    command.env_remove("FGIO_TEST_ROOT");
    command
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn wrong_usage_is_2() {
    for arguments in [
        &[][..],
        &["enable"],
        &["tag"],
        &["tag", "0"],
        &["tag", "-1"],
        &["tag", "x"],
        &["tag", "1", "--none", "--background"],
        &["run"],
        &["run", "--foreground", "--background", "true"],
        &["run", "--with", "x", "true"],
        &["run", "--drop-behind", "--with", "x", "true"],
        &["run", "--drop-behind", "--of", "/", "true"],
        &["run", "--drop-behind", "--of", "/", "--with", "(", "true"],
        &["status", "--watch", "0"],
        &["set", "--persist"],
        &["share", "set", "/a"],
        &["share", "set", "/a", "0"],
        &["share", "set", "/a", "20000"],
        &["share", "set", "/a", "x"],
        &["share", "explain"],
        &["share", "list", "--for", "0"],
        &["set", "boost", "--reset"],
        &["blame", "--follow", "--for", "1"],
        &["blame", "--since", "0"],
        &["top", "--interval", "0"],
        &["top", "--size", "80x24"],
        &["record", "--keep", "0s"],
        &["record", "--max-mib", "0"],
        &["replay", "--at", "noon"],
        &["replay", "--speed", "0"],
        &["nonsense"],
    ] {
        fgio().args(arguments).assert().code(2).stdout(is_empty());
    }
}

#[test]
fn wrong_usage_in_json_is_an_error_document() {
    let assert = fgio().args(["--json", "tag", "0"]).assert().code(2);
    let error = &json(&assert.get_output().stderr)["error"];
    assert_eq!(error["kind"], "usage");
    assert_eq!(error["exit_status"], 2);
}

#[test]
fn help_and_version_are_answers() {
    fgio()
        .arg("--help")
        .assert()
        .success()
        .stdout(contains("Exit status"));
    fgio()
        .arg("--version")
        .assert()
        .success()
        .stdout(contains("0.1.0"));
    let help = fgio().args(["run", "--help"]).assert().success();
    help.stdout(contains("children inherit"));
}

#[test]
fn unknown_devices_are_5() {
    let system = System::new();
    for command in ["enable", "disable"] {
        for device in ["sdx", "/dev/sdx"] {
            let assert = system.fgio(&[command, device]).assert().code(5);
            assert.stderr(contains("no such block device").and(contains("lsblk")));
        }
    }
    let assert = system.fgio(&["enable", "/dev/null"]).assert().code(1);
    assert.stderr(contains("not a block device"));
}

#[test]
fn a_missing_module_is_3() {
    let system = System::new();
    let assert = system.fgio(&["enable", "sda"]).assert().code(3);
    assert.stderr(contains("not loaded"));
    let assert = system.fgio(&["tag", "1"]).assert().code(3);
    assert.stderr(contains("fgio enable"));
    assert!(!system.path("run/fgio/sda.scheduler").exists());
}

#[test]
fn a_loaded_module_without_its_device_is_3() {
    let system = System::with_module();
    system
        .fgio(&["tag", "1"])
        .assert()
        .code(3)
        .stderr(contains("/dev/fgio"));
    system.file("dev/fgio", "");
    system
        .fgio(&["tag", "1"])
        .assert()
        .code(3)
        .stderr(contains("/dev/fgio"));
}

#[test]
fn enable_and_disable_are_a_round_trip() {
    let system = System::with_module();
    let scheduler = "sys/block/sda/queue/scheduler";
    let assert = system.fgio(&["enable", "/dev/sda1"]).assert().success();
    assert.stdout(contains("was kyber").and(contains("sda1 is a partition")));
    assert_eq!(system.text(scheduler), "fgio");
    let assert = system.fgio(&["enable", "sda"]).assert().success();
    assert.stdout(contains("already"));
    let assert = system.fgio(&["disable", "sda"]).assert().success();
    assert.stdout(contains("back to kyber"));
    assert_eq!(system.text(scheduler), "kyber");
    let assert = system.fgio(&["disable", "sda"]).assert().success();
    assert.stdout(contains("not under fgio"));
}

#[test]
fn persistent_changes_are_reported_and_undone() {
    let system = System::with_module();
    let rules = "etc/udev/rules.d/90-fgio-disks.rules";
    let arguments = ["enable", "sda", "--persist"];
    let assert = system.fgio(&arguments).assert().success();
    assert.stdout(contains("from now on at each boot").and(contains("its name sda")));
    assert!(system.path("etc/modules-load.d/fgio.conf").exists());
    let assert = system.fgio(&arguments).assert().success();
    assert.stdout(contains("at each boot, as before"));
    let assert = system.fgio(&["status"]).assert().success();
    assert.stdout(contains("AT BOOT"));
    system.file("sys/block/sda/queue/scheduler", "none [kyber] fgio\n");
    let assert = system.fgio(&["doctor"]).assert();
    assert.stdout(contains(
        "to be under fgio from boot on, but is under kyber",
    ));
    let assert = system.fgio(&["disable", "sda"]).assert().success();
    assert.stdout(contains("not under fgio at the next boot any more"));
    assert!(!system.path(rules).exists());
}

#[test]
fn the_drives_own_priority_comes_and_goes_with_fgio() {
    let knob = "sys/block/sda/device/ncq_prio_enable";
    let told = "sys/block/sda/queue/iosched/drive_priority";
    let system = System::with_module();
    system.file("sys/block/sda/device/ncq_prio_supported", "1\n");
    system.file(knob, "0\n");
    system.file(told, "0\n");
    let assert = system.fgio(&["enable", "sda"]).assert().success();
    assert.stdout(contains("the drive serves critical requests first"));
    assert_eq!((&*system.text(knob), &*system.text(told)), ("1", "1"));
    let assert = system.fgio(&["status"]).assert().success();
    assert.stdout(contains("drive priority: on (NCQ priority)"));
    let arguments = ["--json", "enable", "sda", "--no-drive-priority"];
    let assert = system.fgio(&arguments).assert().success();
    let device = &json(&assert.get_output().stdout)["devices"][0];
    assert_eq!(device["drive_priority"]["state"], "off");
    assert_eq!((&*system.text(knob), &*system.text(told)), ("0", "0"));
    system.fgio(&["enable", "sda"]).assert().success();
    system.fgio(&["disable", "sda"]).assert().success();
    assert_eq!(system.text(knob), "0");
}

#[test]
fn one_bad_device_does_not_keep_the_others_from_being_done() {
    let system = System::with_module();
    let assert = system
        .fgio(&["--json", "enable", "sdx", "sda"])
        .assert()
        .code(5);
    let output = assert.get_output();
    let answer = json(&output.stdout);
    assert_eq!(answer["devices"][0]["device"], "sda");
    assert_eq!(answer["devices"][0]["previous"], "kyber");
    assert_eq!(answer["devices"][0]["changed"], true);
    let error = &json(&output.stderr)["error"];
    assert_eq!(error["kind"], "not-found");
    assert_eq!(error["exit_status"], 5);
    assert!(error["advice"].is_string());
}

#[test]
fn no_permission_is_4() {
    let system = System::with_module();
    // Root may write files of any mode: become an unprivileged user, or skip.
    if !Path::new("/usr/bin/setpriv").exists() {
        eprintln!("skipped: no setpriv to become an unprivileged user with");
        return;
    }
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(system.directory.path(), open).unwrap();
    let copy = system.path("fgio");
    fs::copy(assert_cmd::cargo::cargo_bin!("fgio"), &copy).unwrap();
    let mut command = Command::new("/usr/bin/setpriv");
    if rustix::process::geteuid().is_root() {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    } else {
        let scheduler = system.path("sys/block/sda/queue/scheduler");
        fs::set_permissions(scheduler, fs::Permissions::from_mode(0o444)).unwrap();
    }
    command.arg(copy).arg("--root").arg(system.directory.path());
    let assert = command.args(["enable", "sda"]).assert().code(4);
    assert.stderr(contains("permission denied").and(contains("as root")));
    assert!(!system.path("run/fgio/sda.scheduler").exists());
}

#[test]
fn status_has_a_stable_shape() {
    let system = System::with_module();
    system.file("sys/block/sda/queue/scheduler", "none [fgio]\n");
    system.file("sys/block/sda/queue/iosched/critical_slots", "128\n");
    system.file(
        "sys/kernel/debug/fgio/sda/counters",
        "critical_completed 5\nstarvation_releases 1\n",
    );
    let assert = system.fgio(&["status", "--json"]).assert().success();
    let status = json(&assert.get_output().stdout);
    assert_eq!(status["module"]["version"], "0.1.0");
    assert_eq!(status["module"]["info"], Value::Null);
    assert_eq!(status["module"]["state"], Value::Null);
    for switch in ["stamp", "admission", "boost"] {
        assert_eq!(status["module"]["switches"][switch], Value::Null);
    }
    let device = &status["devices"][0];
    assert_eq!(device["device"], "sda");
    assert_eq!(device["scheduler"], "fgio");
    assert_eq!(device["enabled"], true);
    assert_eq!(device["tunables"]["critical_slots"], 128);
    assert_eq!(device["counters"]["critical_completed"], 5);
    assert_eq!(status["tags"], Value::Null);
    assert_eq!(status["notes"].as_array().unwrap().len(), 1);
    let assert = system.fgio(&["status"]).assert().success();
    assert.stdout(contains("sda under fgio").and(contains("starvation_releases 1")));
}

#[test]
fn settings_are_shown_and_changed() {
    let system = System::with_module();
    let boost = "sys/module/fgio/parameters/boost";
    system.file(boost, "Y\n");
    system.file("sys/module/fgio/parameters/watchdog_ms", "30000\n");
    let assert = system.fgio(&["set"]).assert().success();
    assert.stdout(contains("Switches").and(contains("diagnosis only")));
    let assert = system.fgio(&["set", "boost"]).assert().success();
    assert.stdout("on\n");
    let assert = system.fgio(&["set", "boost", "off"]).assert().success();
    assert.stdout("boost: off now, was on\n");
    assert_eq!(system.text(boost), "N");
    let assert = system.fgio(&["--json", "set"]).assert().success();
    let settings = &json(&assert.get_output().stdout)["settings"];
    assert_eq!(settings[0]["name"], "boost");
    assert_eq!(settings[0]["value"], false);
    assert_eq!(settings[0]["default"], true);
    assert_eq!(settings[1]["value"], 30_000);
    let assert = system
        .fgio(&["--json", "set", "--reset"])
        .assert()
        .success();
    let answer = json(&assert.get_output().stdout);
    assert_eq!(answer["changes"][0]["name"], "boost");
    assert_eq!(system.text(boost), "Y");
}

#[test]
fn settings_are_kept_for_the_next_load() {
    let system = System::with_module();
    system.file("sys/module/fgio/parameters/watchdog_ms", "30000\n");
    let arguments = ["--json", "set", "watchdog_ms", "5000", "--persist"];
    let assert = system.fgio(&arguments).assert().success();
    let answer = json(&assert.get_output().stdout);
    assert_eq!(
        (&answer["value"], &answer["persisted"]),
        (&5000.into(), &5000.into())
    );
    let file = "etc/modprobe.d/fgio.conf";
    assert_eq!(system.text(file), "options fgio watchdog_ms=5000\n");
    let arguments = ["set", "--reset", "--persist"];
    system.fgio(&arguments).assert().success();
    assert!(!system.path(file).exists());
}

#[test]
fn settings_that_cannot_be_changed_say_why() {
    let system = System::new();
    system.fgio(&["set"]).assert().code(3);
    let system = System::with_module();
    system.file("sys/module/fgio/parameters/boost", "Y\n");
    let assert = system.fgio(&["set", "bost", "on"]).assert().code(5);
    assert.stderr(contains("did you mean boost?"));
    let assert = system.fgio(&["set", "boost", "maybe"]).assert().code(2);
    assert.stderr(contains("is on or off"));
    let assert = system.fgio(&["set", "journal"]).assert().code(3);
    assert.stderr(contains("older than this command"));
}

#[test]
fn blame_and_rearm_need_the_module() {
    let system = System::new();
    for command in [
        &["blame"][..],
        &["blame", "-f"],
        &["rearm"],
        &["rearm", "sda"],
    ] {
        system
            .fgio(command)
            .assert()
            .code(3)
            .stderr(contains("not loaded"));
    }
}

#[test]
fn watch_ends_cleanly_at_interrupt() {
    let system = System::new();
    // Tests that run in the background may have inherited an ignored SIGINT.
    let mut child = std::process::Command::new("env")
        .arg("--default-signal=INT")
        .arg(assert_cmd::cargo::cargo_bin!("fgio"))
        .arg("--root")
        .arg(system.directory.path())
        .args(["--json", "status", "--watch", "0.1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let sample = json(lines.next().unwrap().unwrap().as_bytes());
    assert!(sample["seconds"].as_f64().unwrap() > 0.0);
    assert!(sample["rates"].is_object());
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A system with `sda` under fgio and some counters; the module does not answer.
fn system_under_fgio() -> System {
    let system = System::with_module();
    system.file("sys/block/sda/queue/scheduler", "none [fgio]\n");
    system.file(
        "sys/kernel/debug/fgio/sda/counters",
        "critical_completed 5\ncritical_dispatched_bytes 4096\n",
    );
    system
}

#[test]
fn top_shows_the_present_state_once() {
    let system = system_under_fgio();
    let arguments = ["top", "--once", "--interval", "0.1", "--json"];
    let assert = system.fgio(&arguments).assert().success();
    let report = json(&assert.get_output().stdout);
    assert!(report["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(report["devices"][0]["device"], "sda");
    let critical = &report["devices"][0]["rates"]["critical"];
    assert_eq!(critical["completed_per_second"], 0.0);
    assert_eq!(critical["dispatched_bytes_per_second"], 0.0);
    assert_eq!(report["module"]["version"], "0.1.0");
    assert_eq!(report["module"]["state"], Value::Null);
    assert_eq!(report["foreground"], Value::Null);
    assert_eq!(report["recording"], Value::Null);
    assert!(report["notes"][0].as_str().unwrap().contains("/dev/fgio"));
    let arguments = ["top", "--once", "--interval", "0.1", "--size", "80x24"];
    let assert = system.fgio(&arguments).assert().success();
    let text = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    assert_eq!(text.lines().count(), 24, "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(
        text.contains("critical") && text.contains("q quit"),
        "{text}"
    );
}

#[test]
fn top_goes_on_while_the_module_goes_and_comes() {
    let system = system_under_fgio();
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("fgio"))
        .arg("--root")
        .arg(system.directory.path())
        .args(["--json", "top", "--interval", "0.1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut reports = lines.map(|line| json(line.unwrap().as_bytes()));
    assert!(reports.next().unwrap()["module"].is_object());
    let [module, away] = ["sys/module/fgio", "sys/module/away"].map(|path| system.path(path));
    fs::rename(&module, &away).unwrap();
    let report = reports.find(|report| report["module"].is_null()).unwrap();
    assert!(report["notes"][0].as_str().unwrap().contains("not loaded"));
    fs::rename(&away, &module).unwrap();
    let report = reports.find(|report| report["module"].is_object()).unwrap();
    assert!(
        report["notes"][0]
            .as_str()
            .unwrap()
            .contains("loaded (again)")
    );
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn recorded_samples_are_replayed() {
    let system = system_under_fgio();
    let recording = system.path("recording");
    let recording = recording.to_str().unwrap();
    let arguments = [
        "record",
        recording,
        "--interval",
        "0.1",
        "--for",
        "0.5",
        "--json",
    ];
    let assert = system.fgio(&arguments).assert().success();
    let output = assert.get_output();
    let samples = json(&output.stdout)["samples"].as_u64().unwrap();
    assert!(samples >= 2, "{samples}");
    let warning = &json(output.stderr.split(|byte| *byte == b'\n').next().unwrap());
    assert!(
        warning["warning"]["message"]
            .as_str()
            .unwrap()
            .contains("/dev/fgio")
    );
    let directory = fs::metadata(recording).unwrap();
    assert_eq!(directory.permissions().mode() & 0o777, 0o700);

    let arguments = ["replay", recording, "--once", "--json"];
    let assert = fgio().args(arguments).assert().success().stderr(is_empty());
    let report = json(&assert.get_output().stdout);
    assert_eq!(report["recording"]["samples"], samples);
    assert_eq!(report["recording"]["sample"], samples);
    assert_eq!(report["devices"][0]["device"], "sda");
    let arguments = ["replay", recording, "--once", "--at", "+0s", "--json"];
    let assert = fgio().args(arguments).assert().success();
    let report = json(&assert.get_output().stdout);
    assert_eq!(report["recording"]["sample"], 1);
    // No terminal: all that was recorded, as text.
    let arguments = ["replay", recording, "--speed", "1024"];
    let assert = fgio().args(arguments).assert().success();
    assert.stdout(contains("fgio replay").and(contains("non-critical")));
    let arguments = ["replay", recording, "--at", "+1h", "--once"];
    let assert = fgio().args(arguments).assert().code(5);
    assert.stderr(contains("not within the recording"));
}

#[test]
fn recordings_that_are_damaged_or_none_say_so() {
    let system = system_under_fgio();
    let recording = system.path("recording");
    let name = recording.to_str().unwrap();
    fgio().args(["replay", name]).assert().code(5);
    fgio().args(["replay", "/etc"]).assert().code(1);
    let arguments = ["record", "/etc/passwd"];
    let assert = system.fgio(&arguments).assert().code(1);
    assert.stderr(contains("is no recording of fgio"));
    let arguments = [
        "record",
        name,
        "--interval",
        "0.1",
        "--for",
        "0.5",
        "--json",
    ];
    system.fgio(&arguments).assert().success();
    let segment = recording.join("00000001.fgiorec");
    let bytes = fs::read(&segment).unwrap();
    fs::write(&segment, &bytes[..bytes.len() - 1]).unwrap();
    let assert = fgio().args(["replay", name, "--once"]).assert().success();
    assert.stderr(contains("ends within a sample").and(contains("warning")));
    fs::write(&segment, "nonsense").unwrap();
    let assert = fgio().args(["replay", name, "--once"]).assert().code(1);
    assert.stderr(contains("no sample that can be read"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let system = System::new();
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("fgio"))
        .arg("--root")
        .arg(system.directory.path())
        .args(["status", "--watch", "0.1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}

#[test]
fn run_is_transparent() {
    let system = System::new();
    let assert = system
        .fgio(&["run", "--", "sh", "-c", "echo out; exit 7"])
        .assert();
    assert
        .code(7)
        .stdout("out\n")
        .stderr(contains("not loaded"));
    system.fgio(&["run", "/nonexistent"]).assert().code(127);
    system.fgio(&["run", "/etc/passwd"]).assert().code(126);
    let assert = system
        .fgio(&["--json", "run", "/nonexistent"])
        .assert()
        .code(127);
    let stderr = assert.get_output().stderr.clone();
    let lines: Vec<Value> = stderr
        .lines()
        .map(|line| json(line.unwrap().as_bytes()))
        .collect();
    assert!(lines[0]["warning"]["message"].is_string());
    assert_eq!(lines[1]["error"]["exit_status"], 127);
}

#[test]
fn run_sets_the_priority_that_children_inherit() {
    if !Path::new("/usr/bin/ionice").exists() {
        eprintln!("skipped: no ionice to read the priority with");
        return;
    }
    let system = System::with_module();
    system.file("sys/block/sda/queue/scheduler", "none [fgio]\n");
    for (class, expected) in [
        ("--foreground", "best-effort: prio 0\n"),
        ("--background", "idle\n"),
    ] {
        let arguments = ["run", class, "--", "sh", "-c", "ionice; true"];
        let assert = system.fgio(&arguments).assert().success();
        assert.stdout(expected).stderr(is_empty());
    }
}

#[test]
fn doctor_fails_for_errors_alone() {
    let system = System::new();
    let assert = system.fgio(&["--json", "doctor"]).assert().code(1);
    let answer = json(&assert.get_output().stdout);
    assert!(answer["errors"].as_u64().unwrap() >= 1);
    for finding in answer["findings"].as_array().unwrap() {
        assert!(finding["id"].is_string() && finding["found"].is_string());
        let level = finding["level"].as_str().unwrap();
        assert!(["ok", "info", "warning", "error"].contains(&level));
        if ["warning", "error"].contains(&level) {
            assert!(finding["advice"].is_string(), "{finding}");
        }
    }
}

/// One error, and no advice that cannot work there: headers and packages of a
/// module that is not built for such a kernel.
#[test]
fn doctor_says_one_thing_about_a_kernel_that_cannot_have_the_module() {
    let system = System::new();
    let examined = |system: &System| {
        let assert = system.fgio(&["--json", "doctor"]).assert().code(1);
        json(&assert.get_output().stdout)["findings"].clone()
    };
    assert!(examined(&system).as_array().unwrap().len() > 1);
    system.file("proc/sys/kernel/osrelease", "6.12.117+deb12-rt-amd64\n");
    let findings = examined(&system);
    assert_eq!(findings.as_array().unwrap().len(), 1, "{findings}");
    assert_eq!(findings[0]["id"], "kernel-unsupported");
    let advice = findings[0]["advice"].as_str().unwrap();
    assert!(
        !advice.contains("dkms") && !advice.contains("headers"),
        "{advice}"
    );
}

#[test]
fn doctor_names_the_file_and_line_of_a_conflict() {
    let system = System::new();
    system.file(
        "etc/udev/rules.d/60-disks.rules",
        "# disks\nACTION==\"add\", ATTR{queue/scheduler}=\"bfq\"\n",
    );
    let assert = system.fgio(&["doctor"]).assert().code(1);
    assert.stdout(contains("/etc/udev/rules.d/60-disks.rules:2: "));
}

#[test]
fn completions_and_manual_pages_are_generated() {
    for shell in ["bash", "zsh", "fish"] {
        let assert = fgio().args(["completions", shell]).assert().success();
        let names = contains("doctor")
            .and(contains("rearm"))
            .and(contains("replay"));
        assert.stdout(names.and(contains("walk_interval_us")));
    }
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    fgio().args(["man", "--out", out]).assert().success();
    let page = fs::read_to_string(directory.path().join("fgio-run.1")).unwrap();
    assert!(page.contains("I/O priority"));
    let page = fs::read_to_string(directory.path().join("fgio-record.1")).unwrap();
    assert!(page.contains("segments"));
    fgio()
        .args(["man", "--out", "/nonexistent"])
        .assert()
        .code(1);
}

/// A system with a profile and a process that it is about.
fn with_profile() -> System {
    let system = System::new();
    system.file(
        "usr/lib/fgio/profiles/kv.toml",
        "summary = 'kv: requests'\n[program]\ncomm = 'kvd'\n\
         [[rule]]\nname = 'request'\ncomm = 'req-.*'\nclass = 'foreground'\nwhy = 'it answers'\n\
         [[case]]\nprocess = 'kvd'\ncomm = 'req-1'\nclass = 'foreground'\n",
    );
    system.file("proc/7/comm", "kvd\n");
    system.file("proc/7/cmdline", "kvd\0--fast\0");
    system.file("proc/7/status", "Tgid:\t7\nPPid:\t0\nUid:\t0\t0\t0\t0\n");
    system.file("proc/7/cgroup", "0::/system.slice/kv.service\n");
    system.file("proc/7/task/7/comm", "kvd\n");
    system.file("proc/7/task/8/comm", "req-0\n");
    system.file("proc/8/status", "Tgid:\t7\n");
    system
}

#[test]
fn profiles_explain_the_tags_of_a_process() {
    let system = with_profile();
    for id in ["7", "8"] {
        let assert = system.fgio(&["profile", "test", id]).assert().success();
        let text = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
        for part in [
            "kv.service",
            "kvd --fast",
            "request",
            "kv.toml:5:8",
            "it answers",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let assert = system.fgio(&["--json", "profile", "test", "7"]).assert();
    let answer = json(&assert.get_output().stdout);
    assert_eq!(answer["profile"], "kv");
    assert_eq!(answer["threads"][0]["class"], "none");
    assert_eq!(answer["threads"][1]["rule"]["name"], "request");
    assert_eq!(answer["threads"][1]["tag"], Value::Null);
    system.fgio(&["profile", "test", "9"]).assert().code(5);
    system.file("proc/7/comm", "other\n");
    let other = system.fgio(&["profile", "test", "7"]).assert().success();
    other.stdout(contains("no profile"));
}

#[test]
fn profiles_are_listed_shown_and_checked() {
    let system = with_profile();
    system
        .fgio(&["profile", "list"])
        .assert()
        .success()
        .stdout(contains("kv: requests"));
    let shown = system.fgio(&["profile", "show", "kv"]).assert().success();
    shown.stdout(contains("request: foreground"));
    system.fgio(&["profile", "show", "x"]).assert().code(5);
    let checked = system.fgio(&["profile", "check"]).assert().success();
    checked.stdout(contains("kv: 1 rules, 1 cases, all as they say"));
    system.file("etc/fgio/profiles/bad.toml", "[program]\ncomm = '('\n");
    system.file("etc/fgio/profiles/off.toml", "");
    let listed = system.fgio(&["profile", "list"]).assert().success();
    listed
        .stdout(contains("off.toml"))
        .stderr(contains("bad.toml:2:8"));
    let assert = system
        .fgio(&["--json", "profile", "check"])
        .assert()
        .code(1);
    let answer = json(&assert.get_output().stdout);
    assert_eq!(answer["refused"][0]["line"], 2);
    assert_eq!(answer["profiles"][0]["failures"], Value::Array(vec![]));
    let file = system.path("etc/fgio/profiles/bad.toml");
    let file = file.to_str().unwrap();
    system
        .fgio(&["profile", "check", file])
        .assert()
        .code(1)
        .stdout(contains("refused"));
}

/// Two cgroups with weights, and one that the io controller is not enabled for.
fn system_with_cgroups() -> System {
    let system = System::with_module();
    let cgroup = |path: &str, controllers: &str| {
        let folder = format!("sys/fs/cgroup{path}");
        system.file(&format!("{folder}/cgroup.controllers"), "io memory\n");
        system.file(&format!("{folder}/cgroup.subtree_control"), controllers);
    };
    cgroup("", "io\n");
    cgroup("/a.service", "");
    cgroup("/b", "");
    cgroup("/b/c", "");
    for path in ["a.service", "b"] {
        system.file(&format!("sys/fs/cgroup/{path}/io.weight"), "default 100\n");
    }
    system.file("sys/module/fgio/parameters/shares", "1\n");
    system
}

#[test]
fn share_sets_the_weight_of_a_cgroup() {
    let system = system_with_cgroups();
    let set = |arguments: &[&str]| {
        system
            .fgio(&[&["share", "set"], arguments].concat())
            .assert()
    };
    set(&["/b", "300"])
        .success()
        .stdout("/b: weight 300, was 100\n")
        .stderr(is_empty());
    assert_eq!(system.text("sys/fs/cgroup/b/io.weight"), "default 300");
    set(&["b", "300"])
        .success()
        .stdout("/b: still weight 300\n");
    let output = system
        .fgio(&["share", "set", "b", "1", "--json"])
        .output()
        .unwrap();
    let answer = json(&output.stdout);
    assert_eq!(answer["cgroup"], "/b");
    assert_eq!(
        (&answer["previous"], &answer["weight"]),
        (&300.into(), &1.into())
    );
    // Of systemd, and without an effect.
    fs::create_dir_all(system.path("run/systemd/system")).unwrap();
    system.file("sys/module/fgio/parameters/shares", "0\n");
    set(&["a.service", "500"])
        .success()
        .stderr(contains("systemctl set-property a.service IOWeight=500"))
        .stderr(contains("fgio set shares 1 --persist"));
}

#[test]
fn share_says_what_to_do_where_a_weight_cannot_be_set() {
    let system = system_with_cgroups();
    for (cgroup, status, advice) in [
        (
            "/b/c",
            1,
            "echo +io >/sys/fs/cgroup/b/cgroup.subtree_control",
        ),
        ("/", 2, "a cgroup of their own"),
        ("/nothing", 5, "systemd-cgls"),
    ] {
        system
            .fgio(&["share", "set", cgroup, "300"])
            .assert()
            .code(status)
            .stderr(contains(advice));
    }
    system
        .fgio(&["share", "set", "/b", "20000"])
        .assert()
        .code(2)
        .stderr(contains("from 1 to 10000"));
    System::with_module()
        .fgio(&["share", "set", "/b", "300"])
        .assert()
        .code(1)
        .stderr(contains("systemd.unified_cgroup_hierarchy=1"));
}

#[test]
fn share_lists_nothing_without_the_module() {
    for arguments in [&["share"][..], &["share", "list", "--all"]] {
        let system = System::new();
        system
            .fgio(arguments)
            .assert()
            .code(3)
            .stderr(contains("not loaded"));
    }
    let system = system_with_cgroups();
    system
        .fgio(&["share", "explain", "/b"])
        .assert()
        .code(3)
        .stderr(contains("/dev/fgio does not exist"));
    system
        .fgio(&["share", "list", "sda"])
        .assert()
        .code(5)
        .stderr(contains("fgio enable sda"));
}
