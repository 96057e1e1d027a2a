// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program marks the work that requests wait for, and fgio, a module for stock Linux kernels, lets
//! the disk I/O of that work overtake all other.
//!
//! ```
//! fn answer(id: u64) {
//!     let _section = fgio::request(id);
//!     // I/O that is submitted here is critical, and so is I/O that the thread waits for.
//! }
//! # answer(1);
//! ```
//!
//! A section belongs to the thread that began it, and ends when its guard is dropped. Sections
//! nest, the innermost one counts: drop guards in the opposite order of their making, as the end
//! of a scope does. In asynchronous code, do not hold a guard over an `.await`: the thread would
//! go on with other tasks inside the section. Guards are not `Send`, so most executors refuse that.
//!
//! To begin and end a section takes a few nanoseconds and no system call, but for the first one of
//! a thread. Where the module is not loaded everything is harmless and costs the same.
//!
//! This crate wraps libfgio by its C interface: a thread has one state, whatever languages the code
//! that runs on it is written in.

#![warn(missing_docs)]

use std::ffi::{CStr, CString};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::os::raw::{c_char, c_int};

mod sys {
    use super::{c_char, c_int};

    /// `struct fgio_status`
    #[repr(C)]
    pub struct Status {
        pub available: u32,
        pub class: u32,
        pub sections: u32,
        pub without_calls: u32,
        pub threads: u32,
        pub threads_max: u32,
        pub queues: u32,
        pub foreground_waiting: u32,
        pub boosted: u32,
        pub watchdog_tripped: u32,
        pub version: [c_char; 32],
        pub reserved: [u32; 22],
    }

    const _: () = assert!(std::mem::size_of::<Status>() == 160);

    extern "C" {
        pub fn fgio_init() -> c_int;
        pub fn fgio_available() -> bool;
        pub fn fgio_foreground_begin();
        pub fn fgio_foreground_end();
        pub fn fgio_background_begin();
        pub fn fgio_background_end();
        pub fn fgio_request_begin(id: u64);
        pub fn fgio_request_end();
        pub fn fgio_request_begin_as(request: *const super::Request);
        pub fn fgio_request_new() -> u64;
        pub fn fgio_request_origin(origin: u32) -> c_int;
        pub fn fgio_request_seen(id: u64);
        pub fn fgio_request_format(
            request: *const super::Request,
            text: *mut c_char,
            bytes: usize,
        ) -> c_int;
        pub fn fgio_request_parse(text: *const c_char, request: *mut super::Request) -> c_int;
        pub fn fgio_wait_for(tid: i32) -> c_int;
        pub fn fgio_wait_done();
        pub fn fgio_status(status: *mut Status) -> c_int;
    }
}

/// The class of a thread's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Not marked: the thread's tag, then its I/O priority decides.
    Undecided,
    /// A request waits for it.
    Foreground,
    /// No request waits for it.
    Background,
}

/// The state of fgio, and of the calling thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The class by the innermost section of the calling thread.
    pub class: Class,
    /// Sections that the calling thread is in.
    pub sections: u32,
    /// Whether sections of the calling thread take no system call.
    pub without_calls: bool,
    /// The module's figures, where it is loaded.
    pub module: Option<Module>,
}

/// The module's figures of the whole system.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Module {
    /// Its version.
    pub version: String,
    /// Threads that are tagged or have begun a section.
    pub threads: u32,
    /// The most there can be.
    pub threads_max: u32,
    /// Block device queues that fgio schedules.
    pub queues: u32,
    /// Foreground tasks that wait now.
    pub foreground_waiting: u32,
    /// Tasks that are boosted now.
    pub boosted: u32,
    /// Whether all I/O is let through for safety.
    pub watchdog_tripped: bool,
}

fn outcome(result: c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::from_raw_os_error(-result))
    } else {
        Ok(())
    }
}

/// Opens the device, which the first section does otherwise.
///
/// # Errors
///
/// `NotFound` when the module is not loaded, `PermissionDenied`, or what else opening it met.
pub fn init() -> io::Result<()> {
    // SAFETY: it takes nothing.
    outcome(unsafe { sys::fgio_init() })
}

/// Whether the module is there.
#[must_use]
pub fn available() -> bool {
    // SAFETY: it takes nothing.
    unsafe { sys::fgio_available() }
}

/// Not `Send`, since a section belongs to its thread.
type OfThisThread = PhantomData<*const ()>;

/// A section, which ends when this is dropped.
#[must_use = "the section ends when its guard is dropped"]
pub struct Section {
    end: unsafe extern "C" fn(),
    thread: OfThisThread,
}

impl Section {
    fn that_ends_by(end: unsafe extern "C" fn()) -> Self {
        Self {
            end,
            thread: PhantomData,
        }
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        // SAFETY: one of the functions that end a section; they take nothing and may be called by
        // any thread, and this is the thread that began it, since the guard is not Send.
        unsafe { (self.end)() }
    }
}

impl fmt::Debug for Section {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Section")
    }
}

/// Begins a section for which a request waits.
///
/// ```compile_fail
/// let section = fgio::foreground();
/// std::thread::spawn(move || drop(section));
/// ```
pub fn foreground() -> Section {
    // SAFETY: it takes nothing.
    unsafe { sys::fgio_foreground_begin() };
    Section::that_ends_by(sys::fgio_foreground_end)
}

/// Begins a section for which no request waits.
pub fn background() -> Section {
    // SAFETY: it takes nothing.
    unsafe { sys::fgio_background_begin() };
    Section::that_ends_by(sys::fgio_background_end)
}

/// A request of a user, as its parts carry it; as text, `fgio:ID-DEADLINE-PARTS`.
///
/// ```
/// let request = fgio::Request { parts: 4, ..fgio::Request::new() };
/// let query = format!("SELECT f('{request}')");
/// assert_eq!(fgio::Request::find(&query), Some(request));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Request {
    /// Its id: of two, the one that [`is_before`](Request::is_before) the other arrived first.
    pub id: u64,
    /// When its user wants the answer, in milliseconds after it arrived; 0: unknown.
    pub deadline_ms: u32,
    /// Sub-requests that it has, on all servers together; 0: unknown.
    pub parts: u32,
}

const TEXT_BYTES: usize = 48;

impl Request {
    /// A request that arrives now.
    ///
    /// For the first program that it meets, which hands it on. Ids are ordered by arrival, also
    /// among processes and hosts, as exactly as their clocks agree.
    #[must_use]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self {
            // SAFETY: it takes nothing.
            id: unsafe { sys::fgio_request_new() },
            deadline_ms: 0,
            parts: 0,
        }
    }

    /// The first request in a text: a query, a comment, a `tracestate` header.
    ///
    /// Text behind a NUL is not looked at.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        let before = text.split('\0').next().unwrap_or_default();
        let text = CString::new(before).ok()?;
        let mut found = Self::default();
        // SAFETY: the text ends with a NUL, and the other points to a structure of the kind that is
        // filled in.
        (unsafe { sys::fgio_request_parse(text.as_ptr(), &mut found) } == 0).then_some(found)
    }

    /// Whether it arrived before another one.
    #[must_use]
    pub fn is_before(&self, other: &Self) -> bool {
        self.id.wrapping_sub(other.id) >> 63 != 0
    }

    /// Ids that this process makes from now on are later than this one of another process.
    ///
    /// One that is more than a second ahead of the clock is ignored.
    pub fn seen(&self) {
        // SAFETY: any number will do.
        unsafe { sys::fgio_request_seen(self.id) }
    }
}

/// The text; that of a request without an id is empty, and holds no request.
impl fmt::Display for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; TEXT_BYTES];
        // SAFETY: the structure is of the kind that is read, and the length that of the array.
        unsafe { sys::fgio_request_format(self, text.as_mut_ptr(), text.len()) };
        // SAFETY: a NUL ends it, since it was zero or was filled in.
        formatter.pad(&unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy())
    }
}

/// Tells the ids of this process from those of others, by a number below 4096; it is random else.
///
/// # Errors
///
/// `InvalidInput`: the number is too large.
pub fn set_origin(origin: u32) -> io::Result<()> {
    // SAFETY: any number will do.
    outcome(unsafe { sys::fgio_request_origin(origin) })
}

/// Begins a foreground section that serves a request, with all that is known of it.
pub fn serve(request: &Request) -> Section {
    // SAFETY: it points to a structure of the kind that is read.
    unsafe { sys::fgio_request_begin_as(request) };
    Section::that_ends_by(sys::fgio_request_end)
}

/// Begins a foreground section that serves the request of this id; 0 for none.
pub fn request(id: u64) -> Section {
    // SAFETY: any number will do.
    unsafe { sys::fgio_request_begin(id) };
    Section::that_ends_by(sys::fgio_request_end)
}

/// A declared wait, which holds until this is dropped.
#[must_use = "the declared wait ends when its guard is dropped"]
#[derive(Debug)]
pub struct Hint {
    thread: OfThisThread,
}

impl Drop for Hint {
    fn drop(&mut self) {
        // SAFETY: it takes nothing.
        unsafe { sys::fgio_wait_done() }
    }
}

/// Declares a wait: names the thread (by its thread id) that the calling thread is going to wait for.
///
/// For locks whose owner the kernel cannot see. A later declared wait takes the place of an earlier
/// one.
/// This is a system call, and so is its end: only for waits that sleep anyway.
///
/// # Errors
///
/// `InvalidInput` for a thread id below 1 and for the calling thread's own; `ESRCH` when there is no
/// such thread; `PermissionDenied` for one of another user. None without the module.
pub fn wait_for(tid: i32) -> io::Result<Hint> {
    // SAFETY: any number will do.
    outcome(unsafe { sys::fgio_wait_for(tid) })?;
    Ok(Hint {
        thread: PhantomData,
    })
}

/// The state of fgio, and of the calling thread.
///
/// # Errors
///
/// An error of the device.
pub fn status() -> io::Result<Status> {
    // SAFETY: a number of integers, for which zero is a value.
    let mut raw: sys::Status = unsafe { std::mem::zeroed() };
    // SAFETY: it points to a structure of the kind that is filled in.
    outcome(unsafe { sys::fgio_status(&mut raw) })?;
    Ok(Status {
        class: match raw.class {
            1 => Class::Foreground,
            2 => Class::Background,
            _ => Class::Undecided,
        },
        sections: raw.sections,
        without_calls: raw.without_calls != 0,
        module: (raw.available != 0).then(|| module(&raw)),
    })
}

fn module(raw: &sys::Status) -> Module {
    // SAFETY: libfgio ends it with a NUL inside of the array.
    let version = unsafe { CStr::from_ptr(raw.version.as_ptr()) };
    Module {
        version: version.to_string_lossy().into_owned(),
        threads: raw.threads,
        threads_max: raw.threads_max,
        queues: raw.queues,
        foreground_waiting: raw.foreground_waiting,
        boosted: raw.boosted,
        watchdog_tripped: raw.watchdog_tripped != 0,
    }
}
