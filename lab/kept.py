# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Outcomes of earlier boots, kept while the same boot would be made again."""

import dataclasses
import hashlib
import json
from pathlib import Path

from lab import guest, host, paths

RECORD = "boot.json"
# Of every guest, before its commands.
FIRST_SCRIPTS = ("initramfs-init", "init")


def _content(source: Path | str) -> bytes:
    """A digest of text, of a file, or of a folder with all that is in it."""
    digest = hashlib.sha256()
    if isinstance(source, str):
        digest.update(source.encode())
    elif source.is_dir():
        for file in sorted(file for file in source.rglob("*") if file.is_file()):
            digest.update(f"{file.relative_to(source)}\0".encode() + _content(file))
    else:
        digest.update(source.read_bytes())
    return digest.digest()


def fingerprint(boot: guest.Boot) -> str:
    """Changes with everything that a boot's outcome depends on.

    Disks count by name: names in the cache change with the disks' ingredients.
    """
    digest = hashlib.sha256()
    for name in FIRST_SCRIPTS:
        digest.update(_content(paths.LAB / "guest" / name))
    for each in dataclasses.fields(boot):
        value = getattr(boot, each.name)
        if each.name == "payload":
            for name in sorted(value):
                digest.update(name.encode() + b"\0" + _content(value[name]))
        elif each.name == "kernel":
            digest.update(value.release.encode())
        elif each.name == "disks":
            digest.update(repr([disk.name for disk in value]).encode())
        elif each.name not in ("limit_s", "host_mib"):
            digest.update(repr((each.name, value)).encode())
    return digest.hexdigest()


def save(outcome: guest.Outcome, mark: str) -> None:
    """Keeps a boot's outcome beside its results, under its fingerprint."""
    (outcome.results / "console").write_text(outcome.console)
    record = {
        "fingerprint": mark,
        "status": outcome.status,
        "output": outcome.output,
        "virtual_s": outcome.virtual_s,
        "host_s": outcome.host_s,
    }
    with host.whole(outcome.results / RECORD) as fresh:
        fresh.write_text(json.dumps(record, indent=1) + "\n")


def load(folder: Path, mark: str) -> guest.Outcome | None:
    """The outcome that save() kept there; None when there is none, or of another boot."""
    try:
        record = json.loads((folder / RECORD).read_text())
        if record.pop("fingerprint") != mark:
            return None
        return guest.Outcome(
            console=(folder / "console").read_text(),
            kernel_log=(folder / "kernel.log").read_text(errors="replace"),
            results=folder,
            **record,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
