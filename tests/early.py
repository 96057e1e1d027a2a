# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Boots in virtual time, made beside the others: nothing that they bring depends on the host.

A module of tests names what it wants so in a function `early`, which takes the parameters of one
of its tests and returns a function and its arguments, or None. conftest.py begins those of the
tests that were chosen, one after the other; the tests ask for the results.
"""

from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from lab import image, kernel

Result = TypeVar("Result")
Work = tuple[Callable[..., Result], tuple[Hashable, ...]]

# One: each is a processor at work, and the others need one, too.
_pool = ThreadPoolExecutor(1)
_begun: dict[Work, Future] = {}


def prepare(versions: set[str]) -> None:
    """Makes what all guests share, which is not to be made twice at once. Raises LabError."""
    image.root_image()
    for version in sorted(versions):
        image.initramfs(kernel.locate(version))


def begin(work: Work) -> None:
    """Puts it behind what was begun before."""
    if work not in _begun:
        function, arguments = work
        _begun[work] = _pool.submit(function, *arguments)


def result(function: Callable[..., Result], *arguments: Hashable) -> Result:
    """What the function returns: as soon as that is there, if it was begun; else by calling it."""
    begun = _begun.get((function, arguments))
    return begun.result() if begun else function(*arguments)


def end() -> None:
    """No more are begun."""
    _pool.shutdown(wait=False, cancel_futures=True)
