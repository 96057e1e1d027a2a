// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings: /etc/fgio/fgiod.toml over the defaults.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use fgio_profile::{Document, Fault, Patterns};
use fgio_sys::Root;

use crate::cache::Mode;

pub const PATH: &str = "/etc/fgio/fgiod.toml";

#[derive(Clone, Debug)]
pub struct Config {
    /// Where metrics are served; nowhere when `None`.
    pub metrics_address: Option<SocketAddr>,
    /// All of /proc is looked through so often, as a net under the events.
    pub rescan_interval: Duration,
    /// Titles change without an event: they are read so often, or more rarely
    /// when that takes too much of a processor.
    pub title_interval: Duration,
    /// Limit on the time for reading titles, in percent of one processor.
    pub title_cpu_percent_max: u64,
    /// Threads that are remembered at once.
    pub threads_max: usize,
    /// When `fgiod cache` divides the page cache.
    pub page_cache: Mode,
    /// So often, or more rarely when that takes too much of a processor.
    pub page_cache_interval: Duration,
    /// Limit on the time for looking at cgroups, in percent of one processor.
    pub page_cache_cpu_percent_max: u64,
    /// Whether what a cgroup hits in the page cache counts towards its part of drives.
    pub page_cache_hits: bool,
    /// The users that processes must have to get tags; all users when empty.
    pub users: Patterns,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            metrics_address: Some(SocketAddr::from(([127, 0, 0, 1], 9753))),
            rescan_interval: Duration::from_secs(10),
            title_interval: Duration::from_millis(50),
            title_cpu_percent_max: 1,
            threads_max: 65_536,
            page_cache: Mode::Weights,
            page_cache_interval: Duration::from_millis(500),
            page_cache_cpu_percent_max: 1,
            page_cache_hits: true,
            users: Patterns::none(),
        }
    }
}

const NAMES: [&str; 10] = [
    "metrics_address",
    "rescan_interval_ms",
    "title_interval_ms",
    "title_cpu_percent_max",
    "threads_max",
    "page_cache",
    "page_cache_interval_ms",
    "page_cache_cpu_percent_max",
    "page_cache_hits",
    "users",
];

impl Config {
    pub fn load(root: &Root) -> Result<Self, Fault> {
        let path = root.path(PATH);
        match fs::read_to_string(&path) {
            Ok(text) => Self::parse(&path, &text),
            Err(source) if source.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(Fault::unreadable(&path, &source)),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self, Fault> {
        let mut config = Self::default();
        let document = Document::parse(path, text)?;
        for field in document.fields(&NAMES)? {
            match field.name {
                "metrics_address" => config.metrics_address = address(&field)?,
                "rescan_interval_ms" => {
                    config.rescan_interval = Duration::from_millis(field.number(1000..=30_000)?);
                }
                "title_interval_ms" => {
                    config.title_interval = Duration::from_millis(field.number(5..=10_000)?);
                }
                "title_cpu_percent_max" => config.title_cpu_percent_max = field.number(1..=100)?,
                "threads_max" => config.threads_max = field.number(1..=1_048_576)? as usize,
                "page_cache" => config.page_cache = mode(&field)?,
                "page_cache_interval_ms" => {
                    config.page_cache_interval = Duration::from_millis(field.number(100..=10_000)?);
                }
                "page_cache_cpu_percent_max" => {
                    config.page_cache_cpu_percent_max = field.number(1..=100)?;
                }
                "page_cache_hits" => config.page_cache_hits = field.is_true()?,
                _ => config.users = field.patterns()?,
            }
        }
        Ok(config)
    }
}

fn mode(field: &fgio_profile::Field<'_>) -> Result<Mode, Fault> {
    let text = field.text()?;
    let found = Mode::NAMES.iter().find(|(name, _)| *name == text);
    found.map(|(_, mode)| *mode).ok_or_else(|| {
        field.fault(
            format!("{text:?} says not when to divide the page cache"),
            "give \"weights\" (where weights differ), \"all\" (always) or \"off\"",
        )
    })
}

fn address(field: &fgio_profile::Field<'_>) -> Result<Option<SocketAddr>, Fault> {
    let text = field.text()?;
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        field.fault(
            format!("{text} is no address to listen at"),
            "give ADDRESS:PORT, such as \"127.0.0.1:9753\" or \"[::1]:9753\"; \"\" serves no metrics",
        )
    })
}

impl fmt::Display for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.metrics_address.map(|address| address.to_string());
        let users: Vec<String> = self
            .users
            .sources()
            .iter()
            .map(|user| format!("{user:?}"))
            .collect();
        writeln!(formatter, "# fgiod, {PATH} over the defaults")?;
        writeln!(
            formatter,
            "metrics_address = \"{}\"",
            address.unwrap_or_default()
        )?;
        writeln!(
            formatter,
            "rescan_interval_ms = {}",
            self.rescan_interval.as_millis()
        )?;
        writeln!(
            formatter,
            "title_interval_ms = {}",
            self.title_interval.as_millis()
        )?;
        writeln!(
            formatter,
            "title_cpu_percent_max = {}",
            self.title_cpu_percent_max
        )?;
        writeln!(formatter, "threads_max = {}", self.threads_max)?;
        writeln!(formatter, "page_cache = {:?}", self.page_cache.name())?;
        writeln!(
            formatter,
            "page_cache_interval_ms = {}",
            self.page_cache_interval.as_millis()
        )?;
        writeln!(
            formatter,
            "page_cache_cpu_percent_max = {}",
            self.page_cache_cpu_percent_max
        )?;
        writeln!(formatter, "page_cache_hits = {}", self.page_cache_hits)?;
        match &users[..] {
            [] => writeln!(
                formatter,
                "# users = [\"postgres\"]   # processes of all users when absent"
            ),
            users => writeln!(formatter, "users = [{}]", users.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, Fault> {
        Config::parse(Path::new("/c"), text)
    }

    #[test]
    fn printed_settings_mean_the_same() {
        let text = "metrics_address = '[::1]:1'\ntitle_interval_ms = 20\nusers = ['db.*', 'x']\npage_cache = 'all'\npage_cache_hits = false\n";
        let config = parse(text).unwrap();
        let again = parse(&config.to_string()).unwrap();
        assert_eq!(config.to_string(), again.to_string());
        assert_eq!(again.title_interval, Duration::from_millis(20));
        assert_eq!(again.rescan_interval, Duration::from_secs(10));
        assert!(!again.page_cache_hits && Config::default().page_cache_hits);
        assert!(again.users.match_whole("db1") && !again.users.match_whole("root"));
        let silent = parse("metrics_address = ''").unwrap();
        assert_eq!(silent.metrics_address, None);
        assert_eq!(parse(&silent.to_string()).unwrap().metrics_address, None);
        assert!(
            parse(&Config::default().to_string())
                .unwrap()
                .users
                .sources()
                .is_empty()
        );
    }

    #[test]
    fn wrong_settings_are_refused_with_the_line() {
        for (text, place) in [
            ("\nmetrics_adress = ''", "/c:2:1"),
            ("metrics_address = '9753'", "/c:1:19"),
            ("title_interval_ms = 0", "/c:1:21"),
            ("rescan_interval_ms = 'x'", "/c:1:22"),
            ("users = ['(']", "/c:1:10"),
            ("page_cache = 'on'", "/c:1:14"),
            ("page_cache_interval_ms = 1", "/c:1:26"),
            ("page_cache_hits = 1", "/c:1:19"),
        ] {
            let fault = parse(text).unwrap_err();
            assert!(fault.to_string().starts_with(place), "{fault}");
        }
    }
}
