# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Where the lab finds and keeps things."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAB = ROOT / "lab"
BUILD = Path(os.environ.get("FGIO_BUILD", ROOT / "build"))
# Of kmod/: the product's, and the lab's own.
MODULES = ("fgio.ko", "simdisk.ko", "fgio_gate.ko", "fgio_withhold.ko", "fgio_least.ko")
CACHE = Path(os.environ.get("FGIO_CACHE", BUILD / "cache"))


def modules_folder(release: str) -> Path:
    """The folder where kmod's build collects fgio.ko and the lab's modules for a kernel release."""
    return BUILD / "kmod" / release
