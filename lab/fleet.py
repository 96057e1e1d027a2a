# SPDX-License-Identifier: Apache-2.0 OR MIT
"""lab/run fleet: a sharded database in the simulator, core itself under an event loop, no guest.

`make -C core fleet` builds the program; each point is one run of it. What a cell is about is in
CELLS; all of it is simulated.
"""

import json
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure

from lab import host, paths
from lab.drawings import colour
from lab.experiments.base import matching
from lab.figures import FIGURES_OF_PARTS

NAME = "fleet"
DESCRIPTION = "requests of users over many shards and drives, simulated: by which order, and where"

KERNELS = ("none", "mq-deadline")
ORACLES = ("oracle-slack", "oracle-work", "oracle-arrival")
WHAT = {
    "none": "in order of arrival, as many in the drive as it takes",
    "mq-deadline": "the rules of mq-deadline",
    "fgio-unordered": "fgio: critical I/O first, in order of arrival",
    "fgio-window": "the same, with as few critical I/Os in the drive as the orders below learn",
    "fgio-arrival": "the earliest request of a user first",
    "fgio-batch": "requests that were begun first, the earliest of them first",
    "fgio-fifo-lm": "the earliest first, three light ones for a heavy one",
    "fgio-slack": "the earliest deadline first",
    "fgio-bottleneck": "the least work first, as far as it is known",
    "oracle": "the best of three rules that know what every part of a request has left",
}
CONFIGURATIONS = tuple(WHAT)
DEFAULT = "fgio-fifo-lm"
FEW = ("none", "fgio-unordered", DEFAULT)
# Critical I/Os in a drive of fgio-window: what the orders learn (bound in summary.json).
WINDOWS = {"volume": 2, "ssd": 16}
# Of what a line of the program says, which lines of summary.json have.
FIGURES = (
    *FIGURES_OF_PARTS,
    "liars_mean_ms",
    "liars_p99_ms",
    "background_mb_s",
    "aged",
    "forgotten",
    "outstanding",
    "bound",
)
UNITS = {
    "throughput": "requests per s that ended",
    "p999_ms": "from arrival at the proxy to the end of the last part, ms",
    "gap_p50_ms": "between the ends of a request's first and last part, ms",
    "liars_mean_ms": "of requests that claim to be ten seconds older, which no other figure has",
    "aged": "I/Os that went by age",
    "forgotten": "requests of which a drive forgot what they had, with I/O queued",
    "outstanding": "most requests at a time",
    "bound": "critical I/Os that the last drive needs by what its order learnt (half as many again "
    "may be in it); 0: none",
}
LIMIT_S = 3000
# Of the cells that claims of tails are made of.
SEEDS_OF_TAILS = 10


@dataclass(frozen=True)
class Cell:
    """One setting of the simulator.

    what: in words; options: of the program; configs: compared
    seeds: at most as many, where points take long
    window: critical I/Os in a drive of fgio; None: the orders learn it
    """

    name: str
    what: str
    options: dict[str, float]
    device: str = "volume"
    configs: tuple[str, ...] = FEW
    seeds: int = 3
    window: int | None = None


def _seconds(device: str) -> dict[str, float]:
    return {"seconds": 60} if device == "volume" else {"seconds": 2, "warm-up": 1}


def _policies() -> Iterable[Cell]:
    """The load of the reference, alone, beside background I/O, and with scans among it."""
    settings = (
        ("plain", "load 0.9", {"load": 0.9}),
        ("background", "load 0.8, checkpoints and scans beside it", {"load": 0.8, "background": 1}),
        (
            "huge",
            "load 0.8, 8 reads at a time, 1 % of requests 20 times as large (in no figure)",
            {"load": 0.8, "width": 8, "huge-ppm": 10_000},
        ),
    )
    for device in WINDOWS:
        for name, what, options in settings:
            yield Cell(
                f"{name}-{device}",
                what,
                options | _seconds(device),
                device,
                CONFIGURATIONS,
                seeds=SEEDS_OF_TAILS if device == "volume" else 3,
            )


def _loads() -> Iterable[Cell]:
    for load in (0.5, 0.7, 0.8, 0.9, 0.95):
        yield Cell(f"load-{load}", f"load {load}", {"load": load, "seconds": 60})


def _windows() -> Iterable[Cell]:
    for device, windows in {"volume": (2, 4, 8, 16, 64), "ssd": (8, 12, 16, 24, 32)}.items():
        for window in windows:
            yield Cell(
                f"window-{device}-{window}",
                f"load 0.9, at most {window} critical I/Os in a drive",
                {"load": 0.9} | _seconds(device),
                device,
                ("fgio-window", DEFAULT),
                window=window,
            )


def _clocks() -> Iterable[Cell]:
    for skew_ms, exchange in ((0, 0), (20, 0), (50, 0), (50, 1), (200, 0), (200, 1), (2000, 0)):
        back = ", answers bring ids back" if exchange else ""
        yield Cell(
            f"skew-{skew_ms}{'-exchange' if exchange else ''}",
            f"load 0.9, two proxies, {skew_ms} ms of skew{back}",
            {"load": 0.9, "proxies": 2, "skew-ms": skew_ms, "exchange": exchange, "seconds": 60},
        )
    for proxies in (16, 64):
        yield Cell(
            f"proxies-{proxies}",
            f"load 0.9, {proxies} proxies within 5 ms",
            {"load": 0.9, "proxies": proxies, "skew-ms": 5, "seconds": 60},
        )


def _claims() -> Iterable[Cell]:
    for shards in (1, 4):
        yield Cell(
            f"without-ids-{shards}",
            f"load 0.9, {shards} of 4 shards never get ids",
            {"load": 0.9, "without-ids": shards, "seconds": 60},
        )
    yield Cell(
        "liars",
        "load 0.9, 1 % of requests claim to be ten seconds older",
        {"load": 0.9, "liars-ppm": 10_000, "seconds": 60},
    )


def _faults() -> Iterable[Cell]:
    wide = {"drives": 16, "fanout": 16, "records": 400, "seconds": 20}
    yield Cell(
        "slow-shard",
        "load 0.45, 16 shards, a drive of half the speed among them",
        wide | {"load": 0.45, "slow": 1},
    )
    few = {"drives": 16, "fanout": 4, "load": 0.4, "seconds": 20}
    yield Cell(
        "dead-shard", "load 0.4, a shard fails for 20 s; its replica takes over", few | {"dead": 1}
    )
    yield Cell(
        "hedged",
        "load 0.4, parts that take 60 ms run on a replica, too",
        few | {"hedge-ms": 60},
    )


def _scale() -> Iterable[Cell]:
    for drives, fanout, seconds, seeds in (
        (16, 1, 20, 3),
        (64, 8, 20, 1),
        (64, 64, 20, 1),
        (1000, 200, 4, 1),
        (10_000, 200, 0.4, 1),
    ):
        yield Cell(
            f"scale-{drives}-{fanout}",
            f"load 0.9, {drives:,} drives, fan-out {fanout}, 64 proxies within 5 ms",
            {
                "load": 0.9,
                "drives": drives,
                "fanout": fanout,
                # As many a part as with four.
                "records": 25 * fanout,
                "proxies": 64,
                "skew-ms": 5,
                "seconds": seconds,
                "warm-up": min(2, seconds / 2),
            },
            seeds=seeds,
        )


CELLS = tuple(
    cell
    for some in (_policies, _loads, _windows, _clocks, _claims, _faults, _scale)
    for cell in some()
)


@dataclass
class Program:
    """The simulator, built."""

    path: Path = field(default_factory=lambda: paths.BUILD / "core" / "fast" / "fleet")

    def build(self) -> None:
        """Builds it. Raises LabError."""
        command = ["make", "-s", "-C", str(paths.ROOT / "core"), "fleet"]
        host.run([*command, f"BUILD={paths.BUILD / 'core'}"], what="building the simulator")

    def point(self, options: dict[str, object], policy: str, device: str) -> dict:
        """One run: its line. Raises LabError."""
        arguments = [f"--{name}={value}" for name, value in options.items()]
        command = [str(self.path), *arguments, policy, device]
        return json.loads(host.run(command, what=f"fleet {policy}", limit_s=LIMIT_S))

    def line(self, options: dict[str, object], config: str, device: str, window: int = 0) -> dict:
        """The line of a configuration: of `oracle`, the best one.

        window: critical I/Os in a drive of fgio, 0: the orders learn it. Raises LabError.
        """
        if config == "oracle":
            given = options | {"window": window}
            lines = [self.point(given, policy, device) for policy in ORACLES]
            return min(lines, key=lambda line: line["p999_ms"])
        if config in (*KERNELS, "fgio-unordered"):
            return self.point(options, config, device)
        if config == "fgio-window":
            window = window or WINDOWS[device]
            return self.point(options | {"window": window}, "fgio-unordered", device)
        return self.point(options | {"window": window}, config, device)


def _row(cell: Cell, config: str, seed: int, line: dict) -> dict:
    row = {"config": config, "seed": seed, "device": cell.device, "vehicle": "simulated"}
    row |= {"cell": cell.name}
    if config == "oracle":
        row["rule"] = line["config"]
    return row | {name: line[name] for name in FIGURES}


@dataclass(frozen=True)
class Plan:
    """Cells and configurations to run, with seeds 1 to `seeds`."""

    cells: tuple[Cell, ...]
    configs: tuple[str, ...]
    seeds: int


def choose(configs: str | None, valid: tuple[str, ...]) -> tuple[str, ...]:
    """The configurations to run, by names with commas between; all without any.

    Raises LabError for a name that is not valid.
    """
    chosen = tuple(configs.split(",")) if configs else valid
    for config in chosen:
        if config not in valid:
            raise host.LabError(
                f"unknown configuration {config or '(empty)'} for this experiment; "
                f"choose from: {', '.join(valid)}"
            )
    return chosen


def plan(only: str | None, configs: str | None, seeds: int) -> Plan:
    """The plan that options ask for: names of cells by a pattern, configurations by name.

    Raises LabError for a name that is none, and where nothing is left to run.
    """
    cells = CELLS
    if only:
        found = matching(only, [cell.name for cell in CELLS], "cell")
        cells = tuple(cell for cell in CELLS if cell.name in found)
    chosen = choose(configs, CONFIGURATIONS)
    if not any(set(cell.configs) & set(chosen) for cell in cells):
        raise host.LabError("nothing to run: the chosen cells do not have these configurations")
    return Plan(cells, chosen, seeds)


def run(asked: Plan, tell: Callable[[str], None]) -> dict:
    """Runs a plan: the content of summary.json but its source. Raises LabError where that fails."""
    program = Program()
    program.build()
    rows = []
    for cell in asked.cells:
        tell(f"fleet: {cell.name}")
        for seed in range(1, min(asked.seeds, cell.seeds) + 1):
            for config in (one for one in cell.configs if one in asked.configs):
                options = {**cell.options, "seed": seed}
                line = program.line(options, config, cell.device, cell.window or 0)
                rows.append(_row(cell, config, seed, line))
    return {
        "experiment": NAME,
        "description": DESCRIPTION,
        "simulated": True,
        "fleet": {cell.name: {"what": cell.what, **cell.options} for cell in asked.cells},
        "windows": WINDOWS,
        "units": UNITS,
        "rows": rows,
    }


def _number(value: float) -> str:
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def _medians(rows: list[dict], cell: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for config in dict.fromkeys(row["config"] for row in rows if row["cell"] == cell):
        some = [row for row in rows if row["cell"] == cell and row["config"] == config]
        # Older summaries lack some.
        names = [name for name in FIGURES if all(name in row for row in some)]
        found[config] = {name: statistics.median(row[name] for row in some) for name in names}
        found[config]["seeds"] = len(some)
    return found


def markdown(content: dict) -> str:
    """The tables of a summary.json, in Markdown: medians over seeds."""
    commit = f"commit {(content.get('commit') or 'unknown')[:12]}"
    changes = " with changes" if content.get("dirty") else ""
    lines = [
        "# A fleet of shards",
        "",
        f"Simulated, {commit}{changes}, made by `{content['command']}`. Medians over seeds, in ms; "
        "gap: between the ends of a request's first and last part.",
    ]
    for name, cell in content["fleet"].items():
        medians = _medians(content["rows"], name)
        if not medians:
            continue
        seeds = int(next(iter(medians.values()))["seeds"])
        lines += ["", f"## {name}", "", f"{cell['what']}; seeds: {seeds}.", ""]
        lines += ["| configuration | per s | mean | p50 | p99 | p99.9 | gap p50 | gap p99 |"]
        lines += ["|---|--:|--:|--:|--:|--:|--:|--:|"]
        shown = FIGURES[:7]
        for config, figures in medians.items():
            texts = [_number(figures[one]) for one in shown]
            lines.append(f"| {config} | {' | '.join(texts)} |")
        if any(figures["liars_mean_ms"] for figures in medians.values()):
            lines += [
                "",
                "Requests that lie:",
                "",
                "| configuration | mean | p99 |",
                "|---|--:|--:|",
            ]
            lines += [
                f"| {config} | {_number(figures['liars_mean_ms'])} | "
                f"{_number(figures['liars_p99_ms'])} |"
                for config, figures in medians.items()
            ]
    return "\n".join(lines) + "\n"


def _across(content: dict, prefix: str) -> dict[str, list[tuple[str, float]]]:
    """p99.9 by configuration: (rest of the cell's name, median) for cells with this prefix."""
    lines: dict[str, list[tuple[str, float]]] = {}
    for name in content["fleet"]:
        if not name.startswith(prefix):
            continue
        for config, figures in _medians(content["rows"], name).items():
            point = (name.removeprefix(prefix), figures["p999_ms"])
            lines.setdefault(config, []).append(point)
    return lines


def drawings(content: dict) -> dict[str, Figure]:
    """p99.9 across loads, skews and sizes: a drawing for each that the summary has."""
    drawn = {}
    for name, prefix, axis in (
        ("load", "load-", "load"),
        ("skew", "skew-", "skew, ms"),
        ("scale", "scale-", "drives-fan-out"),
        ("window", "window-volume-", "critical I/Os in a drive"),
    ):
        lines = _across(content, prefix)
        if not lines:
            continue
        figure = Figure(figsize=(6, 3.5))
        axes = figure.subplots()
        for config, points in lines.items():
            axes.plot(
                [place for place, _ in points],
                [value for _, value in points],
                marker="o",
                label=config,
                color=colour(config),
            )
        axes.set_xlabel(axis)
        axes.set_ylabel("p99.9, ms")
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False)
        drawn[name] = figure
    return drawn
