# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A program marks the work that requests wait for.

fgio, a module for stock Linux kernels, lets the disk I/O of that work overtake all other:

    with fgio.request(number):
        answer()

A section belongs to the thread that began it. Sections nest, and the innermost one counts. Do not
hold one over an `await`: the thread would go on with other tasks inside the section. In a child of
os.fork() there is none.

Needs libfgio.so.1. Where the module is not loaded everything is harmless.
"""

import ctypes
import enum
import os
from dataclasses import dataclass

__all__ = [
    "Class",
    "Module",
    "Status",
    "available",
    "background",
    "foreground",
    "init",
    "request",
    "status",
    "waiting_for",
]

_LIBRARY = "libfgio.so.1"

try:
    # Calls that take nanoseconds keep Python's lock; those that may take longer release it.
    _quick = ctypes.PyDLL(_LIBRARY)
    _slow = ctypes.CDLL(_LIBRARY)
except OSError as error:
    raise ImportError(
        f"{error}: install libfgio (Debian: libfgio1; or make -C lib install, then ldconfig)"
    ) from error


class _RawStatus(ctypes.Structure):
    """struct fgio_status of fgio.h."""

    _fields_ = [
        *(
            (name, ctypes.c_uint32)
            for name in (
                "available",
                "class_",
                "sections",
                "without_calls",
                "threads",
                "threads_max",
                "queues",
                "foreground_waiting",
                "boosted",
                "watchdog_tripped",
            )
        ),
        ("version", ctypes.c_char * 32),
        ("reserved", ctypes.c_uint32 * 22),
    ]


_begin_foreground = _quick.fgio_foreground_begin
_end_foreground = _quick.fgio_foreground_end
_begin_background = _quick.fgio_background_begin
_end_background = _quick.fgio_background_end
_begin_request = _quick.fgio_request_begin
_end_request = _quick.fgio_request_end
_init = _slow.fgio_init
_wait_for = _slow.fgio_wait_for
_wait_done = _slow.fgio_wait_done
_available = _slow.fgio_available
_status = _slow.fgio_status

for _function in (
    _begin_foreground,
    _end_foreground,
    _begin_background,
    _end_background,
    _begin_request,
    _end_request,
    _wait_done,
):
    _function.restype = None
    _function.argtypes = []
_begin_request.argtypes = [ctypes.c_uint64]
_init.argtypes = []
_available.argtypes = []
_available.restype = ctypes.c_bool
_wait_for.argtypes = [ctypes.c_int32]
_status.argtypes = [ctypes.POINTER(_RawStatus)]

_REQUESTS = 1 << 64


class Class(enum.IntEnum):
    """The class of a thread's work."""

    UNDECIDED = 0
    FOREGROUND = 1
    BACKGROUND = 2


@dataclass(frozen=True)
class Module:
    """The module's figures of the whole system; see struct fgio_status in fgio.h."""

    version: str
    threads: int
    threads_max: int
    queues: int
    foreground_waiting: int
    boosted: int
    watchdog_tripped: bool


@dataclass(frozen=True)
class Status:
    """The state of fgio, and of the calling thread.

    kind: the class by the innermost section of the calling thread
    sections: number of sections that it is in
    without_calls: whether its sections take no system call
    module: None where it is not loaded
    """

    kind: Class
    sections: int
    without_calls: bool
    module: Module | None


def _checked(result: int) -> None:
    if result < 0:
        raise OSError(-result, os.strerror(-result))


def init() -> None:
    """Opens the device, which the first section does otherwise.

    Raises FileNotFoundError where the module is not loaded, PermissionError, or another OSError.
    """
    _checked(_init())


def available() -> bool:
    """Whether the module is there."""
    return _available()


class foreground:  # noqa: N801 (used as a function is)
    """A section for which a request waits."""

    __slots__ = ()

    def __enter__(self) -> None:
        _begin_foreground()

    def __exit__(self, *_: object) -> None:
        _end_foreground()


class background:  # noqa: N801
    """A section for which no request waits."""

    __slots__ = ()

    def __enter__(self) -> None:
        _begin_background()

    def __exit__(self, *_: object) -> None:
        _end_background()


class request:  # noqa: N801
    """A foreground section that serves a request; `number` below 2**64, 0 for none."""

    __slots__ = ("_number",)

    def __init__(self, number: int = 0) -> None:
        if not 0 <= number < _REQUESTS:
            raise ValueError(f"request {number}: a number from 0 to 2**64 - 1")
        self._number = number

    def __enter__(self) -> None:
        _begin_request(self._number)

    def __exit__(self, *_: object) -> None:
        _end_request()


class waiting_for:  # noqa: N801
    """Declares a wait: names the thread that the calling thread waits for meanwhile.

    `thread` is its native id (threading.get_native_id()). For locks whose owner the kernel cannot
    see. Entering raises OSError: no such thread, or one of another user; never without the module.
    """

    __slots__ = ("_thread",)

    def __init__(self, thread: int) -> None:
        if not 0 < thread < 1 << 31:
            raise ValueError(f"thread {thread}: a native thread id, above 0")
        self._thread = thread

    def __enter__(self) -> None:
        _checked(_wait_for(self._thread))

    def __exit__(self, *_: object) -> None:
        _wait_done()


def status() -> Status:
    """The state of fgio, and of the calling thread. Raises OSError for errors of the device."""
    raw = _RawStatus()
    _checked(_status(ctypes.byref(raw)))
    module = Module(
        raw.version.decode(errors="replace"),
        raw.threads,
        raw.threads_max,
        raw.queues,
        raw.foreground_waiting,
        raw.boosted,
        bool(raw.watchdog_tripped),
    )
    return Status(
        Class(raw.class_),
        raw.sections,
        bool(raw.without_calls),
        module if raw.available else None,
    )
