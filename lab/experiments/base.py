# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The base of every experiment: boots to make, and how to read their results."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from lab import bounds, drives, guest, host, kernel, paths, rivals
from lab.configurations import Configuration, priority
from lab.figures import Requests

NS_PER_S = 1_000_000_000
SCHEDULERS = ("none", "mq-deadline", "mq-deadline-prio", "kyber", "bfq", "bfq-idle")
MODELS = ("hdd", "ssd", "volume", "nvme")
FIO_BOUNDS = ("alone", "ceiling")
DATABASE_BOUNDS = ("floor", "ceiling")
BOUNDS = tuple(dict.fromkeys((*FIO_BOUNDS, *DATABASE_BOUNDS)))
SECTOR_BYTES = 512


def matching(only: str, names: Iterable[str], what: str) -> tuple[str, ...]:
    """The names in which --only's regular expression is found.

    what: the kind of things they name, in an error

    Raises LabError when it is none, or is found in no name.
    """
    known = tuple(names)
    try:
        found = tuple(name for name in known if re.search(only, name))
    except re.error as error:
        raise host.LabError(f"--only {only}: no regular expression: {error}") from None
    if not found:
        raise host.LabError(f"--only {only}: no such {what}; choose from: {', '.join(known)}")
    return found


@dataclass
class Row:
    """One measured row of summary.json, with the data that the report draws beside it.

    marks: (name, begin, end) in s from the start of measuring, drawn over the time line
    """

    config: str
    seed: int
    foreground: dict
    background: dict
    extra: dict = field(default_factory=dict)
    requests: Requests = field(default_factory=Requests.none)
    duration_s: float = 0
    marks: list[tuple[str, float, float]] = field(default_factory=list)

    def as_json(self) -> dict:
        """The row as summary.json has it."""
        return {
            "config": self.config,
            "seed": self.seed,
            **self.extra,
            "foreground": self.foreground,
            "background": self.background,
        }

    @classmethod
    def from_json(cls, content: dict) -> "Row":
        """The row as summary.json has it, without the requests, which are raw data."""
        extra = dict(content)
        config, seed = extra.pop("config"), extra.pop("seed")
        sides = [bounds.restored(extra.pop(side)) for side in ("foreground", "background")]
        return cls(config, seed, *sides, extra)


class Experiment:
    """One experiment. Each (configuration, seed) is one boot, so that its data are fresh.

    device: the disk of the workload, as make_disk in guest/functions.sh knows it: a drive's spec
    duration_s: virtual seconds measured in a boot; setup_s: virtual seconds before them
    variants: a boot is made for each; most experiments have one
    units: meaning of the figures in rows
    """

    name = ""
    description = ""
    device = "volume"
    configurations: tuple[str, ...] = ()
    extra_configurations: tuple[str, ...] = ()
    demo_configurations: tuple[str, ...] = ()
    duration_s: float = 10
    setup_s: float = 5
    limit_s: float = 1200
    variants: tuple[str, ...] = ("",)
    units: dict[str, str] = {}

    def valid(self) -> list[str]:
        """Every configuration that can be asked for."""
        return list(dict.fromkeys((*self.configurations, *self.extra_configurations)))

    def choose_device(self, name: str) -> None:
        """Runs on another drive: a spec, or @FILE with one (see drives.py).

        Raises LabError when it is none or makes no sense.
        """
        if type(self).device not in MODELS:
            raise host.LabError(f"{self.name} runs on {type(self).device} and on nothing else")
        self.device = drives.resolve(name)

    def choose_part(self, only: str) -> None:
        """Runs the part alone whose names match a pattern. Raises LabError when it has no parts."""
        raise host.LabError(f"{self.name} has no parts: --only {only} makes no sense")

    def has(self, configuration: Configuration, variant: str) -> bool:
        """Whether there is a boot for this configuration and variant."""
        return True

    def prepare(self) -> None:
        """Builds data sets and programs that the boots share, before the first one."""

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        """The boot for one configuration, seed and variant."""
        raise NotImplementedError

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        """The rows that a boot yields."""
        raise NotImplementedError

    def completed(self, rows: list[Row]) -> list[Row]:
        """The rows of all boots, with what takes several of them to work out."""
        return rows

    def rows_of(self, content: dict) -> list[Row]:
        """The rows of a summary.json, as far as a report needs them."""
        return [Row.from_json(row) for row in content["rows"]]

    def drawn_cells(self, rows: list[Row]) -> list[str]:
        """The cells whose distribution of latency the report draws; "" where there are none."""
        return [] if any("cell" in row.extra for row in rows) else [""]

    def table(self, rows: list[Row]) -> Table | None:
        """The figures as a table for the terminal; None for the usual one."""
        return None

    def drawings(self, content: dict, rows: list[Row]) -> dict[str, Figure]:
        """Drawings beside a report of the experiment's own: NAME.svg each."""
        return {}

    def markdown(self, content: dict, rows: list[Row]) -> str | None:
        """A report of the experiment's own, instead of the usual one with drawings."""
        return None


def made(content: dict) -> str:
    """The source of a report's figures: kernel, disk, commit and command, from summary.json."""
    # Summaries of earlier code do not say.
    commit = content.get("commit") or "unknown"
    changes = " with changes" if content.get("dirty") else ""
    return (
        f"Kernel {content['kernel_release']}, device model {content['device']}, virtual time, "
        f"commit {commit[:12]}{changes}, made by `{content['command']}`."
    )


def payload(chosen: kernel.Kernel, *files: str) -> dict[str, Path | str]:
    """The payload of every experiment: our modules, as far as built, and guest scripts."""
    taken: dict[str, Path | str] = {}
    for name in ("functions.sh", *files):
        taken[name] = paths.LAB / "guest" / name
    folder = paths.modules_folder(chosen.release)
    for name in ("fgio.ko", "simdisk.ko"):
        if (folder / name).is_file():
            taken[f"modules/{name}"] = folder / name
    return taken


def settings(values: Mapping[str, object]) -> str:
    """Values as a guest's script reads them with `.`: a shell variable each."""
    return "".join(f"{name}={shlex.quote(str(value))}\n" for name, value in values.items())


def script_payload(
    chosen: kernel.Kernel,
    configuration: Configuration,
    name: str,
    values: Mapping[str, object],
    *files: str,
) -> dict[str, Path | str]:
    """The payload of boots that run guest/NAME.sh on a simulated disk: settings are in NAME.env.

    Raises LabError when something of it has not been built.
    """
    is_ours = configuration.loads_fgio
    ours = (["fgio"] if is_ours else []) + (["fgio_gate"] if configuration.gate else [])
    need_modules(chosen, "simdisk", *ours)
    taken = payload(chosen, f"{name}.sh", *files)
    if configuration.gate:
        taken["modules/fgio_gate.ko"] = paths.modules_folder(chosen.release) / "fgio_gate.ko"
    taken[f"{name}.env"] = settings(values)
    if is_ours:
        taken["bin/fgio"] = fgio_command()
    else:
        # A boot without it stays the same boot when it changes.
        taken.pop("modules/fgio.ko", None)
    return taken


def shares_of(file: Path) -> dict[str, dict]:
    """Cgroup -> its part of the drive's time as `fgio share list` has it; empty without shares."""
    if not file.is_file():
        return {}
    disks = json.loads(file.read_text())["disks"]
    return {group["cgroup"]: group for disk in disks for group in disk["cgroups"]}


def disk_settings(configuration: Configuration, device: str, seed: int) -> dict[str, object]:
    """The simulated disk, its elevator and what that and the module are set to."""
    return {
        "DEVICE": device,
        "SEED": seed,
        "ELEVATOR": configuration.elevator,
        "TUNABLES": configuration.tuned(),
        "SETTINGS": " ".join(configuration.parameters()),
    }


def rival_settings(configuration: Configuration, device: str) -> dict[str, object]:
    """A configuration's settings for guest/rivals.sh, without the database's own throttles."""
    values: dict[str, object] = {
        "TUNABLES": configuration.tuned(),
        "QUEUE": configuration.queued(),
        "JOURNAL_PRIORITY": priority(configuration.journal_priority),
    }
    return values | rivals.settings(configuration, device)


def need_modules(chosen: kernel.Kernel, *names: str) -> None:
    """Raises LabError when one of our modules has not been built for this kernel."""
    for name in names:
        if not (paths.modules_folder(chosen.release) / f"{name}.ko").is_file():
            raise host.LabError(
                f"{name}.ko has not been built for {chosen.release}: "
                f"run make -C kmod KERNEL={chosen.version}"
            )


def extra_modules(chosen: kernel.Kernel, names: tuple[str, ...]) -> dict[str, Path | str]:
    """Modules of the kernel that no guest has, for the payload: extra/ and extra.order."""
    folder = paths.BUILD / "tests" / chosen.release / "extra"
    order = kernel.unpack_modules(chosen, names, folder)
    return {"extra": folder, "extra.order": "\n".join(order) + "\n"}


def fgio_command() -> Path:
    """The fgio command. Raises LabError when it has not been built."""
    built = paths.BUILD / "cargo" / "release" / "fgio"
    if not built.is_file():
        raise host.LabError("the fgio command has not been built: run make command")
    return built


def compile_program(name: str, *options: str) -> Path:
    """A program of lab/guest, compiled with options of gcc beside the usual ones."""
    built = paths.BUILD / "guest" / name
    built.parent.mkdir(parents=True, exist_ok=True)
    source = paths.LAB / "guest" / f"{name}.c"
    command = ["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{paths.ROOT}"]
    command += ["-o", str(built), str(source), *options]
    host.run(command, what=f"compiling {name}.c")
    return built


def build_libfgio() -> Path:
    """The folder that has libfgio, built."""
    built = paths.BUILD / "lib"
    command = ["make", "-s", "-C", str(paths.ROOT / "lib"), f"BUILD={built}"]
    host.run(command, what="building libfgio")
    return built


def compile_object(name: str) -> Path:
    """A part in C++ of a program of lab/guest, compiled."""
    built = paths.BUILD / "guest" / f"{name}.o"
    built.parent.mkdir(parents=True, exist_ok=True)
    # Not -I: the repository's ./new would stand for the standard header of that name.
    command = ["g++", "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror"]
    command += ["-iquote", str(paths.ROOT)]
    command += ["-c", "-o", str(built), str(paths.LAB / "guest" / f"{name}.cc")]
    host.run(command, what=f"compiling {name}.cc")
    return built


def check(outcome: guest.Outcome, what: str) -> None:
    """Raises LabError when a guest's commands failed or the kernel complained."""
    if outcome.status:
        tail = "\n".join("  | " + line for line in outcome.output.splitlines()[-20:])
        raise host.LabError(f"{what}: the guest's commands failed ({outcome.status}):\n{tail}")
    trouble = outcome.kernel_trouble()
    if trouble:
        raise host.LabError(f"{what}: trouble in the kernel's log: {trouble[0]}")


def counters(folder: Path, name: str) -> dict[str, int]:
    """A snapshot of `name value` lines; empty when it was not taken."""
    file = folder / name
    if not file.is_file():
        return {}
    pairs = (line.split() for line in file.read_text().splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def oom_kills(folder: Path) -> int:
    """OOM kills in all cgroups, of the `memory.events` that a guest left in `events`."""
    lines = (line.split() for line in (folder / "events").read_text().splitlines())
    return sum(int(value) for name, value in lines if name == "oom_kill")


def grown(folder: Path, kind: str) -> dict[str, int]:
    """How far counters of a kind (fgio, simdisk) rose between the two snapshots of a run."""
    before, after = counters(folder, f"before.{kind}"), counters(folder, f"after.{kind}")
    return {name: value - before.get(name, 0) for name, value in after.items()}


def disk_use(folder: Path, before: str = "before", after: str = "after") -> dict:
    """A disk's work between two snapshots: requests and their mean size after merging."""
    first, last = (
        np.array((folder / f"{name}.stat").read_text().split(), dtype=np.int64)
        for name in (before, after)
    )
    delta = last - first
    use = {}
    for direction, at in (("read", 0), ("write", 4)):
        count, merged, sectors = (int(value) for value in delta[at : at + 3])
        use[direction] = {
            "requests": count,
            "merges": merged,
            "mib": round(sectors * SECTOR_BYTES / host.MIB, 3),
            "mean_kib": round(sectors * SECTOR_BYTES / 1024 / count, 3) if count else None,
        }
    use["flushes"] = int(delta[15]) if len(delta) > 15 else None
    return use


def cpu_idle_percent(folder: Path) -> float:
    """How much of the time between the two snapshots of a run the processors had nothing to do."""
    first, last = (
        np.array((folder / f"{name}.cpu").read_text().split()[1:9], dtype=np.int64)
        for name in ("before", "after")
    )
    spent = last - first
    idle, iowait = spent[3:5]
    return round(float(100 * (idle + iowait) / spent.sum()), 1)


def moments(folder: Path) -> dict[str, float]:
    """The moments that the guest's script noted: event -> s of the wall clock."""
    pairs = (line.split() for line in (folder / "moments").read_text().splitlines())
    return {name: float(at) for name, at in pairs}


def blame(folder: Path, most: int) -> list[dict]:
    """The longest waits of foreground tasks by cause, as `fgio blame` sums them up."""
    file = folder / "blame.json"
    if not file.is_file():
        return []
    return json.loads(file.read_text())["causes"][:most]


SUBMITTED = re.compile(
    r"^\{ comm: (.*?) *, ioprio: +(\d+), rwbs: *(\S+) *\} hitcount: +(\d+) +bytes: +(\d+)", re.M
)
IO_CLASSES = ("none", "realtime", "best-effort", "idle")
IO_CLASS_SHIFT = 13
IO_LEVELS = 8


def submitters(folder: Path) -> list[dict]:
    """The I/O of each thread at the elevator, most MiB first, as keep_submitters leaves it.

    class, level: of the request's priority; what: kind of I/O, as the kernel's traces have it
    """
    file = folder / "submitters"
    if not file.is_file():
        return []
    found = [
        {
            "thread": name,
            "class": IO_CLASSES[int(priority) >> IO_CLASS_SHIFT],
            "level": int(priority) % IO_LEVELS,
            "what": kind,
            "requests": int(count),
            "mib": round(int(moved) / host.MIB, 3),
        }
        for name, priority, kind, count, moved in SUBMITTED.findall(file.read_text())
    ]
    return sorted(found, key=lambda one: -one["mib"])


def background_io(requests: Requests, moved: int, duration_s: float) -> dict:
    """The background's figures in an experiment with fio."""
    return {
        "iops": round(len(requests) / duration_s, 3),
        "mib_s": round(moved / host.MIB / duration_s, 3),
        "n": len(requests),
    }
