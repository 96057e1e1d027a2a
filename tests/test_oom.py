# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A guest with little memory, all of fgio's work on the page cache, and growth of other memory.

The control is the same guest without fgio: the same load and seed. How much anonymous memory fits
is measured there, so the programs of a guest may grow without a change here.
"""

import json
import random
from pathlib import Path

import pytest

from lab import guest as machine
from lab import kernel, paths
from lab.experiments.base import fgio_command, payload, settings
from lab.experiments.shares import disk_of_files

SCRIPT = Path(__file__).resolve().parent / "guest" / "oom.sh"
DEVICE = "ssd-m5s:link_bytes_per_s=40M"
MEMORY_MIB = 384
TMPFS_MIB = 24
# Growth in the rounds ends this much before what fitted without fgio, which itself takes 8 to 18.
FITS_LESS_MIB = 28
VALUES = {
    "DEVICE": DEVICE,
    "TMPFS_MIB": TMPFS_MIB,
    "FITS_LESS_MIB": FITS_LESS_MIB,
    "FILL_S": 5,
    "ROUNDS": 2,
}
# Two guests of one seed are not alike to the page.
FITS_LEAST_MIB = FITS_LESS_MIB + 12
# Of the longest read that requests wait for.
SLOWER = 2
SLOWER_MS = 250


def _boot(policy: str, seed: int, anon_mib: int, folder: Path) -> Path:
    """The files that a guest left; anon_mib: growth in the rounds, 0 for what fits less some."""
    chosen = kernel.locate("6.12")
    programs = fgio_command().parent
    values = VALUES | {"POLICY": policy, "SEED": seed, "ANON_MIB": anon_mib}
    taken = payload(chosen, "fgiod.sh") | {
        "bin/fgio": programs / "fgio",
        "bin/fgiod": programs / "fgiod",
        "profiles": paths.ROOT / "profiles",
        "oom.sh": SCRIPT,
        "oom.env": settings(values),
    }
    boot = machine.Boot(
        kernel=chosen,
        commands='. "$PAYLOAD/oom.env"\n. "$PAYLOAD/oom.sh"',
        payload=taken,
        disks=(disk_of_files(),),
        memory_mib=MEMORY_MIB,
        limit_s=900,
        seed=seed,
    )
    outcome = machine.run(boot, folder)
    assert outcome.status == 0, outcome.output
    assert not outcome.kernel_trouble()
    return outcome.results


@pytest.fixture(scope="module")
def seed() -> int:
    """The seed of both guests."""
    drawn = random.randrange(1, 1 << 16)
    print(f"SEED={drawn}")
    return drawn


@pytest.fixture(scope="module")
def control(seed, tmp_path_factory) -> Path:
    """The files that the guest without fgio left."""
    return _boot("none", seed, 0, tmp_path_factory.mktemp("control"))


@pytest.fixture(scope="module")
def ours(seed, control, tmp_path_factory) -> Path:
    """The files that the guest with fgio left, with the growth that the control's rounds had."""
    return _boot("fgio", seed, _fits(control) - FITS_LESS_MIB, tmp_path_factory.mktemp("ours"))


def _grown(results: Path, name: str) -> list[list[int]]:
    """Of each growth: ms between two MiB, MiB, OOM kills, its exit status, the crowd's."""
    return [[int(word) for word in line.split()] for line in (results / name).open()]


def _fits(results: Path) -> int:
    ((_, mib, *_),) = _grown(results, "fits")
    return mib


def _longest_ms(results: Path) -> float:
    text = (results / "rounds.json").read_text()
    (job,) = json.loads(text[text.index("{") :])["jobs"]
    return job["read"]["clat_ns"]["max"] / 1e6


def _events(results: Path, name: str) -> dict[str, int]:
    """Of each cgroup that has any."""
    lines = [line.split() for line in (results / "events").open()]
    return {group: int(count) for group, what, count in lines if what == name and int(count)}


def test_more_than_fits_is_killed(control, ours):
    for results in (control, ours):
        ((_, _, kills, status, _),) = _grown(results, "fits")
        assert kills >= 1 and status == 128 + 9
    print(f"anonymous memory that fits: {_fits(control)} MiB, {_fits(ours)} with fgio")
    assert _fits(ours) >= _fits(control) - FITS_LEAST_MIB


def test_nothing_is_killed_that_lives_without_fgio(control, ours):
    plain = _grown(control, "rounds")
    if any(kills for _, _, kills, _, _ in plain):
        pytest.skip(f"the guest without fgio killed as well, which tells nothing: {plain}")
    assert [line[2:] for line in plain] == [[0, 0, 0]] * VALUES["ROUNDS"], plain
    assert _grown(ours, "rounds") == plain
    for results in (control, ours):
        # Those of test_more_than_fits_is_killed alone.
        ((_, _, kills, _, _),) = _grown(results, "fits")
        assert _events(results, "oom_kill") == {"/grown/": kills}
        assert int((results / "kills").read_text()) == kills


def test_all_of_it_was_at_work(ours):
    shares = json.loads((ours / "share.json").read_text())
    assert all(disk["shared"] for disk in shares["disks"])
    assert sum(one["reclaimed"] for one in shares["page_cache"]["cgroups"]) > 16 << 20
    counters = dict(line.split() for line in (ours / "counters").open())
    assert int(counters["room_pages"]) > 0 and int(counters["room_groups"]) >= 2, counters
    assert "of page cache dropped behind" in (ours / "copy.log").read_text()


def test_reads_that_requests_wait_for_are_no_slower(control, ours):
    longest = _longest_ms(ours), _longest_ms(control)
    print(f"the longest read in ms: {longest[0]} with fgio, {longest[1]} without")
    assert longest[0] <= SLOWER * longest[1] + SLOWER_MS
