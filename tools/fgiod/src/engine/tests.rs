// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine against a system and a module in memory, and a clock that the test
//! moves.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use fgio_sys::control::Info;
use fgio_sys::{Result, Root};

use super::*;

const POSTGRES: &str = include_str!("../../../../profiles/postgresql.toml");
const MONGODB: &str = include_str!("../../../../profiles/mongodb.toml");

#[derive(Clone, Default)]
struct FakeProcess {
    title: String,
    user: String,
    threads: BTreeMap<i32, String>,
    started: u64,
}

/// A system, its module and its clock.
#[derive(Clone, Default)]
struct World(Rc<State>);

#[derive(Default)]
struct State {
    now: Cell<Duration>,
    processes: RefCell<BTreeMap<i32, FakeProcess>>,
    tags: RefCell<BTreeMap<i32, Class>>,
    module_is_gone: Cell<bool>,
    reads: Cell<usize>,
    births: Cell<u64>,
}

impl World {
    /// A process with one thread.
    fn start(&self, pid: i32, comm: &str, title: &str) {
        self.0.births.set(self.0.births.get() + 1);
        let process = FakeProcess {
            title: title.to_owned(),
            user: "db".to_owned(),
            threads: BTreeMap::from([(pid, comm.to_owned())]),
            started: self.0.births.get(),
        };
        self.0.processes.borrow_mut().insert(pid, process);
    }

    fn change(&self, pid: i32, change: impl FnOnce(&mut FakeProcess)) {
        change(self.0.processes.borrow_mut().get_mut(&pid).unwrap());
    }

    fn set_title(&self, pid: i32, title: &str) {
        self.change(pid, |process| process.title = title.to_owned());
    }

    fn end(&self, pid: i32) {
        let process = self.0.processes.borrow_mut().remove(&pid).unwrap();
        for tid in process.threads.keys() {
            self.0.tags.borrow_mut().remove(tid);
        }
    }

    fn tags(&self) -> Vec<(i32, Class)> {
        self.0.tags.borrow().clone().into_iter().collect()
    }

    fn read<T>(&self, pid: i32, what: impl FnOnce(&FakeProcess) -> Option<T>) -> Option<T> {
        self.0.reads.set(self.0.reads.get() + 1);
        self.0.processes.borrow().get(&pid).and_then(what)
    }

    fn module(&self) -> Result<()> {
        match self.0.module_is_gone.get() {
            true => Err(Error::ModuleNotLoaded),
            false => Ok(()),
        }
    }

    fn has_thread(&self, tid: i32) -> Result<()> {
        let processes = self.0.processes.borrow();
        let mut all = processes.values();
        match all.any(|process| process.threads.contains_key(&tid)) {
            true => Ok(()),
            false => Err(Error::NoSuchTask { id: tid }),
        }
    }
}

impl System for World {
    fn now(&self) -> Duration {
        self.0.now.get()
    }

    fn processes(&self) -> Vec<i32> {
        self.0.processes.borrow().keys().copied().collect()
    }

    fn threads(&self, pid: i32) -> Vec<i32> {
        let threads = self.read(pid, |process| {
            Some(process.threads.keys().copied().collect())
        });
        threads.unwrap_or_default()
    }

    fn comm(&self, pid: i32) -> Option<String> {
        self.read(pid, |process| process.threads.get(&pid).cloned())
    }

    fn thread_comm(&self, pid: i32, tid: i32) -> Option<String> {
        self.read(pid, |process| process.threads.get(&tid).cloned())
    }

    fn title(&self, pid: i32) -> Option<String> {
        self.read(pid, |process| Some(process.title.clone()))
    }

    fn facts(&self, pid: i32, comm: String, needs: Needs) -> Option<ProcessFacts> {
        self.read(pid, |process| {
            Some(ProcessFacts {
                pid,
                comm,
                title: if needs.title {
                    process.title.clone()
                } else {
                    String::new()
                },
                user: process.user.clone(),
                ..ProcessFacts::default()
            })
        })
    }

    fn process_of(&self, tid: i32) -> Option<i32> {
        let processes = self.0.processes.borrow();
        let mut all = processes.iter();
        all.find(|(_, process)| process.threads.contains_key(&tid))
            .map(|(pid, _)| *pid)
    }

    fn start_time(&self, pid: i32, _tid: i32) -> Option<u64> {
        self.read(pid, |process| Some(process.started))
    }

    fn refresh(&self) {}
}

impl Control for World {
    fn info(&self) -> Result<Info> {
        Err(Error::ModuleNotLoaded)
    }

    fn set_tag(&self, tid: i32, class: Class) -> Result<()> {
        self.module()?;
        self.has_thread(tid)?;
        let mut tags = self.0.tags.borrow_mut();
        match class {
            Class::None => tags.remove(&tid),
            class => tags.insert(tid, class),
        };
        Ok(())
    }

    fn get_tag(&self, tid: i32) -> Result<Class> {
        self.module()?;
        self.has_thread(tid)?;
        Ok(self
            .0
            .tags
            .borrow()
            .get(&tid)
            .copied()
            .unwrap_or(Class::None))
    }

    fn list_tags(&self) -> Result<Vec<(i32, Class)>> {
        self.module()?;
        Ok(self.tags())
    }
}

/// An engine over a world, and the place where its ledger is.
struct Bench {
    world: World,
    directory: tempfile::TempDir,
    engine: Engine<World, World>,
}

const POSTMASTER: &str = "/usr/lib/postgresql/15/bin/postgres -D /data";
const BACKEND: &str = "postgres: app bench [local] idle";

fn policy_of(profiles: &[(&str, &str)]) -> Policy {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in profiles {
        std::fs::write(directory.path().join(format!("{name}.toml")), text).unwrap();
    }
    let library = Library::load_from(&[directory.path().to_owned()]);
    assert_eq!(library.faults, []);
    Policy {
        library,
        users: Patterns::none(),
        threads_max: 1000,
    }
}

fn shipped() -> Policy {
    policy_of(&[("postgresql", POSTGRES), ("mongodb", MONGODB)])
}

fn engine(world: &World, directory: &tempfile::TempDir) -> Engine<World, World> {
    let ledger = Ledger::open(&Root::at(directory.path())).unwrap();
    Engine::new(
        world.clone(),
        world.clone(),
        shipped(),
        ledger,
        Metrics::default(),
    )
}

impl Bench {
    /// A PostgreSQL with a checkpointer and a backend.
    fn new() -> Self {
        let world = World::default();
        world.start(10, "postgres", POSTMASTER);
        world.start(11, "postgres", "postgres: checkpointer");
        world.start(12, "postgres", BACKEND);
        world.start(50, "bash", "bash");
        let directory = tempfile::tempdir().unwrap();
        let mut engine = engine(&world, &directory);
        engine.rescan();
        Self {
            world,
            directory,
            engine,
        }
    }

    fn restart(&mut self) {
        self.engine = engine(&self.world, &self.directory);
        self.engine.rescan();
    }

    fn event(&mut self, event: Event) {
        self.events(vec![event]);
    }

    /// Events that are taken at once.
    fn events(&mut self, events: Vec<Event>) {
        let at = self.world.now();
        let happened = events.into_iter().map(|event| Happened { event, at });
        self.engine.handle_all(happened.collect());
    }

    fn fork(&mut self, parent: i32, pid: i32) {
        let parent_process = self.world.0.processes.borrow()[&parent].clone();
        self.world
            .start(pid, &parent_process.threads[&parent], &parent_process.title);
        self.event(Event::Start {
            parent,
            pid,
            tid: pid,
        });
    }

    fn end(&mut self, pid: i32) {
        self.world.end(pid);
        self.event(Event::End { pid, tid: pid });
    }

    /// Lets time pass as the service does.
    fn pass(&mut self, time: Duration) {
        let end = self.world.now() + time;
        while let Some(due) = self.engine.next_look().filter(|due| *due <= end) {
            self.world.0.now.set(due.max(self.world.now()));
            self.engine.look_at_the_young();
        }
        self.world.0.now.set(end);
    }

    fn tags(&self) -> Vec<(i32, Class)> {
        self.world.tags()
    }
}

const ONE_BACKEND: [(i32, Class); 1] = [(12, Class::Foreground)];

#[test]
fn threads_that_serve_requests_are_tagged_and_no_other() {
    let bench = Bench::new();
    assert_eq!(bench.tags(), ONE_BACKEND);
}

#[test]
fn a_new_backend_is_tagged_once_it_has_written_its_title() {
    let mut bench = Bench::new();
    bench.fork(10, 20);
    bench.pass(Duration::from_millis(1));
    assert_eq!(bench.tags(), ONE_BACKEND);
    bench.world.set_title(20, BACKEND);
    bench.pass(Duration::from_millis(2));
    assert_eq!(bench.tags().len(), 2);
    assert_eq!(bench.engine.next_look(), None);
    // One whose client is slow, one that takes longer still, and one that becomes something else
    // by and by.
    bench.fork(10, 21);
    bench.fork(10, 22);
    bench.pass(Duration::from_secs(1));
    let greeting = "postgres: app bench 10.0.0.1(4000) authentication";
    bench.world.set_title(21, greeting);
    bench.pass(Duration::from_secs(1));
    bench.world.set_title(22, greeting);
    assert!(bench.tags().contains(&(21, Class::Foreground)));
    bench
        .world
        .set_title(20, "postgres: autovacuum worker bench");
    bench.engine.look_at_all();
    assert_eq!(
        bench.tags(),
        [12, 21, 22].map(|pid| (pid, Class::Foreground))
    );
    bench.end(21);
    bench.end(22);
    assert_eq!(bench.tags(), ONE_BACKEND);
}

/// The leader has a new title when it starts workers, and fgiod has not looked at it yet.
#[test]
fn a_parallel_worker_has_the_class_of_its_leader_by_then() {
    let mut bench = Bench::new();
    let start_worker = |bench: &mut Bench, pid: i32, leader: i32| {
        bench.fork(10, pid);
        let title = format!("postgres: parallel worker for PID {leader} ");
        bench.world.set_title(pid, &title);
        bench.pass(Duration::from_millis(2));
    };
    bench
        .world
        .set_title(12, "postgres: app bench [local] CREATE INDEX");
    start_worker(&mut bench, 20, 12);
    assert_eq!(
        bench.tags(),
        [(12, Class::Foreground), (20, Class::Background)]
    );
    bench
        .world
        .set_title(12, "postgres: app bench [local] SELECT");
    start_worker(&mut bench, 21, 12);
    bench.end(20);
    assert_eq!(
        bench.tags(),
        [(12, Class::Foreground), (21, Class::Foreground)]
    );
    // The controls: leaders that have no class, that are no part of the server, or are gone.
    for leader in [11, 50, 4711] {
        start_worker(&mut bench, 20, leader);
        assert_eq!(bench.tags().len(), 2, "{leader}");
        bench.end(20);
    }
    // A worker with a smaller id than its leader is found first.
    start_worker(&mut bench, 5, 12);
    bench.restart();
    assert!(bench.tags().contains(&(5, Class::Foreground)));
}

#[test]
fn a_program_run_by_a_child_is_no_longer_the_database() {
    let mut bench = Bench::new();
    bench.fork(12, 30);
    bench.pass(Duration::from_millis(100));
    // It has the title of the backend, and so its class, until it runs the command.
    assert_eq!(bench.tags().len(), 2);
    bench.end(30);
    bench.fork(12, 31);
    bench.world.change(31, |process| {
        process.threads.insert(31, "cp".to_owned());
    });
    bench.event(Event::Exec { pid: 31 });
    assert_eq!(bench.tags(), ONE_BACKEND);
}

#[test]
fn threads_are_followed_by_their_names() {
    let mut bench = Bench::new();
    bench.world.start(40, "mongod", "/usr/bin/mongod");
    bench.event(Event::Exec { pid: 40 });
    bench.world.change(40, |process| {
        process.threads.insert(41, "mongod".to_owned());
    });
    bench.event(Event::Start {
        parent: 1,
        pid: 40,
        tid: 41,
    });
    assert_eq!(bench.tags(), ONE_BACKEND);
    for (comm, tags) in [("conn7", 2), ("Checkpointer", 1), ("conn8", 2)] {
        let rename = Event::Rename {
            pid: 40,
            tid: 41,
            comm: comm.to_owned(),
        };
        bench.event(rename);
        assert_eq!(bench.tags().len(), tags, "{comm}");
    }
    // The first thread may end before the others.
    bench.event(Event::End { pid: 40, tid: 40 });
    assert_eq!(bench.engine.threads, 4);
    bench.event(Event::End { pid: 40, tid: 41 });
    assert!(!bench.engine.processes.contains_key(&40));
}

#[test]
fn tags_of_others_are_left_alone() {
    let mut bench = Bench::new();
    let foreign = |bench: &Bench, tid, class| {
        bench.world.0.tags.borrow_mut().insert(tid, class);
    };
    // Before ours, and instead of ours.
    foreign(&bench, 11, Class::Foreground);
    foreign(&bench, 12, Class::Background);
    foreign(&bench, 50, Class::Foreground);
    let expected = bench.tags();
    bench.engine.rescan();
    bench
        .world
        .set_title(12, "postgres: autovacuum worker bench");
    bench.engine.look_at_all();
    bench.engine.rescan();
    bench.restart();
    assert_eq!(bench.tags(), expected);
    // Once they are gone, profiles count again.
    bench.world.0.tags.borrow_mut().clear();
    bench.world.set_title(12, BACKEND);
    bench.engine.rescan();
    assert_eq!(bench.tags(), ONE_BACKEND);
}

#[test]
fn the_next_fgiod_takes_over() {
    let mut bench = Bench::new();
    bench.world.start(13, "postgres", BACKEND);
    bench.engine.rescan();
    assert_eq!(bench.tags().len(), 2);
    // While there is no fgiod: a title changes, a thread ends and its id is taken by a stranger.
    bench
        .world
        .set_title(12, "postgres: autovacuum worker bench");
    bench.world.end(13);
    bench.world.start(13, "bash", "bash");
    bench
        .world
        .0
        .tags
        .borrow_mut()
        .insert(13, Class::Foreground);
    bench.restart();
    assert_eq!(bench.tags(), [(13, Class::Foreground)]);
    // A profile that is gone leaves no tags behind.
    bench.world.set_title(12, BACKEND);
    bench.engine.look_at_all();
    assert_eq!(bench.tags().len(), 2);
    let ledger = Ledger::open(&Root::at(bench.directory.path())).unwrap();
    let nothing = policy_of(&[("mongodb", MONGODB)]);
    let world = bench.world.clone();
    bench.engine = Engine::new(world.clone(), world, nothing, ledger, Metrics::default());
    bench.engine.rescan();
    assert_eq!(bench.tags(), [(13, Class::Foreground)]);
}

#[test]
fn new_settings_and_profiles_count_at_once() {
    let mut bench = Bench::new();
    let mut narrow = shipped();
    narrow.users.add("another").unwrap();
    bench.engine.set_policy(narrow);
    bench.engine.rescan();
    assert_eq!(bench.tags(), []);
    let mut wide = shipped();
    wide.users.add("d.").unwrap();
    bench.engine.set_policy(wide);
    bench.engine.rescan();
    assert_eq!(bench.tags(), ONE_BACKEND);
    bench.engine.set_policy(policy_of(&[("mongodb", MONGODB)]));
    bench.engine.rescan();
    assert_eq!(bench.tags(), []);
}

#[test]
fn tags_come_back_with_the_module() {
    let mut bench = Bench::new();
    bench.world.0.module_is_gone.set(true);
    bench.world.0.tags.borrow_mut().clear();
    bench.fork(10, 20);
    bench.world.set_title(20, BACKEND);
    bench.pass(Duration::from_millis(50));
    bench.engine.rescan();
    let complaint = bench.engine.take_complaint().unwrap();
    assert!(complaint.contains("not loaded"), "{complaint}");
    bench.world.0.module_is_gone.set(false);
    bench.engine.rescan();
    assert_eq!(
        bench.tags(),
        [(12, Class::Foreground), (20, Class::Foreground)]
    );
}

#[test]
fn a_rescan_corrects_the_effect_of_lost_events() {
    let mut bench = Bench::new();
    bench.world.end(12);
    bench.world.start(60, "postgres", BACKEND);
    bench.world.start(61, "mongod", "mongod");
    bench.world.change(61, |process| {
        process.threads.insert(62, "conn1".to_owned());
    });
    bench.engine.rescan();
    assert_eq!(
        bench.tags(),
        [(60, Class::Foreground), (62, Class::Foreground)]
    );
    assert!(!bench.engine.processes.contains_key(&12));
    assert_eq!(bench.engine.threads, 5);
}

#[test]
fn memory_is_bounded() {
    let mut bench = Bench::new();
    for pid in 1000..4000 {
        bench.fork(10, pid);
    }
    assert_eq!(bench.engine.threads, 1000);
    for pid in 1000..4000 {
        bench.end(pid);
    }
    bench.pass(Duration::from_secs(2));
    assert_eq!((bench.engine.threads, bench.engine.processes.len()), (3, 3));
    assert!(bench.engine.looks.is_empty());
    assert_eq!(bench.engine.ledger.entries().len(), 1);
}

#[test]
fn ended_processes_are_not_looked_at() {
    let start = |parent, pid, tid| Event::Start { parent, pid, tid };
    let end = |tid| Event::End { pid: tid, tid };
    let mut bench = Bench::new();
    bench.world.0.reads.set(0);
    bench.events(vec![
        start(50, 60, 60),
        Event::Exec { pid: 60 },
        end(60),
        start(10, 61, 61),
        end(61),
    ]);
    assert_eq!(bench.world.0.reads.get(), 0);
    // The id of one that is over, again.
    bench.world.start(61, "postgres", BACKEND);
    bench.events(vec![
        start(10, 61, 61),
        end(61),
        start(50, 61, 61),
        Event::Exec { pid: 61 },
    ]);
    assert_eq!(
        bench.tags(),
        [(12, Class::Foreground), (61, Class::Foreground)]
    );
    // One with a first thread that has ended before the others.
    bench.world.start(70, "mongod", "mongod");
    bench.world.change(70, |process| {
        process.threads.insert(71, "conn1".to_owned());
    });
    bench.events(vec![Event::Exec { pid: 70 }, start(1, 70, 71), end(70)]);
    assert_eq!(bench.tags().last(), Some(&(71, Class::Foreground)));
}

/// 20 seconds with 1,000 process starts a second that no profile is about, and 500
/// connections a second that live for 20 ms and write their title after 1 to 8 ms.
#[test]
fn churn_costs_little_and_no_tag_is_wrong_for_long() {
    const MILLISECONDS: u64 = 20_000;
    const LIFE: u64 = 20;
    let mut bench = Bench::new();
    bench.world.0.reads.set(0);
    let mut late = 0;
    let mut most = 0;
    for now in 0..MILLISECONDS {
        bench.world.0.now.set(Duration::from_millis(now));
        let stranger = 100_000 + now as i32;
        bench.world.start(stranger, "sh", "sh -c true");
        bench.event(Event::Start {
            parent: 50,
            pid: stranger,
            tid: stranger,
        });
        bench.event(Event::Exec { pid: stranger });
        bench.end(stranger);
        let id = |born: u64| 1_000_000 + (born / 2) as i32;
        if now % 2 == 0 {
            bench.fork(10, id(now));
            if now >= LIFE {
                bench.end(id(now - LIFE));
            }
        }
        for age in 1..=8_u64 {
            if now >= age && (now - age) % 2 == 0 && (now - age) / 2 % 8 + 1 == age {
                bench.world.set_title(id(now - age), BACKEND);
            }
        }
        bench.engine.look_at_the_young();
        if now % 50 == 0 {
            bench.engine.look_at_all();
        }
        // A backend of 9 ms and more has its tag.
        let old = now.saturating_sub(LIFE - 3) & !1;
        late += usize::from(now > LIFE && !bench.world.0.tags.borrow().contains_key(&id(old)));
        most = most.max(bench.engine.threads);
    }
    let reads = bench.world.0.reads.get() as u64 / (MILLISECONDS / 1000);
    assert_eq!(late, 0);
    assert!(most < 20, "{most} threads kept in mind");
    // One for each stranger, a handful for each connection.
    assert!(reads < 1000 + 500 * 10, "{reads} reads a second");
}
