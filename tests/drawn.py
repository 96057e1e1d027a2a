# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What one run of all tests leaves to the next: halves that each run draws afresh.

All checks on all kernels take longer than a change should wait. FGIO_EVERY=1 runs them all; so does
a choice of kernels, checks or scenarios by the environment, among what is chosen. FGIO_SEED draws
again what a run says that it has drawn.
"""

import os
import random
from collections.abc import Iterable

EVERY = bool(os.environ.get("FGIO_EVERY"))
CHOICES = ("FGIO_KERNELS", "FGIO_CHECKS", "FGIO_SCENARIOS")
ALL = EVERY or any(os.environ.get(name) for name in CHOICES)
SEED = os.environ.get("FGIO_SEED") or str(random.randrange(1 << 48))
# What was drawn from -> what of it runs.
said: dict[str, list[str]] = {}


def half(what: str, names: Iterable[str], seed: str = SEED, everything: bool = ALL) -> set[str]:
    """Half of the names, or all where all are to run. Of an odd one, chance decides."""
    each = sorted(set(names))
    if everything:
        return set(each)
    # A generator of its own: it does not matter what is drawn before.
    generator = random.Random(f"{seed} {what}")
    drawn = generator.sample(each, (len(each) + generator.randrange(2)) // 2)
    said[what] = sorted(drawn)
    return set(drawn)
