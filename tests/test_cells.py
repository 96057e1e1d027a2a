# SPDX-License-Identifier: Apache-2.0 OR MIT
"""scripts/cells: the tables that lab/report makes of its summary are those of the simulator."""

import re
import subprocess
import sys

from lab import paths, report, summary

SHARE = re.compile(r"(\d+)/(\d+)")


def rows(text: str) -> list[list[str]]:
    """Name and shares of each row of tables, as printed or in Markdown."""
    plain = [line.replace("|", " ").replace(",", "").split() for line in text.splitlines()]
    return [words for words in plain if len(words) > 1 and all(map(SHARE.fullmatch, words[1:]))]


def test_tables_are_those_that_the_simulator_prints(tmp_path):
    options = ["--seeds", "2", "--seconds", "1", "--jobs", "1", "--foregrounds", "qd1,qd8"]
    done = subprocess.run(
        [sys.executable, paths.ROOT / "scripts" / "cells", "--out", tmp_path, *options, "volume"],
        capture_output=True,
        text=True,
        check=True,
    )
    # The seed replays a failure.
    print(done.stdout.splitlines()[0])
    (file,) = report.again(tmp_path, tmp_path)
    made = file.read_text()
    printed = rows(done.stdout)
    # Of 7 policies, of a drive, of 2 foregrounds, and two sums.
    assert len(printed) == 7 + 2 + 3
    assert rows(made) == printed
    cells = summary.load(tmp_path)["cells"]
    assert len(cells) == 2 * 5 and {cell["seeds"] for cell in cells.values()} == {2}
