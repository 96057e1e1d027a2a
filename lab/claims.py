# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What storms of several experiments say together: fgio beside the floor and the others."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lab import configurations, host, summary
from lab.experiments.base import BOUNDS

DEFAULT = "mq-deadline"
TAIL, RATE = "p999_ms", "throughput"
# How long the background's work took, by what the database says of it.
WORK = ("storm_s", "checkpoint_s")


@dataclass(frozen=True)
class Claim:
    """A storm under fgio beside the floor, the default and the best of the others.

    Latencies are p99.9 in ms, rates requests a second, work seconds; medians over the seeds. None:
    not measured.
    """

    figure: str
    cell: str
    seeds: int
    best: str
    tail_ms: dict[str, float | None]
    rate: dict[str, float | None]
    work_s: dict[str, float | None]

    def ratio(self, kind: str, over: str, under: str) -> float | None:
        """One configuration's figure over another's; None where either is missing."""
        figures = getattr(self, kind)
        if not figures.get(over) or not figures.get(under):
            return None
        return figures[over] / figures[under]

    def as_json(self) -> dict:
        """The claim as summary.json has it."""
        return {
            "figure": self.figure,
            "cell": self.cell,
            "seeds": self.seeds,
            "best_stock": self.best,
            "p999_ms": self.tail_ms,
            "throughput": self.rate,
            "work_s": self.work_s,
            "p999_over_floor": self.ratio("tail_ms", "fgio", "floor"),
            "throughput_over_floor": self.ratio("rate", "fgio", "floor"),
            "throughput_over_default": self.ratio("rate", "fgio", DEFAULT),
            "p999_default_over": self.ratio("tail_ms", DEFAULT, "fgio"),
            "p999_best_over": self.ratio("tail_ms", self.best, "fgio"),
            "work_over_default": self.ratio("work_s", "fgio", DEFAULT),
        }


def _work(background: dict) -> float | None:
    """The first kind of work that is known; None when it did not end in time."""
    return next((background[name] for name in WORK if background.get(name)), None)


def _claim(figure: str, cell: str, rows: list[dict]) -> Claim:
    by_config: dict[str, list[dict]] = defaultdict(list)
    for row in rows:
        by_config[row["config"]].append(row)
    tails, rates, works = {}, {}, {}
    for name, members in by_config.items():
        tails[name] = summary.median([row["foreground"].get(TAIL) for row in members])
        rates[name] = summary.median([row["foreground"].get(RATE) for row in members])
        works[name] = summary.median([_work(row["background"]) for row in members])
    stock = [name for name in by_config if _is_stock(name) and tails[name] is not None]
    best = min(stock, key=lambda name: tails[name], default="")
    seeds = min(len(members) for members in by_config.values())
    return Claim(figure, cell, seeds, best, tails, rates, works)


def _is_stock(name: str) -> bool:
    return name not in BOUNDS and not configurations.BY_NAME[name].loads_fgio


def of_figure(name: str, folder: Path) -> Iterator[Claim]:
    """A claim for each cell of a figure that has a floor and fgio; none where it was not run."""
    file = folder / "summary.json"
    if not file.is_file():
        return
    cells: dict[str, list[dict]] = defaultdict(list)
    for row in json.loads(file.read_text())["rows"]:
        cells[row.get("cell") or name].append(row)
    for cell, rows in cells.items():
        if {"floor", "fgio"} <= {row["config"] for row in rows}:
            yield _claim(name, cell, rows)


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def markdown(found: list[Claim]) -> str:
    """The storms as a table."""
    lines = ["# Storms, all together", ""]
    lines += ["p99.9 in ms, requests a second. Ratios: of fgio to the floor (the same load without"]
    lines += [f"its storm), to the default ({DEFAULT}) and to the stock configuration with the"]
    lines += ["lowest p99.9. Aims: p99.9 at most 1.25 times and throughput at least 0.95 times the"]
    lines += ["floor's, background work at most 1.05 times the default's: the longest piece of it"]
    lines += ["that ended in time.", ""]
    headings = ["figure", "storm", "seeds", "floor", "default", "best stock", "", "fgio"]
    headings += ["p99.9 to floor", "rate to floor", "rate to default", "default's p99.9 to fgio's"]
    headings += ["best's p99.9 to fgio's", "work to default"]
    lines += [f"| {' | '.join(headings)} |", f"|---|---|{'--:|' * (len(headings) - 2)}"]
    for claim in found:
        content = claim.as_json()
        tails = [claim.tail_ms.get(name) for name in ("floor", DEFAULT)]
        texts = [claim.figure, claim.cell, str(claim.seeds)]
        texts += [summary.number(tail) for tail in tails]
        texts += [claim.best or "-", summary.number(claim.tail_ms.get(claim.best))]
        texts += [summary.number(claim.tail_ms["fgio"])]
        ratios = ("p999_over_floor", "throughput_over_floor", "throughput_over_default")
        ratios += ("p999_default_over", "p999_best_over", "work_over_default")
        texts += [_times(content[name]) for name in ratios]
        lines.append(f"| {' | '.join(texts)} |")
    return "\n".join(lines) + "\n"


def write(figures: Iterable[str], out: Path) -> Path:
    """Writes what the figures in a folder say together; returns the report."""
    found = [claim for name in figures for claim in of_figure(name, out / name)]
    summary.write({"claims": [claim.as_json() for claim in found]}, out)
    with host.whole(out / "report.md") as fresh:
        fresh.write_text(markdown(found))
    return out / "report.md"
