// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Profiles: which threads of a program serve requests, and which do not.
//!
//! A [`Profile`] is a TOML file; docs/profiles.md is its reference. The
//! facts about a thread are [`TaskFacts`], read by [`procfs`]; [`Library::decide`]
//! is a pure function from these to a class. A wrong file yields a
//! [`Fault`] that names the line.

#![forbid(unsafe_code)]

mod case;
mod check;
mod decision;
mod document;
pub mod facts;
mod fault;
mod library;
mod merge;
mod parse;
mod pattern;
pub mod procfs;
mod profile;
mod value;

pub use case::Case;
pub use check::CaseFailure;
pub use decision::Decision;
pub use document::{Document, Field};
pub use facts::{Needs, ProcessFacts, TaskFacts};
pub use fault::{Fault, Place};
pub use library::{DIRECTORIES, Library};
pub use pattern::Patterns;
pub use profile::{Profile, Program, Rule};
