# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Boots that run side by side, while other tests run.

Two guests run beside a test, which may have one of its own, and a third one begins while the test
waits for any of them.

A test marks its boot: pytest.mark.early(function, *arguments, kernel). conftest.py begins the boots
of the chosen tests in order; the tests ask for the results.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import TypeVar

from lab import image, kernel

Result = TypeVar("Result")


class Room:
    """Places of boots that run side by side."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """Has a place: waits for one that is free."""
        with self._changed:
            self._changed.wait_for(lambda: self._free > 0)
            self._free -= 1
        try:
            yield
        finally:
            self._give(1)

    @contextlib.contextmanager
    def one_more(self) -> Iterator[None]:
        """Adds a place, and takes it back at once: a boot that has it keeps it to its end.

        To wait for it would be to wait for all that are queued, as those wake first.
        """
        self._give(1)
        try:
            yield
        finally:
            self._give(-1)

    def _give(self, places: int) -> None:
        with self._changed:
            self._free += places
            self._changed.notify()


# A guest in virtual time keeps one processor busy. Others are idle for a fifth to half of their
# time, while the module comes and goes: two of them leave a good part of two processors free.
_BESIDE = 2
_pool = ThreadPoolExecutor(_BESIDE + 1)
_room = Room(_BESIDE)
_ended = threading.Event()
_begun: dict[tuple[Callable, tuple[Hashable, ...]], Future] = {}
# What each call took: s of the host, and of its processors where the result has them.
spent: dict[str, tuple[float, float | None]] = {}


def prepare(versions: set[str]) -> None:
    """Makes the images that all guests share, one at a time. Raises LabError."""
    image.root_image()
    for version in sorted(versions):
        image.initramfs(kernel.locate(version))


def _timed(function: Callable[..., Result], *arguments: Hashable) -> Result:
    begin_s = time.monotonic()
    result = function(*arguments)
    names = (getattr(one, "name", one) for one in arguments)
    spent[" ".join(map(str, (function.__name__, *names)))] = (
        time.monotonic() - begin_s,
        getattr(result, "cpu_s", None),
    )
    return result


def _in_turn(function: Callable[..., Result], *arguments: Hashable) -> Result:
    with _room.place():
        if _ended.is_set():
            raise CancelledError
        return _timed(function, *arguments)


def begin(function: Callable[..., Result], *arguments: Hashable) -> None:
    """Queues a call, which runs once."""
    if (function, arguments) not in _begun:
        _begun[function, arguments] = _pool.submit(_in_turn, function, *arguments)


def result(function: Callable[..., Result], *arguments: Hashable) -> Result:
    """The result of a call: waits for it when it was queued, else calls now."""
    begun = _begun.get((function, arguments))
    if not begun:
        return function(*arguments)
    if begun.done():
        return begun.result()
    with _room.one_more():
        return begun.result()


def end() -> None:
    """Drops the calls that have not begun."""
    _ended.set()
    _pool.shutdown(wait=False, cancel_futures=True)
