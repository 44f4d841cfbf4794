"""Counts, sums, averages, quantiles and deviations of expressions, with bounds.

The columns that a query uses are divided into classes of values, and each record may be in several
*combinations* of classes. A record satisfies a condition for certain if the condition is true on
every combination that its cells allow, and possibly if it is true on one of them. Combinations
exclude one another, and columns are independent given their cells, so the probability that the
condition holds is the sum, over the combinations on which it is true, of products of shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from mottle.errors import UsageError
from mottle.queries.aggregates import Summands
from mottle.queries.cells.atoms import Values
from mottle.queries.cells.cells import IMPOSSIBLE
from mottle.queries.engine import Queries
from mottle.queries.estimate import Estimate
from mottle.queries.expressions.code_list import CodeList
from mottle.queries.expressions.distinct import count_distinct
from mottle.queries.expressions.factors import Factor, FactorOutcome, factors_of
from mottle.queries.expressions.polynomial import Polynomial
from mottle.queries.expressions.quantile import Mixture, MixturePart, QuantileError, quantile
from mottle.queries.expressions.spread import Spread, spread
from mottle.queries.expressions.stated import Answer, Part, state
from mottle.queries.expressions.tree import (
    Combination,
    Expression,
    IsNull,
    Lookup,
    Reference,
    Test,
    walk,
)
from mottle.queries.expressions.value_classes import Needs
from mottle.queries.fitting.known_totals import TotalsByAtom
from mottle.typing import Float64Array, Int64Array

MOST_COMBINATIONS = 20_000
_MOST_COLUMNS = 8  # that one expression calculates with


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function of a query."""

    kind: str  # count, sum, avg, quantile, or the name of a `Spread`
    argument: Expression | None = None  # None: all records
    filter: Expression | None = None
    distinct: bool = False
    share: float = 0.5  # of a quantile
    weighted: bool = False  # by the survey weight of the release

    @property
    def calculates(self) -> bool:
        """Whether it needs the argument as a number."""
        return self.kind != "count"


@dataclass(frozen=True)
class Question:
    """What is asked of every group."""

    aggregates: tuple[Aggregate, ...]
    where: Expression | None = None
    keys: tuple[Expression, ...] = ()  # what is grouped by
    lists: tuple[CodeList, ...] = ()


class Group(NamedTuple):
    """The answers for one group."""

    key: tuple[Any, ...]
    answers: list[Estimate]


def evaluate(queries: Queries, question: Question) -> list[Group]:
    """Answer a question for every group that may have a record, with errors that hold."""
    columns = set(_needs(question)[0])
    found = _evaluate(queries.answering(columns), question)
    plain: dict[tuple[Any, ...], _Answers] = {}

    def again(other: Queries, key: tuple[Any, ...], place: int) -> Answer:
        if not plain:
            plain.update({_typed(group.key): group for group in _evaluate(other, question)})
        return plain[_typed(key)].answers[place]

    used = [_used(replace(question, aggregates=(one,))) for one in question.aggregates]
    groups = []
    for key, answers in found:
        stated = []
        for place, (answer, (own, conditions)) in enumerate(zip(answers, used, strict=True)):
            asked = queries.answering(own)
            if asked is not queries.answering(
                columns
            ):  # this one does not look at sensitive values
                answer = again(asked, key, place)
            stated.append(
                state(
                    asked,
                    own,
                    conditions,
                    answer,
                    lambda other, key=key, place=place: again(other, key, place),  # type: ignore[misc]
                )
            )
        groups.append(Group(key, stated))
    return groups


def _used(question: Question) -> tuple[set[str], set[str]]:
    """The columns that a question depends on, and those that say which records count."""
    needs, numeric = _needs(question)
    told_apart = {
        name for name, one in needs.items() if one.tests or one.attributes or one.by_value
    }
    return set(needs), told_apart | (set(needs) - numeric)


class _Answers(NamedTuple):
    """The answers for one group, with the errors that follow from cells alone."""

    key: tuple[Any, ...]
    answers: list[Answer]


def _evaluate(queries: Queries, question: Question) -> list[_Answers]:
    """The answers with errors that follow from cells alone, except where totals state them."""
    if not question.keys and len(question.aggregates) > 1:  # each tells fewer values apart
        alone = [replace(question, aggregates=(one,)) for one in question.aggregates]
        return [_Answers((), [_evaluate(queries, one)[0].answers[0] for one in alone])]
    evaluation = _Evaluation.of(queries, question)
    combinations = evaluation.combinations(question)
    if not question.keys:
        combinations.setdefault((), ((), []))
    found = []
    for key, members in combinations.values():
        if question.keys and not evaluation.may_occur(members):
            continue
        answers = [
            Answer(
                aggregate.kind,
                aggregate.distinct,
                *evaluation.answer(members, aggregate),
                evaluation.parts(members, aggregate),
            )
            for aggregate in question.aggregates
        ]
        found.append(_Answers(key, answers))
    return found


@dataclass(frozen=True, eq=False)
class _Member:
    """A combination: the outcome of every factor, and the classes of all columns."""

    outcomes: tuple[FactorOutcome, ...]
    at: Combination


Groups = dict[tuple[Any, ...], tuple[tuple[Any, ...], list[_Member]]]


@dataclass(frozen=True, eq=False)
class _Evaluation:
    records: int
    factors: tuple[Factor, ...]
    totals: Mapping[str, TotalsByAtom]
    unchanged: frozenset[str] = frozenset()
    possible_rows: dict[int, Int64Array] = field(default_factory=dict)

    @classmethod
    def of(cls, queries: Queries, question: Question) -> _Evaluation:
        needs, numeric = _needs(question)
        factors = factors_of(queries, needs, numeric)
        count = prod(len(factor.outcomes) for factor in factors)
        if count > MOST_COMBINATIONS:
            raise UsageError(
                f"The query tells {count:,} combinations of values apart, more than"
                f" {MOST_COMBINATIONS:,}.",
                "Group by fewer columns, or by ranges: CASE WHEN age < 30 THEN … END.",
            )
        ordered = sorted(factors, key=lambda factor: -len(factor.outcomes))
        return cls(queries.records, tuple(ordered), queries.totals, queries.unchanged)

    @cached_property
    def possibilities(self) -> Int64Array:
        """[n]: the number of combinations that the cells of each record allow."""
        total = np.ones(self.records, np.int64)
        for factor in self.factors:
            total *= factor.possibilities[factor.of_row]
        return total

    def combinations(self, question: Question) -> Groups:
        """The combinations on which the conditions are true, by group."""
        groups: Groups = {}
        for outcomes in product(*(factor.outcomes for factor in self.factors)):
            at = {name: one for outcome in outcomes for name, one in outcome.classes.items()}
            if question.where is not None and question.where.value(at) is not True:
                continue
            key = tuple(_label(part.value(at)) for part in question.keys)
            groups.setdefault(_typed(key), (key, []))[1].append(_Member(outcomes, at))
        return groups

    def may_occur(self, members: Sequence[_Member]) -> bool:
        """Whether a record may be in one of the combinations."""
        return any(len(self._rows(member)) for member in members)

    def answer(
        self, members: Sequence[_Member], aggregate: Aggregate
    ) -> tuple[Estimate, QuantileError | None]:
        """One estimate; for quantiles also how its error follows from that of a count."""
        chosen = list(_values(members, aggregate))
        if aggregate.distinct:
            by_value: dict[Any, list[tuple[_Member, Any]]] = {}
            for member, value in chosen:
                by_value.setdefault(_label(value), []).append((member, value))
            parts = [self._summands(part, calculates=False) for part in by_value.values()]
            return count_distinct(parts, self._summands(chosen, calculates=False)), None
        summands = self._summands(chosen, calculates=aggregate.calculates)
        match aggregate.kind:
            case "count":
                return self._match_totals(summands.count(), chosen), None
            case "sum":
                return summands.total(), None
            case "avg":
                return summands.average(), None
            case "quantile":
                return quantile(summands, self._mixture(chosen), aggregate.share)
            case kind:
                return spread(summands, Spread(kind)), None

    def parts(self, members: Sequence[_Member], aggregate: Aggregate) -> list[Part]:
        """A sum or average by the formula that records have: one for each branch of a CASE.

        They are told apart where the formulas are constants, or calculate with a column that is
        published as it is; elsewhere errors are calibrated for all of them together.
        """
        if aggregate.kind not in ("sum", "avg") or aggregate.distinct:
            return []
        by_formula: dict[Any, tuple[Polynomial, list[tuple[_Member, Any]]]] = {}
        for member, value in _values(members, aggregate):
            formula = Polynomial.of(value)
            key = tuple(sorted((tuple(sorted(one)), by) for one, by in formula.terms.items() if by))
            by_formula.setdefault(key, (formula, []))[1].append((member, value))
        formulas = [formula for formula, _ in by_formula.values()]
        with_columns = [formula for formula in formulas if formula.columns]
        if with_columns and not any(self.unchanged.intersection(one.columns) for one in formulas):
            return []
        return [
            Part(formula, self._summands(chosen, calculates=True), self._everyone(formula))
            for formula, chosen in by_formula.values()
        ]

    def _everyone(self, formula: Polynomial) -> Summands | None:
        """The summands of all records for which a formula has a value."""
        if not self.unchanged.intersection(formula.columns):
            return None
        chosen = [
            (member, formula)
            for member in self._all_members
            if not any(member.at[name].is_missing for name in formula.columns)
        ]
        return self._summands(chosen, calculates=True)

    @cached_property
    def _all_members(self) -> list[_Member]:
        return [
            _Member(
                outcomes,
                {name: one for outcome in outcomes for name, one in outcome.classes.items()},
            )
            for outcomes in product(*(factor.outcomes for factor in self.factors))
        ]

    def _summands(self, chosen: Sequence[tuple[_Member, Any]], *, calculates: bool) -> Summands:
        """What every record adds, over the combinations that count."""
        matched = np.zeros(self.records, np.int64)
        likely, first, second = np.zeros((3, self.records))
        lowest, highest = np.full((2, self.records), np.inf)
        highest = -highest
        for member, value in chosen:
            rows = self._rows(member)
            number = Polynomial.of(value if calculates else 1)
            part = self._moments(member, number, rows)
            matched[rows] += 1
            likely[rows] += part.likely
            first[rows] += part.first
            second[rows] += part.second
            lowest[rows] = np.minimum(lowest[rows], part.lowest)
            highest[rows] = np.maximum(highest[rows], part.highest)
        some = np.flatnonzero(matched)
        certain = matched[some] == self.possibilities[some]
        return Summands(
            likely=np.where(certain, 1.0, np.minimum(likely[some], 1.0)),
            first=first[some],
            second=second[some],
            lowest=lowest[some],
            highest=highest[some],
            certain=certain,
        )

    def _match_totals(self, count: Estimate, chosen: Sequence[tuple[_Member, Any]]) -> Estimate:
        """A count over one column, as its totals say if they do."""
        (factor, *others) = self.factors or (None,)
        if factor is None or others or factor.cells is None:
            return count
        name, atoms = factor.cells.name, factor.cells.atoms
        if name not in self.totals:
            return count
        share = np.zeros(len(atoms.measure) + 1)
        for member, _ in chosen:
            one = member.outcomes[0].classes[name]
            share[-1] += one.is_missing
            for piece in one.pieces:
                share[:-1] += piece.covered(atoms).share
        stated = self.totals[name].count(share)
        if stated is None:
            return count
        return replace(count, expected=min(max(stated, count.certain), count.possible), error=0.0)

    def _rows(self, member: _Member) -> Int64Array:
        """The records that may be in a combination."""
        if not self.factors:
            return np.arange(self.records)
        first, *others = zip(self.factors, member.outcomes, strict=True)
        rows = self.possible_rows.get(id(first[1]))
        if rows is None:
            rows = np.flatnonzero(first[1].share[first[0].of_row] != IMPOSSIBLE)
            self.possible_rows[id(first[1])] = rows
        for factor, outcome in others:
            rows = rows[outcome.share[factor.of_row[rows]] != IMPOSSIBLE]
        return rows

    def _moments(self, member: _Member, number: Polynomial, rows: Int64Array) -> _Part:
        """The moments of a number on a combination, for the records that may be in it."""
        if len(number.columns) > _MOST_COLUMNS:
            raise UsageError(
                f"An expression calculates with {len(number.columns)} columns.",
                f"Calculate with at most {_MOST_COLUMNS}, and add up the answers.",
            )
        cells = [factor.of_row[rows] for factor in self.factors]
        shares = [one.share[cell] for one, cell in zip(member.outcomes, cells, strict=True)]
        place_of = {name: at for at, one in enumerate(member.outcomes) for name in one.classes}
        numbers = {name: member.outcomes[place_of[name]].numbers[name] for name in number.columns}

        def mean(columns: Sequence[str]) -> Float64Array:
            """The mean of a product of columns, a column twice for its square."""
            result = np.ones(len(rows))
            for at, share in enumerate(shares):
                own = [name for name in columns if place_of[name] == at]
                if not own:
                    result = result * share
                else:
                    moments = numbers[own[0]]
                    result = result * (moments.first, moments.second)[len(own) - 1][cells[at]]
            return result

        terms = [(tuple(sorted(one)), _as_float(factor)) for one, factor in number.terms.items()]
        first = np.zeros(len(rows))
        second = np.zeros(len(rows))
        for one, factor in terms:
            first += factor * mean(one)
            for two, other in terms:
                second += factor * other * mean((*one, *two))
        lowest, highest = np.full((2, len(rows)), np.inf)
        highest = -highest
        ends = {
            name: [part[cells[place_of[name]]] for part in (one.lowest, one.highest)]
            for name, one in numbers.items()
        }
        for corner in product((0, 1), repeat=len(number.columns)):
            at_corner = {name: ends[name][end] for name, end in zip(ends, corner, strict=True)}
            value = np.zeros(len(rows))
            for one, factor in terms:
                value += factor * prod((at_corner[name] for name in one), start=np.ones(len(rows)))
            lowest, highest = np.minimum(lowest, value), np.maximum(highest, value)
        return _Part(mean(()), first, second, lowest, highest)

    def _mixture(self, chosen: Sequence[tuple[_Member, Any]]) -> Mixture:
        """How the values of one column are distributed over the records that count."""
        names = {Polynomial.of(value).only_column for _, value in chosen}
        if not names:
            return Mixture([])
        (name, *others) = names
        factor = next((one for one in self.factors if name in one.outcomes[0].classes), None)
        cells = None if factor is None else factor.cells
        is_ordered = cells is not None and isinstance(cells.atoms, Values) and cells.atoms.ordered
        if name is None or others or factor is None or factor.cells is None or is_ordered:
            raise UsageError(
                "A median or quantile is asked of something else than a column of ranges, sets or"
                " exact numbers.",
                "Write median(age), and calculate with the answer.",
            )
        parts = []
        for member, _ in chosen:
            rows = self._rows(member)
            weights = np.ones(len(rows))
            for one, outcome in zip(self.factors, member.outcomes, strict=True):
                if one is not factor:
                    weights *= outcome.share[one.of_row[rows]]
            by_cell = [
                np.bincount(factor.of_row[rows], power, minlength=len(factor.cells.first)).astype(
                    np.float64
                )
                for power in (weights, weights**2)
            ]
            value_class = member.outcomes[self.factors.index(factor)].classes[name]
            parts.append(MixturePart(factor.cells, value_class, by_cell[0], by_cell[1]))
        return Mixture(parts)


def _as_float(factor: Fraction) -> float:
    try:
        return float(factor)
    except OverflowError:
        raise UsageError(
            "A number of the expression is too large.", "Write it in another unit."
        ) from None


class _Part(NamedTuple):
    """What the records that may be in one combination add."""

    likely: Float64Array
    first: Float64Array
    second: Float64Array
    lowest: Float64Array
    highest: Float64Array


def _values(members: Sequence[_Member], aggregate: Aggregate) -> Iterator[tuple[_Member, Any]]:
    """The combinations that an aggregate counts, and the value of its argument on each."""
    for member in members:
        if aggregate.filter is not None and aggregate.filter.value(member.at) is not True:
            continue
        value = 1 if aggregate.argument is None else aggregate.argument.value(member.at)
        if value is not None:
            yield member, value


def _typed(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """A key with the types of its parts: True and 1 are two groups."""
    return tuple((type(part), part) for part in key)


def _label(value: Any) -> Any:
    """A value to group by: constants that were calculated as numbers."""
    if isinstance(value, Polynomial):
        if value.columns:
            raise UsageError(
                f"There are too many values of an expression over column '{value.columns[0]}'.",
                "Group by the column itself, or by CASE WHEN … THEN … END.",
            )
        exact = value.constant
        return int(exact) if exact.denominator == 1 else float(exact)
    return value


def _needs(question: Question) -> tuple[dict[str, Needs], set[str]]:
    """What has to be known of every column, and the columns that are calculated with."""
    by_value: set[str] = set()
    numeric: set[str] = set()
    expressions: list[Expression] = [*question.keys]
    by_value.update(_references(question.keys))
    if question.where is not None:
        expressions.append(question.where)
    for aggregate in question.aggregates:
        if aggregate.filter is not None:
            expressions.append(aggregate.filter)
        if aggregate.argument is not None:
            expressions.append(aggregate.argument)
            target = numeric if aggregate.calculates else by_value if aggregate.distinct else set()
            target.update(_references([aggregate.argument]))
    lists = {codes.name: codes for codes in question.lists}
    columns: dict[str, None] = {}
    tests: dict[str, dict[Any, None]] = {}
    attributes: dict[str, dict[tuple[str, str], None]] = {}
    for part in (part for expression in expressions for part in walk(expression)):
        if isinstance(part, Reference | Test | Lookup):
            columns[part.column] = None
        if isinstance(part, Test):
            tests.setdefault(part.column, {})[part.condition] = None
        if isinstance(part, Lookup):
            attributes.setdefault(part.column, {})[part.table, part.attribute] = None
    return {
        name: Needs(
            tests=tuple(tests.get(name, ())),
            lists=tuple(
                lists[table] for table in dict.fromkeys(one for one, _ in attributes.get(name, ()))
            ),
            attributes=tuple(attributes.get(name, ())),
            by_value=name in by_value,
        )
        for name in columns
    }, numeric


def _references(expressions: Sequence[Expression]) -> Iterator[str]:
    """The columns whose value, and not only whether it is missing, is asked for."""
    for expression in expressions:
        if isinstance(expression, Reference):
            yield expression.column
        elif not (isinstance(expression, IsNull) and isinstance(expression.operand, Reference)):
            yield from _references(expression.parts())
