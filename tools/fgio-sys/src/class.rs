// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The class of a thread, which decides on its I/O.

use serde::Serialize;

use crate::uapi;

/// The class of a thread, which decides on its I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// No tag: the thread's I/O priority decides.
    None,
    /// Requests wait for this thread: its I/O is critical.
    Foreground,
    /// No request waits for this thread.
    Background,
}

impl Class {
    pub(crate) fn to_kernel(self) -> u32 {
        match self {
            Self::None => uapi::TAG_NONE,
            Self::Foreground => uapi::TAG_FOREGROUND,
            Self::Background => uapi::TAG_BACKGROUND,
        }
    }

    /// Classes of a newer module are taken for no tag: their meaning is not
    /// known here.
    pub(crate) fn from_kernel(class: u32) -> Self {
        match class {
            uapi::TAG_FOREGROUND => Self::Foreground,
            uapi::TAG_BACKGROUND => Self::Background,
            _ => Self::None,
        }
    }

    /// The name used in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Foreground => "foreground",
            Self::Background => "background",
        }
    }
}
