"""The command ``mottle explain``: why the cells of one row are as wide as they are."""

from __future__ import annotations

import json

from rich.table import Table

from mottle.cli._console import Console, print_json
from mottle.cli.commands import Explain
from mottle.errors import StorageError
from mottle.inspection.explain import RowExplanation, explain_row
from mottle.io.link_file import LinkFile

SECRET = "For the owner only: this shows whose record it is."


def run(command: Explain) -> None:
    """Explain one row of a release, for the owner."""
    if not command.release.is_dir():
        raise StorageError(f"{command.release} is not a folder of a release.", "Name the folder.")
    original = command.source.read(command.original, LinkFile(command.private).reading)
    found = explain_row(
        original, command.release, command.private, command.row, previews=not command.no_previews
    )
    if command.as_json:
        print_json(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
        return
    out = Console()
    out.print(
        f"Row {found.row:,} loses {found.loss:.2%}; the mean of all records is"
        f" {found.mean_loss:.2%}. {SECRET}",
        highlight=False,
        soft_wrap=True,
    )
    for table in (_columns(found), _preimages(found), *_previews(found)):
        out.print(table)
    for note in found.notes:
        out.print(f"Note: {note}", markup=False, highlight=False, soft_wrap=True)


def _columns(found: RowExplanation) -> Table:
    shown = Table(title="Cells, the costliest first", title_justify="left")
    for heading in ("column", "cell", "loss (NCP)", "share of the row's loss"):
        shown.add_column(heading)
    for each in found.columns:
        shown.add_row(each.name, each.cell, f"{each.loss:.2%}", f"{each.share:.0%}")
    return shown


def _preimages(found: RowExplanation) -> Table:
    shown = Table(
        title="Originals the record may stand for, those that cost most first", title_justify="left"
    )
    names = [each.name for each in found.columns]
    for heading in ("row", "", "costs", "most in", *names):
        shown.add_column(heading)
    for each in found.preimages:
        shown.add_row(
            f"{each.original:,}",
            "true" if each.true else "",
            f"{100 * each.costs:.2f} points",
            each.most_in or "",
            *(each.values[name] for name in names),
        )
    return shown


def _previews(found: RowExplanation) -> list[Table]:
    if not found.what_if:
        return []
    shown = Table(title="What would change for all rows (previews)", title_justify="left")
    for heading in ("change", f"loss of '{found.columns[0].name}'", "loss of the others"):
        shown.add_column(heading)
    for each in found.what_if:
        own = "not a quasi-identifier" if each.column_loss is None else f"{each.column_loss:.2%}"
        shown.add_row(each.change, own, f"{each.other_loss:.2%}")
    return [shown]
