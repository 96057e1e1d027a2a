# SPDX-License-Identifier: Apache-2.0 OR MIT
"""PostgreSQL: transactions beside a base backup and its checkpoint."""

from pathlib import Path

from lab import dataset, paths, rivals
from lab.experiments.database.base import Database, Measured, storm_span
from lab.experiments.extension_cost import build_extension
from lab.experiments.first_light import (
    POSTGRESQL,
    checkpoints_since,
    dirty,
    longest_s,
    transactions,
)

# A third of first-light's: what it shows, in a third of the time.
DATA_SET = dataset.Database(scale=14, shared_buffers_mib=96, room_mib=1200)
DIRTY_PAGES = 10_000


class PostgreSQL(Database):
    """pgbench at a fixed rate; pg_basebackup, which begins with a checkpoint."""

    name = "postgresql"
    title = "PostgreSQL 15"
    load = "300 pgbench transactions a second, 8 clients"
    storm = (
        "a checkpoint of 10,000 dirty buffers and a base backup (`pg_basebackup`) of some 210 MiB"
    )
    script = "postgresql.sh"
    scripts = ("postgres-server.sh",)
    programs = "postgres"
    duration_s = 11
    settings = {"RATE": 300, "CLIENTS": 8, **POSTGRESQL}
    profile = "postgresql"

    def prepare(self) -> None:
        build_extension()
        DATA_SET.image()

    def disk(self) -> Path:
        return DATA_SET.image()

    def payload(self) -> dict[str, Path | str]:
        return {"dirty.sql": dirty(DIRTY_PAGES)}

    def inside(self) -> dict[str, Path]:
        return {"inside/fgio.so": paths.BUILD / "postgresql" / "fgio.so"}

    def throttle(self, device: str) -> dict[str, object]:
        return rivals.postgresql(device)

    def read(self, folder: Path, begin: float, end: float) -> Measured:
        measured = {"": transactions(folder, begin).between(0, end - begin)}
        background = {"checkpoint_s": longest_s(checkpoints_since(folder, begin))}
        return Measured(measured, background, storm_span(folder, begin, end))
