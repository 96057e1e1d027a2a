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

PATH = f"{os.environ['PATH']}:/usr/sbin"


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


def root() -> Path:
    """Where MariaDB is: on this machine, or fetched for this test."""
    if shutil.which("mariadbd", path=PATH):
        return Path("/")
    folder = BUILD / "root"
    fetched = call(HERE / "fetch-server", folder)
    if fetched.returncode:
        pytest.skip(f"no MariaDB: {fetched.stderr.strip().splitlines()[-1]}")
    return folder


class Server:
    """A MariaDB in a folder: listens on a socket there, and on no network."""

    def __init__(self, folder: Path):
        self.root = root()
        programs = f"{self.root}/usr/bin:{self.root}/usr/sbin:{PATH}"
        self.environment = {**os.environ, "PATH": programs}
        self.socket = folder / "socket"
        self.log = folder / "log"
        plugins = folder / "plugins"
        plugins.mkdir()
        shutil.copy(build(), plugins)
        self.has_spider = any(self.root.glob("usr/lib/mysql/plugin/ha_spider.so"))
        if self.has_spider:
            shutil.copy(self.root / "usr/lib/mysql/plugin/ha_spider.so", plugins)
        base = f"--basedir={self.root}/usr"
        data = f"--datadir={folder}/data"
        user = "--user=root" if os.geteuid() == 0 else f"--user={getpass.getuser()}"
        # Its root may come as any user of the system: the socket's folder is private.
        made_as = ("--skip-test-db", "--auth-root-authentication-method=normal")
        made = self.call("mariadb-install-db", "--no-defaults", base, data, user, *made_as)
        assert made.returncode == 0, made.stdout + made.stderr
        command = ["mariadbd", "--no-defaults", base, data, user, "--skip-networking"]
        command += [f"--socket={self.socket}", f"--plugin-dir={plugins}"]
        command += ["--plugin-maturity=experimental", "--plugin-load-add=fgio"]
        command += ["--plugin-load-add=ha_spider"] * self.has_spider
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=self.environment)

    def call(self, *command: object) -> subprocess.CompletedProcess:
        """One of the server's programs."""
        return call(*command, env=self.environment)

    def sql(self, text: str) -> subprocess.CompletedProcess:
        """One session."""
        options = ["--no-defaults", f"--socket={self.socket}", "--user=root", "--skip-ssl"]
        return self.call("mariadb", *options, "--comments", "-BN", "-e", text)

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


def commands_with_request(server: Server) -> int:
    return int(said(server, "SHOW GLOBAL STATUS LIKE 'Fgio_commands_with_request'").split()[1])


ID = "fgio:0123456789abcdef"


@pytest.mark.parametrize(
    ("before", "command", "served"),
    [
        ("", f"SELECT '{ID}'", 0),
        ("SET fgio_read_requests = 1", f"SELECT '{ID}'", 1),
        ("SET fgio_read_requests = 1", "SELECT 'fgio:0123456789abcde'", 0),
        ("SET fgio_read_requests = 1", f"SELECT 1 /*tracestate='fgio%3D{ID[5:]}-50'*/", 1),
        ("SET fgio_read_requests = 1", f"SELECT '{'a' * 2000}' <> '{ID}'", 1),
        ("SET fgio_read_requests = 1", f"SELECT '{ID}' <> '{'a' * 2000}'", 1),
        # Beyond what is looked through.
        ("SET fgio_read_requests = 1", f"SELECT '{'a' * 2000}' <> '{ID}{' ' * 2000}'", 0),
        (f"SET fgio_request = '{ID}-50-2'", "SELECT 1", 1),
        ("SET fgio_request = '4711'", "SELECT 1", 0),
        (f"SET fgio_request = '{ID}'; SET fgio_class = 'background'", "SELECT 1", 0),
    ],
)
def test_commands_serve_requests(server, before, command, served):
    """Counted by the difference to the session without the command; its settings may count."""
    start = commands_with_request(server)
    said(server, f"{before or 'DO 1'}; DO 1")
    without = commands_with_request(server) - start
    said(server, f"{before or 'DO 1'}; {command} INTO @x; DO 1")
    assert commands_with_request(server) - start - 2 * without == served


SHARDS = """
CREATE DATABASE shard0; CREATE DATABASE shard1; CREATE DATABASE front;
CREATE TABLE shard0.items (k BIGINT PRIMARY KEY, v VARCHAR(40));
CREATE TABLE shard1.items LIKE shard0.items;
INSERT INTO shard0.items VALUES (1, 'one'), (2, 'two');
INSERT INTO shard1.items VALUES (11, 'eleven'), (12, 'twelve');
SET GLOBAL spider_same_server_link = 1;
SET GLOBAL spider_bgs_mode = 1;
CREATE SERVER s0 FOREIGN DATA WRAPPER mysql
  OPTIONS (SOCKET '{socket}', DATABASE 'shard0', USER 'root');
CREATE SERVER s1 FOREIGN DATA WRAPPER mysql
  OPTIONS (SOCKET '{socket}', DATABASE 'shard1', USER 'root');
CREATE TABLE front.items (k BIGINT PRIMARY KEY, v VARCHAR(40)) ENGINE=SPIDER
  COMMENT='wrapper "mysql", table "items"' PARTITION BY RANGE (k) (
    PARTITION p0 VALUES LESS THAN (10) COMMENT='srv "s0"',
    PARTITION p1 VALUES LESS THAN (100) COMMENT='srv "s1"');
"""


def test_spider_hands_a_predicate_to_its_shards(server):
    if not server.has_spider:
        pytest.skip("this MariaDB has no Spider")
    said(server, SHARDS.format(socket=server.socket))
    said(server, "SET GLOBAL fgio_read_requests = 1")
    try:
        query = "SELECT count(*) FROM front.items WHERE k BETWEEN 2 AND 11"
        # Spider's sessions are there from now on; a comment ends at the front.
        start = commands_with_request(server)
        assert said(server, f"{query} /* {ID} */") == "2"
        assert commands_with_request(server) - start == 1
        start = commands_with_request(server)
        assert said(server, f"{query} AND v <> '{ID}'") == "2"
        # The front, and each of two shards.
        assert commands_with_request(server) - start == 3
    finally:
        said(server, "SET GLOBAL fgio_read_requests = 0")


def test_it_goes_and_comes_back(server):
    said(server, "UNINSTALL SONAME 'fgio'")
    assert server.sql("SELECT @@fgio_class").returncode != 0
    said(server, "INSTALL SONAME 'fgio'; SELECT @@fgio_class")
