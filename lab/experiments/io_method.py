# SPDX-License-Identifier: Apache-2.0 OR MIT
"""PostgreSQL 18: are reads that its I/O workers submit for backends as urgent as the backends' own?

By default (io_method=worker) a backend hands its reads to processes of the server; with
io_method=sync it submits them itself, and with io_uring by a ring.
"""

from dataclasses import dataclass

import numpy as np

from lab import figures, guest, kernel, paths, servers
from lab.configurations import Configuration
from lab.dataset import Database
from lab.experiments.base import (
    Experiment,
    Row,
    check,
    disk_use,
    fgio_command,
    matching,
    moments,
    script_payload,
)
from lab.experiments.first_light import transactions

SUITE = "forky"
DATABASE = Database(scale=40, shared_buffers_mib=32, room_mib=1100, suite=SUITE)
ACCOUNTS = 100_000 * DATABASE.scale
ROWS = 3000
CLIENTS = 8
RATE = 20
WRITE_MIB = 500
# 50 pages of the heap, wherever they are.
SCAN = f"""
\\set first random(1, {ACCOUNTS - ROWS})
SELECT sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN :first AND :first + {ROWS - 1};
"""


@dataclass(frozen=True)
class Variant:
    """How a server is run.

    method: its io_method
    labels: the source of tags under fgio
    workers: whether the extension tags the I/O workers
    """

    method: str
    labels: str
    workers: bool = True


VARIANTS = {
    "worker": Variant("worker", "extension"),
    "worker-untagged": Variant("worker", "extension", workers=False),
    "worker-profile": Variant("worker", "profile"),
    "sync": Variant("sync", "extension"),
    "sync-profile": Variant("sync", "profile"),
    "io_uring": Variant("io_uring", "extension"),
    "io_uring-profile": Variant("io_uring", "profile"),
}
# Variants that differ without fgio.
WITHOUT_FGIO = ("worker", "sync", "io_uring")


class IoMethod(Experiment):
    """Bitmap scans from a cold cache beside a buffered write and its fsync."""

    name = "io-method"
    description = (
        "PostgreSQL 18 with io_method worker, sync and io_uring: bitmap scans of 3,000 rows beside "
        "a 500 MiB write with fsync"
    )
    device = "volume"
    configurations = ("floor", "mq-deadline", "fgio")
    extra_configurations = ("none",)
    variants = tuple(VARIANTS)
    duration_s = 20
    setup_s = 8
    limit_s = 1800
    warm_s = 2
    units = {
        "foreground.throughput": "scans per second",
        "background.written_mib": "MiB written to the disk while measuring",
        "background.synced": "files of 500 MiB that were written and synced by then",
        "cell": "io_method, and the source of tags under fgio",
    }

    def has(self, configuration: Configuration, variant: str) -> bool:
        return configuration.loads_fgio or variant in WITHOUT_FGIO

    def choose_part(self, only: str) -> None:
        """Runs the ways alone whose names match. Raises LabError for none."""
        self.variants = matching(only, VARIANTS, "way")

    def prepare(self) -> None:
        DATABASE.image()
        self.extension = servers.extension(SUITE)

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        how = VARIANTS[variant]
        options = f"-c io_method={how.method}"
        labels = how.labels if configuration.loads_fgio else ""
        if labels == "extension" and not how.workers:
            options += " -c fgio.io_workers=off"
        values = {
            "DEVICE": self.device,
            "SEED": seed,
            "ELEVATOR": configuration.elevator,
            "LABELS": labels,
            "SERVER_OPTIONS": options,
            "CLIENTS": CLIENTS,
            "RATE": RATE,
            "WARM_S": self.warm_s,
            "DURATION_S": int(self.duration_s),
            "WRITE_MIB": WRITE_MIB if configuration.has_background else 0,
        }
        scripts = ("fgiod.sh", "postgres-server.sh")
        taken = script_payload(chosen, configuration, "io-method", values, *scripts)
        taken["scan.sql"] = SCAN
        if labels == "extension":
            taken["postgresql/fgio.so"] = self.extension
        elif labels == "profile":
            taken["bin/fgiod"] = fgio_command().with_name("fgiod")
            taken["profiles"] = paths.ROOT / "profiles"
        return guest.Boot(
            kernel=chosen,
            commands="bash $PAYLOAD/io-method.sh",
            payload=taken,
            disks=(DATABASE.image(),),
            suite=SUITE,
            memory_mib=1024,
            limit_s=self.limit_s,
            seed=seed,
        )

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, f"{self.name} under {configuration.name}, {variant}")
        folder = outcome.results
        noted = moments(folder)
        begin, end = noted["measure_begin"], noted["measure_end"]
        scans = transactions(folder, begin).between(0, end - begin)
        ordered = np.sort(scans.latency_ms)
        summary = figures.summarize(scans, end - begin)
        summary["p90_ms"] = round(figures.percentile(ordered, 0.9), 6)
        synced = [float(line) for line in (folder / "written").read_text().split()]
        disk = disk_use(folder)
        background = {
            "written_mib": disk["write"]["mib"],
            "synced": sum(at < end for at in synced),
        }
        extra = {
            "cell": variant,
            "disk": disk,
            "server": (folder / "version.txt").read_text().strip(),
            "virtual_s": outcome.virtual_s,
        }
        return [Row(configuration.name, seed, summary, background, extra, scans, end - begin)]
