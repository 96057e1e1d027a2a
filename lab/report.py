# SPDX-License-Identifier: Apache-2.0 OR MIT
"""report.html: one file with figures and drawings, readable without a network."""

import io
from collections import defaultdict
from pathlib import Path

import jinja2
import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt  # noqa: E402 (after the choice of the backend)

from lab import figures, host, paths, summary  # noqa: E402
from lab.configurations import BY_NAME  # noqa: E402
from lab.experiments.base import Experiment, Row  # noqa: E402

COLOURS = {
    "none": "#c0392b",
    "mq-deadline": "#e67e22",
    "mq-deadline-prio": "#b7950b",
    "kyber": "#8e44ad",
    "bfq": "#16a085",
    "bfq-idle": "#2471a3",
    "fgio": "#111111",
    "fgio-16": "#d81b60",
    "none-rt": "#c0392b",
    "mq-deadline-rt": "#b7950b",
    "bfq-rt": "#2471a3",
    "alone": "#27ae60",
    "floor": "#27ae60",
    "ceiling": "#7f8c8d",
}
MORE_COLOURS = plt.get_cmap("tab20").colors


def colour(config: str):
    """Every configuration's own, the same in every drawing."""
    if config in COLOURS:
        return COLOURS[config]
    return MORE_COLOURS[sum(config.encode()) % len(MORE_COLOURS)]


# Small and stable files: text stays text, and names inside do not change from run to run.
plt.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "fgio",
        "font.family": "sans-serif",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)


def _svg(figure) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    drawn = text.getvalue()
    return drawn[drawn.index("<svg") :]


def _joined(rows: list[Row]) -> dict[str, figures.Requests]:
    parts: dict[str, list] = defaultdict(list)
    for row in rows:
        if len(row.requests):
            parts[row.config].append(row.requests)
    return {config: figures.Requests.join(some) for config, some in parts.items()}


def draw_ccdf(rows: list[Row]) -> str:
    """How many requests took longer than x, one line a configuration, all seeds together."""
    figure, axes = plt.subplots(figsize=(8, 4.6))
    for config, requests in _joined(rows).items():
        latency, fraction = figures.ccdf(requests)
        width = 2.2 if config == "fgio" else 1.4
        style = "--" if config in ("alone", "floor") else "-"
        axes.plot(latency, fraction, style, color=colour(config), label=config, linewidth=width)
    axes.set(xscale="log", yscale="log", xlabel="total latency, ms")
    axes.set_ylabel("requests that took longer")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.legend(frameon=False)
    return _svg(figure)


def draw_rates(rows: list[Row]) -> str:
    """Throughput over time of the first seed, one panel a configuration, with the marks."""
    first = min(row.seed for row in rows)
    shown = [row for row in rows if row.seed == first and len(row.requests)]
    figure, panels = plt.subplots(
        len(shown), 1, figsize=(8, 1.3 * len(shown) + 0.6), sharex=True, sharey=True, squeeze=False
    )
    for row, axes in zip(shown, panels[:, 0], strict=True):
        step = 0.5 if row.duration_s > 10 else max(row.duration_s / 40, 0.05)
        middle, value = figures.rate(row.requests, row.duration_s, step)
        axes.fill_between(middle, value, step="mid", color=colour(row.config), alpha=0.75)
        for number, (name, begin, end) in enumerate(row.marks):
            axes.axvspan(begin, end, color="#000000", alpha=0.09, linewidth=0)
            axes.text(
                begin,
                0.97 - 0.16 * (number % 3),
                f" {name}",
                fontsize=7,
                va="top",
                transform=axes.get_xaxis_transform(),
            )
        axes.set_ylabel(row.config, rotation=0, ha="right", va="center")
    panels[-1, 0].set_xlabel("virtual time, s; height: requests per second")
    return _svg(figure)


def wait_table(rows: list[Row], most: int = 10) -> dict:
    """Shares of wait events, one column a configuration (means over seeds), largest first."""
    shares: dict[str, dict[str, float]] = defaultdict(dict)
    configs = list(dict.fromkeys(row.config for row in rows if row.extra.get("waits")))
    for config in configs:
        members = [row.extra["waits"] for row in rows if row.config == config]
        for event in {event for member in members for event in member}:
            mean = sum(member.get(event, 0) for member in members) / len(members)
            shares[event][config] = mean
    ordered = sorted(shares, key=lambda event: -max(shares[event].values()))[:most]
    events = [(event, [shares[event].get(config, 0) for config in configs]) for event in ordered]
    return {"configs": configs, "events": events} if events else {}


def write(experiment: Experiment, content: dict, rows: list[Row], folder: Path) -> Path:
    """Writes report.html (or report.md) into a folder, whole or not at all.

    Where requests were measured, their distribution is in latency.svg as well.
    """
    own = experiment.markdown(content, rows)
    if own:
        for name, drawing in experiment.drawings(rows, colour).items():
            with host.whole(folder / f"{name}.svg") as fresh:
                fresh.write_text(_svg(drawing))
        with host.whole(folder / "report.md") as fresh:
            fresh.write_text(own)
        return folder / "report.md"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(paths.LAB), autoescape=True, trim_blocks=True
    )
    environment.filters["number"] = summary.number
    single_cell = not any("cell" in row.extra for row in rows)
    drawn = single_cell and any(len(row.requests) for row in rows)
    ccdf = draw_ccdf(rows) if drawn else ""
    lines = summary.medians(rows)
    text = environment.get_template("report.html.j2").render(
        experiment=experiment,
        content=content,
        lines=lines,
        background=list(dict.fromkeys(name for line in lines for name in line["background"])),
        cells=not single_cell,
        extras={name: summary.EXTRAS[name] for name in summary.shown_extras(lines)},
        seeds=sorted({row.seed for row in rows}),
        ccdf=ccdf,
        rates=draw_rates(rows) if drawn else "",
        waits=wait_table(rows),
        configurations=[BY_NAME[name] for name in dict.fromkeys(row.config for row in rows)],
    )
    if ccdf:
        with host.whole(folder / "latency.svg") as fresh:
            fresh.write_text(ccdf)
    target = folder / "report.html"
    with host.whole(target) as fresh:
        fresh.write_text(text)
    return target
