# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The experiments, by name."""

from lab import host
from lab.experiments.admission import Admission
from lab.experiments.backup import Backup
from lab.experiments.base import Experiment
from lab.experiments.cache_shares import CacheShares
from lab.experiments.churn import Churn
from lab.experiments.databases import Databases
from lab.experiments.depth import Depth
from lab.experiments.dirty_limit import DirtyLimit
from lab.experiments.drive_priority import DrivePriority
from lab.experiments.extension_cost import ExtensionCost
from lab.experiments.first_light import Ablation, FirstLight, Recorded
from lab.experiments.hw_queues import HwQueues
from lab.experiments.idle_cost import IdleCost
from lab.experiments.io_method import IoMethod
from lab.experiments.order_cost import OrderCost
from lab.experiments.overhead import Overhead
from lab.experiments.rocksdb import RocksDBExperiment
from lab.experiments.scenarios import Scenarios
from lab.experiments.section_cost import SectionCost
from lab.experiments.sharded import Sharded
from lab.experiments.sharded_spider import ShardedSpider
from lab.experiments.share_cost import ShareCost
from lab.experiments.shares import Shares
from lab.experiments.sqlite import SqliteExperiment
from lab.experiments.starvation import Starvation
from lab.experiments.tenants import Tenants
from lab.experiments.tpcc import TpccExperiment
from lab.experiments.wait_cost import WaitCost
from lab.experiments.ycsb import Ycsb
from lab.experiments.ycsb_redis import YcsbRedis

ALL: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        FirstLight(),
        Ablation(),
        Admission(),
        Starvation(),
        Shares(),
        Tenants(),
        CacheShares(),
        Backup(),
        IdleCost(),
        Overhead(),
        Depth(),
        HwQueues(),
        WaitCost(),
        DirtyLimit(),
        DrivePriority(),
        SectionCost(),
        OrderCost(),
        ShareCost(),
        ExtensionCost(),
        IoMethod(),
        Sharded(),
        ShardedSpider(),
        Churn(),
        Databases(),
        TpccExperiment(),
        Ycsb(),
        YcsbRedis(),
        RocksDBExperiment(),
        SqliteExperiment(),
        Scenarios(),
        Recorded(),
    )
}


def find(name: str) -> Experiment:
    """The experiment of this name; LabError, which lists them all, when there is none."""
    if name not in ALL:
        raise host.LabError(f"unknown experiment {name}; choose one of: {', '.join(ALL)}")
    return ALL[name]
