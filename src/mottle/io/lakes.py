"""Delta and Iceberg tables in a local folder, through Arrow.

Both describe in a log which Parquet files belong to the current version, so their folders must not
be read as Parquet files: deleted rows would come back. All files have to lie inside the folder:
a table of somebody else must not make mottle open other files, or addresses in a network.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa

from mottle.errors import DataError, MottleError
from mottle.io.foreign.formats import Package
from mottle.utils.paths import resolved
from mottle.utils.untrusted.arrow import check_decoded, checked_schema, reporting_damage

__all__ = ["is_lake", "lake_batches"]

_DELTA = Package("deltalake", "deltalake", "delta")
_ICEBERG = Package("pyiceberg", "pyiceberg.table", "iceberg")
_ROWS_PER_BATCH = 1 << 16
_VERSION = re.compile(r"v?(\d+)(-.*)?\.metadata\.json")


def is_lake(path: Path) -> bool:
    """Tell whether a folder is a Delta or an Iceberg table.

    Parameters
    ----------
    path : Path
        The folder.

    Returns
    -------
    bool
        Whether it has the log of one of them.
    """
    return os.path.isdir(path) and (_is_delta(path) or _is_iceberg(path))


def lake_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """Read the current version of a Delta or an Iceberg table.

    Parameters
    ----------
    path : Path
        The folder.

    Yields
    ------
    pyarrow.RecordBatch
        The rows, in batches of one schema; at least one batch.

    Raises
    ------
    UsageError
        The package that reads such tables is not installed.
    DataError
        The table is damaged, uses features that cannot be read, or names files elsewhere.
    """
    batches = _delta(path) if _is_delta(path) else _iceberg(path)
    name = str(path)
    while True:
        with _reporting(path), reporting_damage(name):
            batch = next(batches, None)
            if batch is None:
                return
            checked_schema(batch.schema, name)
            batch.validate(full=True)
        yield batch


def _is_delta(path: Path) -> bool:
    return (path / "_delta_log").is_dir()


def _is_iceberg(path: Path) -> bool:
    return any((path / "metadata").glob("*.metadata.json"))


# ------------------------------------------------------------------------------------------- Delta


def _delta(path: Path) -> Iterator[pa.RecordBatch]:
    package = _DELTA.load()
    with _reporting(path):
        table = package.DeltaTable(str(resolved(path)))
        features = table.protocol().reader_features or []
    if features and set(features) - {"timestampNtz"}:
        raise DataError(
            f"{path} is a Delta table with features that are not read here:"
            f" {', '.join(sorted(map(str, features)))}.",
            "Write a copy of it without them, or export it as Parquet.",
        )
    with _reporting(path):
        files = _inside(path, table.file_uris())
        dataset = table.to_pyarrow_dataset()
    check_decoded(files, str(path))
    yield pa.RecordBatch.from_pylist([], schema=dataset.schema)
    yield from dataset.to_batches(batch_size=_ROWS_PER_BATCH)


# ----------------------------------------------------------------------------------------- Iceberg


def _iceberg(path: Path) -> Iterator[pa.RecordBatch]:
    tables = _ICEBERG.load()
    with _reporting(path):
        table = _static_table(tables, path)
        scan = table.scan()
        tasks = list(scan.plan_files())
        data = _inside(path, [task.file.file_path for task in tasks])
        _inside(path, [one.file_path for task in tasks for one in task.delete_files])
    check_decoded(data, str(path))
    with _reporting(path):
        reader = scan.to_arrow_batch_reader()
        yield pa.RecordBatch.from_pylist([], schema=reader.schema)
    yield from reader


def _static_table(tables: Any, path: Path) -> Any:
    """The table as its latest metadata describe it, with files that lie in its folder only.

    Not ``StaticTable.from_metadata``: that lets the metadata name the class that opens files.
    """
    from pyiceberg.catalog.noop import NoopCatalog
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.serializers import FromInputFile

    class FilesInside(PyArrowFileIO):
        """Opens files of the folder, and no others."""

        def new_input(self, location: str) -> Any:
            _inside(path, [location])
            return super().new_input(location)

    files = FilesInside()
    latest = str(resolved(_latest(path)))
    metadata = FromInputFile.table_metadata(files.new_input(latest))
    return tables.StaticTable(
        identifier=("local", latest),
        metadata=metadata,
        metadata_location=latest,
        io=files,
        catalog=NoopCatalog("local"),
    )


def _latest(path: Path) -> Path:
    """The metadata of the current version: the highest number."""
    found = {
        int(version.group(1)): file
        for file in (path / "metadata").glob("*.metadata.json")
        if (version := _VERSION.fullmatch(file.name))
    }
    if not found:
        raise DataError(f"{path} has no metadata of an Iceberg table.", "Name another folder.")
    return found[max(found)]


# ------------------------------------------------------------------------------------------ common


def _inside(path: Path, locations: Iterable[str]) -> list[Path]:
    """The files that a table names, all of which have to lie in its folder."""
    root, files = resolved(path), []
    for location in locations:
        parts = urlparse(str(location))
        local = parts.scheme in ("", "file") and parts.netloc in ("", "localhost")
        file = resolved(unquote(parts.path) if parts.scheme else str(location))
        if not local or not file.is_relative_to(root):
            raise DataError(
                f"{path} is a table whose files lie elsewhere.",
                "Tables are read where they were written, in a local folder that holds all their"
                " files; copy the table with the program that wrote it.",
            )
        files.append(file)
    return files


@contextmanager
def _reporting(path: Path) -> Iterator[None]:
    """Turn whatever the libraries raise about a table into an error that names it."""
    try:
        yield
    except (MottleError, MemoryError, GeneratorExit):
        raise
    except Exception:  # their errors have no common base, and may quote values
        raise DataError(
            f"{path} is damaged, or uses features of its format that are not read here.",
            "Check it with the program that wrote it, or export it as Parquet.",
        ) from None
