# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cost of the elevator for each I/O, in instructions.

The disk answers at once. With more CPUs the time between two I/Os is still the instructions of one:
a CPU that waits for a lock executes instructions, and lowers IOPS.
fio's own instructions are the same under every elevator: an elevator adds the difference to `none`.

The first foreground task makes fgio attach its hooks, once, in a worker: some 260 million
instructions, which a run before the first cell leaves room for.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from lab import fio, kernel
from lab.configurations import Configuration
from lab.experiments.base import NS_PER_S, SCHEDULERS
from lab.experiments.counted import Count, CountedExperiment

DEPTHS = (1, 32)
PREPARE = """
. $PAYLOAD/functions.sh
make_disk null {seed} 0
use_elevator {elevator}
cd $RESULTS
fio --output=warm-up.txt $PAYLOAD/depth-1.fio || {{ cat warm-up.txt; stop "fio failed"; }}
sleep 1
"""
CELL = """
phase {cpus} CPUs, depth {depth}
fio --output-format=json --output=depth-{depth}.json $PAYLOAD/depth-{depth}.fio ||
  {{ cat depth-{depth}.json; stop "fio failed"; }}
"""


class Overhead(CountedExperiment):
    """4 KiB random reads from a disk that answers at once, one fio job a CPU."""

    name = "overhead"
    description = "fio on null_blk: instructions per I/O, and IOPS with 1, 2 and 4 CPUs"
    device = "null"
    configurations = ("none", "mq-deadline", "kyber", "bfq", "fgio-idle", "fgio")
    extra_configurations = SCHEDULERS
    duration_s = 0.5
    setup_s = 5
    variants = ("1", "2", "4")
    units = {
        "foreground.throughput": "I/Os per second of virtual time, all CPUs together",
        "foreground.p*_ms": "from fio's histogram (about 1 % wide bins)",
        "instructions_per_io": "instructions of all CPUs, fio's own included, for each I/O",
    }

    def files(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> dict[str, Path | str]:
        return {
            f"depth-{depth}.fio": self._jobs(configuration, seed, variant, depth)
            for depth in DEPTHS
        }

    def _jobs(self, configuration: Configuration, seed: int, variant: str, depth: int) -> str:
        cpus = int(variant)
        options = {"rw": "randread", "bs": "4k", "iodepth": depth, "numjobs": cpus}
        options |= {"group_reporting": 1, "lat_percentiles": 1, "cpus_allowed_policy": "split"}
        options |= {"cpus_allowed": f"0-{cpus - 1}"}
        job = fio.Job("foreground", options, configuration.foreground_priority)
        return fio.job_file("nullb0", seed, self.duration_s, [job], logs=False)

    def script(self, configuration: Configuration, seed: int, variant: str) -> str:
        script = PREPARE.format(seed=seed, elevator=configuration.elevator)
        return script + "".join(CELL.format(cpus=variant, depth=depth) for depth in DEPTHS)

    def counts(self, folder: Path, configuration: Configuration, variant: str) -> Iterator[Count]:
        for depth in DEPTHS:
            text = (folder / f"depth-{depth}.json").read_text()
            # fio may print notes before the JSON.
            read = json.loads(text[text.index("{") :])["jobs"][0]["read"]
            latency = read["lat_ns"]
            at = latency.get("percentile", {})
            figures = {
                "throughput": round(read["iops"], 3),
                "p50_ms": at.get("50.000000", 0) / 1e6,
                "p99_ms": at.get("99.000000", 0) / 1e6,
                "p999_ms": at.get("99.900000", 0) / 1e6,
                "max_ms": latency["max"] / 1e6,
                "n": read["total_ios"],
            }
            cell = f"{variant} CPU, depth {depth}"
            extra = {"cpus": int(variant), "iodepth": depth}
            yield Count(cell, figures, NS_PER_S / read["iops"], extra)
