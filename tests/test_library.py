# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Thread flags, and libfgio on top of them, on stock kernels.

FGIO_KERNELS and FGIO_CHECKS choose as in test_scenarios.py.
"""

import pytest
import scenario
import test_scenarios

BATCHES = (scenario.Batch("library", ("words", "sections")),)


@pytest.mark.parametrize(("batch", "version", "check"), test_scenarios.each_check(BATCHES))
def test_check(batch: scenario.Batch, version: str, check: str) -> None:
    test_scenarios.judge(batch, version, check)
