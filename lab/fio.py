# SPDX-License-Identifier: Apache-2.0 OR MIT
"""fio jobs for the guest, and the per-I/O logs they leave.

Latency is always fio's total latency (`lat`): `clat` hides the time spent waiting for a
request to be allocated, which is where background load hurts first.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lab.figures import Requests

LOG_ENTRIES = 1_000_000


@dataclass(frozen=True)
class Job:
    """One fio job; `options` are fio's own, `priority` is (class, level) or None."""

    name: str
    options: dict[str, object] = field(default_factory=dict)
    priority: tuple[int, int] | None = None


def job_file(disk: str, seed: int, duration_s: float, jobs: list[Job], logs: bool = True) -> str:
    """The text of a job file: direct asynchronous I/O on a whole disk for a fixed time.

    With `logs`, each job writes NAME_lat.N.log: ms since the start, latency in ns, direction,
    bytes, offset.
    """
    lines = [
        "[global]",
        "ioengine=libaio",
        "direct=1",
        f"filename=/dev/{disk}",
        "time_based=1",
        f"runtime={round(duration_s * 1000)}ms",
        f"randseed={1000 + seed}",
        "random_generator=tausworthe64",
        "norandommap=1",
        "disable_clat=1",
        "disable_slat=1",
        "log_avg_msec=0",
        "per_job_logs=1",
        "clocksource=clock_gettime",
    ]
    for job in jobs:
        lines.append(f"[{job.name}]")
        if logs:
            # fio stops with an assertion when a log grows while many I/Os complete at once.
            lines += [f"write_lat_log={job.name}", f"log_entries={LOG_ENTRIES}"]
        lines += [f"{key}={value}" for key, value in job.options.items()]
        if job.priority:
            lines.append(f"prioclass={job.priority[0]}")
            if job.priority[0] != 3:
                lines.append(f"prio={job.priority[1]}")
    return "\n".join(lines) + "\n"


def read_log(folder: Path, name: str) -> tuple[Requests, int]:
    """The requests of a job and the bytes they moved; nothing when the job did not run."""
    parts, moved = [], 0
    for file in sorted(folder.glob(f"{name}_lat.*.log")):
        if not file.stat().st_size:
            continue
        table = np.loadtxt(file, delimiter=",", usecols=(0, 1, 3), ndmin=2)
        parts.append(Requests(table[:, 0] / 1e3, table[:, 1] / 1e6))
        moved += int(table[:, 2].sum())
    return Requests.join(parts), moved
