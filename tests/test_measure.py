# SPDX-License-Identifier: Apache-2.0 OR MIT
"""fgio measure, there and back: a drive that is known is measured in a guest, and simulated again.

The model's native figures are compared with the drive's native figures, so that the guest's own
part in the figures is part of the difference.
"""

from pathlib import Path

import pytest

from lab import drives, host, paths
from lab.experiments.base import fgio_command

MEASURE = """
. $PAYLOAD/functions.sh
make_disk {drive} 1 512
use_elevator none
$PAYLOAD/bin/fgio measure $DISK --out $RESULTS/drive.txt --seconds {seconds} {options} 2>&1
"""
REFUSED = """
. $PAYLOAD/functions.sh
make_disk ssd 1 64
fgio=$PAYLOAD/bin/fgio
refused() {{ # STATUS COMMAND...
  local status=$1
  shift
  sha1sum /dev/$DISK >/tmp/before
  "$@" 2>&1
  [[ $? -eq $status ]] || stop "not $status: $*"
  sha1sum /dev/$DISK | cmp - /tmp/before || stop "written to: $*"
  [[ ! -e drive.txt ]] || stop "a model: $*"
}}
cd /tmp
refused 2 $fgio measure --write $DISK
refused 4 setpriv --reuid 65534 --clear-groups $fgio measure $DISK
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/$DISK
refused 1 $fgio measure --destroy-data $DISK
refused 1 env PATH=/nowhere $fgio measure --destroy-data $DISK
mkdir -p /tmp/mounted
# For reading: some seconds after a mount for writing, ext4 writes its superblock.
mount -o ro /dev/$DISK /tmp/mounted
refused 1 $fgio measure --destroy-data $DISK
mount -o remount,rw /tmp/mounted
$fgio measure --destroy-data $DISK 2>&1 && stop "written to while it is mounted for writing"
$fgio measure --write --size 16Mi --seconds 1 /tmp/mounted 2>/tmp/said ||
  stop "a directory: $(cat /tmp/said)"
[[ $(ls /tmp/mounted) == lost+found ]] || stop "something is left"
umount /tmp/mounted
rm drive.txt
sfdisk -q --wipe always /dev/$DISK <<<',' && refused 1 $fgio measure --destroy-data $DISK
wipefs -qa /dev/$DISK
$fgio measure --destroy-data --seconds 1 $DISK 2>/dev/null
"""
SIZES_KIB = (4, 32, 256)
DEPTHS = (1, 2, 4, 8, 16, 32)
# Of the drive's own figure. The p99 is of some thousand I/Os, and so is the drive's.
TOLERANCES = {"p50": 0.08, "p90": 0.10, "p99": 0.25, "iops": 0.10}


def differences(
    drive: str, model: str, operation: str = "read", depths: tuple[int, ...] = DEPTHS
) -> list[str]:
    """Where a model is not within the tolerances of the drive; all figures are printed.

    Quantiles are of one I/O at a time by size, rates of 4 KiB by depth and of 256 KiB.
    """
    compared = [
        *((kib, 1, name) for kib in SIZES_KIB for name in ("p50", "p90", "p99")),
        *((4, depth, "iops") for depth in depths),
        *((256, depth, "iops") for depth in (1, 4)),
    ]
    wrong = []
    for kib, depth, name in compared:
        one = drives.load(drive, operation, kib, depth)[name]
        other = drives.load(model, operation, kib, depth)[name]
        text = f"{operation} {kib:3} KiB, {depth:2} at once: {name:4} {one:9.1f} {other:9.1f}"
        print(f"{text} {other / one - 1:+7.1%}")
        if abs(other / one - 1) > TOLERANCES[name]:
            wrong.append(text)
    return wrong


def measured(guest, drive: str, options: str = "", seconds: int = 10) -> Path:
    """The model file that fgio measure makes of a drive in a guest."""
    functions = paths.LAB / "guest" / "functions.sh"
    outcome = guest(
        MEASURE.format(drive=drive, options=options, seconds=seconds),
        counted_clock=True,
        cpus=1,
        instructions_per_ns=4,
        limit_s=1800,
        payload={"functions.sh": functions, "bin/fgio": fgio_command()},
    )
    assert outcome.status == 0, outcome.output
    return outcome.results / "drive.txt"


def test_a_volume_comes_back(guest):
    file = measured(guest, "volume:sigma=0.5", "--destroy-data")
    text = file.read_text()
    print(text)
    model = drives.resolve(f"@{file}")
    assert drives.kind(model) == "measured"
    assert "# simdisk0, 512 MiB; kernel 6.12" in text and "serial" not in text
    for operation in ("read", "write"):
        assert not differences("volume:sigma=0.5", model, operation)
    # Both directions share the limits of the volume.
    assert "\niops=" in text and "\nread_iops=" not in text
    for wrong in ("volume", "volume:sigma=0.5,iops=2500", "volume:sigma=0.5,latency=600us", "ssd"):
        assert differences(wrong, model), wrong


def test_an_ssd_comes_back(guest):
    file = measured(guest, "ssd", seconds=2)
    print(file.read_text())
    model = drives.resolve(f"@{file}")
    assert not differences("ssd", model)
    for wrong in ("ssd:sense=80us", "ssd:dies=4", "nvme", "volume:sigma=0.5"):
        assert differences(wrong, model), wrong


def test_a_model_is_simulated_by_the_module(guest, tmp_path):
    """fgio measure finds the figures of the file that the guest's simdisk was given."""
    file = tmp_path / "drive.txt"
    file.write_text(
        f"# a drive\nmeasured\nread_4k={'/'.join(['1ms'] * 10)}\n"
        "read_scaling=2/4/8/8/8/8/8\nparallel=256\n"
    )
    model = drives.resolve(f"@{measured(guest, drives.resolve(f'@{file}'), seconds=4)}")
    assert drives.load(model, "read", 4, 1)["p50"] == pytest.approx(1000, rel=0.05)
    assert drives.load(model, "read", 4, 32)["iops"] == pytest.approx(8000, rel=0.1)


def test_only_a_disk_without_data_is_written_to(guest):
    payload = {"functions.sh": paths.LAB / "guest" / "functions.sh", "bin/fgio": fgio_command()}
    outcome = guest(REFUSED.format(), payload=payload)
    assert outcome.status == 0, outcome.output
    for words in ("--destroy-data", "as root", "holds data (ext4)", "is in use", "wipefs: "):
        assert words in outcome.output
    assert outcome.output.count("drive.txt is the model of") == 2


def test_loads_that_a_drive_cannot_have_are_refused():
    for arguments, words in (
        (("ssd", "read", 4, 100), "not 1 to 32 at a time"),
        (("ssd", "read", 0, 1), "KiB"),
        (("ssd", "trim", 4, 1), "not read or write"),
    ):
        with pytest.raises(host.LabError, match=words):
            drives.load(*arguments)
