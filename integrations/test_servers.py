# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The integrations with the servers of later Debian releases: PostgreSQL, MariaDB, Redis, Valkey.

Each release is a root file system in the lab's cache. What the integrations are is built there by
its own compiler against its own headers, and their tests run there as they do on this host. What
the documentation says of versions is what this has run: FGIO_SUITES chooses ("trixie,forky").
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lab import image, paths  # noqa: E402

SUITES = os.environ.get("FGIO_SUITES", "trixie,forky").split(",")
TOOLS = (
    "gcc",
    "libc6-dev",
    "make",
    "python3-pytest",
    "mariadb-server-core",
    "mariadb-client-core",
    "valkey-server",
    # For Valkey's package, instead of systemd.
    "systemd-standalone-sysusers",
    "systemd-standalone-tmpfiles",
)
# The checkout, which it may not change, and a folder for what it builds.
ENTER = """
set -eu
root=$1 checkout=$2 build=$3
shift 3
mount --make-rprivate /
mount -t tmpfs none "$root/tmp"
mount --bind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount --bind -o ro "$checkout" "$root/mnt"
mount --bind "$build" "$root/data"
exec chroot "$root" "$@"
"""


def tree(suite: str) -> Path:
    """A release with compilers and servers; of headers those alone that are needed."""
    headers = (
        f"postgresql-server-dev-{image.POSTGRESQL[suite]}",
        "libmariadbd-dev",
        "libmariadb-dev",
    )
    return image.root_tree(TOOLS, suite, headers)


def run(suite: str, build: Path, *command: str, **variables: str) -> str:
    """What a command in a release printed, with these variables; fails with it when it failed."""
    programs = f"/usr/lib/postgresql/{image.POSTGRESQL[suite]}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    inside = ["env", "-i", f"PATH={programs}", "LC_ALL=C.UTF-8", "HOME=/tmp", "FGIO_BUILD=/data"]
    inside += ["LIBFGIO=/mnt/build/lib/libfgio.a", *(f"{n}={v}" for n, v in variables.items())]
    inside += command
    private = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    where = [str(tree(suite)), str(paths.ROOT), str(build)]
    done = subprocess.run(
        image.as_root([*private, "bash", "-c", ENTER, "enter", *where, *inside]),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout
    return done.stdout


def check(suite: str, build: Path, what: str, **variables: str) -> None:
    """The tests in a folder of the integrations, in a release; to have run none is a failure."""
    pytest_there = ["python3", "-B", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
    said = run(suite, build, *pytest_there, f"/mnt/integrations/{what}", **variables)
    assert re.search(r"^\d+ passed", said, re.MULTILINE), said


@pytest.fixture(params=SUITES)
def suite(request) -> str:
    return request.param


@pytest.fixture
def build(suite: str) -> Path:
    folder = paths.BUILD / "servers" / suite
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_postgresql(suite, build):
    check(suite, build, "postgresql")


def test_mariadb(suite, build):
    (build / "mariadb").mkdir(exist_ok=True)
    headers = build / "mariadb" / "server"
    if not headers.is_symlink():
        headers.symlink_to("/usr/include/mariadb/server")
    check(suite, build, "mariadb")


@pytest.mark.parametrize("server", ["redis", "valkey"])
def test_redis(suite, build, server):
    (build / "redis").mkdir(exist_ok=True)
    # From the crate, which needs cargo.
    shutil.copy(paths.BUILD / "redis" / "redismodule.h", build / "redis")
    check(suite, build, "redis", FGIO_REDIS=server)
