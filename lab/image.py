# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Images that a guest boots from: a Debian root file system and an initramfs, in the cache.

The root image holds programs alone. Modules travel in the initramfs, and everything that
changes between runs in a payload appended to it, so that neither makes the image stale.
"""

import hashlib
import os
import shutil
from pathlib import Path

from lab import host, kernel, paths

SUITE = "bookworm"
TESTING = "forky"
# The PostgreSQL that each Debian release brings.
POSTGRESQL = {"bookworm": 15, "trixie": 17, "forky": 18}
PACKAGES = (
    "fio",
    "procps",
    "redis-server",
    "util-linux",
    "kmod",
    "e2fsprogs",
    "xfsprogs",
    "btrfs-progs",
)
MINIMUM_PARTS_REMOVED = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/info",
    "var/cache/apt",
    "var/lib/apt/lists",
)
# Needed before there is a root file system, and for the disks of the experiments.
BOOT_MODULES = ("crc32c_generic", "ext4", "nd_e820", "nd_pmem")
DISK_MODULES = ("bfq", "kyber-iosched", "null_blk", "scsi_debug", "sd_mod", "loop", "brd", "dm_mod")
# Regions of persistent memory are laid out in units of this size.
ALIGNMENT = 128 * host.MIB


def fingerprint(*parts: object) -> str:
    """A name that changes with any of the parts."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def as_root(command: list[str]) -> list[str]:
    """The command, run as root: directly, through sudo, or not at all (LabError)."""
    if os.geteuid() == 0:
        return command
    if shutil.which("sudo"):
        return ["sudo", *command]
    raise host.LabError("building the guest's images needs root: run as root or install sudo")


def round_up(size: int) -> int:
    """A size in bytes, rounded up to a whole region of persistent memory."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def make_ext4(image: Path, tree: Path | None, size: int, *options: str) -> None:
    """Writes an ext4 image of `size` bytes that holds `tree` (no loop device, no mount)."""
    with image.open("wb") as file:
        file.truncate(size)
    filled = ["-d", str(tree)] if tree else []
    # A fixed identity and clock: the same tree gives the same image.
    command = ["/sbin/mke2fs", "-q", "-t", "ext4", "-E", "lazy_itable_init=0,nodiscard"]
    command += ["-U", "c0ffee00-0000-4000-8000-000000000001", *options, *filled, str(image)]
    host.run(as_root(command), what=f"making the file system image {image.name}")


def root_tree(
    further: tuple[str, ...] = (), suite: str = SUITE, alone: tuple[str, ...] = ()
) -> Path:
    """The unpacked Debian root file system (owned by root), made when absent.

    further: packages beside those of every guest
    suite: the Debian release, one of POSTGRESQL
    alone: packages that are unpacked without their dependencies, such as headers
    """
    packages = (f"postgresql-{POSTGRESQL[suite]}", *PACKAGES, *further)
    mark = fingerprint(suite, packages, MINIMUM_PARTS_REMOVED, *([alone] if alone else []))
    tree = paths.CACHE / f"root-{mark}"
    if tree.is_dir():
        return tree
    host.need_space(paths.CACHE, 3000, f"a root file system of {suite}")
    host.tell(f"lab: making a root file system of {suite} (a minute or two, once)")
    with host.whole(tree) as fresh:
        _bootstrap(fresh, packages, suite, alone)
    return tree


# In mmdebstrap's hook: apt's configuration is that of the new system, which is in $1.
UNPACK_ALONE = """
set -e
cd "$1/tmp"
APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get -q download {packages}
for each in *.deb; do
  dpkg-deb --fsys-tarfile "$each" | tar -x --keep-directory-symlink -C "$1"
done
rm ./*.deb
"""


def _bootstrap(fresh: Path, packages: tuple[str, ...], suite: str, alone: tuple[str, ...]) -> None:
    archive = fresh.with_suffix(".tar")
    options = [f"--dpkgopt=path-exclude=/{part}/*" for part in MINIMUM_PARTS_REMOVED[:4]]
    if suite == TESTING:
        # Its lists are valid for a week, and mirrors lag. Signatures are checked all the same.
        options.append('--aptopt=Acquire::Check-Valid-Until "false"')
    if alone:
        options.append(f"--customize-hook={UNPACK_ALONE.format(packages=' '.join(alone))}")
    host.run(
        as_root(
            [
                "mmdebstrap",
                "--mode=root" if os.geteuid() == 0 else "--mode=auto",
                "--variant=minbase",
                f"--include={','.join(packages)}",
                '--aptopt=Acquire::Retries "3"',
                *options,
                suite,
                str(archive),
            ]
        ),
        what="building the guest's root file system with mmdebstrap",
    )
    fresh.mkdir()
    host.run(
        as_root(["tar", "xf", str(archive), "-C", str(fresh), "--exclude=./dev/*"]),
        what="unpacking the guest's root file system",
    )
    for part in MINIMUM_PARTS_REMOVED:
        host.run(as_root(["rm", "-rf", str(fresh / part)]), what="trimming the root file system")
    for folder in ("usr/lib/modules", "data", "var/lib/apt/lists"):
        host.run(as_root(["mkdir", "-p", str(fresh / folder)]), what="preparing the root")


def root_image(further: tuple[str, ...] = (), suite: str = SUITE) -> Path:
    """The root file system (see root_tree) as an ext4 image, made when absent."""
    tree = root_tree(further, suite)
    image = paths.CACHE / f"{tree.name}.ext4"
    if image.is_file():
        return image
    used = int(host.run(as_root(["du", "-sm", str(tree)]), what="measuring the root").split()[0])
    size = round_up((used + used // 4 + 100) * host.MIB)
    host.need_space(paths.CACHE, size // host.MIB, "the guest's root image")
    with host.whole(image) as fresh:
        make_ext4(fresh, tree, size, "-O", "^has_journal", "-m", "0")
    return image


def initramfs(chosen: kernel.Kernel) -> Path:
    """The initramfs of a kernel without a payload, made when absent."""
    script = paths.LAB / "guest" / "initramfs-init"
    mark = fingerprint(chosen.release, BOOT_MODULES, DISK_MODULES, script.read_text(), 1)
    target = paths.CACHE / f"initramfs-{chosen.version}-{mark}.cpio"
    if target.is_file():
        return target
    busybox = shutil.which("busybox") or "/bin/busybox"
    if not Path(busybox).is_file():
        raise host.LabError("busybox is not installed: run lab/setup")
    host.need_space(paths.CACHE, 100, "the guest's initramfs")
    with host.whole(target) as fresh:
        tree = fresh.parent / "tree"
        for folder in ("bin", "proc", "sys", "dev", "root", "payload"):
            (tree / folder).mkdir(parents=True)
        shutil.copy(busybox, tree / "bin" / "busybox")
        shutil.copy(script, tree / "init")
        (tree / "init").chmod(0o755)
        modules = tree / "modules"
        boot = kernel.unpack_modules(chosen, BOOT_MODULES, modules)
        (tree / "boot-modules").write_text("\n".join(boot) + "\n")
        disk = kernel.unpack_modules(chosen, DISK_MODULES, modules / chosen.release)
        (modules / chosen.release / "modules.order").write_text(
            "".join(f"{name}.ko\n" for name in disk)
        )
        host.run(
            ["/sbin/depmod", "-b", str(_depmod_view(tree, chosen)), chosen.release],
            what="indexing the guest's modules",
        )
        host.remove(fresh.parent / "view")
        pack(tree, fresh)
    return target


def _depmod_view(tree: Path, chosen: kernel.Kernel) -> Path:
    # depmod wants BASE/lib/modules/RELEASE; the tree has it at /modules/RELEASE.
    view = tree.parent / "view"
    (view / "lib").mkdir(parents=True)
    (view / "lib" / "modules").symlink_to(tree / "modules")
    for name in ("modules.builtin", "modules.builtin.modinfo"):
        shutil.copy(chosen.modules / name, tree / "modules" / chosen.release / name)
    return view


def pack(tree: Path, archive: Path) -> None:
    """Writes a folder as a cpio archive that the kernel unpacks; root owns everything in it."""
    names = sorted(path.relative_to(tree) for path in tree.rglob("*"))
    listing = "\n".join(str(name) for name in names) + "\n"
    staged = archive.with_suffix(".list")
    staged.write_text(listing)
    try:
        with staged.open() as names_file, archive.open("wb") as out:
            process = host.start(
                ["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0", "--reproducible"],
                stdin=names_file,
                stdout=out,
                cwd=tree,
            )
            status = process.wait()
            host.finish(process)
    finally:
        host.remove(staged)
    if status:
        raise host.LabError(f"cpio failed on {tree} (exit status {status}); is the disk full?")
