"""What one row is taken for, in words; and sentences about people as those about what it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from mottle.schema.model import Unit

__all__ = ["about", "unit_statement"]

# In this order. "Somebody", "anyone" and "whoever" are adversaries and stay.
_OF_ROWS = (
    (r"what somebody infers who", "what anyone infers who"),
    (r"which record belongs to whom", "which record is which row"),
    (r"that a certain person is in the table", "that a certain row is in the table"),
    (r"\bwhom it may belong to\b", "that it may be"),
    (r"\bpeople to whom a record may belong\b", "rows that a record may be"),
    (r"\bpeople the record may belong to\b", "rows the record may be"),
    (r"\bmay belong to any one person\b", "may be any one row"),
    (r"\brecords that may be (a person|somebody)'s\b", "records that a row may be"),
    (r"\brecords that may be theirs\b", "records that it may be"),
    (r"\babout a person\b", "about a row"),
    (r"\beverybody['’]s\b", "all rows’"),
    (r"\b(everybody|everyone)\b", "every row"),
    (r"\bEverybody\b", "Every row"),
    (r"\bpeople['’]s\b", "rows’"),
    (r"\bperson['’]s\b", "row’s"),
    (r"\bpeople\b", "rows"),
    (r"\bPeople\b", "Rows"),
    (r"\bperson\b", "row"),
    (r"\bpersons\b", "rows"),
    (r"\ban individual\b", "a row"),
    (r"\bindividuals\b", "rows"),
    (r"\bindividual\b", "row"),
    (r"\bwhom\b", "which"),
    (r"\bher record\b", "its record"),
)
_OF_HOUSEHOLDS = (
    (r"\bbelongs to whom\b", "belongs to which household"),
    (r"\bis whose\b", "is which household’s"),
    (r"\bwhom it may belong to\b", "that it may belong to"),
    (r"\brecords that may be somebody's\b", "records that may be a household’s"),
    (r"\b(people|a person) who\b", r"\1 that"),
    (r"\bpeople whom\b", "people that"),
    (r"\babout somebody who has\b", "about a household that has"),
    (r"\bwhether somebody has several\b", "whether one has several"),
    (r"\beverybody['’]s\b", "all households’"),
    (r"\b(everybody|everyone)\b", "every household"),
    (r"\bEverybody\b", "Every household"),
    (r"\bpeople['’]s\b", "households’"),
    (r"\bPeople['’]s\b", "Households’"),
    (r"\bperson['’]s\b", "household’s"),
    (r"\bpeople\b", "households"),
    (r"\bPeople\b", "Households"),
    (r"\ban individual\b", "a household"),
    (r"\b(person|individual)\b", "household"),
    (r"\b(persons|individuals)\b", "households"),
    (r"\bher record\b", "its record"),
)
_INSTEAD = {Unit.ROW: _OF_ROWS, Unit.HOUSEHOLD: _OF_HOUSEHOLDS}


def about(unit: Unit | str | None) -> Callable[[str], str]:
    """Return a function that says of something else what a sentence says of people.

    Parameters
    ----------
    unit : Unit or None
        What is protected; None on certificates of earlier versions, which say people.

    Returns
    -------
    callable
        From a sentence in which every row is taken for a person to the same about rows or
        households; for people, the sentence itself.

    Examples
    --------
    >>> sentence = "Every person is in the release exactly once."
    >>> [about(unit)(sentence).partition(" is ")[0] for unit in ("person", "row", "household")]
    ['Every person', 'Every row', 'Every household']
    """
    words = () if unit is None else _INSTEAD.get(Unit(unit), ())

    def worded(text: str) -> str:
        for pattern, word in words:
            text = re.sub(pattern, word, text)
        return text

    return worded


def unit_statement(unit: Mapping[str, Any], k: int) -> str:
    """Say what one row is taken for.

    Parameters
    ----------
    unit : mapping of str to object
        The other entries of ``unit`` on a certificate.
    k : int
        The least number of preimages of a record.

    Returns
    -------
    str
        One or two sentences.

    Examples
    --------
    >>> unit_statement({"protects": Unit.ROW}, 5)[:50]
    'One row is one record: rows are protected, each by'
    """
    if unit["protects"] == Unit.ROW:
        return (
            "One row is one record: rows are protected, each by itself. Nothing is promised about"
            " those who have several."
        )
    if unit["protects"] == Unit.HOUSEHOLD:
        return (
            "Every row is taken for a household: households are protected. Nothing is promised"
            " about single members beyond that."
        )
    column = unit.get("column")
    if column is None:
        return (
            "Every row is taken for a person of its own: no column was named that says whose row"
            " it is."
        )
    if unit.get("per_person") is not None:
        return (
            f"One row is one person: it was made of all rows that column '{column}' says are"
            f" theirs, {unit['original_rows']:,} in all."
        )
    if unit.get("largest_share") is None:
        return f"One row is one person: no two rows have the same '{column}'."
    return (
        f"People are protected: column '{column}' says whose row it is. {unit['people']:,} people"
        f" have up to {unit['most_rows']:,} rows each. Of the rows that a record may be, at most"
        f" one in {k} is one person's."
    )
