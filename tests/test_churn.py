# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The experiment `churn` reads the files of a guest."""

import json

import pytest

from lab import configurations, experiments, guest, host

PAGE = """\
# TYPE fgio_daemon_cpu_seconds counter
fgio_daemon_cpu_seconds_total {cpu}
fgio_process_event_overruns_total {overruns}
"""


def outcome(folder, cpu: str = "3.5") -> guest.Outcome:
    """A guest that was measured for two samples."""
    for name, seconds in (("before", "0.5"), ("during5", "2"), ("during10", cpu), ("after", "9")):
        page = PAGE.format(cpu=seconds, overruns=0)
        (folder / f"{name}.metrics").write_text(page)
    (folder / "samples").write_text(
        "20.0 6400 6400 0 0\n25.0 6500 6500 4 5\n30.0 6600 6500 3 3\n45.0 6600 6450 0 0\n"
    )
    (folder / "starts").write_text("10000 10000000000 5000000\n")
    (folder / "after.status").write_text(json.dumps({"tags": [{"tid": 7}]}))
    (folder / "exec").write_text("25000000 400000\n26000000 -1\n27000000 1400000\n")
    for kind in ("title", "rename"):
        (folder / kind).write_text("25000000 700000\n")
    return guest.Outcome(0, "", "", "", folder, 46, 100)


def test_cpu_time_of_fgiod_and_late_classifications_are_read(tmp_path):
    churn = experiments.find("churn")
    rows = churn.read(outcome(tmp_path), configurations.BY_NAME["fgio"], 1, "")
    first = rows[0]
    assert [row.extra["cell"] for row in rows] == ["exec", "title", "rename"]
    assert (first.foreground["n"], first.extra["never"]) == (2, 1)
    assert first.foreground["max_ms"] == pytest.approx(1.4)
    assert first.extra["cpu_percent"] == pytest.approx(30)
    assert first.extra["starts_per_s"] == 1000
    assert (first.extra["rss_before_kib"], first.extra["rss_most_kib"]) == (6400, 6600)
    assert (first.extra["followed_most"], first.extra["followed_after"]) == (5, 0)
    content = {"kernel_release": "k", "command": "c", "duration_s": 10}
    assert "| exec | 1 | 2 | 0.4 | 1.4 | 1.4 | 1 | 1,000 | 30 |" in churn.markdown(content, rows)


def test_a_page_without_a_figure_is_an_error(tmp_path):
    churn = experiments.find("churn")
    with pytest.raises(host.LabError, match="fgio_daemon_cpu_seconds_total"):
        churn.read(outcome(tmp_path, cpu=""), configurations.BY_NAME["fgio"], 1, "")
