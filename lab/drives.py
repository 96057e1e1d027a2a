# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The disk models of core/ by their specs, as --device and simdisk's model= take them."""

import functools
import hashlib
import os
import re
import subprocess
from pathlib import Path

from lab import host, paths

# Longest module parameter of the kernel in bytes, with room for its name.
MOST_CHARACTERS = 1000
MOST_OF_A_LABEL = 60
# kind -> the model whose loads and settings suit it best.
NEAREST = {"hdd-raid": "hdd", "ssd-raid": "ssd", "measured": "volume"}


def _sources() -> list[Path]:
    core = paths.ROOT / "core"
    return [paths.LAB / "drive.c", core / "tests" / "model_host.c", *core.glob("simdisk_*.c")]


@functools.cache
def _program() -> Path:
    """lab/drive.c, built when it is older than its sources."""
    built = paths.BUILD / "host" / "drive"
    headers = [*(paths.ROOT / "core").glob("*.h"), *(paths.ROOT / "core" / "tests").glob("*.h")]
    newest = max(file.stat().st_mtime for file in (*_sources(), *headers))
    if built.is_file() and built.stat().st_mtime > newest:
        return built
    built.parent.mkdir(parents=True, exist_ok=True)
    fresh = built.with_name(f"drive.{os.getpid()}")
    command = ["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{paths.ROOT}"]
    command += ["-o", str(fresh), *map(str, _sources())]
    host.run(command, what="compiling lab/drive.c")
    fresh.replace(built)
    return built


def _ask(*arguments: str) -> str:
    """The output of the program. Raises LabError with its message when it refuses."""
    done = subprocess.run([_program(), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise host.LabError(done.stderr.strip())
    return done.stdout


def help_text() -> str:
    """Everything that a spec may say."""
    return _ask("help")


def _from_file(name: str) -> str:
    """The spec in a model file: its lines, joined. Raises LabError when it cannot be read."""
    try:
        lines = Path(name).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no text"
        raise host.LabError(f"{name}: {reason}") from None
    said = [re.sub(r"\s+", "", line.split("#", 1)[0]) for line in lines]
    kind, *settings = [line for line in said if line] or [""]
    return ":".join([kind, ",".join(settings)]) if settings else kind


def resolve(text: str) -> str:
    """The spec that --device names: a spec, or @FILE with one.

    Raises LabError, in the parser's own words, when it is none.
    """
    spec = _from_file(text[1:]) if text.startswith("@") else text
    try:
        _ask("check", spec)
    except host.LabError as error:
        raise host.LabError(f"device {text}: {error} (lab/run --device help)") from None
    if len(spec) > MOST_CHARACTERS:
        raise host.LabError(
            f"device {text}: {len(spec)} characters; the module takes {MOST_CHARACTERS}"
        )
    return spec


@functools.cache
def kind(spec: str) -> str:
    """The model that a spec is of. Raises LabError when it is none."""
    return _ask("check", spec).splitlines()[0]


@functools.cache
def spelled(spec: str) -> str:
    """The spec with its preset spelled out. Raises LabError when it is none."""
    return _ask("check", spec).splitlines()[1]


def nearest(spec: str) -> str:
    """Of the four plain models, the one that a drive resembles. Raises LabError for no spec."""
    return NEAREST.get(kind(spec), kind(spec))


@functools.cache
def rates(spec: str) -> str:
    """Coefficients of blk-iocost's linear model, as the model of core/ reaches them."""
    return _ask("rates", spec).strip()


@functools.cache
def load(spec: str, operation: str, kib: int, depth: int) -> dict[str, float]:
    """Figures of a model of core/ under I/O anywhere with `depth` at a time.

    iops, and p50, p90 and p99 of the latencies in us. Raises LabError for a load that it cannot do.
    """
    said = _ask("load", spec, operation, str(kib), str(depth))
    return {name: float(value) for name, value in (pair.split("=") for pair in said.split())}


def mb_per_s(spec: str) -> int:
    """MB/s that a drive reads and writes in large I/Os, the lower of the two."""
    figures = dict(pair.split("=") for pair in rates(spec).split())
    return max(1, min(int(figures["rbps"]), int(figures["wbps"])) // 1_000_000)


def label(spec: str) -> str:
    """A name for folders and tables; that of a model or preset is itself."""
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", spec).strip("-.")
    if len(plain) <= MOST_OF_A_LABEL:
        return plain
    mark = hashlib.sha256(spec.encode()).hexdigest()[:8]
    return f"{plain[: MOST_OF_A_LABEL - 9]}-{mark}"
