"""The work of Python workers on their part of a table on a Spark cluster."""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mottle.encoding.people import named_people
from mottle.io.normalize import normalize
from mottle.methods.buckets.partitioned.shares import RegionRows, RowShare
from mottle.pipeline.chunked.chunk import CHUNK, PERSON, TIEBREAK, ChunkedPlan, RowCodec
from mottle.pipeline.chunked.survey import DomainSurvey
from mottle.pipeline.measurements import Measurements
from mottle.pipeline.spark.bundles import BUNDLE, ROWS, bundle, rows_of, slices
from mottle.pipeline.spark.key_groups import KeyGroups
from mottle.schema.model import Column, Role, Schema
from mottle.typing import Int64Array
from mottle.utils.compiling.once import one_at_first
from mottle.utils.csprng import Purpose, Secret

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MEASURED, RELEASED, SHARE, FOUND = "measured", "released", "share", "found"
KEYS, OTHERS, SAMPLE = "keys", "others", "sample"
PLACE, HEAP = "place", "heap"
ROWS_PER_RUN = 1 << 20  # that are sorted together after they were coded
_SAMPLED = 400  # rows of a sample for each chunk

BUNDLES = pa.schema([(CHUNK, pa.int64()), (ROWS, pa.int64()), (BUNDLE, pa.binary())])
CODED = pa.schema(
    [(ROWS, pa.int64()), (KEYS, pa.binary()), (OTHERS, pa.binary()), (SAMPLE, pa.binary())]
)
COUNTED = pa.schema([(PLACE, pa.int64()), (FOUND, pa.binary())])
PUBLISHED = pa.schema([*BUNDLES, (HEAP, pa.int64()), (PLACE, pa.int64()), (MEASURED, pa.string())])
RELEASE = pa.schema([(HEAP, pa.int64()), (ROWS, pa.int64()), (BUNDLE, pa.binary())])

Batches = Iterator[pa.RecordBatch]
Keep = Callable[[str, "DataFrame"], "DataFrame"]  # writes the output of a stage under a name


# ------------------------------------------------------------------------- survey and coding


def surveyed_columns(schema: Schema, about_values: bool) -> list[Column]:
    """Return the columns whose values are counted."""
    sensitive = schema.with_role(Role.SENSITIVE) if about_values else ()
    return [*schema.with_role(Role.QUASI_IDENTIFYING), *sensitive]


def survey_rows(schema: Schema, types: pa.Schema, about_values: bool, batches: Batches) -> Batches:
    """Count the values of every column of a partition."""
    survey = DomainSurvey(schema, types, about_values)
    columns = surveyed_columns(schema, about_values)
    seen = pa.schema([types.field(column.name) for column in columns])
    for batch in batches:
        rows = normalize(pa.Table.from_batches([batch])).cast(seen)
        ones = np.ones(rows.num_rows, np.int64)
        for column in columns:
            if column.role is Role.SENSITIVE:
                survey.add_counts(column.name, rows.column(column.name), ones)
            else:
                survey.add_values(column, rows.column(column.name), ones)
    counted = [survey.counts_of(column.name) for column in columns if survey.counted]
    found = [pickle.dumps(one) for one in counted]
    yield from pa.table([np.arange(len(found)), found], schema=COUNTED).to_batches()


def join_counts(
    schema: Schema, types: pa.Schema, about_values: bool, key: tuple[pa.Scalar, ...], rows: pa.Table
) -> pa.Table:
    """Add up the counts of one column from all partitions."""
    survey = DomainSurvey(schema, types, about_values)
    name = surveyed_columns(schema, about_values)[key[0].as_py()].name
    for part in rows.column(FOUND).to_pylist():
        survey.add_counted(name, pickle.loads(part))
    return pa.table([[key[0].as_py()], [pickle.dumps(survey.counts_of(name))]], schema=COUNTED)


def code_rows(
    codec: RowCodec, types: pa.Schema, secret: Secret, chunk_rows: int, batches: Batches
) -> Batches:
    """Code the rows of a partition; tie-breaks depend on its number and that of the batch."""
    # The words are part of the key of the random numbers and must not change.
    mine = secret.part("lots of partition", _partition())
    run: list[pa.Table] = []
    for number, batch in enumerate(batches):
        rows = normalize(pa.Table.from_batches([batch])).cast(types)
        tiebreak = mine.part("batch", number).numbers(rows.num_rows)
        run.append(codec.code(rows, tiebreak))
        if sum(part.num_rows for part in run) >= ROWS_PER_RUN:
            yield _coded(codec, run, chunk_rows)
            run = []
    if run:
        yield _coded(codec, run, chunk_rows)


def _coded(codec: RowCodec, run: list[pa.Table], chunk_rows: int) -> pa.RecordBatch:
    """Sort coded rows, so that a bundle has rows of few chunks only."""
    names = [*codec.keys, TIEBREAK]
    others = [name for name in codec.fields.names if name not in names]
    step = max(chunk_rows // _SAMPLED, 1)
    first = step // 2
    columns: list[list[Any]] = [[] for _ in CODED]
    for rows in slices(codec.in_order(pa.concat_tables(run))):
        sampled = rows.select(names).take(pa.array(np.arange(first, rows.num_rows, step)))
        first = (first - rows.num_rows) % step
        cells = (
            *(rows.num_rows, bundle(rows.select(names)), bundle(rows.select(others))),
            sortable(sampled, names).tobytes(),
        )
        for column, cell in zip(columns, cells, strict=True):
            column.append(cell)
    return pa.record_batch(columns, schema=CODED)


def coded_rows(names: Sequence[str], batches: Batches) -> Batches:
    """Return some columns of coded rows, as rows of their own."""
    for batch in batches:
        for rows in _opened(batch):
            yield from rows.select(names).to_batches()


def _opened(batch: pa.RecordBatch) -> Iterator[pa.Table]:
    """The coded rows of every bundle, with all columns."""
    for place in range(batch.num_rows):
        part = batch.slice(place, 1)
        rows, others = rows_of(part, KEYS), rows_of(part, OTHERS)
        for name, column in zip(others.column_names, others.columns, strict=True):
            rows = rows.append_column(others.schema.field(name), column)
        yield rows


def count_combinations(codec: RowCodec, batches: Batches) -> Batches:
    """Count the combinations of sensitive codes in some bundles."""
    for batch in batches:
        rows = rows_of(batch, OTHERS)
        numbers = codec.value_numbers([rows.column(name).to_numpy() for name in codec.values])
        found, times = np.unique(numbers, return_counts=True)
        yield pa.record_batch({"number": found, "times": times})


def spell_people(column: str, batches: Batches) -> Batches:
    """Give variants in spelling of a person one name; ``column`` is their column in the table."""
    for batch in batches:
        names = named_people(normalize(pa.Table.from_batches([batch])).column(0), column)
        yield from pa.table({PERSON: names}).to_batches()


# ------------------------------------------------------------------------------------- order


def split_keys(names: list[str], bounds: NDArray[np.bytes_], batches: Batches) -> Batches:
    """Cut sorted keys at the first rows of sections."""
    for batch in batches:
        for keys in batch.column(KEYS):
            yield _split(rows_of(pa.table({BUNDLE: [keys]})), names, bounds)


def split_rows(names: list[str], bounds: NDArray[np.bytes_], batches: Batches) -> Batches:
    """Cut coded rows, which are sorted in a bundle, at the first rows of chunks."""
    for batch in batches:
        for rows in _opened(batch):
            yield _split(rows, names, bounds)


def _split(rows: pa.Table, names: list[str], bounds: NDArray[np.bytes_]) -> pa.RecordBatch:
    """Make a bundle for each number of bounds at or before its rows."""
    texts = sortable(rows, names)
    first, last = np.searchsorted(bounds, texts[[0, -1]], side="right").tolist()
    inner = np.searchsorted(texts, bounds[first:last], side="left").tolist()
    starts, ends = [0, *inner], [*inner, rows.num_rows]
    pieces = [
        (chunk, end - start, bundle(rows.slice(start, end - start)))
        for chunk, start, end in zip(range(first, last + 1), starts, ends, strict=True)
        if end > start
    ]
    return pa.record_batch(list(map(list, zip(*pieces, strict=True))), schema=BUNDLES)


def sort_keys(
    keys: list[str], names: list[str], key: tuple[pa.Scalar, ...], pieces: pa.Table
) -> pa.Table:
    """Sort the keys of a section; the first bundle also says how many keys are equal."""
    rows = rows_of(pieces)
    order = np.lexsort([rows.column(name).to_numpy() for name in reversed(names)])
    rows = rows.take(pa.array(order))
    groups = KeyGroups.of([rows.column(name).to_numpy() for name in keys])
    parts = list(slices(rows))
    sizes = np.array([part.num_rows for part in parts])
    found = [pickle.dumps(groups), *[None] * (len(parts) - 1)]
    return pa.table(
        {
            CHUNK: np.full(len(parts), key[0].as_py(), np.int64),
            ROWS: sizes,
            BUNDLE: pa.array([bundle(part) for part in parts], pa.binary()),
            PLACE: np.cumsum(sizes) - sizes,
            FOUND: pa.array(found, pa.binary()),
        }
    )


def rows_at(names: list[str], wanted: Mapping[int, Int64Array], batches: Batches) -> Batches:
    """Return the rows at some places of sections."""
    for batch in batches:
        cells = [batch.column(name).to_pylist() for name in (CHUNK, PLACE, ROWS)]
        for number, (section, place, rows) in enumerate(zip(*cells, strict=True)):
            places = wanted[section] - place
            places = places[(places >= 0) & (places < rows)]
            if len(places):
                found = rows_of(batch.slice(number, 1)).take(pa.array(places))
                yield from found.select(names).to_batches()


# ------------------------------------------------------------------------------------ chunks


def publish_chunk(plan: ChunkedPlan, key: tuple[pa.Scalar, ...], rows: pa.Table) -> pa.Table:
    """Publish one chunk, as `PUBLISHED`; the first bundle carries the measurements."""
    _one_thread()
    number = key[0].as_py()
    table, measured = plan.anonymize(number, plan.in_order(rows_of(rows)))
    return _in_heaps(plan, number, table, measured)


def publish_wave(
    plan: ChunkedPlan, buckets: int, number: int, key: tuple[pa.Scalar, ...], rows: pa.Table
) -> pa.Table:
    """Publish the first wave of a tier; the first bundle also carries what its release shows."""
    _one_thread()
    table, measured, released = plan.anonymize_wave(number, plan.in_order(rows_of(rows)), buckets)
    made = _in_heaps(plan, number, table, measured)
    found = pa.array([pickle.dumps(released), *[None] * (made.num_rows - 1)], pa.binary())
    return made.append_column(RELEASED, found)


def _in_heaps(plan: ChunkedPlan, number: int, table: pa.Table, measured: Measurements) -> pa.Table:
    """Assign every row to a heap at random, and make bundles of the rows of each."""
    # The words are part of the key of the random numbers, here and below, and must not change.
    secret = plan.secret.part("heaps of chunk", number)
    heap = secret.numbers(table.num_rows, bound=plan.regions)
    sorted_rows = table.take(pa.array(np.argsort(heap, kind="stable"))).combine_chunks()
    ends = np.cumsum(np.bincount(heap, minlength=plan.regions)).tolist()
    made = []
    for place, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        for part, rows in enumerate(slices(sorted_rows.slice(start, end - start))):
            made.append((number, rows.num_rows, bundle(rows), place, part))
    lines = [measured.to_json(), *[None] * (len(made) - 1)]
    return pa.table([*map(list, zip(*made, strict=True)), lines], schema=PUBLISHED)


def shuffle_heap(plan: ChunkedPlan, key: tuple[pa.Scalar, ...], rows: pa.Table) -> pa.Table:
    """Put the rows of a heap into a random order, whichever order their bundles arrive in."""
    number = key[0].as_py()
    table = rows_of(rows.sort_by([(CHUNK, "ascending"), (PLACE, "ascending")]))
    secret = plan.secret.part("order of heap", number)
    order = secret.permutation(Purpose.ROW_ORDER, table.num_rows)
    parts = list(slices(table.take(pa.array(order)).combine_chunks()))
    made = ([number] * len(parts), [part.num_rows for part in parts], [*map(bundle, parts)])
    return pa.table(list(made), schema=RELEASE)


def released_rows(fields: pa.Schema, batches: Batches) -> Batches:
    """Return the rows of a release as rows of their own."""
    for batch in batches:
        for rows in batch.column(BUNDLE):
            yield from rows_of(pa.table({BUNDLE: [rows]})).cast(fields).to_batches()


def _one_thread() -> None:
    """Use one thread, because Spark already runs one worker per core."""
    os.environ.setdefault("MOTTLE_THREADS", "1")


# ------------------------------------------------------------------------------- for `buckets`


def thin_rows(names: list[str], batches: Batches) -> Batches:
    """Leave out the columns that decisions do not look at."""
    for batch in batches:
        parts = [rows_of(batch.slice(place, 1)).select(names) for place in range(batch.num_rows)]
        columns = [batch.column(CHUNK), batch.column(ROWS), [*map(bundle, parts)]]
        yield pa.record_batch(columns, schema=BUNDLES)


def part_region(
    plan: ChunkedPlan, share: RowShare, key: tuple[pa.Scalar, ...], rows: pa.Table
) -> pa.Table:
    """Make bundles of those rows of one region that belong to the same part."""
    number = key[0].as_py()
    ordered = plan.in_order(rows_of(rows))
    parts = plan.parts(number, ordered, share)
    made = [
        (number, some.num_rows, bundle(some), int(part))
        for part in np.unique(parts)
        for some in slices(ordered.filter(pa.array(parts == part)))
    ]
    fields = pa.schema([*BUNDLES, (SHARE, pa.int64())])
    return pa.table(list(map(list, zip(*made, strict=True))), schema=fields)


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
    found = work(plan.section(number, plan.in_order(rows_of(rows)), cuts))
    return pa.table({CHUNK: [number], FOUND: [pickle.dumps(found)]})


def assign_slots(
    plan: ChunkedPlan, tier: int, key: tuple[pa.Scalar, ...], rows: pa.Table
) -> pa.Table:
    """Make bundles of those rows of one section that go to the same chunk, with their slots."""
    assert plan.decision is not None
    ordered = plan.in_order(rows_of(rows))
    placed = plan.with_slots(plan.decision.tiers[tier], key[0].as_py(), ordered)
    chunks = placed.column(CHUNK).to_numpy()
    starts = np.flatnonzero(np.diff(chunks, prepend=-1)).tolist()
    without = placed.drop_columns([CHUNK])
    made = [
        (int(chunks[start]), some.num_rows, bundle(some))
        for start, end in zip(starts, [*starts[1:], len(chunks)], strict=True)
        for some in slices(without.slice(start, end - start))
    ]
    return pa.table(list(map(list, zip(*made, strict=True))), schema=BUNDLES)


def grouped(work: Callable[..., pa.Table], *fixed: Any) -> Callable[..., pa.Table]:
    """Make a function of a chunk's number and rows, which is the signature that Spark expects.

    One worker of every machine is the first to run it, so that kernels are compiled there once.
    """
    token = uuid.uuid4().hex

    def run(key, rows):  # type: ignore[no-untyped-def]
        with one_at_first(work.__name__, token):
            return work(*fixed, key, rows)

    return run


def by_group(work: Callable[..., pa.Table], *fixed: Any) -> Callable[..., pa.Table]:
    """As `grouped`, for work without kernels. Spark looks at the types of arguments: none here."""

    def run(key, rows):  # type: ignore[no-untyped-def]
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
