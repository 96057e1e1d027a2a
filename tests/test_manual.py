# SPDX-License-Identifier: Apache-2.0 OR MIT
"""fgio(4) has every parameter and every tunable of the module, with default and range."""

import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Setting:
    """A line of the list in uapi/fgio_settings.h."""

    default: str
    # Of a number with bounds: "least to most".
    bounds: str = ""


# Prints "@ name default [least most]" of each line of the list.
LIST = """
#include "uapi/fgio_settings.h"
#define SWITCH(name, ...) @ name Y
#define NUMBER(name, default_value, least, most, ...) @ name default_value least most
#define UNBOUNDED(name, default_value, ...) @ name default_value
#define AS_SYSTEM(name, ...) @ name "no limit"
#define LIST(name, default_value, ...) @ name default_value
FGIO_SETTING_LIST(SWITCH, NUMBER, UNBOUNDED, AS_SYSTEM, LIST)
"""


@pytest.fixture(scope="module")
def settings() -> dict[str, Setting]:
    """The list by name, as the C preprocessor reads it."""
    command = ["cc", "-E", "-P", "-I", paths.ROOT, "-"]
    done = subprocess.run(command, input=LIST, capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.split("@")[1:]:
        name, default, *bounds = shlex.split(line)
        found[name] = Setting(default, " to ".join(bounds))
    return found


def declared() -> set[str]:
    """Names of the parameters that the module declares."""
    declarations = r"\b(?:module_param(?:_named|_cb)?|FGIO_NUMBER_PARAM)\((\w+),"
    names = re.findall(declarations, sources())
    names += re.findall(r"^MECHANISM_PARAM\((\w+),", sources(), re.M)
    # Inside of macros.
    return {name for name in names if name != "name"}


def for_tests() -> dict[str, str]:
    """Names and descriptions of the parameters that serve tests of the module."""
    described = re.findall(rf"MODULE_PARM_DESC\((\w+),\s*{STRING}", sources())
    return {name: text for name, text in described if text.startswith("for tests")}


def tunables() -> set[str]:
    """Names of the files in queue/iosched/."""
    (table,) = re.findall(r"struct elv_fs_entry fgio_tunables\[\] = \{(.*?)\};", sources(), re.S)
    return set(re.findall(r"(?:RW|__ATTR)\((\w+)", table))


def test_the_sources_are_understood(settings):
    assert {"boost", "locks", "watchdog_ms", "foreground_cgroups"} <= declared()
    assert settings["walk_delay_us"] == Setting("100", "50 to 1000000")
    assert {settings["boost"].default, settings["max_slots"].default} == {"Y", "no limit"}
    assert {"version", "critical_slots", "drive_priority"} <= tunables()


def test_every_setting_of_the_list_is_a_parameter_of_the_module(settings):
    assert declared() - set(for_tests()) == set(settings)


def test_the_empty_list_of_cgroups_is_the_word_that_the_module_parses(settings):
    text = (paths.ROOT / "core" / "trust.h").read_text()
    assert re.findall(rf"#define FGIO_TRUST_ANY {STRING}", text) == [
        settings["foreground_cgroups"].default
    ]


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


def test_defaults_and_bounds_of_settings_are_those_of_the_list(settings):
    for name, description in items("MODULE PARAMETERS").items():
        if name in settings:
            default, bounds = settings[name].default, settings[name].bounds
        else:
            default, bounds = "".join(re.findall(r"\(([^()]*)\)$", for_tests()[name])), ""
        if default:
            assert re.search(rf"[Dd]efault {re.escape(default)}\.$", description), name
        assert bounds in description, name


def test_ranges_of_tunables_are_those_of_the_module():
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
