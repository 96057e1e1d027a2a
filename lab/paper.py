# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The evaluation (FAST'17, section 7): one run of many experiments."""

import argparse
import copy
from dataclasses import dataclass
from pathlib import Path

from lab import configurations, experiments, runner
from lab.configurations import ABLATION
from lab.experiments.base import matching

NAME = "paper"
# With one processor of 1 GHz, waits for the processor would hide those for the disk.
INSTRUCTIONS_PER_NS = 4
DESCRIPTION = (
    "all figures of the evaluation, one after the other (a day or two; --only, --resume is implied)"
)


@dataclass(frozen=True)
class Figure:
    """One figure of the evaluation.

    name: also the folder of its results; of: its number in the paper
    part: of the experiment, as --only chooses it; device: another than its own
    chosen: configurations, where not all of it
    instructions_per_ns: speed of the processor; None: each part's own
    """

    name: str
    of: str
    experiment: str
    part: str = ""
    device: str = ""
    chosen: tuple[str, ...] = ()
    instructions_per_ns: int | None = INSTRUCTIONS_PER_NS


FIGURES = (
    Figure(
        "tpcc", "figures 4 to 6 and table 2", "tpcc", "^tpcc-(fits|misses|mostly-misses)(-paced)?$"
    ),
    Figure("ycsb", "figures 7 and 8 and table 3", "ycsb", "^(fits|misses|mostly-misses)(-paced)?$"),
    Figure("ycsb-redis", "figure 9", "ycsb-redis", instructions_per_ns=None),
    Figure("rocksdb", "not there: RocksDB", "rocksdb"),
    Figure("first-light", "not there: a base backup", "first-light"),
    Figure("databases", "not there: small background bursts", "databases"),
    Figure("tpcc-ssd", "figures 4 and 6 on a SATA SSD", "tpcc", "^tpcc-fits(-paced)?$", "ssd"),
    Figure("tpcc-hdd", "figures 4 and 6 on a hard disk", "tpcc", "^tpcc-fits(-slowly)?$", "hdd"),
    Figure("ycsb-ssd", "figures 7 and 8 on a SATA SSD", "ycsb", "^fits(-paced)?$", "ssd"),
    Figure("ycsb-hdd", "figures 7 and 8 on a hard disk", "ycsb", "^fits(-slowly)?$", "hdd"),
    Figure("rocksdb-ssd", "not there: RocksDB on a SATA SSD", "rocksdb", device="ssd"),
    Figure("rocksdb-hdd", "not there: RocksDB on a hard disk", "rocksdb", device="hdd"),
    # Paced: as fast as they go, clients that wait less ask for more, and both would be compared.
    Figure(
        "ablation-postgresql",
        "figure 10, PostgreSQL",
        "tpcc",
        "^tpcc-fits-paced$",
        chosen=ABLATION,
    ),
    Figure("ablation-wiredtiger", "figure 10, MongoDB", "ycsb", "^fits-paced$", chosen=ABLATION),
    Figure("ycsb-evicting", "not there: WiredTiger as it comes", "ycsb", "^fits-evicting-paced$"),
    Figure(
        "tpcc-timed",
        "not there: PostgreSQL's own checkpoints",
        "tpcc",
        "^tpcc-fits-timed$",
        chosen=("floor", "mq-deadline", "mq-deadline-rt", "bfq-idle", "fgio"),
    ),
    Figure("depth", "figure 11", "depth"),
    Figure("drive-priority", "not there: IO Priority, HotStorage", "drive-priority"),
)


def plans(options: argparse.Namespace) -> list[runner.Plan]:
    """The plans of the figures that were asked for. Raises LabError when none matches --only."""
    chosen = matching(options.only or "", (figure.name for figure in FIGURES), "figure")
    found = [figure for figure in FIGURES if figure.name in chosen]
    return [plan for figure in found if (plan := _plan(figure, options)).tasks()]


def _plan(figure: Figure, options: argparse.Namespace) -> runner.Plan:
    # Of its own: two figures may be of two parts of one experiment.
    experiment = copy.copy(experiments.find(figure.experiment))
    if figure.part:
        experiment.choose_part(figure.part)
    device = options.device or figure.device
    if device:
        experiment.choose_device(device)
    names = figure.chosen or experiment.configurations
    if options.configs:
        asked = options.configs.split(",")
        configurations.choose(asked, configurations.BY_NAME)
        names = [name for name in asked if name in (*names, *experiment.valid())]
    chosen = configurations.choose(names, configurations.BY_NAME)
    out = Path(options.out) / figure.name
    speed = options.instructions_per_ns or figure.instructions_per_ns
    return runner.Plan(experiment, tuple(chosen), options.seeds, out, speed)
