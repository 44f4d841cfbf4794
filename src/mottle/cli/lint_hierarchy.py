"""The command ``mottle lint-hierarchy``."""

from __future__ import annotations

import json
from dataclasses import asdict

import typer

from mottle.cli._terminal import out
from mottle.cli.commands import LintHierarchy
from mottle.encoding import encode
from mottle.errors import DataError, SchemaError, did_you_mean
from mottle.hierarchy import arx, validation
from mottle.schema.model import Column, Role
from mottle.utils.arrow import as_text

_VALUE_OF_DATA = validation.FindingCode.MISSING_LEAF  # its label is a cell, not one of the file


def run(command: LintHierarchy) -> None:
    """List everything that is wrong with a hierarchy file; exit code 4 if it cannot be used."""
    file, column = command.file, command.column
    values = None
    if command.data is not None and column is not None:
        table = command.source.read(command.data)
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
    if command.as_json:
        print(json.dumps([asdict(found) for found in findings], indent=2, ensure_ascii=False))
    else:
        for found in findings:
            of_file = found.label is not None and found.code is not _VALUE_OF_DATA
            label = f" Label: {found.label!r}" if of_file else ""
            out.print(f"{found.severity}: {found.message}{label}", markup=False, highlight=False)
        out.print(f"{len(errors)} errors, {len(findings) - len(errors)} warnings in {file}.")
    if errors:
        raise typer.Exit(DataError.exit_code)
