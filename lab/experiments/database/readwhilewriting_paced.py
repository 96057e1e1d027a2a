# SPDX-License-Identifier: Apache-2.0 OR MIT
"""RocksDB: readers and a durable writer at a rate, beside compaction."""

from pathlib import Path

from lab import paths, rivals
from lab.experiments.base import compile_object, compile_program
from lab.experiments.database.base import Measured
from lab.experiments.database.readwhilewriting import READERS
from lab.experiments.database.rocksdb import KEYS, RocksDB, background
from lab.experiments.database.ycsb import SOURCE, requests

PROGRAM = "lsm-clients"
LIMITER = "lsm-limiter"
# Requests a second: a rate that every configuration can serve, and half of the volume's I/Os.
READS = 1000
WRITES = 100


class ReadWhileWritingPaced(RocksDB):
    """As fast as they go, the readers take each I/O that compaction does not get, and the reverse.

    At a rate there is room for both, so that late requests show.
    """

    name = "readwhilewriting-paced"
    load = (
        f"{READS} reads a second by {READERS} threads, {WRITES} synced writes of 1,000 bytes a "
        "second by one"
    )
    script = "rocksdb-paced.sh"
    programs = PROGRAM
    duration_s = 10
    settings = {
        "ENGINE": "stats_dump_period_sec=0",
        "LIMIT_BYTES_S": 0,
        "LIMIT_TUNED": 0,
        "LIMIT_REFILL_US": 0,
        "READS": READS,
        "WRITES": WRITES,
        "READERS": READERS,
        "KEYS": KEYS,
    }

    def prepare(self) -> None:
        super().prepare()
        limiter = compile_object(LIMITER)
        compile_program(
            PROGRAM, str(SOURCE), str(limiter), "-lrocksdb", "-lstdc++", "-pthread", "-lm"
        )

    def payload(self) -> dict[str, Path | str]:
        return {f"bin/{PROGRAM}": paths.BUILD / "guest" / PROGRAM}

    def throttles(self, device: str) -> rivals.Throttles:
        return rivals.rocksdb_clients(device)

    def read(self, folder: Path, begin: float, end: float) -> Measured:
        measured = requests(folder, begin, end)
        measured["writes"] = measured.pop("updates")
        return Measured(measured, background((folder / "statistics").read_text()))
