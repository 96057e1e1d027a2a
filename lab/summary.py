# SPDX-License-Identifier: Apache-2.0 OR MIT
"""summary.json, and the tables that people read."""

import json
import math
from collections import defaultdict
from pathlib import Path

from rich.table import Table

from lab import drives, host, kernel
from lab.bounds import SIGNS, Bound, median
from lab.experiments.base import Experiment, Row

# Figures beside the foreground's that tables show when rows have them: key -> heading.
EXTRAS = {
    "instructions_per_io": "instructions per I/O",
    "request_kib": "request KiB",
    "mean_ms": "mean ms",
    "total_mb_s": "total MB/s",
}
FIGURES = ("throughput", "p50_ms", "p99_ms", "p999_ms", "max_ms")


def build(
    experiment: Experiment,
    chosen: kernel.Kernel,
    rows: list[Row],
    command: str,
    source: dict,
) -> dict:
    """The content of summary.json.

    source: what source.commit() said when the run began
    """
    try:
        spelled = drives.spelled(experiment.device)
    except host.LabError:
        # One that has several disks, or another than a model.
        spelled = None
    return {
        **source,
        "experiment": experiment.name,
        "description": experiment.description,
        "kernel": chosen.version,
        "kernel_release": chosen.release,
        "device": experiment.device,
        "device_spec": spelled,
        "virtual_time": True,
        "duration_s": experiment.duration_s,
        "command": command,
        "units": experiment.units,
        "rows": [row.as_json() for row in rows],
    }


def _plain(value):
    # JSON knows no NaN; null says that there is no figure.
    if isinstance(value, Bound):
        return value.as_json()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def write(summary: dict, folder: Path) -> Path:
    """Writes summary.json into a folder, whole or not at all."""
    target = folder / "summary.json"
    with host.whole(target) as fresh:
        fresh.write_text(json.dumps(_plain(summary), indent=1, allow_nan=False) + "\n")
    return target


def number(value: float | Bound | None) -> str:
    """A figure with three significant digits, or a dash; with a sign where it is a bound."""
    if isinstance(value, Bound):
        return f"{SIGNS[value.kind]} {number(value.value)}"
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def medians(rows: list[Row]) -> list[dict]:
    """One line for each configuration and cell: medians over the seeds."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[(row.extra.get("cell", ""), row.config)].append(row)
    lines = []
    for (cell, config), members in groups.items():
        line = {"cell": cell, "config": config, "seeds": len(members), "background": {}}
        for figure in FIGURES:
            line[figure] = median([member.foreground.get(figure) for member in members])
        for name in members[0].background:
            line["background"][name] = median([m.background.get(name) for m in members])
        for name in EXTRAS:
            line[name] = median([member.extra.get(name) for member in members])
        lines.append(line)
    return lines


def shown_extras(lines: list[dict]) -> list[str]:
    """The keys of EXTRAS that any of the lines has."""
    return [name for name in EXTRAS if any(line[name] is not None for line in lines)]


def table(experiment: Experiment, rows: list[Row]) -> Table:
    """The figures as a table for the terminal."""
    own = experiment.table(rows)
    if own:
        return own
    lines = medians(rows)
    drawn = Table(title=f"{experiment.name}: {experiment.description}", title_justify="left")
    cells = any(line["cell"] for line in lines)
    extras = shown_extras(lines)
    background = list(dict.fromkeys(name for line in lines for name in line["background"]))
    headings = (["cell"] if cells else []) + ["configuration", "per second"]
    headings += ["p50 ms", "p99 ms", "p99.9 ms", "max ms"]
    headings += [EXTRAS[name] for name in extras]
    headings += [name.replace("_", " ") for name in background]
    for heading in headings:
        left = heading in ("cell", "configuration")
        drawn.add_column(heading, justify="left" if left else "right")
    for line in lines:
        texts = ([line["cell"]] if cells else []) + [line["config"]]
        texts += [number(line[figure]) for figure in FIGURES]
        texts += [number(line[name]) for name in extras]
        texts += [number(line["background"].get(name)) for name in background]
        drawn.add_row(*texts)
    return drawn
