# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fixtures and hooks of tests that need a guest."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import drawn  # noqa: E402 (after the path to it)
import early  # noqa: E402

from lab import guest as machine  # noqa: E402
from lab import host, kernel, paths  # noqa: E402


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker of early.py."""
    config.addinivalue_line(
        "markers",
        "early(function, *arguments): a boot for early.py; the last is a kernel",
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begins the boots that the chosen tests marked: see early.py."""
    marks = [mark.args for item in session.items for mark in item.iter_markers("early")]
    if session.config.option.collectonly or not marks:
        return
    try:
        early.prepare({args[-1] for args in marks})
    except host.LabError:
        # The test that needs it fails with the reason.
        return
    for function, *arguments in marks:
        early.begin(function, *arguments)


def pytest_report_collectionfinish() -> list[str]:
    """What this run has drawn, and how to have it again."""
    if not drawn.said:
        return []
    return [
        f"drawn with FGIO_SEED={drawn.SEED}; FGIO_EVERY=1 runs all",
        *(f"  {what}: {' '.join(names)}" for what, names in drawn.said.items()),
    ]


def pytest_sessionfinish() -> None:
    """Drops the boots that have not begun, after an interruption."""
    early.end()


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    """With --durations: what the boots of early.py took, which no test's own time says."""
    if config.option.durations is None or not early.spent:
        return
    terminalreporter.section("boots beside the tests: s, s of a processor")
    for name, (spent_s, cpu_s) in sorted(early.spent.items(), key=lambda item: -item[1][0]):
        cpu = "" if cpu_s is None else f"{cpu_s:.1f}"
        terminalreporter.write_line(f"{spent_s:7.1f} {cpu:>7} {name}")


@pytest.fixture
def guest(tmp_path: Path) -> Callable[..., machine.Outcome]:
    """Boots a guest, runs a shell script as root, and returns its outcome.

    guest(script, version="6.12", counted_clock=False, cpus=2, healthy=True, **more): `more` are
    fields of lab.guest.Boot. The modules that have been built are in $PAYLOAD/modules. With
    `healthy`, the test fails when the kernel's log has a warning, an oops or a hung task.
    """
    boots = 0

    def run(
        script: str,
        version: str = "6.12",
        counted_clock: bool = False,
        cpus: int = 2,
        healthy: bool = True,
        **more,
    ) -> machine.Outcome:
        nonlocal boots
        boots += 1
        chosen = kernel.locate(version)
        payload = dict(more.pop("payload", {}))
        for name in ("fgio.ko", "simdisk.ko"):
            if (paths.modules_folder(chosen.release) / name).is_file():
                payload[f"modules/{name}"] = paths.modules_folder(chosen.release) / name
        more.setdefault("heartbeat_s", 0)
        boot = machine.Boot(
            kernel=chosen,
            commands=script,
            payload=payload,
            counted_clock=counted_clock,
            cpus=cpus,
            **more,
        )
        outcome = machine.run(boot, tmp_path / f"guest-{boots}")
        if healthy:
            assert not outcome.kernel_trouble()
        return outcome

    return run
