# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Shared by experiments that count instructions: per I/O, per round, per transaction, per pair.

The virtual clock counts the instructions of all CPUs together, one a nanosecond. The program that
is measured never sleeps, so the time from one unit of its work to the next is the number of
instructions that a unit takes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lab import guest, kernel
from lab.configurations import Configuration
from lab.experiments.base import NS_PER_S, Experiment, Row, check, need_modules, payload


@dataclass(frozen=True)
class Count:
    """One cell: the foreground's figures, and instructions (ns) for each unit of work."""

    cell: str
    foreground: dict
    instructions: float
    extra: dict = field(default_factory=dict)

    @classmethod
    def of_time(cls, cell: str, units: int, elapsed_ns: int) -> "Count":
        """From the time that a number of units took."""
        figures = {"throughput": round(units * NS_PER_S / elapsed_ns, 1), "n": units}
        return cls(cell, figures, elapsed_ns / units)

    @classmethod
    def of_rate(cls, cell: str, units: int, per_second: float) -> "Count":
        """From the number of units per second."""
        figures = {"throughput": round(per_second, 1), "n": units}
        return cls(cell, figures, NS_PER_S / per_second)

    def row(self, config: str, seed: int) -> Row:
        """The row of summary.json."""
        instructions = {"instructions_per_io": round(self.instructions, 1)}
        return Row(
            config, seed, self.foreground, {}, {"cell": self.cell, **self.extra, **instructions}
        )


class CountedExperiment(Experiment):
    """A boot per configuration and variant, in which one program after another is counted.

    modules: ours that every boot needs; fgio is added where it is the elevator
    """

    modules: tuple[str, ...] = ()

    def script(self, configuration: Configuration, seed: int, variant: str) -> str:
        """The commands of a boot."""
        raise NotImplementedError

    def files(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> dict[str, Path | str]:
        """The payload of a boot, beside the modules and functions.sh."""
        return {}

    def disks(self) -> tuple[Path, ...]:
        """Images of the disks that a boot has."""
        return ()

    def counts(self, folder: Path, configuration: Configuration, variant: str) -> Iterator[Count]:
        """The cells that a boot left in its folder of results."""
        raise NotImplementedError

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        ours = ("fgio",) if configuration.elevator == "fgio" else ()
        need_modules(chosen, *self.modules, *ours)
        return guest.Boot(
            kernel=chosen,
            commands=self.script(configuration, seed, variant),
            payload=payload(chosen) | self.files(chosen, configuration, seed, variant),
            disks=self.disks(),
            cpus=int(variant or 1),
            limit_s=self.limit_s,
            heartbeat_s=0,
            seed=seed,
        )

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, f"{self.name} under {configuration.name}")
        counts = self.counts(outcome.results, configuration, variant)
        return [count.row(configuration.name, seed) for count in counts]
