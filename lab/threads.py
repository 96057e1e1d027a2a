# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Classes of threads: the kernel's tags beside the list of all threads."""

import json
import re
from collections import Counter
from pathlib import Path


def by_class(folder: Path, programs: str) -> dict[str, dict[str, dict[str, int]]]:
    """Threads of programs, from the lists of list_threads (guest/databases.sh) in a folder.

    programs: regular expression of the command names of processes
    Returns moment -> class -> name of a thread, or title of a process, and how many have it.
    """
    return {
        file.name.removeprefix("status."): _at(file, programs)
        for file in sorted(folder.glob("status.*"), key=lambda file: file.stat().st_mtime)
        if file.with_name(file.name.replace("status.", "threads.", 1)).is_file()
    }


def _at(status: Path, programs: str) -> dict[str, dict[str, int]]:
    tags = {tag["tid"]: tag["class"] for tag in json.loads(status.read_text())["tags"]}
    listed = status.with_name(status.name.replace("status.", "threads.", 1)).read_text()
    threads = [line.split(None, 3) for line in listed.splitlines()]
    mains = {pid: comm for pid, tid, comm, *_ in threads if pid == tid}
    classes: dict[str, Counter] = {
        "foreground": Counter(),
        "background": Counter(),
        "none": Counter(),
    }
    for pid, tid, comm, *title in threads:
        if re.fullmatch(programs, mains.get(pid, "")):
            shown = title[0] if pid == tid and title else comm
            classes[tags.get(int(tid), "none")][shown] += 1
    return {name: dict(found) for name, found in classes.items() if found}
