// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Metrics of fair shares: of each disk under fgio, the cgroups that got most of it, and
//! the rest together.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use fgio_model::metric::{self, Metric};
use fgio_model::share::{Largest, ShareTotals};
use fgio_sys::cgroup::{self, Cgroup};
use fgio_sys::control::DeviceFile;
use fgio_sys::share::{Share, Shares, Sharing};
use fgio_sys::{Result, Root, block};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::unit::unit;

/// Cgroups of a disk that have series of their own.
const NAMED: usize = 16;
/// The label of all others.
const REST: &str = "(others)";

type Labels<'a> = [(&'static str, &'a str); 2];

/// Reads the shares at each request.
#[derive(Debug)]
pub struct ShareCollector {
    root: Root,
    /// By disk.
    largest: Mutex<BTreeMap<String, Largest>>,
}

/// The series of one disk.
struct DiskSeries {
    device: String,
    /// Cgroups by themselves.
    named: Vec<(Cgroup, Share)>,
    rest: ShareTotals,
    cgroups: usize,
}

impl ShareCollector {
    pub fn new(root: Root) -> Self {
        Self {
            root,
            largest: Mutex::default(),
        }
    }

    /// Of all disks under fgio. Without the module, or on an older one, of none.
    fn read(&self) -> Result<Vec<DiskSeries>> {
        let device = DeviceFile::open(&self.root)?;
        let paths = cgroup::paths(&self.root).unwrap_or_default();
        let mut series = Vec::new();
        for disk in block::disks(&self.root)? {
            let Some((major, minor)) = disk.major_minor().filter(|_| disk.is_under_fgio()) else {
                continue;
            };
            // A disk may leave fgio meanwhile.
            if let Ok(shares) = device.shares(major, minor) {
                series.push(self.of_disk(&disk.name, &shares, &paths));
            }
        }
        Ok(series)
    }

    fn of_disk(&self, device: &str, shares: &Shares, paths: &BTreeMap<u64, Cgroup>) -> DiskSeries {
        let mut all = self.largest.lock().unwrap_or_else(PoisonError::into_inner);
        let largest = all.entry(device.to_owned()).or_default();
        let named = largest.update(shares, paths, NAMED).into_iter();
        DiskSeries {
            device: device.to_owned(),
            named: named
                .map(|(cgroup, share)| (cgroup.clone(), share.clone()))
                .collect(),
            rest: largest.rest,
            cgroups: shares.cgroups.len(),
        }
    }
}

impl Collector for ShareCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let series = self.read().unwrap_or_default();
        encode(&mut encoder, &series)
    }
}

fn encode(encoder: &mut DescriptorEncoder<'_>, series: &[DiskSeries]) -> fmt::Result {
    if series.iter().all(|disk| disk.cgroups == 0) {
        return Ok(());
    }
    for metric in &metric::SHARE {
        encode_gauge(encoder, metric, series)?;
    }
    for metric in &metric::SHARE_TOTALS {
        encode_totals(encoder, metric, series)?;
    }
    let help = "Cgroups that have used the disk";
    let kind = ConstGauge::new(0_i64).metric_type();
    let mut family = encoder.encode_descriptor("share_cgroups", help, None, kind)?;
    for disk in series {
        let labels = [("device", disk.device.as_str())];
        ConstGauge::new(disk.cgroups as i64).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

fn labels<'a>(disk: &'a DiskSeries, cgroup: &'a str) -> Labels<'a> {
    [("device", &disk.device), ("cgroup", cgroup)]
}

fn encode_gauge(
    encoder: &mut DescriptorEncoder<'_>,
    metric: &Metric<Share>,
    series: &[DiskSeries],
) -> fmt::Result {
    let kind = ConstGauge::new(0.0).metric_type();
    let unit = metric.unit.map(unit);
    let mut family = encoder.encode_descriptor(metric.name, metric.help, unit.as_ref(), kind)?;
    for disk in series {
        for (cgroup, share) in &disk.named {
            let Some(value) = (metric.value)(share) else {
                continue;
            };
            let labels = labels(disk, cgroup.path());
            ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn encode_totals(
    encoder: &mut DescriptorEncoder<'_>,
    metric: &Metric<ShareTotals>,
    series: &[DiskSeries],
) -> fmt::Result {
    let kind = ConstCounter::new(0.0).metric_type();
    let unit = metric.unit.map(unit);
    let mut family = encoder.encode_descriptor(metric.name, metric.help, unit.as_ref(), kind)?;
    for disk in series {
        let named = disk.named.iter();
        let named = named.map(|(cgroup, share)| (cgroup.path(), ShareTotals::of(share)));
        for (cgroup, totals) in named.chain([(REST, disk.rest)]) {
            let Some(value) = (metric.value)(&totals) else {
                continue;
            };
            let labels = labels(disk, cgroup);
            ConstCounter::new(value).encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use prometheus_client::encoding::text;
    use prometheus_client::registry::Registry;

    use super::*;

    /// Stands in for the module.
    #[derive(Debug)]
    struct Known {
        collector: ShareCollector,
        shares: Shares,
        paths: BTreeMap<u64, Cgroup>,
    }

    impl Collector for Known {
        fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
            let series = self.collector.of_disk("sda", &self.shares, &self.paths);
            encode(&mut encoder, &[series])
        }
    }

    /// The text for this number of cgroups.
    fn page(cgroups: u64) -> String {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path());
        for number in 0..cgroups {
            let folder = directory.path().join(format!("sys/fs/cgroup/n{number}"));
            fs::create_dir_all(folder).unwrap();
        }
        let mark = directory.path().join("sys/fs/cgroup/cgroup.controllers");
        fs::create_dir_all(mark.parent().unwrap()).unwrap();
        fs::write(mark, "io\n").unwrap();
        let paths = cgroup::paths(&root).unwrap();
        let below_root = paths.iter().filter(|(_, cgroup)| !cgroup.is_root());
        let share = |(id, _): (&u64, &Cgroup)| Share {
            cgroup: *id,
            weight: 300,
            guarantee: 0.75,
            requests: 2,
            drive_ns: 1_500_000_000,
            ..Share::default()
        };
        let shares = Shares {
            followed: true,
            on: true,
            cgroups: below_root.map(share).collect(),
        };
        let mut registry = Registry::with_prefix("fgio");
        registry.register_collector(Box::new(Known {
            collector: ShareCollector::new(root),
            shares,
            paths,
        }));
        let mut text = String::new();
        text::encode(&mut text, &registry).unwrap();
        text
    }

    #[test]
    fn shares_are_served_under_names_of_the_field() {
        let text = page(1);
        for line in [
            "# UNIT fgio_share_guarantee_ratio ratio",
            "fgio_share_guarantee_ratio{device=\"sda\",cgroup=\"/n0\"} 0.75",
            "fgio_share_weight{device=\"sda\",cgroup=\"/n0\"} 300",
            "fgio_share_disk_seconds_total{device=\"sda\",cgroup=\"/n0\"} 1.5",
            "fgio_share_requests_total{device=\"sda\",cgroup=\"(others)\"} 0.0",
            "fgio_share_cgroups{device=\"sda\"} 1",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn many_cgroups_have_few_series() {
        let series = |cgroups| {
            page(cgroups)
                .lines()
                .filter(|line| !line.starts_with('#'))
                .count()
        };
        let most = NAMED * (metric::SHARE.len() + metric::SHARE_TOTALS.len())
            + metric::SHARE_TOTALS.len()
            + 1;
        assert_eq!(series(NAMED as u64), most);
        assert_eq!(series(500), most);
        let text = page(NAMED as u64 + 3);
        assert!(text.contains("fgio_share_requests_total{device=\"sda\",cgroup=\"(others)\"} 6.0"));
        assert_eq!(page(0).trim(), "# EOF");
    }
}
