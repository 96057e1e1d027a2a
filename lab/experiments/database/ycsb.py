# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Records of YCSB's clients of any database (guest/ycsb.h)."""

from pathlib import Path

import numpy as np

from lab import host, paths
from lab.figures import Requests

SOURCE = paths.LAB / "guest" / "ycsb.c"
# Workload A: the share of updates; the others read.
UPDATE_SHARE = 0.5
US_PER_S = 1e6
US_PER_MS = 1e3


def requests(folder: Path, begin: float, end: float) -> dict[str, Requests]:
    """All requests, reads and updates of all clients that were answered from begin to end."""
    files = [file for file in sorted(folder.glob("requests*")) if file.stat().st_size]
    tables = [np.loadtxt(file, ndmin=2) for file in files]
    if not tables:
        raise host.LabError(f"{folder}: no request was answered")
    ended_us, latency_us, is_update = np.concatenate(tables).T
    kinds = {"": is_update >= 0, "reads": is_update == 0, "updates": is_update == 1}
    return {
        kind: Requests(ended_us[chosen] / US_PER_S - begin, latency_us[chosen] / US_PER_MS).between(
            0, end - begin
        )
        for kind, chosen in kinds.items()
    }
