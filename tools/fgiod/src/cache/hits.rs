// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What cgroups hit in the page cache, told to the module: `core/cache_hits.c` decides what it
//! counts for.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use fgio_cache::{Family, SCALE_ONE, count_hits};
use fgio_sys::cgroup_io::{self, Movers};
use fgio_sys::share::Scaling;
use fgio_sys::{Error, Root};

/// The module forgets a scale after this time, so that none outlives this process; and after as
/// many times that between two looks, where those take long.
const HOLD: Duration = Duration::from_secs(10);
const HOLD_LOOKS: u32 = 3;

/// A cgroup among its siblings.
#[derive(Clone, Debug)]
pub struct Sibling {
    pub group: String,
    pub weight: u64,
    /// It read again what it lost, since the last look.
    pub hungry: bool,
}

/// Of a cgroup, from look to look.
#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    hits: fgio_cache::Hits,
    /// The scale that the module has, as far as this process told it.
    told: Option<u64>,
    /// The looks that saw the cgroup, and its processes, last.
    look: u64,
    moved_look: u64,
}

pub struct Hits {
    root: Root,
    movers: Movers,
    kept: HashMap<String, Kept>,
    /// By the cgroup that they are in.
    families: HashMap<String, Family>,
    looks: u64,
    last: Option<Duration>,
}

impl Hits {
    pub fn new(root: &Root) -> Self {
        Self {
            root: root.clone(),
            movers: Movers::new(root),
            kept: HashMap::new(),
            families: HashMap::new(),
            looks: 0,
            last: None,
        }
    }

    /// Whether processes may not be looked at, so that what they hit does not count.
    pub fn is_forbidden(&self) -> bool {
        self.movers.was_forbidden()
    }

    /// Looks at all sets of siblings, and tells the module what their weights count for.
    pub fn look(
        &mut self,
        now: Duration,
        families: &[Vec<Sibling>],
        module: &dyn Scaling,
    ) -> Result<(), Error> {
        let since = self
            .last
            .map_or(Duration::ZERO, |last| now.saturating_sub(last));
        self.last = Some(now);
        self.looks += 1;
        for family in families {
            self.look_at(family, since, module)?;
        }
        let parents: HashSet<&str> = families.iter().filter_map(|one| parent_of(one)).collect();
        self.families
            .retain(|parent, _| parents.contains(parent.as_str()));
        let looks = self.looks;
        self.kept.retain(|_, kept| kept.look == looks);
        // What was counted before a cgroup was left out says nothing of it when it comes again.
        let kept = &self.kept;
        self.movers
            .keep(|group| kept.get(group).is_some_and(|kept| kept.moved_look == looks));
        Ok(())
    }

    fn look_at(
        &mut self,
        family: &[Sibling],
        since: Duration,
        module: &dyn Scaling,
    ) -> Result<(), Error> {
        let mut groups: Vec<fgio_cache::Hits> =
            family.iter().map(|sibling| self.facts(sibling)).collect();
        let Some(parent) = parent_of(family) else {
            return Ok(());
        };
        let common = self.families.entry(parent.to_owned()).or_default();
        count_hits(common, &mut groups, since.as_millis() as u64);
        for (sibling, hits) in family.iter().zip(groups) {
            let kept = self.kept.entry(sibling.group.clone()).or_default();
            kept.hits = hits;
            kept.look = self.looks;
            let told = kept.told.unwrap_or(SCALE_ONE);
            if hits.scale == SCALE_ONE && told == SCALE_ONE {
                continue;
            }
            kept.told = Some(hits.scale);
            let hold = HOLD.max(since * HOLD_LOOKS);
            tell(&self.root, &sibling.group, hits.scale, hold, module)?;
        }
        Ok(())
    }

    /// Processes are looked at only where it may matter: of cgroups that are hungry, or were.
    fn facts(&mut self, sibling: &Sibling) -> fgio_cache::Hits {
        let mut hits = self
            .kept
            .get(&sibling.group)
            .map(|kept| kept.hits)
            .unwrap_or_default();
        hits.weight = sibling.weight;
        hits.hungry = sibling.hungry.into();
        (hits.moved, hits.missed) = (0, 0);
        if sibling.hungry || hits.hungry_ms > 0 {
            self.kept
                .entry(sibling.group.clone())
                .or_default()
                .moved_look = self.looks;
            let found = self.movers.look(&sibling.group);
            (hits.moved, hits.missed) = (found.moved, found.missed);
        }
        hits
    }

    /// Weights count for themselves again.
    pub fn end(&mut self, module: &dyn Scaling) -> Result<(), Error> {
        for (group, kept) in self.kept.drain() {
            if kept.told.is_some_and(|told| told != SCALE_ONE) {
                tell(&self.root, &group, SCALE_ONE, HOLD, module)?;
            }
        }
        self.movers.keep(|_| false);
        self.families.clear();
        self.last = None;
        Ok(())
    }
}

fn parent_of(family: &[Sibling]) -> Option<&str> {
    let (parent, _) = family.first()?.group.rsplit_once('/')?;
    Some(parent)
}

/// A cgroup that is gone, or uses no disk under fgio, has no part that could count.
fn tell(
    root: &Root,
    group: &str,
    scale: u64,
    hold: Duration,
    module: &dyn Scaling,
) -> Result<(), Error> {
    match cgroup_io::id(root, group) {
        Some(id) => module.scale_share(id, scale as u32, hold).map(|_| ()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failure to prepare a test is a panic")]

    use std::cell::RefCell;
    use std::fs;

    use super::*;

    /// A module that remembers what it was told; it knows no cgroup of others.
    #[derive(Default)]
    struct Module {
        told: RefCell<Vec<(u64, u32)>>,
    }

    impl Scaling for Module {
        fn scale_share(&self, cgroup: u64, scale: u32, hold: Duration) -> Result<bool, Error> {
            assert!(hold >= HOLD);
            self.told.borrow_mut().push((cgroup, scale));
            Ok(true)
        }
    }

    struct Host {
        directory: tempfile::TempDir,
        module: Module,
        hits: Hits,
        now: Duration,
    }

    impl Host {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let hits = Hits::new(&Root::at(directory.path()));
            Self {
                directory,
                module: Module::default(),
                hits,
                now: Duration::from_secs(100),
            }
        }

        fn file(&self, path: &str, text: &str) {
            let path = self.directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// A cgroup of one process, and the bytes that it has read in all.
        fn group(&self, name: &str, pid: u32, moved: u64, missed: u64) -> u64 {
            self.file(
                &format!("sys/fs/cgroup/{name}/cgroup.procs"),
                &format!("{pid}\n"),
            );
            self.file(
                &format!("proc/{pid}/io"),
                &format!("rchar: {moved}\nread_bytes: {missed}\n"),
            );
            cgroup_io::id(&Root::at(self.directory.path()), &format!("/{name}")).unwrap()
        }

        fn look(&mut self, hungry: bool) -> Vec<(u64, u32)> {
            self.now += Duration::from_secs(1);
            let sibling = |name: &str| Sibling {
                group: format!("/{name}"),
                weight: 100,
                hungry,
            };
            let family = vec![sibling("a"), sibling("b")];
            self.hits.look(self.now, &[family], &self.module).unwrap();
            self.module.told.take()
        }
    }

    #[test]
    fn the_module_is_told_what_changes_and_what_is_to_last() {
        const MIB: u64 = 1 << 20;
        let mut host = Host::new();
        let a = host.group("a", 11, 100 * MIB, 100 * MIB);
        let b = host.group("b", 12, 100 * MIB, 100 * MIB);
        // Nothing is known yet; and then, both miss all.
        assert_eq!(host.look(true), []);
        host.group("a", 11, 101 * MIB, 101 * MIB);
        host.group("b", 12, 101 * MIB, 101 * MIB);
        assert_eq!(host.look(true), []);
        host.group("a", 11, 900 * MIB, 101 * MIB);
        host.group("b", 12, 900 * MIB, 900 * MIB);
        let told = host.look(true);
        assert_eq!(told, [(a, 682), (b, 1365)]);
        // It is said again, before the module forgets it.
        assert_eq!(host.look(false), told);
        // None is hungry for long: once more, for the last time.
        host.now += Duration::from_secs(20);
        assert_eq!(host.look(false), [(a, 1024), (b, 1024)]);
        assert_eq!(host.look(false), []);
    }

    #[test]
    fn nothing_is_left_behind() {
        const MIB: u64 = 1 << 20;
        let mut host = Host::new();
        let a = host.group("a", 11, 0, 0);
        host.group("b", 12, 0, 0);
        host.look(true);
        host.group("a", 11, 900 * MIB, 0);
        host.group("b", 12, 900 * MIB, 900 * MIB);
        host.look(true);
        fs::remove_dir_all(host.directory.path().join("sys/fs/cgroup/b")).unwrap();
        host.hits.end(&host.module).unwrap();
        assert_eq!(host.module.told.take(), [(a, 1024)]);
        host.hits.end(&host.module).unwrap();
        assert_eq!(host.module.told.take(), []);
    }
}
