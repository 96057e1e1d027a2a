# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Findings of a debug kernel's checks in one boot: reports by kind, leaks, lockdep's health."""

import re
from dataclasses import dataclass, field
from pathlib import Path

# A line counts as the first kind that it matches: special kinds come before general ones.
KINDS = {
    "KASAN": r"BUG: KASAN:",
    "sleeping in atomic": r"BUG: (sleeping function called|scheduling while atomic)",
    "RCU": r"suspicious RCU usage|rcu: INFO:|INFO: rcu_|rcu_\w+ (self-)?detected|"
    r"context switch (in|within) RCU",
    "lockdep": r"(WARNING|INFO): possible |inconsistent lock state|lock order detected|"
    r"bad (unlock balance|contention) detected|held lock freed|still has locks held|"
    r"lock held when returning|Nested lock was not taken|Invalid wait context|"
    r"trying to register non-static key|BUG: MAX_LOCK|DEBUG_LOCKS_WARN_ON|"
    r"turning off the locking correctness validator",
    "kmemleak": r"kmemleak: \d+ new suspected memory leaks",
    "soft lockup": r"BUG: (soft lockup|workqueue lockup)|hard LOCKUP",
    "hung task": r"blocked for more than",
    "UBSAN": r"UBSAN:",
    "debug objects": r"ODEBUG:",
    "I/O error": r"I/O error|critical medium error|Buffer I/O",
    "WARN": r"WARNING:",
    "BUG": r"\bBUG[: ]|Oops|general protection|Kernel panic|refcount_t:|"
    r"list_(add|del) corruption",
}
_PATTERNS = {kind: re.compile(pattern) for kind, pattern in KINDS.items()}
_LEAK = re.compile(r"^(?=unreferenced object )", re.MULTILINE)
_ALIVE = re.compile(r"^ *debug_locks: +1$", re.MULTILINE)
_FIRST = "Linux version "


@dataclass(frozen=True)
class Findings:
    """The findings of a boot.

    reports: kind -> lines of the kernel's log
    leaks: the reports of kmemleak, a text each; None when it did not scan to the end
    lockdep_alive: the first report of some kinds switches it off, and so does lack of memory
    whole_log: the log's ring buffer did not wrap
    """

    reports: dict[str, list[str]] = field(default_factory=dict)
    leaks: list[str] | None = None
    lockdep_alive: bool = False
    whole_log: bool = False

    def wrong(self, memory_runs_out: bool = False, checked: bool = True) -> list[str]:
        """Why the boot does not count as clean. Out of memory, kmemleak gives up for good.

        checked: on a debug kernel; others have neither kmemleak nor lockdep.
        """
        found = [f"{kind}: {line}" for kind, lines in self.reports.items() for line in lines]
        found += [f"leak: {' '.join(leak.split())[:300]}" for leak in self.leaks or ()]
        if checked and self.leaks is None and not memory_runs_out:
            found.append("kmemleak did not look for leaks to the end")
        if checked and not self.lockdep_alive:
            found.append("lockdep was off at the end")
        if not self.whole_log:
            found.append("the beginning of the kernel's log is missing")
        return found


def sort_out(log: str) -> dict[str, list[str]]:
    """Lines of a kernel's log that are reports, by kind."""
    reports: dict[str, list[str]] = {}
    for line in log.splitlines():
        kind = next((kind for kind, pattern in _PATTERNS.items() if pattern.search(line)), None)
        if kind:
            reports.setdefault(kind, []).append(line.strip())
    return reports


def _leaks(listed: str) -> list[str]:
    return [part for part in _LEAK.split(listed) if part]


def read(log: str, results: Path) -> Findings:
    """The findings of a boot with lab.guest.Boot.examine, of its log and its folder of results."""
    listed, stats = results / "kmemleak", results / "lockdep_stats"
    return Findings(
        reports=sort_out(log),
        leaks=_leaks(listed.read_text(errors="replace")) if listed.is_file() else None,
        lockdep_alive=stats.is_file() and bool(_ALIVE.search(stats.read_text())),
        whole_log=_FIRST in log,
    )
