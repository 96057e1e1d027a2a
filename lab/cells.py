# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The tables of scripts/cells: in which cells a policy is good. Made from summary.json."""

from collections import Counter

# The counts of a policy, in the order of the columns.
KINDS = ("good", "free", "kept", "beyond", "dominated")


def markdown(content: dict) -> str:
    """The tables of a summary.json of scripts/cells, in Markdown."""
    commit = f"commit {(content.get('commit') or 'unknown')[:12]}"
    changes = " with changes" if content.get("dirty") else ""
    lines = [
        "# Cells",
        "",
        f"{_count(sum(cell['seeds'] for cell in content['cells'].values()))} cells, simulated, "
        f"{commit}{changes}, made by `{content['command']}`, `SEED={content['seed']}`.",
    ]
    if "policies" in content:
        lines += ["", "Cells in which a policy does what it must, and others do not dominate it:"]
        lines += ["", *_policies(content["policies"])]
    good = _good(content["cells"])
    lines += ["", "Cells in which the learnt depth is good:", ""]
    lines += _crossed("drive", good, 0, 1)
    lines += ["", *_crossed("foreground", good, 1, 2)]
    return "\n".join(lines) + "\n"


def _count(number: int) -> str:
    return f"{number:,}"


def _share(part: int, of: int) -> str:
    return f"{_count(part)}/{_count(of)}"


def _table(headings: list[str], rows: list[list[str]]) -> list[str]:
    lines = [headings, ["---", *["--:"] * (len(headings) - 1)], *rows]
    return [f"| {' | '.join(texts)} |" for texts in lines]


def _policies(policies: dict[str, dict[str, list[int]]]) -> list[str]:
    rows = [[name, *(_share(*of[kind]) for kind in KINDS)] for name, of in policies.items()]
    return _table(["policy", *KINDS], rows)


def _good(cells: dict[str, dict]) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Good and all seeds by drive, foreground and background."""
    return {tuple(name.split(" ")): (cell["good"], cell["seeds"]) for name, cell in cells.items()}


def _crossed(
    heading: str, good: dict[tuple[str, str, str], tuple[int, int]], row: int, column: int
) -> list[str]:
    """A table with one part of a cell's name down, another across, and the sums of both."""
    parts, alls = Counter(), Counter()
    for name, (part, of) in good.items():
        for down in (name[row], "all"):
            for across in (name[column], "all"):
                parts[down, across] += part
                alls[down, across] += of
    across = [*dict.fromkeys(name[column] for name in good), "all"]
    rows = [
        [down, *(_share(parts[down, one], alls[down, one]) for one in across)]
        for down in [*dict.fromkeys(name[row] for name in good), "all"]
    ]
    return _table([heading, *across], rows)
