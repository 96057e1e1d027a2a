# SPDX-License-Identifier: Apache-2.0 OR MIT
"""TPC-C as the lab has it (lab/tpcc), on a throwaway server: a mix of all transactions keeps the
specification's consistency conditions, and each condition finds a violation."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab import paths
from lab.experiments.database.tpcc import MIX, SQL

BIN = Path("/usr/lib/postgresql/15/bin")
UNPRIVILEGED = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
ORDER = "o_w_id = 1 AND o_d_id = 1 AND o_id = 1"
# A statement that violates each condition, by its number (clauses 3.3.2.1 to 3.3.2.12).
VIOLATIONS = {
    1: "UPDATE warehouse SET w_ytd = w_ytd + 1",
    2: "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 1",
    3: "DELETE FROM new_order WHERE no_d_id = 1 AND no_o_id = 2999",
    4: f"UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE {ORDER}",
    5: f"UPDATE orders SET o_carrier_id = NULL WHERE {ORDER}",
    6: f"UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE {ORDER}",
    7: "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 1",
    8: "DELETE FROM history WHERE h_c_id = 1",
    9: "DELETE FROM history WHERE h_c_id = 1",
    10: "UPDATE customer SET c_balance = c_balance + 1 WHERE c_id = 1",
    11: "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_id = 1",
    12: "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_id = 1",
}
TRANSACTIONS = 200
CLIENTS = 4

Run = Callable[..., str]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Iterator[Run]:
    """Runs one of PostgreSQL's programs beside a server with one warehouse."""
    folder = tmp_path_factory.mktemp("tpcc")
    for part in (folder, *list(folder.parents)[:2]):
        part.chmod(0o755)
    as_user = UNPRIVILEGED if os.geteuid() == 0 else []
    if as_user:
        shutil.chown(folder, 65534, 65534)
    environment = {**os.environ, "PGHOST": str(folder), "PGUSER": "postgres", "LC_ALL": "C"}
    environment |= {"PGDATABASE": "postgres", "HOME": str(folder)}

    def run_program(program: str, *arguments: object) -> str:
        done = subprocess.run(
            [*as_user, str(BIN / program), *map(str, arguments)],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run_program("initdb", f"--pgdata={folder}/data", "--auth=trust", "-N", "--username=postgres")
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    server = ["-w", "-D", f"{folder}/data", "-l", f"{folder}/log"]
    # The server must not keep the pipe that is read to its end.
    subprocess.run(
        [*as_user, str(BIN / "pg_ctl"), *server, "-o", options, "start"],
        env=environment,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=120,
    )
    try:
        for name in ("schema", "load", "transactions"):
            file = folder / f"{name}.sql"
            file.write_text((SQL / file.name).read_text())
            run_program("psql", "-Xqv", "ON_ERROR_STOP=1", "-v", "warehouses=1", "-f", file)
        yield run_program
    finally:
        run_program("pg_ctl", "-w", "-D", f"{folder}/data", "-m", "immediate", "stop")


def violated(run: Run, before: str = "SELECT") -> list[int]:
    """Numbers of the conditions that do not hold after a statement, which is rolled back."""
    conditions = (SQL / "consistency.sql").read_text().rstrip().removesuffix(";")
    printed = run("psql", "-XAtq", "-c", f"BEGIN; {before}; {conditions}; ROLLBACK")
    counts = dict(line.split("|") for line in printed.splitlines() if "|" in line)
    assert len(counts) == len(VIOLATIONS)
    return [int(number) for number, count in counts.items() if count != "0"]


def test_mix_keeps_the_conditions(run, tmp_path):
    assert violated(run) == [], "as loaded"
    tmp_path.chmod(0o755)
    for part in list(tmp_path.parents)[:2]:
        part.chmod(0o755)
    files = []
    for name, weight in MIX.items():
        shutil.copy(SQL / f"{name}.pgbench", tmp_path)
        files.append(f"--file={tmp_path}/{name}.pgbench@{weight}")
    mix = ["-n", "-M", "prepared", "-c", CLIENTS, "-t", TRANSACTIONS, "-D", "warehouses=1", *files]
    told = run("pgbench", *mix)
    assert f"processed: {CLIENTS * TRANSACTIONS}/{CLIENTS * TRANSACTIONS}" in told, told
    assert violated(run) == [], "after the mix"
    left = run(
        "psql", "-XAtc", "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM history)"
    )
    orders, payments = map(int, left.split("|"))
    assert orders > 30_000 and payments > 30_000, left
    delivered = run("psql", "-XAtc", "SELECT count(*) FROM customer WHERE c_delivery_cnt > 0")
    assert int(delivered) > 0


@pytest.mark.parametrize("condition", VIOLATIONS)
def test_condition_finds_a_violation(run, condition):
    assert condition in violated(run, VIOLATIONS[condition])


def test_scripts_are_all_there():
    assert {file.stem for file in SQL.glob("*.pgbench")} == set(MIX)
    assert sum(MIX.values()) == 100
    assert SQL.is_relative_to(paths.LAB)
