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
