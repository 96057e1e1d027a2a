# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The module on stock kernels: every check of every batch, and the kernel's log after each.

FGIO_KERNELS chooses kernels ("6.12,6.1" by default) and FGIO_CHECKS, a regular expression, single
checks. A run draws half of the batches for the second kernel (drawn.py); the others boot on the
first. With a choice, all boot on each, but on further kernels without the checks that are marked
"one kernel" in tests/guest/. With FGIO_EVERY=1, each runs all.
FGIO_WIDE=1 adds a guest of 16 processors. The results of a batch are in
build/scenarios/BATCH-KERNEL/.
"""

import os
from collections.abc import Sequence

import drawn
import early
import pytest
import scenario
from scenario import Batch

from lab.experiments.base import fgio_command

KERNELS = os.environ.get("FGIO_KERNELS", "6.12,6.1").split(",")
# What a disk says that is taken away.
GONE = {"^a_scsi_disk_goes_under_load$": "I/O error, dev sd"}
# A guest of 16 processors: on a busy host, RCU stalls there as it boots.
WIDE = Batch("wide", ("queue_changes",), cpus=16, append="slub_debug=FPZ", expected=GONE)
BATCHES = (
    Batch("interface", ("classes", "device", "tunables", "flush"), test_modules=True),
    Batch("requests", ("requests", "split", "stress")),
    Batch("queues", ("queues", "queue_changes"), cpus=4, append="slub_debug=FPZ", expected=GONE),
    # With a counted clock, 6.1 does not come up on several processors.
    Batch(
        "busy-queue",
        ("busy_queue",),
        cpus=4,
        counted_clock=True,
        limit_s=900,
        kernels=("6.12",),
    ),
    Batch("by-id", ("by_id", "stacked"), cpus=4, append="slub_debug=FPZ"),
    Batch("looks", ("looks",), cpus=4, append="slub_debug=FPZ"),
    Batch("fuse", ("fuse", "events"), cpus=4, append="slub_debug=FPZ"),
    Batch("loop", ("loop",), cpus=4, append="slub_debug=FPZ"),
    Batch("request-order", ("request_order",), cpus=1, counted_clock=True),
    Batch("shares", ("shares",), append="slub_debug=FPZ"),
    Batch("share-list", ("share_list",), append="slub_debug=FPZ"),
    Batch(
        "share-change",
        ("share_change",),
        cpus=1,
        counted_clock=True,
        files=lambda: {"bin/fgio": fgio_command()},
    ),
    Batch("weights", ("weights",), cpus=1, counted_clock=True),
    Batch("room", ("room",), cpus=1, counted_clock=True),
    *((WIDE,) * ("FGIO_WIDE" in os.environ)),
    Batch(
        "trouble",
        ("trouble",),
        memory_mib=448,
        disk_mib=1024,
        expected={"^timeouts_and_medium_errors$": "I/O error|critical medium error"},
    ),
    Batch("timing", ("timing", "gate"), cpus=1, counted_clock=True),
    Batch("precision", ("precision",), cpus=1, counted_clock=True),
    Batch("abuse", ("abuse",), memory_mib=2048, test_modules=True),
    Batch("reasons", ("reasons",), cpus=1, counted_clock=True, test_modules=True),
    Batch(
        "hooks",
        ("hooks", "layers", "promotion"),
        cpus=4,
        test_modules=True,
        append="slub_debug=FPZ",
    ),
)
GOOD = "ok"


def boots(batches: tuple[Batch, ...], kernels: Sequence[str]) -> list[tuple[Batch, str]]:
    """Which batch may boot on which kernel."""
    chosen = [
        (batch if drawn.EVERY or version == kernels[0] else batch.again(), version)
        for version in kernels
        for batch in batches
        if version in (batch.kernels or kernels)
    ]
    return [(batch, version) for batch, version in chosen if batch.checks()]


def drawn_boots(batches: tuple[Batch, ...], kernels: Sequence[str]) -> list[tuple[Batch, str]]:
    """Those that boot in this run: each on the first kernel or on the second, as is drawn."""
    if drawn.ALL or len(kernels) == 1:
        return boots(batches, kernels)
    first, second = kernels
    either = [batch.name for batch in batches if not batch.kernels]
    what = f"on {second} instead of {first}, of {either[0]} and {len(either) - 1} more batches"
    moved = drawn.half(what, either, everything=False)
    return [
        (batch, batch.kernels[0] if batch.kernels else second if batch.name in moved else first)
        for batch in batches
    ]


def each_check(batches: tuple[Batch, ...], kernels: Sequence[str] = KERNELS) -> list:
    """A parameter set for each kernel and check, and for the kernel's log after them."""
    return [
        pytest.param(
            batch,
            version,
            check,
            id=f"{version}-{batch.name}-{check}",
            marks=pytest.mark.early(scenario.report, batch, version),
        )
        for batch, version in drawn_boots(batches, kernels)
        for check in (*batch.checks(), "kernel_log")
    ]


def judge(batch: Batch, version: str, check: str) -> None:
    """Passes, skips or fails as the check did in the batch's boot."""
    report = early.result(scenario.report, batch, version)
    if check == "kernel_log":
        assert not report.died, report.died
        assert not scenario.trouble(batch, report.kernel_log)
        return
    verdict = report.verdicts.get(check)
    if verdict is None:
        if scenario.ONLY and not report.died:
            pytest.skip("FGIO_CHECKS leaves it out")
        pytest.fail(f"the guest did not get to it: {report.died or report.output[-2000:]}")
    if verdict.status == "skipped":
        pytest.skip(verdict.log.strip().splitlines()[-1])
    if verdict.status != GOOD:
        pytest.fail(f"{verdict.status} after {verdict.seconds} s\n{verdict.log}{report.died}")


@pytest.mark.parametrize(("batch", "version", "check"), each_check(BATCHES))
def test_scenario(batch: Batch, version: str, check: str) -> None:
    judge(batch, version, check)


def test_checks_for_which_one_kernel_is_enough_run_on_the_first() -> None:
    batch = Batch("weights", ("weights",))
    (first, _), (second, _) = boots((batch,), ("6.12", "6.1"))
    assert "weights_divide_a_drive" in first.checks()
    assert second.checks() and set(second.checks()) < set(first.checks())
    # A batch of such checks alone does not boot again.
    change = Batch("share-change", ("share_change",))
    assert boots((change,), ("6.12", "6.1")) == [(change, "6.12")]


def test_a_run_boots_each_batch_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "ALL", False)
    boots_of_run = drawn_boots(BATCHES, ("6.12", "6.1"))
    assert [batch for batch, _ in boots_of_run] == list(BATCHES)
    assert {version for _, version in boots_of_run} == {"6.12", "6.1"}
    assert all(version in (batch.kernels or [version]) for batch, version in boots_of_run)


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("[  7.1] WARNING: CPU: 0 PID: 9 at block/blk-mq.c:1 blk_mq_free_request", True),
        ("[  7.1] INFO: task fio:77 blocked for more than 120 seconds.", True),
        ("[  7.1] BUG: kernel NULL pointer dereference, address: 0000000000000008", True),
        ("[  7.1] I/O error, dev sda, sector 8 op 0x1:(WRITE)", True),
        ("[  7.1] fgio: loading out-of-tree module taints kernel.", False),
    ],
)
def test_trouble_in_a_kernel_log(line: str, seen: bool) -> None:
    assert bool(scenario.trouble(Batch("none", ()), line)) is seen


def test_a_message_is_expected_in_its_check_alone() -> None:
    batch = Batch("none", (), expected={"^disk_goes$": "I/O error"})
    error = "[  7.1] I/O error, dev sda, sector 8 op 0x1:(WRITE)"
    log = f"[  7.0] scenario: disk_goes\n{error}\n[  8.0] scenario: disk_stays\n"
    assert not scenario.trouble(batch, log)
    assert scenario.trouble(batch, f"{log}{error}\n") == [error]
