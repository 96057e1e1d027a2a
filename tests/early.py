# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Boots that are made beside each other, while other tests run.

A test that wants it so is marked: pytest.mark.early(function, *arguments, kernel). conftest.py
begins what the chosen tests marked, in their order; the tests ask for the results.
"""

from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from lab import image, kernel

Result = TypeVar("Result")

# A guest in virtual time is a processor at work, the others are two that idle now and then.
_pool = ThreadPoolExecutor(2)
_begun: dict[tuple[Callable, tuple[Hashable, ...]], Future] = {}


def prepare(versions: set[str]) -> None:
    """Makes what all guests share, which is not to be made twice at once. Raises LabError."""
    image.root_image()
    for version in sorted(versions):
        image.initramfs(kernel.locate(version))


def begin(function: Callable[..., Result], *arguments: Hashable) -> None:
    """Puts it behind what was begun before; once is enough."""
    if (function, arguments) not in _begun:
        _begun[function, arguments] = _pool.submit(function, *arguments)


def result(function: Callable[..., Result], *arguments: Hashable) -> Result:
    """What the function returns: as soon as that is there, if it was begun; else by calling it."""
    begun = _begun.get((function, arguments))
    return begun.result() if begun else function(*arguments)


def end() -> None:
    """No more are begun."""
    _pool.shutdown(wait=False, cancel_futures=True)
