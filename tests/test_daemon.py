# SPDX-License-Identifier: Apache-2.0 OR MIT
"""fgiod beside a real PostgreSQL, in a guest: which processes it tags, and what that costs.

FGIO_COUNTED=1 runs it in virtual time (long), where times mean something: the guest's one processor
executes an instruction each nanosecond. Only then latency and the share of a processor are checked.
"""

import json
import os
import re
from pathlib import Path

import pytest

from lab import guest as machine
from lab import kernel, paths
from lab.experiments.base import fgio_command, payload
from lab.experiments.first_light import DATABASE

FOREGROUND = {"client backend", "walwriter"}
SCRIPT = Path(__file__).resolve().parent / "guest" / "daemon.sh"
COUNTED = os.environ.get("FGIO_COUNTED") == "1"
RATE = 500
SECONDS = 3
MOMENTS = ("started", "restarted", "without", "again", "byhand", "connected")


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """The files that the guest left; see tests/guest/daemon.sh."""
    chosen = kernel.locate("6.12")
    programs = fgio_command().parent
    taken = payload(chosen, "fgiod.sh") | {
        "bin/fgio": programs / "fgio",
        "bin/fgiod": programs / "fgiod",
        "profiles": paths.ROOT / "profiles",
        "daemon.sh": SCRIPT,
    }
    boot = machine.Boot(
        kernel=chosen,
        commands=f'RATE={RATE} SECONDS_OF_CHURN={SECONDS}\n. "$PAYLOAD/daemon.sh"',
        payload=taken,
        disks=(DATABASE.image(),),
        counted_clock=COUNTED,
        limit_s=1500,
    )
    outcome = machine.run(boot, tmp_path_factory.mktemp("daemon"))
    assert outcome.status == 0, outcome.output
    assert not outcome.kernel_trouble()
    return outcome.results


def tags(results: Path, moment: str) -> dict[int, str]:
    """Class by thread."""
    status = json.loads((results / f"{moment}.status").read_text())
    return {tag["tid"]: tag["class"] for tag in status["tags"]}


def processes(results: Path, moment: str) -> dict[int, str]:
    """The kind of each process, as PostgreSQL calls it."""
    lines = (results / f"{moment}.expected").read_text().split("\n")
    pairs = (line.split(":", 1) for line in lines if line)
    return {int(pid): kind for pid, kind in pairs}


@pytest.mark.parametrize("moment", MOMENTS)
def test_processes_that_serve_requests_are_foreground_and_no_others(results, moment):
    known = processes(results, moment)
    expected = {pid: "foreground" for pid, kind in known.items() if kind in FOREGROUND}
    if moment in ("byhand", "connected"):
        by_hand = next(pid for pid, kind in known.items() if kind == "checkpointer")
        expected[by_hand] = "foreground"
    assert tags(results, moment) == expected, (results / f"{moment}.ps").read_text()
    kinds = set(known.values())
    assert {"client backend", "walwriter", "checkpointer", "walsender"} <= kinds


def test_parallel_workers_have_the_class_of_their_leaders(results):
    """The control: of the same kind of process, two are foreground and two background."""
    lines = (results / "parallel.classes").read_text().splitlines()
    expected = {int(pid): told for pid, told in (line.split(":") for line in lines)}
    assert sorted(expected.values()) == ["background"] * 3 + ["foreground"] * 3
    found = tags(results, "parallel")
    assert {pid: found.get(pid) for pid in expected} == expected


def test_a_restart_of_fgiod_goes_unnoticed(results):
    """Backends keep their tags while there is no daemon, and it takes them over."""
    assert tags(results, "without").items() >= tags(results, "again").items()
    owned = (results / "ledger").read_text()
    assert "foreground" in owned
    assert list(tags(results, "cleared").values()) == ["foreground"], "the one by hand stays"


def test_metrics_and_explanations(results):
    page = (results / "metrics").read_text()
    assert 'fgio_profiles{state="usable"} 7' in page
    assert "fgio_process_event_overruns_total 0" in page
    explained = (results / "profile-test.txt").read_text()
    assert "commits wait for the log" in explained and "postgresql.toml:" in explained


@pytest.mark.skipif(not COUNTED, reason="times mean nothing but with FGIO_COUNTED=1")
def test_no_process_has_a_wrong_class_for_longer_than_50_ms(results):
    page = (results / "metrics").read_text()
    within = re.search(r'fgio_classification_seconds_bucket\{le="0.05"\} (\d+)', page)
    count = re.search(r"fgio_classification_seconds_count (\d+)", page)
    assert within and count and int(count[1]) > 0
    assert within[1] == count[1]


@pytest.mark.skipif(not COUNTED, reason="times mean nothing but with FGIO_COUNTED=1")
def test_cpu_share_is_small(results):
    shares = {}
    for line in (results / "cpu").read_text().splitlines():
        name, elapsed, used = re.fullmatch(r"(\w+) ([\d.]+) s, fgiod ([\d.]+) s", line).groups()
        shares[name] = float(used) / float(elapsed)
    print(shares)
    assert shares["idle"] < 0.02
    assert shares["connections"] < 0.10
    assert shares["starts"] < 0.05
