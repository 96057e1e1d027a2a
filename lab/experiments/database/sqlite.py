# SPDX-License-Identifier: Apache-2.0 OR MIT
"""SQLite in WAL mode: a writer and readers, each a process, beside a checkpoint of the log."""

from pathlib import Path

from lab import dataset, host, image, paths
from lab.experiments.base import compile_program
from lab.experiments.database.base import Database, Measured, burst_span
from lab.experiments.database.ycsb import SOURCE, requests

PROGRAM = "sqlite-clients"
SOURCE_OF_CLIENTS = paths.LAB / "guest" / f"{PROGRAM}.c"
PAGE_BYTES = 4096
KEYS = 307_200
LOG_MIB = 200
LOGGED = LOG_MIB * host.MIB // PAGE_BYTES
# The database, its log, and room for what is written in the meantime.
SIZE_MIB = 300 + LOG_MIB + 300
READERS = 8
READS = 600
WRITES = 100
# Of the batch: rows of one transaction, and the time between two.
BATCH_ROWS = 30
BATCH_PAUSE_MS = 250


class Sqlite(Database):
    """A library inside of the application: each process has the files open and locks them itself.

    A checkpoint is a process of its own, as where Litestream or a timer does it.
    """

    name = "wal"
    title = "SQLite in WAL mode"
    load = (
        f"{READS} reads a second by {READERS} processes, {WRITES} durable transactions of 1,000 "
        "bytes a second by one"
    )
    burst = (
        f"`wal_checkpoint(PASSIVE)` of {LOG_MIB} MiB, repeated until SQLite has synced the "
        "database; none in *floor*"
    )
    script = "sqlite.sh"
    programs = PROGRAM
    memory_mib = 768
    # A dozen processes on one processor: at 1 GHz they would wait for it beside the checkpoint.
    instructions_per_ns = 2
    duration_s = 7
    warm_s = 1
    burst_after_s = 1
    batch_rows = 0

    def __init__(self):
        self.settings = {
            "READS": READS,
            "WRITES": WRITES,
            "READERS": READERS,
            "KEYS": KEYS,
            "BATCH_ROWS": self.batch_rows,
            "BATCH_PAUSE_MS": BATCH_PAUSE_MS,
        }

    def prepare(self) -> None:
        clients = compile_program(PROGRAM, str(SOURCE), "-static", "-lsqlite3", "-lm")

        def load(fresh: Path) -> None:
            data = fresh.parent / "data"
            data.mkdir()
            command = [str(clients), str(data / "database"), "load", str(KEYS), str(LOGGED)]
            host.run(command, what="loading the SQLite data set")
            image.make_ext4(fresh, data, image.round_up(SIZE_MIB * host.MIB))

        dataset.once(self.disk(), 3 * SIZE_MIB, "the SQLite data set", "half a minute or so", load)

    def disk(self) -> Path:
        sources = [file.read_text() for file in (SOURCE, SOURCE_OF_CLIENTS)]
        mark = image.fingerprint(KEYS, LOGGED, SIZE_MIB, *sources)
        return paths.CACHE / f"sqlite-{mark}.ext4"

    def payload(self) -> dict[str, Path | str]:
        return {f"bin/{PROGRAM}": paths.BUILD / "guest" / PROGRAM}

    def read(self, folder: Path, begin: float, end: float) -> Measured:
        measured = requests(folder, begin, end)
        # One distribution of both would be that of the reads.
        del measured[""]
        measured["writes"] = measured.pop("updates")
        return Measured(measured, _copied(folder), burst_span(folder, begin, end))


class SqliteBatch(Sqlite):
    """The writer shares the lock of writers with a batch, and tries again until it has it."""

    name = "wal-batch"
    title = "SQLite in WAL mode, and a batch that writes as well"
    load = (
        f"{Sqlite.load}; a process that is not foreground changes {BATCH_ROWS} rows in one "
        f"transaction, and again {BATCH_PAUSE_MS} ms after its end, also in *floor*"
    )
    batch_rows = BATCH_ROWS


def _copied(folder: Path) -> dict[str, float]:
    """MiB of the log that the checkpoint copied."""
    burst = folder / "burst.log"
    if not burst.is_file():
        return {}
    words = burst.read_text().split()
    return {"copied_mib": round(int(words[0]) * PAGE_BYTES / host.MIB, 1)} if words else {}
