// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The arguments; their doc comments are the help and the manual pages.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, ArgGroup, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use fgio_model::blame::By;
use fgio_model::setting;
use fgio_model::tag::Class;

const DETAILS: &str = "\
Examples:
  fgio enable sda                     switch a disk to fgio (as root)
  fgio tag $(pidof -s redis-server)   requests wait for this process
  fgio run --background -- pg_dump app
  fgio status --watch                 what goes on, every second
  fgio blame                          what foreground tasks waited for
  fgio profile test 4711              what the profiles make of it, and why
  fgio set boost off                  look on, but do not interfere
  fgio disable sda                    and back

Exit status:
  0  done
  1  the operation failed, or `doctor` found an error
  2  wrong usage
  3  the module is not loaded, cannot be loaded or does not match
  4  no permission
  5  no such device, task or setting
  `fgio run` exits as its command does; 125 when fgio itself failed,
  126 when the command cannot be run, 127 when it does not exist.

JSON:
  With --json the answer is one line of JSON on standard output. Errors and
  warnings are lines on standard error: {\"error\": {\"kind\", \"message\", \"advice\",
  \"exit_status\"}} and {\"warning\": {\"message\", \"advice\"}}.";

/// Put foreground I/O first.
///
/// fgio is an I/O scheduler that lets the I/O that a user's request waits for
/// overtake the I/O that nobody waits for. This command switches disks to it
/// and back, says which threads are foreground, and shows what goes on.
#[derive(Debug, Parser)]
#[command(name = "fgio", version, after_long_help = DETAILS)]
pub struct Arguments {
    /// Answer in JSON
    #[arg(long, global = true)]
    pub json: bool,

    /// Work on a directory that imitates a system (for tests)
    #[arg(
        long,
        global = true,
        hide = true,
        value_name = "DIR",
        env = "FGIO_TEST_ROOT",
        hide_env = true
    )]
    pub root: Option<PathBuf>,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Put disks under fgio
    ///
    /// Loads the module if need be, remembers the disk's present scheduler in
    /// /run/fgio and switches. A disk under fgio is left as it is. The choice
    /// lasts until the disk goes away or the system reboots.
    Enable {
        /// Disks: names (sda), device nodes (/dev/sda), or partitions, for which the whole disk is taken
        #[arg(required = true, value_name = "DEV")]
        devices: Vec<String>,
    },

    /// Give disks their former scheduler back
    ///
    /// The scheduler that `fgio enable` replaced, or the kernel's own choice
    /// for such a disk when that is not known. Safe under load.
    Disable {
        /// Disks: names (sda), device nodes (/dev/sda), or partitions, for which the whole disk is taken
        #[arg(required = true, value_name = "DEV")]
        devices: Vec<String>,
    },

    /// Show the module, the disks and the tagged threads
    ///
    /// The counters of disks under fgio need root; without it they are left
    /// out.
    Status {
        /// Keep showing, with figures per second, until Ctrl-C
        #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "1", value_parser = interval)]
        watch: Option<Duration>,
    },

    /// Say what the I/O of a process or thread is worth
    ///
    /// Tags all threads that the process has; those it starts later have no
    /// tag. A tag counts for more than the I/O priority, survives execve(2) and
    /// ends with its thread. Threads of other users need root.
    Tag(TagArguments),

    /// Run a command with the I/O of a class
    ///
    /// Sets an I/O priority, then runs the command in its place: best-effort
    /// level 0 for the foreground, the idle class for the background. `run`
    /// uses the I/O priority because the command's threads and children inherit
    /// it, which they do not do with a tag: a tag names one thread that serves
    /// requests, and what that thread starts need not. Without the module the
    /// command runs all the same, and other schedulers heed the priority too.
    Run(RunArguments),

    /// Show what foreground tasks waited for
    ///
    /// The module remembers every wait of a foreground task from
    /// blame_threshold_us on (see `fgio set`): who was waited for, whom that one
    /// waited for, and so on down to the cause, and what fgio did about it. It does
    /// so while the switch boost is off, too: then it only looks on. Needs root.
    Blame(BlameArguments),

    /// Show and change the switches and numbers of the module
    ///
    /// Without a name, lists all with what they are for. Changes take effect at
    /// once and last until the module is unloaded, unless --persist is given; they
    /// need root.
    Set(SetArguments),

    /// Take up work again after the watchdog let everything through
    ///
    /// When I/O does not move for watchdog_ms (see `fgio set`), the module lets
    /// everything through as if there were no foreground tasks, until it is told
    /// to take up work again. `fgio status` says why it did. Needs root.
    Rearm,

    /// Look at the profiles, by which fgiod tags the threads of databases
    ///
    /// A profile says which threads of a program serve requests. Profiles are in
    /// /usr/lib/fgio/profiles; files of the same name in /etc/fgio/profiles mask
    /// them, drop-ins in NAME.toml.d/ extend them.
    #[command(subcommand)]
    Profile(ProfileCommand),

    /// Find what hinders fgio on this system, and say what to do
    ///
    /// Exits with 1 when a finding is an error; warnings do not count.
    Doctor,

    /// Print completions for a shell
    Completions {
        #[arg(value_enum)]
        shell: Shell,
    },

    /// Write the manual pages
    #[command(hide = true)]
    Man {
        /// Existing directory to write them to
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub enum ProfileCommand {
    /// List the profiles, and those that are refused
    List,

    /// Show a profile with its drop-ins: the program, and the rules in their order
    Show {
        #[arg(value_name = "NAME")]
        name: String,
    },

    /// Check profiles and the cases that they hold
    ///
    /// Says file, line and column of what is wrong. Exits with 1 when a profile is
    /// refused or a case is not as it says.
    Check {
        /// Files to check; all installed profiles with their drop-ins when none is given
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },

    /// Say what the profiles make of a process, thread by thread, and why
    ///
    /// Shows the rule that decides, where it stands, and the tag that each thread
    /// has now. The titles of other users' processes need root where /proc is
    /// mounted with hidepid.
    Test {
        /// Process, or thread of it
        #[arg(value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
        pid: i32,
    },
}

#[derive(Debug, Args)]
pub struct TagArguments {
    /// Process, or thread
    #[arg(value_name = "PID|TID", value_parser = clap::value_parser!(i32).range(1..))]
    pub id: i32,

    /// Requests wait for it (the default)
    #[arg(long, group = "class")]
    pub foreground: bool,

    /// Nobody waits for it
    #[arg(long, group = "class")]
    pub background: bool,

    /// Clear the tag: the I/O priority decides
    #[arg(long, group = "class")]
    pub none: bool,

    /// Only the thread of this id, not all threads of its process
    #[arg(long)]
    pub thread: bool,
}

impl TagArguments {
    pub fn class(&self) -> Class {
        match (self.background, self.none) {
            (true, _) => Class::Background,
            (_, true) => Class::None,
            _ => Class::Foreground,
        }
    }
}

#[derive(Debug, Args)]
pub struct RunArguments {
    /// Requests wait for the command (the default)
    #[arg(long, group = "class")]
    pub foreground: bool,

    /// Nobody waits for the command
    #[arg(long, group = "class")]
    pub background: bool,

    /// The command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD"
    )]
    pub command: Vec<OsString>,
}

impl RunArguments {
    pub fn class(&self) -> Class {
        if self.background {
            Class::Background
        } else {
            Class::Foreground
        }
    }
}

#[derive(Debug, Args)]
pub struct BlameArguments {
    /// Show waits as they end, one a line, until Ctrl-C
    #[arg(short, long, conflicts_with_all = ["period", "by", "top"])]
    pub follow: bool,

    /// Only waits that ended in the last so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = period, conflicts_with = "period")]
    pub since: Option<Duration>,

    /// Wait for so long (or until Ctrl-C), and sum up what came meanwhile
    #[arg(long = "for", id = "period", value_name = "SECONDS", value_parser = period)]
    pub period: Option<Duration>,

    /// What waits are counted together
    #[arg(long, value_enum, default_value = "cause")]
    pub by: Grouping,

    /// How many causes are shown
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,

    /// Only waits of so many milliseconds and longer
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub min: Option<f64>,
}

/// What waits are counted together.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Grouping {
    /// What was waited for, and the last task on the way
    Cause,
    /// What was waited for
    Kind,
    /// Who waited
    Task,
    /// The whole way from who waited to the cause
    Chain,
}

impl From<Grouping> for By {
    fn from(grouping: Grouping) -> Self {
        match grouping {
            Grouping::Cause => Self::Cause,
            Grouping::Kind => Self::Kind,
            Grouping::Task => Self::Task,
            Grouping::Chain => Self::Chain,
        }
    }
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("change"))]
pub struct SetArguments {
    /// Switch or number
    #[arg(value_name = "NAME", value_parser = SettingName, hide_possible_values = true)]
    pub name: Option<String>,

    /// on or off for a switch, a whole number for others
    #[arg(value_name = "VALUE", group = "change")]
    pub value: Option<String>,

    /// Give every switch and number its default back
    #[arg(long, group = "change", conflicts_with = "name")]
    pub reset: bool,

    /// Also for when the module is loaded again, in /etc/modprobe.d/fgio.conf
    #[arg(long, requires = "change")]
    pub persist: bool,
}

/// Takes any name, since the module may have settings that this command does not
/// know, and completes those that it knows.
#[derive(Clone)]
struct SettingName;

impl TypedValueParser for SettingName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = setting::KNOWN.iter();
        Some(Box::new(names.map(|known| {
            PossibleValue::new(known.name).help(known.purpose)
        })))
    }
}

fn period(text: &str) -> Result<Duration, String> {
    const RANGE: std::ops::RangeInclusive<f64> = 0.1..=31_536_000.0;
    match text.parse::<f64>() {
        Ok(seconds) if RANGE.contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("give seconds from 0.1 on".to_owned()),
    }
}

fn milliseconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(milliseconds) if milliseconds >= 0.0 => Ok(milliseconds),
        _ => Err("give milliseconds".to_owned()),
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    const RANGE: std::ops::RangeInclusive<f64> = 0.1..=3600.0;
    match text.parse::<f64>() {
        Ok(seconds) if RANGE.contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("give seconds from 0.1 to 3600".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn options_after_the_command_are_the_commands() {
        let parsed =
            Arguments::try_parse_from(["fgio", "run", "--background", "ls", "--json"]).unwrap();
        assert!(!parsed.json);
        match parsed.command {
            Command::Run(run) => {
                assert_eq!(run.class(), Class::Background);
                assert_eq!(run.command, ["ls", "--json"]);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn settings_that_are_not_known_are_let_through() {
        let parsed = Arguments::try_parse_from(["fgio", "set", "novelty", "1", "--persist"]);
        assert!(parsed.is_ok());
        for arguments in [
            &["set", "--persist"][..],
            &["set", "boost", "--persist"],
            &["set", "boost", "--reset"],
            &["blame", "--follow", "--for", "1"],
            &["blame", "--min", "-1"],
            &["blame", "--by", "nonsense"],
        ] {
            let arguments = std::iter::once(&"fgio").chain(arguments);
            assert!(
                Arguments::try_parse_from(arguments.clone()).is_err(),
                "{arguments:?}"
            );
        }
        assert!(Arguments::try_parse_from(["fgio", "set", "--reset", "--persist"]).is_ok());
    }

    #[test]
    fn intervals_have_a_range() {
        assert_eq!(interval("0.5"), Ok(Duration::from_millis(500)));
        for text in ["0", "-1", "nan", "inf", "x", ""] {
            assert!(interval(text).is_err(), "{text}");
        }
    }
}
