# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The halves that a run draws."""

import drawn


def half(names: list[str], seed: object) -> set[str]:
    return drawn.half("", names, str(seed), everything=False)


def test_each_run_draws_half_and_a_seed_draws_it_again() -> None:
    names = [f"part {number}" for number in range(9)]
    runs = [half(names, f"{drawn.SEED} {run}") for run in range(100)]
    assert {len(run) for run in runs} == {4, 5}
    assert set().union(*runs) == set(names)
    assert half(names, drawn.SEED) == half(list(reversed(names)), drawn.SEED)
    assert {len(half(["alone"], f"{drawn.SEED} {run}")) for run in range(100)} == {0, 1}


def test_all_runs_when_everything_is_asked_for() -> None:
    assert drawn.half("", ["a", "b", "c"], everything=True) == {"a", "b", "c"}
