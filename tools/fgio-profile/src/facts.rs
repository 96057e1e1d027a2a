// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Facts that rules test.

use serde::Serialize;

/// A process further up: the parent, its parent, and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ancestor {
    pub pid: i32,
    pub comm: String,
    pub title: String,
}

/// Facts about a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProcessFacts {
    pub pid: i32,
    /// The command name of its main thread, at most 15 bytes.
    pub comm: String,
    /// Its arguments, or the title that it wrote over them, joined by spaces.
    pub title: String,
    /// The path of its control group, `/` for the root.
    pub cgroup: String,
    /// The systemd unit that the control group belongs to; empty when there is
    /// none.
    pub unit: String,
    /// The name of its effective user; the number when it has no name.
    pub user: String,
    /// Nearest first.
    pub ancestors: Vec<Ancestor>,
}

/// Which threads a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadKind {
    /// The thread that has the id of its process.
    Main,
    /// Every other.
    Other,
}

/// Facts about a thread.
#[derive(Clone, Copy, Debug)]
pub struct TaskFacts<'a> {
    pub tid: i32,
    pub comm: &'a str,
    pub process: &'a ProcessFacts,
}

impl TaskFacts<'_> {
    pub fn is_main_thread(&self) -> bool {
        self.tid == self.process.pid
    }
}

/// Which facts cost something to find out, and are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    pub title: bool,
    pub user: bool,
    pub cgroup: bool,
    pub parent: bool,
    /// All the way up, not the parent alone.
    pub ancestors: bool,
}

impl Needs {
    pub const ALL: Self = Self {
        title: true,
        user: true,
        cgroup: true,
        parent: true,
        ancestors: true,
    };

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            title: self.title || other.title,
            user: self.user || other.user,
            cgroup: self.cgroup || other.cgroup,
            parent: self.parent || other.parent,
            ancestors: self.ancestors || other.ancestors,
        }
    }
}

/// The systemd unit of a control group: the innermost part of its path that is
/// a unit with processes of its own.
pub fn unit_of(cgroup: &str) -> &str {
    let is_unit = |part: &&str| [".service", ".scope"].iter().any(|end| part.ends_with(end));
    cgroup.rsplit('/').find(is_unit).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_the_innermost() {
        for (cgroup, unit) in [
            ("/", ""),
            ("/system.slice", ""),
            (
                "/system.slice/system-postgresql.slice/postgresql@15-main.service",
                "postgresql@15-main.service",
            ),
            (
                "/user.slice/user-0.slice/user@0.service/app.slice/x.service/sub",
                "x.service",
            ),
            ("/machine.slice/libpod-1.scope/container", "libpod-1.scope"),
        ] {
            assert_eq!(unit_of(cgroup), unit, "{cgroup}");
        }
    }
}
