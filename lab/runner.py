# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs an experiment's boots side by side, shows how far they are, and gathers their rows."""

import os
import shutil
import time
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from lab import guest, host, kernel
from lab.configurations import Configuration
from lab.experiments.base import Experiment, Row

MIB_FOR_QEMU = 512


@dataclass(frozen=True)
class Task:
    """One boot of an experiment."""

    configuration: Configuration
    seed: int
    variant: str

    @property
    def label(self) -> str:
        """Name of the boot, also of its folder of raw data."""
        parts = (self.configuration.name, str(self.seed), self.variant)
        return "-".join(part for part in parts if part)


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

    def __init__(self, experiment: Experiment, total: int, console: Console):
        self.experiment = experiment
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
        self.all = self.progress.add_task(experiment.name, total=total, note="")
        self.finished = 0
        self.total = total
        self.begin = time.monotonic()

    def start(self, task: Task):
        """Adds a boot's line; returns what takes its console to move it."""
        span = self.experiment.setup_s + self.experiment.duration_s
        line = self.progress.add_task(task.label, total=span, note="booting")
        if self.plain:
            self.console.print(f"{self.experiment.name}: {task.label} begins", highlight=False)
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
        message = (
            f"{self.experiment.name}: {task.label} {word} ({self.finished}/{self.total}) {note}"
        )
        self.console.print(message, highlight=False)


def _tasks(experiment: Experiment, configurations: list[Configuration], seeds: int) -> list[Task]:
    return [
        Task(configuration, seed, variant)
        for seed in range(1, seeds + 1)
        for configuration in configurations
        for variant in experiment.variants
        if experiment.has(configuration, variant)
    ]


def _one(
    experiment: Experiment, chosen: kernel.Kernel, task: Task, raw: Path, display: _Display
) -> list[Row]:
    boot = experiment.boot(chosen, task.configuration, task.seed, task.variant)
    line, watch = display.start(task)
    word = "failed"
    try:
        outcome = guest.run(boot, raw / task.label, watch)
        (raw / task.label / "console").write_text(outcome.console)
        rows = experiment.read(outcome, task.configuration, task.seed, task.variant)
        word = f"done in {outcome.host_s:.0f} s"
        return rows
    except guest.GuestError as error:
        (raw / task.label).mkdir(parents=True, exist_ok=True)
        (raw / task.label / "console").write_text(error.console)
        raise host.LabError(f"{experiment.name}, {task.label}: {error}") from error
    finally:
        display.end(line, task, word)


def run(
    experiment: Experiment,
    configurations: list[Configuration],
    seeds: int,
    chosen: kernel.Kernel,
    out: Path,
    console: Console,
) -> list[Row]:
    """Runs every boot and returns the rows in the order of seeds and configurations.

    The first failure ends the other boots and is raised (LabError).
    """
    experiment.prepare()
    tasks = _tasks(experiment, configurations, seeds)
    boots = [experiment.boot(chosen, t.configuration, t.seed, t.variant) for t in tasks]
    # Made before the first boot, so that two boots do not make them at once.
    for packages in {boot.packages for boot in boots}:
        guest.image.root_image(packages)
    guest.image.initramfs(chosen)
    raw = out / "raw"
    for task in tasks:
        shutil.rmtree(raw / task.label, ignore_errors=True)
    workers = parallel_boots(max(boot.host_mib or boot.given_mib for boot in boots))
    display = _Display(experiment, len(tasks), console)
    pool = ThreadPoolExecutor(workers)
    rows: dict[Task, list[Row]] = {}
    with display.progress:
        try:
            futures: dict[Future, Task] = {
                pool.submit(_one, experiment, chosen, task, raw, display): task for task in tasks
            }
            for future in as_completed(futures):
                rows[futures[future]] = future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            host.finish_all()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    return [row for task in tasks for row in rows[task]]
