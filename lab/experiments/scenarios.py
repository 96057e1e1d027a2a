# SPDX-License-Identifier: Apache-2.0 OR MIT
"""One wait of a foreground task at a time, with fgio and without.

Under fgio, the control is fgio itself with the scenario's mechanism and all boosting switched
off: it shows the effect of the mechanism, not a stock kernel. Stock schedulers are
configurations of their own, without the module.
"""

import functools
import re
import statistics
import threading
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from lab import bounds, guest, host, kernel, paths
from lab.configurations import Configuration, priority
from lab.experiments.base import (
    Experiment,
    Row,
    check,
    extra_modules,
    made,
    matching,
    need_modules,
    payload,
    settings,
)

SOURCES = paths.ROOT / "tests" / "scenarios"
TEST_MODULE = paths.ROOT / "tests" / "kmod"
# Every switch of the module: on, but for the control.
ALL = ("stamp", "admission", "queue", "split", "locks", "journal", "io", "user", "transitive")
ALL += ("pagecache", "commits", "uring", "file_locks", "replies", "boost")
# Modules that no guest has, by group.
EXTRA_MODULES = {
    "xfs": ("xfs",),
    "btrfs": ("btrfs",),
    "fuse": ("fuse",),
    "overlay": ("overlay",),
    "loop": ("loop",),
    "loop-cached": ("loop",),
    "raid1": ("raid1",),
    "raid5": ("raid456",),
    "crypt": ("dm-crypt", "crypto_null"),
    "thin": ("dm-thin-pool",),
    "snapshot": ("dm-snapshot",),
    "mirror": ("dm-raid", "raid1"),
}
CONDITIONS = ("floor", "off", "on")
STOCK_CONDITIONS = ("floor", "stock")
FGIO = "fgio"
STOCK = ("none", "mq-deadline", "mq-deadline-rt", "kyber", "bfq", "bfq-idle", "bfq-rt")
# The first round of a scenario teaches fgio which task signals which waiter.
TAUGHT = 1
# Requirements: service times above the floor, and times less than without.
SERVICES = 3
GAIN = 10


@dataclass(frozen=True)
class Scenario:
    """A scenario of tests/scenarios/: its name, boot, switches of the control, title."""

    name: str
    group: str
    off: str
    title: str


@dataclass
class ScenarioRow(Row):
    """One scenario: medians of its foreground's waits, in ms; None where it did not run.

    waits: condition -> every round's wait in ms
    known: the row of summary.json, in place of waits, where it was read from there
    failures: condition -> why it did not run; "kernel" -> the complaint of the kernel
    """

    scenario: Scenario = None
    service_ms: float = 0
    waits: dict[str, list[float]] = None
    failures: dict[str, str] = None
    known: dict | None = None

    @classmethod
    def from_json(cls, content: dict) -> "ScenarioRow":
        scenario = Scenario(
            content["scenario"], "", ",".join(content["switches_off"]), content["title"]
        )
        return cls(
            content["config"],
            content["seed"],
            {},
            {},
            scenario=scenario,
            service_ms=content["service_ms"],
            waits={},
            failures=content["failures"],
            known=content,
        )

    @property
    def conditions(self) -> tuple[str, ...]:
        """Under which it ran."""
        return CONDITIONS if self.config == FGIO else STOCK_CONDITIONS

    def median(self, condition: str) -> float | None:
        """The median wait under a condition, in ms."""
        if self.known:
            return self.known.get(f"{condition}_ms")
        waits = self.waits.get(condition)
        return round(statistics.median(waits), 4) if waits else None

    def as_json(self) -> dict:
        if self.known:
            return self.known
        return {
            "scenario": self.scenario.name,
            "title": self.scenario.title,
            "config": self.config,
            "seed": self.seed,
            **{f"{condition}_ms": self.median(condition) for condition in self.conditions},
            "service_ms": self.service_ms,
            **{
                f"{condition}_max_ms": max(self.waits[condition], default=None)
                for condition in self.conditions
                if condition in self.waits
            },
            "rounds": {name: len(waits) for name, waits in self.waits.items()},
            "switches_off": self.scenario.off.split(",") if self.config == FGIO else [],
            "failures": self.failures,
        }

    def verdict(self) -> str:
        """The fault of fgio's figures; empty when there is none."""
        floor, off, on = (self.median(name) for name in ("floor", "off", "on"))
        if None in (floor, off, on):
            return "; ".join(f"{name}: {why}" for name, why in self.failures.items()) or "no result"
        wrong = [self.failures["kernel"]] if "kernel" in self.failures else []
        if off <= floor + SERVICES * self.service_ms:
            wrong.append("the control hardly waits")
        if on > floor + SERVICES * self.service_ms:
            wrong.append(f"{(on - floor) / self.service_ms:.1f} service times over the floor")
        if off < GAIN * on:
            wrong.append(f"only {off / on:.1f} times less than without")
        return ", ".join(wrong)


def program() -> Path:
    """Builds the program in tests/scenarios/, which runs here and in guests."""
    target = paths.BUILD / "tests" / "scenarios"
    sources = sorted(SOURCES.glob("*.c"))
    headers = (*SOURCES.glob("*.h"), *(paths.LAB / "guest").glob("*.h"))
    newest = max(file.stat().st_mtime for file in (*sources, *headers))
    if target.is_file() and target.stat().st_mtime > newest:
        return target
    command = ["gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-static", "-pthread"]
    with host.whole(target) as fresh:
        host.run(
            [*command, f"-I{paths.ROOT}", "-o", str(fresh), *map(str, sources)],
            what="building tests/scenarios (it needs gcc and libc6-dev)",
        )
    return target


@functools.cache
def every() -> tuple[Scenario, ...]:
    """The scenarios that there are."""
    listed = host.run([str(program()), "list"], what="listing the scenarios")
    return tuple(Scenario(*line.split("\t")) for line in listed.splitlines())


# Several boots of one kernel may want it at once.
_building = threading.Lock()


def test_module(chosen: kernel.Kernel) -> Path:
    """Builds tests/kmod for a kernel."""
    command = ["make", "-s", "-C", str(TEST_MODULE), f"KERNEL={chosen.version}"]
    command += [f"BUILD={paths.BUILD}", f"FGIO_CACHE={paths.CACHE}"]
    with _building:
        host.run(command, what="building tests/kmod")
    return paths.BUILD / "tests" / chosen.release / "fgio_test.ko"


class Scenarios(Experiment):
    """Every scenario: floor (idle device), off (mechanism switched off) and on; and stock ones."""

    name = "scenarios"
    description = (
        "what a foreground task waits for, one thing at a time: mq-deadline, fgio off, on, floor"
    )
    device = "volume"
    configurations = ("mq-deadline", FGIO)
    extra_configurations = STOCK
    duration_s = 120
    setup_s = 2
    limit_s = 1800
    memory_mib = 1536
    variants = ("user", "file", "kernel", "journal", "xfs", "cache", "fast", "dm")
    variants += ("file-locks", "small-log", "raid1", "raid5", "crypt", "thin", "btrfs", "fuse")
    variants += ("snapshot", "mirror", "loop", "loop-cached", "overlay", "events")
    units = {
        "off_ms, on_ms, floor_ms": "median wait of the foreground task in ms",
        "stock_ms": "the same under a stock scheduler (config), without the module",
        "off": "under fgio, the mechanism and all boosting switched off: no stock kernel",
        "on": "every mechanism switched on",
        "floor": "nothing else uses the device",
        "service_ms": "mean total latency of 4 KiB reads, one at a time, on the idle device",
    }

    def __init__(self):
        self.only = ""

    def choose_part(self, only: str) -> None:
        """Runs scenarios alone whose names match a pattern. Raises LabError when none does."""
        chosen = matching(only, (one.name for one in every()), "scenario")
        self.only = only
        groups = {one.group for one in every() if one.name in chosen}
        self.variants = tuple(group for group in Scenarios.variants if group in groups)

    def prepare(self) -> None:
        groups = {one.group for one in every()}
        self.variants = tuple(group for group in self.variants if group in groups)

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        need_modules(chosen, "simdisk", *([FGIO] if configuration.loads_fgio else []))
        taken = payload(chosen, "scenarios.sh")
        if not configuration.loads_fgio:
            taken.pop("modules/fgio.ko", None)
        taken["scenarios"] = program()
        taken["modules/fgio_test.ko"] = test_module(chosen)
        values = {"DEVICE": self.device, "SEED": seed, "GROUP": variant}
        values |= {"ONLY": self.only, "ALL": " ".join(ALL), "ELEVATOR": configuration.elevator}
        values |= {"TUNABLES": configuration.tuned(), "QUEUE": configuration.queued()}
        values |= {
            "FOREGROUND_PRIORITY": priority(configuration.foreground_priority),
            "BACKGROUND_PRIORITY": priority(configuration.background_priority),
            "JOURNAL_PRIORITY": priority(configuration.journal_priority),
        }
        taken["scenarios.env"] = settings(values)
        if variant in EXTRA_MODULES:
            taken.update(extra_modules(chosen, EXTRA_MODULES[variant]))
        return guest.Boot(
            kernel=chosen,
            commands="bash $PAYLOAD/scenarios.sh",
            payload=taken,
            memory_mib=self.memory_mib,
            limit_s=self.limit_s,
            seed=seed,
        )

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        if outcome.status:
            check(outcome, f"{self.name}, {variant}")
        said = (outcome.results / "scenarios.txt").read_text().splitlines()
        service = float((outcome.results / "service").read_text().split()[1]) / 1000
        waits: dict[str, dict[str, list[float]]] = {}
        failures: dict[str, dict[str, str]] = {}
        trouble = outcome.kernel_trouble()
        for line in said:
            name, condition, word, *rest = line.split()
            if word == "us":
                times = [int(value) / 1000 for value in rest[TAUGHT:]]
                waits.setdefault(name, {})[condition] = times
            else:
                failures.setdefault(name, {})[condition] = " ".join(rest)
        return [
            ScenarioRow(
                configuration.name,
                seed,
                {},
                {},
                scenario=one,
                service_ms=round(service, 4),
                waits=waits.get(one.name, {}),
                failures=failures.get(one.name, {}) | ({"kernel": trouble[0]} if trouble else {}),
            )
            for one in every()
            if one.group == variant and re.search(self.only, one.name)
        ]

    def rows_of(self, content: dict) -> list[ScenarioRow]:
        return [ScenarioRow.from_json(row) for row in content["rows"]]

    def drawn_cells(self, rows: list[Row]) -> list[str]:
        return []

    def table(self, rows: list[ScenarioRow]) -> Table:
        """The figures as a table for the terminal."""
        drawn = Table(title=f"{self.name} on {self.device}", title_justify="left")
        drawn.add_column("scenario")
        for heading in _headings(rows):
            drawn.add_column(f"{heading} ms" if heading else "", justify="right")
        for scenario, texts in _lines(rows):
            drawn.add_row(scenario.name, *texts)
        return drawn

    def markdown(self, content: dict, rows: list[ScenarioRow]) -> str:
        """The figures as Markdown."""
        headings = _headings(rows)
        lines = [
            "# Scenarios",
            "",
            f"{len({row.scenario.name for row in rows})} scenarios. {made(content)}",
            "",
            "What a foreground task waited, in ms (medians): under stock schedulers, each by its "
            "name; under fgio with the mechanism and all boosting switched off (off: a control, "
            "and no stock kernel), and with everything on; and with nothing else at the device "
            "(floor). Service is the mean latency of one 4 KiB read at a time on the idle device. "
            "A dash: it did not come to its end within 20 s, or was not run.",
            "",
            f"| scenario | what is waited for | {' | '.join(headings)} |",
            f"|---|---|{'--:|' * (len(headings) - 1)}---|",
        ]
        for scenario, texts in _lines(rows):
            lines.append(f"| {scenario.name} | {scenario.title} | {' | '.join(texts)} |")
        return "\n".join(lines) + "\n"


def beside(before: dict, after: dict) -> str:
    """Two summaries of scenarios in one table, in Markdown: fgio's waits before and after.

    Raises LabError where one is of another experiment, or has no figures of fgio.
    """
    sides = [_of_fgio(content) for content in (before, after)]
    lines = [
        "# Scenarios, before and after",
        "",
        f"Before: {made(before)}",
        "",
        f"After: {made(after)}",
        "",
        "What a foreground task waited, in ms (medians; of several seeds their median), before "
        "→ after: with the mechanism and all boosting switched off, with everything on, and with "
        "nothing else at the device (floor). Service is the mean latency of one 4 KiB read at a "
        "time on the idle device; over the floor: on without floor, in service times. A dash: "
        "there is no figure.",
        "",
        "| scenario | off | on | floor | service | over the floor |",
        f"|---|{'--:|' * 5}",
    ]
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        columns = zip(*(side.get(name, (None,) * 5) for side in sides), strict=True)
        texts = [" → ".join("-" if one is None else f"{one:.2f}" for one in of) for of in columns]
        lines.append(f"| {name} | {' | '.join(texts)} |")
    return "\n".join(lines) + "\n"


def _of_fgio(content: dict) -> dict[str, tuple[float | None, ...]]:
    """Of each scenario under fgio: off, on, floor, service in ms; on over floor in services."""
    if content.get("experiment") != Scenarios.name:
        raise host.LabError(f"made by {content.get('command')}, which runs no scenarios")
    rows: dict[str, list[ScenarioRow]] = {}
    for line in content["rows"]:
        if line["config"] == FGIO:
            rows.setdefault(line["scenario"], []).append(ScenarioRow.from_json(line))
    if not rows:
        raise host.LabError(f"made by {content.get('command')}, which ran none under {FGIO}")
    found = {}
    for name, members in rows.items():
        off, on, floor = (
            bounds.median([row.median(condition) for row in members])
            for condition in ("off", "on", "floor")
        )
        service = statistics.median(row.service_ms for row in members)
        over = None if None in (on, floor) else (on - floor) / service
        found[name] = (off, on, floor, service, over)
    return found


def _columns(rows: list[ScenarioRow]) -> list[tuple[str, str, str]]:
    """The columns of tables of scenarios: heading, configuration, condition."""
    configs = list(dict.fromkeys(row.config for row in rows))
    columns = [(name, name, "stock") for name in configs if name != FGIO]
    if FGIO in configs:
        columns += [("off", FGIO, "off"), ("on", FGIO, "on")]
    return [*columns, ("floor", FGIO if FGIO in configs else configs[0], "floor")]


def _headings(rows: list[ScenarioRow]) -> list[str]:
    return [*(heading for heading, *_ in _columns(rows)), "service", ""]


def _lines(rows: list[ScenarioRow]) -> list[tuple[Scenario, list[str]]]:
    """A line of a table for each scenario of the first seed: its figures, and its fault."""
    first = [row for row in rows if row.seed == rows[0].seed]
    by_config = {(row.scenario, row.config): row for row in first}
    lines = []
    for scenario in dict.fromkeys(row.scenario for row in first):
        own = [row for row in first if row.scenario == scenario]
        members = [by_config.get((scenario, config)) for _, config, _ in _columns(rows)]
        conditions = [condition for *_, condition in _columns(rows)]
        figures = [
            row.median(condition) if row else None
            for row, condition in zip(members, conditions, strict=True)
        ]
        texts = [
            "-" if value is None else f"{value:.2f}" for value in (*figures, own[0].service_ms)
        ]
        fgio = by_config.get((scenario, FGIO))
        lines.append((scenario, [*texts, fgio.verdict() if fgio else ""]))
    return lines
