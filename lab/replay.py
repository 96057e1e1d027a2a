# SPDX-License-Identifier: Apache-2.0 OR MIT
"""lab/run replay: the load that a sharded database had in a guest, once more in the simulator.

`lab/run sharded` records it (lab/recorded.py). With the same requests, as many reads and pauses as
long, guest and simulator differ by their drives and schedulers: where they agree, the simulator is
valid for such a load, and what it says of an oracle holds for the guest.
"""

import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab import fleet, host, recorded, summary
from lab.experiments import sharded
from lab.experiments.base import moments
from lab.figures import FIGURES_OF_PARTS, Requests

NAME = "replay"
DESCRIPTION = "requests that lab/run sharded recorded (--of), simulated: guest beside simulator"
# Of the guest's configurations, which have another name in the simulator.
SIMULATED = {"fgio": fleet.DEFAULT}
CONFIGURATIONS = tuple(name for name in fleet.CONFIGURATIONS if name != "fgio-window")
BACKGROUND = "background_mb_s"
COMPARED = ("p50_ms", "p99_ms", "p999_ms")
UNITS = {name: fleet.UNITS[name] for name in ("p999_ms", "gap_p50_ms")} | {
    "throughput": "requests per s that were due while measuring",
    BACKGROUND: "of all drives, from the first request to the end of the last one",
    "drive_seed": "of the simulated drives; the guest's rows have none",
}


@dataclass(frozen=True)
class Recording:
    """A boot with its load, and who made it.

    begin_s, end_s: of measuring, by the wall clock
    """

    label: str
    cell: str
    config: str
    seed: int
    device: str
    load: recorded.Load
    begin_s: float
    end_s: float

    def row(self) -> dict:
        """The guest's figures of the requests that were due while measuring."""
        inside = [one for one in self.load.requests if self.begin_s <= one.due_s < self.end_s]
        latencies = np.array([one.latency_ms for one in inside])
        gaps = np.array([one.gap_ms for one in inside])
        found = sharded.summarize(
            Requests(np.zeros(len(inside)), latencies), gaps, self.end_s - self.begin_s
        )
        names = {**self.names(), "config": self.config, "vehicle": "plproxy"}
        return {**names, **found, BACKGROUND: round(self.background_mb_s(), 3)}

    def background_mb_s(self) -> float:
        """10^6 bytes a second of I/O that no request had, from the first request to the last."""
        begin, end = self.load.requests[0].due_s, max(one.ended_s for one in self.load.requests)
        some = [io for one in self.load.background for io in one if begin <= io.end_s < end]
        return sum(io.sectors for io in some) * 512 / 1e6 / (end - begin)

    def names(self) -> dict:
        """What all rows of it have."""
        names = {"cell": self.cell, "recording": self.label}
        return {"seed": self.seed, "device": self.device, **names}

    def options(self) -> dict[str, float]:
        """Of the simulator: what it is to measure."""
        before = self.begin_s - self.load.requests[0].due_s
        return {
            "clients": sharded.CLIENTS,
            "warm-up": round(before, 6),
            "seconds": round(self.end_s - self.begin_s, 6),
        }


def recordings(folder: Path, tell: Callable[[str], None]) -> Iterator[Recording]:
    """The recordings in the results of `lab/run sharded`, one after the other.

    tell: hears of boots without one. Raises LabError without any, and for one that is not whole.
    """
    content = summary.load(folder)
    rows = content.get("rows", ()) if content.get("experiment") == sharded.Sharded.name else ()
    found = False
    for row in rows:
        label = f"{row['config']}-{row['seed']}-{row['cell']}"
        raw = folder / "raw" / label
        if not (raw / "io").is_file():
            tell(f"replay: {label} has no recorded load: left out")
            continue
        found = True
        noted = moments(raw)
        if not {"measure_begin", "measure_end"} <= noted.keys():
            raise host.LabError(f"{raw}: the moments do not say when measuring began and ended")
        span = noted["measure_begin"], noted["measure_end"]
        names = label, row["cell"], row["config"], row["seed"], row["device"]
        yield Recording(*names, recorded.load(raw), *span)
    if not found:
        raise host.LabError(
            f"{folder}: no recorded load; give the --out of lab/run sharded, with its raw data"
        )


def _simulated(
    program: fleet.Program, recording: Recording, configs: Iterable[str], seeds: int
) -> Iterable[dict]:
    with tempfile.NamedTemporaryFile("w", suffix=".load") as file:
        file.write(recorded.text(recording.load))
        file.flush()
        options = recording.options() | {"replay": file.name}
        for config in configs:
            for seed in range(1, seeds + 1):
                line = program.line(options | {"seed": seed}, config, recording.device)
                figures = {name: line[name] for name in (*FIGURES_OF_PARTS, BACKGROUND)}
                # As the guest's: of those that were due, whenever the last one ended.
                figures["throughput"] = round(line["n"] / options["seconds"], 3)
                names = {**recording.names(), "config": config, "vehicle": "simulated"}
                yield {**names, "drive_seed": seed, **figures}


def run(of: Path, configs: tuple[str, ...], seeds: int, tell: Callable[[str], None]) -> dict:
    """Replays all recordings of a folder on drives with seeds 1 to `seeds`.

    Returns the content of summary.json but its source. Raises LabError where that fails.
    """
    program = fleet.Program()
    program.build()
    rows = []
    for recording in recordings(of, tell):
        tell(f"replay: {recording.label}")
        rows.append(recording.row())
        rows += _simulated(program, recording, configs, seeds)
    return {
        "experiment": NAME,
        "description": DESCRIPTION,
        "simulated": True,
        "replay": {"drives": seeds, "clients": sharded.CLIENTS},
        "units": UNITS,
        "rows": rows,
    }


def _median(rows: list[dict], name: str) -> float:
    return statistics.median(row[name] for row in rows)


def _of(rows: list[dict], recording: str, config: str) -> list[dict]:
    """The simulated rows of a recording under a configuration."""
    return [
        row
        for row in rows
        if row["vehicle"] == "simulated"
        and row["recording"] == recording
        and row["config"] == config
    ]


def _beside(rows: list[dict]) -> list[str]:
    """The guest beside the simulator, where both ran a recording under the same policy."""
    names = [name.removesuffix("_ms").replace("p999", "p99.9") for name in COMPARED]
    lines = ["## Guest and simulator", "", "The simulator's figure over the guest's.", ""]
    headings = " | ".join(f"guest {one} | ratio" for one in names)
    lines += [f"| cell | configuration | seed | {headings} |"]
    lines += [f"|---|---|--:|{'--:|--:|' * len(names)}"]
    for guest in (row for row in rows if row["vehicle"] != "simulated"):
        config = SIMULATED.get(guest["config"], guest["config"])
        simulated = _of(rows, guest["recording"], config)
        if not simulated:
            continue
        cells = []
        for name in COMPARED:
            cells += [f"{guest[name]:.1f}", f"{_median(simulated, name) / guest[name]:.2f}"]
        texts = [guest["cell"], guest["config"], str(guest["seed"]), *cells]
        lines.append(f"| {' | '.join(texts)} |")
    return lines


def _over(rows: list[dict], guest: dict, config: str) -> str:
    """p99.9 of a policy over the oracle's, with a guest's load."""
    own, best = (_of(rows, guest["recording"], one) for one in (config, "oracle"))
    if not best:
        return ""
    return f"{_median(own, 'p999_ms') / _median(best, 'p999_ms'):.2f}"


def _policies(rows: list[dict], cell: str) -> list[str]:
    """What each policy makes of a cell's loads that were recorded under the default one."""
    guests = [
        row
        for row in rows
        if row["vehicle"] != "simulated" and row["config"] == "fgio" and row["cell"] == cell
    ]
    if not guests:
        return []
    configs = dict.fromkeys(row["config"] for row in rows if row["vehicle"] == "simulated")
    shown = (*FIGURES_OF_PARTS[:-1], BACKGROUND)
    said = f"Simulated, with the requests that fgio had in the guest; seeds: {len(guests)}."
    lines = ["", f"## Policies: {cell}", "", said, ""]
    lines += [
        "| configuration | per s | mean | p50 | p99 | p99.9 | gap p50 | gap p99 "
        "| background MB/s | p99.9 over the oracle's, by seed |"
    ]
    lines += [f"|---|{'--:|' * len(shown)}---|"]
    for config in configs:
        some = [row for guest in guests for row in _of(rows, guest["recording"], config)]
        texts = [f"{_median(some, name):.1f}" for name in shown]
        ratios = ", ".join(_over(rows, guest, config) for guest in guests)
        lines.append(f"| {config} | {' | '.join(texts)} | {ratios} |")
    return lines


def markdown(content: dict) -> str:
    """The tables of a summary.json, in Markdown: medians over the drives' seeds, in ms."""
    commit = f"commit {(content.get('commit') or 'unknown')[:12]}"
    changes = " with changes" if content.get("dirty") else ""
    rows = content["rows"]
    drives = content["replay"]["drives"]
    cells = dict.fromkeys(row["cell"] for row in rows)
    lines = [
        "# Recorded loads",
        "",
        f"Simulated beside the guest, {commit}{changes}, made by `{content['command']}`. Times in "
        f"ms, medians of {drives} seeds of the drives; gap: between the ends of a request's first "
        "and last part.",
        "",
        *_beside(rows),
        *(line for cell in cells for line in _policies(rows, cell)),
    ]
    return "\n".join(lines) + "\n"
