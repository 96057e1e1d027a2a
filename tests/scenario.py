# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Scenarios: batches of checks that share one boot of a stock kernel.

The functions named check_* of the shell scripts in tests/guest/ are the checks. A guest runs those
of a batch one after the other, each within a time limit, and reports how each ended. A batch is
booted once per session and kernel, when the first of its tests asks for it.
"""

import atexit
import functools
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab import guest, host, image, kernel, paths

HERE = Path(__file__).resolve().parent
GUEST = HERE / "guest"
LIBRARY = paths.ROOT / "lib"
ONLY = os.environ.get("FGIO_CHECKS", "")
CHECK = re.compile(r"^check_(\w+)\(\)", re.MULTILINE)
# In the comment in front of a check, a reason why one kernel is enough: see CONTRIBUTING.md.
ONE_KERNEL = re.compile(r"^# one kernel: \S.*\n(?:#.*\n)*check_(\w+)\(\)", re.MULTILINE)
SAID = re.compile(r"^@check (\w+) (begin|ok|FAILED|skipped|HUNG)(?: ([0-9.]+))?$", re.MULTILINE)
EXTRA_MODULES = (
    "loop",
    "dm-crypt",
    "dm-delay",
    "dm-multipath",
    "dm-round-robin",
    "raid1",
    "raid456",
    "btrfs",
    "dm-snapshot",
    "fuse",
    "overlay",
    "configfs",
    "null_blk",
    "scsi_debug",
)
# A healthy run has none of these in the kernel's log. A batch that removes disks expects some.
TROUBLE = re.compile(
    guest.KERNEL_TROUBLE.pattern + r"|rcu_preempt detected|KASAN|possible circular|"
    r"inconsistent lock state|scheduling while atomic|sleeping function called"
)

# Instructions a nanosecond of virtual time on a debug kernel, whose checks are instructions, too.
DEBUG_SPEED = 4

# The kernel's own tests of its ciphers: half a second of a boot of 6.1, and as long for dm-crypt.
QUICK = "cryptomgr.notests"

# What tests/guest/run_checks.sh writes to the kernel's log as a check begins.
BEGUN = re.compile(r"scenario: (\w+)$")

# Batches boot side by side, but build what they need one at a time.
_preparing = threading.Lock()


@dataclass(frozen=True)
class Batch:
    """Scripts in tests/guest/ and the guest that they need.

    append: to the kernel's command line
    test_modules: whether the modules of tests/kmod are in $PAYLOAD/modules, too
    expected: kernel messages that checks cause on purpose; pattern of a check's name -> of messages
    files: builds further files that the checks need; guest name -> file
    images: makes disks that are not empty; they come before the empty one
    suite: the Debian release of the guest
    kernels: those that it boots on; none: all
    without: names of checks that are left out
    """

    name: str
    scripts: tuple[str, ...]
    cpus: int = 2
    memory_mib: int = 1024
    disk_mib: int = 0
    counted_clock: bool = False
    limit_s: float = 3600
    append: str = ""
    test_modules: bool = False
    expected: Mapping[str, str] = field(default_factory=dict, hash=False)
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    files: Callable[[], Mapping[str, Path]] = dict
    images: Callable[[], tuple[Path, ...]] = tuple
    suite: str = image.SUITE
    kernels: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def _found(self, pattern: re.Pattern) -> list[str]:
        files = [GUEST / f"{script}.sh" for script in self.scripts]
        return [name for file in files for name in pattern.findall(file.read_text())]

    def checks(self) -> list[str]:
        """Names of the checks, in the order in which they run."""
        return [name for name in self._found(CHECK) if name not in self.without]

    def again(self) -> "Batch":
        """The batch as it runs on further kernels: without checks for which one is enough."""
        return replace(self, without=(*self.without, *self._found(ONE_KERNEL)))


def anything(seconds: int, seed: int, limit_s: float) -> Batch:
    """Random events for the module, drawn from the seed, for some seconds of the guest."""
    return Batch(
        "random",
        ("random",),
        cpus=4,
        append="slub_debug=FPZ",
        limit_s=limit_s,
        environment={"RANDOM_SECONDS": str(seconds), "RANDOM_SEED": str(seed)},
    )


@dataclass(frozen=True)
class Verdict:
    """How a check ended: ok, FAILED, skipped, HUNG, or begin when the guest never came back."""

    status: str
    seconds: float
    log: str


@dataclass(frozen=True)
class Report:
    """The results of a boot of a batch.

    cpu_s: what the guest took of the host's processors
    died: why the guest did not run to its end, or empty
    """

    verdicts: Mapping[str, Verdict]
    kernel_log: str
    results: Path
    output: str
    cpu_s: float = 0
    died: str = ""


@functools.cache
def programs() -> dict[str, Path]:
    """Builds the programs in tests/guest/*.c, once for this process; guest name -> file."""
    folder = Path(tempfile.mkdtemp(prefix="fgio-programs."))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    built: dict[str, Path] = {}
    for source in sorted(GUEST.glob("*.c")):
        target = folder / source.stem
        command = ["gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-static", "-pthread"]
        command += [f"-I{paths.ROOT}", "-o", str(target), str(source)]
        if '"lib/include/fgio.h"' in source.read_text():
            command += [f"-I{LIBRARY}", *map(str, sorted(LIBRARY.glob("*.c")))]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
        except FileNotFoundError as error:
            raise host.LabError("gcc is not installed: apt-get install gcc libc6-dev") from error
        except subprocess.CalledProcessError as error:
            raise host.LabError(f"{source} does not compile:\n{error.stderr}") from error
        built[f"tests/bin/{source.stem}"] = target
    return built


def payload(chosen: kernel.Kernel, folder: Path) -> dict[str, Path | str]:
    """The files of $PAYLOAD: the modules, the scripts, the programs of tests/guest."""
    content: dict[str, Path | str] = {}
    for name in paths.MODULES:
        module = paths.modules_folder(chosen.release) / name
        if not module.is_file():
            raise host.LabError(f"{module} is missing: run make -C kmod KERNEL={chosen.version}")
        content[f"modules/{name}"] = module
    for script in GUEST.glob("*.sh"):
        content[f"tests/{script.name}"] = script
    content.update(programs())
    extra = folder / "extra"
    order = kernel.unpack_modules(chosen, EXTRA_MODULES, extra)
    content["tests/extra"] = extra
    content["tests/extra.order"] = "\n".join(order) + "\n"
    return content


def _test_modules(batch: Batch, chosen: kernel.Kernel) -> dict[str, Path]:
    if not batch.test_modules:
        return {}
    # It needs packages of the lab's own Python; most batches do not.
    from lab.experiments import scenarios

    folder = scenarios.test_module(chosen).parent
    names = ("fgio_test", "fgio_stretch", "fgio_unhook")
    return {f"modules/{name}.ko": folder / f"{name}.ko" for name in names}


def results_folder(name: str, version: str) -> Path:
    """The folder of the last run of a batch, emptied: its results stay for debugging."""
    folder = paths.BUILD / "scenarios" / f"{name}-{version}"
    if folder.exists():
        shutil.rmtree(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder


def _verdicts(text: str, results: Path | None) -> dict[str, Verdict]:
    found: dict[str, Verdict] = {}
    for name, status, seconds in SAID.findall(text):
        log = ""
        if results and (results / "checks" / f"{name}.log").is_file():
            log = (results / "checks" / f"{name}.log").read_text(errors="replace")
        found[name] = Verdict(status, float(seconds or 0), log)
    return found


def boot(
    batch: Batch,
    version: str,
    only: str = "",
    watch: Callable[[str], None] | None = None,
) -> Report:
    """Boots a batch and returns its results; `only` is a pattern for names of checks.

    `watch` is called about twice a second with the console so far.
    """
    chosen = kernel.locate(version)
    with tempfile.TemporaryDirectory(prefix="fgio-scenario.") as name:
        scratch = Path(name)
        with _preparing:
            disks = [*batch.images()]
            content = {
                **payload(chosen, scratch),
                **batch.files(),
                **_test_modules(batch, chosen),
            }
        if batch.disk_mib:
            disk = scratch / "disk"
            disk.touch()
            os.truncate(disk, image.round_up(batch.disk_mib * host.MIB))
            disks.append(disk)
        exports = {"ONLY": only, "WITHOUT": " ".join(batch.without), "KERNEL_VERSION": version}
        exports |= batch.environment
        lines = [f"export {key}='{value}'" for key, value in exports.items()]
        lines.append(f"bash $PAYLOAD/tests/run_checks.sh {' '.join(batch.scripts)}")
        plan = guest.Boot(
            kernel=chosen,
            commands="\n".join(lines),
            payload=content,
            disks=tuple(disks),
            suite=batch.suite,
            cpus=batch.cpus,
            memory_mib=batch.memory_mib,
            counted_clock=batch.counted_clock,
            instructions_per_ns=DEBUG_SPEED if chosen.checked and batch.counted_clock else 1,
            limit_s=batch.limit_s,
            append=f"{QUICK} {batch.append}",
            heartbeat_s=0,
            examine=chosen.checked,
        )
        folder = results_folder(batch.name, version)
        try:
            outcome = guest.run(plan, folder, watch)
        except guest.GuestError as error:
            return Report(
                _verdicts(error.console, None),
                error.console,
                folder,
                error.console,
                died=str(error),
            )
        said = folder / "said"
        text = said.read_text() if said.is_file() else outcome.output
        return Report(
            _verdicts(text, folder), outcome.kernel_log, folder, outcome.output, outcome.cpu_s
        )


@functools.cache
def report(batch: Batch, version: str) -> Report:
    """The one boot of a batch in this session (FGIO_CHECKS: run matching checks alone)."""
    try:
        return boot(batch, version, ONLY)
    except host.LabError as error:
        return Report({}, "", paths.BUILD, "", died=str(error))


def unexpected(batch: Batch, log: str) -> str:
    """A kernel's log without the messages that each check of the batch causes on purpose."""
    kept, check = [], ""
    for line in log.splitlines():
        if begun := BEGUN.search(line):
            check = begun[1]
        if not any(
            re.search(name, check) and re.search(message, line)
            for name, message in batch.expected.items()
        ):
            kept.append(line)
    return "\n".join(kept)


def trouble(batch: Batch, log: str) -> list[str]:
    """Lines of the kernel's log that the batch did not cause on purpose."""
    return [line for line in unexpected(batch, log).splitlines() if TROUBLE.search(line)]
