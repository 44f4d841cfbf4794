"""How a release is laid out in a database: stored columns, their types, and the readable view."""

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
from mottle.kinds.coarsening import Coarsening
from mottle.release.cell_text import text_columns, to_texts, value_text
from mottle.release.rows import Rows
from mottle.release.set_cell_text import TYPE as SET_RELEASE
from mottle.release.set_cell_text import to_text as set_texts
from mottle.schema.model import Kind

__all__ = [
    "MAY_BE_MISSING",
    "Convert",
    "NewTable",
    "Published",
    "ReadableRows",
    "Sending",
    "Stored",
    "StoredColumn",
    "in_lists",
    "part",
]

MAY_BE_MISSING = "may_be_missing"  # ending of the column that says so of a range or set of items
_ROWS_PER_BATCH = 1 << 16

Convert = Callable[[pa.Array], pa.Array]  # from published cells to the values that are sent


@dataclass(frozen=True)
class Published:
    """One column of a release, with what a database needs to know to store it."""

    name: str
    place: int  # among the columns of the table
    type: pa.DataType  # of the cells
    form: Form | None  # None for columns published unchanged
    in_value_order: bool  # ranges: the ends are ordered as numbers or days are
    may_be_missing: bool  # ranges and worlds: some row may stand for a missing value
    highest: Any  # ranges of whole numbers: the highest end of all; else None
    # ranges: the texts of the ends that stand for all smaller and for all larger values
    tails: tuple[str | None, str | None] = (None, None)

    @classmethod
    def all_of(cls, rows: Rows) -> list[Published]:
        """Describe all columns: reads their metadata, and scans the cells once.

        Parameters
        ----------
        rows : Rows
            The typed cells of a release.

        Returns
        -------
        list of Published
            The columns, in their order.
        """
        facts = _facts(rows.schema)
        forms = _forms(rows.schema)
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
                _tails(facts[place], field.type) if place in ranges else (None, None),
            )
            for place, field in enumerate(rows.schema)
        ]


def _facts(schema: pa.Schema) -> list[dict[str, Any]]:
    """What the metadata of published columns say."""
    return [json.loads((field.metadata or {}).get(b"mottle", b"{}")) for field in schema]


def _forms(schema: pa.Schema) -> list[Form | None]:
    """The form of every column; None where it is published unchanged."""
    return [Form(fact["form"]) if fact.get("form") else None for fact in _facts(schema)]


def _tails(facts: dict[str, Any], cells: pa.DataType) -> tuple[str | None, str | None]:
    """The texts of the ends that stand for tails."""
    rule = Coarsening.of_facts(facts["coarsening"]) if "coarsening" in facts else None
    if rule is None or not Kind(facts["kind"]).is_measured:
        return None, None
    bottom, top = rule.tail_values(cells.field("lo").type, "")
    texts = [
        None if end is None else value_text(pa.array([end]))[0].as_py() for end in (bottom, top)
    ]
    return texts[0], texts[1]


def _has_flag(kind: pa.DataType) -> bool:
    """Whether cells have a flag that says that they may be missing."""
    return bool(pa.types.is_struct(kind) and kind.get_field_index("missing") >= 0)


@dataclass(frozen=True)
class StoredColumn:
    """One column of a stored table."""

    name: str
    type: str  # in SQL
    value: str  # SQL expression over the columns that are sent


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
        """Store exactly the columns that are sent.

        Parameters
        ----------
        sent : dict of str to Convert
            The columns, each made from the published cells.
        types : list of str
            Their SQL types, in the same order.
        readable : dict of str to str
            The view's columns: SQL over the stored columns.

        Returns
        -------
        Stored
            How the published column is stored.
        """
        columns = tuple(
            StoredColumn(name, kind, quoted(name)) for name, kind in zip(sent, types, strict=True)
        )
        return cls(sent, columns, readable)


@dataclass(frozen=True)
class NewTable:
    """A table that is to be stored."""

    table: Rows  # the typed cells
    stored: dict[str, Stored]  # by published column

    @classmethod
    def of(cls, table: Rows, store: Callable[[Published], Stored]) -> NewTable:
        """Decide for every column how it is stored.

        Parameters
        ----------
        table : Rows
            The typed cells.
        store : callable
            The database's decision about one column.

        Returns
        -------
        NewTable
            The table with these decisions.
        """
        return cls(table, {column.name: store(column) for column in Published.all_of(table)})

    @property
    def columns(self) -> list[StoredColumn]:
        """All stored columns."""
        return [column for stored in self.stored.values() for column in stored.columns]

    @property
    def definition(self) -> str:
        """The column definitions of CREATE TABLE."""
        return ", ".join(f"{quoted(column.name)} {column.type}" for column in self.columns)

    @property
    def selection(self) -> str:
        """The select list that makes the stored columns from the sent ones."""
        return ", ".join(f"{column.value} AS {quoted(column.name)}" for column in self.columns)

    @property
    def readable(self) -> str:
        """The select list of the readable view."""
        shown = [item for stored in self.stored.values() for item in stored.readable.items()]
        return ", ".join(f"{text} AS {quoted(name)}" for name, text in shown)

    def batches(self) -> Sending:
        """Return the columns that are sent, in batches of rows.

        Returns
        -------
        Sending
            The reader for the driver, and the error that it may hide.
        """
        return Sending(self)


@dataclass(frozen=True)
class ReadableRows:
    """The rows of a release with the cells of ``release.csv``, for databases that store them."""

    rows: Rows  # with typed cells, and their metadata

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._texts(self.rows.schema.empty_table()).schema

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.rows.num_rows

    def to_batches(self, max_chunksize: int) -> Iterator[pa.RecordBatch]:
        """Yield all rows.

        Parameters
        ----------
        max_chunksize : int
            Maximum number of rows of a batch.

        Yields
        ------
        pyarrow.RecordBatch
            The rows.
        """
        for batch in self.rows.to_batches(max_chunksize):
            texts = self._texts(pa.Table.from_batches([batch]))
            yield from texts.combine_chunks().to_batches()

    def _texts(self, table: pa.Table) -> pa.Table:
        texts: dict[str, pa.Array] = {}
        for field, form in zip(self.rows.schema, _forms(self.rows.schema), strict=True):
            cells = table.column(field.name).combine_chunks()
            if form is None:
                shown: tuple[pa.Array, ...] = (cells,)
            elif cells.type == SET_RELEASE:
                shown = set_texts(cells)
            else:
                shown = to_texts(cells, form)
            texts |= zip(text_columns(field.name, form), shown, strict=True)
        return pa.table(texts)


class Sending:
    """Batches for a driver, which would hide the error if converting them fails.

    Attributes
    ----------
    reader : pyarrow.RecordBatchReader
        What the driver reads from.
    error : BaseException or None
        What went wrong while it was reading.
    """

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
    """Return a conversion of one field of struct cells.

    Parameters
    ----------
    place : int
        The position of the field in the struct.
    convert : Convert
        How its values are converted.

    Returns
    -------
    Convert
        From struct cells to converted values.
    """
    return lambda cells: convert(cells.flatten()[place])


def in_lists(convert: Convert) -> Convert:
    """Return a conversion of the members of list cells.

    Parameters
    ----------
    convert : Convert
        How the members are converted.

    Returns
    -------
    Convert
        From list cells to list cells.
    """

    def converted(cells: pa.Array) -> pa.Array:
        offsets = pc.subtract(cells.offsets, cells.offsets[0])  # a slice's begin later
        return pa.ListArray.from_arrays(offsets, convert(cells.flatten()))

    return converted
