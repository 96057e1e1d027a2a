# SPDX-License-Identifier: Apache-2.0 OR MIT
"""lab/run shares: what groups are entitled to, against cases worked out by hand; and its mixes."""

import random
from pathlib import Path

import pytest

from lab import configurations, experiments, host, kernel, share_mixes, shares
from lab.experiments.shares import ShareRow, Shares, complete, read_latency, read_seconds
from lab.share_mixes import ALONE, MIXES, PARTS, RAW_PARTS, Group, Load, Mix, group_lines, job_file
from lab.shares import Claim

# The article's drive: 500 MB/s in order, 23 MB/s by one random reader.
SEQUENTIAL, RANDOM = 500, 23


def test_the_article_s_estimate_is_the_bound():
    # "it is enough to serve it for about half of the time ... (500+23)/2, or about 260 MB/s".
    claims = [Claim(1, RANDOM), Claim(1, SEQUENTIAL)]
    assert shares.slicing(claims) == pytest.approx(261.5)
    assert shares.guarantees(claims) == pytest.approx([11.5, 250])


def test_its_weights_give_the_target_its_ten_megabytes():
    # 300 beside four of 100: 3/7 of the time; the other four have 1/7 each, of 500 MB/s.
    claims = [Claim(300, RANDOM), *[Claim(100, SEQUENTIAL)] * 4]
    due = shares.guarantees(claims)
    assert due == pytest.approx([3 / 7 * 23, *[500 / 7] * 4])
    assert due[0] == pytest.approx(9.857, abs=1e-3)
    assert shares.slicing(claims) == pytest.approx((3 * 23 + 4 * 500) / 7)


def test_a_part_that_is_not_asked_for_goes_to_the_others_by_weight():
    # The first asks for a tenth of the time and is due half of it; 0.9 are left for 1 : 2.
    claims = [Claim(3, 100, demand_mb_s=10), Claim(1, 100), Claim(2, 200)]
    assert shares.fractions(claims) == pytest.approx([0.1, 0.3, 0.6])
    assert shares.guarantees(claims) == pytest.approx([10, 30, 120])
    assert shares.slicing(claims) == pytest.approx(160)


def test_groups_that_ask_for_little_leave_the_drive_with_time_to_spare():
    claims = [Claim(1, 500, demand_mb_s=50), Claim(9, 500, demand_mb_s=50)]
    assert shares.fractions(claims) == pytest.approx([0.1, 0.1])
    assert shares.guarantees(claims) == pytest.approx([50, 50])


def test_a_demand_above_what_it_reaches_alone_is_all_it_can_get():
    assert Claim(1, 20, demand_mb_s=50).demand == 1
    assert Claim(1, 0, demand_mb_s=50).demand == 0
    assert Claim(1, 20).demand == 1


def test_three_that_are_satisfied_one_after_the_other():
    # By hand: 1 of 10 is due 0.1 and asks for 0.05; then 2/9 of 0.95 is 0.211, it asks for 0.2;
    # the last gets 0.75.
    parts = shares.max_min([0.05, 0.2, 1], [1, 2, 7], 1)
    assert parts == pytest.approx([0.05, 0.2, 0.75])


def test_max_min_against_filling_drop_by_drop():
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    for _ in range(20):
        count = chance.randint(1, 6)
        demands = [chance.choice([0, chance.random(), 1.0]) for _ in range(count)]
        weights = [chance.randint(1, 1000) for _ in range(count)]
        capacity = chance.choice([1.0, 3 * chance.random()])
        parts = shares.max_min(demands, weights, capacity)
        assert parts == pytest.approx(_filled(demands, weights, capacity), abs=2e-3)
        assert sum(parts) == pytest.approx(min(capacity, sum(demands)))


def _filled(demands: list[float], weights: list[int], capacity: float) -> list[float]:
    """The same by the definition: groups with room for more share drops by their weights."""
    parts = [0.0] * len(demands)
    drop, left = 1e-4, capacity
    while left > 1e-9:
        wanting = [one for one in range(len(demands)) if parts[one] < demands[one] - 1e-12]
        if not wanting:
            break
        whole = sum(weights[one] for one in wanting)
        for one in wanting:
            part = min(min(drop, left) * weights[one] / whole, demands[one] - parts[one])
            parts[one] += part
        left = capacity - sum(parts)
    return parts


def test_jain_s_index():
    assert shares.jain([5, 5, 5]) == pytest.approx(1)
    assert shares.jain([1, 0, 0, 0]) == pytest.approx(1 / 4)
    # (1+2+3)^2 / (3 * 14)
    assert shares.jain([1, 2, 3]) == pytest.approx(36 / 42)
    assert shares.jain([0, 0]) is None


def test_the_worst_second_is_of_the_guarantee():
    assert shares.worst(10, [12, 8, 11]) == pytest.approx(0.8)
    assert shares.worst(0, [12]) is None and shares.worst(10, []) is None


def test_a_guarantee_is_kept_to_within_a_twentieth():
    assert shares.kept([10, 20], [9.5, 30]) and not shares.kept([10, 20], [9.4, 30])


# ---- rows ----

READER, OTHER = Load("randread", direct=True), Load("read")


def _alone(load: Load, mb_s: float) -> ShareRow:
    extra = {"device": "ssd-m5s", "mix": load.name, "total_mb_s": mb_s, "latency": None}
    group = Group("only", 100, load)
    return ShareRow(ALONE, 1, {}, {}, extra, claimed={"only": group}, seconds={"only": [mb_s]})


def _mixed(config: str, target: list[float], other: list[float], seed: int = 1) -> ShareRow:
    claimed = {"target": Group("target", 300, READER), "other1": Group("other1", 100, OTHER)}
    total = sum(target) / len(target) + sum(other) / len(other)
    extra = {"device": "ssd-m5s", "mix": "one", "total_mb_s": total, "latency": None}
    seconds = {"target": target, "other1": other}
    return ShareRow(config, seed, {}, {}, extra, claimed=claimed, seconds=seconds)


def test_rows_are_compared_with_each_load_alone():
    # 3/4 of 23 and 1/4 of 500.
    rows = [_alone(READER, 23), _alone(OTHER, 500)]
    rows += [_mixed("none", [2, 4], [450, 470]), _mixed("bfq", [18, 17], [190, 210])]
    complete(rows)
    none, bfq = rows[2].as_json(), rows[3].as_json()
    assert [one["guarantee_mb_s"] for one in none["groups"]] == [17.25, 125]
    assert none["groups"][0]["worst_second"] == pytest.approx(2 / 17.25, abs=1e-4)
    assert none["groups"][0]["mb_s"] == 3 and none["groups"][0]["weight"] == 300
    assert none["slicing_mb_s"] == 142.25
    # none moved more, but not with every guarantee kept; bfq did.
    assert none["feasible_mb_s"] == bfq["feasible_mb_s"] == 217.5 and none["best_mb_s"] == 463
    # (3/300 + 460/100)^2 / (2 * the squares)
    assert none["jain"] == pytest.approx(4.61**2 / (2 * (0.01**2 + 4.6**2)), abs=1e-4)
    assert "foreground" not in none and set(none) >= {"config", "seed", "device", "mix"}


def test_rows_of_a_seed_without_its_own_figures_have_no_guarantee():
    rows = [_alone(READER, 23), _alone(OTHER, 500), _mixed("none", [3], [460], seed=2)]
    complete(rows)
    row = rows[2].as_json()
    assert row["feasible_mb_s"] is None and row["jain_slowdown"] is None
    assert [one["guarantee_mb_s"] for one in row["groups"]] == [None, None]
    assert [one["worst_second"] for one in row["groups"]] == [None, None]


def test_a_report_can_be_made_of_the_summary_alone():
    rows = complete([_alone(READER, 23), _alone(OTHER, 500), _mixed("bfq", [18], [200])])
    for row in rows:
        row.extra["cpu_idle_percent"] = 50.0
    content = {"rows": [row.as_json() for row in rows], "kernel_release": "6", "device": "ssd-m5s"}
    content |= {"command": "lab/run shares", "commit": "c" * 40}
    found = experiments.find("shares").markdown(content, Shares().rows_of(content))
    assert "## one: 142 MB/s by slicing, 218 feasible" in found
    assert "| bfq | 218 | 1 | 18 | 17.2 | 1.04 |" in found


def test_seconds_are_differences_of_what_was_sampled(tmp_path):
    file = tmp_path / "seconds"
    file.write_text("@ 1000000\na 0 0\nb 5 5\n@ 2000000\na 3000000 1000000\nb 5 5\n")
    file.write_text(file.read_text() + "@ 2500000\na 4000000 1000000\nb 1000005 5\n")
    assert read_seconds(file, ["a", "b"]) == {"a": [4.0, 2.0], "b": [0.0, 2.0]}
    file.write_text("@ 1000000\na 0 0\n")
    with pytest.raises(host.LabError, match="1 samples"):
        read_seconds(file, ["a"])


def test_latency_counts_from_50_ms_after_the_group_enters(tmp_path):
    # Entered at 2 s; ms, ns, direction, bytes, offset.
    lines = [f"{2000 + at}, {latency}, 0, 4096, 0" for at, latency in ((0, 9e6), (20, 8e6))]
    lines += [f"{2100 + at}, 1000000, 0, 4096, 0" for at in range(200)]
    (tmp_path / "critical_lat.1.log").write_text("\n".join(lines) + "\n")
    found = read_latency(tmp_path, MIXES["burst"])
    assert found["group"] == "critical" and found["n"] == 200 and found["p99_ms"] == 1.0
    assert read_latency(tmp_path, MIXES["readers-2"]) is None


# ---- mixes ----


def test_the_mixes_of_s_have_its_weights():
    for name in ("random-reader-vs-readers", "reader-vs-writers", "reader-vs-random-readers"):
        weights = [group.weight for group in MIXES[name].groups]
        assert weights == [300, 100, 100, 100, 100, 200, 200, 200, 200, 200]
        assert len(MIXES[name].active) == 5
    varied = MIXES["reader-vs-varied-writers"].active
    assert [group.load.kib for group in varied[1:]] == [4, 128, 1024, 4]
    assert [group.load.kind for group in varied[1:]] == ["randwrite"] * 3 + ["write"]
    sporadic = MIXES["reader-vs-sporadic"].active
    assert [group.demand_mb_s for group in sporadic] == [None] * 5 + [50] * 5
    assert len(MIXES["equal-readers"].active) == 8 and len(MIXES["latency"].active) == 16


def test_tenants_weigh_1_to_n():
    for count in (2, 4, 8, 16, 64, 256):
        assert [one.weight for one in MIXES[f"readers-{count}"].groups] == [*range(1, count + 1)]


def test_every_load_of_a_part_is_measured_alone():
    for part in PARTS:
        alone = {mix.name for mix in share_mixes.alone_mixes([part])}
        wanted = {
            group.load.name for mix in MIXES.values() if mix.part == part for group in mix.active
        }
        assert alone == wanted, part
    loads = {group.load for mix in MIXES.values() for group in mix.active}
    assert len({load.name for load in loads}) == len(loads)


def test_files_and_the_raw_disk_are_not_used_in_one_boot():
    for mix in MIXES.values():
        assert all(group.load.raw == (mix.part in RAW_PARTS) for group in mix.active), mix.name
        names = [group.name for group in mix.groups]
        assert len(set(names)) == len(names) and len(mix.active) in range(1, 257)


def test_a_job_enters_its_group_and_keeps_its_rate():
    text = job_file(MIXES["random-reader-vs-sporadic"], 3)
    assert "randseed=1003" in text and text.count("cgroup=sporadic") == 5
    assert text.count("rate=50000000") == 5 and "bs=10000k" in text
    burst = job_file(MIXES["burst"], 1)
    assert "startdelay=2s" in burst and "write_lat_log=critical" in burst
    assert burst.count("gtod_reduce=1") == 4


def test_limits_are_parts_of_the_drive_s_random_rate():
    lines = group_lines(MIXES["reader-vs-readers"], 160).splitlines()
    # 300 and 100 of 1,700; the article's 10 and 20 MB/s.
    assert lines[0] == "target 300 28235294 10000000 1"
    assert lines[1] == "other1 100 9411765 10000000 1"
    assert lines[-1] == "inactive5 200 18823529 20000000 0"
    # A group that enters later is not waited for.
    assert group_lines(MIXES["burst"], 160).splitlines()[0].endswith(" 0")
    least = group_lines(Mix("m", "p", (Group("a", 1, READER), Group("b", 9999, READER))), 0.1)
    assert least.splitlines()[0] == "a 1 4096 4096 1"


def test_the_loads_of_chosen_parts_are_measured_alone():
    experiment = Shares()
    experiment.choose_part("^random$")
    assert experiment.variants == ("alone-files", "random")
    names = [mix.name for mix in experiment.mixes("alone-files")]
    assert names == ["randread-4k", "read-4k"]
    assert experiment.has(configurations.BY_NAME[ALONE], "alone-files")
    assert not experiment.has(configurations.BY_NAME["none"], "alone-files")
    assert not experiment.has(configurations.BY_NAME[ALONE], "random")
    with pytest.raises(host.LabError, match="sequential"):
        experiment.choose_part("no-such")


def test_io_low_takes_a_kernel_that_has_it():
    low = configurations.BY_NAME["low-none"]
    stock = kernel.Kernel("6.12", "6.12.1", Path("/none"))
    with pytest.raises(host.LabError, match="--kernel 6.1-low"):
        Shares().boot(stock, low, 1, "sequential")
    assert "low-none" not in Shares.configurations and "low-none" in Shares().valid()


def test_a_kernel_that_was_not_built_names_its_command(tmp_path, monkeypatch):
    monkeypatch.setattr("lab.paths.CACHE", tmp_path)
    with pytest.raises(host.LabError, match="run lab/low-kernel"):
        kernel.locate(kernel.LOW)
