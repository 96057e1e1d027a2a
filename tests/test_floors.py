# SPDX-License-Identifier: Apache-2.0 OR MIT
"""scripts/floors: kmod/ passes, and in a small tree each upward reference is found."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Two floors and files beside them; a call to the right goes through a pointer.
TREE = {
    "base/switch.h": "int is_on(void);\nvoid on_change(void (*changed)(void));\n",
    "base/switch.c": '#include "base/switch.h"\n'
    "static void (*call)(void);\n"
    "int is_on(void) { if (call) call(); return 1; }\n"
    "void on_change(void (*changed)(void)) { call = changed; }\n",
    "graph/walk.h": "void walk(void);\n",
    "graph/walk.c": '#include "base/switch.h"\n#include "graph/walk.h"\n'
    "void walk(void) { is_on(); }\n",
    "main.c": '#include "base/switch.h"\n#include "graph/walk.h"\n'
    "void begin(void) { on_change(walk); }\n",
    "simdisk/disk.c": "void disk(void) {}\n",
    "simdisk/disk.h": "void disk(void);\n",
    "lab/gate.c": '#include "graph/walk.h"\nvoid gate(void) { walk(); }\n',
    "lab/gate.h": "void gate(void);\n",
}


def floors(root: Path, *options: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "scripts" / "floors"), "--root", str(root), *options]
    return subprocess.run(command, capture_output=True, text=True)


def build(root: Path, changed: dict[str, str]) -> Path:
    """A tree with its objects where kmod/Makefile leaves them; returns it."""
    release = root / "build" / "kmod" / "6.12-test"
    for name, text in {**TREE, **changed}.items():
        source = root / "kmod" / name
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
    for source in (root / "kmod").rglob("*.c"):
        built = release / source.relative_to(root).with_suffix(".o")
        built.parent.mkdir(parents=True, exist_ok=True)
        command = ["cc", "-I", str(root / "kmod"), "-c", str(source), "-o", str(built)]
        subprocess.run(command, check=True)
    return root


def test_nothing_in_kmod_runs_upward():
    if not any((ROOT / "build" / "kmod").glob("*/kmod/main.o")):
        pytest.skip("no objects: make -C kmod KERNEL=6.12 makes them")
    done = floors(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == ""


def test_includes_and_calls_to_the_left_pass(tmp_path):
    done = floors(build(tmp_path, {}))
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        # To a floor on the right, by either way to name it.
        (
            {"base/switch.h": '#include "graph/walk.h"\n' + TREE["base/switch.h"]},
            'kmod/base/switch.h: #include "graph/walk.h" of kmod/graph/walk.h runs upward\n',
        ),
        (
            {"base/switch.h": '#include "../graph/walk.h"\n' + TREE["base/switch.h"]},
            'kmod/base/switch.h: #include "../graph/walk.h" of kmod/graph/walk.h runs upward\n',
        ),
        # To other modules, and to the file that names all floors.
        (
            {"graph/walk.h": '#include "simdisk/disk.h"\n' + TREE["graph/walk.h"]},
            'kmod/graph/walk.h: #include "simdisk/disk.h" of kmod/simdisk/disk.h runs upward\n',
        ),
        (
            {"main.c": '#include "lab/gate.h"\n' + TREE["main.c"]},
            'kmod/main.c: #include "lab/gate.h" of kmod/lab/gate.h runs upward\n',
        ),
        (
            {
                "main.h": "void begin(void);\n",
                "graph/walk.h": '#include "main.h"\n' + TREE["graph/walk.h"],
            },
            'kmod/graph/walk.h: #include "main.h" of kmod/main.h runs upward\n',
        ),
        # Without an #include.
        (
            {"base/switch.c": "void walk(void);\nint is_on(void) { walk(); return 1; }\n"},
            "kmod/base/switch.c: walk of kmod/graph/walk.c runs upward\n",
        ),
        # Not a call: a variable.
        (
            {
                "graph/walk.c": "int walks;\nvoid walk(void) {}\n",
                "base/switch.c": "extern int walks;\nint is_on(void) { return walks; }\n",
            },
            "kmod/base/switch.c: walks of kmod/graph/walk.c runs upward\n",
        ),
    ],
)
def test_upward_references_are_found(tmp_path, changed, found):
    done = floors(build(tmp_path, changed))
    assert (done.returncode, done.stdout) == (1, found)


def test_a_tree_that_was_not_built_does_not_pass(tmp_path):
    (tmp_path / "kmod").mkdir()
    done = floors(tmp_path)
    assert done.returncode == 1
    assert "make -C kmod" in done.stderr


def test_the_drawing_marks_upward_calls_and_circles_are_counted(tmp_path):
    circle = {
        "graph/wait.c": "void walk(void);\nvoid wait(void) { walk(); }\n",
        "graph/walk.c": "void wait(void);\nvoid walk(void) { wait(); }\n",
        "base/switch.c": "void walk(void);\nint is_on(void) { walk(); return 1; }\n",
    }
    drawing = tmp_path / "calls.svg"
    done = floors(build(tmp_path, circle), "--draw", str(drawing))
    assert done.returncode == 1
    assert "graph: circles of files: 1 (wait.c walk.c)\n" in done.stdout
    assert "base: circles of files: 0\n" in done.stdout
    assert "1 UPWARD" in drawing.read_text()
