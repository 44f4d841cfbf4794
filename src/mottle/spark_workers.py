"""What Python workers do with their part of a table on a Spark cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mottle.bucket_cuts import Stretch, try_cuts
from mottle.chunks import Coding, Plan
from mottle.graph import Int64s
from mottle.io.read import normalize
from mottle.randomness import Secret

CHUNK, MEASURED, PART, PLACE, RANDOM = "chunk", "measured", "part", "place", "random"

Batches = Iterator[pa.RecordBatch]


def code_rows(coding: Coding, types: pa.Schema, secret: Secret, batches: Batches) -> Batches:
    """Code the rows of a partition; its number and the batch's decide the lots."""
    mine = secret.part("lots of partition", _partition())
    for number, batch in enumerate(batches):
        rows = normalize(pa.Table.from_batches([batch])).cast(types)
        lots = mine.part("batch", number).numbers(rows.num_rows)
        yield from coding.code(rows, lots).to_batches()


def add_place(batches: Batches) -> Batches:
    """Number the rows of a sorted partition."""
    part, place = _partition(), 0
    for batch in batches:
        places = np.arange(place, place + batch.num_rows)
        place += batch.num_rows
        parts = np.full(batch.num_rows, part, np.int64)
        names = [*batch.schema.names, PART, PLACE]
        yield pa.RecordBatch.from_arrays([*batch.columns, parts, places], names=names)


def add_chunk(names: list[str], bounds: NDArray[np.bytes_], batches: Batches) -> Batches:
    """The chunk of every row: how many chunks begin at or before it."""
    for batch in batches:
        rows = sortable(pa.Table.from_batches([batch]), names)
        chunk = np.searchsorted(bounds, rows, side="right")
        columns = [*batch.columns, pa.array(chunk, pa.int64())]
        yield pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, CHUNK])


def add_random(secret: Secret, fields: pa.Schema, batches: Batches) -> Batches:
    """A random number for every row."""
    mine = secret.part("row order of partition", _partition())
    for number, batch in enumerate(batches):
        random = mine.part("batch", number).numbers(batch.num_rows)
        columns = [*batch.select(fields.names).columns, pa.array(random)]
        yield pa.RecordBatch.from_arrays(columns, names=[*fields.names, RANDOM])


def publish_chunk(plan: Plan, key: tuple[pa.Scalar, ...], rows: pa.Table) -> pa.Table:
    """Publish one chunk; its first row carries what was measured."""
    os.environ.setdefault("MOTTLE_THREADS", "1")  # Spark has a worker for every core already
    number = key[0].as_py()
    table, measured = plan.anonymize(number, plan.in_order(rows.drop_columns([CHUNK])))
    line = pa.array([measured.to_json(), *[None] * (table.num_rows - 1)], pa.string())
    chunk = pa.array(np.full(table.num_rows, number, np.int64))
    return table.append_column(CHUNK, chunk).append_column(MEASURED, line)


def try_cuts_of_chunk(
    plan: Plan, tried: Int64s, key: tuple[pa.Scalar, ...], rows: pa.Table
) -> pa.Table:
    """What one chunk says about numbers of blocks; block -1 stands for a broken cap."""
    first = int(plan.cuts[key[0].as_py()])
    marks = plan.marks(plan.in_order(rows))
    alive = np.ones(len(tried), np.bool_)
    trial = try_cuts(marks, first, plan.rows, tried, plan.demand.caps, alive)
    broken = np.flatnonzero(trial.violated)
    lines = np.column_stack([broken, -np.ones((len(broken), 2), np.int64), np.ones(len(broken))])
    both = np.concatenate([trial.borders, lines.astype(np.int64)])
    return pa.table(list(both.T), names=["tried", "block", "mark", "n"])


def count_values_of_chunk(
    plan: Plan, stretches: list[Stretch], key: tuple[pa.Scalar, ...], rows: pa.Table
) -> pa.Table:
    """How often each value occurs in those parts of some stretches that lie in one chunk."""
    begin = int(plan.cuts[key[0].as_py()])
    values = plan.marks(plan.in_order(rows))[:, 0]
    lines = []
    for place, (first, last) in enumerate(stretches):
        inside = values[max(first - begin, 0) : max(last - begin, 0)]
        found, counts = np.unique(inside, return_counts=True)
        lines.append(np.column_stack([np.full(len(found), place), found, counts]))
    return pa.table(list(np.concatenate(lines).T), names=["stretch", "value", "n"])


def grouped(work: Callable[..., pa.Table], *fixed: Any) -> Callable[..., pa.Table]:
    """A function of a chunk's number and rows; Spark looks at its signature."""

    def run(key, rows):  # type: ignore[no-untyped-def]
        return work(*fixed, key, rows)

    return run


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def sortable(rows: pa.Table, names: Sequence[str]) -> NDArray[np.bytes_]:
    """Keys and lots of rows as bytes that compare as they do; none is negative."""
    columns = np.stack([rows.column(name).to_numpy() for name in names], axis=1)
    texts: NDArray[np.bytes_] = columns.astype(">i8").view(f"S{8 * len(names)}").ravel()
    return texts
