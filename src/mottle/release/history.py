"""What a release over time remembers for the next one: who is who, and the rows as published.

A release over time is a union of blocks, each drawn once and published again as it was. The owner's
links carry what that takes, so that the earlier table need not be kept: the rows that the release
describes, without identifying columns, a keyed hash of the person behind each, and the people who
must not be published again because their block was left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mottle.encoding.domain import Form
from mottle.errors import DataError, PrivacyError
from mottle.release.cell_text import to_texts
from mottle.release.column import PublishedColumn
from mottle.typing import BoolArray, Int32Array
from mottle.utils.person_names import person_names
from mottle.utils.table_digest import digest_of

__all__ = ["History", "Presence", "changed_cells", "hash_people", "seals_of"]

_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd: combines digests of columns in their order

People = NDArray[np.bytes_]  # keyed hashes as 32 hexadecimal digits


class Presence(IntEnum):
    """How a published person stands in the table of the latest release."""

    PRESENT = 0
    LEFT = 1
    CHANGED = 2  # present, but with other values than those that are published


@dataclass(frozen=True, repr=False)
class History:
    """The memory of a release over time; private."""

    same: str  # the identifying column that says who is who
    key: bytes  # of the hashes; the same in all releases that continue each other
    rows: pa.Table  # what the release describes, without identifying columns
    people: People  # [n]: the person of each row
    cohort: Int32Array  # [n]: the number of the release that published the person first
    presence: NDArray[np.uint8]  # [n]: `Presence` in the table of the latest release
    seals: NDArray[np.uint64]  # [n]: digest of the record whose true original the row is
    withheld: People  # people of blocks that are no longer published
    made: Mapping[str, Any]  # columns, guarantee and representation, which must stay the same
    seeded: bool = False  # whether an assignment that is still published was drawn with a seed
    known_records: int | None = None  # highest of all releases so far
    # Checksums of the files of the release that is continued, or of the one just read; if known.
    files: Mapping[str, str] = field(default_factory=dict)
    source: Path | None = None  # the link file of the release that is continued, or just read

    @property
    def releases(self) -> int:
        """The number of releases so far."""
        return int(self.made["releases"])

    @classmethod
    def first(
        cls, table: pa.Table, same: str, made: Mapping[str, Any], names: Sequence[str], key: bytes
    ) -> History:
        """Begin a history with all rows of a table.

        Parameters
        ----------
        table : pyarrow.Table
            The table.
        same : str
            The identifying column that says who is who.
        made : mapping of str to object
            What must stay the same in further releases.
        names : sequence of str
            The columns to keep.
        key : bytes
            For the hashes of people, 32 bytes.

        Returns
        -------
        History
            Everybody is present and published for the first time.
        """
        people = hash_people(table, same, key)
        return cls(
            same=same,
            key=key,
            rows=table.select(names),
            people=people,
            cohort=np.ones(len(people), np.int32),
            presence=np.zeros(len(people), np.uint8),
            seals=np.zeros(len(people), np.uint64),
            withheld=people[:0],
            made={**made, "releases": 1},
        )

    def described(self, original: pa.Table) -> pa.Table:
        """Return the rows that the release describes, after checking the table against them.

        Parameters
        ----------
        original : pyarrow.Table
            The table of the latest release, with the column that says who is who.

        Returns
        -------
        pyarrow.Table
            The published rows, in the numbering of the link file.

        Raises
        ------
        DataError
            The table is not the one of the latest release.
        """
        fits = self.same in original.column_names and set(self.rows.column_names) <= set(
            original.column_names
        )
        if fits:
            place = {person: row for row, person in enumerate(self._hashed(original))}
            found = np.array([place.get(person, -1) for person in self.people.tolist()])
            same = self.presence == Presence.PRESENT
            there = found >= 0
            fits = bool(np.array_equal(there, self.presence != Presence.LEFT))
            if fits:
                cells = changed_cells(
                    self.rows.filter(pa.array(same)), original.take(pa.array(found[same]))
                )
                fits = not any(changed.any() for changed in cells.values())
        if not fits:
            raise DataError(
                "The original is not the table that the release was made from: it does not fit the"
                f" rows in the link file, which column '{self.same}' tells apart.",
                "Name the table of that run, and read it with the same options (--missing,"
                " --delimiter, --encoding).",
            )
        return self.rows

    def digest(self) -> str:
        """Digest what a release describes and which of it is new, for runs with an owner's key.

        Returns
        -------
        str
            Hexadecimal digits.
        """
        content = hashlib.blake2b(digest_of(self.rows, self.rows.column_names), digest_size=32)
        for part in (self.cohort, self.presence, self.seals):
            content.update(np.ascontiguousarray(part).tobytes())
        content.update(json.dumps(dict(self.made), sort_keys=True, default=str).encode())
        return content.hexdigest()

    def sealed(self, seals: NDArray[np.uint64], original_of_row: Int32Array) -> History:
        """Return the history with digests of the records, given by row of the release.

        Parameters
        ----------
        seals : uint64 array
            The digest of every released row.
        original_of_row : int32 array
            The true original of every released row.

        Returns
        -------
        History
            The changed copy.

        Raises
        ------
        PrivacyError
            A record that was published before is not published as it was.
        """
        by_original = np.zeros(len(self.people), np.uint64)
        by_original[original_of_row] = seals
        known = self.cohort < self.releases
        if np.any(by_original[known] != self.seals[known]):
            raise PrivacyError(
                "A record of an earlier release would be published in another form, and both"
                " together would say more than one."
            )
        return replace(self, seals=by_original)

    def _hashed(self, table: pa.Table) -> list[bytes]:
        hashed: list[bytes] = hash_people(table, self.same, self.key).tolist()
        return hashed


def hash_people(table: pa.Table, same: str, key: bytes) -> People:
    """Return a keyed hash of the person of every row.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    same : str
        The column that says who is who.
    key : bytes
        The key, 32 bytes.

    Returns
    -------
    array of bytes
        32 hexadecimal digits each.

    Raises
    ------
    DataError
        The column is not there, is missing in a row, or has a value twice, also in another spelling
        (`mottle.utils.person_names`): the same person may be spelled otherwise in another file.
    UsageError
        The column holds lists or structs.
    """
    if same not in table.column_names:
        raise DataError(
            f"The table has no column '{same}' (--same).", "Name the column that identifies people."
        )
    values = table.column(same)
    names = person_names(values, same, "--same")
    if names.null_count:
        raise DataError(
            f"Column '{same}' (--same) is missing in {names.null_count:,} rows.",
            "Everybody needs a value there; fill it in, or leave these rows out.",
        )
    distinct = pc.count_distinct(values).as_py()
    if distinct < len(values):
        raise DataError(
            f"Column '{same}' (--same) repeats: {distinct:,} values in {len(values):,} rows.",
            "Releases over time need one row for each person.",
        )
    spelled = pc.count_distinct(names).as_py()
    if spelled < distinct:
        raise DataError(
            f"Column '{same}' (--same) has {distinct:,} values, of which {distinct - spelled:,}"
            " differ from others only in case, white space, leading zeros or compatible"
            " characters.",
            "If these are the same people, keep one row for each; if not, give them values that"
            " differ in more than that.",
        )
    hashes = [
        hashlib.blake2b(name.encode(), key=key, digest_size=16).hexdigest()
        for name in names.to_pylist()
    ]
    return np.array(hashes, "S32")


def changed_cells(before: pa.Table, now: pa.Table) -> dict[str, BoolArray]:
    """Compare rows cell by cell.

    Parameters
    ----------
    before : pyarrow.Table
        Some rows.
    now : pyarrow.Table
        The same people later; more columns do not matter.

    Returns
    -------
    dict of str to bool array
        By column of ``before``: which rows differ. A missing value equals a missing value.

    Raises
    ------
    DataError
        A column has another type that cannot be converted without loss.
    """
    return {
        name: _differs(before.column(name), as_before(now, before.schema.field(name)))
        for name in before.column_names
    }


def as_before(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    """Return a column in the type that it had before."""
    values = table.column(field.name)
    if values.type == field.type:
        return values
    try:
        return pc.cast(values, field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"Column '{field.name}' holds {values.type} values, and {field.type} values in the"
            " earlier release.",
            "Read or convert it as before.",
        ) from None


def _differs(before: pa.ChunkedArray, now: pa.ChunkedArray) -> BoolArray:
    kind = before.type
    if pa.types.is_null(kind):
        return np.zeros(len(before), np.bool_)
    if pa.types.is_nested(kind):
        pairs = zip(before.to_pylist(), now.to_pylist(), strict=True)
        differ = [one != other and repr(one) != repr(other) for one, other in pairs]  # NaN is NaN
        return np.array(differ, np.bool_)
    equal = pc.fill_null(pc.equal(before, now), False)
    equal = pc.or_(equal, pc.and_(pc.is_null(before), pc.is_null(now)))
    if pa.types.is_floating(kind):
        nan = pc.and_(pc.is_nan(before), pc.is_nan(now))
        equal = pc.or_(equal, pc.fill_null(nan, False))
    return ~np.asarray(equal.to_numpy(), np.bool_)


def seals_of(published: pa.Table, columns: Sequence[PublishedColumn]) -> NDArray[np.uint64]:
    """Digest every published record, to see that it is published again as it was.

    Parameters
    ----------
    published : pyarrow.Table
        Typed cells.
    columns : sequence of PublishedColumn
        The columns of the table.

    Returns
    -------
    uint64 array
        One number for each row.
    """
    seals = np.zeros(published.num_rows, np.uint64)
    for column in columns:
        for texts in _texts(published.column(column.name).combine_chunks(), column.form):
            encoded = texts.dictionary_encode()
            numbers = [_number(f"{column.name} {text}") for text in encoded.dictionary.to_pylist()]
            numbers.append(_number(f"{column.name} missing"))
            codes = pc.fill_null(encoded.indices, len(numbers) - 1).to_numpy()
            seals = seals * _FACTOR + np.array(numbers, np.uint64)[codes]
    return seals


def _texts(cells: pa.Array, form: Form | None) -> tuple[pa.Array, ...]:
    return (pc.cast(cells, pa.string()),) if form is None else to_texts(cells, form)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
