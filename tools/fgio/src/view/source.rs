// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where samples come from: the system, or a recording.

use std::time::{Duration, Instant};

use fgio_model::activity::{Activity, Report};
use fgio_model::sample::{Sample, Sampler};
use fgio_store::Recording;
use fgio_store::Result;
use fgio_sys::clock;
use serde::Serialize;

use super::Seek;
use super::draw::Headline;

/// A source of samples, one after the other.
pub trait Source {
    /// When there will be another sample; `None` when that depends on keys.
    fn due(&self, paused: bool) -> Option<Instant>;

    /// Takes the next sample.
    fn advance(&mut self) -> Result<()>;

    /// The report on the samples up to now.
    fn report(&self) -> Option<Report>;

    fn headline(&self) -> Headline;

    /// Whether samples go on while the view is paused.
    fn goes_on_while_paused(&self) -> bool;

    /// Goes to another place, where there are others.
    fn seek(&mut self, _: Seek) -> Result<()> {
        Ok(())
    }

    /// Multiplies the speed, where that can be chosen.
    fn accelerate(&mut self, _: f64) {}

    /// The place in the recording, where there is one.
    fn place(&self) -> Option<Place> {
        None
    }
}

/// The system as it is.
pub struct Live {
    take: Box<dyn FnMut() -> Sample>,
    activity: Activity,
    interval: Duration,
    due: Instant,
}

impl Live {
    pub fn new(mut sampler: Sampler, window: Duration, interval: Duration) -> Self {
        Self::of(move || sampler.take(), window, interval)
    }

    fn of(take: impl FnMut() -> Sample + 'static, window: Duration, interval: Duration) -> Self {
        Self {
            take: Box::new(take),
            activity: Activity::new(window),
            interval,
            due: Instant::now(),
        }
    }
}

impl Source for Live {
    fn due(&self, _: bool) -> Option<Instant> {
        Some(self.due)
    }

    fn advance(&mut self) -> Result<()> {
        self.activity.push((self.take)());
        // A late sample does not make the next one come sooner.
        self.due = (self.due + self.interval).max(Instant::now());
        Ok(())
    }

    fn report(&self) -> Option<Report> {
        self.activity.report()
    }

    fn headline(&self) -> Headline {
        let at = self.activity.report().map_or(0.0, |report| report.at);
        Headline {
            name: "fgio top",
            place: format!(
                "{}  every {} s",
                whole_seconds(&clock::time_of_day((at * 1e9) as i64)),
                self.interval.as_secs_f64()
            ),
            keys: &[],
        }
    }

    fn goes_on_while_paused(&self) -> bool {
        true
    }
}

fn whole_seconds(time: &str) -> &str {
    time.split('.').next().unwrap_or(time)
}

/// Where in a recording a report is taken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
    /// Seconds of the Unix epoch.
    pub first: f64,
    pub last: f64,
    /// The sample, from 1 on.
    pub sample: usize,
    pub samples: usize,
    /// The lost parts of the recording, in words.
    pub damage: Vec<String>,
}

/// A recording.
pub struct Replay {
    recording: Recording,
    activity: Activity,
    at: usize,
    speed: f64,
    shown: Instant,
}

impl Replay {
    /// Begins with sample `at`.
    pub fn new(recording: Recording, window: Duration, at: usize, speed: f64) -> Result<Self> {
        let mut replay = Self {
            recording,
            activity: Activity::new(window),
            at,
            speed,
            shown: Instant::now(),
        };
        replay.go(at)?;
        Ok(replay)
    }

    /// Goes to a sample as if all before it had been shown.
    fn go(&mut self, to: usize) -> Result<()> {
        let to = to.min(self.recording.count() - 1);
        let window = i64::try_from(self.activity.window().as_nanos()).unwrap_or(i64::MAX);
        let begin = self.recording.at_ns(to).saturating_sub(window);
        // Rates take the sample before.
        let first = self.recording.find(begin).min(to.saturating_sub(1));
        self.activity.clear();
        for index in first..=to {
            self.activity.push(self.recording.sample(index)?);
        }
        self.at = to;
        self.shown = Instant::now();
        Ok(())
    }

    fn sought(&self, seek: Seek) -> usize {
        let last = self.recording.count() - 1;
        match seek {
            Seek::Begin => 0,
            Seek::End => last,
            Seek::Samples(by) => self.at.saturating_add_signed(by as isize).min(last),
            Seek::Seconds(by) => {
                let now = self.recording.at_ns(self.at);
                let found = self.recording.find(now.saturating_add(by * 1_000_000_000));
                // Over a pause of the recorder, if need be.
                if by < 0 {
                    found.min(self.at.saturating_sub(1))
                } else {
                    found.max((self.at + 1).min(last))
                }
            }
        }
    }
}

impl Source for Replay {
    fn due(&self, paused: bool) -> Option<Instant> {
        /// Longer pauses of the recorder are cut short.
        const PAUSE_MAX: Duration = Duration::from_secs(5);
        let is_last = self.at + 1 >= self.recording.count();
        if paused || is_last {
            return None;
        }
        let step = self.recording.at_ns(self.at + 1) - self.recording.at_ns(self.at);
        let step = Duration::from_nanos(step.max(0).unsigned_abs()).min(PAUSE_MAX);
        Some(self.shown + step.div_f64(self.speed))
    }

    fn advance(&mut self) -> Result<()> {
        let next = self.sought(Seek::Samples(1));
        if next == self.at {
            return Ok(());
        }
        self.activity.push(self.recording.sample(next)?);
        self.at = next;
        self.shown = Instant::now();
        Ok(())
    }

    fn report(&self) -> Option<Report> {
        let mut report = self.activity.report()?;
        let damage = self.recording.damage();
        if let Some(first) = damage.first() {
            let more = match damage.len() - 1 {
                0 => String::new(),
                count => format!(" (and {count} more such)"),
            };
            report
                .notes
                .push(format!("of this recording, {}{more}", first.message));
        }
        Some(report)
    }

    fn headline(&self) -> Headline {
        let [begin, now, end] =
            [0, self.at, self.recording.count() - 1].map(|index| self.recording.at_ns(index));
        let time = |ns: i64| whole_duration(ns - begin);
        Headline {
            name: "fgio replay",
            place: format!(
                "{}  {} of {}  x{}",
                clock::date_and_time(now),
                time(now),
                time(end),
                self.speed
            ),
            keys: &["left/right 10 s"],
        }
    }

    fn goes_on_while_paused(&self) -> bool {
        false
    }

    fn seek(&mut self, seek: Seek) -> Result<()> {
        self.go(self.sought(seek))
    }

    fn accelerate(&mut self, factor: f64) {
        self.speed = (self.speed * factor).clamp(1.0 / 8.0, 1024.0);
    }

    fn place(&self) -> Option<Place> {
        let seconds = |index: usize| self.recording.at_ns(index) as f64 / 1e9;
        let samples = self.recording.count();
        let damage = self.recording.damage().iter();
        Some(Place {
            first: seconds(0),
            last: seconds(samples - 1),
            sample: self.at + 1,
            samples,
            damage: damage.map(|damage| damage.message.clone()).collect(),
        })
    }
}

/// `1:02:03`
fn whole_duration(ns: i64) -> String {
    let seconds = ns.max(0) / 1_000_000_000;
    format!(
        "{}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fgio_store::{Limits, Writer};

    use super::super::fixture::{BEGIN_S, sample, sample_without_module};
    use super::*;

    const WINDOW: Duration = Duration::from_secs(60);

    fn replay(directory: &Path, seconds: &[u64], at: usize) -> Replay {
        let limits = Limits {
            keep: Duration::from_secs(1_000_000),
            size_max: 1 << 20,
        };
        let mut writer = Writer::open(directory, limits).unwrap();
        for second in seconds {
            writer.append(&sample(*second)).unwrap();
        }
        let recording = Recording::open(directory).unwrap();
        Replay::new(recording, WINDOW, at, 1.0).unwrap()
    }

    fn second(source: &dyn Source) -> i64 {
        source.report().unwrap().at as i64 - BEGIN_S
    }

    #[test]
    fn the_system_is_followed_while_the_module_goes_and_comes() {
        let mut second = 100;
        let take = move || {
            second += 1;
            match second {
                103 => sample_without_module(second),
                _ => sample(second),
            }
        };
        let mut live = Live::of(take, WINDOW, Duration::from_secs(1));
        assert!(live.report().is_none());
        assert!(live.due(true).unwrap() <= Instant::now());
        live.advance().unwrap();
        assert!(live.due(false).unwrap() > Instant::now());
        live.advance().unwrap();
        let report = live.report().unwrap();
        assert_eq!((report.seconds, report.waits.len()), (1.0, 6));
        live.advance().unwrap();
        let report = live.report().unwrap();
        assert!(report.notes[0].contains("not loaded"), "{:?}", report.notes);
        assert_eq!(report.waits.len(), 6, "earlier waits are still there");
        live.advance().unwrap();
        live.advance().unwrap();
        let report = live.report().unwrap();
        assert!(report.notes[0].contains("loaded (again)"));
        assert!(report.devices[1].rates.is_some());
        assert!(live.headline().place.ends_with("every 1 s"));
    }

    #[test]
    fn a_recording_is_played_and_sought_in() {
        let directory = tempfile::tempdir().unwrap();
        let seconds: Vec<u64> = (1..=100).chain(5000..=5100).collect();
        let mut replay = replay(directory.path(), &seconds, 0);
        assert_eq!(second(&replay), 1);
        assert!(replay.due(true).is_none(), "paused");
        assert!(replay.due(false).is_some());
        replay.advance().unwrap();
        assert_eq!(second(&replay), 2);
        for (seek, expected) in [
            (Seek::Seconds(10), 12),
            (Seek::Samples(1), 13),
            (Seek::Seconds(-60), 1),
            (Seek::Samples(-1), 1),
            (Seek::Seconds(60), 61),
            (Seek::Seconds(39), 100),
            (Seek::Seconds(10), 5000),
            (Seek::Seconds(-10), 100),
            (Seek::End, 5100),
            (Seek::Seconds(10), 5100),
            (Seek::Begin, 1),
        ] {
            replay.seek(seek).unwrap();
            assert_eq!(second(&replay), expected, "{seek:?}");
        }
        assert!(replay.headline().place.contains("0:00:00 of 1:24:59  x1"));
    }

    #[test]
    fn a_place_looks_the_same_however_it_is_reached() {
        let directory = tempfile::tempdir().unwrap();
        let seconds: Vec<u64> = (1..=100).collect();
        let mut played = replay(directory.path(), &seconds, 0);
        for _ in 0..90 {
            played.advance().unwrap();
        }
        let recording = Recording::open(directory.path()).unwrap();
        let sought = Replay::new(recording, WINDOW, 90, 1.0).unwrap();
        assert_eq!(played.report(), sought.report());
        assert_eq!(sought.report().unwrap().waits.len(), 3 * 60);
    }

    #[test]
    fn speed_has_bounds_and_the_end_is_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let mut replay = replay(directory.path(), &[1, 3, 100], 0);
        let left = |replay: &Replay| replay.due(false).unwrap() - replay.shown;
        assert_eq!(left(&replay), Duration::from_secs(2));
        replay.accelerate(2.0);
        assert_eq!(left(&replay), Duration::from_secs(1));
        replay.advance().unwrap();
        assert_eq!(
            left(&replay),
            Duration::from_millis(2500),
            "pauses are cut short"
        );
        replay.advance().unwrap();
        assert!(replay.due(false).is_none());
        replay.advance().unwrap();
        assert_eq!(replay.place().unwrap().sample, 3);
        for _ in 0..50 {
            replay.accelerate(2.0);
        }
        assert!(replay.headline().place.ends_with("x1024"));
    }

    #[test]
    fn damage_is_told() {
        let directory = tempfile::tempdir().unwrap();
        drop(replay(directory.path(), &[1, 2, 3], 0));
        let segment = directory.path().join("00000001.fgiorec");
        let bytes = std::fs::read(&segment).unwrap();
        std::fs::write(&segment, &bytes[..bytes.len() - 1]).unwrap();
        let recording = Recording::open(directory.path()).unwrap();
        let replay = Replay::new(recording, WINDOW, 5, 1.0).unwrap();
        let report = replay.report().unwrap();
        assert!(report.notes[0].contains("ends within a sample"));
        let place = replay.place().unwrap();
        assert_eq!((place.sample, place.samples, place.damage.len()), (2, 2, 1));
    }
}
