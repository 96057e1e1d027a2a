# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How long do durable writes wait while a large file fills the page cache of a large machine?

One percent of 64 GiB is 650 MiB, five seconds of writing for the volume. The limits are compared
on such a guest and on a small one. The guest touches the memory that it dirties and the kernel's
own tables, and takes no more of the host.

ext4 as it comes (since Linux 5.6) allocates blocks when it writes them, as unwritten ones, and a
commit of its journal waits for no data. So fsync waits for the I/O that other tasks have in flight,
not for all their dirty pages. sync, a snapshot's freeze and umount do, thus a variant has a
foreground that calls syncfs.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab import figures, guest, host, image, kernel, paths
from lab.configurations import Configuration
from lab.experiments.base import (
    Experiment,
    Row,
    blame,
    check,
    compile_program,
    disk_use,
    grown,
    moments,
    script_payload,
)
from lab.figures import Requests

DISK_MIB = 4096
BULK_MIB = 1536
# Twice the written bytes (page cache and disk), a page's 64 bytes for each 4 KiB, and the system.
HOST_MIB = 2 * BULK_MIB + 64 * 1024 // 64 + 1024
US_PER_S = 1_000_000
# Causes of waiting that a row keeps.
BLAMED = 8


@dataclass(frozen=True)
class _Part:
    """A boot: GiB of memory, and how the foreground makes its writes durable."""

    memory_gib: int
    demand: str


PARTS = {"64": _Part(64, "fsync"), "64-sync": _Part(64, "sync"), "1": _Part(1, "fsync")}
KINDS = {
    "fsync": {"overwrite": "fsync of overwrites", "append": "fsync of appends"},
    "sync": {"sync": "syncfs"},
}


class DirtyLimit(Experiment):
    """Small writes and fsync forty times a second, or syncfs twice, beside 1.5 GiB of dd."""

    name = "dirty-limit"
    description = "fsync and syncfs beside a large file being written, with 64 and 1 GiB of memory"
    device = "volume"
    configurations = ("floor", "mq-deadline", "fgio-no-pagecache", "fgio-percent", "fgio")
    extra_configurations = ("none", "kyber", "bfq")
    duration_s = 13
    setup_s = 7
    limit_s = 1800
    warm_s = 2
    variants = tuple(PARTS)
    units = {
        "foreground.throughput": "fsyncs or syncfs per second; late ones leave out some",
        "foreground.p*_ms": "from before the write to after its fsync; syncfs alone",
        "background.time_s": f"from the first write to the end of the fsync of {BULK_MIB} MiB",
        "background.written_s": "until the last write(2) returned",
        "background.mib_s": "MiB per second until the end of the fsync",
        "background.dirty_peak_mib": "most that was dirty or being written, looked at every 20 ms",
        "background.parked_s": "time that fgio parked writers",
    }

    def prepare(self) -> None:
        compile_program("durable", "-static", "-pthread")
        _empty_disk().touch()
        os.truncate(_empty_disk(), image.round_up(DISK_MIB * host.MIB))

    def _settings(self, configuration: Configuration, seed: int, variant: str) -> dict[str, object]:
        return {
            "DEVICE": self.device,
            "SEED": seed,
            "ELEVATOR": configuration.elevator,
            "SETTINGS": " ".join(configuration.parameters()),
            "TAG": "foreground" if configuration.elevator == "fgio" else "",
            "HAS_BACKGROUND": int(configuration.has_background),
            "DEMAND": PARTS[variant].demand,
            "BULK_MIB": BULK_MIB,
            "WARM_S": self.warm_s,
            "FLOOR_S": self.duration_s,
        }

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        values = self._settings(configuration, seed, variant)
        taken = script_payload(chosen, configuration, "dirty-limit", values)
        taken["bin/durable"] = paths.BUILD / "guest" / "durable"
        return guest.Boot(
            kernel=chosen,
            commands="bash $PAYLOAD/dirty-limit.sh",
            payload=taken,
            disks=(_empty_disk(),),
            memory_mib=PARTS[variant].memory_gib * 1024,
            host_mib=HOST_MIB,
            limit_s=self.limit_s,
            seed=seed,
        )

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, f"{self.name} under {configuration.name}")
        folder = outcome.results
        noted = moments(folder)
        record = [line.split() for line in (folder / "record").read_text().splitlines()]
        span_s = noted["end"] - noted["begin"]
        background = _background(folder, record, noted) if configuration.has_background else {}
        extra = {
            "disk": disk_use(folder),
            "fgio_counters": grown(folder, "fgio"),
            "blame": blame(folder, BLAMED),
            "virtual_s": outcome.virtual_s,
        }
        rows = []
        for kind, title in KINDS[PARTS[variant].demand].items():
            requests = _requests(record, kind, noted)
            foreground = figures.summarize(requests, span_s)
            cell = {"cell": f"{PARTS[variant].memory_gib} GiB, {title}"}
            row = Row(configuration.name, seed, foreground, background, cell | extra, requests)
            row.duration_s = span_s
            rows.append(row)
        return rows


def _empty_disk() -> Path:
    return paths.BUILD / "guest" / "empty-disk"


def _requests(record: list[list[str]], kind: str, noted: dict[str, float]) -> Requests:
    """Durable writes of a kind that overlap the span of measuring."""
    spans = [(int(line[1]), int(line[2])) for line in record if line[0] == kind and len(line) == 3]
    inside = [
        (end / US_PER_S - noted["begin"], (end - begin) / 1000)
        for begin, end in spans
        if end > noted["begin"] * US_PER_S and begin < noted["end"] * US_PER_S
    ]
    return Requests(*np.array(inside).T) if inside else Requests.none()


def _background(folder: Path, record: list[list[str]], noted: dict[str, float]) -> dict:
    span_s = noted["end"] - noted["begin"]
    peak_kib = max(
        int(line[2])
        for line in record
        if line[0] == "dirty" and noted["begin"] <= int(line[1]) / US_PER_S <= noted["end"]
    )
    return {
        "time_s": round(span_s, 3),
        "written_s": round(noted["written"] - noted["begin"], 3),
        "mib_s": round(BULK_MIB / span_s, 3),
        "dirty_peak_mib": round(peak_kib / 1024, 1),
        "parked_s": _parked_s(folder),
    }


def _parked_s(folder: Path) -> float | None:
    file = folder / "status.json"
    if not file.is_file():
        return None
    return round(json.loads(file.read_text())["module"]["state"]["parked_ms"] / 1000, 3)
