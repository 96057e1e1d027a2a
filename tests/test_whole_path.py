# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Every scenario of tests/scenarios/ in virtual time: one wait at a time.

With the mechanism on, a foreground task waits at most three device service times longer than with
the device to itself; and at most a tenth of its wait with the mechanism off, which proves that
the scenario can fail. A run has half of the groups of scenarios, each a guest (drawn.py), on one
kernel; docs/results has all of them. FGIO_KERNELS chooses kernels and FGIO_SCENARIOS, a regular
expression, single scenarios. The table is in build/scenarios/whole-path-KERNEL/.
"""

import dataclasses
import functools
import os

import drawn
import early
import pytest
from rich.console import Console

from lab import cli, configurations, host, kernel, paths, runner, source
from lab.experiments import scenarios
from lab.experiments.base import Row

KERNELS = os.environ.get("FGIO_KERNELS", "6.12").split(",")
ONLY = os.environ.get("FGIO_SCENARIOS", "")
GROUPS = drawn.half("scenarios", scenarios.Scenarios.variants)
# (kernel, scenario) -> why it cannot be kept there.
LIMITS: dict[tuple[str, str], str] = {}
# What a wait for a journal's commit meets is chance: on an idle disk its median is one I/O in one
# boot, and three in the next. A row that misses is judged by the medians with more boots' waits.
EXTRA_BOOTS = 2


def _run(version: str, only: str, name: str) -> dict[str, scenarios.ScenarioRow] | str:
    """The rows by name, or why there are none."""
    experiment = scenarios.Scenarios()
    chosen = kernel.locate(version)
    out = paths.BUILD / "scenarios" / name
    try:
        experiment.variants = tuple(name for name in experiment.variants if name in GROUPS)
        if only:
            experiment.choose_part(only)
        out.mkdir(parents=True, exist_ok=True)
        fgio = configurations.choose([scenarios.FGIO], experiment.valid())
        plan = runner.Plan(experiment, tuple(fgio), 1, out)
        found: list[Row] = []
        runner.run([plan], chosen, Console(stderr=True), lambda _, rows: found.extend(rows))
    except host.LabError as error:
        return str(error)
    cli.finish(plan, found, chosen, "tests/test_whole_path.py", source.commit())
    return {row.scenario.name: row for row in found}


@functools.cache
def _rows(version: str) -> dict[str, scenarios.ScenarioRow] | str:
    """Every scenario's row; one run of all for each session."""
    return _run(version, ONLY, f"whole-path-{version}")


def _with_fresh_waits(row: scenarios.ScenarioRow, boot: str) -> scenarios.ScenarioRow:
    """The row with the waits of one more boot added; boot names its folder."""
    version, name = boot.split("-")[0], row.scenario.name
    again = _run(version, f"^{name}$", f"whole-path-{boot}")
    if isinstance(again, str):
        pytest.fail(again)
    fresh = again[name]
    waits = {condition: row.waits[condition] + fresh.waits[condition] for condition in fresh.waits}
    return dataclasses.replace(row, waits=waits, failures={**row.failures, **fresh.failures})


def _bound(row: scenarios.ScenarioRow) -> float:
    return row.median("floor") + scenarios.SERVICES * row.service_ms


def _miss(row: scenarios.ScenarioRow) -> str:
    """What the row's medians miss; empty if nothing."""
    floor, off, on = (row.median(condition) for condition in ("floor", "off", "on"))
    bound = _bound(row)
    if off <= bound:
        return f"the control hardly waits: {off} ms, floor {floor} ms"
    if off < scenarios.GAIN * on:
        return f"off {off} ms, on {on} ms: not a tenth"
    if on > bound:
        return f"on {on} ms, floor {floor} ms, service time {row.service_ms} ms"
    return ""


def _every() -> list:
    found = []
    for version in KERNELS:
        for one in scenarios.every():
            if one.group not in GROUPS:
                continue
            limit = LIMITS.get((version, one.name))
            marks = [pytest.mark.early(_rows, version)]
            marks += [pytest.mark.xfail(reason=limit, strict=True)] if limit else []
            found.append(pytest.param(version, one.name, id=f"{version}-{one.name}", marks=marks))
    return found


@pytest.mark.parametrize(("version", "name"), _every())
def test_scenario(version: str, name: str) -> None:
    rows = early.result(_rows, version)
    if isinstance(rows, str):
        pytest.fail(rows)
    if name not in rows:
        pytest.skip("FGIO_SCENARIOS leaves it out")
    row = rows[name]
    assert not row.failures
    for extra in range(EXTRA_BOOTS):
        if not _miss(row):
            break
        row = _with_fresh_waits(row, f"{version}-{name}-{extra}")
    assert not row.failures
    assert not _miss(row)
