# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The places of boots that run beside the tests."""

import threading

import early

LIMIT_S = 20


def test_a_place_that_was_lent_is_taken_back_at_once() -> None:
    room = early.Room(1)
    begun, ends = threading.Semaphore(0), threading.Event()

    def boot() -> None:
        with room.place():
            begun.release()
            ends.wait(LIMIT_S)

    boots = [threading.Thread(target=boot, daemon=True) for _ in range(4)]
    for one in boots:
        one.start()
    assert begun.acquire(timeout=LIMIT_S)
    assert not begun.acquire(timeout=0.1)
    with room.one_more():
        assert begun.acquire(timeout=LIMIT_S)
        assert not begun.acquire(timeout=0.1)
    # Two run and two are queued: with a plain semaphore, this line came after all of them.
    assert not begun.acquire(timeout=0.1)
    ends.set()
    for one in boots:
        one.join(LIMIT_S)
        assert not one.is_alive()
