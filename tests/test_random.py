# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A minute in which anything may happen at any time; make stress-random does so for an hour.

FGIO_SEED says what happens (a fresh one each time otherwise, which a failure prints).
"""

import os
import random

import scenario
import test_scenarios

SEED = int(os.environ.get("FGIO_SEED", random.randrange(1, 30000)))
SECONDS = 60


def test_anything_at_any_time() -> None:
    version = test_scenarios.KERNELS[0]
    print(f"FGIO_SEED={SEED}, kernel {version}")
    chosen = scenario.anything(SECONDS, SEED, 1200)
    report = scenario.boot(chosen, version)
    verdict = report.verdicts.get("anything_at_any_time")
    assert not report.died, report.died
    assert verdict, report.output[-2000:]
    assert verdict.status == test_scenarios.GOOD, verdict.log
    assert not scenario.trouble(chosen, report.kernel_log)
