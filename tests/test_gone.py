# SPDX-License-Identifier: Apache-2.0 OR MIT
"""kmod's readers of bios, stripes, pages, tasks, rings and requests of FUSE that may be gone.

tests/gone/gone.c has the memory. FGIO_SEED gives the seed again that a failure names.
"""

import os
import re
import subprocess
from pathlib import Path

import drawn
import pytest

from lab import host, paths

SOURCES = (
    "base/foreign.c",
    "base/kworker.c",
    "block/direct.c",
    "block/ends.c",
    "block/io_target.c",
    "block/loop.c",
    "block/originals.c",
    "block/upkeep.c",
    "block/stacked.c",
    "block/stripe.c",
    "layers/fuse_object.c",
    "who/uring.c",
)
SYSTEM_HEADER = re.compile(r"^#include <(linux/.*|uapi/linux/.*)>", re.MULTILINE)
# Functions are where they were at the last run, as the memory is.
PLACED = ("-fno-pie", "-no-pie")
OPTIONS = ("-std=gnu11", *PLACED, "-g", "-O1", "-Wall", "-Werror", "-Wno-unused-function")
# Members of misaligned objects are named, and not read: the kernel does not check for it either.
SANITIZERS = "-fsanitize=address,bounds,shift,signed-integer-overflow"
ROUNDS = 1000


def _write_headers(folder: Path) -> None:
    """Writes a header for each of the kernel's that a file of kmod/ names: all are fake.h."""
    files = [*(paths.ROOT / "kmod").rglob("*.[ch]")]
    for name in {name for file in files for name in SYSTEM_HEADER.findall(file.read_text())}:
        header = folder / name
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text('#include "fake.h"\n')


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built."""
    folder = tmp_path_factory.mktemp("gone")
    own = paths.ROOT / "tests" / "gone"
    _write_headers(folder / "include")
    found = [folder / "include", own / "include", own, paths.ROOT / "kmod"]
    found += [paths.ROOT, paths.ROOT / "core"]
    sources = [own / "gone.c", *(paths.ROOT / "kmod" / name for name in SOURCES)]
    command = ["gcc", *OPTIONS, SANITIZERS, "-fno-sanitize-recover=all"]
    command += [f"-I{each}" for each in found]
    host.run([*command, "-o", str(folder / "gone"), *map(str, sources)], what="building gone.c")
    return folder / "gone"


def test_nothing_that_is_gone_is_followed(program: Path) -> None:
    ran = subprocess.run(
        [program, drawn.SEED, str(ROUNDS)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
    )
    assert ran.returncode == 0, f"seeds from {drawn.SEED}: {ran.stdout}{ran.stderr}"
