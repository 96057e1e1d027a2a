// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The screen: two lines of summary, notes, four tables, a line of keys.

use std::cmp::Ordering;

use fgio_model::activity::{DeviceActivity, Event, Report, RequestActivity, TaskActivity};
use fgio_model::blame::{Cause, cause_of};
use fgio_model::rates::ClassRates;
use fgio_model::share::Standing;
use fgio_sys::clock;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table, Widget};

use super::{Order, PANES, Pane, Screen, View};
use crate::render::blame::{actions_in_letters, letters};

/// Notes that the screen shows, at most.
const NOTES_MAX: usize = 2;

/// Rows of a table that a text without a screen's bounds has, at most.
const ROWS_MAX: usize = 20;

/// The first line of the screen.
#[derive(Clone, Debug, Default)]
pub struct Headline {
    pub name: &'static str,
    /// The title of the view, and its time.
    pub place: String,
    /// Keys that this view has beside those that all have.
    pub keys: &'static [&'static str],
}

/// How a line stands out.
#[derive(Clone, Copy)]
enum Weight {
    Plain,
    Good,
    Warning,
    Alarm,
}

impl Weight {
    fn style(self, colour: bool) -> Style {
        let style = Style::new();
        match (self, colour) {
            (Self::Plain, _) => style,
            (Self::Good, true) => style.fg(Color::Green),
            (Self::Good, false) => style,
            (Self::Warning, true) => style.fg(Color::Yellow),
            (Self::Alarm, true) => style.fg(Color::Red).add_modifier(Modifier::BOLD),
            (Self::Warning | Self::Alarm, false) => style.add_modifier(Modifier::BOLD),
        }
    }
}

/// A column of a table.
struct Column {
    title: &'static str,
    /// 0: the width that the others leave.
    width: u16,
    is_figure: bool,
    /// Screens that are narrower go without it.
    least: u16,
    /// Makes a text fit that is too long.
    shorten: fn(&str, usize) -> String,
}

const fn figure(title: &'static str, width: u16, least: u16) -> Column {
    Column {
        title,
        width,
        is_figure: true,
        least,
        shorten: elide,
    }
}

const fn words(title: &'static str, width: u16) -> Column {
    Column {
        title,
        width,
        is_figure: false,
        least: 0,
        shorten: elide,
    }
}

/// Of a request id, as carriers write it.
const ID_WIDTH: u16 = 21;

const DEVICE_COLUMNS: [Column; 9] = [
    words("DISK", 9),
    words("CLASS", 13),
    figure("IO/s", 7, 0),
    figure("MB/s", 7, 0),
    figure("QUEUE ms", 8, 0),
    figure("SLOT ms", 8, 0),
    figure("DEV", 4, 66),
    figure("WAIT", 5, 72),
    figure("PROM/s", 7, 80),
];

const TASK_COLUMNS: [Column; 6] = [
    figure("TID", 8, 0),
    words("FOREGROUND", 15),
    figure("WAITS", 6, 0),
    figure("TOTAL ms", 9, 0),
    figure("MAX ms", 8, 66),
    words("LAST WAITED FOR", 0),
];

const WAIT_COLUMNS: [Column; 5] = [
    words("ENDED", 8),
    figure("ms", 6, 0),
    words("FGIO", 4),
    Column {
        shorten: elide_chain,
        ..words("TASK -> WAITS FOR -> HELD BY", 0)
    },
    Column {
        least: 120,
        ..words("REQUEST", ID_WIDTH)
    },
];

const CAUSE_COLUMNS: [Column; 6] = [
    figure("SHARE", 5, 0),
    figure("TOTAL ms", 9, 0),
    figure("COUNT", 6, 0),
    figure("MAX ms", 8, 66),
    words("FGIO", 4),
    words("CAUSE OF WAITING", 0),
];

const SHARE_COLUMNS: [Column; 9] = [
    words("DISK", 9),
    words("CGROUP", 0),
    figure("WEIGHT", 6, 0),
    figure("DUE", 6, 0),
    figure("GOT", 6, 0),
    words("IT IS", 9),
    figure("MB/s", 7, 66),
    figure("IO/s", 7, 72),
    figure("WAIT", 5, 80),
];

const REQUEST_COLUMNS: [Column; 7] = [
    words("REQUEST", ID_WIDTH),
    figure("AGE ms", 7, 0),
    figure("WAITS", 5, 66),
    figure("TOTAL ms", 8, 0),
    figure("MAX ms", 7, 90),
    words("FGIO", 4),
    words("LONGEST WAIT", 0),
];

/// A row of a table.
struct Cells {
    texts: Vec<String>,
    weight: Weight,
}

/// A table, before it is known how many rows have room.
struct Content {
    pane: Pane,
    columns: &'static [Column],
    rows: Vec<Cells>,
    /// The text when there are no rows.
    empty: String,
}

impl Content {
    /// Lines that it takes to show all of it.
    fn lines(&self) -> usize {
        self.rows.len().max(1) + 1
    }
}

/// Draws everything.
pub fn screen(
    area: Rect,
    buffer: &mut Buffer,
    headline: &Headline,
    report: Option<&Report>,
    view: &mut View,
) {
    let Some(report) = report else {
        Paragraph::new(format!("{}: measuring ...", headline.name)).render(area, buffer);
        return;
    };
    let lines = Text::from(heading(headline, report, view, area.width, NOTES_MAX));
    let used = lines.lines.len() as u16;
    let [top, body, keys] = split(area, used);
    lines.render(top, buffer);
    if view.help {
        Paragraph::new(help(report)).render(body, buffer);
    } else {
        match view.screen {
            Screen::Shares => table(body, buffer, &shares(report), view),
            Screen::Requests => table(body, buffer, &requests(report, view.order), view),
            Screen::Tables => {
                let panes = contents(report, view);
                let wants = panes.each_ref().map(Content::lines);
                let heights = heights(usize::from(body.height), wants);
                tables(body, buffer, &panes, &heights, view);
            }
        }
    }
    let footer = fitting(&footer(headline, view), "  ", usize::from(area.width));
    Line::from(footer).render(keys, buffer);
}

/// The same as lines of text: a screen of some height, or all that there is to
/// show, without keys.
pub fn text(
    width: u16,
    height: Option<u16>,
    headline: &Headline,
    report: Option<&Report>,
    view: &mut View,
) -> String {
    let buffer = match (height, report) {
        (None, Some(report)) => whole(width, headline, report, view),
        (height, _) => {
            let mut buffer = Buffer::empty(Rect::new(0, 0, width, height.unwrap_or(1)));
            screen(buffer.area, &mut buffer, headline, report, view);
            buffer
        }
    };
    to_text(&buffer)
}

fn whole(width: u16, headline: &Headline, report: &Report, view: &mut View) -> Buffer {
    let top = Text::from(heading(headline, report, view, width, usize::MAX));
    let mut panes = Vec::from(contents(report, view));
    if !report.shares.is_empty() {
        panes.push(shares(report));
    }
    if !report.requests.is_empty() {
        panes.push(requests(report, view.order));
    }
    for content in &mut panes[1..] {
        content.rows.truncate(ROWS_MAX);
    }
    // With a line between the tables.
    let heights: Vec<usize> = panes.iter().map(|content| content.lines() + 1).collect();
    let used = top.lines.len() as u16 + 1;
    let height = heights.iter().sum::<usize>() as u16;
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, used + height));
    let body = Rect::new(0, used, width, height);
    top.render(buffer.area, &mut buffer);
    tables(body, &mut buffer, &panes, &heights, view);
    buffer
}

fn to_text(buffer: &Buffer) -> String {
    let lines = buffer.content.chunks(usize::from(buffer.area.width));
    let mut lines: Vec<String> = lines
        .map(|cells| {
            let line: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
            line.trim_end().to_owned()
        })
        .collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn split(area: Rect, top: u16) -> [Rect; 3] {
    let top = top.min(area.height);
    let keys = u16::from(area.height > top);
    let body = area.height - top - keys;
    let part = |y: u16, height: u16| Rect::new(area.x, area.y + y, area.width, height);
    [part(0, top), part(top, body), part(top + body, keys)]
}

/// Shares the lines of the screen among the tables. Disks and tasks take the
/// lines they need, up to a third; the rest is for waits and causes, so that rows that
/// come and go do not move everything.
fn heights(lines: usize, wants: [usize; PANES.len()]) -> [usize; PANES.len()] {
    let devices = wants[0].min(lines / 3);
    let tasks = wants[1].min((lines - devices) / 3);
    let rest = lines - devices - tasks;
    [devices, tasks, rest - rest / 2, rest / 2]
}

fn tables(area: Rect, buffer: &mut Buffer, panes: &[Content], heights: &[usize], view: &mut View) {
    let mut y = area.y;
    for (content, height) in panes.iter().zip(heights) {
        let height = *height as u16;
        let place = Rect::new(area.x, y, area.width, height).intersection(area);
        table(place, buffer, content, view);
        y = y.saturating_add(height);
    }
}

fn table(area: Rect, buffer: &mut Buffer, content: &Content, view: &mut View) {
    if area.height == 0 {
        return;
    }
    let columns: Vec<(usize, &Column)> = content
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.least <= area.width)
        .collect();
    let visible = usize::from(area.height - 1);
    let first = view.first_row(content.pane, content.rows.len(), visible);
    let left = rest(&columns, area.width);
    let rows = content.rows.iter().skip(first).take(visible).map(|cells| {
        let row = columns.iter().map(|(index, column)| {
            let text = &cells.texts[*index];
            let room = if column.width == 0 {
                left
            } else {
                column.width
            };
            cell((column.shorten)(text, usize::from(room)), column)
        });
        Row::new(row).style(cells.weight.style(view.colour))
    });
    let titles = columns
        .iter()
        .map(|(_, column)| cell(column.title.to_owned(), column));
    let header = Row::new(titles).style(header_style(content.pane == view.scrolled()));
    let widths = columns.iter().map(|(_, column)| match column.width {
        0 => Constraint::Fill(1),
        width => Constraint::Length(width),
    });
    let table = Table::new(rows, widths).header(header).column_spacing(1);
    Widget::render(table, area, buffer);
    if content.rows.is_empty() && visible > 0 {
        let place = Rect::new(area.x, area.y + 1, area.width, 1);
        Line::from(elide(&content.empty, usize::from(area.width))).render(place, buffer);
    }
}

/// The width that fixed columns leave for the one without.
fn rest(columns: &[(usize, &Column)], width: u16) -> u16 {
    let fixed: u16 = columns.iter().map(|(_, column)| column.width + 1).sum();
    width.saturating_sub(fixed.saturating_sub(1))
}

fn cell(text: String, column: &Column) -> Cell<'static> {
    let text = Text::from(text);
    Cell::from(if column.is_figure {
        text.right_aligned()
    } else {
        text
    })
}

fn header_style(is_focus: bool) -> Style {
    let style = Style::new().add_modifier(Modifier::BOLD);
    let modifier = if is_focus {
        Modifier::REVERSED
    } else {
        Modifier::UNDERLINED
    };
    style.add_modifier(modifier)
}

const GAP: &str = "..";

/// Leaves out the middle of a text that is too long.
fn elide(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(GAP.len());
    let head = room - room / 3;
    let begin: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - (room - head)).collect();
    let text = format!("{begin}{GAP}{end}");
    text.chars().take(width).collect()
}

/// Leaves out steps in the middle of a way from the waiting task to the cause: both
/// ends matter most.
fn elide_chain(chain: &str, width: usize) -> String {
    const ARROW: &str = " -> ";
    let steps: Vec<&str> = chain.split(ARROW).collect();
    let shortened = (2..steps.len()).rev().map(|kept| {
        let tail = &steps[steps.len() - kept / 2..];
        let head = &steps[..kept - kept / 2];
        [head, &[GAP], tail].concat().join(ARROW)
    });
    std::iter::once(chain.to_owned())
        .chain(shortened)
        .find(|text| text.chars().count() <= width)
        .unwrap_or_else(|| elide(chain, width))
}

fn heading(
    headline: &Headline,
    report: &Report,
    view: &View,
    width: u16,
    notes_max: usize,
) -> Vec<Line<'static>> {
    let width = usize::from(width);
    let mut first = format!("{}  {}", headline.name, headline.place);
    if view.paused {
        first += "  PAUSED";
    }
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let mut lines = vec![
        Line::styled(elide(&first, width), bold),
        Line::from(fitting(&summary(report), " | ", width)),
    ];
    lines.extend(notes(report, view.colour, width, notes_max));
    lines
}

/// As many notes as may be shown; the last line says how many are not.
fn notes(report: &Report, colour: bool, width: usize, max: usize) -> Vec<Line<'static>> {
    let is_alarm = |note: &str| note.contains("watchdog tripped");
    let mut notes: Vec<&str> = report.notes.iter().map(String::as_str).collect();
    notes.sort_by_key(|note| !is_alarm(note));
    let omitted = notes.len().saturating_sub(max);
    notes.truncate(max);
    let last = notes.len().saturating_sub(1);
    let lines = notes.into_iter().enumerate().map(|(index, note)| {
        let more = match omitted {
            count if count > 0 && index == last => format!(" (and {count} more: see --once)"),
            _ => String::new(),
        };
        let room = width.saturating_sub(more.len());
        let text = elide(&format!("! {note}"), room) + &more;
        let weight = if is_alarm(note) {
            Weight::Alarm
        } else {
            Weight::Warning
        };
        Line::styled(text, weight.style(colour))
    });
    lines.collect()
}

/// The first of the parts, as many as fit.
fn fitting(parts: &[String], separator: &str, width: usize) -> String {
    let mut text = String::new();
    for part in parts {
        let separator = if text.is_empty() { "" } else { separator };
        let more = separator.chars().count() + part.chars().count();
        if text.chars().count() + more > width {
            break;
        }
        text += separator;
        text += part;
    }
    text
}

fn summary(report: &Report) -> Vec<String> {
    let Some(module) = &report.module else {
        return vec!["module not loaded".to_owned()];
    };
    let mut parts = Vec::new();
    let waiting = module.state.as_ref().map(|state| state.foreground_waiting);
    let waiting = waiting.map_or_else(String::new, |waiting| format!(", {waiting} waiting"));
    if report.foreground.is_some() {
        parts.push(format!("{} foreground{waiting}", report.foreground_count));
    }
    if let Some(state) = &module.state {
        parts.push(format!("{} boosted", state.boosted));
    }
    if let Some(rates) = report.state_rates {
        let promoted = rates.promoted_requests_per_second
            + rates.promoted_sleepers_per_second
            + rates.promoted_writers_per_second;
        parts.push(format!("{} boosts/s", rate(rates.boosts_per_second)));
        parts.push(format!("{} promotions/s", rate(promoted)));
    }
    if let Some(boost) = module.boost {
        parts.push(format!("boost {}", if boost { "on" } else { "OFF" }));
    }
    if report.missed > 0 {
        parts.push(format!("{} waits missed", report.missed));
    }
    if let Some(version) = &module.version {
        parts.push(format!("fgio {version}"));
    }
    parts
}

fn contents(report: &Report, view: &View) -> [Content; PANES.len()] {
    let window = report.window_seconds;
    let threshold = report
        .module
        .as_ref()
        .and_then(|module| module.threshold_us);
    let from = threshold.map_or_else(String::new, |threshold| {
        format!(" of {} ms and longer", threshold as f64 / 1000.0)
    });
    let no_wait = format!("no wait{from} in the last {window:.0} s");
    [
        Content {
            pane: Pane::Devices,
            columns: &DEVICE_COLUMNS,
            rows: report.devices.iter().flat_map(device).collect(),
            empty: "no disk that has an I/O scheduler".to_owned(),
        },
        Content {
            pane: Pane::Tasks,
            columns: &TASK_COLUMNS,
            rows: tasks(report, view.order).into_iter().map(task).collect(),
            empty: no_task(report),
        },
        Content {
            pane: Pane::Waits,
            columns: match report.requests.is_empty() {
                true => &WAIT_COLUMNS[..WAIT_COLUMNS.len() - 1],
                false => &WAIT_COLUMNS,
            },
            rows: report.waits.iter().map(wait).collect(),
            empty: no_wait.clone(),
        },
        Content {
            pane: Pane::Causes,
            columns: &CAUSE_COLUMNS,
            rows: causes(report, view.order).into_iter().map(cause).collect(),
            empty: no_wait,
        },
    ]
}

/// Cgroups without I/O are left out.
fn shares(report: &Report) -> Content {
    let rows = report.shares.iter().flat_map(|disk| {
        let active = disk.cgroups.iter().filter(|share| !share.is_idle());
        active.map(|share| Cells {
            texts: vec![
                disk.device.clone(),
                share.name(),
                share.weight.to_string(),
                format!("{:.1}%", share.guarantee * 100.0),
                format!("{:.1}%", share.got * 100.0),
                share.standing.name().to_owned(),
                rate(share.bytes_per_second / 1e6),
                rate(share.requests_per_second),
                share.queued.to_string(),
            ],
            weight: match share.standing {
                Standing::Below => Weight::Warning,
                Standing::Due | Standing::Above => Weight::Good,
                Standing::AsksLess | Standing::Idle => Weight::Plain,
            },
        })
    });
    Content {
        pane: Pane::Shares,
        columns: &SHARE_COLUMNS,
        rows: rows.collect(),
        empty: match report.shares.is_empty() {
            true => "no disk is shared by weight: `fgio share` says why".to_owned(),
            false => "no cgroup does I/O".to_owned(),
        },
    }
}

fn no_task(report: &Report) -> String {
    match (&report.module, &report.foreground) {
        (None, _) => "no foreground task without the module",
        (_, None) => "not known: see the notes",
        (_, Some(_)) => "no task is tagged as foreground: `fgio tag PID` does that",
    }
    .to_owned()
}

fn device(device: &DeviceActivity) -> Vec<Cells> {
    let Some(rates) = &device.rates else {
        let state = if device.enabled {
            "no figures".to_owned()
        } else {
            format!("({})", device.scheduler)
        };
        let mut texts = vec![device.device.clone(), state];
        texts.resize(DEVICE_COLUMNS.len(), String::new());
        let weight = Weight::Plain;
        return vec![Cells { texts, weight }];
    };
    let row = |name: &str, class: &str, rates: &ClassRates, weight| {
        let bytes = rates.dispatched_bytes_per_second;
        let texts = vec![
            name.to_owned(),
            class.to_owned(),
            rate(rates.completed_per_second),
            bytes.map_or_else(unknown, |bytes| rate(bytes / 1e6)),
            rates.mean_queue_wait_ms.map_or_else(unknown, milliseconds),
            rates
                .mean_admission_wait_ms
                .map_or_else(unknown, milliseconds),
            rates.in_device.to_string(),
            rates.waiting.to_string(),
            rate(rates.promoted_per_second),
        ];
        Cells { texts, weight }
    };
    vec![
        row(&device.device, "critical", &rates.critical, Weight::Good),
        row("", "non-critical", &rates.noncritical, Weight::Plain),
    ]
}

fn tasks(report: &Report, order: Order) -> Vec<&TaskActivity> {
    let mut tasks: Vec<&TaskActivity> = report.foreground.iter().flatten().collect();
    tasks.sort_by(|one, other| {
        let figures = match order {
            Order::Total => other.waited_ms.total_cmp(&one.waited_ms),
            Order::Count => other.waits.cmp(&one.waits),
            Order::Longest => other.longest_ms.total_cmp(&one.longest_ms),
            Order::Name => one.comm.cmp(&other.comm),
        };
        figures.then(one.tid.cmp(&other.tid))
    });
    tasks
}

fn task(task: &TaskActivity) -> Cells {
    let waited = task.waits > 0;
    let figure = |value: f64| {
        if waited {
            milliseconds(value)
        } else {
            unknown()
        }
    };
    Cells {
        texts: vec![
            task.tid.to_string(),
            task.comm.clone().unwrap_or_else(|| "?".to_owned()),
            task.waits.to_string(),
            figure(task.waited_ms),
            figure(task.longest_ms),
            task.last.clone().unwrap_or_else(unknown),
        ],
        weight: Weight::Plain,
    }
}

fn wait(event: &Event) -> Cells {
    let time = clock::time_of_day((event.ended_at * 1e9) as i64);
    let time = time.split('.').next().unwrap_or(&time).to_owned();
    let done = actions_in_letters(event.wait.actions);
    Cells {
        weight: if done == "-" {
            Weight::Plain
        } else {
            Weight::Good
        },
        texts: vec![
            time,
            milliseconds(event.wait.waited_ms),
            done,
            event.chain.clone(),
            event
                .wait
                .request
                .map_or_else(unknown, |request| request.id.to_string()),
        ],
    }
}

fn compare(one: &Cause, other: &Cause, order: Order) -> Ordering {
    match order {
        Order::Total => other.total_ms.total_cmp(&one.total_ms),
        Order::Count => other.count.cmp(&one.count),
        Order::Longest => other.max_ms.total_cmp(&one.max_ms),
        Order::Name => one.cause.cmp(&other.cause),
    }
}

fn causes(report: &Report, order: Order) -> Vec<&Cause> {
    let mut causes: Vec<&Cause> = report.causes.iter().collect();
    causes.sort_by(|one, other| compare(one, other, order));
    causes
}

/// Users' requests that waited.
fn requests(report: &Report, order: Order) -> Content {
    let mut requests: Vec<&RequestActivity> = report.requests.iter().collect();
    requests.sort_by(|one, other| compare(&one.waits, &other.waits, order));
    Content {
        pane: Pane::Requests,
        columns: &REQUEST_COLUMNS,
        rows: requests.into_iter().map(request).collect(),
        empty: "no wait of a request with an id (docs/across-servers.md)".to_owned(),
    }
}

fn request(request: &RequestActivity) -> Cells {
    let waits = &request.waits;
    Cells {
        texts: vec![
            waits.cause.clone(),
            request
                .age_ms
                .map_or_else(unknown, |age| format!("{age:.0}")),
            waits.count.to_string(),
            milliseconds(waits.total_ms),
            milliseconds(waits.max_ms),
            letters(waits),
            cause_of(&waits.longest),
        ],
        weight: match request.is_late() {
            true => Weight::Warning,
            false => Weight::Plain,
        },
    }
}

fn cause(cause: &Cause) -> Cells {
    Cells {
        texts: vec![
            format!("{:.0}%", cause.share * 100.0),
            milliseconds(cause.total_ms),
            cause.count.to_string(),
            milliseconds(cause.max_ms),
            letters(cause),
            cause.cause.clone(),
        ],
        weight: Weight::Plain,
    }
}

fn unknown() -> String {
    "-".to_owned()
}

fn rate(value: f64) -> String {
    if value > 0.0 && value < 9.95 {
        return format!("{value:.1}");
    }
    format!("{value:.0}")
}

fn milliseconds(value: f64) -> String {
    if value < 9.995 {
        return format!("{value:.2}");
    }
    if value < 999.95 {
        return format!("{value:.1}");
    }
    format!("{value:.0}")
}

fn footer(headline: &Headline, view: &View) -> Vec<String> {
    let sort = format!("s sort: {}", view.order.name());
    let common = ["q quit", "h help", &sort, "p pause"];
    let [shares, requests] = match view.screen {
        Screen::Tables => ["g shares", "r requests"],
        Screen::Shares => ["g tables", "r requests"],
        Screen::Requests => ["g shares", "r tables"],
    };
    let rest = ["Tab table", shares, requests, "up/down scroll"];
    let keys = common.iter().chain(headline.keys).chain(&rest);
    keys.map(|key| (*key).to_owned()).collect()
}

fn help(report: &Report) -> String {
    format!(
        "\
q quit   p or space pause   h this help (any key ends it)
Tab next table   up, down, PgUp, PgDn scroll it
s sort   g shares of cgroups   r requests by id, and back
replay: left, right 10 s   [ ] 1 min   , . one sample
        Home, End   + - speed

QUEUE  mean wait in fgio's queue, while both classes had I/O
SLOT   mean wait for a slot of the queue
DEV    requests in the device   WAIT  tasks without a slot
FGIO   actions of fgio: b boosted a blocking task,
       r promoted a request, s a task that slept for a slot,
       w let a writer go, - nothing
Shares: DUE by weight, GOT lately, WAIT requests queued.
Requests: AGE since they arrived, as the longest wait ended.
Tasks, waits and causes: the last {:.0} s.
MB is 1,000,000 bytes.",
        report.window_seconds
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fgio_model::activity::Activity;
    use fgio_model::sample::Sample;
    use fgio_sys::request::Request;
    use fgio_sys::share::{Share, Shares};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::super::fixture::{BEGIN_S, sample, sample_without_module};
    use super::*;

    fn report(samples: impl IntoIterator<Item = Sample>) -> Report {
        let mut activity = Activity::new(Duration::from_secs(60));
        samples.into_iter().for_each(|sample| activity.push(sample));
        activity.report().unwrap()
    }

    fn busy() -> Report {
        report((100..=103).map(sample))
    }

    fn headline() -> Headline {
        Headline {
            name: "fgio top",
            place: "12:34:56  every 1 s".to_owned(),
            keys: &[],
        }
    }

    fn buffer(columns: u16, rows: u16, report: Option<&Report>, view: &mut View) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal
            .draw(|frame| {
                let area = frame.area();
                screen(area, frame.buffer_mut(), &headline(), report, view);
            })
            .unwrap();
        terminal.backend().buffer().clone()
    }

    /// The screen, with the moments of the samples as `second-N`.
    fn drawn(columns: u16, rows: u16, report: Option<&Report>, view: &mut View) -> String {
        let mut text = to_text(&buffer(columns, rows, report, view));
        for second in 100..=103_i64 {
            // They ended 1 us before the second was full.
            let time = clock::time_of_day((BEGIN_S + second - 1) * 1_000_000_000);
            let time = time.split('.').next().unwrap();
            text = text.replace(time, &format!("second-{}", second - 100));
        }
        text
    }

    fn press(view: &mut View, code: KeyCode) {
        view.key(KeyEvent::new(code, KeyModifiers::NONE));
    }

    #[test]
    fn all_fits_80x24() {
        let text = drawn(80, 24, Some(&busy()), &mut View::new(false));
        assert_eq!(text, include_str!("screens/80x24.txt"));
    }

    #[test]
    fn all_fits_60x20() {
        let text = drawn(60, 20, Some(&busy()), &mut View::new(false));
        assert_eq!(text, include_str!("screens/60x20.txt"));
    }

    #[test]
    fn more_is_shown_at_200x50() {
        let text = drawn(200, 50, Some(&busy()), &mut View::new(false));
        assert_eq!(text, include_str!("screens/200x50.txt"));
    }

    #[test]
    fn every_size_is_drawn_without_a_panic() {
        let report = busy();
        for columns in [1, 2, 9, 40, 61, 300] {
            for rows in [1, 2, 3, 5, 8, 13] {
                let mut view = View::new(true);
                buffer(columns, rows, Some(&report), &mut view);
                buffer(columns, rows, None, &mut view);
                view.help = true;
                buffer(columns, rows, Some(&report), &mut view);
            }
        }
    }

    #[test]
    fn a_module_that_is_not_loaded_is_told() {
        let samples = [sample(100), sample_without_module(101)];
        let text = drawn(80, 24, Some(&report(samples)), &mut View::new(false));
        assert!(
            text.contains("! the module fgio is not loaded: `fgio enable DEV`"),
            "{text}"
        );
        assert!(
            text.contains("no foreground task without the module"),
            "{text}"
        );
        assert!(text.contains("vda       (none)"), "{text}");
    }

    #[test]
    fn notes_are_few_and_the_watchdog_comes_first() {
        let mut report = busy();
        let tripped =
            "the watchdog tripped, so fgio boosts nothing on its disks: see `fgio status`";
        let long = "a note that is much longer than a line of the screen has room for, really";
        report.notes = [long, "two", tripped].map(str::to_owned).to_vec();
        let text = drawn(80, 24, Some(&report), &mut View::new(false));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].starts_with("! the watchdog tripped"), "{text}");
        assert!(lines[3].ends_with("(and 1 more: see --once)"), "{text}");
        assert_eq!((lines.len(), lines[3].chars().count()), (24, 80), "{text}");
        let all = super::text(80, None, &headline(), Some(&report), &mut View::new(false));
        assert!(all.contains("\n! two\n"), "{all}");
    }

    #[test]
    fn tables_scroll_and_are_sorted() {
        let report = busy();
        let mut view = View::new(false);
        let first = |text: &str| text.lines().nth(13).map(str::to_owned);
        let top = drawn(80, 24, Some(&report), &mut view);
        press(&mut view, KeyCode::PageDown);
        let scrolled = drawn(80, 24, Some(&report), &mut view);
        assert_ne!(first(&top), first(&scrolled));
        press(&mut view, KeyCode::PageUp);
        assert_eq!(drawn(80, 24, Some(&report), &mut view), top);
        for (name, longest) in [
            ("waits", "1001"),
            ("longest wait", "1002"),
            ("name", "1001"),
        ] {
            press(&mut view, KeyCode::Char('s'));
            let text = drawn(80, 24, Some(&report), &mut view);
            assert!(text.contains(&format!("sort: {name}")), "{text}");
            let line = text.lines().skip_while(|line| !line.contains("FOREGROUND"));
            let line = line.skip(1).find(|_| true).unwrap();
            assert!(line.contains(longest), "{name}: {text}");
        }
    }

    /// A disk shared by two cgroups, one of which is below its guarantee.
    fn shared() -> Report {
        let share = |cgroup: u64, weight: u32, drive_ns: u64| Share {
            cgroup,
            parent: 1,
            weight,
            guarantee: f64::from(weight) / 400.0,
            asks: drive_ns > 0,
            requests: drive_ns / 1000,
            drive_ns,
            queued: 7,
            ..Share::default()
        };
        let samples = [100, 101].map(|second| {
            let shares = Shares {
                followed: true,
                on: true,
                cgroups: vec![
                    share(2, 300, 300_000 * (second - 100)),
                    share(3, 100, 700_000 * (second - 100)),
                    share(4, 100, 0),
                ],
            };
            Sample {
                shares: [("vda".to_owned(), shares)].into(),
                ..sample(second)
            }
        });
        report(samples)
    }

    #[test]
    fn shares_have_a_screen_of_their_own() {
        let report = shared();
        let mut view = View::new(false);
        assert!(!drawn(80, 24, Some(&report), &mut view).contains("CGROUP"));
        press(&mut view, KeyCode::Char('g'));
        let text = drawn(80, 24, Some(&report), &mut view);
        let rows: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("vda"))
            .collect();
        assert_eq!(rows.len(), 2, "{text}");
        for (row, words) in rows.iter().zip([
            ["id 3", "25.0%", "70.0%", "above"],
            ["id 2", "75.0%", "30.0%", "below"],
        ]) {
            for word in words {
                assert!(row.contains(word), "{word}: {text}");
            }
        }
        assert!(!text.contains("CAUSE"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80));
        let unshared = drawn(60, 20, Some(&busy()), &mut view);
        assert!(unshared.contains("no disk is shared by weight"));
        // A text without bounds has all tables.
        let text = text_of(&report);
        assert!(text.contains("CAUSE OF WAITING") && text.contains("id 2"));
    }

    /// Two requests, of which the second is late.
    fn served() -> Report {
        let samples = [100, 101].map(|second| {
            let mut sample = sample(second);
            let ids = [Some((5, 0)), Some((500, 200)), None];
            for (wait, id) in sample.waits.longest.iter_mut().zip(ids) {
                wait.request = id.and_then(|(ms, deadline_ms)| {
                    let arrived_ms = (BEGIN_S.unsigned_abs() + second) * 1000 - ms;
                    Request::from_kernel(arrived_ms << 24, deadline_ms, 0)
                });
            }
            sample
        });
        report(samples)
    }

    #[test]
    fn requests_have_a_screen_of_their_own() {
        let report = served();
        let mut view = View::new(false);
        let tables = drawn(130, 24, Some(&report), &mut view);
        let ids = tables.lines().filter(|line| line.contains(" fgio:"));
        assert_eq!(ids.count(), 4, "{tables}");
        assert!(!drawn(80, 24, Some(&report), &mut view).contains(" fgio:"));
        assert!(!drawn(130, 24, Some(&busy()), &mut view).contains("REQUEST"));
        press(&mut view, KeyCode::Char('r'));
        let text = drawn(80, 24, Some(&report), &mut view);
        let rows: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("fgio:"))
            .collect();
        assert_eq!(rows.len(), 4, "{text}");
        // The one that waited longest first.
        for word in [" 500 ", " 121.0 ", " r ", "journal commit"] {
            assert!(rows[0].contains(word), "{word}: {text}");
        }
        assert!(
            rows[3].contains(" 5 ") && rows[3].contains(" 12.5 "),
            "{text}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert_eq!(
            report.requests.iter().filter(|one| one.is_late()).count(),
            2
        );
        let empty = drawn(60, 20, Some(&busy()), &mut view);
        assert!(empty.contains("no wait of a request with an id"), "{empty}");
        assert!(text_of(&report).contains("LONGEST WAIT"));
        assert!(!text_of(&busy()).contains("LONGEST WAIT"));
    }

    fn text_of(report: &Report) -> String {
        let mut view = View::new(false);
        super::text(80, None, &headline(), Some(report), &mut view)
    }

    #[test]
    fn help_fits_60x20() {
        let mut view = View::new(false);
        press(&mut view, KeyCode::Char('h'));
        let text = drawn(60, 20, Some(&busy()), &mut view);
        assert!(text.contains("MB is 1,000,000 bytes."), "{text}");
        let lines = help(&busy());
        assert!(lines.lines().all(|line| line.len() <= 60), "{lines}");
    }

    #[test]
    fn no_colour_means_none() {
        let mut report = busy();
        report.notes.push("something".into());
        let colours = |colour| {
            let buffer = buffer(80, 24, Some(&report), &mut View::new(colour));
            let cells = buffer.content.iter();
            cells
                .filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
                .count()
        };
        assert!(colours(true) > 0);
        assert_eq!(colours(false), 0);
    }

    #[test]
    fn the_middle_is_left_out() {
        assert_eq!(
            elide("postgres[1] -> mutex -> device", 30),
            "postgres[1] -> mutex -> device"
        );
        assert_eq!(
            elide("postgres[1] -> mutex -> device", 20),
            "postgres[1] ..device"
        );
        assert_eq!(elide("postgres", 1), ".");
        assert_eq!(elide("\u{e4}\u{f6}\u{fc}\u{e4}", 3), "\u{e4}..");
        assert_eq!(elide("x", 0), "");
    }

    #[test]
    fn the_ends_of_a_chain_are_kept() {
        let chain = "postgres[1] -> mutex -> a[2] -> semaphore -> b[3] -> device I/O";
        assert_eq!(elide_chain(chain, 80), chain);
        let shorter = "postgres[1] -> mutex -> a[2] -> .. -> b[3] -> device I/O";
        assert_eq!(elide_chain(chain, 60), shorter);
        let shortest = "postgres[1] -> .. -> device I/O";
        assert_eq!(elide_chain(chain, 31), shortest);
        assert_eq!(elide_chain(chain, 30).chars().count(), 30);
        assert_eq!(elide_chain("postgres[1]", 8), "post..1]");
    }

    #[test]
    fn tall_screens_are_shared() {
        assert_eq!(heights(21, [4, 9, 100, 5]), [4, 5, 6, 6]);
        assert_eq!(heights(21, [40, 2, 0, 0]), [7, 2, 6, 6]);
        assert_eq!(heights(0, [4, 9, 1, 1]), [0, 0, 0, 0]);
    }
}
