// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sets the tags of threads and processes.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::class::Class;
use crate::control::Control;
use crate::{Error, Result, Root, task};

/// A thread that was tagged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Thread {
    pub tid: i32,
    /// Its command name; `None` when it has ended since.
    pub comm: Option<String>,
}

/// The outcome of tagging.
#[derive(Debug, Serialize)]
pub struct Tagged {
    /// The process of the tagged threads.
    pub process: i32,
    pub class: Class,
    /// Whether one thread alone was asked for.
    pub single_thread: bool,
    pub threads: Vec<Thread>,
    /// `false` when new threads kept appearing, so that some may have no tag.
    pub complete: bool,
}

/// Tags thread `tid` alone.
pub fn tag_thread(root: &Root, control: &dyn Control, tid: i32, class: Class) -> Result<Tagged> {
    let process = task::process_of(root, tid)?;
    control.set_tag(tid, class)?;
    Ok(Tagged {
        process,
        class,
        single_thread: true,
        threads: describe(root, [tid]),
        complete: true,
    })
}

/// Tags all threads of the process that `id` is or belongs to, those that
/// appear meanwhile included. Threads it starts later have no tag.
pub fn tag_process(root: &Root, control: &dyn Control, id: i32, class: Class) -> Result<Tagged> {
    // A process that starts threads faster than they are tagged must not keep
    // us here for ever.
    const PASSES_MAX: usize = 64;
    let process = task::process_of(root, id)?;
    let mut tagged = BTreeSet::new();
    let mut complete = false;
    for _ in 0..PASSES_MAX {
        let seen = tag_new_threads(root, control, process, class, &mut tagged)?;
        if seen == 0 {
            complete = true;
            break;
        }
    }
    if tagged.is_empty() {
        return Err(Error::NoSuchTask { id });
    }
    Ok(Tagged {
        process,
        class,
        single_thread: false,
        threads: describe(root, tagged),
        complete,
    })
}

/// The outcome for the named ids.
#[derive(Debug, Default)]
pub struct TaggedAll {
    /// In the order in which they were named. A process that was named several
    /// times, by itself or by threads of it, is there once.
    pub tagged: Vec<Tagged>,
    /// The ids that could not be tagged, and why.
    pub failed: Vec<(i32, Error)>,
}

/// Tags the processes of `ids`, or with `single_thread` the threads alone. One that
/// fails, since it has ended or belongs to another user, does not keep the others
/// from being tagged.
pub fn tag_all(
    root: &Root,
    control: &dyn Control,
    ids: &[i32],
    class: Class,
    single_thread: bool,
) -> TaggedAll {
    let mut all = TaggedAll::default();
    let mut seen = BTreeSet::new();
    for &id in ids {
        let group = match single_thread {
            true => Ok(id),
            false => task::process_of(root, id),
        };
        let done = group.and_then(|group| match (seen.insert(group), single_thread) {
            (false, _) => Ok(None),
            (true, true) => tag_thread(root, control, group, class).map(Some),
            (true, false) => tag_process(root, control, group, class).map(Some),
        });
        match done {
            Ok(tagged) => all.tagged.extend(tagged),
            // An id that is named again fails in the same way.
            Err(_) if all.failed.iter().any(|(failed, _)| *failed == id) => {}
            Err(error) => all.failed.push((id, error)),
        }
    }
    all
}

/// One pass over the threads of a process. Returns how many had no tag yet.
fn tag_new_threads(
    root: &Root,
    control: &dyn Control,
    process: i32,
    class: Class,
    tagged: &mut BTreeSet<i32>,
) -> Result<usize> {
    let mut seen = 0;
    for tid in task::threads(root, process)? {
        if tagged.contains(&tid) {
            continue;
        }
        match control.set_tag(tid, class) {
            Ok(()) => {
                seen += 1;
                tagged.insert(tid);
            }
            // It ended between being listed and being tagged.
            Err(Error::NoSuchTask { .. }) => {}
            Err(error) => return Err(with_progress(error, tagged.len())),
        }
    }
    Ok(seen)
}

fn with_progress(error: Error, tagged: usize) -> Error {
    match error {
        Error::TagNotAllowed { tid, .. } => Error::TagNotAllowed { tid, tagged },
        Error::CgroupNotListed { tid, .. } => Error::CgroupNotListed { tid, tagged },
        Error::ForegroundLimit { tid, .. } => Error::ForegroundLimit { tid, tagged },
        Error::TagsFull { tid, maximum, .. } => Error::TagsFull {
            tid,
            maximum,
            tagged,
        },
        other => other,
    }
}

fn describe(root: &Root, threads: impl IntoIterator<Item = i32>) -> Vec<Thread> {
    threads
        .into_iter()
        .map(|tid| Thread {
            tid,
            comm: task::name(root, tid),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;

    use super::*;
    use crate::control::Info;
    use crate::fixture::Fixture;

    /// A module that starts a new thread of the process for each of the first
    /// `births` calls, and lets `doomed` end before it can be tagged.
    struct Module<'a> {
        fixture: &'a Fixture,
        tags: RefCell<BTreeMap<i32, Class>>,
        births: Cell<i32>,
        doomed: i32,
        capacity: usize,
    }

    impl<'a> Module<'a> {
        fn new(fixture: &'a Fixture) -> Self {
            Self {
                fixture,
                tags: RefCell::default(),
                births: Cell::new(0),
                doomed: 0,
                capacity: usize::MAX,
            }
        }
    }

    impl Control for Module<'_> {
        fn info(&self) -> Result<Info> {
            Err(Error::ModuleNotLoaded)
        }

        fn set_tag(&self, tid: i32, class: Class) -> Result<()> {
            if tid == self.doomed {
                return Err(Error::NoSuchTask { id: tid });
            }
            if self.tags.borrow().len() >= self.capacity {
                return Err(Error::TagsFull {
                    tid,
                    maximum: self.capacity.to_string(),
                    tagged: 0,
                });
            }
            self.tags.borrow_mut().insert(tid, class);
            if self.births.get() > 0 {
                self.births.set(self.births.get() - 1);
                thread(self.fixture, 1000 + self.births.get());
            }
            Ok(())
        }

        fn get_tag(&self, tid: i32) -> Result<Class> {
            Ok(self.tags.borrow().get(&tid).copied().unwrap_or(Class::None))
        }

        fn list_tags(&self) -> Result<Vec<(i32, Class)>> {
            Ok(self.tags.borrow().clone().into_iter().collect())
        }
    }

    fn thread(fixture: &Fixture, tid: i32) {
        fixture.directory(&format!("/proc/100/task/{tid}"));
        fixture.file(&format!("/proc/{tid}/status"), "Name:\tx\nTgid:\t100\n");
        fixture.file(&format!("/proc/{tid}/comm"), &format!("worker-{tid}\n"));
    }

    #[test]
    fn threads_that_appear_are_tagged_and_threads_that_end_are_skipped() {
        let fixture = Fixture::new();
        for tid in [100, 101, 102] {
            thread(&fixture, tid);
        }
        let mut module = Module::new(&fixture);
        module.births.set(2);
        module.doomed = 102;
        let tagged = tag_process(fixture.root(), &module, 101, Class::Foreground).unwrap();
        assert_eq!((tagged.process, tagged.complete), (100, true));
        let ids: Vec<_> = tagged.threads.iter().map(|thread| thread.tid).collect();
        assert_eq!(ids, [100, 101, 1000, 1001]);
        assert_eq!(tagged.threads[0].comm.as_deref(), Some("worker-100"));
        assert_eq!(module.get_tag(1001).unwrap(), Class::Foreground);
    }

    #[test]
    fn one_thread_is_tagged_alone() {
        let fixture = Fixture::new();
        thread(&fixture, 100);
        thread(&fixture, 101);
        let module = Module::new(&fixture);
        let tagged = tag_thread(fixture.root(), &module, 101, Class::Background).unwrap();
        assert_eq!(tagged.threads.len(), 1);
        assert_eq!(module.list_tags().unwrap(), [(101, Class::Background)]);
    }

    #[test]
    fn some_fail_and_others_are_tagged() {
        let fixture = Fixture::new();
        for tid in [100, 101] {
            thread(&fixture, tid);
        }
        fixture.directory("/proc/200/task/200");
        fixture.file("/proc/200/status", "Name:\tx\nTgid:\t200\n");
        let module = Module::new(&fixture);
        let foreground = Class::Foreground;
        // 7 has ended; 101 is a thread of 100; 200 is named twice.
        let ids = [7, 100, 101, 200, 7, 200];
        let all = tag_all(fixture.root(), &module, &ids, foreground, false);
        let tagged: Vec<_> = all.tagged.iter().map(|tagged| tagged.process).collect();
        assert_eq!(tagged, [100, 200]);
        assert!(matches!(all.failed[..], [(7, Error::NoSuchTask { id: 7 })]));
        assert_eq!(module.list_tags().unwrap().len(), 3);

        let mut module = Module::new(&fixture);
        module.doomed = 100;
        let all = tag_all(fixture.root(), &module, &[100, 101, 101], foreground, true);
        assert_eq!((all.tagged.len(), all.failed.len()), (1, 1));
        assert_eq!(module.list_tags().unwrap(), [(101, foreground)]);
    }

    #[test]
    fn endless_births_end_as_incomplete() {
        let fixture = Fixture::new();
        thread(&fixture, 100);
        let module = Module::new(&fixture);
        module.births.set(1_000_000);
        let tagged = tag_process(fixture.root(), &module, 100, Class::Foreground).unwrap();
        assert!(!tagged.complete);
    }

    #[test]
    fn errors_tell_how_far_it_got() {
        let fixture = Fixture::new();
        for tid in [100, 101, 102] {
            thread(&fixture, tid);
        }
        let mut module = Module::new(&fixture);
        module.capacity = 2;
        let error = tag_process(fixture.root(), &module, 100, Class::Foreground).unwrap_err();
        assert_eq!(
            error.to_string(),
            "thread 102 cannot be tagged: 2 threads are tagged already (2 threads of the process were done before)"
        );
        let error = tag_process(fixture.root(), &module, 7, Class::Foreground).unwrap_err();
        assert!(matches!(error, Error::NoSuchTask { id: 7 }));
    }

    #[test]
    fn limits_say_how_far_it_came() {
        let errors = [
            Error::CgroupNotListed { tid: 7, tagged: 0 },
            Error::ForegroundLimit { tid: 7, tagged: 0 },
        ];
        for error in errors {
            assert_eq!(error.kind(), crate::ErrorKind::PermissionDenied);
            assert!(error.advice().contains("fgio set foreground_cgroups"));
            let error = with_progress(error, 2).to_string();
            assert!(
                error.contains("thread 7") && error.contains("2 threads"),
                "{error}"
            );
        }
    }
}
