# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The extension in a throwaway server of an unprivileged user, without the kernel's module.

The server finds the extension where it was built, so nothing is installed. What it tells the kernel
is tested in the lab: tests/test_integrations.py.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("FGIO_BUILD", HERE.parent.parent / "build")) / "postgresql"
UNPRIVILEGED = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def call(*command: object, limit_s: float = 300, **options) -> str:
    """Runs a command to its end and returns what it printed; fails with it when it failed."""
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=limit_s,
        **options,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}"
    return done.stdout


def asked(option: str) -> str:
    """An answer of pg_config."""
    return call("pg_config", option).strip()


def version() -> int:
    """The server's major version."""
    return int(re.search(r"PostgreSQL (\d+)", asked("--version"))[1])


def make(*targets: object, **options) -> str:
    """The extension's Makefile, in a folder of its own."""
    BUILD.mkdir(parents=True, exist_ok=True)
    settings = [f"LIBFGIO={os.environ['LIBFGIO']}"] if "LIBFGIO" in os.environ else []
    options = {"limit_s": 600, **options}
    return call("make", "-s", "-f", HERE / "Makefile", *settings, *targets, cwd=BUILD, **options)


def wait_for(question: Callable[[], str], limit_s: float = 60) -> str:
    """The first answer that is not empty."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if answer := question():
            return answer
        time.sleep(0.05)
    pytest.fail("waited in vain")


class Server:
    """A cluster in a folder: listens on a socket there, and on no network."""

    def __init__(self, folder: Path, **settings: str):
        self.folder = folder
        self.data = folder / "data"
        self.as_user = UNPRIVILEGED if os.geteuid() == 0 else []
        self.bin = Path(asked("--bindir"))
        self.environment = {
            **os.environ,
            "PGHOST": str(folder),
            "PGUSER": "postgres",
            "LC_ALL": "C",
        }
        self.environment |= {"PGDATABASE": "postgres", "HOME": str(folder)}
        make("install", f"DESTDIR={folder}/installed")
        if self.as_user:
            shutil.chown(folder, 65534, 65534)
        self.run("initdb", f"--pgdata={self.data}", "--auth=trust", "-N", "--username=postgres")
        self.settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(folder),
            **self.where_extensions_are(),
            "dynamic_library_path": f"{folder}/installed{asked('--pkglibdir')}:$libdir",
            "fsync": "off",
            **settings,
        }

    def where_extensions_are(self) -> dict[str, str]:
        """The setting for control files elsewhere: Debian's own until PostgreSQL 18 had one."""
        if version() < 18:
            return {"extension_destdir": f"{self.folder}/installed"}
        there = f"{self.folder}/installed{asked('--sharedir')}"
        return {"extension_control_path": f"{there}:$system"}

    def run(self, program: str, *arguments: object, **options) -> str:
        """One of the server's programs, as the user that the server runs as."""
        command = [*self.as_user, self.bin / program, *arguments]
        return call(*command, **{"env": self.environment, "cwd": self.folder, **options})

    def start(self) -> None:
        options = " ".join(f"-c {name}='{value}'" for name, value in self.settings.items())
        log = self.folder / "log"
        # The server must not keep the pipe that run() reads to its end.
        with contextlib.suppress(FileNotFoundError):
            log.unlink()
        self.run("pg_ctl", "-w", "-D", self.data, "-l", log, "-o", options, "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-w", "-m", "immediate", "-D", self.data, "stop")

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def sql(self, text: str, *options: str) -> str:
        """The output of psql, unaligned and without headings."""
        return self.run("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", *options, "-c", text).strip()


@contextlib.contextmanager
def running(**settings: str) -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="fgio-pg."))
    try:
        server = Server(folder, **settings)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(shared_preload_libraries="fgio") as one:
        one.sql("CREATE EXTENSION fgio")
        yield one


def test_installcheck(server):
    shutil.rmtree(BUILD / "results", ignore_errors=True)
    try:
        make("installcheck", env=server.environment)
    except AssertionError as error:
        differences = BUILD / "regression.diffs"
        raise AssertionError(differences.read_text() if differences.exists() else error) from None


def test_absent_module_is_one_line_in_the_log(server):
    if server.sql("SELECT available FROM pg_stat_fgio_module") == "t":
        pytest.skip("the module is loaded")
    for _ in range(3):
        server.sql("SELECT 1")
    lines = [line for line in server.log().splitlines() if "fgio: " in line]
    assert len(lines) == 1 and "no access to /dev/fgio" in lines[0]


# Each step pauses long enough to be seen from another session.
PAUSES = """
BEGIN;
SELECT abalance FROM pgbench_accounts WHERE aid = 1;
\\sleep 3 s
END;
"""
PIPELINE = """
\\startpipeline
SELECT abalance FROM pgbench_accounts WHERE aid = 1;
UPDATE pgbench_accounts SET abalance = 0 WHERE aid = 1;
SELECT abalance FROM pgbench_accounts WHERE aid = 1;
\\endpipeline
\\sleep 3 s
"""


@pytest.mark.parametrize("protocol", ["simple", "extended", "prepared"])
@pytest.mark.parametrize(
    ("script", "state"),
    [
        pytest.param(PAUSES, "idle in transaction", id="transaction"),
        pytest.param(PIPELINE, "idle", id="pipeline"),
    ],
)
def test_waiting_for_the_client_is_not_foreground(server, protocol, script, state):
    if script is PIPELINE and protocol == "simple":
        pytest.skip("pipelines need the extended protocol")
    if server.sql("SELECT to_regclass('pgbench_accounts')") == "":
        server.run("pgbench", "-i", "-q", "-s", "1")
    (server.folder / "script").write_text(script)
    command = [*server.as_user, server.bin / "pgbench", "-n", "-t", "1", "-M", protocol]
    environment = {**server.environment, "PGAPPNAME": "client"}
    client = subprocess.Popen(
        [*map(str, command), "-f", str(server.folder / "script")],
        env=environment,
        cwd=server.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    question = f"""SELECT coalesce(class, 'not labelled') FROM pg_stat_fgio
      JOIN pg_stat_activity USING (pid) WHERE application_name = 'client' AND state = '{state}'
      AND query ~ 'abalance' AND foreground_statements >= 2"""
    try:
        # The two views are read one after the other: the first answer may pair the class of a
        # statement with the state just after it.
        wait_for(lambda: server.sql(question))
        assert wait_for(lambda: server.sql(question)) == "not labelled"
    finally:
        output, _ = client.communicate(timeout=60)
    assert client.returncode == 0, output


def test_role_and_database_choose(server):
    server.sql("CREATE ROLE batch LOGIN; ALTER ROLE batch SET fgio.class = 'background'")
    server.sql("CREATE ROLE quiet LOGIN; ALTER ROLE quiet SET fgio.scope = 'never'")
    server.sql("CREATE DATABASE reports")
    server.sql("ALTER DATABASE reports SET fgio.class = 'background'")
    server.sql("CREATE EXTENSION fgio", "-d", "reports")
    question = "SELECT fgio_class()"
    assert server.sql(question) == "foreground"
    assert server.sql(question, "-U", "batch") == "background"
    assert server.sql(question, "-U", "quiet") == ""
    assert server.sql(question, "-d", "reports") == "background"


@pytest.mark.parametrize("program", ["pg_dump", "pg_dumpall", "vacuumdb"])
def test_nightly_programs_are_background(server, program):
    def did(**settings: str) -> tuple[int, int]:
        """Statements that the program's sessions ran in the foreground and in the background."""
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        server.sql("SELECT pg_stat_fgio_reset()")
        server.run(program, env={**server.environment, "PGOPTIONS": options})
        # Of sessions that have ended: the one that reset them ran one.
        question = """SELECT foreground_statements, background_statements FROM pg_stat_fgio
          WHERE pid IS NULL"""
        foreground, background = server.sql(question).split("|")
        return int(foreground), int(background)

    foreground, background = did()
    assert foreground <= 1 and background > 1
    # The control: without the list, what its sessions ask of the catalogs is foreground.
    foreground, background_without = did(**{"fgio.background_applications": ""})
    assert foreground > 1 and background_without < background


def test_parallel_index_build_is_background(server):
    server.sql("CREATE TABLE wide AS SELECT generate_series(1, 200000) AS value")
    server.sql(
        """CREATE FUNCTION tell(value int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
          AS $$ BEGIN
            IF value % 20000 = 0 THEN
              RAISE LOG 'indexing: % as %', public.fgio_class(), (SELECT backend_type
                FROM pg_stat_activity WHERE pid = pg_backend_pid());
            END IF;
            RETURN value;
          END $$"""
    )
    server.sql("ALTER TABLE wide SET (parallel_workers = 2)")
    server.sql("SET min_parallel_table_scan_size = 0; CREATE INDEX ON wide (tell(value))")
    told = set(re.findall("indexing: (.*)", server.log()))
    assert told >= {"background as parallel worker"}
    assert all(line.startswith("background as ") for line in told)


def test_session_preload_labels_and_counts_nothing():
    with running(session_preload_libraries="fgio") as server:
        server.sql("CREATE EXTENSION fgio")
        assert server.sql("SELECT fgio_class()") == "foreground"
        with pytest.raises(AssertionError, match="Add fgio to shared_preload_libraries"):
            server.sql("SELECT * FROM pg_stat_fgio")
        with pytest.raises(AssertionError, match="fgio counts nothing"):
            server.sql("SELECT pg_stat_fgio_reset()")
        many = "SELECT count(*) FROM generate_series(1, 10) WHERE fgio_class() = 'foreground'"
        always = "force_parallel_mode" if version() < 16 else "debug_parallel_query"
        assert server.sql(f"SET {always} = on; {many}") == "10"


def test_crash_of_a_backend_leaves_no_row(server):
    victim = subprocess.Popen(
        [*server.as_user, str(server.bin / "psql"), "-XAtqc", "SELECT pg_sleep(30)"],
        env={**server.environment, "PGAPPNAME": "victim"},
        stderr=subprocess.DEVNULL,
    )
    question = "SELECT pid FROM pg_stat_activity WHERE application_name = 'victim'"
    pid = wait_for(lambda: server.sql(question))
    os.kill(int(pid), signal.SIGKILL)
    victim.wait(timeout=60)

    def rows() -> str:
        with contextlib.suppress(AssertionError):
            return server.sql("SELECT count(*) FROM pg_stat_fgio WHERE pid IS NOT NULL")
        return ""

    assert wait_for(rows) == "1"


EXAMPLES = HERE / "examples"
PLPROXY = BUILD / "plproxy"


@pytest.fixture(scope="module")
def proxy() -> Iterator[Server]:
    """Two shards and a proxy, as the examples make them; shards say which request they serve."""
    fetched = subprocess.run(
        [str(HERE / "fetch-plproxy"), str(PLPROXY)], capture_output=True, text=True, timeout=300
    )
    if fetched.returncode:
        pytest.skip(f"no PL/Proxy for this server: {fetched.stderr.strip().splitlines()[-1]}")
    with running(shared_preload_libraries="fgio") as one:
        shutil.copytree(PLPROXY / "usr", one.folder / "installed" / "usr", dirs_exist_ok=True)
        shards = ("shard0", "shard1")
        for shard in shards:
            one.sql(f"CREATE DATABASE {shard}")
            one.sql("CREATE EXTENSION fgio", "-d", shard)
            one.sql((EXAMPLES / "plproxy-shard.sql").read_text(), "-d", shard)
        one.sql("CREATE EXTENSION fgio; CREATE EXTENSION plproxy")
        parts = ", ".join(
            f"p{number} 'host={one.folder} dbname={shard}'" for number, shard in enumerate(shards)
        )
        one.sql(
            f"CREATE SERVER shards FOREIGN DATA WRAPPER plproxy OPTIONS ({parts});"
            "CREATE USER MAPPING FOR PUBLIC SERVER shards"
        )
        one.sql((EXAMPLES / "plproxy-proxy.sql").read_text())
        for key in range(20):
            one.sql(f"SELECT put_item({key}, 'value {key}')")
        yield one


# What each shard serves, in the place of what it stores.
TELL = """
ALTER TABLE items RENAME TO stored;
CREATE VIEW items AS SELECT key, coalesce(fgio_request(), 'none') AS value FROM stored;
"""
STORE = "DROP VIEW items; ALTER TABLE stored RENAME TO items;"


@pytest.fixture
def telling(proxy: Server) -> Iterator[Server]:
    for shard in ("shard0", "shard1"):
        proxy.sql(TELL, "-d", shard)
    yield proxy
    for shard in ("shard0", "shard1"):
        proxy.sql(STORE, "-d", shard)


def test_plproxy_shards_hold_what_was_put(proxy):
    counts = [int(proxy.sql("SELECT count(*) FROM items", "-d", f"shard{n}")) for n in (0, 1)]
    assert sum(counts) == 20 and min(counts) > 0
    assert proxy.sql("SELECT count(*), min(value) FROM items_between(5, 14)") == "10|value 10"


def test_plproxy_gives_all_shards_one_request(telling):
    served = "SELECT DISTINCT value FROM items_between(0, 19)"
    first, second = telling.sql(served), telling.sql(served)
    assert re.fullmatch(r"fgio:[0-9a-f]{16}-0-2", first), first
    assert re.fullmatch(r"fgio:[0-9a-f]{16}-0-2", second), second
    assert first < second
    # The control: a shard that is told of none serves none, whatever it served before.
    assert telling.sql("SELECT DISTINCT value FROM items_between('', 0, 19)") == "none"


def test_plproxy_hands_on_the_request_of_the_application(telling):
    served = "SELECT DISTINCT value FROM items_between(0, 19)"
    application = "fgio:0123456789abcdef-250-8"
    assert telling.sql(f"SET fgio.request = '{application}'; {served}") == application
    # PL/Proxy's own statements have no comments, but the proxy's has.
    comment = "/*traceparent='00-1-2-01',tracestate='fgio%3D0123456789abcdef-250-8'*/"
    telling.sql("ALTER DATABASE postgres SET fgio.read_comments = on")
    try:
        assert telling.sql(f"{served} {comment}") == application
    finally:
        telling.sql("ALTER DATABASE postgres RESET fgio.read_comments")
    assert telling.sql(f"{served} {comment}") != application
