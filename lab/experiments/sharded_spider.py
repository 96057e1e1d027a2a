# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Requests of users to a sharded database: Spider before four MariaDB servers with drives."""

from pathlib import Path

import numpy as np

from lab import dataset, host, image, kernel, paths
from lab.configurations import Configuration
from lab.experiments.base import build_libfgio, compile_program, script_payload
from lab.experiments.sharded import MOST_RECORDS, SHARDS, Cell, Sharded
from lab.figures import Requests

PACKAGES = ("mariadb-server-core", "mariadb-client-core", "mariadb-plugin-spider")
# The packages make this account.
USER = "mysql"
# 220 MB a shard, of which the server's pool holds a seventh.
RECORDS = 200_000
IMAGE_MIB = 500
READ_KIB = 16
# For the load as for the servers that are measured: another size would be changed at their start.
LOG = "--innodb-log-file-size=48M"
OPTIONS = f"""
{LOG} --skip-networking --innodb-buffer-pool-size=32M --innodb-flush-neighbors=0
--innodb-io-capacity=1000 --innodb-io-capacity-max=2000 --innodb-purge-threads=1
--innodb-buffer-pool-load-at-startup=OFF --innodb-buffer-pool-dump-at-shutdown=OFF
"""
# A folder for a shard, and a copy of it from before the load for the front.
PREPARE = f"""
set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
cd /data
mariadb-install-db --no-defaults --datadir=/data/mysql --user={USER} --skip-test-db \
  --auth-root-authentication-method=normal {LOG} >/data/log
cp -a /data/mysql /data/front
# Durable only once it is in the image, so the load need not be.
mariadbd --no-defaults --datadir=/data/mysql --socket=/data/socket --skip-networking {LOG} \
  --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=0 --innodb-buffer-pool-size=512M \
  >>/data/log 2>&1 &
ask() {{{{ mariadb --no-defaults --user=root --socket=/data/socket "$@"; }}}}
for try in $(seq 600); do ask --execute='SELECT 1' >/dev/null 2>&1 && break; sleep 0.1; done
ask >>/data/log <<'SQL'
SET @shard = {{shard}}, @records = {RECORDS};
{{schema}}
SQL
# Without changes that a shard would merge while it is measured.
ask --execute='SET GLOBAL innodb_fast_shutdown = 0; SHUTDOWN'
wait
rm -f /data/log
"""
UPDATED = 1000
UPDATE = f"""
UPDATE items JOIN (SELECT DISTINCT {SHARDS} * FLOOR(RAND() * {RECORDS}) + 1 AS k
    FROM seq_1_to_{UPDATED}) AS drawn USING (k)
  SET v = REPEAT(CHAR(97 + FLOOR(RAND() * 26)), 1000)
"""
# Places are below 2^54. 0.8 MB at a time, at most 20 MB a second.
SCAN_STEPS = 270
SCAN_WIDTH = (1 << 54) // SCAN_STEPS + 1
SCAN_PAUSE_S = 0.04


def scan_script() -> str:
    """The SQL that reads all records of a shard, a part after the other."""
    lines = ["SET fgio_class = 'background';"]
    for step in range(SCAN_STEPS):
        low = step * SCAN_WIDTH
        lines += [
            f"SELECT SUM(LENGTH(v)) INTO @read FROM items "
            f"WHERE place >= {low} AND place < {low + SCAN_WIDTH}; DO SLEEP({SCAN_PAUSE_S});"
        ]
    return "\n".join(lines) + "\n"


def data_set(shard: int) -> Path:
    """The ext4 image of a shard, /mysql, with the front's data, /front, made when absent."""
    root = image.root_tree(PACKAGES)
    schema = (paths.LAB / "guest" / "sharded-spider-shard.sql").read_text()
    script = PREPARE.format(shard=shard, schema=schema)
    mark = image.fingerprint(script, IMAGE_MIB, root.name)
    target = paths.CACHE / f"sharded-spider-{shard}-{mark}.ext4"
    return dataset.once(
        target,
        2 * IMAGE_MIB,
        f"the data set of shard {shard}, {IMAGE_MIB} MiB",
        "a minute or so",
        lambda fresh: dataset.fill(fresh, root, USER, script, IMAGE_MIB * host.MIB),
    )


def read_requests(file: Path, begin: float, end: float) -> tuple[Requests, np.ndarray]:
    """What the clients printed of requests that ended between moments (s): and gaps in ms."""
    table = np.loadtxt(file, ndmin=2)
    table = table.reshape(-1, 3)
    inside = table[(table[:, 0] >= begin) & (table[:, 0] < end)]
    return Requests(inside[:, 0] - begin, inside[:, 1]), inside[:, 2]


class ShardedSpider(Sharded):
    """The same scans, with InnoDB's own pool before the drives instead of the page cache."""

    name = "sharded-spider"
    description = (
        "Spider before four MariaDB servers with a drive each: scans at a rate, latency and gap "
        "between parts"
    )
    cells = {
        "uniform": Cell("uniform", 0.86, 12.6, True),
        "uniform-quiet": Cell("uniform", 0.86, 12.6, False),
    }
    variants = tuple(cells)
    vehicle = "spider"
    packages = PACKAGES
    read_kib = READ_KIB
    states = ("checkpoint", "scan")
    units = Sharded.units | {
        "background": "checkpoints and scans of a shard that ended while measuring; MiB written"
    }

    def prepare(self) -> None:
        folder = build_libfgio()
        plugin = str(paths.ROOT / "integrations" / "mariadb")
        host.run(["make", "-s", "-C", plugin], what="building the plugin of MariaDB")
        includes = [f"-I{paths.ROOT}/lib/include", "-I/usr/include/mariadb"]
        libraries = [str(folder / "libfgio.a"), "-lmariadb", "-lm", "-pthread"]
        compile_program("spider-clients", *includes, *libraries)
        self.disks()

    def disks(self) -> tuple[Path, ...]:
        return tuple(data_set(shard) for shard in range(SHARDS))

    def values(self, configuration: Configuration, seed: int, cell: Cell) -> dict[str, int | str]:
        return super().values(configuration, seed, cell) | {
            "OPTIONS": " ".join(OPTIONS.split()),
            "SERVER_USER": USER,
            "RECORDS": SHARDS * RECORDS,
            "MOST_RECORDS": MOST_RECORDS,
            "UPDATE": " ".join(UPDATE.split()),
        }

    def payload(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, cell: Cell
    ) -> dict[str, Path | str]:
        values = self.values(configuration, seed, cell)
        taken = script_payload(chosen, configuration, self.name, values, "shards.sh")
        taken["mariadb/fgio.so"] = paths.BUILD / "mariadb" / "fgio.so"
        taken["bin/spider-clients"] = paths.BUILD / "guest" / "spider-clients"
        taken["front.sql"] = paths.LAB / "guest" / "sharded-spider-front.sql"
        taken["scan.sql"] = scan_script()
        return taken

    def measured(self, folder: Path, begin: float, end: float) -> tuple[Requests, np.ndarray]:
        return read_requests(folder / "requests", begin, end)
