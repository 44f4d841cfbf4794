"""Reading a release back: a folder, its Parquet file or its CSV file with the certificate."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from mottle.encoding.domain import Form
from mottle.encoding.set_columns import LISTS
from mottle.errors import DataError, StorageError
from mottle.io.hashed_file import sha256_of
from mottle.io.write_release import (
    CERTIFICATE,
    CSV,
    PARQUET,
    SENSITIVE_CSV,
    SENSITIVE_PARQUET,
)
from mottle.kinds.coarsening import Coarsening
from mottle.release.cell_text import from_texts, published_type, text_columns
from mottle.release.certificate import Certificate, ColumnFacts, ReleaseKind
from mottle.release.column import PublishedColumn
from mottle.release.data import ROWS_PER_PART, ReleaseData
from mottle.release.formula_guard import GUARD, guard_text, unguard
from mottle.release.rows import Rows, StoredRows
from mottle.release.validation import check_certificate, check_described, check_release
from mottle.schema.model import Kind
from mottle.utils.untrusted.arrow import check_batches, parquet_schema, read_parquet
from mottle.utils.untrusted.text import read_text


def load_release(path: str | Path, *, in_memory: bool = True) -> ReleaseData:
    """Read a release of a table; see `mottle.read_release`.

    Parameters
    ----------
    path : str or Path
        Its folder, its ``release.parquet`` or its ``release.csv``.
    in_memory : bool, optional
        Whether the rows are read now; otherwise those of a Parquet file stay there.

    Returns
    -------
    ReleaseData
        The release, without links.

    Raises
    ------
    StorageError
        There is no complete release.
    DataError
        The files are damaged or changed, or hold a release of sets.
    """
    file, certificate = find_release(path)
    if certificate is not None and certificate.kind is ReleaseKind.SETS:
        raise DataError(
            f"{file.parent} holds a release of sets, not of a table.",
            "Releases of sets are read by mottle.read_set_release.",
        )
    sensitive = _sensitive_table(file, certificate)
    rows: Rows
    if file.suffix == ".csv":
        described = () if certificate is None else certificate.columns
        rows, columns = _read_csv(file, PARQUET, described, certificate)
    elif in_memory:
        rows, columns = _read_parquet(file)
    else:
        check_batches(file, size=ROWS_PER_PART)
        rows = StoredRows(file)
        columns = _columns_of(rows.schema, file)
    check_release(rows.to_batches(ROWS_PER_PART), columns, certificate, str(file))
    return ReleaseData(rows, columns, certificate, None, sensitive)


def find_release(path: str | Path) -> tuple[Path, Certificate | None]:
    """Find the rows of a release and its certificate, and check that they belong together.

    Parameters
    ----------
    path : str or Path
        A folder, which has to hold a certificate, or a file of rows, which may be without one.

    Returns
    -------
    tuple of Path and Certificate or None
        The file of rows and the certificate next to it.

    Raises
    ------
    StorageError
        There is no complete release.
    DataError
        The certificate is damaged, or the file has another checksum than it states.
    """
    path = Path(path)
    if path.is_dir():
        names = [name for name in (PARQUET, CSV) if (path / name).exists()]
        if not names or not (path / CERTIFICATE).exists():
            raise StorageError(
                f"{path} does not hold a complete release.",
                f"A release has {PARQUET} or {CSV} and {CERTIFICATE}.",
            )
        path = path / names[0]
    if not path.exists():
        raise StorageError(f"There is no file {path}.")
    if not path.is_file():  # a pipe or device could be read for ever
        raise StorageError(f"{path} is not a file.", "Check the path.")
    file = path.parent / CERTIFICATE
    if not file.exists():
        return path, None
    certificate = read_certificate(file)
    check_unchanged(path, certificate)
    return path, certificate


def read_certificate(file: Path) -> Certificate:
    """Read a ``certificate.json`` of this or an earlier format."""
    try:
        text = read_text(file)
    except ValueError as error:
        raise DataError(f"{file} is not a certificate: {error}.") from None
    return check_certificate(Certificate.from_json(text, str(file)), str(file))


def check_unchanged(path: Path, certificate: Certificate) -> None:
    """Raise `DataError` if a file does not have the checksum that its certificate states."""
    stated = certificate.sha256.get(path.name)
    if stated is not None and stated != sha256_of(path):
        raise DataError(
            f"{path} is not the file its certificate describes: the checksums differ.",
            "It was changed after it was released.",
        )


def _sensitive_table(path: Path, certificate: Certificate | None) -> pa.Table | None:
    """The table of sensitive values of a release of two tables; None for other releases."""
    written = () if certificate is None else certificate.sha256
    names = [name for name in (SENSITIVE_PARQUET, SENSITIVE_CSV) if name in written]
    if certificate is None or not names:
        return None
    present = [name for name in names if (path.parent / name).is_file()]
    if not present:
        raise StorageError(
            f"{path.parent} lacks the release's table of sensitive values.",
            f"It is in {' or '.join(names)}.",
        )
    file = path.parent / present[0]
    check_unchanged(file, certificate)
    described = certificate.sensitive_table
    if file.suffix == ".parquet":
        table, columns = _read_parquet(file)
    else:
        facts = () if described is None else described.columns
        table, columns = _read_csv(file, SENSITIVE_PARQUET, facts, certificate)
    if described is not None:
        check_described(columns, described.columns, str(file))
    if described is None or table.num_rows != described.rows or table.num_rows == 0:
        raise DataError(
            f"{file} has other rows than its certificate says.", "The files do not belong together."
        )
    counts = table.column(table.num_columns - 1)  # of each value in each group
    if not (
        pa.types.is_integer(counts.type)
        and counts.null_count == 0
        and pc.min(counts).as_py() >= 1
        and pc.max(counts).as_py() <= certificate.rows
        and pc.sum(counts).as_py() == certificate.rows
    ):
        raise DataError(
            f"{file} counts other values than the release has records.",
            "The files do not belong together.",
        )
    return table


_Columns = tuple[PublishedColumn, ...]


def _read_parquet(path: Path) -> tuple[pa.Table, _Columns]:
    table = read_parquet(path)
    return table, _columns_of(table.schema, path)


def _columns_of(schema: pa.Schema, path: Path) -> _Columns:
    if len(set(schema.names)) < len(schema.names):
        raise DataError(f"{path} has two columns with one name.", "No release of mottle has.")
    try:
        return tuple(PublishedColumn.of_field(field) for field in schema)
    except (AttributeError, KeyError, TypeError, ValueError, pa.ArrowException):
        raise DataError(f"{path} is not a release written by mottle.") from None


def _read_csv(
    path: Path,
    parquet: str,
    described: Sequence[ColumnFacts],
    certificate: Certificate | None,
) -> tuple[pa.Table, _Columns]:
    """Read text cells; the columns are those of ``parquet`` next to it, or else as described."""
    columns = _described_columns(path, parquet, described, certificate)
    types = {
        name: _type_in_csv(column)
        for column in columns
        for name in text_columns(column.name, column.form)
    }
    guarded = certificate is not None and certificate.formula_guard == GUARD
    numbers = {column.name for column in columns if not _is_text(column)}
    try:
        texts = read_texts(path, types, guarded=guarded, numbers=numbers)
        arrays = [_typed(texts, column) for column in columns]
    except (pa.ArrowException, OSError, KeyError):
        raise DataError(f"{path} does not fit its certificate.") from None
    schema = pa.schema([column.field() for column in columns])
    return pa.table(arrays, schema=schema), columns


_LONGEST_LINE = 1 << 26  # pyarrow reads blocks of bytes, and no line may be longer than a block


def _is_text(column: PublishedColumn) -> bool:
    """Whether the values of a column are texts, which may begin like formulas."""
    data_type = column.value_type
    return bool(
        pa.types.is_string(data_type) or pa.types.is_binary(data_type) or data_type.num_fields
    )


def read_texts(
    path: Path,
    types: dict[str, pa.DataType],
    *,
    guarded: bool,
    numbers: Collection[str] = (),
) -> pa.Table:
    """Read the columns of a released CSV file; a cell is missing if it is empty and not quoted.

    Where ``guarded``, texts that begin like formulas have an apostrophe in front, which is removed,
    except in columns of ``numbers``.
    """
    names = {guard_text(name) if guarded else name: name for name in types}
    table = _read_texts(path, {name: types[own] for name, own in names.items()})
    table = table.select(list(names)).rename_columns(list(names.values()))
    if not guarded:
        return table
    columns = [
        unguard(column) if name not in numbers and pa.types.is_string(types[name]) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.table(columns, names=table.column_names)


def _read_texts(path: Path, types: dict[str, pa.DataType]) -> pa.Table:
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
    """The type in which a column is read first; pyarrow's reader does not know wide decimals."""
    is_text = column.form is not None or pa.types.is_decimal256(column.value_type)
    return pa.string() if is_text else column.value_type


def _typed(texts: pa.Table, column: PublishedColumn) -> pa.ChunkedArray:
    """A column as it was before it was written as text."""
    if column.form is None:
        return texts.column(column.name).cast(column.value_type)
    form, value_type = column.form, column.value_type
    batches = texts.select(list(text_columns(column.name, form))).to_batches()
    cells = [from_texts(batch.columns, form, value_type, column.rule) for batch in batches]
    return pa.chunked_array(cells, published_type(form, value_type))


def _described_columns(
    path: Path,
    parquet: str,
    described: Sequence[ColumnFacts],
    certificate: Certificate | None,
) -> _Columns:
    """The columns of a CSV file, from the Parquet file next to it or from the certificate."""
    typed = path.parent / parquet
    if certificate is not None and typed.is_file():
        check_unchanged(typed, certificate)
        return _columns_of(parquet_schema(typed), typed)
    try:
        columns = tuple(_column(facts) for facts in described if facts.type is not None)
    except ValueError:
        raise DataError(
            f"{path.parent / CERTIFICATE} is not a certificate written by mottle."
        ) from None
    if not columns:
        raise DataError(
            f"{path} cannot be read without {CERTIFICATE} next to it.",
            "The certificate describes the columns.",
        )
    return columns


def _column(facts: ColumnFacts) -> PublishedColumn:
    return PublishedColumn(
        name=facts.name,
        role=facts.role,
        kind=None if facts.kind is None else Kind(facts.kind),
        form=None if facts.form is None else Form(facts.form),
        value_type=type_of(facts.type or ""),
        separator=facts.separator,
        coarsening=None if facts.coarsening is None else Coarsening.of_facts(facts.coarsening),
    )


def type_of(text: str) -> pa.DataType:
    """Return the Arrow type that a certificate names; text for types that are not known."""
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
