// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The arguments; their doc comments are the help and the manual pages.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, ArgGroup, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use fgio_measure::{Access, SIZE_MIN};
use fgio_model::blame::By;
use fgio_store::Moment;
use fgio_sys::cgroup::WEIGHTS;
use fgio_sys::class::Class;
use fgio_sys::request;
use fgio_sys::setting;

use crate::export::csv::Table;
use crate::view::terminal::Size;

/// The recording unless another is named.
const RECORDING: &str = "fgio.rec";

const DETAILS: &str = "\
Examples:
  fgio enable sda                     switch a disk to fgio (as root)
  fgio enable sda --persist           and at each boot
  fgio tag $(pidof redis-server)      requests wait for these processes
  fgio run --background -- tar -cf /backup/app.tar /srv/app
  fgio status --watch                 figures per second, every second
  fgio top                            disks, foreground tasks and waits, live
  fgio blame                          waits of foreground tasks and their causes
  fgio export --format csv            a recording as a table
  fgio profile test 4711              the class of each of its threads, and the rule
  fgio set boost off                  diagnosis only: boost nothing
  fgio share                          what each cgroup got of each disk
  fgio measure sda                    a model of a disk, for the lab
  fgio disable sda                    and back

Exit status:
  0  done
  1  the operation failed, or `doctor` found an error
  2  wrong usage
  3  the module is not loaded, cannot be loaded or does not match
  4  no permission
  5  no such device, task, cgroup, setting or recording
  `fgio run` exits as its command does; 125 when fgio itself failed,
  126 when the command cannot be run, 127 when it does not exist.

JSON:
  With --json the answer is one line of JSON on standard output. Errors and
  warnings are lines on standard error: {\"error\": {\"kind\", \"message\", \"advice\",
  \"exit_status\"}} and {\"warning\": {\"message\", \"advice\"}}.";

/// Put foreground I/O first.
///
/// fgio is an I/O scheduler that lets the I/O that a user's request waits for
/// overtake the I/O that no request waits for. This command switches disks to it
/// and back, says which threads are foreground, and shows disks, waits and
/// their causes.
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
    /// /run/fgio and switches. A disk under fgio stays there. Where the drive has a
    /// priority command (NCQ priority), turns it on, and critical requests go first
    /// in the drive, too. The choice lasts until the disk goes away or the system
    /// reboots; with --persist, it is made again whenever the disk appears.
    Enable(EnableArguments),

    /// Give disks their former scheduler back
    ///
    /// The scheduler that `fgio enable` replaced, or the kernel's own choice
    /// for such a disk when that is not known, and the drive's own priority as it
    /// was. Safe under load. Undoes `fgio enable --persist`, too. With the last disk,
    /// `fgiod cache` ends, and memory.low of all cgroups is as it was; so is
    /// vm.watermark_boost_factor, if a `fgio run --drop-behind` was killed.
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

    /// Say whether requests wait for the I/O of processes or threads
    ///
    /// Tags all threads that each process has; those it starts later have no
    /// tag. A tag counts for more than the I/O priority, survives execve(2) and
    /// ends with its thread. Threads of other users need root. When one fails, the
    /// others are tagged all the same, and the exit status is that of the first
    /// failure.
    ///
    /// The I/O of a database is done by its server: tag the server's processes, or
    /// let fgiod do it by profiles. A tag on a client such as pg_dump or psql has no
    /// effect on the session that the server runs for it.
    Tag(TagArguments),

    /// Run a command with the I/O of a class
    ///
    /// Sets an I/O priority, then runs the command in its place: best-effort
    /// level 0 for the foreground, the idle class for the background. `run`
    /// uses the I/O priority because the command's threads and children inherit
    /// it, which they do not do with a tag: a tag names one thread that serves
    /// requests, and the threads that it starts need not. Without the module the
    /// command runs all the same, and other schedulers heed the priority too.
    Run(RunArguments),

    /// Show disks, foreground tasks and their waits, live
    ///
    /// I/O of each disk by class, foreground tasks, their waits as they end with the
    /// actions of fgio, and the causes of the most waiting time. Goes on when the module is unloaded and loaded again. Where standard output is no
    /// terminal, prints a block of text, or with --json a line, for each interval.
    /// Without root, counters and waits are missing, and the view says so.
    ///
    /// Keys: q quit, h help, p pause, s sort, g shares of cgroups, r users' requests by
    /// their ids, Tab and the arrows scroll.
    Top(TopArguments),

    /// Record samples for `fgio replay` and `fgio export`
    ///
    /// Takes a sample of everything that `fgio top` shows in each interval, until
    /// Ctrl-C. The recording is a directory of segments; the oldest are removed. It
    /// can go on where a former one ended. When the recorder is cut off, the last
    /// sample is lost at most; after a power cut, also samples that the kernel had not
    /// written yet.
    Record(RecordArguments),

    /// Show a recording of `fgio record`
    ///
    /// In the view of `fgio top`. Where a part of the recording is damaged, a warning
    /// says which, and the rest is shown.
    ///
    /// Keys, beside those of `fgio top`: left and right 10 seconds, [ and ] a minute,
    /// comma and full stop a sample, Home, End, + and - speed.
    Replay(ReplayArguments),

    /// Write a recording as CSV or OpenMetrics, for other programs
    ///
    /// CSV is a table with a line of names: of disks, of the state, or of waits. Names end
    /// with the unit; an unknown value is an empty field. OpenMetrics has all of it but single
    /// waits, with the time of each sample, as `promtool tsdb create-blocks-from
    /// openmetrics` reads it; names are those of fgiod's metrics.
    ///
    /// Where a part of the recording cannot be read, warnings name it, the rest is
    /// written, and the exit status is 1.
    Export(ExportArguments),

    /// Show the waits of foreground tasks and their causes
    ///
    /// The module remembers each wait of a foreground task that lasted
    /// blame_threshold_us or longer (see `fgio set`), with the chain of tasks from the
    /// waiter down to the cause, and the actions of fgio. While the switch boost is
    /// off, it remembers waits too, and changes nothing.
    ///
    /// Waits of threads that serve users' requests with an id have that id: --by
    /// request lists the requests that waited, and --request ID shows what one of them
    /// waited for on this server. The age is the time since the request arrived, at the
    /// end of its longest wait; below zero, the clock that made the id is ahead.
    /// Needs root.
    Blame(BlameArguments),

    /// Show and change the switches and numbers of the module
    ///
    /// Without a name, lists all with their purposes. Changes take effect at
    /// once and last until the module is unloaded, unless --persist is given; they
    /// need root.
    Set(SetArguments),

    /// Show and set the shares that cgroups have of disks
    ///
    /// Cgroups share a disk by their io.weight (IOWeight= of systemd), 1 to 10,000 and
    /// 100 by default. A cgroup's guarantee is its part of the disk's time among those
    /// that do I/O; what one does not use goes to the others. A disk is shared while
    /// the setting `shares` is 1 and a cgroup that uses it has another weight than 100,
    /// or while it is 2 (see `fgio set`).
    ///
    /// Without a command, as `fgio share list`.
    Share(ShareArguments),

    /// Take up work again on disks that the watchdog lets through
    ///
    /// When I/O of a disk does not move for watchdog_ms (see `fgio set`), the
    /// module lets all I/O of that disk through as if there were no foreground
    /// tasks, until it is told to take up work again. `fgio status` says why it
    /// did. Needs root.
    Rearm {
        /// Disks: names (sda), device nodes (/dev/sda), or partitions, for which the whole disk is taken; all that the watchdog lets through when none is given
        #[arg(value_name = "DEV")]
        devices: Vec<String>,
    },

    /// Look at the profiles, by which fgiod tags the threads of databases
    ///
    /// A profile says which threads of a program serve requests. Profiles are in
    /// /usr/lib/fgio/profiles; files of the same name in /etc/fgio/profiles mask
    /// them, drop-ins in NAME.toml.d/ extend them.
    #[command(subcommand)]
    Profile(ProfileCommand),

    /// Measure a drive, and write a model of it that the lab can load
    ///
    /// Reads from it for two minutes and writes nothing to it: service times of reads
    /// anywhere of 4, 32 and 256 KiB, throughput of 2 to 128 at once, and reads
    /// in order. With --write or --destroy-data, the same of writes, and flushes. DEV
    /// can be a partition, a device on top of disks or a file as well; reading a disk
    /// needs root.
    ///
    /// This loads the drive fully: other programs that use it are slow and distort the
    /// figures. The I/O has the command's own priority, since the idle class would
    /// measure the scheduler. A drive may answer reads of unwritten
    /// blocks from its tables: use a drive or a file that holds data. Credits and quotas that last
    /// longer than the measurement are not seen.
    ///
    /// The file names the model of the drive, the kernel and the day, but no serial
    /// number and no path. `lab/run --device @FILE` runs experiments on it.
    Measure(MeasureArguments),

    /// Check this system for obstacles to fgio, with advice
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
    /// Names file, line and column of each fault. Exits with 1 when a profile is
    /// refused or a case is not as it says.
    Check {
        /// Files to check; all installed profiles with their drop-ins when none is given
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },

    /// Show the class of each thread of a process by the profiles, and the rule
    ///
    /// Shows the rule that decides, where it stands, and the tag that each thread
    /// has now. The titles of other users' processes need root where /proc is
    /// mounted with hidepid.
    Test {
        /// Process, or thread of it
        #[arg(value_name = "PID", value_parser = id)]
        pid: i32,
    },
}

#[derive(Debug, Args)]
pub struct EnableArguments {
    /// Disks: names (sda), device nodes (/dev/sda), or partitions, for which the whole disk is taken
    #[arg(required = true, value_name = "DEV")]
    pub devices: Vec<String>,

    /// Leave the drive's own priority as it was before fgio
    #[arg(long)]
    pub no_drive_priority: bool,

    /// Have it done at each boot, too: a rule of udev knows the disk by its WWN or serial number,
    /// or by its name if it has neither
    #[arg(long)]
    pub persist: bool,
}

#[derive(Debug, Args)]
pub struct TagArguments {
    /// Processes, or threads
    #[arg(required = true, value_name = "PID|TID", value_parser = id)]
    pub ids: Vec<i32>,

    /// Their I/O is critical: requests wait for it (the default)
    #[arg(long, group = "class")]
    pub foreground: bool,

    /// Their I/O is non-critical with any I/O priority
    #[arg(long, group = "class")]
    pub background: bool,

    /// Clear the tag: the I/O priority decides
    #[arg(long, group = "class")]
    pub none: bool,

    /// Only the threads of these ids, not all threads of their processes
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

    /// No request waits for the command
    #[arg(long, group = "class")]
    pub background: bool,

    /// Keep at most this much of what the command reads and writes in the page cache
    ///
    /// For backups and copies, which would evict the working set of databases. Without a number, a
    /// sixth of what is free as it begins, from 8 to 64 MiB. The command runs in a cgroup of its
    /// own; file pages that it brought in are reclaimed from there as it goes on, and the rest at
    /// its end. Pages that other tasks had brought in stay. Meanwhile the sysctl
    /// vm.watermark_boost_factor is 0, so that the kernel reclaims no more than it has to. Needs
    /// root, cgroup v2 and Linux 6.1; with swap space, Linux 6.10.
    #[arg(
        long,
        value_name = "MIB",
        num_args = 0..=1,
        require_equals = true,
        value_parser = clap::value_parser!(u64).range(1..=1_048_576)
    )]
    pub drop_behind: Option<Option<u64>>,

    /// Also what processes with this title bring in: a server's, for the command
    ///
    /// A regular expression for the whole title, such as 'postgres: .*walsender .* sending backup.*'
    /// for pg_basebackup, for which the server reads. Each is moved to the command's cgroup when it
    /// is seen, and back at the end of the command; other limits of its own cgroup do not hold for
    /// it meanwhile. May be repeated.
    #[arg(long, value_name = "TITLE", requires_all = ["drop_behind", "of"])]
    pub with: Vec<String>,

    /// The cgroup of the server that `--with` is about; processes of no other are moved
    ///
    /// A path below /sys/fs/cgroup, or the name of a unit. Any user can give a process any title.
    #[arg(long, value_name = "CGROUP", requires = "with")]
    pub of: Option<String>,

    /// Say at the end how much page cache was dropped, on standard error
    #[arg(long, requires = "drop_behind")]
    pub summary: bool,

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

    /// Only waits that ended within this time before now
    #[arg(long, value_name = "SECONDS", value_parser = period, conflicts_with = "period")]
    pub since: Option<Duration>,

    /// Collect waits for this time (or until Ctrl-C), and sum these up
    #[arg(long = "for", id = "period", value_name = "SECONDS", value_parser = period)]
    pub period: Option<Duration>,

    /// Count waits together by
    #[arg(long, value_enum, default_value = "cause")]
    pub by: Grouping,

    /// Show at most this number of causes
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = count)]
    pub top: usize,

    /// Only waits of this many milliseconds and longer
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub min: Option<f64>,

    /// Only waits of the user's request with this id, such as fgio:18bcfe5680000fff
    #[arg(long, value_name = "ID")]
    pub request: Option<request::Id>,
}

/// The parts of the view that `fgio top` and `fgio replay` show.
#[derive(Debug, Args)]
pub struct ShownArguments {
    /// Show it once, as text or with --json, and end
    #[arg(long)]
    pub once: bool,

    /// Time for which waits are shown and counted
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = interval)]
    pub window: Duration,

    /// With --once, the screen of a terminal of this size, such as 80x24
    #[arg(long, value_name = "COLUMNSxROWS", requires = "once", value_parser = size)]
    pub size: Option<Size>,
}

#[derive(Debug, Args)]
pub struct TopArguments {
    /// Time from one sample to the next
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    pub interval: Duration,

    #[command(flatten)]
    pub shown: ShownArguments,
}

#[derive(Debug, Args)]
pub struct RecordArguments {
    /// Directory to record to; made if need be
    #[arg(value_name = "DIR", default_value = RECORDING)]
    pub recording: PathBuf,

    /// Time that is kept, such as 90s, 30m, 1h or 2days
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = keep)]
    pub keep: Duration,

    /// Room that the recording may take, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = mebibytes)]
    pub max_mib: u64,

    /// Time from one sample to the next
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    pub interval: Duration,

    /// End after this time
    #[arg(long = "for", id = "period", value_name = "SECONDS", value_parser = period)]
    pub period: Option<Duration>,
}

#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// Directory that was recorded to, or a file of it
    #[arg(value_name = "DIR", default_value = RECORDING)]
    pub recording: PathBuf,

    /// Begin at a time: 12:34:56, "2026-01-31 12:34:56", +10m after the begin or
    /// -5m before the end; with --once, the default is the end
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub at: Option<Moment>,

    /// Play this many times faster
    #[arg(long, value_name = "N", default_value = "1", value_parser = speed)]
    pub speed: f64,

    #[command(flatten)]
    pub shown: ShownArguments,
}

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// Directory that was recorded to, or a file of it
    #[arg(value_name = "DIR", default_value = RECORDING)]
    pub recording: PathBuf,

    /// Format to write to standard output
    #[arg(long, value_enum)]
    pub format: Format,

    /// Table of --format csv
    #[arg(
        long,
        value_enum,
        value_name = "TABLE",
        default_value_if("format", "csv", "disks")
    )]
    pub table: Option<ExportedTable>,

    /// Begin at a time: 12:34:56, "2026-01-31 12:34:56", +10m after the begin or
    /// -5m before the end
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub since: Option<Moment>,

    /// End at a time, written in the same way
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<Moment>,
}

/// Format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Comma-separated values (RFC 4180)
    Csv,
    /// The text format of OpenMetrics 1.0
    Openmetrics,
}

/// Table of a CSV export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportedTable {
    /// A line for each disk and sample: I/O by class
    Disks,
    /// A line for each sample: the module, tags, boosts
    State,
    /// A line for each wait of a foreground thread
    Waits,
}

impl From<ExportedTable> for Table {
    fn from(table: ExportedTable) -> Self {
        match table {
            ExportedTable::Disks => Self::Disks,
            ExportedTable::State => Self::State,
            ExportedTable::Waits => Self::Waits,
        }
    }
}

#[derive(Debug, Args)]
pub struct MeasureArguments {
    /// Disk or partition: a name (sda) or a device node (/dev/sda); a file; with --write, a directory
    #[arg(value_name = "DEV|FILE|DIR")]
    pub target: String,

    /// File to write the model to
    #[arg(short, long, value_name = "FILE", default_value = "drive.txt")]
    pub out: PathBuf,

    /// Time that it may take; less time means fewer samples of rare events
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = measuring)]
    pub seconds: Duration,

    /// Measure writes and flushes, too, all in a file of --size that is made in DIR and
    /// removed; half of the free space stays free
    #[arg(long)]
    pub write: bool,

    /// Size of that file, such as 512Mi or 16Gi; one that no cache holds is best
    #[arg(long, value_name = "SIZE", default_value = "1Gi", value_parser = file_size, requires = "write")]
    pub size: u64,

    /// Measure writes and flushes, too, on the device itself: ALL DATA ON IT IS LOST. Refused
    /// while it is in use or holds a file system, a volume or partitions
    #[arg(long, conflicts_with = "write")]
    pub destroy_data: bool,

    /// Replace the file that --out names
    #[arg(long)]
    pub force: bool,
}

impl MeasureArguments {
    pub fn access(&self) -> Access {
        match (self.write, self.destroy_data) {
            (true, _) => Access::NewFile(self.size),
            (_, true) => Access::Destroy,
            _ => Access::Read,
        }
    }
}

/// Which waits are counted together.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Grouping {
    /// Kind of wait, and the last task of the chain
    Cause,
    /// Kind of wait
    Kind,
    /// The task that waited
    Task,
    /// Why the cause is not known, and the last kind of wait
    Reason,
    /// Whole chain from the waiting task to the cause
    Chain,
    /// The user's request, by its id
    Request,
}

impl From<Grouping> for By {
    fn from(grouping: Grouping) -> Self {
        match grouping {
            Grouping::Cause => Self::Cause,
            Grouping::Kind => Self::Kind,
            Grouping::Task => Self::Task,
            Grouping::Reason => Self::Reason,
            Grouping::Chain => Self::Chain,
            Grouping::Request => Self::Request,
        }
    }
}

#[derive(Debug, Args)]
pub struct ShareArguments {
    #[command(subcommand)]
    pub command: Option<ShareCommand>,
}

#[derive(Debug, Subcommand)]
pub enum ShareCommand {
    /// Show what each cgroup got of each disk, and holds of the page cache
    ///
    /// GOT is the part of the disk's time that was charged to the cgroup. A cgroup is
    /// below when it got less than its guarantee and had more I/O to do. While `fgiod
    /// cache` runs: file memory that each holds, is entitled to by its weight, lends to
    /// others, and may hold with what is lent. Needs root where a disk is under fgio.
    List(ShareListArguments),

    /// Give a cgroup a weight
    ///
    /// Writes its io.weight, for all disks and until the cgroup goes. For a unit of
    /// systemd, `systemctl set-property UNIT IOWeight=WEIGHT` does it for good. Needs
    /// root.
    Set {
        /// Path of a cgroup (/system.slice/cron.service), or its last part, where one alone has it
        #[arg(value_name = "CGROUP")]
        cgroup: String,
        /// 1 to 10000
        #[arg(value_name = "WEIGHT", value_parser = weight)]
        weight: u32,
    },

    /// Show how the share of a cgroup comes about
    ///
    /// For each disk that it uses: its weight and those beside it, from the root down,
    /// its guarantee, what it got, and the other cgroups that did I/O. Needs root.
    Explain {
        /// Path of a cgroup (/system.slice/cron.service), or its last part, where one alone has it
        #[arg(value_name = "CGROUP")]
        cgroup: String,

        /// Time over which it is measured what each got
        #[arg(long = "for", id = "period", value_name = "SECONDS", default_value = "1", value_parser = interval)]
        period: Duration,
    },
}

#[derive(Debug, Args)]
pub struct ShareListArguments {
    /// Disks: names (sda), device nodes (/dev/sda), or partitions, for which the whole disk is taken; all under fgio when none is given
    #[arg(value_name = "DEV")]
    pub devices: Vec<String>,

    /// Time over which it is measured what each got
    #[arg(long = "for", id = "period", value_name = "SECONDS", default_value = "1", value_parser = interval)]
    pub period: Duration,

    /// Show cgroups without I/O, too
    #[arg(long)]
    pub all: bool,

    /// Show at most this number of cgroups of each disk
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = count)]
    pub top: usize,
}

impl Default for ShareListArguments {
    fn default() -> Self {
        Self {
            devices: Vec::new(),
            period: Duration::from_secs(1),
            all: false,
            top: 20,
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

fn id(text: &str) -> Result<i32, String> {
    match text.parse::<i32>() {
        Ok(id) if id > 0 => Ok(id),
        _ => Err("give the number of a process or thread, such as 4711".to_owned()),
    }
}

fn count(text: &str) -> Result<usize, String> {
    let count = text.parse();
    count.map_err(|_| "give a whole number".to_owned())
}

fn weight(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(weight) if WEIGHTS.contains(&weight) => Ok(weight),
        _ => Err("give a weight from 1 to 10000; 100 is that of every other cgroup".to_owned()),
    }
}

fn mebibytes(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(size @ 1..=65536) => Ok(size),
        _ => Err("give a whole number from 1 to 65536".to_owned()),
    }
}

fn period(text: &str) -> Result<Duration, String> {
    const RANGE: std::ops::RangeInclusive<f64> = 0.1..=31_536_000.0;
    match text.parse::<f64>() {
        Ok(seconds) if RANGE.contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("give seconds from 0.1 to 31536000, which is a year".to_owned()),
    }
}

fn measuring(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (1.0..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("give seconds from 1 to 3600".to_owned()),
    }
}

fn file_size(text: &str) -> Result<u64, String> {
    const UNIT: u64 = 1 << 20;
    const MOST: u64 = 1 << 44;
    let units = [("Mi", UNIT), ("Gi", UNIT << 10)];
    let parts = units
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)));
    let number = parts.and_then(|(digits, unit)| Some((digits.parse::<u64>().ok()?, unit)));
    match number.and_then(|(number, unit)| number.checked_mul(unit)) {
        Some(bytes @ SIZE_MIN..=MOST) => Ok(bytes),
        _ => Err("give a size from 16Mi to 16384Gi, such as 512Mi or 4Gi".to_owned()),
    }
}

fn milliseconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(milliseconds) if milliseconds >= 0.0 => Ok(milliseconds),
        _ => Err("give milliseconds".to_owned()),
    }
}

fn keep(text: &str) -> Result<Duration, String> {
    const LEAST: Duration = Duration::from_secs(1);
    const MOST: Duration = Duration::from_secs(366 * 86_400);
    match humantime::parse_duration(text) {
        Ok(time) if (LEAST..=MOST).contains(&time) => Ok(time),
        _ => Err("give a time from 1s to 1year, such as 30m or 1h".to_owned()),
    }
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if (0.125..=1024.0).contains(&speed) => Ok(speed),
        _ => Err("give a number from 0.125 to 1024".to_owned()),
    }
}

fn size(text: &str) -> Result<Size, String> {
    const RANGE: std::ops::RangeInclusive<u16> = 20..=1000;
    let parts = text.split_once('x');
    let parts = parts.and_then(|(columns, rows)| Some((columns.parse().ok()?, rows.parse().ok()?)));
    match parts {
        Some((columns, rows)) if RANGE.contains(&columns) && (5..=1000).contains(&rows) => {
            Ok(Size { columns, rows })
        }
        _ => Err("give columns and rows, such as 80x24".to_owned()),
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
    fn times_speeds_and_sizes_have_a_range() {
        assert_eq!(keep("1h"), Ok(Duration::from_secs(3600)));
        assert_eq!(keep("1h 30m"), Ok(Duration::from_secs(5400)));
        for text in ["0s", "1", "", "2years", "-1h"] {
            assert!(keep(text).is_err(), "{text}");
        }
        assert_eq!(speed("0.5"), Ok(0.5));
        for text in ["0", "-1", "nan", "1025"] {
            assert!(speed(text).is_err(), "{text}");
        }
        let (columns, rows) = (80, 24);
        assert_eq!(size("80x24"), Ok(Size { columns, rows }));
        for text in ["80", "80x", "19x24", "80x4", "99999x24"] {
            assert!(size(text).is_err(), "{text}");
        }
        let at = Arguments::try_parse_from(["fgio", "replay", "--at", "-5m"]).unwrap();
        let Command::Replay(replay) = at.command else {
            panic!("{:?}", at.command);
        };
        let five_minutes = Duration::from_secs(300);
        assert_eq!(replay.at, Some(Moment::BeforeEnd(five_minutes)));
        assert_eq!(replay.recording, PathBuf::from(RECORDING));
    }

    #[test]
    fn intervals_have_a_range() {
        assert_eq!(interval("0.5"), Ok(Duration::from_millis(500)));
        for text in ["0", "-1", "nan", "inf", "x", ""] {
            assert!(interval(text).is_err(), "{text}");
        }
    }
}
