# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The experiment `backup` sets up its configurations and reads the files of a guest."""

from lab import configurations, experiments, guest
from lab.experiments import backup

MIB = 1 << 20
BEGAN = 1_000_000.0
# Of the samples that have a name: time, MiB asked for, MiB from the drive, hot pages.
MOMENTS = {
    "before": (0, 0, 0, 51200),
    "begin": (40, 400, 4, 51200),
    "end": (60, 600, 104, 25600),
    "after": (100, 1000, 144, 51200),
}


def outcome(folder) -> guest.Outcome:
    """A guest whose database loses half of its hot part; a tenth of its requests then wait."""
    lines = []
    for name, (at, asked, drive, hot) in MOMENTS.items():
        lines.append(
            f"{name} {BEGAN + at} {asked * MIB} {drive * MIB} {200 * MIB} {drive * 256} "
            f"{at * MIB} {20 * MIB} {hot}"
        )
        (folder / f"{name}.vmstat").write_text(f"pgsteal_kswapd {256 * at}\npgsteal_direct 0\n")
    (folder / "samples").write_text("\n".join(lines) + "\n")
    (folder / "moments").write_text(f"burst_begin {BEGAN + 40}\nburst_end {BEGAN + 60}\n")
    # client, transaction, latency in us, script, end in s, end in us within the second
    requests = [
        f"0 {number} {5000 if number >= 400 and number % 10 == 0 else 1000} 0 "
        f"{int(BEGAN) + number // 10} {number % 10 * 100000}"
        for number in range(1000)
    ]
    requests.append(f"0 1000 7000 1 {int(BEGAN) + 99} 0")
    (folder / "pgbench.1").write_text("\n".join(requests) + "\n")
    (folder / "backup.log").write_text(
        "fgio: 590 MiB of page cache dropped behind tar, 70 MiB at once at most\n"
    )
    (folder / "events").write_text("oom_kill 0\n")
    for name in ("before", "after"):
        (folder / f"{name}.stat").write_text(" ".join(17 * ["0"]) + "\n")
    return guest.Outcome(0, "", "", "", folder, 100, 100)


def test_reads_and_writes_of_rocksdb(tmp_path):
    given = outcome(tmp_path)
    # end in us, latency in us, whether it wrote
    lines = [f"{(BEGAN + at) * 1e6:.0f} {1000 + at} {at % 2}" for at in range(100)]
    (tmp_path / "requests").write_text("\n".join(lines) + "\n")
    chosen = configurations.BY_NAME["none"]
    (row,) = experiments.find("backup").read(given, chosen, 1, "rocksdb-short")
    windows = row.extra["windows"]
    assert [windows[name]["n"] for name in backup.WINDOWS] == [20, 10, 20]
    assert [windows[name]["writes"]["n"] for name in backup.WINDOWS] == [20, 10, 20]
    assert windows["after"]["max_ms"] == 1.098


def test_windows_before_during_and_after_the_backup(tmp_path):
    experiment = experiments.find("backup")
    chosen = configurations.BY_NAME["none"]
    (row,) = experiment.read(outcome(tmp_path), chosen, 1, "tar")
    windows = row.extra["windows"]
    assert [windows[name]["hit_ratio"] for name in backup.WINDOWS] == [0.99, 0.5, 0.9]
    assert [windows[name]["p999_ms"] for name in backup.WINDOWS] == [1, 5, 5]
    assert [windows[name]["n"] for name in backup.WINDOWS] == [400, 200, 400]
    assert [windows[name]["writes"]["n"] for name in backup.WINDOWS] == [0, 0, 1]
    assert windows["during"]["refaults"] == 100 * 256
    assert row.extra["after_over_before"] == {"hit_ratio": 0.909, "p999_ms": 5}
    assert row.extra["hot_mib"] == [200, 200, 100, 200]
    assert row.extra["reclaimed_mib"] == {"kswapd": 20, "direct": 0}
    assert row.background == {"backup_s": 20, "dropped_mib": 590}
    assert row.foreground["p999_ms"] == 5
    content = {"kernel_release": "k", "device": "d", "command": "c"}
    assert "| none | 1 | 0.9900 | 0.5000 | 0.9000 |" in experiment.markdown(content, [row])


def test_each_configuration_does_what_its_name_says():
    experiment = experiments.find("backup")
    said = {
        name: experiment._settings(configurations.BY_NAME[name], 1, "tar")
        for name in experiment.valid()
    }
    assert {name: settings["POLICY"] for name, settings in said.items()} == {
        "floor": "quiet",
        "none": "plain",
        "mq-deadline": "plain",
        "bfq": "plain",
        "backup-high": "high",
        "backup-low": "low",
        "fgio": "background",
        "backup-drop": "drop",
        "backup-drop-16": "drop16",
        "backup-drop-client": "client",
        "backup-cache": "cache",
    }
    assert {name for name, settings in said.items() if settings["LABELS"]} == {
        name for name in said if name == "fgio" or name.startswith(("backup-drop", "backup-cache"))
    }
    assert not experiment.has(configurations.BY_NAME["backup-drop-client"], "tar")
