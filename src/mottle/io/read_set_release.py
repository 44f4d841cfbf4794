"""Reading a release of sets back: a folder, its Parquet file or its CSV file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from mottle.errors import DataError, StorageError
from mottle.io.read_release import (
    find_release,
    load_release,
    read_certificate,
    read_texts,
    type_of,
)
from mottle.io.write_release import CERTIFICATE, CSV, PARQUET
from mottle.release import set_cell_text
from mottle.release.certificate import Certificate, ReleaseKind
from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData
from mottle.release.formula_guard import GUARD
from mottle.release.set_release import (
    SetReleaseData,
    described_by_field,
    set_column,
    set_field,
)
from mottle.release.validation import check_release
from mottle.utils.untrusted.arrow import read_parquet


def load_set_release(path: str | Path) -> SetReleaseData:
    """Read a release of sets; see `mottle.read_set_release`.

    Parameters
    ----------
    path : str or Path
        Its folder, its ``release.parquet`` or its ``release.csv``.

    Returns
    -------
    SetReleaseData
        The release, without links.

    Raises
    ------
    StorageError
        There is no complete release.
    DataError
        The files are damaged or changed, or hold a release of a table.
    """
    file, certificate = find_release(path)
    if certificate is None:
        raise StorageError(
            f"{file.parent} does not hold a complete release.",
            f"A release has {PARQUET} or {CSV} and {CERTIFICATE}.",
        )
    if certificate.kind is not ReleaseKind.SETS or file.name not in certificate.sha256:
        raise DataError(
            f"{file.parent / CERTIFICATE} is not a certificate of a release of sets.",
            "Releases of tables are read by mottle.read_release.",
        )
    if not certificate.columns:
        raise DataError(f"{file} does not fit its certificate.", "It names no column of sets.")
    sets, *labels = certificate.columns
    columns = (
        set_column(sets.name),
        *(
            PublishedColumn(each.name, each.role, None, None, type_of(each.type or ""))
            for each in labels
        ),
    )
    table = _read_csv(file, certificate) if file.suffix == ".csv" else read_parquet(file)
    names = [column.name for column in columns]
    stored = [field.type for name in names for field in table.schema if field.name == name]
    if stored != [set_cell_text.TYPE, *(column.value_type for column in columns[1:])]:
        raise DataError(f"{file} does not fit its certificate.")
    table = table.select(names)
    try:
        totals, hierarchy = described_by_field(table.schema.field(0))
    except (AttributeError, KeyError, TypeError, ValueError, DataError):
        raise DataError(f"{file} is not a release written by mottle.") from None
    columns = (replace(columns[0], item_totals=totals, hierarchy=hierarchy), *columns[1:])
    check_release([table], columns, certificate.with_changes(columns=()), str(file))
    return SetReleaseData(table, columns, certificate)


def _read_csv(path: Path, certificate: Certificate) -> pa.Table:
    """The three columns of the sets as typed cells, and the labels in their types."""
    sets, *labels = certificate.columns
    parts = [f"{sets.name}.{part}" for part in set_cell_text.PARTS]
    types = {name: pa.string() for name in parts[:2]} | {parts[2]: pa.int32()}
    types |= {label.name: type_of(label.type or "") for label in labels}
    try:
        guarded = certificate.formula_guard == GUARD
        texts = read_texts(path, types, guarded=guarded).combine_chunks()
    except (pa.ArrowException, OSError, KeyError):
        raise DataError(f"{path} does not fit its certificate.") from None
    typed = [
        set_cell_text.from_text(*chunks)
        for chunks in zip(*(texts.column(name).chunks for name in parts), strict=True)
    ]
    arrays = [pa.chunked_array(typed, set_cell_text.TYPE)]
    fields = [set_field(sets.name)]
    for label in labels:
        values = texts.column(label.name)
        arrays.append(values)
        fields.append(pa.field(label.name, values.type))
    return pa.table(arrays, schema=pa.schema(fields))


def load_any_release(path: str | Path, *, in_memory: bool = True) -> ReleaseData:
    """Read a release of a table or of sets, depending on its certificate.

    Parameters
    ----------
    path : str or Path
        Its folder or one of its files.
    in_memory : bool, optional
        As for `load_release`.

    Returns
    -------
    ReleaseData
        A `SetReleaseData` for sets.
    """
    if holds_sets(path):
        return load_set_release(path)
    return load_release(path, in_memory=in_memory)


def holds_sets(path: str | Path) -> bool:
    """Tell whether a path is a release of sets, as its certificate says.

    Parameters
    ----------
    path : str or Path
        A folder or a file.

    Returns
    -------
    bool
        False where there is no certificate.
    """
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    file = folder / CERTIFICATE
    return file.exists() and read_certificate(file).kind is ReleaseKind.SETS
