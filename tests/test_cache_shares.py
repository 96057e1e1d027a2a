# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The experiment `cache-shares` sets up its configurations and reads the files of a guest."""

import pytest

from lab import configurations, experiments, guest
from lab.experiments import cache_shares

MIB = 1 << 20
# By a file server of 12 MB/s: a second of it for each of eight groups, weights of 100 to 800.
WEIGHTS = cache_shares.WORKLOADS["fileserver"]


def outcome(folder, begin: int, seconds: int) -> guest.Outcome:
    """A guest in which groups get their parts, but the lightest is held back at first."""
    lines = []
    for second in range(begin + seconds):
        lines.append(f"@ {second * 1000000}")
        for number, weight in enumerate(WEIGHTS):
            moved = weight * 1000 * (second if number else max(0, second - cache_shares.START[1]))
            dirty = (8 if second < begin + seconds - 1 else 2) * MIB
            lines.append(f"g{number} {weight * MIB} 0 {dirty} {weight * 2000 * second} {moved}")
    (folder / "held").write_text("\n".join(lines) + "\n")
    (folder / "before.reclaim").write_text("pgsteal_kswapd 100\npgsteal_direct 1\n")
    (folder / "after.reclaim").write_text("pgsteal_kswapd 100\npgsteal_direct 9\n")
    (folder / "events").write_text("low 0\noom_kill 0\noom_kill 1\n")
    return guest.Outcome(0, "", "", "", folder, begin + seconds, 100)


def test_figures_of_a_file_server_and_of_its_start(tmp_path):
    begin, seconds = cache_shares.WARM_S["fileserver"], cache_shares.MEASURED_S["fileserver"]
    chosen = configurations.BY_NAME["cache-bfq"]
    experiment = experiments.find("cache-shares")
    (row,) = experiment.read(outcome(tmp_path, begin, seconds), chosen, 3, "fileserver")
    found = row.extra
    assert (found["normalised"], found["pv"]) == ([1, 2, 3, 4, 5, 6, 7, 8], 0)
    assert found["mb_s"][0] == pytest.approx(WEIGHTS[0] * 1000 / 1e6)
    assert found["drive_mb_s"] == pytest.approx([weight * 2000 / 1e6 for weight in WEIGHTS])
    assert found["dirty_mib"] == [8 * [8.0], 8 * [2.0]]
    assert (found["held_mib"], found["held_pv"]) == ([float(one) for one in WEIGHTS], 0)
    # Of the lightest none: nothing can be set against it.
    assert found["start_normalised"] == 8 * [0]
    assert (found["kswapd_mb_s"], found["oom_kills"], found["fgiod_cpu_percent"]) == (0, 1, None)
    table = experiment.markdown({"device": "d"}, [row])
    assert "| fileserver | cache-bfq | 3 | " in table


def test_each_configuration_does_what_its_name_says():
    experiment = experiments.find("cache-shares")
    said = {
        name: experiment._settings(configurations.BY_NAME[name], 1, "fileserver")
        for name in (*experiment.configurations, "cache-dirty", "cache-nohits")
    }
    policies = {name: settings["POLICY"] for name, settings in said.items()}
    assert policies == {
        "cache-bfq": "none",
        "cache-direct": "none",
        "cache-low": "low",
        "cache-fgio": "fgiod",
        "cache-dirty": "fgiod",
        "cache-nohits": "fgiod",
    }
    assert [name for name, settings in said.items() if settings["DIRECT"]] == ["cache-direct"]
    assert [name for name, settings in said.items() if settings["DIRTY_BYTES"]] == ["cache-dirty"]
    assert {name for name, settings in said.items() if "shares=1" in settings["SETTINGS"]} == {
        "cache-fgio",
        "cache-dirty",
        "cache-nohits",
    }
    counting = {name for name, settings in said.items() if settings["COUNT_HITS"] == "true"}
    assert counting == set(said) - {"cache-nohits"}


def test_the_variation_is_the_mean_distance_from_the_weights():
    assert cache_shares.variation([5, 5, 20], (100, 300, 400)) == pytest.approx(2 / 3, abs=1e-3)
    assert cache_shares.variation([0, 5], (100, 300)) == 2
