"""What one row is taken for, in words; sentences about people as ones about rows or households."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mottle.schema.model import Unit

__all__ = ["about_households", "about_rows", "unit_statement", "words_about"]

# In this order. "Somebody", "anyone" and "whoever" are adversaries and stay.
_WORDS = (
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
    (r"\bindividuals\b", "rows"),
    (r"\bindividual\b", "row"),
    (r"\bwhom\b", "which"),
    (r"\bher record\b", "its record"),
)
_HOUSEHOLDS = (
    (r"people whom nobody equals", "households that no other equals"),
    (r"record belongs to whom\b", "record belongs to which household"),
    (r"somebody who has several rows", "a household that has several rows"),
    (r"whether somebody has several", "whether one has several"),
    (r"\b(everybody|everyone)['’]s\b", "all households’"),
    (r"\b(everybody|everyone)\b", "every household"),
    (r"\bEverybody\b", "Every household"),
    (r"\bpeople['’]s\b", "households’"),
    (r"\bperson['’]s\b", "household’s"),
    (r"\bpeople\b", "households"),
    (r"\bPeople\b", "Households"),
    (r"\bperson\b", "household"),
    (r"\b(persons|individuals)\b", "households"),
    (r"\bindividual\b", "household"),
    (r"\bher record\b", "its record"),
)


def _replaced(text: str, words: Sequence[tuple[str, str]]) -> str:
    for pattern, word in words:
        text = re.sub(pattern, word, text)
    return text


def about_rows(text: str) -> str:
    """Say of rows what a sentence says of people.

    Parameters
    ----------
    text : str
        A sentence in which every row is taken for a person.

    Returns
    -------
    str
        The same about rows.

    Examples
    --------
    >>> about_rows("Every person is in the release exactly once.")
    'Every row is in the release exactly once.'
    """
    return _replaced(text, _WORDS)


def about_households(text: str) -> str:
    """Say of households what a sentence says of people.

    Parameters
    ----------
    text : str
        A sentence in which every row is taken for a person.

    Returns
    -------
    str
        The same about households.

    Examples
    --------
    >>> about_households("At least 5 records may belong to any one person.")
    'At least 5 records may belong to any one household.'
    """
    return _replaced(text, _HOUSEHOLDS)


def words_about(unit: Unit | None) -> Callable[[str], str]:
    """Return what turns a sentence about people into one about what is protected.

    Parameters
    ----------
    unit : Unit or None
        What is protected; None on certificates of earlier versions.

    Returns
    -------
    callable
        A function from a sentence to a sentence.

    Examples
    --------
    >>> words_about(Unit.HOUSEHOLD)("Every person"), words_about(None)("Every person")
    ('Every household', 'Every person')
    """
    match unit:
        case Unit.ROW:
            return about_rows
        case Unit.HOUSEHOLD:
            return about_households
        case _:
            return str


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
            "Every row is taken for a household, and what is promised is promised to households."
            " Nothing is promised about single members beyond that."
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
