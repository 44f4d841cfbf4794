"""The command ``mottle compare-sets``: methods for sets side by side on the user's own data."""

from __future__ import annotations

import json
from dataclasses import asdict

import pyarrow.csv
from rich import box
from rich.table import Table

from mottle.cli._console import Console, print_json
from mottle.cli._progress import steps_bar
from mottle.cli._sources import read_source_of_sets
from mottle.cli.commands import CompareSets
from mottle.cli.options.guarantees import words_of
from mottle.comparison.set_methods import SetMethodsComparison, compare_set_methods
from mottle.hierarchy.tree import Hierarchy
from mottle.io.atomic_write import ensure_absent, staged

CSV = "compare.csv"
_HEADINGS = {
    "error_rate": "ER",
    "item_error": "items off",
    "pair_error": "pairs off",
    "bounds_hold": "bounds hold",
    "covered": "95% hold",
    "linked": "linked",
    "seconds": "time, s",
}


def run(command: CompareSets) -> None:
    """Run methods under every guarantee and write compare.csv."""
    ensure_absent(command.output, [CSV], overwrite=command.overwrite)
    hierarchy = None
    if command.item_hierarchy is not None:
        hierarchy = Hierarchy.read(command.item_hierarchy)
    with steps_bar("Reading the sets", each=True) as on_progress:
        found = compare_set_methods(
            read_source_of_sets(command.data, command.source, command.encoding),
            command.guarantees.guarantees,
            words_of(command.methods),
            seed=command.seed,
            effort=command.seconds,
            m=command.m,
            hierarchy=hierarchy,
            on_progress=on_progress,
        )
    with staged(command.output, [CSV], overwrite=command.overwrite) as stage:
        pyarrow.csv.write_csv(found.to_arrow(), stage / CSV)
    if command.as_json:
        lines = [asdict(line) for line in found.lines]
        print_json(json.dumps(lines, indent=2, ensure_ascii=False))
        return
    _show(found, Console())
    Console().print(f"Wrote {command.output / CSV}.", highlight=False, soft_wrap=True)


def _show(found: SetMethodsComparison, out: Console) -> None:
    """Print a table of all results, and what is to be said about some."""
    title = f"{found.records:,} sets of {found.items:,} items"
    shown = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 0), pad_edge=False
    )
    shown.add_column("method", no_wrap=True)
    shown.add_column("guarantee", no_wrap=True)
    for heading in _HEADINGS.values():
        shown.add_column(heading, justify="right", min_width=5)
    for line in found.lines:
        if line.seconds is not None:
            numbers = [_number(name, getattr(line, name)) for name in _HEADINGS]
            shown.add_row(line.method, line.guarantee, *numbers)
    out.print(shown)
    for note in dict.fromkeys(
        f"{line.method}, {line.guarantee}: {line.note}" for line in found.lines if line.note
    ):
        out.print(note, markup=False, highlight=False, soft_wrap=True)


def _number(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    if name != "seconds":
        return f"{value:.1%}"
    return f"{value:.1f}" if value < 1000 else f"{value:.0f}"
