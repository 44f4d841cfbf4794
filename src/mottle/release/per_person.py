"""One row per person: what the rows of a person have in common, and what varies among them.

A column that is the same in all rows of everybody stays as it is. Of a number or date that varies
there are two columns, its least and its greatest value. Of anything else that varies there is the
set of values: as a column of sets if it is quasi-identifying, as text otherwise. Every row of the
new table is then one person, and everything that is promised of rows is promised of people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.people import People
from mottle.errors import UsageError
from mottle.kinds.base import Kind
from mottle.release.certificate import Certificate
from mottle.schema.model import Column, Role, Schema
from mottle.typing import Int64Array
from mottle.utils.arrow import is_plain

__all__ = ["before_aggregation", "one_row_per_person", "original_of"]

_LEAST, _GREATEST = "_min", "_max"


def one_row_per_person(table: pa.Table, schema: Schema) -> tuple[pa.Table, Schema]:
    """Make one row of all rows of a person.

    Only quasi-identifying columns may differ between rows of a person: several values in a column
    that is published as it is would show that a record is somebody's who has several rows.

    Parameters
    ----------
    table : pa.Table
        The table.
    schema : Schema
        Covers all columns; one of them says whose row it is.

    Returns
    -------
    table : pa.Table
        One row for each person, in the order of their first rows.
    schema : Schema
        The schema of that table.

    Raises
    ------
    UsageError
        A column cannot be made into one value per person, or its new name is taken.

    Examples
    --------
    >>> visits = pa.table({"who": ["a", "b", "a"], "age": [30, 50, 31], "sex": ["f", "m", "f"]})
    >>> schema = Schema.of(quasi_identifying=["age", "sex"], person="who")
    >>> people, _ = one_row_per_person(visits, schema)
    >>> people.to_pylist()[0]
    {'who': 'a', 'age_min': 30, 'age_max': 31, 'sex': 'f'}
    """
    assert schema.person is not None
    people = People.of(table, schema.person)
    first = np.full(people.count, -1, np.int64)
    first[people.codes[::-1]] = np.arange(table.num_rows)[::-1]
    described: list[Column] = []
    arrays: list[pa.ChunkedArray | pa.Array] = []
    for column in schema.columns:
        values = table.column(column.name)
        if column.role.removed or not _varies(values, people):
            described.append(column)
            arrays.append(values.take(pa.array(first)))
            continue
        if column.role is not Role.QUASI_IDENTIFYING:
            raise UsageError(
                f"Column '{column.name}' is published as it is and differs between rows of one"
                " person: several values would show that a record is somebody's who has several"
                " rows.",
                "Keep one value for each person (the latest, the worst), make the column"
                " quasi-identifying, or leave it out.",
            )
        if column.name == schema.survey_weight:
            raise UsageError(
                f"The survey weight '{column.name}' differs between rows of one person.",
                "Keep one weight for each person, or leave --survey-weight out.",
            )
        for one, cells in _varying(column, values, people):
            if one.name != column.name and one.name in table.column_names:
                raise UsageError(
                    f"Column '{one.name}' has the name that a part of '{column.name}' gets when one"
                    " row is made of all rows of a person.",
                    "Rename one of them.",
                )
            described.append(one)
            arrays.append(cells)
    names = [column.name for column in described]
    made = schema.model_copy(update={"columns": tuple(described)})
    return pa.table(arrays, names=names), made


def original_of(
    table: pa.Table, certificate: Certificate | None, schema: Schema | None = None
) -> tuple[pa.Table, Schema | None]:
    """Return the table that was released: one row per person, if the certificate says so.

    Parameters
    ----------
    table : pa.Table
        The original.
    certificate : Certificate or None
        That of the release.
    schema : Schema, optional
        The schema of the run, if it is known; else what the certificate says of the columns counts.

    Returns
    -------
    table : pa.Table
        The table itself, or one row for each of its people.
    schema : Schema or None
        The given schema, as it applies to that table.
    """
    unit = None if certificate is None else certificate.unit
    if (
        certificate is None
        or unit is None
        or unit.per_person is None
        or table.num_rows != unit.original_rows
        or unit.column not in table.column_names
    ):
        return table, schema
    if schema is not None and schema.per_person is not None:
        return one_row_per_person(table, schema.covering(table.column_names))
    facts = {column.name: column for column in certificate.columns}
    columns = []
    for name in table.column_names:
        known = facts.get(name) or facts.get(name + _LEAST)
        if known is not None:
            # a number that was told to be something else became a set
            is_set = name in facts and known.kind == Kind.SET and is_plain(table[name].type)
            kind = Kind.CATEGORY if is_set else None
            columns.append(Column(name=name, role=known.role, kind=kind))
    known_columns = Schema(columns=tuple(columns))
    kept = table.select([column.name for column in columns])
    return one_row_per_person(kept, known_columns)[0], schema


def before_aggregation(columns: Sequence[Column]) -> Iterator[Column]:
    """Yield the columns of which one row per person was made, from those that it has.

    Parameters
    ----------
    columns : sequence of Column
        The columns of the table with one row per person.

    Yields
    ------
    Column
        A column for each pair of a least and a greatest value, and for each set.
    """
    names = {column.name for column in columns}
    for column in columns:
        base, ending = column.name[: -len(_LEAST)], column.name[-len(_LEAST) :]
        if {base + _LEAST, base + _GREATEST} <= names and ending in (_LEAST, _GREATEST):
            if ending == _LEAST:
                yield column.model_copy(update={"name": base, "importance": 2 * column.importance})
        elif column.kind is Kind.SET:
            yield Column(name=column.name, role=column.role, importance=column.importance)
        else:
            yield column


def _varies(values: pa.ChunkedArray, people: People) -> bool:
    """Whether somebody's rows have different values; a missing value is one of its own."""
    if not is_plain(values.type):
        texts = [str(value) for value in values.to_pylist()]
        values = pa.chunked_array([pa.array(texts)])
    codes = _codes(values)[0]
    lowest = np.full(people.count, len(codes), np.int64)
    highest = np.full(people.count, -1, np.int64)
    np.minimum.at(lowest, people.codes, codes)
    np.maximum.at(highest, people.codes, codes)
    return bool(np.any(lowest != highest))


def _codes(values: pa.ChunkedArray) -> tuple[Int64Array, pa.Array]:
    """Codes in the order of first occurrence, and the values; a missing value has a code."""
    if pa.types.is_dictionary(values.type):
        values = pc.cast(values, values.type.value_type)
    coded = values.combine_chunks().dictionary_encode(null_encoding="encode")
    return coded.indices.to_numpy(zero_copy_only=False).astype(np.int64), coded.dictionary


def _varying(
    column: Column, values: pa.ChunkedArray, people: People
) -> Iterator[tuple[Column, pa.Array]]:
    """The columns that a column becomes, with their cells."""
    kind = column.kind or Kind.of_type(values.type)
    if kind in (Kind.NUMBER, Kind.DATE) and column.order is None:
        grouped = pa.table({"who": people.codes, "value": values}).group_by("who")
        found = grouped.aggregate([("value", "min"), ("value", "max")]).sort_by("who")
        for ending, cells in ((_LEAST, "value_min"), (_GREATEST, "value_max")):
            importance = column.importance / 2
            new = column.model_copy(update={"name": column.name + ending, "importance": importance})
            yield new, found.column(cells)
        return
    if not is_plain(values.type):
        raise UsageError(
            f"Column '{column.name}' holds {values.type} values that differ between rows of one"
            " person; they cannot be made into one.",
            "Make one row per person yourself, or leave the column out.",
        )
    lists = _lists(values, people)
    yield (
        Column(name=column.name, role=column.role, kind=Kind.SET, importance=column.importance),
        lists,
    )


def _lists(values: pa.ChunkedArray, people: People) -> pa.Array:
    """By person: the different values as texts; missing where there is none."""
    codes, known = _codes(values)
    texts = pc.cast(known, pa.string())
    pairs = np.unique(people.codes.astype(np.int64) * len(known) + codes)
    person, value = np.divmod(pairs, len(known))
    missing = texts.is_null().to_numpy(zero_copy_only=False)[value]
    person, value = person[~missing], value[~missing]
    sizes = np.bincount(person, minlength=people.count)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    offsets = pa.array(starts.astype(np.int32))
    lists = pa.ListArray.from_arrays(offsets, texts.take(pa.array(value)))
    return pc.if_else(pa.array(sizes > 0), lists, pa.scalar(None, lists.type))
