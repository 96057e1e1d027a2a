# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The configurations that experiments can be run under, and the settings of each in the guest."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from lab import host

FOREGROUND_PRIORITY = (2, 0)
REALTIME_PRIORITY = (1, 0)
IDLE_PRIORITY = (3, 0)


@dataclass(frozen=True)
class Configuration:
    """One way to run an experiment.

    elevator: the disk's I/O scheduler
    foreground_priority, background_priority: I/O priority (class, level), None to leave it
    off: switches of fgio that are off
    settings: further parameters of fgio that are not at their defaults
    gate: of the module fgio_gate (kmod/lab/gate.c), 0 without it
    tunables: files of the elevator (queue/iosched) that are not at their defaults
    queue: files of the disk's queue that are not at their defaults
    io_cost: blk-iocost with weights, the background's processes in a cgroup of their own
    bfq_weights: the same cgroups, with weights of bfq
    own_throttle: which of the database's own throttles are on (Database.throttles), by name
    kyber_targets: kyber's target latencies are those of the disk (rivals.KYBER_TARGETS_US)
    submitters: keeps the I/O of each thread, by priority (row "submitters")
    journal_priority: of the file system's journal, None to leave it
    drive_priority: the drive's own knob is on, and fgio is told so
    watched: fgio is loaded beside another elevator and reports the waits
    has_foreground, has_background: which of the two loads run
    """

    name: str
    description: str
    elevator: str
    foreground_priority: tuple[int, int] | None = None
    background_priority: tuple[int, int] | None = None
    has_foreground: bool = True
    has_background: bool = True
    off: tuple[str, ...] = ()
    settings: tuple[tuple[str, int], ...] = ()
    gate: int = 0
    tunables: tuple[tuple[str, int], ...] = ()
    queue: tuple[tuple[str, int], ...] = ()
    io_cost: bool = False
    bfq_weights: bool = False
    own_throttle: str = ""
    kyber_targets: bool = False
    submitters: bool = False
    journal_priority: tuple[int, int] | None = None
    drive_priority: bool = False
    watched: bool = False

    @property
    def loads_fgio(self) -> bool:
        """Whether the module is there."""
        return self.watched or self.elevator == "fgio"

    def tuned(self) -> str:
        """Values of the elevator's files, as set_tunables (guest/functions.sh) takes them."""
        return " ".join(f"{name}={value}" for name, value in self.tunables)

    def queued(self) -> str:
        """Values of the queue's files, as set_queue (guest/functions.sh) takes them."""
        return " ".join(f"{name}={value}" for name, value in self.queue)

    def parameters(self) -> list[str]:
        """Values of fgio's parameters, each as NAME=VALUE."""
        return [
            *(f"{name}=N" for name in self.off),
            *(f"{name}={value}" for name, value in self.settings),
        ]


def priority(pair: tuple[int, int] | None) -> str:
    """An I/O priority as the guests' scripts take it."""
    return f"{pair[0]},{pair[1]}" if pair else ""


# Switches of fgio, and the effect of each when the ablation turns it off.
SWITCHES = {
    "pagecache": "no room kept in the page cache",
    "admission": "no slots kept in the block layer",
    "queue": "no order in the queue",
    "split": "long background I/O not split",
    "locks": "kernel locks not followed",
    "journal": "the journal not followed",
    "io": "outstanding I/O not followed",
    "user": "user-level locks not followed",
    "commits": "syncs of a log by other tasks not followed",
    "uring": "threads of io_uring not followed",
    "file_locks": "locks of files not followed",
    "replies": "messages of other tasks not followed",
    "transitive": "waits followed for one step only",
}
# The database's own throttles (Database.throttles): as its documentation says; at a rate, in
# percent of the write rate of the disk; and those under which it may lose acknowledged changes.
DOCUMENTED, LOSSY = "documented", "lossy"
OWN_RATES = (25, 50, 75)
INHERITANCE = ("locks", "journal", "io", "user", "commits", "uring", "file_locks", "replies")
INHERITANCE += ("pagecache",)
# The parameter `request_order` of fgio, from 1 on.
REQUEST_ORDERS = {
    "arrival": "the earliest first",
    "batch": "those that were begun first",
    "fifo-lm": "the earliest first, three light ones for a heavy one; the same as fgio",
    "slack": "the earliest deadline first",
    "bottleneck": "the least work first",
}
# The parameter `gate` of the module fgio_gate (core/lab/gate.h).
GATE_BY_PRIORITY = 1
GATE_BY_DEADLINE = 2


def _without(name: str, description: str, *off: str) -> Configuration:
    return Configuration(name, f"fgio, {description}", "fgio", FOREGROUND_PRIORITY, off=off)


def _with_and_without_drive(base: Configuration) -> tuple[Configuration, Configuration]:
    """A configuration with the drive's knob off, and the same with it on."""
    return base, replace(
        base,
        name=f"{base.name}-drive",
        description=f"{base.description}; and the drive's NCQ priority on",
        drive_priority=True,
    )


_FGIO = Configuration("fgio", "fgio; only the foreground is named", "fgio", FOREGROUND_PRIORITY)
FIXED_LIMITS = (1, 2, 4, 8, 16, 32)
UNLIMITED = 65535


def _limited(name: str, description: str, limit: int) -> Configuration:
    return replace(
        _FGIO,
        name=name,
        description=f"fgio, {description}",
        tunables=(("noncritical_in_device_max", limit),),
    )


def _split(name: str, description: str, gate: int) -> Configuration:
    return Configuration(
        name,
        f"fgio, {description}; nothing is inherited, the journal is foreground",
        "fgio",
        FOREGROUND_PRIORITY,
        off=INHERITANCE,
        gate=gate,
        journal_priority=FOREGROUND_PRIORITY,
    )


BFQ_IDLE = Configuration(
    "bfq-idle",
    "bfq; background in the idle class, foreground and journal best-effort 0",
    "bfq",
    FOREGROUND_PRIORITY,
    IDLE_PRIORITY,
    journal_priority=FOREGROUND_PRIORITY,
)
# Above the kernel's own writeback, which has no priority and counts as best-effort.
MQ_DEADLINE_RT = Configuration(
    "mq-deadline-rt",
    "mq-deadline; foreground and journal real-time, background in the idle class",
    "mq-deadline",
    REALTIME_PRIORITY,
    IDLE_PRIORITY,
    journal_priority=REALTIME_PRIORITY,
)

_ALL = (
    Configuration("none", "no scheduler", "none"),
    Configuration("mq-deadline", "mq-deadline as it comes", "mq-deadline"),
    Configuration(
        "mq-deadline-prio",
        "mq-deadline; background in the idle class, foreground and journal best-effort, where the "
        "kernel's own writeback is, too",
        "mq-deadline",
        FOREGROUND_PRIORITY,
        IDLE_PRIORITY,
        journal_priority=FOREGROUND_PRIORITY,
    ),
    Configuration(
        "mq-deadline-watched",
        "mq-deadline; fgio reports the waits, and boosts nothing",
        "mq-deadline",
        off=("boost", "pagecache"),
        watched=True,
    ),
    Configuration("kyber", "kyber as it comes", "kyber"),
    Configuration("bfq", "bfq as it comes", "bfq"),
    Configuration(
        "bfq-no-idle",
        "bfq that never idles the disk (low_latency and slice_idle 0)",
        "bfq",
        tunables=(("low_latency", 0), ("slice_idle", 0)),
    ),
    BFQ_IDLE,
    *_with_and_without_drive(_FGIO),
    # Half of the depth of NCQ: the other half is for the foreground.
    *_with_and_without_drive(
        _limited("fgio-16", "up to 16 non-critical I/Os in the drive beside critical ones", 16)
    ),
    *_with_and_without_drive(
        Configuration("none-rt", "no scheduler; foreground real-time", "none", REALTIME_PRIORITY)
    ),
    *_with_and_without_drive(MQ_DEADLINE_RT),
    *_with_and_without_drive(
        replace(
            MQ_DEADLINE_RT,
            name="bfq-rt",
            description="bfq; foreground and journal real-time, background in the idle class",
            elevator="bfq",
        )
    ),
    replace(
        MQ_DEADLINE_RT,
        name="mq-deadline-batch",
        description="mq-deadline-rt with fifo_batch 1 and async_depth 32: writes get an eighth of "
        "the queue",
        tunables=(("fifo_batch", 1), ("async_depth", 32)),
    ),
    replace(
        MQ_DEADLINE_RT,
        name="mq-deadline-short",
        description="mq-deadline-rt with nr_requests 16: a queue of 16, and no more in the disk",
        queue=(("nr_requests", 16),),
    ),
    Configuration(
        "kyber-targets",
        "kyber with target latencies of the disk: twice the time of an I/O alone",
        "kyber",
        kyber_targets=True,
    ),
    replace(
        BFQ_IDLE,
        name="bfq-fair",
        description="bfq-idle without its heuristics (low_latency 0), so that priorities alone "
        "count",
        tunables=(("low_latency", 0),),
    ),
    replace(
        BFQ_IDLE,
        name="bfq-busy",
        description="bfq-idle that never idles the disk (low_latency and slice_idle 0)",
        tunables=(("low_latency", 0), ("slice_idle", 0)),
    ),
    replace(
        MQ_DEADLINE_RT,
        name="bfq-strict",
        description="bfq-rt with strict_guarantees and low_latency 0: one request at a time in "
        "the disk",
        elevator="bfq",
        tunables=(("low_latency", 0), ("strict_guarantees", 1)),
    ),
    Configuration(
        "bfq-weights",
        "bfq with low_latency 0; the foreground's cgroup weighs 1,000 times the background's",
        "bfq",
        tunables=(("low_latency", 0),),
        bfq_weights=True,
    ),
    replace(
        BFQ_IDLE,
        name="bfq-idle-submitters",
        description="bfq-idle; keeps the I/O of each thread, by priority",
        submitters=True,
    ),
    replace(
        MQ_DEADLINE_RT,
        name="mq-deadline-rt-submitters",
        description="mq-deadline-rt; keeps the I/O of each thread, by priority",
        submitters=True,
    ),
    Configuration("fgio-idle", "fgio in charge of the disk; no task is foreground", "fgio"),
    Configuration(
        "fgio-inside",
        "fgio; the database tags its own threads (module, extension)",
        "fgio",
    ),
    _without("fgio-block", "the block layer's part alone: nothing is inherited", *INHERITANCE),
    *(_without(f"fgio-no-{name}", what, name) for name, what in SWITCHES.items()),
    *(
        _limited(f"fixed-{limit}", f"at most {limit} non-critical I/Os in the drive", limit)
        for limit in FIXED_LIMITS
    ),
    _limited("unrestricted", "any number of non-critical I/Os in the drive", UNLIMITED),
    Configuration(
        "fgio-percent",
        "fgio, its dirty limit 1 % of memory alone, as in the FAST'17 paper",
        "fgio",
        FOREGROUND_PRIORITY,
        settings=(("dirty_limit_percent", 1), ("dirty_limit_ms", 0)),
    ),
    Configuration(
        "io-cost",
        "no scheduler; blk-iocost, the foreground's cgroup weighs 1,000 times the background's; "
        "with shares, the mix's own weights",
        "none",
        io_cost=True,
    ),
    Configuration(
        "io-cost-90",
        "shares with io-cost, which lets 90 % of its model's rate into the disk at any latency",
        "none",
        io_cost=True,
    ),
    Configuration(
        "bfq-no-low-latency",
        "bfq with low_latency 0, without priorities",
        "bfq",
        tunables=(("low_latency", 0),),
    ),
    Configuration(
        "cache-bfq",
        "cache-shares: bfq with the groups' weights",
        "bfq",
        tunables=(("low_latency", 0),),
    ),
    Configuration(
        "cache-direct",
        "cache-shares: bfq with the groups' weights, and all I/O past the page cache",
        "bfq",
        tunables=(("low_latency", 0),),
    ),
    Configuration(
        "cache-low",
        "cache-shares: bfq with the groups' weights; each group's part in a static memory.low",
        "bfq",
        tunables=(("low_latency", 0),),
    ),
    Configuration(
        "cache-fgio",
        "cache-shares: fgio with shares, and fgiod cache",
        "fgio",
        settings=(("shares", 1),),
    ),
    Configuration(
        "cache-nohits",
        "cache-shares: the same, but hits do not count towards parts of the drive",
        "fgio",
        settings=(("shares", 1),),
    ),
    Configuration(
        "cache-dirty",
        "cache-shares: fgio with shares, fgiod cache, and dirty memory limited by vm.dirty_bytes",
        "fgio",
        settings=(("shares", 1),),
    ),
    Configuration(
        "backup-high",
        "backup: mq-deadline; the backup's cgroup has a memory.high of 64 MiB (MemoryHigh=)",
        "mq-deadline",
    ),
    Configuration(
        "backup-low",
        "backup: mq-deadline; the database's cgroup has a memory.low for its working set "
        "(MemoryLow=)",
        "mq-deadline",
    ),
    Configuration(
        "backup-drop",
        "backup: fgio; the backup is background and drops its page cache behind it",
        "fgio",
    ),
    Configuration(
        "backup-drop-16",
        "backup: the same, and keeps 16 MiB of it (--drop-behind=16)",
        "fgio",
    ),
    Configuration(
        "backup-drop-client",
        "backup: as backup-drop, but for the process of the server that reads for pg_basebackup",
        "fgio",
    ),
    Configuration(
        "backup-cache",
        "backup: as backup-drop, and fgiod cache with weights of 800 and 100",
        "fgio",
    ),
    Configuration(
        "fgio-shares",
        "fgio with shares on; in shares no task is foreground, in tenants as the profile says",
        "fgio",
        settings=(("shares", 2),),
    ),
    Configuration(
        "fgio-unordered",
        "sharded: fgio; critical I/O goes by its own arrival on each drive",
        "fgio",
        settings=(("request_order", 0),),
    ),
    *(
        Configuration(
            f"fgio-{name}",
            f"sharded: fgio; critical I/O goes by users' requests, {what}",
            "fgio",
            settings=(("request_order", order),),
        )
        for order, (name, what) in enumerate(REQUEST_ORDERS.items(), 1)
    ),
    Configuration(
        "io-max",
        "no scheduler; each group's io.max is its weight's part of what the disk reads at random",
        "none",
    ),
    Configuration(
        "low-none",
        "no scheduler; each group has the LWN article's io.low (a kernel of its own)",
        "none",
    ),
    Configuration(
        "wbt",
        "no scheduler; writeback throttled at the kernel's own latency for the device",
        "none",
        # The kernel's choice for the device's type.
        queue=(("wbt_lat_usec", -1),),
    ),
    Configuration(
        "own-throttle",
        "mq-deadline; the database's own throttles as its documentation says, for which its "
        "background work takes longer",
        "mq-deadline",
        own_throttle=DOCUMENTED,
    ),
    *(
        Configuration(
            f"own-rate-{percent}",
            f"mq-deadline; the database's own limit at {percent} % of the disk's write rate",
            "mq-deadline",
            own_throttle=f"{percent}%",
        )
        for percent in OWN_RATES
    ),
    Configuration(
        "own-lossy",
        "mq-deadline; the database's log is not synced during a snapshot or rewrite: a crash loses "
        "changes acknowledged meanwhile",
        "mq-deadline",
        own_throttle=LOSSY,
    ),
    _without(
        "fgio-qasio",
        "the order in the queue and outstanding I/O alone, as QASIO",
        *(name for name in SWITCHES if name not in ("queue", "io")),
    ),
    _split(
        "fgio-split-a",
        "background writes and fsyncs wait while foreground I/O is outstanding, as Split-AFQ",
        GATE_BY_PRIORITY,
    ),
    _split(
        "fgio-split-d",
        "background fsyncs wait for their file or a deadline, as Split-Deadline",
        GATE_BY_DEADLINE,
    ),
    Configuration(
        "alone", "bound: the foreground alone, no scheduler", "none", has_background=False
    ),
    Configuration(
        "floor",
        "bound: the same load without the background burst, no scheduler",
        "none",
        has_background=False,
    ),
    Configuration(
        "floor-switch",
        "bound: the floor with the two switches of the WAL segment of a base backup, which no "
        "scheduler can help",
        "none",
    ),
    Configuration(
        "ceiling", "bound: the background alone, no scheduler", "none", has_foreground=False
    ),
)
# Stock kernels and the databases themselves, at the best settings that are known. Those
# that ask for durability to be given up are not among them.
TUNED = (
    "mq-deadline-batch",
    "mq-deadline-short",
    "kyber-targets",
    "bfq-fair",
    "bfq-busy",
    "bfq-strict",
    "bfq-weights",
)
STOCK = (
    "none",
    "mq-deadline",
    "mq-deadline-rt",
    "kyber",
    "bfq",
    "bfq-idle",
    "bfq-rt",
    *TUNED,
    "io-cost",
    "wbt",
    "own-throttle",
    *(f"own-rate-{percent}" for percent in OWN_RATES),
)
# Others' ideas, as modes of fgio.
IMITATIONS = ("fgio-qasio", "fgio-split-a", "fgio-split-d")
EVALUATION = ("floor", *STOCK, *IMITATIONS, "fixed-1", "fgio", "mq-deadline-watched")
EARLIER_STOCK = ("mq-deadline-prio",)
# Configurations beside these: of earlier results, or chosen by name for one question.
BESIDES = (
    *EARLIER_STOCK,
    "own-lossy",
    "bfq-idle-submitters",
    "mq-deadline-rt-submitters",
)
ABLATION = ("floor", "mq-deadline", "fgio", *(f"fgio-no-{name}" for name in SWITCHES), "fgio-block")
BY_NAME = {configuration.name: configuration for configuration in _ALL}


def choose(names: Iterable[str], valid: Iterable[str]) -> list[Configuration]:
    """The configurations of these names, in this order, each once.

    Raises LabError for a name that is not among `valid`.
    """
    valid = list(valid)
    chosen = []
    for name in dict.fromkeys(names):
        if name not in valid or name not in BY_NAME:
            raise host.LabError(
                f"unknown configuration {name or '(empty)'} for this experiment; "
                f"choose from: {', '.join(valid)}"
            )
        chosen.append(BY_NAME[name])
    return chosen
