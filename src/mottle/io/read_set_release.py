"""Reading a release of sets back: a folder, its Parquet file or its CSV file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mottle.errors import DataError, StorageError
from mottle.io.read_release import read_texts
from mottle.io.write_release import CERTIFICATE, CSV, PARQUET, sha256_of
from mottle.release import set_cell_text
from mottle.release.set_release import METADATA, SetRelease


def read_set_release(path: str | Path) -> SetRelease:
    """Read a release of sets from its folder, its ``release.parquet`` or its ``release.csv``.

    The certificate has to lie beside; a file that has another checksum than it states is refused.

    >>> import tempfile
    >>> from mottle import KAnonymity, anonymize_sets
    >>> release = anonymize_sets([{"tea"}, {"rum"}, set()], KAnonymity(2), seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = release.save(Path(folder, "out"), report=False)
    ...     again = read_set_release(Path(folder, "out"))
    >>> again.table.equals(release.table)
    True
    """
    path = Path(path)
    if path.is_dir():
        names = [name for name in (PARQUET, CSV) if (path / name).exists()]
        path = path / (names[0] if names else PARQUET)
    beside = path.parent / CERTIFICATE
    if not path.exists() or not beside.exists():
        raise StorageError(
            f"{path.parent} holds no complete release.",
            f"A release has {PARQUET} or {CSV} and {CERTIFICATE}.",
        )
    certificate = _certificate(beside)
    if certificate["sha256"].get(path.name) != sha256_of(path):
        raise DataError(
            f"{path} is not the file its certificate describes: the checksums differ.",
            "It was changed after it was released.",
        )
    try:
        table = _read_csv(path, certificate) if path.suffix == ".csv" else pq.read_table(path)
    except (pa.ArrowException, OSError, KeyError):
        raise DataError(f"{path} does not fit its certificate.") from None
    return SetRelease(table, certificate)


def _certificate(path: Path) -> dict[str, Any]:
    try:
        certificate: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        forms = [column.get("form") for column in certificate["columns"]]
        is_of_sets = "error_rate" in certificate and forms[:1] == ["worlds"]
        if is_of_sets and isinstance(certificate["sha256"], dict):
            return certificate
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, AttributeError, TypeError):
        pass
    raise DataError(
        f"{path} is no certificate of a release of sets.",
        "Releases of tables are read by mottle.read_release.",
    )


def _read_csv(path: Path, certificate: dict[str, Any]) -> pa.Table:
    """The three columns of the sets as typed cells, and the labels as text becomes them."""
    sets, *labels = certificate["columns"]
    parts = [f"{sets['name']}.{part}" for part in set_cell_text.PARTS]
    types = {name: pa.string() for name in parts[:2]} | {parts[2]: pa.int32()}
    types |= {label["name"]: _type(label["type"]) for label in labels}
    texts = read_texts(path, types).combine_chunks()
    typed = [
        set_cell_text.from_text(*chunks)
        for chunks in zip(*(texts.column(name).chunks for name in parts), strict=True)
    ]
    arrays = [pa.chunked_array(typed, set_cell_text.TYPE)]
    fields = [pa.field(sets["name"], set_cell_text.TYPE, metadata=METADATA)]
    for label in labels:
        values = texts.column(label["name"])
        arrays.append(values)
        fields.append(pa.field(label["name"], values.type))
    return pa.table(arrays, schema=pa.schema(fields))


def _type(text: str) -> pa.DataType:
    """The type a certificate names; anything unusual is read as text."""
    try:
        return pa.type_for_alias(text)
    except ValueError:
        return pa.string()
