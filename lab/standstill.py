# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a guest does that does not come to its end.

QEMU's monitor is asked from outside, so this works while no program of the guest runs: where its
processors are, twice, to tell a loop from a processor that waits, and how much code QEMU has
translated; then the kernel's own account by the system request key: memory, processors, and tasks
that wait uninterruptibly; at last an NMI. It makes a kernel that takes no interrupts any more say
where it is, and ends it. Two places that are close to each other inside of one instruction that
repeats say that the emulator is slow there, not the guest.
"""

import contextlib
import re
import socket
import time
from collections.abc import Callable

# All messages to the console; memory; processors; blocked tasks.
KEYS = ("9", "m", "l", "w")
# The keys are obeyed whatever the kernel's default is, and an NMI shows where a processor is.
PARAMETERS = "sysrq_always_enabled unknown_nmi_panic "
# Host seconds that QEMU or the guest has for one answer, and between two looks.
ANSWER_S = 3
LOOK_S = 0.3
# Characters that are kept of the answers by keys, and of that to the NMI.
KEPT = 16_000
_POINTER = re.compile(r"\b[RE]IP=([0-9a-f]+)")
_TRANSLATIONS = re.compile(r"^TB count +(\d+)", re.MULTILINE)


class Monitor:
    """QEMU's monitor, over a pair of sockets made before QEMU starts."""

    def __init__(self):
        self._ours, self._theirs = socket.socketpair()
        self._ours.settimeout(LOOK_S)

    @property
    def descriptor(self) -> int:
        """The file descriptor that QEMU is to inherit."""
        return self._theirs.fileno()

    def options(self) -> list[str]:
        """QEMU's options."""
        chardev = f"socket,id=monitor,fd={self.descriptor}"
        return ["-chardev", chardev, "-mon", "chardev=monitor,mode=readline"]

    def ask(self, command: str) -> str:
        """The answer to a command; empty where QEMU itself does not answer within ANSWER_S."""
        heard = ""
        with contextlib.suppress(OSError):
            self._ours.sendall(command.encode() + b"\n")
            deadline = time.monotonic() + ANSWER_S
            while time.monotonic() < deadline:
                try:
                    some = self._ours.recv(1 << 16)
                except TimeoutError:
                    if heard:
                        break
                    continue
                if not some:
                    break
                heard += some.decode(errors="replace")
        return heard

    def close(self) -> None:
        """Ends it."""
        self._ours.close()
        self._theirs.close()


def _processors(monitor: Monitor) -> str:
    places = _POINTER.findall(monitor.ask("info registers -a"))
    if not places:
        return "QEMU does not answer: it stands still itself"
    return "processors at " + ", ".join(places)


def _translations(monitor: Monitor) -> str:
    found = _TRANSLATIONS.search(monitor.ask("info jit"))
    return f"translations: {found[1]}" if found else "translations: not known"


def _settled(read: Callable[[], str]) -> str:
    """The console, once it has not grown for LOOK_S, or after ANSWER_S."""
    deadline = time.monotonic() + ANSWER_S
    text = read()
    while time.monotonic() < deadline:
        time.sleep(LOOK_S)
        before, text = text, read()
        if len(text) == len(before):
            break
    return text


def describe(monitor: Monitor, console: Callable[[], str]) -> str:
    """What the guest does now, in lines for people. Takes 40 s at most, and ends the guest.

    console: returns its console so far
    """
    known = len(console())
    # The first words are the monitor's greeting.
    monitor.ask("")
    lines = [_processors(monitor), _processors(monitor), _translations(monitor)]
    for key in KEYS:
        monitor.ask(f"sendkey alt-sysrq-{key}")
        _settled(console)
    heard = console()[known:]
    monitor.ask("nmi")
    last = _settled(console)[known + len(heard) :]
    return "\n".join([*lines, heard[-KEPT:] + last[:KEPT]])
