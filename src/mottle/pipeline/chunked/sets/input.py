"""Sets of items in batches: transaction files, columns of sets and long tables of any size.

All of them become one Parquet file with a column of lists and, if there are any, the labels. What
is read is what `mottle.io.read_sets` reads in memory.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError, UsageError
from mottle.io.batch_source import ROWS_PER_BATCH, Source, copied
from mottle.io.read_sets import (
    check_holds_items,
    check_holds_sets,
    check_named_columns,
    check_present,
    checked_separator,
    column_of,
    one_label_each,
    read_column,
    refuse_table,
)
from mottle.io.read_table import first_bytes
from mottle.io.text.encodings import known_encoding, open_bytes, utf8_sample
from mottle.itemsets.arrow import is_list, of_lists, trimmed_lists
from mottle.itemsets.columns import LISTS
from mottle.itemsets.data import NO_BITMAPS, ItemSets, Sets, are_whole_numbers
from mottle.itemsets.gray import renumbered
from mottle.pipeline.chunked.external_sort import SortedRows, sort_to_parquet
from mottle.release.set_release import check_names
from mottle.schema.model import Schema
from mottle.utils import parallel
from mottle.utils.arrow import as_text, is_plain

_LONGEST_LINE = 1 << 24  # characters
_RECORD, _ROW, _ITEM, _LABEL, _FIRST = "record", "row", "item", "label", "first"


@dataclass(frozen=True)
class SetLayout:
    """Where the sets are in the input; see `mottle.read_sets`."""

    column: str | None = None
    record: str | None = None
    item: str | None = None
    separator: str | None = None
    label: str | None = None
    encoding: str | None = None

    def check(self) -> None:
        """Raise `UsageError` if the options do not fit together."""
        check_named_columns(self.column, self.record, self.item, self.label)
        check_names(self.name, self.label)
        checked_separator(self.separator)

    @property
    def name(self) -> str:
        """The column of sets in the release."""
        return self.column or "items"

    @property
    def of_table(self) -> bool:
        """Whether the input is a table; otherwise it is a transaction file."""
        return self.column is not None or self.record is not None

    @property
    def schema(self) -> Schema:
        """The schema of what `sets_of_lines` and `sets_of_table` write."""
        labels = [] if self.label is None else [self.label]
        return Schema.of(quasi_identifying=[self.name], sensitive=labels, kinds={self.name: "set"})


def sets_of_lines(path: Path, layout: SetLayout, copy: Path) -> Source:
    """Copy the sets of a transaction file, unless the copy exists.

    Parameters
    ----------
    path : Path
        The file, compressed or not.
    layout : SetLayout
        What separates items, and the encoding: UTF-8 unless it names another one.
    copy : Path
        The Parquet file.

    Returns
    -------
    Source
        One set per row.

    Raises
    ------
    DataError
        The file is not text, or has no lines.
    """
    refuse_table(path)
    separator = checked_separator(layout.separator)

    def read() -> Iterator[pa.Table]:
        lines = _lines(path, layout.encoding)
        while batch := list(islice(lines, ROWS_PER_BATCH)):
            texts = pa.chunked_array([pa.array(batch, pa.large_string())])
            if separator is None:
                lists = pc.ascii_split_whitespace(texts)
            else:
                lists = pc.split_pattern(texts, separator)
            yield pa.table({layout.name: trimmed_lists(lists)})

    return copied(read, copy, str(path))


def _lines(path: Path, encoding: str | None) -> Iterator[str]:
    """The lines of a text file, one after the other."""
    first_bytes(path)  # refuses pipes and devices, which could be read for ever
    known = known_encoding(encoding)
    try:
        sample = utf8_sample(path, known)  # refuses binary and empty files
        if sample is None and known is None:
            raise DataError(
                f"{path} is not UTF-8 text.",
                "Give --encoding, such as cp1252; it is not guessed for files that are streamed.",
            )
        used = known or "utf-8"
        used = "utf-8-sig" if used == "utf-8" else used
        with io.TextIOWrapper(open_bytes(path), used, newline=None) as lines:
            number = 0
            while line := lines.readline(_LONGEST_LINE):
                number += 1
                if "\0" in line:
                    raise DataError(
                        f"{path}, line {number}: there is a NUL character.",
                        "Remove it, or give the file's encoding.",
                    )
                if len(line) == _LONGEST_LINE:
                    raise DataError(
                        f"{path}, line {number} has more than {_LONGEST_LINE - 1:,} characters.",
                        "Give one set per line.",
                    )
                yield line.removesuffix("\n")
    except UnicodeError:
        raise DataError(
            f"{path} is not {known or 'UTF-8'} text.", "Give its encoding, such as cp1252."
        ) from None
    except (pa.ArrowException, OSError, EOFError):
        raise DataError(
            f"{path} is damaged or cannot be read.", "Check the path, or compress it again."
        ) from None


def sets_of_table(table: Source, layout: SetLayout, copy: Path, memory: int) -> Source:
    """Copy the sets of a table in batches, unless the copy exists.

    Parameters
    ----------
    table : Source
        A table with a column of sets, or with one row per item.
    layout : SetLayout
        The columns that matter.
    copy : Path
        The Parquet file, in a private folder, where files for sorting are put as well.
    memory : int
        Bytes that sorting may use.

    Returns
    -------
    Source
        One set per row, as `mottle.read_sets` reads them, and the labels.

    Raises
    ------
    UsageError
        There is no such column, or text has no separator.
    DataError
        A column holds something else, or a record has several labels.
    """
    empty = table.types.empty_table()
    kind = None
    if layout.label is not None:
        kind = column_of(empty, layout.label, table.name).type
        if not is_plain(kind):
            raise DataError(
                f"The labels '{layout.label}' are {kind} values, which release.csv cannot hold.",
                "Turn them into text.",
            )
    if layout.record is None:
        return copied(lambda: _of_column(table, layout), copy, table.name)
    return copied(lambda: _of_items(table, layout, kind, copy, memory), copy, table.name)


def _of_column(table: Source, layout: SetLayout) -> Iterator[pa.Table]:
    """The sets of a column of lists or of text."""
    column, separator = layout.name, checked_separator(layout.separator)
    values = column_of(table.types.empty_table(), column, table.name)
    check_holds_sets(values.type, column, separator, table.name)
    for rows in table.read():
        values = rows.column(column)
        if is_list(values.type):
            lists = _lists_of_text(values)
        else:
            lists = trimmed_lists(pc.split_pattern(as_text(values, column), separator))
        columns = {column: lists}
        if layout.label is not None:
            columns[layout.label] = rows.column(layout.label)
        yield pa.table(columns)


def _lists_of_text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Lists of any plain items as lists of text; a missing list is an empty one."""
    chunks = []
    for chunk in values.chunks:
        sizes = pc.fill_null(pc.list_value_length(chunk), 0).to_numpy().astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        items = as_text(pa.chunked_array([pc.list_flatten(chunk)]), "item").combine_chunks()
        chunks.append(pa.ListArray.from_arrays(pa.array(starts, pa.int32()), items))
    return pa.chunked_array(chunks, LISTS)


def _of_items(
    table: Source, layout: SetLayout, label_type: pa.DataType | None, copy: Path, memory: int
) -> Iterator[pa.Table]:
    """The sets of a table with one row per item, in the order in which records first occur."""
    record, item, label = layout.record, layout.item, layout.label
    assert record is not None
    assert item is not None
    empty = table.types.empty_table()
    check_holds_items(column_of(empty, item, table.name).type, item, table.name)
    if not is_plain(column_of(empty, record, table.name).type):
        raise UsageError(f"Column '{record}' does not name records.", "Give --record ID.")
    named = [(_RECORD, pa.string()), (_ROW, pa.int64()), (_ITEM, pa.string())]
    labels = [] if label is None else [(_LABEL, label_type)]

    def rows_by_item() -> Iterator[pa.Table]:
        first = 0
        for rows in table.read():
            keys = rows.column(record)
            check_present(keys, record, table.name, first)
            numbers = np.arange(first, first + rows.num_rows)
            found = [as_text(keys, record), numbers, as_text(rows.column(item), item)]
            found += [] if label is None else [rows.column(label)]
            yield pa.table(found, schema=pa.schema([*named, *labels]))
            first += rows.num_rows

    fields = pa.schema([*named, *labels])
    by_record, by_first = copy.with_name("by_record.parquet"), copy.with_name("by_first.parquet")
    grouped = pa.schema([(_FIRST, pa.int64()), (_ITEM, LISTS), *labels])
    sort = partial(sort_to_parquet, memory=memory, threads=parallel.thread_count())
    sort(rows_by_item(), fields, [_RECORD, _ROW], by_record)
    ordered = _in_batches(by_record, fields)
    records = _grouped(ordered, grouped, None if label is None else (label, table.name))
    sort(records, grouped, [_FIRST], by_first)
    by_record.unlink()
    names = [layout.name, *([] if label is None else [label])]
    for rows in _in_batches(by_first, grouped):
        yield rows.drop_columns([_FIRST]).rename_columns(names)
    by_first.unlink()


def _in_batches(path: Path, fields: pa.Schema) -> Iterator[pa.Table]:
    """The rows of a sorted file."""
    rows = SortedRows(path, fields)
    try:
        for first in range(0, rows.rows, ROWS_PER_BATCH):
            yield rows.read(first, min(first + ROWS_PER_BATCH, rows.rows))
    finally:
        rows.close()


def _grouped(
    batches: Iterator[pa.Table], fields: pa.Schema, label: tuple[str, str] | None
) -> Iterator[pa.Table]:
    """Make one row of all rows of a record, which follow each other."""
    rest: pa.Table | None = None
    for batch in chain(batches, [None]):
        rows = rest if batch is None else batch if rest is None else pa.concat_tables([rest, batch])
        if rows is None or rows.num_rows == 0:
            continue
        names = rows.column(_RECORD)
        begins = pc.not_equal(names.slice(1), names.slice(0, rows.num_rows - 1))
        starts = np.flatnonzero(np.concatenate([[True], np.asarray(begins)]))
        end = rows.num_rows if batch is None else int(starts[-1])
        rest = rows.slice(end)
        starts = starts[starts < end]
        if not len(starts):
            continue
        whole = rows.slice(0, end)
        numbers = whole.column(_ROW).to_numpy()
        items = whole.column(_ITEM).combine_chunks()
        offsets = pa.array(np.append(starts, end), pa.int32())
        found = [numbers[starts], pa.ListArray.from_arrays(offsets, items)]
        if label is not None:
            record_of = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, end)))
            found.append(one_label_each(whole.column(_LABEL), record_of, *label, numbers))
        yield pa.table(found, schema=fields)


def item_sets(source: Source, layout: SetLayout) -> ItemSets:
    """Read all of what `sets_of_lines` or `sets_of_table` wrote into memory."""
    return read_column(pa.concat_tables(source.read()), column=layout.name, label=layout.label)


def as_hashed(source: Source, layout: SetLayout) -> Iterator[pa.Table]:
    """The sets and labels as `OwnedTable.of_sets` hashes them: items once each, in their order."""
    name = layout.name
    whole = all(
        are_whole_numbers(pc.list_flatten(rows.column(name)).drop_null().unique())
        for rows in source.read()
    )
    for rows in source.read():
        data = of_lists(rows.column(name), trim=False)
        sets, names = Sets(data.starts, data.items, NO_BITMAPS, data.universe), data.names
        if not whole:
            order = pc.sort_indices(names)
            sets, names = renumbered(sets, order.to_numpy().astype(np.int64)), names.take(order)
        lists = pa.LargeListArray.from_arrays(pa.array(sets.starts), names.take(sets.items))
        labels = {} if layout.label is None else {layout.label: rows.column(layout.label)}
        yield pa.table({name: lists, **labels})
