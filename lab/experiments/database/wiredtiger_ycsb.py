# SPDX-License-Identifier: Apache-2.0 OR MIT
"""WiredTiger under YCSB's workload A, with the engine's own checkpoints as the background burst."""

from pathlib import Path

from lab import dataset, host, image, paths, rivals
from lab.experiments.base import compile_program
from lab.experiments.database import wiredtiger
from lab.experiments.database.base import Database, Measured, OnHardDisk, offered
from lab.experiments.database.ycsb import SOURCE, UPDATE_SHARE, requests

PROGRAM = "wt-clients"
SOURCE_OF_CLIENTS = paths.LAB / "guest" / f"{PROGRAM}.c"
CLIENTS = 8
MEMORY_MIB = 640
# A row of 1,000 bytes as it lies in the file, in a leaf of 8 KiB.
BYTES_PER_ROW = 1024
# For the log and rewritten pages; a file also is a quarter larger than its rows.
ROOM_MIB = 440
FILE_PER_ROWS = 1.25
# Of the data, in the engine's cache (FAST'17, 7.2); and of memory at most, so that the kernel and
# its page cache keep some.
CACHED = 0.4
CACHED_OF_MEMORY = 0.5
# Dirty pages stay for the checkpoint, as the engine had it when MongoDB was measured there. As it
# comes today, eviction begins at 5 % of the cache dirty, and clients help from 20 % on.
KEEPS_DIRTY = ",".join(
    f"eviction_{what}_target=80,eviction_{what}_trigger=95" for what in ("dirty", "updates")
)
AS_IT_COMES = ""
# After the end of the last one. MongoDB waits for 60 s, with half an hour to measure.
CHECKPOINT_S = 3


class WiredTigerYcsb(Database):
    """Reads and durable updates, half and half, as fast as the clients can, or at a rate."""

    script = "wiredtiger-ycsb.sh"
    programs = PROGRAM
    memory_mib = MEMORY_MIB
    duration_s = 12
    warm_s = 1
    # Of the file system, where mke2fs would choose one by the size of the image.
    journal_mib = 0

    def __init__(self, size: str, share: float, rate: int, eviction: str = KEEPS_DIRTY):
        """share: of the data, in memory; rate: requests a second; 0: as many as there can be.

        eviction: settings of the engine for when it begins
        """
        self.name = size
        self.title = f"WiredTiger {wiredtiger.VERSION}, YCSB A, data of {share} times the memory"
        if not eviction:
            self.title += ", eviction as it comes"
        self.mib = int(share * MEMORY_MIB)
        self.load = (
            f"reads and durable updates of 1,000 bytes, half and half, {CLIENTS} clients, "
            f"{offered(rate, 'requests')}"
        )
        self.burst = _burst(CHECKPOINT_S)
        self.settings = {
            "RATE": rate,
            "CLIENTS": CLIENTS,
            "UPDATE_SHARE": UPDATE_SHARE,
            "KEYS": self._keys(),
            "ENGINE": self._engine(),
            "EVICTION": eviction,
            "CHECKPOINTS": _checkpoints(CHECKPOINT_S),
            "CONNECTION": "",
        }

    def _keys(self) -> int:
        return self.mib * host.MIB // BYTES_PER_ROW

    def _engine(self) -> str:
        cache_mib = int(min(CACHED * self.mib, CACHED_OF_MEMORY * MEMORY_MIB))
        return f"cache_size={cache_mib}M,log=(enabled),{wiredtiger.STATISTICS}"

    def prepare(self) -> None:
        built = wiredtiger.programs()
        library = built / wiredtiger.LIBRARY
        clients = compile_program(
            PROGRAM, str(SOURCE), f"-I{built}", str(library), "-pthread", "-lm"
        )
        size_mib = self._size_mib()

        def load(fresh: Path) -> None:
            data = fresh.parent / "data"
            (data / "db").mkdir(parents=True)
            host.run(
                [str(clients), str(data / "db"), "load", str(self._keys())],
                what="loading the YCSB data set",
                env={"LD_LIBRARY_PATH": str(built)},
            )
            options = ("-J", f"size={self.journal_mib}") if self.journal_mib else ()
            image.make_ext4(fresh, data, image.round_up(size_mib * host.MIB), *options)

        what = f"the YCSB data set, {self.mib} MiB"
        dataset.once(self.disk(), 2 * size_mib, what, "a minute or so", load)

    def _size_mib(self) -> int:
        return int(FILE_PER_ROWS * self.mib) + ROOM_MIB + self.journal_mib

    def disk(self) -> Path:
        sources = [file.read_text() for file in (SOURCE, SOURCE_OF_CLIENTS)]
        mark = image.fingerprint(wiredtiger.VERSION, self._keys(), self._size_mib(), *sources)
        return paths.CACHE / f"ycsb-{self.mib}-{mark}.ext4"

    def payload(self) -> dict[str, Path | str]:
        return {
            "wiredtiger": wiredtiger.programs(),
            f"bin/{PROGRAM}": paths.BUILD / "guest" / PROGRAM,
        }

    def throttles(self, device: str) -> rivals.Throttles:
        return rivals.wiredtiger(device)

    def read(self, folder: Path, begin: float, end: float) -> Measured:
        return Measured(requests(folder, begin, end), wiredtiger.checkpoints(folder))


class WiredTigerYcsbOnHardDisk(OnHardDisk, WiredTigerYcsb):
    """YCSB A for a hard disk, with a journal as large as that of a file system of some GiB."""

    # With 16 MiB a syncing task waits for credits (docs/waits-io.md).
    journal_mib = 128

    def __init__(self, size: str, share: float, rate: int, checkpoint_s: int):
        """checkpoint_s: from a checkpoint's end to the next one"""
        super().__init__(size, share, rate)
        self.burst = _burst(checkpoint_s)
        self.settings |= {"CHECKPOINTS": _checkpoints(checkpoint_s)}


def _burst(checkpoint_s: int) -> str:
    return (
        f"a checkpoint {checkpoint_s} s after the end of the last one, and eviction; "
        "*floor*: eviction alone"
    )


def _checkpoints(checkpoint_s: int) -> str:
    return f"checkpoint=(wait={checkpoint_s})"
