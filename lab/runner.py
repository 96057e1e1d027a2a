# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs an experiment's boots side by side, shows how far they are, and gathers their rows."""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from lab import guest, host, kept, kernel
from lab.configurations import Configuration
from lab.experiments.base import Experiment, Row

MIB_FOR_QEMU = 512


@dataclass(frozen=True)
class Plan:
    """An experiment to run under some configurations, and the folder of its results.

    instructions_per_ns: speed of the guests' processors; None: the experiment's own
    """

    experiment: Experiment
    configurations: tuple[Configuration, ...]
    seeds: int
    out: Path
    instructions_per_ns: int | None = None

    def tasks(self) -> list["Task"]:
        """Its boots, by seed and configuration."""
        return [
            Task(self, configuration, seed, variant)
            for seed in range(1, self.seeds + 1)
            for configuration in self.configurations
            for variant in self.experiment.variants
            if self.experiment.has(configuration, variant)
        ]


@dataclass(frozen=True)
class Task:
    """One boot of an experiment."""

    plan: Plan
    configuration: Configuration
    seed: int
    variant: str

    @property
    def label(self) -> str:
        """Name of the boot, also of its folder of raw data."""
        parts = (self.configuration.name, str(self.seed), self.variant)
        return "-".join(part for part in parts if part)

    @property
    def raw(self) -> Path:
        """The folder of raw data."""
        return self.plan.out / "raw" / self.label

    def __str__(self) -> str:
        return f"{self.plan.experiment.name}: {self.label}"

    def boot(self, chosen: kernel.Kernel) -> guest.Boot:
        """The boot."""
        boot = self.plan.experiment.boot(chosen, self.configuration, self.seed, self.variant)
        speed = self.plan.instructions_per_ns
        return replace(boot, instructions_per_ns=speed) if speed else boot

    def read(self, outcome: guest.Outcome) -> list[Row]:
        """The rows that it yields."""
        return self.plan.experiment.read(outcome, self.configuration, self.seed, self.variant)


def parallel_boots(boot_mib: int) -> int:
    """How many guests fit at once: one for each core, as far as memory goes."""
    cores = len(os.sched_getaffinity(0))
    free_mib = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // host.MIB
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                free_mib = int(line.split()[1]) // 1024
    return max(1, min(cores, free_mib // (boot_mib + MIB_FOR_QEMU)))


class _Display:
    """The progress lines: one for each boot under way, one for all of them."""

    def __init__(self, total: int, console: Console):
        self.plain = not console.is_terminal
        self.console = console
        self.progress = Progress(
            TextColumn("{task.description:<28}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            disable=self.plain,
        )
        self.all = self.progress.add_task("all boots", total=total, note="")
        self.finished = 0
        self.total = total
        self.begin = time.monotonic()

    def start(self, task: Task):
        """Adds a boot's line; returns a function that moves it by the boot's console."""
        span = task.plan.experiment.setup_s + task.plan.experiment.duration_s
        line = self.progress.add_task(str(task), total=span, note="booting")
        if self.plain:
            self.console.print(f"{task} begins", highlight=False)
        phase = "booting"

        def watch(console: str) -> None:
            nonlocal phase
            virtual = 0.0
            for mark in guest.ANY_MARK.finditer(console):
                virtual = float(mark.group(1))
                if mark.group(2).startswith("phase "):
                    phase = mark.group(2).removeprefix("phase ")
            note = f"{phase}, {virtual:.0f} virtual s"
            self.progress.update(line, completed=min(virtual, span), note=note)

        return line, watch

    def end(self, line, task: Task, word: str) -> None:
        """Removes a boot's line and moves the one for all."""
        self.finished += 1
        self.progress.remove_task(line)
        spent = time.monotonic() - self.begin
        left = spent / self.finished * (self.total - self.finished)
        note = f"about {left / 60:.0f} min left" if self.finished < self.total else ""
        self.progress.update(self.all, advance=1, note=note)
        message = f"{task} {word} ({self.finished}/{self.total}) {note}"
        self.console.print(message, highlight=False)


def _one(boot: guest.Boot, task: Task, display: _Display) -> list[Row]:
    shutil.rmtree(task.raw, ignore_errors=True)
    # Of the payload as it is now: hours may have passed.
    mark = kept.fingerprint(boot)
    line, watch = display.start(task)
    word = "failed"
    try:
        outcome = guest.run(boot, task.raw, watch)
        kept.save(outcome, mark)
        rows = task.read(outcome)
        word = f"done in {outcome.host_s:.0f} s"
        return rows
    except guest.GuestError as error:
        task.raw.mkdir(parents=True, exist_ok=True)
        (task.raw / "console").write_text(error.console)
        raise host.LabError(f"{task}: {error}") from error
    finally:
        display.end(line, task, word)


class _Run:
    """Plans under way: boots to make, and the rows so far."""

    def __init__(self, plans: Sequence[Plan], chosen: kernel.Kernel):
        for plan in plans:
            plan.experiment.prepare()
        self.plans = plans
        self.boots = {task: task.boot(chosen) for plan in plans for task in plan.tasks()}
        # Made before the first boot, so that two boots do not make them at once.
        for system in {(boot.packages, boot.suite) for boot in self.boots.values()}:
            guest.image.root_image(*system)
        guest.image.initramfs(chosen)
        self.rows: dict[Task, list[Row]] = {}

    def recall(self) -> None:
        """Takes over the outcomes that earlier runs left of the same boots."""
        for task, boot in self.boots.items():
            outcome = kept.load(task.raw, kept.fingerprint(boot))
            if outcome and not outcome.status:
                # An outcome that cannot be read is made again.
                with contextlib.suppress(host.LabError):
                    self.rows[task] = task.read(outcome)

    def left(self) -> list[Task]:
        """Boots still to be made."""
        return [task for task in self.boots if task not in self.rows]

    def rows_of(self, plan: Plan) -> list[Row] | None:
        """A plan's rows in the order of its tasks; None before all are there."""
        tasks = plan.tasks()
        if any(task not in self.rows for task in tasks):
            return None
        return [row for task in tasks for row in self.rows[task]]


def run(
    plans: Sequence[Plan],
    chosen: kernel.Kernel,
    console: Console,
    done: Callable[[Plan, list[Row]], None],
    resumed: bool = False,
) -> None:
    """Makes every boot of some plans; calls `done` with a plan and its rows when it has all.

    The first failure ends the other boots and is raised (LabError). Resumed: boots whose outcome an
    earlier run left are not made again, as long as they would be the same; and a failure is raised
    when all others are through.
    """
    work = _Run(plans, chosen)
    if resumed:
        work.recall()
    left = work.left()
    for plan in plans:
        if not set(plan.tasks()) & set(left):
            done(plan, work.rows_of(plan))
    if left:
        _boot(work, left, console, done, resumed)


def _boot(
    work: _Run,
    left: list[Task],
    console: Console,
    done: Callable[[Plan, list[Row]], None],
    tolerant: bool,
) -> None:
    most_mib = max(work.boots[task].host_mib or work.boots[task].given_mib for task in left)
    display = _Display(len(left), console)
    pool = ThreadPoolExecutor(parallel_boots(most_mib))
    failures: list[host.LabError] = []
    with display.progress:
        try:
            futures: dict[Future, Task] = {
                pool.submit(_one, work.boots[task], task, display): task for task in left
            }
            for future in as_completed(futures):
                task = futures[future]
                try:
                    work.rows[task] = future.result()
                except host.LabError as error:
                    if not tolerant:
                        raise
                    failures.append(error)
                    continue
                rows = work.rows_of(task.plan)
                if rows is not None:
                    done(task.plan, rows)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            host.finish_all()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    if failures:
        raise host.LabError("\n".join(str(error) for error in failures))
