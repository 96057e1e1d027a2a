# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figures of runs that ended before their work did, and the commit of a summary."""

import json
import subprocess
from pathlib import Path

import pytest

from lab import bounds, experiments, kernel, source, summary
from lab.bounds import AT_MOST, Bound
from lab.experiments.base import Row
from lab.experiments.database import wiredtiger
from lab.experiments.first_light import Checkpoints, checkpoints_since

BEGUN = "2024-01-01 00:00:{:06.3f} UTC [7] LOG:  checkpoint starting: immediate force wait\n"
ENDED = "2024-01-01 00:00:{:06.3f} UTC [7] LOG:  checkpoint complete: wrote 5 buffers (0.1%)\n"
# 2024-01-01 00:00:00 UTC
MIDNIGHT = 1704067200.0


@pytest.mark.parametrize(
    ("values", "median"),
    [
        ([], None),
        ([None, None], None),
        ([3, 1, 2], 2),
        ([1, None, 3], 2),
        # Known in spite of the run that did not end.
        ([1, 2, Bound(18)], 2),
        ([1, Bound(18), Bound(18)], Bound(18)),
        ([Bound(18), Bound(17), Bound(19)], Bound(18)),
        # The one that is only known from below may lie on either side of 3.
        ([1, Bound(2), 3], Bound(2)),
        ([1, Bound(5)], Bound(3)),
        ([1, Bound(4, AT_MOST), 5], Bound(1)),
        ([9, Bound(4, AT_MOST), 5], 5),
        # As summary.json has it.
        ([1, {"at_least": 18}, {"at_least": 18}], Bound(18)),
        ([1, {"read": 18}, True], 1),
    ],
)
def test_median_counts_what_did_not_end(values, median):
    assert bounds.median(values) == median


@pytest.mark.parametrize(
    ("over", "under", "ratio"),
    [
        (6, 3, 2),
        (None, 3, None),
        (6, None, None),
        (6, 0, None),
        (Bound(6), 3, Bound(2)),
        (6, Bound(3), Bound(2, AT_MOST)),
        (Bound(6), Bound(3), None),
        (Bound(6, AT_MOST), 3, Bound(2, AT_MOST)),
        (6, Bound(0), None),
    ],
)
def test_ratio_says_what_is_known_of_it(over, under, ratio):
    assert bounds.ratio(over, under) == ratio


def test_bounds_are_shown_and_kept(tmp_path):
    assert summary.number(Bound(18.04)) == "≥ 18"
    assert summary.number(Bound(0.5, AT_MOST)) == "≤ 0.5"
    rows = [
        Row("fgio", seed, {"p99_ms": 1.0}, {"burst_s": burst_s})
        for seed, burst_s in enumerate([13.9, Bound(18.0), Bound(18.0)])
    ]
    (line,) = summary.medians(rows)
    assert line["background"]["burst_s"] == Bound(18.0)
    source = {"commit": "abc", "dirty": False, "command": "lab/run x"}
    written = summary.write({**source, "rows": [row.as_json() for row in rows]}, tmp_path)
    kept = [row["background"]["burst_s"] for row in json.loads(written.read_text())["rows"]]
    assert kept == [13.9, {"at_least": 18.0}, {"at_least": 18.0}]
    assert bounds.median(kept) == Bound(18.0)


def server_log(folder: Path, *lines: str) -> Path:
    """A folder of results with a server's log; returns it."""
    (folder / "server").mkdir()
    (folder / "server" / "log").write_text("".join(lines))
    return folder


def test_a_checkpoint_under_way_counts_when_it_is_the_longest(tmp_path):
    log = [BEGUN.format(2), ENDED.format(5), BEGUN.format(11)]
    found = checkpoints_since(server_log(tmp_path, *log), MIDNIGHT + 1)
    assert found == Checkpoints([(1.0, 4.0, 5)], 10.0)
    assert found.longest_s(12) == 3.0
    assert found.longest_s(20) == Bound(10.0)
    assert Checkpoints([]).longest_s(20) is None
    assert Checkpoints([(0.0, 2.0, 5)]).longest_s(20) == 2.0


def statistics(*checkpoints: tuple[int, int, int]) -> str:
    """WiredTiger's log of statistics: ended, longest in ms, state (0: none under way)."""
    lines = []
    for ended, longest_ms, state in checkpoints:
        values = {
            "total succeed number of checkpoints": ended,
            "max time (msecs)": longest_ms,
            "progress state": state,
        }
        lines.append(json.dumps({"wiredTiger": {"checkpoint": values}}))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("seen", "longest"),
    [
        ([(0, 0, 0), (1, 450, 0)], 0.45),
        # Under way, and for no longer than the one before.
        ([(1, 1450, 0), (1, 1450, 3), (1, 1450, 4)], 1.45),
        ([(1, 450, 0), (1, 450, 3), (1, 450, 4), (1, 450, 4)], Bound(2.0)),
        # Another one each second.
        ([(1, 450, 3), (2, 450, 3), (3, 450, 3)], 0.45),
    ],
)
def test_a_checkpoint_of_wiredtiger_under_way_counts_when_it_is_the_longest(
    tmp_path, seen, longest
):
    (tmp_path / "statistics").write_text(statistics(*seen))
    assert wiredtiger.checkpoints(tmp_path)["checkpoint_s"] == longest


def test_a_summary_names_its_commit(tmp_path):
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        command = ["git", "-C", str(tmp_path), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    assert source.commit(tmp_path) == {"commit": None, "dirty": None}
    git("init", "-q")
    (tmp_path / "source").write_text("one")
    git("add", ".")
    git("commit", "-qm", "one")
    assert source.commit(tmp_path) == {"commit": git("rev-parse", "HEAD"), "dirty": False}
    # The results of a run in docs/ change no figure.
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "summary.json").write_text("{}")
    assert source.commit(tmp_path)["dirty"] is False
    (tmp_path / "source").write_text("two")
    assert source.commit(tmp_path)["dirty"] is True


def test_a_summary_may_be_of_an_earlier_commit_than_the_one_checked_out(tmp_path):
    chosen = kernel.Kernel("6.12", "6.12.1-test", tmp_path)
    experiment = experiments.find("admission")
    of = {"commit": "abc", "dirty": True}
    content = summary.build(experiment, chosen, [], "lab/run admission", of)
    assert (content["commit"], content["dirty"]) == ("abc", True)
