// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads the lists in uapi/ that C and Rust share, and writes them as Rust.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A line of a list: `NUMBER(name, 1, "text")`.
struct Entry {
    name: String,
    arguments: Vec<String>,
}

fn main() -> Result<()> {
    let uapi = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../uapi");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    for (header, list, file, rust) in [
        (
            "fgio.h",
            "FGIO_WAIT_KIND_LIST",
            "wait_kinds.rs",
            kinds as fn(&[Entry]) -> Result<String>,
        ),
        ("fgio_reason.h", "FGIO_REASON_LIST", "reasons.rs", reasons),
        (
            "fgio_settings.h",
            "FGIO_SETTING_LIST",
            "settings.rs",
            settings,
        ),
    ] {
        let path = uapi.join(header);
        println!("cargo::rerun-if-changed={}", path.display());
        let text =
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let entries =
            entries(&text, list).map_err(|error| format!("{}: {error}", path.display()))?;
        fs::write(out.join(file), rust(&entries)?)?;
    }
    Ok(())
}

/// The entries of the list that the macro `list` defines.
fn entries(text: &str, list: &str) -> Result<Vec<Entry>> {
    let start = text
        .find(&format!("#define {list}("))
        .ok_or(format!("there is no {list}"))?;
    let lines = text[start..].lines();
    // A definition goes on while lines end with a backslash.
    let mut body = String::new();
    for line in lines {
        let (part, goes_on) = line
            .strip_suffix('\\')
            .map_or((line, false), |part| (part, true));
        body += part;
        body.push(' ');
        if !goes_on {
            break;
        }
    }
    let (_, mut rest) = body.split_once(')').ok_or("the macro has no parameters")?;
    let mut entries = Vec::new();
    while let Some((name, after)) = rest.split_once('(') {
        let (arguments, after) = arguments(after)?;
        entries.push(Entry {
            name: name.trim().to_owned(),
            arguments,
        });
        rest = after;
    }
    match rest.trim() {
        "" => Ok(entries),
        rest => Err(format!("{rest:?} follows the list {list}").into()),
    }
}

/// The arguments up to the bracket that ends them, without quotes, and the text after it.
/// Strings that follow each other are one, as in C.
fn arguments(text: &str) -> Result<(Vec<String>, &str)> {
    let mut arguments = vec![String::new()];
    let mut is_string = false;
    for (place, letter) in text.char_indices() {
        let argument = arguments.last_mut().ok_or("no argument")?;
        match letter {
            '"' => is_string = !is_string,
            '\\' => return Err("escapes are not supported".into()),
            _ if is_string => argument.push(letter),
            ',' => arguments.push(String::new()),
            ')' => return Ok((arguments, &text[place + 1..])),
            _ if letter.is_whitespace() => {}
            _ => argument.push(letter),
        }
    }
    Err("a bracket is not closed".into())
}

/// `enum fgio_wait_kind`
fn kinds(entries: &[Entry]) -> Result<String> {
    names_of(
        entries,
        "fgio_wait_kind",
        "wait",
        "KINDS",
        "WAIT_KIND_NAMES",
    )
}

/// `enum fgio_reason`
fn reasons(entries: &[Entry]) -> Result<String> {
    names_of(entries, "fgio_reason", "reason", "REASONS", "REASON_NAMES")
}

/// An enum of C: a module with its values and their number, and the two names of each.
fn names_of(
    entries: &[Entry],
    name_in_c: &str,
    module: &str,
    number: &str,
    array: &str,
) -> Result<String> {
    let (mut values, mut names) = (String::new(), String::new());
    for (place, entry) in entries.iter().enumerate() {
        let [name, value, id, label] = &entry.arguments[..] else {
            return Err(format!("{:?} are not 4 arguments", entry.arguments).into());
        };
        if value.parse() != Ok(place) {
            return Err(format!("{name} is {value}, not {place}").into());
        }
        writeln!(values, "    pub const {name}: u32 = {value};")?;
        writeln!(names, "    ({id:?}, {label:?}),")?;
    }
    let count = entries.len();
    Ok(format!(
        "/// The values of `enum {name_in_c}`.\npub mod {module} {{\n{values}    \
         /// How many there are: none is as large.\n    pub const {number}: u32 = {count};\n}}\n\n\
         /// The names of each: for programs, for people.\n\
         pub const {array}: [(&str, &str); {count}] = [\n{names}];\n"
    ))
}

/// Facts about the settings.
fn settings(entries: &[Entry]) -> Result<String> {
    let mut known = String::new();
    for Entry {
        name: macro_name,
        arguments,
    } in entries
    {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let entry = match (macro_name.as_str(), &arguments[..]) {
            ("SWITCH", [name, purpose, off]) => format!("switch({name:?}, {purpose:?}, {off:?})"),
            ("NUMBER", [name, default, low, high, purpose]) => {
                format!("number({name:?}, Some({default}), Some(({low}, {high})), {purpose:?})")
            }
            ("UNBOUNDED", [name, default, purpose]) => {
                format!("number({name:?}, Some({default}), None, {purpose:?})")
            }
            ("AS_SYSTEM", [name, purpose]) => format!("number({name:?}, None, None, {purpose:?})"),
            ("LIST", [name, default, purpose]) => {
                format!("list({name:?}, {default:?}, {purpose:?})")
            }
            _ => return Err(format!("{macro_name}({arguments:?}) is no setting").into()),
        };
        writeln!(known, "    {entry},")?;
    }
    let count = entries.len();
    Ok(format!(
        "/// The settings that these tools know: switches, numbers, lists, settings of the load.\n\
         pub static KNOWN: [Description; {count}] = [\n{known}];\n"
    ))
}
