// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `uapi/fgio_settings.h` against the parameters that `kmod/` declares.

#![allow(clippy::unwrap_used, reason = "a failure to prepare a test is a panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fgio_sys::setting::KNOWN;

/// What introduces a parameter's name and description.
const DECLARATIONS: [&str; 2] = ["MODULE_PARM_DESC(", "\nMECHANISM("];

/// Parameters of the module by name, with the default that their description ends
/// with in parentheses.
fn declared() -> BTreeMap<String, String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kmod");
    let mut parameters = BTreeMap::new();
    for path in sources(&directory) {
        let text = fs::read_to_string(path).unwrap();
        for declaration in DECLARATIONS {
            let found = text.split(declaration).skip(1);
            parameters.extend(found.filter_map(name_and_default));
        }
    }
    parameters
}

/// The C files of the module, in all its folders but those of the lab's modules.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("simdisk") && !path.ends_with("lab") {
            sources.extend(self::sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "c") {
            sources.push(path);
        }
    }
    sources
}

/// `None` for what only tests of the module use, and in definitions of macros.
fn name_and_default(text: &str) -> Option<(String, String)> {
    let text = text.split(");").next()?;
    let (name, _) = text.split_once(',')?;
    let (_, description) = text.split_once('"')?;
    if name == "name" || description.starts_with("for tests") {
        return None;
    }
    let (_, default) = description.rsplit_once('(')?;
    let default = default.split(')').next()?;
    Some((name.trim().to_owned(), default.to_owned()))
}

#[test]
fn every_setting_of_the_module_is_known_with_its_default() {
    let known = KNOWN.iter().map(|known| {
        let default = match known.default.as_ref().map(ToString::to_string).as_deref() {
            Some("on") => "Y".to_owned(),
            Some("off") => "N".to_owned(),
            Some(number) => number.to_owned(),
            None => "no limit".to_owned(),
        };
        (known.name.to_owned(), default)
    });
    assert_eq!(known.collect::<BTreeMap<_, _>>(), declared());
}
