"""How many values the columns of a Parquet file hold, by its footer.

pyarrow has the numbers too, but ends the process where the metadata of a column is damaged. The
footer is a struct of Thrift's compact protocol; what is no value of interest is passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["column_values"]

_MAGIC = b"PAR1"
_DEEPEST = 12  # structs and lists within each other; Parquet has fewer
_MOST_BYTES = 1 << 28
# Numbers of fields, by the definition of the format: row groups, their columns, the metadata of a
# column, its number of values.
_PATH = (4, 1, 3, 5)
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = (4, 5, 6)
_Path = tuple[int, ...] | None  # fields within structs that are wanted; None if nothing is


def column_values(path: Path) -> Iterator[list[int]]:
    """Read how many values each column has in each row group; every item of a list is a value.

    Parameters
    ----------
    path : Path
        The file.

    Yields
    ------
    list of int
        For a row group: the number of values of each column, innermost fields in order.

    Raises
    ------
    ValueError
        The footer is damaged.
    """
    try:
        for counts in _Compact(_footer(path)).struct(0, _PATH):
            if not all(isinstance(count, int) and count >= 0 for count in counts):
                raise ValueError("a number of values is missing or negative")
            yield counts
    except (IndexError, TypeError, struct.error):
        raise ValueError("the footer is damaged") from None


def _footer(path: Path) -> bytes:
    with path.open("rb") as file:
        end = file.seek(0, 2)
        file.seek(max(end - 8, 0))
        size, magic = struct.unpack("<i4s", file.read(8))
        if magic != _MAGIC or not 0 < size <= min(end - 8, _MOST_BYTES):
            raise ValueError("there is no footer")
        file.seek(end - 8 - size)
        return file.read(size)


class _Compact:
    """A reader of Thrift's compact protocol: finds the values of one field, in lists of structs."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def struct(self, depth: int, path: _Path) -> Any:
        found, number = None, 0
        while header := self._byte():
            step, kind = header >> 4, header & 15
            number = number + step if step else self._integer()
            if kind not in (_TRUE, _FALSE):  # which have no bytes of their own
                wanted = path is not None and path[:1] == (number,)
                value = self._value(kind, depth, path[1:] if path and wanted else None)
                found = value if wanted else found
        return found

    def _value(self, kind: int, depth: int, path: _Path) -> Any:
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        if kind in _INTEGERS:
            return self._integer()
        if kind == _BINARY:
            return self._skip(self._length())
        if kind == _STRUCT:
            return self.struct(depth + 1, path)
        if kind in (_LIST, _SET):
            header = self._byte()
            count = self._length() if header >> 4 == 15 else header >> 4
            if path is not None:
                return [self._value(header & 15, depth + 1, path) for _ in range(count)]
            for _ in range(count):
                self._value(header & 15, depth + 1, None)
            return None
        if kind in (_BYTE, _TRUE, _FALSE):  # truth values have one in lists
            return self._skip(1)
        if kind == _DOUBLE:
            return self._skip(8)
        if kind == _MAP:
            count = self._length()
            kinds = self._byte() if count else 0
            for _ in range(count):
                self._value(kinds >> 4, depth + 1, None)
                self._value(kinds & 15, depth + 1, None)
            return None
        raise ValueError("an unknown type")

    def _skip(self, count: int) -> None:
        self._at += count

    def _byte(self) -> int:
        found = self._content[self._at]
        self._at += 1
        return found

    def _length(self) -> int:
        """A count of bytes or items, each of which takes at least one byte."""
        count = self._varint()
        if count > len(self._content) - self._at:
            raise ValueError("it ends too early")
        return count

    def _integer(self) -> int:
        coded = self._varint()
        return (coded >> 1) ^ -(coded & 1)

    def _varint(self) -> int:
        found = shift = 0
        for at in range(self._at, self._at + 10):
            byte = self._content[at]
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                self._at = at + 1
                return found
        raise ValueError("a number is too long")
