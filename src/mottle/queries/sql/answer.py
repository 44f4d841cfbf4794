"""Answer SQL queries on a release with estimates; DuckDB parses them.

Counts, sums and averages of columns, plain or weighted, under conditions joined by AND are answered
by the kernels of `Queries`, everything else (OR, CASE, code lists, arithmetic, quantiles,
deviations, distinct values) by `mottle.queries.expressions`. What cannot be estimated is refused by
name, and can be run by DuckDB itself on the published cells (`mottle.queries.sql.plain`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from mottle.errors import UsageError, did_you_mean
from mottle.queries.calibration import LARGE_ERROR, MANY_COLUMNS, NOT_CALIBRATED, TOO_LARGE
from mottle.queries.cells.atoms import Values
from mottle.queries.cells.item_cells import ItemCells
from mottle.queries.cells.items.index import Items
from mottle.queries.conditions import Condition, Conditions
from mottle.queries.engine import Queries
from mottle.queries.estimate import Estimate
from mottle.queries.expressions.evaluate import Aggregate, Question, evaluate
from mottle.queries.expressions.tree import Expression, HoldsItems, Reference, Test, walk
from mottle.queries.group_by.all_groups import PARTS, grouping_sets
from mottle.queries.sql.parse import ENDINGS, Answered, Key, SelectQuery, parse_query
from mottle.queries.sql.translate import as_conjunction, unsupported
from mottle.utils.arrow import numbered

_DOUBT = "\0doubt"  # after the name of an aggregate: a column that is not part of the answer
DOUBTS = b"doubts"  # metadata of a column that says whether answers are reliable: why they are not
MAX_GROUPS = 2000  # groups whose sums and averages are computed one by one
Where = Mapping[str, Conditions]


def query(queries: Queries, sql: str, tables: Mapping[str, pa.Table] | None = None) -> pa.Table:
    """Answer a query: each count, sum or average with bounds, error and whether it is reliable."""
    select = parse_query(sql, queries.columns, tables)
    _check_sets(queries, select)
    answer = _kernel_answer(queries, select)
    if answer is None:
        answer = _evaluated(queries, select)
    return _select_rows(answer, select)


def _check_sets(queries: Queries, select: SelectQuery) -> None:
    """Raise for contains() on a column that does not hold sets."""
    for test in _tests(select):
        if isinstance(test, HoldsItems) and not isinstance(queries.column(test.column), ItemCells):
            raise UsageError(
                f"Column '{test.column}' does not hold sets of items.",
                "Compare it with a value: column = 'value'.",
            )


def notes(queries: Queries, sql: str, tables: Mapping[str, pa.Table] | None = None) -> list[str]:
    """Return notes for the author of a query: values that occur nowhere may be typos."""
    select = parse_query(sql, queries.columns, tables)
    found: dict[str, None] = {}
    for test in _tests(select):
        atoms = queries.column(test.column).atoms
        if not isinstance(atoms, Values | Items):
            continue
        values = [*(test.condition.values or ()), *test.condition.excluded]
        existing = [str(value) for value in atoms.values.to_pylist()]
        for value in atoms.strangers(values):
            hint = did_you_mean(str(value), existing)
            found[f"No cell of column '{test.column}' holds '{value}'. {hint}"] = None
        if isinstance(atoms, Items):
            for note in _unbased(queries, test.column, values):
                found[note] = None
    return list(found)


def _unbased(queries: Queries, column: str, items: Sequence[object]) -> Iterator[str]:
    """Notes on items that no base set holds."""
    cells = queries.column(column)
    assert isinstance(cells, ItemCells)
    for item in items:
        place = cells.items.place_of.get(str(item))
        if place is not None and not len(cells.base.naming(place)):
            yield (
                f"No base set of column '{column}' holds '{item}': the release does not say who"
                " holds it together with what, only about how many do."
            )


def _tests(select: SelectQuery) -> Iterator[Test]:
    """All comparisons of a column with values."""
    expressions: list[Expression | None] = [
        select.where,
        *(key.expression for key in select.groups),
    ]
    for item in select.answered:
        expressions += [item.aggregate.argument, item.aggregate.filter]
    for expression in expressions:
        for part in () if expression is None else walk(expression):
            if isinstance(part, Test):
                yield part


# ------------------------------------------------------------------------------ columns under AND


def _kernel_answer(queries: Queries, select: SelectQuery) -> pa.Table | None:
    """The answer by the kernels of `Queries`; None if the query takes more than these."""
    where = as_conjunction(select.where)
    names = [key.column for key in select.groups]
    filters = [as_conjunction(item.aggregate.filter) for item in select.answered]
    is_plain = all(_column(item.aggregate) is not None for item in select.answered)
    if where is None or None in names or None in filters or not is_plain or select.lists:
        return None
    wheres = [_merge_conditions(where, condition) for condition in filters if condition is not None]
    if not select.groups:
        columns: dict[str, Any] = {}
        for item, own in zip(select.answered, wheres, strict=True):
            columns |= _columns(item, [_answer(queries, item.aggregate, own)])
        return pa.table(columns)
    groups = [name for name in names if name is not None]
    subsets = [[key.label for key in chosen] for chosen in select.subsets]
    table = grouping_sets(queries, groups, subsets, dict(where))
    columns = {name: table.column(name) for name in groups}
    counts = [
        Estimate(
            expected, certain, possible, error, "" if reliable else _doubt(queries, expected, error)
        )
        for expected, certain, possible, error, reliable in zip(
            *(table.column(part).to_pylist() for part in PARTS), strict=True
        )
    ]
    for item, own in zip(select.answered, wheres, strict=True):
        is_count = item.aggregate == Aggregate("count")
        answers = counts if is_count else list(_by_group(queries, groups, item, own, table))
        columns |= _columns(item, answers)
    return pa.table(columns)


def _doubt(queries: Queries, expected: float, error: float) -> str:
    """Why the count of a group is unreliable."""
    if queries.calibration is None:
        return NOT_CALIBRATED
    return MANY_COLUMNS if error <= TOO_LARGE * abs(expected) else LARGE_ERROR


def _column(aggregate: Aggregate) -> str | None:
    """The column that the kernels aggregate, "" for all records; None if they cannot."""
    if aggregate.distinct or aggregate.kind not in ("count", "sum", "avg"):
        return None
    if aggregate.argument is None:
        return ""
    return aggregate.argument.column if isinstance(aggregate.argument, Reference) else None


def _by_group(
    queries: Queries, groups: Sequence[str], item: Answered, where: Where, table: pa.Table
) -> Iterator[Estimate]:
    """The estimates of one aggregate, group by group."""
    _check_groups(table.num_rows)
    grouped_by = table.column("grouped_by").to_pylist()
    for row, names in zip(table.select(list(groups)).to_pylist(), grouped_by, strict=True):
        chosen = [name for name in groups if name in names.split(", ")]
        group = {name: (Condition.of(row[name], name),) for name in chosen}
        yield _answer(queries, item.aggregate, _merge_conditions(where, group))


def _check_groups(groups: int) -> None:
    if groups > MAX_GROUPS:
        raise UsageError(
            f"There are {groups:,} groups, too many for a sum or average of each.",
            f"Group by fewer columns, so that there are at most {MAX_GROUPS:,} groups.",
        )


def _answer(queries: Queries, aggregate: Aggregate, where: Where) -> Estimate:
    column = _column(aggregate)
    assert column is not None
    weight = _survey_weight(queries) if aggregate.weighted else None
    match aggregate.kind:
        case "sum":
            return queries.total(column, dict(where), weight=weight)
        case "avg":
            return queries.average(column, dict(where), weight=weight)
        case _:
            known = {column: (Condition(),)} if column else {}
            return queries.count(_merge_conditions(where, known), weight=weight)


def _survey_weight(queries: Queries) -> str:
    """The weight of weighted aggregates."""
    if queries.survey_weight is None:
        raise UsageError(
            "The release has no survey weight, so nothing can be weighted.",
            "Name one when the release is made: --survey-weight COLUMN.",
        )
    return queries.survey_weight


def _merge_conditions(first: Where, second: Where) -> dict[str, Conditions]:
    """Conditions of which all have to hold, those of both arguments."""
    names = [*first, *(name for name in second if name not in first)]
    return {name: (*first.get(name, ()), *second.get(name, ())) for name in names}


# ------------------------------------------------------------------------------------- expressions


def _evaluated(queries: Queries, select: SelectQuery) -> pa.Table:
    """The answer by evaluating expressions on combinations of values."""
    _check_weights(select)
    _check_open_ends(queries, select)
    parts = [_one_grouping(queries, select, subset) for subset in select.subsets]
    return pa.concat_tables(parts, promote_options="permissive")


def _check_weights(select: SelectQuery) -> None:
    """Raise for weighted aggregates, which only the kernels have."""
    if any(item.aggregate.weighted for item in select.answered):
        raise unsupported(
            "a weighted aggregate beside OR, CASE, code lists, arithmetic or quantiles",
            "Ask for weighted counts, sums and averages of columns, with conditions joined by AND.",
        )


def _check_open_ends(queries: Queries, select: SelectQuery) -> None:
    """Raise for what would tell values beyond an open end apart, or calculate with them."""
    for test in _tests(select):
        queries.check_tails(test.column, (test.condition,))
    for codes in select.lists:
        if codes.column in queries.tails:
            value_type = queries.tails[codes.column].value_type
            keys = tuple(key for key in codes.keys(value_type) if key is not None)
            queries.check_tails(codes.column, (Condition(values=keys),))
    for item in select.answered:
        argument = item.aggregate.argument
        if argument is not None and item.aggregate.calculates:
            for part in walk(argument):
                if isinstance(part, Reference) and part.column in queries.tails:
                    queries.tails[part.column].check_bounded(())


def _one_grouping(queries: Queries, select: SelectQuery, subset: Sequence[Key]) -> pa.Table:
    """The rows of one grouping set."""
    groups = evaluate(
        queries,
        Question(
            aggregates=tuple(item.aggregate for item in select.answered),
            where=select.where,
            keys=tuple(key.expression for key in subset),
            lists=select.lists,
        ),
    )
    columns: dict[str, Any] = {}
    for key in select.groups:
        values = (
            [group.key[subset.index(key)] for group in groups]
            if key in subset
            else [None] * len(groups)
        )
        columns[key.label] = _labels(queries, key, values)
    for place, item in enumerate(select.answered):
        columns |= _columns(item, [group.answers[place] for group in groups])
    return pa.table(columns)


def _labels(queries: Queries, key: Key, values: Sequence[Any]) -> pa.Array:
    """The values of a key: in the type of its column, or as numbers or text."""
    if isinstance(key.expression, Reference):
        atoms = queries.column(key.expression.column).atoms
        value_type = atoms.values.type if isinstance(atoms, Values) else atoms.points().type
        return pa.array(values, value_type)
    known = [value for value in values if value is not None]
    if any(isinstance(value, Decimal | Fraction) for value in known):
        values = [None if value is None else float(value) for value in values]
    try:
        return pa.array(values, pa.null() if not known else None)
    except pa.ArrowException:
        return pa.array([None if value is None else str(value) for value in values], pa.string())


# ------------------------------------------------------------------------------------ the answer


def _columns(item: Answered, answers: Sequence[Estimate]) -> dict[str, Any]:
    """The five columns of an aggregate, and why its answers are unreliable."""
    *numbers, reliable = item.columns
    parts = ("expected", "certain", "possible", "error")
    return {
        **{
            name: pa.array([float(getattr(answer, part)) for answer in answers], pa.float64())
            for name, part in zip(numbers, parts, strict=True)
        },
        reliable: pa.array([answer.reliable for answer in answers], pa.bool_()),
        f"{item.label}{_DOUBT}": pa.array([answer.doubt for answer in answers], pa.string()),
    }


def _select_rows(answer: pa.Table, select: SelectQuery) -> pa.Table:
    """HAVING, ORDER BY, LIMIT and the columns of the SELECT list."""
    if select.having is not None:
        kept = [select.having.value(row) is True for row in answer.to_pylist()]
        answer = answer.filter(pa.array(kept, pa.bool_()))
    if select.order:
        places = {name: str(place) for place, name in enumerate(answer.column_names)}
        keys = [
            (places[name], "descending" if down else "ascending") for name, down in select.order
        ]
        answer = numbered(answer).sort_by(keys).rename_columns(answer.column_names)
    answer = answer.slice(select.first, select.rows)
    names = [name for item in select.selected for name in item.columns]
    chosen = answer.select(names)
    schema = chosen.schema
    for item in select.selected:
        if isinstance(item, Answered):
            found = answer.column(f"{item.label}{_DOUBT}").unique().to_pylist()
            at = names.index(item.columns[-1])
            said = {DOUBTS: "; ".join(sorted(one for one in found if one))}
            schema = schema.set(at, schema.field(at).with_metadata(said))
    return chosen.cast(schema)


def doubts_of(answer: pa.Table) -> list[str]:
    """Return why answers of a query are unreliable, column by column, as its metadata say."""
    return [
        f"{field.name.removesuffix(ENDINGS[-1])}: {reasons.decode()}"
        for field in answer.schema
        if (reasons := (field.metadata or {}).get(DOUBTS))
    ]
