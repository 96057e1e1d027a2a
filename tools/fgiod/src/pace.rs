// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How often something is done that must not take too much of a processor.

use std::time::Duration;

/// Does something every `interval`, or more rarely when it takes long.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    interval: Duration,
    percent_max: u32,
}

impl Pace {
    pub fn new(interval: Duration, percent_max: u64) -> Self {
        Self {
            interval,
            percent_max: u32::try_from(percent_max).unwrap_or(100).clamp(1, 100),
        }
    }

    /// The time to leave after what took `cost` of a processor.
    pub fn pause_after(&self, cost: Duration) -> Duration {
        self.interval.max(cost * 100 / self.percent_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_done_rarely() {
        let pace = Pace::new(Duration::from_millis(50), 2);
        let pause = |cost| pace.pause_after(Duration::from_micros(cost)).as_millis();
        assert_eq!(
            (pause(0), pause(900), pause(1000), pause(10_000)),
            (50, 50, 50, 500)
        );
    }
}
