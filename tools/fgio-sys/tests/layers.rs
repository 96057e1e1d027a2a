// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The layers of the tools: each crate depends on those below it alone, and no
//! modules of a crate depend on each other in a circle.

#![allow(clippy::unwrap_used, reason = "a failure to prepare a test is a panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each crate with the crates that it uses; a crate comes after those that it uses.
const LAYERS: [(&str, &[&str]); 9] = [
    ("fgio-sys", &[]),
    ("fgio-cache", &[]),
    ("fgio-model", &["fgio-sys"]),
    ("fgio-store", &["fgio-model", "fgio-sys"]),
    ("fgio-doctor", &["fgio-sys"]),
    ("fgio-measure", &["fgio-sys"]),
    ("fgio-profile", &["fgio-sys"]),
    (
        "fgio",
        &[
            "fgio-doctor",
            "fgio-measure",
            "fgio-model",
            "fgio-profile",
            "fgio-store",
            "fgio-sys",
        ],
    ),
    (
        "fgiod",
        &["fgio-cache", "fgio-model", "fgio-profile", "fgio-sys"],
    ),
];

type Graph = BTreeMap<String, BTreeSet<String>>;

fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn crates_use_those_below_them() {
    for (number, (name, expected)) in LAYERS.iter().enumerate() {
        let manifest = fs::read_to_string(tools().join(name).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("\n[dependencies]\n").nth(1).unwrap();
        let dependencies = dependencies.split("\n[").next().unwrap();
        let used: Vec<&str> = dependencies
            .lines()
            .filter_map(|line| line.split(['.', ' ', '=']).next())
            .filter(|name| name.starts_with("fgio"))
            .collect();
        assert_eq!(used, *expected, "{name}");
        let below: BTreeSet<&str> = LAYERS[..number].iter().map(|layer| layer.0).collect();
        assert!(used.iter().all(|used| below.contains(used)), "{name}");
    }
    let members = fs::read_dir(tools()).unwrap().flatten();
    let crates = members.filter(|entry| entry.path().join("Cargo.toml").is_file());
    assert_eq!(crates.count(), LAYERS.len(), "a crate is missing in LAYERS");
}

#[test]
fn no_modules_of_a_crate_use_each_other_in_a_circle() {
    for (name, _) in LAYERS {
        let graph = modules(&tools().join(name).join("src"));
        assert!(!graph.is_empty(), "{name}");
        if let Some(circle) = circle(&graph) {
            panic!("{name}: {}", circle.join(" -> "));
        }
    }
}

#[test]
fn a_circle_is_found() {
    let graph = |arrows: &[(&str, &str)]| {
        let mut graph = Graph::new();
        for (from, to) in arrows {
            let used = graph.entry((*from).to_owned()).or_default();
            used.insert((*to).to_owned());
        }
        graph
    };
    assert_eq!(circle(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])), None);
    let found = circle(&graph(&[("a", "b"), ("b", "c"), ("c", "b")])).unwrap();
    assert_eq!(found, ["b", "c", "b"]);
    let text = "use crate::b;\nuse crate::{\n    Error, c::{self, X}, d,\n};\ncrate::e::f();\n\
                #[cfg(test)]\nmod tests { use crate::g; }";
    let used = names_used(text);
    assert_eq!(
        used.into_iter().collect::<Vec<_>>(),
        ["Error", "b", "c", "d", "e"]
    );
}

/// The modules of a crate, each with those that it uses. A folder counts as one.
fn modules(sources: &Path) -> Graph {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    collect(sources, None, &mut texts);
    let root = ["lib", "main"].iter().find_map(|name| texts.remove(*name));
    let exported = exports(&root.unwrap());
    let known: BTreeSet<String> = texts.keys().cloned().collect();
    let uses = |(name, text): (String, String)| {
        let used = names_used(&text).into_iter();
        let used = used.map(|name| exported.get(&name).cloned().unwrap_or(name));
        let used = used.filter(|used| known.contains(used) && *used != name);
        (name.clone(), used.collect())
    };
    texts.into_iter().map(uses).collect()
}

fn collect(directory: &Path, module: Option<&str>, texts: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let module = module.unwrap_or(&stem);
        if path.is_dir() {
            collect(&path, Some(module), texts);
        } else if path.extension().is_some_and(|extension| extension == "rs") && stem != "tests" {
            *texts.entry(module.to_owned()).or_default() += &product(&path);
        }
    }
}

/// A file without its tests.
fn product(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let end = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    text[..end].to_owned()
}

/// Names that the root of a crate takes from its modules.
fn exports(root: &str) -> BTreeMap<String, String> {
    let lines = root
        .lines()
        .filter_map(|line| line.strip_prefix("pub use "));
    let mut exports = BTreeMap::new();
    for line in lines {
        let (module, names) = line.trim_end_matches(';').split_once("::").unwrap();
        for name in names.trim_matches(['{', '}']).split(", ") {
            exports.insert(name.to_owned(), module.to_owned());
        }
    }
    exports
}

/// The paths after `crate::` in a text without its tests.
fn names_used(text: &str) -> BTreeSet<String> {
    let end = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    let mut names = BTreeSet::new();
    for path in text[..end].split("crate::").skip(1) {
        match path.strip_prefix('{') {
            Some(list) => names.extend(first_level(list)),
            None => names.extend(first_name(path)),
        }
    }
    names
}

/// The names of a list, up to the brace that ends it, without those of lists in it.
fn first_level(list: &str) -> Vec<String> {
    let mut depth = 0;
    let mut names = Vec::new();
    let mut item = String::new();
    for character in list.chars() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.extend(first_name(&std::mem::take(&mut item))),
            _ if depth == 0 => item.push(character),
            _ => {}
        }
    }
    names.extend(first_name(&item));
    names
}

fn first_name(path: &str) -> Option<String> {
    let path = path.trim_start();
    let is_of_name = |character: char| character.is_alphanumeric() || character == '_';
    let end = path.find(|character| !is_of_name(character));
    let name = &path[..end.unwrap_or(path.len())];
    (!name.is_empty()).then(|| name.to_owned())
}

/// A way from a module back to itself.
fn circle(graph: &Graph) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    graph
        .keys()
        .find_map(|start| walk(graph, start, &mut Vec::new(), &mut done))
}

fn walk(
    graph: &Graph,
    at: &str,
    way: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    let begun = way.iter().position(|passed| passed == at);
    way.push(at.to_owned());
    if let Some(begun) = begun {
        return Some(way[begun..].to_vec());
    }
    if !done.contains(at) {
        for next in graph.get(at).into_iter().flatten() {
            if let Some(found) = walk(graph, next, way, done) {
                return Some(found);
            }
        }
        done.insert(at.to_owned());
    }
    way.pop();
    None
}
