// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys, from the bytes that a terminal sends for them.
//!
//! The reader of crossterm takes a terminal that is gone for one that has not sent
//! anything yet, and asks it again without end; this one ends.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, BorrowedFd};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

const ESCAPE: u8 = 0x1b;

/// The keyboard of the terminal.
#[derive(Debug)]
pub struct Keyboard {
    terminal: File,
    /// The first bytes of a key that is not complete.
    begun: Vec<u8>,
}

impl Keyboard {
    /// `None` where there is no terminal to read from; signals end the command
    /// then.
    pub fn open() -> Option<Self> {
        let stdin = io::stdin();
        let terminal = if stdin.is_terminal() {
            File::from(stdin.as_fd().try_clone_to_owned().ok()?)
        } else {
            File::open("/dev/tty").ok()?
        };
        let begun = Vec::new();
        Some(Self { terminal, begun })
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.terminal.as_fd()
    }

    /// Reads the keys pressed since; `None` when the terminal is gone. Blocks while
    /// there are none.
    pub fn read(&mut self) -> Option<Vec<KeyEvent>> {
        let mut bytes = [0; 256];
        match self.terminal.read(&mut bytes) {
            Ok(0) => None,
            Ok(count) => {
                self.begun.extend(&bytes[..count]);
                Some(take_keys(&mut self.begun))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Some(Vec::new()),
            // EIO: the terminal was hung up.
            Err(_) => None,
        }
    }

    /// Ends a key that has begun, since time has passed: an escape is the key Esc
    /// then, not the begin of another.
    pub fn settle(&mut self) -> Option<KeyEvent> {
        let is_escape = self.begun == [ESCAPE];
        self.begun.clear();
        is_escape.then(|| key(KeyCode::Esc))
    }
}

fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

/// Takes the keys that are complete from the front of `bytes`.
fn take_keys(bytes: &mut Vec<u8>) -> Vec<KeyEvent> {
    let mut keys = Vec::new();
    while let Some((length, found)) = first_key(bytes) {
        keys.extend(found);
        bytes.drain(..length);
    }
    keys
}

/// The length of the first key and its event, where it has one; `None` when more
/// bytes have to come.
fn first_key(bytes: &[u8]) -> Option<(usize, Option<KeyEvent>)> {
    match *bytes.first()? {
        ESCAPE => escaped(bytes),
        b'\t' => Some((1, Some(key(KeyCode::Tab)))),
        control @ 0x01..=0x1a => {
            let letter = char::from(control - 1 + b'a');
            let event = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
            Some((1, Some(event)))
        }
        printable @ b' '..=b'~' => Some((1, Some(key(KeyCode::Char(char::from(printable)))))),
        _ => Some((1, None)),
    }
}

fn escaped(bytes: &[u8]) -> Option<(usize, Option<KeyEvent>)> {
    match *bytes.get(1)? {
        // Two of them: the first is a key.
        ESCAPE => Some((1, Some(key(KeyCode::Esc)))),
        b'O' => {
            let last = *bytes.get(2)?;
            Some((3, named(b"", last).map(key)))
        }
        b'[' => {
            // The console of Linux has ESC [ [ A for F1.
            let begin = if bytes.get(2) == Some(&b'[') { 3 } else { 2 };
            let rest = bytes.get(begin..)?;
            let last = rest.iter().position(|byte| (b'@'..=b'~').contains(byte))?;
            let code = match begin {
                2 => named(&rest[..last], rest[last]),
                _ => (rest[last] == b'A').then_some(KeyCode::F(1)),
            };
            Some((begin + last + 1, code.map(key)))
        }
        // Alt and a key.
        _ => Some((2, None)),
    }
}

/// The key of a sequence with these parameters and this last byte. Modified keys
/// have more parameters, and mean nothing here.
fn named(parameters: &[u8], last: u8) -> Option<KeyCode> {
    match (parameters, last) {
        (b"", b'A') => Some(KeyCode::Up),
        (b"", b'B') => Some(KeyCode::Down),
        (b"", b'C') => Some(KeyCode::Right),
        (b"", b'D') => Some(KeyCode::Left),
        (b"", b'H') | (b"1" | b"7", b'~') => Some(KeyCode::Home),
        (b"", b'F') | (b"4" | b"8", b'~') => Some(KeyCode::End),
        (b"", b'P') | (b"11", b'~') => Some(KeyCode::F(1)),
        (b"", b'Z') => Some(KeyCode::BackTab),
        (b"5", b'~') => Some(KeyCode::PageUp),
        (b"6", b'~') => Some(KeyCode::PageDown),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPED: &[u8] =
        b"q\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[Z\t\x03\x1b[1~\x1b[F\x1bOP\x1b[[A\x1b[1;5C\x1bxp\xc3\xa9+\x1b\x1b[D";

    fn typed() -> Vec<KeyEvent> {
        let mut keys = [
            KeyCode::Char('q'),
            KeyCode::Up,
            KeyCode::Down,
            KeyCode::PageUp,
            KeyCode::PageDown,
            KeyCode::BackTab,
            KeyCode::Tab,
            KeyCode::Char('c'),
            KeyCode::Home,
            KeyCode::End,
            KeyCode::F(1),
            KeyCode::F(1),
            KeyCode::Char('p'),
            KeyCode::Char('+'),
            KeyCode::Esc,
            KeyCode::Left,
        ]
        .map(key);
        keys[7].modifiers = KeyModifiers::CONTROL;
        keys.to_vec()
    }

    #[test]
    fn keys_are_the_same_wherever_their_bytes_are_cut() {
        for cut in 0..=TYPED.len() {
            let mut begun = TYPED[..cut].to_vec();
            let mut keys = take_keys(&mut begun);
            begun.extend(&TYPED[cut..]);
            keys.extend(take_keys(&mut begun));
            assert_eq!(keys, typed(), "cut at {cut}");
            assert!(begun.is_empty());
        }
    }

    #[test]
    fn an_escape_is_a_key_once_time_has_passed() {
        let mut keyboard = Keyboard {
            terminal: File::open("/dev/null").unwrap(),
            begun: vec![ESCAPE],
        };
        assert_eq!(take_keys(&mut keyboard.begun), []);
        assert_eq!(keyboard.settle(), Some(key(KeyCode::Esc)));
        assert_eq!(keyboard.settle(), None);
        // Nor is the begin of another key one.
        keyboard.begun = b"\x1b[".to_vec();
        assert_eq!(keyboard.settle(), None);
        assert!(keyboard.begun.is_empty());
    }

    #[test]
    fn a_terminal_that_is_gone_is_the_end() {
        let terminal = File::open("/dev/null").unwrap();
        let begun = Vec::new();
        assert_eq!(Keyboard { terminal, begun }.read(), None);
    }
}
