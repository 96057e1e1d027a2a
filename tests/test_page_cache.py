# SPDX-License-Identifier: Apache-2.0 OR MIT
"""fgiod cache and --drop-behind in a guest, in virtual time; the control has no fgiod.

Two groups with weights of 100 and 300 read files of 384 MiB each at random, of which memory holds
about a quarter. The drive is not divided by weight, so only the page cache can tell them apart.

Memory is short in all of them, and they run hundreds of programs: without `norandmaps`
(lab/guest.py) one boot in five stood still.
"""

import json
import random
from pathlib import Path

import pytest

from lab import guest as machine
from lab import kernel
from lab.experiments.base import fgio_command, payload, settings
from lab.experiments.shares import disk_of_files

SCRIPT = Path(__file__).resolve().parent / "guest" / "page-cache.sh"
DEVICE = "ssd-m5s:link_bytes_per_s=40M"
# The drive is to fill the page cache within seconds.
MEMORY_MIB = 448
ANON_MIB = 60
TMPFS_MIB = 32
# A copy beside a working set: as docs/page-cache-shares.md has it.
DROP_MIB = 640
# Boots in which the control is to show the difference once.
BOOTS_MOST = 4
# Cgroups, and those of them that hold 5 MiB of file memory each.
MANY = 1000
HOLDING = 140
MANY_MIB = 1536
# Kills of fgiod, half of them with the disk under fgio.
ROUNDS = 12
MIB = 1 << 20
OWN_LOW = 8 * MIB
# The divided groups are within this part of their parts by weight.
BOUND = 0.15


def _boot(policy: str, folder: Path) -> Path:
    chosen = kernel.locate("6.12")
    programs = fgio_command().parent
    seed = random.randrange(1, 1 << 16)
    print(f"SEED={seed} ({policy})")
    values = {
        "POLICY": policy,
        "DEVICE": DEVICE,
        "SEED": seed,
        "ANON_MIB": ANON_MIB,
        "TMPFS_MIB": TMPFS_MIB,
        "ROUNDS": ROUNDS,
        "MANY": MANY,
        "HOLDING": HOLDING,
    }
    taken = payload(chosen) | {
        "bin/fgio": programs / "fgio",
        "bin/fgiod": programs / "fgiod",
        "page-cache.sh": SCRIPT,
        "page-cache.env": settings(values),
    }
    boot = machine.Boot(
        kernel=chosen,
        commands='. "$PAYLOAD/page-cache.env"\n. "$PAYLOAD/page-cache.sh"',
        payload=taken,
        disks=(disk_of_files(),),
        memory_mib={"drop": DROP_MIB, "many": MANY_MIB}.get(policy, MEMORY_MIB),
        limit_s=1200,
        seed=seed,
    )
    outcome = machine.run(boot, folder)
    assert outcome.status == 0, outcome.output
    assert not outcome.kernel_trouble()
    return outcome.results


@pytest.fixture(scope="module")
def divided(tmp_path_factory) -> Path:
    """The files that the guest with fgiod cache left."""
    return _boot("fgiod", tmp_path_factory.mktemp("divided"))


@pytest.fixture(scope="module")
def control(tmp_path_factory) -> Path:
    """The files that the guest without it left."""
    return _boot("none", tmp_path_factory.mktemp("control"))


@pytest.fixture(scope="module")
def many(tmp_path_factory) -> Path:
    """The files that the guest with many cgroups left."""
    return _boot("many", tmp_path_factory.mktemp("many"))


def _moments(results: Path, name: str) -> dict[str, tuple[int, int]]:
    """Bytes of the light and of the heavy group at each moment."""
    lines = (line.split() for line in (results / name).read_text().splitlines())
    return {moment: (int(light), int(heavy)) for moment, light, heavy in lines}


def _part(held: tuple[int, int]) -> float:
    """The part of both that the second group has."""
    return held[1] / sum(held)


def test_parts_follow_the_weights(divided, control):
    held = _moments(divided, "held")
    assert _part(held["divided"]) == pytest.approx(0.75, rel=BOUND), held
    assert _part(held["again"]) == pytest.approx(0.75, rel=BOUND), held
    # Without fgiod, both hold about as much: the bound tells them apart.
    plain = _moments(control, "held")["divided"]
    assert _part(plain) < 0.75 * (1 - BOUND), plain


def test_new_weights_count_within_two_seconds(divided):
    lows, held = _moments(divided, "lows"), _moments(divided, "held")
    (light, heavy), (light_after, heavy_after) = lows["old"], lows["new"]
    assert heavy > 2 * light, lows
    # Protection moves with the pages, which follow as fast as the drive brings them in.
    assert light_after > 1.5 * light and heavy_after < 0.8 * heavy, lows
    assert _part(held["changed"]) == pytest.approx(0.25, abs=0.75 * BOUND), held


def test_a_killed_one_leaves_nothing_after_restart_and_disable(divided):
    lows = _moments(divided, "lows")
    # The control: it leaves memory.low, which holds no task back, until then.
    assert lows["killed"][0] > 0 and lows["killed"][1] > OWN_LOW, lows
    assert (divided / "rounds").read_text() == f"{ROUNDS} rounds\n"
    disabled = ["disabled"] + [f"round{number}" for number in range(0, ROUNDS, 2)]
    assert [lows[moment] for moment in disabled] == [(0, OWN_LOW)] * len(disabled), lows


def test_disable_of_the_last_disk_ends_one_that_runs(divided):
    lows = _moments(divided, "lows")
    assert lows["running"][0] > 0 and lows["running"][1] > OWN_LOW, lows
    assert lows["ended"] == (0, OWN_LOW), lows
    assert "fgiod cache: ended" in (divided / "disable").read_text()


def test_bursts_of_other_memory_kill_nothing_that_lives_without_it(divided, control):
    ours, plain = ((one / "burst").read_text() for one in (divided, control))
    assert "failed" not in plain and "oom_kill 0" in plain, plain
    assert ours == plain
    # The page cache had to give way, although it was protected.
    held = _moments(divided, "held")
    assert sum(held["divided"]) - sum(held["pressed"]) > 32 * MIB, held


def test_share_list_shows_pages(divided):
    listed = json.loads((divided / "share.json").read_text())["page_cache"]["cgroups"]
    groups = {one["group"]: one for one in listed}
    light, heavy = groups["/light"], groups["/heavy"]
    assert (light["weight"], heavy["weight"]) == (300, 100)
    assert light["entitled"] > 2 * heavy["entitled"]
    assert light["held"] > MIB and heavy["held"] > MIB
    assert "`fgiod cache` does not run" in (divided / "share.text").read_text()


def _kept_without_drop_behind(folder: Path) -> float:
    """Checks that a copy takes no working set; returns what is left of it without the option."""
    held = _moments(_boot("drop", folder), "held")
    before, after = held["behind.before"][0], held["behind.after"][0]
    assert before > 120 * MIB, held
    assert after >= 0.9 * before, held
    copies = [
        (held[f"control{one}.before"][0], held[f"control{one}.after"][0]) for one in (1, 2, 3)
    ]
    return min(after / before for before, after in copies)


def test_drop_behind_keeps_the_working_set(tmp_path_factory):
    # Without it, the copy takes the working set's memory: the control. In some boots it does in
    # none of three copies, since the kernel reclaims from the copy's own cgroup alone; with some
    # builds in none of four boots. What is left with the option is judged in each; alone, it
    # tells nothing.
    kept: list[float] = []
    while len(kept) < BOOTS_MOST and min(kept, default=1) >= 0.7:
        kept.append(_kept_without_drop_behind(tmp_path_factory.mktemp("dropped")))
    if min(kept) >= 0.7:
        pytest.skip(f"without --drop-behind the kernel took nothing in {len(kept)} boots: {kept}")


def test_a_thousand_cgroups_cost_less_than_a_percent_of_a_processor(many):
    percent = {name: 100 * cpu / (1000 * us) for name, (cpu, us) in _moments(many, "cost").items()}
    print(f"fgiod cache beside {MANY} cgroups: {percent} % of a processor")
    assert percent["rest"] < 1, percent
    # The control: a bound that looks more often than the default would not keep.
    assert percent["often"] > 1.5, percent
    divided = (many / "shares").read_text().count("/many")
    assert divided == HOLDING, divided


def test_new_weights_count_soon_beside_a_thousand_cgroups(many):
    seen = {name: ms for name, (ms, _) in _moments(many, "seen").items()}
    # A scan, a step and a record of shares, each as far apart as its cost makes it.
    assert set(seen) == {"many7", "added"} and max(seen.values()) < 6000, seen
