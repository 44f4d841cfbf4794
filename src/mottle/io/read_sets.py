"""Reading sets: transaction files, long tables of (record, item), columns of lists or text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError, UsageError, did_you_mean
from mottle.io.changing_input import refusing_changes
from mottle.io.read_table import as_table, first_bytes
from mottle.io.text.encodings import (
    check_size,
    decode,
    known_encoding,
    utf8_sample,
    whole_content,
)
from mottle.itemsets.arrow import is_list, of_lists, of_text
from mottle.itemsets.data import ItemSets
from mottle.typing import Int64Array
from mottle.utils.arrow import as_text, is_plain

__all__ = ["as_sets", "read_column", "read_long", "read_sets", "read_transactions"]


def read_transactions(
    path: str | Path, *, separator: str | None = None, encoding: str | None = None
) -> ItemSets:
    r"""Read a text file with one set per line, compressed or not; an empty line is an empty set.

    Parameters
    ----------
    path : str or Path
        The file, for instance ``baskets.dat`` or ``baskets.dat.gz``.
    separator : str, optional
        What separates two items; without it, spaces and tabs. Spaces around items are removed, and
        an empty text between two separators is not an item.
    encoding : str, optional
        Of the text; without it, UTF-8, or a guess from the bytes.

    Returns
    -------
    ItemSets
        One set per line.

    Raises
    ------
    StorageError
        The file does not exist.
    UsageError
        The separator or the encoding is not valid.
    DataError
        The file is empty, damaged or not text.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "baskets.dat")
    ...     _ = path.write_text("2 10\n\n10 7\n")
    ...     data = read_transactions(path)
    >>> [data.record(number) for number in range(3)]
    [['2', '10'], [], ['7', '10']]
    """
    path, separator = Path(path), checked_separator(separator)
    lines = _lines(path, encoding)
    if separator is None:
        lists = pc.ascii_split_whitespace(lines)
    else:
        lists = pc.split_pattern(lines, separator)
    return of_lists(pa.chunked_array([lists]), trim=True)


def read_long(data: object, *, record: str, item: str, label: str | None = None) -> ItemSets:
    """Take sets from a table with one row per item.

    Rows with the same ``record`` value form one set, in the order in which these values first
    occur; a row whose item is missing only makes sure that its record exists.

    Parameters
    ----------
    data : str, Path or object
        A file, or anything `mottle.anonymize` takes.
    record : str
        The column that says which record a row belongs to.
    item : str
        The column of items.
    label : str, optional
        The column of sensitive labels, which is the same in all rows of a record.

    Returns
    -------
    ItemSets
        One set per record.

    Raises
    ------
    UsageError
        There is no such column.
    DataError
        A row has no record, the items are not plain values, or a record has several labels.

    Examples
    --------
    >>> table = pa.table({"basket": [7, 9, 7], "item": ["tea", None, "milk"]})
    >>> data = read_long(table, record="basket", item="item")
    >>> data.record(0), data.record(1)
    (['milk', 'tea'], [])
    """
    table, source = as_table(data), _source(data)
    keys, items = column_of(table, record, source), column_of(table, item, source)
    check_present(keys, record, source)
    check_holds_items(items.type, item, source)
    encoded = keys.dictionary_encode().unify_dictionaries().combine_chunks()
    record_of = encoded.indices.to_numpy().astype(np.int64)
    sets = ItemSets.of_pairs(len(encoded.dictionary), record_of, as_text(items, item))
    if label is None:
        return sets
    return sets.with_labels(
        one_label_each(column_of(table, label, source), record_of, label, source), label
    )


def read_column(
    data: object, *, column: str, separator: str | None = None, label: str | None = None
) -> ItemSets:
    """Take sets from a table with one row per record: a column of lists, or of delimited text.

    A missing cell is an empty set. All other columns are left out.

    Parameters
    ----------
    data : str, Path or object
        A file, or anything `mottle.anonymize` takes.
    column : str
        The column of sets.
    separator : str, optional
        What separates the items of a text.
    label : str, optional
        The column of sensitive labels.

    Returns
    -------
    ItemSets
        One set per row.

    Raises
    ------
    UsageError
        There is no such column, or it holds text and no separator is given.
    DataError
        The column holds values that are not sets.

    Examples
    --------
    >>> table = pa.table({"visited": ["Rome;Oslo", None], "faith": ["a", "b"]})
    >>> data = read_column(table, column="visited", separator=";", label="faith")
    >>> data.record(0), data.record(1), data.labels.to_pylist()
    (['Oslo', 'Rome'], [], ['a', 'b'])
    """
    table, source = as_table(data), _source(data)
    values = column_of(table, column, source)
    separator = checked_separator(separator)
    check_holds_sets(values.type, column, separator, source)
    if is_list(values.type):
        sets = of_lists(values, trim=False)
    else:
        assert separator is not None
        sets = of_text(values, column, separator)
    sets = replace(sets, column=column)
    return sets if label is None else sets.with_labels(column_of(table, label, source), label)


@refusing_changes
def read_sets(
    data: object,
    *,
    column: str | None = None,
    record: str | None = None,
    item: str | None = None,
    separator: str | None = None,
    label: str | None = None,
    encoding: str | None = None,
) -> ItemSets:
    """Read sets from a file, a table or a collection.

    ============================================  ==================================================
    without column names                          a transaction file, one set per line, or a
                                                  collection of collections
    ``column="visited"``                          a table (or its file) with a column of lists
    ``column="visited", separator=";"``           a table with a column of delimited text
    ``record="basket", item="article"``           a table with one row per item
    ============================================  ==================================================

    Parameters
    ----------
    data : str, Path or object
        A transaction file, a table or its file, or a collection of collections.
    column : str, optional
        The column of sets, for a table with one row per record.
    record, item : str, optional
        The columns of records and items, for a table with one row per item.
    separator : str, optional
        What separates two items of a text.
    label : str, optional
        The column of a table that holds sensitive labels.
    encoding : str, optional
        Of a transaction file; detected if it is not given.

    Returns
    -------
    ItemSets
        The sets, and their labels if there are any.

    Raises
    ------
    StorageError
        The file does not exist.
    UsageError
        The options do not fit together or a column does not exist.
    DataError
        The data cannot be read as sets.

    Examples
    --------
    >>> read_sets([["tea", "milk"], []]).records
    2
    """
    check_named_columns(column, record, item, label)
    if record is not None and item is not None:
        return read_long(data, record=record, item=item, label=label)
    if column is not None:
        return read_column(data, column=column, separator=separator, label=label)
    if isinstance(data, (str, PathLike)):
        refuse_table(Path(data))
        return read_transactions(Path(data), separator=separator, encoding=encoding)
    return as_sets(data)


def check_named_columns(
    column: str | None, record: str | None, item: str | None, label: str | None
) -> None:
    """Raise `UsageError` unless the columns that are named make one of the forms of sets."""
    if (record is None) != (item is None):
        raise UsageError(
            "A table with one row per item needs the column of records and the one of items.",
            "Give --record ID --item ITEM.",
        )
    if column is not None and record is not None:
        raise UsageError(
            "Sets are in one column, or in one row per item, not in both.",
            "Give --column COLUMN, or --record ID --item ITEM.",
        )
    if label is not None and column is None and record is None:
        raise UsageError(
            "Labels are a column of a table.",
            "Name the column that holds the sets: --column COLUMN.",
        )


def refuse_table(path: Path) -> None:
    """Refuse a table, which would give nonsense if it were read as a transaction file."""
    if {".csv", ".tsv", ".parquet", ".arrow", ".feather"} & set(path.suffixes):
        raise UsageError(
            f"{path} is a table, and the columns that hold the sets are not named.",
            "Give --column COLUMN (--separator ';' if it is text), or --record ID --item ITEM.",
        )


def as_sets(data: object) -> ItemSets:
    """Take sets as they are, from a transaction file, or from a collection of collections.

    Parameters
    ----------
    data : ItemSets, str, Path or iterable
        The sets.

    Returns
    -------
    ItemSets
        The sets.

    Raises
    ------
    StorageError
        The file does not exist.
    UsageError
        The object is not a collection of sets.
    DataError
        The file is empty, damaged or not text.

    Examples
    --------
    >>> as_sets([{"a"}, {"a", "b"}]).records
    2
    """
    if isinstance(data, ItemSets):
        return data
    if isinstance(data, (str, PathLike)):
        return read_transactions(Path(data))
    if hasattr(data, "__arrow_c_stream__"):
        raise UsageError(
            f"A {type(data).__name__} is not a collection of sets.",
            "Name the column that holds them: mottle.read_sets(table, column=…).",
        )
    if not isinstance(data, Iterable):
        raise UsageError(
            f"A {type(data).__name__} is not a collection of sets.",
            "Give a path, an ItemSets or a list of sets.",
        )
    sets = list(data)
    if any(isinstance(record, str) or not isinstance(record, Iterable) for record in sets):
        raise UsageError("Not every record is a set.", "Give a list of lists or sets of items.")
    return ItemSets.of(sets)


def _lines(path: Path, encoding: str | None) -> pa.Array:
    """The lines of a text file; a line break at its end does not begin another line."""
    first_bytes(path)  # refuses pipes and devices, which could be read for ever
    try:
        utf8_sample(path, known_encoding(encoding))  # refuses binary and empty files
        check_size(path)
        text = decode(path, whole_content(path), known_encoding(encoding))
    except (pa.ArrowException, OSError):
        raise DataError(
            f"{path} is damaged or cannot be read.", "Check the path, or compress it again."
        ) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    content = text.encode()
    if not content.endswith(b"\n"):
        content += b"\n"
    nul = content.find(b"\0")
    if nul >= 0:
        raise DataError(
            f"{path}, line {content.count(10, 0, nul) + 1}: there is a NUL character.",
            "Remove it, or give the file's encoding.",
        )
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == ord("\n"))
    lengths = np.diff(ends, prepend=-1)  # including the line break, which is cut off below
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content)]
    lines = pa.Array.from_buffers(pa.large_string(), len(ends), buffers)
    return pc.utf8_slice_codeunits(lines, 0, -1)


def one_label_each(
    labels: pa.ChunkedArray,
    record_of: Int64Array,
    name: str,
    source: str,
    rows: Int64Array | None = None,
) -> pa.ChunkedArray:
    """Return the label of every record, which has to be the same in all of its rows.

    ``rows`` are the numbers of the rows, for the message.
    """
    _, first = np.unique(record_of, return_index=True)
    of_records = labels.take(pa.array(first))
    expected = of_records.take(pa.array(record_of))
    same = pc.fill_null(pc.equal(labels, expected), False)
    both_missing = pc.and_(pc.is_null(labels), pc.is_null(expected))
    differing = np.flatnonzero(~np.asarray(pc.or_(same, both_missing)))
    if len(differing):
        row = differing[0] if rows is None else rows[differing[0]]
        raise DataError(
            f"{source}, row {row + 1}: the record has another '{name}' than in an earlier row.",
            "Give every record one label.",
        )
    return of_records


def check_holds_sets(kind: pa.DataType, column: str, separator: str | None, source: str) -> None:
    """Raise unless a column of a type holds lists, or text whose separator is known."""
    if is_list(kind):
        if not is_plain(kind.value_type):
            raise DataError(
                f"{source}: column '{column}' holds lists of {kind.value_type} values.",
                "Items must be text, numbers or dates.",
            )
    elif separator is None:
        raise UsageError(
            f"{source}: column '{column}' holds {kind} values, not lists.",
            "Give with --separator what separates two items.",
        )
    elif not is_plain(kind):
        raise DataError(f"{source}: column '{column}' holds {kind} values, not sets.")


def check_holds_items(kind: pa.DataType, item: str, source: str) -> None:
    """Raise unless a column of a type holds one item in each row."""
    if not is_plain(kind):
        raise DataError(
            f"{source}: column '{item}' holds {kind} values, not one item per row.",
            "Name a column of lists with --column instead.",
        )


def check_present(keys: pa.ChunkedArray, name: str, source: str, first: int = 0) -> None:
    """Raise if a row belongs to no record; ``first`` is the number of the first of the rows."""
    if keys.null_count:
        row = int(np.flatnonzero(np.asarray(pc.is_null(keys)))[0]) + first + 1
        raise DataError(
            f"{source}, row {row}: column '{name}' is missing.",
            "Fill it in; it says which items belong together.",
        )


def column_of(table: pa.Table, name: str, source: str) -> pa.ChunkedArray:
    """Return a column, or raise with the names of similar ones."""
    if name not in table.column_names:
        raise UsageError(
            f"{source} has no column '{name}'.", did_you_mean(name, table.column_names)
        )
    return table.column(name)


def _source(data: object) -> str:
    return str(data) if isinstance(data, (str, PathLike)) else f"The {type(data).__name__}"


def checked_separator(separator: str | None) -> str | None:
    """Return the separator that an option names; raise if it cannot be one."""
    if separator == "\\t":
        return "\t"
    if separator is not None and (separator == "" or set(separator) & set("\r\n")):
        raise UsageError(
            "The separator of items must be one or more characters of a line.",
            "Leave it out for spaces and tabs.",
        )
    return separator
