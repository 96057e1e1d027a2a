# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`lab/boot`: one guest, some commands, their output. For trying things by hand."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from lab import guest, host, image, kernel, paths


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lab/boot",
        description="Boots a stock kernel, runs commands as root in it, and exits with their "
        "status. fgio.ko and the lab's modules are in $PAYLOAD/modules when they have been built; "
        "files left in $RESULTS come back with --results.",
    )
    parser.add_argument("--kernel", default="6.12", help=f"one of {', '.join(kernel.VERSIONS)}")
    parser.add_argument("--payload", type=Path, help="folder whose content appears in $PAYLOAD")
    parser.add_argument(
        "--disk",
        type=Path,
        action="append",
        default=[],
        help="raw image, seen as /dev/lab/disk1, ...; may be repeated",
    )
    parser.add_argument(
        "--data-mib",
        type=int,
        default=0,
        help="adds an empty disk of this size as the last /dev/lab/diskN",
    )
    parser.add_argument("--smp", type=int, default=1, help="virtual CPUs")
    parser.add_argument(
        "--fast",
        action="store_true",
        help="several times faster; times mean nothing",
    )
    parser.add_argument(
        "--mem", type=int, default=1536, help="guest memory in MiB (a debug kernel gets more)"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=300,
        help="limit in host seconds (a debug kernel gets more)",
    )
    parser.add_argument("--append", default="", help="added to the kernel's command line")
    parser.add_argument("--results", type=Path, help="where to put the files of $RESULTS")
    parser.add_argument("--live", action="store_true", help="shows the console while it grows")
    parser.add_argument("--log", action="store_true", help="prints the kernel's log at the end")
    parser.add_argument("commands", nargs="+", help="shell commands, after --")
    return parser


def _payload(options: argparse.Namespace, release: str) -> dict[str, Path | str]:
    payload: dict[str, Path | str] = {}
    modules = paths.modules_folder(release)
    for name in paths.MODULES:
        if (modules / name).is_file():
            payload[f"modules/{name}"] = modules / name
    if options.payload:
        if not options.payload.is_dir():
            raise host.LabError(f"--payload {options.payload}: no such folder")
        for entry in options.payload.iterdir():
            payload[entry.name] = entry
    return payload


def _disks(options: argparse.Namespace, scratch: Path) -> tuple[Path, ...]:
    for disk in options.disk:
        if not disk.is_file():
            raise host.LabError(f"--disk {disk}: no such file")
    disks = list(options.disk)
    if options.data_mib:
        empty = scratch / "empty"
        with empty.open("wb") as file:
            file.truncate(image.round_up(options.data_mib * host.MIB))
        disks.append(empty)
    return tuple(disks)


class _Follow:
    def __init__(self):
        self.shown = 0

    def __call__(self, console: str) -> None:
        sys.stderr.write(console[self.shown :])
        sys.stderr.flush()
        self.shown = len(console)


def _boot(options: argparse.Namespace) -> int:
    chosen = kernel.locate(options.kernel)
    with tempfile.TemporaryDirectory(prefix="fgio-boot.") as name:
        boot = guest.Boot(
            kernel=chosen,
            commands=" ".join(options.commands),
            payload=_payload(options, chosen.release),
            disks=_disks(options, Path(name)),
            cpus=options.smp,
            memory_mib=options.mem,
            counted_clock=not options.fast,
            limit_s=options.timeout,
            append=options.append,
            heartbeat_s=0,
        )
        outcome = guest.run(boot, Path(name) / "out", _Follow() if options.live else None)
        print(outcome.output)
        if options.log:
            print(outcome.kernel_log)
        for line in outcome.kernel_trouble():
            host.tell(f"lab/boot: in the kernel's log: {line}")
        if options.results:
            shutil.copytree(outcome.results, options.results, dirs_exist_ok=True)
        host.tell(
            f"lab/boot: status {outcome.status}, {outcome.virtual_s:.1f} s in the guest, "
            f"{outcome.host_s:.1f} s here"
        )
        return outcome.status


def main() -> int:
    """Entry of lab/boot; 125 is the exit status when the guest itself failed."""
    options = _parser().parse_args()
    host.end_on_signals()
    try:
        return _boot(options)
    except host.LabError as error:
        host.tell(f"lab/boot: {error}")
        return 125
    except KeyboardInterrupt:
        host.finish_all()
        host.tell("lab/boot: interrupted; nothing is left running")
        return 130


if __name__ == "__main__":
    sys.exit(main())
