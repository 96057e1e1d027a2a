# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a sharded database did between its drives' reads, as a boot of lab/run sharded recorded it.

A boot leaves the log of the front (the parts of each request), that of the client (when each was
due), and the I/O of the shards' drives by process. Together they say of each request when it was
due, how many reads its parts took, and how long everything else did; all other I/O is background.
That is a load that a simulator of the drives can have again.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lab import host

# What the front logs of a request: the client, its end (s of the wall clock), the gap between the
# ends of its parts (s), and its parts.
LOGGED = re.compile(r"LOG:  request ([0-9]+) ([0-9.]+) ([0-9.]+) (.*)$", re.MULTILINE)
# block_bio_queue of a process, and block_rq_complete of the drive.
EVENT = re.compile(
    r"-(\d+) +\[\d+\] +\S+ +([\d.]+): block_(bio_queue|rq_complete): "
    r"(\d+,\d+) F?([RW])\S* (?:\(.*?\) )?(\d+) \+ ([1-9]\d*)"
)
HEADING = """\
# Requests of a sharded database, in us. Of each: when it was due, and the time from the end of its
# last part to its own; of each part: the time to its first read, its reads, the time between them
# in all, and the time from the last one to its end. After them, other I/O: when, the shard, the
# sector, sectors.
"""
SECTORS_PER_KIB = 2


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
class Io:
    """An I/O of no request; at_s by the wall clock."""

    at_s: float
    shard: int
    sector: int
    sectors: int
    write: bool


@dataclass(frozen=True)
class Load:
    """Requests in the order in which they were due, and the background in the order of time."""

    requests: list[Request]
    background: list[Io]


@dataclass(frozen=True)
class _Reads:
    """A process' reads of the drives in the order in which they began.

    begin_s, end_s: by the wall clock; sector, sectors, shard: of each
    """

    begin_s: np.ndarray
    end_s: np.ndarray
    places: list[tuple[int, int, int]]

    @staticmethod
    def of(found: list[tuple[float, float, tuple[int, int, int]]]) -> "_Reads":
        ordered = sorted(found)
        table = np.array([one[:2] for one in ordered]).reshape(-1, 2)
        return _Reads(table[:, 0], table[:, 1], [one[2] for one in ordered])

    def inside(self, begin_s: float, end_s: float) -> slice:
        """Those that began in a span of time."""
        return slice(*np.searchsorted(self.begin_s, (begin_s, end_s)))


@dataclass(frozen=True)
class _Drives:
    """The I/O of the shards' drives: reads by process, and writes in the order of time."""

    reads: dict[int, _Reads]
    writes: list[Io]


def _drives(text: str, shards: dict[str, int]) -> _Drives:
    """The I/O of a trace; shards: by the drives' numbers.

    Raises LabError for a read without end.
    """
    open_reads: dict[tuple[int, int], list[tuple[int, float, int]]] = defaultdict(list)
    found = defaultdict(list)
    writes = []
    for process, at, what, drive, way, sector, sectors in EVENT.findall(text):
        if drive not in shards:
            continue
        shard, first, count = shards[drive], int(sector), int(sectors)
        if what == "bio_queue" and way == "W":
            writes.append(Io(float(at), shard, first, count, True))
        elif what == "bio_queue":
            open_reads[shard, first].append((int(process), float(at), count))
        elif way == "R":
            # A request may have several bios.
            for each in range(first, first + count):
                for reader, begin, size in open_reads.pop((shard, each), ()):
                    found[reader].append((begin, float(at), (shard, each, size)))
    if any(open_reads.values()):
        raise host.LabError(f"{sum(map(len, open_reads.values()))} recorded reads have no end")
    return _Drives({process: _Reads.of(some) for process, some in found.items()}, writes)


def _part(begun_s: float, ended_s: float, begin_s: np.ndarray, end_s: np.ndarray) -> Part:
    """The part of a request that was taken at `begun_s`, by begin and end of its reads."""
    if not len(begin_s):
        return Part(max(0, ended_s - begun_s), 0, 0, 0, ended_s)
    done_s = np.maximum.accumulate(end_s)
    between = np.maximum(0, begin_s[1:] - done_s[:-1]).sum()
    before, after = begin_s[0] - begun_s, ended_s - done_s[-1]
    return Part(max(0, before), len(begin_s), float(between), max(0, after), ended_s)


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


def _pairs(folder: Path) -> list[tuple[_Planned, list[tuple[int, int, float]]]]:
    """What client and front say of each request, in the order in which they were taken."""
    planned = _planned(folder)
    logged = _logged((folder / "server" / "log").read_text())
    if {client: len(some) for client, some in planned.items()} != {
        client: len(some) for client, some in logged.items()
    }:
        raise host.LabError(f"{folder}: client and front do not have the same requests")
    pairs = [
        pair for client, some in planned.items() for pair in zip(some, logged[client], strict=True)
    ]
    return sorted(pairs, key=lambda pair: pair[0].taken)


def _other_reads(reads: _Reads, taken: list[slice]) -> list[Io]:
    """The reads of a process that are of none of its parts."""
    other = np.ones(len(reads.places), dtype=bool)
    for some in taken:
        other[some] = False
    return [
        Io(float(reads.begin_s[each]), *reads.places[each], write=False)
        for each in np.flatnonzero(other)
    ]


def load(folder: Path) -> Load:
    """The load of a boot, from its folder of raw data.

    Raises LabError where the recordings do not fit each other.
    """
    lines = [line.split() for line in (folder / "drives").read_text().splitlines()]
    shards = {name.replace(":", ","): shard for shard, (name, _) in enumerate(lines)}
    drives = _drives((folder / "io").read_text(), shards)
    none = _Reads.of([])
    ended: dict[int, float] = defaultdict(float)
    taken: dict[int, list[slice]] = defaultdict(list)
    found = []
    # A process has one part after the other.
    for plan, ends in _pairs(folder):
        parts = []
        for _, process, end in sorted(ends):
            reads = drives.reads.get(process, none)
            own = reads.inside(max(ended[process], plan.taken), end)
            taken[process].append(own)
            ended[process] = end
            parts.append(_part(plan.taken, end, reads.begin_s[own], reads.end_s[own]))
        found.append(Request(plan.due, plan.ended, tuple(parts)))
    other = [
        io for process, reads in drives.reads.items() for io in _other_reads(reads, taken[process])
    ]
    largest = [int(kib) * SECTORS_PER_KIB for _, kib in lines]
    background = [piece for io in [*drives.writes, *other] for piece in _split(io, largest)]
    return Load(
        sorted(found, key=lambda request: request.due_s),
        sorted(background, key=lambda io: io.at_s),
    )


def _split(io: Io, largest: list[int]) -> list[Io]:
    """The pieces in which the kernel hands an I/O to its drive; largest: sectors, by shard."""
    most = largest[io.shard]
    return [
        replace(io, sector=io.sector + done, sectors=min(most, io.sectors - done))
        for done in range(0, io.sectors, most)
    ]


def text(whole: Load) -> str:
    """A load as `fleet --replay` takes it; the first request is due at once.

    Background from before it is left out.
    """
    begin = whole.requests[0].due_s

    def us(seconds: float) -> str:
        return f"{max(0, round(1e6 * seconds))}"

    lines = []
    for request in whole.requests:
        tail = request.ended_s - max(part.ended_s for part in request.parts)
        line = [us(request.due_s - begin), us(tail)]
        for part in request.parts:
            line += [us(part.before_s), str(part.reads), us(part.between_s), us(part.after_s)]
        lines.append(" ".join(line))
    for io in whole.background:
        if io.at_s >= begin:
            way = "write" if io.write else "read"
            lines.append(f"{way} {us(io.at_s - begin)} {io.shard} {io.sector} {io.sectors}")
    return HEADING + "\n".join(lines) + "\n"
