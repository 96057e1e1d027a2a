// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Answers as text.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use fgio_model::counters::{ClassRates, Counters, Rates};
use fgio_model::doctor::{Finding, Level};
use fgio_model::status::{DeviceStatus, ModuleStatus, Status, TagStatus};

const BOLD: Style = Style::new().bold();

/// A table without lines, with figures to the right from column `figures` on.
fn table(header: &[&str], rows: Vec<Vec<String>>, figures: usize) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if index >= figures {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

fn or_unknown<T: Display>(value: Option<T>) -> String {
    value.map_or_else(|| "?".to_owned(), |value| value.to_string())
}

fn title(text: &str) -> String {
    format!("\n{BOLD}{text}{BOLD:#}\n")
}

/// `fgio status`
pub fn status(status: &Status) -> String {
    let mut text = module(status.module.as_ref());
    text += &title("Disks");
    text += &devices(&status.devices);
    for device in status.devices.iter().filter(|device| device.enabled) {
        text += &title(&format!("{} under fgio", device.device));
        text += &tunables(device);
        if let Some(counters) = &device.counters {
            text += &format!("\n{}", counter_table(counters));
        }
    }
    text += &tags(status.tags.as_deref());
    text += &notes(status);
    text
}

/// One round of `fgio status --watch`
pub fn watch(status: &Status, rates: &BTreeMap<&str, Rates>, elapsed: Duration) -> String {
    let mut text = module(status.module.as_ref());
    text += &title(&format!("Per second, over {:.1} s", elapsed.as_secs_f64()));
    text += &rate_table(rates);
    for (device, rates) in rates {
        text += &format!(
            "{device}: {:.1} non-critical I/Os a second released because they had waited long enough\n",
            rates.starvation_releases_per_second
        );
    }
    let others = status.devices.iter().filter(|device| !device.enabled);
    let others: Vec<String> = others
        .map(|device| format!("{} ({})", device.device, device.scheduler))
        .collect();
    if !others.is_empty() {
        text += &format!("not under fgio: {}\n", others.join(", "));
    }
    text += &tags(status.tags.as_deref());
    text += &notes(status);
    text
}

fn notes(status: &Status) -> String {
    let notes = status.notes.iter().map(|note| format!("\nNote: {note}\n"));
    notes.collect()
}

fn module(module: Option<&ModuleStatus>) -> String {
    let Some(module) = module else {
        return "Module fgio: not loaded\n".to_owned();
    };
    let version = or_unknown(module.version.as_ref());
    let mut text = format!("Module fgio: version {version}\n");
    let state = |on: Option<bool>| or_unknown(on.map(|on| if on { "on" } else { "off" }));
    text += &format!(
        "  switches  stamp {}, admission {}\n",
        state(module.switches.stamp),
        state(module.switches.admission)
    );
    if let Some(info) = &module.info {
        let hooks = info.hooks.iter().map(|hook| {
            let state = if hook.live { "live" } else { "NOT LIVE" };
            format!("{} {state}", hook.name)
        });
        let hooks: Vec<String> = hooks.collect();
        text += &format!("  hooks     {}\n", hooks.join(", "));
        text += &format!("  tags      {} of {}\n", info.tags, info.tags_max);
        text += &format!("  queues    {}\n", info.queues);
    }
    text
}

fn devices(devices: &[DeviceStatus]) -> String {
    if devices.is_empty() {
        return "none that has an I/O scheduler\n".to_owned();
    }
    let rows = devices.iter().map(|device| {
        vec![
            device.device.clone(),
            device.scheduler.clone(),
            device.hardware_queues.to_string(),
            or_unknown(device.nr_requests),
        ]
    });
    table(
        &["DISK", "SCHEDULER", "HARDWARE QUEUES", "NR_REQUESTS"],
        rows.collect(),
        2,
    )
}

fn tunables(device: &DeviceStatus) -> String {
    let rows = device.tunables.iter();
    let rows = rows.map(|(name, value)| vec![name.clone(), value.to_string()]);
    table(&["TUNABLE", "VALUE"], rows.collect(), 1)
}

/// Counters of both classes side by side, then those that belong to no class.
fn counter_table(counters: &Counters) -> String {
    let mut by_name: BTreeMap<&str, [Option<u64>; 2]> = BTreeMap::new();
    let mut others = Vec::new();
    for (name, value) in counters {
        if let Some(name) = name.strip_prefix("noncritical_") {
            by_name.entry(name).or_default()[1] = Some(*value);
        } else if let Some(name) = name.strip_prefix("critical_") {
            by_name.entry(name).or_default()[0] = Some(*value);
        } else {
            others.push(format!("{name} {value}\n"));
        }
    }
    let rows = by_name.into_iter().map(|(name, [critical, noncritical])| {
        vec![
            name.to_owned(),
            or_unknown(critical),
            or_unknown(noncritical),
        ]
    });
    let mut text = table(&["COUNTER", "CRITICAL", "NON-CRITICAL"], rows.collect(), 1);
    text.extend(others);
    text
}

fn rate_table(rates: &BTreeMap<&str, Rates>) -> String {
    if rates.is_empty() {
        return "no counters of a disk under fgio\n".to_owned();
    }
    let mut rows = Vec::new();
    for (device, rates) in rates {
        rows.push(rate_row(device, "critical", &rates.critical));
        rows.push(rate_row(device, "non-critical", &rates.noncritical));
    }
    let header = [
        "DISK",
        "CLASS",
        "COMPLETED",
        "PROMOTED",
        "MERGED",
        "ADMISSION WAIT",
        "QUEUE WAIT",
        "IN DEVICE",
        "WAITING",
    ];
    table(&header, rows, 2)
}

fn rate_row(device: &str, class: &str, rates: &ClassRates) -> Vec<String> {
    let wait =
        |mean: Option<f64>| mean.map_or_else(|| "-".to_owned(), |wait| format!("{wait:.2} ms"));
    vec![
        device.to_owned(),
        class.to_owned(),
        format!("{:.0}", rates.completed_per_second),
        format!("{:.0}", rates.promoted_per_second),
        format!("{:.0}", rates.merged_per_second),
        wait(rates.mean_admission_wait_ms),
        wait(rates.mean_queue_wait_ms),
        rates.in_device.to_string(),
        rates.waiting.to_string(),
    ]
}

fn tags(tags: Option<&[TagStatus]>) -> String {
    let Some(tags) = tags else {
        return String::new();
    };
    let mut text = title("Tagged threads");
    if tags.is_empty() {
        text += "none\n";
        return text;
    }
    let rows = tags.iter().map(|tag| {
        vec![
            tag.tid.to_string(),
            or_unknown(tag.process),
            tag.class.name().to_owned(),
            or_unknown(tag.comm.as_ref()),
        ]
    });
    text += &table(&["TID", "PROCESS", "CLASS", "NAME"], rows.collect(), 4);
    text
}

/// `fgio doctor`
pub fn findings(findings: &[Finding], errors: usize, warnings: usize) -> String {
    let mut text: String = findings.iter().map(finding).collect();
    text += &match (errors, warnings) {
        (0, 0) => "\nNothing hinders fgio.\n".to_owned(),
        _ => format!(
            "\n{} and {}.\n",
            counted(errors, "error"),
            counted(warnings, "warning")
        ),
    };
    text
}

fn finding(finding: &Finding) -> String {
    let style = match finding.level {
        Level::Ok => AnsiColor::Green.on_default(),
        Level::Info => Style::new(),
        Level::Warning => AnsiColor::Yellow.on_default().bold(),
        Level::Error => AnsiColor::Red.on_default().bold(),
    };
    let level = finding.level.name();
    let mut text = format!("{style}{level:<8}{style:#} {:<18} ", finding.id);
    if let Some(subject) = &finding.subject {
        text += &format!("{subject}: ");
    }
    text += &format!("{}\n", finding.found);
    if let Some(advice) = &finding.advice {
        text += &format!("{:27} -> {advice}\n", "");
    }
    text
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}
