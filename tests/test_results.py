# SPDX-License-Identifier: Apache-2.0 OR MIT
"""docs/results: figures, command and page are tracked; files made from them are not."""

import re
import runpy
import subprocess
from pathlib import Path

import pytest

from lab import host, paths, report, summary

RESULTS = paths.ROOT / "docs" / "results"
SUMMARIES = sorted(file.parent for file in RESULTS.rglob(summary.NAME))
# Folders without a summary: why.
NO_SUMMARY = {"mixes": "its page is the table that a native test of core/ prints"}
# Summaries without a command of their own: why.
NO_COMMAND = {"paper": "its claims are of the summaries below it, which have commands"}
# Made by lab/report, and tracked nevertheless: why.
KEPT = {
    "paper/first-light/latency.svg": "README.md shows it",
}
# Reports that a command of tests/ makes of the summary.
OTHERS = {
    "debug-6.12": "tests/debug-check",
    "installed": "tests/installed",
    "poisoned-6.12": "tests/debug-check",
    "queues/guest": "scripts/queues-guest",
    "shares": "scripts/shares",
    "shares/burst": "scripts/shares",
    "shares/nvme": "scripts/shares",
    "shares/others": "scripts/shares",
}
# Summaries without a report.
NO_REPORT = {"batch", "follow", "mutation", "queues", "stress-6.1", "stress-6.1/random"}
NO_REPORT |= {"stress-6.12", *OTHERS}
WRITERS = ("lab/cli.py", "scripts/cells", "scripts/native", "scripts/queues", "tests/stress")
WRITERS += ("scripts/queues-guest", "scripts/shares", "tests/debug-check", "tests/installed")


def name(folder: Path) -> str:
    """A folder below docs/results, as the tables above have it."""
    return str(folder.relative_to(RESULTS))


def tracked() -> list[str]:
    """Files of docs/results that git has; skips the test where this is no checkout."""
    command = ["git", "-C", str(RESULTS), "ls-files"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("no git checkout")
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Every report and drawing that lab/report makes, below a folder for each."""
    out = tmp_path_factory.mktemp("results")
    for folder in SUMMARIES:
        if name(folder) not in NO_REPORT:
            report.again(folder, out / name(folder))
    return out


def test_every_folder_has_a_summary_and_a_page():
    folders = {file.split("/")[0] for file in tracked() if "/" in file}
    for folder in folders:
        assert (RESULTS / folder / "README.md").is_file(), f"{folder} has no page"
        assert folder in NO_SUMMARY or (RESULTS / folder / summary.NAME).is_file(), folder


def test_every_summary_has_its_command_and_is_on_a_page():
    for folder in SUMMARIES:
        content = summary.load(folder)
        assert bool(content.get("command")) != (name(folder) in NO_COMMAND), name(folder)
        if folder.parent != RESULTS:
            page = (RESULTS / name(folder).split("/")[0] / "README.md").read_text()
            pages = page + (RESULTS / "README.md").read_text()
            assert f"{folder.name}/{summary.NAME})" in pages, name(folder)


def test_no_summary_names_a_folder_of_one_machine():
    for folder in SUMMARIES:
        command = summary.load(folder).get("command", "")
        assert not re.search(r"(^|[ =])/", command), f"{name(folder)}: {command}"


def test_files_that_can_be_made_again_are_not_tracked():
    plain = {summary.NAME, "README.md", ".gitignore"}
    others = {file for file in tracked() if Path(file).name not in plain}
    assert others == set(KEPT)


def test_every_summary_yields_its_report(made):
    for folder in SUMMARIES:
        if name(folder) in NO_REPORT:
            continue
        files = {file.name for file in (made / name(folder)).iterdir() if file.is_file()}
        assert files & {"report.md", "report.html"}, name(folder)
        curves = summary.load(folder).get("curves", {})
        assert len([file for file in files if file.startswith("latency")]) == len(curves)


@pytest.mark.parametrize("kept", KEPT)
def test_tracked_drawings_are_remade_byte_for_byte(kept, made):
    assert (made / kept).read_bytes() == (RESULTS / kept).read_bytes()


def test_tables_of_pages_are_those_of_the_summaries(made):
    found = 0
    for folder in [RESULTS, *SUMMARIES]:
        page = folder / "README.md"
        if not page.is_file() or report.BEGIN not in page.read_text():
            continue
        if folder == RESULTS:
            text = report.index(RESULTS)
        elif name(folder) in OTHERS:
            markdown = runpy.run_path(str(paths.ROOT / OTHERS[name(folder)]))["markdown"]
            text = markdown(summary.load(folder))
        else:
            text = (made / name(folder) / "report.md").read_text()
        assert page.read_text() == report.refreshed(page.read_text(), text), name(folder)
        found += 1
    assert found > len(OTHERS)


def test_a_summary_without_a_report_is_an_error(tmp_path):
    with pytest.raises(host.LabError, match="no report"):
        report.again(RESULTS / "stress-6.12", tmp_path)
    with pytest.raises(host.LabError, match="can be read"):
        report.again(tmp_path, tmp_path)


@pytest.mark.parametrize("writer", WRITERS)
def test_every_command_that_writes_a_summary_asks_for_the_commit_first(writer):
    text = (paths.ROOT / writer).read_text()
    assert text.count("= source.commit()") == 1
    # summary.write() refuses one without commit and command.
    assert "summary.write(" in text and f'"{summary.NAME}").write_text' not in text


def test_no_test_writes_into_docs():
    for file in (paths.ROOT / "tests").glob("*.py"):
        names = re.search(r"""["']docs/results|"docs" / "results"|out docs/""", file.read_text())
        assert file == Path(__file__) or not names, file.name


def test_links_of_pages_lead_somewhere():
    kept = set(tracked())
    for page in kept:
        if not page.endswith(".md"):
            continue
        for target in re.findall(r"\]\(([^)#\s]+)", (RESULTS / page).read_text()):
            if target.startswith("http"):
                continue
            goal = (RESULTS / page).parent.joinpath(target).resolve()
            inside = goal.is_relative_to(RESULTS) and goal.is_file()
            there = str(goal.relative_to(RESULTS)) in kept if inside else goal.exists()
            assert there, f"{page}: {target}"
