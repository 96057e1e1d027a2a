# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cost of the elevator without a foreground.

On the volume, where the disk is the bottleneck. On the faster models the guest's processor (one
instruction a nanosecond) is, and the difference is the instructions that `overhead` counts.
"""

from lab import figures, fio, guest, kernel
from lab.configurations import Configuration
from lab.experiments.base import (
    SCHEDULERS,
    Experiment,
    Row,
    background_io,
    check,
    disk_use,
    grown,
    need_modules,
    payload,
)

PREPARE = """
. $PAYLOAD/functions.sh
make_disk {device} {seed} 4096
use_elevator {elevator}
cd $RESULTS
"""
CELL = """
phase {cell}
snapshot before-{cell}
fio --output={cell}.txt $PAYLOAD/{cell}.fio || {{ cat {cell}.txt; stop "fio failed"; }}
sync
snapshot after-{cell}
"""
# Sequential 4 KiB I/Os at depth 32 from one submitter, 16 a system call, can be merged.
BATCHES = {"iodepth_batch": 16, "iodepth_batch_complete_min": 16}
CELLS: dict[str, dict[str, object]] = {
    "seq-read": {"rw": "read", "bs": "4k", "iodepth": 32, **BATCHES},
    "seq-write": {"rw": "write", "bs": "4k", "iodepth": 32, **BATCHES},
    "rand-read": {"rw": "randread", "bs": "4k", "iodepth": 32},
    "rand-write": {"rw": "randwrite", "bs": "4k", "iodepth": 32},
}
# One direction beside a pile of the other: the second job of a cell is NAME-beside.
MIXES: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "reader-beside-writers": (
        {"rw": "randread", "bs": "16k", "iodepth": 1},
        {"rw": "randwrite", "bs": "64k", "iodepth": 60},
    ),
    "writer-beside-readers": (
        {"rw": "randwrite", "bs": "4k", "iodepth": 1},
        {"rw": "randread", "bs": "16k", "iodepth": 60},
    ),
    "readers-beside-writers": (
        {"rw": "randread", "bs": "4k", "iodepth": 60},
        {"rw": "randwrite", "bs": "4k", "iodepth": 60},
    ),
}
# A hard disk serves a lone reader eight times a second beside writers.
MIX_DURATION_S = 10.0


def _jobs(cell: str) -> tuple[list[fio.Job], float]:
    if cell in CELLS:
        return [fio.Job(cell, CELLS[cell])], IdleCost.duration_s
    one, beside = MIXES[cell]
    return [fio.Job(cell, one), fio.Job(f"{cell}-beside", beside)], MIX_DURATION_S


class IdleCost(Experiment):
    """Reads and writes, alone and beside each other, without any tag or priority."""

    name = "idle-cost"
    description = "fio without a foreground: reads and writes, alone and beside each other, merging"
    device = "volume"
    configurations = ("none", "mq-deadline", "fgio")
    extra_configurations = SCHEDULERS
    duration_s = 2.0
    setup_s = 5
    units = {"foreground.throughput": "I/Os per second", "request_kib": "mean size after merging"}

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        need_modules(chosen, "simdisk", *(["fgio"] if configuration.elevator == "fgio" else []))
        taken = payload(chosen)
        script = PREPARE.format(device=self.device, seed=seed, elevator=configuration.elevator)
        for cell in (*CELLS, *MIXES):
            jobs, duration_s = _jobs(cell)
            taken[f"{cell}.fio"] = fio.job_file("simdisk0", seed, duration_s, jobs)
            script += CELL.format(cell=cell)
        return guest.Boot(
            kernel=chosen,
            commands=script,
            payload=taken,
            memory_mib=2048,
            limit_s=self.limit_s,
            seed=seed,
        )

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, f"{self.name} under {configuration.name}")
        rows = []
        for cell in (*CELLS, *MIXES):
            requests, _ = fio.read_log(outcome.results, cell)
            jobs, duration_s = _jobs(cell)
            beside = {}
            if cell in MIXES:
                others, moved = fio.read_log(outcome.results, f"{cell}-beside")
                beside = background_io(others, moved, duration_s)
            use = disk_use(outcome.results, f"before-{cell}", f"after-{cell}")
            reads = "read" in str(jobs[0].options["rw"])
            extra = {
                "cell": cell,
                "disk": use,
                "request_kib": use["read" if reads else "write"]["mean_kib"],
                "mean_ms": float(requests.latency_ms.mean()) if len(requests.latency_ms) else None,
                "fgio_counters": grown(outcome.results, "fgio"),
            }
            foreground = figures.summarize(requests, duration_s)
            rows.append(
                Row(configuration.name, seed, foreground, beside, extra, requests, duration_s)
            )
        return rows
