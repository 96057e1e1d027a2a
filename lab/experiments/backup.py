# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Does a database that lives in the page cache keep its working set beside a backup?

PostgreSQL with small shared_buffers, or RocksDB with buffered reads, in a guest in which the hot
part of the data fits the page cache, and hot part and backup do not. Requests arrive at a fixed
rate before, during and after the backup. The hit ratio is of what the database's processes read:
bytes by system calls, and of these from the drive, by the kernel's counters. RocksDB's blocks of
4 KB begin anywhere in a page, so a page is added to each of its reads.
"""

from pathlib import Path

import numpy as np
from rich.table import Table

from lab import figures, guest, host, kernel, paths, summary
from lab.configurations import Configuration
from lab.experiments.base import (
    Experiment,
    Row,
    check,
    disk_settings,
    disk_use,
    fgio_command,
    grown,
    made,
    matching,
    moments,
    oom_kills,
    script_payload,
)
from lab.experiments.database.readwhilewriting_paced import ReadWhileWritingPaced
from lab.experiments.database.rocksdb import KEYS
from lab.experiments.database.rocksdb import PACKAGES as ROCKSDB_PACKAGES
from lab.experiments.database.ycsb import requests as ycsb_requests
from lab.experiments.first_light import DATABASE

MIB = host.MIB
ACCOUNTS = 100_000 * DATABASE.scale
# Of the data: what requests are for.
HOT_SHARE = 0.3
SHARED_BUFFERS = "16MB"
# A request reads this number of accounts, one by one, or changes one: nine reads and a write.
READ_ACCOUNTS = 5
READ_SQL = (
    "".join(f"\\set a{number} random(1, :hot)\n" for number in range(READ_ACCOUNTS))
    + "SELECT sum(abalance) FROM pgbench_accounts WHERE aid IN ("
    + ", ".join(f":a{number}" for number in range(READ_ACCOUNTS))
    + ");\n"
)
WRITE_SQL = """\\set aid random(1, :hot)
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;
"""
WINDOWS = ("before", "during", "after")
POLICIES = {
    "floor": "quiet",
    "backup-high": "high",
    "backup-low": "low",
    "fgio": "background",
    "backup-drop": "drop",
    "backup-drop-16": "drop16",
    "backup-drop-client": "client",
    "backup-cache": "cache",
}
BACKUP_HIGH = 64 * MIB
# Of the database's cgroup where it is protected: the hot part, and what is no file memory.
DB_LOW = 260 * MIB
ROCKSDB = "rocksdb"
PARTS = {
    "basebackup": "PostgreSQL, pg_basebackup",
    "tar": "PostgreSQL, tar",
    ROCKSDB: "RocksDB, cp",
}
# The same with windows of seconds, by --only alone: for what is in memory, not for p99.9.
SHORT = "-short"
ALL_PARTS = {**PARTS, **{name + SHORT: f"{title}; short" for name, title in PARTS.items()}}
MEMORY_MIB = 576
# PostgreSQL with windows of a minute, in which it grows by some 0.5 MiB a second itself.
MINUTES_MIB = 672
# Requests a second.
RATE = 200
CLIENTS = 8
# RocksDB: of its keys, what requests are for; reads and synced writes a second.
ROCKSDB_HOT_SHARE = 0.25
READS = 1500
WRITES = 20


class Backup(Experiment):
    """A database in the page cache, before, during and after a backup."""

    name = "backup"
    description = "a database that lives in the page cache, before, during and after a backup"
    device = "volume"
    configurations = (
        "floor",
        "none",
        "mq-deadline",
        "bfq",
        "backup-high",
        "backup-low",
        "fgio",
        "backup-drop",
        "backup-cache",
    )
    extra_configurations = ("backup-drop-16", "backup-drop-client")
    warm_s = 20
    before_s = 60
    quiet_s = 20
    after_s = 60
    duration_s = before_s + quiet_s + after_s
    setup_s = 28
    limit_s = 3000
    variants = tuple(PARTS)
    units = {
        "foreground": "reads after the backup",
        "windows": "latencies are of reads; those of writes beside them",
        "background.backup_s": "seconds that the backup took",
        "background.dropped_mib": "file memory that `fgio run --drop-behind` dropped",
        "windows.hit_ratio": "of bytes that the database's processes read: not from the drive",
        "windows.refaults": "pages of the database's cgroup that were evicted and read again",
        "hot_mib": "of the hot part, in memory: as the windows begin, and as the last one ends",
        "db_file_mib": "file memory of the database's cgroup, with its shared memory",
        "after_over_before": "of hit_ratio and p999_ms",
    }

    def choose_part(self, only: str) -> None:
        """Runs the parts whose names match. Raises LabError when none does."""
        self.variants = matching(only, ALL_PARTS, "part")

    def has(self, configuration: Configuration, variant: str) -> bool:
        return configuration.name != "backup-drop-client" or variant.startswith("basebackup")

    def prepare(self) -> None:
        if not all(map(_is_rocksdb, self.variants)):
            DATABASE.image()
        if any(map(_is_rocksdb, self.variants)):
            ReadWhileWritingPaced().prepare()

    def _settings(self, configuration: Configuration, seed: int, variant: str) -> dict:
        is_short = variant.endswith(SHORT)
        share, whole = HOT_SHARE, ACCOUNTS
        if _is_rocksdb(variant):
            share, whole = ROCKSDB_HOT_SHARE, KEYS
        return {
            **disk_settings(configuration, self.device, seed),
            "LABELS": "profile" if configuration.loads_fgio else "",
            "PART": variant.removesuffix(SHORT),
            "POLICY": POLICIES.get(configuration.name, "plain"),
            "DB_WEIGHT": 800,
            "BACKUP_WEIGHT": 100,
            "DB_LOW": DB_LOW,
            "BACKUP_HIGH": BACKUP_HIGH,
            "SHARED_BUFFERS": SHARED_BUFFERS,
            "RATE": RATE,
            "CLIENTS": CLIENTS,
            "READS": READS,
            "WRITES": WRITES,
            "ALL": whole,
            "HOT": int(share * whole),
            "HOT_SHARE": share,
            "WARM_S": 6 if is_short else self.warm_s,
            "BEFORE_S": 8 if is_short else self.before_s,
            "QUIET_S": self.quiet_s,
            "AFTER_S": 12 if is_short else self.after_s,
        }

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        values = self._settings(configuration, seed, variant)
        files = ("fgiod.sh", "postgres-server.sh", "backup-command.sh")
        taken = script_payload(chosen, configuration, "backup", values, *files)
        taken |= {"read.sql": READ_SQL, "write.sql": WRITE_SQL}
        # The same files for all: what is read of them is in the page cache.
        taken["bin/fgio"] = fgio_command()
        taken["bin/fgiod"] = fgio_command().with_name("fgiod")
        taken["modules/fgio.ko"] = paths.modules_folder(chosen.release) / "fgio.ko"
        taken["profiles"] = paths.ROOT / "profiles"
        disk, packages = DATABASE.image(), ()
        if _is_rocksdb(variant):
            database = ReadWhileWritingPaced()
            disk, packages = database.disk(), ROCKSDB_PACKAGES
            taken |= database.payload()
        return guest.Boot(
            kernel=chosen,
            commands="bash $PAYLOAD/backup.sh",
            payload=taken,
            disks=(disk,),
            packages=packages,
            memory_mib=_memory_mib(variant),
            # At 1, the longest waits are for the processor. Signs of life take some of it, too.
            instructions_per_ns=4,
            heartbeat_s=5,
            limit_s=self.limit_s,
            seed=seed,
        )

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, f"{self.name}, {variant} under {configuration.name}")
        folder = outcome.results
        samples = _samples(folder)
        edges = [samples[name] for name in ("before", "begin", "end", "after")]
        start = edges[0]["time"]
        reads, writes = (_records if _is_rocksdb(variant) else _requests)(folder, start)
        windows = {}
        for name, first, last in zip(WINDOWS, edges, edges[1:], strict=False):
            span = (first["time"] - start, last["time"] - start)
            summed = figures.summarize(reads.between(*span), span[1] - span[0])
            windows[name] = _window(first, last) | summed
            windows[name]["writes"] = figures.summarize(writes.between(*span), span[1] - span[0])
        noted = moments(folder)
        quiet = POLICIES.get(configuration.name) == "quiet"
        background = {
            "backup_s": None if quiet else round(noted["burst_end"] - noted["burst_begin"], 1),
            "dropped_mib": _dropped_mib(folder),
        }
        before, after = windows["before"], windows["after"]
        extra = {
            "cell": variant,
            "windows": windows,
            "after_over_before": {
                name: round(after[name] / before[name], 3) if before[name] else None
                for name in ("hit_ratio", "p999_ms")
            },
            "hot_mib": [_mib(4096 * edge["hot"]) for edge in edges],
            "db_file_mib": [_mib(edge["db_file"]) for edge in edges],
            "backup_file_mib": [_mib(edge["backup_file"]) for edge in edges],
            "free_mib": [_mib(edge["free"]) for edge in edges],
            "reclaimed_mib": _reclaimed(folder),
            "oom_kills": oom_kills(folder),
            "disk": disk_use(folder),
            "fgio_counters": grown(folder, "fgio"),
            "virtual_s": outcome.virtual_s,
        }
        marks = [] if quiet else [("backup", edges[1]["time"] - start, edges[2]["time"] - start)]
        row = Row(configuration.name, seed, {}, background, extra)
        row.foreground = {name: after[name] for name in (*summary.FIGURES, "n")}
        row.requests, row.marks = reads, marks
        row.duration_s = edges[3]["time"] - start
        return [row]

    def drawn_cells(self, rows: list[Row]) -> list[str]:
        return []

    def table(self, rows: list[Row]) -> Table:
        drawn = Table(title=f"{self.name}: {self.description}", title_justify="left")
        for heading in HEADINGS:
            drawn.add_column(heading, justify="left" if heading in HEADINGS[:2] else "right")
        for row in rows:
            drawn.add_row(*_texts(row))
        return drawn

    def markdown(self, content: dict, rows: list[Row]) -> str:
        lines = ["# A database in the page cache, and a backup", "", made(content)]
        for name in ALL_PARTS:
            members = [row for row in rows if row.extra["cell"] == name]
            if not members:
                continue
            lines += ["", f"## {ALL_PARTS[name]}", "", f"| {' | '.join(HEADINGS)} |"]
            lines += ["|---|" + "--:|" * (len(HEADINGS) - 1)]
            lines += [f"| {' | '.join(_texts(row))} |" for row in members]
        return "\n".join(lines) + "\n"


HEADINGS = (
    "configuration",
    "seed",
    "hit ratio before",
    "during",
    "after",
    "reads p99.9 ms before",
    "during",
    "after",
    "after/before",
    "hot MiB before",
    "after the backup",
    "backup s",
    "dropped MiB",
)


def _texts(row: Row) -> list[str]:
    windows, hot = row.extra["windows"], row.extra["hot_mib"]
    return [
        row.config,
        str(row.seed),
        *(f"{windows[name]['hit_ratio']:.4f}" for name in WINDOWS),
        *(summary.number(windows[name]["p999_ms"]) for name in WINDOWS),
        summary.number(row.extra["after_over_before"]["p999_ms"]),
        summary.number(hot[1]),
        summary.number(hot[2]),
        summary.number(row.background["backup_s"]),
        summary.number(row.background["dropped_mib"]),
    ]


def _is_rocksdb(variant: str) -> bool:
    return variant.removesuffix(SHORT) == ROCKSDB


def _memory_mib(variant: str) -> int:
    return MEMORY_MIB if _is_rocksdb(variant) or variant.endswith(SHORT) else MINUTES_MIB


COLUMNS = ("time", "asked", "from_drive", "db_file", "db_refaults", "backup_file", "free", "hot")


def _samples(folder: Path) -> dict[str, dict[str, float]]:
    """The samples by their names."""
    found = {}
    for line in (folder / "samples").read_text().splitlines():
        name, *values = line.split()
        found[name] = dict(zip(COLUMNS, map(float, values), strict=True))
    return found


def _window(first: dict[str, float], last: dict[str, float]) -> dict:
    delta = {name: last[name] - first[name] for name in COLUMNS}
    return {
        "seconds": round(delta["time"], 1),
        "hit_ratio": round(1 - delta["from_drive"] / delta["asked"], 5),
        "read_mib": _mib(delta["asked"]),
        "read_from_drive_mib": _mib(delta["from_drive"]),
        "refaults": int(delta["db_refaults"]),
    }


def _requests(folder: Path, begin: float) -> tuple[figures.Requests, figures.Requests]:
    """Reads and writes that pgbench logged, by time since a moment of the wall clock (s)."""
    (file,) = folder.glob("pgbench.[0-9]*")
    # latency in us, script, end in s, end in us within the second
    table = np.loadtxt(file, usecols=(2, 3, 4, 5), ndmin=2)
    made = figures.Requests(table[:, 2] - begin + table[:, 3] / 1e6, table[:, 0] / 1e3)
    kinds = (table[:, 1] == number for number in range(2))
    reads, writes = (figures.Requests(made.end_s[of], made.latency_ms[of]) for of in kinds)
    return reads, writes


def _records(folder: Path, begin: float) -> tuple[figures.Requests, figures.Requests]:
    """The same of the clients of RocksDB."""
    kinds = ycsb_requests(folder, begin, float("inf"))
    return kinds["reads"], kinds["updates"]


def _mib(count: float) -> float:
    return round(count / MIB, 1)


def _dropped_mib(folder: Path) -> int | None:
    """As `fgio run --summary` says it: fgio: N MiB of page cache dropped behind ..."""
    file = folder / "backup.log"
    for line in file.read_text().splitlines() if file.is_file() else ():
        if line.startswith("fgio: ") and "dropped behind" in line:
            return int(line.split()[1])
    return None


def _counts(folder: Path, name: str) -> dict[str, int]:
    lines = (folder / f"{name}.vmstat").read_text().splitlines()
    return {key: int(value) for key, value in (line.split() for line in lines)}


def _reclaimed(folder: Path) -> dict[str, float]:
    """File memory reclaimed during the backup: by kswapd, by allocating tasks, and on request."""
    first, last = _counts(folder, "begin"), _counts(folder, "end")
    return {
        name: _mib(4096 * (last[f"pgsteal_{name}"] - first[f"pgsteal_{name}"]))
        for name in ("kswapd", "direct")
    }
