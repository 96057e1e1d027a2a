# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The evaluation: boots that are not made twice, failures, and the claims of its figures."""

import dataclasses
import json
from pathlib import Path

import pytest
from rich.console import Console

from lab import bounds, claims, cli, configurations, guest, host, kept, kernel, paper, runner
from lab.experiments.base import Experiment, Row
from lab.experiments.tpcc import SIZES

KERNEL = kernel.Kernel("6.12", "6.12.0-test", Path("/nowhere"))


class Counted(Experiment):
    """An experiment whose boots are counted instead of made."""

    name = "counted"
    variants = ("first", "second")

    def __init__(self):
        self.commands = "true"

    def boot(self, chosen, configuration, seed, variant):
        return guest.Boot(kernel=chosen, commands=f"{self.commands} {variant}", seed=seed)

    def read(self, outcome, configuration, seed, variant):
        return [Row(configuration.name, seed, {}, {}, {"variant": variant})]


@pytest.fixture
def boots(monkeypatch):
    """The commands of every boot made; those that hold `fail` hand over nothing."""
    made = []

    def run(boot, results, watch=None):
        made.append(boot.commands)
        if "fail" in boot.commands:
            raise guest.GuestError("it ended", "its console")
        results.mkdir(parents=True)
        (results / "kernel.log").write_text("")
        return guest.Outcome(0, "", "console", "", results, 1.5, 2.5)

    monkeypatch.setattr(guest, "run", run)
    monkeypatch.setattr(guest.image, "root_image", lambda *system: None)
    monkeypatch.setattr(guest.image, "initramfs", lambda chosen: None)
    return made


def plan(folder: Path, *names: str, experiment: Experiment | None = None) -> runner.Plan:
    """Both variants under some configurations."""
    chosen = tuple(configurations.BY_NAME[name] for name in names)
    return runner.Plan(experiment or Counted(), chosen, 1, folder)


def run(plans: list[runner.Plan], resumed: bool = True) -> dict[str, list[Row]]:
    """Runs plans; the rows of those that became whole, by the name of their folder."""
    rows = {}
    console = Console(quiet=True)
    runner.run(plans, KERNEL, console, lambda one, some: rows.update({one.out.name: some}), resumed)
    return rows


def test_a_boot_is_not_made_twice(boots, tmp_path):
    first = run([plan(tmp_path / "a", "none")])
    second = run([plan(tmp_path / "a", "none", "bfq")])
    assert sorted(boots) == ["true first"] * 2 + ["true second"] * 2
    assert [row.extra["variant"] for row in first["a"]] == ["first", "second"]
    assert [row.config for row in second["a"]] == ["none", "none", "bfq", "bfq"]


def test_processors_can_be_faster(tmp_path):
    slow = plan(tmp_path, "none")
    fast = dataclasses.replace(slow, instructions_per_ns=4)
    speeds = [one.tasks()[0].boot(KERNEL).instructions_per_ns for one in (slow, fast)]
    assert speeds == [1, 4]


def test_a_boot_that_would_be_another_is_made_again(boots, tmp_path):
    run([plan(tmp_path / "a", "none")])
    changed = Counted()
    changed.commands = "false"
    run([plan(tmp_path / "a", "none", experiment=changed)])
    assert sorted(boots) == ["false first", "false second", "true first", "true second"]


def test_without_resuming_every_boot_is_made_again(boots, tmp_path):
    run([plan(tmp_path / "a", "none")])
    run([plan(tmp_path / "a", "none")], resumed=False)
    assert len(boots) == 4


def test_a_failure_costs_its_own_plan_alone(boots, tmp_path):
    broken = Counted()
    broken.commands = "fail"
    plans = [plan(tmp_path / "a", "none", experiment=broken), plan(tmp_path / "b", "none")]
    with pytest.raises(host.LabError, match="counted: none-1-first: it ended"):
        run(plans)
    assert len(boots) == 4
    assert kept.load(plans[1].tasks()[0].raw, "another") is None
    run([plans[1]])
    assert len(boots) == 4


@pytest.mark.parametrize(
    "change",
    [
        {"commands": "other"},
        {"seed": 2},
        {"memory_mib": 2048},
        {"payload": {"text": "b"}},
        {"disks": (Path("/cache/other"),)},
        {"append": "quiet"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_a_boot_depends_on_is_in_its_fingerprint(change):
    boot = guest.Boot(
        kernel=KERNEL, commands="same", payload={"text": "a"}, disks=(Path("/cache/one"),)
    )
    again = dataclasses.replace(boot, limit_s=9, disks=(Path("/elsewhere/one"),))
    assert kept.fingerprint(boot) == kept.fingerprint(again)
    assert kept.fingerprint(boot) != kept.fingerprint(dataclasses.replace(boot, **change))


def test_files_and_folders_of_the_payload_are_in_the_fingerprint(tmp_path):
    (tmp_path / "folder").mkdir()
    file = tmp_path / "folder" / "file"
    file.write_text("one")
    for payload in ({"a": file}, {"a": tmp_path / "folder"}):
        boot = guest.Boot(kernel=KERNEL, commands="same", payload=payload)
        file.write_text("one")
        before = kept.fingerprint(boot)
        file.write_text("two")
        assert kept.fingerprint(boot) != before


def row(config: str, tail_ms: float, rate: float, work_s: float | dict | None) -> dict:
    """A row of summary.json."""
    return {
        "config": config,
        "cell": "a backup",
        "foreground": {"p999_ms": tail_ms, "throughput": rate},
        "background": {"burst_s": None, "checkpoint_s": work_s},
    }


def save(rows: list[dict], folder: Path) -> Path:
    """Leaves rows where an experiment does; returns the folder."""
    folder.mkdir()
    content = {"experiment": "first-light", "device": "volume", "rows": rows}
    (folder / "summary.json").write_text(json.dumps(content))
    return folder


def stock() -> list[str]:
    """The stock configurations that first-light has."""
    return claims._stock_of({"experiment": "first-light", "device": "volume"}, "")


BACKUP = [
    row("floor", 10, 100, None),
    row("mq-deadline", 400, 50, 2),
    row("mq-deadline", 600, 70, 2.2),
    row("bfq-idle", 60, 55, 3),
    row("mq-deadline-watched", 11, 70, 2),
    row("fixed-1", 11, 90, 2),
    row("fgio", 12, 96, 2.1),
]


def test_fgio_is_set_beside_floor_default_and_the_best_of_the_others(tmp_path):
    others = {"mq-deadline", "bfq-idle"}
    # Better, and no rival: its log is not durable, or it is a bound.
    cheats = [row(name, 5, 50, 2) for name in ("own-lossy", "floor-switch")]
    rows = BACKUP + cheats + [row(name, 500, 50, 2) for name in stock() if name not in others]
    save(rows, tmp_path / "first-light")
    source = {"commit": "abc", "dirty": True, "command": "lab/run paper"}
    text = claims.write(["first-light", "never-run"], tmp_path, source).read_text()
    content = json.loads((tmp_path / "summary.json").read_text())
    (claim,) = content["claims"]
    assert (content["commit"], content["dirty"]) == ("abc", True)
    assert (claim["best_stock"], claim["stock_not_run"]) == ("bfq-idle", [])
    ratios = {name: claim[name] for name in claim if "_over" in name}
    assert ratios == pytest.approx(
        {
            "p999_over_floor": 1.2,
            "throughput_over_floor": 0.96,
            "throughput_over_default": 1.6,
            "p999_default_over": 500 / 12,
            "p999_best_over": 5,
            "work_over_default": 1,
        }
    )
    assert "| a backup | 1 | 10 | 500 ↑ | bfq-idle | 60 ↑ | 12 | 1.20 | 0.96 | 1.60 | 42 |" in text


def test_there_is_no_best_of_stock_configurations_that_were_not_all_run(tmp_path):
    (claim,) = claims.of_figure("first-light", save(BACKUP, tmp_path / "first-light"))
    assert claim.best == "" and claim.ratio("tail_ms", claim.best, "fgio") is None
    assert set(claim.missing) == set(stock()) - {"mq-deadline", "bfq-idle"}
    assert f"({len(claim.missing)} not run) | - | 12 |" in claims.markdown([claim])
    # Nor where one of them has no such figure: none had enough requests.
    rows = [row(name, None, 100, 2) for name in ("floor", "fgio", *stock())]
    (claim,) = claims.of_figure("y", save(rows, tmp_path / "y"))
    assert (claim.best, claim.missing) == ("", ()) and "| - | - | - |" in claims.markdown([claim])
    # Nor where one has fewer seeds than fgio.
    rows = BACKUP + [row(name, 500, 50, 2) for name in stock() if name != "bfq-idle"]
    (claim,) = claims.of_figure("x", save([*rows, row("fgio", 12, 96, 2)], tmp_path / "x"))
    assert "bfq-idle" in claim.missing and claim.best == ""


def kinds(rates: dict[str, tuple[float, float]]) -> list[dict]:
    """Rows of a load at a fixed rate, in two kinds: configuration -> requests a second of each."""
    rows = []
    for name, (reads, writes) in rates.items():
        for kind, rate in (("", reads + writes), (": reads", reads), (": writes", writes)):
            found = row(name, 10, rate, None) | {"database": "readwhilewriting-paced"}
            rows.append(found | {"cell": f"readwhilewriting-paced{kind}"})
    return rows


def test_latency_that_grows_with_the_time_measured_is_marked(tmp_path):
    rows = kinds({"floor": (979, 98), "mq-deadline": (977, 66), "fgio": (978, 98)})
    folder = save(rows, tmp_path / "rocksdb")
    content = {"experiment": "rocksdb", "device": "volume", "rows": rows}
    (folder / "summary.json").write_text(json.dumps(content))
    found = {claim.cell: claim for claim in claims.of_figure("rocksdb", folder)}
    saturated = {cell: claim.saturated for cell, claim in found.items()}
    # One kind of them queues; the other does not.
    assert saturated == {
        "readwhilewriting-paced": ("mq-deadline",),
        "readwhilewriting-paced: reads": (),
        "readwhilewriting-paced: writes": ("mq-deadline",),
    }
    assert "| 10 | 10 ↑ |" in claims.markdown([found["readwhilewriting-paced"]])
    # Without a fixed rate, fewer are answered because fewer are made.
    for each in rows:
        each["database"] = "readwhilewriting"
    (folder / "summary.json").write_text(json.dumps(content))
    assert not any(claim.saturated for claim in claims.of_figure("rocksdb", folder))


@pytest.mark.parametrize(
    ("of_default", "of_fgio", "says"),
    [
        ([2], [None], None),
        ([2], [{"at_least": 18}], bounds.Bound(9)),
        ([2], [3, 4, {"at_least": 18}], 2),
        ([2], [3, {"at_least": 18}, {"at_least": 18}], bounds.Bound(9)),
        # Older summaries do not say how long a run that did not end had been seen.
        ([2], [3, 4, None], 2),
        ([2], [3, None, None], bounds.Bound(1.5)),
        ([{"at_least": 18}], [9], bounds.Bound(0.5, bounds.AT_MOST)),
        ([{"at_least": 18}], [{"at_least": 18}], None),
    ],
)
def test_work_that_did_not_end_in_time_counts_as_longer(tmp_path, of_default, of_fgio, says):
    rows = [row("floor", 10, 100, None)]
    rows += [row("mq-deadline", 400, 50, work_s) for work_s in of_default]
    rows += [row("fgio", 12, 96, work_s) for work_s in of_fgio]
    (claim,) = claims.of_figure("first-light", save(rows, tmp_path / "first-light"))
    assert claim.ratio("work_s", "fgio", "mq-deadline") == says


def test_a_backup_that_did_not_end_is_not_taken_for_its_checkpoint(tmp_path):
    rows = [row(name, 10, 100, 2) for name in ("floor", "mq-deadline", "fgio")]
    rows[1]["background"]["burst_s"] = 14
    rows[2]["background"]["burst_s"] = {"at_least": 18}
    (claim,) = claims.of_figure("first-light", save(rows, tmp_path / "first-light"))
    assert claim.ratio("work_s", "fgio", "mq-deadline") == bounds.Bound(18 / 14)


def test_figures_can_be_chosen(tmp_path):
    options = cli._parser().parse_args(
        ["paper", "--only", "ablation", "--configs", "fgio,fgio-no-io", "--out", str(tmp_path)]
        + ["--instructions-per-ns", "2"]
    )
    found = paper.plans(options)
    assert all(one.out.name.startswith("ablation-") for one in found)
    assert {task.configuration.name for one in found for task in one.tasks()} == {
        "fgio",
        "fgio-no-io",
    }
    assert {one.instructions_per_ns for one in found} == {2}
    options.only = "no such figure"
    with pytest.raises(host.LabError, match="choose from: tpcc"):
        paper.plans(options)


def test_figures_of_one_experiment_do_not_share_its_parts(tmp_path):
    options = cli._parser().parse_args(["paper", "--out", str(tmp_path)])
    by_name = {one.out.name: one for one in paper.plans(options)}
    assert by_name["ablation-postgresql"].experiment.variants == ("tpcc-fits-paced",)
    assert {task.variant for task in by_name["tpcc"].tasks()} == {
        f"tpcc-{size}{pace}" for size in SIZES for pace in ("", "-paced")
    }


def test_only_a_hard_disk_has_the_load_that_it_can_serve(tmp_path):
    options = cli._parser().parse_args(["paper", "--out", str(tmp_path)])
    variants = {
        one.out.name: {task.variant for task in one.tasks()} for one in paper.plans(options)
    }
    assert variants["tpcc-hdd"] == {"tpcc-fits", "tpcc-fits-slowly"}
    assert variants["tpcc-ssd"] == {"tpcc-fits", "tpcc-fits-paced"}
    assert variants["ycsb-hdd"] == {"fits", "fits-slowly"}
    assert variants["ycsb-evicting"] == {"fits-evicting-paced"}
    assert variants["tpcc-timed"] == {"tpcc-fits-timed"}
    assert not variants["ycsb"] & variants["ycsb-evicting"]
    options = cli._parser().parse_args(["ycsb", "--only", "slowly", "--out", str(tmp_path)])
    with pytest.raises(cli.UsageError, match="nothing to run"):
        cli._plans(options)
    options.device = "hdd"
    (plan,) = cli._plans(options)
    assert plan.experiment.duration_s == 100


def test_an_experiment_may_keep_its_own_processor(tmp_path):
    options = cli._parser().parse_args(["paper", "--out", str(tmp_path)])
    speed = {one.out.name: one.instructions_per_ns for one in paper.plans(options)}
    assert speed["ycsb-redis"] is None
    assert speed["tpcc"] == paper.INSTRUCTIONS_PER_NS
