// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Findings about fgio on this system, each with advice.

#![forbid(unsafe_code)]

mod boot;
mod cgroups;
mod devices;
mod inheritance;
mod kernel;
mod modules;
mod page_cache;
mod tuned;
mod udev;
mod waits;

use serde::Serialize;

use fgio_sys::{Result, Root, block, module};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Info,
    /// fgio works, but not as well as it could.
    Warning,
    /// fgio does not work, or not on part of the system.
    Error,
}

impl Level {
    /// The name used in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The subject. Stable; several findings can share it.
    pub id: &'static str,
    pub level: Level,
    /// The device, file or cgroup that it is about, when there are several.
    pub subject: Option<String>,
    /// The finding, in a sentence.
    pub found: String,
    /// Advice; `None` when there is nothing to do.
    pub advice: Option<String>,
}

impl Finding {
    fn new(id: &'static str, level: Level, found: impl Into<String>) -> Self {
        Self {
            id,
            level,
            subject: None,
            found: found.into(),
            advice: None,
        }
    }

    fn ok(id: &'static str, found: impl Into<String>) -> Self {
        Self::new(id, Level::Ok, found)
    }

    fn info(id: &'static str, found: impl Into<String>) -> Self {
        Self::new(id, Level::Info, found)
    }

    fn warning(id: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(id, Level::Warning, found).advise(advice)
    }

    fn error(id: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(id, Level::Error, found).advise(advice)
    }

    fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }
}

/// Looks at everything, in an order that reads well. A file that the caller
/// may not read is a finding of its own, not an error.
pub fn examine(root: &Root) -> Result<Vec<Finding>> {
    if let Some(finding) = kernel::refuse(root)? {
        return Ok(vec![finding]);
    }
    let mut findings = Vec::new();
    kernel::examine(root, &mut findings)?;
    modules::examine(root, &mut findings)?;
    inheritance::examine(root, &mut findings);
    waits::examine(root, &mut findings);
    let disks = block::disks(root)?;
    devices::examine(root, &disks, &mut findings);
    boot::examine(root, &disks, &mut findings)?;
    tuned::examine(root, &mut findings)?;
    udev::examine(root, &mut findings)?;
    cgroups::examine(root, &disks, &mut findings)?;
    page_cache::examine(root, &module::kernel_release(root)?, &mut findings);
    Ok(findings)
}

#[cfg(test)]
pub(crate) fn levels(findings: &[Finding], id: &str) -> Vec<Level> {
    findings
        .iter()
        .filter(|finding| finding.id == id)
        .map(|finding| finding.level)
        .collect()
}
