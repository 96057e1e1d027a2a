// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From measurements to the figures of a drive of the kind `measured`.
//!
//! Service times are those of one I/O at a time. The rate of several at once
//! goes into the model in one of two ways, which are told apart by how even the
//! waits are when 128 wait: a limit that a volume's provider sets lets I/Os pass
//! one after the other, and their times become equal; a drive that shares itself
//! among its commands stretches each by the same factor.

use crate::load::Outcome;
use crate::samples::SHARES;

/// Sizes of the I/Os whose service times a model has.
pub const SIZES: [usize; 3] = [4 << 10, 32 << 10, 256 << 10];
/// Depths beyond 1 at which a model has the rate of several I/Os.
pub const DEPTHS: [usize; 7] = [2, 4, 8, 16, 32, 64, 128];

/// Rates within this of the deepest load's are limited by the same thing.
const SAME_RATE: f64 = 0.95;
/// Below this share of a limit, it holds up no I/O.
const UNLIMITED: f64 = 0.9;
/// How much faster a stream has to be than I/Os anywhere, to be one.
const STREAM_GAIN: f64 = 1.3;
/// Reads and writes share a limit when their rate at once is at most this multiple of one alone.
const SHARED_RATE: f64 = 1.2;

/// Measurements of one direction: reads, or writes.
#[derive(Clone, Debug)]
pub struct Side {
    /// Anywhere, one at a time, of [`SIZES`].
    pub alone: [Outcome; SIZES.len()],
    /// Anywhere, 4 KiB, of [`DEPTHS`].
    pub at_depths: [Outcome; DEPTHS.len()],
    /// Anywhere, 256 KiB, several at a time.
    pub large: Vec<Outcome>,
    /// One stream of 256 KiB: one at a time, and several.
    pub stream: [Outcome; 2],
}

/// Measurements of a drive.
#[derive(Clone, Debug)]
pub struct Measured {
    pub reads: Side,
    pub writes: Option<Writes>,
}

#[derive(Clone, Debug)]
pub struct Writes {
    pub side: Side,
    /// Half reads, half writes: 4 KiB, and 256 KiB.
    pub mixed: [Outcome; 2],
    pub flushes: Outcome,
}

/// A direction's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Quantiles in ns, and of how many I/Os.
    pub service: [([u64; SHARES.len()], usize); SIZES.len()],
    /// Of [`DEPTHS`]: how many times as much as one at a time.
    pub scaling: [f64; DEPTHS.len()],
    /// A limit that lets I/Os pass one after the other.
    pub iops: Option<f64>,
    pub bytes_per_s: f64,
    /// Of a stream, where that is faster.
    pub stream: Option<f64>,
}

/// A drive's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    pub reads: Figures,
    pub writes: Option<Figures>,
    /// Limits of reads and writes together.
    pub iops: Option<f64>,
    pub bytes_per_s: Option<f64>,
    pub flushes: Option<([u64; SHARES.len()], usize)>,
}

pub fn fit(measured: &Measured) -> Fitted {
    let mut reads = side(&measured.reads);
    let Some(writes) = &measured.writes else {
        // Of writes nothing is known: the limits are of all I/O.
        return Fitted {
            iops: reads.iops.take(),
            bytes_per_s: Some(reads.bytes_per_s),
            reads,
            writes: None,
            flushes: None,
        };
    };
    let mut written = side(&writes.side);
    let [small, large] = &writes.mixed;
    let bytes = [reads.bytes_per_s, written.bytes_per_s];
    let bytes_per_s = shared(bytes, large.per_second * SIZES[2] as f64);
    let iops = match (reads.iops, written.iops) {
        (Some(one), Some(other)) => shared([one, other], small.per_second),
        _ => None,
    };
    if let Some(limit) = iops {
        for side in [&mut reads, &mut written] {
            side.iops = side.iops.filter(|own| *own < SAME_RATE * limit);
        }
    }
    Fitted {
        reads,
        writes: Some(written),
        iops,
        bytes_per_s,
        flushes: Some(quantiles(&writes.flushes)),
    }
}

/// The limit of both directions, if their rate at once shows one.
fn shared(sides: [f64; 2], together: f64) -> Option<f64> {
    let highest = sides[0].max(sides[1]);
    (together < SHARED_RATE * highest).then_some(highest)
}

fn quantiles(outcome: &Outcome) -> ([u64; SHARES.len()], usize) {
    (outcome.samples.quantiles(), outcome.samples.count())
}

fn side(side: &Side) -> Figures {
    let [small, .., large] = &side.alone;
    let rates = side.at_depths.each_ref().map(|outcome| outcome.per_second);
    let alone = 1e9 / small.samples.mean().max(1.0);
    let iops = limit(side, &rates);
    let mut scaling = rates.map(|rate| rate / alone);
    if let Some(limit) = iops {
        lift(&mut scaling, &rates, limit);
    }
    let large_rate = |outcome: &Outcome| outcome.per_second * SIZES[2] as f64;
    let of_stream = large_rate(&side.stream[0]);
    let all = side.large.iter().chain(&side.stream).chain([large]);
    Figures {
        service: side.alone.each_ref().map(quantiles),
        scaling,
        iops,
        bytes_per_s: all.map(large_rate).fold(0.0, f64::max),
        stream: (of_stream > STREAM_GAIN * large_rate(large)).then_some(of_stream),
    }
}

/// How uneven times are: the p90 in medians.
fn spread(outcome: &Outcome) -> f64 {
    let median = outcome.samples.quantile(0.5).max(1);
    outcome.samples.quantile(0.9) as f64 / median as f64
}

/// The rate at which I/Os pass one after the other, if that limits them.
fn limit(side: &Side, rates: &[f64; DEPTHS.len()]) -> Option<f64> {
    let [small, ..] = &side.alone;
    let [.., deepest] = &side.at_depths;
    let [.., before, last] = rates;
    // Less deep, credit of the pause before may have lasted for all of the load.
    let same = |rate: &f64| (SAME_RATE..=1.0 / SAME_RATE).contains(&(rate / last));
    let flat: Vec<f64> = rates.iter().copied().filter(same).collect();
    let is_flat = same(before);
    let at_most = spread(deepest).ln().abs();
    let as_shared = (spread(deepest) / spread(small)).ln().abs();
    (is_flat && at_most < as_shared).then(|| flat.iter().sum::<f64>() / flat.len() as f64)
}

/// Beyond the limit, several deliver as many times as they did below it.
fn lift(scaling: &mut [f64; DEPTHS.len()], rates: &[f64; DEPTHS.len()], limit: f64) {
    let mut each = 1.0;
    for ((scaling, rate), depth) in scaling.iter_mut().zip(rates).zip(DEPTHS) {
        if *rate < UNLIMITED * limit {
            each = *scaling / depth as f64;
        } else {
            *scaling = each * depth as f64;
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::samples::Samples;

    /// I/Os whose times are from `low` to `high` us, evenly.
    pub fn outcome(low: u64, high: u64, per_second: f64) -> Outcome {
        let times = (0..=100).map(|i| 1000 * low + (high - low) * 10 * i);
        Outcome {
            samples: Samples::new(times.collect()).unwrap(),
            per_second,
            bytes_moved: 0,
        }
    }

    /// A side with these rates at [`DEPTHS`], and times from `deep.0` to `deep.1` at the last.
    pub fn side(rates: [f64; 7], deep: (u64, u64)) -> Side {
        let mut at_depths = rates.map(|rate| outcome(100, 300, rate));
        at_depths[6] = outcome(deep.0, deep.1, rates[6]);
        Side {
            alone: [
                outcome(400, 600, 2000.0),
                outcome(500, 700, 1600.0),
                outcome(2000, 3000, 400.0),
            ],
            at_depths,
            large: vec![outcome(4000, 6000, 470.0)],
            stream: [outcome(2000, 3000, 410.0), outcome(8000, 9000, 480.0)],
        }
    }

    fn volume() -> Side {
        let rates = [3000.0, 3010.0, 2990.0, 3000.0, 3000.0, 3000.0, 3000.0];
        side(rates, (42_000, 42_800))
    }

    #[test]
    fn a_limit_is_told_by_equal_waits() {
        let figures = super::side(&volume());
        let iops = figures.iops.unwrap();
        assert!((iops - 3000.0).abs() < 1.0, "{iops}");
        assert_eq!(figures.scaling, [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
        assert_eq!(figures.bytes_per_s, 480.0 * SIZES[2] as f64);
        assert_eq!(figures.stream, None);
    }

    #[test]
    fn credit_that_lasts_at_a_small_depth_hides_no_limit() {
        let rates = [3300.0, 2955.0, 2970.0, 2956.0, 2955.0, 2956.0, 2955.0];
        let figures = super::side(&side(rates, (42_000, 42_800)));
        let iops = figures.iops.unwrap();
        assert!((iops - 2957.0).abs() < 2.0, "{iops}");
        assert_eq!(figures.scaling[0], 2.0);
    }

    #[test]
    fn a_drive_below_its_limit_keeps_its_share_beyond_it() {
        let rates = [3400.0, 6000.0, 9000.0, 9000.0, 9000.0, 9000.0, 9000.0];
        let figures = super::side(&side(rates, (14_000, 14_100)));
        assert!((figures.scaling[1] - 3.0).abs() < 1e-9);
        assert!((figures.scaling[6] - 96.0).abs() < 1e-9);
    }

    #[test]
    fn a_drive_that_shares_itself_has_a_scaling_and_no_limit() {
        let rates = [2100.0, 2400.0, 3000.0, 3600.0, 4000.0, 4100.0, 4100.0];
        let figures = super::side(&side(rates, (20_000, 45_000)));
        assert_eq!(figures.iops, None);
        assert!((figures.scaling[6] - 4100.0 * 500e-6).abs() < 1e-6);
        let rising = [4000.0, 8000.0, 16e3, 32e3, 64e3, 128e3, 256e3];
        assert_eq!(super::side(&side(rising, (500, 501))).iops, None);
    }

    #[test]
    fn a_stream_is_faster_than_io_anywhere() {
        let mut disk = volume();
        disk.stream[0] = outcome(1000, 1100, 900.0);
        let figures = super::side(&disk);
        assert_eq!(figures.stream, Some(900.0 * SIZES[2] as f64));
        assert_eq!(figures.bytes_per_s, 900.0 * SIZES[2] as f64);
    }

    fn fitted(small: f64, large: f64) -> Fitted {
        fit(&Measured {
            reads: volume(),
            writes: Some(Writes {
                side: volume(),
                mixed: [outcome(1, 2, small), outcome(1, 2, large)],
                flushes: outcome(10, 20, 1.0),
            }),
        })
    }

    #[test]
    fn limits_are_of_both_directions_or_of_each() {
        let both = fitted(3000.0, 480.0);
        assert!(both.iops.is_some() && both.bytes_per_s.is_some());
        assert_eq!(both.reads.iops, None);
        assert_eq!(both.writes.unwrap().iops, None);
        let each = fitted(6000.0, 960.0);
        assert!(each.iops.is_none() && each.bytes_per_s.is_none());
        assert!(each.reads.iops.is_some() && each.writes.unwrap().iops.is_some());
        assert_eq!(each.flushes.unwrap().1, 101);
    }

    #[test]
    fn without_writes_limits_are_of_all() {
        let reads = volume();
        let fitted = fit(&Measured {
            reads,
            writes: None,
        });
        assert!(fitted.iops.is_some() && fitted.bytes_per_s.is_some());
        assert!(fitted.reads.iops.is_none() && fitted.writes.is_none());
        assert!(fitted.flushes.is_none());
    }
}
