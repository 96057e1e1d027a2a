# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How much background I/O does a drive take before a light foreground suffers?

The FAST'17 paper's figure 11: a foreground that writes now and then beside a background that
never rests, under one limit after the other for background I/O in the drive.
"""

from lab import drives, figures, fio, guest, kernel
from lab.configurations import FIXED_LIMITS, Configuration
from lab.experiments.base import MODELS, Row, background_io, check, grown, matching
from lab.experiments.fio_pair import FioPair
from lab.figures import Requests

KIB = 1024
THINK_TIME = {"thinktime": 5000}
# Time to learn in, before measuring begins, under every configuration. fio's ramp_time does not
# serve: after it a job with a thinktime makes up for the I/Os that it did not issue.
SETTLE_S = 1
SEQUENTIAL_WRITES = {"rw": "write", "bs": 4 * KIB, "iodepth": 1, **THINK_TIME}
RANDOM_READS = {"rw": "randread", "bs": 4 * KIB, "iodepth": 1, **THINK_TIME}

# name -> the foreground's fio options, the background's. The first is the paper's, which does not
# say how long its writes are: with 4 KiB, flash would be faster than a guest of one CPU at 10^9
# instructions a second, and waits for that CPU would be measured.
LOADS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "writes": (SEQUENTIAL_WRITES, {"rw": "randwrite", "bs": 64 * KIB, "iodepth": 32}),
    "small-writes": (SEQUENTIAL_WRITES, {"rw": "randwrite", "bs": 4 * KIB, "iodepth": 32}),
    "backup": (SEQUENTIAL_WRITES, {"rw": "read", "bs": 256 * KIB, "iodepth": 8}),
    "reads": (RANDOM_READS, {"rw": "randread", "bs": 4 * KIB, "iodepth": 32}),
    "reads-writes": (RANDOM_READS, {"rw": "randwrite", "bs": 4 * KIB, "iodepth": 32}),
    "mixed": (RANDOM_READS, {"rw": "randrw", "bs": 16 * KIB, "iodepth": 32}),
}
PAPERS_LOAD = "writes"


class Depth(FioPair):
    """Fixed limits and the learnt one, on each disk model."""

    name = "depth"
    description = "fio: a light foreground beside a busy background, by its limit in the drive"
    device = "all"
    duration_s = 4
    configurations = (
        "alone",
        "unrestricted",
        *(f"fixed-{limit}" for limit in FIXED_LIMITS),
        "fgio",
    )
    variants = tuple(f"{model} {PAPERS_LOAD}" for model in MODELS)
    units = FioPair.units | {
        "foreground.mean_ms": "ms from when fio began an I/O to its end",
        "total_mb_s": "10^6 bytes per second, foreground and background together",
    }

    def choose_device(self, name: str) -> None:
        """Runs on one drive: a spec, or @FILE with one. Raises LabError when it is none."""
        self.device = drives.resolve(name)
        loads = dict.fromkeys(cell.split()[1] for cell in self.variants)
        self.variants = tuple(f"{drives.label(self.device)} {load}" for load in loads)

    def _drive(self, variant: str) -> str:
        """The spec of a variant's drive, which is there by its label."""
        name = variant.split()[0]
        return self.device if drives.label(self.device) == name else name

    def choose_part(self, only: str) -> None:
        """Runs the loads whose names match. Raises LabError when none does."""
        loads = matching(only, LOADS, "load")
        models = dict.fromkeys(cell.split()[0] for cell in self.variants)
        self.variants = tuple(f"{model} {load}" for model in models for load in loads)

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        cell = Cell(variant, self._drive(variant))
        return cell.boot(chosen, configuration, seed, "")

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, f"{self.name} under {configuration.name}")
        return [
            row(
                configuration,
                seed,
                outcome,
                {"cell": variant, "device": self._drive(variant)},
                variant.split()[1],
                measured(outcome, "foreground", self.duration_s),
                measured(outcome, "background", self.duration_s),
                self.duration_s,
            )
        ]


def measured(outcome: guest.Outcome, name: str, duration_s: float) -> Requests:
    """The I/Os of a job that ended in the duration_s after the time to settle."""
    requests, _ = fio.read_log(outcome.results, name)
    after = requests.between(SETTLE_S, SETTLE_S + duration_s)
    return Requests(after.end_s - SETTLE_S, after.latency_ms)


def row(
    configuration: Configuration,
    seed: int,
    outcome: guest.Outcome,
    about: dict,
    load: str,
    foreground: Requests,
    background: Requests,
    duration_s: float,
) -> Row:
    """Of one cell: the I/Os of a load of LOADS in duration_s.

    about: the cell, and figures that it has beside those of every cell
    """
    sizes = [int(options["bs"]) for options in LOADS[load]]
    moved = len(background) * sizes[1]
    mean = round(float(foreground.latency_ms.mean()), 6) if len(foreground) else None
    total = (len(foreground) * sizes[0] + moved) / duration_s
    latencies = figures.summarize(foreground, duration_s)
    return Row(
        configuration.name,
        seed,
        latencies | {"mean_ms": mean},
        background_io(background, moved, duration_s),
        about
        | {
            "mean_ms": mean,
            "total_mb_s": round(total / 1e6, 3),
            "fgio_counters": grown(outcome.results, "fgio"),
            "virtual_s": outcome.virtual_s,
        },
        foreground,
        duration_s,
    )


class Cell(FioPair):
    """One drive and one load."""

    # Its data are in the guest's memory, and an NVMe drive writes gigabytes in a few seconds.
    size_mib = 1024

    def __init__(self, variant: str, device: str):
        self.name = f"depth, {variant}"
        self.device = device
        load = variant.split()[1]
        self.duration_s = SETTLE_S + Depth.duration_s
        self.foreground_options, self.background_options = LOADS[load]
