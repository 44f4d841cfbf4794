"""How a database stores a release: which columns, of which types, and what the view shows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Form
from mottle.errors import DataError
from mottle.io.databases.identifiers import quoted
from mottle.release.rows import Rows
from mottle.schema.model import Kind

MAY_BE_MISSING = "may_be_missing"
_ROWS_PER_BATCH = 1 << 16

Convert = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True)
class Published:
    """One column of a release as a database has to know it."""

    name: str
    place: int  # among the columns of the table
    type: pa.DataType  # of the cells
    form: Form | None  # None for columns published unchanged
    in_value_order: bool  # ranges: the ends are ordered as numbers or days are
    may_be_missing: bool  # ranges and worlds: some row may stand for a missing value
    highest: Any  # ranges of whole numbers: the highest end of all; else None

    @classmethod
    def all_of(cls, rows: Rows) -> list[Published]:
        """Read the metadata of all fields and look over the cells once."""
        facts = [json.loads((field.metadata or {}).get(b"mottle", b"{}")) for field in rows.schema]
        forms = [Form(fact["form"]) if fact.get("form") else None for fact in facts]
        ranges = {place for place, form in enumerate(forms) if form and form.has_intervals}
        flagged = [place for place, field in enumerate(rows.schema) if _has_flag(field.type)]
        missing: dict[int, bool] = {}
        highest: dict[int, Any] = {}
        for batch in rows.to_batches(max_chunksize=_ROWS_PER_BATCH) if flagged else ():
            for place in flagged:
                cells = batch.column(place)
                may_miss = pc.any(pc.struct_field(cells, "missing")).as_py()
                missing[place] = missing.get(place, False) or bool(may_miss)
                if place in ranges and pa.types.is_integer(cells.type.field("hi").type):
                    found = [highest.get(place), pc.max(pc.struct_field(cells, "hi")).as_py()]
                    highest[place] = max((end for end in found if end is not None), default=None)
        return [
            cls(
                field.name,
                place,
                field.type,
                forms[place],
                place in ranges and Kind(facts[place]["kind"]).is_measured,
                missing.get(place, False),
                highest.get(place),
            )
            for place, field in enumerate(rows.schema)
        ]


def _has_flag(kind: pa.DataType) -> bool:
    """Whether cells say of themselves that they may be missing."""
    return bool(pa.types.is_struct(kind) and kind.get_field_index("missing") >= 0)


@dataclass(frozen=True)
class StoredColumn:
    """One stored column."""

    name: str
    type: str  # in SQL
    value: str  # SQL over the columns that are sent


@dataclass(frozen=True)
class Stored:
    """How one published column is stored."""

    sent: dict[str, Convert]  # the columns that are sent, each made from the published cells
    columns: tuple[StoredColumn, ...]
    readable: dict[str, str]  # the view's columns: SQL over the stored columns

    @classmethod
    def as_sent(
        cls, sent: dict[str, Convert], types: list[str], readable: dict[str, str]
    ) -> Stored:
        """Store exactly the columns that are sent."""
        columns = tuple(
            StoredColumn(name, kind, quoted(name)) for name, kind in zip(sent, types, strict=True)
        )
        return cls(sent, columns, readable)


@dataclass(frozen=True)
class NewTable:
    """A table to be stored, column by column."""

    table: Rows
    stored: dict[str, Stored]  # by published column

    @classmethod
    def of(cls, table: Rows, store: Callable[[Published], Stored]) -> NewTable:
        """Decide for every column how it is stored."""
        return cls(table, {column.name: store(column) for column in Published.all_of(table)})

    @property
    def columns(self) -> list[StoredColumn]:
        """All stored columns."""
        return [column for stored in self.stored.values() for column in stored.columns]

    @property
    def definition(self) -> str:
        """The columns of CREATE TABLE."""
        return ", ".join(f"{quoted(column.name)} {column.type}" for column in self.columns)

    @property
    def selection(self) -> str:
        """The stored columns as SELECT makes them from the sent ones."""
        return ", ".join(f"{column.value} AS {quoted(column.name)}" for column in self.columns)

    @property
    def readable(self) -> str:
        """The columns of the view."""
        shown = [item for stored in self.stored.values() for item in stored.readable.items()]
        return ", ".join(f"{text} AS {quoted(name)}" for name, text in shown)

    def batches(self) -> Sending:
        """The columns that are sent, a batch of rows at a time."""
        return Sending(self)


class Sending:
    """Batches on their way to a driver, which would hide what goes wrong with them."""

    def __init__(self, new: NewTable) -> None:
        self.error: BaseException | None = None
        self._new = new
        first = self._sent(pa.RecordBatch.from_pylist([], schema=new.table.schema))
        self.reader = pa.RecordBatchReader.from_batches(first.schema, self._all())

    def _all(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._new.table.to_batches(max_chunksize=_ROWS_PER_BATCH):
                yield self._sent(batch)
        except BaseException as error:
            self.error = error
            raise

    def _sent(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays: dict[str, pa.Array] = {}
        for column, stored in self._new.stored.items():
            cells = batch.column(batch.schema.get_field_index(column))
            for name, convert in stored.sent.items():
                arrays[name] = _converted(cells, convert, column)
        return pa.RecordBatch.from_pydict(arrays)


def _converted(cells: pa.Array, convert: Convert, column: str) -> pa.Array:
    try:
        return convert(cells)
    except pa.ArrowException:  # its message may quote a cell
        raise DataError(
            f"Column '{column}' has values that the database's type for {cells.type} cannot hold.",
            "Turn the column into text before anonymizing it.",
        ) from None


def part(place: int, convert: Convert) -> Convert:
    """A field of struct cells, converted."""
    return lambda cells: convert(cells.flatten()[place])


def in_lists(convert: Convert) -> Convert:
    """List cells with converted members."""

    def converted(cells: pa.Array) -> pa.Array:
        offsets = pc.subtract(cells.offsets, cells.offsets[0])  # of a slice, moved to begin at 0
        return pa.ListArray.from_arrays(offsets, convert(cells.flatten()))

    return converted
