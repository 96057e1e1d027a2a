# SPDX-License-Identifier: Apache-2.0 OR MIT
"""scripts/words: private words are found, the field's words and kept names are not."""

import importlib.util
import subprocess
import sys
from importlib.machinery import SourceFileLoader

import pytest

from lab import paths

WORDS = paths.ROOT / "scripts/words"

# A line with a word that is replaced, and what is printed of the better one.
FOUND = (
    ("void fgio_pace_init(struct fgio_pace *pace);", "service cost"),
    ("#define PACE_SLOWEST 8", "service cost"),
    ("/* The floor of each kind of I/O. */", "base latency"),
    ("/* What is foreseen is in time. */", "arrival prediction"),
    ("bool has_platter;", "rotation"),
    ("static void calm_down(void)", "uncharge"),
    ("u64 fgio_depth_promise_ns(void);", "minimum service"),
    ("\tu32 together;", "in-flight limit"),
    ("depth->together = 1;", "in-flight limit"),
    ("struct fgio_helper helpers[4];", "waker"),
    ("/* Safe without a lock, as a hint. */", "advisory"),
    ("struct fgio_domain *domain;", "tag set"),
    ("fgio_contents_of_bio(&slot->contents.known);", "I/O target"),
    ("/* a section word */", "thread flag"),
    ("/* Beside a storm of writes. */", "background burst"),
    ("/* At most so many at a time. */", "number"),
    ("/* It took so long. */", "number"),
    ("/* Whoever waits for it. */", "submitter"),
    ("bool fgio_admission_somebody_waits(void);", "the waiter"),
    ("/* Nobody waits. */", "no task"),
    (" * Who is about to end will not act again.", "the task"),
    ("/* The limit is for who has no privilege. */", "the task"),
    ("/* The writer is parked until he is promoted. */", "it, its"),
)

NOT_FOUND = """
/* The service cost of a request, in ns of drive time. */
u64 base_ns = floor(3.5) + space_left;
/* Both limits together are the capacity; reads are merged together. */
unsigned int helper_window_ms; /* a module parameter */
/* Cheng et al.'s helper tasks are wakers here. */
/* The hint bits of an I/O priority; the contents of the file. */
/* So long as the lock is held, the submitter waits: a task with a lease. */
bool fgio_admission_has_waiters(void);
/* The task that waits, for whom the lock is held. */
/* Wu and He, FAST'12. */
"""

# Words that have another meaning outside of code, and text made by lab/report.
PROSE = """
The floor of a paced load: a promise.
<!-- lab/report: begin -->
| log | posted by who syncs |
<!-- lab/report: end -->
"""


@pytest.fixture(scope="module")
def words():
    """The script as a module: a process for each word would take seconds."""
    spec = importlib.util.spec_from_loader("words", SourceFileLoader("words", str(WORDS)))
    module = sys.modules["words"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["words"]


def run(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([WORDS, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize(("line", "better"), FOUND)
def test_private_word_is_found(words, line, better):
    findings = words.check("core/some.c", f"// first\n{line}\n")
    assert {finding.line for finding in findings} == {2}
    assert any(better in finding.better for finding in findings)


def test_words_of_the_field_are_not_found(words):
    assert words.check("kmod/some.c", NOT_FOUND) == []


def test_some_words_are_found_in_code_alone(words):
    assert words.check("docs/lab.md", PROSE) == []
    for code in ("core/depth.c", "tools/fgiod/src/engine.rs"):
        found = {finding.found for finding in words.check(code, PROSE)}
        assert found == {"floor", "paced", "promise"}
    assert [one.line for one in words.check("docs/lab.md", PROSE + "Nobody waits.\n")] == [6]


def test_findings_fail_and_name_their_place(tmp_path):
    bad, good = tmp_path / "bad.c", tmp_path / "good.c"
    bad.write_text("// first\n/* At most so many. */\n")
    good.write_text(NOT_FOUND)
    done = run(bad, good)
    assert done.returncode == 1
    assert done.stdout == f'{bad}:2: "so many": the number, the unit or its role\n'
    assert run(good).returncode == 0


def test_no_folder_is_left_out_but_licences(words):
    listed = subprocess.run(["git", "ls-files"], cwd=paths.ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no git checkout")
    of_git = {name.split("/")[0] for name in listed.stdout.splitlines() if "/" in name}
    checked = {file.relative_to(paths.ROOT).parts[0] for file in words.all_files()}
    assert of_git - checked == {"LICENSES"}


def test_the_repository_is_clean():
    done = run()
    assert (done.returncode, done.stdout) == (0, "")
