# SPDX-License-Identifier: Apache-2.0 OR MIT
"""PostgreSQL: transactions beside a base backup and its checkpoint."""

from dataclasses import replace
from pathlib import Path

from lab import dataset, paths, rivals
from lab.experiments.database.base import Database, Measured, burst_span
from lab.experiments.extension_cost import build_extension
from lab.experiments.first_light import (
    POSTGRESQL,
    checkpoints_since,
    dirty,
    transactions,
)

# A third of first-light's: the same effect, in a third of the time.
DATA_SET = dataset.Database(scale=14, shared_buffers_mib=96, room_mib=1200)
DIRTY_PAGES = 10_000


class PostgreSQL(Database):
    """pgbench at a fixed rate; pg_basebackup, which begins with a checkpoint.

    data_set: its image
    """

    name = "postgresql"
    title = "PostgreSQL 15"
    load = "300 pgbench transactions a second, 8 clients"
    burst = (
        "a checkpoint of 10,000 dirty buffers and a base backup (`pg_basebackup`) of some 210 MiB"
    )
    script = "postgresql.sh"
    scripts = ("postgres-server.sh",)
    programs = "postgres"
    duration_s = 11
    settings = {"RATE": 300, "CLIENTS": 8, **POSTGRESQL}
    profile = "postgresql"
    data_set = DATA_SET

    def prepare(self) -> None:
        build_extension()
        self.data_set.image()

    def disk(self) -> Path:
        return self.data_set.image()

    def payload(self) -> dict[str, Path | str]:
        return {"dirty.sql": dirty(DIRTY_PAGES)}

    def inside(self) -> dict[str, Path]:
        return {"inside/fgio.so": paths.BUILD / "postgresql" / "fgio.so"}

    def throttles(self, device: str) -> rivals.Throttles:
        return rivals.postgresql(device)

    def read(self, folder: Path, begin: float, end: float) -> Measured:
        measured = {"": transactions(folder, begin).between(0, end - begin)}
        background = {"checkpoint_s": checkpoints_since(folder, begin).longest_s(end - begin)}
        return Measured(measured, background, burst_span(folder, begin, end))


class SmallSegments(PostgreSQL):
    """The same with segments of the WAL so small that to fill one up hardly takes time.

    A base backup does that twice, with every commit waiting: with the default of 16 MiB for up
    to 134 ms of the volume's time, under any scheduler. In a night's backup that is nothing; in
    the eleven seconds that are measured here it decides p99.9.
    """

    name = "small-segments"
    title = "PostgreSQL 15, WAL in segments of 1 MiB"
    data_set = replace(DATA_SET, segment_mib=1)
