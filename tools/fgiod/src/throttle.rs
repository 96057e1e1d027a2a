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
}
