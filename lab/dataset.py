# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Databases on ext4 images, made on the host by the guest's own programs.

Loading one in a guest would cost minutes of virtual computing. The loading program runs in the
guest's root file system inside private mount and process namespaces: no mount and no process is
left, also after a failure.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from lab import host, image, paths

# A pgbench scale unit: 100,000 accounts with their index.
MIB_PER_SCALE = 15
# Of the WAL, as initdb makes it.
DEFAULT_SEGMENT_MIB = 16
CLUSTER = """
set -euo pipefail
export PATH=/usr/lib/postgresql/{version}/bin:/usr/bin:/bin LC_ALL=C PGHOST=/data PGUSER=postgres
cd /data
initdb --pgdata=/data/pg --auth=trust --locale=C --encoding=UTF8 --username=postgres{options}
cat >>/data/pg/postgresql.conf <<'CONF'
{settings}
CONF
# Durable only once it is in the image, so the load need not be.
pg_ctl -w -t 120 -D /data/pg -l /data/load.log start -o "-c fsync=off -c max_wal_size=4GB \
  -c unix_socket_directories=/data"
createdb bench
{load}
psql --quiet --command='CHECKPOINT' bench
pg_ctl -w -t 120 -D /data/pg stop -m fast
rm -f /data/load.log
"""
INITIALIZE = "pgbench --initialize --quiet --scale={scale} bench"
ENTER = """
set -eu
mount --make-rprivate /
mount --bind "$2" "$1/data"
mount --bind /dev "$1/dev"
exec chroot "$1" setpriv --reuid="$3" --regid="$3" --init-groups bash /data/prepare
"""


def cluster_script(
    settings: str, load: str, options: str = "", version: int = image.POSTGRESQL[image.SUITE]
) -> str:
    """The script of fill() for a cluster in /data/pg with a database `bench`; it runs as postgres.

    settings: lines for postgresql.conf; load: shell commands that load the database; options: of
    initdb, each with a space before it; version: of the server
    """
    return CLUSTER.format(settings=settings, load=load, options=options, version=version)


def once(
    target: Path, needed_mib: int, what: str, takes: str, make: Callable[[Path], object]
) -> Path:
    """The file `target` in the cache, which make(fresh) writes when it is absent.

    needed_mib: space while it is made; what, takes: for messages, as "the SQLite data set" and
    "half a minute or so". Raises LabError without that space.
    """
    if target.is_file():
        return target
    host.need_space(paths.CACHE, needed_mib, what)
    host.tell(f"lab: making {what} ({takes}, once)")
    with host.whole(target) as fresh:
        make(fresh)
    return target


def fill(fresh: Path, root: Path, user: str, script: str, size: int) -> None:
    """Writes an ext4 image of about `size` bytes with the files that a script leaves in /data.

    root: the root file system (image.root_tree) that the script runs in, as this user of it
    """
    data = Path(tempfile.mkdtemp(prefix="data.", dir=fresh.parent))
    try:
        (data / "prepare").write_text(script)
        owner = host.run(
            ["grep", f"^{user}:", str(root / "etc" / "passwd")], what=f"finding {user}"
        ).split(":")
        host.run(
            image.as_root(["chown", "-R", f"{owner[2]}:{owner[3]}", str(data)]),
            what="preparing the data set",
        )
        private = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        host.run(
            image.as_root([*private, "bash", "-c", ENTER, "enter", str(root), str(data), user]),
            what="loading the data set",
        )
        host.run(image.as_root(["rm", str(data / "prepare")]), what="tidying the data set")
        image.make_ext4(fresh, data, image.round_up(size))
    finally:
        host.run(image.as_root(["rm", "-rf", str(data)]), what="tidying the data set")


@dataclass(frozen=True)
class Database:
    """A pgbench database.

    scale: pgbench's; about 15 MiB each
    shared_buffers_mib: the server's buffer pool
    room_mib: free space left in the file system for WAL, bulk loads and copies
    segment_mib: of the WAL; the server's default as it comes
    suite: the Debian release whose server it is for
    """

    scale: int
    shared_buffers_mib: int
    room_mib: int
    # Values other than the default show in the script.
    segment_mib: int = field(default=DEFAULT_SEGMENT_MIB, repr=False)
    suite: str = field(default=image.SUITE, repr=False)

    @property
    def settings(self) -> str:
        """Lines of postgresql.conf beyond the server's defaults."""
        lines = [
            f"shared_buffers = {self.shared_buffers_mib}MB",
            "listen_addresses = ''",
            "unix_socket_directories = '/tmp'",
        ]
        if self.segment_mib != DEFAULT_SEGMENT_MIB:
            # initdb takes them from the segments' size: as with the default one.
            lines += ["min_wal_size = 80MB", "max_wal_size = 1GB"]
        return "\n".join(lines)

    def script(self) -> str:
        options = ""
        if self.segment_mib != DEFAULT_SEGMENT_MIB:
            options = f" --wal-segsize={self.segment_mib}"
        load = INITIALIZE.format(scale=self.scale)
        return cluster_script(self.settings, load, options, image.POSTGRESQL[self.suite])

    def image(self) -> Path:
        """The ext4 image with the data directory in /pg, made when absent."""
        root = image.root_tree(suite=self.suite)
        # Another root may number the server's user differently.
        script = self.script()
        parts = (self, script, root.name)
        target = paths.CACHE / f"pgbench-{self.scale}-{image.fingerprint(*parts)}.ext4"
        used = self.scale * MIB_PER_SCALE
        size = (used + 300 + self.room_mib) * host.MIB
        return once(
            target,
            # The loaded folder and the image exist side by side for a moment.
            2 * used + 600,
            f"the PostgreSQL data set, about {used} MiB",
            "a minute or so",
            lambda fresh: fill(fresh, root, "postgres", script, size),
        )
