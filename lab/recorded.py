# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a sharded database did between its drives' reads, as a boot of lab/run sharded recorded it.

A boot leaves the log of the front (the parts of each request), that of the client (when each was
due), and the I/O of the shards' drives by process. Together they say of each request when it was
due, how many reads its parts took, and how long everything else did; all other I/O is background.
That is a load that a simulator of the drives can have again.
"""

import math
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
# in all, and the time from the last one to its end. After them, other I/O: its process, the time
# since earlier ones of it have ended (after) or the last one began (beside), the shard, the sector,
# and sectors.
"""
SECTORS_PER_KIB = 2
TIMES = ("begin_s", "end_s")
# As long as a drive may have an I/O.
UNDER_WAY_S = 10


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
    """An I/O of a process; times by the wall clock. end_s is infinite for one still under way."""

    begin_s: float
    end_s: float
    shard: int
    sector: int
    sectors: int
    write: bool


@dataclass(frozen=True)
class Load:
    """Requests in the order in which they were due, and other I/O by process, as it began."""

    requests: list[Request]
    background: list[list[Io]]


@dataclass(frozen=True)
class _Process:
    """A process' I/O of the drives in the order in which it began."""

    all: list[Io]
    begin_s: np.ndarray
    end_s: np.ndarray

    @staticmethod
    def of(some: list[Io]) -> "_Process":
        ordered = sorted(some, key=lambda io: io.begin_s)
        begin, end = (np.array([getattr(io, name) for io in ordered]) for name in TIMES)
        return _Process(ordered, begin, end)

    def reads_between(self, begin_s: float, end_s: float) -> np.ndarray:
        """The places in `all` of reads that began in a span of time."""
        places = range(*np.searchsorted(self.begin_s, (begin_s, end_s)))
        return np.array([each for each in places if not self.all[each].write], dtype=int)


def _merged(some: list[Io], end_s: float) -> Io:
    """The I/O that a request had, of bios that it merged: a drive does one."""
    begin_s = min(io.begin_s for io in some)
    sectors = sum(io.sectors for io in some)
    return replace(some[0], begin_s=begin_s, end_s=end_s, sectors=sectors)


def _processes(text: str, shards: dict[str, int], largest: list[int]) -> dict[int, _Process]:
    """The I/O of a trace by process, in the pieces in which the kernel hands it to drives.

    shards: by the drives' numbers; largest: sectors of a piece, by shard. Raises LabError for I/O
    without an end, unless it may have been under way at the end of the recording.
    """
    under_way: dict[tuple[int, int], list[tuple[int, Io]]] = defaultdict(list)
    found = defaultdict(list)
    last_s = 0.0
    for process, at, what, drive, way, sector, sectors in EVENT.findall(text):
        if drive not in shards:
            continue
        last_s = float(at)
        shard, first, end = shards[drive], int(sector), int(sector) + int(sectors)
        if what == "bio_queue":
            for begin in range(first, end, most := largest[shard]):
                io = Io(float(at), math.inf, shard, begin, min(most, end - begin), way == "W")
                under_way[shard, begin].append((int(process), io))
            continue
        done = defaultdict(list)
        for each in range(first, end):
            for process_of_io, io in under_way.pop((shard, each), ()):
                done[process_of_io].append(io)
        for process_of_io, some in done.items():
            found[process_of_io].append(_merged(some, float(at)))
    for process_of_io, io in (pair for some in under_way.values() for pair in some):
        if last_s - io.begin_s > UNDER_WAY_S:
            raise host.LabError(
                f"I/O that began {last_s - io.begin_s:.1f} s before the end has none"
            )
        found[process_of_io].append(io)
    return {process: _Process.of(some) for process, some in found.items()}


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


def _others(process: _Process, taken: list[np.ndarray]) -> list[Io]:
    """The I/O of a process that is of none of its parts."""
    other = np.ones(len(process.all), dtype=bool)
    for some in taken:
        other[some] = False
    return [process.all[each] for each in np.flatnonzero(other)]


def load(folder: Path) -> Load:
    """The load of a boot, from its folder of raw data.

    Raises LabError where the recordings do not fit each other, or have no request.
    """
    try:
        return _load(folder)
    except (ValueError, IndexError) as error:
        raise host.LabError(f"{folder}: a recording that cannot be read: {error}") from error


def _load(folder: Path) -> Load:
    lines = [line.split() for line in (folder / "drives").read_text().splitlines()]
    shards = {name.replace(":", ","): shard for shard, (name, _) in enumerate(lines)}
    largest = [int(kib) * SECTORS_PER_KIB for _, kib in lines]
    processes = _processes((folder / "io").read_text(), shards, largest)
    none = _Process.of([])
    taken: dict[int, list[np.ndarray]] = defaultdict(list)
    found = []
    # A process has one part after the other.
    for plan, ends in _pairs(folder):
        parts = []
        for _, process, end in sorted(ends):
            its = processes.get(process, none)
            own = its.reads_between(plan.taken, end)
            if np.isinf(its.end_s[own]).any():
                raise host.LabError(f"{folder}: a request ended before its reads: parts are lost")
            taken[process].append(own)
            parts.append(_part(plan.taken, end, its.begin_s[own], its.end_s[own]))
        found.append(Request(plan.due, plan.ended, tuple(parts)))
    if not found:
        raise host.LabError(f"{folder}: a recording without requests")
    others = [_others(its, taken[process]) for process, its in sorted(processes.items())]
    return Load(sorted(found, key=lambda one: one.due_s), [some for some in others if some])


def _us(seconds: float) -> str:
    return f"{max(0, round(1e6 * seconds))}"


def _stream(number: int, some: list[Io], begin_s: float) -> list[str]:
    """The lines of a process' background from a moment on, each as it depends on those before."""
    lines = []
    last_s = done_s = begin_s
    for io in some:
        if io.begin_s < begin_s:
            continue
        after = io.begin_s >= done_s
        gap_s = io.begin_s - (done_s if after else last_s)
        way = f"{'write' if io.write else 'read'} {'after' if after else 'beside'}"
        lines.append(f"{way} {number} {_us(gap_s)} {io.shard} {io.sector} {io.sectors}")
        last_s, done_s = io.begin_s, max(done_s, io.end_s)
    return lines


def text(whole: Load) -> str:
    """A load as `fleet --replay` takes it; the first request is due at once.

    Background from before it is left out.
    """
    begin_s = whole.requests[0].due_s
    lines = []
    for request in whole.requests:
        tail = request.ended_s - max(part.ended_s for part in request.parts)
        line = [_us(request.due_s - begin_s), _us(tail)]
        for part in request.parts:
            line += [_us(part.before_s), str(part.reads), _us(part.between_s), _us(part.after_s)]
        lines.append(" ".join(line))
    for number, some in enumerate(whole.background):
        lines += _stream(number, some, begin_s)
    return HEADING + "\n".join(lines) + "\n"
