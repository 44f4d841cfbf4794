"""Counts how often values occur in more rows than fit into memory, by DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.people import named_people
from mottle.errors import MottleError, StorageError
from mottle.pipeline.unit import Repeats


def count_values(
    batches: Iterator[pa.Table],
    types: pa.Schema,
    columns: Sequence[str],
    *,
    memory: int,
    threads: int,
    folder: Path,
    person: str | None = None,
) -> tuple[Repeats, ...]:
    """Count the different values of some columns, and how often the most frequent one occurs.

    Parameters
    ----------
    batches : iterator of pa.Table
        All rows.
    types : pa.Schema
        Their columns.
    columns : sequence of str
        The columns to count.
    memory : int
        Bytes that DuckDB uses, approximately; it writes the rest to ``folder``.
    threads : int
        The number of threads.
    folder : Path
        For what does not fit into memory.
    person : str, optional
        The one of the columns that says whose row it is: variants in spelling are one person.

    Returns
    -------
    tuple of Repeats
        By column, in the given order.

    Raises
    ------
    MottleError
        The person column does not name people.
    StorageError
        DuckDB cannot count, for instance because the disk is full.
    """
    if not columns:
        return ()
    names = [f"c{place}" for place in range(len(columns))]
    plain = [pa.string() if name == person else _plain(types.field(name).type) for name in columns]
    fields = pa.schema(list(zip(names, plain, strict=True)))

    refused: list[MottleError] = []  # DuckDB would raise another error in its place

    def selected() -> Iterator[pa.RecordBatch]:
        try:
            yield from selected_columns()
        except MottleError as error:
            refused.append(error)
            raise

    def selected_columns() -> Iterator[pa.RecordBatch]:
        for table in batches:
            cells = [
                named_people(table.column(name), name)
                if name == person
                else pc.cast(table.column(name), kind)
                for name, kind in zip(columns, plain, strict=True)
            ]
            yield from pa.Table.from_arrays(cells, schema=fields).to_batches()

    each = ", ".join(names)
    sets = ", ".join(f"({name})" for name in names)
    present = " OR ".join(f"{name} IS NOT NULL" for name in names)
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{memory // 2**20}MiB",
        "temp_directory": str(folder / "spill"),
        "threads": threads,
        "preserve_insertion_order": False,
    }
    with duckdb.connect(config=settings) as connection:
        connection.register("named", pa.RecordBatchReader.from_batches(fields, selected()))
        try:
            found = connection.execute(
                "SELECT which, sum(times), count(*), max(times) FROM (SELECT"
                f" grouping({each}) AS which, count(*) AS times, {each} FROM named"
                f" GROUP BY GROUPING SETS ({sets})) WHERE {present} GROUP BY which"
            ).fetchall()
        except duckdb.Error:
            if refused:
                raise refused[0] from None
            raise StorageError(
                f"Counting the values of identifying columns failed in {folder}.",
                "Check the free space there, or give more --memory.",
            ) from None
    counted = {which: numbers for which, *numbers in found}
    return tuple(
        Repeats(name, *map(int, counted.get(_only(place, len(columns)), (0, 0, 0))))
        for place, name in enumerate(columns)
    )


def _only(place: int, count: int) -> int:
    """The number by which GROUPING says that all columns but one are left out."""
    return (1 << count) - 1 - (1 << (count - 1 - place))


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
