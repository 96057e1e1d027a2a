# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cost of following waits, in instructions of a processor.

Rounds of programs that do nothing but wait for each other. Without foreground tasks no hook is
attached and a round costs the same as without the module; with them, contended waits are recorded.
"""

from collections.abc import Iterator
from pathlib import Path

from lab import kernel, paths
from lab.configurations import Configuration
from lab.experiments.base import compile_program, extra_modules, fgio_command, matching
from lab.experiments.counted import Count, CountedExperiment

MODES = ("pingpong", "pipe", "socket", "epoll", "mutex", "inode", "files", "ring", "worker")
MODES += ("names", "scan")
# Foreground threads: none (module absent or loaded), a bystander, or the waiting threads.
CONDITIONS = {
    "none": ("absent",),
    "fgio": ("none", "others", "themselves"),
}
SECONDS = 1
PREPARE = """
. $PAYLOAD/functions.sh
make_disk volume {seed} 512
use_elevator {elevator}
while read -r each; do
  [[ -d /sys/module/$each ]] || insmod "$PAYLOAD/extra/$each.ko" || stop "$each.ko does not load"
done <"$PAYLOAD/extra.order"
mkdir /files
mkfs.xfs -q -f -K "/dev/$DISK" || stop "mkfs.xfs failed"
mount -t xfs "/dev/$DISK" /files || stop "xfs does not mount"
cd $RESULTS
"""
OTHERS = """
sleep 1000 & other=$!
$PAYLOAD/bin/fgio tag --foreground $other
"""
CELL = """
phase {mode}, foreground: {condition}
$PAYLOAD/bin/contend {mode} {seconds} {word} >{mode}-{condition} || stop "contend failed"
"""


class WaitCost(CountedExperiment):
    """Waits, io_uring and names: with foreground tasks or none."""

    name = "wait-cost"
    description = "waits for locks, replies, io_uring and names: instructions per round"
    device = "volume"
    configurations = tuple(CONDITIONS)
    duration_s = 12
    setup_s = 5
    variants = ("1", "2", "4")
    modules = ("simdisk",)
    units = {
        "foreground.throughput": "rounds per second of virtual time",
        "instructions_per_io": "instructions of all CPUs for each round",
    }

    def __init__(self):
        self.modes = MODES

    def choose_part(self, only: str) -> None:
        """Runs the programs alone whose names match. Raises LabError for none."""
        self.modes = matching(only, MODES, "program")

    def prepare(self) -> None:
        compile_program("contend", "-static", "-pthread")

    def files(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> dict[str, Path | str]:
        return {
            "bin/contend": paths.BUILD / "guest" / "contend",
            "bin/fgio": fgio_command(),
            **extra_modules(chosen, ("xfs",)),
        }

    def script(self, configuration: Configuration, seed: int, variant: str) -> str:
        script = PREPARE.format(seed=seed, elevator=configuration.elevator)
        for condition in CONDITIONS[configuration.name]:
            if condition == "others":
                script += OTHERS
            word = "foreground" if condition == "themselves" else ""
            for mode in self.modes:
                script += CELL.format(mode=mode, condition=condition, seconds=SECONDS, word=word)
        return script

    def counts(self, folder: Path, configuration: Configuration, variant: str) -> Iterator[Count]:
        for condition in CONDITIONS[configuration.name]:
            for mode in self.modes:
                text = (folder / f"{mode}-{condition}").read_text()
                rounds, elapsed_ns = (int(word) for word in text.split())
                cell = f"{mode}, {variant} CPU, foreground: {condition}"
                yield Count.of_time(cell, rounds, elapsed_ns)
