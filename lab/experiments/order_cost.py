# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cost of the order of users' requests for each I/O, in instructions.

Random reads from a disk that answers at once, in sections of no request and of requests, under each
policy of `request_order`. The program does nothing but read: the rest is the path to the disk.
"""

from collections.abc import Iterator
from pathlib import Path

from lab import kernel, paths
from lab.configurations import Configuration
from lab.experiments.base import build_libfgio, compile_program
from lab.experiments.counted import Count, CountedExperiment

DEPTHS = (1, 32)
IOS = 64_000
# The value of request_order, and whether the reads have ids. 0 without ids is what others exceed.
WAYS = (
    (0, "without"),
    (0, "with"),
    (1, "without"),
    (1, "with"),
    (2, "with"),
    (3, "with"),
    (4, "with"),
    (5, "with"),
)
# The order is one for the disk: with hardware queues the base would be another.
PREPARE = """
. $PAYLOAD/functions.sh
make_disk null {seed} 0
load_module fgio
echo N >/sys/module/fgio/parameters/hardware_queues
use_elevator fgio
cd $RESULTS
$PAYLOAD/bin/order-cost /dev/$DISK without {ios} 1 >warm-up || stop "order-cost failed"
sleep 1
"""
CELL = """
phase request_order {policy}, {ids} ids, depth {depth}
echo {policy} >/sys/module/fgio/parameters/request_order
$PAYLOAD/bin/order-cost /dev/$DISK {ids} {ios} {depth} >{policy}-{ids}-{depth} ||
  stop "order-cost failed"
"""


class OrderCost(CountedExperiment):
    """4 KiB random reads from a disk that answers at once, by requests or not."""

    name = "order-cost"
    description = "reads of users' requests on null_blk: instructions per I/O, by policy"
    device = "null"
    configurations = ("fgio",)
    duration_s = 1
    setup_s = 5
    units = {
        "foreground.throughput": "I/Os per second of virtual time",
        "instructions_per_io": "instructions for each I/O, the program's own included",
    }

    def prepare(self) -> None:
        library = build_libfgio() / "libfgio.a"
        compile_program("order-cost", str(library), "-static", "-pthread")

    def files(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> dict[str, Path | str]:
        return {"bin/order-cost": paths.BUILD / "guest" / "order-cost"}

    def script(self, configuration: Configuration, seed: int, variant: str) -> str:
        script = PREPARE.format(seed=seed, ios=IOS)
        for depth in DEPTHS:
            for policy, ids in WAYS:
                script += CELL.format(policy=policy, ids=ids, depth=depth, ios=IOS)
        return script

    def counts(self, folder: Path, configuration: Configuration, variant: str) -> Iterator[Count]:
        for depth in DEPTHS:
            for policy, ids in WAYS:
                text = (folder / f"{policy}-{ids}-{depth}").read_text()
                ios, elapsed_ns = (int(word) for word in text.split())
                cell = f"request_order {policy}, {ids} ids, depth {depth}"
                yield Count.of_time(cell, ios, elapsed_ns)
