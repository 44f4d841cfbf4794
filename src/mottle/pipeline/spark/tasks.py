"""The work of Python workers on their part of a table on a Spark cluster."""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mottle.encoding.people import named_people
from mottle.io.normalize import normalize
from mottle.methods.buckets.partitioned.shares import RegionRows, RowShare
from mottle.pipeline.chunked.chunk import CHUNK, ChunkedPlan, RowCodec
from mottle.pipeline.measurements import Measurements
from mottle.typing import Int64Array
from mottle.utils.compiling.once import one_at_first
from mottle.utils.csprng import Secret

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MEASURED, RELEASED, SHARE = "measured", "released", "share"
PART, PLACE, RANDOM = "part", "place", "random"

Batches = Iterator[pa.RecordBatch]
Keep = Callable[[str, "DataFrame"], "DataFrame"]  # writes the output of a stage under a name


def code_rows(codec: RowCodec, types: pa.Schema, secret: Secret, batches: Batches) -> Batches:
    """Code the rows of a partition; tie-breaks depend on its number and that of the batch."""
    # The words are part of the key of the random numbers and must not change.
    mine = secret.part("lots of partition", _partition())
    for number, batch in enumerate(batches):
        rows = normalize(pa.Table.from_batches([batch])).cast(types)
        tiebreak = mine.part("batch", number).numbers(rows.num_rows)
        yield from codec.code(rows, tiebreak).to_batches()


def spell_people(column: str, batches: Batches) -> Batches:
    """Give variants in spelling of a person one name."""
    for batch in batches:
        names = named_people(normalize(pa.Table.from_batches([batch])).column(column), column)
        yield from pa.table({column: names}).to_batches()


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
    """Add the chunk of every row: the number of bounds at or before the row."""
    for batch in batches:
        rows = sortable(pa.Table.from_batches([batch]), names)
        chunk = np.searchsorted(bounds, rows, side="right")
        columns = [*batch.columns, pa.array(chunk, pa.int64())]
        yield pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, CHUNK])


def published_fields(plan: ChunkedPlan) -> pa.Schema:
    """Return the columns of what `publish_chunk` returns."""
    added = [(CHUNK, pa.int64()), (MEASURED, pa.string()), (RANDOM, pa.int64())]
    return pa.schema([*plan.fields, *pa.schema(added)])


def publish_chunk(plan: ChunkedPlan, key: tuple[pa.Scalar, ...], rows: pa.Table) -> pa.Table:
    """Publish one chunk: rows with random numbers; the first carries the measurements."""
    _one_thread()
    number = key[0].as_py()
    table, measured = plan.anonymize(number, plan.in_order(rows.drop_columns([CHUNK])))
    return _numbered(plan, number, table, measured)


def publish_wave(
    plan: ChunkedPlan, buckets: int, number: int, key: tuple[pa.Scalar, ...], rows: pa.Table
) -> pa.Table:
    """Publish the first wave of a tier; the first row also carries what its release shows."""
    _one_thread()
    ordered = plan.in_order(rows.drop_columns([CHUNK]))
    table, measured, released = plan.anonymize_wave(number, ordered, buckets)
    found = pa.array([pickle.dumps(released), *[None] * (table.num_rows - 1)], pa.binary())
    return _numbered(plan, number, table, measured).append_column(RELEASED, found)


def _numbered(plan: ChunkedPlan, number: int, table: pa.Table, measured: Measurements) -> pa.Table:
    random = plan.secret.part("row order of chunk", number).numbers(table.num_rows)
    line = pa.array([measured.to_json(), *[None] * (table.num_rows - 1)], pa.string())
    chunk = pa.array(np.full(table.num_rows, number, np.int64))
    table = table.append_column(CHUNK, chunk).append_column(MEASURED, line)
    return table.append_column(RANDOM, pa.array(random))


def _one_thread() -> None:
    """Use one thread, because Spark already runs one worker per core."""
    os.environ.setdefault("MOTTLE_THREADS", "1")


def part_region(
    plan: ChunkedPlan, share: RowShare, key: tuple[pa.Scalar, ...], rows: pa.Table
) -> pa.Table:
    """Add to the rows of one region the part that each belongs to."""
    rows = plan.in_order(rows)
    return rows.append_column(SHARE, pa.array(plan.parts(key[0].as_py(), rows, share)))


def inspect_section(
    plan: ChunkedPlan,
    cuts: Int64Array,
    work: Callable[[RegionRows], Any],
    key: tuple[pa.Scalar, ...],
    rows: pa.Table,
) -> pa.Table:
    """Return the result of ``work`` on one section, as bytes."""
    _one_thread()
    number = key[0].as_py()
    found = work(plan.section(number, plan.in_order(rows), cuts))
    return pa.table({CHUNK: [number], "found": [pickle.dumps(found)]})


def assign_slots(
    plan: ChunkedPlan, tier: int, key: tuple[pa.Scalar, ...], rows: pa.Table
) -> pa.Table:
    """Add chunk and slot to the rows of one section of a tier."""
    assert plan.decision is not None
    ordered = plan.in_order(rows.drop_columns([CHUNK]))
    return plan.with_slots(plan.decision.tiers[tier], key[0].as_py(), ordered)


def grouped(work: Callable[..., pa.Table], *fixed: Any) -> Callable[..., pa.Table]:
    """Make a function of a chunk's number and rows, which is the signature that Spark expects.

    One worker of every machine is the first to run it, so that kernels are compiled there once.
    """
    token = uuid.uuid4().hex

    def run(key, rows):  # type: ignore[no-untyped-def]
        with one_at_first(work.__name__, token):
            return work(*fixed, key, rows)

    return run


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def sortable(rows: pa.Table, names: Sequence[str]) -> NDArray[np.bytes_]:
    """Convert keys and tie-breaks, none of them negative, into bytes of the same order."""
    columns = np.stack([rows.column(name).to_numpy() for name in names], axis=1)
    texts: NDArray[np.bytes_] = columns.astype(">i8").view(f"S{8 * len(names)}").ravel()
    return texts
