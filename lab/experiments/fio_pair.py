# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Shared by experiments of one foreground and one background fio job on one disk."""

from lab import figures, fio, guest, kernel
from lab.configurations import Configuration
from lab.experiments.base import (
    FIO_BOUNDS,
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

SCRIPT = """
. $PAYLOAD/functions.sh
phase preparing the disk
make_disk {device} {seed} {size_mib}
use_elevator {elevator}
set_tunables "{tunables}"
cd $RESULTS
snapshot before
phase measuring
fio --output=fio.txt $PAYLOAD/job.fio || {{ cat fio.txt; stop "fio failed"; }}
snapshot after
phase done
"""


class FioPair(Experiment):
    """A foreground and a background fio job, run side by side for a fixed time."""

    device = "volume"
    configurations = ("alone", *SCHEDULERS, "fgio")
    extra_configurations = FIO_BOUNDS
    size_mib = 4096
    duration_s = 10.0
    units = {
        "foreground.throughput": "I/Os per second",
        "background.iops": "I/Os per second",
        "background.mib_s": "MiB per second",
    }
    foreground_options: dict[str, object] = {}
    background_options: dict[str, object] = {}

    def jobs(self, configuration: Configuration) -> list[fio.Job]:
        """The fio jobs that run under a configuration."""
        jobs = []
        if configuration.has_foreground:
            priority = configuration.foreground_priority
            jobs.append(fio.Job("foreground", self.foreground_options, priority))
        if configuration.has_background:
            priority = configuration.background_priority
            jobs.append(fio.Job("background", self.background_options, priority))
        return jobs

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        need_modules(chosen, "simdisk", *(["fgio"] if configuration.elevator == "fgio" else []))
        disk = "nullb0" if self.device == "null" else "simdisk0"
        job = fio.job_file(disk, seed, self.duration_s, self.jobs(configuration))
        script = SCRIPT.format(
            device=self.device,
            seed=seed,
            size_mib=self.size_mib,
            elevator=configuration.elevator,
            tunables=configuration.tuned(),
        )
        return guest.Boot(
            kernel=chosen,
            commands=script,
            payload={**payload(chosen), "job.fio": job},
            memory_mib=2048,
            limit_s=self.limit_s,
            seed=seed,
        )

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, f"{self.name} under {configuration.name}")
        foreground, _ = fio.read_log(outcome.results, "foreground")
        background, moved = fio.read_log(outcome.results, "background")
        return [
            Row(
                configuration.name,
                seed,
                figures.summarize(foreground, self.duration_s),
                background_io(background, moved, self.duration_s),
                {
                    "disk": disk_use(outcome.results),
                    "fgio_counters": grown(outcome.results, "fgio"),
                    "simdisk_counters": grown(outcome.results, "simdisk"),
                    "virtual_s": outcome.virtual_s,
                },
                foreground,
                self.duration_s,
            )
        ]
