// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands on a terminal, which is left as it was, and which may go away.

#![allow(clippy::unwrap_used, reason = "a failure to prepare a test is a panic")]

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

/// Far more than any machine takes.
const PATIENCE: Duration = Duration::from_secs(120);

const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";
const SHOW_CURSOR: &str = "\x1b[?25h";

/// A terminal of 80x24 and a command on it.
struct Session {
    keyboard: File,
    terminal: File,
    before: Termios,
    output: Receiver<Vec<u8>>,
    shown: String,
    child: Child,
}

/// A pseudo terminal of 80x24: its two ends. `None` where one cannot be made.
fn open_terminal() -> Option<(File, File)> {
    // A command that inherited the first end would keep the terminal alive.
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).ok()?;
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let name = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes())).to_owned();
    let terminal = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlags::NOCTTY.bits().cast_signed())
        .open(name)
        .unwrap();
    let size = Winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&terminal, size).unwrap();
    Some((File::from(master), terminal))
}

impl Session {
    /// `None` where a terminal cannot be made.
    fn start(root: &Path, arguments: &[&str], colour: bool) -> Option<Self> {
        let (keyboard, terminal) = open_terminal()?;
        let before = tcgetattr(&terminal).unwrap();
        let inner = fgio(root, arguments);
        // So that the terminal is the controlling one, too.
        let mut command = Command::new("setsid");
        command
            .arg("--ctty")
            .arg(inner.get_program())
            .args(inner.get_args())
            .env("TERM", "xterm")
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR")
            .stdin(terminal.try_clone().unwrap())
            .stdout(terminal.try_clone().unwrap())
            .stderr(terminal.try_clone().unwrap());
        if !colour {
            command.env("NO_COLOR", "1");
        }
        let child = command.spawn().unwrap();
        Some(Self {
            output: read_all(keyboard.try_clone().unwrap()),
            keyboard,
            terminal,
            before,
            shown: String::new(),
            child,
        })
    }

    fn wait_for(&mut self, text: &str) {
        let begin = Instant::now();
        while !self.shown.contains(text) {
            assert!(
                begin.elapsed() < PATIENCE,
                "no {text:?} in {:?}",
                self.shown
            );
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(100)) {
                self.shown += &String::from_utf8_lossy(&bytes);
            }
        }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// The command has ended well, and the terminal is as it was.
    fn ends_cleanly(mut self) {
        self.wait_for(LEAVE);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        self.wait_for(SHOW_CURSOR);
        let after = tcgetattr(&self.terminal).unwrap();
        assert_eq!(after.local_modes, self.before.local_modes);
        assert_eq!(after.input_modes, self.before.input_modes);
        assert_eq!(after.output_modes, self.before.output_modes);
    }
}

fn read_all(mut from: File) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if sender.send(bytes[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

fn system() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("sys/block")).unwrap();
    directory
}

fn top(colour: bool) -> Option<(tempfile::TempDir, Session)> {
    if !Path::new("/usr/bin/setsid").exists() {
        eprintln!("skipped: no setsid to give the command a terminal with");
        return None;
    }
    let system = system();
    let session = Session::start(system.path(), &["top", "--interval", "0.1"], colour);
    if session.is_none() {
        eprintln!("skipped: no pseudo terminal can be made");
    }
    Some((system, session?))
}

#[test]
fn keys_work_and_the_terminal_is_left_as_it_was() {
    let Some((_system, mut session)) = top(true) else {
        return;
    };
    session.wait_for(ENTER);
    session.wait_for("FOREGROUND");
    session.wait_for("not loaded");
    let raw = tcgetattr(&session.terminal).unwrap();
    assert_ne!(raw.local_modes, session.before.local_modes);
    session.press("h");
    session.wait_for("1,000,000");
    session.press("hp");
    session.wait_for("PAUSED");
    session.press("q");
    session.ends_cleanly();
}

#[test]
fn signals_leave_the_terminal_as_it_was() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let Some((_system, mut session)) = top(true) else {
            return;
        };
        session.wait_for("FOREGROUND");
        kill_process(Pid::from_child(&session.child), signal).unwrap();
        session.ends_cleanly();
    }
}

#[test]
fn colours_are_left_out_where_they_are_not_wanted() {
    const YELLOW: &str = "38;5;3";
    for colour in [true, false] {
        let Some((_system, mut session)) = top(colour) else {
            return;
        };
        session.wait_for("not loaded");
        session.press("q");
        session.wait_for(LEAVE);
        assert_eq!(
            session.shown.contains(YELLOW),
            colour,
            "{:?}",
            session.shown
        );
        session.ends_cleanly();
    }
}

/// The fate of a command after its terminal went away.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Ended(Option<i32>),
    /// It went on, and took more of a processor than ending takes.
    Spun,
    Stayed,
}

/// Processor time that this process and its children took, in seconds.
fn cpu_seconds(child: &Child) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    // utime and stime are the 14th and 15th field; the second is in brackets.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: f64 = ticks.filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / rustix::param::clock_ticks_per_second() as f64
}

/// Waits until the command ends, or has taken `limit` seconds of a processor more.
/// By its own time, since a busy host says nothing about it; `patience` is for
/// a command that does neither.
fn fate(child: &mut Child, limit: f64, patience: Duration) -> Fate {
    let begin = Instant::now();
    let before = cpu_seconds(child);
    loop {
        let status: Option<ExitStatus> = child.try_wait().unwrap();
        if let Some(status) = status {
            return Fate::Ended(status.code());
        }
        let is_spinning = cpu_seconds(child) - before > limit;
        if is_spinning || begin.elapsed() > patience {
            child.kill().unwrap();
            child.wait().unwrap();
            return if is_spinning {
                Fate::Spun
            } else {
                Fate::Stayed
            };
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// A command on a terminal that is taken away once it has shown `text`. Where the
/// terminal is not its controlling one, the kernel tells it by no signal.
fn hang_up(mut command: Command, controls: bool, text: &str) -> Option<Child> {
    let (mut keyboard, terminal) = open_terminal()?;
    if controls {
        let mut inner = Command::new("setsid");
        inner.arg("--ctty").arg(command.get_program());
        inner.args(command.get_args());
        command = inner;
    }
    let child = command
        .env("TERM", "xterm")
        .stdin(terminal.try_clone().unwrap())
        .stdout(terminal.try_clone().unwrap())
        .stderr(terminal)
        .spawn()
        .unwrap();
    let mut shown = String::new();
    let mut bytes = [0; 4096];
    let begin = Instant::now();
    while !shown.contains(text) {
        assert!(begin.elapsed() < PATIENCE, "{text:?} is not shown");
        let count = keyboard.read(&mut bytes).unwrap();
        shown += &String::from_utf8_lossy(&bytes[..count]);
    }
    Some(child)
}

fn fgio(root: &Path, arguments: &[&str]) -> Command {
    // Tests that run in the background may have inherited signals that are ignored.
    let mut command = Command::new("env");
    command
        .arg("--default-signal=INT,HUP,TERM")
        .arg(assert_cmd::cargo::cargo_bin!("fgio"))
        .arg("--root")
        .arg(root)
        .args(arguments);
    command
}

/// Far more than any of the commands takes to end.
const CPU_LIMIT: f64 = 2.0;

#[test]
fn commands_end_when_their_terminal_goes_away() {
    let system = system();
    let recording = system.path().join("rec");
    let recording = recording.to_str().unwrap();
    let record = ["record", recording, "--for", "0.3", "--interval", "0.1"];
    let status = fgio(system.path(), &record).stdout(Stdio::null()).status();
    assert!(status.unwrap().success());
    let commands: [(&[&str], &str); 5] = [
        (&["top"], "FOREGROUND"),
        (&["top", "--json"], "{"),
        (&["replay", recording], "FOREGROUND"),
        (&["replay", recording, "--speed", "0.125"], "FOREGROUND"),
        (&["status", "--watch", "0.1"], "Module fgio"),
    ];
    for (arguments, text) in commands {
        for controls in [true, false] {
            let Some(mut child) = hang_up(fgio(system.path(), arguments), controls, text) else {
                eprintln!("skipped: no pseudo terminal can be made");
                return;
            };
            let fate = fate(&mut child, CPU_LIMIT, PATIENCE);
            assert_eq!(fate, Fate::Ended(Some(0)), "{arguments:?} {controls}");
        }
    }
}

/// A recorder ends at hang-up, with all that it has recorded, unless it was
/// started with nohup.
#[test]
fn a_recorder_outlives_its_terminal_where_it_is_told_to() {
    let system = system();
    let directory = system.path().join("rec");
    let record = ["record", directory.to_str().unwrap(), "--interval", "0.1"];
    let command = fgio(system.path(), &record);
    let Some(mut child) = hang_up(command, true, "Ctrl-C ends it") else {
        return;
    };
    assert_eq!(fate(&mut child, CPU_LIMIT, PATIENCE), Fate::Ended(Some(0)));
    let shown = fgio(system.path(), &["replay", record[1], "--once"]).output();
    assert!(shown.unwrap().status.success());

    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" --root \"$@\""]);
    shell.arg(assert_cmd::cargo::cargo_bin!("fgio"));
    shell.arg(system.path()).args(record);
    let mut child = hang_up(shell, true, "Ctrl-C ends it").unwrap();
    let while_recorded = Duration::from_secs(2);
    assert_eq!(fate(&mut child, CPU_LIMIT, while_recorded), Fate::Stayed);
}

/// The control: a command that spins is found to.
#[test]
fn a_command_that_spins_without_terminal_is_noticed() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; echo on; while :; do :; done"]);
    if let Some(mut child) = hang_up(shell, true, "on") {
        assert_eq!(fate(&mut child, 0.2, PATIENCE), Fate::Spun);
    }
}

/// A closed pipe at its output ends a command, also one that has
/// nothing to say.
#[test]
fn commands_end_when_their_pipe_is_closed() {
    let system = system();
    let commands: [&[&str]; 3] = [
        &["top", "--interval", "3600"],
        &["status", "--watch", "3600"],
        &["status", "--watch", "0.1"],
    ];
    for arguments in commands {
        let mut child = fgio(system.path(), arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let fate = fate(&mut child, CPU_LIMIT, PATIENCE);
        assert_eq!(fate, Fate::Ended(Some(0)), "{arguments:?}");
        let mut complaint = String::new();
        child
            .stderr
            .unwrap()
            .read_to_string(&mut complaint)
            .unwrap();
        assert_eq!(complaint, "", "{arguments:?}");
    }
}
