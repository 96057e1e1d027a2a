# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Two PostgreSQL servers on one drive, each a tenant with a weight of its own."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab import dataset, figures, guest, host, image, kernel, paths, summary
from lab.configurations import Configuration
from lab.experiments.base import (
    Experiment,
    Row,
    check,
    cpu_idle_percent,
    disk_settings,
    disk_use,
    fgio_command,
    made,
    matching,
    moments,
    script_payload,
    shares_of,
)
from lab.experiments.databases import CPU_IDLE, LONGEST_CHECKPOINT
from lab.experiments.first_light import checkpoints_since, dirty, transactions
from lab.share_mixes import ALONE

HEAVY, LIGHT = "heavy", "light"
WEIGHTS = {HEAVY: 300, LIGHT: 100}
# Each tenant's own cluster, one the copy of the other.
CLUSTER = dataset.Database(scale=14, shared_buffers_mib=96, room_mib=500)
COPY = f"mv /data/pg /data/{HEAVY}\ncp -a /data/{HEAVY} /data/{LIGHT}\n"
DIRTY_PAGES = 10_000
# Users of a tenant arrive at this rate, a second. Its I/O is within the lighter tenant's guarantee.
RATE, CLIENTS = 200, 8
# A tenant whose backends read as fast as the drive lets them, from tables that are not in memory.
FLOOD_CLIENTS = 32
# A second of that takes half a minute of the host, or more.
FLOOD_S = 6


@dataclass(frozen=True)
class Part:
    """What the tenants do in one boot.

    tenants: those that run; flooding: of them, those that are not paced; checkpoint: the one that
    makes a checkpoint, or none; first: it is the first since the server began, and not the second
    """

    tenants: tuple[str, ...] = (HEAVY, LIGHT)
    flooding: tuple[str, ...] = ()
    checkpoint: str = ""
    first: bool = False


PARTS = {
    "heavy-alone": Part((HEAVY,)),
    "light-alone": Part((LIGHT,)),
    "flood-alone": Part((LIGHT,), (LIGHT,)),
    "quiet": Part(),
    "heavy-checkpoint": Part(checkpoint=HEAVY),
    "light-checkpoint": Part(checkpoint=LIGHT),
    "first-checkpoint": Part(checkpoint=HEAVY, first=True),
    "heavy-flood": Part(flooding=(HEAVY,)),
    "light-flood": Part(flooding=(LIGHT,)),
    "both-flood": Part(flooding=(HEAVY, LIGHT)),
}


class Tenants(Experiment):
    """Two weighted PostgreSQL servers, one of which checkpoints or floods the drive."""

    name = "tenants"
    description = (
        "two PostgreSQL servers of weights 300 and 100 on one volume: what the checkpoint or the "
        "flood of one does to the other"
    )
    device = "volume"
    configurations = (ALONE, "none", "mq-deadline", "bfq", "fgio-shares")
    extra_configurations = ("bfq-no-low-latency", "fgio")
    duration_s = 20
    warm_s = 3
    burst_after_s = 2
    earlier_s = 6
    setup_s = 14
    limit_s = 3600
    variants = tuple(PARTS)
    units = {
        "foreground.throughput": "transactions per second of the tenant",
        "background.checkpoint_s": LONGEST_CHECKPOINT["background.checkpoint_s"],
        "background.cpu_idle_percent": CPU_IDLE["background.cpu_idle_percent"],
        "worst_second": "transactions in the tenant's worst second",
        "guarantee": "transactions a second that the tenant's weight guarantees: its part of what "
        "it reaches alone (flood-alone); of one that is paced, its pace, which takes less",
        "least_share": "worst_second over guarantee",
        "p999_over_quiet": "the tenant's p99.9 over that of the part `quiet`, of the same seed",
        "reasons": "waits of foreground threads by reason, of both tenants since the start",
    }

    def choose_part(self, only: str) -> None:
        """Runs the parts whose names match. Raises LabError when none does."""
        self.variants = matching(only, PARTS, "part")

    def has(self, configuration: Configuration, variant: str) -> bool:
        return (configuration.name == ALONE) == (len(PARTS[variant].tenants) == 1)

    def prepare(self) -> None:
        disk()

    def _settings(self, configuration: Configuration, seed: int, part: Part) -> dict[str, object]:
        return {
            **disk_settings(configuration, self.device, seed),
            "LABELS": "profile" if configuration.loads_fgio else "",
            "TENANTS": " ".join(f"{name}:{WEIGHTS[name]}" for name in part.tenants),
            "FLOODING": " ".join(part.flooding),
            "CHECKPOINT": part.checkpoint,
            "RATE": RATE,
            "CLIENTS": CLIENTS,
            "FLOOD_CLIENTS": FLOOD_CLIENTS,
            "EARLIER_S": self.earlier_s if part.checkpoint and not part.first else 0,
            "WARM_S": self.warm_s,
            "DURATION_S": FLOOD_S if part.flooding else int(self.duration_s),
            "BURST_AFTER_S": self.burst_after_s,
        }

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        values = self._settings(configuration, seed, PARTS[variant])
        files = ("fgiod.sh", "postgres-server.sh")
        taken = script_payload(chosen, configuration, "tenants", values, *files)
        taken["dirty.sql"] = dirty(DIRTY_PAGES)
        if configuration.loads_fgio:
            taken["bin/fgiod"] = fgio_command().with_name("fgiod")
            taken["profiles"] = paths.ROOT / "profiles"
        return guest.Boot(
            kernel=chosen,
            commands="bash $PAYLOAD/tenants.sh",
            payload=taken,
            disks=(disk(),),
            memory_mib=1536,
            # At 1, the processor is the limit of a flood.
            instructions_per_ns=4,
            limit_s=self.limit_s,
            seed=seed,
        )

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, f"{self.name}, {variant} under {configuration.name}")
        folder, part = outcome.results, PARTS[variant]
        noted = moments(folder)
        begin = noted["measure_begin"]
        lasted_s = noted["measure_end"] - begin
        rows = []
        for name in part.tenants:
            requests = transactions(folder / name, begin).between(0, lasted_s)
            background = {
                "checkpoint_s": checkpoints_since(folder / name, begin).longest_s(lasted_s),
                "cpu_idle_percent": cpu_idle_percent(folder),
            }
            extra = {
                "cell": f"{variant}: {name}",
                "part": variant,
                "tenant": name,
                "weight": WEIGHTS[name],
                "worst_second": worst_second(requests, lasted_s),
                "shares": shares_of(folder / "shares.json").get(f"/{name}"),
                "reasons": _reasons(folder),
                "disk": disk_use(folder),
                "virtual_s": outcome.virtual_s,
            }
            summed = figures.summarize(requests, lasted_s)
            rows.append(Row(configuration.name, seed, summed, background, extra, requests))
        return rows

    def completed(self, rows: list[Row]) -> list[Row]:
        """The rows with what takes those of other boots: guarantees, and p99.9 over quiet."""
        return complete(rows)

    def drawn_cells(self, rows: list[Row]) -> list[str]:
        return []

    def markdown(self, content: dict, rows: list[Row]) -> str:
        return _markdown(content, rows)


def disk() -> Path:
    """The ext4 image with a cluster of each tenant, made when absent."""
    root = image.root_tree(suite=CLUSTER.suite)
    script = CLUSTER.script() + COPY
    used = 2 * CLUSTER.scale * dataset.MIB_PER_SCALE
    size = (used + 600 + CLUSTER.room_mib) * host.MIB
    target = paths.CACHE / f"tenants-{image.fingerprint(script, size, root.name)}.ext4"
    return dataset.once(
        target,
        2 * used + 1200,
        "the data sets of two tenants",
        "a minute or so",
        lambda fresh: dataset.fill(fresh, root, "postgres", script, size),
    )


def worst_second(requests: figures.Requests, lasted_s: float) -> int:
    """Transactions that ended in the whole second in which the fewest did."""
    edges = np.arange(int(lasted_s) + 1)
    counted, _ = np.histogram(requests.end_s, bins=edges)
    return int(counted.min())


WAITS = re.compile(r'^fgio_(waits|waited_seconds)_total\{reason="([^"]+)"\} (\S+)$', re.M)


def _reasons(folder: Path) -> dict[str, dict[str, float]]:
    """All waits of foreground threads by reason: number and seconds, as fgiod serves them."""
    file = folder / "waits"
    found: dict[str, dict[str, float]] = {}
    for what, reason, value in WAITS.findall(file.read_text()) if file.is_file() else ():
        if float(value):
            found.setdefault(reason, {})[what] = round(float(value), 3)
    return found


def _guarantee(row: Row, rows: list[Row]) -> float | None:
    """Transactions a second that a row's tenant is guaranteed; None where it is not known."""
    if row.extra["tenant"] not in PARTS[row.extra["part"]].flooding:
        return RATE
    for each in rows:
        if each.seed == row.seed and each.extra["part"] == "flood-alone":
            part = row.extra["weight"] / sum(WEIGHTS.values())
            return part * each.foreground["throughput"]
    return None


def _quiet(row: Row, rows: list[Row]) -> Row | None:
    """The row of the same tenant where both are quiet."""
    for each in rows:
        if (each.config, each.seed, each.extra["tenant"], each.extra["part"]) == (
            row.config,
            row.seed,
            row.extra["tenant"],
            "quiet",
        ):
            return each
    return None


def complete(rows: list[Row]) -> list[Row]:
    """Fills in the figures that need rows of other boots; returns all rows."""
    for row in rows:
        due = _guarantee(row, rows)
        quiet = _quiet(row, rows)
        row.extra["guarantee"] = None if due is None else round(due, 1)
        row.extra["least_share"] = round(row.extra["worst_second"] / due, 3) if due else None
        row.extra["p999_over_quiet"] = (
            round(row.foreground["p999_ms"] / quiet.foreground["p999_ms"], 3) if quiet else None
        )
    return rows


HEADINGS = (
    "part: tenant",
    "configuration",
    "per second",
    "worst second",
    "guarantee",
    "p50 ms",
    "p99 ms",
    "p99.9 ms",
    "over quiet",
    "checkpoint s",
)


def _texts(row: Row) -> list[str]:
    extra, foreground = row.extra, row.foreground
    values = [
        foreground["throughput"],
        extra["worst_second"],
        extra["guarantee"],
        foreground["p50_ms"],
        foreground["p99_ms"],
        foreground["p999_ms"],
        extra["p999_over_quiet"],
        row.background["checkpoint_s"],
    ]
    return [extra["cell"], row.config, *map(summary.number, values)]


def _markdown(content: dict, rows: list[Row]) -> str:
    seeds = ", ".join(str(seed) for seed in sorted({row.seed for row in rows}))
    lines = [
        "# Two tenants, a PostgreSQL each",
        "",
        f"{made(content)} Simulated drive, seeds {seeds}.",
        "",
        f"| {' | '.join(HEADINGS)} |",
        "|---|---|" + "--:|" * (len(HEADINGS) - 2),
    ]
    order = {name: at for at, name in enumerate(PARTS)}
    for row in sorted(rows, key=lambda one: (order[one.extra["part"]], one.extra["tenant"])):
        lines.append(f"| {' | '.join(_texts(row))} |")
    return "\n".join(lines) + "\n"
