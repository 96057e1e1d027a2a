// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ids of users' requests (`uapi/fgio_request.h`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::uapi::{
    REQUEST_FOREIGN_MS as FOREIGN_MS, REQUEST_MS_SHIFT as MS_SHIFT, REQUEST_ORIGINS as ORIGINS,
};

/// What carries an id writes this before it.
const PREFIX: &str = "fgio:";
const DIGITS: usize = 16;
/// Of the milliseconds since 1970.
const MS_BITS: u32 = u64::BITS - MS_SHIFT;

/// When a user's request arrived, and where: never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(u64);

impl Id {
    /// `None` for 0, which is no id.
    pub fn new(number: u64) -> Option<Self> {
        (number != 0).then_some(Self(number))
    }

    /// The number of the clock that made the id.
    pub fn origin(self) -> u16 {
        (self.0 % ORIGINS) as u16
    }

    /// Milliseconds from the arrival to a time in nanoseconds of the Unix epoch, negative
    /// where the arrival is later; `None` where they are too many for an id.
    pub fn age_ms(self, at_ns: i64) -> Option<f64> {
        let arrived_ms = (self.0 >> MS_SHIFT).cast_signed();
        let whole = at_ns.div_euclid(1_000_000) - arrived_ms;
        // Ids wrap: the nearest arrival counts.
        let unused = i64::BITS - MS_BITS;
        let whole = whole << unused >> unused;
        let rest = at_ns.rem_euclid(1_000_000) as f64 / 1e6;
        (whole.abs() <= FOREIGN_MS).then_some(whole as f64 + rest)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{:016x}", self.0)
    }
}

/// As carriers write it, with a deadline and parts or without, or its digits alone.
impl FromStr for Id {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.strip_prefix(PREFIX).unwrap_or(text);
        let digits = digits.split('-').next().unwrap_or(digits);
        let number = Some(digits)
            .filter(|digits| digits.len() == DIGITS)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|digits| u64::from_str_radix(digits, 16).ok());
        number
            .and_then(Self::new)
            .ok_or_else(|| format!("{text:?} is no request id: {PREFIX} and {DIGITS} digits"))
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A user's request, as its parts carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub id: Id,
    /// When its user wants the answer, in milliseconds after its arrival.
    pub deadline_ms: Option<u32>,
    /// Sub-requests that it has, on all servers together.
    pub parts: Option<u32>,
}

impl Request {
    /// `None` without an id; 0 stands for what is not known.
    pub fn from_kernel(id: u64, deadline_ms: u32, parts: u32) -> Option<Self> {
        let known = |number: u32| Some(number).filter(|&number| number != 0);
        Some(Self {
            id: Id::new(id)?,
            deadline_ms: known(deadline_ms),
            parts: known(parts),
        })
    }

    /// Its id, its age at a time in nanoseconds of the Unix epoch, and its deadline.
    pub fn describe(&self, at_ns: i64) -> String {
        let mut text = self.id.to_string();
        match self.id.age_ms(at_ns) {
            Some(age) => text += &format!(", {age:.0} ms old"),
            None => text += ", which is no time near this",
        }
        if let Some(deadline) = self.deadline_ms {
            text += &format!(", wanted in {deadline} ms");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// The id of a request that arrived then, in milliseconds since 1970.
    fn id(arrived_ms: i64) -> Id {
        Id::new((arrived_ms.cast_unsigned() << MS_SHIFT) | 5 << 12 | 77).unwrap()
    }

    #[test]
    fn an_id_says_when_and_where() {
        let arrived = 1_700_000_000_000;
        let one = id(arrived);
        assert_eq!(one.origin(), 77);
        assert_eq!(one.age_ms(arrived * MS), Some(0.0));
        assert_eq!(one.age_ms(arrived * MS + 1_500_000), Some(1.5));
        // The clock that made it is ahead.
        assert_eq!(one.age_ms((arrived - 20) * MS), Some(-20.0));
        assert_eq!(one.age_ms((arrived + 600_000) * MS), Some(600_000.0));
        assert_eq!(one.age_ms((arrived + 600_001) * MS), None);
        assert_eq!(Id::new(4711).unwrap().age_ms(arrived * MS), None);
    }

    #[test]
    fn ids_wrap() {
        let last = (2_i64 << 40) - 1;
        assert_eq!(id(last).age_ms((last + 3) * MS), Some(3.0));
        assert_eq!(id(last + 2).age_ms((last - 4) * MS), Some(-6.0));
    }

    #[test]
    fn texts_are_read_as_carriers_write_them() {
        let text = "fgio:18bcfe5680000fff";
        let one: Id = text.parse().unwrap();
        assert_eq!(one.to_string(), text);
        for other in [
            "18bcfe5680000fff",
            "18BCFE5680000FFF",
            "fgio:18bcfe5680000fff-50-4",
        ] {
            assert_eq!(other.parse(), Ok(one), "{other}");
        }
        for wrong in [
            "",
            "fgio:",
            "fgio:18bcfe5680000ff",
            "fgio:18bcfe5680000fff0",
            "fgio:+8bcfe5680000fff",
            "fgio:0000000000000000",
            "18bcfe568000\u{e4}ff",
        ] {
            assert!(wrong.parse::<Id>().is_err(), "{wrong}");
        }
        let json = serde_json::to_string(&one).unwrap();
        assert_eq!(json, format!("{text:?}"));
        assert_eq!(serde_json::from_str::<Id>(&json).unwrap(), one);
    }

    #[test]
    fn a_request_is_described() {
        assert_eq!(Request::from_kernel(0, 5, 5), None);
        let one = id(1_700_000_000_000);
        let mut request = Request::from_kernel(one.0, 0, 4).unwrap();
        assert_eq!((request.deadline_ms, request.parts), (None, Some(4)));
        let at_ns = 1_700_000_000_131 * MS;
        assert_eq!(request.describe(at_ns), format!("{one}, 131 ms old"));
        request.deadline_ms = Some(100);
        assert_eq!(
            request.describe(at_ns),
            format!("{one}, 131 ms old, wanted in 100 ms")
        );
        assert!(request.describe(0).contains("no time near"));
    }
}
