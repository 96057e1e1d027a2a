# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The effect of the drive's own priority, beside that of the host.

The experiment of "IO Priority: To The Device and Beyond" (Manzanares, Blagojevic, Guyot;
Western Digital): 4 KiB random reads, 32 at a time by the background and 1, 4, 16 or 32 by the
foreground, each scheduler without and with the drive's priority. There on a hard disk; here on a
SATA SSD, too, beside larger reads or writes: with 4 KiB the guest's CPU is busy before such a
drive is, and fio waits for fio. All depths of a configuration share a
boot.
"""

from dataclasses import dataclass

from matplotlib.figure import Figure
from rich.table import Table

from lab import drawings, drives, figures, fio, guest, host, kernel, summary
from lab.configurations import Configuration
from lab.experiments.base import (
    Experiment,
    Row,
    check,
    grown,
    made,
    matching,
    need_modules,
    payload,
)
from lab.figures import Requests

DEPTHS = (1, 4, 16, 32)
BACKGROUND_DEPTH = 32
READS = {"rw": "randread", "bs": "4k"}


@dataclass(frozen=True)
class _Part:
    """A disk model, its background load, and virtual seconds for each of DEPTHS."""

    device: str
    background: dict[str, object]
    title: str
    seconds: tuple[float, ...]
    size_mib: int

    def duration_s(self, depth: int) -> float:
        return self.seconds[DEPTHS.index(depth)]


# A hard disk serves some 150 reads a second, and p99.99 takes 10,000 of the foreground's own.
PARTS = {
    "hdd": _Part("hdd", READS, "4 KiB random reads", (30, 30, 50, 50), 4096),
    "ssd": _Part(
        "ssd", {"rw": "randread", "bs": "128k"}, "128 KiB random reads", (2, 1, 0.5, 0.5), 1024
    ),
    "ssd-write": _Part(
        "ssd", {"rw": "randwrite", "bs": "128k"}, "128 KiB random writes", (2, 1, 0.5, 0.5), 1024
    ),
}
PREPARE = """
. $PAYLOAD/functions.sh
phase preparing the disk
make_disk {device} {seed} {size_mib}
use_elevator {elevator}
set_tunables "{tunables}"
{drive}
"""
CELL = """
phase depth {depth}
mkdir $RESULTS/{depth}
cd $RESULTS/{depth}
RESULTS=$PWD snapshot before
fio --eta=never --output=fio.txt $PAYLOAD/depth-{depth}.fio || {{ cat fio.txt; stop "fio failed"; }}
RESULTS=$PWD snapshot after
"""
SIDES = ("foreground", "background")
HEADINGS = {
    "throughput": "IOPS",
    "p50_ms": "p50",
    "p90_ms": "p90",
    "p99_ms": "p99",
    "p999_ms": "p99.9",
    "p9999_ms": "p99.99",
    "n": "n",
}


class DrivePriority(Experiment):
    """Random reads beside random reads, by scheduler, foreground depth and the drive's knob."""

    name = "drive-priority"
    description = "fio: random reads beside 32 random reads, with and without the drive's priority"
    device = "hdd and ssd"
    configurations = (
        "alone",
        "none",
        "none-rt-drive",
        "mq-deadline",
        "mq-deadline-rt",
        "mq-deadline-rt-drive",
        "bfq-rt",
        "bfq-rt-drive",
        "fgio",
        "fgio-drive",
        "fgio-16",
        "fgio-16-drive",
    )
    extra_configurations = ("bfq", "kyber", "none-rt")
    duration_s = sum(PARTS["hdd"].seconds)
    setup_s = 5
    limit_s = 3600
    variants = tuple(PARTS)
    units = {
        "foreground.throughput, background.throughput": "I/Os per second",
        "p*_ms": "total latency; null where fewer than one I/O lies beyond",
    }

    def choose_device(self, name: str) -> None:
        device = drives.resolve(name)
        # Arrays have no priority: the kind itself, not the nearest.
        chosen = tuple(part for part in PARTS if PARTS[part].device == drives.kind(device))
        if not chosen:
            raise host.LabError(f"{self.name} runs on {self.device}, not on {name}")
        self.device = device
        self._choose(chosen)

    def _drive(self, part: _Part) -> str:
        return part.device if self.device == DrivePriority.device else self.device

    def choose_part(self, only: str) -> None:
        self._choose(matching(only, self.variants, "part"))

    def _choose(self, variants: tuple[str, ...]) -> None:
        self.variants = variants
        self.duration_s = max(sum(PARTS[name].seconds) for name in variants)

    def _jobs(self, configuration: Configuration, part: _Part, depth: int) -> list[fio.Job]:
        options = READS | {"iodepth": depth}
        jobs = [fio.Job("foreground", options, configuration.foreground_priority)]
        if configuration.has_background:
            options = part.background | {"iodepth": BACKGROUND_DEPTH}
            jobs.append(fio.Job("background", options, configuration.background_priority))
        return jobs

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        need_modules(chosen, "simdisk", *(["fgio"] if configuration.elevator == "fgio" else []))
        part = PARTS[variant]
        taken = payload(chosen)
        script = PREPARE.format(
            device=self._drive(part),
            size_mib=part.size_mib,
            seed=seed,
            elevator=configuration.elevator,
            tunables=configuration.tuned(),
            drive="use_drive_priority" if configuration.drive_priority else "",
        )
        for depth in DEPTHS:
            jobs = self._jobs(configuration, part, depth)
            text = fio.job_file("simdisk0", seed, part.duration_s(depth), jobs)
            taken[f"depth-{depth}.fio"] = text
            script += CELL.format(depth=depth)
        return guest.Boot(
            kernel=chosen,
            commands=script,
            payload=taken,
            limit_s=self.limit_s,
            heartbeat_s=10,
            seed=seed,
        )

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, f"{self.name} under {configuration.name} on {variant}")
        rows = []
        for depth in DEPTHS:
            folder = outcome.results / str(depth)
            sides, requests = {}, {}
            for side in SIDES:
                requests[side], _ = fio.read_log(folder, side)
                sides[side] = _figures(requests[side], PARTS[variant].duration_s(depth))
            drive = grown(folder, "simdisk")
            _check_priority(configuration, drive, variant)
            extra = {
                "cell": f"{variant}, depth {depth}",
                "part": variant,
                "device": self._drive(PARTS[variant]),
                "iodepth": depth,
                "drive_priority": configuration.drive_priority,
                "simdisk_counters": drive,
                "fgio_counters": grown(folder, "fgio"),
            }
            row = Row(configuration.name, seed, sides["foreground"], sides["background"], extra)
            rows.append(row)
        return rows

    def table(self, rows: list[Row]) -> Table:
        drawn = Table(title=f"{self.name}: {self.description}", title_justify="left")
        for heading in ("cell", "configuration"):
            drawn.add_column(heading)
        for side in ("", "background "):
            for heading in HEADINGS.values():
                drawn.add_column(side + heading, justify="right")
        for row in sorted(rows, key=_place):
            drawn.add_row(row.extra["cell"], row.config, *_texts(row))
        return drawn

    def drawings(self, content: dict, rows: list[Row]) -> dict[str, Figure]:
        parts = dict.fromkeys(row.extra["part"] for row in rows)
        return {part: _draw(_of(rows, part)) for part in parts}

    def markdown(self, content: dict, rows: list[Row]) -> str:
        lines = [
            f"# {self.name}",
            "",
            f"{made(content)} The foreground reads 4 KiB at random at the depth of each table; the "
            f"background has a depth of {BACKGROUND_DEPTH}. Total latency in ms, virtual time.",
            "A dash: n I/Os have no such percentile, since fewer than one lies beyond it.",
            "`lab/report` draws IOPS and latency by foreground depth beside this report.",
        ]
        for name in dict.fromkeys(row.extra["part"] for row in rows):
            part = PARTS[name]
            lines += ["", f"## {self._drive(part)}, background: {part.title}"]
            for depth in DEPTHS:
                heading = f"### {name}, foreground depth {depth}, {part.duration_s(depth):g} s"
                lines += ["", heading, "", *_markdown_head()]
                lines += [
                    f"| {row.config} | {' | '.join(_texts(row))} |"
                    for row in _of(rows, name)
                    if row.extra["iodepth"] == depth
                ]
        return "\n".join(lines) + "\n"


def _figures(requests: Requests, duration_s: float) -> dict:
    return {
        "throughput": round(len(requests) / duration_s, 3),
        **figures.percentiles(requests),
        "n": len(requests),
    }


def _check_priority(configuration: Configuration, drive: dict[str, int], variant: str) -> None:
    """Raises LabError when the drive did not see the priorities of the configuration."""
    if bool(drive["read_high"]) != configuration.drive_priority:
        raise host.LabError(
            f"{configuration.name} on {variant}: {drive['read_high']} commands had priority"
        )


def _place(row: Row) -> tuple:
    return row.extra["part"], row.extra["iodepth"]


def _of(rows: list[Row], part: str) -> list[Row]:
    return [row for row in rows if row.extra["part"] == part]


def _texts(row: Row) -> list[str]:
    sides = (row.foreground, row.background)
    return [summary.number(side[figure]) for side in sides for figure in HEADINGS]


def _markdown_head() -> list[str]:
    names = list(HEADINGS.values())
    background = [f"bg {name}" for name in names]
    return [
        f"| | {' | '.join([*names, *background])} |",
        "|---|" + "--:|" * 2 * len(names),
    ]


def _draw(rows: list[Row]) -> Figure:
    """Foreground left, background right; dashed lines are with the drive's priority."""
    shown = {"throughput": "IOPS", "p50_ms": "p50, ms", "p99_ms": "p99, ms", "p999_ms": "p99.9, ms"}
    figure = Figure(figsize=(9, 11))
    panels = figure.subplots(len(shown), 2, sharex=True, squeeze=False)
    for line, (key, label) in enumerate(shown.items()):
        for column, side in enumerate(SIDES):
            axes = panels[line, column]
            for config in dict.fromkeys(row.config for row in rows):
                _draw_line(axes, rows, config, side, key)
            axes.set_ylabel(label)
            axes.set_yscale("log")
            axes.set_xscale("log", base=2)
            axes.set_xticks(DEPTHS, [str(depth) for depth in DEPTHS])
            axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    for column, side in enumerate(SIDES):
        panels[0, column].set_title(side)
        panels[-1, column].set_xlabel("foreground I/Os at a time")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.set_layout_engine("constrained")
    return figure


def _draw_line(axes, rows: list[Row], config: str, side: str, key: str) -> None:
    members = [row for row in rows if row.config == config and row.seed == rows[0].seed]
    values = [(row.foreground if side == "foreground" else row.background) for row in members]
    known = [
        (row.extra["iodepth"], value[key])
        for row, value in zip(members, values, strict=True)
        if value[key]
    ]
    if not known:
        return
    style = "--o" if config.endswith("-drive") else "-o"
    axes.plot(
        *zip(*known, strict=True),
        style,
        color=drawings.colour(config.removesuffix("-drive")),
        label=config,
        markersize=3,
    )
