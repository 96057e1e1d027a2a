# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The host: processes that never outlive the lab, disk space, files that appear whole."""

import atexit
import contextlib
import ctypes
import functools
import mmap
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

MIB = 1 << 20
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_children: set[subprocess.Popen] = set()
_children_lock = threading.Lock()
_stopping = threading.Event()


class LabError(Exception):
    """Something the user can put right; the message says how."""


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def start(command: Sequence[str], **options) -> subprocess.Popen:
    """Starts a process in its own group that ends when this one does, however this one ends.

    The kernel ties the end to the calling *thread*: it has to outlive the process.
    Raises LabError when the program is not installed.
    """
    try:
        with _children_lock:
            if _stopping.is_set():
                raise LabError("the lab is stopping")
            process = subprocess.Popen(
                list(command), start_new_session=True, preexec_fn=_die_with_parent, **options
            )
            _children.add(process)
    except FileNotFoundError as error:
        raise LabError(f"{command[0]} is not installed: run lab/setup") from error
    return process


def finish(process: subprocess.Popen) -> None:
    """Ends a process of start() with its whole group and reaps it."""
    # The group can outlive its leader, so it is signalled even when the leader is gone.
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    except PermissionError:
        # A command under sudo: sudo passes the signal on and ends with its command.
        group = f"-{process.pid}"
        subprocess.run(["sudo", "-n", "kill", "-TERM", "--", group], check=False)
    process.wait()
    with _children_lock:
        _children.discard(process)


def cpu_s(pid: int) -> float:
    """The processor time that a process of start() has taken, as long as it is not reaped."""
    # The fields after its name, which is in parentheses and may have spaces.
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# rdtsc; shl rdx, 32; or rax, rdx; ret
_READ_CYCLES = b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3"


def _read_both(read_cycles: Callable[[], int]) -> tuple[int, int]:
    """The time in ns and the counter of cycles, of the reading that was interrupted least."""
    readings = []
    for _ in range(1000):
        begin_ns, cycles, end_ns = time.monotonic_ns(), read_cycles(), time.monotonic_ns()
        readings.append((end_ns - begin_ns, begin_ns, cycles))
    _, ns, cycles = min(readings)
    return ns, cycles


@functools.cache
def tsc_khz() -> int:
    """How fast the processors' counter of cycles is.

    0 where it is not known: they are not x86, or this process may run no code of its own.
    """
    if platform.machine() != "x86_64":
        return 0
    try:
        code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return 0
    code.write(_READ_CYCLES)
    # Keeps the mapping.
    place = ctypes.c_char.from_buffer(code)
    read_cycles = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(place))
    begin_ns, begin = _read_both(read_cycles)
    time.sleep(0.1)
    end_ns, end = _read_both(read_cycles)
    return round((end - begin) * 1_000_000 / (end_ns - begin_ns))


def finish_all() -> None:
    """Ends every process of start() and lets no further one begin."""
    _stopping.set()
    with _children_lock:
        left = list(_children)
    for process in left:
        finish(process)


atexit.register(finish_all)


def end_on_signals() -> None:
    """Makes SIGTERM and SIGHUP end the program as Ctrl-C does, so that everything is cleaned up."""

    def stop(number, _frame):
        raise KeyboardInterrupt(signal.Signals(number).name)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGHUP, stop)


def run(command: Sequence[str], *, what: str, limit_s: float = 1800, **options) -> str:
    """Runs a command to its end and returns its standard output.

    Raises LabError, which begins with `what` and ends with the tail of the command's
    standard error, when it fails or takes longer than `limit_s` host seconds.
    """
    process = start(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **options
    )
    try:
        out, err = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired as error:
        raise LabError(f"{what}: no end after {limit_s:.0f} s: {shlex.join(command)}") from error
    finally:
        finish(process)
    if process.returncode:
        tail = "\n".join(err.decode(errors="replace").splitlines()[-15:])
        raise LabError(
            f"{what}: exit status {process.returncode} from {shlex.join(command)}\n{tail}"
        )
    return out.decode(errors="replace")


def need_space(folder: Path, mib: int, what: str) -> None:
    """Raises LabError unless `mib` MiB are free where `folder` is (or is going to be)."""
    existing = folder
    while not existing.exists():
        existing = existing.parent
    free = shutil.disk_usage(existing).free // MIB
    if free < mib:
        raise LabError(
            f"{what} needs {mib} MiB in {folder}, and only {free} MiB are free there.\n"
            "Make room, or set FGIO_CACHE to a folder on a larger disk."
        )


@contextlib.contextmanager
def whole(target: Path) -> Iterator[Path]:
    """A path beside `target` to build on; becomes `target` at the end, vanishes on an error."""
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield aside / target.name
        remove(target)
        (aside / target.name).rename(target)
    finally:
        remove(aside)


def remove(path: Path) -> None:
    """Removes a file or a tree, with any permissions inside; nothing happens if absent."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def tell(message: str) -> None:
    """A line on standard error, apart from results."""
    print(message, file=sys.stderr, flush=True)
