// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All profiles of a system.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fgio_sys::Root;

use crate::facts::{Needs, ProcessFacts, TaskFacts};
use crate::{Decision, Fault, Profile, merge, parse};

/// Where profiles are: the later masks the earlier.
pub const DIRECTORIES: [&str; 2] = ["/usr/lib/fgio/profiles", "/etc/fgio/profiles"];

/// Profiles longer than this are taken for something else.
const FILE_MAX_BYTES: u64 = 1 << 20;

/// The usable profiles, and the faults of the others.
#[derive(Debug, Default)]
pub struct Library {
    /// By name: the first one whose program a process is decides.
    pub profiles: Vec<Profile>,
    pub faults: Vec<Fault>,
    /// Profiles that are switched off by an empty file.
    pub masked: Vec<PathBuf>,
}

impl Library {
    /// Reads the profiles in [`DIRECTORIES`].
    pub fn load(root: &Root) -> Self {
        let directories: Vec<PathBuf> = DIRECTORIES.iter().map(|path| root.path(path)).collect();
        Self::load_from(&directories)
    }

    /// Reads the profiles in `directories`, the later of which mask the earlier.
    pub fn load_from(directories: &[PathBuf]) -> Self {
        let mut library = Self::default();
        let files = library.newest_files(directories);
        for (name, file) in &files {
            let drop_in_directories: Vec<PathBuf> = directories
                .iter()
                .map(|directory| directory.join(format!("{name}.toml.d")))
                .collect();
            let drop_ins = library.newest_files(&drop_in_directories);
            match read_profile(name, file, drop_ins.values()) {
                Ok(Some(profile)) => library.profiles.push(profile),
                Ok(None) => library.masked.push(file.clone()),
                Err(fault) => library.faults.push(fault),
            }
        }
        library
    }

    /// One profile from a file, wherever it is.
    pub fn load_file(file: &Path) -> Self {
        let mut library = Self::default();
        let name = merge::name_of(file).unwrap_or_else(|| file.display().to_string());
        match read_profile(&name, file, std::iter::empty()) {
            Ok(Some(profile)) => library.profiles.push(profile),
            Ok(None) => library.masked.push(file.to_owned()),
            Err(fault) => library.faults.push(fault),
        }
        library
    }

    fn newest_files(&mut self, directories: &[PathBuf]) -> BTreeMap<String, PathBuf> {
        let mut files = BTreeMap::new();
        for directory in directories {
            let entries = match fs::read_dir(directory) {
                Ok(entries) => entries,
                Err(source) if source.kind() == ErrorKind::NotFound => continue,
                Err(source) => {
                    self.faults.push(Fault::unreadable(directory, &source));
                    continue;
                }
            };
            for entry in entries.flatten() {
                if let Some(name) = merge::name_of(&entry.path()) {
                    files.insert(name, entry.path());
                }
            }
        }
        files
    }

    /// Whether threads of a process with this command name may get a class.
    /// Everything else is left alone at the cost of this question.
    pub fn may_concern(&self, process_comm: &str) -> bool {
        let mut profiles = self.profiles.iter();
        profiles.any(|profile| profile.program.comm.match_whole(process_comm))
    }

    /// Facts that rules need of processes with this command name.
    pub fn needs(&self, process_comm: &str) -> Needs {
        let concerned = self.profiles.iter();
        concerned
            .filter(|profile| profile.program.comm.match_whole(process_comm))
            .map(Profile::needs)
            .fold(Needs::default(), Needs::and)
    }

    /// The profile of a process.
    pub fn profile_of(&self, process: &ProcessFacts) -> Option<&Profile> {
        let mut profiles = self.profiles.iter();
        profiles.find(|profile| profile.program.matches(process))
    }

    /// The decision about a thread; `None` when its process is no profile's program.
    pub fn decide(&self, facts: &TaskFacts<'_>) -> Option<Decision<'_>> {
        let profile = self.profile_of(facts.process)?;
        Some(Decision {
            profile,
            rule: profile.rule_for(facts),
        })
    }
}

fn read_profile<'a>(
    name: &str,
    file: &Path,
    drop_ins: impl Iterator<Item = &'a PathBuf>,
) -> Result<Option<Profile>, Fault> {
    let Some(profile) = merge::profile(name, read_part(file)?)? else {
        return Ok(None);
    };
    // An unreadable drop-in may keep the profile harmless: all or nothing.
    let parts = drop_ins
        .map(|file| read_part(file))
        .collect::<Result<_, _>>()?;
    Ok(Some(merge::with_drop_ins(profile, parts)))
}

fn read_part(file: &Path) -> Result<parse::Part, Fault> {
    let text = read_text(file).map_err(|source| Fault::unreadable(file, &source))?;
    parse::part(file, &text)
}

fn read_text(file: &Path) -> std::io::Result<String> {
    if fs::metadata(file)?.len() > FILE_MAX_BYTES {
        return Err(std::io::Error::other("longer than 1 MiB"));
    }
    fs::read_to_string(file)
}
