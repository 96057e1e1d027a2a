# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Boots that run side by side, while other tests run.

Three guests run at most: two beside a test, which may have one of its own, and a third one while
the test waits for any of them.

A test marks its boot: pytest.mark.early(function, *arguments, kernel). conftest.py begins the boots
of the chosen tests in order; the tests ask for the results.
"""

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import TypeVar

from lab import image, kernel

Result = TypeVar("Result")

# A guest in virtual time keeps one processor busy. Others are idle for a fifth to half of their
# time, while the module comes and goes: two of them leave a good part of two processors free.
_BESIDE = 2
_pool = ThreadPoolExecutor(_BESIDE + 1)
_room = threading.Semaphore(_BESIDE)
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
    with _room:
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
    # Its own room is another boot's until then.
    _room.release()
    try:
        return begun.result()
    finally:
        _room.acquire()


def end() -> None:
    """Drops the calls that have not begun."""
    _ended.set()
    _pool.shutdown(wait=False, cancel_futures=True)
