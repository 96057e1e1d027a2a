# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The Debian packages, from `make packages` to a purge, in a Debian of their own (packages.py).

It takes root and some minutes, so it runs on demand: FGIO_PACKAGES=1. tests/installed loads the
module and runs databases with the packages.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import packages
import pytest

from lab import host, paths

pytestmark = pytest.mark.skipif(
    not os.environ.get("FGIO_PACKAGES"), reason="takes minutes and root; FGIO_PACKAGES=1 runs it"
)

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


@pytest.fixture(scope="module")
def built() -> list[Path]:
    return packages.build()


@pytest.fixture(scope="module")
def debian(built: list[Path]) -> Iterator[packages.Debian]:
    """A system with all our packages; tests run in the order of this file."""
    with packages.system() as system:
        system.install(built, *packages.KERNELS, *packages.OTHERS)
        yield system


def test_lintian_finds_no_error(built):
    (changes,) = packages.FOLDER.glob("*.changes")
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
    # The kernel that runs is the host's, whatever that is: doctor is told of another.
    system = "rm -rf /tmp/system && mkdir -p /tmp/system/proc/sys/kernel /tmp/system/sys/kernel/btf"
    for release, says in (
        ("6.12.117+deb12-amd64", "module is neither loaded nor installed for the running kernel"),
        ("5.10.0-1-amd64", "5.10.0-1-amd64, is of another series"),
    ):
        doctor = debian.attempt(
            f"{system} && touch /tmp/system/sys/kernel/btf/vmlinux &&"
            f" echo {release} >/tmp/system/proc/sys/kernel/osrelease &&"
            " fgio --root /tmp/system doctor"
        )
        assert doctor.returncode == 1
        assert says in doctor.stdout
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


def test_users_of_the_servers_may_open_the_device(debian):
    """It belongs to a group, which has the users of the servers that label threads."""
    members = debian.run("getent group fgio").strip().split(":")[3].split(",")
    assert sorted(members) == ["mysql", "postgres", "redis"]
    rule = (debian.tree / "lib/udev/rules.d/60-fgio.rules").read_text()
    assert 'GROUP="fgio", MODE="0660"' in rule


def test_daemon_is_sound_and_waits_to_be_enabled(debian):
    for unit in ("fgiod", "fgiod-cache"):
        assert debian.run(f"systemd-analyze verify /lib/systemd/system/{unit}.service") == ""
        assert debian.attempt(f"systemctl is-enabled {unit}").stdout == "disabled\n"


def of_next_version(built: list[Path], folder: Path) -> list[Path]:
    """The same packages, as a rebuild would call them."""
    version = host.run(["dpkg-deb", "-f", str(built[0]), "Version"], what="asking").strip()
    return [packages.repacked(old, folder, f"{version}+1") for old in built]


def test_upgrade_keeps_the_users_files(debian, built, tmp_path):
    debian.run(
        "echo 'rescan_interval_ms = 20000' >>/etc/fgio/fgiod.toml\n"
        "sed s/redis/mine/g /usr/lib/fgio/profiles/redis.toml >/etc/fgio/profiles/mine.toml\n"
        "mkdir -p /etc/modprobe.d; echo 'options fgio boost=0' >/etc/modprobe.d/fgio.conf\n"
        "mkdir -p /etc/udev/rules.d; echo '# a disk' >/etc/udev/rules.d/90-fgio-disks.rules\n"
        "mkdir -p /etc/modules-load.d; echo fgio >/etc/modules-load.d/fgio.conf"
    )
    debian.install(of_next_version(built, tmp_path))
    versions = debian.run(f"dpkg-query -W -f '${{Version}}\\n' {' '.join(packages.OURS)}").split()
    assert len(versions) == len(packages.OURS) and all(one.endswith("+1") for one in versions)
    assert "rescan_interval_ms = 20000\n" in debian.run("fgiod cat-config")
    assert "mine" in debian.run("fgio profile list")
    for release in debian.kernels():
        assert debian.run(f"modinfo -k {release} -F name fgio") == "fgio\n"


def test_purge_leaves_nothing(debian):
    before = set(debian.run(f"dpkg -L {' '.join(packages.OURS)}").split("\n"))
    debian.run(f"apt-get -qq remove -y {' '.join(packages.OURS)}")
    for kept in ("fgio/profiles/mine.toml", "udev/rules.d/90-fgio-disks.rules"):
        assert (debian.tree / "etc" / kept).exists()
    debian.run(f"dpkg --purge {' '.join(packages.OURS)}")
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
