# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The package by what libfgio says of sections; whether the module is there does not matter."""

import ctypes
import os
import subprocess
import sys
import threading

import fgio
import pytest
from fgio import Class


def now() -> tuple[Class, int]:
    """Class and number of sections of the calling thread."""
    status = fgio.status()
    return status.kind, status.sections


def test_structure_is_as_long_as_in_c():
    assert ctypes.sizeof(fgio._RawStatus) == 160


def test_sections_nest_and_end():
    assert now() == (Class.UNDECIDED, 0)
    with fgio.foreground():
        with fgio.background(), fgio.request(2**64 - 1):
            assert now() == (Class.FOREGROUND, 3)
        with fgio.background():
            assert now() == (Class.BACKGROUND, 2)
        assert now() == (Class.FOREGROUND, 1)
    assert now() == (Class.UNDECIDED, 0)


def test_exception_ends_its_section():
    with pytest.raises(KeyError), fgio.foreground():
        raise KeyError
    assert now() == (Class.UNDECIDED, 0)


def test_sections_belong_to_their_thread():
    found = []
    with fgio.foreground():
        thread = threading.Thread(target=lambda: found.append(now()))
        thread.start()
        thread.join()
    assert found == [(Class.UNDECIDED, 0)]


def test_child_has_no_section():
    with fgio.foreground():
        child = os.fork()
        if not child:
            os._exit(now() != (Class.UNDECIDED, 0))
        assert os.waitpid(child, 0)[1] == 0
        assert now() == (Class.FOREGROUND, 1)


def test_module_is_there_or_not():
    if fgio.available():
        fgio.init()
        assert fgio.status().module
    else:
        with pytest.raises(OSError):
            fgio.init()
        assert fgio.status().module is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: fgio.request(-1),
        lambda: fgio.request(2**64),
        lambda: fgio.waiting_for(0),
        lambda: fgio.waiting_for(2**31),
    ],
)
def test_numbers_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError):
        wrong()


def test_missing_library_says_what_to_do():
    code = "import sys; sys.path[:0] = [sys.argv[1]]; import fgio"
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    folder = os.path.dirname(os.path.dirname(fgio.__file__))
    done = subprocess.run(
        [sys.executable, "-c", code, folder], env=environment, capture_output=True, text=True
    )
    if done.returncode == 0:
        pytest.skip("libfgio is installed on this host")
    assert "ImportError" in done.stderr and "libfgio1" in done.stderr


def test_requests_are_in_order_and_become_text():
    fgio.set_origin(9)
    first, second = fgio.Request.new(deadline_ms=250, parts=4), fgio.Request.new()
    assert first.is_before(second)
    assert not second.is_before(first)
    assert not first.is_before(first)
    assert first.id % 4096 == 9
    assert fgio.Request.find(f"SELECT 1 /* {first} {second} */") == first
    assert fgio.Request.find(f"a=b,fgio={str(second)[5:]}") == second
    assert fgio.Request.find("fgio:12") is None
    assert fgio.Request.find(f"\0{first}") is None
    assert fgio.Request(2**64 - 1).is_before(fgio.Request(1))
    second.seen()
    with fgio.request(first):
        assert now() == (Class.FOREGROUND, 1)


def test_bad_requests_are_refused():
    for bad in ((0,), (2**64,), (1, -1), (1, 2**32), (1, 0, 2**32)):
        with pytest.raises(ValueError):
            fgio.Request(*bad)
    with pytest.raises(ValueError):
        fgio.request(2**64)
    with pytest.raises(ValueError):
        fgio.set_origin(-1)
    with pytest.raises(OSError):
        fgio.set_origin(4096)


def test_text_with_other_letters_holds_no_request():
    assert fgio.Request.find("\ud800 \u00e9 fgio:\uff11") is None
