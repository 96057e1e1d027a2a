# SPDX-License-Identifier: Apache-2.0 OR MIT
"""WiredTiger, MongoDB's engine: wtperf's reads and durable updates beside its checkpoints."""

import json
import sys
from pathlib import Path

import numpy as np

from lab import dataset, figures, host, image, paths, rivals
from lab.bounds import Bound
from lab.experiments.database.base import Database, Measured

VERSION = "11.3.1"
SHA256 = "95052d1b6fc06921dd617aafa1ba2a773d8dbbbf2eb74f77147290a630e598d0"
# Debian's WiredTiger names no threads, and no other package has wtperf.
BUILD = """
set -e
cd "$1"
"$2" -m pip --quiet --disable-pip-version-check download --no-deps --no-binary wiredtiger \
  wiredtiger=={version}
echo "{sha256}  wiredtiger-{version}.tar.gz" | sha256sum --quiet --check
tar xf wiredtiger-{version}.tar.gz
cd wiredtiger-{version}
cmake -G Ninja -B build -DENABLE_PYTHON=0 -DENABLE_SHARED=1 -DENABLE_STRICT=0 \
  -DCMAKE_BUILD_TYPE=Release
ninja -C build libwiredtiger.so wtperf
mkdir "$1/programs"
cp "$(find build -type f -name wtperf)" "$(find build -name 'libwiredtiger.so.*' -type f)" \
  build/include/wiredtiger.h "$1/programs/"
"""
ROWS = 560_000
FILL_MIB = 700
ROOM_MIB = 900
SHAPE = f"""
table_config="type=file"
icount={ROWS}
value_sz=1000
random_value=true
"""
POPULATE = f"""
conn_config="create,cache_size=500M,log=(enabled)"
{SHAPE}
"""
# A tenth of the data in the cache, and commits are on the disk, as with MongoDB's j: true.
# random_range: the rows need not be counted first.
RUN = f"""
conn_config="cache_size=96M,log=(enabled),transaction_sync=(enabled=true,method=fsync),%s"
{SHAPE}
create=false
close_conn=false
random_range=1
threads=((count=8,reads=1,throttle=75),(count=8,updates=1,throttle=75))
sample_interval=1
sample_rate=1
"""
STATISTICS = "statistics=(fast),statistics_log=(json,wait=1)"
CHECKPOINTS = "checkpoint=(wait=2)"
LIBRARY = f"libwiredtiger.so.{VERSION}"
SUCCEEDED, STATE = "total succeed number of checkpoints", "progress state"
US_PER_MS = 1000
MS_PER_S = 1000


class WiredTiger(Database):
    """Threads that read and threads that update durably; eviction and checkpoints."""

    name = "wiredtiger"
    title = f"WiredTiger {VERSION}"
    load = (
        "wtperf: 600 reads and 600 durable updates a second, from 8 threads each (they arrive "
        "when the thread is free); latencies above 1 ms in whole ms"
    )
    burst = "a checkpoint 2 s after the end of the last one, and eviction; *floor*: eviction alone"
    script = "wiredtiger.sh"
    programs = "wtperf"
    memory_mib = 640
    duration_s = 7
    warm_s = 0
    settings = {"CONNECTION": ""}

    def prepare(self) -> None:
        built = programs()

        def load(fresh: Path) -> None:
            data = fresh.parent / "data"
            (data / "db").mkdir(parents=True)
            (data / "populate").write_text(POPULATE)
            command = [str(built / "wtperf"), "-h", str(data / "db")]
            host.run(
                [*command, "-O", str(data / "populate")],
                what="loading the WiredTiger data set",
                env={"LD_LIBRARY_PATH": str(built)},
            )
            image.make_ext4(fresh, data, image.round_up((FILL_MIB + ROOM_MIB) * host.MIB))

        dataset.once(self.disk(), 3 * FILL_MIB, "the WiredTiger data set", "a minute or so", load)

    def disk(self) -> Path:
        mark = image.fingerprint(VERSION, POPULATE, FILL_MIB, ROOM_MIB)
        return paths.CACHE / f"wiredtiger-{mark}.ext4"

    def payload(self) -> dict[str, Path | str]:
        return {
            "wiredtiger": programs(),
            "run": RUN % f"{STATISTICS},{CHECKPOINTS}",
            "run-floor": RUN % STATISTICS,
        }

    def throttles(self, device: str) -> rivals.Throttles:
        return rivals.wiredtiger(device)

    def read(self, folder: Path, begin: float, end: float) -> Measured:
        span_s = end - begin
        parts = {f"{kind}s": _figures(folder, kind, span_s) for kind in ("read", "update")}
        return Measured(parts, checkpoints(folder))


def programs() -> Path:
    """A folder with wtperf, its library and the library's header, built when absent."""
    target = paths.CACHE / f"wiredtiger-{image.fingerprint(VERSION, BUILD)}"
    if target.is_dir():
        return target
    host.need_space(paths.CACHE, 1000, "building WiredTiger")
    host.tell("lab: building WiredTiger (some minutes, once)")
    script = BUILD.replace("{version}", VERSION).replace("{sha256}", SHA256)
    with host.whole(target) as fresh:
        folder = fresh.parent
        command = ["bash", "-c", script, "build", str(folder), sys.executable]
        host.run(command, what="building WiredTiger")
        (folder / "programs").rename(fresh)
    return target


def _figures(folder: Path, kind: str, span_s: float) -> dict:
    """From wtperf's histogram: lines of upper bound in us, count, and sums."""
    table = np.loadtxt(folder / f"latency.{kind}", delimiter=",", ndmin=2)
    latency_ms = np.repeat(table[:, 0] / US_PER_MS, table[:, 1].astype(int))
    requests = figures.Requests(np.zeros(len(latency_ms)), latency_ms)
    return figures.summarize(requests, span_s)


def checkpoints(folder: Path) -> dict:
    """How many and the longest: from the engine's statistics, of which it logs a line a second.

    The longest is a bound where one that had not ended at the end had been at it for longer.
    """
    text = (folder / "statistics").read_text()
    # The clients end when they are done, which may be amid a line.
    whole = text[: text.rfind("\n")]
    seen = [json.loads(line)["wiredTiger"]["checkpoint"] for line in whole.splitlines()]
    last = seen[-1]
    longest_s = last["max time (msecs)"] / MS_PER_S
    under_way_s = _under_way_s(seen)
    return {
        "checkpoints": last[SUCCEEDED],
        "checkpoint_s": Bound(under_way_s) if under_way_s > longest_s else longest_s,
    }


def _under_way_s(seen: list[dict]) -> float:
    """How long the checkpoint that had not ended at the end had been seen, in whole seconds."""
    lines = 0
    for line in reversed(seen):
        if not line.get(STATE) or line[SUCCEEDED] != seen[-1][SUCCEEDED]:
            break
        lines += 1
    return float(max(lines - 1, 0))
