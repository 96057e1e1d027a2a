# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Each database under its own background burst, with no thread tagged by hand.

Labels come from fgiod and the profiles as they ship, or from the database's own integration.
"""

from collections.abc import Callable, Iterator, Mapping

from matplotlib.figure import Figure

from lab import drawings, drives, figures, guest, kernel, paths, rivals, summary
from lab.bounds import Bound
from lab.configurations import ABLATION, BESIDES, EVALUATION, Configuration, priority
from lab.experiments.base import (
    Experiment,
    Row,
    blame,
    check,
    cpu_idle_percent,
    disk_use,
    fgio_command,
    grown,
    made,
    matching,
    moments,
    rival_settings,
    script_payload,
    submitters,
)
from lab.experiments.database import ALL, Database
from lab.threads import by_class

INSIDE = "fgio-inside"
# Units of figures that several experiments have.
WRITTEN = {"background.written_mib": "MiB written to the disk while measuring, by all"}
CPU_IDLE = {"background.cpu_idle_percent": "of the processors' time while measuring"}
LONGEST_CHECKPOINT = {"background.checkpoint_s": "seconds of the longest checkpoint"}
# Causes of waiting that a row keeps.
BLAMED = 12


class Databases(Experiment):
    """Real databases with their own background work, labelled by profile or from inside.

    databases: by name; a boot is of one of them
    """

    databases: dict[str, Database] = ALL
    title = "Databases under their own background bursts"
    name = "databases"
    description = "each database under its own background burst; tags by profile or by itself"
    device = "volume"
    configurations = ("floor", "none", "mq-deadline", "bfq", "fgio", INSIDE)
    extra_configurations = ("fgio-block", *EVALUATION, *BESIDES)
    setup_s = 8
    limit_s = 1800
    units = {
        "foreground.throughput": "requests per second",
        "background.burst_s": "seconds that the background burst took; at_least: without end",
        **WRITTEN,
        **CPU_IDLE,
        "background.compacted_mib": "RocksDB: MiB that compaction wrote",
        "background.checkpoint_s": "PostgreSQL, WiredTiger: seconds of the longest checkpoint; "
        "MariaDB: seconds of the forced flush",
        "threads": "moment -> class -> the database's threads with it: name or title, and how many",
    }

    def __init__(self):
        self.variants = tuple(self.databases)

    @property
    def duration_s(self) -> float:
        """The longest of the boots."""
        served = (one for one in map(self.databases.get, self.variants) if self._serves(one))
        return max((one.duration_s for one in served), default=0)

    def _serves(self, database: Database) -> bool:
        return drives.nearest(self.device) in database.devices

    def choose_part(self, only: str) -> None:
        """Runs databases alone whose names match a pattern. Raises LabError when none does."""
        self.variants = matching(only, self.databases, "database")

    def has(self, configuration: Configuration, variant: str) -> bool:
        database = self.databases[variant]
        if not self._serves(database):
            return False
        if configuration.own_throttle:
            return configuration.own_throttle in database.throttles(self.device)
        if configuration.io_cost or configuration.bfq_weights:
            return bool(database.profile)
        return configuration.name != INSIDE or bool(database.inside())

    def prepare(self) -> None:
        for name in self.variants:
            self.databases[name].prepare()

    def _settings(
        self, configuration: Configuration, seed: int, database: Database
    ) -> dict[str, object]:
        labels = "inside" if configuration.name == INSIDE else "profile"
        return {
            "DEVICE": self.device,
            "SEED": seed,
            "ELEVATOR": configuration.elevator,
            "SETTINGS": " ".join(configuration.parameters()),
            "GATE": configuration.gate or "",
            "LABELS": labels if configuration.loads_fgio else "",
            "HAS_BACKGROUND": int(configuration.has_background),
            # Under fgio, the profiles' labels take their place.
            "FOREGROUND_PRIORITY": priority(configuration.foreground_priority),
            "BACKGROUND_PRIORITY": priority(configuration.background_priority),
            "PROGRAMS": database.programs,
            "WARM_S": database.warm_s,
            "DURATION_S": database.duration_s,
            "BURST_AFTER_S": database.burst_after_s,
            **rival_settings(configuration, self.device),
            **database.settings,
            **database.throttles(self.device).get(configuration.own_throttle, {}),
        }

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        database = self.databases[variant]
        values = self._settings(configuration, seed, database)
        files = ("fgiod.sh", "rivals.sh", *database.scripts)
        taken = script_payload(chosen, configuration, "databases", values, *files)
        taken |= database.payload()
        taken["database.sh"] = paths.LAB / "guest" / database.script
        if configuration.background_priority:
            taken["bin/fgio"] = fgio_command()
            taken["profiles"] = paths.ROOT / "profiles"
        if configuration.loads_fgio:
            taken["bin/fgiod"] = fgio_command().with_name("fgiod")
            taken["profiles"] = paths.ROOT / "profiles"
        if configuration.io_cost or configuration.bfq_weights:
            taken["titles"] = rivals.titles(database.profile)
        if configuration.name == INSIDE:
            taken |= database.inside()
        return guest.Boot(
            kernel=chosen,
            commands="bash $PAYLOAD/databases.sh",
            payload=taken,
            disks=(database.disk(),),
            packages=database.packages,
            memory_mib=database.memory_mib,
            cpus=database.cpus,
            instructions_per_ns=database.instructions_per_ns,
            limit_s=self.limit_s,
            seed=seed,
        )

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, f"{self.name}, {variant} under {configuration.name}")
        folder, database = outcome.results, self.databases[variant]
        noted = moments(folder)
        begin, end = noted["measure_begin"], noted["measure_end"]
        measured = database.read(folder, begin, end)
        disk = disk_use(folder)
        background = {"burst_s": None, **measured.background, "written_mib": disk["write"]["mib"]}
        background["cpu_idle_percent"] = cpu_idle_percent(folder)
        if measured.burst_s:
            burst_begin, burst_end = measured.burst_s
            seen_s = round((burst_end or end - begin) - burst_begin, 3)
            background["burst_s"] = seen_s if burst_end else Bound(seen_s)
        extra = {
            "database": variant,
            "disk": disk,
            "fgio_counters": grown(folder, "fgio"),
            "threads": by_class(folder, database.programs),
            "blame": blame(folder, BLAMED),
            "submitters": submitters(folder),
            "virtual_s": outcome.virtual_s,
        }
        rows = []
        for kind, requests in measured.foregrounds.items():
            cell = {"cell": f"{variant}: {kind}" if kind else variant}
            row = Row(configuration.name, seed, {}, background, cell | extra)
            if isinstance(requests, dict):
                row.foreground = requests
            else:
                row.foreground = figures.summarize(requests, end - begin)
                row.requests = requests
            rows.append(row)
        return rows

    def drawn_cells(self, rows: list[Row]) -> list[str]:
        return _cells(rows)

    def drawings(self, content: dict, rows: list[Row]) -> dict[str, Figure]:
        drawn = {}
        curves = content.get("curves", {})
        for cell in _cells(rows):
            members = _of(rows, cell)
            drawn[f"throughput-{_file_name(cell)}"] = drawings.throughput(members, "per second")
            if cell in curves:
                drawn[f"latency-{_file_name(cell)}"] = drawings.ccdf(curves[cell])
        return drawn

    def markdown(self, content: dict, rows: list[Row]) -> str:
        """The figures as Markdown, a part for each database."""
        lines = [
            f"# {self.title}",
            "",
            made(content),
        ]
        for name in dict.fromkeys(row.extra["database"] for row in rows):
            members = [row for row in rows if row.extra["database"] == name]
            lines += _part(self.databases[name], members, content.get("curves", {}))
        return "\n".join(lines) + "\n"


class Evaluation(Databases):
    """A load of the evaluation, under all of its configurations."""

    configurations = EVALUATION
    extra_configurations = (*ABLATION, *BESIDES)


def named(*databases: Database) -> dict[str, Database]:
    """Databases by their names."""
    return {one.name: one for one in databases}


def each_size(
    make: Callable[[str, float, int], Database], sizes: Mapping[str, float], pace: int
) -> Iterator[Database]:
    """For each size a database as fast as it goes (rate 0), and one at a pace (NAME-paced).

    make: takes a name, the size, and the rate in requests per second
    """
    for name, size in sizes.items():
        yield make(name, size, 0)
        yield make(f"{name}-paced", size, pace)


def _cells(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row.extra["cell"] for row in rows))


def _of(rows: list[Row], cell: str) -> list[Row]:
    return [row for row in rows if row.extra["cell"] == cell]


def _file_name(cell: str) -> str:
    return cell.replace(": ", "-")


def _part(database: Database, rows: list[Row], curves: dict) -> list[str]:
    lines = ["", f"## {database.title}", ""]
    lines += [f"{database.load}. Background burst: {database.burst}."]
    for cell in _cells(rows):
        lines += _figures(cell, _of(rows, cell))
        lines += ["", f"![throughput, {cell}](throughput-{_file_name(cell)}.svg)"]
        if cell in curves:
            lines += [f"![latency, {cell}](latency-{_file_name(cell)}.svg)"]
    for config in dict.fromkeys(row.config for row in rows if row.extra["threads"]):
        first = next(row for row in rows if row.config == config)
        lines += _threads(first)
        lines += _causes(first)
    return lines


def _figures(cell: str, rows: list[Row]) -> list[str]:
    figure_lines = summary.medians(rows)
    background = list(figure_lines[0]["background"])
    headings = [cell, "per second", "p50 ms", "p99 ms", "p99.9 ms", "max ms"]
    headings += [name.replace("_", " ") for name in background]
    lines = ["", f"| {' | '.join(headings)} |", f"|---|{'--:|' * (len(headings) - 1)}"]
    for line in figure_lines:
        texts = [summary.number(line[name]) for name in summary.FIGURES]
        texts += [summary.number(line["background"][name]) for name in background]
        lines.append(f"| {line['config']} | {' | '.join(texts)} |")
    return lines


def _threads(row: Row) -> list[str]:
    lines = ["", f"Threads under {row.config}:", "", "| when | class | threads |", "|---|---|---|"]
    for moment, classes in row.extra["threads"].items():
        for name, threads in classes.items():
            shown = ", ".join(
                f"{count} `{thread}`" if count > 1 else f"`{thread}`"
                for thread, count in threads.items()
            )
            lines.append(f"| {moment} | {name} | {shown} |")
    return lines


def _causes(row: Row) -> list[str]:
    lines = ["", f"Waits of foreground threads under {row.config} (`fgio blame`):", ""]
    lines += ["| cause | waits | total ms | mean ms | max ms |", "|---|--:|--:|--:|--:|"]
    for cause in row.extra["blame"]:
        texts = [summary.number(cause[name]) for name in ("total_ms", "mean_ms", "max_ms")]
        lines.append(f"| {cause['cause']} | {cause['count']} | {' | '.join(texts)} |")
    return lines
