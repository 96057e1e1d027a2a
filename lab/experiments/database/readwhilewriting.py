# SPDX-License-Identifier: Apache-2.0 OR MIT
"""RocksDB: threads that read, and one that writes durably, beside compaction."""

import re

from lab.experiments.database.rocksdb import US_PER_MS, RocksDB

READERS = 8
# db_bench keeps no histogram of its writer's requests: the engine's own has them.
WRITES = re.compile(
    r"^rocksdb\.db\.write\.micros P50 : (?P<p50>[\d.]+) P95 : [\d.]+ P99 : (?P<p99>[\d.]+) "
    r"P100 : (?P<max>[\d.]+) COUNT : (?P<n>\d+) ",
    re.M,
)


class ReadWhileWriting(RocksDB):
    """The engine's usual benchmark of readers that a writer disturbs."""

    name = "readwhilewriting"
    load = (
        f"db_bench `readwhilewriting`: {READERS} threads that read and one whose writes are "
        "synced, each with one request at a time"
    )
    settings = {
        **RocksDB.settings,
        "BENCHMARK": f"readwhilewriting --threads={READERS} --stats_level=3",
    }

    def requests(self, text: str, seconds: float) -> dict[str, dict]:
        parts = super().requests(text, seconds)
        found = WRITES.search(text)
        if found:
            count = int(found["n"])
            times = {
                f"{name}_ms": round(float(found[name]) / US_PER_MS, 4)
                for name in ("p50", "p99", "max")
            }
            parts["writes"] = {"throughput": round(count / seconds, 3), **times, "n": count}
        return parts
