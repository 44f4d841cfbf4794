"""Classes of a column's values: as few as possible, as fine as the tests of a query.

All values of a class give the same answer to every test and have the same entries in every code
list that the query uses. The classes of a column exclude one another and cover all of its values,
so the bounds and chances of any combination of tests follow from those of the classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np

from mottle.errors import UsageError
from mottle.queries._literals import exact_number
from mottle.queries.cells.atoms import Atoms, Covered, Values
from mottle.queries.cells.cells import IMPOSSIBLE, CellDistribution, Moments
from mottle.queries.cells.interval_atoms import DiscreteIntervals, RealIntervals
from mottle.queries.cells.item_cells import ItemCells
from mottle.queries.conditions import Condition, Conditions
from mottle.queries.expressions.code_list import CodeList
from mottle.queries.expressions.polynomial import Polynomial
from mottle.typing import BoolArray, Float64Array

_MISSING = Condition(known=False, missing=True)
_BELOW_ONE = np.nextafter(1.0, 0.0)
_MOST_ITEM_TESTS = 6  # conditions on the items of one column
_MOST_CUTS = 20_000  # numbers at which a column of ranges is cut
Attributes = Mapping[tuple[str, str], object]  # by code list and column of it
Number = Fraction | float


@dataclass(frozen=True)
class Needs:
    """What a query needs to know of one column."""

    tests: tuple[Condition, ...] = ()
    lists: tuple[CodeList, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()  # of code lists, by list and column
    by_value: bool = False  # whether values are told apart one by one


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of the values: those that satisfy conditions, among the atoms of a mask."""

    conditions: Conditions = ()
    mask: BoolArray | None = None  # [atoms]

    def covered(self, atoms: Atoms, further: Conditions = ()) -> Covered:
        """Return how much of the atoms is part of it and satisfies further conditions."""
        covered = atoms.covered((*self.conditions, *further))
        if self.mask is None:
            return covered
        return Covered(
            covered.share * self.mask, covered.full & self.mask, covered.touched & self.mask
        )


@dataclass(frozen=True, eq=False)
class ValueClass:
    """Values of one column that a query does not tell apart."""

    column: str
    pieces: tuple[Piece, ...]  # exclude one another; none for the missing value
    answers: Mapping[Condition, bool | None]
    attributes: Attributes = field(default_factory=dict)
    single: tuple[Any] | None = None  # the one value, if values are told apart

    @property
    def is_missing(self) -> bool:
        """Whether it is the class of the missing value."""
        return not self.pieces

    def test(self, condition: Condition) -> bool | None:
        """Return whether its values satisfy a condition; None for NULL."""
        return self.answers[condition]

    def look_up(self, table: str, attribute: str) -> object:
        """Return what a code list says about its values."""
        return self.attributes.get((table, attribute))

    def value(self) -> object:
        """Return None for missing, the one value, or the column as a number."""
        if self.is_missing:
            return None
        return Polynomial.of_column(self.column) if self.single is None else self.single[0]

    def shares(self, cells: CellDistribution, further: Conditions = ()) -> Float64Array:
        """[cells]: how likely each has a value of the class; -1 if it cannot."""
        if self.is_missing:
            return cells.shares((_MISSING,))
        if isinstance(cells, ItemCells):
            (piece,) = self.pieces
            return cells.shares((*piece.conditions, *further))
        parts = [
            cells.shares_of(piece.covered(cells.atoms, further), with_missing=False)
            for piece in self.pieces
        ]
        return _united(parts)

    def moments(self, cells: CellDistribution) -> Moments:
        """Return the numbers of the class in every cell."""
        parts = [
            cells.moments_of(piece.covered(cells.atoms), cells.atoms.numbers(piece.conditions))
            for piece in self.pieces
        ]
        possible = [part.share != IMPOSSIBLE for part in parts]
        share = _united([part.share for part in parts])
        lows = [
            np.where(may, part.lowest, np.inf) for may, part in zip(possible, parts, strict=True)
        ]
        highs = [
            np.where(may, part.highest, -np.inf) for may, part in zip(possible, parts, strict=True)
        ]
        some = share != IMPOSSIBLE
        return Moments(
            share,
            np.sum([part.first for part in parts], axis=0),
            np.sum([part.second for part in parts], axis=0),
            np.where(some, np.min(lows, axis=0), 0.0),
            np.where(some, np.max(highs, axis=0), 0.0),
        )


def value_classes(cells: CellDistribution, needs: Needs) -> list[ValueClass]:
    """Return the classes of a column's values; the class of the missing value is the last."""
    atoms = cells.atoms
    if isinstance(cells, ItemCells):
        classes = _of_items(cells, needs)
    elif isinstance(atoms, Values):
        classes = _of_values(atoms, needs)
    else:
        assert isinstance(atoms, DiscreteIntervals | RealIntervals)
        classes = _of_intervals(atoms, needs)
    if cells.missing.any():
        atoms_or_items = cells.items if isinstance(cells, ItemCells) else atoms
        answers = {
            test: True if atoms_or_items.takes_missing(test) else None for test in needs.tests
        }
        classes.append(ValueClass(cells.name, (), answers))
    return classes


def _united(parts: Sequence[Float64Array]) -> Float64Array:
    """Shares of the union of pieces that exclude one another."""
    if len(parts) == 1:
        return parts[0]
    together = np.array(parts)
    total = np.minimum(np.maximum(together, 0.0).sum(axis=0), _BELOW_ONE)
    total[(together == 1.0).any(axis=0)] = 1.0
    return np.where((together != IMPOSSIBLE).any(axis=0), total, IMPOSSIBLE)


# ------------------------------------------------------------------------------------ single values


def _of_values(atoms: Values, needs: Needs) -> list[ValueClass]:
    """Classes of single values."""
    fits = [atoms.covered((test,)).full for test in needs.tests]
    rows = [_listed_rows(atoms, codes) for codes in needs.lists]
    values = atoms.values.to_pylist() if needs.by_value else []
    classes: dict[tuple[Any, ...], list[int]] = {}
    described = [
        _attributes(needs, [of[place] for of in rows]) for place in range(len(atoms.values))
    ]
    for place, known in enumerate(described):
        own = place if needs.by_value else None
        key = (own, *(bool(fit[place]) for fit in fits), *map(_hashable, known.values()))
        classes.setdefault(key, []).append(place)
    found = []
    for places in classes.values():
        mask = np.zeros(len(atoms.values), np.bool_)
        mask[places] = True
        first = places[0]
        found.append(
            ValueClass(
                atoms.name,
                (Piece(mask=mask),),
                {test: bool(fit[first]) for test, fit in zip(needs.tests, fits, strict=True)},
                described[first],
                (values[first],) if needs.by_value else None,
            )
        )
    return found


def _listed_rows(atoms: Values, codes: CodeList) -> list[int]:
    """[atoms]: the row of a code list that describes each value; -1 if none does."""
    rows = np.full(len(atoms.values), -1)
    places = {value: place for place, value in enumerate(atoms.values.to_pylist())}
    for row, key in enumerate(codes.keys(atoms.values.type)):
        if key is None:
            continue
        if atoms.hierarchy is None:
            about = [places[key]] if key in places else []
        else:
            extent = atoms.hierarchy.leaf_range(key)
            about = [] if extent is None else list(range(extent[0], extent[1] + 1))
        if (rows[about] >= 0).any():
            raise UsageError(
                f"Rows of '{codes.name}' describe a node of the hierarchy of column"
                f" '{codes.column}' and a value below it.",
                "Each value has to be described by one row.",
            )
        rows[about] = row
    return rows.tolist()


def _attributes(needs: Needs, rows: Sequence[int]) -> dict[tuple[str, str], object]:
    """What code lists say, given the row of each that applies."""
    row_of = {codes.name: (codes, row) for codes, row in zip(needs.lists, rows, strict=True)}
    found: dict[tuple[str, str], object] = {}
    for table, attribute in needs.attributes:
        codes, row = row_of[table]
        found[table, attribute] = None if row < 0 else codes.rows[row][attribute]
    return found


def _hashable(value: object) -> object:
    return (type(value), str(value))


# ------------------------------------------------------------------------------------------ ranges


def _of_intervals(atoms: DiscreteIntervals | RealIntervals, needs: Needs) -> list[ValueClass]:
    """Classes of numbers or dates: what lies between the numbers that the query names."""
    literals: list[object] = [literal for test in needs.tests for literal in _literals(test)]
    row_of: list[dict[Number, int]] = []
    for codes in needs.lists:
        keys = codes.keys(atoms.value_type)
        rows = {atoms.number(key): row for row, key in enumerate(keys) if key is not None}
        row_of.append(rows)
        literals += [key for key in keys if key is not None]
    if needs.by_value:
        literals += atoms.points().to_pylist()
    cuts = _cuts(atoms, literals)
    ends: list[tuple[Number, Any]] = [(-np.inf, None), *cuts, (np.inf, None)]
    classes: dict[tuple[Any, ...], list[Piece]] = {}
    known: dict[tuple[Any, ...], ValueClass] = {}

    def add(low: tuple[Number, Any], high: tuple[Number, Any]) -> None:
        point = low[0] if low is high else None
        answers = {test: _holds(atoms, test, low[0], high[0]) for test in needs.tests}
        rows = [-1 if point is None else of.get(point, -1) for of in row_of]
        described = _attributes(needs, rows)
        single = (low[1],) if needs.by_value and point is not None else None
        key = (single, *answers.values(), *map(_hashable, described.values()))
        if point is None:
            wanted = Condition(low=low[1], high=high[1], low_open=True, high_open=True)
        else:
            wanted = Condition(low=low[1], high=high[1])
        piece = Piece((wanted,))
        if piece.covered(atoms).touched.any():
            classes.setdefault(key, []).append(piece)
            known[key] = ValueClass(atoms.name, (piece,), answers, described, single)

    for low, high in pairwise(ends):
        add(low, high)
        if high is not ends[-1]:
            add(high, high)
    return [
        ValueClass(atoms.name, tuple(pieces), one.answers, one.attributes, one.single)
        for pieces, one in ((pieces, known[key]) for key, pieces in classes.items())
    ]


def _literals(test: Condition) -> list[object]:
    """The values that a condition names."""
    ends = [end for end in (test.low, test.high) if end is not None]
    return [*ends, *(test.values or ()), *test.excluded]


def _cuts(
    atoms: DiscreteIntervals | RealIntervals, literals: Sequence[object]
) -> list[tuple[Number, Any]]:
    """The distinct numbers that are named, ascending, each with a literal for it."""
    found: dict[Number, Any] = {}
    exact_of: dict[Number, Number] = {}
    for literal in literals:
        number = atoms.number(literal)
        is_rounded = isinstance(atoms, RealIntervals) and not atoms.exact
        exact = exact_number(literal, atoms.value_type, atoms.name)
        if is_rounded and exact_of.setdefault(number, exact) != exact:
            raise UsageError(
                f"Two numbers that column '{atoms.name}' is compared with are too close to each"
                " other to tell its numbers apart.",
                "Compare it with one of them.",
            )
        if np.isfinite(float(number)):
            found.setdefault(number, literal)
    if len(found) > _MOST_CUTS:
        raise UsageError(
            f"Column '{atoms.name}' is compared with more than {_MOST_CUTS:,} numbers.",
            "Use a shorter code list, or group by ranges: CASE WHEN … THEN … END.",
        )
    return sorted(found.items())


def _holds(
    atoms: DiscreteIntervals | RealIntervals, test: Condition, low: Number, high: Number
) -> bool:
    """Whether a test is true between two neighbouring cuts, or at one if they are equal."""
    point = low == high
    if not test.known:
        return False
    if test.low is not None:
        end = atoms.number(test.low)
        if low < end or (point and low == end and test.low_open):
            return False
    if test.high is not None:
        end = atoms.number(test.high)
        if high > end or (point and high == end and test.high_open):
            return False
    if test.values is not None and not (point and low in map(atoms.number, test.values)):
        return False
    return not (point and low in map(atoms.number, test.excluded))


# ------------------------------------------------------------------------------------ sets of items


def _of_items(cells: ItemCells, needs: Needs) -> list[ValueClass]:
    """Classes of sets: every combination of the tests and of their negations."""
    if needs.lists or needs.by_value:
        cells.items.points()  # raises
    if len(needs.tests) > _MOST_ITEM_TESTS:
        raise UsageError(
            f"There are {len(needs.tests)} conditions on the items of column '{cells.name}'.",
            f"Write at most {_MOST_ITEM_TESTS}.",
        )
    classes = []
    for answers in product((True, False), repeat=len(needs.tests)):
        conditions = tuple(
            test if answer else _without_items(test, cells.name)
            for test, answer in zip(needs.tests, answers, strict=True)
        )
        piece = Piece(conditions or (Condition(),))
        classes.append(
            ValueClass(cells.name, (piece,), dict(zip(needs.tests, answers, strict=True)))
        )
    return classes


def _without_items(test: Condition, name: str) -> Condition:
    """The negation of a condition on items."""
    if test.values is not None and not test.excluded:
        return Condition(excluded=test.values)
    if test.excluded and test.values is None:
        return Condition(values=test.excluded)
    raise UsageError(
        f"Column '{name}' holds sets of items, which have no order.",
        f"Count the records that hold an item: {name} = 'ITEM'.",
    )
