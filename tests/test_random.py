# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A minute of random events; make stress-random has an hour.

FGIO_SEED replays one (a fresh seed each time otherwise, which a failure prints).
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
