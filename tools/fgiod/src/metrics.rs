// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Metrics of fgiod for Prometheus. Labels are few: never an id, never a title; of
//! cgroups, those that got most of a disk.

use std::cmp::Reverse;
use std::fmt;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use fgio_model::metric;
use fgio_sys::Root;
use fgio_sys::cache_shares::{self, Share};
use fgio_sys::class::Class;
use fgio_sys::control::{DeviceFile, Diagnosis};
use fgio_sys::inheritance::State;
use fgio_sys::wait::Reasons;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use rustix::time::ClockId;
use tiny_http::{Header, Method, Response, Server};

use crate::share_metrics::ShareCollector;
use crate::system::time_of;
use crate::unit::unit;

/// One label and its value.
type Label = [(&'static str, &'static str); 1];

const CONTENT_TYPE: &[u8] = b"application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Upper bounds, in seconds: no thread waits longer than 50 ms.
const LATENCY_BUCKETS: [f64; 9] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 1.0];

/// Shared by the engine, which counts, and the server, which answers.
#[derive(Clone)]
pub struct Metrics {
    events: Family<Label, Counter>,
    events_lost: Counter,
    rescans: Counter,
    looks: Counter,
    tag_changes: Family<Label, Counter>,
    tag_errors: Family<Label, Counter>,
    tagged: Family<Label, Gauge>,
    foreign: Gauge,
    processes: Gauge,
    threads: Gauge,
    profiles: Family<Label, Gauge>,
    latency: Histogram,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            events: Family::default(),
            events_lost: Counter::default(),
            rescans: Counter::default(),
            looks: Counter::default(),
            tag_changes: Family::default(),
            tag_errors: Family::default(),
            tagged: Family::default(),
            foreign: Gauge::default(),
            processes: Gauge::default(),
            threads: Gauge::default(),
            profiles: Family::default(),
            latency: Histogram::new(LATENCY_BUCKETS),
        }
    }
}

impl Metrics {
    pub fn count_event(&self, kind: &'static str) {
        self.events.get_or_create(&[("kind", kind)]).inc();
    }

    pub fn count_lost(&self) {
        self.events_lost.inc();
    }

    pub fn count_rescan(&self) {
        self.rescans.inc();
    }

    pub fn count_look(&self) {
        self.looks.inc();
    }

    pub fn count_tag_change(&self, class: Class) {
        self.tag_changes
            .get_or_create(&[("class", class.name())])
            .inc();
    }

    pub fn count_tag_error(&self, reason: &'static str) {
        self.tag_errors.get_or_create(&[("reason", reason)]).inc();
    }

    pub fn tagged(&self, class: Class, more: i64) {
        self.tagged
            .get_or_create(&[("class", class.name())])
            .inc_by(more);
    }

    pub fn foreign(&self, more: i64) {
        self.foreign.inc_by(more);
    }

    pub fn followed(&self, processes: usize, threads: usize) {
        self.processes.set(processes as i64);
        self.threads.set(threads as i64);
    }

    pub fn profiles(&self, usable: usize, refused: usize) {
        self.profiles
            .get_or_create(&[("state", "usable")])
            .set(usable as i64);
        self.profiles
            .get_or_create(&[("state", "refused")])
            .set(refused as i64);
    }

    pub fn classified_after(&self, took: Duration) {
        self.latency.observe(took.as_secs_f64());
    }

    /// All metrics, those of the module included.
    fn registry(&self, root: &Root) -> Registry {
        let mut registry = Registry::with_prefix("fgio");
        let version = vec![("version", fgio_sys::VERSION)];
        registry.register("build", "Version of fgiod", Info::new(version));
        registry.register(
            "process_events",
            "Process events by kind",
            self.events.clone(),
        );
        registry.register(
            "process_event_overruns",
            "Times that the kernel had no room for process events, each followed by a rescan",
            self.events_lost.clone(),
        );
        registry.register(
            "rescans",
            "Looks through all of /proc",
            self.rescans.clone(),
        );
        registry.register(
            "title_reads",
            "Titles of processes that were read",
            self.looks.clone(),
        );
        registry.register(
            "tag_changes",
            "Tags set, by class",
            self.tag_changes.clone(),
        );
        registry.register(
            "tag_errors",
            "Tags not set, by reason",
            self.tag_errors.clone(),
        );
        registry.register(
            "tagged_threads",
            "Threads with a tag of fgiod",
            self.tagged.clone(),
        );
        registry.register(
            "foreign_tagged_threads",
            "Threads with a profile that another program has tagged",
            self.foreign.clone(),
        );
        registry.register(
            "followed_processes",
            "Processes of profiles",
            self.processes.clone(),
        );
        registry.register(
            "followed_threads",
            "Threads of profiles",
            self.threads.clone(),
        );
        registry.register("profiles", "Profiles by state", self.profiles.clone());
        registry.register_with_unit(
            "classification",
            "Time from the start or renaming of a thread to its tag",
            Unit::Seconds,
            self.latency.clone(),
        );
        registry.register_collector(Box::new(ModuleCollector { root: root.clone() }));
        registry.register_collector(Box::new(ShareCollector::new(root.clone())));
        registry.register_collector(Box::new(CacheCollector { root: root.clone() }));
        registry
    }

    /// Serves the metrics from a thread of its own, as long as the process lives.
    pub fn serve(&self, root: &Root, address: SocketAddr) -> Result<SocketAddr, String> {
        let failed = |error: &dyn fmt::Display| {
            format!(
                "metrics cannot be served at {address}: {error}\n  choose another metrics_address in {}",
                crate::config::PATH
            )
        };
        let server = Server::http(address).map_err(|error| failed(&error))?;
        let bound = server.server_addr().to_ip().unwrap_or(address);
        let registry = self.registry(root);
        thread::Builder::new()
            .name("fgiod-metrics".to_owned())
            .spawn(move || answer_all(&server, &registry))
            .map_err(|error| failed(&error))?;
        Ok(bound)
    }
}

fn answer_all(server: &Server, registry: &Registry) {
    for request in server.incoming_requests() {
        let path = request.url().split('?').next().unwrap_or_default();
        let response = match (request.method(), path) {
            (Method::Get | Method::Head, "/metrics") => page(registry),
            (Method::Get | Method::Head, _) => message(404, "metrics are at /metrics\n"),
            _ => message(405, "only GET is answered\n"),
        };
        // An error says that the client has gone: it cannot be told.
        let _ = request.respond(response);
    }
}

fn message(status: u16, text: &str) -> Response<std::io::Cursor<Vec<u8>>> {
    Response::from_string(text).with_status_code(status)
}

fn page(registry: &Registry) -> Response<std::io::Cursor<Vec<u8>>> {
    let mut text = String::new();
    if encode(&mut text, registry).is_err() {
        return message(500, "the metrics cannot be written down\n");
    }
    let response = Response::from_string(text);
    match Header::from_bytes(&b"Content-Type"[..], CONTENT_TYPE) {
        Ok(header) => response.with_header(header),
        Err(()) => response,
    }
}

/// Values read at each request: of the module and of this process.
#[derive(Debug)]
struct ModuleCollector {
    root: Root,
}

impl Collector for ModuleCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let device = DeviceFile::open(&self.root);
        let state = device.as_ref().map_err(|_| ()).and_then(|device| {
            let state = device.state();
            state.map_err(|_| ())
        });
        let loaded = ConstGauge::new(i64::from(state.is_ok()));
        let help = "Whether the module answers";
        let kind = loaded.metric_type();
        loaded.encode(encoder.encode_descriptor("module_loaded", help, None, kind)?)?;
        if let Ok(state) = &state {
            for name in GAUGES {
                encode_state(&mut encoder, name, state)?;
            }
        }
        let cpu = ConstCounter::new(time_of(ClockId::ProcessCPUTime).as_secs_f64());
        let (help, unit) = ("Processor time of fgiod", Some(&Unit::Seconds));
        let kind = cpu.metric_type();
        cpu.encode(encoder.encode_descriptor("daemon_cpu", help, unit, kind)?)?;
        if let Ok(state) = &state {
            for name in COUNTERS {
                encode_state(&mut encoder, name, state)?;
            }
        }
        let reasons = device.and_then(|device| device.reasons());
        reasons.map_or(Ok(()), |reasons| encode_reasons(&mut encoder, &reasons))
    }
}

/// The shares of the page cache, of the process that divides it; nothing where none runs.
#[derive(Debug)]
struct CacheCollector {
    root: Root,
}

/// Cgroups with a label of their own, those that hold the most: the others are one.
const CGROUPS_MOST: usize = 64;
const OTHERS: &str = "(others)";

/// A metric of each cgroup: its name, its help and its value.
type CacheGauge = (&'static str, &'static str, fn(&Share) -> u64);

const CACHE_GAUGES: [CacheGauge; 4] = [
    (
        "page_cache_held",
        "File memory that a cgroup holds",
        |share| share.held,
    ),
    (
        "page_cache_entitled",
        "File memory that is its part by weight",
        |share| share.entitled,
    ),
    (
        "page_cache_lent",
        "Part of what it is entitled to that others may use",
        Share::lent,
    ),
    (
        "page_cache_reclaimed",
        "File memory that fgiod reclaimed from it since fgiod saw it first",
        |share| share.reclaimed,
    ),
];

/// Label and value of each cgroup, with CGROUPS_MOST labels and OTHERS at most.
fn cache_values(shares: &[Share], value: fn(&Share) -> u64) -> Vec<(&str, u64)> {
    let mut most: Vec<&Share> = shares.iter().collect();
    most.sort_by_key(|share| Reverse(share.held));
    let (named, others) = most.split_at(most.len().min(CGROUPS_MOST));
    let mut values: Vec<(&str, u64)> = named
        .iter()
        .map(|share| (share.group.as_str(), value(share)))
        .collect();
    if !others.is_empty() {
        values.push((OTHERS, others.iter().map(|share| value(share)).sum()));
    }
    values
}

impl Collector for CacheCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let published = cache_shares::read(&self.root);
        let running = ConstGauge::new(i64::from(published.is_some()));
        let help = "Whether a process divides the page cache";
        let kind = running.metric_type();
        running.encode(encoder.encode_descriptor("page_cache_divided", help, None, kind)?)?;
        let Some((totals, shares)) = published else {
            return Ok(());
        };
        for (name, help, value) in CACHE_GAUGES {
            let kind = ConstGauge::new(0i64).metric_type();
            let mut family = encoder.encode_descriptor(name, help, Some(&Unit::Bytes), kind)?;
            for (group, bytes) in cache_values(&shares, value) {
                let label = [("cgroup", group)];
                ConstGauge::new(bytes as i64).encode(family.encode_family(&label)?)?;
            }
        }
        let changes = ConstCounter::new(totals.changes);
        let (name, help) = ("page_cache_protection_changes", "Changes of memory.low");
        let kind = changes.metric_type();
        changes.encode(encoder.encode_descriptor(name, help, None, kind)?)?;
        let errors = ConstCounter::new(totals.errors);
        let (name, help) = (
            "page_cache_errors",
            "Files of cgroups that could not be written",
        );
        let kind = errors.metric_type();
        errors.encode(encoder.encode_descriptor(name, help, None, kind)?)
    }
}

/// Of the metrics of the module's state, those that are served.
const GAUGES: [&str; 3] = ["foreground_waiting", "boosted_threads", "watchdog_tripped"];
const COUNTERS: [&str; 3] = ["boosts", "boosted", "promoted_requests"];

/// Encodes the waits of foreground threads by why their cause is not known: a label of
/// as many values as there are reasons.
fn encode_reasons(encoder: &mut DescriptorEncoder, reasons: &Reasons) -> fmt::Result {
    let Reasons(totals) = reasons;
    let kind = ConstCounter::new(0u64).metric_type();
    let help = "Waits of foreground threads beyond the threshold of blame, by why their cause is not known";
    let mut family = encoder.encode_descriptor("waits", help, None, kind)?;
    for total in totals {
        let label = [("reason", total.reason.name())];
        ConstCounter::new(total.waits).encode(family.encode_family(&label)?)?;
    }
    let help = "Time of these waits";
    let mut family = encoder.encode_descriptor("waited", help, Some(&Unit::Seconds), kind)?;
    for total in totals {
        let label = [("reason", total.reason.name())];
        ConstCounter::new(total.waited_ms / 1e3).encode(family.encode_family(&label)?)?;
    }
    Ok(())
}

/// Encodes the metric of the module's state that is called `name`.
fn encode_state(encoder: &mut DescriptorEncoder, name: &str, state: &State) -> fmt::Result {
    let Some(metric) = metric::of_state(name) else {
        return Ok(());
    };
    let Some(value) = (metric.value)(state) else {
        return Ok(());
    };
    let unit = metric.unit.map(unit);
    let (name, help, unit) = (metric.name, metric.help, unit.as_ref());
    match metric.sort {
        metric::Sort::Gauge => {
            let gauge = ConstGauge::new(value as i64);
            let kind = gauge.metric_type();
            gauge.encode(encoder.encode_descriptor(name, help, unit, kind)?)
        }
        metric::Sort::Counter => {
            let counter = ConstCounter::new(value);
            let kind = counter.metric_type();
            counter.encode(encoder.encode_descriptor(name, help, unit, kind)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    fn get(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_state_is_served_under_names_that_exist() {
        for name in GAUGES.iter().chain(&COUNTERS) {
            assert!(metric::of_state(name).is_some(), "{name}");
        }
        let mut text = String::new();
        #[derive(Debug)]
        struct Known;
        impl Collector for Known {
            fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
                let state = State {
                    boosts: 3,
                    boosted_ms: 1500.0,
                    boosted: 2,
                    ..State::default()
                };
                let mut names = GAUGES.iter().chain(&COUNTERS);
                names.try_for_each(|name| encode_state(&mut encoder, name, &state))
            }
        }
        let mut registry = Registry::with_prefix("fgio");
        registry.register_collector(Box::new(Known));
        encode(&mut text, &registry).unwrap();
        for lines in [
            "# HELP fgio_boosted_threads Threads boosted now\n# TYPE fgio_boosted_threads gauge\nfgio_boosted_threads 2\n",
            "fgio_boosts_total 3.0\n",
            "# UNIT fgio_boosted_seconds seconds\nfgio_boosted_seconds_total 1.5\n",
            "fgio_promoted_requests_total 0.0\n",
        ] {
            assert!(text.contains(lines), "{lines}{text}");
        }
    }

    #[test]
    fn labels_of_cgroups_are_few() {
        let many: Vec<Share> = (0..1000)
            .map(|number| Share {
                group: format!("/{number}"),
                held: number,
                ..Share::default()
            })
            .collect();
        let values = cache_values(&many, |share| share.held);
        assert_eq!(values.len(), CGROUPS_MOST + 1);
        assert_eq!(values[0], ("/999", 999));
        assert_eq!(values.iter().map(|(_, bytes)| bytes).sum::<u64>(), 499_500);
        assert_eq!(values[CGROUPS_MOST].0, OTHERS);
    }

    #[test]
    fn shares_of_the_page_cache_are_served() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path());
        let collected = || {
            let mut registry = Registry::with_prefix("fgio");
            registry.register_collector(Box::new(CacheCollector { root: root.clone() }));
            let mut text = String::new();
            encode(&mut text, &registry).unwrap();
            text
        };
        assert!(collected().contains("fgio_page_cache_divided 0"));
        let share = Share {
            group: "/a.slice".to_owned(),
            weight: 100,
            held: 5,
            entitled: 9,
            granted: 7,
            ..Share::default()
        };
        let _lock = fgio_sys::cache_limits::lock(&root).unwrap();
        cache_shares::publish(&root, &cache_shares::Totals::default(), &[share]).unwrap();
        let text = collected();
        for line in [
            "fgio_page_cache_divided 1",
            "fgio_page_cache_held_bytes{cgroup=\"/a.slice\"} 5",
            "fgio_page_cache_entitled_bytes{cgroup=\"/a.slice\"} 9",
            "fgio_page_cache_lent_bytes{cgroup=\"/a.slice\"} 2",
            "fgio_page_cache_errors_total 0",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn metrics_are_served_under_names_of_the_field() {
        let directory = tempfile::tempdir().unwrap();
        let metrics = Metrics::default();
        metrics.count_event("start");
        metrics.tagged(Class::Foreground, 2);
        metrics.classified_after(Duration::from_millis(3));
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let address = metrics.serve(&Root::at(directory.path()), any).unwrap();
        let answer = get(address, "GET /metrics");
        for line in [
            "fgio_build_info{version=\"",
            "fgio_process_events_total{kind=\"start\"} 1",
            "fgio_tagged_threads{class=\"foreground\"} 2",
            "fgio_classification_seconds_bucket{le=\"0.005\"} 1",
            "fgio_module_loaded 0",
            "fgio_daemon_cpu_seconds_total ",
            "# EOF",
        ] {
            assert!(answer.contains(line), "{line}: {answer}");
        }
        assert!(get(address, "GET /").starts_with("HTTP/1.1 404"));
        assert!(get(address, "POST /metrics").starts_with("HTTP/1.1 405"));
        let taken = metrics
            .serve(&Root::at(directory.path()), address)
            .unwrap_err();
        assert!(taken.contains("metrics_address"), "{taken}");
    }
}
