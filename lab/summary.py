# SPDX-License-Identifier: Apache-2.0 OR MIT
"""summary.json, and the tables that people read."""

import json
import math
from collections import defaultdict
from pathlib import Path

from rich.table import Table

from lab import drives, figures, host, kernel
from lab.bounds import SIGNS, Bound, median
from lab.experiments.base import Experiment, Row
from lab.figures import Requests

# Figures beside the foreground's that tables show when rows have them: key -> heading.
EXTRAS = {
    "instructions_per_io": "instructions per I/O",
    "request_kib": "request KiB",
    "mean_ms": "mean ms",
    "total_mb_s": "total MB/s",
}
NAME = "summary.json"
# Without these a figure cannot be made again.
NEEDED = ("commit", "dirty", "command")
# Of a line of summary.json; figures without others below them are not broken from this depth on.
WIDTH = 240
DEPTH = 2
FIGURES = ("throughput", "p50_ms", "p99_ms", "p999_ms", "max_ms")


def build(
    experiment: Experiment,
    chosen: kernel.Kernel,
    rows: list[Row],
    command: str,
    source: dict,
) -> dict:
    """The content of summary.json.

    source: source.commit() of when the run began
    """
    try:
        spelled = drives.spelled(experiment.device)
    except host.LabError:
        # One that has several disks, or another than a model.
        spelled = None
    content = {
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
    drawn = {"curves": curves(experiment, rows), "rates": rates(experiment, rows)}
    return content | {name: found for name, found in drawn.items() if found}


def curves(experiment: Experiment, rows: list[Row]) -> dict[str, dict[str, dict]]:
    """The distributions that the report draws, all seeds together: cell -> configuration -> curve.

    Requests themselves stay with the raw data.
    """
    found: dict[str, dict[str, dict]] = {}
    for cell in experiment.drawn_cells(rows):
        parts: dict[str, list[Requests]] = defaultdict(list)
        for row in rows:
            if row.extra.get("cell", "") == cell and len(row.requests):
                parts[row.config].append(row.requests)
        if parts:
            joined = {config: Requests.join(some) for config, some in parts.items()}
            found[cell] = {config: figures.curve(some) for config, some in joined.items()}
    return found


def rates(experiment: Experiment, rows: list[Row]) -> list[dict]:
    """Requests per second over time, of the first seed, where the report draws them."""
    if "" not in experiment.drawn_cells(rows):
        return []
    found = []
    for row in rows:
        if row.seed != rows[0].seed or not len(row.requests):
            continue
        step_s = 0.5 if row.duration_s > 10 else max(row.duration_s / 40, 0.05)
        _, per_s = figures.rate(row.requests, row.duration_s, step_s)
        line = {"config": row.config, "step_s": step_s, "per_s": [round(one, 3) for one in per_s]}
        found.append(line | {"marks": row.marks})
    return found


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


def text(value, depth: int = 0) -> str:
    """JSON with a line for each value that fits, and for figures without others below them."""
    flat = json.dumps(value, allow_nan=False)
    if not isinstance(value, dict | list) or len(flat) + depth <= WIDTH:
        return flat
    members = value.values() if isinstance(value, dict) else value
    if depth >= DEPTH and not any(isinstance(one, dict | list) for one in members):
        return flat
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {text(one, depth + 1)}" for key, one in value.items()]
    else:
        parts = [text(one, depth + 1) for one in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return f"{begin}\n{pad}" + f",\n{pad}".join(parts) + f"\n{' ' * depth}{end}"


def write(summary: dict, folder: Path) -> Path:
    """Writes summary.json into a folder, whole or not at all.

    Raises LabError for one without commit or command.
    """
    missing = [name for name in NEEDED if name not in summary]
    if missing:
        raise host.LabError(f"a summary without {' and '.join(missing)}: add source.commit()")
    target = folder / NAME
    with host.whole(target) as fresh:
        fresh.write_text(text(_plain(summary)) + "\n")
    return target


def load(folder: Path) -> dict:
    """The content of a folder's summary.json. Raises LabError when there is none."""
    try:
        return json.loads((folder / NAME).read_text())
    except (OSError, ValueError) as error:
        raise host.LabError(f"{folder}: no {NAME} that can be read: {error}") from None


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
