# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The sources that results are of."""

import subprocess
from pathlib import Path

from lab import paths

LIMIT_S = 60


def commit(root: Path = paths.ROOT) -> dict:
    """The commit that is checked out, and whether anything but docs/ differs from it.

    Null where the sources are not a git checkout, as in a tar archive.
    """
    changed = _git(root, "status", "--porcelain", "--", ".", ":(exclude)docs")
    return {
        "commit": _git(root, "rev-parse", "HEAD"),
        "dirty": None if changed is None else bool(changed),
    }


def _git(root: Path, *arguments: str) -> str | None:
    """The output of a git command; None where it fails, or there is no git."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.strip()
