# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a foreground task waits for, one thing at a time: with and without fgio's help."""

import functools
import re
import statistics
import threading
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from lab import guest, host, kernel, paths
from lab.configurations import Configuration
from lab.experiments.base import (
    Experiment,
    Row,
    check,
    extra_modules,
    matching,
    need_modules,
    payload,
    settings,
)

SOURCES = paths.ROOT / "tests" / "scenarios"
TEST_MODULE = paths.ROOT / "tests" / "kmod"
# Every switch of the module: on, but for the control.
ALL = ("stamp", "admission", "queue", "locks", "journal", "io", "user", "transitive")
ALL += ("pagecache", "commits", "boost")
CONDITIONS = ("floor", "off", "on")
# The first round of a scenario teaches who helps whom.
TAUGHT = 1
# What is asked for: service times above the floor, and times less than without.
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
    """One scenario: medians of what its foreground waited, in ms; None where it did not run.

    waits: condition -> every round's wait in ms
    failures: condition -> why it did not run; "kernel" -> what the kernel complained about
    """

    scenario: Scenario = None
    service_ms: float = 0
    waits: dict[str, list[float]] = None
    failures: dict[str, str] = None

    def median(self, condition: str) -> float | None:
        """The median wait under a condition, in ms."""
        waits = self.waits.get(condition)
        return round(statistics.median(waits), 4) if waits else None

    def as_json(self) -> dict:
        return {
            "scenario": self.scenario.name,
            "title": self.scenario.title,
            "config": self.config,
            "seed": self.seed,
            **{f"{condition}_ms": self.median(condition) for condition in CONDITIONS},
            "service_ms": self.service_ms,
            **{
                f"{condition}_max_ms": max(self.waits[condition], default=None)
                for condition in CONDITIONS
                if condition in self.waits
            },
            "rounds": {name: len(waits) for name, waits in self.waits.items()},
            "switches_off": self.scenario.off.split(","),
            "failures": self.failures,
        }

    def verdict(self) -> str:
        """What is wrong with the figures, or nothing."""
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
    newest = max(file.stat().st_mtime for file in (*sources, *SOURCES.glob("*.h")))
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
    """Every scenario: floor (idle device), off (mechanism switched off) and on."""

    name = "scenarios"
    description = "what a foreground task waits for, one thing at a time: off, on and floor"
    device = "volume"
    configurations = ("fgio",)
    duration_s = 120
    setup_s = 2
    limit_s = 1800
    memory_mib = 1536
    variants = ("user", "file", "kernel", "journal", "xfs", "cache", "fast", "dm")
    units = {
        "off_ms, on_ms, floor_ms": "median wait of the foreground task in ms",
        "off": "the mechanism and all boosting switched off",
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
        need_modules(chosen, "simdisk", "fgio")
        taken = payload(chosen, "scenarios.sh")
        taken["scenarios"] = program()
        taken["modules/fgio_test.ko"] = test_module(chosen)
        values = {"DEVICE": self.device, "SEED": seed, "GROUP": variant}
        values |= {"ONLY": self.only, "ALL": " ".join(ALL)}
        taken["scenarios.env"] = settings(values)
        if variant == "xfs":
            taken.update(extra_modules(chosen, ("xfs",)))
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

    def table(self, rows: list[ScenarioRow]) -> Table:
        """The figures as a table for the terminal."""
        drawn = Table(title=f"{self.name} on {self.device}", title_justify="left")
        drawn.add_column("scenario")
        for heading in ("off ms", "on ms", "floor ms", "service ms"):
            drawn.add_column(heading, justify="right")
        drawn.add_column("")
        for row in rows:
            figures = [row.median(name) for name in ("off", "on", "floor")] + [row.service_ms]
            texts = ["-" if value is None else f"{value:.2f}" for value in figures]
            drawn.add_row(row.scenario.name, *texts, row.verdict())
        return drawn

    def markdown(self, content: dict, rows: list[ScenarioRow]) -> str:
        """The figures as Markdown."""
        lines = [
            "# Scenarios",
            "",
            f"Kernel {content['kernel_release']}, device model {content['device']}, virtual time, "
            f"made by `{content['command']}`.",
            "",
            "What a foreground task waited, in ms (medians): with the mechanism and all boosting "
            "switched off, with everything on, and with nothing else at the device. Service is the "
            "mean latency of one 4 KiB read at a time on the idle device.",
            "",
            "| scenario | what is waited for | off | on | floor | service | |",
            "|---|---|--:|--:|--:|--:|---|",
        ]
        for row in rows:
            figures = [row.median(name) for name in ("off", "on", "floor")] + [row.service_ms]
            texts = ["-" if value is None else f"{value:.2f}" for value in figures]
            cells = [row.scenario.name, row.scenario.title, *texts, row.verdict()]
            lines.append(f"| {' | '.join(cells)} |")
        return "\n".join(lines) + "\n"
