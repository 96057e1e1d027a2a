// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Samples that are written are read; damage costs the samples it touches, and no other.

use std::path::Path;
use std::time::Duration;

use fgio_model::sample::{DeviceSample, Sample};
use fgio_sys::clock;
use proptest::prelude::*;

use crate::header::Header;
use crate::segment::{all as segments, scan};
use crate::*;

const S: i64 = 1_000_000_000;
const BEGIN: i64 = 1_700_000_000 * S;

/// A sample of a given size that carries its own number.
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
fn recorded_samples_are_read_and_a_recording_can_go_on() {
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
fn other_folders_are_no_recording() {
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
        length: payload.len() as u32,
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
    // or in the time before it, in any time zone.
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
fn lost_parts_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let samples: Vec<Sample> = (0..10).map(|index| sample(index, 50)).collect();
    record(path, limits(3600, 1 << 20), &samples);
    let segment = segments(path).unwrap()[0].1.clone();
    let mut bytes = std::fs::read(&segment).unwrap();
    let frames = scan(&bytes).0;
    bytes[frames[3].0 + Header::SIZE] ^= 1;
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

/// Damage to a segment.
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
            let end = offset + Header::SIZE + length;
            if from == to { offset < from && from < end } else { offset < to && from < end }
        };
        let hit: Vec<i64> = frames
            .iter()
            .filter(|(offset, header)| is_hit(*offset, header.payload()))
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
