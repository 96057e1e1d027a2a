# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Databases that label themselves: PostgreSQL with the extension, Redis with the module.

In one boot: which threads are foreground in the kernel's eyes, beside the list of all threads.
FGIO_KERNELS ("6.12" by default: what labels does not differ between kernels) and FGIO_CHECKS choose
as in test_scenarios.py; FGIO_SUITE the Debian release whose servers they are ("bookworm").
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import scenario
import test_scenarios

from lab import host, image, paths, servers
from lab.experiments.extension_cost import DATABASE, build_extension

SUITE = os.environ.get("FGIO_SUITE", image.SUITE)
CLUSTER = replace(DATABASE, suite=SUITE)
KERNELS = os.environ.get("FGIO_KERNELS", "6.12").split(",")


def built() -> dict[str, Path]:
    """The extension and the module, built here; guest name -> file."""
    folder = paths.ROOT / "integrations"
    files = {
        "postgresql/fgio.so": build_extension()
        if SUITE == image.SUITE
        else servers.extension(SUITE),
        "redis/fgio.so": paths.BUILD / "redis" / "fgio.so",
    }
    host.run(["make", "-s", "-C", str(folder / "redis")], what="building the Redis module")
    for name in ("fgio.control", "fgio--1.0.sql"):
        files[f"postgresql/{name}"] = folder / "postgresql" / name
    return files


def data_set() -> tuple[Path, ...]:
    """A cluster for each check that needs one: initdb takes minutes in a guest."""
    return (CLUSTER.image(), CLUSTER.image())


BATCH = scenario.Batch(
    "integrations",
    ("integrations",),
    memory_mib=2048,
    files=built,
    images=data_set,
    suite=SUITE,
)


@pytest.mark.parametrize(
    ("batch", "version", "check"), test_scenarios.each_check((BATCH,), KERNELS)
)
def test_check(batch: scenario.Batch, version: str, check: str) -> None:
    test_scenarios.judge(batch, version, check)
