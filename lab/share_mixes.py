# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The mixes of I/O of `lab/run shares`, and how the guest is told of them (guest/shares.sh).

S_MIXES are those of S (github.com/Algodev-github/S, bandwidth-latency), ISOL_MIXES those of
isol-bench (github.com/stonet-research/isol-bench).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from lab import fio

ALONE = "alone"
TARGET = "target"
MB = 1_000_000
KIB = 1024
DISK = "simdisk0"
# Seconds from when every group has begun until measuring begins.
SETTLE_S = 1
# fio ends when the script says so.
ENDLESS_S = 3600
# The article's limits, of its drive's 160 MB/s: the target and active groups, and inactive ones.
LOW_ACTIVE, LOW_INACTIVE = 10 / 160, 20 / 160


@dataclass(frozen=True)
class Load:
    """The I/O of a group.

    kind: fio's rw; kib: of each I/O
    direct: past the page cache
    depth, jobs: I/Os at a time of each process, and processes
    raw: on the drive itself, not on a file
    """

    kind: str
    kib: int = 4
    direct: bool = False
    depth: int = 1
    jobs: int = 1
    raw: bool = False

    @property
    def name(self) -> str:
        """Of the mix that has it alone."""
        parts = [f"{self.kind}-{self.kib}k"]
        if self.depth * self.jobs > 1:
            parts.append(f"{self.jobs}x{self.depth}")
        if self.raw:
            parts.append("raw")
        return "-".join(parts)

    def options(self, number: int) -> dict[str, object]:
        """fio's options, for the group of this number in its mix."""
        place = f"/dev/{DISK}" if self.raw else f"/mnt/files/{number}"
        options: dict[str, object] = {"filename": place, "rw": self.kind, "bs": f"{self.kib}k"}
        options |= {"direct": int(self.direct), "numjobs": self.jobs}
        if self.raw and self.kind == "read":
            # Streams of their own, for each process.
            options |= {"offset": f"{number * 24}%", "offset_increment": "6%"}
        if self.depth > 1:
            return options | {"ioengine": "libaio", "iodepth": self.depth}
        return options | {"ioengine": "psync"}


def _reads_at_random(kib: int = 4) -> Load:
    return Load("randread", kib, direct=True)


READS = Load("read")
WRITES = Load("write")
RANDOM_READS = _reads_at_random()


@dataclass(frozen=True)
class Group:
    """A cgroup of a mix.

    load: None: it does nothing, and has a weight nevertheless
    demand_mb_s: it does no more I/O than this
    low: its io.low, of what the drive reads at random; None: in proportion to its weight
    delay_s: its I/O begins that much after the others'
    timed: the latency of its I/Os is kept
    """

    name: str
    weight: int
    load: Load | None
    demand_mb_s: float | None = None
    low: float | None = None
    delay_s: float = 0
    timed: bool = False


@dataclass(frozen=True)
class Mix:
    """Groups that run side by side.

    part: of the experiment, whose mixes share a boot
    settle_s: from when its groups have begun until measuring begins
    """

    name: str
    part: str
    groups: tuple[Group, ...]
    settle_s: float = SETTLE_S

    @property
    def active(self) -> tuple[Group, ...]:
        """The groups that do I/O."""
        return tuple(group for group in self.groups if group.load)


def _others(loads: Iterable[Load], weight: int = 100) -> tuple[Group, ...]:
    return tuple(
        Group(f"other{number}", weight, load, low=LOW_ACTIVE)
        for number, load in enumerate(loads, 1)
    )


INACTIVE = tuple(Group(f"inactive{number}", 200, None, low=LOW_INACTIVE) for number in range(1, 6))
TARGETS = {"random-reader": RANDOM_READS, "reader": READS}


def _against(part: str, what: str, others: tuple[Group, ...], weight: int = 300) -> list[Mix]:
    """A target that reads at random, and one that reads in order, beside the same others."""
    return [
        Mix(f"{name}-vs-{what}", part, (Group(TARGET, weight, load, low=LOW_ACTIVE), *others))
        for name, load in TARGETS.items()
    ]


def _varied(read: bool) -> tuple[Group, ...]:
    """Three groups at random, of larger and larger I/Os, and one in order."""
    if read:
        return _others((*(_reads_at_random(kib) for kib in (4, 128, 1024)), READS))
    return _others((*(Load("randwrite", kib) for kib in (4, 128, 1024)), WRITES))


# Of S, its fourth: 10 MB at a time, 50 MB a second.
SPORADIC = tuple(
    Group(f"sporadic{number}", 200, Load("read", 10_000), demand_mb_s=50, low=LOW_INACTIVE)
    for number in range(1, 6)
)
DYNAMIC = (*_others((RANDOM_READS, READS, Load("randwrite"), WRITES)), *SPORADIC)
S_MIXES = (
    *_against("sequential", "readers", (*_others([READS] * 4), *INACTIVE)),
    *_against("sequential", "writers", (*_others([WRITES] * 4), *INACTIVE)),
    *_against("random", "random-readers", (*_others([RANDOM_READS] * 4), *INACTIVE)),
    *_against("randomness", "varied-readers", (*_varied(read=True), *INACTIVE)),
    *_against("randomness", "varied-writers", (*_varied(read=False), *INACTIVE)),
    *_against("dynamic", "sporadic", DYNAMIC),
    Mix(
        "equal-random-readers",
        "equal",
        (Group(TARGET, 100, RANDOM_READS), *_others([RANDOM_READS] * 7)),
    ),
    Mix("equal-readers", "equal", (Group(TARGET, 100, READS), *_others([READS] * 7))),
    Mix(
        "latency",
        "equal",
        (
            Group(TARGET, 1000, RANDOM_READS, demand_mb_s=1, timed=True),
            *_others([READS] * 15, weight=1),
        ),
    ),
)


def _saturating(kind: str, kib: int = 4, tenants: int = 2) -> Load:
    """isol-bench's tenant: four processes of 256 I/Os each; of many tenants, one process of 32."""
    depth, jobs = (256, 4) if tenants <= 16 else (32, 1)
    return Load(kind, kib, direct=True, depth=depth, jobs=jobs, raw=True)


def _tenants(count: int, kind: str, part: str) -> Mix:
    """Tenants of weights 1 to COUNT that do the same."""
    load = _saturating(kind, tenants=count)
    name = f"{'readers' if kind == 'randread' else 'writers'}-{count}"
    groups = (Group(f"tenant{weight}", weight, load) for weight in range(1, count + 1))
    return Mix(name, part, tuple(groups))


def _halves(name: str, loads: tuple[Load, Load]) -> Mix:
    """Two tenants of each load, all of one weight."""
    groups = (Group(f"tenant{number}", 100, loads[number // 3]) for number in range(1, 5))
    return Mix(name, "kinds", tuple(groups))


# One I/O at a time enters beside four tenants of 256 each.
CRITICAL = Load("randread", direct=True, raw=True)
FLOOD = Load("randread", direct=True, depth=256, raw=True)
BURST_DELAY_S = 2
# Of the burst, from when the group enters until its share has to be there.
ENTERED_S = 0.05
ISOL_MIXES = (
    *(_tenants(count, "randread", "tenants") for count in (2, 4, 8, 16)),
    *(_tenants(count, "randread", "many") for count in (64, 256)),
    _tenants(16, "randwrite", "kinds"),
    _halves("sizes", (_saturating("randread"), _saturating("randread", 256))),
    _halves("patterns", (_saturating("randread"), _saturating("read"))),
    Mix(
        "burst",
        "burst",
        (
            Group("critical", 300, CRITICAL, delay_s=BURST_DELAY_S, timed=True),
            *(Group(f"tenant{number}", 100, FLOOD) for number in range(1, 5)),
        ),
        # Some of it passes while fio starts its processes.
        settle_s=BURST_DELAY_S + 0.3,
    ),
)
MIXES = {mix.name: mix for mix in (*S_MIXES, *ISOL_MIXES)}
PARTS = tuple(dict.fromkeys(mix.part for mix in MIXES.values()))
RAW_PARTS = {mix.part for mix in ISOL_MIXES}


def _loads(parts: Iterable[str]) -> tuple[Load, ...]:
    """Every load of some parts, each once."""
    chosen = set(parts)
    return tuple(
        dict.fromkeys(
            group.load
            for mix in MIXES.values()
            if mix.part in chosen
            for group in mix.active
            if group.load
        )
    )


def alone_mixes(parts: Iterable[str]) -> list[Mix]:
    """A mix for each load of some parts, with that load alone."""
    return [
        Mix(load.name, ALONE, (Group("only", 100, load, timed=load == CRITICAL),))
        for load in _loads(parts)
    ]


def job_file(mix: Mix, seed: int) -> str:
    """The text of fio's jobs for a mix: each group's processes enter the cgroup of its name."""
    lines = [
        "[global]",
        "time_based=1",
        f"runtime={ENDLESS_S}",
        f"randseed={1000 + seed}",
        "random_generator=tausworthe64",
        "norandommap=1",
        "invalidate=1",
        "group_reporting=1",
        "cgroup_nodelete=1",
        "log_avg_msec=0",
        "clocksource=clock_gettime",
    ]
    for number, group in enumerate(mix.active):
        lines += [f"[{group.name}]", f"cgroup={group.name}"]
        if group.timed:
            lines += [f"write_lat_log={group.name}", f"log_entries={fio.LOG_ENTRIES}"]
            lines += ["disable_clat=1", "disable_slat=1"]
        else:
            lines.append("gtod_reduce=1")
        if group.demand_mb_s is not None:
            lines.append(f"rate={round(group.demand_mb_s * MB)}")
        if group.delay_s:
            lines.append(f"startdelay={group.delay_s}s")
        lines += [f"{key}={value}" for key, value in group.load.options(number).items()]
    return "\n".join(lines) + "\n"


def group_lines(mix: Mix, random_mb_s: float) -> str:
    """A mix's groups as guest/shares.sh reads them.

    random_mb_s: MB/s that the drive reads at random, of which limits are parts: io.max by the
    weights of all groups, since an administrator does not know in advance which are active
    """
    weights = sum(group.weight for group in mix.groups)
    lines = []
    for group in mix.groups:
        part = group.weight / weights
        low = part if group.low is None else group.low
        limits = [max(4 * KIB, round(one * random_mb_s * MB)) for one in (part, low)]
        begins = int(bool(group.load) and not group.delay_s)
        lines.append(f"{group.name} {group.weight} {limits[0]} {limits[1]} {begins}\n")
    return "".join(lines)
