"""The command ``mottle inspect``."""

from __future__ import annotations

import json
from dataclasses import asdict

from rich.table import Table

from mottle.cli._terminal import out, print_command
from mottle.cli.commands import Inspect
from mottle.inspection import inspect
from mottle.io.atomic_write import staged


def run(command: Inspect) -> None:
    """Propose a role and a kind for every column and write a commented mottle.toml to edit."""
    output = command.output
    found = inspect(command.source.read(command.data))
    with staged(output.parent, [output.name], overwrite=command.overwrite) as stage:
        (stage / output.name).write_text(found.to_toml(), encoding="utf-8")
    if command.as_json:
        print(json.dumps({**asdict(found), "schema": str(output)}, indent=2, ensure_ascii=False))
        return
    title = f"{command.source.title(command.data)}: {found.rows:,} rows"
    shown = Table(title=title, title_justify="left")
    for heading in ("column", "type", "distinct", "missing", "unique rows", "role", "kind"):
        shown.add_column(heading, justify="right" if heading in _NUMBERS else "left")
    for column in found.columns:
        shown.add_row(
            column.name,
            column.type,
            f"{column.distinct:,}",
            f"{column.nulls:,}",
            f"{column.unique_share:.1%}",
            str(column.role),
            str(column.kind or ""),
        )
    out.print(shown)
    out.print(
        f"The proposed quasi-identifiers together single out [bold]{found.unique_share:.1%}[/] of"
        f" the rows; {found.below_five_share:.1%} share theirs with fewer than four others."
    )
    for column in found.columns:
        if column.advice:
            out.print(column.advice, markup=False, highlight=False, soft_wrap=True)
    for warning in found.warnings:
        out.print(f"Warning: {warning}", markup=False, highlight=False, soft_wrap=True)
    out.print(f"Wrote {output}. Check every role, then:", highlight=False)
    source = command.source.arguments(command.data)
    print_command(f"mottle anonymize {source} --schema {output} --k 10 -o released")


_NUMBERS = ("distinct", "missing", "unique rows")
