# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Ten instances of Redis under YCSB's workload A, with their own snapshots and rewrites."""

import re
from pathlib import Path

from lab.experiments.database.base import Measured, offered
from lab.experiments.database.redis import Redis
from lab.experiments.database.ycsb import UPDATE_SHARE, requests

INSTANCES = 10
# Of each instance: 20 MiB, and two clients.
KEYS = 20_000
CLIENTS = 2
# A snapshot 4 s after the end of the last one; the log is rewritten when it has grown to this.
SAVE = "4 100"
REWRITE_MIN = "1mb"
# Of the processor, when paced: ten instances had ten processors in FAST'17. On one of 1 GHz they
# and their children wait for it longer than for any disk.
PACED_INSTRUCTIONS_PER_NS = 8
COUNTER = r"^{}:(\d+)"


class RedisYcsb(Redis):
    """GETs and SETs, half and half, as fast as the clients can, or at a rate."""

    title = f"Redis 7.0, {INSTANCES} instances, YCSB A"
    burst = (
        "each instance takes a snapshot (20 MiB) 4 s after the end of the last one, and rewrites "
        f"its append-only file when that has {REWRITE_MIN}; none in *floor*"
    )
    script = "redis-ycsb.sh"
    memory_mib = 1024
    duration_s = 10
    warm_s = 1

    def __init__(self, name: str, rate: int):
        """rate: requests a second of all instances; 0: as many as there can be."""
        self.name = name
        self.instructions_per_ns = PACED_INSTRUCTIONS_PER_NS if rate else 1
        self.load = (
            "GETs and SETs of 1,000 bytes, half and half, `appendfsync everysec`, "
            f"{INSTANCES * CLIENTS} clients, {offered(rate, 'requests')}"
        )
        self.settings = {
            "INSTANCES": INSTANCES,
            "RATE": rate / INSTANCES,
            "CLIENTS": CLIENTS,
            "UPDATE_SHARE": UPDATE_SHARE,
            "KEYS": KEYS,
            "SAVE": SAVE,
            "REWRITE_MIN": REWRITE_MIN,
            "NO_SYNC_ON_REWRITE": "no",
        }

    def inside(self) -> dict[str, Path]:
        return {}

    def read(self, folder: Path, begin: float, end: float) -> Measured:
        told = "\n".join(file.read_text() for file in folder.glob("info.*"))
        background = {
            "snapshots": _sum(told, "rdb_saves"),
            "rewrites": _sum(told, "aof_rewrites"),
            "late_syncs": _sum(told, "aof_delayed_fsync"),
        }
        return Measured(requests(folder, begin, end), background)


def _sum(told: str, name: str) -> int:
    """Of a counter that each instance tells."""
    return sum(int(count) for count in re.findall(COUNTER.format(name), told, re.M))
