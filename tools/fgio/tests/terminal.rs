// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio top` on a terminal, which is left as it was.

#![allow(clippy::unwrap_used, reason = "a failure to prepare a test is a panic")]

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command};
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

impl Session {
    /// `None` where a terminal cannot be made.
    fn start(root: &Path, arguments: &[&str], colour: bool) -> Option<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).ok()?;
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
        let before = tcgetattr(&terminal).unwrap();
        // So that the terminal is the controlling one, too.
        let mut command = Command::new("setsid");
        command
            .arg("--ctty")
            .arg(assert_cmd::cargo::cargo_bin!("fgio"))
            .arg("--root")
            .arg(root)
            .args(arguments)
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
        let keyboard = File::from(master);
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
