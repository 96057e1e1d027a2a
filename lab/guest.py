# SPDX-License-Identifier: Apache-2.0 OR MIT
"""One boot of a guest: payload, results, and its end within a time limit.

With `counted_clock` the guest's clock counts instructions (QEMU's icount) and idle time is
skipped, so that results do not depend on the host. Nothing of the host's time may leak in:
disks are persistent memory, results leave through memory shared with a file, the real-time
clock starts at a fixed date, and the random numbers of the machine are seeded.
"""

import contextlib
import os
import re
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab import host, image, kernel, paths, standstill

START_MARK = re.compile(r"^@lab ([0-9.]+) start$", re.MULTILINE)
END_MARK = re.compile(r"^@lab ([0-9.]+) end (\d+)$", re.MULTILINE)
ANY_MARK = re.compile(r"^@lab ([0-9.]+) (.*)$", re.MULTILINE)
# Everything that QEMU emulates but
# - byte-wise string moves: real processors make them fast, and the counted clock would charge an
#   instruction for each byte copied;
# - cmpxchg16b: QEMU 7.2 leaves rubbish in the flags when an interrupt follows it, and the guest
#   ends in a double fault some time later. The kernel has another way.
CPU = "max,-erms,-fsrm,-cx16"
# After how long kernels call a task hung.
STOCK_HUNG_S = 120
KERNEL_TROUBLE = re.compile(
    r"WARNING:|\bBUG[: ]|Oops|general protection|Kernel panic|blocked for more than|"
    r"rcu: INFO|soft lockup|hard LOCKUP|I/O error|list_(add|del) corruption|refcount_t:|UBSAN"
)


@dataclass(frozen=True)
class Boot:
    """A boot to be made.

    commands: shell script, run by bash as root; $PAYLOAD and $RESULTS are folders
    payload: guest name below $PAYLOAD -> host file or folder, or text
    disks: raw images (multiples of image.ALIGNMENT bytes), seen as /dev/lab/disk1, ... ; the
        guest's writes to them are forgotten at its end
    packages: Debian packages that it has beside those of every guest
    suite: the Debian release that its programs are from
    system: image of a whole system with a kernel of its own version, which comes up by systemd as
        on a machine before the commands run; None for the lab's root file system
    keeps_system: the guest's writes to `system` are there at the next boot of it
    counted_clock: virtual time; False is several times faster but its times mean nothing
    parallel: with False there, each processor is a thread of the host, and the guest dies now and
        then (see _command)
    instructions_per_ns: speed of the processors in virtual time, for loads that 1 GHz cannot do
    memory_mib, limit_s: memory, and host seconds after which the guest is killed, with a stock
        kernel; a debug kernel gets more of both, and scripts find $LAB_SLOWNESS for their limits
    results_mib: space for the files that the guest leaves in $RESULTS
    host_mib: memory that it takes here, where it never touches most of its own; 0: all of it
    heartbeat_s: virtual seconds between signs of life on the console, 0 for none
    examine: at the end, a debug kernel looks for leaks ($RESULTS/kmemleak) and says whether lockdep
        is still at work ($RESULTS/lockdep_stats)
    """

    kernel: kernel.Kernel
    commands: str
    payload: Mapping[str, Path | str] = field(default_factory=dict)
    disks: tuple[Path, ...] = ()
    packages: tuple[str, ...] = ()
    suite: str = image.SUITE
    system: Path | None = None
    keeps_system: bool = False
    cpus: int = 1
    memory_mib: int = 1536
    counted_clock: bool = True
    parallel: bool = False
    instructions_per_ns: int = 1
    limit_s: float = 600
    results_mib: int = 256
    host_mib: int = 0
    heartbeat_s: float = 1
    append: str = ""
    seed: int = 1
    examine: bool = False

    @property
    def given_mib(self) -> int:
        """The guest's memory."""
        return self.kernel.memory_mib(self.memory_mib)

    @property
    def patience_s(self) -> float:
        """Host seconds after which the guest is killed."""
        return self.kernel.slowness * self.limit_s


@dataclass(frozen=True)
class Outcome:
    """The outcome of a boot.

    status: exit status of the commands
    output: their output, with the kernel's console messages in between
    results: folder with the files that they left in $RESULTS
    cpu_s: what it took of the host's processors
    """

    status: int
    output: str
    console: str
    kernel_log: str
    results: Path
    virtual_s: float
    host_s: float
    cpu_s: float = 0

    def kernel_trouble(self) -> list[str]:
        """Lines of the kernel's log that no healthy run has."""
        lines = (self.kernel_log + "\n" + self.console).splitlines()
        return [line for line in lines if KERNEL_TROUBLE.search(line)]


class GuestError(host.LabError):
    """A guest that did not come to its end: killed at its limit, crashed, or without results.

    doing: of a guest that was killed, what it did then
    """

    def __init__(self, message: str, console: str, doing: str = ""):
        tail = "\n".join("  | " + line for line in console.splitlines()[-40:])
        text = f"{message}\nThe end of its console:\n{tail}"
        if doing:
            told = "\n".join("  | " + line for line in doing.splitlines())
            text += f"\nWhat it was doing:\n{told}"
        super().__init__(text)
        self.console = console
        self.doing = doing


def _strip(modules: list[Path]) -> None:
    """Makes modules what packages have: without 20 MB for debuggers, which each boot would copy."""
    if modules:
        names = [str(module) for module in modules]
        host.run(["strip", "--strip-debug", *names], what="stripping the guest's modules")


def _is_ours(source: Path) -> bool:
    """Whether a file is a module that was built here; Debian's are signed."""
    return source.suffix == ".ko" and source.is_relative_to(paths.BUILD / "kmod")


def _stage_payload(boot: Boot, folder: Path) -> Path:
    tree = folder / "tree"
    target = tree / "payload"
    target.mkdir(parents=True)
    shutil.copy(paths.LAB / "guest" / "init", target / "init")
    (target / "commands").write_text(boot.commands + "\n")
    (target / "boot.env").write_text(
        f"LAB_HEARTBEAT_S={boot.heartbeat_s}\nLAB_EXAMINE={boot.examine:d}\n"
        f"export LAB_SLOWNESS={boot.kernel.slowness}\n"
    )
    if boot.system:
        shutil.copy(paths.LAB / "guest" / "lab.service", target / "lab.service")
    ours = []
    for name, source in boot.payload.items():
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(source, str):
            place.write_text(source)
        elif source.is_dir():
            shutil.copytree(source, place, dirs_exist_ok=True)
        else:
            shutil.copy(source, place)
            if _is_ours(source):
                ours.append(place)
    _strip(ours)
    (target / "init").chmod(0o755)
    archive = folder / "payload.cpio"
    image.pack(tree, archive)
    initrd = folder / "initrd"
    with initrd.open("wb") as out:
        for part in (image.initramfs(boot.kernel), archive):
            with part.open("rb") as source:
                shutil.copyfileobj(source, out)
    return initrd


@dataclass(frozen=True)
class _Region:
    """A file that the guest sees as persistent memory at a physical address."""

    file: Path
    address: int
    size: int
    shared: bool

    def options(self) -> list[str]:
        """QEMU's options. Private mappings: the guest's writes never reach the file."""
        name = f"mem{self.address:x}"
        share = "on" if self.shared else "off"
        memory = (
            f"memory-backend-file,id={name},mem-path={self.file},size={self.size},share={share}"
        )
        return ["-object", memory, "-device", f"nvdimm,memdev={name},addr={self.address:#x}"]

    def parameter(self) -> str:
        """The kernel parameter: as such a range, unlike as an NVDIMM, it has direct access."""
        return f"memmap={self.size // host.MIB}M!{self.address // host.MIB}M"


def _regions(boot: Boot, results: Path) -> list[_Region]:
    # QEMU's q35 puts memory beyond 2 GiB above 4 GiB when it does not fit below 2.75 GiB, and
    # memory devices after it, aligned to 1 GiB.
    above = 0 if boot.given_mib < 2816 else boot.given_mib - 2048
    address = -(-(4096 + above) // 1024) * 1024 * host.MIB
    regions = []
    for file, shared in (
        (boot.system or image.root_image(boot.packages, boot.suite), boot.keeps_system),
        *((disk, False) for disk in boot.disks),
        (results, True),
    ):
        size = file.stat().st_size
        if size % image.ALIGNMENT:
            raise host.LabError(f"{file}: its size has to be a multiple of 128 MiB")
        regions.append(_Region(file, address, size, shared))
        address += size
    return regions


def _command(boot: Boot, initrd: Path, console: Path, results: Path) -> list[str]:
    regions = _regions(boot, results)
    most_mib = boot.given_mib + sum(one.size for one in regions) // host.MIB + 1024 * len(regions)
    append = (
        "console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable "
        f"random.trust_cpu=on lab.regions={len(regions)} {standstill.PARAMETERS}"
        # QEMU translates code anew for each address at which a process has it. With addresses at
        # random, a page of the C library has tens of thousands of translations after a few
        # hundred processes. When memory is short and the page serves for something else, the
        # first writes to it throw them away, each by a search of their list: a minute for one
        # page, and the guest stands still.
        "norandmaps "
        # Each process has its translations looked up anew: a tenth of what programs take to start,
        # when tables have five levels and not four.
        "no5lvl "
    )
    if boot.kernel.checked:
        # A report is long, and the first one is the one that matters. On the console it outlives
        # the guest; most reports are warnings.
        append += "log_buf_len=8M loglevel=5 "
        # A crowd of threads waits its turn for minutes there, and the host may let the guest wait.
        hung_s = STOCK_HUNG_S * boot.kernel.slowness
        append += f"sysctl.kernel.hung_task_timeout_secs={hung_s} "
    if boot.instructions_per_ns != 1:
        # QEMU counts at most one a nanosecond. The kernel takes our word for the frequency of its
        # clock, so its time passes more slowly; devices and timers go by the kernel's time.
        append += f"tsc_early_khz={boot.instructions_per_ns * 1_000_000} "
    if boot.system:
        append += "systemd.unit=lab.service systemd.getty_auto=no systemd.show_status=no "
    if not boot.counted_clock:
        # A host that is busy keeps a processor of the guest waiting, which then looks stuck: a
        # lockup is one after 120 s, not after 20, and so is a stall of RCU.
        append += "watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120 "
        # Its counter of cycles is ours. Where it measures how fast that is, and has to wait for a
        # processor meanwhile, its clock runs several times too fast ever after.
        if khz := host.tsc_khz():
            append += f"tsc_early_khz={khz} "
    append += " ".join([*(region.parameter() for region in regions), boot.append])
    command = ["qemu-system-x86_64", "-machine", "q35,nvdimm=on,memory-backend=ram", "-cpu", CPU]
    # Not reserved: a guest may have more memory than the host, as long as it does not touch it.
    command += ["-object", f"memory-backend-ram,id=ram,size={boot.given_mib}M,reserve=off"]
    command += ["-m", f"{boot.given_mib}M,slots={len(regions)},maxmem={most_mib}M"]
    command += ["-smp", str(boot.cpus), "-kernel", str(boot.kernel.image), "-initrd", str(initrd)]
    command += ["-append", append, "-seed", str(boot.seed), "-no-reboot", "-nic", "none"]
    command += ["-display", "none", "-nodefaults", "-serial", f"file:{console}"]
    if boot.counted_clock:
        command += ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"]
        command += ["-rtc", "base=2024-01-01T00:00:00,clock=vm"]
    else:
        # Rather one thread for all processors: with several, QEMU now and then executes a
        # breakpoint that the kernel has patched over already (static keys change whenever a module
        # attaches to a tracepoint), and the guest dies of it.
        threads = "multi" if boot.parallel else "single"
        command += ["-accel", f"tcg,thread={threads}", "-rtc", "base=2024-01-01T00:00:00"]
    for region in regions:
        command += region.options()
    return command


def _read(console: Path) -> str:
    if not console.exists():
        return ""
    return console.read_bytes().decode(errors="replace").replace("\r", "")


def _wait(
    process,
    boot: Boot,
    console: Path,
    monitor: standstill.Monitor,
    watch: Callable[[str], None] | None,
) -> float:
    """Waits for its end; returns the processor time that it took, to half a second."""
    deadline = time.monotonic() + boot.patience_s
    cpu_s = 0.0
    while process.poll() is None:
        # Ended by another thread, as the lab stops.
        with contextlib.suppress(OSError):
            cpu_s = host.cpu_s(process.pid)
        if time.monotonic() > deadline:
            told = _read(console)
            doing = standstill.describe(monitor, lambda: _read(console))
            host.finish(process)
            raise GuestError(
                f"the guest was killed: no end after {boot.patience_s:.0f} s of host time",
                told,
                doing,
            )
        if watch:
            watch(_read(console))
        with contextlib.suppress(host.subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
    return cpu_s


def _collect(
    boot: Boot, console: str, results: Path, folder: Path, host_s: float, cpu_s: float
) -> Outcome:
    end = END_MARK.search(console)
    if not end or "saved" not in console[end.end() :]:
        raise GuestError("the guest ended without handing over its results", console)
    start = START_MARK.search(console)
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(results) as archive:
        members = [member for member in archive if member.isfile() or member.isdir()]
        archive.extractall(folder, [m for m in members if ".." not in Path(m.name).parts])
    folder.chmod(0o755)
    if not (folder / "status").is_file():
        raise GuestError("the guest's results did not arrive", console)
    output = console[start.end() : end.start()] if start else ""
    kept = [line for line in output.splitlines() if not line.startswith("@lab ")]
    return Outcome(
        status=int(end.group(2)),
        output="\n".join(kept).strip("\n"),
        console=console,
        kernel_log=(folder / "kernel.log").read_text(errors="replace"),
        results=folder,
        virtual_s=float(end.group(1)),
        host_s=host_s,
        cpu_s=cpu_s,
    )


def run(boot: Boot, results: Path, watch: Callable[[str], None] | None = None) -> Outcome:
    """Boots, runs the commands, and returns the outcome; `results` receives the files.

    `watch` is called about twice a second with the console so far. Raises GuestError when the
    guest hangs, crashes or cannot hand over its results; nothing is left running.
    """
    work = paths.BUILD / "run"
    work.mkdir(parents=True, exist_ok=True)
    host.need_space(work, boot.results_mib + 100, "a guest's results")
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="boot.", dir=work) as name:
        folder = Path(name)
        console, shared = folder / "console", folder / "results"
        shared.touch()
        os.truncate(shared, image.round_up(boot.results_mib * host.MIB))
        command = _command(boot, _stage_payload(boot, folder), console, shared)
        with (
            (folder / "qemu.log").open("wb") as log,
            contextlib.closing(standstill.Monitor()) as monitor,
        ):
            process = host.start(
                [*command, *monitor.options()],
                stdin=host.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(monitor.descriptor,),
            )
            try:
                cpu_s = _wait(process, boot, console, monitor, watch)
            finally:
                host.finish(process)
        if process.returncode:
            raise GuestError(
                f"QEMU failed: {(folder / 'qemu.log').read_text().strip()}", _read(console)
            )
        host_s = time.monotonic() - begin
        return _collect(boot, _read(console), shared, results, host_s, cpu_s)
