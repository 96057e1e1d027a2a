# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`lab/run`: one experiment, its summary and its report."""

import argparse
import shlex
import sys
from pathlib import Path

from rich.console import Console

from lab import (
    claims,
    configurations,
    drives,
    experiments,
    fleet,
    host,
    kernel,
    paper,
    replay,
    report,
    runner,
    source,
    summary,
)
from lab.experiments.base import Row

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

HELP = "help"
# Of the guests' processors, in instructions a nanosecond.
SPEEDS = range(1, 17)


class UsageError(host.LabError):
    """A wrong option; the exit status says so."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lab/run",
        description="Runs an experiment in virtual time on a stock kernel and writes "
        "summary.json, report.html and the raw data.",
    )
    parser.add_argument("experiment", nargs="?", help="its name; see --list")
    parser.add_argument("--list", action="store_true", help="describes every experiment in a line")
    parser.add_argument(
        "--configs", help="configurations, separated by commas; help lists the experiment's"
    )
    parser.add_argument("--seeds", type=int, default=1, help="runs with seeds 1 to N (default 1)")
    parser.add_argument("--kernel", default="6.12", help=" or ".join(kernel.VERSIONS))
    parser.add_argument(
        "--device",
        metavar="DRIVE",
        help="another drive than the experiment's own: a model or one of the family by name, "
        "with parameters as in 'volume:iops=16000,sigma=0.5'; @FILE with a drive; help lists all",
    )
    parser.add_argument(
        "--instructions-per-ns",
        type=int,
        metavar="N",
        help="speed of the guests' processors, 1 to 16 (default: the experiment's own, mostly 1)",
    )
    parser.add_argument(
        "--demo", action="store_true", help="the configurations that tell the story, and no more"
    )
    parser.add_argument("--only", help="regular expression for names of parts: those alone")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="keeps the boots of --out that would be the same again",
    )
    parser.add_argument("--out", type=Path, help="folder of the results")
    parser.add_argument(
        "--of", type=Path, metavar="FOLDER", help=f"of {replay.NAME}: results of lab/run sharded"
    )
    return parser


def list_experiments() -> None:
    """Prints every experiment in a line."""
    for experiment in experiments.ALL.values():
        print(f"{experiment.name:<12} {experiment.description}")
    for other in (fleet, replay, paper):
        print(f"{other.NAME:<12} {other.DESCRIPTION}")


def list_configurations(name: str | None) -> None:
    """Prints the configurations that an experiment (or any, without a name) has, a line each.

    A star: it runs under them when none is asked for. Raises LabError for an unknown experiment.
    """
    usual: tuple[str, ...] = ()
    valid = list(configurations.BY_NAME)
    if name in (fleet.NAME, replay.NAME):
        for each in (fleet if name == fleet.NAME else replay).CONFIGURATIONS:
            print(f"* {each:<26} {fleet.WHAT[each]}")
        return
    if name == paper.NAME:
        usual = valid = configurations.EVALUATION
    elif name:
        experiment = experiments.find(name)
        usual, valid = experiment.configurations, experiment.valid()
    for each in valid:
        star = "*" if each in usual else " "
        print(f"{star} {each:<26} {configurations.BY_NAME[each].description}")


def finish(
    plan: runner.Plan,
    rows: list[Row],
    chosen: kernel.Kernel,
    command: str,
    of: dict,
) -> None:
    """Writes all of a plan's output, and prints its table.

    of: source.commit() of when the run began
    """
    rows = plan.experiment.completed(rows)
    content = summary.build(plan.experiment, chosen, rows, command, of)
    summary.write(content, plan.out)
    written, *_ = report.write(plan.experiment, summary.load(plan.out), plan.out)
    Console(width=None if sys.stdout.isatty() else 160).print(summary.table(plan.experiment, rows))
    print(f"summary: {plan.out / 'summary.json'}\nreport:  {written}", flush=True)


def _plan(options: argparse.Namespace) -> runner.Plan:
    """The plan that the options ask for. Raises LabError when it makes no sense."""
    experiment = experiments.find(options.experiment)
    if options.device:
        experiment.choose_device(options.device)
    if options.only:
        experiment.choose_part(options.only)
    names = options.configs.split(",") if options.configs else experiment.configurations
    if options.demo:
        names = experiment.demo_configurations or names
    chosen = configurations.choose(names, experiment.valid())
    speed = options.instructions_per_ns
    return runner.Plan(experiment, tuple(chosen), options.seeds, options.out, speed)


def _plans(options: argparse.Namespace) -> list[runner.Plan]:
    try:
        if options.kernel not in kernel.VERSIONS:
            raise host.LabError(
                f"unknown kernel {options.kernel}; choose one of: {', '.join(kernel.VERSIONS)}"
            )
        if options.seeds < 1:
            raise host.LabError(f"--seeds {options.seeds}: give a number of runs, 1 or more")
        if options.instructions_per_ns not in (None, *SPEEDS):
            raise host.LabError(
                f"--instructions-per-ns {options.instructions_per_ns}: give "
                f"{SPEEDS.start} to {SPEEDS.stop - 1}"
            )
        plans = paper.plans(options) if options.experiment == paper.NAME else [_plan(options)]
        if not any(plan.tasks() for plan in plans):
            raise host.LabError(
                "nothing to run: the chosen parts have no boot on this device with these "
                "configurations; choose others"
            )
        if not options.out:
            raise host.LabError("where to? give --out DIR, a folder for summary and report")
        return plans
    except host.LabError as error:
        raise UsageError(str(error)) from error


def _fleet(options: argparse.Namespace) -> dict:
    """The content of the simulator's summary.json but its source."""
    try:
        asked = fleet.plan(options.only, options.configs, options.seeds)
    except host.LabError as error:
        raise UsageError(str(error)) from error
    return fleet.run(asked, host.tell)


def _replay(options: argparse.Namespace) -> dict:
    """The same for recorded loads."""
    if not options.of:
        raise UsageError("which load? give --of FOLDER, results of lab/run sharded")
    if options.only:
        raise UsageError(f"{replay.NAME} has all recordings of a folder: leave --only out")
    try:
        configs = fleet.choose(options.configs, replay.CONFIGURATIONS)
    except host.LabError as error:
        raise UsageError(str(error)) from error
    return replay.run(options.of, configs, options.seeds, host.tell)


def _simulate(options: argparse.Namespace, command: str, of: dict) -> None:
    """What boots nothing. `of` as in finish()."""
    if options.device or options.instructions_per_ns or options.demo or options.resume:
        raise UsageError(
            f"{options.experiment} has drives of its own and no guest: leave these options out"
        )
    if options.seeds < 1:
        raise UsageError(f"--seeds {options.seeds}: give a number of runs, 1 or more")
    if not options.out:
        raise UsageError("where to? give --out DIR, a folder for summary and report")
    found = (_fleet if options.experiment == fleet.NAME else _replay)(options)
    content = {**of, "command": command, **found}
    options.out.mkdir(parents=True, exist_ok=True)
    written = summary.write(content, options.out)
    print(f"summary: {written}\nreport:  {report.again(options.out, options.out)[0]}", flush=True)


def _main(options: argparse.Namespace, command: str) -> None:
    if options.list:
        list_experiments()
        return
    if options.device == "help":
        print(drives.help_text(), end="")
        return
    if options.configs == HELP:
        list_configurations(options.experiment)
        return
    if not options.experiment:
        raise UsageError("which experiment? lab/run --list describes them")
    # Before hours of boots, in which others may commit.
    of = source.commit()
    if options.of and options.experiment != replay.NAME:
        raise UsageError(f"--of is of {replay.NAME} alone: leave it out")
    if options.experiment in (fleet.NAME, replay.NAME):
        _simulate(options, command, of)
        return
    plans = _plans(options)
    chosen = kernel.locate(options.kernel)
    options.out.mkdir(parents=True, exist_ok=True)

    def done(plan: runner.Plan, rows: list[Row]) -> None:
        finish(plan, rows, chosen, command, of)

    resumed = options.resume or options.experiment == paper.NAME
    runner.run(plans, chosen, Console(stderr=True), done, resumed)
    if options.experiment == paper.NAME:
        names = [figure.name for figure in paper.FIGURES]
        print(f"all of it: {claims.write(names, options.out, {**of, 'command': command})}")


def guarded(what: str, work) -> int:
    """Runs `work`; turns an error into a message and an exit status."""
    host.end_on_signals()
    try:
        work()
        return 0
    except UsageError as error:
        host.tell(f"{what}: {error}")
        return EXIT_USAGE
    except host.LabError as error:
        host.finish_all()
        host.tell(f"{what}: {error}")
        return EXIT_FAILED
    except OSError as error:
        host.finish_all()
        where = f" ({error.filename})" if error.filename else ""
        host.tell(f"{what}: {error.strerror}{where}")
        return EXIT_FAILED
    except KeyboardInterrupt:
        host.finish_all()
        host.tell(f"{what}: interrupted; nothing is left running")
        return EXIT_INTERRUPTED


def main() -> int:
    """Entry of lab/run."""
    options = _parser().parse_args()
    command = shlex.join(["lab/run", *sys.argv[1:]])
    return guarded("lab/run", lambda: _main(options, command))


if __name__ == "__main__":
    sys.exit(main())
