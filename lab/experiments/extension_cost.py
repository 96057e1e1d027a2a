# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cost of the PostgreSQL extension for a transaction, in instructions.

One client selects accounts that are all in memory, so no processor time is idle. A transaction's
instructions are those of the server, of pgbench, and of the kernel between them.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from lab import host, kernel, paths
from lab.configurations import Configuration
from lab.dataset import Database
from lab.experiments.counted import Count, CountedExperiment

DATABASE = Database(scale=1, shared_buffers_mib=64, room_mib=64)
PROTOCOLS = ("simple", "prepared")
SERVERS = ("without", "with")
WARM_UP = 1000
TRANSACTIONS = 8000
TPS = re.compile(r"^tps = ([0-9.]+) \(without initial connection time\)", re.MULTILINE)
PREPARE = """
. $PAYLOAD/functions.sh
export PATH=/usr/lib/postgresql/15/bin:$PATH PGHOST=/tmp PGUSER=postgres
mount -t ext4 /dev/lab/disk1 /data || stop "the data set does not mount"
install -t "$(pg_config --pkglibdir)" $PAYLOAD/postgresql/fgio.so
cd $RESULTS
server() { # ACTION OPTIONS
  setpriv --reuid=postgres --regid=postgres --init-groups pg_ctl -w -t 120 -D /data/pg \\
    -l /data/pg/log -o "-c autovacuum=off -c bgwriter_lru_maxpages=0 $2" "$1" >/dev/null ||
    { cat /data/pg/log; stop "PostgreSQL does not $1"; }
}
"""
# In the same order with and without, so that caches are as warm.
CELL = """
phase {server} the extension
server start "-c shared_preload_libraries={libraries}"
for protocol in {protocols}; do
  pgbench -n -S -t {warm_up} -M $protocol bench >/dev/null || stop "pgbench failed"
  pgbench -n -S -t {transactions} -M $protocol bench >{server}-$protocol 2>&1 ||
    {{ cat {server}-$protocol; stop "pgbench failed"; }}
done
server stop
"""


def build_extension() -> Path:
    """The PostgreSQL extension, built here (it needs ./setup integrations)."""
    where = paths.BUILD / "postgresql"
    where.mkdir(parents=True, exist_ok=True)
    host.run(["make", "-s", "-C", "lib"], what="building libfgio", cwd=paths.ROOT)
    makefile = paths.ROOT / "integrations" / "postgresql" / "Makefile"
    host.run(["make", "-s", "-f", str(makefile)], what="building the extension", cwd=where)
    return where / "fgio.so"


class ExtensionCost(CountedExperiment):
    """pgbench -S on a server with the extension and without, without the module and with it."""

    name = "extension-cost"
    description = "pgbench -S with the PostgreSQL extension: instructions per transaction"
    configurations = ("none", "fgio")
    duration_s = 4
    setup_s = 4
    units = {
        "foreground.throughput": "transactions per second of virtual time, one client",
        "instructions_per_io": "instructions for each transaction, the client's included",
    }

    def prepare(self) -> None:
        build_extension()
        DATABASE.image()

    def files(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> dict[str, Path | str]:
        return {"postgresql/fgio.so": paths.BUILD / "postgresql" / "fgio.so"}

    def disks(self) -> tuple[Path, ...]:
        return (DATABASE.image(),)

    def script(self, configuration: Configuration, seed: int, variant: str) -> str:
        script = PREPARE
        if configuration.elevator == "fgio":
            script += "load_module fgio\nchmod 666 /dev/fgio\n"
        for server, libraries in zip(SERVERS, ("''", "fgio"), strict=True):
            script += CELL.format(
                server=server,
                libraries=libraries,
                protocols=" ".join(PROTOCOLS),
                warm_up=WARM_UP,
                transactions=TRANSACTIONS,
            )
        return script

    def counts(self, folder: Path, configuration: Configuration, variant: str) -> Iterator[Count]:
        for server in SERVERS:
            for protocol in PROTOCOLS:
                found = TPS.search((folder / f"{server}-{protocol}").read_text())
                if not found:
                    raise host.LabError(f"pgbench printed no tps ({server}-{protocol})")
                cell = f"{server} the extension, {protocol}"
                yield Count.of_rate(cell, TRANSACTIONS, float(found.group(1)))
