# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Does each group get its part of the drive in every second, and is the drive full?

Two benchmarks of others. `bandwidth-latency` of S (github.com/Algodev-github/S), of which the
article "Measuring (and fixing) I/O-controller throughput loss" (LWN, 2018) shows two mixes: one
target and up to nine other groups, each one process with a file of its own, one I/O at a time. And
isol-bench (github.com/stonet-research/isol-bench, IISWC'25): tenants that saturate the raw drive,
and a burst.

Differences from S: random readers read past the page cache, because the files are small and would
be cached before long (the I/O that reaches the drive is the same); the limit on dirty pages is
that of DIRTY_MIB, so that writers reach their steady state in a second. Bandwidth is what the block
layer charges each cgroup (io.stat), second by second.

Boots of the configuration `alone` measure each load alone, without a scheduler; guarantees are
worked out from that (lab/shares.py). A further scheduler or limiter is one more name in
`configurations`, and, where it is told more than weights, one more case of make_group
(guest/shares.sh).
"""

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.table import Table

from lab import drives, figures, fio, guest, host, image, kernel, paths, rivals, shares, summary
from lab.configurations import Configuration
from lab.experiments.base import (
    Experiment,
    Row,
    check,
    cpu_idle_percent,
    disk_settings,
    made,
    matching,
    script_payload,
    shares_of,
)
from lab.share_mixes import (
    ALONE,
    ENTERED_S,
    KIB,
    MB,
    MIXES,
    PARTS,
    RAW_PARTS,
    SETTLE_S,
    Group,
    Mix,
    alone_mixes,
    group_lines,
    job_file,
)

# Of files on the disk: a target and fifteen others.
FILES = 16
FILE_MIB = 128
DISK_MIB = 2304
# Of the raw disk, which lies in the guest's memory and takes as much as is written to it.
RAW_MIB = 1024
DIRTY_MIB = 64
# blk-iocost divides by weights only as much as it lets in. At the model's full rate the disk is
# the limit, and divides by itself; latency targets that a full SSD exceeds let in a tenth and less.
IO_COST_RATE = "min=90.00 max=90.00"
# Seconds measured of each mix, by the plain model that a drive resembles: where few I/Os fit into
# a second, chance decides one.
SECONDS = {"ssd": 3, "nvme": 3, "volume": 6, "hdd": 10}
ALONE_SECONDS = 3
# Instructions a nanosecond: on a processor of 1 GHz, groups would wait for that before they wait
# for an SSD.
SPEED = {"ssd": 4, "nvme": 8, "volume": 2, "hdd": 2}
# Limits that each group has beside its weight (make_group in guest/shares.sh).
POLICIES = {"io-max": "max", "low-none": "low"}


@dataclass
class ShareRow(Row):
    """A row of one mix.

    claimed: name -> group, of those that do I/O; seconds: name -> MB/s in each second
    standings: name -> how fgio says that the group fares
    """

    claimed: dict[str, Group] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    standings: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict:
        return {"config": self.config, "seed": self.seed, **self.extra}

    @classmethod
    def from_json(cls, content: dict) -> "ShareRow":
        extra = dict(content)
        return cls(extra.pop("config"), extra.pop("seed"), {}, {}, extra)

    def got(self, name: str) -> float:
        """MB/s of a group over all seconds."""
        return float(np.mean(self.seconds[name]))


class Shares(Experiment):
    """Weighted groups on one drive, by scheduler and limiter."""

    name = "shares"
    description = "fio: weighted cgroups on one drive, and the share of each in every second"
    device = "ssd-m5s"
    configurations = (
        ALONE,
        "none",
        "mq-deadline",
        "bfq",
        "bfq-no-low-latency",
        "io-cost",
        "io-cost-90",
        "io-max",
        "fgio-shares",
    )
    # Needs a kernel of its own: lab/low-kernel.
    extra_configurations = ("low-none",)
    duration_s = 40
    setup_s = 5
    limit_s = 1500
    variants = (*(f"{ALONE}-{part}" for part in ("files", "raw")), *PARTS)
    units = {
        "total_mb_s, mb_s": "10^6 bytes a second of reads and writes, as io.stat has them",
        "guarantee_mb_s": "a group's fraction of the drive's time, by the weights, times what it "
        "reaches alone",
        "slicing_mb_s": "the sum of that: what serving one group after the other reaches",
        "feasible_mb_s": "slicing_mb_s, or the most that a configuration reached that kept every "
        f"guarantee ({shares.KEPT:.0%} of it) where that is more",
        "best_mb_s": "the most that any configuration reached",
        "worst_second": "the least share of its guarantee that a group had in any second",
        "jain": "Jain's index of bandwidth divided by weight",
        "jain_slowdown": "the same of bandwidth divided by what the group reaches alone",
        "latency": "of the group named: ms from submission to completion",
    }

    def choose_device(self, name: str) -> None:
        """Runs on another drive: a spec, or @FILE with one. Raises LabError when it is none."""
        self.device = drives.resolve(name)

    def choose_part(self, only: str) -> None:
        """Runs the parts whose names match, and their loads alone. Raises LabError for none."""
        chosen = matching(only, PARTS, "part")
        kinds = dict.fromkeys("raw" if part in RAW_PARTS else "files" for part in chosen)
        self.variants = (*(f"{ALONE}-{kind}" for kind in kinds), *chosen)

    def has(self, configuration: Configuration, variant: str) -> bool:
        return (configuration.name == ALONE) == variant.startswith(ALONE)

    def prepare(self) -> None:
        if any(self._on_files(variant) for variant in self.variants):
            disk_of_files()

    def _on_files(self, variant: str) -> bool:
        return variant not in RAW_PARTS and variant != f"{ALONE}-raw"

    def mixes(self, variant: str) -> list[Mix]:
        """The mixes that share a boot."""
        if not variant.startswith(ALONE):
            return [mix for mix in MIXES.values() if mix.part == variant]
        chosen = [part for part in PARTS if part in self.variants]
        is_raw = variant == f"{ALONE}-raw"
        return alone_mixes(part for part in chosen if (part in RAW_PARTS) == is_raw)

    def _settings(self, configuration: Configuration, seed: int, variant: str) -> dict:
        model = {"IO_COST_MODEL": "", "IO_COST_QOS": ""}
        if configuration.io_cost:
            measured = rivals.io_cost(self.device)
            model = {name: measured[name] for name in model}
        if configuration.name == "io-cost-90":
            model["IO_COST_QOS"] = IO_COST_RATE
        on_files = self._on_files(variant)
        lasts = ALONE_SECONDS if configuration.name == ALONE else self._seconds()
        return {
            **disk_settings(configuration, self.device, seed),
            "BACKING": "/dev/lab/disk1" if on_files else RAW_MIB,
            "HAS_FILES": int(on_files),
            "POLICY": POLICIES.get(configuration.name, "weight"),
            "DIRTY_BYTES": DIRTY_MIB * host.MIB,
            "MIXES": " ".join(f"{mix.name}:{lasts}:{mix.settle_s}" for mix in self.mixes(variant)),
            **model,
        }

    def _seconds(self) -> int:
        return SECONDS[drives.nearest(self.device)]

    def _random_mb_s(self) -> float:
        """What the drive reads at random: what limits have to be planned with."""
        depth = 32
        return drives.load(self.device, "read", 4, depth)["iops"] * 4 * KIB / MB

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        if POLICIES.get(configuration.name) == "low" and chosen.version != kernel.LOW:
            raise host.LabError(
                f"{configuration.name} needs the kernel of lab/low-kernel: --kernel {kernel.LOW}"
            )
        values = self._settings(configuration, seed, variant)
        taken = script_payload(chosen, configuration, "shares", values)
        peak = self._random_mb_s()
        for mix in self.mixes(variant):
            taken[f"mixes/{mix.name}.fio"] = job_file(mix, seed)
            taken[f"mixes/{mix.name}.groups"] = group_lines(mix, peak)
        return guest.Boot(
            kernel=chosen,
            commands="bash $PAYLOAD/shares.sh",
            payload=taken,
            disks=(disk_of_files(),) if self._on_files(variant) else (),
            memory_mib=3072,
            instructions_per_ns=SPEED[drives.nearest(self.device)],
            limit_s=self.limit_s,
            seed=seed,
        )

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, f"{self.name} under {configuration.name}, {variant}")
        rows: list[Row] = []
        for mix in self.mixes(variant):
            folder = outcome.results / mix.name
            claimed = {group.name: group for group in mix.active}
            seconds = read_seconds(folder / "seconds", claimed)
            extra = {
                "device": self.device,
                "mix": mix.name,
                "total_mb_s": round(sum(float(np.mean(one)) for one in seconds.values()), 3),
                "cpu_idle_percent": cpu_idle_percent(folder),
                "latency": read_latency(folder, mix),
            }
            listed = shares_of(folder / "shares.json")
            standings = {
                name: listed[f"/{name}"]["standing"] for name in claimed if f"/{name}" in listed
            }
            rows.append(
                ShareRow(
                    configuration.name,
                    seed,
                    {},
                    {},
                    extra,
                    claimed=claimed,
                    seconds=seconds,
                    standings=standings,
                )
            )
        return rows

    def completed(self, rows: list[Row]) -> list[Row]:
        """The rows with guarantees, which need the rows of each load alone."""
        return complete(rows)

    def rows_of(self, content: dict) -> list[Row]:
        return [ShareRow.from_json(row) for row in content["rows"]]

    def table(self, rows: list[Row]) -> Table:
        drawn = Table(title=f"{self.name}: {self.description}", title_justify="left")
        for heading in HEADINGS:
            drawn.add_column(heading, justify="left" if heading in HEADINGS[:2] else "right")
        for row in rows:
            if row.config != ALONE:
                drawn.add_row(row.extra["mix"], row.config, *_texts(row))
        return drawn

    def markdown(self, content: dict, rows: list[Row]) -> str:
        return _markdown(content, rows)


def disk_of_files() -> Path:
    """The ext4 image with a file for each group, made when absent. No block of it is a hole."""
    parts = (FILES, FILE_MIB, DISK_MIB)
    target = paths.CACHE / f"shares-{image.fingerprint(*parts)}.ext4"
    if target.is_file():
        return target
    host.need_space(paths.CACHE, 2 * DISK_MIB + 200, "the files of shares")
    host.tell(f"lab: making {FILES} files of {FILE_MIB} MiB (once)")
    with host.whole(target) as fresh:
        tree = fresh.parent / f"{fresh.name}.files"
        tree.mkdir()
        try:
            for number in range(FILES):
                with (tree / str(number)).open("wb") as file:
                    for _ in range(FILE_MIB):
                        file.write(os.urandom(KIB) * KIB)
            options = ("-b", "4096", "-E", "lazy_itable_init=0,nodiscard")
            image.make_ext4(fresh, tree, image.round_up(DISK_MIB * host.MIB), *options)
        finally:
            host.remove(tree)
    return target


def read_seconds(file: Path, names: Iterable[str]) -> dict[str, list[float]]:
    """MB/s of each group in each second, from what guest/shares.sh sampled.

    Raises LabError for a file with fewer than two samples.
    """
    samples: list[tuple[float, dict[str, int]]] = []
    for line in file.read_text().splitlines():
        name, *numbers = line.split()
        if name == "@":
            samples.append((int(numbers[0]) / 1e6, {}))
        else:
            samples[-1][1][name] = sum(map(int, numbers))
    if len(samples) < 2:
        raise host.LabError(f"{file}: {len(samples)} samples, where there have to be two or more")
    pairs = list(zip(samples, samples[1:], strict=False))
    return {
        name: [
            (after[name] - before[name]) / (end - begin) / MB
            for (begin, before), (end, after) in pairs
        ]
        for name in names
    }


def read_latency(folder: Path, mix: Mix) -> dict | None:
    """Quantiles of the timed group's latency, from when its share has to be there.

    None: no group is timed.
    """
    for group in mix.active:
        if group.timed:
            requests, _ = fio.read_log(folder, group.name)
            begin = ENTERED_S if group.delay_s else SETTLE_S
            kept = requests.between(begin + _first(requests), math.inf)
            return {"group": group.name, **figures.percentiles(kept), "n": len(kept)}
    return None


def _first(requests: figures.Requests) -> float:
    return float(requests.end_s[0]) if len(requests) else 0.0


def _key(row: ShareRow) -> tuple:
    return row.extra["device"], row.seed


def _claims(row: ShareRow, alone: dict[str, float]) -> list[shares.Claim] | None:
    """The weights and demands of a row's groups; None where a load was not run alone."""
    names = [group.load.name for group in row.claimed.values()]
    if any(name not in alone for name in names):
        return None
    return [
        shares.Claim(group.weight, alone[group.load.name], group.demand_mb_s)
        for group in row.claimed.values()
    ]


def complete(rows: list[Row]) -> list[Row]:
    """Fills in figures that need the rows of the configuration `alone`; returns all rows."""
    alone: dict[tuple, dict[str, float]] = {}
    for row in rows:
        if row.config == ALONE:
            alone.setdefault(_key(row), {})[row.extra["mix"]] = row.got("only")
    mixes: dict[tuple, list[tuple[ShareRow, list[shares.Claim] | None]]] = {}
    for row in rows:
        claims = None
        if row.config == ALONE:
            row.extra["groups"] = [{"name": "only", "mb_s": round(row.got("only"), 3)}]
        else:
            claims = _claims(row, alone.get(_key(row), {}))
            mixes.setdefault((*_key(row), row.extra["mix"]), []).append((row, claims))
    for members in mixes.values():
        _complete_mix(members)
    return rows


def _complete_mix(members: list[tuple[ShareRow, list[shares.Claim] | None]]) -> None:
    """The rows of one mix on one drive, of one seed, by configuration."""
    best = max(row.extra["total_mb_s"] for row, _ in members)
    fair = [
        row.extra["total_mb_s"]
        for row, claims in members
        if claims
        and shares.kept(shares.guarantees(claims), [row.got(name) for name in row.claimed])
    ]
    for row, claims in members:
        slicing = shares.slicing(claims) if claims else None
        feasible = max([slicing, *fair]) if claims else None
        due = shares.guarantees(claims) if claims else [None] * len(row.claimed)
        groups = list(zip(row.claimed.values(), due, strict=True))
        row.extra |= {
            "slicing_mb_s": _rounded(slicing),
            "feasible_mb_s": _rounded(feasible),
            "best_mb_s": _rounded(best),
            "jain": _rounded(shares.jain([row.got(one.name) / one.weight for one, _ in groups])),
            "jain_slowdown": _jain_slowdown(row, claims),
            "groups": [_group(row, group, mine) for group, mine in groups],
        }


def _jain_slowdown(row: ShareRow, claims: list[shares.Claim] | None) -> float | None:
    if not claims or not all(one.alone_mb_s for one in claims):
        return None
    pairs = zip(row.claimed, claims, strict=True)
    return _rounded(shares.jain([row.got(name) / one.alone_mb_s for name, one in pairs]))


def _group(row: ShareRow, group: Group, due: float | None) -> dict:
    seconds = row.seconds[group.name]
    return {
        "name": group.name,
        "weight": group.weight,
        "guarantee_mb_s": _rounded(due),
        "mb_s": _rounded(row.got(group.name)),
        "worst_second": _rounded(shares.worst(due or 0, seconds)),
        "standing": row.standings.get(group.name),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


HEADINGS = (
    "mix",
    "configuration",
    "MB/s",
    "of feasible",
    "first group MB/s",
    "its guarantee",
    "least share",
    "worst second",
    "Jain",
    "slowdown",
    "p99 ms",
    "CPU idle %",
)


def _least(groups: list[dict]) -> float | None:
    """The least part of its guarantee that a group of a row had on average."""
    parts = [one["mb_s"] / one["guarantee_mb_s"] for one in groups if one["guarantee_mb_s"]]
    return min(parts) if parts else None


def _texts(row: Row) -> list[str]:
    extra = row.extra
    groups, feasible = extra["groups"], extra["feasible_mb_s"]
    seconds = [one["worst_second"] for one in groups if one["worst_second"] is not None]
    values = [
        extra["total_mb_s"],
        extra["total_mb_s"] / feasible if feasible else None,
        groups[0]["mb_s"],
        groups[0]["guarantee_mb_s"],
        _least(groups),
        min(seconds) if seconds else None,
        extra["jain"],
        extra["jain_slowdown"],
        (extra["latency"] or {}).get("p99_ms"),
        extra["cpu_idle_percent"],
    ]
    return [summary.number(value) for value in values]


def _line(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _section(
    title: str, rows: list[Row], show: Callable[[Row], list[str]], head: list[str]
) -> list:
    lines = ["", f"## {title}", "", _line(head), "|---|" + "--:|" * (len(head) - 1)]
    return lines + [_line(show(row)) for row in rows]


def _markdown(content: dict, rows: list[Row]) -> str:
    seeds = sorted({row.seed for row in rows})
    lines = [
        "# shares",
        "",
        f"{made(content)} Simulated drive, seeds {', '.join(map(str, seeds))}. A share of 1 is a "
        "group's guarantee: its fraction of the drive's time times what it reaches alone.",
        '"Least share": of the group that is worst off, on average; "worst second": of any group '
        'in any second. "Of feasible": the total, of the most that is known to be feasible while '
        "every guarantee is kept.",
    ]
    alone = [row for row in rows if row.config == ALONE]
    if alone:
        lines += _section(
            "What each load reaches alone",
            alone,
            lambda row: [
                row.extra["mix"],
                summary.number(row.extra["total_mb_s"]),
                summary.number(row.extra["cpu_idle_percent"]),
            ],
            ["load", "MB/s", "CPU idle %"],
        )
    others = [row for row in rows if row.config != ALONE]
    for mix in dict.fromkeys(row.extra["mix"] for row in others):
        members = [row for row in others if row.extra["mix"] == mix]
        feasible = members[0].extra["feasible_mb_s"]
        slicing = members[0].extra["slicing_mb_s"]
        title = (
            f"{mix}: {summary.number(slicing)} MB/s by slicing, {summary.number(feasible)} feasible"
        )
        lines += _section(
            title, members, lambda row: [row.config, *_texts(row)], list(HEADINGS[1:])
        )
    return "\n".join(lines) + "\n"
