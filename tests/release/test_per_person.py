"""One row per person: what stays, what becomes two columns, and what becomes a set."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from mottle import Kind, Schema, UsageError
from mottle.release.per_person import one_row_per_person

DAY = dt.date(2020, 1, 1)


def table() -> pa.Table:
    return pa.table(
        {
            "who": ["b", "a", "b", "c"],
            "name": ["Bo", "Al", "Bob", "Cy"],
            "age": [40, 20, 42, None],
            "seen": [DAY, DAY, DAY + dt.timedelta(3), DAY],
            "town": ["x", "y", "z", None],
            "sex": ["m", "f", "m", "f"],
            "ward": ["1", "2", "1", "3"],
        }
    )


def schema(**given) -> Schema:
    return Schema.of(
        quasi_identifying=["age", "seen", "town", "sex"],
        identifying=["name"],
        insensitive=["ward"],
        person="who",
        **given,
    ).covering(table().column_names)


def test_everybody_has_one_row_in_the_order_of_first_rows() -> None:
    made, described = one_row_per_person(table(), schema(importance={"age": 3.0}))
    assert made.to_pylist() == [
        {
            "who": "b",
            "name": "Bo",
            "age_min": 40,
            "age_max": 42,
            "seen_min": DAY,
            "seen_max": DAY + dt.timedelta(3),
            "town": ["x", "z"],
            "sex": "m",
            "ward": "1",
        },
        {
            "who": "a",
            "name": "Al",
            "age_min": 20,
            "age_max": 20,
            "seen_min": DAY,
            "seen_max": DAY,
            "town": ["y"],
            "sex": "f",
            "ward": "2",
        },
        {
            "who": "c",
            "name": "Cy",
            "age_min": None,
            "age_max": None,
            "seen_min": DAY,
            "seen_max": DAY,
            "town": None,
            "sex": "f",
            "ward": "3",
        },
    ]
    by_name = {column.name: column for column in described.columns}
    assert by_name["town"].kind is Kind.SET
    assert by_name["age_min"].importance == by_name["age_max"].importance == 1.5
    assert described.person == "who"


def test_names_that_are_taken_are_refused() -> None:
    given = table().append_column("age_min", pa.array([1, 2, 3, 4]))
    taken = ["age", "age_min"]
    described = Schema.of(quasi_identifying=taken, person="who", rest="identifying")
    with pytest.raises(UsageError, match="'age_min' has the name that a part of 'age' gets"):
        one_row_per_person(given, described.covering(given.column_names))


@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
def test_published_values_that_vary_are_refused(role) -> None:
    """Whoever knows how many rows people have would recognize records with several values."""
    given = pa.table({"who": [1, 1, 2], "age": [3, 3, 4], "dose": [35, 65, 40]})
    described = Schema.of(quasi_identifying=["age"], person="who", **{role: ["dose"]})
    with pytest.raises(UsageError, match="'dose' is published as it is and differs"):
        one_row_per_person(given, described)


def test_lists_that_vary_are_refused() -> None:
    given = pa.table({"who": [1, 1, 2], "items": [["a"], ["b"], ["a"]]})
    described = Schema.of(quasi_identifying=["items"], person="who")
    with pytest.raises(UsageError, match="'items' holds list"):
        one_row_per_person(given, described)


def test_persons_need_a_column() -> None:
    with pytest.raises(UsageError, match="per_person needs a column"):
        Schema.of(quasi_identifying=["age"], per_person="aggregate")
