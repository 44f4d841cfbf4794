"""The commands that look without anonymizing: ``inspect``, ``methods`` and ``lint-hierarchy``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from mottle import methods
from mottle.cli._options import AsJson, Delimiter, Encoding, Missing, Overwrite, Quote
from mottle.cli._sources import (
    Data,
    QueryOption,
    TableOption,
    arguments_of_source,
    name_of_source,
    read_source,
)
from mottle.cli._terminal import out, print_command
from mottle.cli.anonymize_sets import list_methods as list_set_methods
from mottle.encoding import encode
from mottle.errors import DataError, SchemaError, UsageError, did_you_mean
from mottle.hierarchy import arx, validation
from mottle.inspection import inspect as inspect_table
from mottle.io.atomic_write import staged
from mottle.io.read_table import read_table
from mottle.schema.model import Column, Role
from mottle.utils.arrow import as_text


def inspect_command(
    data: Data,
    table: TableOption = None,
    query: QueryOption = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the proposed schema.")
    ] = Path("mottle.toml"),
    overwrite: Overwrite = False,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: AsJson = False,
) -> None:
    """Propose a role and a kind for every column and write a commented mottle.toml to edit."""
    examined = read_source(
        data,
        table,
        query,
        delimiter=delimiter,
        quote=quote,
        encoding=encoding,
        missing=missing or (),
    )
    found = inspect_table(examined)
    with staged(output.parent, [output.name], overwrite=overwrite) as stage:
        (stage / output.name).write_text(found.to_toml(), encoding="utf-8")
    if as_json:
        print(json.dumps({**asdict(found), "schema": str(output)}, indent=2, ensure_ascii=False))
        return
    shown = Table(title=f"{name_of_source(data, table)}: {found.rows:,} rows", title_justify="left")
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
    out.print(f"Wrote {output}. Check every role, then:", highlight=False)
    source = arguments_of_source(data, table, query)
    print_command(f"mottle anonymize {source} --schema {output} --k 10 -o released")


_NUMBERS = ("distinct", "missing", "unique rows")


def methods_command(
    sets: Annotated[bool, typer.Option("--sets", help="Those for set-valued data.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the methods: what each gives, its paper and its cost."""
    if sets:
        list_set_methods(as_json)
        return
    known = methods.registered().values()
    if as_json:
        described = [
            {
                "name": method.name,
                "title": method.title,
                "gives": [guarantee.__name__ for guarantee in method.guarantees],
                "paper": method.paper,
                "cost": method.cost,
            }
            for method in known
        ]
        print(json.dumps(described, indent=2, ensure_ascii=False))
        return
    shown = Table("method", "what it does", "gives", "paper", "cost")
    for method in known:
        gives = ", ".join(guarantee.__name__ for guarantee in method.guarantees)
        shown.add_row(method.name, method.title, gives, method.paper, method.cost)
    out.print(shown)


def lint_hierarchy_command(
    file: Annotated[Path, typer.Argument(help="Hierarchy in ARX's CSV layout.")],
    data: Annotated[Path | None, typer.Option(help="Table whose values must be leaves.")] = None,
    column: Annotated[str | None, typer.Option(help="Column of the table.")] = None,
    as_json: AsJson = False,
) -> None:
    """Name everything that is wrong with a hierarchy file; exit code 4 if it cannot be used."""
    if (data is None) != (column is None):
        raise UsageError("--data and --column go together.")
    values = None
    if data is not None and column is not None:
        table = read_table(data)
        if column not in table.column_names:
            raise SchemaError(
                f"The table has no column '{column}'.",
                did_you_mean(column, table.column_names),
            )
        encode.kind_of(table.schema.field(column).type, Column(name=column, role=Role.SENSITIVE))
        distinct = as_text(table.column(column).unique().drop_null(), column)
        values = distinct.to_pylist()
    findings = validation.lint(arx.read_rows(file), values=values, name=file.name)
    errors = [found for found in findings if found.severity is validation.Severity.ERROR]
    if as_json:
        print(json.dumps([asdict(found) for found in findings], indent=2, ensure_ascii=False))
    else:
        for found in findings:
            out.print(f"{found.severity}: {found.message}", markup=False, highlight=False)
        out.print(f"{len(errors)} errors, {len(findings) - len(errors)} warnings in {file}.")
    if errors:
        raise typer.Exit(DataError.exit_code)
