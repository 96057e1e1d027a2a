# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Redis: every write durable, beside a snapshot and a rewrite of the append-only file."""

import os
from pathlib import Path

from lab import host, image, paths, rivals
from lab.experiments.base import compile_program
from lab.experiments.database.base import Database, Measured, burst_span
from lab.experiments.database.ycsb import SOURCE, requests

DISK_MIB = 2048


class Redis(Database):
    """SETs that are answered once they are on the disk; BGSAVE, then BGREWRITEAOF."""

    name = "redis"
    title = "Redis 7.0"
    load = "400 SETs of 1,000 bytes a second, `appendfsync always`"
    burst = "`BGSAVE` of 240 MiB, then `BGREWRITEAOF`"
    script = "redis.sh"
    programs = "redis-server"
    duration_s = 11
    settings = {"RATE": 400, "CLIENTS": 16, "KEYS": 250_000, "NO_SYNC_ON_REWRITE": "no"}
    profile = "redis"

    def prepare(self) -> None:
        compile_program("redis-clients", str(SOURCE), "-static", "-lm")
        module = str(paths.ROOT / "integrations" / "redis")
        host.run(["make", "-s", "-C", "lib"], what="building libfgio", cwd=paths.ROOT)
        host.run(["make", "-s", "-C", module], what="building the Redis module")
        self.disk().touch()
        os.truncate(self.disk(), image.round_up(DISK_MIB * host.MIB))

    def disk(self) -> Path:
        return paths.BUILD / "guest" / "redis-disk"

    def payload(self) -> dict[str, Path | str]:
        return {"bin/redis-clients": paths.BUILD / "guest" / "redis-clients"}

    def throttles(self, device: str) -> rivals.Throttles:
        return rivals.redis()

    def inside(self) -> dict[str, Path]:
        return {"inside/fgio.so": paths.BUILD / "redis" / "fgio.so"}

    def read(self, folder: Path, begin: float, end: float) -> Measured:
        measured = requests(folder, begin, end)
        return Measured({"": measured[""]}, burst_s=burst_span(folder, begin, end))
