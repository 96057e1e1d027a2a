# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The limits of an unprivileged user, on stock kernels: docs/trust.md.

FGIO_KERNELS and FGIO_CHECKS choose as in test_scenarios.py, FGIO_SEED seeds the fuzzer.
"""

import drawn
import pytest
import scenario
import test_scenarios

FUZZED = {"FUZZ_SEED": drawn.SEED}
BATCHES = (scenario.Batch("trust", ("trust",), test_modules=True, environment=FUZZED),)


@pytest.mark.parametrize(("batch", "version", "check"), test_scenarios.each_check(BATCHES))
def test_check(batch: scenario.Batch, version: str, check: str) -> None:
    test_scenarios.judge(batch, version, check)
