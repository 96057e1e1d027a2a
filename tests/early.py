# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Boots that run side by side, while other tests run.

A test marks its boot: pytest.mark.early(function, *arguments, kernel). conftest.py begins the boots
of the chosen tests in order; the tests ask for the results.
"""

import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from lab import image, kernel

Result = TypeVar("Result")

# A guest in virtual time keeps one processor busy, others up to two.
_pool = ThreadPoolExecutor(2)
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


def begin(function: Callable[..., Result], *arguments: Hashable) -> None:
    """Queues a call, which runs once."""
    if (function, arguments) not in _begun:
        _begun[function, arguments] = _pool.submit(_timed, function, *arguments)


def result(function: Callable[..., Result], *arguments: Hashable) -> Result:
    """The result of a call: waits for it when it was queued, else calls now."""
    begun = _begun.get((function, arguments))
    return begun.result() if begun else function(*arguments)


def end() -> None:
    """Drops the calls that have not begun."""
    _pool.shutdown(wait=False, cancel_futures=True)
