# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The lab itself: its figures, its messages, and that it cleans up."""

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from lab import (
    configurations,
    experiments,
    figures,
    fio,
    fleet,
    host,
    kernel,
    paper,
    paths,
    replay,
    report,
    summary,
)
from lab import guest as machine
from lab.experiments import sharded, sharded_spider
from lab.experiments.base import Row
from lab.experiments.counted import Count
from lab.figures import Requests

RUN = paths.LAB / "run"
BOOT = paths.LAB / "boot"
USAGE = 2
GUEST_FAILED = 125
INTERRUPTED = 130


def call(*command: object, limit_s: float = 200, **environment: str) -> subprocess.CompletedProcess:
    """Runs one of the lab's commands to its end."""
    return subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=limit_s,
    )


def guests_of(folder: Path) -> list[int]:
    """Process ids of the QEMUs that use files below a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if b"qemu-system" in line and str(folder).encode() in line:
            found.append(int(entry.name))
    return found


def separate_build(folder: Path) -> dict[str, str]:
    """An environment with a build folder of its own, so that only its own guests are seen."""
    (folder / "build").mkdir()
    for name in ("venv", "kmod"):
        if (paths.BUILD / name).exists():
            (folder / "build" / name).symlink_to(paths.BUILD / name)
    return {"FGIO_BUILD": str(folder / "build"), "FGIO_CACHE": str(paths.CACHE)}


def requests(count: int = 1000) -> Requests:
    """Requests that took 1, 2, ... ms, one each ms."""
    return Requests(np.arange(count) / 1000, np.arange(1, count + 1, dtype=float))


# Figures


def test_percentiles_are_nearest_rank():
    figure = figures.summarize(requests(), 1.0)
    assert figure == {
        "throughput": 1000.0,
        "p50_ms": 500.0,
        "p99_ms": 990.0,
        "p999_ms": 999.0,
        "max_ms": 1000.0,
        "n": 1000,
    }


def test_a_percentile_takes_a_request_beyond_it():
    found = figures.percentiles(requests(1000))
    assert found["p50_ms"] == 500.0 and found["p999_ms"] == 999.0
    assert found["p9999_ms"] is None
    assert figures.percentiles(requests(999))["p999_ms"] is None
    assert figures.percentiles(requests(10_000))["p9999_ms"] == 9999.0
    assert set(figures.percentiles(Requests.none()).values()) == {None}


def test_gaps_are_of_requests_that_ended_while_measuring():
    log = """2024-01-01 00:00:01 LOG:  checkpoint starting: immediate force wait
LOG:  request 0 9.999999 0.500000 0:71:9.4 1:72:9.9
LOG:  request 12 10.000000 0.001500 0:71:9.9985 1:72:10
LOG:  request 0 11.250000 0.000000 0:71:11.2 1:72:11.2
ERROR:  a statement with request 1 10.5 0.7 0:71:9.8
LOG:  request 3 12.000000 0.250000 0:71:11.6 1:72:11.85
"""
    assert sharded.gaps(log, 10, 12).tolist() == [1.5, 0]
    assert sharded.gaps("", 10, 12).tolist() == []


def test_figures_of_a_sharded_request_are_nearest_rank():
    seed = np.random.SeedSequence().entropy
    print(f"SEED={seed}")
    rng = np.random.default_rng(seed)
    latencies = rng.permutation(np.arange(1, 1001, dtype=float))
    spread = rng.permutation(np.arange(1, 201, dtype=float))
    found = sharded.summarize(Requests(np.arange(1000) / 100, latencies), spread, 10)
    assert found == {
        "throughput": 100,
        "mean_ms": 500.5,
        "p50_ms": 500,
        "p99_ms": 990,
        "p999_ms": 999,
        "gap_p50_ms": 100,
        "gap_p99_ms": 198,
        "n": 1000,
    }
    assert tuple(found) == figures.FIGURES_OF_PARTS
    with pytest.raises(host.LabError, match="no request ended"):
        sharded.summarize(Requests.none(), spread, 10)
    with pytest.raises(host.LabError, match="no request ended"):
        sharded.summarize(requests(), np.empty(0), 10)


def test_parts_of_a_sharded_request_are_all_records_once():
    """The shards' SQL: floor division, since bounds are never negative."""
    schema = (paths.LAB / "guest" / "sharded-shard.sql").read_text()
    assert "key >= (low - shard + 3) / 4 AND key < (low + records - shard + 3) / 4" in schema
    for low in range(9):
        for records in range(1, 12):
            whole = [
                4 * key + shard
                for shard in range(sharded.SHARDS)
                for key in range((low - shard + 3) // 4, (low + records - shard + 3) // 4)
            ]
            assert sorted(whole) == list(range(low, low + records))


def test_requests_through_spider_are_those_that_ended_while_measuring(tmp_path):
    lines = tmp_path / "requests"
    lines.write_text("9.9 1.0 0.5\n10.0 2.0 0.75\n11.5 3.0 0.0\n12.0 4.0 0.25\n")
    found, between = sharded_spider.read_requests(lines, 10, 12)
    assert found.end_s.tolist() == [0, 1.5] and found.latency_ms.tolist() == [2, 3]
    assert between.tolist() == [0.75, 0]
    lines.write_text("11.0 2.5 0.5\n")
    found, between = sharded_spider.read_requests(lines, 10, 12)
    assert found.latency_ms.tolist() == [2.5] and between.tolist() == [0.5]


def test_a_shard_behind_spider_is_scanned_once():
    bounds_of = re.findall(r"place >= (\d+) AND place < (\d+);", sharded_spider.scan_script())
    assert bounds_of[0][0] == "0" and int(bounds_of[-1][1]) >= 1 << 54
    for (_, high), (low, _) in zip(bounds_of, bounds_of[1:], strict=False):
        assert low == high
    # Of a place, the CRC is the upper part, the number of the record the lower one.
    schema = (paths.LAB / "guest" / "sharded-spider-shard.sql").read_text()
    assert f"CRC32(seq) * {1 << 22} + seq" in schema and sharded_spider.RECORDS <= 1 << 22


def test_orders_by_request_are_named_as_the_module_numbers_them():
    header = (paths.ROOT / "core" / "request_order.h").read_text()
    names = re.findall(r"^\tFGIO_BY_([A-Z]+),", header, re.MULTILINE)
    assert names == ["NONE", "ARRIVAL", "BATCH", "LIMITED", "SLACK", "BOTTLENECK"]
    known = configurations.BY_NAME
    for order, name in enumerate(("unordered", "arrival", "batch", "fifo-lm", "slack")):
        assert known[f"fgio-{name}"].parameters() == [f"request_order={order}"]
    assert known["fgio-bottleneck"].parameters() == ["request_order=5"]
    assert sharded.DEFAULT_ORDER in known["fgio-fifo-lm"].parameters()


def test_the_drives_priority_is_what_sets_two_configurations_apart():
    known = configurations.BY_NAME
    for name in ("none-rt", "mq-deadline-rt", "bfq-rt", "fgio", "fgio-16"):
        without, with_drive = known[name], known[f"{name}-drive"]
        assert with_drive.drive_priority and not without.drive_priority
        unchanged = {"name": name, "description": without.description, "drive_priority": False}
        assert dataclasses.replace(with_drive, **unchanged) == without


def test_parts_of_the_drive_experiment_can_be_chosen():
    experiment = type(experiments.find("drive-priority"))()
    experiment.choose_device("ssd")
    assert experiment.variants == ("ssd", "ssd-write")
    experiment.choose_part("^ssd$")
    assert experiment.variants == ("ssd",)
    with pytest.raises(host.LabError, match="hdd and ssd"):
        type(experiment)().choose_device("volume")
    with pytest.raises(host.LabError, match="ssd-write"):
        type(experiment)().choose_part("tape")
    with pytest.raises(host.LabError, match="no regular expression"):
        type(experiment)().choose_part("*ssd")


@pytest.mark.parametrize("count", [1, 2, 3, 99, 101, 1001])
def test_percentile_leaves_no_more_than_its_share_above(count):
    values = np.sort(np.random.default_rng(count).exponential(size=count))
    for fraction in (0.5, 0.9, 0.99, 0.999):
        at = figures.percentile(values, fraction)
        assert (values > at).sum() <= (1 - fraction) * count + 1e-6
        assert (values >= at).sum() >= (1 - fraction) * count - 1e-6


def test_no_requests_give_no_figures():
    figure = figures.summarize(Requests.none(), 5.0)
    assert figure["n"] == 0 and figure["throughput"] == 0
    assert figure["p99_ms"] is None and figure["max_ms"] is None


def test_a_curve_reaches_from_the_slowest_to_all():
    curve = figures.curve(requests(5000))
    assert curve["n"] == 5000 and len(curve["ms"]) == len(curve["longest"]) <= 200
    assert (curve["ms"][0], curve["longest"][0]) == (5000, 1)
    assert (curve["ms"][-1], curve["longest"][-1]) == (1, 5000)
    assert figures.curve(Requests.none()) == {"n": 0, "ms": [], "longest": []}


def test_rate_counts_every_request_once():
    _, rate = figures.rate(requests(), 1.0, 0.1)
    assert rate.sum() * 0.1 == pytest.approx(1000)


def test_fio_log(tmp_path):
    (tmp_path / "reader_lat.1.log").write_text(
        "3, 1500000, 0, 4096, 0\n9, 2500000, 0, 4096, 8192\n"
    )
    (tmp_path / "reader_lat.2.log").write_text("5, 500000, 0, 8192, 0\n")
    found, moved = fio.read_log(tmp_path, "reader")
    assert sorted(found.latency_ms) == [0.5, 1.5, 2.5]
    assert found.end_s.max() == pytest.approx(0.009)
    assert moved == 16384


# Summary and report


SOURCE = {"commit": "abc", "dirty": False}


def rows() -> list[Row]:
    """Two rows as an experiment gives them."""
    figure = figures.summarize(requests(), 1.0)
    return [
        Row(name, 1, figure, {"iops": 5.0}, {}, requests(), 1.0, [("backup", 0.2, 0.6)])
        for name in ("none", "fgio")
    ]


def test_summary_has_the_documented_form(tmp_path):
    chosen = kernel.Kernel("6.12", "6.12.1-test", tmp_path)
    content = summary.build(
        experiments.find("admission"), chosen, rows(), "lab/run admission", SOURCE
    )
    written = json.loads(summary.write(content, tmp_path).read_text())
    assert {
        "experiment",
        "kernel",
        "device",
        "virtual_time",
        "commit",
        "dirty",
        "rows",
    } <= written.keys()
    assert written["virtual_time"] is True and written["kernel"] == "6.12"
    for row in written["rows"]:
        assert {"config", "seed", "foreground", "background"} <= row.keys()
        assert set(row["foreground"]) == {
            "throughput",
            "p50_ms",
            "p99_ms",
            "p999_ms",
            "max_ms",
            "n",
        }


def test_report_needs_no_network(tmp_path):
    chosen = kernel.Kernel("6.12", "6.12.1-test", tmp_path)
    experiment = experiments.find("admission")
    content = summary.build(experiment, chosen, rows(), "lab/run admission", SOURCE)
    summary.write(content, tmp_path)
    page, drawing = report.write(experiment, summary.load(tmp_path), tmp_path)
    text = page.read_text()
    assert text.count("<svg") == 2 and drawing.name == "latency.svg"
    # Names of XML vocabularies are not addresses that a reader would fetch.
    assert not re.search(r"(src|href)=[\"']https?://|@import|url\(http", text)


def test_report_is_made_of_the_summary_alone(tmp_path):
    chosen = kernel.Kernel("6.12", "6.12.1-test", tmp_path)
    experiment = experiments.find("admission")
    summary.write(
        summary.build(experiment, chosen, rows(), "lab/run admission", SOURCE), tmp_path / "one"
    )
    first = report.write(experiment, summary.load(tmp_path / "one"), tmp_path / "one")
    again = report.again(tmp_path / "one", tmp_path / "two")
    assert [file.name for file in first] == [file.name for file in again]
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in again]


def waits(seed: int, name: str, off: float | None, on: float, service: float = 0.5) -> dict:
    """A line of a summary of scenarios; the floor is a service time."""
    scenario = {"scenario": name, "title": f"a {name}", "switches_off": ["io"], "failures": {}}
    figures = {"off_ms": off, "on_ms": on, "floor_ms": service, "service_ms": service}
    return {"config": "fgio", "seed": seed} | scenario | figures


def write_scenarios(folder: Path, lines: list[dict], experiment: str = "scenarios") -> Path:
    """A folder with a summary of scenarios."""
    made = {"kernel_release": "6.12.1-test", "device": "volume", "command": f"lab/run {experiment}"}
    summary.write({**SOURCE, **made, "experiment": experiment, "rows": lines}, folder)
    return folder


def test_scenarios_of_two_summaries_stand_side_by_side(tmp_path, monkeypatch, capsys):
    stock = waits(1, "mutex", 9, 9) | {"config": "bfq", "stock_ms": 9}
    before = [stock, waits(1, "mutex", 40, 1.5), waits(1, "gone", None, 2)]
    # The median of three seeds.
    after = [waits(seed, "mutex", 30 + seed, 2 * seed, 0.25) for seed in (1, 2, 3)]
    earlier = write_scenarios(tmp_path / "earlier", before)
    later = write_scenarios(tmp_path / "later", [*after, waits(1, "new", 20, 1)])
    monkeypatch.setattr("sys.argv", ["lab/report", "--before", str(earlier), str(later)])
    assert report.main() == 0
    said = capsys.readouterr().out
    assert said.splitlines()[-3:] == [
        "| mutex | 40.00 → 32.00 | 1.50 → 4.00 | 0.50 → 0.25 | 0.50 → 0.25 | 2.00 → 15.00 |",
        "| gone | - → - | 2.00 → - | 0.50 → - | 0.50 → - | 3.00 → - |",
        "| new | - → 20.00 | - → 1.00 | - → 0.50 | - → 0.50 | - → 1.00 |",
    ]


@pytest.mark.parametrize(
    ("lines", "experiment", "words"),
    [
        ([], "admission", "made by lab/run admission, which runs no scenarios"),
        ([waits(1, "mutex", 9, 9) | {"config": "bfq"}], "scenarios", "which ran none under fgio"),
    ],
)
def test_what_has_no_scenarios_of_fgio_is_not_compared(
    lines, experiment, words, tmp_path, monkeypatch, capsys
):
    earlier = write_scenarios(tmp_path / "earlier", lines, experiment)
    later = write_scenarios(tmp_path / "later", [waits(1, "mutex", 40, 1)])
    monkeypatch.setattr("sys.argv", ["lab/report", "--before", str(earlier), str(later)])
    assert report.main() == 1
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("left_out", summary.NEEDED)
def test_a_summary_names_its_commit_and_its_command(left_out, tmp_path):
    content = {**SOURCE, "command": "lab/run x"}
    summary.write(content, tmp_path)
    del content[left_out]
    with pytest.raises(host.LabError, match=left_out):
        summary.write(content, tmp_path / "not")
    assert not (tmp_path / "not").exists()


def test_summaries_have_a_line_for_what_fits_into_one():
    value = {"a": {"b": {str(i): i for i in range(99)}, "c": ["x" * 300, {"d": [1.5, None]}]}}
    text = summary.text(value)
    assert json.loads(text) == value
    # Figures with none below them stay together from the second level on.
    assert len(text.splitlines()) == 9


def test_counted_units_become_instructions():
    by_time = Count.of_time("a", 4, 1000).row("none", 1)
    by_rate = Count.of_rate("a", 4, 4e6).row("none", 1)
    assert by_time.as_json() == by_rate.as_json()
    assert by_time.extra == {"cell": "a", "instructions_per_io": 250.0}
    assert by_time.foreground == {"throughput": 4e6, "n": 4}


def test_every_experiment_names_known_configurations():
    for experiment in experiments.ALL.values():
        assert experiment.description and "\n" not in experiment.description
        assert set(experiment.valid()) <= configurations.BY_NAME.keys()


# Messages


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no-such"], "ablation, admission, starvation, shares, tenants, cache-shares, backup"),
        (["admission", "--configs", "none,cfq", "--out", "x"], "cfq"),
        (["admission", "--configs", "floor", "--out", "x"], "alone"),
        (["admission", "--kernel", "5.10", "--out", "x"], "6.12, 6.1"),
        (["admission", "--seeds", "0", "--out", "x"], "--seeds 0"),
        (["admission", "--instructions-per-ns", "0", "--out", "x"], "give 1 to 16"),
        (["admission"], "--out"),
        (["fleet"], "--out"),
        (["fleet", "--configs", "none,bfq", "--out", "x"], "fgio-unordered"),
        (["fleet", "--only", "nosuch", "--out", "x"], "no such cell"),
        (["fleet", "--only", "liars", "--configs", "oracle", "--out", "x"], "nothing to run"),
        (["fleet", "--device", "ssd", "--out", "x"], "drives of its own"),
        (["fleet", "--seeds", "0", "--out", "x"], "--seeds 0"),
        ([], "--list"),
    ],
)
def test_wrong_usage_is_explained(arguments, says, tmp_path):
    done = subprocess.run(
        [str(RUN), *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == USAGE, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_list_has_a_line_for_each():
    done = call(RUN, "--list")
    assert done.returncode == 0
    listed = [line.split()[0] for line in done.stdout.splitlines()]
    assert listed == [*experiments.ALL, fleet.NAME, replay.NAME, paper.NAME]


def test_fleet_writes_a_summary_and_a_report_of_it(tmp_path):
    out = tmp_path / "out"
    chosen = ("--only", "^skew-50$", "--configs", "none,fgio-fifo-lm", "--seeds", "2")
    done = call(RUN, "fleet", *chosen, "--out", out, limit_s=600)
    assert done.returncode == 0, done.stderr
    content = summary.load(out)
    assert content["simulated"] and content["command"].startswith("lab/run fleet")
    rows = content["rows"]
    assert [(row["config"], row["seed"]) for row in rows] == [
        (config, seed) for seed in (1, 2) for config in ("none", "fgio-fifo-lm")
    ]
    for row in rows:
        assert {"device", "vehicle", "cell", *fleet.FIGURES} < row.keys()
        assert row["n"] > 1000 and row["p50_ms"] < row["p99_ms"] <= row["p999_ms"]
    report = (out / "report.md").read_text()
    assert "## skew-50" in report and "| fgio-fifo-lm |" in report
    again = call(paths.LAB / "report", out, "--out", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again" / "report.md").read_text() == report


def test_configurations_are_listed_with_what_they_are():
    done = call(RUN, "rocksdb", "--configs", "help")
    assert done.returncode == 0
    names = [line.removeprefix("*").split()[0] for line in done.stdout.splitlines()]
    assert names == experiments.find("rocksdb").valid()
    assert "* mq-deadline-short " in done.stdout and "nr_requests 16" in done.stdout
    assert "  own-lossy " in done.stdout and "a crash loses" in done.stdout
    every = call(RUN, "--configs", "help").stdout.splitlines()
    assert len(every) == len(configurations.BY_NAME)
    assert call(RUN, "no-such", "--configs", "help").returncode


def test_every_stock_configuration_is_stock():
    for name in configurations.STOCK:
        assert not configurations.BY_NAME[name].loads_fgio
        assert configurations.BY_NAME[name].own_throttle != configurations.LOSSY
    assert set(configurations.STOCK) <= set(configurations.EVALUATION)


def test_full_disk_is_explained(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Full())
    with pytest.raises(host.LabError, match="FGIO_CACHE"):
        host.need_space(tmp_path / "cache", 3000, "the guest's root file system")


class _Full:
    free = 5 * host.MIB


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system: needs root")
def test_small_cache_leaves_nothing_half_made(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    # In a mount namespace of its own: nothing stays mounted whatever happens.
    script = (
        f"mount -t tmpfs -o size=200m none {small} && mkdir {small}/kernel && "
        f"ln -s {paths.CACHE}/kernel/6.12 {small}/kernel/6.12 && "
        f"{{ {BOOT} -- true; status=$?; ls -A {small}; exit $status; }}"
    )
    done = call("unshare", "--mount", "bash", "-c", script, FGIO_CACHE=str(small))
    assert done.returncode == GUEST_FAILED
    assert "needs 3000 MiB" in done.stderr and "FGIO_CACHE" in done.stderr
    # Finished files may stay; unfinished ones have names with a dot, or "root".
    assert all(name.startswith(("kernel", "initramfs-")) for name in done.stdout.split())


def test_debug_kernel_that_was_not_built_is_explained(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    with pytest.raises(host.LabError, match="run lab/debug-kernel"):
        kernel.locate(kernel.DEBUG)


def test_built_debug_kernel_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    boot = tmp_path / "kernel" / kernel.DEBUG / "boot"
    boot.mkdir(parents=True)
    (boot / "vmlinuz-6.12.1-debug").touch()
    (boot.parent / "release").write_text("6.12.1-debug\n")
    chosen = kernel.locate(kernel.DEBUG)
    assert chosen.release == "6.12.1-debug" and chosen.image.parent == boot


def test_whole_leaves_nothing_on_error(tmp_path):
    with pytest.raises(ZeroDivisionError), host.whole(tmp_path / "image") as fresh:
        fresh.write_text("half")
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


# Guests


def test_guest_hands_over_status_output_and_files(guest):
    outcome = guest(
        "uname -r; echo to the host >$RESULTS/file; cat $PAYLOAD/note; exit 7",
        payload={"note": "from the host"},
    )
    assert outcome.status == 7
    assert outcome.output.splitlines() == [kernel.locate("6.12").release, "from the host"]
    assert (outcome.results / "file").read_text() == "to the host\n"
    assert outcome.cpu_s > 0


@pytest.mark.skipif(not host.tsc_khz(), reason="not an x86 host")
def test_guest_in_real_time_has_the_counter_of_cycles_of_the_host(guest):
    outcome = guest("dmesg | grep 'tsc: Detected'")
    mhz = float(re.search(r"Detected ([0-9.]+) MHz", outcome.output)[1])
    assert mhz == pytest.approx(host.tsc_khz() / 1000, rel=0.001)


def test_guest_may_have_more_memory_than_the_host(guest):
    outcome = guest("grep MemTotal /proc/meminfo", memory_mib=64 * 1024)
    assert int(outcome.output.split()[1]) > 60 << 20  # KiB


def test_hanging_guest_is_killed_and_says_what_it_was_doing(tmp_path):
    environment = separate_build(tmp_path)
    begin = time.monotonic()
    hang = "for ((i = 0; i < 300; i++)); do /bin/true; done; echo about to hang; "
    hang += "fsfreeze -f /; touch /root/new"
    done = call(BOOT, "--fast", "--timeout", 60, "--", hang, **environment)
    assert done.returncode == GUEST_FAILED
    assert "no end after 60 s" in done.stderr
    console, doing = done.stderr.split("What it was doing:")
    assert "about to hang" in console
    assert doing.count("processors at ") == 2
    # 300 processes have their code at the same addresses: else, it is 800,000.
    assert 0 < int(re.search(r"translations: (\d+)", doing)[1]) < 300_000
    blocked = doing.split("Show Blocked State")[1]
    assert re.search(r"task:touch .*state:D", blocked) and "mnt_want_write" in blocked
    # A kernel that takes no interrupts answers to the NMI alone.
    assert "NMI: Not continuing" in doing
    assert time.monotonic() - begin < 150
    assert not guests_of(tmp_path)
    assert not list((tmp_path / "build" / "run").iterdir())


def test_crashing_guest_is_reported(tmp_path):
    environment = separate_build(tmp_path)
    done = call(BOOT, "--fast", "--", "echo c >/proc/sysrq-trigger; sleep 9", **environment)
    assert done.returncode == GUEST_FAILED
    assert "without handing over its results" in done.stderr
    # The end of the console has the trace, of which registers and modules may push out the top.
    assert "sysrq" in done.stderr or "</TASK>" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interruption_leaves_nothing(number, tmp_path):
    environment = separate_build(tmp_path)
    mounts = Path("/proc/self/mounts").read_text()
    process = subprocess.Popen(
        # A shell's background jobs ignore SIGINT, which is inherited.
        ["env", "--default-signal=INT", str(BOOT), "--fast", "--", "sleep 1000000"],
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not guests_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert guests_of(tmp_path), "no guest began"
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    if number != signal.SIGKILL:
        assert process.returncode == INTERRUPTED
        assert "nothing is left running" in said and "Traceback" not in said
        assert not list((tmp_path / "build" / "run").iterdir())
    deadline = time.monotonic() + 10
    while guests_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not guests_of(tmp_path)
    assert Path("/proc/self/mounts").read_text() == mounts


def test_counted_clock_repeats_to_the_instruction(guest):
    script = (
        "insmod $PAYLOAD/modules/simdisk.ko model=volume size_mib=256 && "
        "fio --name=reader --filename=/dev/simdisk0 --direct=1 --rw=randread --bs=4k "
        "--ioengine=libaio --iodepth=4 --number_ios=2000 --randseed=1 --output-format=terse "
        ">/dev/null && cut -d' ' -f1 /proc/uptime"
    )
    if not (paths.modules_folder(kernel.locate("6.12").release) / "simdisk.ko").is_file():
        pytest.skip("simdisk.ko has not been built")
    times = [float(guest(script, counted_clock=True, cpus=1).output) for _ in range(2)]
    assert times[1] == pytest.approx(times[0], rel=0.02)


def test_trouble_is_seen_in_a_log():
    text = "[1.0] fine\n[2.0] WARNING: CPU: 0 PID: 1 at block/blk-mq.c:1\n"
    outcome = machine.Outcome(0, "", "", text, Path(), 0, 0)
    assert len(outcome.kernel_trouble()) == 1
