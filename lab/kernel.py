# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The kernels that the lab boots: Debian's stock ones, and two built from its source."""

import lzma
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lab import host, paths

DEBUG = "6.12-debug"
# With io.low, which Debian's kernels have not.
LOW = "6.1-low"
VERSIONS = ("6.12", "6.1", DEBUG, LOW)
# Built here, from Debian's source: version -> command.
BUILT = {DEBUG: "lab/debug-kernel", LOW: "lab/low-kernel"}
# A shadow byte for each eight, red zones, stacks of twice the size, a record of each allocation.
DEBUG_MIB = 256
# Emulated, and with others on the host.
DEBUG_SLOWNESS = 8


@dataclass(frozen=True)
class Kernel:
    """One unpacked kernel: version as the user names it, full release, folder."""

    version: str
    release: str
    folder: Path

    @property
    def image(self) -> Path:
        """The bootable image."""
        return self.folder / "boot" / f"vmlinuz-{self.release}"

    @property
    def checked(self) -> bool:
        """Whether this is the debug kernel, whose checks take time and memory."""
        return self.version == DEBUG

    @property
    def slowness(self) -> int:
        """How many times longer than on a stock kernel something may take, for time limits."""
        return DEBUG_SLOWNESS if self.checked else 1

    def memory_mib(self, stock_mib: int) -> int:
        """MiB of memory for a guest that has enough with `stock_mib` under a stock kernel."""
        if not self.checked:
            return stock_mib
        return stock_mib * 3 // 2 + DEBUG_MIB

    @property
    def modules(self) -> Path:
        """The folder of the kernel's own modules."""
        return self.folder / "lib" / "modules" / self.release


def locate(version: str) -> Kernel:
    """The kernel of a version; a stock one is downloaded when it is not yet in the cache.

    Raises LabError for a version that is not one of VERSIONS, a download that fails, or a
    kernel that has to be built first.
    """
    if version not in VERSIONS:
        raise host.LabError(f"unknown kernel {version}; choose one of: {', '.join(VERSIONS)}")
    folder = paths.CACHE / "kernel" / version
    if not (folder / "release").is_file():
        if version in BUILT:
            raise host.LabError(
                f"the kernel {version} is built, not fetched: run {BUILT[version]} (half an hour)"
            )
        host.tell(f"lab: fetching the Debian kernel {version}")
        fetch = paths.ROOT / "kmod" / "fetch-kernel"
        host.run([str(fetch), version], what=f"fetching kernel {version}")
    release = (folder / "release").read_text().strip()
    kernel = Kernel(version, release, folder)
    if not kernel.image.is_file():
        raise host.LabError(
            f"{kernel.image} is missing: remove {folder} and run again to fetch the kernel anew"
        )
    return kernel


def _names_in(kernel: Kernel) -> dict[str, Path]:
    files = {}
    for file in (kernel.modules / "kernel").rglob("*.ko*"):
        files[file.name.split(".ko")[0].replace("-", "_")] = file
    return files


def _needs(file: Path) -> list[str]:
    depends = subprocess.run(
        ["/sbin/modinfo", "-F", "depends", str(file)], capture_output=True, text=True, check=True
    ).stdout
    return [name.replace("-", "_") for name in depends.strip().split(",") if name]


def unpack_modules(kernel: Kernel, names: Iterable[str], folder: Path) -> list[str]:
    """Copies modules and their dependencies, uncompressed, into `folder`.

    Modules that the kernel has built in are left out. Returns the copied names in an order
    in which insmod can load them.
    """
    files = _names_in(kernel)
    order: list[str] = []

    def add(name: str) -> None:
        if name in order or name not in files:
            return
        for needed in _needs(files[name]):
            add(needed)
        order.append(name)

    for name in names:
        add(name.replace("-", "_"))
    folder.mkdir(parents=True, exist_ok=True)
    for name in order:
        target = folder / f"{name}.ko"
        if files[name].suffix == ".xz":
            target.write_bytes(lzma.decompress(files[name].read_bytes()))
        else:
            shutil.copyfile(files[name], target)
    return order
