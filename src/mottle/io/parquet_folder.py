"""Folders and patterns of Parquet files as one table, with columns from partitioned folders.

Files below a folder such as ``year=2020`` have a column ``year``, as Hive, Spark and DuckDB write
them. What begins with a point or an underscore does not belong to the table.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from mottle.errors import DataError, StorageError
from mottle.io.text.type_inference import infer_type
from mottle.schema.reading import ReadOptions
from mottle.utils.paths import is_pattern
from mottle.utils.untrusted.arrow import (
    ROWS_PER_BATCH,
    check_batches,
    check_decoded,
    parquet_batches,
    parquet_rows,
    parquet_schema,
)

__all__ = ["ParquetFiles"]

_SUFFIXES = (".parquet", ".pq")
_MISSING = "__HIVE_DEFAULT_PARTITION__"  # how Hive and Spark name the folder of missing values


@dataclass(frozen=True)
class ParquetFiles:
    """The files of one table, in the order of their names."""

    name: str  # what the user named, for messages
    files: tuple[Path, ...]
    partitions: Mapping[str, pa.Array]  # by column: the value of every file
    schema: pa.Schema  # of all files together, with the columns of partitions

    @classmethod
    def of(cls, path: str | Path) -> ParquetFiles:
        """Find the files of a folder or a pattern, or take one file.

        Parameters
        ----------
        path : str or Path
            A file, a folder, or a pattern with ``*``, ``?``, ``[…]`` and ``**``.

        Returns
        -------
        ParquetFiles
            The files.

        Raises
        ------
        StorageError
            There are no Parquet files.
        DataError
            The files are damaged or have different columns.
        """
        name = str(path)
        if is_pattern(path):
            files = [Path(one) for one in sorted(glob.glob(name, recursive=True))]
            files = [file for one in files for file in ([one] if one.is_file() else _below(one))]
            if not files:
                raise StorageError(f"No file fits {name}.", "Check the pattern.")
            root = Path(os.path.commonpath([one.parent for one in files]))
        elif Path(path).is_dir():
            root = Path(path)
            files = _below(root)
        else:
            return cls(name, (Path(path),), {}, parquet_schema(Path(path), name))
        if not files:
            raise StorageError(
                f"{name} is a folder without Parquet files.",
                "Give the file that holds the table, or a folder of Parquet files.",
            )
        for file in files:
            if file.suffix.lower() not in _SUFFIXES:
                raise DataError(
                    f"{file} is not a Parquet file.",
                    "Folders and patterns are for Parquet files; give other files one by one.",
                )
        return cls._of(name, files, _partitions(name, root, files))

    @classmethod
    def _of(
        cls, name: str, files: Sequence[Path], partitions: Mapping[str, pa.Array]
    ) -> ParquetFiles:
        schemas = [parquet_schema(file).remove_metadata() for file in files]
        for file, schema in zip(files, schemas, strict=True):
            if sorted(schema.names) != sorted(schemas[0].names):
                differing = sorted(set(schema.names) ^ set(schemas[0].names))
                raise DataError(
                    f"{name}: {file.name} and {files[0].name} have different columns: one has no"
                    f" '{(differing or ['?'])[0]}'.",
                    "Give files that are parts of one table.",
                )
        for column in partitions:
            if column in schemas[0].names:
                raise DataError(
                    f"{name}: column '{column}' is in the files and in the names of their folders.",
                    "Rename the folders, or remove the column from the files.",
                )
        try:
            schema = pa.unify_schemas(schemas, promote_options="permissive")
        except pa.ArrowException:  # its message names types and columns in Arrow's words
            raise DataError(
                f"{name}: a column has types in different files that do not fit together.",
                "Write the files again with the same types.",
            ) from None
        # The first file's own metadata say whether it belongs to a release.
        first = parquet_schema(files[0])
        fields = [field.with_metadata(first.field(field.name).metadata) for field in schema]
        added = [pa.field(column, values.type) for column, values in partitions.items()]
        return cls(name, tuple(files), partitions, pa.schema([*fields, *added]))

    @property
    def rows(self) -> int:
        """The number of rows of all files."""
        return sum(parquet_rows(file, self._shown(file)) for file in self.files)

    def check_batches(self, size: int = ROWS_PER_BATCH) -> None:
        """Check that batches fit into memory.

        Parameters
        ----------
        size : int, optional
            The most rows of a batch.

        Raises
        ------
        DataError
            A file is damaged, or a batch does not fit.
        """
        for file in self.files:
            check_batches(file, self._shown(file), size)

    def batches(self, size: int = ROWS_PER_BATCH) -> Iterator[pa.RecordBatch]:
        """Read all files in batches.

        Parameters
        ----------
        size : int, optional
            The most rows of a batch.

        Yields
        ------
        pyarrow.RecordBatch
            The rows, file by file, in the columns of `schema`.

        Raises
        ------
        DataError
            A file is damaged.
        """
        if len(self.files) == 1 and not self.partitions:
            yield from parquet_batches(self.files[0], self.name, size=size)
            return
        for place, file in enumerate(self.files):
            for batch in parquet_batches(file, self._shown(file), size=size):
                yield self._completed(batch, place)

    def read(self) -> pa.Table:
        """Read all rows.

        Returns
        -------
        pyarrow.Table
            The rows, in the columns of `schema`.

        Raises
        ------
        DataError
            A file is damaged, or all of them take more memory than there is.
        """
        check_decoded(self.files, self.name)
        return pa.Table.from_batches(list(self.batches()), self.schema)

    def _completed(self, batch: pa.RecordBatch, place: int) -> pa.RecordBatch:
        """A batch with the columns of its folder, in the types that all files have."""
        rows = pa.Table.from_batches([batch])
        columns = []
        for field in self.schema:
            if field.name in self.partitions:
                value = self.partitions[field.name][place]
                columns.append(pa.repeat(value, batch.num_rows).cast(field.type))
            else:
                columns.append(rows.column(field.name).cast(field.type).combine_chunks())
        return pa.RecordBatch.from_arrays(
            [one.combine_chunks() if isinstance(one, pa.ChunkedArray) else one for one in columns],
            schema=self.schema,
        )

    def _shown(self, file: Path) -> str:
        return self.name if len(self.files) == 1 else str(file)


def _below(folder: Path) -> list[Path]:
    """The Parquet files below a folder, without hidden ones and those of runs that go on."""
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        found += [
            Path(parent, name)
            for name in names
            if name.lower().endswith(_SUFFIXES) and not name.startswith((".", "_"))
        ]
    return sorted(found)


def _partitions(name: str, root: Path, files: Sequence[Path]) -> dict[str, pa.Array]:
    """The columns that folders such as ``year=2020`` state, with the value of every file."""
    stated = [_stated(file.relative_to(root).parent) for file in files]
    if any(list(one) != list(stated[0]) for one in stated):
        raise DataError(
            f"{name}: not all files lie in folders NAME=VALUE of the same columns.",
            "Give a folder whose files are all partitioned by the same columns.",
        )
    columns = {
        column: pa.array([one[column] for one in stated], pa.string()) for column in stated[0]
    }
    plain = ReadOptions()
    return {
        column: infer_type(pa.chunked_array([texts]), plain).combine_chunks()
        for column, texts in columns.items()
    }


def _stated(folder: Path) -> dict[str, str | None]:
    parts = [part.partition("=") for part in folder.parts if "=" in part]
    return {
        unquote(name): None if value == _MISSING else unquote(value)
        for name, equals, value in parts
        if name and equals
    }
