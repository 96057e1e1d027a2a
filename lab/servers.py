# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Later Debian releases as root file systems, to build and test in with their own servers.

A command there sees the checkout at /mnt, read-only, and a folder for its builds at /data.
"""

import subprocess
from pathlib import Path

from lab import host, image, paths

TOOLS = (
    "gcc",
    "libc6-dev",
    "make",
    "python3-pytest",
    "mariadb-server-core",
    "mariadb-client-core",
    "valkey-server",
    # For Valkey's package, instead of systemd.
    "systemd-standalone-sysusers",
    "systemd-standalone-tmpfiles",
)
# The checkout, which it may not change, and a folder for its builds.
ENTER = """
set -eu
root=$1 checkout=$2 build=$3
shift 3
mount --make-rprivate /
mount -t tmpfs none "$root/tmp"
mount --bind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount --bind -o ro "$checkout" "$root/mnt"
mount --bind "$build" "$root/data"
exec chroot "$root" "$@"
"""


def tree(suite: str) -> Path:
    """A release with compilers and servers; of headers those alone that are needed."""
    headers = (
        f"postgresql-server-dev-{image.POSTGRESQL[suite]}",
        "libmariadbd-dev",
        "libmariadb-dev",
    )
    return image.root_tree(TOOLS, suite, headers)


def run(suite: str, build: Path, *command: str, **variables: str) -> str:
    """The output of a command in a release, with these variables. LabError when it failed."""
    programs = f"/usr/lib/postgresql/{image.POSTGRESQL[suite]}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    inside = ["env", "-i", f"PATH={programs}", "LC_ALL=C.UTF-8", "HOME=/tmp", "FGIO_BUILD=/data"]
    inside += ["LIBFGIO=/mnt/build/lib/libfgio.a", *(f"{n}={v}" for n, v in variables.items())]
    inside += command
    private = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    where = [str(tree(suite)), str(paths.ROOT), str(build)]
    done = subprocess.run(
        image.as_root([*private, "bash", "-c", ENTER, "enter", *where, *inside]),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
    )
    if done.returncode:
        raise host.LabError(f"{command[0]} failed in {suite}:\n{done.stdout}")
    return done.stdout


def extension(suite: str) -> Path:
    """The PostgreSQL extension, built in a release for its server."""
    host.run(["make", "-s", "-C", "lib"], what="building libfgio", cwd=paths.ROOT)
    build = paths.BUILD / "servers" / suite
    build.mkdir(parents=True, exist_ok=True)
    make = "mkdir -p postgresql && make -s -C postgresql -f /mnt/integrations/postgresql/Makefile"
    run(suite, build, "bash", "-c", f"cd /data && {make} LIBFGIO=$LIBFGIO")
    return build / "postgresql" / "fgio.so"
