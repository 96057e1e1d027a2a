# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cost of fair shares for each I/O, in instructions.

Random reads from a disk that answers at once, by processes in cgroups of their own that take turns.
Time in which the processor is idle, mostly while processes end, is taken off.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from lab import kernel, paths
from lab.configurations import Configuration
from lab.experiments.base import NS_PER_S, compile_program
from lab.experiments.counted import Count, CountedExperiment

TENANTS = (2, 256)
DEPTHS = (1, 32)
IOS = 64_000
# The setting; what 2 takes beyond 0 is the cost.
SHARES = (0, 2)
# With shares, requests are in one queue: with hardware queues the base would be another.
PREPARE = """
. $PAYLOAD/functions.sh
CGROUPS=/sys/fs/cgroup
mount -t cgroup2 none $CGROUPS || stop "no cgroups"
echo +io >$CGROUPS/cgroup.subtree_control || stop "no I/O controller"
mkdir $CGROUPS/t{{0..{last}}} || stop "no cgroup"
for each in $CGROUPS/t*; do
  echo "default $((100 + ${{each##*t}}))" >$each/io.weight || stop "no weight"
done
make_disk null {seed} 0
load_module fgio
echo N >/sys/module/fgio/parameters/hardware_queues
cd $RESULTS
"""
# A disk follows the setting when it is put under fgio, and is looked at now and then.
SETTING = """
echo none >/sys/block/$DISK/queue/scheduler
echo {shares} >/sys/module/fgio/parameters/shares
use_elevator fgio
$PAYLOAD/bin/share-cost /dev/$DISK $CGROUPS {tenants} {ios} 1 >warm-up || stop "share-cost failed"
sleep 3
grep -qx "shared {on}" /sys/kernel/debug/fgio/$DISK/counters || stop "shares {shares}: not as set"
"""
CELL = """
phase shares {shares}, {tenants} tenants, depth {depth}
$PAYLOAD/bin/share-cost /dev/$DISK $CGROUPS {tenants} {ios} {depth} >{shares}-{tenants}-{depth} ||
  stop "share-cost failed"
"""


class ShareCost(CountedExperiment):
    """4 KiB random reads of tenants from a disk that answers at once, with shares and without."""

    name = "share-cost"
    description = "reads of 2 and 256 tenants on null_blk: instructions per I/O, with fair shares"
    device = "null"
    configurations = ("fgio",)
    duration_s = 1
    setup_s = 20
    units = {
        "foreground.throughput": "I/Os per second of virtual time that was not idle",
        "idle_ms": "milliseconds in which nothing ran, not counted elsewhere",
        "instructions_per_io": "instructions for each I/O, the program's own and the change to the "
        "next process included",
    }

    def prepare(self) -> None:
        compile_program("share-cost", "-static")

    def files(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> dict[str, Path | str]:
        return {"bin/share-cost": paths.BUILD / "guest" / "share-cost"}

    def script(self, configuration: Configuration, seed: int, variant: str) -> str:
        script = PREPARE.format(seed=seed, last=max(TENANTS) - 1)
        for shares in SHARES:
            on = int(shares > 0)
            script += SETTING.format(shares=shares, on=on, tenants=max(TENANTS), ios=IOS)
            for tenants in TENANTS:
                for depth in DEPTHS:
                    script += CELL.format(shares=shares, tenants=tenants, depth=depth, ios=IOS)
        return script

    def counts(self, folder: Path, configuration: Configuration, variant: str) -> Iterator[Count]:
        for shares in SHARES:
            for tenants in TENANTS:
                for depth in DEPTHS:
                    text = (folder / f"{shares}-{tenants}-{depth}").read_text()
                    ios, elapsed_ns, idle_ns = (int(word) for word in text.split())
                    cell = f"shares {shares}, {tenants} tenants, depth {depth}"
                    extra = {"idle_ms": round(1000 * idle_ns / NS_PER_S, 3)}
                    busy_ns = elapsed_ns - idle_ns
                    yield dataclasses.replace(Count.of_time(cell, ios, busy_ns), extra=extra)
