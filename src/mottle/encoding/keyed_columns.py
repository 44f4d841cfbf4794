"""Columns that are published under the owner's key: pseudonyms, and dates shifted per person.

Both follow from the key and from whose row it is, by HMAC-SHA-256 under keys of their own, so that
neither says anything about the other, about the random numbers of the run, or about the person to
anybody without the key. docs/guarantees.md says what is promised of a release that has them.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.people import People, named_people
from mottle.errors import DataError, PrivacyError, SchemaError, UsageError
from mottle.schema.model import Role, Schema
from mottle.typing import Int64Array

__all__ = [
    "LENGTH",
    "check_keyed",
    "check_pseudonyms",
    "intervals_of_their_own",
    "keyed_notes",
    "with_keyed_columns",
]

LENGTH = 26  # letters and digits of a pseudonym: 130 bits
_DIGEST = "sha256"
_PSEUDONYM, _SHIFT = b"mottle pseudonym 1", b"mottle date shift 1"


def check_keyed(schema: Schema, people: People | None, *, keyed: bool) -> None:
    """Check that a table may be published with pseudonyms or shifted dates.

    Parameters
    ----------
    schema : Schema
        Covers all columns.
    people : People or None
        Whose row each row is, of the rows that are published.
    keyed : bool
        Whether the run has the owner's key.

    Raises
    ------
    UsageError
        There is no key, or people have several rows, which pseudonyms would link.
    SchemaError
        A column of shifted dates does not say by how many days.
    """
    columns = [column for column in schema.columns if column.role.keyed]
    if not columns:
        return
    if not keyed:
        what = "pseudonyms" if columns[0].role is Role.PSEUDONYM else "shifted dates"
        raise UsageError(
            f"Column '{columns[0].name}' is to hold {what}, which follow from the owner's key.",
            "Name a key file outside the release: --key FILE; it is created at first use.",
        )
    for column in schema.with_role(Role.SHIFTED):
        if column.shift is None:
            raise SchemaError(
                f"Column '{column.name}' is to be shifted, but not by how many days.",
                f"Write shift = 30 below [columns.{column.name}], or --shift-dates"
                f" {column.name}=30.",
            )
    if schema.with_role(Role.PSEUDONYM) and (people is None or people.several):
        raise UsageError(
            f"Column '{schema.person}' is to be published as a pseudonym, but people have several"
            " rows. A pseudonym says which records are one person's, and whoever takes these"
            " together keeps only those who are candidates for all of them: k would no longer be"
            " kept.",
            "Make one row per person (--per-person aggregate), or leave the column out (--person).",
        )


def with_keyed_columns(table: pa.Table, schema: Schema, key: bytes) -> pa.Table:
    """Replace names by pseudonyms, and dates by shifted ones.

    Parameters
    ----------
    table : pa.Table
        The rows that are published.
    schema : Schema
        Covers all columns.
    key : bytes
        The owner's key.

    Returns
    -------
    pa.Table
        The table, with these columns replaced.

    Raises
    ------
    SchemaError
        A column to be shifted does not hold dates.
    DataError
        A shifted date would be outside the years 1 to 9999.

    Examples
    --------
    >>> table = pa.table({"who": ["ann", "bob"], "age": [31, 45]})
    >>> schema = Schema.of(quasi_identifying=["age"], pseudonym="who")
    >>> published = with_keyed_columns(table, schema, bytes(32)).column("who").to_pylist()
    >>> [len(name) for name in published], published[0] == published[1]
    ([26, 26], False)
    """
    if schema.person is None:
        return table
    names = named_people(table.column(schema.person), schema.person).combine_chunks()
    coded = names.dictionary_encode()
    people = [str(name).encode() for name in coded.dictionary.to_pylist()]
    for column in schema.columns:
        place = table.column_names.index(column.name)
        if column.role is Role.PSEUDONYM:
            texts = pa.array(pseudonyms(people, column.name, key), pa.string())
            table = table.set_column(place, column.name, texts.take(coded.indices))
        elif column.role is Role.SHIFTED:
            assert column.shift is not None
            days = day_offsets(people, column.shift, key)
            moved = days[coded.indices.to_numpy(zero_copy_only=False)]
            values = _shifted(table.column(column.name), moved, column.name)
            table = table.set_column(place, column.name, values)
    return table


def pseudonyms(people: Sequence[bytes], column: str, key: bytes) -> list[str]:
    """Return the pseudonym of every person: letters and digits, always as many.

    Parameters
    ----------
    people : sequence of bytes
        One spelling of every name.
    column : str
        The column; another one has other pseudonyms.
    key : bytes
        The owner's key.

    Returns
    -------
    list of str
        In the same order.
    """
    own = hmac.digest(key, _PSEUDONYM + b"\0" + column.encode(), _DIGEST)
    return [
        base64.b32encode(hmac.digest(own, name, _DIGEST))[:LENGTH].decode().lower()
        for name in people
    ]


def day_offsets(people: Sequence[bytes], most: int, key: bytes) -> Int64Array:
    """Return by how many days the dates of every person are moved.

    Parameters
    ----------
    people : sequence of bytes
        One spelling of every name.
    most : int
        The largest number of days.
    key : bytes
        The owner's key.

    Returns
    -------
    Int64Array
        From ``-most`` to ``most``, each as likely.
    """
    own = hmac.digest(key, _SHIFT + b"\0" + str(most).encode(), _DIGEST)
    numbers = [int.from_bytes(hmac.digest(own, name, _DIGEST), "big") for name in people]
    return np.array([number % (2 * most + 1) - most for number in numbers], np.int64)


def _shifted(values: pa.ChunkedArray, days: Int64Array, name: str) -> pa.Array:
    """The dates or points in time, each moved by some days."""
    kind = values.type
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        raise SchemaError(
            f"Column '{name}' is to be shifted by days, but holds {kind} values, not dates.",
            "Say how its dates are written (--date-format dd.mm.yyyy), or leave it out.",
        )
    try:
        if pa.types.is_timestamp(kind):
            moved = pc.add(values, pa.array(days * 86_400, pa.duration("s")))
        else:
            since = pc.cast(pc.cast(values, pa.date32()), pa.int32())
            moved = pc.cast(pc.cast(pc.add(since, pa.array(days)), pa.int32()), pa.date32())
        moved = pc.cast(moved, kind)
        years = pc.min_max(pc.year(moved)).as_py()
    except pa.ArrowInvalid:
        years = {"min": 0, "max": 0}
    if years["min"] is not None and not (years["min"] >= 1 and years["max"] <= 9999):
        raise DataError(
            f"Dates of column '{name}' would be shifted out of the years 1 to 9999.",
            "Correct them, or shift by fewer days.",
        )
    return moved


def check_pseudonyms(schema: Schema, published: pa.Table) -> None:
    """Check that published pseudonyms are of one length and all different.

    Parameters
    ----------
    schema : Schema
        Covers all columns.
    published : pa.Table
        What is published.

    Raises
    ------
    PrivacyError
        Some are not: names of people would be published, or records linked.
    """
    for column in schema.with_role(Role.PSEUDONYM):
        values = published.column(column.name)
        well_formed = pc.match_substring_regex(values, f"^[a-z2-7]{{{LENGTH}}}$")
        if not pc.all(well_formed, min_count=0).as_py():
            raise PrivacyError("Invariant 5: a column of pseudonyms holds something else.")
        if values.null_count or pc.count_distinct(values).as_py() != len(values):
            raise PrivacyError("Invariant 5: two records have the same pseudonym.")


def intervals_of_their_own(table: pa.Table, schema: Schema, people: People) -> tuple[int, int]:
    """Count the people whose intervals between dates nobody else has.

    Parameters
    ----------
    table : pa.Table
        The rows that are published.
    schema : Schema
        Covers all columns.
    people : People
        Whose row each row is.

    Returns
    -------
    alone : int
        People with several different dates in shifted columns, and intervals of their own.
    compared : int
        People with several dates.

    Examples
    --------
    >>> day = np.array([0, 5, 100, 105, 50, 57], "datetime64[D]")
    >>> visits = pa.table({"who": [1, 1, 2, 2, 3, 3], "day": day})
    >>> schema = Schema.of(quasi_identifying=[], person="who", shifts={"day": 30})
    >>> intervals_of_their_own(visits, schema, People.of(visits, "who"))
    (1, 3)
    """
    whose, days = [], []
    for place, column in enumerate(schema.with_role(Role.SHIFTED)):
        values = pc.cast(pc.cast(table.column(column.name), pa.date32()), pa.int32())
        known = values.is_valid().to_numpy(zero_copy_only=False)
        whose.append(people.codes[known].astype(np.int64))
        numbers = values.drop_null().to_numpy().astype(np.int64)
        days.append(np.stack([numbers, np.full(len(numbers), place)]))
    if not whose:
        return 0, 0
    person, (day, place_of) = np.concatenate(whose), np.concatenate(days, axis=1)
    order = np.lexsort((place_of, day, person))
    person, day, place_of = person[order], day[order], place_of[order]
    firsts = np.flatnonzero(np.diff(person, prepend=-1))
    since = day - np.repeat(day[firsts], np.diff(np.append(firsts, len(day))))
    patterns: dict[bytes, int] = {}
    compared = 0
    for begin, end in zip(firsts, np.append(firsts[1:], len(day)), strict=True):
        if end - begin > 1:
            compared += 1
            pattern = np.stack([since[begin:end], place_of[begin:end]]).tobytes()
            patterns[pattern] = patterns.get(pattern, 0) + 1
    return sum(times == 1 for times in patterns.values()), compared


def keyed_notes(schema: Schema, people: People | None) -> list[str]:
    """Say on the certificate what keyed columns are, and what they are not.

    Parameters
    ----------
    schema : Schema
        Covers all columns.
    people : People or None
        Whose row each row is.

    Returns
    -------
    list of str
        Sentences; none without such columns.
    """
    notes = [
        f"Column '{column.name}' holds pseudonyms, one for each person, made with the owner's key."
        " They are NOT anonymous by themselves: whoever has the key knows whose they are, and all"
        " releases made with this key can be joined by them. The guarantee is about this release"
        " alone, and against those without the key."
        for column in schema.with_role(Role.PSEUDONYM)
    ]
    shifted = schema.with_role(Role.SHIFTED)
    if shifted:
        names = ", ".join(f"'{column.name}'" for column in shifted)
        notes.append(
            f"Dates of {names} are shifted by up to {shifted[0].shift} days, all of a person by the"
            " same number of days. Intervals between them are exact and may single somebody out:"
            " whoever knows them finds the record, as with any column that is published as it is."
            " One known date of a person, or one that all share, such as a holiday, tells the shift"
            " and with it the other dates. The guarantee counts on no shift: it holds as if they"
            " were exact."
        )
        if people is not None and people.several:
            notes.append(
                "Shifted dates of one person move together, so records may be recognized as one"
                " person's; what follows from taking these together is not bounded by k."
            )
    return notes
