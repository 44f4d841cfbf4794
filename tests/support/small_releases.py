"""Releases with exactly the cells a test wants, and what a database has to show of them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from certificates import certificate

import mottle
from mottle import Form, Kind, Release, Role
from mottle.release.cell_text import from_text
from mottle.release.column import PublishedColumn


def release_of(columns: Sequence[tuple[PublishedColumn, list[object]]]) -> Release:
    """A release with exactly these cells."""
    fields = [column.field() for column, _ in columns]
    arrays = [
        pa.array(cells, field.type) for field, (_, cells) in zip(fields, columns, strict=True)
    ]
    table = pa.table(arrays, schema=pa.schema(fields))
    return Release(table, tuple(column for column, _ in columns), certificate(rows=table.num_rows))


def generalized(name: str, kind: Kind, form: str, value_type: pa.DataType) -> PublishedColumn:
    order = ("S", "M", "L") if kind is Kind.ORDERED else None
    return PublishedColumn(name, Role.QUASI_IDENTIFYING, kind, Form(form), value_type, order)


def unchanged(name: str, value_type: pa.DataType) -> PublishedColumn:
    return PublishedColumn(name, Role.INSENSITIVE, None, None, value_type)


def between(lo: object, hi: object, missing: bool = False) -> dict[str, object]:
    return {"lo": lo, "hi": hi, "missing": missing}


NOTHING = between(None, None, True)


def check_readable(url: str, release: Release, table: str = "open") -> None:
    """The view has the cells of release.csv: parsed, they are the typed cells again."""
    shown = mottle.read_database(url, table=f"{table}_readable")
    assert shown.num_rows == release.table.num_rows
    assert shown.column_names == list(release.to_text().column_names)
    for column in release.columns:
        texts = shown.column(column.name)
        if column.form is None:
            continue
        typed = from_text(
            texts.cast(pa.string()).combine_chunks(), column.form, column.value_type, column.rule
        )
        assert typed.to_pylist() == release.table.column(column.name).to_pylist(), column.name
