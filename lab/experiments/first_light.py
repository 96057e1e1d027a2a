# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The demo: PostgreSQL on a cloud volume, and a base backup in the middle."""

import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from lab import figures, guest, kernel, rivals
from lab.bounds import Bound
from lab.configurations import (
    ABLATION,
    BESIDES,
    EVALUATION,
    Configuration,
    priority,
)
from lab.dataset import Database
from lab.experiments.base import (
    DATABASE_BOUNDS,
    Experiment,
    Row,
    blame,
    check,
    disk_use,
    grown,
    moments,
    rival_settings,
    script_payload,
    submitters,
)
from lab.figures import Requests

DATABASE = Database(scale=40, shared_buffers_mib=240, room_mib=3000)
# As many dirty buffers as the buffer pool can hold, as after a long spell of uniform updates.
DIRTY_PAGES = 26_000
ACCOUNTS_PER_PAGE = 61
# A nightly job: a base backup of the whole database, which begins with a checkpoint of
# everything that is dirty, to the same volume.
BACKUP = """
pg_basebackup --pgdata=/data/backup $BACKUP_OPTIONS
"""
# As the server comes, and the backup as soon as it can be had.
SCRIPTS = ("rivals.sh", "postgres-server.sh")
POSTGRESQL = {"SERVER_OPTIONS": "", "BACKUP_OPTIONS": "--checkpoint=fast"}
# A base backup switches to a new WAL segment when it begins and when it ends: the server writes the
# rest of the old one (up to 16 MiB, which takes the volume 134 ms) while all commits wait for
# the lock that it holds.
SWITCHES_ALONE = """
psql -XAtq -c "SELECT pg_switch_wal()"
sleep 12
psql -XAtq -c "SELECT pg_switch_wal()"
"""
CLIENTS = 8
# Causes of waiting that a row keeps.
BLAMED = 12
# Transactions arrive at this rate (per second) however fast the server is, as with users: a stall
# is felt by every request that arrives in it, not by 8 clients once.
RATE = 300
CHECKPOINT_BEGIN = re.compile(r"^(\S+ \S+) UTC \[\d+\] LOG:  checkpoint starting: (.*)$", re.M)
CHECKPOINT_END = re.compile(
    r"^(\S+ \S+) UTC \[\d+\] LOG:  checkpoint complete: wrote (\d+) buffers", re.M
)


def dirty(pages: int) -> str:
    """SQL that updates one account of each page of the table's first part, by its index."""
    return f"""
SET enable_seqscan = off;
UPDATE pgbench_accounts SET abalance = abalance + 1
  FROM generate_series(1, {ACCOUNTS_PER_PAGE * pages}, {ACCOUNTS_PER_PAGE}) AS chosen(aid)
  WHERE pgbench_accounts.aid = chosen.aid;
"""


class FirstLight(Experiment):
    """pgbench beside a base backup and its checkpoint, as a nightly job brings them."""

    name = "first-light"
    description = (
        "PostgreSQL, 300 pgbench transactions a second on the cloud volume; a base "
        "backup, which begins with a checkpoint"
    )
    device = "volume"
    configurations = (
        "floor",
        "none",
        "mq-deadline",
        "mq-deadline-rt",
        "kyber",
        "bfq",
        "bfq-idle",
        "bfq-rt",
        "fgio",
    )
    extra_configurations = (*DATABASE_BOUNDS, "floor-switch", "fgio-block", *EVALUATION, *BESIDES)
    # Whether `fgio record` runs beside it: that takes a little of the guest's one processor.
    recorded = False
    demo_configurations = ("floor", "mq-deadline", "bfq-idle", "fgio")
    duration_s = 22
    setup_s = 16
    limit_s = 1800
    warm_s = 3
    burst_after_s = 4
    memory_mib = 1024
    units = {
        "foreground.throughput": "transactions per second",
        "background.burst_s": "seconds that the background burst took; at_least: without end",
        "background.checkpoint_s": "seconds of the longest checkpoint",
        "background.written_mib": "MiB written to the disk while measuring",
    }

    def has(self, configuration: Configuration, variant: str) -> bool:
        return configuration.own_throttle in ("", *rivals.postgresql(self.device))

    def prepare(self) -> None:
        DATABASE.image()

    def _settings(self, configuration: Configuration, seed: int) -> dict[str, object]:
        return {
            "DEVICE": self.device,
            "SEED": seed,
            "ELEVATOR": configuration.elevator,
            "FOREGROUND_PRIORITY": priority(configuration.foreground_priority),
            "SETTINGS": " ".join(configuration.parameters()),
            "GATE": configuration.gate or "",
            "BACKGROUND_PRIORITY": priority(configuration.background_priority),
            "HAS_FOREGROUND": int(configuration.has_foreground),
            "HAS_BACKGROUND": int(configuration.has_background),
            "CLIENTS": CLIENTS,
            "WARM_S": self.warm_s,
            "DURATION_S": int(self.duration_s),
            "BURST_AFTER_S": self.burst_after_s,
            "RATE": RATE,
            "RECORDED": int(self.recorded),
            **rival_settings(configuration, self.device),
            **POSTGRESQL,
            **rivals.postgresql(self.device).get(configuration.own_throttle, {}),
        }

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        values = self._settings(configuration, seed)
        taken = script_payload(chosen, configuration, "first-light", values, *SCRIPTS)
        taken["titles"] = rivals.titles("postgresql")
        taken["dirty.sql"] = dirty(DIRTY_PAGES)
        taken["burst.sh"] = SWITCHES_ALONE if configuration.name == "floor-switch" else BACKUP
        return guest.Boot(
            kernel=chosen,
            commands="bash $PAYLOAD/first-light.sh",
            payload=taken,
            disks=(DATABASE.image(),),
            memory_mib=self.memory_mib,
            limit_s=self.limit_s,
            seed=seed,
        )

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, f"{self.name} under {configuration.name}")
        folder = outcome.results
        noted = moments(folder)
        begin, end = noted["measure_begin"], noted["measure_end"]
        requests = transactions(folder, begin).between(0, end - begin)
        checkpoints = checkpoints_since(folder, begin)
        marks = [(f"checkpoint, {wrote:,} buffers", a, b) for a, b, wrote in checkpoints.ended]
        disk = disk_use(folder)
        background = {
            "burst_s": None,
            "checkpoint_s": checkpoints.longest_s(end - begin),
            "checkpoint_buffers": sum(wrote for *_, wrote in checkpoints.ended),
            "written_mib": disk["write"]["mib"],
        }
        if "burst_begin" in noted:
            burst_begin, burst_end = noted["burst_begin"], noted.get("burst_end", end)
            marks.insert(0, ("burst", burst_begin - begin, burst_end - begin))
            seen_s = round(burst_end - burst_begin, 3)
            background["burst_s"] = seen_s if "burst_end" in noted else Bound(seen_s)
        extra = {
            "disk": disk,
            "fgio_counters": grown(folder, "fgio"),
            "simdisk_counters": grown(folder, "simdisk"),
            "cpu_idle": _idle_share(folder),
            "waits": _waits(folder),
            "blame": blame(folder, BLAMED),
            "submitters": submitters(folder),
            "virtual_s": outcome.virtual_s,
        }
        summary = figures.summarize(requests, end - begin)
        row = Row(configuration.name, seed, summary, background, extra, requests, end - begin)
        row.marks = marks
        return [row]


def transactions(folder: Path, begin: float) -> Requests:
    """The transactions that pgbench logged, by time since a moment of the wall clock (s)."""
    parts = []
    for file in sorted(folder.glob("pgbench.[0-9]*")):
        if not file.stat().st_size:
            continue
        # client, transaction, latency in us, script, end in s, end in us within the second
        table = np.loadtxt(file, usecols=(2, 4, 5), ndmin=2)
        parts.append(Requests(table[:, 1] - begin + table[:, 2] / 1e6, table[:, 0] / 1e3))
    return Requests.join(parts)


def _waits(folder: Path) -> dict[str, float]:
    """Shares of the states of transactions, by the server's own wait events."""
    seen = Counter((folder / "waits").read_text().split())
    return {event: round(count / seen.total(), 4) for event, count in seen.most_common()}


def _clock(text: str) -> float:
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC).timestamp()


@dataclass(frozen=True)
class Checkpoints:
    """Checkpoints by the server's log.

    ended: begin, end (s from the start of measuring) and buffers of each that ended after it
    under_way: begin of the one that had not ended when the log did; None: there is none
    """

    ended: list[tuple[float, float, int]]
    under_way: float | None = None

    def longest_s(self, end_s: float) -> float | Bound | None:
        """How long the longest took.

        A bound where one under way at the end of measuring (end_s) had been at it for longer.
        """
        longest = max((b - a for a, b, _ in self.ended), default=0)
        seen = 0 if self.under_way is None else end_s - self.under_way
        if seen > longest:
            return Bound(round(seen, 3))
        return round(longest, 3) if self.ended else None


def checkpoints_since(folder: Path, begin: float) -> Checkpoints:
    """The checkpoints since a moment of the wall clock (s)."""
    log = (folder / "server" / "log").read_text()
    begins = [_clock(found.group(1)) - begin for found in CHECKPOINT_BEGIN.finditer(log)]
    ends = [
        (_clock(found.group(1)) - begin, int(found.group(2)))
        for found in CHECKPOINT_END.finditer(log)
    ]
    pairs = [(a, b, wrote) for a, (b, wrote) in zip(begins, ends, strict=False)]
    ended = [(round(a, 3), round(b, 3), wrote) for a, b, wrote in pairs if b > 0]
    return Checkpoints(ended, round(begins[len(ends)], 3) if len(begins) > len(ends) else None)


def _idle_share(folder: Path) -> float:
    first, last = (
        np.array((folder / f"{name}.cpu").read_text().split("\n", 1)[0].split()[1:], dtype=float)
        for name in ("before", "after")
    )
    spent = last - first
    # Columns 4 and 5: idle, and idle while a disk works.
    return round(float((spent[3] + spent[4]) / spent.sum()), 3)


class Ablation(FirstLight):
    """first-light with each mechanism of fgio switched off in turn."""

    name = "ablation"
    description = "first-light, with each mechanism of fgio switched off in turn"
    configurations = ABLATION
    extra_configurations = ()
    demo_configurations = ()


class Recorded(FirstLight):
    """first-light under fgio, for `fgio replay`."""

    name = "recorded"
    description = "first-light under fgio with `fgio record` beside it: a recording to replay"
    configurations = ("fgio",)
    extra_configurations = ()
    demo_configurations = ()
    recorded = True
