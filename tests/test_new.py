# SPDX-License-Identifier: Apache-2.0 OR MIT
"""./new: its skeletons build and pass the linters as they are, and refusals change nothing."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from lab import paths

ROOT = paths.ROOT
FOLDERS = ("core", "kmod", "lab", "profiles", "tests/kmod", "tests/scenarios", "tools", "uapi")
FILES = ("new", "ruff.toml")
PARTS = ("profile", "lock", "scenario", "experiment", "model")
# One word; several, as long as a name may be.
NAMES = ("tape", "a2-b10-as-long-as-it")
WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Wmissing-prototypes")
HAS_LAYERS = (ROOT / "kmod" / "layers").is_dir()
BAD = ["", "Tape", "9tape", "a_b", "a--b", "-a", "a-", "a/b", "../a", "a b", "int", "class"]
BAD.append("x" * 21)
EXISTING = [
    ("profile", "redis", "profiles/redis.toml exists already"),
    ("profile", "valkey-server", "about the program valkey-server already"),
    ("scenario", "journal", "tests/scenarios/journal.c exists already"),
    ("scenario", "mutex-pi", "is taken in tests/scenarios/user.c"),
    ("experiment", "depth", "lab/experiments/depth.py exists already"),
    ("experiment", "ablation", "is taken in lab/experiments/first_light.py"),
    ("experiment", "paper", "is taken in lab/paper.py"),
    ("experiment", "experiment", "the class Experiment is taken"),
    ("model", "volume", "core/simdisk_volume.c exists already"),
    ("model", "nvme", "is taken in core/"),
    ("model", "smr", "is taken in core/"),
    ("model", "kind", "is taken in core/"),
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the files that ./new reads and writes."""
    for folder in FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    for file in FILES:
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def new(tree: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Runs ./new of a tree."""
    return subprocess.run(
        [tree / "new", *arguments], capture_output=True, text=True, check=False, cwd="/"
    )


def make(tree: Path, part: str, name: str) -> None:
    """Makes a part, which must succeed."""
    done = new(tree, part, name)
    assert done.returncode == 0, done.stderr
    assert "Next:" in done.stdout and "@" not in done.stdout


def run(tree: Path, *command: str | Path) -> str:
    """Runs a command in a tree, which must succeed; returns its output."""
    environment = os.environ | {"FGIO_BUILD": str(tree / "build"), "PYTHONPATH": str(tree)}
    environment |= {"FGIO_CACHE": str(paths.CACHE.resolve())}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tree, env=environment
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


def contents(tree: Path) -> dict[Path, bytes]:
    """Every file of a tree."""
    return {file: file.read_bytes() for file in tree.rglob("*") if file.is_file()}


def check_style(tree: Path, file: str) -> None:
    """The kernel's checkpatch, where it has been fetched."""
    if (paths.CACHE / "checkpatch" / "scripts" / "kernel-doc").is_file():
        run(tree, "kmod/checkpatch", file)


@pytest.mark.parametrize("name", ["tape", "a2-b10-15-chars"])
def test_a_profile_is_accepted(tree: Path, name: str) -> None:
    make(tree, "profile", name)
    file = tree / "profiles" / f"{name}.toml"
    made = tomllib.loads(file.read_text())
    assert made["program"]["comm"] == name
    # Shipped profiles have four cases or more.
    assert len(made["case"]) >= 4
    assert {rule["class"] for rule in made["rule"]} == {"background", "foreground"}
    (shipped,) = (tree / "tools").glob("**/tests/shipped.rs")
    expected = re.search(r"let expected = \[\n(.*?)\n    \];", shipped.read_text(), re.DOTALL)
    names = sorted(file.stem for file in (tree / "profiles").glob("*.toml"))
    assert re.findall(r'"(.*?)"', expected[1]) == names
    for kind in ("release", "debug"):
        command = paths.BUILD / "cargo" / kind / "fgio"
        if command.is_file():
            run(tree, command, "profile", "check", file)


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_compiles_and_is_listed(tree: Path, name: str) -> None:
    make(tree, "scenario", name)
    sources = sorted((tree / "tests" / "scenarios").glob("*.c"))
    command = ["gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-I."]
    run(tree, *command, "-o", "list-them", *sources)
    lines = run(tree, "./list-them", "list").splitlines()
    assert [line.split("\t")[1] for line in lines if line.split("\t")[0] == name] == ["user"]


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_is_clean_and_found(tree: Path, name: str) -> None:
    make(tree, "experiment", name)
    ruff = Path(sys.executable).parent / "ruff"
    run(tree, ruff, "check", "--no-cache", "lab/experiments")
    run(tree, ruff, "format", "--no-cache", "--check", "lab/experiments")
    listed = run(tree, sys.executable, "-P", "-m", "lab.cli", "--list")
    assert name in [line.split()[0] for line in listed.splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_a_model_compiles_and_can_be_named(tree: Path, name: str) -> None:
    make(tree, "model", name)
    for source in sorted((tree / "core").glob("simdisk_*.c")):
        command = ["gcc", "-std=c11", "-ffreestanding", "-fsyntax-only", "-Werror"]
        run(tree, *command, *WARNINGS, source)
    check_style(tree, f"core/simdisk_{name.replace('-', '_')}.c")
    ruff = Path(sys.executable).parent / "ruff"
    run(tree, ruff, "format", "--no-cache", "--check", "lab/drives.py")
    code = f"from lab import drives; print(drives.resolve('{name}:latency=5ms,bytes_per_s=1M'))"
    code += f"; print(drives.nearest('{name}'), drives.load('{name}', 'read', 4, 1)['iops'])"
    spec, figures = run(tree, sys.executable, "-c", code).splitlines()
    assert spec == f"{name}:latency=5ms,bytes_per_s=1M"
    nearest, iops = figures.split()
    assert nearest == "volume"
    # 200 us, 10 us of jitter, and the time of 4 KiB at 500 MB/s.
    assert float(iops) == pytest.approx(1e6 / (210 + 4096 / 500), rel=0.01)


@pytest.mark.skipif(not HAS_LAYERS, reason="kmod/ has no layers/")
@pytest.mark.parametrize("name", NAMES)
def test_a_lock_is_in_the_table_and_calls_functions_that_exist(tree: Path, name: str) -> None:
    make(tree, "lock", name)
    ident = name.replace("-", "_")
    file = f"kmod/layers/{ident}.c"
    text = (tree / file).read_text()
    assert f"&fgio_{ident}_layer," in (tree / "kmod" / "main.c").read_text()
    kinds = re.findall(r"^\tX\((\w+), (\d+), ", (tree / "uapi/fgio.h").read_text(), re.M)
    assert [int(number) for _, number in kinds] == list(range(len(kinds)))
    assert kinds[-1][0] == ident.upper()
    for header in re.findall(r'#include "(.*?)"', text):
        assert (tree / "kmod" / header).is_file(), header
    kind = f"FGIO_WAIT_{ident.upper()}"
    declared = "".join(at.read_text() for at in tree.rglob("*.h"))
    for used in set(re.findall(r"\b(?:fgio|FGIO)_\w+", text)) - {f"fgio_{ident}_layer"}:
        assert re.search(rf"\b{used}\b", declared) or used == kind, f"{used} is declared nowhere"
    check_style(tree, file)


def test_a_bad_name_is_refused(tree: Path) -> None:
    before = contents(tree)
    for part in PARTS:
        for name in BAD:
            done = new(tree, part, name)
            assert done.returncode == 1 and done.stderr.startswith("./new: ") and not done.stdout
    assert contents(tree) == before


def test_an_existing_name_is_refused(tree: Path) -> None:
    before = contents(tree)
    for part, name, why in EXISTING:
        done = new(tree, part, name)
        assert done.returncode == 1 and why in done.stderr
    assert contents(tree) == before


@pytest.mark.parametrize("part", [part for part in PARTS if HAS_LAYERS or part != "lock"])
def test_the_same_again_is_refused(tree: Path, part: str) -> None:
    make(tree, part, "tape")
    before = contents(tree)
    assert new(tree, part, "tape").returncode == 1
    assert contents(tree) == before


@pytest.mark.parametrize("part", ["scenario", "experiment", "model"])
def test_a_file_that_is_not_as_expected_is_left_alone(tree: Path, part: str) -> None:
    changed = {
        "scenario": "tests/scenarios/main.c",
        "experiment": "lab/experiments/__init__.py",
        "model": "lab/drives.py",
    }[part]
    (tree / changed).write_text("something else\n")
    before = contents(tree)
    done = new(tree, part, "tape")
    assert done.returncode == 1 and f"{changed} is not as this script expects it" in done.stderr
    assert contents(tree) == before


def test_help_and_usage(tree: Path) -> None:
    said = new(tree, "--help")
    assert said.returncode == 0 and all(f"./new {part} NAME" in said.stdout for part in PARTS)
    for wrong in ([], ["model"], ["floppy", "a"], ["model", "a", "b"]):
        done = new(tree, *wrong)
        assert done.returncode == 2 and done.stderr.startswith("usage: ")
