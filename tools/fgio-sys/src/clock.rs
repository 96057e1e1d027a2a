// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Moments: the kernel's clock, the clock on the wall.

use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::syscall;

const NS_PER_S: i64 = 1_000_000_000;

fn nanoseconds(time: Timespec) -> i64 {
    time.tv_sec * NS_PER_S + time.tv_nsec
}

/// Milliseconds, for nanoseconds.
pub fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic)).unsigned_abs()
}

/// Wall clock minus `CLOCK_MONOTONIC`, in nanoseconds: add it to the latter for
/// the time since the Unix epoch. It moves when the clock is set.
pub fn wall_offset_ns() -> i64 {
    nanoseconds(clock_gettime(ClockId::Realtime)) - nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// `2026-01-31 12:34:56`, in the system's time zone, for nanoseconds of the Unix
/// epoch.
pub fn date_and_time(epoch_ns: i64) -> String {
    let seconds = epoch_ns.div_euclid(NS_PER_S);
    match syscall::local_time(seconds) {
        Some(time) => format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
            time.year, time.month, time.day, time.hour, time.minute, time.second
        ),
        None => format!("{seconds} s of the epoch"),
    }
}

/// `12:34:56.789`, in the system's time zone, for nanoseconds of the Unix epoch.
pub fn time_of_day(epoch_ns: i64) -> String {
    let seconds = epoch_ns.div_euclid(NS_PER_S);
    let milliseconds = epoch_ns.rem_euclid(NS_PER_S) / 1_000_000;
    match syscall::local_time(seconds) {
        Some(time) => format!(
            "{:02}:{:02}:{:02}.{milliseconds:03}",
            time.hour, time.minute, time.second
        ),
        None => format!("{seconds}.{milliseconds:03}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_agree_and_moments_are_written() {
        let wall = i64::try_from(monotonic_ns()).unwrap() + wall_offset_ns();
        let real = nanoseconds(clock_gettime(ClockId::Realtime));
        assert!((wall - real).abs() < NS_PER_S);
        // Time zones differ from one another by quarters of an hour at least.
        let text = time_of_day(1_700_000_056_789_000_000);
        assert!(text.ends_with(":16.789"), "{text}");
        assert!(date_and_time(1_700_000_056_000_000_000).starts_with("2023-11-1"));
    }
}
