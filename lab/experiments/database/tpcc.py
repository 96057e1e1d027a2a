# SPDX-License-Identifier: Apache-2.0 OR MIT
"""PostgreSQL under TPC-C, with a checkpoint at intervals as the background burst."""

from pathlib import Path

from lab import dataset, host, image, paths, rivals
from lab.experiments.database.base import Database, Measured, OnHardDisk, offered
from lab.experiments.first_light import POSTGRESQL, checkpoints_since, transactions

SQL = paths.LAB / "tpcc"
# Percent of each transaction: the least that the specification allows (5.2.3), new_order the rest.
MIX = {"new_order": 45, "payment": 43, "order_status": 4, "delivery": 4, "stock_level": 4}
# A warehouse with its indexes, as loaded; and the growth by some thousands of orders.
MIB_PER_WAREHOUSE = 120
ROOM_MIB = 1200
# Of the log, which loading a warehouse writes, and which stays to be written over.
LOG_MIB_PER_WAREHOUSE = 210
# Of the database as loaded, in the buffer pool (FAST'17, 7.1).
BUFFERED = 0.4
# How often a checkpoint begins. The paper's, every 30 s, were written out in a burst. Since then
# PostgreSQL has learnt to spread those that it times itself; CHECKPOINT is still at once.
CHECKPOINT_S = 9
# Of consistency, in consistency.sql.
CONDITIONS = 12
LOAD = """
psql -Xq -v ON_ERROR_STOP=1 -v warehouses={warehouses} bench >/dev/null <<'SQL'
{sql}
SQL
"""


class Tpcc(Database):
    """All five transactions, as fast as eight clients can, or at a rate."""

    script = "tpcc.sh"
    scripts = ("postgres-server.sh",)
    programs = "postgres"
    profile = "postgresql"
    memory_mib = 1024
    duration_s = 20
    # A cold cache cannot serve the rate: the backlog has to be gone before measuring.
    warm_s = 8
    burst = f"`CHECKPOINT` every {CHECKPOINT_S} s; none in *floor*"

    def __init__(self, size: str, warehouses: int, rate: int, checked: bool):
        """rate: transactions a second; 0: as many as there can be.

        checked: for consistency afterwards, which takes 6 s of the guest's time a warehouse
        """
        self.name = f"tpcc-{size}"
        self.title = f"PostgreSQL 15, TPC-C, {warehouses} warehouses"
        self.warehouses = warehouses
        self.load = f"all five transactions, 8 clients, {offered(rate, 'transactions')}"
        self.settings = {
            "RATE": rate,
            "CLIENTS": 8,
            "WAREHOUSES": warehouses,
            "CHECKPOINT_S": CHECKPOINT_S,
            "CHECKED": int(checked),
            "CHECKPOINT": "CHECKPOINT",
            "IN_MEMORY": 0,
            "TIMED_OPTIONS": "",
            **POSTGRESQL,
        }

    def prepare(self) -> None:
        root = image.root_tree()
        used = self.warehouses * MIB_PER_WAREHOUSE
        size = used + self.warehouses * LOG_MIB_PER_WAREHOUSE + ROOM_MIB
        dataset.once(
            self.disk(),
            2 * size,
            f"the TPC-C data set, about {used} MiB",
            "some minutes",
            lambda fresh: dataset.fill(fresh, root, "postgres", self._script(), size * host.MIB),
        )

    def _script(self) -> str:
        names = ("schema", "load", "transactions")
        settings = {
            "shared_buffers": f"{int(BUFFERED * self.warehouses * MIB_PER_WAREHOUSE)}MB",
            "checkpoint_timeout": "1d",
            "max_wal_size": "8GB",
            "log_checkpoints": "on",
            "listen_addresses": "''",
            "unix_socket_directories": "'/tmp'",
        }
        load = LOAD.format(
            warehouses=self.warehouses,
            sql="\n".join((SQL / f"{name}.sql").read_text() for name in names),
        )
        lines = (f"{name} = {value}" for name, value in settings.items())
        return dataset.cluster_script("\n".join(lines), load)

    def disk(self) -> Path:
        mark = image.fingerprint(
            self._script(), (LOG_MIB_PER_WAREHOUSE, ROOM_MIB), image.root_tree().name
        )
        return paths.CACHE / f"tpcc-{self.warehouses}-{mark}.ext4"

    def payload(self) -> dict[str, Path | str]:
        taken: dict[str, Path | str] = {
            f"tpcc/{name}.pgbench": SQL / f"{name}.pgbench" for name in MIX
        }
        taken["tpcc/consistency.sql"] = SQL / "consistency.sql"
        taken["tpcc/mix"] = "".join(f"{name} {weight}\n" for name, weight in MIX.items())
        return taken

    def throttles(self, device: str) -> rivals.Throttles:
        # CHECKPOINT is always at once; a base backup may ask for one that is spread.
        spread = {"CHECKPOINT": "SELECT pg_backup_start('lab')"}
        return {how: found | spread for how, found in rivals.postgresql(device).items()}

    def read(self, folder: Path, begin: float, end: float) -> Measured:
        requests = transactions(folder, begin).between(0, end - begin)
        checkpoints = checkpoints_since(folder, begin)
        lines = (folder / "wal").read_text().split()
        if self.settings["CHECKED"]:
            _check_consistency((folder / "consistency").read_text().splitlines())
        background = {
            "checkpoint_s": checkpoints.longest_s(end - begin),
            "checkpoints": len(checkpoints.ended),
            "wal_mib": round((int(lines[1]) - int(lines[0])) / host.MIB, 1),
        }
        return Measured({"": requests}, background)


class TpccOnHardDisk(OnHardDisk, Tpcc):
    """TPC-C for a hard disk, from files that are in memory already."""

    def __init__(self, name: str, warehouses: int, rate: int, checkpoint_s: int):
        """rate: transactions a second; checkpoint_s: how often one begins"""
        super().__init__(name, warehouses, rate, checked=False)
        self.burst = f"`CHECKPOINT` every {checkpoint_s} s; none in *floor*"
        self.settings |= {"CHECKPOINT_S": checkpoint_s, "IN_MEMORY": 1}


class TimedTpcc(Tpcc):
    """Checkpoints as the server times and spreads them by default, from one to the next.

    It begins one 5 minutes after the last, or when half of max_wal_size (1 GB) of the log has been
    written, and takes 0.9 of that time for it: minutes, where CHECKPOINT takes seconds. A boot of
    this takes the host half an hour.
    """

    warm_s = 240
    duration_s = 340
    burst = "the server's own checkpoints, at its defaults; none in *floor*"
    checkpoints = {
        "checkpoint_timeout": "5min",
        "checkpoint_completion_target": "0.9",
        "checkpoint_flush_after": "256kB",
        "max_wal_size": "1GB",
    }

    def __init__(self, name: str, warehouses: int, rate: int):
        """rate: transactions a second"""
        super().__init__(name, warehouses, rate, checked=False)
        self.settings |= {"TIMED_OPTIONS": rivals.server_options(self.checkpoints)}

    def throttles(self, device: str) -> rivals.Throttles:
        return {}


def _check_consistency(found: list[str]) -> None:
    """Raises LabError for conditions (number|violations) that do not hold or are missing."""
    violated = [line for line in found if not line.endswith("|0")]
    if violated or len(found) != CONDITIONS:
        raise host.LabError(f"TPC-C's consistency conditions do not hold: {violated or found}")
