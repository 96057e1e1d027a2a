# SPDX-License-Identifier: Apache-2.0 OR MIT
"""report.html: one file with figures and drawings, readable without a network."""

import io
from collections import defaultdict
from pathlib import Path

import jinja2
import matplotlib.pyplot as plt

from lab import drawings, host, paths, summary
from lab.configurations import BY_NAME
from lab.experiments.base import Experiment, Row


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


def write(experiment: Experiment, content: dict, rows: list[Row], folder: Path) -> Path:
    """Writes report.html (or report.md) into a folder, whole or not at all.

    Where requests were measured, their distribution is in latency.svg as well.
    """
    own = experiment.markdown(content, rows)
    if own:
        for name, drawing in experiment.drawings(rows).items():
            with host.whole(folder / f"{name}.svg") as fresh:
                fresh.write_text(_svg(drawing))
        with host.whole(folder / "report.md") as fresh:
            fresh.write_text(own)
        return folder / "report.md"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(paths.LAB), autoescape=True, trim_blocks=True
    )
    environment.filters["number"] = summary.number
    single_cell = not any("cell" in row.extra for row in rows)
    drawn = single_cell and any(len(row.requests) for row in rows)
    ccdf = _svg(drawings.ccdf(rows)) if drawn else ""
    lines = summary.medians(rows)
    text = environment.get_template("report.html.j2").render(
        experiment=experiment,
        content=content,
        lines=lines,
        background=list(dict.fromkeys(name for line in lines for name in line["background"])),
        cells=not single_cell,
        extras={name: summary.EXTRAS[name] for name in summary.shown_extras(lines)},
        seeds=sorted({row.seed for row in rows}),
        ccdf=ccdf,
        rates=_svg(drawings.rates(rows)) if drawn else "",
        waits=wait_table(rows),
        configurations=[BY_NAME[name] for name in dict.fromkeys(row.config for row in rows)],
    )
    if ccdf:
        with host.whole(folder / "latency.svg") as fresh:
            fresh.write_text(ccdf)
    target = folder / "report.html"
    with host.whole(target) as fresh:
        fresh.write_text(text)
    return target
