# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Does a light foreground keep its latency where the background has many hardware queues?

The load of the FAST'17 paper's figure 11 on the NVMe model, with a CPU for each hardware queue and
a part of the background on each of them. "busy" adds a task that never sleeps to one of the CPUs:
its queue should not get less of the drive than its CPU lets it ask for.
"""

from dataclasses import replace

from lab import drives, fio, guest, kernel
from lab.configurations import Configuration
from lab.experiments.base import Row, check, matching
from lab.experiments.depth import LOADS, PAPERS_LOAD, SETTLE_S, measured, row
from lab.experiments.fio_pair import FioPair
from lab.figures import Requests

QUEUES = (1, 4, 16)
BUSY = "busy"
DEPTH = 32
# Before and after measuring: the busy task, on the last CPU.
SPIN = """taskset -c {cpu} bash -c 'while :; do :; done' &
spinning=$!
phase measuring
"""
MEASURE, DONE = "phase measuring\n", "phase done\n"


class HwQueues(FioPair):
    """The paper's load on 1, 4 and 16 hardware queues, and beside a busy CPU."""

    name = "hw-queues"
    description = "fio: a light foreground beside a background on each queue of an NVMe drive"
    device = "nvme"
    configurations = ("alone", "none", "mq-deadline", "kyber", "fgio")
    extra_configurations = ("ceiling", "mq-deadline-prio", "bfq", "unrestricted")
    size_mib = 1024
    duration_s = 2
    variants = (*(f"queues-{count}" for count in QUEUES), f"queues-4-{BUSY}")
    units = FioPair.units | {
        "foreground.mean_ms": "ms from when fio began an I/O to its end",
        "total_mb_s": "10^6 bytes per second, foreground and background together",
        "queue_iops": "I/Os per second of the background on each CPU, hence of each hardware queue",
    }

    def choose_part(self, only: str) -> None:
        """Runs the cells whose names match. Raises LabError when none does."""
        self.variants = matching(only, self.variants, "cell")

    def has(self, configuration: Configuration, variant: str) -> bool:
        """Beside a busy CPU, the background is what is looked at."""
        return configuration.has_background or BUSY not in variant

    def _jobs(self, configuration: Configuration, cpus: int) -> list[fio.Job]:
        foreground, background = LOADS[PAPERS_LOAD]
        jobs = []
        if configuration.has_foreground:
            jobs.append(fio.Job("foreground", foreground, configuration.foreground_priority))
        if configuration.has_background:
            for cpu in range(cpus):
                options = background | {"iodepth": DEPTH // cpus, "cpus_allowed": cpu}
                priority = configuration.background_priority
                jobs.append(fio.Job(f"background{cpu}", options, priority))
        return jobs

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        cpus = _cpus(variant)
        cell = _Cell(f"{self.device}:hw_queues={cpus}", self._jobs(configuration, cpus))
        boot = cell.boot(chosen, configuration, seed, "")
        commands = boot.commands
        if BUSY in variant:
            commands = commands.replace(MEASURE, SPIN.format(cpu=cpus - 1))
            commands = commands.replace(DONE, f"kill $spinning\n{DONE}")
        return replace(boot, commands=commands, cpus=cpus, memory_mib=3072)

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, f"{self.name} under {configuration.name}")
        queues = [
            measured(outcome, f"background{cpu}", self.duration_s) for cpu in range(_cpus(variant))
        ]
        rates = [round(len(one) / self.duration_s, 1) for one in queues]
        return [
            row(
                configuration,
                seed,
                outcome,
                {"cell": variant, "queue_iops": rates},
                PAPERS_LOAD,
                measured(outcome, "foreground", self.duration_s),
                Requests.join(queues),
                self.duration_s,
            )
        ]


def _cpus(variant: str) -> int:
    """CPUs of a cell, and hardware queues."""
    return int(variant.split("-")[1])


class _Cell(FioPair):
    """One drive and its jobs."""

    size_mib = HwQueues.size_mib

    def __init__(self, device: str, jobs: list[fio.Job]):
        self.name = f"{HwQueues.name}, {device}"
        self.device = drives.resolve(device)
        self.duration_s = SETTLE_S + HwQueues.duration_s
        self._jobs = jobs

    def jobs(self, configuration: Configuration) -> list[fio.Job]:
        """The same under every configuration."""
        return self._jobs
