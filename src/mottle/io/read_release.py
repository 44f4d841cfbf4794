"""Reading a release back: a folder, its Parquet file or its CSV file with the certificate."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from mottle.encoding.domain import Form
from mottle.encoding.set_columns import LISTS
from mottle.errors import DataError, StorageError
from mottle.io.write_release import (
    CERTIFICATE,
    CSV,
    PARQUET,
    SENSITIVE_CSV,
    SENSITIVE_PARQUET,
    sha256_of,
)
from mottle.release.cell_text import from_texts, published_type, text_columns
from mottle.release.column import PublishedColumn
from mottle.release.data import Release
from mottle.schema.model import Kind, Role


def read_release(path: str | Path) -> Release:
    """Read a release from its folder, its ``release.parquet`` or its ``release.csv``.

    A file that does not have the checksum on the certificate beside it is refused. The certificate
    says what the columns of ``release.csv`` are, but holds no values; the orders and hierarchies of
    columns come from ``release.parquet`` if that file lies beside the CSV, and are unknown if not.
    """
    path = Path(path)
    if path.is_dir():
        names = [name for name in (PARQUET, CSV) if (path / name).exists()]
        if not names or not (path / CERTIFICATE).exists():
            raise StorageError(
                f"{path} holds no complete release.",
                f"A release has {PARQUET} or {CSV} and {CERTIFICATE}.",
            )
        path = path / names[0]
    if not path.exists():
        raise StorageError(f"There is no file {path}.")
    certificate = _certificate_beside(path)
    if path.suffix == ".csv":
        table, columns = _read_csv(path, PARQUET, certificate.get("columns", []), certificate)
    else:
        table, columns = _read_parquet(path)
    return Release(table, columns, certificate, sensitive=_sensitive_beside(path, certificate))


def _sensitive_beside(path: Path, certificate: dict[str, Any]) -> pa.Table | None:
    """The table of sensitive values, when the release has published them apart."""
    written = certificate.get("sha256", {})
    names = [name for name in (SENSITIVE_PARQUET, SENSITIVE_CSV) if name in written]
    if not names:
        return None
    present = [name for name in names if (path.parent / name).exists()]
    if not present:
        raise StorageError(
            f"{path.parent} lacks the release's table of sensitive values.",
            f"It is in {' or '.join(names)}.",
        )
    file = path.parent / present[0]
    check_unchanged(file, certificate)
    if file.suffix == ".parquet":
        return _read_parquet(file)[0]
    described = certificate.get("sensitive_table")
    facts = described.get("columns", []) if isinstance(described, dict) else []
    return _read_csv(file, SENSITIVE_PARQUET, facts, certificate)[0]


def _certificate_beside(path: Path) -> dict[str, Any]:
    file = path.parent / CERTIFICATE
    if not file.exists():
        return {}
    try:
        certificate = json.loads(file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise DataError(f"{file} is not valid JSON.") from None
    if not isinstance(certificate, dict) or not isinstance(certificate.get("sha256", {}), dict):
        raise DataError(f"{file} is no certificate written by mottle.")
    check_unchanged(path, certificate)
    return certificate


def check_unchanged(path: Path, certificate: dict[str, Any]) -> None:
    """Refuse a file that has another checksum than its certificate says."""
    stated = certificate.get("sha256", {}).get(path.name)
    if stated is not None and stated != sha256_of(path):
        raise DataError(
            f"{path} is not the file its certificate describes: the checksums differ.",
            "It was changed after it was released.",
        )


_Columns = tuple[PublishedColumn, ...]


def _read_parquet(path: Path) -> tuple[pa.Table, _Columns]:
    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
    except (pa.ArrowException, OSError):
        raise DataError(f"{path} is no release written by mottle.") from None
    return table, _columns_of(table.schema, path)


def _columns_of(schema: pa.Schema, path: Path) -> _Columns:
    try:
        return tuple(PublishedColumn.of_field(field) for field in schema)
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{path} is no release written by mottle.") from None


def _read_csv(
    path: Path, parquet: str, described: list[dict[str, Any]], certificate: dict[str, Any]
) -> tuple[pa.Table, _Columns]:
    """Read text cells; their columns are those of ``parquet`` beside it or, else, as described."""
    columns = _described_columns(path, parquet, described, certificate)
    types = {
        name: _type_in_csv(column)
        for column in columns
        for name in text_columns(column.name, column.form)
    }
    try:
        texts = read_texts(path, types)
        arrays = [_typed(texts, column) for column in columns]
    except (pa.ArrowException, KeyError):
        raise DataError(f"{path} does not fit its certificate.") from None
    schema = pa.schema([column.field() for column in columns])
    return pa.table(arrays, schema=schema), columns


_LONGEST_LINE = 1 << 26  # pyarrow reads blocks of bytes, and no line may be longer than a block


def read_texts(path: Path, types: dict[str, pa.DataType]) -> pa.Table:
    """The columns of a released CSV file; a cell is missing if it is empty and not quoted."""
    return pyarrow.csv.read_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(block_size=_LONGEST_LINE),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=types,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )


def _type_in_csv(column: PublishedColumn) -> pa.DataType:
    """The type a column is read as at first; pyarrow's reader knows no wide decimals."""
    is_text = column.form is not None or pa.types.is_decimal256(column.value_type)
    return pa.string() if is_text else column.value_type


def _typed(texts: pa.Table, column: PublishedColumn) -> pa.ChunkedArray:
    """A column as it was before it was written as text."""
    if column.form is None:
        return texts.column(column.name).cast(column.value_type)
    form, value_type = column.form, column.value_type
    batches = texts.select(list(text_columns(column.name, form))).to_batches()
    cells = [from_texts(batch.columns, form, value_type) for batch in batches]
    return pa.chunked_array(cells, published_type(form, value_type))


def _described_columns(
    path: Path, parquet: str, described: list[dict[str, Any]], certificate: dict[str, Any]
) -> _Columns:
    """What the columns of a CSV file are, by the Parquet file beside it or the certificate."""
    beside = path.parent / parquet
    if certificate and beside.exists():
        check_unchanged(beside, certificate)
        try:
            return _columns_of(pq.read_schema(beside), beside)
        except (pa.ArrowException, OSError):
            raise DataError(f"{beside} is no release written by mottle.") from None
    try:
        columns = tuple(_column(facts) for facts in described if "type" in facts)
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{path.parent / CERTIFICATE} is no certificate of mottle.") from None
    if not columns:
        raise DataError(
            f"{path} cannot be read without {CERTIFICATE} beside it.",
            "The certificate says what the columns are.",
        )
    return columns


def _column(facts: dict[str, Any]) -> PublishedColumn:
    return PublishedColumn(
        name=facts["name"],
        role=Role(facts["role"]),
        kind=Kind(facts["kind"]) if "kind" in facts else None,
        form=Form(facts["form"]) if "form" in facts else None,
        value_type=_type_of(facts["type"]),
        separator=facts.get("separator"),
    )


def _type_of(text: str) -> pa.DataType:
    """The Arrow type a certificate names; anything unusual is read as text."""
    if decimal := re.fullmatch(r"decimal(128|256)\((\d+), (-?\d+)\)", text):
        width, precision, scale = decimal.groups()
        make = pa.decimal128 if width == "128" else pa.decimal256
        return make(int(precision), int(scale))
    if stamp := re.fullmatch(r"timestamp\[(s|ms|us|ns)(?:, tz=(.+))?\]", text):
        return pa.timestamp(*stamp.groups())
    if text.startswith("list<"):
        return LISTS
    if text.startswith("date32"):
        return pa.date32()
    try:
        return pa.type_for_alias(text)
    except ValueError:
        return pa.string()
