// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Switches and numbers of the module, in `/sys/module/fgio/parameters`.
//!
//! Which of them there are is up to the module: a newer one may have settings
//! that are not described here, an older one may lack some that are.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rustix::io::Errno;
use serde::Serialize;

use crate::{Error, Result, Root, files, module};

const DIRECTORY: &str = "/sys/module/fgio/parameters";
/// Where settings for the next time that the module is loaded are kept.
pub const PERSISTENT: &str = "/etc/modprobe.d/fgio.conf";

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    Switch(bool),
    Number(u64),
    /// Neither: a list, or a setting that these tools do not know.
    Text(Cow<'static, str>),
}

impl Value {
    fn from_sysfs(text: &str) -> Self {
        match (text, text.parse()) {
            ("Y", _) => Self::Switch(true),
            ("N", _) => Self::Switch(false),
            (_, Ok(number)) => Self::Number(number),
            (text, Err(_)) => Self::Text(text.to_owned().into()),
        }
    }

    fn to_sysfs(&self) -> String {
        match self {
            Self::Switch(on) => if *on { "Y" } else { "N" }.to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone().into_owned(),
        }
    }

    /// The value that `text` gives to a setting that is `self` now.
    fn parse_like(&self, text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        match self {
            Self::Switch(_) => match lower.as_str() {
                "on" | "y" | "yes" | "1" | "true" => Some(Self::Switch(true)),
                "off" | "n" | "no" | "0" | "false" => Some(Self::Switch(false)),
                _ => None,
            },
            Self::Number(_) => lower.parse().ok().map(Self::Number),
            Self::Text(_) => Some(Self::Text(text.to_owned().into())),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(true) => formatter.pad("on"),
            Self::Switch(false) => formatter.pad("off"),
            Self::Number(number) => formatter.pad(&number.to_string()),
            Self::Text(text) => formatter.pad(text),
        }
    }
}

/// Facts about a setting.
#[derive(Debug)]
pub struct Description {
    pub name: &'static str,
    /// `None` when it follows the system.
    pub default: Option<Value>,
    /// The values that the module takes, for numbers that have bounds.
    pub range: Option<(u64, u64)>,
    /// Its effect; the name of a number ends with its unit.
    pub purpose: &'static str,
    /// The effect that is missing while a switch is off; empty for numbers.
    pub when_off: &'static str,
}

impl Description {
    pub fn is_switch(&self) -> bool {
        matches!(self.default, Some(Value::Switch(_)))
    }
}

const fn switch(name: &'static str, purpose: &'static str, when_off: &'static str) -> Description {
    Description {
        name,
        default: Some(Value::Switch(true)),
        range: None,
        purpose,
        when_off,
    }
}

const fn number(
    name: &'static str,
    default: Option<u64>,
    range: Option<(u64, u64)>,
    purpose: &'static str,
) -> Description {
    Description {
        name,
        default: match default {
            Some(number) => Some(Value::Number(number)),
            None => None,
        },
        range,
        purpose,
        when_off: "",
    }
}

const fn list(name: &'static str, default: &'static str, purpose: &'static str) -> Description {
    Description {
        name,
        default: Some(Value::Text(Cow::Borrowed(default))),
        range: None,
        purpose,
        when_off: "",
    }
}

// From uapi/fgio_settings.h.
include!(concat!(env!("OUT_DIR"), "/settings.rs"));

/// Facts about the setting `name`.
pub fn description(name: &str) -> Option<&'static Description> {
    KNOWN.iter().find(|known| known.name == name)
}

/// A setting of the loaded module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    pub name: String,
    pub value: Value,
    /// `None` when it follows the system or is not known to these tools.
    pub default: Option<Value>,
    /// Lowest and highest value, for numbers that are known to have bounds.
    pub range: Option<(u64, u64)>,
    /// Whether it can be changed while the module is loaded.
    pub writable: bool,
    /// Its effect; `None` when these tools do not know it.
    pub purpose: Option<&'static str>,
}

/// Run-time switches of the module by name. `None`: this module has no such
/// switch.
pub type Switches = BTreeMap<&'static str, Option<bool>>;

/// The outcome of [`set`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Set {
    pub name: String,
    pub previous: Value,
    pub value: Value,
    pub changed: bool,
}

fn path(root: &Root, name: &str) -> PathBuf {
    root.path(DIRECTORY).join(name)
}

fn read(root: &Root, name: &str) -> Result<Setting> {
    let path = path(root, name);
    let value = Value::from_sysfs(&files::read(&path)?);
    let mode = fs::metadata(&path).map_or(0, |metadata| metadata.permissions().mode());
    let known = description(name);
    Ok(Setting {
        name: name.to_owned(),
        value,
        default: known.and_then(|known| known.default.clone()),
        range: known.and_then(|known| known.range),
        writable: mode & 0o200 != 0,
        purpose: known.map(|known| known.purpose),
    })
}

/// All settings of the loaded module: those known in the order of [`KNOWN`],
/// then the others by name.
pub fn all(root: &Root) -> Result<Vec<Setting>> {
    if !module::is_loaded(root) {
        return Err(Error::ModuleNotLoaded);
    }
    let present = files::names(&root.path(DIRECTORY))?;
    let known = KNOWN.iter().map(|known| known.name);
    let known = known.filter(|name| present.iter().any(|present| present == name));
    let others = present.iter().map(String::as_str);
    let others = others.filter(|name| description(name).is_none());
    known.chain(others).map(|name| read(root, name)).collect()
}

/// The setting `name` of the loaded module.
pub fn get(root: &Root, name: &str) -> Result<Setting> {
    let settings = all(root)?;
    if let Some(setting) = settings.iter().find(|setting| setting.name == name) {
        return Ok(setting.clone());
    }
    let name = name.to_owned();
    if description(&name).is_some() {
        return Err(Error::SettingMissing { name });
    }
    let near = near(&name, &settings);
    Err(Error::NoSuchSetting { name, near })
}

/// The switch `name`; `None` when it cannot be read, for any reason.
pub fn is_on(root: &Root, name: &str) -> Option<bool> {
    match read(root, name).ok()?.value {
        Value::Switch(on) => Some(on),
        _ => None,
    }
}

/// The number `name`; `None` when it cannot be read, for any reason.
pub fn number_of(root: &Root, name: &str) -> Option<u64> {
    match read(root, name).ok()?.value {
        Value::Number(number) => Some(number),
        _ => None,
    }
}

/// The run-time switches of the loaded module, of those that the tools know.
pub fn switches(root: &Root) -> Switches {
    let settings = all(root).unwrap_or_default();
    let state = |name: &str| {
        let setting = settings.iter().find(|setting| setting.name == name)?;
        match setting.value {
            Value::Switch(on) => Some(on),
            _ => None,
        }
    };
    KNOWN
        .iter()
        .filter(|known| known.is_switch())
        .map(|known| (known.name, state(known.name)))
        .collect()
}

/// Names that may have been meant by `name`, best first.
fn near(name: &str, settings: &[Setting]) -> Vec<String> {
    const SIMILAR: f64 = 0.75;
    let name = name.to_ascii_lowercase().replace('-', "_");
    let mut near: Vec<(f64, &str)> = settings
        .iter()
        .map(|setting| {
            let contained = name.len() > 2 && setting.name.contains(&name);
            let likeness = strsim::jaro_winkler(&name, &setting.name);
            (
                if contained { 1.0 } else { likeness },
                setting.name.as_str(),
            )
        })
        .filter(|(likeness, _)| *likeness >= SIMILAR)
        .collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    near.into_iter()
        .take(3)
        .map(|(_, name)| name.to_owned())
        .collect()
}

/// The value that `text` says, of the kind that the setting has.
fn value_of(setting: &Setting, text: &str) -> Result<Value> {
    setting
        .value
        .parse_like(text)
        .ok_or_else(|| Error::SettingValue {
            name: setting.name.clone(),
            text: text.to_owned(),
            is_switch: matches!(setting.value, Value::Switch(_)),
        })
}

/// Sets the setting `name` to the value of `text`, and checks that the module took
/// it. Needs root.
pub fn set(root: &Root, name: &str, text: &str) -> Result<Set> {
    let setting = get(root, name)?;
    let wanted = value_of(&setting, text)?;
    write(root, &setting, wanted)
}

fn write(root: &Root, setting: &Setting, wanted: Value) -> Result<Set> {
    let name = setting.name.clone();
    if !setting.writable {
        return Err(Error::SettingAtLoad { name });
    }
    let path = path(root, &name);
    files::write_existing(&path, &wanted.to_sysfs()).map_err(
        |source| match Errno::from_io_error(&source) {
            Some(Errno::INVAL | Errno::RANGE) => Error::SettingRefused {
                name: name.clone(),
                value: wanted.to_string(),
                range: setting.range,
                source,
            },
            _ => Error::writing(&path, source),
        },
    )?;
    let value = Value::from_sysfs(&files::read(&path)?);
    if value != wanted {
        return Err(Error::SettingNotTaken {
            name,
            wanted: wanted.to_string(),
            found: value.to_string(),
        });
    }
    Ok(Set {
        changed: value != setting.value,
        previous: setting.value.clone(),
        name,
        value,
    })
}

/// Gives every setting that can be changed its default back. Returns those
/// that had another value. Needs root.
pub fn reset(root: &Root) -> Result<Vec<Set>> {
    let mut done = Vec::new();
    for setting in all(root)? {
        let Some(default) = setting.default.clone() else {
            continue;
        };
        if setting.writable && setting.value != default {
            done.push(write(root, &setting, default)?);
        }
    }
    Ok(done)
}

/// Makes modprobe set `name` to the value of `text` at each load of the module;
/// all else in [`PERSISTENT`] stays. Returns the value. Needs root.
pub fn persist(root: &Root, name: &str, text: &str) -> Result<Value> {
    let setting = get(root, name)?;
    let wanted = value_of(&setting, text)?;
    let old = persistent(root)?;
    let mut new = without(&old, |option| option == name);
    new += &format!("options fgio {name}={}\n", wanted.to_sysfs());
    replace_persistent(root, &old, &new)?;
    Ok(wanted)
}

/// Makes modprobe set nothing that has a default, which undoes [`persist`]. Needs
/// root.
pub fn persist_nothing(root: &Root) -> Result<()> {
    let old = persistent(root)?;
    let new = without(&old, |option| {
        description(option).is_some_and(|known| known.default.is_some())
    });
    replace_persistent(root, &old, &new)
}

fn persistent(root: &Root) -> Result<String> {
    let path = root.path(PERSISTENT);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(Error::reading(&path, source)),
    }
}

/// The text of a file of modprobe without the options of fgio that `dropped`
/// names. Lines that set none any more vanish; all others stay as they are.
fn without(text: &str, dropped: impl Fn(&str) -> bool) -> String {
    let mut result = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (["options", "fgio", options @ ..], false) = (words.as_slice(), line.ends_with('\\'))
        else {
            result += &format!("{line}\n");
            continue;
        };
        let name = |option: &&&str| option.split('=').next().unwrap_or(option).to_owned();
        let kept: Vec<&str> = options
            .iter()
            .filter(|option| !dropped(&name(option)))
            .copied()
            .collect();
        if kept.len() == options.len() {
            result += &format!("{line}\n");
        } else if !kept.is_empty() {
            result += &format!("options fgio {}\n", kept.join(" "));
        }
    }
    result
}

fn replace_persistent(root: &Root, old: &str, new: &str) -> Result<()> {
    if old == new {
        return Ok(());
    }
    files::replace(root, PERSISTENT, new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::fixture::Fixture;

    fn fixture() -> Fixture {
        let fixture = Fixture::new();
        for (name, text) in [
            ("stamp", "Y\n"),
            ("boost", "N\n"),
            ("watchdog_ms", "5000\n"),
            ("novelty", "7\n"),
        ] {
            fixture.file(&format!("{DIRECTORY}/{name}"), text);
        }
        fixture
    }

    fn read_only(fixture: &Fixture, name: &str) {
        let path = fixture.root().path(DIRECTORY).join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o444)).unwrap();
    }

    #[test]
    fn all_that_the_module_has_are_listed_in_order() {
        let settings = all(fixture().root()).unwrap();
        let names: Vec<_> = settings.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["stamp", "boost", "watchdog_ms", "novelty"]);
        assert_eq!(settings[1].value, Value::Switch(false));
        assert_eq!(settings[1].default, Some(Value::Switch(true)));
        assert_eq!(settings[2].value, Value::Number(5000));
        assert_eq!(settings[3].purpose, None);
        let error = all(Fixture::new().root()).unwrap_err();
        assert!(matches!(error, Error::ModuleNotLoaded));
    }

    #[test]
    fn switches_and_numbers_are_set() {
        let fixture = fixture();
        let outcome = set(fixture.root(), "boost", "on").unwrap();
        assert_eq!(
            (outcome.previous, outcome.value),
            (Value::Switch(false), Value::Switch(true))
        );
        assert_eq!(fixture.text(&format!("{DIRECTORY}/boost")), "Y");
        assert!(!set(fixture.root(), "boost", "Y").unwrap().changed);
        set(fixture.root(), "watchdog_ms", "100").unwrap();
        assert_eq!(fixture.text(&format!("{DIRECTORY}/watchdog_ms")), "100");
    }

    #[test]
    fn values_of_the_wrong_sort_are_refused() {
        let fixture = fixture();
        for (name, text) in [
            ("boost", "maybe"),
            ("watchdog_ms", "on"),
            ("watchdog_ms", "-1"),
        ] {
            let error = set(fixture.root(), name, text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
            assert_eq!(
                persist(fixture.root(), name, text).unwrap_err().kind(),
                ErrorKind::Usage
            );
        }
        assert!(!fixture.exists(PERSISTENT));
    }

    #[test]
    fn near_names_are_suggested() {
        let fixture = fixture();
        for (name, expected) in [
            ("bost", "boost"),
            ("watchdog", "watchdog_ms"),
            ("stmap", "stamp"),
        ] {
            match get(fixture.root(), name) {
                Err(Error::NoSuchSetting { near, .. }) => assert_eq!(near[0], expected),
                // Known, although this module lacks it.
                Err(Error::SettingMissing { .. }) => assert_eq!(name, "watchdog"),
                other => panic!("{other:?}"),
            }
        }
        let error = get(fixture.root(), "xyz").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.advice().contains("`fgio set`"));
    }

    #[test]
    fn settings_of_the_load_say_how() {
        let fixture = fixture();
        read_only(&fixture, "novelty");
        let error = set(fixture.root(), "novelty", "8").unwrap_err();
        assert!(matches!(error, Error::SettingAtLoad { .. }));
        assert!(error.advice().contains("--persist"), "{}", error.advice());
        persist(fixture.root(), "novelty", "8").unwrap();
        assert_eq!(fixture.text(PERSISTENT), "options fgio novelty=8\n");
    }

    #[test]
    fn reset_restores_settings_that_have_a_default() {
        let fixture = fixture();
        let done = reset(fixture.root()).unwrap();
        let names: Vec<_> = done.iter().map(|set| set.name.as_str()).collect();
        assert_eq!(names, ["boost", "watchdog_ms"]);
        assert_eq!(fixture.text(&format!("{DIRECTORY}/watchdog_ms")), "30000");
        assert_eq!(fixture.text(&format!("{DIRECTORY}/novelty")), "7\n");
        assert!(reset(fixture.root()).unwrap().is_empty());
    }

    #[test]
    fn persisting_leaves_the_rest_of_the_file_alone() {
        let fixture = fixture();
        fixture.file(
            PERSISTENT,
            "# mine\noptions fgio boost=N novelty=9\noptions other boost=N\n",
        );
        persist(fixture.root(), "boost", "on").unwrap();
        persist(fixture.root(), "boost", "off").unwrap();
        assert_eq!(
            fixture.text(PERSISTENT),
            "# mine\noptions fgio novelty=9\noptions other boost=N\noptions fgio boost=N\n"
        );
        persist_nothing(fixture.root()).unwrap();
        assert_eq!(
            fixture.text(PERSISTENT),
            "# mine\noptions fgio novelty=9\noptions other boost=N\n"
        );
        assert!(!fixture.exists("/etc/modprobe.d/fgio.conf.new"));
    }

    #[test]
    fn switches_are_read() {
        let fixture = Fixture::new();
        let found = switches(fixture.root());
        assert!(found.contains_key("journal") && !found.contains_key("watchdog_ms"));
        assert!(found.values().all(Option::is_none));
        fixture.file("/sys/module/fgio/parameters/stamp", "Y\n");
        fixture.file("/sys/module/fgio/parameters/admission", "N\n");
        let found = switches(fixture.root());
        assert_eq!(
            (found["stamp"], found["admission"], found["boost"]),
            (Some(true), Some(false), None)
        );
    }
}
