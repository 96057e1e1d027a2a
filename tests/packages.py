# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Our Debian packages, and Debian systems in folders to install them in.

Such a system is a fresh bookworm, entered by chroot without network; apt finds what our packages
depend on in its cache. Nothing is loaded, and the host's system is not touched.
"""

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import host, image, paths

FOLDER = paths.BUILD / "packages"
OURS = (
    "fgio",
    "fgio-dkms",
    "libfgio1",
    "libfgio-dev",
    "postgresql-15-fgio",
    "redis-fgio",
    "mariadb-plugin-fgio",
)
KERNELS = ("linux-headers-6.12-amd64", "linux-headers-amd64", "linux-image-amd64")
# Packages that a user of ours may have besides.
OTHERS = ("gcc", "libc6-dev", "man-db", "openssl", "pkg-config", "systemd")
# For a machine that boots, with databases.
MACHINE = (
    "linux-headers-6.12-amd64",
    "linux-image-6.12-amd64",
    "systemd-sysv",
    "udev",
    "kmod",
    "procps",
    "e2fsprogs",
    "openssl",
    "postgresql-15",
    "redis-server",
    "mariadb-server",
    "rocksdb-tools",
)
# Dependencies of ours: only fetched, so that nothing but Depends installs them.
FETCHED = ("binutils", "bpftool", "dkms", "python3", "xz-utils", "zstd")

FETCH = f"""
printf '#!/bin/sh\\nexit 101\\n' >"$1/usr/sbin/policy-rc.d"
chmod +x "$1/usr/sbin/policy-rc.d"
chroot "$1" apt-get -qq update
chroot "$1" apt-get -qq install -y --no-install-recommends --download-only \
  {" ".join((*KERNELS, *OTHERS, *MACHINE, *FETCHED))}
"""
# A device folder and a network of its own; mounts and processes end with the command.
ENTER = """
mount -t proc proc "$1/proc"
mount -t sysfs -o ro sysfs "$1/sys"
mount -t tmpfs tmpfs "$1/dev"
mkdir "$1/dev/shm" "$1/dev/pts"
ln -s /proc/self/fd "$1/dev/fd"
for node in null zero full random urandom; do
  touch "$1/dev/$node"
  mount --bind "/dev/$node" "$1/dev/$node"
done
exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
  DEBIAN_FRONTEND=noninteractive INITRD=No bash -euo pipefail -c "$2"
"""
SETTLE = """
rm -rf /usr/sbin/policy-rc.d /packages /var/cache/apt
systemd-machine-id-setup
"""
INSTALL = "apt-get -qq install -y --no-install-recommends -o Dpkg::Use-Pty=0"


class Debian:
    """A system in a folder."""

    def __init__(self, tree: Path):
        self.tree = tree

    def attempt(self, script: str, limit_s: float = 900) -> subprocess.CompletedProcess:
        """Runs a script as root in there; returns its stdout and stderr as one text."""
        isolated = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--net"]
        command = [*isolated, "bash", "-euc", ENTER, "enter", str(self.tree), script]
        return subprocess.run(
            image.as_root(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit_s,
        )

    def run(self, script: str, limit_s: float = 900) -> str:
        """Runs a script, which must succeed; returns its output."""
        done = self.attempt(script, limit_s)
        assert done.returncode == 0, f"{script}\n{done.stdout}"
        return done.stdout

    def install(self, packages: list[Path], *others: str) -> str:
        """Installs our packages from a folder, and their dependencies from apt's cache."""
        folder = self.tree / "packages"
        host.run(image.as_root(["mkdir", "-p", str(folder)]), what="making room for the packages")
        copy = ["cp", *map(str, packages), str(folder)]
        host.run(image.as_root(copy), what="copying the packages")
        names = " ".join(f"/packages/{package.name}" for package in packages)
        return self.run(f"{INSTALL} {names} {' '.join(others)}")

    def version(self) -> str:
        """The version of our packages, which is fgio's."""
        return self.run("dpkg-query -W -f '${Version}' fgio")

    def kernels(self) -> list[str]:
        """The kernel releases whose headers are installed."""
        return self.run("cd /usr/src; ls -d linux-headers-*-amd64 | sed s/linux-headers-//").split()


def base() -> Path:
    """An archive of the system without our packages; made when absent."""
    mark = image.fingerprint(image.SUITE, FETCH)
    archive = paths.CACHE / f"packages-{mark}.tar"
    if not archive.is_file():
        host.need_space(paths.CACHE, 1000, "the system to test packages in")
        host.tell("making the system to test packages in (a minute or two, once)")
        with host.whole(archive) as fresh:
            options = ["--mode=root", "--variant=minbase", "--dpkgopt=force-unsafe-io"]
            options += ["--skip=cleanup/apt", f"--customize-hook={FETCH}"]
            command = ["mmdebstrap", *options, image.SUITE, str(fresh)]
            host.run(image.as_root(command), what="making the system to test packages in")
    return archive


def package(name: str) -> Path:
    """The file of a package that has been built."""
    (found,) = FOLDER.glob(f"{name}_*.deb")
    return found


def build() -> list[Path]:
    """Builds all of our packages from this tree."""
    host.run(["make", "-C", str(paths.ROOT), "packages"], what="building the packages")
    return [package(name) for name in OURS]


@contextmanager
def system() -> Iterator[Debian]:
    """A system without our packages, which is removed at the end."""
    paths.BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="packages.", dir=paths.BUILD) as folder:
        tree = Path(folder) / "root"
        tree.mkdir()
        unpack = ["tar", "xf", str(base()), "-C", str(tree), "--exclude=./dev/*"]
        host.run(image.as_root(unpack), what="unpacking the system to test packages in")
        try:
            yield Debian(tree)
        finally:
            host.run(image.as_root(["rm", "-rf", str(tree)]), what="removing that system")


def machine(target: Path, built: list[Path], *others: str, settle: str = "") -> Path:
    """An image of a machine that boots by systemd, with our packages and others."""
    with system() as debian:
        debian.install(built, *others)
        debian.run(settle + SETTLE)
        used = host.run(image.as_root(["du", "-sm", str(debian.tree)]), what="measuring")
        size = image.round_up((int(used.split()[0]) * 5 // 4 + 400) * host.MIB)
        image.make_ext4(target, debian.tree, size, "-O", "^has_journal", "-m", "0")
    return target


def repacked(
    old: Path, folder: Path, version: str, change: Callable[[Path], None] = lambda tree: None
) -> Path:
    """The same package as another version, with what `change` does to its unpacked files."""
    former = host.run(["dpkg-deb", "-f", str(old), "Version"], what="asking").strip()
    tree = folder / f"{old.stem}-{version}"
    new = folder / old.name.replace(former, version)
    host.run(["dpkg-deb", "-R", str(old), str(tree)], what="unpacking a package")
    control = tree / "DEBIAN" / "control"
    control.write_text(control.read_text().replace(former, version))
    change(tree)
    pack = ["dpkg-deb", "--root-owner-group", "-Zgzip", "-b", str(tree), str(new)]
    host.run(pack, what="making a package")
    return new
