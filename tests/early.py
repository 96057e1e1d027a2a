# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Boots that run side by side, while other tests run.

A test marks its boot: pytest.mark.early(function, *arguments, kernel). conftest.py begins the boots
of the chosen tests in order; the tests ask for the results.
"""

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import TypeVar

from lab import image, kernel

Result = TypeVar("Result")

# A guest in virtual time keeps one processor busy, others up to two.
BESIDE_THE_TESTS = 2
_pool = ThreadPoolExecutor(BESIDE_THE_TESTS + 1)
_begun: dict[tuple[Callable, tuple[Hashable, ...]], Future] = {}
# Guards what follows, and is notified of its changes.
_changed = threading.Condition()
_booting = 0
_waiting = 0
_ended = False


def prepare(versions: set[str]) -> None:
    """Makes the images that all guests share, one at a time. Raises LabError."""
    image.root_image()
    for version in sorted(versions):
        image.initramfs(kernel.locate(version))


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
    _count(waiting=1)
    try:
        return begun.result()
    finally:
        _count(waiting=-1)


def end() -> None:
    """Drops the calls that have not begun."""
    global _ended
    _pool.shutdown(wait=False, cancel_futures=True)
    with _changed:
        _ended = True
        _changed.notify_all()


def _in_turn(function: Callable[..., Result], *arguments: Hashable) -> Result:
    """Calls when there is room: a test that waits for a boot leaves its room to one more."""
    with _changed:
        _changed.wait_for(lambda: _ended or _booting < BESIDE_THE_TESTS + _waiting)
        if _ended:
            raise CancelledError
        _count(booting=1)
    try:
        return function(*arguments)
    finally:
        _count(booting=-1)


def _count(booting: int = 0, waiting: int = 0) -> None:
    global _booting, _waiting
    with _changed:
        _booting += booting
        _waiting += waiting
        _changed.notify_all()
