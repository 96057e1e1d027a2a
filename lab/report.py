# SPDX-License-Identifier: Apache-2.0 OR MIT
"""report.html, one file with figures and drawings that needs no network, or report.md.

`lab/report` makes them again from summary.json.
"""

import argparse
import copy
import io
import re
import sys
from collections import defaultdict
from pathlib import Path

import jinja2
import matplotlib.pyplot as plt

from lab import cells, claims, drawings, experiments, fleet, host, paths, replay, summary
from lab.configurations import BY_NAME
from lab.experiments import scenarios
from lab.experiments.base import Experiment, Row

# In a page: lab/report makes the text between them.
BEGIN, END = "<!-- lab/report: begin -->", "<!-- lab/report: end -->"


def _svg(figure) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    drawn = text.getvalue()
    return drawn[drawn.index("<svg") :]


def wait_table(rows: list[Row], most: int = 10) -> dict:
    """Shares of wait events, one column a configuration (means over seeds), largest first."""
    shares: dict[str, dict[str, float]] = defaultdict(dict)
    configs = list(dict.fromkeys(row.config for row in rows if row.extra.get("waits")))
    for config in configs:
        members = [row.extra["waits"] for row in rows if row.config == config]
        for event in {event for member in members for event in member}:
            mean = sum(member.get(event, 0) for member in members) / len(members)
            shares[event][config] = mean
    ordered = sorted(shares, key=lambda event: -max(shares[event].values()))[:most]
    events = [(event, [shares[event].get(config, 0) for config in configs]) for event in ordered]
    return {"configs": configs, "events": events} if events else {}


def write(experiment: Experiment, content: dict, folder: Path) -> list[Path]:
    """Writes report.html (or report.md) and its drawings into a folder, each whole or not at all.

    content: of summary.json, and all that is read: the same summary gives the same files
    """
    rows = experiment.rows_of(content)
    own = experiment.markdown(content, rows)
    if own:
        files = {
            f"{name}.svg": _svg(one) for name, one in experiment.drawings(content, rows).items()
        }
        return _keep(folder, {"report.md": own, **files})
    curves = content.get("curves", {}).get("")
    ccdf = _svg(drawings.ccdf(curves)) if curves else ""
    files = {"report.html": _html(experiment, content, rows, ccdf)}
    return _keep(folder, files | ({"latency.svg": ccdf} if ccdf else {}))


def _keep(folder: Path, files: dict[str, str]) -> list[Path]:
    for name, text in files.items():
        with host.whole(folder / name) as fresh:
            fresh.write_text(text)
    return [folder / name for name in files]


def _html(experiment: Experiment, content: dict, rows: list[Row], ccdf: str) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(paths.LAB), autoescape=True, trim_blocks=True
    )
    environment.filters["number"] = summary.number
    lines = summary.medians(rows)
    rates = content.get("rates")
    return environment.get_template("report.html.j2").render(
        experiment=experiment,
        content=content,
        lines=lines,
        background=list(dict.fromkeys(name for line in lines for name in line["background"])),
        cells=any("cell" in row.extra for row in rows),
        extras={name: summary.EXTRAS[name] for name in summary.shown_extras(lines)},
        seeds=sorted({row.seed for row in rows}),
        ccdf=ccdf,
        rates=_svg(drawings.rates(rates)) if rates else "",
        waits=wait_table(rows),
        configurations=[BY_NAME[name] for name in dict.fromkeys(row.config for row in rows)],
    )


def fleet_drawings(content: dict) -> dict[str, str]:
    """The drawings of lab/run fleet, by file."""
    drawn = fleet.drawings(content)
    return {f"{name}.svg": _svg(one) for name, one in drawn.items()}


def again(folder: Path, out: Path) -> list[Path]:
    """Makes the report and the drawings of a folder's summary.json once more.

    Raises LabError for a summary that has none: its page shows all that there is.
    """
    content = summary.load(folder)
    if "claims" in content:
        return _keep(out, {"report.md": claims.report(content)})
    if "cells" in content:
        return _keep(out, {"report.md": cells.markdown(content)})
    if "fleet" in content:
        return _keep(out, {"report.md": fleet.markdown(content), **fleet_drawings(content)})
    if "replay" in content:
        return _keep(out, {"report.md": replay.markdown(content)})
    if "experiment" not in content:
        raise host.LabError(f"{folder}: made by {content.get('command')}, which has no report")
    experiment = copy.copy(experiments.find(content["experiment"]))
    experiment.device = content["device"]
    return write(experiment, content, out)


def refreshed(page: str, report: str) -> str:
    """A page with a report in Markdown, without its title, between the page's marks."""
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    return f"{page[:begin]}\n{report.split(chr(10), 1)[1]}\n{page[end:]}"


def refresh(folder: Path, report: str) -> None:
    """Puts a report in Markdown into a folder's README.md, where that has a place for it."""
    page = folder / "README.md"
    if not page.is_file() or BEGIN not in page.read_text():
        return
    text = refreshed(page.read_text(), report)
    with host.whole(page) as fresh:
        fresh.write_text(text)
    print(page)


def index(folder: Path) -> str:
    """Every summary below a folder, a line each."""
    lines = ["# Every summary", "", "| summary | seeds | commit | made by |", "|---|--:|---|---|"]
    for file in sorted(folder.rglob(summary.NAME), key=lambda one: one.parent):
        content = summary.load(file.parent)
        seeds = {row["seed"] for row in content.get("rows", ()) if "seed" in row}
        name = file.parent.relative_to(folder)
        texts = [f"[{name}]({name}/{summary.NAME})", str(len(seeds) or "")]
        texts += [(content.get("commit") or "")[:12]]
        texts += [" ".join(f"`{one}`" for one in _commands(content))]
        lines.append(f"| {' | '.join(texts)} |")
    return "\n".join(lines) + "\n"


def _commands(content: dict) -> list[str]:
    """The commands of a summary, which may be joined from several, without the folder."""
    said = content.get("command", "").split("; ")
    return [re.sub(r" --(resume|out \S+)", "", one) for one in said if one]


def _beside(before: Path, folders: list[Path]) -> int:
    """Prints the scenarios of two summaries side by side; returns the exit status."""
    if len(folders) > 1:
        host.tell("lab/report: --before takes one FOLDER")
        return 2
    try:
        print(scenarios.beside(summary.load(before), summary.load(folders[0])), end="")
    except host.LabError as error:
        host.tell(f"lab/report: {error}")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lab/report",
        description="Makes reports and drawings again from summary.json, and puts tables into "
        "README.md where that has a place for them.",
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="has summary.json")
    parser.add_argument(
        "--index", action="store_true", help="lists the summaries below FOLDER in its README.md"
    )
    parser.add_argument(
        "--before",
        type=Path,
        metavar="EARLIER",
        help="prints the scenarios of EARLIER and FOLDER, which have summary.json, side by side",
    )
    parser.add_argument("--out", type=Path, help="where to put them (default: FOLDER)")
    return parser


def main() -> int:
    """Entry of lab/report: exit status 0, or 1 for a folder without a report."""
    options = _parser().parse_args()
    if options.out and len(options.folders) > 1:
        host.tell("lab/report: --out takes one FOLDER")
        return 2
    if options.before:
        return _beside(options.before, options.folders)
    failed = False
    for folder in options.folders:
        if options.index:
            refresh(folder, index(folder))
            continue
        try:
            files = again(folder, options.out or folder)
        except host.LabError as error:
            host.tell(f"lab/report: {error}")
            failed = True
            continue
        print("\n".join(str(file) for file in files))
        if not options.out and files[0].suffix == ".md":
            refresh(folder, files[0].read_text())
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
