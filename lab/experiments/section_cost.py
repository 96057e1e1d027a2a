# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cost of the begin and end of a section, in instructions.

Pairs of libfgio's calls, through the shared library as programs use it, beside the tag by ioctl(2)
and beside ioprio_set(2).
"""

from collections.abc import Iterator
from pathlib import Path

from lab import kernel, paths
from lab.configurations import Configuration
from lab.experiments.base import build_libfgio, compile_program
from lab.experiments.counted import Count, CountedExperiment

# none: without the module; fgio: with it.
WAYS = {
    "none": ("nothing", "section", "request", "ioprio"),
    "fgio": ("nothing", "section", "request", "tag", "ioprio"),
}
PAIRS = {"nothing": 1_000_000, "section": 1_000_000, "request": 1_000_000}
PAIRS_BY_CALL = 100_000
LIBRARY = "libfgio.so.1"
SCRIPT = """
. $PAYLOAD/functions.sh
cd $RESULTS
"""
CELL = """
phase {way}
LD_LIBRARY_PATH=$PAYLOAD/lib $PAYLOAD/bin/section-cost {way} {pairs} >{way} || stop "{way} failed"
"""


class SectionCost(CountedExperiment):
    """Beginning and ending a section, with the module and without."""

    name = "section-cost"
    description = "to begin and end a section: instructions per pair"
    configurations = tuple(WAYS)
    duration_s = 1
    setup_s = 2
    units = {
        "foreground.throughput": "pairs per second of virtual time",
        "instructions_per_io": "instructions for each pair of begin and end",
    }

    def prepare(self) -> None:
        compile_program("section-cost", f"-L{build_libfgio()}", "-lfgio")

    def files(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> dict[str, Path | str]:
        return {
            "bin/section-cost": paths.BUILD / "guest" / "section-cost",
            f"lib/{LIBRARY}": paths.BUILD / "lib" / LIBRARY,
        }

    def script(self, configuration: Configuration, seed: int, variant: str) -> str:
        script = SCRIPT
        if configuration.elevator == "fgio":
            script += "load_module fgio\n"
        for way in WAYS[configuration.name]:
            script += CELL.format(way=way, pairs=PAIRS.get(way, PAIRS_BY_CALL))
        return script

    def counts(self, folder: Path, configuration: Configuration, variant: str) -> Iterator[Count]:
        for way in WAYS[configuration.name]:
            pairs, elapsed_ns = (int(word) for word in (folder / way).read_text().split())
            yield Count.of_time(way, pairs, elapsed_ns)
