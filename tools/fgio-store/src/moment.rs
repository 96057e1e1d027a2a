// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A moment of a recording, as people say it.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::time::Duration;

/// A moment of a recording, as people say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    AfterBegin(Duration),
    BeforeEnd(Duration),
    /// `12:34:56` or `2026-01-31 12:34:56`; the end may be left out.
    At(String),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || "give 12:34:56, 2026-01-31 12:34:56, +10m or -5m".to_owned();
        let period = |text| humantime::parse_duration(text).map_err(|_| wrong());
        if let Some(rest) = text.strip_prefix('+') {
            return period(rest).map(Self::AfterBegin);
        }
        if let Some(rest) = text.strip_prefix('-') {
            return period(rest).map(Self::BeforeEnd);
        }
        let (shape, least) = if text.contains('-') {
            ("0000-00-00 00:00:00", "0000-00-00 00".len())
        } else {
            ("00:00:00", "00:00".len())
        };
        let text = text.replacen('T', " ", 1);
        let fits = text.chars().zip(shape.chars()).all(|(got, wanted)| {
            if wanted == '0' {
                got.is_ascii_digit()
            } else {
                got == wanted
            }
        });
        if fits && (least..=shape.len()).contains(&text.len()) {
            return Ok(Self::At(text));
        }
        Err(wrong())
    }
}

impl Display for Moment {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::AfterBegin(period) => {
                write!(formatter, "+{}", humantime::format_duration(*period))
            }
            Self::BeforeEnd(period) => {
                write!(formatter, "-{}", humantime::format_duration(*period))
            }
            Self::At(text) => formatter.write_str(text),
        }
    }
}

/// Nanoseconds of a period, as moments are counted.
pub fn nanoseconds(period: Duration) -> i64 {
    i64::try_from(period.as_nanos()).unwrap_or(i64::MAX)
}
