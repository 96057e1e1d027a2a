// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recordings in the formats of other programs.

pub mod csv;
pub mod openmetrics;

use fgio_model::sample::{Sample, Waits};

/// Seconds of the Unix epoch, for nanoseconds, without loss.
fn seconds(epoch_ns: i64) -> String {
    const NS_PER_S: i64 = 1_000_000_000;
    let whole = epoch_ns.div_euclid(NS_PER_S);
    let text = format!("{whole}.{:09}", epoch_ns.rem_euclid(NS_PER_S));
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// When a wait of a sample ended, in nanoseconds of the Unix epoch; `end_ns` is of
/// `CLOCK_MONOTONIC`.
fn ended_ns(sample: &Sample, end_ns: u64) -> i64 {
    let offset = sample.at_ns - sample.monotonic_ns.cast_signed();
    end_ns.cast_signed().saturating_add(offset)
}

/// Waits that a sample has not, although they ended before it.
fn missed(waits: &Waits) -> u64 {
    waits.omitted + waits.lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_lose_nothing() {
        assert_eq!(seconds(1_700_000_000_000_000_000), "1700000000");
        assert_eq!(seconds(1_700_000_000_120_000_001), "1700000000.120000001");
        assert_eq!(seconds(100_000_000), "0.1");
        assert_eq!(seconds(-500_000_000), "-1.5");
    }
}
