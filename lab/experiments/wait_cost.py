# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What does following waits cost a processor, in instructions?

The virtual clock counts instructions, one a nanosecond, so the time of a round of a program that
does nothing but wait is what a round costs, on all CPUs together. Without foreground tasks no hook
is attached, and nothing may be seen; with them, a round's contended waits are recorded.
"""

from lab import guest, kernel, paths
from lab.configurations import Configuration
from lab.experiments.base import (
    Experiment,
    Row,
    check,
    compile_program,
    counted_row,
    extra_modules,
    fgio_command,
    need_modules,
    payload,
)

MODES = ("pingpong", "mutex", "inode", "files")
# Who is foreground: nobody (module absent or loaded), somebody else, or the waiting threads.
CONDITIONS = {
    "none": ("absent",),
    "fgio": ("nobody", "others", "themselves"),
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


class WaitCost(Experiment):
    """Futexes, kernel locks and buffers of XFS, with and without foreground tasks."""

    name = "wait-cost"
    description = "lock-heavy and futex-heavy programs: instructions per round"
    device = "volume"
    configurations = tuple(CONDITIONS)
    duration_s = 12
    setup_s = 5
    variants = ("1", "2", "4")
    units = {
        "foreground.throughput": "rounds per second of virtual time",
        "instructions_per_io": "instructions of all CPUs for each round",
    }

    def prepare(self) -> None:
        compile_program("contend", "-static", "-pthread")

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        need_modules(chosen, "simdisk", *(["fgio"] if configuration.elevator == "fgio" else []))
        taken = payload(chosen)
        taken["bin/contend"] = paths.BUILD / "guest" / "contend"
        taken["bin/fgio"] = fgio_command()
        taken.update(extra_modules(chosen, ("xfs",)))
        script = PREPARE.format(seed=seed, elevator=configuration.elevator)
        for condition in CONDITIONS[configuration.name]:
            if condition == "others":
                script += OTHERS
            word = "foreground" if condition == "themselves" else ""
            for mode in MODES:
                script += CELL.format(mode=mode, condition=condition, seconds=SECONDS, word=word)
        return guest.Boot(
            kernel=chosen,
            commands=script,
            payload=taken,
            cpus=int(variant),
            limit_s=self.limit_s,
            heartbeat_s=0,
            seed=seed,
        )

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, f"{self.name} under {configuration.name}")
        rows = []
        for condition in CONDITIONS[configuration.name]:
            for mode in MODES:
                text = (outcome.results / f"{mode}-{condition}").read_text()
                rounds, elapsed_ns = (int(word) for word in text.split())
                cell = f"{mode}, {variant} CPU, foreground: {condition}"
                rows.append(counted_row(configuration.name, seed, cell, rounds, elapsed_ns))
        return rows
