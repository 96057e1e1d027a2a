# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The module on stock kernels: every check of every batch, and the kernel's log after each.

FGIO_KERNELS chooses kernels ("6.12,6.1" by default) and FGIO_CHECKS, a regular expression, single
checks. What a batch left is in build/scenarios/BATCH-KERNEL/.
"""

import os

import pytest
import scenario
from scenario import Batch

KERNELS = os.environ.get("FGIO_KERNELS", "6.12,6.1").split(",")
BATCHES = (
    Batch("interface", ("classes", "device", "tunables")),
    Batch("requests", ("requests", "stress")),
    Batch(
        "trouble",
        ("trouble",),
        memory_mib=448,
        disk_mib=1024,
        expected=r"I/O error|critical medium error",
    ),
    Batch("timing", ("timing",), cpus=1, counted_clock=True),
)
GOOD = "ok"


def _each_check() -> list:
    return [
        pytest.param(batch, version, check, id=f"{version}-{batch.name}-{check}")
        for version in KERNELS
        for batch in BATCHES
        for check in (*batch.checks(), "kernel_log")
    ]


@pytest.mark.parametrize(("batch", "version", "check"), _each_check())
def test_scenario(batch: Batch, version: str, check: str) -> None:
    report = scenario.report(batch, version)
    if check == "kernel_log":
        assert not report.died, report.died
        assert not scenario.trouble(batch, report.kernel_log)
        return
    verdict = report.verdicts.get(check)
    if verdict is None:
        if scenario.ONLY and not report.died:
            pytest.skip("FGIO_CHECKS leaves it out")
        pytest.fail(f"the guest did not get to it: {report.died or report.output[-2000:]}")
    if verdict.status == "skipped":
        pytest.skip(verdict.log.strip().splitlines()[-1])
    if verdict.status != GOOD:
        pytest.fail(f"{verdict.status} after {verdict.seconds} s\n{verdict.log}{report.died}")
