"""The unit of protection: what one row is taken for, and whether a table can be released so."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.keyed_columns import intervals_of_their_own
from mottle.encoding.people import People
from mottle.errors import UsageError
from mottle.guarantees.base import Guarantee
from mottle.guarantees.people import check_feasible
from mottle.methods.base import Method
from mottle.release.certificate import UnitFacts
from mottle.release.unchanged import MANY
from mottle.release.unit_words import unit_statement
from mottle.schema.model import Role, Schema, Unit
from mottle.utils.dependence import coded

__all__ = [
    "Repeats",
    "check_people",
    "check_repeats",
    "columns_to_count",
    "recognizable",
    "unit_facts",
    "warn_about_intervals",
    "warn_recognizable",
]

_log = logging.getLogger(__name__)

# A column whose name suggests that it names people, but with fewer values than this, and fewer than
# half as many as rows, is taken for a code (a clinic, an interviewer).
FEW_VALUES = 20
# Any other identifying column of text names people if there is a value for so many rows.
ROWS_PER_VALUE = 4
_NAMING = re.compile(
    r"id|ident|identifier|nr|nbr|no|num|number|nummer|name|vorname|nachname|surname|lastname"
    r"|firstname|patient|person|client|customer|kunde|user|member|subject|participant|employee"
    r"|household|haushalt|ssn|tax|passport|pseudonym|account|card|login|username|mail|email|phone"
    r"|telefon|tel|iban|mrn|pid|uid|guid|uuid|\w*(nummer|name|patient|patienten|kunden)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Repeats:
    """How often the values of a column occur; empty cells do not count."""

    column: str
    rows: int
    values: int  # different ones
    most: int = 0  # rows of the most frequent one

    @classmethod
    def of(cls, table: pa.Table, column: str) -> Repeats:
        """Count the values of a column of a table."""
        values = table.column(column).drop_null()
        if pa.types.is_dictionary(values.type):
            values = pc.cast(values, values.type.value_type)
        counted = pc.value_counts(values)
        times = counted.field("counts") if len(counted) else pa.array([0])
        return cls(column, len(values), len(counted), pc.max(times).as_py())

    @property
    def repeated(self) -> bool:
        """Whether some value occurs in several rows."""
        return self.values < self.rows

    @property
    def names_people(self) -> bool:
        """Whether there are too many values for a code, or for an ordinary column."""
        if looks_like_a_name(self.column):
            return self.values > 1 and self.values >= min(FEW_VALUES, self.rows / 2)
        return self.values > 1 and self.values * ROWS_PER_VALUE >= self.rows


def columns_to_count(schema: Schema, types: pa.Schema) -> list[str]:
    """Return the columns whose values have to be counted before a table can be released.

    Parameters
    ----------
    schema : Schema
        As the user gave it, before it covers all columns.
    types : pa.Schema
        The columns of the table.

    Returns
    -------
    list of str
        The person column. Without one, and unless the unit is stated, the columns that may name
        people: identifying ones of text, and of whole numbers if their name suggests it. Of columns
        that are identifying only because all others are (``rest``), those whose name suggests it.
    """
    if schema.person is not None:
        return [schema.person]
    if schema.unit is not None:
        return []
    named = {column.name: column.role for column in schema.columns}
    return [
        field.name
        for field in types
        if named.get(field.name, schema.rest) is Role.IDENTIFYING
        and _may_name(field, listed=field.name in named)
    ]


def looks_like_a_name(column: str) -> bool:
    """Tell whether a column's name suggests that it names people.

    >>> [looks_like_a_name(name) for name in ("patient_nbr", "customerId", "e-mail", "income")]
    [True, True, True, False]
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", column)
    return any(_NAMING.fullmatch(word) for word in re.split(r"[\W_\d]+", words))


def _may_name(field: pa.Field, *, listed: bool) -> bool:
    """Whether an identifying column may name people, by its type and name."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    is_text = any(
        of_type(kind)
        for of_type in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_binary,
            pa.types.is_fixed_size_binary,
        )
    )
    if looks_like_a_name(field.name):
        return is_text or bool(pa.types.is_integer(kind))
    return is_text and listed


def check_repeats(schema: Schema, counted: Iterable[Repeats]) -> None:
    """Refuse a table in which an identifying column repeats, unless it is said what a row is.

    Parameters
    ----------
    schema : Schema
        Covers all columns.
    counted : iterable of Repeats
        How often the values of `columns_to_count` occur.

    Raises
    ------
    UsageError
        Some rows may belong to one person, and nothing says whether they do.
    """
    if schema.person is not None or schema.unit is not None:
        return
    for column in counted:
        if column.repeated and column.names_people:
            name = column.column
            raise UsageError(
                f"Column '{name}' repeats: {column.values:,} values in {column.rows:,} rows.",
                f"If it names people say --person {name}; if not, say --unit row.",
            )
        if column.repeated and looks_like_a_name(column.column):
            _log.warning(
                "Column '%s' has %s values in %s rows and is taken for a code, not for a name."
                " If it names people, say --person %s.",
                column.column,
                f"{column.values:,}",
                f"{column.rows:,}",
                column.column,
            )


def check_people(column: str, most: int, rows: int, guarantee: Guarantee, method: Method) -> None:
    """Check that k can be counted in people, where somebody has several rows.

    Parameters
    ----------
    column : str
        The column that says whose row it is.
    most : int
        The number of rows of the person who has most.
    rows : int
        The number of rows of the table.
    guarantee : Guarantee
        What is to be promised.
    method : Method
        The method.

    Raises
    ------
    UsageError
        The guarantee is about sensitive values, or the method cannot count people.
    GuaranteeError
        Somebody has more than a k-th part of the rows.
    """
    if most <= 1:
        return
    if guarantee.about_values:
        raise UsageError(
            f"{guarantee.describe()['name']} is about one sensitive value of each person, but by"
            f" column '{column}' people have up to {most:,} rows, and so a set of values: a bound"
            " on the value of each row does not bound what is learned about the set.",
            "Make one row per person (--per-person aggregate), promise --k alone, or protect rows"
            " (--unit row instead of --person).",
        )
    method.check_counts_people()
    check_feasible(column, guarantee.degree, rows, most)


def warn_recognizable(table: pa.Table, schema: Schema, people: People) -> None:
    """Warn the owner of unchanged values by which a person's rows can be recognized.

    Parameters
    ----------
    table : pa.Table
        The table.
    schema : Schema
        Covers all columns.
    people : People
        Whose row each row is.
    """
    if not people.several:
        return
    unchanged = [
        column.name
        for column in schema.columns
        if column.role in (Role.INSENSITIVE, Role.SENSITIVE, Role.SHIFTED)
    ]
    for names in [[name] for name in unchanged] + ([unchanged] if len(unchanged) > 1 else []):
        rows = recognizable(table, names, people)
        if rows >= MANY * table.num_rows:
            columns = f"column '{names[0]}'" if len(names) == 1 else f"{len(names)} columns"
            _log.warning(
                "%s rows have the same unchanged values of %s as other rows of their person, and as"
                " nobody else's: their records can be recognized as one person's, who is then among"
                " fewer than k. Remove or coarsen what only one person has.",
                f"{rows:,}",
                columns,
            )


def warn_about_intervals(table: pa.Table, schema: Schema, people: People) -> None:
    """Warn the owner of people whose intervals between shifted dates nobody else has.

    Parameters
    ----------
    table : pa.Table
        The table.
    schema : Schema
        Covers all columns.
    people : People
        Whose row each row is.
    """
    if not schema.with_role(Role.SHIFTED):
        return
    alone, compared = intervals_of_their_own(table, schema, people)
    if alone >= MANY * people.count:
        _log.warning(
            "Dates are shifted, but intervals between a person's dates are published exactly, and"
            " %s of %s people with several dates have intervals of their own: whoever knows them"
            " finds the records. Round the dates, or leave some out.",
            f"{alone:,}",
            f"{compared:,}",
        )


def recognizable(table: pa.Table, names: Sequence[str], people: People) -> int:
    """Count the rows that share their values with other rows of their person and nobody else's.

    >>> table = pa.table({"who": [1, 1, 1, 2, 3], "device": ["a", "a", "b", "b", "c"]})
    >>> recognizable(table, ["device"], People.of(table, "who"))
    2
    """
    values = np.zeros(table.num_rows, np.int64)
    for name in names:
        column = coded(table.column(name))
        if column is not None:
            values = np.unique(values * column.size + column.codes, return_inverse=True)[1].ravel()
    rows = np.bincount(values)
    lowest = np.full(len(rows), people.count, np.int64)
    highest = np.zeros(len(rows), np.int64)
    np.minimum.at(lowest, values, people.codes)
    np.maximum.at(highest, values, people.codes)
    return int(rows[(rows > 1) & (lowest == highest)].sum())


def unit_facts(
    schema: Schema,
    *,
    people: People | Repeats | None,
    largest_share: float | None = None,
    k: int,
) -> UnitFacts:
    """Describe for the certificate what one row is taken for.

    Parameters
    ----------
    schema : Schema
        Covers all columns.
    people : People, Repeats or None
        The people of the original, before one row was made of all rows of a person.
    largest_share : float, optional
        The largest share of one person among the preimages of a record, if people were counted.
    k : int
        The least number of preimages of a record.

    Returns
    -------
    UnitFacts
        An entry of the certificate.
    """
    protects = schema.unit or Unit.PERSON
    facts: dict[str, object] = {"protects": protects}
    if people is not None:
        facts |= {"column": people.column, "people": people.values, "most_rows": people.most}
    if largest_share is not None:
        facts["largest_share"] = round(largest_share, 6)
    if people is not None and schema.per_person is not None:
        facts |= {"per_person": str(schema.per_person), "original_rows": people.rows}
    return UnitFacts.model_validate({**facts, "statement": unit_statement(facts, k)})
