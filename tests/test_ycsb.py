# SPDX-License-Identifier: Apache-2.0 OR MIT
"""YCSB's requests (lab/guest/ycsb.c): popularity, keys and arrivals against theory."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lab import paths

THETA = 0.99
ITEMS = 10**10
COUNT = 200_000
KEYS = 50_000
# Of ranks below which the share is compared: exact sums up to here, an integral beyond.
BOUNDS = (1, 2, 10, 100, 1000, 10**5, 10**7, 10**9)
EXACT = 10**5
# Gray's power law is off by 0.0072 at most, near the hundredth rank; the rest is scatter
# (0.0011, the standard deviation of a share of a half).
MOST_OFF = 0.012

Draw = Callable[..., np.ndarray]


@pytest.fixture(scope="module")
def draw(tmp_path_factory) -> Draw:
    """Runs the generator, under the address and undefined-behaviour sanitizers."""
    built = tmp_path_factory.mktemp("ycsb") / "draws"
    sources = (Path(__file__).with_name("ycsb-draws.c"), paths.LAB / "guest" / "ycsb.c")
    command = ["gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{paths.ROOT}"]
    command += ["-fsanitize=address,undefined", "-fno-sanitize-recover", "-o", built, *sources]
    subprocess.run([*command, "-lm"], check=True)

    def drawn(*arguments: object) -> np.ndarray:
        done = subprocess.run(
            [built, *map(str, arguments)], capture_output=True, text=True, check=True
        )
        return np.loadtxt(done.stdout.splitlines())

    return drawn


def zeta(count: int) -> float:
    """The sum of 1/i^THETA from 1 to count."""
    exact = np.sum(1 / np.arange(1, min(count, EXACT) + 1) ** THETA)
    tail = 1 - THETA
    return float(exact + (max(count, EXACT) ** tail - EXACT**tail) / tail)


def most_off(ranks: np.ndarray) -> float:
    """The largest distance between the shares of the popular ranks and Zipf's."""
    shares = [np.mean(ranks < bound) for bound in BOUNDS]
    theory = [zeta(bound) / zeta(ITEMS) for bound in BOUNDS]
    return float(np.max(np.abs(np.subtract(shares, theory))))


def test_ranks_are_zipfian(draw):
    assert zeta(ITEMS) == pytest.approx(26.46902820178302, rel=1e-6)
    ranks = draw(COUNT, KEYS, 1)[:, 0]
    assert most_off(ranks) < MOST_OFF
    for uniform in (KEYS, ITEMS):
        assert most_off(np.random.default_rng(1).integers(0, uniform, COUNT)) > 10 * MOST_OFF


def test_popular_keys_are_anywhere(draw):
    ranks, keys = draw(COUNT, KEYS, 1).T
    assert keys.min() >= 0 and keys.max() < KEYS
    counts = np.sort(np.bincount(keys.astype(int), minlength=KEYS))[::-1]
    # A key is the popular one's, and has its share of the unpopular ones.
    assert counts[0] / COUNT == pytest.approx(1 / zeta(ITEMS), rel=0.05)
    assert len(np.unique(keys[ranks == 0])) == 1
    quarters = np.histogram(keys[ranks > 100], bins=4, range=(0, KEYS))[0]
    assert quarters / quarters.sum() == pytest.approx([0.25] * 4, abs=0.02)


def test_requests_arrive_at_random(draw):
    due_us, updates = draw(COUNT, KEYS, 1, 1000).T
    intervals_us = np.diff(due_us)
    assert intervals_us.mean() == pytest.approx(1000, rel=0.02)
    assert intervals_us.std() == pytest.approx(1000, rel=0.02)
    assert updates.mean() == pytest.approx(0.5, abs=0.01)


def test_another_seed_draws_other_keys(draw):
    first, again, other = (draw(100, KEYS, seed) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()
