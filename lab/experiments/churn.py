# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Processor time of fgiod while processes come and go, and its delay in tagging a thread.

A thousand processes a second end as soon as they have started. Beside them processes and threads
start that a profile calls foreground: they look at their own tags.
"""

import json
import re
from pathlib import Path

import numpy as np
from rich.table import Table

from lab import figures, guest, host, kernel, paths, summary
from lab.configurations import Configuration
from lab.experiments.base import (
    NS_PER_S,
    Experiment,
    Row,
    check,
    compile_program,
    fgio_command,
    need_modules,
    payload,
    settings,
)
from lab.figures import Requests

RATE = 1000
# Of each kind.
NAMED_RATE = 20
# As fgiod looks through /proc every 10 s: once at least.
REST_S = 12
SAMPLE_S = 5
KINDS = {
    "exec": "a process that executes a program: from its main()",
    "title": "a child: from its title, written 0 to 40 ms after its start",
    "rename": "a thread: from its name, written when it starts",
}
HEADINGS = {
    "starts_per_s": "starts/s",
    "cpu_percent": "fgiod, % of a CPU",
    "overruns": "overruns",
    "rss_before_kib": "RSS before, KiB",
    "rss_most_kib": "most",
    "rss_after_kib": "after",
    "followed_most": "threads followed",
    "followed_after": "after",
    "tagged_after": "tags after",
}


class Churn(Experiment):
    """A thousand process starts a second for a minute, and some of them foreground."""

    name = "churn"
    description = "fgiod beside 1,000 process starts a second: processor, memory, delay of tags"
    configurations = ("fgio",)
    duration_s = 60
    setup_s = 2 * REST_S + 8
    limit_s = 3000
    units = {
        "foreground.throughput": "threads a second that became foreground, of one kind",
        "foreground.p*_ms": "from when title or name could be seen to the tag",
        "starts_per_s": "processes started per second that no profile is about",
        "start_late_ms": "how late the latest start was",
        "cpu_percent": "of one processor, by fgiod",
        "overruns": "times that process events were lost",
        "rss_*_kib": "resident memory of fgiod before, at most, and after",
        "followed_*": "threads that fgiod keeps in mind, at most and after",
        "never": "threads that were not foreground within a second",
    }

    def prepare(self) -> None:
        compile_program("churn", "-static", "-pthread")

    def boot(
        self, chosen: kernel.Kernel, configuration: Configuration, seed: int, variant: str
    ) -> guest.Boot:
        need_modules(chosen, "fgio")
        taken = payload(chosen, "churn.sh", "fgiod.sh")
        taken["churn.env"] = settings(
            {
                "RATE": RATE,
                "NAMED_RATE": NAMED_RATE,
                "DURATION_S": int(self.duration_s),
                "REST_S": REST_S,
                "SAMPLE_S": SAMPLE_S,
            }
        )
        taken["programs/churn"] = paths.BUILD / "guest" / "churn"
        taken["bin/fgio"] = fgio_command()
        taken["bin/fgiod"] = fgio_command().with_name("fgiod")
        taken["profiles"] = paths.ROOT / "profiles"
        return guest.Boot(
            kernel=chosen,
            commands="bash $PAYLOAD/churn.sh",
            payload=taken,
            limit_s=self.limit_s,
            seed=seed,
        )

    def read(
        self, outcome: guest.Outcome, configuration: Configuration, seed: int, variant: str
    ) -> list[Row]:
        check(outcome, self.name)
        folder = outcome.results
        extra = _daemon(folder) | {"virtual_s": outcome.virtual_s}
        rows = []
        for kind in KINDS:
            requests, never = _watched(folder / kind)
            cell = {"cell": kind, "never": never}
            foreground = figures.summarize(requests, self.duration_s)
            rows.append(Row(configuration.name, seed, foreground, {}, cell | extra, requests))
        return rows

    def table(self, rows: list[Row]) -> Table:
        drawn = Table(title=f"{self.name}: {self.description}", title_justify="left")
        for heading in _headings():
            drawn.add_column(heading, justify="right")
        for row in rows:
            drawn.add_row(*_texts(row))
        return drawn

    def markdown(self, content: dict, rows: list[Row]) -> str:
        """The figures as Markdown."""
        lines = [
            "# fgiod under churn",
            "",
            f"{RATE:,} starts a second for {content['duration_s']} s that no profile is about, and "
            f"{NAMED_RATE} a second of each of these, which a profile calls foreground:",
            "",
            *(f"- {kind}: {meaning}" for kind, meaning in KINDS.items()),
            "",
            f"Kernel {content['kernel_release']}, virtual time (an instruction each nanosecond), "
            f"made by `{content['command']}`.",
            "",
            f"| {' | '.join(_headings())} |",
            f"|---|{'--:|' * (len(_headings()) - 1)}",
            *(f"| {' | '.join(_texts(row))} |" for row in rows),
        ]
        return "\n".join(lines) + "\n"


def _headings() -> list[str]:
    return ["cell", "seed", "threads", "p50 ms", "p99 ms", "max ms", "never", *HEADINGS.values()]


def _texts(row: Row) -> list[str]:
    texts = [row.extra["cell"], str(row.seed), str(row.foreground["n"])]
    texts += [summary.number(row.foreground[name]) for name in ("p50_ms", "p99_ms", "max_ms")]
    texts += [str(row.extra["never"])]
    return texts + [summary.number(row.extra[name]) for name in HEADINGS]


def _watched(record: Path) -> tuple[Requests, int]:
    """How long each thread of a kind was not foreground yet, and how many never were."""
    pairs = [[int(word) for word in line.split()] for line in record.read_text().splitlines()]
    taken = [(at / 1e6, took / 1e6) for at, took in pairs if took >= 0]
    requests = Requests(*np.array(taken).T) if taken else Requests.none()
    return requests, len(pairs) - len(taken)


def _metric(folder: Path, moment: str, name: str) -> float:
    text = (folder / f"{moment}.metrics").read_text()
    found = re.search(rf"^{name} ([0-9.e+-]+)$", text, re.MULTILINE)
    if not found:
        raise host.LabError(f"fgiod says no {name} ({moment})")
    return float(found.group(1))


def _daemon(folder: Path) -> dict:
    """CPU time and memory of fgiod, by samples of UPTIME HIGH-WATER RSS PROCESSES THREADS."""
    count, elapsed_ns, latest_ns = (int(word) for word in (folder / "starts").read_text().split())
    samples = [
        [float(word) for word in line.split()]
        for line in (folder / "samples").read_text().splitlines()
    ]
    before, *during, after = samples
    last = f"during{round(SAMPLE_S * len(during))}"
    cpu_s, overruns = (
        [_metric(folder, moment, name) for moment in ("before", last, "after")]
        for name in ("fgio_daemon_cpu_seconds_total", "fgio_process_event_overruns_total")
    )
    tags = json.loads((folder / "after.status").read_text())["tags"]
    return {
        "starts_per_s": round(count * NS_PER_S / elapsed_ns, 1),
        "start_late_ms": round(latest_ns / 1e6, 3),
        "cpu_percent": round(100 * (cpu_s[1] - cpu_s[0]) / (during[-1][0] - before[0]), 3),
        "overruns": int(overruns[2]),
        "rss_before_kib": int(before[2]),
        "rss_first_kib": int(during[0][2]),
        "rss_last_kib": int(during[-1][2]),
        "rss_most_kib": int(after[1]),
        "rss_after_kib": int(after[2]),
        "followed_most": int(max(sample[4] for sample in during)),
        "followed_after": int(after[4]),
        "tagged_after": len(tags),
        "samples": [
            dict(zip(("uptime_s", "hwm_kib", "rss_kib", "processes", "threads"), s, strict=True))
            for s in samples
        ],
    }
