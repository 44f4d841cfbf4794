"""Whose row each row is: the values of the person column as codes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.typing import Int32Array, Int64Array
from mottle.utils.person_names import person_names


@dataclass(frozen=True)
class People:
    """The people of a table, and whose row each row is."""

    column: str
    codes: Int32Array  # [n]: 0 .. count - 1
    count: int  # number of people
    most: int  # rows of the person who has most

    @classmethod
    def of(cls, table: pa.Table, column: str) -> Self:
        """Code the person column of a table.

        Parameters
        ----------
        table : pa.Table
            The table.
        column : str
            The column that says whose row it is.

        Returns
        -------
        People
            The people, numbered in the order of their first rows. Variants in spelling
            (`mottle.utils.person_names`) are one person.

        Raises
        ------
        DataError
            The column is empty in some rows, so that these could be anybody's.
        UsageError
            It holds lists or structs.
        """
        names = named_people(table.column(column), column)
        check_named(column, names.null_count, len(names))
        coded = names.combine_chunks().dictionary_encode()
        codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
        rows = np.bincount(codes)
        return cls(column, codes, len(rows), int(rows.max(initial=0)))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def values(self) -> int:
        """Number of people, which is that of the column's values."""
        return self.count

    @property
    def several(self) -> bool:
        """Whether somebody has several rows."""
        return self.most > 1


def named_people(values: pa.ChunkedArray, column: str) -> pa.ChunkedArray:
    """Return one spelling of every cell of the person column; see `person_names`."""
    return person_names(values, column, "--person")


def person_keys(values: pa.ChunkedArray) -> Int64Array:
    """Return a number for every person, the same wherever the person occurs.

    Whole numbers have different ones; so have texts, but for a chance of about 1 in 2^63 for every
    pair. Variants in spelling have the same one.

    Parameters
    ----------
    values : pa.ChunkedArray
        Cells of the person column, none of them empty.

    Returns
    -------
    Int64Array
        Numbers from 0 to 2^63 - 1 for texts, any for whole numbers.

    Examples
    --------
    >>> one, other, same = person_keys(pa.chunked_array([["a", "b"], ["a"]]))
    >>> one == same, one == other
    (np.True_, np.False_)
    """
    if pa.types.is_dictionary(values.type):
        values = pc.cast(values, values.type.value_type)
    if pa.types.is_integer(values.type) and values.type != pa.uint64():
        return np.asarray(pc.cast(values, pa.int64()).to_numpy(), np.int64)
    coded = named_people(values, "").combine_chunks().dictionary_encode()
    texts = [str(value).encode() for value in coded.dictionary.to_pylist()]
    hashed = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts)
    numbers = np.frombuffer(hashed, "<i8") & np.int64(2**63 - 1)
    keys: Int64Array = numbers[coded.indices.to_numpy(zero_copy_only=False)]
    return keys


def check_named(column: str, empty: int, rows: int) -> None:
    """Raise `DataError` if the person column is empty in some rows."""
    if empty:
        raise DataError(
            f"Column '{column}' says whose row it is, but is empty in {empty:,} of {rows:,} rows.",
            "Fill it, or remove these rows.",
        )
