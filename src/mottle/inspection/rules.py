"""Rules that hold in every row of a table, proposed for the table ``[rules]`` of a mottle.toml.

One comparison implies another: "if age < 15 then occupation is 'not in work'". A rule is proposed
if enough rows satisfy its first part, none of them breaks the second, and many would if the columns
had nothing to do with each other: what the values of a single column imply is no rule.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.inspection.profile import Profile
from mottle.queries.worlds.rules import broken
from mottle.release.column import PublishedColumn
from mottle.schema.model import Role
from mottle.schema.rules import Rule
from mottle.typing import Float64Array, Int64Array

MOST_PROPOSED = 8
PER_PAIR = 2  # rules about the same two columns
LEAST_SUPPORT = 30  # rows that satisfy the first part, or this share of all if that is more:
SUPPORTED_SHARE = 0.002
LEAST_EXCEPTIONS = 30.0  # rows that would break the rule if the columns were independent
_MOST_VALUES = 1000  # of a column whose single values are looked at
_MOST_CODES = 50  # values of a column of numbers of which rare ones are looked at as well
_RARE = 0.01
_MOST_COLUMNS = 40
_LONGEST = 60  # characters of a value that a rule names


@dataclass(frozen=True)
class _Found:
    """A rule, and how many rows would break it by chance."""

    text: str
    columns: frozenset[str]
    exceptions: float


@dataclass(frozen=True, eq=False)
class _Column:
    """A column with its values in order; the missing value comes last."""

    name: str
    values: pa.Array
    codes: Int64Array  # [rows]
    has_order: bool

    @classmethod
    def of(cls, profile: Profile) -> _Column | None:
        """Sort the values of a column; None if rules cannot name them."""
        kind = profile.values.type
        measured = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        measured |= pa.types.is_decimal(kind) or pa.types.is_date(kind)
        if profile.type != kind or not (
            measured or pa.types.is_string(kind) or pa.types.is_large_string(kind)
        ):
            return None
        if not len(profile.values):
            return None
        order = pc.sort_indices(profile.values).to_numpy()
        ranks = np.empty(len(order) + 1, np.int64)
        ranks[order], ranks[-1] = np.arange(len(order)), len(order)
        return cls(
            profile.name,
            profile.values.take(pa.array(order)),
            ranks[profile.codes],
            bool(measured),
        )

    @cached_property
    def counts(self) -> Int64Array:
        """[values + 1]: how many rows have each value; the missing one last."""
        return np.bincount(self.codes, minlength=len(self.values) + 1)

    @cached_property
    def upto(self) -> Int64Array:
        """[values + 2]: how many rows have a value before each."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    def extremes(self, other: _Column) -> tuple[Int64Array, Int64Array]:
        """[other's values + 1]: the lowest and highest value here of the rows that have each."""
        lowest = np.full(len(other.counts), len(self.values) + 1)
        highest = np.full(len(other.counts), -1)
        np.minimum.at(lowest, other.codes, self.codes)
        np.maximum.at(highest, other.codes, self.codes)
        return lowest, highest

    def is_value(self, place: int) -> str | None:
        """The comparison with a single value; None if it is too long to name."""
        if place == len(self.values):
            return f"{_name(self.name)} is missing"
        return _named(f"{_name(self.name)} is", self.values[place])

    def bounded(self, sign: str, place: int) -> str | None:
        """A comparison with a bound."""
        return _named(f"{_name(self.name)} {sign}", self.values[place])


def propose_rules(table: pa.Table, profiles: Sequence[Profile]) -> tuple[Rule, ...]:
    """Find rules between columns.

    Parameters
    ----------
    table : pa.Table
        The table.
    profiles : sequence of Profile
        The columns between which rules are looked for: the quasi-identifiers.

    Returns
    -------
    tuple of Rule
        At most `MOST_PROPOSED`, those first that most rows would break by chance.
    """
    columns = [column for column in map(_Column.of, profiles[:_MOST_COLUMNS]) if column is not None]
    least = max(LEAST_SUPPORT, SUPPORTED_SHARE * table.num_rows)
    found = [
        rule
        for one, two in permutations(columns, 2)
        for rule in (*_of_values(one, two, least), *_of_ranges(one, two, least))
        if rule.exceptions >= LEAST_EXCEPTIONS
    ]
    found.sort(key=lambda rule: (-rule.exceptions, rule.text))
    chosen: list[Rule] = []
    pairs: dict[frozenset[str], int] = {}
    for rule in found:
        if len(chosen) == MOST_PROPOSED:
            break
        if pairs.get(rule.columns, 0) < PER_PAIR:
            proposed = Rule(name=f"rule{len(chosen) + 1}", text=rule.text)
            if _holds(proposed, table):
                pairs[rule.columns] = pairs.get(rule.columns, 0) + 1
                chosen.append(proposed)
    return tuple(chosen)


def _holds(rule: Rule, table: pa.Table) -> bool:
    described = {
        name: PublishedColumn(name, Role.QUASI_IDENTIFYING, None, None, table.field(name).type)
        for name in rule.columns
    }
    return not len(broken([rule], table, described)[0])


def _of_values(one: _Column, two: _Column, least: float) -> Iterator[_Found]:
    """If one has a value, then two has one, or lies on one side of a bound."""
    if len(one.values) > _MOST_VALUES:
        return
    lowest, highest = two.extremes(one)
    rows, all_rows = one.counts, len(one.codes)
    pair = frozenset({one.name, two.name})
    if one.has_order and len(one.values) > _MOST_CODES:
        least = max(least, _RARE * all_rows)
    for place in np.flatnonzero(rows >= least).tolist():
        first = one.is_value(place)
        low, high = int(lowest[place]), int(highest[place])
        if low == high:
            others = all_rows - two.counts[low]
            yield from _found(first, two.is_value(low), pair, rows[place] * others / all_rows)
        elif two.has_order and high < len(two.values):
            below, above = two.upto[low], all_rows - two.upto[high + 1]
            sign, bound, others = (">=", low, below) if below > above else ("<=", high, above)
            second = two.bounded(sign, bound)
            yield from _found(first, second, pair, rows[place] * others / all_rows)


def _of_ranges(one: _Column, two: _Column, least: float) -> Iterator[_Found]:
    """If one lies on one side of a bound, then two has a value."""
    if not one.has_order or len(two.values) > _MOST_VALUES:
        return
    lowest, highest = one.extremes(two)
    highest = np.where(highest == len(one.values), _highest_known(one, two), highest)
    lowest_two, highest_two = np.sort(lowest)[:2], np.sort(highest)[-2:]
    all_rows, known = len(one.codes), int(one.upto[len(one.values)])
    pair = frozenset({one.name, two.name})
    for place in np.flatnonzero(two.counts >= least).tolist():
        # the lowest and highest of the rows that have another value in two
        low = int(lowest_two[1] if lowest[place] == lowest_two[0] else lowest_two[0])
        high = int(highest_two[0] if highest[place] == highest_two[1] else highest_two[1])
        others = all_rows - two.counts[place]
        if 0 < low < len(one.values) and one.upto[low] >= least:
            first = one.bounded("<", low)
            yield from _found(first, two.is_value(place), pair, one.upto[low] * others / all_rows)
        above = known - one.upto[high + 1] if 0 <= high < len(one.values) else 0
        if above >= least:
            first = one.bounded(">", high)
            yield from _found(first, two.is_value(place), pair, above * others / all_rows)


def _highest_known(one: _Column, two: _Column) -> Int64Array:
    """[two's values + 1]: the highest value of one that is not missing; -1 without one."""
    highest = np.full(len(two.counts), -1)
    known = one.codes < len(one.values)
    np.maximum.at(highest, two.codes[known], one.codes[known])
    return highest


def _found(
    first: str | None, second: str | None, columns: frozenset[str], exceptions: Float64Array | float
) -> Iterator[_Found]:
    if first is not None and second is not None:
        yield _Found(f"if {first} then {second}", columns, float(exceptions))


def _name(name: str) -> str:
    """A column's name as a rule writes it."""
    plain = re.fullmatch(r"[^\W\d][\w.-]*", name) and not re.fullmatch(
        "if|then|and|or|not|in|is|missing|between", name, re.IGNORECASE
    )
    doubled = name.replace('"', '""')
    return name if plain else f'"{doubled}"'


def _named(begin: str, value: pa.Scalar) -> str | None:
    """A comparison with a value as a rule writes it; None if it is too long."""
    plain = value.as_py()
    if isinstance(plain, str | dt.date):
        text = "'" + str(plain).replace("'", "''") + "'"
    elif isinstance(plain, float) and not np.isfinite(plain):
        return None
    else:
        text = f"{plain:f}" if isinstance(plain, float) and plain == int(plain) else str(plain)
    return None if len(text) > _LONGEST else f"{begin} {text}"
