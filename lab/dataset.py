# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A PostgreSQL database on an ext4 image, made on the host by the guest's own PostgreSQL.

Loading it in a guest would cost minutes of virtual computing. The server runs in the guest's
root file system inside private mount and process namespaces: whatever happens, no mount and no
process is left.
"""

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lab import host, image, paths

# A pgbench scale unit: 100,000 accounts with their index.
MIB_PER_SCALE = 15
PREPARE = """
set -euo pipefail
export PATH=/usr/lib/postgresql/15/bin:/usr/bin:/bin LC_ALL=C PGHOST=/data PGUSER=postgres
cd /data
initdb --pgdata=/data/pg --auth=trust --locale=C --encoding=UTF8 --username=postgres
cat >>/data/pg/postgresql.conf <<'CONF'
{settings}
CONF
# Durable only once it is in the image, so the load need not be.
pg_ctl -w -t 120 -D /data/pg -l /data/load.log start -o "-c fsync=off -c max_wal_size=4GB \
  -c unix_socket_directories=/data"
createdb bench
pgbench --initialize --quiet --scale={scale} bench
psql --quiet --command='CHECKPOINT' bench
pg_ctl -w -t 120 -D /data/pg stop -m fast
rm -f /data/load.log
"""
ENTER = """
set -eu
mount --make-rprivate /
mount --bind "$2" "$1/data"
mount --bind /dev "$1/dev"
exec chroot "$1" setpriv --reuid=postgres --regid=postgres --init-groups bash /data/prepare
"""


@dataclass(frozen=True)
class Database:
    """A pgbench database.

    scale: pgbench's; about 15 MiB each
    shared_buffers_mib: the server's buffer pool
    room_mib: free space left in the file system for WAL, bulk loads and copies
    """

    scale: int
    shared_buffers_mib: int
    room_mib: int

    @property
    def settings(self) -> str:
        """What postgresql.conf says beyond the server's defaults."""
        return "\n".join(
            (
                f"shared_buffers = {self.shared_buffers_mib}MB",
                "listen_addresses = ''",
                "unix_socket_directories = '/tmp'",
            )
        )

    def image(self) -> Path:
        """The ext4 image with the data directory in /pg, made when absent."""
        root = image.root_tree()
        # Another root may number the server's user differently.
        parts = (self, self.settings, PREPARE, root.name)
        mark = hashlib.sha256(repr(parts).encode()).hexdigest()[:12]
        target = paths.CACHE / f"pgbench-{self.scale}-{mark}.ext4"
        if target.is_file():
            return target
        used = self.scale * MIB_PER_SCALE
        # The loaded folder and the image exist side by side for a moment.
        host.need_space(paths.CACHE, 2 * used + 600, "the PostgreSQL data set")
        host.tell(f"lab: making the PostgreSQL data set, about {used} MiB (a minute or so, once)")
        with host.whole(target) as fresh:
            self._load(root, fresh)
        return target

    def _load(self, root: Path, fresh: Path) -> None:
        data = Path(tempfile.mkdtemp(prefix="data.", dir=fresh.parent))
        try:
            script = PREPARE.format(settings=self.settings, scale=self.scale)
            (data / "prepare").write_text(script)
            owner = host.run(
                ["grep", "^postgres:", str(root / "etc" / "passwd")], what="finding postgres"
            ).split(":")
            host.run(
                image.as_root(["chown", "-R", f"{owner[2]}:{owner[3]}", str(data)]),
                what="preparing the data set",
            )
            private = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
            host.run(
                image.as_root([*private, "bash", "-c", ENTER, "enter", str(root), str(data)]),
                what="loading the PostgreSQL data set",
            )
            host.run(image.as_root(["rm", str(data / "prepare")]), what="tidying the data set")
            size = image.round_up((self.scale * MIB_PER_SCALE + 300 + self.room_mib) * host.MIB)
            image.make_ext4(fresh, data, size)
        finally:
            host.run(image.as_root(["rm", "-rf", str(data)]), what="tidying the data set")
