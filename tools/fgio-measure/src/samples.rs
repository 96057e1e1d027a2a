// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Times of I/Os, and their quantiles.

/// The shares whose quantiles a model has, as core/simdisk_measured.c takes them.
pub const SHARES: [f64; 10] = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0];

/// Times of I/Os in nanoseconds, in ascending order; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples(Vec<u64>);

impl Samples {
    /// `None` when there are no times.
    pub fn new(mut times: Vec<u64>) -> Option<Self> {
        times.sort_unstable();
        (!times.is_empty()).then_some(Self(times))
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn mean(&self) -> f64 {
        let sum: u128 = self.0.iter().map(|time| u128::from(*time)).sum();
        sum as f64 / self.0.len() as f64
    }

    /// The time that a share of the I/Os does not exceed, on a line between its neighbours.
    pub fn quantile(&self, share: f64) -> u64 {
        let last = self.0.len() - 1;
        let place = share.clamp(0.0, 1.0) * last as f64;
        let below = (place as usize).min(last);
        let (low, high) = (self.0[below], self.0[(below + 1).min(last)]);
        low + ((high - low) as f64 * (place - below as f64)) as u64
    }

    pub fn quantiles(&self) -> [u64; SHARES.len()] {
        SHARES.map(|share| self.quantile(share))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_of_an_even_distribution() {
        let samples = Samples::new((0..=1000).rev().map(|time| time * 10).collect()).unwrap();
        let expected = [0, 1000, 2500, 5000, 7500, 9000, 9500, 9900, 9990, 10000];
        assert_eq!(samples.quantiles(), expected);
        assert_eq!(samples.count(), 1001);
        assert!((samples.mean() - 5000.0).abs() < 1e-9);
    }

    #[test]
    fn one_time_is_every_quantile_and_none_are_no_samples() {
        assert_eq!(Samples::new(vec![7]).unwrap().quantiles(), [7; 10]);
        assert_eq!(Samples::new(Vec::new()), None);
    }

    proptest! {
        #[test]
        fn quantiles_never_fall_and_stay_within(times in prop::collection::vec(0..4_000_000_000_u64, 1..300)) {
            let samples = Samples::new(times.clone()).unwrap();
            let quantiles = samples.quantiles();
            prop_assert!(quantiles.is_sorted());
            prop_assert_eq!(quantiles.first(), times.iter().min());
            prop_assert_eq!(quantiles.last(), times.iter().max());
        }
    }
}
