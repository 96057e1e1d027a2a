# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The Debian packages, from `make packages` to a purge, in a Debian of their own.

That is a fresh bookworm in a folder, entered by chroot without network; apt finds what our packages
depend on in its cache. Nothing is loaded, and the host's system is not touched. It takes root and
some minutes, so it runs on demand: FGIO_PACKAGES=1.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import host, image, paths

pytestmark = pytest.mark.skipif(
    not os.environ.get("FGIO_PACKAGES"), reason="takes minutes and root; FGIO_PACKAGES=1 runs it"
)

FOLDER = paths.BUILD / "packages"
OURS = ("fgio", "fgio-dkms", "libfgio1", "libfgio-dev", "postgresql-15-fgio")
KERNELS = ("linux-headers-6.12-amd64", "linux-headers-amd64", "linux-image-amd64")
# What a user of our packages may have besides.
OTHERS = ("gcc", "libc6-dev", "man-db", "openssl", "pkg-config", "systemd")
# Dependencies of ours: only fetched, so that nothing but Depends installs them.
FETCHED = ("binutils", "bpftool", "dkms", "postgresql-15", "python3", "zstd")

FETCH = f"""
printf '#!/bin/sh\\nexit 101\\n' >"$1/usr/sbin/policy-rc.d"
chmod +x "$1/usr/sbin/policy-rc.d"
chroot "$1" apt-get -qq update
chroot "$1" apt-get -qq install -y --no-install-recommends --download-only \
  {" ".join((*KERNELS, *OTHERS, *FETCHED))}
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
INSTALL = "apt-get -qq install -y --no-install-recommends -o Dpkg::Use-Pty=0"

PROGRAM = r"""
#include <fgio.h>
#include <stdio.h>

int main(void)
{
	fgio_request_begin(1);
	fgio_request_end();
	printf("%d\n", fgio_available());
	return 0;
}
"""
USE_THE_EXTENSION = """
cd /
echo "shared_preload_libraries = 'fgio'" >/etc/postgresql/15/main/conf.d/fgio.conf
as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
as_postgres /usr/lib/postgresql/15/bin/pg_ctl -w -D /etc/postgresql/15/main \
  -l /tmp/server.log start >/dev/null
as_postgres psql -XAtq -c 'CREATE EXTENSION fgio' -c 'SELECT fgio_class()' \
  -c 'SELECT available FROM pg_stat_fgio_module'
as_postgres /usr/lib/postgresql/15/bin/pg_ctl -w -D /var/lib/postgresql/15/main stop >/dev/null
"""


class Debian:
    """A system in a folder."""

    def __init__(self, tree: Path):
        self.tree = tree

    def attempt(self, script: str, limit_s: float = 900) -> subprocess.CompletedProcess:
        """Runs a script as root in there; its two outputs come as one."""
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
        """What a script printed that has to succeed."""
        done = self.attempt(script, limit_s)
        assert done.returncode == 0, f"{script}\n{done.stdout}"
        return done.stdout

    def install(self, packages: list[Path], *others: str) -> str:
        """apt takes packages of ours from a folder, and what they depend on from its cache."""
        folder = self.tree / "packages"
        host.run(image.as_root(["mkdir", "-p", str(folder)]), what="making room for the packages")
        copy = ["cp", *map(str, packages), str(folder)]
        host.run(image.as_root(copy), what="copying the packages")
        names = " ".join(f"/packages/{package.name}" for package in packages)
        return self.run(f"{INSTALL} {names} {' '.join(others)}")

    def version(self) -> str:
        """That of our packages, which is fgio's own."""
        return self.run("dpkg-query -W -f '${Version}' fgio")

    def kernels(self) -> list[str]:
        """The releases whose headers are there."""
        return self.run("cd /usr/src; ls -d linux-headers-*-amd64 | sed s/linux-headers-//").split()


def base() -> Path:
    """An archive of the system before anything of ours; made when absent."""
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
    """One of the packages that have been built."""
    (found,) = FOLDER.glob(f"{name}_*.deb")
    return found


@pytest.fixture(scope="module")
def built() -> list[Path]:
    host.run(["make", "-C", str(paths.ROOT), "packages"], what="building the packages")
    return [package(name) for name in OURS]


@pytest.fixture(scope="module")
def debian(built: list[Path]) -> Iterator[Debian]:
    """A system with everything of ours; tests run in the order of this file."""
    paths.BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="packages.", dir=paths.BUILD) as folder:
        tree = Path(folder) / "root"
        tree.mkdir()
        unpack = ["tar", "xf", str(base()), "-C", str(tree), "--exclude=./dev/*"]
        host.run(image.as_root(unpack), what="unpacking the system to test packages in")
        system = Debian(tree)
        try:
            system.install(built, *KERNELS, *OTHERS)
            yield system
        finally:
            host.run(image.as_root(["rm", "-rf", str(tree)]), what="removing that system")


def test_lintian_finds_no_error(built):
    (changes,) = FOLDER.glob("*.changes")
    host.run(["lintian", "--fail-on", "error", str(changes)], what="lintian")


def test_module_is_built_for_each_kernel(debian):
    releases = debian.kernels()
    assert {release.split(".")[1] for release in releases} == {"1", "12"}
    for release in releases:
        told = debian.run(f"dkms status fgio -k {release}; modinfo -k {release} fgio")
        assert re.search(rf"fgio/\S+, {re.escape(release)}, x86_64: installed", told), told
        assert re.search(rf"^vermagic: +{re.escape(release)} ", told, re.MULTILINE), told
        assert re.search(r"^signer: +DKMS", told, re.MULTILINE), told
        assert re.search(rf"^filename: .*/{re.escape(release)}/updates/dkms/", told, re.MULTILINE)


def test_kernel_without_types_is_refused_in_clear_words(debian):
    (release,) = (one for one in debian.kernels() if one.startswith("6.1."))
    module = f"fgio/{debian.version()}"
    done = debian.attempt(
        f"mv /boot/vmlinuz-{release} /tmp/vmlinuz\n"
        f"dkms remove {module} -k {release} >/dev/null\n"
        f"dkms build {module} -k {release} >/dev/null"
    )
    debian.run(f"mv /tmp/vmlinuz /boot/vmlinuz-{release}")
    assert done.returncode != 0
    assert f"Install linux-image-{release}" in done.stdout


def test_command_without_the_module(debian):
    assert debian.run("fgio --version") == f"fgio {debian.version()}\n"
    doctor = debian.attempt("fgio doctor")
    assert doctor.returncode == 1
    assert "module is neither loaded nor installed for the running kernel" in doctor.stdout
    listed = debian.run("fgio profile list")
    for profile in (paths.ROOT / "profiles").glob("*.toml"):
        assert profile.stem in listed
    debian.run("fgio profile check && fgiod --check")


def test_settings_are_there_to_be_changed(debian):
    text = (debian.tree / "etc/fgio/fgiod.toml").read_text()
    assert "# rescan_interval_ms = 10000\n" in text
    assert all(line.startswith("#") for line in text.split("\n") if line)


def test_manual_pages_and_completions(debian):
    pages = "fgio fgio-enable fgio-top fgio-profile-test fgiod libfgio"
    assert len(debian.run(f"man -w {pages}").split()) == len(pages.split())
    assert "foreground tasks" in debian.run("man fgio-blame | cat")
    debian.run(". /usr/share/bash-completion/completions/fgio && complete -p fgio")
    for name in ("zsh/vendor-completions/_fgio", "fish/vendor_completions.d/fgio.fish"):
        assert "doctor" in (debian.tree / "usr/share" / name).read_text()


def test_library_is_found_and_harmless_without_the_module(debian):
    debian.run(f"cat >/tmp/program.c <<'END'\n{PROGRAM}END")
    build = "cc /tmp/program.c -o /tmp/program $(pkg-config --cflags --libs libfgio)"
    assert debian.run(f"{build} && /tmp/program") == "0\n"
    assert "libfgio.so.1" in debian.run("ldd /tmp/program")


def test_extension_loads(debian):
    assert debian.run(USE_THE_EXTENSION).split() == ["foreground", "f"]


def test_daemon_is_sound_and_waits_to_be_enabled(debian):
    assert debian.run("systemd-analyze verify /lib/systemd/system/fgiod.service") == ""
    assert debian.attempt("systemctl is-enabled fgiod").stdout == "disabled\n"


def of_next_version(built: list[Path], folder: Path) -> list[Path]:
    """The same packages, as a rebuild would call them."""
    version = host.run(["dpkg-deb", "-f", str(built[0]), "Version"], what="asking").strip()
    packages = []
    for old in built:
        tree = folder / old.stem
        new = folder / old.name.replace(version, f"{version}+1")
        host.run(["dpkg-deb", "-R", str(old), str(tree)], what="unpacking a package")
        control = tree / "DEBIAN" / "control"
        control.write_text(control.read_text().replace(version, f"{version}+1"))
        pack = ["dpkg-deb", "--root-owner-group", "-Zgzip", "-b", str(tree), str(new)]
        host.run(pack, what="making a package")
        packages.append(new)
    return packages


def test_upgrade_keeps_what_the_user_wrote(debian, built, tmp_path):
    debian.run(
        "echo 'rescan_interval_ms = 20000' >>/etc/fgio/fgiod.toml\n"
        "sed s/redis/mine/g /usr/lib/fgio/profiles/redis.toml >/etc/fgio/profiles/mine.toml\n"
        "mkdir -p /etc/modprobe.d; echo 'options fgio boost=0' >/etc/modprobe.d/fgio.conf"
    )
    debian.install(of_next_version(built, tmp_path))
    versions = debian.run(f"dpkg-query -W -f '${{Version}}\\n' {' '.join(OURS)}").split()
    assert len(versions) == len(OURS) and all(one.endswith("+1") for one in versions)
    assert "rescan_interval_ms = 20000\n" in debian.run("fgiod cat-config")
    assert "mine" in debian.run("fgio profile list")
    for release in debian.kernels():
        assert debian.run(f"modinfo -k {release} -F name fgio") == "fgio\n"


def test_purge_leaves_nothing(debian):
    before = set(debian.run(f"dpkg -L {' '.join(OURS)}").split("\n"))
    debian.run(f"apt-get -qq remove -y {' '.join(OURS)}")
    assert (debian.tree / "etc/fgio/profiles/mine.toml").exists()
    debian.run(f"dpkg --purge {' '.join(OURS)}")
    assert debian.attempt("dpkg -l | grep fgio").stdout == ""
    # Logs, what man keeps of pages that were read, and what these tests wrote themselves.
    others = ("/packages/*", "/var/log/*", "/var/cache/man/*", "/etc/postgresql/*", "/tmp/*")
    but = " ".join(f"-not -path '{path}'" for path in others)
    assert debian.run(f"find / -xdev -name '*fgio*' {but}") == ""
    assert debian.run("find /lib/modules -path '*updates*' -type f") == ""
    left = [path for path in sorted(before) if path.startswith("/") and path != "/."]
    left = [path for path in left if os.path.lexists(f"{debian.tree}{path}")]
    owned = debian.attempt(f"dpkg -S {' '.join(left)} >/dev/null")
    assert owned.returncode == 0, owned.stdout
