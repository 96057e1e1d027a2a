# SPDX-License-Identifier: Apache-2.0 OR MIT
"""RocksDB: reads and durable writes of db_bench beside compaction."""

import re
from pathlib import Path

from lab import dataset, host, image, paths, rivals
from lab.experiments.database.base import Database, Measured

PACKAGES = ("rocksdb-tools",)
# Twelve files of the first level: three times the trigger of compaction, and not yet enough to slow
# down writes. Half of memory stays for the page cache.
KEYS = 720_000
FILL_MIB = 800
ROOM_MIB = 2000
# Of the data and of every program that works with them; all other options are db_bench's own.
SHAPE = f"--db=/data/db --num={KEYS} --value_size=1000 --compression_type=none --bloom_bits=10"
PREPARE = f"""
set -e
db_bench --benchmarks=fillrandom {SHAPE} --seed=1 --disable_auto_compactions --disable_wal
rm -f /data/db/LOG*
"""
# Eight threads, each with one request at a time; every tenth is a write.
MIXED = "readrandomwriterandom --threads=8 --readwritepercent=90 --stats_level=1"
SPEED = r"^{} +:.* ([\d.]+) seconds (\d+) operations"
HISTOGRAM = re.compile(
    r"^Microseconds per (read|write):\n"
    r"Count: (?P<n>\d+) .*\n"
    r"Min: .* Max: (?P<max>[\d.]+)\n"
    r"Percentiles: P50: (?P<p50>[\d.]+) .* P99: (?P<p99>[\d.]+) P99.9: (?P<p999>[\d.]+) ",
    re.M,
)
COUNTER = r"^rocksdb\.{} COUNT : (\d+)"
US_PER_MS = 1000


class RocksDB(Database):
    """Threads that read and write durably, while compaction tidies a data set that was filled."""

    name = "rocksdb"
    title = "RocksDB 7.8"
    load = (
        "db_bench `readrandomwriterandom`: 8 threads, each with one request at a time, nine reads "
        "and then a write that is synced"
    )
    burst = "compaction of 12 files (740 MiB) that wait in the first level; none in *floor*"
    script = "rocksdb.sh"
    programs = "db_bench"
    packages = PACKAGES
    memory_mib = 640
    duration_s = 8
    warm_s = 0
    settings = {"SHAPE": SHAPE, "BENCHMARK": MIXED, "THROTTLE": ""}

    def prepare(self) -> None:
        root = image.root_tree(PACKAGES)
        size = (FILL_MIB + ROOM_MIB) * host.MIB
        dataset.once(
            self.disk(),
            2 * FILL_MIB,
            "the RocksDB data set",
            "a minute or so",
            lambda fresh: dataset.fill(fresh, root, "root", PREPARE, size),
        )

    def disk(self) -> Path:
        mark = image.fingerprint(PREPARE, FILL_MIB, ROOM_MIB, image.root_tree(PACKAGES).name)
        return paths.CACHE / f"rocksdb-{mark}.ext4"

    def throttles(self, device: str) -> rivals.Throttles:
        return rivals.rocksdb(device)

    def read(self, folder: Path, begin: float, end: float) -> Measured:
        text = (folder / "db_bench.txt").read_text()
        name = str(self.settings["BENCHMARK"]).split()[0]
        speed = re.search(SPEED.format(name), text, re.M)
        if not speed:
            raise host.LabError("db_bench said no speed")
        seconds = float(speed[1])
        parts = self.requests(text, seconds)
        return Measured(parts, background(text))

    def requests(self, text: str, seconds: float) -> dict[str, dict]:
        """Figures of each kind of request, from the output of db_bench."""
        return {f"{found[1]}s": _figures(found, seconds) for found in HISTOGRAM.finditer(text)}


def background(text: str) -> dict[str, float | None]:
    """The engine's own work beside the requests, by its counters."""
    return {
        "compacted_mib": _counted_mib(text, "compact.write.bytes"),
        "flushed_mib": _counted_mib(text, "flush.write.bytes"),
    }


def _figures(found: re.Match, seconds: float) -> dict:
    count = int(found["n"])
    figures = {"throughput": round(count / seconds, 3)}
    for key, name in (("p50_ms", "p50"), ("p99_ms", "p99"), ("p999_ms", "p999"), ("max_ms", "max")):
        figures[key] = round(float(found[name]) / US_PER_MS, 4)
    return figures | {"n": count}


def _counted_mib(text: str, name: str) -> float | None:
    found = re.search(COUNTER.format(re.escape(name)), text, re.M)
    return round(int(found[1]) / host.MIB, 1) if found else None
