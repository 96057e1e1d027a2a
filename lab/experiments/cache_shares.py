# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Does what a group reads and writes through the page cache follow its weight?

The loads of references/004 (Justitia), scaled down to a guest without KVM: memory of MEMORY_MIB
where it had 16 GB, two files of FILE_MIB for each group. The drive is the SATA SSD with a link that
is slower in proportion, so that it takes as long to fill the page cache: with the whole SSD, all of
it would be exchanged several times a second. Re-read: random reads of 64 KiB over two files, where
it read one from its beginning between two rounds of writing. Fileserver: guest/fileserver.c, after
Filebench's published description. Ageing: the re-read with one light and seven heavy groups.

A file server is measured later and for longer. While no group has been seen to write, the kernel
lets all of them dirty as much; the lightest then has as many dirty pages as its part of the drive
writes in half a minute, and waits until they are written. `start_*` are of that time (START).

The proportionality variation is as inferred from the reference's figures: see
docs/page-cache-shares.md.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from lab import guest, kernel, paths, rivals
from lab.configurations import Configuration
from lab.experiments.base import (
    Experiment,
    Row,
    check,
    compile_program,
    disk_settings,
    fgio_command,
    matching,
    oom_kills,
    script_payload,
)
from lab.experiments.shares import disk_of_files
from lab.share_mixes import MB

MIB = 1 << 20

WORKLOADS = {
    "re-read": (100, 200, 400, 800),
    "fileserver": (100, 200, 300, 400, 500, 600, 700, 800),
    "ageing": (100, *(7 * (1000,))),
}
MEMORY_MIB = 448
FILE_MIB = 128
# Files of a group's file server: half of them, 80 MiB, are there at a time.
FILESET = 1024
THREADS = {"re-read": 2, "fileserver": 2, "ageing": 2}
# Of each workload: seconds to warm up, and seconds measured.
WARM_S = {"re-read": 40, "fileserver": 70, "ageing": 40}
MEASURED_S = {"re-read": 20, "fileserver": 60, "ageing": 20}
# Seconds of the load that `start_*` are of.
START = (40, 60)
# Of vm.dirty_bytes: what the drive's link takes in 0.7 s; by default it is a fifth of memory.
DIRTY_BYTES = 8 << 20
CONVENTIONAL = "cache-bfq"
POLICIES = {
    "cache-low": "low",
    "cache-fgio": "fgiod",
    "cache-nohits": "fgiod",
    "cache-dirty": "fgiod",
}


class CacheRow(Row):
    """A row of one workload: no foreground and no background."""

    def as_json(self) -> dict:
        return {"config": self.config, "seed": self.seed, **self.extra}

    @classmethod
    def from_json(cls, content: dict) -> "CacheRow":
        extra = dict(content)
        return cls(extra.pop("config"), extra.pop("seed"), {}, {}, extra)


def normalised(values: list[float], weights: tuple[int, ...]) -> list[float]:
    """Values divided by that of the group of least weight; all 0 when that is 0."""
    least = values[weights.index(min(weights))]
    return [round(value / least, 3) if least else 0.0 for value in values]


def variation(values: list[float], weights: tuple[int, ...]) -> float:
    """The proportionality variation: mean distance of normalised values from those of weights."""
    ideal = [weight / min(weights) for weight in weights]
    got = normalised(values, weights)
    return round(float(np.mean(np.abs(np.subtract(got, ideal)))), 3)


class CacheShares(Experiment):
    """Weighted groups whose I/O is mostly hits in the page cache."""

    name = "cache-shares"
    description = "weighted cgroups through the page cache: re-read, fileserver, ageing"
    device = "ssd-m5s:link_bytes_per_s=12M"
    configurations = (CONVENTIONAL, "cache-direct", "cache-low", "cache-fgio")
    extra_configurations = ("cache-nohits", "cache-dirty", "io-cost")
    duration_s = 60
    setup_s = 76
    limit_s = 3000
    variants = tuple(WORKLOADS)
    units = {
        "mb_s": "10^6 bytes a second that a group's processes read and wrote, hits included",
        "normalised": "the same, divided by that of the group of least weight",
        "pv": "mean distance of `normalised` from the weights, divided by the least (as inferred)",
        "drive_mb_s": "10^6 bytes a second that a group read from and wrote to the drive",
        "dirty_mib": "dirty memory of a group as measuring begins, and as it ends",
        "start_normalised": "normalised, of an earlier time of the load (START)",
        "start_pv": "pv, of that time",
        "held_mib": "file memory of a group, mean over the time measured",
        "held_pv": "the same distance, of file memory held",
        "kswapd_mb_s": "10^6 bytes a second that the kernel's own reclaim took, from all groups",
        "fgiod_cpu_percent": "processor time of fgiod cache, its reclaim included",
        "oom_kills": "in all groups",
    }

    def choose_part(self, only: str) -> None:
        """Runs the workloads alone whose names match. Raises LabError for none."""
        self.variants = matching(only, WORKLOADS, "workload")

    def has(self, configuration: Configuration, variant: str) -> bool:
        return configuration.name != "cache-dirty" or variant == "fileserver"

    def prepare(self) -> None:
        disk_of_files()
        compile_program("fileserver", "-static", "-pthread")

    def _settings(self, configuration: Configuration, seed: int, variant: str) -> dict:
        model = {"IO_COST_MODEL": "", "IO_COST_QOS": ""}
        if configuration.io_cost:
            measured = rivals.io_cost(self.device)
            model = {name: measured[name] for name in model}
        return {
            **disk_settings(configuration, self.device, seed),
            "POLICY": POLICIES.get(configuration.name, "none"),
            "COUNT_HITS": str(configuration.name != "cache-nohits").lower(),
            "DIRECT": int(configuration.name == "cache-direct"),
            "WORKLOAD": variant,
            "WEIGHTS": " ".join(map(str, WORKLOADS[variant])),
            "THREADS": THREADS[variant],
            "FILESET": FILESET,
            "DIRTY_BYTES": DIRTY_BYTES if configuration.name == "cache-dirty" else "",
            "WARM_S": WARM_S[variant],
            "SECONDS_MEASURED": MEASURED_S[variant],
            **model,
        }

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        values = self._settings(configuration, seed, variant)
        taken = script_payload(chosen, configuration, "cache-shares", values)
        taken["bin/fileserver"] = paths.BUILD / "guest" / "fileserver"
        # The same files for all: what is read of them is in the page cache.
        taken["bin/fgio"] = fgio_command()
        taken["bin/fgiod"] = paths.BUILD / "cargo" / "release" / "fgiod"
        taken["modules/fgio.ko"] = paths.modules_folder(chosen.release) / "fgio.ko"
        return guest.Boot(
            kernel=chosen,
            commands="bash $PAYLOAD/cache-shares.sh",
            payload=taken,
            disks=(disk_of_files(),),
            memory_mib=MEMORY_MIB,
            limit_s=self.limit_s,
            seed=seed,
        )

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, f"{self.name} under {configuration.name}, {variant}")
        folder, weights = outcome.results, WORKLOADS[variant]
        begin, seconds = WARM_S[variant], MEASURED_S[variant]
        samples = _samples(folder, len(weights))
        at, measured = samples.seconds, samples.seconds >= begin
        # By the kernel: after its ramp_time, fio 3.33 counts light groups several times too high.
        moved = _rates(at, samples.moved, begin, begin + seconds)
        held = samples.file[measured].mean(axis=0) / MIB
        dirty = samples.dirty[measured][[0, -1]] / MIB
        extra = {
            "device": self.device,
            "workload": variant,
            "weights": list(weights),
            "mb_s": moved,
            "normalised": normalised(moved, weights),
            "pv": variation(moved, weights),
            "total_mb_s": round(sum(moved), 3),
            "drive_mb_s": _rates(at, samples.drive, begin, begin + seconds),
            "dirty_mib": dirty.round(1).tolist(),
            "held_mib": held.round(1).tolist(),
            "held_pv": variation(held.tolist(), weights),
            "kswapd_mb_s": round(_kswapd_bytes(folder) / seconds / MB, 3),
            "oom_kills": oom_kills(folder),
            "fgiod_cpu_percent": _fgiod_percent(folder, begin + seconds),
        }
        if begin >= START[1]:
            early = _rates(at, samples.moved, *START)
            extra |= {
                "start_normalised": normalised(early, weights),
                "start_pv": variation(early, weights),
            }
        return [CacheRow(configuration.name, seed, {}, {}, extra)]

    def rows_of(self, content: dict) -> list[Row]:
        return [CacheRow.from_json(row) for row in content["rows"]]

    def table(self, rows: list[Row]) -> Table:
        drawn = Table(title=f"{self.name}: {self.description}", title_justify="left")
        for heading in HEADINGS:
            drawn.add_column(heading, justify="left" if heading in HEADINGS[:2] else "right")
        for row in rows:
            drawn.add_row(*_texts(row))
        return drawn

    def markdown(self, content: dict, rows: list[Row]) -> str:
        lines = [
            f"# {self.name}",
            "",
            f"{self.description}. Guests of {MEMORY_MIB} MiB, simulated drive "
            f"`{content['device']}`, virtual time; "
            + "; ".join(
                f"{name}: {WARM_S[name]} s to warm up, {MEASURED_S[name]} s measured"
                for name in WORKLOADS
            )
            + ".",
            "",
            "| " + " | ".join(HEADINGS) + " |",
            "| " + " | ".join("---" for _ in HEADINGS) + " |",
            *("| " + " | ".join(_texts(row)) + " |" for row in rows),
            "",
        ]
        return "\n".join(lines)


HEADINGS = (
    "workload",
    "configuration",
    "seed",
    "MB/s",
    "PV",
    "normalised",
    "PV of memory",
    "held MiB",
    "OOM kills",
)


def _texts(row: Row) -> list[str]:
    extra = row.extra
    return [
        extra["workload"],
        row.config,
        str(row.seed),
        f"{extra['total_mb_s']:.1f}",
        f"{extra['pv']:.2f}",
        " : ".join(f"{one:.2f}" for one in extra["normalised"]),
        f"{extra['held_pv']:.2f}",
        " : ".join(f"{one:.0f}" for one in extra["held_mib"]),
        str(extra["oom_kills"]),
    ]


@dataclass
class _Samples:
    """Of each group at each moment, in bytes; seconds since the load began.

    file, dirty: memory; drive: moved from and to the drive; moved: by system calls
    """

    seconds: np.ndarray
    file: np.ndarray
    dirty: np.ndarray
    drive: np.ndarray
    moved: np.ndarray


def _samples(folder: Path, count: int) -> _Samples:
    seconds: list[float] = []
    rows: list[list[int]] = []
    for line in (folder / "held").read_text().splitlines():
        name, *numbers = line.split()
        if name == "@":
            seconds.append(int(numbers[0]) / 1e6)
        else:
            rows.append([int(one) for one in numbers])
    table = np.array(rows).reshape(len(seconds), count, 5)
    return _Samples(np.array(seconds), *(table[:, :, column] for column in (0, 2, 3, 4)))


def _rates(seconds: np.ndarray, counted: np.ndarray, begin: float, end: float) -> list[float]:
    """MB/s of each group between two seconds, as far as they were sampled."""
    first, last = np.flatnonzero((seconds >= begin) & (seconds <= end))[[0, -1]]
    passed = seconds[last] - seconds[first]
    return [round(float(one), 3) for one in (counted[last] - counted[first]) / passed / MB]


def _kswapd_bytes(folder: Path) -> int:
    """Bytes that kswapd reclaimed in the time measured."""
    before, after = (
        dict(line.split() for line in (folder / f"{name}.reclaim").read_text().splitlines())
        for name in ("before", "after")
    )
    return 4096 * (int(after["pgsteal_kswapd"]) - int(before["pgsteal_kswapd"]))


def _fgiod_percent(folder: Path, seconds: float) -> float | None:
    """Ticks of 10 ms that fgiod used, in percent of a processor; None where it did not run."""
    file = folder / "fgiod.ticks"
    if not file.is_file():
        return None
    return round(sum(map(int, file.read_text().split())) / seconds, 2)
