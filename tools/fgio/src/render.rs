// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Answers as text.

pub mod blame;
pub mod profile;
pub mod setting;
pub mod share;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use fgio_doctor::{Finding, Level};
use fgio_model::rates::{ClassRates, Rates};
use fgio_model::status::{DeviceStatus, ModuleStatus, Status, TagStatus};
use fgio_sys::clock;
use fgio_sys::counters::Counters;
use fgio_sys::drive::Priority;
use fgio_sys::inheritance::{State, Watchdog};
use fgio_sys::setting::Switches;

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default().bold();

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

/// A table like that of [`table`], but with `figures` columns of figures first and
/// words after them; the last column is wrapped where `width` ends.
fn wrapped_table(
    header: &[&str],
    mut rows: Vec<Vec<String>>,
    figures: usize,
    width: Option<u16>,
) -> String {
    const PADDING: usize = 2;
    /// Even where nothing is left, so that words can be read.
    const LEAST: usize = 20;
    let last = header.len() - 1;
    if let Some(width) = width {
        let widest = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            let widest = cells.max().unwrap_or(0);
            widest.max(header[column].chars().count()) + PADDING
        };
        let taken: usize = (0..last).map(widest).sum();
        let left = usize::from(width).saturating_sub(taken).max(LEAST);
        for row in &mut rows {
            row[last] = wrap(&row[last], left);
        }
    }
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, PADDING as u16));
        if index < figures {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

/// Breaks `text` between words into lines of at most `width` characters.
fn wrap(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.len() - 1;
        let used = lines[line].chars().count();
        if used == 0 {
            lines[line] += word;
        } else if used + 1 + word.chars().count() <= width {
            lines[line] += &format!(" {word}");
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join("\n")
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
        text += &drive_priority(device.drive_priority.as_ref());
        if let Some(counters) = &device.counters {
            let module = status.module.as_ref();
            let setting = module.and_then(|module| module.request_order);
            text += &request_order(setting.unwrap_or(0), counters);
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
    text += &format!("  switches  {}\n", switches(&module.switches));
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
    text += &module.state.as_ref().map_or_else(String::new, state);
    if let Some(missed @ 1..) = module.calls_missed {
        text += &format!(
            "  {RED}MISSED{RED:#}    {} by hooks: waits were not seen (`fgio doctor`)\n",
            counted(missed as usize, "call")
        );
    }
    text
}

fn switches(switches: &Switches) -> String {
    let off: Vec<&str> = switches
        .iter()
        .filter(|(_, on)| **on == Some(false))
        .map(|(name, _)| *name)
        .collect();
    match off.as_slice() {
        [] if switches.values().all(Option::is_none) => "?".to_owned(),
        [] => "all on".to_owned(),
        off => format!("OFF: {} (see `fgio set`)", off.join(", ")),
    }
}

/// Counters of inheritance and the watchdog.
fn state(state: &State) -> String {
    let mut text = format!(
        "  waiting   {} now, {} boosted for them\n",
        counted(state.foreground_waiting as usize, "foreground task"),
        counted(state.boosted as usize, "task")
    );
    let vain = state.in_vain().map_or_else(String::new, |share| {
        format!(", at most {:.1} % of it in vain", share * 100.0)
    });
    text += &format!(
        "  boosts    {}, {:.1} s in all{vain}\n",
        state.boosts,
        state.boosted_ms / 1000.0
    );
    text += &format!(
        "  promoted  {} requests, {} tasks that slept for a slot, {} parked writers\n",
        state.promoted_requests, state.promoted_sleepers, state.promoted_writers
    );
    text += &format!(
        "  parked    writers for {:.1} s in all\n",
        state.parked_ms / 1000.0
    );
    let mean = state.mean_walk_us();
    let mean = mean.map_or_else(String::new, |mean| format!(", {mean:.1} us each"));
    text += &format!("  walks     {}{mean}\n", state.walks);
    if state.waits_lost + state.walk_overflows > 0 {
        text += &format!(
            "  {RED}LOST{RED:#}      {} waits, {} tasks that walks had no room for (`fgio doctor`)\n",
            state.waits_lost, state.walk_overflows
        );
    }
    text += &watchdog(&state.watchdog);
    text
}

fn watchdog(watchdog: &Watchdog) -> String {
    if !watchdog.tripped {
        return "  watchdog  has not tripped\n".to_owned();
    }
    let at = watchdog.at_ns.map_or_else(String::new, |at| {
        format!(" at {}", clock::date_and_time(at.cast_signed()))
    });
    let reason = watchdog.reason.as_deref().unwrap_or("no reason given");
    format!(
        "  watchdog  {RED}TRIPPED{RED:#}{at}: {reason}\n            \
         all I/O of {} is let through until you run `fgio rearm` as root\n",
        watchdog.which()
    )
}

fn devices(devices: &[DeviceStatus]) -> String {
    if devices.is_empty() {
        return "none that has an I/O scheduler\n".to_owned();
    }
    let rows = devices.iter().map(|device| {
        vec![
            device.device.clone(),
            device.scheduler.clone(),
            at_boot(device),
            device.hardware_queues.to_string(),
            or_unknown(device.nr_requests),
        ]
    });
    table(
        &[
            "DISK",
            "SCHEDULER",
            "AT BOOT",
            "HARDWARE QUEUES",
            "NR_REQUESTS",
        ],
        rows.collect(),
        3,
    )
}

fn at_boot(device: &DeviceStatus) -> String {
    match device.persistent {
        Some(_) => "fgio".to_owned(),
        None => "-".to_owned(),
    }
}

fn tunables(device: &DeviceStatus) -> String {
    let rows = device.tunables.iter();
    let rows = rows.map(|(name, value)| vec![name.clone(), value.to_string()]);
    table(&["TUNABLE", "VALUE"], rows.collect(), 1)
}

/// Whether critical requests go first in the drive.
fn drive_priority(priority: Option<&Priority>) -> String {
    let Some(priority) = priority else {
        return "drive priority: not offered by the drive\n".to_owned();
    };
    let state = match (priority.enabled, priority.told) {
        (true, Some(true)) => "on",
        (false, Some(true)) => "the drive's own knob is off",
        (true, _) => "the drive's own knob is on, fgio does not use it",
        (false, _) => "off",
    };
    format!("drive priority: {state} ({})\n", priority.command.name())
}

/// Names of the policies, `enum fgio_request_policy`.
const POLICIES: [&str; 6] = [
    "off",
    "by arrival",
    "batches",
    "FIFO with limited multiplexing",
    "least slack",
    "smallest bottleneck",
];

/// How critical I/O goes by users' requests; nothing where it is not to.
fn request_order(setting: u64, counters: &Counters) -> String {
    let count = |name: &str| counters.get(name).copied().unwrap_or(0);
    let policy = count("request_order");
    match (policy, setting, count("hardware_queues")) {
        (0, 0, _) | (0, _, 0) => return String::new(),
        (0, _, queues) => {
            return format!(
                "request order: none here, requests are queued for each of {queues} hardware queues\n"
            );
        }
        _ => {}
    }
    let name = POLICIES.get(policy as usize).unwrap_or(&"?");
    let (all, with_id) = (count("critical_queued"), count("critical_with_id"));
    let share = (all > 0).then(|| format!(" ({:.1} %)", 100.0 * with_id as f64 / all as f64));
    let forgotten = match count("requests_forgotten") {
        0 => String::new(),
        number => format!("  memory  {number} forgotten, which count as new\n"),
    };
    format!(
        "request order: {policy}, {name}\n  \
         now     {} of {} in order, at most {} in the drive\n  \
         ids     {with_id} of {all} critical I/Os had one{}\n  \
         claims  {} beyond the window, {} that are no ids\n  \
         late    {} after the deadline, {} sent for their age\n{forgotten}",
        counted(count("critical_ranked") as usize, "I/O"),
        counted(count("requests_outstanding") as usize, "request"),
        count("critical_bound"),
        share.unwrap_or_default(),
        count("critical_clamped"),
        count("critical_foreign"),
        count("critical_late"),
        count("critical_aged"),
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn module_of(state: Option<State>, switches: Switches) -> String {
        module_that_missed(0, state, switches)
    }

    fn module_that_missed(calls: u64, state: Option<State>, switches: Switches) -> String {
        plain(&module(Some(&ModuleStatus {
            version: Some("0.1.0".into()),
            switches,
            info: None,
            state,
            request_order: None,
            calls_missed: Some(calls),
        })))
    }

    #[test]
    fn calls_that_hooks_missed_are_told() {
        let told = |calls| module_that_missed(calls, None, Switches::new());
        let text = told(1);
        assert!(text.contains("MISSED    1 call by hooks"), "{text}");
        assert!(!told(0).contains("MISSED"));
    }

    #[test]
    fn the_order_of_requests_is_told_within_80_columns() {
        let of = |policy: u64, forgotten: u64| {
            let counters = [
                ("request_order", policy),
                ("critical_queued", 4_000_000_000),
                ("critical_with_id", 3_999_000_000),
                ("critical_ranked", 2048),
                ("requests_outstanding", 1),
                ("critical_bound", 16),
                ("critical_clamped", 5),
                ("critical_foreign", 6),
                ("critical_late", 7),
                ("critical_aged", 8),
                ("requests_forgotten", forgotten),
            ];
            let counters = counters.map(|(name, value)| (name.to_owned(), value));
            request_order(policy, &counters.into())
        };
        assert_eq!(of(0, 3), "");
        let with_queues = Counters::from([("hardware_queues".to_owned(), 64)]);
        assert_eq!(request_order(0, &with_queues), "");
        let text = request_order(3, &with_queues);
        assert!(text.contains("each of 64 hardware queues"), "{text}");
        assert!(text.chars().count() <= 81, "{text}");
        let text = of(3, 0);
        for part in [
            "3, FIFO with limited multiplexing\n",
            "2048 I/Os of 1 request in order, at most 16 in",
            "3999000000 of 4000000000 critical I/Os had one (100.0 %)\n",
            "5 beyond the window, 6 that are no ids\n",
            "7 after the deadline, 8 sent for their age\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = of(5, 12_345);
        assert!(text.contains("memory  12345 forgotten"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        // A policy of a later module.
        assert!(of(99, 0).starts_with("request order: 99, ?\n"));
    }

    #[test]
    fn switches_that_are_off_are_told() {
        let text = module_of(None, Switches::from([("boost", None)]));
        assert!(text.contains("switches  ?"), "{text}");
        let text = module_of(None, Switches::from([("boost", Some(true)), ("io", None)]));
        assert!(text.contains("switches  all on"), "{text}");
        let text = module_of(
            None,
            Switches::from([("boost", Some(false)), ("io", Some(false))]),
        );
        assert!(text.contains("OFF: boost, io"), "{text}");
    }

    #[test]
    fn the_state_is_told_within_80_columns() {
        let busy = State {
            foreground_waiting: 1,
            boosted: 12,
            walks: 1_000_000,
            walk_ms: 12_345.6,
            boosts: 100_000,
            boosted_ms: 5_000_000.0,
            boosted_in_vain_ms: 10_000.0,
            promoted_requests: 123_456,
            promoted_sleepers: 1234,
            promoted_writers: 12,
            parked_ms: 60_000.0,
            waits_lost: 3,
            ..State::default()
        };
        let text = module_of(Some(busy), Switches::new());
        assert!(
            text.contains("1 foreground task now, 12 tasks boosted"),
            "{text}"
        );
        assert!(text.contains("at most 0.2 % of it in vain"), "{text}");
        assert!(text.contains("12.3 us each"), "{text}");
        assert!(text.contains("LOST      3 waits"), "{text}");
        assert!(text.contains("has not tripped"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        let text = module_of(Some(State::default()), Switches::new());
        assert!(!text.contains("LOST") && !text.contains("vain"), "{text}");
    }

    #[test]
    fn a_watchdog_that_tripped_has_reason_and_advice() {
        let state = State {
            watchdog: Watchdog {
                tripped: true,
                disks: 2,
                at_ns: Some(1_700_000_000_000_000_000),
                reason: Some("sda: critical I/O has not moved for 30 s".into()),
            },
            ..State::default()
        };
        let text = module_of(Some(state), Switches::new());
        assert!(text.contains("TRIPPED at 2023-11-1"), "{text}");
        assert!(text.contains("sda: critical I/O"), "{text}");
        assert!(text.contains("all I/O of 2 disks"), "{text}");
        assert!(text.contains("`fgio rearm`"), "{text}");
    }
}
