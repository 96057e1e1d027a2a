# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a sharded database did between its drives' reads, as a boot of lab/run sharded recorded it.

A boot leaves the log of the front (the parts of each request), that of the client (when each was
due), and the reads of the shards' drives by process. Together they say of each request when it was
due, how many reads its parts took, and how long everything else did: a load that a simulator of the
drives can have again.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab import host

# What the front logs of a request: the client, its end (s of the wall clock), the gap between the
# ends of its parts (s), and its parts.
LOGGED = re.compile(r"LOG:  request ([0-9]+) ([0-9.]+) ([0-9.]+) (.*)$", re.MULTILINE)
# block_bio_queue of a process, and block_rq_complete of the drive.
EVENT = re.compile(
    r"-(\d+) +\[\d+\] +\S+ +([\d.]+): block_(bio_queue|rq_complete): "
    r"(\d+,\d+) \S+ (?:\(.*?\) )?(\d+) \+ (\d+)"
)
HEADING = """\
# Requests of a sharded database, in us. Of each: when it was due, and the time from the end of its
# last part to its own; of each part: the time to its first read, its reads, the time between them
# in all, and the time from the last one to its end.
"""


@dataclass(frozen=True)
class Part:
    """Of a request, on one shard: its reads one after the other, and times without them in s.

    ended_s: by the wall clock
    """

    before_s: float
    reads: int
    between_s: float
    after_s: float
    ended_s: float


@dataclass(frozen=True)
class Request:
    """Of a user; times by the wall clock in s."""

    due_s: float
    ended_s: float
    parts: tuple[Part, ...]

    @property
    def latency_ms(self) -> float:
        """From when it was due to its end."""
        return 1e3 * (self.ended_s - self.due_s)

    @property
    def gap_ms(self) -> float:
        """Between the ends of its first and last part."""
        ends = [part.ended_s for part in self.parts]
        return 1e3 * (max(ends) - min(ends))


@dataclass(frozen=True)
class _Reads:
    """A process' reads of the drives in the order in which they began, in s."""

    begin_s: np.ndarray
    end_s: np.ndarray

    @staticmethod
    def of(pairs: list[tuple[float, float]]) -> "_Reads":
        table = np.array(sorted(pairs)).reshape(-1, 2)
        return _Reads(table[:, 0], table[:, 1])

    def between(self, begin_s: float, end_s: float) -> "_Reads":
        first, last = np.searchsorted(self.begin_s, (begin_s, end_s))
        return _Reads(self.begin_s[first:last], self.end_s[first:last])


def _reads(text: str, drives: set[str]) -> dict[int, _Reads]:
    """Process -> its reads of the drives. Raises LabError when one has no end."""
    open_reads: dict[tuple[str, int], list[tuple[int, float]]] = defaultdict(list)
    found: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for process, at, what, drive, sector, sectors in EVENT.findall(text):
        if drive not in drives:
            continue
        if what == "bio_queue":
            open_reads[drive, int(sector)].append((int(process), float(at)))
            continue
        # A request may have several bios.
        for each in range(int(sector), int(sector) + int(sectors)):
            for reader, begin in open_reads.pop((drive, each), ()):
                found[reader].append((begin, float(at)))
    if any(open_reads.values()):
        raise host.LabError(f"{sum(map(len, open_reads.values()))} recorded reads have no end")
    return {process: _Reads.of(pairs) for process, pairs in found.items()}


def _part(begun_s: float, ended_s: float, reads: _Reads) -> Part:
    """The part of a request that was taken at `begun_s`, by the reads that it did."""
    count = len(reads.begin_s)
    if not count:
        return Part(max(0, ended_s - begun_s), 0, 0, 0, ended_s)
    done_s = np.maximum.accumulate(reads.end_s)
    between = np.maximum(0, reads.begin_s[1:] - done_s[:-1]).sum()
    before, after = reads.begin_s[0] - begun_s, ended_s - done_s[-1]
    return Part(max(0, before), count, float(between), max(0, after), ended_s)


@dataclass(frozen=True)
class _Planned:
    """A request by the client's log, in s: due, taken when a client was free, ended."""

    due: float
    taken: float
    ended: float


def _planned(folder: Path) -> dict[int, list[_Planned]]:
    """Client -> its requests in their order."""
    found: dict[int, list[_Planned]] = defaultdict(list)
    for file in folder.glob("pgbench.[0-9]*"):
        # client, transaction, latency in us, script, end in s, us within the second, lag in us
        for row in np.loadtxt(file, usecols=(0, 2, 4, 5, 6), ndmin=2):
            client, latency_us, second, us, lag_us = row
            ended = second + us / 1e6
            due = ended - latency_us / 1e6
            found[int(client)].append(_Planned(due, due + lag_us / 1e6, ended))
    return found


def _logged(log: str) -> dict[int, list[list[tuple[int, int, float]]]]:
    """Client -> (shard, process, end in s) of each part of its requests, in their order."""
    found = defaultdict(list)
    for client, _, _, parts in LOGGED.findall(log):
        split = (part.split(":") for part in parts.split())
        found[int(client)].append([(int(a), int(b), float(c)) for a, b, c in split])
    return found


def requests(folder: Path) -> list[Request]:
    """The requests of a boot in the order in which they were due, from its folder of raw data.

    Raises LabError where the recordings do not fit each other.
    """
    drives = {line.replace(":", ",") for line in (folder / "drives").read_text().split()}
    reads = _reads((folder / "reads").read_text(), drives)
    planned = _planned(folder)
    logged = _logged((folder / "server" / "log").read_text())
    if {client: len(some) for client, some in planned.items()} != {
        client: len(some) for client, some in logged.items()
    }:
        raise host.LabError(f"{folder}: client and front do not have the same requests")
    ended: dict[int, float] = defaultdict(float)
    pairs = [
        pair for client, some in planned.items() for pair in zip(some, logged[client], strict=True)
    ]
    found = []
    # A process has one part after the other.
    for plan, ends in sorted(pairs, key=lambda pair: pair[0].taken):
        parts = []
        for _, process, end in sorted(ends):
            own = reads.get(process, _Reads.of([])).between(ended[process], end)
            ended[process] = end
            parts.append(_part(plan.taken, end, own))
        found.append(Request(plan.due, plan.ended, tuple(parts)))
    return sorted(found, key=lambda request: request.due_s)


def text(some: list[Request]) -> str:
    """Requests as `fleet --replay` takes them; the first one is due at once."""

    def us(seconds: float) -> str:
        return f"{max(0, round(1e6 * seconds))}"

    lines = []
    for request in some:
        tail = request.ended_s - max(part.ended_s for part in request.parts)
        line = [us(request.due_s - some[0].due_s), us(tail)]
        for part in request.parts:
            line += [us(part.before_s), str(part.reads), us(part.between_s), us(part.after_s)]
        lines.append(" ".join(line))
    return HEADING + "\n".join(lines) + "\n"
