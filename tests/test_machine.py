# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A machine that boots by systemd, with our packages: fgiod across an upgrade and a removal, the
disks under fgio after a reboot, and the users that /dev/fgio lets in.

Packages with the faults that maintainer scripts can have are the control. On demand, as
test_packages.py: FGIO_PACKAGES=1.
"""

import os
import re
from pathlib import Path

import packages
import pytest

from lab import guest, host, kernel, paths

pytestmark = pytest.mark.skipif(
    not os.environ.get("FGIO_PACKAGES"), reason="takes minutes and root; FGIO_PACKAGES=1 runs it"
)

SCRIPT = Path(__file__).resolve().parent / "guest" / "machine.sh"
OURS = ("fgio", "fgio-dkms")
OTHERS = (
    "linux-headers-6.12-amd64",
    "linux-image-6.12-amd64",
    "systemd-sysv",
    "udev",
    "kmod",
    "procps",
)
# Two disks with serial numbers and one without, which appear while the system comes up.
DISKS = """
echo 'options scsi_debug num_tgts=2 dev_size_mb=8' >/etc/modprobe.d/disks.conf
printf 'scsi_debug\\nnull_blk\\n' >/etc/modules-load.d/disks.conf
"""
VERDICT = re.compile(r"^(good|wrong): (.*)$", re.MULTILINE)


def stop_and_forget(tree: Path) -> None:
    """Maintainer scripts that stop fgiod for an upgrade, start none, and leave it at removal."""
    scripts = tree / "DEBIAN"
    for name, fault in (("postinst", "try-restart"), ("prerm", "stop")):
        text = (scripts / name).read_text()
        assert f"deb-systemd-invoke {fault}" in text
        (scripts / name).write_text(text.replace(f"deb-systemd-invoke {fault}", "true"))
    preinst = scripts / "preinst"
    assert not preinst.exists()
    preinst.write_text('#!/bin/sh\n[ "$1" != upgrade ] || systemctl stop fgiod.service\n')
    preinst.chmod(0o755)


@pytest.fixture(scope="module")
def payload(tmp_path_factory) -> dict[str, Path | str]:
    """The packages by their purpose; made from the ones that are installed."""
    packages.build()
    folder = tmp_path_factory.mktemp("packages")
    old = packages.package("fgio")
    return {
        "machine.sh": SCRIPT,
        "functions.sh": paths.LAB / "guest" / "functions.sh",
        "newer.deb": packages.repacked(old, folder, "9.1"),
        "faulty.deb": packages.repacked(old, folder, "9.2", stop_and_forget),
        "last.deb": packages.repacked(old, folder, "9.3"),
    }


@pytest.fixture(scope="module")
def machine(payload, tmp_path_factory) -> Path:
    host.tell("a machine with our packages (some minutes)")
    target = tmp_path_factory.mktemp("machine") / "machine.ext4"
    return packages.machine(
        target, [packages.package(name) for name in OURS], *OTHERS, settle=DISKS
    )


def boot(machine: Path, payload: dict[str, Path | str], step: str, folder: Path) -> list[str]:
    """Boots the machine; returns the checks that passed, and fails with those that did not."""
    plan = guest.Boot(
        kernel=kernel.locate("6.12"),
        commands=f'STEP={step}\n. "$PAYLOAD/machine.sh"',
        payload=payload,
        system=machine,
        keeps_system=True,
        cpus=2,
        counted_clock=False,
        limit_s=1800,
    )
    outcome = guest.run(plan, folder)
    verdicts = VERDICT.findall(outcome.output)
    wrong = [text for verdict, text in verdicts if verdict == "wrong"]
    assert not wrong and outcome.status == 0, outcome.output
    assert not outcome.kernel_trouble()
    return [text for _, text in verdicts]


def test_upgrades_and_what_is_there_after_a_reboot(machine, payload, tmp_path):
    assert "an upgrade restarts fgiod" in boot(machine, payload, "first", tmp_path / "first")
    assert "removal ends fgiod" in boot(machine, payload, "second", tmp_path / "second")
