// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fair shares as text.

use fgio_model::share::{CgroupShare, Standing, Step};

use super::{table, title};
use crate::answer::share::{
    ExplainedDisk, Explanation, List, ListedDisk, NotShared, PageCache, Pages,
};

/// Weights beside a cgroup that are named.
const NAMED: usize = 4;

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

fn megabytes(bytes_per_second: f64) -> String {
    format!("{:.1}", bytes_per_second / 1e6)
}

/// `fgio share list`
pub fn list(list: &List) -> String {
    let mut text: String = list.disks.iter().map(disk).collect();
    if list.disks.is_empty() {
        text += "no disk is under fgio: run `fgio enable DEV` as root\n";
    }
    text += &page_cache(list.page_cache.as_ref());
    text.trim_start().to_owned()
}

fn page_cache(divided: Option<&PageCache>) -> String {
    let Some(divided) = divided else {
        return title("Page cache, not divided")
            + "`fgiod cache` does not run\n  systemctl enable --now fgiod-cache\n";
    };
    if divided.cgroups.is_empty() {
        return title("Page cache, not divided")
            + "weights are equal, or no cgroup holds 4 MiB\n  give one a weight (`fgio share set`)\n";
    }
    let mut text = title("Page cache, divided by weight (MiB)");
    text += &pages(&divided.cgroups);
    if divided.left_out > 0 {
        text += &format!("... and {} more\n", divided.left_out);
    }
    text
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

fn pages(cgroups: &[Pages]) -> String {
    let rows = cgroups.iter().map(|Pages { share, lent }| {
        vec![
            share.group.clone(),
            share.weight.to_string(),
            mebibytes(share.held),
            mebibytes(share.entitled),
            mebibytes(*lent),
            mebibytes(share.granted),
        ]
    });
    let header = ["CGROUP", "WEIGHT", "HELD", "ENTITLED", "LENT", "GRANTED"];
    table(&header, rows.collect(), 1)
}

fn disk(disk: &ListedDisk) -> String {
    let device = &disk.shares.device;
    let mut text = match disk.not_shared {
        None => title(&format!("{device}, shared by weight")),
        Some(reason) => title(&format!("{device}, not shared")) + &why(reason, device),
    };
    if !disk.shares.cgroups.is_empty() {
        text += &cgroups(disk);
    }
    for (count, what) in [
        (disk.left_out, "more"),
        (disk.idle_left_out, "without I/O (--all)"),
    ] {
        if count > 0 {
            text += &format!("... and {count} {what}\n");
        }
    }
    text
}

fn why(reason: NotShared, device: &str) -> String {
    format!(
        "{}\n  {}\n",
        reason.reason(),
        reason.advice().replace("DEV", device)
    )
}

fn cgroups(disk: &ListedDisk) -> String {
    let rows = disk.shares.cgroups.iter().map(|share| {
        vec![
            share.name(),
            share.weight.to_string(),
            percent(share.guarantee),
            percent(share.got),
            standing(share),
            megabytes(share.bytes_per_second),
            format!("{:.0}", share.requests_per_second),
            share.queued.to_string(),
            share.in_drive.to_string(),
        ]
    });
    let header = [
        "CGROUP",
        "WEIGHT",
        "GUARANTEE",
        "GOT",
        "IT IS",
        "MB/S",
        "I/O/S",
        "QUEUED",
        "IN DRIVE",
    ];
    table(&header, rows.collect(), 1)
}

fn standing(share: &CgroupShare) -> String {
    match share.standing {
        Standing::Below if share.lag_ms >= 0.1 => {
            format!("below by {:.1} ms", share.lag_ms)
        }
        standing => standing.name().to_owned(),
    }
}

/// `fgio share explain`
pub fn explanation(explanation: &Explanation) -> String {
    let path = explanation.cgroup.path();
    let mut text = match explanation.weight {
        Some(weight) => format!("{path}: weight {weight}\n"),
        None => format!("{path}: no weight of its own\n"),
    };
    if let Some(counts_as) = &explanation.counts_as {
        text += &format!(
            "  its I/O counts as that of {}, whose weight this is: the io controller is not enabled for it\n",
            counts_as.path()
        );
    }
    if explanation.disks.is_empty() {
        text += "no disk is under fgio: run `fgio enable DEV` as root\n";
    }
    for disk in &explanation.disks {
        text += &title(&disk.device);
        text += &explained(disk);
    }
    text
}

fn explained(disk: &ExplainedDisk) -> String {
    let mut text = String::new();
    if let Some(reason) = disk.not_shared {
        text += &format!("not shared: {}", why(reason, &disk.device));
    }
    let Some(share) = &disk.share else {
        return text + "it has not used it\n";
    };
    text += &format!(
        "guarantee {}, got {}: {}\n",
        percent(share.guarantee),
        percent(share.got),
        meaning(share)
    );
    if let Some(scale) = share.scale {
        text += &format!(
            "  its weight counts {scale:.2}-fold, by what it hits in the page cache (fgiod cache)\n"
        );
    }
    for step in &disk.steps {
        text += &format!("  {}\n", describe(step));
    }
    if !disk.others.is_empty() {
        let others = disk.others.iter().map(|other| {
            let got = percent(other.got);
            format!("{} got {got}, weight {}", other.name(), other.weight)
        });
        text += &format!("  beside it: {}\n", others.collect::<Vec<_>>().join("; "));
    }
    text
}

fn meaning(share: &CgroupShare) -> String {
    match share.standing {
        Standing::Idle => "it did no I/O; the guarantee is what it would have".to_owned(),
        Standing::AsksLess => "it asked for no more".to_owned(),
        Standing::Due => "as due".to_owned(),
        Standing::Above => "above, with what others left".to_owned(),
        Standing::Below => format!("below, by {:.1} ms of the disk now", share.lag_ms),
    }
}

fn describe(step: &Step) -> String {
    let name = step
        .cgroup
        .as_ref()
        .map_or("(gone)", |cgroup| cgroup.path());
    let part = percent(step.part());
    if step.beside.is_empty() {
        return format!("{name}: all of it, since no cgroup beside it does I/O");
    }
    let mut beside: Vec<String> = (step.beside.iter().take(NAMED))
        .map(|(name, weight)| format!("{name} {weight}"))
        .collect();
    if step.beside.len() > NAMED {
        beside.push(format!("{} more", step.beside.len() - NAMED));
    }
    format!(
        "{name}: weight {:.0} of {:.0}, {part} (beside {})",
        step.counts,
        step.of,
        beside.join(", ")
    )
}
