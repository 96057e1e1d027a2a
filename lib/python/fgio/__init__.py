# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A program marks the work that requests wait for.

fgio, a module for stock Linux kernels, lets the disk I/O of that work overtake all other:

    with fgio.request(fgio.Request.new()):
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
    "Request",
    "Status",
    "available",
    "background",
    "foreground",
    "init",
    "request",
    "set_origin",
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


class _RawRequest(ctypes.Structure):
    """struct fgio_user_request of fgio.h."""

    _fields_ = [
        ("id", ctypes.c_uint64),
        ("deadline_ms", ctypes.c_uint32),
        ("parts", ctypes.c_uint32),
    ]


_begin_foreground = _quick.fgio_foreground_begin
_end_foreground = _quick.fgio_foreground_end
_begin_background = _quick.fgio_background_begin
_end_background = _quick.fgio_background_end
_begin_as = _quick.fgio_request_begin_as
_end_request = _quick.fgio_request_end
_new_request = _quick.fgio_request_new
_set_origin = _quick.fgio_request_origin
_seen = _quick.fgio_request_seen
_format = _quick.fgio_request_format
_parse = _quick.fgio_request_parse
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
    _begin_as,
    _end_request,
    _seen,
    _wait_done,
):
    _function.restype = None
    _function.argtypes = []
_begin_as.argtypes = [ctypes.POINTER(_RawRequest)]
_new_request.argtypes = []
_new_request.restype = ctypes.c_uint64
_set_origin.argtypes = [ctypes.c_uint32]
_seen.argtypes = [ctypes.c_uint64]
_format.argtypes = [ctypes.POINTER(_RawRequest), ctypes.c_char_p, ctypes.c_size_t]
_parse.argtypes = [ctypes.c_char_p, ctypes.POINTER(_RawRequest)]
_init.argtypes = []
_available.argtypes = []
_available.restype = ctypes.c_bool
_wait_for.argtypes = [ctypes.c_int32]
_status.argtypes = [ctypes.POINTER(_RawStatus)]

_REQUESTS = 1 << 64
_NUMBERS = 1 << 32
_HALF = 1 << 63
_TEXT_BYTES = 48


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


@dataclass(frozen=True)
class Request:
    """A request of a user, as its parts carry it; str() is its text, for a comment or an argument.

    id: of two, the one that is_before() the other arrived first; 1 to 2**64 - 1
    deadline_ms: when its user wants the answer, in ms after it arrived; 0: unknown
    parts: sub-requests that it has, on all servers together; 0: unknown

    Raises ValueError for a number that is out of range.
    """

    id: int
    deadline_ms: int = 0
    parts: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.id < _REQUESTS:
            raise ValueError(f"request {self.id}: a number from 1 to 2**64 - 1")
        for name in ("deadline_ms", "parts"):
            if not 0 <= getattr(self, name) < _NUMBERS:
                raise ValueError(f"{name} {getattr(self, name)}: a number from 0 to 2**32 - 1")

    @classmethod
    def new(cls, deadline_ms: int = 0, parts: int = 0) -> "Request":
        """A request that arrives now: for the first program that it meets, which hands it on."""
        return cls(_new_request(), deadline_ms, parts)

    @classmethod
    def find(cls, text: str) -> "Request | None":
        """The first request in a text (a query, a comment, a tracestate header), or None.

        Text behind a NUL is not looked at.
        """
        raw = _RawRequest()
        if _parse(text.encode(errors="replace"), ctypes.byref(raw)):
            return None
        return cls(raw.id, raw.deadline_ms, raw.parts)

    def is_before(self, other: "Request") -> bool:
        """Whether it arrived before another one."""
        return (self.id - other.id) % _REQUESTS >= _HALF

    def seen(self) -> None:
        """Ids made by this process from now on are later than this one of another process.

        One that is more than a second ahead of the clock is ignored.
        """
        _seen(self.id)

    def _raw(self) -> _RawRequest:
        return _RawRequest(self.id, self.deadline_ms, self.parts)

    def __str__(self) -> str:
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        _format(ctypes.byref(self._raw()), text, _TEXT_BYTES)
        return text.value.decode()


def set_origin(origin: int) -> None:
    """Tells the ids of this process from those of others, by a number below 4096; else random.

    Raises OSError when it is too large, ValueError when it is no such number at all.
    """
    if not 0 <= origin < _NUMBERS:
        raise ValueError(f"origin {origin}: a number from 0 to 4095")
    _checked(_set_origin(origin))


class request:  # noqa: N801
    """A foreground section that serves a request: a Request, or its id; 0 for none."""

    __slots__ = ("_request",)

    def __init__(self, request: "int | Request" = 0) -> None:
        if isinstance(request, Request):
            self._request = request._raw()
        elif 0 <= request < _REQUESTS:
            self._request = _RawRequest(request, 0, 0)
        else:
            raise ValueError(f"request {request}: a number from 0 to 2**64 - 1")

    def __enter__(self) -> None:
        _begin_as(self._request)

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
