# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The plugin in a throwaway MariaDB, without the kernel's module: harmless, and a session's choice.

What it tells the kernel is tested with the packages: tests/installed.
"""

import getpass
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("FGIO_BUILD", HERE.parent.parent / "build")) / "mariadb"

pytestmark = pytest.mark.skipif(
    not shutil.which("mariadbd", path=f"{os.environ['PATH']}:/usr/sbin"),
    reason="there is no MariaDB here; test_servers.py brings one",
)


def call(*command: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=300, **options
    )


def build() -> Path:
    """The plugin, built when it is not there."""
    settings = [f"LIBFGIO={os.environ['LIBFGIO']}"] if "LIBFGIO" in os.environ else []
    done = call("make", "-s", "-C", HERE, f"BUILD={BUILD}", *settings)
    assert done.returncode == 0, done.stderr
    return BUILD / "fgio.so"


class Server:
    """A MariaDB in a folder: listens on a socket there, and on no network."""

    def __init__(self, folder: Path):
        self.socket = folder / "socket"
        self.log = folder / "log"
        plugins = folder / "plugins"
        plugins.mkdir()
        shutil.copy(build(), plugins)
        data = f"--datadir={folder}/data"
        user = "--user=root" if os.geteuid() == 0 else f"--user={getpass.getuser()}"
        made = call("mariadb-install-db", "--no-defaults", data, user, "--skip-test-db")
        assert made.returncode == 0, made.stdout + made.stderr
        command = ["mariadbd", "--no-defaults", data, user, "--skip-networking"]
        command += [f"--socket={self.socket}", f"--plugin-dir={plugins}"]
        command += ["--plugin-maturity=experimental", "--plugin-load-add=fgio"]
        path = f"{os.environ['PATH']}:/usr/sbin"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, "PATH": path}
            )

    def sql(self, text: str) -> subprocess.CompletedProcess:
        """One session."""
        options = ["--no-defaults", f"--socket={self.socket}", "--user=root", "--skip-ssl"]
        return call("mariadb", *options, "-BN", "-e", text)

    def wait(self) -> None:
        deadline = time.monotonic() + 120
        while self.sql("SELECT 1").returncode:
            assert self.process.poll() is None and time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.2)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="fgio-mariadb.") as name:
        one = Server(Path(name))
        try:
            one.wait()
            yield one
        finally:
            one.process.terminate()
            one.process.wait(timeout=120)


def said(server: Server, text: str) -> str:
    done = server.sql(text)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_server_has_it_and_serves(server):
    plugin = said(
        server,
        "SELECT plugin_status, plugin_type FROM information_schema.plugins "
        "WHERE plugin_name = 'fgio'",
    )
    assert plugin.split() == ["ACTIVE", "AUDIT"]
    available = said(server, "SHOW STATUS LIKE 'fgio_available'").split()
    assert available == ["Fgio_available", "ON" if Path("/dev/fgio").exists() else "OFF"]
    said(server, "CREATE DATABASE one; CREATE TABLE one.numbers (n INT) ENGINE=InnoDB")
    said(
        server,
        "PREPARE it FROM 'INSERT INTO one.numbers VALUES (?)'; SET @n = 1; "
        "EXECUTE it USING @n; EXECUTE it USING @n",
    )
    assert said(server, "SELECT count(*) FROM one.numbers") == "2"


def test_a_session_chooses(server):
    assert said(server, "SELECT @@fgio_class") == "foreground"
    for label in ("background", "none"):
        chosen = (
            f"SET SESSION fgio_class = '{label}'; SELECT @@fgio_class, count(*) FROM one.numbers"
        )
        assert said(server, chosen).split() == [label, "2"]
    assert "urgent" in server.sql("SET SESSION fgio_class = 'urgent'").stderr


def test_it_goes_and_comes_back(server):
    said(server, "UNINSTALL SONAME 'fgio'")
    assert server.sql("SELECT @@fgio_class").returncode != 0
    said(server, "INSTALL SONAME 'fgio'; SELECT @@fgio_class")
