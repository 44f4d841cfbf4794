"""Fill in the figures of README.md and docs/results.md from benchmarks/results.

    python tools/figures.py            # writes them
    python tools/figures.py --check    # fails if they are not those of the kept results

A table stands between ``<!-- figures NAME -->`` and ``<!-- end -->``; `TABLES` names the columns
and the result it is made of. A number in a sentence is followed by a comment that names its kept
result, ``252<!-- scale-streaming --> s``, and has to stand in it; it is changed by hand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGES = (ROOT / "README.md", ROOT / "docs" / "results.md")

PLACE = re.compile(r"(<!-- figures ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
NUMBER = re.compile(r"(\d[\d.,]*)[^\d\n]{0,12}<!-- ([\w-]+) -->")


@dataclass(frozen=True)
class Table:
    """Columns of a kept result, each as a row."""

    result: str  # its name in benchmarks/results, without .md
    corner: str  # heading of the first column
    rows: dict[str, tuple[str, ...]]  # label: heading of the result's column, now and earlier
    cases: Sequence[str]  # first cells of the lines that are shown
    headings: str  # of their columns; {} is the case


RIVALS = {
    "ARX 3.9, global recoding, some rows suppressed": ("ARX global",),
    "ARX 3.9, local recoding": ("ARX local",),
    "anjana, some rows suppressed": ("anjana",),
    "anonypy, Mondrian": ("anonypy",),
    "mottle `nh`": ("nh",),
    "**mottle `freeform`, the default**": ("freeform default", "freeform while it pays"),
}
STRICT = {
    "Mondrian, strict 1/ℓ (ours)": ("mondrian",),
    "FAST07's Hilbert heuristic (ours)": ("hilbert",),
    "NH10's rings": ("nh",),
    "**`buckets`, the default**: who knows one record learns at most 63 others": ("buckets 10 s",),
    "`buckets` without that bound (`--known-records 1000000`)": ("buckets 10 s, no bound",),
    "only ℓ *distinct* values, k = 5: ARX local recoding": ("ARX local",),
    "only ℓ *distinct* values, k = 5: anonypy, Mondrian": ("anonypy Mondrian",),
}
TABLES = {
    "rivals": Table("freeform-rivals", "tool", RIVALS, ("5", "10", "20", "50"), "k = {}"),
    "strict": Table("sensitive-adult", "method", STRICT, ("2", "3", "4", "5"), "ℓ = {}"),
}


def main() -> None:
    """Write or check the figures of all pages."""
    wrong = []
    for page in PAGES:
        text = page.read_text("utf-8")
        wrong += [f"{page.name}: {line}" for line in unknown_numbers(text)]
        if filled(text) == text:
            continue
        if "--check" in sys.argv[1:]:
            wrong.append(f"{page.name}: tables differ; run python tools/figures.py")
        else:
            page.write_text(filled(text), encoding="utf-8")
    if wrong:
        sys.exit("\n".join(wrong))


def filled(text: str) -> str:
    """Return a page with the tables of the kept results in their places."""
    return PLACE.sub(lambda found: found[1] + drawn(TABLES[found[2]]) + found[3], text)


def unknown_numbers(text: str) -> list[str]:
    """Name numbers that do not stand in the result that their comment names."""
    return [
        f"{number} is not in {result}"
        for number, result in NUMBER.findall(text)
        if number not in (RESULTS / f"{result}.md").read_text("utf-8")
    ]


def drawn(table: Table) -> str:
    """Return a table as Markdown."""
    kept = lines_of((RESULTS / f"{table.result}.md").read_text("utf-8"))
    headings = kept[0]
    by_case = {line[0]: dict(zip(headings, line, strict=True)) for line in kept[1:]}
    shown = [[table.corner, *(table.headings.format(case) for case in table.cases)]]
    shown.append(["---"] * len(shown[0]))
    for label, names in table.rows.items():
        name = next(name for name in names if name in headings)
        numbers = [by_case[case][name].partition(" ")[0] for case in table.cases]
        bold = label.startswith("**")
        shown.append([label, *(f"**{n}**" if bold and n else n for n in numbers)])
    return "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |") for line in shown)


def lines_of(text: str) -> list[list[str]]:
    """Cells of the first table of a result, its headings first."""
    found = re.search(r"^\|.*\|\n\|[-| ]+\|\n(?:\|.*\|\n?)+", text, re.MULTILINE)
    assert found is not None, "a result without a table"
    lines = found[0].strip().splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in (lines[0], *lines[2:])
    ]


if __name__ == "__main__":
    main()
