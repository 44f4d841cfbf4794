"""A digest of the content of a table that does not depend on the batches in which it is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.utils.arrow import dictionary_order, merged_order
from mottle.utils.untrusted.text import parse_json

__all__ = ["Fingerprint", "TableDigest", "digest_of"]


class TableDigest:
    """Hashes names, types and cells of columns, row after row.

    Validity, lengths and content of a column go into hash functions of their own, so that it does
    not matter where one batch ends and the next begins. A category is hashed as its text; the order
    of categories counts as well. Whole numbers count as numbers of 64 bits, because the same table
    has them in other widths in a CSV file, a database and a data frame. What the values of a list
    are called in its type (``item``, ``element``) differs between programs and does not count.

    Parameters
    ----------
    names : sequence of str
        The columns that count, in the order in which they are hashed.
    by_width : bool, optional
        Whether the width of whole numbers counts, as it did in earlier versions.
    by_list_names : bool, optional
        Whether it counts what the values of a list are called, as it did in earlier versions.

    Examples
    --------
    >>> table = pa.table({"age": [20, None, 40], "sex": ["m", "f", "f"], "id": [1, 2, 3]})
    >>> in_parts = TableDigest(["age", "sex"])
    >>> in_parts.add(table.slice(0, 1))
    >>> in_parts.add(table.slice(1))
    >>> in_parts.digest() == digest_of(table, ["age", "sex"])
    True
    """

    def __init__(
        self, names: Sequence[str], *, by_width: bool = False, by_list_names: bool = False
    ) -> None:
        self.names = tuple(names)
        self._by_width = by_width
        self._by_list_names = by_list_names
        self._types: dict[str, str] = {}
        self._hashes: dict[tuple[str, str], hashlib.blake2b] = {}
        self._orders: dict[str, dict[tuple[object, ...], None]] = {}

    def add(self, rows: pa.Table) -> None:
        """Add more rows.

        Parameters
        ----------
        rows : pyarrow.Table
            Rows with all columns that count; every call with the same types.
        """
        for name in self.names:
            values = rows.column(name)
            if not self._by_width:
                values = _uniform(values)
            kind = values.type if self._by_list_names else _with_items(values.type)
            self._types[name] = str(kind)
            if pa.types.is_dictionary(values.type):
                order = tuple(dictionary_order(values, name).to_pylist())
                self._orders.setdefault(name, {})[order] = None
                values = pc.cast(values, values.type.value_type)
            for chunk in values.chunks:
                for part, content in _content(chunk):
                    self._hashes.setdefault((name, part), hashlib.blake2b()).update(content)

    def digest(self) -> bytes:
        """Return the digest of all rows so far.

        Returns
        -------
        bytes
            64 bytes.
        """
        orders = {name: merged_order(found, name) for name, found in self._orders.items()}
        hashes = [(*of, found.hexdigest()) for of, found in sorted(self._hashes.items())]
        content = [self.names, self._types, orders, hashes]
        return hashlib.blake2b(json.dumps(content, sort_keys=True, default=str).encode()).digest()


def digest_of(table: pa.Table, names: Sequence[str]) -> bytes:
    """Return the digest of some columns of a table.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    names : sequence of str
        The columns that count.

    Returns
    -------
    bytes
        64 bytes, as from `TableDigest`.
    """
    digest = TableDigest(names)
    digest.add(table)
    return digest.digest()


def _uniform(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whole numbers in one width, whatever file or database they come from."""
    narrow = pa.types.is_integer(values.type) and not pa.types.is_uint64(values.type)
    return pc.cast(values, pa.int64()) if narrow else values


def _with_items(kind: pa.DataType) -> pa.DataType:
    """A type of lists whose values are called ``item``, whatever they are called in a file.

    >>> str(_with_items(pa.list_(pa.field("element", pa.string()))))
    'list<item: string>'
    """
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_with_items(kind.value_type), kind.list_size)
    if pa.types.is_large_list(kind):
        return pa.large_list(_with_items(kind.value_type))
    if pa.types.is_list(kind):
        return pa.list_(_with_items(kind.value_type))
    return kind


def _content(values: pa.Array, level: str = "") -> Iterator[tuple[str, bytes]]:
    """Bytes of a column by part; the bytes of all batches follow each other without a border."""
    yield f"{level}present", np.asarray(values.is_valid(), np.uint8).tobytes()
    present = values.drop_null()
    kind = present.type
    if pa.types.is_null(kind) or len(present) == 0:
        return
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        yield f"{level}lengths", pc.list_value_length(present).to_numpy().astype("<i8").tobytes()
        yield from _content(pc.list_flatten(present), f"{level}item ")
    elif pa.types.is_boolean(kind):
        yield f"{level}content", np.asarray(present, np.uint8).tobytes()
    elif pa.types.is_primitive(kind) or pa.types.is_decimal(kind):
        width = kind.bit_width // 8
        first = present.offset * width
        yield f"{level}content", bytes(present.buffers()[1][first : first + len(present) * width])
    else:
        text = _text(present)
        yield f"{level}lengths", pc.binary_length(text).to_numpy().astype("<i8").tobytes()
        offsets = np.frombuffer(text.buffers()[1], np.int64)[text.offset :]
        yield f"{level}content", bytes(text.buffers()[2][int(offsets[0]) : int(offsets[len(text)])])


def _text(values: pa.Array) -> pa.Array:
    """Texts, bytes and values of rarer types as texts or bytes without a limit on their length."""
    kind = values.type
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_binary(kind):
        return pc.cast(values, pa.large_binary())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pc.cast(values, pa.large_string())
    return pa.array([repr(value) for value in values.to_pylist()], pa.large_string())


@dataclass(frozen=True)
class Fingerprint:
    """A keyed digest by which a table can be recognized by whoever has the fingerprint."""

    columns: tuple[str, ...]  # those that count
    key: bytes  # of this fingerprint alone
    value: bytes

    def __repr__(self) -> str:
        return f"Fingerprint(columns={self.columns})"

    @classmethod
    def of(cls, columns: Sequence[str], digest: bytes, key: bytes) -> Self:
        """Make a fingerprint.

        Parameters
        ----------
        columns : sequence of str
            The columns that count.
        digest : bytes
            Their digest.
        key : bytes
            A key of its own, 32 bytes.

        Returns
        -------
        Fingerprint
            The fingerprint.
        """
        return cls(tuple(columns), key, hashlib.blake2b(digest, key=key).digest())

    def fits(self, table: pa.Table) -> bool:
        """Tell whether it was made from a table with this content.

        Parameters
        ----------
        table : pyarrow.Table
            The table.

        Returns
        -------
        bool
            Whether names, types, cells and the order of the rows are the same.
        """
        return self.fits_batches([table])

    def fits_batches(self, batches: Iterable[pa.Table]) -> bool:
        """Tell whether it was made from a table with this content, which is read in parts.

        Parameters
        ----------
        batches : iterable of pyarrow.Table
            All rows, in their order.

        Returns
        -------
        bool
            As `fits`.
        """
        digests = [
            TableDigest(self.columns),
            TableDigest(self.columns, by_list_names=True),
            TableDigest(self.columns, by_width=True, by_list_names=True),
        ]
        for rows in batches:
            if not set(self.columns) <= set(rows.column_names):
                return False
            for digest in digests:
                digest.add(rows)
        found = [Fingerprint.of(self.columns, digest.digest(), self.key) for digest in digests]
        return self in found

    def to_json(self) -> str:
        """Return the fingerprint as text.

        Returns
        -------
        str
            JSON.
        """
        content = {"columns": self.columns, "key": self.key.hex(), "value": self.value.hex()}
        return json.dumps(content)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` returned.

        Parameters
        ----------
        text : str or bytes
            The JSON.

        Returns
        -------
        Fingerprint
            The fingerprint.

        Raises
        ------
        ValueError
            The text is something else.
        """
        content = parse_json(text)
        if not isinstance(content, Mapping):
            raise ValueError("This is not a fingerprint.")
        try:
            columns, key, value = (content[name] for name in ("columns", "key", "value"))
            if not all(isinstance(name, str) for name in columns):
                raise TypeError
            found = cls(tuple(columns), bytes.fromhex(key), bytes.fromhex(value))
        except (KeyError, TypeError):
            raise ValueError("This is not a fingerprint.") from None
        if len(found.key) > hashlib.blake2b.MAX_KEY_SIZE:
            raise ValueError("This is not a fingerprint.")
        return found
