# SPDX-License-Identifier: Apache-2.0 OR MIT
"""PostgreSQL under TPC-C, with the checkpoints of its own settings as the storm."""

from pathlib import Path

from lab import dataset, host, image, paths, rivals
from lab.experiments.database.base import Database, Measured
from lab.experiments.first_light import POSTGRESQL, checkpoints_since, longest_s, transactions

SQL = paths.LAB / "tpcc"
# Percent of each transaction: the least that the specification allows (5.2.3), new_order the rest.
MIX = {"new_order": 45, "payment": 43, "order_status": 4, "delivery": 4, "stock_level": 4}
# A warehouse with its indexes, as loaded; and what some thousands of orders add to it.
MIB_PER_WAREHOUSE = 120
ROOM_MIB = 1200
# Of the database as loaded, in the buffer pool; and how often a checkpoint begins (FAST'17, 7.1).
BUFFERED = 0.4
CHECKPOINT_S = 30
LOAD = """
psql -Xq -v ON_ERROR_STOP=1 -v warehouses={warehouses} bench >/dev/null <<'SQL'
{sql}
SQL
"""


class Tpcc(Database):
    """All five transactions, as fast as eight clients can, or at a rate."""

    script = "tpcc.sh"
    programs = "postgres"
    profile = "postgresql"
    memory_mib = 1024
    duration_s = 36
    warm_s = 4
    storm = f"a checkpoint every {CHECKPOINT_S} s, as the server spreads it; none in *floor*"

    def __init__(self, size: str, warehouses: int, rate: int):
        """rate: transactions a second; 0: as many as there can be."""
        self.name = f"tpcc-{size}"
        self.title = f"PostgreSQL 15, TPC-C, {warehouses} warehouses"
        self.warehouses = warehouses
        paced = f"{rate} transactions a second" if rate else "as fast as it goes"
        self.load = f"all five transactions, 8 clients, {paced}"
        self.settings = {"RATE": rate, "CLIENTS": 8, "WAREHOUSES": warehouses, **POSTGRESQL}

    def prepare(self) -> None:
        root = image.root_tree()
        target = self.disk()
        if target.is_file():
            return
        used = self.warehouses * MIB_PER_WAREHOUSE
        host.need_space(paths.CACHE, 2 * used + ROOM_MIB, "the TPC-C data set")
        host.tell(f"lab: making the TPC-C data set, about {used} MiB (minutes, once)")
        with host.whole(target) as fresh:
            dataset.fill(fresh, root, "postgres", self._script(), (used + ROOM_MIB) * host.MIB)

    def _script(self) -> str:
        names = ("schema", "load", "transactions")
        settings = {
            "shared_buffers": f"{int(BUFFERED * self.warehouses * MIB_PER_WAREHOUSE)}MB",
            "checkpoint_timeout": f"{CHECKPOINT_S}s",
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
        mark = image.fingerprint(self._script(), ROOM_MIB, image.root_tree().name)
        return paths.CACHE / f"tpcc-{self.warehouses}-{mark}.ext4"

    def payload(self) -> dict[str, Path | str]:
        taken: dict[str, Path | str] = {
            f"tpcc/{name}.pgbench": SQL / f"{name}.pgbench" for name in MIX
        }
        taken["tpcc/consistency.sql"] = SQL / "consistency.sql"
        taken["tpcc/mix"] = "".join(f"{name} {weight}\n" for name, weight in MIX.items())
        return taken

    def throttle(self, device: str) -> dict[str, object]:
        return rivals.postgresql(device)

    def read(self, folder: Path, begin: float, end: float) -> Measured:
        requests = transactions(folder, begin).between(0, end - begin)
        checkpoints = checkpoints_since(folder, begin)
        lines = (folder / "wal").read_text().split()
        violated = [
            line for line in (folder / "consistency").read_text().splitlines() if line[-2:] != "|0"
        ]
        if violated:
            raise host.LabError(f"TPC-C's consistency conditions do not hold: {violated}")
        background = {
            "checkpoint_s": longest_s(checkpoints),
            "checkpoints": len(checkpoints),
            "wal_mib": round((int(lines[1]) - int(lines[0])) / host.MIB, 1),
        }
        return Measured({"": requests}, background)
