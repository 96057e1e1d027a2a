// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Facts from /proc.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;

use fgio_sys::Root;

use crate::facts::{Ancestor, Needs, ProcessFacts, unit_of};

/// Bytes read of a title: programs that rewrite it stay far below.
const TITLE_MAX_BYTES: u64 = 4096;
/// Names have 15 bytes, those of the kernel's own threads up to 63; and a line break.
const COMM_MAX_BYTES: usize = 64;
/// Parents that are looked at, in case the chain changes while it is followed.
const ANCESTORS_MAX: usize = 32;

fn path(root: &Root, id: i32, file: &str) -> PathBuf {
    root.path(format!("/proc/{id}/{file}"))
}

fn read(path: PathBuf) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A name, without the line break at its end: read at once, since processes are
/// asked for it as often as they start.
fn read_comm(path: PathBuf) -> Option<String> {
    let mut bytes = [0; COMM_MAX_BYTES];
    let length = File::open(path).ok()?.read(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes[..length]);
    Some(text.trim_end_matches('\n').to_owned())
}

/// The command name of a process, that is of its main thread; `None` when it has
/// ended.
pub fn comm(root: &Root, pid: i32) -> Option<String> {
    read_comm(path(root, pid, "comm"))
}

/// The command name of a thread; `None` when it has ended.
pub fn thread_comm(root: &Root, pid: i32, tid: i32) -> Option<String> {
    read_comm(path(root, pid, &format!("task/{tid}/comm")))
}

/// The arguments of a process, joined by spaces, or the title over them; `None`
/// when it has ended.
pub fn title(root: &Root, pid: i32) -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::open(path(root, pid, "cmdline")).ok()?;
    file.take(TITLE_MAX_BYTES).read_to_end(&mut bytes).ok()?;
    // A program fills the unused rest of its arguments with these.
    let is_filling = |byte: &u8| matches!(byte, 0 | b' ');
    let end = bytes.iter().rposition(|byte| !is_filling(byte));
    bytes.truncate(end.map_or(0, |last| last + 1));
    bytes
        .iter_mut()
        .filter(|byte| **byte == 0)
        .for_each(|byte| *byte = b' ');
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn ids(directory: PathBuf) -> Vec<i32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// The threads of a process; none when it has ended.
pub fn threads(root: &Root, pid: i32) -> Vec<i32> {
    ids(path(root, pid, "task"))
}

/// All processes.
pub fn processes(root: &Root) -> Vec<i32> {
    ids(root.path("/proc"))
}

/// When a thread started, in clock ticks since boot: with its id, it is one of a
/// kind. `None` when it has ended.
pub fn start_time(root: &Root, pid: i32, tid: i32) -> Option<u64> {
    let text = read(path(root, pid, &format!("task/{tid}/stat")))?;
    // The name, in parentheses, may hold anything; the time is the 20th after it.
    let (_, after_name) = text.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// The process that a thread belongs to; `None` when it has ended.
pub fn process_of(root: &Root, tid: i32) -> Option<i32> {
    Status::read(root, tid)?.number("Tgid")
}

struct Status(String);

impl Status {
    fn read(root: &Root, pid: i32) -> Option<Self> {
        read(path(root, pid, "status")).map(Self)
    }

    fn field(&self, name: &str) -> Option<&str> {
        let mut lines = self.0.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
    }

    fn number(&self, name: &str) -> Option<i32> {
        self.field(name)?.trim().parse().ok()
    }

    fn effective_user(&self) -> Option<u32> {
        self.field("Uid")?
            .split_ascii_whitespace()
            .nth(1)?
            .parse()
            .ok()
    }
}

/// The path of a process's control group: that of the unified hierarchy, or, on
/// systems without one, of systemd's. `/` where there are no control groups.
fn cgroup(root: &Root, pid: i32) -> String {
    let text = read(path(root, pid, "cgroup")).unwrap_or_default();
    let unified = text.lines().find_map(|line| line.strip_prefix("0::"));
    let systemd = || {
        let mut lines = text.lines();
        lines.find_map(|line| Some(line.split_once(":name=systemd:")?.1))
    };
    let path = unified.filter(|path| *path != "/").or_else(systemd);
    path.unwrap_or("/").to_owned()
}

/// Names of users, from /etc/passwd. Users that only a directory service knows go
/// by their number.
#[derive(Clone, Debug, Default)]
pub struct Users(HashMap<u32, String>);

impl Users {
    pub fn read(root: &Root) -> Self {
        let text = read(root.path("/etc/passwd")).unwrap_or_default();
        let user = |line: &str| {
            let mut fields = line.split(':');
            let name = fields.next()?.to_owned();
            Some((fields.nth(1)?.parse().ok()?, name))
        };
        Self(text.lines().filter_map(user).collect())
    }

    fn name(&self, user: u32) -> String {
        self.0
            .get(&user)
            .cloned()
            .unwrap_or_else(|| user.to_string())
    }
}

/// The needed facts of a process; `None` when it has ended.
pub fn process_facts(root: &Root, users: &Users, pid: i32, needs: Needs) -> Option<ProcessFacts> {
    let comm = comm(root, pid)?;
    facts_besides_comm(root, users, pid, comm, needs)
}

/// Like [`process_facts`], for a process with a known command name.
pub fn facts_besides_comm(
    root: &Root,
    users: &Users,
    pid: i32,
    comm: String,
    needs: Needs,
) -> Option<ProcessFacts> {
    let mut facts = ProcessFacts {
        pid,
        comm,
        ..ProcessFacts::default()
    };
    if needs.title {
        facts.title = title(root, pid)?;
    }
    if needs.cgroup {
        facts.cgroup = cgroup(root, pid);
        facts.unit = unit_of(&facts.cgroup).to_owned();
    }
    if needs.user || needs.parent || needs.ancestors {
        let status = Status::read(root, pid)?;
        facts.user = users.name(status.effective_user()?);
        let most = match (needs.ancestors, needs.parent) {
            (true, _) => ANCESTORS_MAX,
            (false, parent) => usize::from(parent),
        };
        facts.ancestors = ancestors(root, &status, most);
    }
    Some(facts)
}

fn ancestors(root: &Root, status: &Status, most: usize) -> Vec<Ancestor> {
    let mut found = Vec::new();
    let mut next = status.number("PPid");
    while let Some(pid) = next.filter(|pid| *pid > 0 && found.len() < most) {
        let (Some(comm), Some(title)) = (comm(root, pid), title(root, pid)) else {
            break;
        };
        found.push(Ancestor { pid, comm, title });
        next = Status::read(root, pid).and_then(|status| status.number("PPid"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path());
        for (path, content) in files {
            let path = root.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        (directory, root)
    }

    #[test]
    fn facts_of_a_process() {
        let (_directory, root) = system(&[
            (
                "/etc/passwd",
                b"root:x:0:0::/root:/bin/sh\npostgres:x:103:1::/:\nbroken\n",
            ),
            ("/proc/7/comm", b"post) (gres\n"),
            ("/proc/7/cmdline", b"postgres: a\xffb [local] idle \0\0\0\0"),
            (
                "/proc/7/status",
                b"Name:\tx\nTgid:\t7\nPPid:\t5\nUid:\t0\t103\t0\t0\n",
            ),
            (
                "/proc/7/cgroup",
                b"12:pids:/x\n1:name=systemd:/old.slice/a.service\n0::/\n",
            ),
            ("/proc/7/task/8/comm", b"a\nb\n"),
            (
                "/proc/7/task/8/stat",
                b"8 (a) b) S 5 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0\n",
            ),
            ("/proc/5/comm", b"postgres\n"),
            ("/proc/5/cmdline", b"/usr/bin/postgres\0-D\0/data\0"),
            ("/proc/5/status", b"PPid:\t1\nUid:\t103\t103\t103\t103\n"),
            ("/proc/1/comm", b"init\n"),
            ("/proc/1/cmdline", b""),
            ("/proc/1/status", b"PPid:\t0\nUid:\t0\t0\t0\t0\n"),
        ]);
        let users = Users::read(&root);
        let facts = process_facts(&root, &users, 7, Needs::ALL).unwrap();
        assert_eq!(facts.comm, "post) (gres");
        assert_eq!(facts.title, "postgres: a\u{fffd}b [local] idle");
        assert_eq!(facts.user, "postgres");
        assert_eq!(
            (facts.cgroup.as_str(), facts.unit.as_str()),
            ("/old.slice/a.service", "a.service")
        );
        let ancestors: Vec<_> = facts
            .ancestors
            .iter()
            .map(|one| (one.pid, one.title.as_str()))
            .collect();
        assert_eq!(ancestors, [(5, "/usr/bin/postgres -D /data"), (1, "")]);
        assert_eq!(thread_comm(&root, 7, 8).unwrap(), "a\nb");
        assert_eq!(start_time(&root, 7, 8), Some(4711));
        assert_eq!(process_of(&root, 7), Some(7));
        assert_eq!((threads(&root, 7), processes(&root).len()), (vec![8], 3));
    }

    #[test]
    fn facts_that_are_not_needed_are_not_read() {
        let (_directory, root) = system(&[("/proc/7/comm", b"x\n")]);
        let users = Users::read(&root);
        let facts = process_facts(&root, &users, 7, Needs::default()).unwrap();
        assert_eq!(facts.comm, "x");
        let needs = [
            Needs {
                title: true,
                ..Needs::default()
            },
            Needs {
                user: true,
                ..Needs::default()
            },
        ];
        for needs in needs {
            assert!(
                process_facts(&root, &users, 7, needs).is_none(),
                "{needs:?}"
            );
        }
        // A kernel may have no control groups, or they are not mounted.
        let cgroup = Needs {
            cgroup: true,
            ..Needs::default()
        };
        let facts = process_facts(&root, &users, 7, cgroup).unwrap();
        assert_eq!((facts.cgroup.as_str(), facts.unit.as_str()), ("/", ""));
        assert!(process_facts(&root, &users, 8, Needs::default()).is_none());
        assert_eq!(
            (start_time(&root, 7, 7), process_of(&root, 7)),
            (None, None)
        );
        assert!(threads(&root, 8).is_empty());
    }
}
