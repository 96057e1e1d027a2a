# SPDX-License-Identifier: Apache-2.0 OR MIT
"""fgio(4) has every parameter and every tunable of the module, with default and range."""

import re
import shutil
import subprocess

import pytest

from lab import paths

PAGE = paths.ROOT / "packaging" / "man" / "fgio.4"
KMOD = paths.ROOT / "kmod"
STRING = r'"((?:[^"\\]|\\.)*)"'


def sources() -> str:
    """The module's sources in one text, without those of the lab's modules."""
    files = [file.relative_to(KMOD) for file in sorted(KMOD.rglob("*.c"))]
    files = [KMOD / file for file in files if file.parts[0] not in ("simdisk", "lab")]
    return "\n".join(file.read_text() for file in files)


def items(section: str) -> dict[str, str]:
    """Names and descriptions of a section of the page."""
    (text,) = re.findall(rf"^\.Sh {section}\n(.*?)(?=^\.Sh )", PAGE.read_text(), re.M | re.S)
    found = re.findall(r"^\.It Va (\w+)\n(.*?)(?=^\.It |^\.El)", text, re.M | re.S)
    assert len({name for name, _ in found}) == len(found), f"{section}: a name stands twice"
    return {name: " ".join(description.split()) for name, description in found}


def parameters() -> dict[str, str]:
    """Names and descriptions of the module's parameters."""
    described = re.findall(rf"MODULE_PARM_DESC\((\w+),\s*{STRING}", sources())
    described += re.findall(rf"^MECHANISM\((\w+), \w+,\s*{STRING}", sources(), re.M)
    return dict(described)


def declared() -> set[str]:
    """Names of the parameters by their declarations."""
    names = re.findall(r"\bmodule_param(?:_named|_cb)?\((\w+),", sources())
    names += re.findall(r"^MECHANISM\((\w+),", sources(), re.M)
    # Inside of the macro MECHANISM.
    return {name for name in names if name != "name"}


def tunables() -> set[str]:
    """Names of the files in queue/iosched/."""
    (table,) = re.findall(r"struct elv_fs_entry fgio_tunables\[\] = \{(.*?)\};", sources(), re.S)
    return set(re.findall(r"(?:RW|__ATTR)\((\w+)", table))


def test_the_sources_are_understood():
    assert {"boost", "locks", "watchdog_ms", "foreground_cgroups"} <= declared()
    assert set(parameters()) == declared()
    assert {"version", "critical_slots", "drive_priority"} <= tunables()


def test_the_page_has_every_parameter_and_no_other():
    assert set(items("MODULE PARAMETERS")) == declared()


def test_the_built_module_has_these_parameters_and_no_other():
    built = sorted(paths.BUILD.glob("kmod/*/fgio.ko"))
    modinfo = shutil.which("modinfo") or shutil.which("modinfo", path="/sbin:/usr/sbin")
    if not built or not modinfo:
        pytest.skip("make -C kmod KERNEL=6.12 makes the module, and the package kmod has modinfo")
    for module in built:
        command = [modinfo, "-F", "parm", str(module)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert {line.split(":")[0] for line in said.splitlines()} == declared(), module


def test_the_page_has_every_tunable_and_no_other():
    assert set(items("DISKS")) == tunables()


def test_defaults_are_those_of_the_module():
    for name, description in items("MODULE PARAMETERS").items():
        found = re.search(r"\(([^()]*)\)$", parameters()[name])
        if not found:
            continue
        assert re.search(rf"[Dd]efault {re.escape(found[1])}\.$", description), name


def test_ranges_are_those_of_the_module():
    pages = items("DISKS")
    for name, least, most in re.findall(
        r"^QUEUE_TUNABLE\((\w+),[^()]*?(\d+), (\d+)\)", sources(), re.M
    ):
        assert f"{least} to {most}, default" in pages.pop(name)
    (slots,) = re.findall(r"#define SLOTS_MAX (\d+)", sources())
    assert all(f"1 to {slots}, default" in pages[f"{which}critical_slots"] for which in ("", "non"))


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_the_page_formats_without_warnings():
    done = subprocess.run(
        ["groff", "-mdoc", "-Tascii", "-wall", "-z", PAGE],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
