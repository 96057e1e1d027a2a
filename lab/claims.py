# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Background bursts of several experiments in one table: fgio beside the floor and the others."""

import copy
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lab import bounds, configurations, experiments, host, summary
from lab.bounds import Bound

DEFAULT = "mq-deadline"
# Of the floor's requests: with fewer answered, the others queue.
SERVED = 0.95
TAIL, RATE = "p999_ms", "throughput"
# Time of the background's work, by the database's own records.
WORK = ("burst_s", "checkpoint_s")


@dataclass(frozen=True)
class Claim:
    """A background burst under fgio beside the floor, the default and the best of the others.

    Latencies are p99.9 in ms, rates requests a second, work seconds; medians over the seeds. None:
    not measured. best: empty where not all stock configurations were run with as many seeds as
    fgio; missing: those that were not. saturated: configurations that answered less than
    SERVED of the requests of a paced load. Their latency is that of the queue, and grows with the
    time that is measured.
    """

    figure: str
    cell: str
    seeds: int
    best: str
    missing: tuple[str, ...]
    saturated: tuple[str, ...]
    tail_ms: dict[str, bounds.Figure]
    rate: dict[str, bounds.Figure]
    work_s: dict[str, bounds.Figure]

    def ratio(self, kind: str, over: str, under: str) -> bounds.Figure:
        """One configuration's figure over another's; None where either is missing."""
        figures = getattr(self, kind)
        return bounds.ratio(figures.get(over), figures.get(under))

    def tail(self, name: str) -> str:
        """A configuration's p99.9 as tables have it."""
        grows = " ↑" if name in self.saturated else ""
        return summary.number(self.tail_ms.get(name)) + grows

    @classmethod
    def from_json(cls, content: dict) -> "Claim":
        """The claim of a summary.json; older ones lack stock_not_run and saturated."""
        return cls(
            content["figure"],
            content["cell"],
            content["seeds"],
            content["best_stock"] or "",
            tuple(content.get("stock_not_run", ())),
            tuple(content.get("saturated", ())),
            *(bounds.restored(content[kind]) for kind in ("p999_ms", "throughput", "work_s")),
        )

    def as_json(self) -> dict:
        """The claim as summary.json has it."""
        return {
            "figure": self.figure,
            "cell": self.cell,
            "seeds": self.seeds,
            "best_stock": self.best or None,
            "stock_not_run": self.missing,
            "saturated": self.saturated,
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


def _works(members: list[dict]) -> list[bounds.Figure]:
    """How long the background's work took in each run, of the first kind that is known of any.

    Older summaries have null for a run that did not end in time, as for one without such work. One
    beside others of the same configuration, which did end in that time, took longer than these.
    """
    for kind in WORK:
        works = [bounds.figure(row["background"].get(kind)) for row in members]
        known = [bounds.least(work) for work in works if work is not None]
        if known:
            return [Bound(max(known)) if work is None else work for work in works]
    return []


def _best(tails: dict[str, bounds.Figure], stock: Iterable[str]) -> str:
    """The stock configuration with the lowest tail; empty where there is none."""
    known = {name: tails[name] for name in stock if tails.get(name) is not None}
    lowest = {name: (bounds.most(tail), bounds.least(tail)) for name, tail in known.items()}
    return min(lowest, key=lowest.get, default="")


def _rates(rows: list[dict]) -> dict[str, bounds.Figure]:
    """Requests a second of each configuration, medians over the seeds."""
    rates: dict[str, list] = defaultdict(list)
    for row in rows:
        rates[row["config"]].append(row["foreground"].get(RATE))
    return {name: bounds.median(some) for name, some in rates.items()}


def _saturated(parts: list[list[dict]]) -> tuple[str, ...]:
    """The configurations that leave requests unanswered, of a load or of one of its kinds."""
    found: dict[str, None] = {}
    for rows in parts:
        rates = _rates(rows)
        for name, rate in rates.items():
            share = bounds.ratio(rate, rates.get("floor"))
            if share is not None and bounds.most(share) < SERVED:
                found[name] = None
    return tuple(found)


def _claim(
    figure: str, cell: str, rows: list[dict], needed: Iterable[str], saturated: tuple[str, ...]
) -> Claim:
    """needed: the stock configurations that can be run there."""
    by_config: dict[str, list[dict]] = defaultdict(list)
    for row in rows:
        by_config[row["config"]].append(row)
    tails, works = {}, {}
    for name, members in by_config.items():
        tails[name] = bounds.median(row["foreground"].get(TAIL) for row in members)
        works[name] = bounds.median(_works(members))
    enough = len(by_config["fgio"])
    missing = tuple(name for name in needed if len(by_config.get(name, ())) < enough)
    best = "" if missing else _best(tails, (*needed, *configurations.EARLIER_STOCK))
    seeds = min(len(members) for members in by_config.values())
    return Claim(figure, cell, seeds, best, missing, saturated, tails, _rates(rows), works)


def _experiment(content: dict) -> experiments.Experiment:
    """The experiment that a summary is of, on its device."""
    experiment = copy.copy(experiments.find(content["experiment"]))
    experiment.device = content["device"]
    return experiment


def _stock_of(content: dict, variant: str) -> list[str]:
    """The stock configurations of an experiment that can be run with a variant on its device."""
    experiment = _experiment(content)
    return [
        name
        for name in configurations.STOCK
        if experiment.has(configurations.BY_NAME[name], variant)
    ]


def _is_paced(content: dict, variant: str) -> bool:
    """Whether requests come at a rate: first-light's do."""
    databases = getattr(_experiment(content), "databases", {})
    return databases[variant].is_paced if variant in databases else True


def of_figure(name: str, folder: Path) -> Iterator[Claim]:
    """A claim for each cell of a figure that has a floor and fgio; none where it was not run."""
    file = folder / "summary.json"
    if not file.is_file():
        return
    content = json.loads(file.read_text())
    cells: dict[str, list[dict]] = defaultdict(list)
    for row in content["rows"]:
        cells[row.get("cell") or name].append(row)
    for cell, rows in cells.items():
        if not {"floor", "fgio"} <= {row["config"] for row in rows}:
            continue
        variant = rows[0].get("database", "")
        kinds = [cells[other] for other in cells if other.startswith(f"{cell}: ")]
        saturated = _saturated([rows, *kinds]) if _is_paced(content, variant) else ()
        yield _claim(name, cell, rows, _stock_of(content, variant), saturated)


def _times(value: bounds.Figure) -> str:
    if isinstance(value, Bound):
        return f"{bounds.SIGNS[value.kind]} {_times(value.value)}"
    return "-" if value is None else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def markdown(found: list[Claim]) -> str:
    """The background bursts as a table."""
    lines = ["# All background bursts", ""]
    lines += ["p99.9 in ms, requests a second. Ratios: of fgio to the floor (the same load without"]
    lines += [f"its background burst), to the default ({DEFAULT}) and to the stock configuration"]
    lines += ["with the lowest p99.9, where all of them were run with as many seeds as fgio. Aims:"]
    lines += ["p99.9 at most 1.25 times and throughput at least 0.95 times the floor's, background"]
    lines += ["work (its longest piece) at most 1.05 times the default's. ≥: it had not ended in"]
    lines += ["time.", ""]
    headings = ["figure", "cell", "seeds", "floor", "default", "best stock", "", "fgio"]
    headings += ["p99.9 to floor", "rate to floor", "rate to default", "default's p99.9 to fgio's"]
    headings += ["best's p99.9 to fgio's", "work to default"]
    lines += [f"| {' | '.join(headings)} |", f"|---|---|{'--:|' * (len(headings) - 2)}"]
    for claim in found:
        content = claim.as_json()
        texts = [claim.figure, claim.cell, str(claim.seeds)]
        texts += [claim.tail(name) for name in ("floor", DEFAULT)]
        best = claim.best or (f"({len(claim.missing)} not run)" if claim.missing else "-")
        texts += [best, claim.tail(claim.best), claim.tail("fgio")]
        ratios = ("p999_over_floor", "throughput_over_floor", "throughput_over_default")
        ratios += ("p999_default_over", "p999_best_over", "work_over_default")
        texts += [_times(content[name]) for name in ratios]
        lines.append(f"| {' | '.join(texts)} |")
    return "\n".join(lines) + "\n"


def write(figures: Iterable[str], out: Path, of: dict) -> Path:
    """Writes the claims of the figures in a folder; returns the report.

    of: the command, and the commit when it began; each figure has its own
    """
    found = [claim for name in figures for claim in of_figure(name, out / name)]
    summary.write({**of, "claims": [claim.as_json() for claim in found]}, out)
    with host.whole(out / "report.md") as fresh:
        fresh.write_text(report(summary.load(out)))
    return out / "report.md"


def report(content: dict) -> str:
    """The table of the claims in a summary.json."""
    return markdown([Claim.from_json(one) for one in content["claims"]])
