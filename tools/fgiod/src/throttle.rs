// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Throttle of periodic work, by its share of a processor.

use std::time::Duration;

/// Periodic work: every `interval`, or more rarely when it takes long.
#[derive(Clone, Copy, Debug)]
pub struct Throttle {
    interval: Duration,
    percent_max: u32,
}

impl Throttle {
    pub fn new(interval: Duration, percent_max: u64) -> Self {
        Self {
            interval,
            percent_max: u32::try_from(percent_max).unwrap_or(100).clamp(1, 100),
        }
    }

    /// The pause after work that took `cost` of a processor.
    pub fn pause_after(&self, cost: Duration) -> Duration {
        self.interval.max(cost * 100 / self.percent_max)
    }
}

/// What work costs that is done again and again.
///
/// The least of the last few times counts. A processor's time goes on for a thread while an
/// interrupt is handled, or while the host runs something else: taken as what the work costs, one
/// such time would put the next off for long.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecentCosts {
    costs: [Duration; Self::COUNT],
    taken: usize,
}

impl RecentCosts {
    const COUNT: usize = 4;

    /// Takes the cost of the last time into account. Returns what counts.
    pub fn take(&mut self, cost: Duration) -> Duration {
        self.costs[self.taken % Self::COUNT] = cost;
        self.taken += 1;
        let known = &self.costs[..self.taken.min(Self::COUNT)];
        known.iter().copied().min().unwrap_or(cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_is_done_rarely() {
        let throttle = Throttle::new(Duration::from_millis(50), 2);
        let pause = |cost| {
            throttle
                .pause_after(Duration::from_micros(cost))
                .as_millis()
        };
        assert_eq!(
            (pause(0), pause(900), pause(1000), pause(10_000)),
            (50, 50, 50, 500)
        );
    }

    #[test]
    fn an_interruption_is_no_cost_and_lasting_work_is() {
        let mut costs = RecentCosts::default();
        let counted =
            |costs: &mut RecentCosts, cost| costs.take(Duration::from_micros(cost)).as_micros();
        assert_eq!(
            counted(&mut costs, 9000),
            9000,
            "the first is all that is known"
        );
        for cost in [100, 20_000, 110, 30_000, 30_000, 30_000] {
            assert!(counted(&mut costs, cost) <= 110);
        }
        assert_eq!(counted(&mut costs, 40_000), 30_000);
        assert_eq!(counted(&mut costs, 90), 90);
    }
}
