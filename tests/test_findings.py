# SPDX-License-Identifier: Apache-2.0 OR MIT
"""tests/debug-check finds each planted report in a log, and none in a clean one."""

from pathlib import Path

import findings
import pytest

CLEAN = """\
[    0.000000] Linux version 6.12.117-debug (gcc)
[    0.104000] rcu:     RCU lockdep checking is enabled.
[    0.113000] Running RCU self tests
[    0.530000] kmemleak: Kernel memory leak detector initialized (mem pool available: 37265)
[    3.420000] Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar
[   34.035001] fgio: loading out-of-tree module taints kernel.
[   38.071831] io scheduler fgio registered
"""
ALIVE = " lock-classes:                         1724 [max: 8192]\n debug_locks:             1\n"
OFF = " lock-classes:                         1724 [max: 8192]\n debug_locks:             0\n"
LEAK = """\
unreferenced object 0xffff888004a3c600 (size 192):
  comm "insmod", pid 211, jiffies 4294949121
  hex dump (first 32 bytes):
    6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b  kkkkkkkkkkkkkkkk
  backtrace (crc 0):
    __kmalloc_cache_noprof+0x2b7/0x360
"""


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("BUG: KASAN: slab-use-after-free in fgio_walk+0x1/0x2 [fgio]", "KASAN"),
        ("WARNING: possible circular locking dependency detected", "lockdep"),
        ("WARNING: inconsistent lock state", "lockdep"),
        ("WARNING: SOFTIRQ-safe -> SOFTIRQ-unsafe lock order detected", "lockdep"),
        ("[ BUG: Invalid wait context ]", "lockdep"),
        ("BUG: MAX_LOCKDEP_CHAINS too low!", "lockdep"),
        ("WARNING: suspicious RCU usage", "RCU"),
        ("rcu: INFO: rcu_preempt self-detected stall on CPU", "RCU"),
        ("INFO: rcu_tasks detected stalls on tasks:", "RCU"),
        ("BUG: sleeping function called from invalid context at mm/slab.h:1", "sleeping in atomic"),
        ("BUG: scheduling while atomic: fio/77/0x00000002", "sleeping in atomic"),
        ("kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)", "kmemleak"),
        ("watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [fio:77]", "soft lockup"),
        ("INFO: task fio:77 blocked for more than 120 seconds.", "hung task"),
        ("UBSAN: array-index-out-of-bounds in kmod/graph/walk.c:1:2", "UBSAN"),
        ("ODEBUG: free active (active state 0) object: 1 object type: timer_list", "debug objects"),
        ("WARNING: CPU: 0 PID: 9 at block/blk-mq.c:1 blk_mq_free_request+0x1/0x2", "WARN"),
        ("BUG: unable to handle page fault for address: ffffffffc0000000", "BUG"),
        ("kernel BUG at mm/slub.c:448!", "BUG"),
        ("BUG kmalloc-192 (Tainted: G           O      ): Poison overwritten", "BUG"),
        ("BUG: KFENCE: use-after-free read in fgio_walk+0x1/0x2 [fgio]", "BUG"),
        ("I/O error, dev sda, sector 8 op 0x1:(WRITE)", "I/O error"),
    ],
)
def test_a_planted_report_is_seen(line: str, kind: str, tmp_path: Path) -> None:
    planted = f"{CLEAN}[   99.000000] {line}\n"
    assert list(findings.sort_out(planted)) == [kind]
    assert any(kind in wrong for wrong in findings.read(planted, tmp_path).wrong())


def _boot(folder: Path, stats: str = ALIVE, leaks: str = "") -> Path:
    (folder / "lockdep_stats").write_text(stats)
    (folder / "kmemleak").write_text(leaks)
    return folder


def test_a_clean_boot_is_clean(tmp_path: Path) -> None:
    assert findings.read(CLEAN, _boot(tmp_path)).wrong() == []


def test_a_leak_is_seen(tmp_path: Path) -> None:
    found = findings.read(CLEAN, _boot(tmp_path, leaks=LEAK + LEAK))
    assert len(found.leaks) == 2
    assert "insmod" in found.wrong()[0]


def test_lockdep_switched_off_is_not_clean(tmp_path: Path) -> None:
    assert findings.read(CLEAN, _boot(tmp_path, stats=OFF)).wrong() == [
        "lockdep was off at the end"
    ]


def test_a_log_without_its_beginning_is_not_clean(tmp_path: Path) -> None:
    log = CLEAN.split("\n", 1)[1]
    assert findings.read(log, _boot(tmp_path)).wrong() == [
        "the beginning of the kernel's log is missing"
    ]


def test_no_search_for_leaks_is_excused_only_where_memory_runs_out(tmp_path: Path) -> None:
    _boot(tmp_path)
    (tmp_path / "kmemleak").unlink()
    found = findings.read(CLEAN, tmp_path)
    assert found.wrong() == ["kmemleak did not look for leaks to the end"]
    assert found.wrong(memory_runs_out=True) == []
