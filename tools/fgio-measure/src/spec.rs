// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The text of a model file, and whether core will take it.
//!
//! The format is that of core/simdisk_spec.c, of the parameters that are written
//! here. `tools/fgio/tests/measure.rs` compares [`check`] with that file itself.

use std::fmt::Write;

use crate::fit::{Figures, Fitted, SIZES};
use crate::samples::SHARES;

/// The kind of drive in a model file's first line.
pub const KIND: &str = "measured";

/// Longest module parameter of the kernel in bytes, with room for its name: lab/drives.py.
const CHARACTERS_MAX: usize = 1000;

/// A limit of the direction is worth a line below this share of that of both.
const OWN_LIMIT: f64 = 0.95;

const NS_PER_S: u64 = 1_000_000_000;
const TIME_MAX: u64 = 4 * NS_PER_S;
const RATE_MAX: u64 = 1 << 40;
const STREAM_MIN: u64 = 1_000_000;
const IOPS_MAX: u64 = 100_000_000;
const SCALING_MIN: f64 = 0.01;
const SCALING_MAX: f64 = 1000.0;

/// The properties that a drive announces to the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Announced {
    pub is_rotational: bool,
    pub has_volatile_cache: bool,
    pub physical_block: u64,
    /// The longest I/O, in bytes.
    pub io_max: u64,
    /// Commands that it takes at once; 0: not announced.
    pub queue_depth: u64,
}

/// The text of a model file, without the comments at its head.
pub fn write(fitted: &Fitted, announced: &Announced) -> String {
    let mut text = format!("{KIND}\n");
    // How many are served at once, `*_scaling` says; this only has to be no less.
    line(&mut text, "parallel", "256", "");
    if announced.is_rotational {
        line(&mut text, "rotational", "on", "");
    }
    if (512..=65536).contains(&announced.physical_block) {
        line(
            &mut text,
            "physical_block",
            &announced.physical_block.to_string(),
            "",
        );
    }
    let io_max = announced.io_max & !4095;
    if io_max > 0 {
        let io_max = io_max.min(32 << 20) >> 10;
        line(&mut text, "max_io", &format!("{io_max}Ki"), "");
    }
    if (1..=1024).contains(&announced.queue_depth) {
        line(
            &mut text,
            "queue_depth",
            &announced.queue_depth.to_string(),
            "",
        );
    }
    if let Some(limit) = fitted.iops {
        line(&mut text, "iops", &iops(limit), "");
    }
    if let Some(limit) = fitted.bytes_per_s {
        line(&mut text, "bytes_per_s", &rate(limit), "");
    }
    side(&mut text, "read", &fitted.reads, fitted, "");
    match &fitted.writes {
        Some(writes) => side(&mut text, "write", writes, fitted, ""),
        None => side(
            &mut text,
            "write",
            &fitted.reads,
            fitted,
            "not measured: as of reads",
        ),
    }
    if let (Some((times, count)), true) = (&fitted.flushes, announced.has_volatile_cache) {
        line(&mut text, "volatile_cache", "on", "");
        line(&mut text, "flush_times", &list(times), &of(*count));
    }
    text
}

fn line(text: &mut String, name: &str, value: &str, comment: &str) {
    let written = match comment {
        "" => writeln!(text, "{name}={value}"),
        comment => writeln!(text, "{name}={value}  # {comment}"),
    };
    // Writing to a string cannot fail.
    let _ = written;
}

fn of(count: usize) -> String {
    match count {
        1 => "1 sample".to_owned(),
        count => format!("{count} samples"),
    }
}

fn side(text: &mut String, name: &str, figures: &Figures, all: &Fitted, comment: &str) {
    let is_own = |own: f64, both: Option<f64>| both.is_none_or(|both| own < OWN_LIMIT * both);
    if let Some(limit) = figures.iops
        && is_own(limit, all.iops)
    {
        line(text, &format!("{name}_iops"), &iops(limit), comment);
    }
    if is_own(figures.bytes_per_s, all.bytes_per_s) {
        let limit = rate(figures.bytes_per_s);
        line(text, &format!("{name}_bytes_per_s"), &limit, comment);
    }
    if let Some(stream) = figures.stream.filter(|rate| *rate >= STREAM_MIN as f64) {
        line(text, &format!("{name}_stream"), &rate(stream), comment);
    }
    let scaling = figures.scaling.map(|times| {
        let times = times.clamp(SCALING_MIN, SCALING_MAX);
        trimmed(&format!("{times:.*}", decimals(times)))
    });
    line(
        text,
        &format!("{name}_scaling"),
        &scaling.join("/"),
        comment,
    );
    for ((times, count), bytes) in figures.service.iter().zip(SIZES) {
        let name = format!("{name}_{}k", bytes >> 10);
        let count = of(*count);
        let comment = if comment.is_empty() { &count } else { comment };
        line(text, &name, &list(times), comment);
    }
}

fn list(times: &[u64; SHARES.len()]) -> String {
    times.map(time).join("/")
}

/// Digits behind the point, for three that count.
fn decimals(value: f64) -> usize {
    match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    }
}

fn trimmed(number: &str) -> String {
    match number.contains('.') {
        true => number
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
        false => number.to_owned(),
    }
}

/// A time to three digits, so that a model fits into the module's parameter.
fn time(ns: u64) -> String {
    let ns = ns.min(TIME_MAX);
    let (unit, name) = match ns {
        999_500_000.. => (1e9, "s"),
        999_500.. => (1e6, "ms"),
        1000.. => (1e3, "us"),
        _ => return format!("{ns}ns"),
    };
    let value = ns as f64 / unit;
    // 9.996 has three digits as 10.0, no more as 10.00.
    let digits = decimals(value * 1.0005);
    format!("{}{name}", trimmed(&format!("{value:.digits$}")))
}

/// A number to four digits.
fn rounded(value: f64) -> u64 {
    let value = value.max(1.0) as u64;
    let mut unit = 1;
    while value / unit >= 10_000 {
        unit *= 10;
    }
    (value + unit / 2) / unit * unit
}

fn iops(value: f64) -> String {
    rounded(value).min(IOPS_MAX).to_string()
}

fn rate(value: f64) -> String {
    let value = rounded(value).min(RATE_MAX);
    match value.is_multiple_of(1_000_000) {
        true => format!("{}M", value / 1_000_000),
        false => match value.is_multiple_of(1000) {
            true => format!("{}k", value / 1000),
            false => value.to_string(),
        },
    }
}

/// The spec in a model file: its lines without comments and blanks, joined, as lab/drives.py does.
pub fn joined(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.split('#').next().unwrap_or_default();
        line.split_whitespace().collect::<String>()
    });
    let mut lines = lines.filter(|line| !line.is_empty());
    let kind = lines.next().unwrap_or_default();
    let settings: Vec<String> = lines.collect();
    match settings.is_empty() {
        true => kind,
        false => format!("{kind}:{}", settings.join(",")),
    }
}

/// The reason why core would not take a spec with these values.
pub fn check(spec: &str) -> Result<(), String> {
    if spec.chars().count() > CHARACTERS_MAX {
        return Err(format!(
            "it has {} characters, of which the module takes {CHARACTERS_MAX}",
            spec.chars().count()
        ));
    }
    let (kind, settings) = spec.split_once(':').unwrap_or((spec, ""));
    if kind != KIND {
        return Err(format!("{kind:?} is not the kind {KIND}"));
    }
    if !spec.contains(':') {
        return Ok(());
    }
    for setting in settings.split(',') {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let is_good = sort_of(name).is_some_and(|sort| sort.accepts(value));
        if !is_good {
            return Err(format!("{setting} is not accepted"));
        }
    }
    Ok(())
}

/// The range of a parameter's value.
enum Sort {
    Count(u64, u64),
    Bytes(u64, u64),
    /// 0, or from the number on.
    BytesOrNone(u64, u64),
    /// A multiple of 512 bytes, in bytes.
    Sectors(u64, u64),
    Switch,
    Quantiles,
    Scaling,
}

fn sort_of(name: &str) -> Option<Sort> {
    Some(match name {
        "parallel" | "queue_depth" => Sort::Count(1, 1024),
        "rotational" | "volatile_cache" => Sort::Switch,
        "physical_block" => Sort::Bytes(512, 65536),
        "max_io" => Sort::Sectors(4096, 65536 * 512),
        "iops" | "read_iops" | "write_iops" => Sort::Count(0, IOPS_MAX),
        "bytes_per_s" | "read_bytes_per_s" | "write_bytes_per_s" => Sort::Bytes(0, RATE_MAX),
        "read_stream" | "write_stream" => Sort::BytesOrNone(STREAM_MIN, RATE_MAX),
        "read_scaling" | "write_scaling" => Sort::Scaling,
        "read_4k" | "read_32k" | "read_256k" | "write_4k" | "write_32k" | "write_256k"
        | "flush_times" => Sort::Quantiles,
        _ => return None,
    })
}

const COUNTS: &[(&str, u64)] = &[("M", 1_000_000), ("k", 1000), ("", 1)];
const TIMES: &[(&str, u64)] = &[("s", NS_PER_S), ("ms", 1_000_000), ("us", 1000), ("ns", 1)];
const BYTES: &[(&str, u64)] = &[
    ("Gi", 1 << 30),
    ("G", 1_000_000_000),
    ("Mi", 1 << 20),
    ("M", 1_000_000),
    ("Ki", 1 << 10),
    ("k", 1000),
    ("", 1),
];
/// In millionths.
const SHARES_UNITS: &[(&str, u64)] = &[("", 1_000_000), ("%", 10_000)];

impl Sort {
    fn accepts(&self, text: &str) -> bool {
        let within = |units, low, high| {
            number(text, units).is_some_and(|value| (low..=high).contains(&value))
        };
        match *self {
            Self::Count(low, high) => within(COUNTS, low, high),
            Self::Bytes(low, high) => within(BYTES, low, high),
            Self::BytesOrNone(low, high) => within(BYTES, 0, 0) || within(BYTES, low, high),
            Self::Sectors(low, high) => {
                within(BYTES, low, high)
                    && number(text, BYTES).is_some_and(|value| value.is_multiple_of(512))
            }
            Self::Switch => matches!(text, "on" | "off" | "1" | "0"),
            Self::Quantiles => {
                let times = numbers(text, TIMES);
                times.is_some_and(|times| {
                    times.len() == SHARES.len()
                        && times.is_sorted()
                        && times.last().is_some_and(|last| *last <= TIME_MAX)
                })
            }
            Self::Scaling => numbers(text, SHARES_UNITS).is_some_and(|times| {
                times.len() == 7
                    && times
                        .iter()
                        .all(|one| (10_000..=1_000_000_000).contains(one))
            }),
        }
    }
}

fn numbers(text: &str, units: &[(&str, u64)]) -> Option<Vec<u64>> {
    text.split('/').map(|one| number(one, units)).collect()
}

/// A decimal number with one of the units behind it, in the smallest of them.
fn number(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    const WHOLE_MAX: u64 = 1 << 60;
    const DECIMALS_MAX: usize = 9;
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.');
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    let (whole, part) = match digits.split_once('.') {
        None => (digits, "0"),
        Some((whole, part)) => (whole, part),
    };
    if part.is_empty() || part.len() > DECIMALS_MAX {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    if whole > WHOLE_MAX / factor {
        return None;
    }
    let scale = 10_u64.pow(u32::try_from(part.len()).ok()?);
    let part: u64 = part.parse().ok()?;
    Some(whole * factor + (u128::from(part) * u128::from(*factor) / u128::from(scale)) as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fit::DEPTHS;

    fn figures(times: [u64; 10], scaling: f64, rate: f64) -> Figures {
        Figures {
            service: [(times, 100); 3],
            scaling: [scaling; DEPTHS.len()],
            iops: Some(rate),
            bytes_per_s: rate,
            stream: Some(rate),
        }
    }

    const ANNOUNCED: Announced = Announced {
        is_rotational: true,
        has_volatile_cache: true,
        physical_block: 4096,
        io_max: 1280 << 10,
        queue_depth: 32,
    };

    #[test]
    fn a_model_file_reads_like_this() {
        let mut reads = figures([80_000; 10], 1.904, 5e8);
        reads.service[0].0 = [
            999,
            1000,
            12_345,
            99_950,
            123_456,
            999_499,
            999_500,
            9_996_000,
            99_960_000,
            3_999_999_999,
        ];
        reads.service[0].1 = 1;
        reads.iops = None;
        let fitted = Fitted {
            iops: Some(3012.4),
            bytes_per_s: Some(125_829_120.0),
            writes: None,
            flushes: None,
            reads: Figures {
                bytes_per_s: 125_829_120.0,
                stream: None,
                ..reads
            },
        };
        let text = write(&fitted, &ANNOUNCED);
        let expected = [
            "measured",
            "parallel=256",
            "rotational=on",
            "physical_block=4096",
            "max_io=1280Ki",
            "queue_depth=32",
            "iops=3012",
            "bytes_per_s=125800k",
            "read_scaling=1.9/1.9/1.9/1.9/1.9/1.9/1.9",
            "read_4k=999ns/1us/12.3us/100us/123us/999us/1ms/10ms/100ms/4s  # 1 sample",
            "read_32k=80us/80us/80us/80us/80us/80us/80us/80us/80us/80us  # 100 samples",
        ];
        assert_eq!(text.lines().take(11).collect::<Vec<_>>(), expected);
        assert!(text.contains("write_256k=80us/80us/80us/80us/80us/80us/80us/80us/80us/80us  # not measured: as of reads"));
        assert!(!text.contains("flush") && !text.contains("volatile"));
        check(&joined(&text)).unwrap();
    }

    #[test]
    fn files_are_joined_as_the_lab_joins_them() {
        assert_eq!(
            joined("# x\n measured \n\n a = 1 # y\nb=2"),
            "measured:a=1,b=2"
        );
        assert_eq!(joined("measured\n"), "measured");
        assert_eq!(joined(""), "");
    }

    #[test]
    fn specs_that_core_refuses_are_refused() {
        for spec in [
            "volume",
            "measured:",
            "measured:parallel=0",
            "measured:parallel",
            "measured:sigma2=1",
            "measured:read_4k=1us/2us",
            "measured:read_4k=2us/1us/1us/1us/1us/1us/1us/1us/1us/1us",
            "measured:read_scaling=0/1/1/1/1/1/1",
            "measured:read_stream=10k",
            "measured:max_io=1000",
            "measured:volatile_cache=yes",
        ] {
            assert!(check(spec).is_err(), "{spec}");
        }
        let long = format!("measured:{}", ["parallel=1000"; 80].join(","));
        assert!(check(&long).unwrap_err().contains("characters"));
    }

    proptest! {
        /// Any measurement can be loaded again, with the same values to three digits.
        #[test]
        fn any_figures_yield_a_model_that_fits(
            mut times in prop::array::uniform10(0..u64::MAX / 2),
            shift in 20..50_u32,
            scaling in 0.0..1e6_f64,
            rate in 0.0..1e13_f64,
            io_max in 0..1_u64 << 40,
        ) {
            times = times.map(|time| time >> shift);
            times.sort_unstable();
            let one = figures(times, scaling, rate);
            let fitted = Fitted {
                reads: one.clone(),
                writes: Some(one),
                iops: None,
                bytes_per_s: None,
                flushes: Some((times, 3)),
            };
            let text = write(&fitted, &Announced { io_max, ..ANNOUNCED });
            let spec = joined(&text);
            prop_assert_eq!(check(&spec), Ok(()), "{}", spec);
            let written = text.lines().find_map(|line| line.strip_prefix("read_4k="));
            let written = written.and_then(|line| line.split(' ').next()).unwrap();
            for (text, time) in written.split('/').zip(times) {
                let read = number(text, TIMES).unwrap() as f64;
                let time = time.min(TIME_MAX) as f64;
                prop_assert!((read - time).abs() <= 0.0051 * time, "{} of {}", text, time);
            }
        }
    }
}
