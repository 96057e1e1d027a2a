# SPDX-License-Identifier: Apache-2.0 OR MIT
"""MariaDB: sysbench's transactions beside a physical backup, or a forced flush and a backup."""

import re
from pathlib import Path

from lab import dataset, host, image, paths
from lab.experiments.database.base import Database, Measured, burst_span

PACKAGES = ("mariadb-server-core", "mariadb-client-core", "mariadb-backup", "sysbench")
TABLES = 4
ROWS = 200_000
DATA_MIB = 250
ROOM_MIB = 700
# Debian's mariadb-server makes an account of its own, which its parts do not; any will do.
USER = "daemon"
# For the load as for the server that is measured: another size would be changed at its start.
LOG = "--innodb-log-file-size=96M"
BENCH = (
    "sysbench oltp_read_write --db-driver=mysql --mysql-user=root --mysql-db=bench "
    f"--tables={TABLES} --table-size={ROWS} --rand-type=uniform"
)
PREPARE = f"""
set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
cd /data
mariadb-install-db --no-defaults --datadir=/data/mysql --user={USER} --skip-test-db \
  --auth-root-authentication-method=normal {LOG} >/data/log
# Durable only once it is in the image, so the load need not be.
mariadbd --no-defaults --datadir=/data/mysql --socket=/data/socket --skip-networking {LOG} \
  --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=0 --innodb-buffer-pool-size=512M \
  >>/data/log 2>&1 &
ask() {{ mariadb --no-defaults --user=root --socket=/data/socket --execute="$1"; }}
for try in $(seq 600); do ask 'SELECT 1' >/dev/null 2>&1 && break; sleep 0.1; done
ask 'CREATE DATABASE bench'
{BENCH} --mysql-socket=/data/socket prepare >>/data/log
ask SHUTDOWN
wait
rm -f /data/log
"""
# A line of sysbench's histogram: milliseconds, a bar, requests.
BUCKET = re.compile(r"^ *([\d.]+) \|\**\s+(\d+)$", re.M)
LONGEST = re.compile(r"^ +max: +([\d.]+)$", re.M)
ELAPSED = re.compile(r"^ +total time: +([\d.]+)s$", re.M)
FAILED = re.compile(r"^ +ignored errors: +([1-9]\d*) ", re.M)


class MariaDB(Database):
    """Transactions at a rate, with O_DIRECT and io_uring, which are the server's defaults."""

    name = "mariadb"
    title = "MariaDB 10.11"
    load = "60 transactions of sysbench's `oltp_read_write` a second, 8 clients"
    burst = f"`mariadb-backup` of some {DATA_MIB} MiB"
    script = "mariadb.sh"
    programs = "mariadbd|mariadb-backup"
    packages = PACKAGES
    memory_mib = 1024
    # At 1 GHz the backup and the server would wait for the one processor.
    instructions_per_ns = 4
    duration_s = 30
    warm_s = 3
    settings = {"RATE": 60, "CLIENTS": 8, "BENCH": BENCH, "SERVER_USER": USER, "LOG": LOG}

    def prepare(self) -> None:
        host.run(["make", "-s", "-C", "lib"], what="building libfgio", cwd=paths.ROOT)
        plugin = str(paths.ROOT / "integrations" / "mariadb")
        host.run(["make", "-s", "-C", plugin], what="building the plugin of MariaDB")
        root = image.root_tree(PACKAGES)
        size = (2 * DATA_MIB + ROOM_MIB) * host.MIB
        dataset.once(
            self.disk(),
            2 * DATA_MIB,
            "the MariaDB data set",
            "a minute or so",
            lambda fresh: dataset.fill(fresh, root, USER, PREPARE, size),
        )

    def disk(self) -> Path:
        mark = image.fingerprint(PREPARE, ROOM_MIB, image.root_tree(PACKAGES).name)
        return paths.CACHE / f"mariadb-{mark}.ext4"

    def inside(self) -> dict[str, Path]:
        return {"inside/fgio.so": paths.BUILD / "mariadb" / "fgio.so"}

    def read(self, folder: Path, begin: float, end: float) -> Measured:
        text = (folder / "sysbench.txt").read_text()
        return Measured({"": transactions(text)}, burst_s=burst_span(folder, begin, end))


class ForcedFlush(MariaDB):
    """The same, with a flush of all dirty pages that an administrator asks for before the backup.

    InnoDB's thread pool runs at most 2 tasks for each processor, and one more. Those of purge that
    wait for a page under writeback count, and the end of that write is a task, too.
    """

    name = "mariadb-flush"
    title = "MariaDB 10.11, forced flush"
    burst = (
        "a flush of all dirty pages (`SET GLOBAL innodb_max_dirty_pages_pct = 0`), and then "
        f"`mariadb-backup` of some {DATA_MIB} MiB"
    )
    settings = MariaDB.settings | {"FORCED_FLUSH": 1}

    def read(self, folder: Path, begin: float, end: float) -> Measured:
        measured = super().read(folder, begin, end)
        seconds = folder / "checkpoint_s"
        measured.background["checkpoint_s"] = (
            float(seconds.read_text()) if seconds.is_file() else None
        )
        return measured


class OnePurgeThread(ForcedFlush):
    """With fewer tasks of purge than the thread pool runs on one processor."""

    name = "mariadb-flush-purge"
    title = "MariaDB 10.11, forced flush, one purge thread"
    settings = ForcedFlush.settings | {"SERVER_OPTIONS": "--innodb-purge-threads=1"}


class TwoProcessors(ForcedFlush):
    """As it comes: on two processors the thread pool has room beside the tasks of purge."""

    name = "mariadb-flush-cpus"
    title = "MariaDB 10.11, forced flush, two processors"
    cpus = 2


def transactions(text: str) -> dict:
    """Figures of the transactions in sysbench's output; of percentiles, the bucket's middle.

    Its buckets are each 2 % wide. Raises LabError when there are none, or when some failed.
    """
    buckets = [(float(ms), int(count)) for ms, count in BUCKET.findall(text)]
    elapsed, longest = ELAPSED.search(text), LONGEST.search(text)
    count = sum(of for _, of in buckets)
    if not elapsed or not longest or not count or FAILED.search(text):
        raise host.LabError(f"sysbench did not do as it should:\n{text[-2000:]}")
    figures = {"throughput": round(count / float(elapsed[1]), 3)}
    for key, fraction in (("p50_ms", 0.5), ("p99_ms", 0.99), ("p999_ms", 0.999)):
        figures[key] = _percentile(buckets, fraction * count)
    return figures | {"max_ms": float(longest[1]), "n": count}


def _percentile(buckets: list[tuple[float, int]], rank: float) -> float:
    """The bucket that the request of that rank is in."""
    seen = 0
    for ms, count in buckets:
        seen += count
        if seen >= rank:
            return ms
    return buckets[-1][0]
