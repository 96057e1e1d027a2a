// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The text format of OpenMetrics 1.0, with a timestamp for each point.
//!
//! The format wants all points of a metric together, so the numbers of a recording
//! (16 bytes each) are collected before they are written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use fgio_model::metric::{
    CLASSES, DiskMetric, Metric, OF_CLASS, OF_DISK, PREFIX, STATE, Sort, Unit,
};
use fgio_model::sample::{DeviceSample, Sample};
use fgio_sys::FGIO;

/// Metrics that belong together.
#[derive(Debug)]
struct Family {
    /// With prefix and unit.
    name: String,
    sort: Sort,
    unit: Option<Unit>,
    help: &'static str,
    /// By labels as they are written, `{device="sda"}`, or nothing.
    metrics: BTreeMap<String, Vec<Point>>,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    at_ns: i64,
    value: f64,
}

/// Totals of the waits of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Waited {
    count: u64,
    ms: f64,
}

/// Collects the points of samples.
#[derive(Debug, Default)]
pub struct Points {
    families: Vec<Family>,
    places: BTreeMap<String, usize>,
    /// By labels.
    waits: BTreeMap<String, Waited>,
    missed: u64,
    latest_ns: Option<i64>,
    /// Samples that are left out, since their time is not after that of the one before.
    pub backwards: u64,
}

impl Points {
    /// Takes the next sample.
    pub fn add(&mut self, sample: &Sample) {
        if self.latest_ns.is_some_and(|latest| sample.at_ns <= latest) {
            self.backwards += 1;
            return;
        }
        self.latest_ns = Some(sample.at_ns);
        self.add_module(sample);
        for device in &sample.devices {
            self.add_device(sample.at_ns, device);
        }
        self.add_waits(sample);
    }

    fn add_module(&mut self, sample: &Sample) {
        let at_ns = sample.at_ns;
        let loaded = sample.module.is_some();
        self.gauge(
            at_ns,
            "module_loaded",
            "Whether the module was loaded",
            loaded.into(),
        );
        if let Some(tags) = &sample.tags {
            let (foreground, background) = (tags.foreground_count, tags.background_count);
            self.gauge(
                at_ns,
                "foreground_threads",
                "Threads that are foreground",
                foreground as f64,
            );
            self.gauge(
                at_ns,
                "background_threads",
                "Threads that are background",
                background as f64,
            );
        }
        let module = sample.module.as_ref();
        let Some(state) = module.and_then(|module| module.state.as_ref()) else {
            return;
        };
        for metric in &STATE {
            if let Some(value) = (metric.value)(state) {
                self.point(metric, String::new(), Point { at_ns, value });
            }
        }
    }

    fn add_device(&mut self, at_ns: i64, device: &DeviceSample) {
        let name = &device.device;
        let is_enabled = device.scheduler == FGIO;
        let enabled = Metric::<f64> {
            name: "disk_enabled",
            sort: Sort::Gauge,
            unit: None,
            help: "Whether the disk was under fgio",
            value: |value| Some(*value),
        };
        let value = f64::from(u8::from(is_enabled));
        self.point(
            &enabled,
            labels(&[("device", name)]),
            Point { at_ns, value },
        );
        let Some(counters) = &device.counters else {
            return;
        };
        let mut add = |disk: &DiskMetric, class: Option<&str>| {
            let Some(value) = disk.value(counters, class) else {
                return;
            };
            let labels = match class {
                Some(class) => labels(&[("device", name), ("class", class)]),
                None => labels(&[("device", name)]),
            };
            self.point(disk.metric(), labels, Point { at_ns, value });
        };
        for disk in &OF_CLASS {
            CLASSES.iter().for_each(|class| add(disk, Some(class)));
        }
        OF_DISK.iter().for_each(|disk| add(disk, None));
    }

    /// The module gives waits one by one: here they are counted from the begin of
    /// the export on.
    fn add_waits(&mut self, sample: &Sample) {
        for wait in &sample.waits.longest {
            let (kind, inner) = (wait.kind.name(), wait.inner_kind.name());
            let reason = wait.reason.name();
            let labels = labels(&[("kind", &kind), ("inner_kind", &inner), ("reason", &reason)]);
            let waited = self.waits.entry(labels).or_default();
            waited.count += 1;
            waited.ms += wait.waited_ms;
        }
        self.missed += super::missed(&sample.waits);
        let at_ns = sample.at_ns;
        let counter = |name, unit, help| Metric::<f64> {
            name,
            sort: Sort::Counter,
            unit,
            help,
            value: |value| Some(*value),
        };
        let count = counter(
            "waits",
            None,
            "Waits of foreground threads since the begin of the export",
        );
        let time = counter("waited", Some(Unit::Seconds), "Time of these waits");
        let missed = counter(
            "waits_missed",
            None,
            "Waits since the begin of the export that are not in the recording",
        );
        for (labels, waited) in self.waits.clone() {
            let value = waited.count as f64;
            self.point(&count, labels.clone(), Point { at_ns, value });
            let value = waited.ms / 1e3;
            self.point(&time, labels, Point { at_ns, value });
        }
        let value = self.missed as f64;
        self.point(&missed, String::new(), Point { at_ns, value });
    }

    fn gauge(&mut self, at_ns: i64, name: &'static str, help: &'static str, value: f64) {
        let metric = Metric::<f64> {
            name,
            sort: Sort::Gauge,
            unit: None,
            help,
            value: |value| Some(*value),
        };
        self.point(&metric, String::new(), Point { at_ns, value });
    }

    fn point<T: ?Sized>(&mut self, metric: &Metric<T>, labels: String, point: Point) {
        let name = format!("{PREFIX}_{}", metric.family());
        let families = &mut self.families;
        let place = *self.places.entry(name).or_insert_with_key(|name| {
            families.push(Family {
                name: name.clone(),
                sort: metric.sort,
                unit: metric.unit,
                help: metric.help,
                metrics: BTreeMap::new(),
            });
            families.len() - 1
        });
        let points = self.families[place].metrics.entry(labels).or_default();
        points.push(point);
    }

    /// Writes all points.
    pub fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        for family in &self.families {
            family.write(output)?;
        }
        output.write_all(b"# EOF\n")
    }
}

impl Family {
    fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        let name = &self.name;
        let (sort, suffix) = match self.sort {
            Sort::Gauge => ("gauge", ""),
            Sort::Counter => ("counter", "_total"),
        };
        writeln!(output, "# TYPE {name} {sort}")?;
        if let Some(unit) = self.unit {
            writeln!(output, "# UNIT {name} {}", unit.name())?;
        }
        writeln!(output, "# HELP {name} {}", escaped(self.help))?;
        for (labels, points) in &self.metrics {
            for point in points {
                let time = super::seconds(point.at_ns);
                writeln!(output, "{name}{suffix}{labels} {} {time}", point.value)?;
            }
        }
        Ok(())
    }
}

/// `{device="sda",class="critical"}`
fn labels(pairs: &[(&str, &str)]) -> String {
    let mut text = String::from("{");
    for (number, (name, value)) in pairs.iter().enumerate() {
        let comma = if number > 0 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{name}=\"{}\"", escaped(value));
    }
    text.push('}');
    text
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::fixture::{sample, sample_without_module};

    fn written(samples: &[Sample]) -> String {
        let mut points = Points::default();
        samples.iter().for_each(|sample| points.add(sample));
        let mut output = Vec::new();
        points.write(&mut output).unwrap();
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn families_have_their_types_and_their_points_adjacent() {
        let text = written(&[sample(1), sample(2)]);
        assert!(text.ends_with("\n# EOF\n"));
        for lines in [
            "# TYPE fgio_boosts counter\n# HELP fgio_boosts Boosts granted\n\
             fgio_boosts_total 45 1700000001\nfgio_boosts_total 90 1700000002\n",
            "# TYPE fgio_boosted_seconds counter\n# UNIT fgio_boosted_seconds seconds\n\
             # HELP fgio_boosted_seconds Thread time under a boost\n",
            "# TYPE fgio_disk_dispatched_bytes counter\n# UNIT fgio_disk_dispatched_bytes bytes\n",
            "fgio_disk_dispatched_bytes_total{device=\"vda\",class=\"critical\"} 8192000 1700000001\n\
             fgio_disk_dispatched_bytes_total{device=\"vda\",class=\"critical\"} 16384000 1700000002\n",
            "fgio_disk_enabled{device=\"sda\"} 0 1700000001\n",
            "fgio_waits_total{kind=\"io\",inner_kind=\"io\",reason=\"none\"} 2 1700000002\n",
            "fgio_waited_seconds_total{kind=\"rwsem-write\",inner_kind=\"io\",reason=\"none\"} 0.09 1700000002\n",
            "# TYPE fgio_foreground_threads gauge\n",
        ] {
            assert!(text.contains(lines), "{lines}\n{text}");
        }
    }

    /// The rules of the format that a reader checks.
    #[test]
    fn the_text_obeys_the_format() {
        let text = written(&[sample(1), sample_without_module(2), sample(3)]);
        let mut seen = std::collections::BTreeSet::new();
        let (mut family, mut counts, mut last) = (String::new(), false, (String::new(), 0.0));
        for line in text.lines() {
            assert!(!line.is_empty());
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, sort) = rest.split_once(' ').unwrap();
                assert!(seen.insert(name.to_owned()), "{name} is there twice");
                (family, counts) = (name.to_owned(), sort == "counter");
            } else if let Some(rest) = line.strip_prefix("# UNIT ") {
                let (name, unit) = rest.split_once(' ').unwrap();
                assert!(
                    name == family && name.ends_with(&format!("_{unit}")),
                    "{line}"
                );
            } else if let Some(rest) = line.strip_prefix("# HELP ") {
                assert!(rest.starts_with(&format!("{family} ")), "{line}");
            } else if line != "# EOF" {
                let words: Vec<&str> = line.split(' ').collect();
                let [metric, value, time] = words[..] else {
                    panic!("{line}");
                };
                let name = metric.split('{').next().unwrap();
                let expected = if counts {
                    format!("{family}_total")
                } else {
                    family.clone()
                };
                assert_eq!(name, expected, "{line}");
                assert!(value.parse::<f64>().unwrap() >= 0.0);
                let time: f64 = time.parse().unwrap();
                assert!(last.0 != metric || last.1 < time, "{line}");
                last = (metric.to_owned(), time);
            }
        }
    }

    #[test]
    fn labels_are_escaped() {
        let written = labels(&[("a", "x\"y\\z\n"), ("b", "")]);
        assert_eq!(written, "{a=\"x\\\"y\\\\z\\n\",b=\"\"}");
    }

    #[test]
    fn a_clock_that_was_set_back_costs_samples_not_the_format() {
        let mut points = Points::default();
        for second in [5, 6, 6, 3, 7] {
            points.add(&sample(second));
        }
        assert_eq!(points.backwards, 2);
    }

    #[test]
    fn nothing_is_an_empty_exposition() {
        assert_eq!(written(&[]), "# EOF\n");
    }
}
