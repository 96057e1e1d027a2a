# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The module in a throwaway Redis, without the kernel's module: harmless, configurable, and gone.

What it tells the kernel is tested in the lab: tests/test_integrations.py.
"""

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("FGIO_BUILD", HERE.parent.parent / "build")) / "redis"
# redis or valkey: its programs are called alike.
SERVER = os.environ.get("FGIO_REDIS", "redis")


def build() -> Path:
    """The module, built when it is not there."""
    settings = [f"LIBFGIO={os.environ['LIBFGIO']}"] if "LIBFGIO" in os.environ else []
    command = ["make", "-s", "-C", str(HERE), f"BUILD={BUILD}", *settings]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return BUILD / "fgio.so"


class Server:
    """A Redis in a folder: listens on a socket there, and on no network."""

    def __init__(self, folder: Path, *options: str):
        self.folder = folder
        self.log = folder / "log"
        command = [f"{SERVER}-server", "--port", "0", "--unixsocket", str(folder / "socket")]
        command += ["--dir", str(folder), "--logfile", str(self.log), "--save", ""]
        command += ["--enable-module-command", "local", *options]
        self.process = subprocess.Popen(command)

    def ask(self, *words: str) -> str:
        """The output of redis-cli, also of an error."""
        command = [f"{SERVER}-cli", "-s", str(self.folder / "socket"), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return (done.stdout + done.stderr).strip()

    def wait_for(self, answer: str, *words: str) -> None:
        """Asks until the answer holds a text."""
        deadline = time.monotonic() + 60
        said = ""
        while time.monotonic() < deadline:
            said = self.ask(*words)
            if answer in said:
                return
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        pytest.fail(f"{words}: {said}")

    def info(self) -> dict[str, str]:
        lines = self.ask("INFO", "fgio").splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)


@contextlib.contextmanager
def running(*options: str) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="fgio-redis.") as name:
        server = Server(Path(name), *options)
        try:
            server.wait_for("PONG", "PING")
            yield server
        finally:
            server.process.terminate()
            server.process.wait(timeout=60)


@pytest.fixture(scope="module")
def module() -> str:
    return str(build())


def test_without_the_kernels_module_it_says_so_once_and_serves(module):
    with running("--loadmodule", module, "--appendonly", "yes") as server:
        assert server.ask("SET", "key", "value") == "OK"
        info = server.info()
        if info["fgio_available"] == "1":
            pytest.skip("the module is loaded")
        assert info["fgio_enabled"] == "1" and info["fgio_class"] == "foreground"
        assert info["fgio_background_threads"] == "0"
        server.ask("BGSAVE")
        server.wait_for("rdb_bgsave_in_progress:0", "INFO", "persistence")
        server.wait_for("rdb_last_bgsave_status:ok", "INFO", "persistence")
        server.ask("BGREWRITEAOF")
        server.wait_for("aof_rewrite_in_progress:0", "INFO", "persistence")
        server.wait_for("aof_last_bgrewrite_status:ok", "INFO", "persistence")
        assert server.ask("SAVE") == "OK"
        assert int(server.info()["fgio_children"]) >= 2
        assert server.log.read_text().count("no access to /dev/fgio") == 1


def test_settings(module):
    with running() as server:
        load = ["MODULE", "LOADEX", module, "CONFIG", "fgio.class", "background"]
        assert server.ask(*load, "CONFIG", "fgio.enabled", "no") == "OK"
        assert server.ask("CONFIG", "GET", "fgio.*").split() in (
            ["fgio.enabled", "no", "fgio.class", "background"],
            ["fgio.class", "background", "fgio.enabled", "no"],
        )
        assert server.ask("CONFIG", "SET", "fgio.enabled", "yes") == "OK"
        assert server.info()["fgio_enabled"] == "1"
        assert "must be one of" in server.ask("CONFIG", "SET", "fgio.class", "urgent")
        status = server.ask("FGIO.STATUS").split("\n")
        assert status[status.index("class") + 1] == "background"
        assert "wrong number of arguments" in server.ask("FGIO.STATUS", "please")


def test_it_can_be_unloaded_and_loaded_again(module):
    with running("--loadmodule", module) as server:
        for _ in range(2):
            assert server.ask("MODULE", "UNLOAD", "fgio") == "OK"
            assert "unknown command" in server.ask("FGIO.STATUS")
            assert server.ask("SET", "key", "value") == "OK"
            assert server.ask("SAVE") == "OK"
            assert server.ask("MODULE", "LOAD", module) == "OK"
            assert server.info()["fgio_enabled"] == "1"


def test_arguments_are_refused(module):
    with running() as server:
        assert "Error loading" in server.ask("MODULE", "LOAD", module, "class", "foreground")
        assert "takes no arguments" in server.log.read_text()
