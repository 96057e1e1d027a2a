# SPDX-License-Identifier: Apache-2.0 OR MIT
"""PostgreSQL under TPC-C, three databases beside the same memory, as fast as it goes and paced."""

from lab.experiments.database.tpcc import TimedTpcc, Tpcc, TpccOnHardDisk
from lab.experiments.databases import LONGEST_CHECKPOINT, WRITTEN, Evaluation, each_size, named

# Warehouses, by their share in the page cache and the buffer pool of 1 GiB.
SIZES = {"fits": 2, "misses": 6, "mostly-misses": 14}
# Transactions per second of the paced runs: every configuration can serve them.
PACE = 150
# The same of a hard disk, where a commit takes 25 ms and more; and how often a checkpoint begins.
HARD_DISK = TpccOnHardDisk("fits-slowly", SIZES["fits"], rate=10, checkpoint_s=30)
# The server at its defaults, which times its checkpoints itself.
TIMED = TimedTpcc("fits-timed", SIZES["fits"], PACE)


def _sized(name: str, warehouses: int, rate: int) -> Tpcc:
    return Tpcc(name, warehouses, rate, checked=name == "fits")


class TpccExperiment(Evaluation):
    """TPC-C beside the checkpoints that it takes."""

    name = "tpcc"
    title = "PostgreSQL under TPC-C"
    description = "PostgreSQL under TPC-C and its checkpoints, three sizes; labels from profiles"
    databases = named(*each_size(_sized, SIZES, PACE), TIMED, HARD_DISK)
    limit_s = 3 * 3600
    units = {
        "foreground.throughput": "transactions per second, of all five kinds",
        **LONGEST_CHECKPOINT,
        "background.wal_mib": "MiB of WAL while measuring",
        **WRITTEN,
    }
