# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Drives as --device takes them: what is accepted, refused, and how they are named."""

import re

import pytest

from lab import cli, configurations, drives, experiments, host, paths, rivals
from lab.experiments.base import MODELS

MEASURED = """# a drive, measured
measured
parallel = 4   # at once
read_4k = 80us/90us/95us/100us/120us/200us/300us/1ms/4ms/9ms

iops = 20k
"""


def family() -> list[str]:
    """The names of all presets, from the help."""
    lines = drives.help_text().split("Parameters of")[0].splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ")]


@pytest.mark.parametrize("model", MODELS)
def test_the_plain_models_keep_their_names(model):
    assert drives.resolve(model) == model
    assert drives.label(model) == model
    assert drives.kind(model) == drives.nearest(model) == drives.spelled(model) == model


def test_every_drive_of_the_family_can_be_chosen():
    names = family()
    assert len(names) >= 25 and "raid5-hdd-cached" in names
    for name in names:
        assert drives.resolve(name) == name
        assert drives.label(name) == name
        assert drives.nearest(name) in MODELS
        assert drives.spelled(name).split(":")[0] == drives.kind(name)


def test_a_preset_takes_parameters():
    assert drives.spelled("volume-sigma:iops=16k") == "volume:sigma=0.5,iops=16k"
    assert drives.spelled("volume:iops=16k") == "volume:iops=16k"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("floppy", "floppy is no drive; there are: hdd ssd volume nvme"),
        ("volume:iops=0", "iops=0 is not accepted; give a number, 1 to 100M"),
        ("volume:rotation=5ms", "rotation is no parameter of volume"),
        ("", " is no drive"),
        ("@/nonexistent", "No such file"),
    ],
)
def test_a_bad_drive_is_refused_in_the_parsers_words(text, words):
    with pytest.raises(host.LabError, match=words.replace("(", r"\(")):
        drives.resolve(text)


def test_a_drive_is_read_from_a_file(tmp_path):
    file = tmp_path / "drive"
    file.write_text(MEASURED)
    spec = drives.resolve(f"@{file}")
    assert spec == (
        "measured:parallel=4,read_4k=80us/90us/95us/100us/120us/200us/300us/1ms/4ms/9ms,iops=20k"
    )
    assert drives.kind(spec) == "measured" and drives.nearest(spec) == "volume"
    file.write_text("measured\nparallel=0\n")
    with pytest.raises(host.LabError, match="parallel=0 is not accepted"):
        drives.resolve(f"@{file}")
    file.write_text("# nothing\n")
    with pytest.raises(host.LabError, match="is no drive"):
        drives.resolve(f"@{file}")
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(host.LabError, match="no text"):
        drives.resolve(f"@{file}")


def test_a_spec_too_long_for_the_module_is_refused():
    with pytest.raises(host.LabError, match="the module takes 1000"):
        drives.resolve("volume:" + ",".join(["iops=16000"] * 100))


def test_labels_name_folders():
    assert drives.label("volume:iops=16000,sigma=0.5") == "volume-iops-16000-sigma-0.5"
    long = drives.label("measured:read_4k=" + "/".join(["100us"] * 10))
    other = drives.label("measured:read_4k=" + "/".join(["101us"] * 10))
    assert len(long) <= 60 and "/" not in long and long != other


def test_experiments_take_any_drive():
    depth = type(experiments.find("depth"))()
    depth.choose_device("volume:sigma=0.5")
    assert depth.variants == ("volume-sigma-0.5 writes",)
    depth.choose_part("backup")
    assert depth.variants == ("volume-sigma-0.5 backup",)
    pair = type(experiments.find("first-light"))()
    pair.choose_device("gp2-spent")
    assert pair.device == "gp2-spent"
    pair.choose_device("ssd")
    drive = type(experiments.find("drive-priority"))()
    drive.choose_device("ssd:sigma=0.3")
    assert drive.variants == ("ssd", "ssd-write")
    with pytest.raises(host.LabError, match="hdd and ssd"):
        type(drive)().choose_device("raid0-hdd")
    with pytest.raises(host.LabError, match="nothing else"):
        type(experiments.find("overhead"))().choose_device("ssd")


def test_a_bad_drive_is_refused_before_anything_is_made(tmp_path, capfd, monkeypatch):
    out = tmp_path / "out"
    arguments = ["lab/run", "depth", "--device", "volume:iops=0", "--out", str(out)]
    monkeypatch.setattr("sys.argv", arguments)
    assert cli.main() == cli.EXIT_USAGE
    assert "iops=0 is not accepted" in capfd.readouterr().err
    assert not out.exists()


def test_device_help_lists_presets_and_parameters(capfd, monkeypatch):
    monkeypatch.setattr("sys.argv", ["lab/run", "depth", "--device", "help"])
    assert cli.main() == 0
    said = capfd.readouterr().out
    assert "raid10-ssd" in said and "  sigma " in said and "Parameters of hdd" in said


def test_rivals_know_any_drive():
    """The tables have three models; the rates of others are those of the model they resemble."""
    for model, text in rivals.IO_COST_MODELS.items():
        asked = dict(pair.split("=") for pair in drives.rates(model).split())
        for name, value in (pair.split("=") for pair in text.split()):
            assert int(asked[name]) == pytest.approx(int(value), rel=0.2)
    assert "rbps=" in rivals.io_cost("raid0-ssd")["IO_COST_MODEL"]
    documented = rivals.wiredtiger("gp3-16k")[configurations.DOCUMENTED]
    assert documented["CONNECTION"] == "io_capacity=(total=838M)"


def test_every_parameter_of_a_model_can_be_set():
    core = paths.ROOT / "core"
    header = (core / "simdisk.h").read_text()
    table = (core / "simdisk_spec.c").read_text()
    structs = re.findall(r"struct simdisk_(\w+) \{\n(.*?)\n\};", header, re.S)
    models = {name: body for name, body in structs if name.endswith(("_parameters", "variation"))}
    assert len(models) == 6
    models["parameters"] = dict(structs)["parameters"]
    missing = []
    for name, body in models.items():
        plain = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        for field in re.findall(r"\b(?:u32|u64|bool) (\w+)(?:\[[^;]*)?;", plain):
            prefix = name.removesuffix("_parameters")
            place = field if name == "parameters" else f"{prefix}.{field}"
            if not re.search(rf", {re.escape(place)}(\[\d\])*,", table):
                missing.append(place)
    assert not missing, f"no --device spec sets these: {missing}"
