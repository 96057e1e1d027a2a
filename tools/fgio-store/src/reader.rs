// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads a recording, also one that is damaged.
//!
//! Each frame stands alone. A reader goes on at the next mark after damage, and the
//! numbers of frames tell how many the damage cost.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fgio_model::sample::Sample;
use fgio_sys::clock;

use crate::header::Header;
use crate::moment::nanoseconds;
use crate::segment::Hole;
use crate::{Error, Moment, Result, segment};

/// Larger samples are taken for damage.
const SAMPLE_MAX: u64 = 256 << 20;

/// Where a frame is.
#[derive(Clone, Copy, Debug)]
struct Place {
    segment: usize,
    offset: usize,
    header: Header,
}

/// The unreadable parts of a recording, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub message: String,
}

/// A recording, to be read.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    segments: Vec<PathBuf>,
    frames: Vec<Place>,
    damage: Vec<Damage>,
}

impl Recording {
    /// Opens a directory of segments, or one segment alone.
    pub fn open(path: &Path) -> Result<Self> {
        let mut recording = Self {
            path: path.to_owned(),
            segments: recorded_segments(path)?,
            frames: Vec::new(),
            damage: Vec::new(),
        };
        let mut holes = Vec::new();
        for segment in 0..recording.segments.len() {
            holes.extend(recording.index(segment)?);
        }
        recording.damage.extend(recording.lost_frames());
        recording.damage.extend(holes);
        if recording.frames.is_empty() {
            let damage = recording.damage.iter().map(|damage| damage.message.clone());
            return Err(Error::RecordingEmpty {
                path: path.to_owned(),
                damage: damage.collect::<Vec<_>>().join("; "),
            });
        }
        Ok(recording)
    }

    /// Finds the frames of a segment; returns the bytes between them.
    fn index(&mut self, segment: usize) -> Result<Vec<Damage>> {
        let path = &self.segments[segment];
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            // A recorder that is at work has removed it since.
            Err(source) if source.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(Error::reading(path, source)),
        };
        let (frames, holes) = segment::scan(&bytes);
        let holes = holes
            .into_iter()
            .map(|hole| describe(path, hole, bytes.len()));
        let holes = holes.collect();
        let places = frames.into_iter().map(|(offset, header)| Place {
            segment,
            offset,
            header,
        });
        self.frames.extend(places);
        Ok(holes)
    }

    /// Frames whose numbers are missing between others.
    fn lost_frames(&self) -> Vec<Damage> {
        let pairs = self.frames.windows(2);
        let gaps = pairs.filter_map(|pair| {
            let [before, after] = [pair[0].header, pair[1].header];
            let missing = after.number.checked_sub(before.number + 1)?;
            (before.session == after.session && missing > 0).then(|| Damage {
                message: format!(
                    "{missing} sample{} between {} and {} {} lost",
                    if missing == 1 { "" } else { "s" },
                    clock::date_and_time(before.at_ns),
                    clock::date_and_time(after.at_ns),
                    if missing == 1 { "is" } else { "are" },
                ),
            })
        });
        gaps.collect()
    }

    /// The unreadable parts.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// Samples that can be read; at least one.
    pub fn count(&self) -> usize {
        self.frames.len()
    }

    /// When a sample was taken, nanoseconds of the Unix epoch. The last sample
    /// stands for those that do not exist.
    pub fn at_ns(&self, index: usize) -> i64 {
        let last = self.frames.len() - 1;
        self.frames[index.min(last)].header.at_ns
    }

    /// The last sample that was taken at `at_ns` or before; the first when none
    /// was.
    pub fn find(&self, at_ns: i64) -> usize {
        let after = self
            .frames
            .partition_point(|place| place.header.at_ns <= at_ns);
        after.saturating_sub(1)
    }

    /// The sample that was taken at a moment.
    pub fn find_moment(&self, moment: &Moment) -> Result<usize> {
        let last = self.frames.len() - 1;
        let [begin_ns, end_ns] = [0, last].map(|index| self.at_ns(index));
        let sought = match moment {
            Moment::AfterBegin(period) => Some(begin_ns.saturating_add(nanoseconds(*period))),
            Moment::BeforeEnd(period) => Some(end_ns.saturating_sub(nanoseconds(*period))),
            Moment::At(_) => None,
        };
        let found = match (sought, moment) {
            (Some(at_ns), _) => (begin_ns..=end_ns)
                .contains(&at_ns)
                .then(|| self.find(at_ns)),
            (None, Moment::At(text)) => (0..=last).find(|&index| self.passes(index, text)),
            (None, _) => None,
        };
        found.ok_or_else(|| Error::NotRecorded {
            time: moment.to_string(),
            first: clock::date_and_time(begin_ns),
            last: clock::date_and_time(end_ns),
        })
    }

    /// Whether the clock on the wall came to show `text` with this sample. Its
    /// words sort as its times do, but at midnight where they have no date.
    fn passes(&self, index: usize, text: &str) -> bool {
        let shown = |index: usize| {
            let time = clock::date_and_time(self.at_ns(index));
            let begin = if text.contains('-') {
                0
            } else {
                time.len().saturating_sub(8)
            };
            time[begin..].to_owned()
        };
        let now = shown(index);
        if now.starts_with(text) {
            return true;
        }
        let Some(before) = index.checked_sub(1).map(shown) else {
            return false;
        };
        let is_midnight = now < before;
        let is_after = before.as_str() < text;
        let is_before = text < now.as_str();
        if is_midnight {
            is_after || is_before
        } else {
            is_after && is_before
        }
    }

    /// Reads a sample.
    pub fn sample(&self, index: usize) -> Result<Sample> {
        let place = &self.frames[index.min(self.frames.len() - 1)];
        let path = &self.segments[place.segment];
        let mut payload = vec![0; place.header.payload()];
        let file = File::open(path).map_err(|source| Error::reading(path, source))?;
        file.read_exact_at(&mut payload, (place.offset + Header::SIZE) as u64)
            .map_err(|source| Error::reading(path, source))?;
        decode(&payload).map_err(|source| Error::RecordedSample {
            path: self.path.clone(),
            at: clock::date_and_time(place.header.at_ns),
            source,
        })
    }
}

fn decode(payload: &[u8]) -> io::Result<Sample> {
    let mut json = Vec::new();
    let decoder = zstd::Decoder::with_buffer(payload)?;
    decoder.take(SAMPLE_MAX).read_to_end(&mut json)?;
    Ok(serde_json::from_slice(&json)?)
}

fn recorded_segments(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if !path.exists() {
        return Err(Error::NoSuchRecording {
            path: path.to_owned(),
        });
    }
    let segments: Vec<PathBuf> = segment::all(path)?
        .into_iter()
        .map(|segment| segment.1)
        .collect();
    if segments.is_empty() {
        return Err(Error::NotRecording {
            path: path.to_owned(),
        });
    }
    Ok(segments)
}

fn describe(path: &Path, hole: Hole, size: usize) -> Damage {
    let Hole { from, to } = hole;
    let path = path.display();
    let message = if to == size {
        format!(
            "{path} ends within a sample ({} of its {size} bytes are left over): the recorder was cut off, or is at work",
            to - from
        )
    } else {
        format!("{path} is damaged from byte {from} to byte {to}")
    };
    Damage { message }
}
