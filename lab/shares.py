# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The guarantee of each weighted group on one drive, and how near it came to it.

Shares are of the drive's time. A group that is alone with the drive reaches `alone` MB/s; with a
fraction f of the drive's time it reaches f * alone, regardless of the others' I/O. So weights
divide time, and a group's guarantee is its part of the time at its own speed. That is feasible for
every mix: the drive serves one group after the other. A drive that works on several I/Os at once
can do better.

A group that wants less than its part gives the rest to the others, by their weights (weighted
max-min fairness).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# Of its guarantee: a group that gets less than this was not kept its share.
KEPT = 0.95


@dataclass(frozen=True)
class Claim:
    """A group's weight and demand.

    weight: above 0
    alone_mb_s: MB/s that its I/O reaches with nothing else on the drive, without a limit of its own
    demand_mb_s: MB/s that it asks for at most; None: as much as it can get
    """

    weight: float
    alone_mb_s: float
    demand_mb_s: float | None = None

    @property
    def demand(self) -> float:
        """The fraction of the drive's time that it asks for, 0 to 1."""
        if self.demand_mb_s is None:
            return 1.0
        if not self.alone_mb_s:
            return 0.0
        return min(1.0, self.demand_mb_s / self.alone_mb_s)


def max_min(demands: Sequence[float], weights: Sequence[float], capacity: float) -> list[float]:
    """Weighted max-min fair parts of a capacity, each at most its demand, in the order given.

    demands, capacity: in one unit, 0 or more; weights: above 0
    """
    parts = [0.0] * len(demands)
    # The group that needs the least for its weight is served in full first, if at all.
    order = sorted(range(len(demands)), key=lambda one: demands[one] / weights[one])
    left, weight = capacity, float(sum(weights))
    for one in order:
        parts[one] = min(demands[one], left * weights[one] / weight)
        left -= parts[one]
        weight -= weights[one]
    return parts


def fractions(claims: Sequence[Claim]) -> list[float]:
    """Each group's fraction of the drive's time."""
    return max_min([one.demand for one in claims], [one.weight for one in claims], 1.0)


def guarantees(claims: Sequence[Claim]) -> list[float]:
    """MB/s that each group is entitled to."""
    parts = fractions(claims)
    return [part * one.alone_mb_s for part, one in zip(parts, claims, strict=True)]


def slicing(claims: Sequence[Claim]) -> float:
    """MB/s of all groups together when the drive serves one after the other, each its fraction."""
    return sum(guarantees(claims))


def kept(guaranteed: Iterable[float], got: Iterable[float]) -> bool:
    """Whether every group got its guarantee, but for what KEPT forgives."""
    return all(mine >= KEPT * due for due, mine in zip(guaranteed, got, strict=True))


def jain(values: Sequence[float]) -> float | None:
    """Jain's index of fairness: 1 when all values are alike, 1/n when one has all. None: all 0."""
    squares = sum(value * value for value in values)
    if not squares:
        return None
    return sum(values) ** 2 / (len(values) * squares)


def worst(guaranteed: float, seconds: Sequence[float]) -> float | None:
    """The least part of its guarantee that a group had in any second. None without a guarantee."""
    if not guaranteed or not seconds:
        return None
    return min(seconds) / guaranteed
