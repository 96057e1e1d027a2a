# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Requests of users to a sharded database: PL/Proxy before four PostgreSQL servers with drives."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from lab import bounds, dataset, drives, guest, host, image, kernel, paths, recorded
from lab.configurations import Configuration
from lab.experiments.base import (
    Experiment,
    Row,
    check,
    cpu_idle_percent,
    disk_use,
    grown,
    made,
    matching,
    moments,
    script_payload,
)
from lab.experiments.extension_cost import build_extension
from lab.experiments.first_light import transactions
from lab.figures import FIGURES_OF_PARTS, Requests, percentile

SHARDS = 4
# 1.2 GB a shard, of which the guest's page cache holds a part (row "cached_mib").
RECORDS = 1_000_000
MOST_RECORDS = 100
IMAGE_MIB = 2000
PACKAGES = (f"postgresql-{image.POSTGRESQL[image.SUITE]}-plproxy",)
CLIENTS = 24
# Those of pgbench's own are above 1; YCSB's is 0.99.
ZIPFIAN = 1.001
READ_KIB = 8
# Reads at a time with which the drives are as fast as they get.
FULL_DEPTH = 32
SERVER = """
shared_buffers = 32MB
listen_addresses = ''
unix_socket_directories = '/tmp'
max_connections = 100
wal_level = minimal
max_wal_senders = 0
max_wal_size = 4GB
checkpoint_timeout = 1h
autovacuum = off
jit = off
max_parallel_workers_per_gather = 0
enable_seqscan = off
enable_bitmapscan = off
log_error_verbosity = terse
"""
# The front's cluster, beside that of the shard in each image.
LOAD = """
psql --quiet --set=ON_ERROR_STOP=1 --set=records={records} bench <<'SQL'
{schema}
SQL
initdb --pgdata=/data/front --auth=trust --locale=C --encoding=UTF8 --username=postgres
cat >>/data/front/postgresql.conf <<'CONF'
{settings}
CONF
"""
UPDATED = 1000
UPDATE = f"""
UPDATE items SET value = value
  WHERE key IN (SELECT (random() * {RECORDS - 1})::bigint FROM generate_series(1, {UPDATED}))
"""
# 100 pages at a time: 20 MB a second.
VACUUM_OPTIONS = "-c vacuum_cost_delay=40ms -c vacuum_cost_limit=200"
SCAN = """
\\set records random(1, {most})
\\set low {low}
SELECT scan_for(:client_id, :low, :records);
"""
STARTS = SHARDS * RECORDS - MOST_RECORDS
LOWS = {
    "uniform": f"random(0, {STARTS - 1})",
    "zipfian": f"permute(random_zipfian(1, {STARTS}, {ZIPFIAN}) - 1, {STARTS})",
}
# request_order of the module, by default FIFO with limited multiplexing.
DEFAULT_ORDER = "request_order=3"
# Of a drive under fgio: critical I/Os, of which with an id, clamped, and sent for their age.
COUNTERS = ("critical_completed", "critical_with_id", "critical_clamped", "critical_aged")


@dataclass(frozen=True)
class Cell:
    """One setting.

    keys: how the first record of a request is chosen, see LOWS
    load: requests a second, in parts of what the drives read at random
    reads: that a part of a request takes from its drive, in the mean, as measured
    states: whether a shard checkpoints, one is vacuumed, and one has a cold cache
    """

    keys: str
    load: float
    reads: float
    states: bool


CELLS = {
    "uniform": Cell("uniform", 0.75, 11.5, True),
    "uniform-quiet": Cell("uniform", 0.85, 11.5, False),
    "zipfian": Cell("zipfian", 0.75, 8, True),
}


def gaps(log: str, begin: float, end: float) -> np.ndarray:
    """The gaps in ms that the front logged, of requests that ended between moments (s)."""
    found = [(float(at), float(gap)) for _, at, gap, _ in recorded.LOGGED.findall(log)]
    table = np.array(found).reshape(-1, 2)
    inside = (table[:, 0] >= begin) & (table[:, 0] < end)
    return 1e3 * table[inside, 1]


def summarize(requests: Requests, between: np.ndarray, duration_s: float) -> dict[str, float]:
    """The figures of a row: of latencies, and of gaps in ms. Raises LabError without either."""
    if not len(requests) or not len(between):
        raise host.LabError("no request ended while measuring")
    ordered, spread = np.sort(requests.latency_ms), np.sort(between)
    return {
        "throughput": round(len(ordered) / duration_s, 3),
        "mean_ms": round(float(np.mean(ordered)), 3),
        "p50_ms": round(percentile(ordered, 0.5), 3),
        "p99_ms": round(percentile(ordered, 0.99), 3),
        "p999_ms": round(percentile(ordered, 0.999), 3),
        "gap_p50_ms": round(percentile(spread, 0.5), 3),
        "gap_p99_ms": round(percentile(spread, 0.99), 3),
        "n": len(ordered),
    }


def data_set() -> Path:
    """The ext4 image of a shard, /pg, with the front's cluster, /front, made when absent."""
    root = image.root_tree(PACKAGES)
    schema = (paths.LAB / "guest" / "sharded-shard.sql").read_text()
    load = LOAD.format(records=RECORDS, schema=schema, settings=SERVER)
    script = dataset.cluster_script(SERVER, load)
    target = paths.CACHE / f"sharded-{image.fingerprint(script, IMAGE_MIB, root.name)}.ext4"
    return dataset.once(
        target,
        2 * IMAGE_MIB,
        f"the shards' data set, {IMAGE_MIB} MiB",
        "a minute or two",
        lambda fresh: dataset.fill(fresh, root, "postgres", script, IMAGE_MIB * host.MIB),
    )


class Sharded(Experiment):
    """Scans of 1 to 100 records over four shards, at a rate, whether others are done or not."""

    name = "sharded"
    description = (
        "PL/Proxy before four PostgreSQL servers with a drive each: scans at a rate, latency and "
        "gap between parts"
    )
    device = "volume"
    configurations = (
        "none",
        "kyber",
        "mq-deadline",
        "bfq",
        "bfq-no-idle",
        "fgio-unordered",
        "fgio",
        "fgio-arrival",
        "fgio-batch",
        "fgio-slack",
        "fgio-bottleneck",
    )
    # The same as fgio.
    extra_configurations = ("fgio-fifo-lm",)
    demo_configurations = ("none", "mq-deadline", "fgio-unordered", "fgio")
    cells = CELLS
    variants = tuple(CELLS)
    vehicle = "plproxy"
    packages = PACKAGES
    read_kib = READ_KIB
    # In the log of what the states did.
    states = ("checkpoint", "vacuum")
    duration_s = 8
    warm_s = 5
    states_s = 2
    setup_s = 14
    limit_s = 1500
    memory_mib = 1792
    units = {
        "throughput": "requests per s that ended",
        "p999_ms": "from the time for which it was planned to its end at the client, ms",
        "gap_p50_ms": "between the ends of a request's first and last part, ms",
        "reads_per_s": "of each drive, of any size",
        "background": "checkpoints and vacuums that ended while measuring; MiB written",
    }

    def choose_part(self, only: str) -> None:
        """Runs cells alone whose names match a pattern. Raises LabError when none does."""
        self.variants = matching(only, self.cells, "cell")

    def prepare(self) -> None:
        build_extension()
        data_set()

    def disks(self) -> tuple[Path, ...]:
        """The shards' images."""
        return (data_set(),) * SHARDS

    def rate(self, cell: Cell) -> int:
        """Requests per second of a cell."""
        reads_per_s = drives.load(self.device, "read", self.read_kib, FULL_DEPTH)["iops"]
        return round(cell.load * reads_per_s / cell.reads)

    def values(self, configuration: Configuration, seed: int, cell: Cell) -> dict[str, int | str]:
        """The settings of the guest's script."""
        settings = configuration.parameters()
        if configuration.name == "fgio":
            settings.append(DEFAULT_ORDER)
        return {
            "DEVICE": self.device,
            "SEED": seed,
            "ELEVATOR": configuration.elevator,
            "TUNABLES": configuration.tuned(),
            "SETTINGS": " ".join(settings),
            "STATES": int(cell.states),
            "CLIENTS": CLIENTS,
            "RATE": self.rate(cell),
            "WARM_S": self.warm_s,
            "STATES_S": self.states_s,
            "DURATION_S": int(self.duration_s),
            "UPDATE": UPDATE,
            "VACUUM_OPTIONS": VACUUM_OPTIONS,
        }

    def payload(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, cell: Cell
    ) -> dict[str, Path | str]:
        """What the guest has beside its programs."""
        values = self.values(configuration, seed, cell)
        files = ("shards.sh", "postgres-server.sh", "recording.sh")
        taken = script_payload(chosen, configuration, self.name, values, *files)
        source = paths.ROOT / "integrations" / "postgresql"
        taken["postgresql/fgio.so"] = paths.BUILD / "postgresql" / "fgio.so"
        for name in ("fgio.control", "fgio--1.0.sql"):
            taken[f"postgresql/{name}"] = source / name
        taken["front.sql"] = paths.LAB / "guest" / "sharded-front.sql"
        taken["scan.pgbench"] = SCAN.format(most=MOST_RECORDS, low=LOWS[cell.keys])
        return taken

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        return guest.Boot(
            kernel=chosen,
            commands=f"bash $PAYLOAD/{self.name}.sh",
            payload=self.payload(chosen, configuration, seed, self.cells[variant]),
            disks=self.disks(),
            packages=self.packages,
            memory_mib=self.memory_mib,
            # At one a nanosecond, servers and proxy would take most of the processor's time.
            instructions_per_ns=4,
            limit_s=self.limit_s,
            seed=seed,
        )

    def measured(self, folder: Path, begin: float, end: float) -> tuple[Requests, np.ndarray]:
        """The requests that ended between moments (s), and their gaps in ms."""
        requests = transactions(folder, begin).between(0, end - begin)
        return requests, gaps((folder / "server" / "log").read_text(), begin, end)

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, f"{self.name}, {variant} under {configuration.name}")
        folder = outcome.results
        noted = moments(folder)
        begin, end = noted["measure_begin"], noted["measure_end"]
        requests, between = self.measured(folder, begin, end)
        names = [(f"before.{shard}", f"after.{shard}") for shard in range(SHARDS)]
        uses = [disk_use(folder, *pair) for pair in names]
        extra = {
            "cell": variant,
            "device": self.device,
            "vehicle": self.vehicle,
            **summarize(requests, between, end - begin),
            "offered": self.rate(self.cells[variant]),
            "reads_per_s": [round(use["read"]["requests"] / (end - begin)) for use in uses],
            "read_mib": [use["read"]["mib"] for use in uses],
            "cached_mib": _cached_mib(folder),
            "cpu_idle_percent": cpu_idle_percent(folder),
            "ids": _ids(folder),
            "virtual_s": outcome.virtual_s,
        }
        ended = _ended(folder, self.states, begin, end)
        background = {**ended, "written_mib": [use["write"]["mib"] for use in uses]}
        row = Row(configuration.name, seed, {}, background, extra, requests, end - begin)
        return [row]

    def table(self, rows: list[Row]) -> Table:
        drawn = Table(title=f"{self.name}: {self.description}", title_justify="left")
        for heading in ("cell", "configuration", *FIGURES_OF_PARTS):
            left = heading in ("cell", "configuration")
            drawn.add_column(heading.replace("_", " "), justify="left" if left else "right")
        for line in _lines(rows):
            drawn.add_row(*line)
        return drawn

    def markdown(self, content: dict, rows: list[Row]) -> str:
        """The figures as Markdown, medians over the seeds, a table for each cell."""
        headings = ["configuration", "per s", "mean", "p50", "p99", "p99.9"]
        headings += ["gap p50", "gap p99", "requests"]
        lines = ["# A sharded database", "", made(content)]
        for cell in dict.fromkeys(row.extra["cell"] for row in rows):
            lines += ["", f"## {cell}", "", f"| {' | '.join(headings)} |"]
            lines += [f"|---|{'--:|' * (len(headings) - 1)}"]
            members = [row for row in rows if row.extra["cell"] == cell]
            lines += [f"| {' | '.join(line[1:])} |" for line in _lines(members)]
        return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def _lines(rows: Iterable[Row]) -> list[list[str]]:
    """Cell, configuration and FIGURES_OF_PARTS as texts: medians over the seeds."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.extra["cell"], row.config), []).append(row)
    return [
        [
            *names,
            *(
                _number(bounds.median([row.extra[name] for row in some]))
                for name in FIGURES_OF_PARTS
            ),
        ]
        for names, some in groups.items()
    ]


def _ended(folder: Path, states: Iterable[str], begin: float, end: float) -> dict[str, int]:
    pairs = [line.split() for line in (folder / "background").read_text().splitlines()]
    inside = [what for what, at in pairs if begin <= float(at) < end]
    return {f"{what}s": inside.count(what) for what in states}


def _cached_mib(folder: Path) -> int:
    """Pages of files; what is in shared memory counts as cached, too."""
    text = (folder / "after.meminfo").read_text()
    cached, shared = (
        int(re.search(rf"^{name}: +(\d+) kB", text, re.MULTILINE)[1])
        for name in ("Cached", "Shmem")
    )
    return (cached - shared) // 1024


def _ids(folder: Path) -> list[dict[str, int]]:
    """What each drive's fgio counted while measuring; empty under other schedulers."""
    found = [grown(folder, f"{shard}.fgio") for shard in range(SHARDS)]
    return [{name: one[name] for name in COUNTERS} for one in found if one]
