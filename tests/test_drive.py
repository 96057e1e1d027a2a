# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Commands to a drive with a priority command, on stock kernels: docs/drive-priority.md.

FGIO_KERNELS and FGIO_CHECKS choose as in test_scenarios.py.
"""

import pytest
import scenario
import test_scenarios

from lab.experiments.base import fgio_command

BATCHES = (scenario.Batch("drive", ("drive",), files=lambda: {"bin/fgio": fgio_command()}),)


@pytest.mark.parametrize(("batch", "version", "check"), test_scenarios.each_check(BATCHES))
def test_check(batch: scenario.Batch, version: str, check: str) -> None:
    test_scenarios.judge(batch, version, check)
