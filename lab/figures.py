# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figures from per-request records: exact percentiles, distributions, rates over time."""

from dataclasses import dataclass

import numpy as np

# Of requests with parts on several servers: their number, latency, and gap between the parts.
FIGURES_OF_PARTS = (
    "throughput",
    "mean_ms",
    "p50_ms",
    "p99_ms",
    "p999_ms",
    "gap_p50_ms",
    "gap_p99_ms",
    "n",
)


@dataclass(frozen=True)
class Requests:
    """Completed requests: when each ended (s from the start of measuring) and how long it took."""

    end_s: np.ndarray
    latency_ms: np.ndarray

    @staticmethod
    def none() -> "Requests":
        """No request at all."""
        return Requests(np.empty(0), np.empty(0))

    @staticmethod
    def join(parts: list["Requests"]) -> "Requests":
        """All requests of several recordings."""
        if not parts:
            return Requests.none()
        return Requests(
            np.concatenate([part.end_s for part in parts]),
            np.concatenate([part.latency_ms for part in parts]),
        )

    def between(self, begin_s: float, end_s: float) -> "Requests":
        """The requests that ended in a span of time."""
        inside = (self.end_s >= begin_s) & (self.end_s < end_s)
        return Requests(self.end_s[inside], self.latency_ms[inside])

    def __len__(self) -> int:
        return len(self.latency_ms)


def percentile(sorted_values: np.ndarray, fraction: float) -> float:
    """The nearest-rank percentile: the smallest value that `fraction` of all do not exceed."""
    if not len(sorted_values):
        return float("nan")
    rank = int(np.ceil(fraction * len(sorted_values) - 1e-9))
    return float(sorted_values[min(max(rank, 1), len(sorted_values)) - 1])


def summarize(requests: Requests, duration_s: float) -> dict:
    """Throughput (requests a second) and total-latency percentiles (ms); null without requests."""
    ordered = np.sort(requests.latency_ms)
    figures: dict = {"throughput": len(ordered) / duration_s if duration_s > 0 else None}
    for key, fraction in (("p50_ms", 0.5), ("p99_ms", 0.99), ("p999_ms", 0.999), ("max_ms", 1.0)):
        figures[key] = round(percentile(ordered, fraction), 6) if len(ordered) else None
    figures["n"] = len(ordered)
    if figures["throughput"] is not None:
        figures["throughput"] = round(figures["throughput"], 3)
    return figures


PERCENTILES = {
    "p50_ms": 0.5,
    "p90_ms": 0.9,
    "p99_ms": 0.99,
    "p999_ms": 0.999,
    "p9999_ms": 0.9999,
}


def percentiles(requests: Requests) -> dict:
    """Total-latency percentiles (ms); null where no request lies beyond one.

    One request at least has to lie beyond it: p99.99 takes 10,000.
    """
    ordered = np.sort(requests.latency_ms)
    return {
        key: round(percentile(ordered, fraction), 6)
        if len(ordered) * (1 - fraction) >= 1 - 1e-9
        else None
        for key, fraction in PERCENTILES.items()
    }


def curve(requests: Requests, points: int = 200) -> dict:
    """The distribution of latency, thinned for drawing, as summary.json has it.

    n: of all requests; ms: latencies, the longest first; longest: for each of these, how many
    requests took that long or longer
    """
    ordered = np.sort(requests.latency_ms)
    count = len(ordered)
    if not count:
        return {"n": 0, "ms": [], "longest": []}
    # Even steps of the logarithm of the tail, where the rare requests are.
    tail = np.unique(np.geomspace(1, count, min(points, count)).astype(int))
    latencies = [round(float(value), 6) for value in ordered[count - tail]]
    return {"n": count, "ms": latencies, "longest": tail.tolist()}


def rate(requests: Requests, duration_s: float, step_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Middle of each step (s) and requests a second in it."""
    edges = np.arange(0, duration_s + step_s / 2, step_s)
    counts, _ = np.histogram(requests.end_s, bins=edges)
    return edges[:-1] + step_s / 2, counts / step_s
