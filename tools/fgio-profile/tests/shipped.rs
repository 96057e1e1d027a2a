// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The profiles that fgio ships, and how files of a system become profiles.

#![allow(clippy::unwrap_used, reason = "a failure to prepare a test is a panic")]

use std::fs;
use std::path::{Path, PathBuf};

use fgio_profile::{Library, ProcessFacts, TaskFacts};
use fgio_sys::Root;
use fgio_sys::class::Class;

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles")
}

#[test]
fn shipped_profiles_are_as_their_cases_say() {
    let library = Library::load_from(&[shipped()]);
    assert_eq!(library.faults, []);
    let names: Vec<&str> = library
        .profiles
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    let expected = [
        "mariadb",
        "mongodb",
        "mysql",
        "postgresql",
        "redis",
        "rocksdb",
        "wiredtiger",
    ];
    assert_eq!(names, expected);
    for profile in &library.profiles {
        let (count, failures) = profile.check();
        let messages: Vec<String> = failures
            .iter()
            .map(|failure| format!("{}: {}", failure.place, failure.message))
            .collect();
        assert!(
            count >= 4 && !profile.summary.is_empty(),
            "{}",
            profile.name
        );
        assert!(messages.is_empty(), "{messages:#?}");
    }
}

/// Threads that submit I/O for threads that serve requests. If they had no
/// tag, requests would wait behind the I/O of all threads that have one, which is
/// worse than without fgio.
#[test]
fn threads_that_read_for_requests_are_foreground() {
    let library = Library::load_from(&[shipped()]);
    let cases = [
        ("postgres", "postgres: io worker 0", "postgres"),
        ("postgres", "postgres: 18/main: io worker 2", "postgres"),
        ("mysqld", "/usr/sbin/mysqld", "ib_io_rd-1"),
        ("mysqld", "/usr/sbin/mysqld", "worker_th-1"),
        ("wtperf", "wtperf", "prefetch-ser 1"),
    ];
    for (program, title, comm) in cases {
        let server = ProcessFacts {
            title: title.to_owned(),
            ..process(program)
        };
        let found = class(&library, &server, comm);
        assert_eq!(found, Class::Foreground, "{title} {comm}");
    }
}

/// Nightly work of a backend is not taken for requests, and a title that only looks
/// like it is.
#[test]
fn bulk_commands_of_backends_are_background() {
    let library = Library::load_from(&[shipped()]);
    let of = |title: &str| {
        let server = ProcessFacts {
            title: title.to_owned(),
            ..process("postgres")
        };
        class(&library, &server, "postgres")
    };
    for peer in ["[local]", "10.0.0.7(51234)", "fe80::1(51234)"] {
        for cluster in ["", "15/main: "] {
            let run = |command: &str| of(&format!("postgres: {cluster}app bench {peer} {command}"));
            for command in [
                "COPY",
                "ALTER TABLE",
                "VACUUM",
                "CREATE INDEX waiting",
                "CREATE TABLE AS",
            ] {
                assert_eq!(run(command), Class::Background, "{command}");
            }
            for command in [
                "SELECT",
                "ALTER TABLE waiting",
                "COPYING",
                "idle",
                "CREATE TABLE",
            ] {
                assert_eq!(run(command), Class::Foreground, "{command}");
            }
        }
    }
    // A role, a database or a cluster of such a name.
    assert_eq!(
        of("postgres: COPY: COPY COPY [local] SELECT"),
        Class::Foreground
    );
}

/// Cases would not notice a second profile that claims the same program.
#[test]
fn no_program_has_two_shipped_profiles() {
    let library = Library::load_from(&[shipped()]);
    for comm in [
        "postgres",
        "redis-server",
        "valkey-server",
        "mongod",
        "wtperf",
        "db_bench",
        "mysqld",
        "mariadbd",
    ] {
        let claims = library
            .profiles
            .iter()
            .filter(|one| one.program.comm.match_whole(comm));
        assert_eq!(claims.count(), 1, "{comm}");
        assert!(library.may_concern(comm));
    }
    for comm in ["bash", "postgresql", "xpostgres", "redis-cli", "mongos", ""] {
        assert!(!library.may_concern(comm), "{comm}");
    }
}

/// A system with profiles.
struct System(tempfile::TempDir);

const PROFILE: &str = "summary = 's'\n[program]\ncomm = 'server'\n\
    [[rule]]\nname = 'main'\nthread = 'main'\nclass = 'foreground'\n\
    [[rule]]\nname = 'rest'\nclass = 'none'\n\
    [[case]]\nprocess = 'server'\nclass = 'foreground'\nrule = 'main'\n";

impl System {
    fn new(files: &[(&str, &str)]) -> Self {
        let system = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            let path = system.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        system
    }

    fn library(&self) -> Library {
        Library::load(&Root::at(self.0.path()))
    }
}

fn class(library: &Library, process: &ProcessFacts, comm: &str) -> Class {
    let facts = TaskFacts {
        tid: if comm == process.comm {
            process.pid
        } else {
            process.pid + 1
        },
        comm,
        process,
    };
    library
        .decide(&facts)
        .map_or(Class::None, |decision| decision.class(process, |_| None))
}

fn process(comm: &str) -> ProcessFacts {
    ProcessFacts {
        pid: 7,
        comm: comm.to_owned(),
        user: "root".to_owned(),
        ..ProcessFacts::default()
    }
}

#[test]
fn a_file_of_the_same_name_masks() {
    let vendor = ("usr/lib/fgio/profiles/a.toml", PROFILE);
    let library = System::new(&[vendor]).library();
    assert_eq!(
        class(&library, &process("server"), "server"),
        Class::Foreground
    );
    let other = PROFILE.replace("'server'", "'other'");
    let library = System::new(&[vendor, ("etc/fgio/profiles/a.toml", &other)]).library();
    assert_eq!(class(&library, &process("server"), "server"), Class::None);
    assert_eq!(
        class(&library, &process("other"), "other"),
        Class::Foreground
    );
    let library = System::new(&[vendor, ("etc/fgio/profiles/a.toml", "# off\n")]).library();
    assert!(library.profiles.is_empty() && library.faults.is_empty());
    assert_eq!(library.masked.len(), 1);
    let library = System::new(&[
        vendor,
        ("etc/fgio/profiles/.a.toml", "!"),
        ("etc/fgio/profiles/b.toml~", "!"),
    ])
    .library();
    assert_eq!((library.profiles.len(), library.faults.len()), (1, 0));
}

#[test]
fn drop_ins_add_replace_and_narrow() {
    let drop_in = "[program]\ncomm = 'mine'\nuser = 'db'\n\
        [[rule]]\nname = 'first'\ncomm = 'urgent'\nclass = 'foreground'\n\
        [[rule]]\nname = 'main'\nthread = 'main'\nclass = 'background'\n\
        [[case]]\nprocess = 'mine'\nuser = 'db'\nclass = 'background'\nrule = 'main'\n";
    let system = System::new(&[
        ("usr/lib/fgio/profiles/a.toml", PROFILE),
        (
            "usr/lib/fgio/profiles/a.toml.d/x.toml",
            "[program]\nuser = 'daemon'",
        ),
        ("etc/fgio/profiles/a.toml.d/x.toml", drop_in),
    ]);
    let library = system.library();
    assert_eq!(library.faults, []);
    let rules: Vec<&str> = library.profiles[0]
        .rules
        .iter()
        .map(|rule| rule.name.as_str())
        .collect();
    assert_eq!(rules, ["first", "main", "rest"]);
    for comm in ["server", "mine"] {
        let stranger = process(comm);
        assert_eq!(class(&library, &stranger, "urgent"), Class::None);
        let own = ProcessFacts {
            user: "db".to_owned(),
            ..stranger
        };
        assert_eq!(class(&library, &own, "urgent"), Class::Foreground);
        assert_eq!(class(&library, &own, comm), Class::Background);
    }
    // The vendor's case holds for the vendor's profile, the drop-in's for both together.
    let (count, failures) = library.profiles[0].check();
    assert_eq!((count, failures.len()), (2, 0));
}

#[test]
fn broken_profiles_are_refused_where_they_are_broken_and_others_go_on() {
    let rule = "[program]\ncomm = 'x'\n[[rule]]\n";
    for (text, place, says) in [
        ("[program\n", ":1:", ""),
        ("sumary = 'x'\n", ":1:1", "`sumary`"),
        ("[program]\ncomm = 1\n", ":2:8", "type integer"),
        ("[program]\ncomm = 'x'\n", ":1:1", "no rules"),
        (
            "[[rule]]\nname = 'x'\nclass = 'none'\n",
            ":1:1",
            "which program",
        ),
        (
            "[program]\nuser = 'x'\n[[rule]]\nname = 'x'\nclass = 'none'\n",
            ":1:1",
            "which program",
        ),
        (
            "[program]\ncomm = ['a', '(']\n",
            ":2:14",
            "regular expression",
        ),
        (
            "[program]\ncomm = 'a-name-of-over-15-bytes'\n",
            ":2:8",
            "15 bytes",
        ),
        (&format!("{rule}name = 'r'\n"), ":4:8", "has no `class`"),
        (&format!("{rule}class = 'none'\n"), ":3:1", "no name"),
        (
            &format!("{rule}name = 'r'\nclass = 'urgent'\n"),
            ":5:9",
            "no class urgent",
        ),
        (
            &format!("{rule}name = 'r'\nclass = 'none'\nthread = 'first'\n"),
            ":6:10",
            "first threads",
        ),
        (
            &format!("{rule}name = 'r'\nclass = 'none'\ntitel = 'x'\n"),
            ":6:1",
            "`titel`",
        ),
        (
            &format!("{rule}name = 'r'\nclass = 'none'\n[[rule]]\nname = 'r'\nclass = 'none'\n"),
            ":7:8",
            "in line 4",
        ),
        (
            &format!("{rule}name = 'r'\nclass = 'none'\n[[case]]\nclass = 'none'\n"),
            ":6:1",
            "has no `process`",
        ),
        (
            &format!("{rule}name = 'r'\nclass = 'none'\n[[case]]\nprocess = 'x'\n"),
            ":6:1",
            "has no `class`",
        ),
        ("rule = 1\n", ":1:8", "a table"),
    ] {
        let system = System::new(&[
            ("etc/fgio/profiles/broken.toml", text),
            ("etc/fgio/profiles/good.toml", PROFILE),
        ]);
        let library = system.library();
        let names: Vec<&str> = library
            .profiles
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        assert_eq!(names, ["good"], "{text}");
        let [fault] = &library.faults[..] else {
            panic!("{text}: {:?}", library.faults);
        };
        let said = fault.to_string();
        assert!(
            said.contains(&format!("broken.toml{place}")),
            "{text}: {said}"
        );
        assert!(
            said.contains(says) && !fault.advice.is_empty(),
            "{text}: {said}"
        );
    }
}

#[test]
fn a_broken_drop_in_refuses_its_profile() {
    let system = System::new(&[
        ("usr/lib/fgio/profiles/a.toml", PROFILE),
        (
            "etc/fgio/profiles/a.toml.d/narrow.toml",
            "[program]\nusr = 'db'\n",
        ),
    ]);
    let library = system.library();
    assert!(library.profiles.is_empty());
    assert!(library.faults[0].to_string().contains("narrow.toml:2:1"));
}

#[test]
fn an_unreadable_file_is_a_fault() {
    let system = System::new(&[
        ("etc/fgio/profiles/a.toml/x", ""),
        ("usr/lib/fgio/profiles", ""),
    ]);
    let library = system.library();
    assert!(library.faults.len() >= 2, "{:?}", library.faults);
    assert!(
        !Library::load_file(Path::new("/nonexistent/x.toml"))
            .faults
            .is_empty()
    );
}

#[test]
fn cases_that_do_not_hold_are_told_with_the_reason() {
    let text = format!(
        "{PROFILE}[[case]]\nprocess = 'server'\nclass = 'background'\n\
        [[case]]\nprocess = 'server'\ncomm = 'x'\nclass = 'none'\nrule = 'main'\n\
        [[case]]\nprocess = 'other'\nclass = 'foreground'\n"
    );
    let library = System::new(&[("etc/fgio/profiles/a.toml", &text)]).library();
    let (count, failures) = library.profiles[0].check();
    assert_eq!(count, 4);
    let messages: Vec<&str> = failures.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "thread server of server is foreground by rule main, expected: background",
            "thread x of server is none by rule rest, expected: by rule main",
            "thread other of other is none since it is not the program of the profile, expected: foreground",
        ]
    );
    assert_eq!(failures[0].place.line, 15);
}

#[test]
fn parents_and_ancestors_are_told_apart() {
    use fgio_profile::facts::Ancestor;
    let text = "[program]\ncomm = 'x'\n\
        [[rule]]\nname = 'child'\nparent_comm = 'p'\nparent_title = 'p .*'\nclass = 'foreground'\n\
        [[rule]]\nname = 'descendant'\nancestor_comm = 'p'\nancestor_title = 'p run'\nclass = 'background'\n";
    let library = System::new(&[("etc/fgio/profiles/a.toml", text)]).library();
    let kin = |chain: &[(&str, &str)]| ProcessFacts {
        ancestors: chain
            .iter()
            .map(|(comm, title)| Ancestor {
                pid: 1,
                comm: (*comm).to_owned(),
                title: (*title).to_owned(),
            })
            .collect(),
        ..process("x")
    };
    for (chain, expected) in [
        (&[][..], Class::None),
        (&[("p", "p run")], Class::Foreground),
        (&[("p", "q")], Class::None),
        (&[("sh", "sh"), ("p", "p run")], Class::Background),
        // Both conditions hold, but not for the same process.
        (&[("p", "q"), ("sh", "p run")], Class::None),
    ] {
        assert_eq!(class(&library, &kin(chain), "x"), expected, "{chain:?}");
    }
    assert!(library.needs("x").ancestors && !library.needs("x").user);
}
