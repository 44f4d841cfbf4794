"""Releases of other tools: delimited text whose cells are intervals, sets, labels or values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Form
from mottle.encoding.encode import kind_of
from mottle.errors import DataError, SchemaError, UsageError
from mottle.io.external.cells import ANYTHING, NOTHING, Cell, intervals, sets
from mottle.io.read_table import read_table
from mottle.io.text.delimited import read_delimited
from mottle.io.write_release import CERTIFICATE
from mottle.release.cell_text import published_type
from mottle.release.column import PublishedColumn
from mottle.release.data import ExternalSource, ReleaseData
from mottle.schema.external_release import CellNotation, ExternalRelease
from mottle.schema.model import Column, Kind, Role, Schema

_FORMS = {
    CellNotation.INTERVAL: Form.RANGE,
    CellNotation.SET: Form.SET,
    CellNotation.LABEL: Form.NODE,
}


def is_external(path: Path, schema: Schema | None) -> bool:
    """Return whether a file is to be read as another tool's release.

    Raises `UsageError` for text without a certificate that the schema does not describe.
    """
    if schema is not None and schema.release is not None:
        return True
    is_text = path.is_file() and path.suffix.lower() not in (".parquet", ".pq")
    if is_text and not (path.parent / CERTIFICATE).exists():
        raise UsageError(
            f"{path} has no {CERTIFICATE} next to it, so it is not a release of mottle.",
            'If another tool wrote it, say so in the schema: [release] with tool = "arx",'
            ' "sdcmicro", "amnesia", "anonypy" or "other".',
        )
    return False


def read_external(path: Path, original: pa.Table, schema: Schema | None) -> ReleaseData:
    """Read another tool's release of ``original``, as the schema's ``[release]`` describes it.

    A suppressed cell may stand for any value that the original has. Rows that the tool dropped are
    records of which nothing is published.
    """
    assert schema is not None
    assert schema.release is not None
    external = schema.release
    complete = schema.covering(original.column_names)
    table = _repeated(_read_text(path), external)
    published = [column for column in complete.columns if column.name in table.column_names]
    if not any(column.role is Role.QUASI_IDENTIFYING for column in published):
        raise DataError(
            f"{path} has none of the quasi-identifiers: {', '.join(table.column_names)}.",
            "Give the release that was made from this table, with the same column names.",
        )
    if table.num_rows > original.num_rows:
        raise DataError(
            f"The original has {original.num_rows} rows and the release {table.num_rows}.",
            "Give the table the release was made from, with all its rows.",
        )
    arrays, columns = [], []
    for column in published:
        cells = table.column(column.name).combine_chunks()
        described, typed = _column(column, cells, original.column(column.name), external)
        columns.append(described)
        arrays.append(typed)
    schema_of_columns = pa.schema([column.field() for column in columns])
    notes = tuple(_notes(table, original, complete))
    return ReleaseData(
        pa.table(arrays, schema=schema_of_columns),
        tuple(columns),
        external=ExternalSource(str(external.tool), notes),
    )


def _read_text(path: Path) -> pa.Table:
    """All cells as text; a column without a name (the row names of R) is left out."""
    if path.suffix.lower() in (".parquet", ".pq", ".arrow", ".feather", ".ipc"):
        table = read_table(path, allow_generalized=True)
        return pa.table({name: _as_text(table.column(name)) for name in table.column_names})
    if not path.is_file():
        raise UsageError(f"{path} is not a file.", "Give the file that the other tool wrote.")
    try:
        table = read_delimited(path, typed=False)
    except (pa.ArrowException, OSError):
        raise DataError(f"{path} cannot be read as delimited text.") from None
    named = [place for place, name in enumerate(table.column_names) if name]
    names = [table.column_names[place] for place in named]
    if len(set(names)) < len(names):
        raise DataError(f"{path}: duplicate column names.", "Rename or drop them.")
    return pa.table([table.column(place) for place in named], names=names)


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return pc.cast(column, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(f"The release has {column.type} cells, which are not text.") from None


def _repeated(table: pa.Table, external: ExternalRelease) -> pa.Table:
    """One row for each record, where rows state their number of records."""
    name = external.count_column
    if name is None or (external.count is None and name not in table.column_names):
        return table
    if name not in table.column_names:
        raise SchemaError(f"The release has no column '{name}', which [release] calls count.")
    try:
        counts = pc.cast(table.column(name), pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        counts = np.array([-1])
    if counts.min(initial=0) < 0 or len(counts) != table.num_rows:
        raise DataError(f"Column '{name}' of the release does not hold whole numbers.")
    rows = np.repeat(np.arange(table.num_rows), counts)
    return table.drop_columns([name]).take(pa.array(rows))


def _column(
    column: Column, texts: pa.Array, values: pa.ChunkedArray, external: ExternalRelease
) -> tuple[PublishedColumn, pa.Array]:
    """One column, typed as mottle's own releases are."""
    texts = pc.utf8_trim_whitespace(texts)
    is_empty = pc.fill_null(pc.equal(texts, ""), True)
    texts = pc.if_else(is_empty, pa.scalar("", pa.string()), texts)
    cells = texts.dictionary_encode()
    distinct_texts = cells.dictionary.to_pylist()
    anything = set(external.suppression_markers)
    missing = {"", *external.missing} - anything
    if column.role is not Role.QUASI_IDENTIFYING:
        return _unchanged(column, texts, values, anything | missing)
    form, kind = _form(column, values.type)
    known = _known(values, kind, column.name)
    parsed = [
        ANYTHING if text in anything else NOTHING if text in missing else text
        for text in distinct_texts
    ]
    distinct, invalid = _READERS[form](parsed, column, known)
    _check_all_valid(invalid, column.name, _WANTED[form])
    described = PublishedColumn(
        column.name,
        column.role,
        kind,
        form,
        known.type,
        hierarchy=column.hierarchy if form.has_tree else None,
    )
    return described, distinct.take(cells.indices)


def _read_labels(cells: Sequence[Cell], column: Column, known: pa.Array) -> tuple[pa.Array, int]:
    """Labels of the column's hierarchy, and the number of cells that are not labels."""
    assert column.hierarchy is not None
    root = column.hierarchy.labels[-1]
    labels = [root if cell is ANYTHING else None if cell is NOTHING else cell for cell in cells]
    known_labels = set(column.hierarchy.labels)
    invalid = sum(label is not None and label not in known_labels for label in labels)
    return pa.array(labels, pa.string()), invalid


def _read_intervals(cells: Sequence[Cell], column: Column, known: pa.Array) -> tuple[pa.Array, int]:
    """Ranges of values, and the number of cells that are not ranges."""
    bounds, invalid = intervals(cells, known)
    return pa.array(bounds, published_type(Form.RANGE, known.type)), invalid


def _read_sets(cells: Sequence[Cell], column: Column, known: pa.Array) -> tuple[pa.Array, int]:
    """Sets of values, and the number of cells that are not sets."""
    members, invalid = sets(cells, known)
    return pa.array(members, published_type(Form.SET, known.type)), invalid


_READERS = {Form.RANGE: _read_intervals, Form.SET: _read_sets, Form.NODE: _read_labels}
_WANTED = {
    Form.RANGE: "values or intervals such as [20, 40[ or 20-40",
    Form.SET: "values of the original or sets of them; give its hierarchy",
    Form.NODE: "labels of its hierarchy",
}


def _form(column: Column, data_type: pa.DataType) -> tuple[Form, Kind]:
    """The form of a column's cells and its kind, from the schema or the type of the data."""
    kind = kind_of(data_type, column)
    if kind.external_form is None:
        raise SchemaError(
            f"Column '{column.name}' holds sets of items, which are audited in releases of mottle"
            " only.",
            "Give the column another kind, or the role insensitive.",
        )
    if column.cells is CellNotation.INTERVAL and not kind.is_measured:
        raise SchemaError(
            f"Column '{column.name}' has cells 'interval' but is of kind '{kind}'.",
            "Intervals are of numbers or dates.",
        )
    if column.cells is None or kind.external_form.has_tree:
        return kind.external_form, kind
    return _FORMS[column.cells], kind


def _known(values: pa.ChunkedArray, kind: Kind, name: str) -> pa.Array:
    """The values that the original has, ascending; a point in time as its day."""
    distinct = pc.unique(kind.canonical(values, name)).drop_null()
    if pa.types.is_floating(distinct.type):
        distinct = distinct.filter(pc.is_finite(distinct))
    return distinct.take(pc.sort_indices(distinct))


def _unchanged(
    column: Column, texts: pa.Array, values: pa.ChunkedArray, missing: set[str]
) -> tuple[PublishedColumn, pa.Array]:
    """A column that is published unchanged, in the type of the original."""
    data_type = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    gone = pc.is_in(texts, value_set=pa.array(sorted(missing), pa.string()))
    texts = pc.if_else(gone, pa.scalar(None, pa.string()), texts)
    try:
        typed = pc.cast(texts, data_type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"Column '{column.name}' holds {data_type} values in the original and other text in the"
            " release.",
            "Give the table the release was made from, or the column's role.",
        ) from None
    return PublishedColumn(column.name, column.role, None, None, data_type), typed


def _check_all_valid(count: int, name: str, wanted: str) -> None:
    if count:
        raise DataError(
            f"Column '{name}' of the release has {count} different cells that are not {wanted}.",
            "Check [release] and the column's kind, cells or hierarchy in the schema.",
        )


def _notes(table: pa.Table, original: pa.Table, schema: Schema) -> list[str]:
    notes = []
    absent: Sequence[str] = [
        column.name
        for column in schema.with_role(Role.QUASI_IDENTIFYING)
        if column.name not in table.column_names
    ]
    if absent:
        notes.append(f"The release does not have the quasi-identifiers {', '.join(absent)}.")
    dropped = original.num_rows - table.num_rows
    if dropped:
        notes.append(
            f"{dropped} of {original.num_rows} records were not published; their owners are counted"
            " among those who may stand behind the others."
        )
    return notes
