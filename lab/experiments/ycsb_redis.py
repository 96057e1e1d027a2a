# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Ten instances of Redis under YCSB's workload A, as fast as they go and paced."""

from lab.experiments.database.redis_ycsb import RedisYcsb
from lab.experiments.databases import CPU_IDLE, WRITTEN, Evaluation, named

# Requests per second of the paced run: every configuration can serve them.
PACE = 4000


class YcsbRedis(Evaluation):
    """YCSB A beside snapshots and rewrites of the append-only files."""

    name = "ycsb-redis"
    title = "Redis under YCSB A"
    description = "ten Redis under YCSB A, their snapshots and log rewrites; labels from profiles"
    databases = named(RedisYcsb("redis", 0), RedisYcsb("redis-paced", PACE))
    units = {
        "foreground.throughput": "requests per second, of all instances",
        "background.snapshots": "snapshots that all instances together finished",
        "background.rewrites": "append-only files that they rewrote",
        "background.late_syncs": "writes to an append-only file that waited for its sync",
        **WRITTEN,
        **CPU_IDLE,
    }
