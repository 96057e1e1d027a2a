// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables of comma-separated values (RFC 4180): one line of names, then a line for
//! each row. Names of columns end with their unit; a value that is not known is empty.

use std::io::{self, Write};

use fgio_model::metric::{CLASSES, Metric, OF_CLASS, OF_DISK, STATE, Sort};
use fgio_model::sample::{DeviceSample, Sample};
use fgio_sys::FGIO;
use fgio_sys::wait::Wait;

/// The rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// A disk at the time of a sample.
    Disks,
    /// A sample: the module, the tags, inheritance.
    State,
    /// A wait of a foreground thread.
    Waits,
}

impl Table {
    /// The names of the columns.
    pub fn columns(self) -> Vec<String> {
        let named =
            |names: &[&str]| -> Vec<String> { names.iter().map(|&name| name.to_owned()).collect() };
        match self {
            Self::Disks => {
                let mut columns = named(&["time_seconds", "device", "scheduler", "enabled"]);
                for class in CLASSES {
                    let of_class = OF_CLASS.iter().map(|disk| column(disk.metric()));
                    columns.extend(of_class.map(|name| format!("{class}_{}", of_disk(&name))));
                }
                let of_all = OF_DISK.iter().map(|disk| column(disk.metric()));
                columns.extend(of_all.map(|name| of_disk(&name).to_owned()));
                columns
            }
            Self::State => {
                let mut columns = named(&[
                    "time_seconds",
                    "module_loaded",
                    "module_version",
                    "boost",
                    "foreground_threads",
                    "background_threads",
                ]);
                columns.extend(STATE.iter().map(column));
                columns.extend(named(&["waits", "waits_missed", "notes"]));
                columns
            }
            Self::Waits => named(&[
                "end_seconds",
                "waited_seconds",
                "tid",
                "comm",
                "kind",
                "inner_kind",
                "reason",
                "object",
                "boosted",
                "promoted_request",
                "promoted_sleeper",
                "promoted_writer",
                "chain",
                "request",
            ]),
        }
    }

    /// Writes the names of the columns.
    pub fn begin(self, output: &mut dyn Write) -> io::Result<()> {
        row(output, &self.columns())
    }

    /// Writes the rows of a sample.
    pub fn add(self, output: &mut dyn Write, sample: &Sample) -> io::Result<()> {
        match self {
            Self::Disks => {
                let mut devices = sample.devices.iter();
                devices.try_for_each(|device| row(output, &disk(sample, device)))
            }
            Self::State => row(output, &state(sample)),
            Self::Waits => {
                let mut waits = sample.waits.longest.iter();
                waits.try_for_each(|one| row(output, &wait(sample, one)))
            }
        }
    }
}

/// The name of a metric as a column: totals say so, as in OpenMetrics.
fn column<T: ?Sized>(metric: &Metric<T>) -> String {
    match metric.sort {
        Sort::Gauge => metric.family(),
        Sort::Counter => format!("{}_total", metric.family()),
    }
}

/// The rows of this table are disks: their names need not say it.
fn of_disk(name: &str) -> &str {
    name.strip_prefix("disk_").unwrap_or(name)
}

fn disk(sample: &Sample, device: &DeviceSample) -> Vec<String> {
    let mut fields = vec![
        super::seconds(sample.at_ns),
        device.device.clone(),
        device.scheduler.clone(),
        (device.scheduler == FGIO).to_string(),
    ];
    let counters = device.counters.as_ref();
    for class in CLASSES {
        let of_class = OF_CLASS.iter();
        let values = of_class.map(|disk| counters.and_then(|all| disk.value(all, Some(class))));
        fields.extend(values.map(number));
    }
    let values = OF_DISK.iter();
    let values = values.map(|disk| counters.and_then(|all| disk.value(all, None)));
    fields.extend(values.map(number));
    fields
}

fn state(sample: &Sample) -> Vec<String> {
    let module = sample.module.as_ref();
    let tags = sample.tags.as_ref();
    let mut fields = vec![
        super::seconds(sample.at_ns),
        module.is_some().to_string(),
        text(module.and_then(|module| module.version.as_ref())),
        text(module.and_then(|module| module.boost)),
        text(tags.map(|tags| tags.foreground_count)),
        text(tags.map(|tags| tags.background_count)),
    ];
    let state = module.and_then(|module| module.state.as_ref());
    let values = STATE.iter();
    let values = values.map(|metric| state.and_then(|state| (metric.value)(state)));
    fields.extend(values.map(number));
    let waits = &sample.waits;
    fields.push((waits.longest.len() as u64 + waits.omitted).to_string());
    fields.push(super::missed(waits).to_string());
    fields.push(sample.notes.join("; "));
    fields
}

fn wait(sample: &Sample, wait: &Wait) -> Vec<String> {
    let actions = wait.actions;
    vec![
        super::seconds(super::ended_ns(sample, wait.end_ns)),
        (wait.waited_ms / 1e3).to_string(),
        wait.tid.to_string(),
        wait.comm.clone(),
        wait.kind.name(),
        wait.inner_kind.name(),
        wait.reason.name(),
        format!("{:#x}", wait.object),
        actions.boosted.to_string(),
        actions.promoted_request.to_string(),
        actions.promoted_sleeper.to_string(),
        actions.promoted_writer.to_string(),
        wait.chain(),
        text(wait.request.map(|request| request.id)),
    ]
}

fn text<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn number(value: Option<f64>) -> String {
    text(value)
}

fn row(output: &mut dyn Write, fields: &[String]) -> io::Result<()> {
    for (number, field) in fields.iter().enumerate() {
        if number > 0 {
            output.write_all(b",")?;
        }
        write_field(output, field)?;
    }
    output.write_all(b"\r\n")
}

fn write_field(output: &mut dyn Write, field: &str) -> io::Result<()> {
    if field.contains(['"', ',', '\r', '\n']) {
        return write!(output, "\"{}\"", field.replace('"', "\"\""));
    }
    output.write_all(field.as_bytes())
}

#[cfg(test)]
mod tests {
    use fgio_sys::request::Request;

    use super::*;
    use crate::view::fixture::{sample, sample_without_module};

    fn written(table: Table, samples: &[Sample]) -> Vec<String> {
        let mut output = Vec::new();
        table.begin(&mut output).unwrap();
        for sample in samples {
            table.add(&mut output, sample).unwrap();
        }
        let text = String::from_utf8(output).unwrap();
        assert!(text.ends_with("\r\n"));
        text.split_terminator("\r\n").map(str::to_owned).collect()
    }

    /// The field of `column`, of a line in which nothing is quoted.
    fn field(table: Table, line: &str, column: &str) -> String {
        let columns = table.columns();
        let place = columns.iter().position(|name| name == column).unwrap();
        line.split(',').nth(place).unwrap().to_owned()
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let mut output = Vec::new();
        let fields = ["plain", "", "a,b", "say \"hi\"", "two\nlines", "end\r"];
        row(&mut output, &fields.map(str::to_owned)).unwrap();
        let expected = "plain,,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",\"end\r\"\r\n";
        assert_eq!(String::from_utf8(output).unwrap(), expected);
    }

    #[test]
    fn columns_are_stable() {
        let disks = Table::Disks.columns().join(" ");
        assert!(
            disks.starts_with(
                "time_seconds device scheduler enabled critical_admitted_requests_total"
            )
        );
        assert!(disks.contains(" critical_dispatched_bytes_total "));
        assert!(disks.contains(" noncritical_queue_wait_seconds_total "));
        assert!(disks.ends_with(" critical_flushes_total critical_flush_seconds_total"));
        let state = Table::State.columns().join(" ");
        assert!(state.contains(" boosts_total boosted_seconds_total "));
        assert!(state.ends_with(" blame_lost_total waits waits_missed notes"));
        for table in [Table::Disks, Table::State, Table::Waits] {
            let columns = table.columns();
            let unique: std::collections::BTreeSet<&String> = columns.iter().collect();
            assert_eq!(unique.len(), columns.len(), "{table:?}");
        }
    }

    #[test]
    fn a_disk_is_a_row_with_its_known_values() {
        let lines = written(Table::Disks, &[sample(2), sample_without_module(3)]);
        assert_eq!(lines.len(), 1 + 2 * 2);
        let of = |line: usize, column| field(Table::Disks, &lines[line], column);
        assert_eq!(of(1, "time_seconds"), "1700000002");
        assert_eq!(
            (of(1, "device"), of(1, "enabled")),
            ("sda".into(), "false".into())
        );
        assert_eq!(of(1, "critical_completed_requests_total"), "");
        assert_eq!(of(2, "critical_completed_requests_total"), "2000");
        assert_eq!(of(2, "critical_queue_wait_seconds_total"), "0.5");
        assert_eq!(of(2, "noncritical_waiting_threads"), "104");
        assert_eq!(of(2, "critical_flushes_total"), "", "this module has none");
        assert_eq!(of(4, "scheduler"), "none");
    }

    #[test]
    fn a_sample_is_a_row_with_the_module_or_without() {
        let mut without = sample_without_module(3);
        without.notes = vec!["it is gone".into(), "so are, they".into()];
        let lines = written(Table::State, &[sample(2), without]);
        let of = |line: usize, column| field(Table::State, &lines[line], column);
        assert_eq!(of(1, "boosts_total"), "90");
        assert_eq!(
            (of(1, "foreground_threads"), of(1, "waits")),
            ("8".into(), "3".into())
        );
        assert_eq!(
            (of(2, "module_loaded"), of(2, "boosts_total")),
            ("false".into(), String::new())
        );
        assert!(
            lines[2].ends_with(",0,0,\"it is gone; so are, they\""),
            "{}",
            lines[2]
        );
    }

    #[test]
    fn a_wait_is_a_row() {
        let mut sample = sample(5);
        sample.waits.longest[0].comm = "a \"b\", c".into();
        sample.waits.longest[1].request = Request::from_kernel(0x18bc_fe56_8000_0fff, 0, 0);
        let lines = written(Table::Waits, &[sample]);
        assert_eq!(lines.len(), 1 + 3);
        assert_eq!(
            lines[1],
            "1700000004.999999,0.0125,1001,\"a \"\"b\"\", c\",io,io,none,0x7,false,false,false,false,\
             \"a \"\"b\"\", c[1001] -> device I/O\","
        );
        assert!(lines[2].ends_with(",fgio:18bcfe5680000fff"), "{}", lines[2]);
        assert!(lines[3].contains(",rwsem-write,io,none,0x7,true,true,false,false,"));
    }
}
