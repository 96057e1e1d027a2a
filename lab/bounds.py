# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figures that a measurement ended too early to know: a bound from below, or from above.

A backup that had not ended when measuring did is not a missing figure: it took at least as long as
it had been seen. Medians and ratios have to say so, or the slowest runs drop out of them.
"""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

AT_LEAST, AT_MOST = "at_least", "at_most"
SIGNS = {AT_LEAST: "≥", AT_MOST: "≤"}


@dataclass(frozen=True)
class Bound:
    """A figure of which a bound is known, and no more.

    value: the bound, in the figure's unit; kind: AT_LEAST or AT_MOST
    """

    value: float
    kind: str = AT_LEAST

    def as_json(self) -> dict:
        """The bound as summary.json has it."""
        return {self.kind: self.value}


Figure = float | Bound | None


def figure(value) -> Figure:
    """A figure from summary.json; None where it is no number."""
    if isinstance(value, Bound):
        return value
    if isinstance(value, dict) and len(value) == 1:
        ((kind, bound),) = value.items()
        return Bound(bound, kind) if kind in SIGNS else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def restored(figures: dict) -> dict:
    """Figures of summary.json with Bound in place of its written form."""
    return {
        name: found if isinstance(found := figure(value), Bound) else value
        for name, value in figures.items()
    }


def least(value: float | Bound) -> float:
    """The smallest that a figure can be."""
    if not isinstance(value, Bound):
        return value
    return value.value if value.kind == AT_LEAST else -math.inf


def most(value: float | Bound) -> float:
    """The largest that a figure can be."""
    if not isinstance(value, Bound):
        return value
    return value.value if value.kind == AT_MOST else math.inf


def _between(low: float, high: float) -> Figure:
    """A figure that lies between two, with the bound that is known."""
    if low == high:
        return low
    if math.isfinite(low):
        return Bound(low, AT_LEAST)
    return Bound(high, AT_MOST) if math.isfinite(high) else None


def median(values: Iterable) -> Figure:
    """The median of the figures among some values; None without any.

    Values that are no figures (None) were not measured, and do not count. A figure with
    a bound from below counts as that bound in the median's own lower bound, and as infinite in its
    upper one: where both agree, the median is known in spite of it.
    """
    known = [found for value in values if (found := figure(value)) is not None]
    if not known:
        return None
    return _between(
        statistics.median(least(value) for value in known),
        statistics.median(most(value) for value in known),
    )


def ratio(over: Figure, under: Figure) -> Figure:
    """One positive figure over another; None where either is missing or nothing can be said."""
    if over is None or under is None or not most(under) or not least(under):
        return None
    low = max(least(over), 0) / most(under)
    high = most(over) / least(under) if least(under) > 0 else math.inf
    # At least nothing says nothing.
    return _between(low or -math.inf, high)
