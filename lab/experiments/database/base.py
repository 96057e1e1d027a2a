# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A database as the experiment `databases` runs it."""

from dataclasses import dataclass, field
from pathlib import Path

from lab import rivals
from lab.experiments.base import MODELS, moments
from lab.figures import Requests


@dataclass
class Measured:
    """Measurements of a boot, by the database's own records.

    foregrounds: kind of request -> each of them, or figures as figures.summarize() makes them where
        the client keeps no more; kind "" where there is but one
    background: work of the background burst, beside its time
    burst_s: (begin, end) in s from the start of measuring; end None: not within it
    """

    foregrounds: dict[str, Requests | dict]
    background: dict = field(default_factory=dict)
    burst_s: tuple[float, float | None] | None = None


class Database:
    """One database: its clients, its background burst, and how to read their records.

    title, load, burst: for the report, a line each: its name, the foreground, the background burst
    script: file of lab/guest with the functions that databases.sh calls; scripts: sourced by it
    programs: extended regular expression of the command names of its processes
    packages: Debian packages that the guest needs for it
    duration_s: virtual seconds measured; warm_s: of load before them; burst_after_s: begin of the
        burst in them
    cpus, instructions_per_ns: processors and their speed, where those of the others would be the
        limit
    devices: disk models that can serve its load
    settings: for the script, in databases.env
    profile: the one whose processes can be told apart by their titles; none for one of threads
    """

    name = ""
    title = ""
    load = ""
    burst = ""
    script = ""
    scripts: tuple[str, ...] = ()
    programs = ""
    packages: tuple[str, ...] = ()
    memory_mib = 1024
    cpus = 1
    instructions_per_ns = 1
    duration_s = 12
    warm_s = 1
    burst_after_s = 2
    devices: tuple[str, ...] = MODELS
    settings: dict[str, object] = {}
    profile = ""

    @property
    def is_paced(self) -> bool:
        """Whether requests come at a rate, and not as fast as they are answered."""
        return any(self.settings.get(name) for name in ("RATE", "READS"))

    def prepare(self) -> None:
        """Builds data sets and programs, before the first boot."""

    def disk(self) -> Path:
        """The image of the disk that it runs on."""
        raise NotImplementedError

    def payload(self) -> dict[str, Path | str]:
        """The payload of its guests, beside the script."""
        return {}

    def inside(self) -> dict[str, Path]:
        """Files with which it tags its own threads, below inside/; empty: it cannot."""
        return {}

    def throttles(self, device: str) -> rivals.Throttles:
        """Settings that turn its own throttles on, for a disk model, by their names."""
        return {}

    def read(self, folder: Path, begin: float, end: float) -> Measured:
        """The records in a boot's results, measured from begin to end (s of the wall clock)."""
        raise NotImplementedError


class OnHardDisk:
    """Mixed into a database: a rate that a hard disk can commit, long enough for a tail.

    At the rate of the other loads every request waits for the requests before it, under any
    scheduler.
    """

    duration_s = 100
    devices = ("hdd",)


def offered(rate: int, what: str) -> str:
    """A load's rate in words; 0: as fast as it goes."""
    return f"{rate} {what} a second" if rate else "as fast as it goes"


def burst_span(folder: Path, begin: float, end: float) -> tuple[float, float | None] | None:
    """The background burst as measure_with_burst (guest/databases.sh) notes it: see Measured."""
    noted = moments(folder)
    if "burst_begin" not in noted:
        return None
    ended = noted.get("burst_end", end)
    return noted["burst_begin"] - begin, ended - begin if ended < end else None
