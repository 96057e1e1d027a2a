# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Drawings that several reports have."""

import statistics
from collections import defaultdict

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt  # noqa: E402 (after the choice of the backend)
from matplotlib.figure import Figure  # noqa: E402

from lab.experiments.base import BOUNDS, Row  # noqa: E402

# Small and stable files: text stays text, and names inside do not change from run to run.
plt.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "fgio",
        # summary.json has the points that are drawn, and no more.
        "path.simplify": False,
        "font.family": "sans-serif",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)

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


def ccdf(curves: dict[str, dict]) -> Figure:
    """The fraction of requests that took longer than x, a line for each configuration.

    curves: of each configuration, as figures.curve() makes them
    """
    figure, axes = plt.subplots(figsize=(8, 4.6))
    for config, curve in curves.items():
        width = 2.2 if config == "fgio" else 1.4
        style = "--" if config in BOUNDS else "-"
        longer = [count / curve["n"] for count in curve["longest"]]
        axes.plot(curve["ms"], longer, style, color=colour(config), label=config, linewidth=width)
    axes.set(xscale="log", yscale="log", xlabel="total latency, ms")
    axes.set_ylabel("requests that took longer")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.legend(frameon=False)
    return figure


def throughput(rows: list[Row], unit: str) -> Figure:
    """A bar for each configuration: the median of the seeds, whiskers from least to most.

    Bounds are lines across all bars.
    """
    seeds: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row.foreground.get("throughput") is not None:
            seeds[row.config].append(row.foreground["throughput"])
    shown = [config for config in seeds if config not in BOUNDS]
    figure, axes = plt.subplots(figsize=(8, 0.32 * len(shown) + 1))
    for place, config in enumerate(shown):
        some = seeds[config]
        middle = statistics.median(some)
        reach = [[middle - min(some)], [max(some) - middle]]
        axes.barh(place, middle, xerr=reach if len(some) > 1 else None, color=colour(config))
    for config in set(seeds) & set(BOUNDS):
        bound = statistics.median(seeds[config])
        axes.axvline(bound, linestyle="--", color=colour(config), label=config)
        axes.legend(frameon=False, loc="lower right")
    axes.set_yticks(range(len(shown)), shown)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    return figure


def rates(lines: list[dict]) -> Figure:
    """Throughput over time, a panel for each configuration, with the marks.

    lines: as summary.rates() makes them
    """
    figure, panels = plt.subplots(
        len(lines), 1, figsize=(8, 1.3 * len(lines) + 0.6), sharex=True, sharey=True, squeeze=False
    )
    for line, axes in zip(lines, panels[:, 0], strict=True):
        middle = [(step + 0.5) * line["step_s"] for step in range(len(line["per_s"]))]
        axes.fill_between(
            middle, line["per_s"], step="mid", color=colour(line["config"]), alpha=0.75
        )
        for number, (name, begin, end) in enumerate(line["marks"]):
            axes.axvspan(begin, end, color="#000000", alpha=0.09, linewidth=0)
            axes.text(
                begin,
                0.97 - 0.16 * (number % 3),
                f" {name}",
                fontsize=7,
                va="top",
                transform=axes.get_xaxis_transform(),
            )
        axes.set_ylabel(line["config"], rotation=0, ha="right", va="center")
    panels[-1, 0].set_xlabel("virtual time, s; height: requests per second")
    return figure
