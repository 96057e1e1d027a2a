// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Samples on disk: a directory of segments, of which the oldest go.
//!
//! A segment is a sequence of frames, numbers in little endian:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | mark: `F6 47 46 01` |
//! | 4 | length of the payload |
//! | 8 | session: when the recorder began, nanoseconds of the Unix epoch |
//! | 8 | number of the frame in its session, from 0 on |
//! | 8 | when the sample was taken, nanoseconds of the Unix epoch |
//! | 4 | CRC-32 (IEEE) of the four fields before it and the payload |
//! | | payload: a [`Sample`] in JSON, as one Zstandard frame |
//!
//! Each frame stands alone. A reader goes on at the next mark after damage, and
//! the numbers tell how many frames that cost.

use std::collections::VecDeque;
use std::fmt::{self, Display, Formatter};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use rustix::fs::FlockOperation;

use fgio_model::sample::Sample;
use fgio_sys::{clock, files};

use crate::{Error, Result};

const MARK: [u8; 4] = [0xf6, b'G', b'F', 1];
const HEADER: usize = 36;
/// Larger ones are not written, and not believed when read.
const PAYLOAD_MAX: usize = 16 << 20;
const SAMPLE_MAX: u64 = 256 << 20;
const COMPRESSION: i32 = 3;
const SUFFIX: &str = ".fgiorec";

/// Into so many segments a recording is divided: what is kept can exceed what
/// was asked for by one of them.
const SEGMENTS: u32 = 12;

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub keep: Duration,
    /// Bytes on disk, at most.
    pub size_max: u64,
}

/// The fixed part of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    length: usize,
    session: u64,
    number: u64,
    at_ns: i64,
}

impl Header {
    /// The fields that the checksum covers.
    fn fields(self) -> [u8; HEADER - 8] {
        let mut bytes = [0; HEADER - 8];
        bytes[..4].copy_from_slice(&(self.length as u32).to_le_bytes());
        bytes[4..12].copy_from_slice(&self.session.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.number.to_le_bytes());
        bytes[20..].copy_from_slice(&self.at_ns.to_le_bytes());
        bytes
    }

    fn checksum(self, payload: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.fields());
        hasher.update(payload);
        hasher.finalize()
    }

    fn frame(self, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::with_capacity(HEADER + payload.len());
        frame.extend(MARK);
        frame.extend(self.fields());
        frame.extend(self.checksum(payload).to_le_bytes());
        frame.extend(payload);
        frame
    }

    /// The frame that `bytes` begin with, when it is whole and undamaged.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MARK)?;
        let (length, rest) = rest.split_first_chunk()?;
        let (session, rest) = rest.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (at_ns, rest) = rest.split_first_chunk()?;
        let (checksum, rest) = rest.split_first_chunk()?;
        let header = Self {
            length: u32::from_le_bytes(*length) as usize,
            session: u64::from_le_bytes(*session),
            number: u64::from_le_bytes(*number),
            at_ns: i64::from_le_bytes(*at_ns),
        };
        let payload = rest.get(..header.length)?;
        let is_whole = header.length <= PAYLOAD_MAX
            && header.checksum(payload) == u32::from_le_bytes(*checksum);
        is_whole.then_some(header)
    }
}

fn segment_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:08}{SUFFIX}"))
}

/// The segments of a directory, by number.
fn segments(directory: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let names = files::names(directory)?;
    let mut segments: Vec<(u64, PathBuf)> = names
        .iter()
        .filter_map(|name| {
            let number = name.strip_suffix(SUFFIX)?.parse().ok()?;
            Some((number, directory.join(name)))
        })
        .collect();
    segments.sort_unstable();
    Ok(segments)
}

/// A segment that is not written to any more.
struct Finished {
    path: PathBuf,
    size: u64,
    last_ns: i64,
}

/// The segment that is written to.
struct Current {
    file: File,
    path: PathBuf,
    size: u64,
    first_ns: i64,
    last_ns: i64,
}

/// Writes samples, and removes the oldest.
pub struct Writer {
    directory: PathBuf,
    /// Holds the lock that keeps others from writing here.
    _lock: File,
    limits: Limits,
    session: u64,
    number: u64,
    next_segment: u64,
    finished: VecDeque<Finished>,
    current: Option<Current>,
}

impl Writer {
    /// Makes the directory if need be; goes on where a former recording ended.
    pub fn open(directory: &Path, limits: Limits) -> Result<Self> {
        create_directory(directory)?;
        let lock = lock(directory)?;
        let mut finished = VecDeque::new();
        let mut next_segment = 1;
        for (number, path) in segments(directory)? {
            next_segment = number + 1;
            finished.push_back(former(path)?);
        }
        Ok(Self {
            directory: directory.to_owned(),
            _lock: lock,
            limits,
            session: (clock::monotonic_ns().cast_signed() + clock::wall_offset_ns())
                .cast_unsigned(),
            number: 0,
            next_segment,
            finished,
            current: None,
        })
    }

    /// Bytes on disk.
    pub fn size(&self) -> u64 {
        let finished: u64 = self.finished.iter().map(|segment| segment.size).sum();
        finished + self.current.as_ref().map_or(0, |current| current.size)
    }

    /// Writes a sample, and removes what is too old or too much.
    pub fn append(&mut self, sample: &Sample) -> Result<()> {
        let frame = self.encode(sample)?;
        let length = frame.len() as u64;
        if self.is_full(sample.at_ns, length) {
            self.finish()?;
        }
        self.remove_old(sample.at_ns, length)?;
        let current = match &mut self.current {
            Some(current) => current,
            None => {
                let number = self.next_segment;
                self.next_segment += 1;
                let begun = begin(&self.directory, number, sample.at_ns)?;
                self.current.insert(begun)
            }
        };
        if let Err(source) = current.file.write_all(&frame) {
            // What was written of the frame would only be in the way.
            let _ = current.file.set_len(current.size);
            return Err(Error::writing(&current.path, source));
        }
        current.size += length;
        current.last_ns = sample.at_ns;
        self.number += 1;
        Ok(())
    }

    fn encode(&self, sample: &Sample) -> Result<Vec<u8>> {
        let failed = |source| Error::writing(&self.directory, source);
        let json = serde_json::to_vec(sample).map_err(|error| failed(error.into()))?;
        let payload = zstd::bulk::compress(&json, COMPRESSION).map_err(failed)?;
        if payload.len() > PAYLOAD_MAX {
            return Err(failed(io::ErrorKind::FileTooLarge.into()));
        }
        let header = Header {
            length: payload.len(),
            session: self.session,
            number: self.number,
            at_ns: sample.at_ns,
        };
        Ok(header.frame(&payload))
    }

    fn is_full(&self, at_ns: i64, more: u64) -> bool {
        let Some(current) = &self.current else {
            return false;
        };
        let age = u128::from(at_ns.saturating_sub(current.first_ns).unsigned_abs());
        age >= (self.limits.keep / SEGMENTS).as_nanos()
            || current.size + more > self.limits.size_max / u64::from(SEGMENTS)
    }

    /// Ends the current segment; the next sample begins another.
    pub fn finish(&mut self) -> Result<()> {
        let Some(current) = self.current.take() else {
            return Ok(());
        };
        let synced = current.file.sync_data();
        self.finished.push_back(Finished {
            path: current.path.clone(),
            size: current.size,
            last_ns: current.last_ns,
        });
        synced.map_err(|source| Error::writing(&current.path, source))
    }

    fn remove_old(&mut self, at_ns: i64, more: u64) -> Result<()> {
        let oldest_ns = at_ns.saturating_sub(nanoseconds(self.limits.keep));
        while let Some(oldest) = self.finished.front() {
            if oldest.last_ns >= oldest_ns && self.size() + more <= self.limits.size_max {
                break;
            }
            match std::fs::remove_file(&oldest.path) {
                // Somebody else tidied up.
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::writing(&oldest.path, source));
                }
                _ => {}
            }
            self.finished.pop_front();
        }
        Ok(())
    }
}

fn create_directory(directory: &Path) -> Result<()> {
    // It names the tasks of all users: for its owner alone.
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(source) if source.kind() == io::ErrorKind::AlreadyExists => {
            if directory.is_dir() {
                return Ok(());
            }
            Err(Error::NotRecording {
                path: directory.to_owned(),
            })
        }
        outcome => outcome.map_err(|source| Error::writing(directory, source)),
    }
}

fn lock(directory: &Path) -> Result<File> {
    let file = File::open(directory).map_err(|source| Error::reading(directory, source))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::RecordingBusy {
            path: directory.to_owned(),
        }),
        Err(errno) => Err(Error::writing(directory, errno.into())),
    }
}

/// A segment of a former recording; one that has no whole frame is as old as
/// can be.
fn former(path: PathBuf) -> Result<Finished> {
    let bytes = std::fs::read(&path).map_err(|source| Error::reading(&path, source))?;
    let (frames, _) = scan(&bytes);
    Ok(Finished {
        path,
        size: bytes.len() as u64,
        last_ns: frames.last().map_or(i64::MIN, |frame| frame.1.at_ns),
    })
}

fn begin(directory: &Path, number: u64, at_ns: i64) -> Result<Current> {
    let path = segment_path(directory, number);
    let file = OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .map_err(|source| Error::writing(&path, source))?;
    Ok(Current {
        file,
        path,
        size: 0,
        first_ns: at_ns,
        last_ns: at_ns,
    })
}

/// Bytes of a segment that are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hole {
    from: usize,
    to: usize,
}

/// The frames of a segment, with where they begin, and the holes between them.
fn scan(bytes: &[u8]) -> (Vec<(usize, Header)>, Vec<Hole>) {
    let mut frames = Vec::new();
    let mut holes: Vec<Hole> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if let Some(header) = Header::parse(&bytes[at..]) {
            frames.push((at, header));
            at += HEADER + header.length;
            continue;
        }
        let next = next_mark(bytes, at + 1);
        match holes.last_mut() {
            Some(hole) if hole.to == at => hole.to = next,
            _ => holes.push(Hole { from: at, to: next }),
        }
        at = next;
    }
    (frames, holes)
}

/// Where the next mark is from `from` on, or the end.
fn next_mark(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let found = rest.windows(MARK.len()).position(|window| window == MARK);
    found.map_or(bytes.len(), |place| from + place)
}

/// A moment of a recording, as people say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    AfterBegin(Duration),
    BeforeEnd(Duration),
    /// `12:34:56` or `2026-01-31 12:34:56`; the end may be left out.
    At(String),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || "give 12:34:56, 2026-01-31 12:34:56, +10m or -5m".to_owned();
        let period = |text| humantime::parse_duration(text).map_err(|_| wrong());
        if let Some(rest) = text.strip_prefix('+') {
            return period(rest).map(Self::AfterBegin);
        }
        if let Some(rest) = text.strip_prefix('-') {
            return period(rest).map(Self::BeforeEnd);
        }
        let (shape, least) = if text.contains('-') {
            ("0000-00-00 00:00:00", "0000-00-00 00".len())
        } else {
            ("00:00:00", "00:00".len())
        };
        let text = text.replacen('T', " ", 1);
        let fits = text.chars().zip(shape.chars()).all(|(got, wanted)| {
            if wanted == '0' {
                got.is_ascii_digit()
            } else {
                got == wanted
            }
        });
        if fits && (least..=shape.len()).contains(&text.len()) {
            return Ok(Self::At(text));
        }
        Err(wrong())
    }
}

impl Display for Moment {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::AfterBegin(period) => {
                write!(formatter, "+{}", humantime::format_duration(*period))
            }
            Self::BeforeEnd(period) => {
                write!(formatter, "-{}", humantime::format_duration(*period))
            }
            Self::At(text) => formatter.write_str(text),
        }
    }
}

fn nanoseconds(period: Duration) -> i64 {
    i64::try_from(period.as_nanos()).unwrap_or(i64::MAX)
}

/// Where a frame is.
#[derive(Clone, Copy, Debug)]
struct Place {
    segment: usize,
    offset: usize,
    header: Header,
}

/// What cannot be read of a recording, in words.
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

    /// Finds the frames of a segment; returns what is between them.
    fn index(&mut self, segment: usize) -> Result<Vec<Damage>> {
        let path = &self.segments[segment];
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            // A recorder that is at work has removed it since.
            Err(source) if source.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(Error::reading(path, source)),
        };
        let (frames, holes) = scan(&bytes);
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

    /// What cannot be read.
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
        let mut payload = vec![0; place.header.length];
        let file = File::open(path).map_err(|source| Error::reading(path, source))?;
        file.read_exact_at(&mut payload, (place.offset + HEADER) as u64)
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
    let segments: Vec<PathBuf> = segments(path)?
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use fgio_model::sample::DeviceSample;

    const S: i64 = 1_000_000_000;
    const BEGIN: i64 = 1_700_000_000 * S;

    /// A sample that says who it is, of some size.
    fn sample(index: usize, size: usize) -> Sample {
        // Noise, which does not compress.
        let mut noise = index as u64 + 1;
        let device = (0..size).map(|_| {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            char::from(b'a' + (noise >> 60) as u8)
        });
        Sample {
            at_ns: BEGIN + index as i64 * S,
            monotonic_ns: index as u64,
            devices: vec![DeviceSample {
                device: device.collect(),
                scheduler: "fgio".into(),
                counters: None,
            }],
            ..Sample::default()
        }
    }

    fn limits(keep_s: u64, size_max: u64) -> Limits {
        Limits {
            keep: Duration::from_secs(keep_s),
            size_max,
        }
    }

    fn record(directory: &Path, limits: Limits, samples: &[Sample]) {
        let mut writer = Writer::open(directory, limits).unwrap();
        for sample in samples {
            writer.append(sample).unwrap();
        }
    }

    fn read(directory: &Path) -> Vec<Sample> {
        let recording = Recording::open(directory).unwrap();
        let samples = (0..recording.count()).map(|index| recording.sample(index).unwrap());
        samples.collect()
    }

    #[test]
    fn what_is_recorded_is_read_and_a_recording_can_go_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new");
        let samples: Vec<Sample> = (0..50).map(|index| sample(index, 100)).collect();
        record(&path, limits(120, 1 << 20), &samples[..30]);
        record(&path, limits(120, 1 << 20), &samples[30..]);
        assert_eq!(read(&path), samples);
        let recording = Recording::open(&path).unwrap();
        assert!(recording.damage().is_empty(), "{:?}", recording.damage());
        assert_eq!(recording.find(BEGIN - 1), 0);
        assert_eq!(recording.find(BEGIN + 7 * S + 1), 7);
        assert_eq!(recording.find(i64::MAX), 49);
        let one = segments(&path).unwrap()[1].1.clone();
        assert_eq!(read(&one), samples[10..20]);
    }

    #[test]
    fn the_oldest_goes_by_age_and_by_size() {
        let directory = tempfile::tempdir().unwrap();
        let samples: Vec<Sample> = (0..1000).map(|index| sample(index, 500)).collect();
        let aged = directory.path().join("aged");
        record(&aged, limits(120, 1 << 30), &samples);
        let kept = read(&aged);
        assert!((120..=140).contains(&kept.len()), "{}", kept.len());
        assert_eq!(kept, samples[1000 - kept.len()..]);
        let small = directory.path().join("small");
        record(&small, limits(3600, 100_000), &samples);
        let size: u64 = segments(&small)
            .unwrap()
            .iter()
            .map(|(_, path)| path.metadata().unwrap().len())
            .sum();
        assert!((80_000..=100_000).contains(&size), "{size}");
        assert_eq!(read(&small).last(), samples.last());
        assert!(Recording::open(&small).unwrap().damage().is_empty());
    }

    #[test]
    fn what_is_no_recording_is_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let error = Recording::open(&path.join("nothing")).unwrap_err();
        assert!(matches!(error, Error::NoSuchRecording { .. }));
        let error = Recording::open(path).unwrap_err();
        assert!(matches!(error, Error::NotRecording { .. }));
        let file = path.join("file");
        std::fs::write(&file, "nonsense").unwrap();
        let error = Recording::open(&file).unwrap_err();
        assert!(matches!(error, Error::RecordingEmpty { .. }), "{error}");
        assert!(error.to_string().contains("8 of its 8 bytes"), "{error}");
        let error = Writer::open(&file, limits(1, 1)).err().unwrap();
        assert!(matches!(error, Error::NotRecording { .. }));
        let writer = Writer::open(path, limits(1, 1)).unwrap();
        let error = Writer::open(path, limits(1, 1)).err().unwrap();
        assert!(matches!(error, Error::RecordingBusy { .. }));
        drop(writer);
        assert!(Writer::open(path, limits(1, 1)).is_ok());
    }

    #[test]
    fn a_sample_of_another_version_is_no_panic() {
        let directory = tempfile::tempdir().unwrap();
        let header = Header {
            length: 0,
            session: 1,
            number: 0,
            at_ns: BEGIN,
        };
        let payload = zstd::bulk::compress(br#"{"devices": 7}"#, 3).unwrap();
        let frame = Header {
            length: payload.len(),
            ..header
        }
        .frame(&payload);
        let path = directory.path().join("odd");
        std::fs::write(&path, frame).unwrap();
        let recording = Recording::open(&path).unwrap();
        let error = recording.sample(0).unwrap_err();
        assert!(error.to_string().contains("2023-11-1"), "{error}");
    }

    #[test]
    fn moments_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        // One that is missing, then a pause of half a day, which midnight is in
        // or in the time before it, whatever the time zone.
        let taken = [0, 1, 3, 4, 43_200, 43_201, 86_399];
        let samples: Vec<Sample> = taken.iter().map(|&index| sample(index, 5)).collect();
        record(path, limits(1_000_000, 1 << 20), &samples);
        let recording = Recording::open(path).unwrap();
        let find = |text: &str| recording.find_moment(&text.parse().unwrap());
        for (index, &second) in taken.iter().enumerate() {
            let time = clock::date_and_time(BEGIN + second as i64 * S);
            assert_eq!(find(&time).unwrap(), index, "{time}");
            assert_eq!(find(&time.replace(' ', "T")).unwrap(), index, "{time}");
            assert_eq!(find(&time[11..]).unwrap(), index, "{time}");
            assert_eq!(find(&format!("+{second}s")).unwrap(), index);
        }
        let missing = clock::date_and_time(BEGIN + 2 * S);
        assert_eq!(find(&missing).unwrap(), 2);
        let hour = clock::date_and_time(BEGIN + 6 * 3600 * S);
        assert_eq!(find(&hour[11..16]).unwrap(), 4);
        assert_eq!(find("-1s").unwrap(), 5);
        for text in ["+25h", "-25h", "2023-10-01 00:00", "2024-01-01 00"] {
            let error = find(text).unwrap_err();
            assert!(matches!(error, Error::NotRecorded { .. }), "{text}");
        }
        for text in ["", "noon", "1234", "12:3", "+x", "2023-11-14", "12:34:56.7"] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_lost_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let samples: Vec<Sample> = (0..10).map(|index| sample(index, 50)).collect();
        record(path, limits(3600, 1 << 20), &samples);
        let segment = segments(path).unwrap()[0].1.clone();
        let mut bytes = std::fs::read(&segment).unwrap();
        let frames = scan(&bytes).0;
        bytes[frames[3].0 + HEADER] ^= 1;
        bytes[frames[4].0] ^= 1;
        bytes.truncate(frames[9].0 + 20);
        std::fs::write(&segment, bytes).unwrap();
        let recording = Recording::open(path).unwrap();
        let damage: Vec<&str> = recording
            .damage()
            .iter()
            .map(|damage| damage.message.as_str())
            .collect();
        assert_eq!((recording.count(), damage.len()), (7, 3), "{damage:?}");
        assert!(damage[0].starts_with("2 samples between "), "{}", damage[0]);
        let bytes = format!(
            "is damaged from byte {} to byte {}",
            frames[3].0, frames[5].0
        );
        assert!(damage[1].ends_with(&bytes), "{}", damage[1]);
        assert!(
            damage[2].contains("ends within a sample (20 of"),
            "{}",
            damage[2]
        );
    }

    /// What happens to a segment.
    #[derive(Clone, Debug)]
    enum Mishap {
        Truncate(usize),
        Flip(usize, u8),
        Insert(usize, Vec<u8>),
        Invert(usize, usize),
    }

    fn mishap() -> impl Strategy<Value = Mishap> {
        let place = 0..100_000_usize;
        prop_oneof![
            place.clone().prop_map(Mishap::Truncate),
            (place.clone(), 1..=255_u8).prop_map(|(place, bits)| Mishap::Flip(place, bits)),
            (place.clone(), prop::collection::vec(any::<u8>(), 1..50))
                .prop_map(|(place, bytes)| Mishap::Insert(place, bytes)),
            (place, 1..500_usize).prop_map(|(place, count)| Mishap::Invert(place, count)),
        ]
    }

    /// Applies it; returns the bytes of the undamaged segment that it touched.
    fn apply(mishap: &Mishap, bytes: &mut Vec<u8>) -> (usize, usize) {
        let size = bytes.len();
        match mishap {
            Mishap::Truncate(place) => {
                bytes.truncate(place % size);
                (place % size, size)
            }
            Mishap::Flip(place, bits) => {
                bytes[place % size] ^= bits;
                (place % size, place % size + 1)
            }
            Mishap::Insert(place, more) => {
                let place = place % size;
                bytes.splice(place..place, more.iter().copied());
                (place, place)
            }
            Mishap::Invert(place, count) => {
                let from = place % size;
                let to = (from + count).min(size);
                bytes[from..to].iter_mut().for_each(|byte| *byte = !*byte);
                (from, to)
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn damage_costs_the_samples_that_it_touches_alone(
            sizes in prop::collection::vec(0..400_usize, 2..30),
            keep_s in 12..200_u64,
            segment in any::<prop::sample::Index>(),
            mishap in mishap(),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path();
            let samples: Vec<Sample> = sizes
                .iter()
                .enumerate()
                .map(|(index, size)| sample(index, *size))
                .collect();
            record(path, limits(keep_s, 1 << 30), &samples);
            let before = read(path);
            let segments = segments(path).unwrap();
            let segment = segment.get(&segments).1.clone();
            let mut bytes = std::fs::read(&segment).unwrap();
            let frames = scan(&bytes).0;
            let (from, to) = apply(&mishap, &mut bytes);
            let is_hit = |offset: usize, length: usize| {
                let end = offset + HEADER + length;
                if from == to { offset < from && from < end } else { offset < to && from < end }
            };
            let hit: Vec<i64> = frames
                .iter()
                .filter(|(offset, header)| is_hit(*offset, header.length))
                .map(|frame| frame.1.at_ns)
                .collect();
            std::fs::write(&segment, bytes).unwrap();
            let expected: Vec<Sample> = before
                .into_iter()
                .filter(|sample| !hit.contains(&sample.at_ns))
                .collect();
            if expected.is_empty() {
                prop_assert!(Recording::open(path).is_err());
            } else {
                prop_assert_eq!(read(path), expected);
            }
        }
    }
}
