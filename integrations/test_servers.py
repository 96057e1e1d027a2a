# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The integrations with the servers of later Debian releases: PostgreSQL, MariaDB, Redis, Valkey.

Each release is a root file system in the lab's cache. What the integrations are is built there by
its own compiler against its own headers, and their tests run there as they do on this host. What
the documentation says of versions is what this has run: FGIO_SUITES chooses ("trixie,forky").
"""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lab import paths, servers  # noqa: E402

SUITES = os.environ.get("FGIO_SUITES", "trixie,forky").split(",")


def check(suite: str, build: Path, what: str, **variables: str) -> None:
    """The tests in a folder of the integrations, in a release; to have run none is a failure."""
    pytest_there = ["python3", "-B", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
    said = servers.run(suite, build, *pytest_there, f"/mnt/integrations/{what}", **variables)
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
