# SPDX-License-Identifier: Apache-2.0 OR MIT
"""WiredTiger under YCSB's workload A, three sizes, as fast as it goes and paced."""

from lab.experiments.database.wiredtiger_ycsb import (
    AS_IT_COMES,
    WiredTigerYcsb,
    WiredTigerYcsbOnHardDisk,
)
from lab.experiments.databases import (
    CPU_IDLE,
    LONGEST_CHECKPOINT,
    WRITTEN,
    Evaluation,
    each_size,
    named,
)

# Of the data, in memory.
SIZES = {"fits": 0.4, "misses": 1.5, "mostly-misses": 3}
# Requests per second of the paced runs: every configuration can serve them.
PACE = 800
# The same of a hard disk, where a commit takes 25 ms and more.
HARD_DISK = WiredTigerYcsbOnHardDisk("fits-slowly", SIZES["fits"], rate=40, checkpoint_s=10)
# The engine as it is run today: eviction leaves little for a checkpoint to write.
EVICTING = WiredTigerYcsb("fits-evicting-paced", SIZES["fits"], PACE, AS_IT_COMES)


class Ycsb(Evaluation):
    """YCSB A beside the checkpoints that it takes."""

    name = "ycsb"
    title = "WiredTiger under YCSB A"
    description = "WiredTiger under YCSB A and its checkpoints, three sizes; labels from profiles"
    databases = named(*each_size(WiredTigerYcsb, SIZES, PACE), EVICTING, HARD_DISK)
    units = {
        "foreground.throughput": "requests per second",
        **LONGEST_CHECKPOINT,
        **WRITTEN,
        **CPU_IDLE,
    }
