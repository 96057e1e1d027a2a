// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The view that `fgio top` and `fgio replay` share, and its keys.

pub mod draw;
#[cfg(test)]
pub mod fixture;
mod keys;
pub mod source;
pub mod terminal;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// The tables of the screen, from top to bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    Devices,
    Tasks,
    Waits,
    Causes,
    /// On screens of their own.
    Shares,
    Requests,
}

/// Those of the first screen.
pub const PANES: [Pane; 4] = [Pane::Devices, Pane::Tasks, Pane::Waits, Pane::Causes];

/// What fills the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    Tables,
    /// Of cgroups.
    Shares,
    /// Of users.
    Requests,
}

/// The order of tasks, causes and requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Total,
    Count,
    Longest,
    Name,
}

impl Order {
    fn next(self) -> Self {
        match self {
            Self::Total => Self::Count,
            Self::Count => Self::Longest,
            Self::Longest => Self::Name,
            Self::Name => Self::Total,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Total => "time waited",
            Self::Count => "waits",
            Self::Longest => "longest wait",
            Self::Name => "name",
        }
    }
}

/// Where to go in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    Seconds(i64),
    Samples(i64),
    Begin,
    End,
}

/// A request of a key that the view itself cannot fulfil.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wish {
    Nothing,
    Quit,
    Seek(Seek),
    /// Multiply the speed of the replay.
    Speed(f64),
}

/// The state of the view.
#[derive(Clone, Debug)]
pub struct View {
    pub paused: bool,
    pub help: bool,
    pub screen: Screen,
    pub order: Order,
    pub focus: Pane,
    pub colour: bool,
    /// The first row shown of each pane.
    scroll: [usize; PANES.len() + 2],
}

impl View {
    pub fn new(colour: bool) -> Self {
        Self {
            paused: false,
            help: false,
            screen: Screen::Tables,
            order: Order::Total,
            focus: Pane::Waits,
            colour,
            scroll: [0; PANES.len() + 2],
        }
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Wish {
        if key.kind == KeyEventKind::Release {
            return Wish::Nothing;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            let is_end = matches!(key.code, KeyCode::Char('c' | 'd'));
            return if is_end { Wish::Quit } else { Wish::Nothing };
        }
        if self.help {
            self.help = false;
            let is_quit = key.code == KeyCode::Char('q');
            return if is_quit { Wish::Quit } else { Wish::Nothing };
        }
        self.look(key.code);
        wish(key.code)
    }

    /// Keys that change how things are shown.
    fn look(&mut self, code: KeyCode) {
        match code {
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Char('g') => self.go_to(Screen::Shares),
            KeyCode::Char('r') => self.go_to(Screen::Requests),
            KeyCode::Char('h' | '?') | KeyCode::F(1) => self.help = true,
            KeyCode::Tab => self.turn(1),
            KeyCode::BackTab => self.turn(PANES.len() - 1),
            KeyCode::Down | KeyCode::Char('j') => self.scroll_by(1),
            KeyCode::Up | KeyCode::Char('k') => self.scroll_by(-1),
            KeyCode::PageDown => self.scroll_by(10),
            KeyCode::PageUp => self.scroll_by(-10),
            _ => {}
        }
    }

    /// Or back to the tables, from there.
    fn go_to(&mut self, screen: Screen) {
        self.screen = if self.screen == screen {
            Screen::Tables
        } else {
            screen
        };
    }

    fn turn(&mut self, by: usize) {
        self.focus = PANES[(self.focus as usize + by) % PANES.len()];
    }

    /// The table that scrolls.
    pub fn scrolled(&self) -> Pane {
        match self.screen {
            Screen::Tables => self.focus,
            Screen::Shares => Pane::Shares,
            Screen::Requests => Pane::Requests,
        }
    }

    fn scroll_by(&mut self, rows: isize) {
        let pane = self.scrolled();
        let first = &mut self.scroll[pane as usize];
        *first = first.saturating_add_signed(rows);
    }

    /// The first row to show, when only `visible` of `rows` have room.
    fn first_row(&mut self, pane: Pane, rows: usize, visible: usize) -> usize {
        let first = &mut self.scroll[pane as usize];
        *first = (*first).min(rows.saturating_sub(visible));
        *first
    }
}

fn wish(code: KeyCode) -> Wish {
    match code {
        KeyCode::Char('q') | KeyCode::Esc => Wish::Quit,
        KeyCode::Left => Wish::Seek(Seek::Seconds(-10)),
        KeyCode::Right => Wish::Seek(Seek::Seconds(10)),
        KeyCode::Char('[') => Wish::Seek(Seek::Seconds(-60)),
        KeyCode::Char(']') => Wish::Seek(Seek::Seconds(60)),
        KeyCode::Char(',') => Wish::Seek(Seek::Samples(-1)),
        KeyCode::Char('.') => Wish::Seek(Seek::Samples(1)),
        KeyCode::Home => Wish::Seek(Seek::Begin),
        KeyCode::End => Wish::Seek(Seek::End),
        KeyCode::Char('+' | '=') => Wish::Speed(2.0),
        KeyCode::Char('-') => Wish::Speed(0.5),
        _ => Wish::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(view: &mut View, code: KeyCode) -> Wish {
        view.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn keys_act_as_the_help_says() {
        let mut view = View::new(false);
        assert_eq!(press(&mut view, KeyCode::Char('p')), Wish::Nothing);
        assert!(view.paused);
        press(&mut view, KeyCode::Char('s'));
        assert_eq!(view.order, Order::Count);
        press(&mut view, KeyCode::Tab);
        assert_eq!(view.focus, Pane::Causes);
        press(&mut view, KeyCode::Tab);
        assert_eq!(view.focus, Pane::Devices);
        press(&mut view, KeyCode::BackTab);
        assert_eq!(view.focus, Pane::Causes);
        let seek = press(&mut view, KeyCode::Left);
        assert_eq!(seek, Wish::Seek(Seek::Seconds(-10)));
        press(&mut view, KeyCode::Char('g'));
        assert_eq!(view.scrolled(), Pane::Shares);
        press(&mut view, KeyCode::Char('r'));
        assert_eq!(view.scrolled(), Pane::Requests);
        press(&mut view, KeyCode::Char('r'));
        assert_eq!(view.scrolled(), Pane::Causes);
        press(&mut view, KeyCode::Char('g'));
        press(&mut view, KeyCode::Char('g'));
        assert_eq!(view.scrolled(), Pane::Causes);
        press(&mut view, KeyCode::Char('h'));
        assert!(view.help);
        // Any key leaves the help, and does nothing else.
        assert_eq!(press(&mut view, KeyCode::Esc), Wish::Nothing);
        assert_eq!(press(&mut view, KeyCode::Char('q')), Wish::Quit);
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(view.key(interrupt), Wish::Quit);
    }

    #[test]
    fn scrolling_stays_within_the_rows() {
        let mut view = View::new(false);
        press(&mut view, KeyCode::PageDown);
        assert_eq!(view.first_row(Pane::Waits, 12, 5), 7);
        press(&mut view, KeyCode::Up);
        assert_eq!(view.first_row(Pane::Waits, 12, 5), 6);
        assert_eq!(view.first_row(Pane::Waits, 3, 5), 0);
        press(&mut view, KeyCode::Up);
        assert_eq!(view.first_row(Pane::Waits, 12, 5), 0);
        assert_eq!(view.first_row(Pane::Causes, 12, 5), 0);
    }
}
