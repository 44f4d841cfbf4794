"""Fill in the figures of README.md, docs/ and the paper from benchmarks/results.

    python tools/figures.py            # writes them
    python tools/figures.py --check    # fails if they are not those of the kept results

A table stands between ``<!-- figures NAME -->`` and ``<!-- end -->``; `TABLES` names the columns
and the result it is made of. A number in a sentence is followed by a comment that names the cell
it is taken from::

    252<!-- scale-streaming: 20,000,000 | seconds --> s
    92<!-- sensitive-association: ADULT ℓ = 3 | 7 | % --> %
    4.34<!-- freeform-adult 2: 30,162 & 10 | while it pays / default --> s

that is: the result (and which of its tables), the first cells of the row, the column (and what it
was called earlier or is called now), and ``%`` for a share written in percent.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "paper" / "paper.md")

PLACE = re.compile(r"(<!-- figures ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
CELL = re.compile(
    r"(?P<number>\d[\d.,]*)(?P<comment><!-- (?P<result>[\w-]+)(?: (?P<table>\d))?:"
    r" (?P<row>[^|>]+?) \| (?P<columns>[^|>]+?)(?: \| (?P<form>%))? -->)"
)
TABLE = re.compile(r"^\|.*\|\n\|[-| ]+\|\n(?:\|.*\|\n?)+", re.MULTILINE)


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
IMPORTED = {
    "ARX, global": ("ARX, global",),
    "ARX, local": ("ARX, local",),
    "imported, with its hierarchies": ("as imported, hierarchies",),
    "imported by `--no-hierarchies`": ("--no-hierarchies",),
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
    "imported": Table("doors-arx", "", IMPORTED, ("5", "10", "20", "50"), "k = {}"),
    "strict": Table("sensitive-adult", "method", STRICT, ("2", "3", "4", "5"), "ℓ = {}"),
}


def main() -> None:
    """Write or check the figures of all pages."""
    wrong = []
    for page in PAGES:
        text = page.read_text("utf-8")
        try:
            new = filled(text)
        except LookupError as error:
            wrong.append(f"{page.name}: {error.args[0]}")
            continue
        if new == text:
            continue
        if "--check" in sys.argv[1:]:
            wrong.append(f"{page.name}: figures differ; run python tools/figures.py")
        else:
            page.write_text(new, encoding="utf-8")
    if wrong:
        sys.exit("\n".join(wrong))


def filled(text: str) -> str:
    """Return a page with the tables and numbers of the kept results in their places."""
    text = PLACE.sub(lambda found: found[1] + drawn(TABLES[found[2]]) + found[3], text)
    return CELL.sub(lambda found: number_of(found) + found["comment"], text)


def number_of(reference: re.Match[str]) -> str:
    """Return the number in the cell that a comment names."""
    tables = tables_of(reference["result"])
    headings, *lines = tables[int(reference["table"] or 1) - 1]
    first = reference["row"].split(" & ")
    rows = [line for line in lines if line[: len(first)] == first]
    names = [name for name in reference["columns"].split(" / ") if name in headings]
    if len(rows) != 1 or len(names) != 1:
        raise LookupError(f"{reference['comment']} names no cell, or several")
    number = rows[0][headings.index(names[0])].partition(" ")[0]
    if reference["form"]:
        number = f"{float(number) * 100:.0f}"
    return number + reference["number"][len(reference["number"].rstrip(".,")) :]


def drawn(table: Table) -> str:
    """Return a table as Markdown."""
    headings, *lines = tables_of(table.result)[0]
    by_case = {line[0]: dict(zip(headings, line, strict=True)) for line in lines}
    shown = [[table.corner, *(table.headings.format(case) for case in table.cases)]]
    shown.append(["---"] * len(shown[0]))
    for label, names in table.rows.items():
        name = next(name for name in names if name in headings)
        numbers = [by_case[case][name].partition(" ")[0] for case in table.cases]
        bold = label.startswith("**")
        shown.append([label, *(f"**{n}**" if bold and n else n for n in numbers)])
    return "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |") for line in shown)


def tables_of(result: str) -> list[list[list[str]]]:
    """Cells of the tables of a result, the headings of each first."""
    path = RESULTS / f"{result}.md"
    if not path.exists():
        raise LookupError(f"benchmarks/results has no {result}.md")
    found = TABLE.findall(path.read_text("utf-8"))
    split = [table.strip().splitlines() for table in found]
    return [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in (rows[0], *rows[2:])]
        for rows in split
    ]


if __name__ == "__main__":
    main()
