# SPDX-License-Identifier: GPL-2.0
"""Where the type information (BTF) of the kernel we build for comes from.

Some headers packages ship it, some do not: then the running kernel's is right if it is the same
release, else the kernel image itself holds it, compressed.
"""

from __future__ import annotations

import argparse
import lzma
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path


class SourceError(Exception):
    """No usable BTF; the text lists the places that were tried, and the remedy."""


# Offsets in the setup header of an x86 kernel image (Documentation/arch/x86/boot.rst).
SETUP_SECTS = 0x1F1
HEADER_MAGIC = 0x202
PAYLOAD_OFFSET = 0x248
SECTOR = 512


def kernel_release(kdir: Path) -> str:
    """The full release string of the kernel that the build folder `kdir` belongs to."""
    # Debian 6.1's kernel.release lacks the ABI name, so the header that modules use comes first.
    header = kdir / "include/generated/utsrelease.h"
    release_file = kdir / "include/config/kernel.release"
    if header.is_file():
        match = re.search(r'UTS_RELEASE\s+"([^"]+)"', header.read_text())
        if match:
            return match.group(1)
    if release_file.is_file():
        return release_file.read_text().strip()
    raise SourceError(
        f"{kdir} is no kernel build folder (it has no include/generated/utsrelease.h).\n"
        "Install the kernel's headers (linux-headers-...) or pass KDIR=<folder>."
    )


def has_btf(elf: Path) -> bool:
    """Whether the ELF file has a .BTF section."""
    try:
        listing = subprocess.run(
            ["readelf", "-SW", elf], capture_output=True, text=True, check=False
        ).stdout
    except FileNotFoundError as error:
        raise SourceError("readelf not found; install the package binutils.") from error
    return re.search(r"\s\.BTF\s", listing) is not None


def decompress_image(image: Path) -> bytes:
    """The ELF kernel inside a compressed x86 image (vmlinuz)."""
    data = image.read_bytes()
    if data[HEADER_MAGIC : HEADER_MAGIC + 4] != b"HdrS":
        raise SourceError(f"{image} is not an x86 kernel image.")
    offset, length = struct.unpack_from("<II", data, PAYLOAD_OFFSET)
    start = ((data[SETUP_SECTS] or 4) + 1) * SECTOR + offset
    payload = data[start : start + length]
    if payload.startswith(b"\xfd7zXZ"):
        return lzma.LZMADecompressor().decompress(payload)
    if payload.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(wbits=31).decompress(payload)
    if payload.startswith(b"\x28\xb5\x2f\xfd"):
        # The image ends with the size of the kernel (4 bytes), which is no part of the zstd frame.
        return run_filter(["zstd", "-dcq"], payload[:-4], "zstd")
    raise SourceError(
        f"{image} is compressed in a way not known here (first bytes {payload[:4].hex()}).\n"
        "Decompress it with the kernel's scripts/extract-vmlinux and pass BTF=<vmlinux>."
    )


def run_filter(command: list[str], data: bytes, package: str) -> bytes:
    try:
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout
    except FileNotFoundError as error:
        raise SourceError(f"{command[0]} not found; install the package {package}.") from error
    except subprocess.CalledProcessError as error:
        raise SourceError(f"{command[0]} failed: {error.stderr.decode().strip()}") from error


def extract_from_image(image: Path, output: Path, release: str | None = None) -> None:
    """Write the raw BTF of a compressed kernel image to `output`.

    With `release`, refuse an image of any other kernel.
    """
    kernel = decompress_image(image)
    if release and f"Linux version {release} ".encode() not in kernel:
        raise SourceError(f"{image} is not the kernel {release}.")
    with tempfile.NamedTemporaryFile(dir=output.parent, suffix=".vmlinux") as vmlinux:
        vmlinux.write(kernel)
        vmlinux.flush()
        if not has_btf(Path(vmlinux.name)):
            raise SourceError(
                f"{image} has no type information: the kernel was built without\n"
                "CONFIG_DEBUG_INFO_BTF. fgio supports Debian's stock kernels, which have it."
            )
        partial = output.with_name(output.name + ".part")
        subprocess.run(
            ["objcopy", "--dump-section", f".BTF={partial}", vmlinux.name, "/dev/null"],
            check=True,
        )
        partial.replace(output)


def image_candidates(kdir: Path, release: str) -> list[Path]:
    """Places where distributions put the kernel image, most usual first."""
    return [
        Path(f"/boot/vmlinuz-{release}"),
        Path(f"/lib/modules/{release}/vmlinuz"),
        Path(f"/usr/lib/modules/{release}/vmlinuz"),
        kdir.parent / f"boot/vmlinuz-{release}",
    ]


def find(kdir: Path, cache_dir: Path, explicit: str | None = None) -> Path:
    """A file that bpftool can read and that describes the kernel of `kdir`.

    `cache_dir` receives BTF that is extracted from a compressed image.
    """
    if explicit:
        return explicit_source(Path(explicit), cache_dir)
    release = kernel_release(kdir)
    running = Path("/sys/kernel/btf/vmlinux")
    if (kdir / "vmlinux").is_file() and has_btf(kdir / "vmlinux"):
        return kdir / "vmlinux"
    if (kdir / "vmlinux-btf").is_file():
        return kdir / "vmlinux-btf"
    if os.uname().release == release and running.is_file():
        return running
    for image in image_candidates(kdir, release):
        if image.is_file():
            extracted = cache_dir / "vmlinux-btf"
            extract_from_image(image, extracted, release)
            return extracted
    raise SourceError(
        f"no type information (BTF) found for the kernel {release}.\n"
        f"Looked for: {kdir}/vmlinux, {kdir}/vmlinux-btf, the running kernel"
        f" ({os.uname().release}),\n  "
        + ", ".join(str(path) for path in image_candidates(kdir, release))
        + f".\nInstall linux-image-{release}, or pass BTF=<its vmlinuz, vmlinux or raw BTF>."
    )


# How distributions compress modules, by the suffix: what undoes it, and its package.
COMPRESSED = {".xz": ("xz", "xz-utils"), ".gz": ("gzip", "gzip"), ".zst": ("zstd", "zstd")}


def module_files(kdir: Path, release: str, name: str) -> Iterator[Path]:
    """Files of a kernel's module, nearest to `kdir` first: a cache may hold several kernels."""
    for root in kdir.resolve().parents:
        for suffix in ("", *COMPRESSED):
            folder = root / "lib/modules" / release / "kernel"
            yield from sorted(folder.rglob(f"{name}.ko{suffix}"))


def find_module(kdir: Path, cache_dir: Path, name: str) -> Path | None:
    """A file with the BTF of a module of the kernel of `kdir`, or None: it has none, or no BTF.

    `cache_dir` receives modules that are compressed.
    """
    release = kernel_release(kdir)
    running = Path("/sys/kernel/btf") / name.replace("-", "_")
    for file in module_files(kdir, release, name):
        if file.suffix in COMPRESSED:
            tool, package = COMPRESSED[file.suffix]
            plain = cache_dir / f"{name}.ko"
            plain.write_bytes(run_filter([tool, "-dc"], file.read_bytes(), package))
            file = plain
        return file if has_btf(file) else None
    return running if os.uname().release == release and running.is_file() else None


def explicit_source(path: Path, cache_dir: Path) -> Path:
    if not path.is_file():
        raise SourceError(f"BTF={path}: no such file.")
    with path.open("rb") as file:
        head = file.read(HEADER_MAGIC + 4)
    if head[HEADER_MAGIC:] == b"HdrS":
        extracted = cache_dir / "vmlinux-btf"
        extract_from_image(path, extracted)
        return extracted
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description="Take the BTF out of a compressed kernel image.")
    parser.add_argument("--extract", nargs=2, type=Path, metavar=("VMLINUZ", "OUTPUT"))
    arguments = parser.parse_args()
    if not arguments.extract:
        parser.error("--extract is required")
    try:
        extract_from_image(*arguments.extract)
    except (SourceError, OSError) as error:
        print(f"btf_source: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
