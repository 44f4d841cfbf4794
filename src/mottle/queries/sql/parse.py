"""Parse SQL queries with DuckDB's parser, and refuse by name what cannot be estimated."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from mottle.errors import UsageError, did_you_mean
from mottle.queries.conditions import Condition, Conditions
from mottle.queries.sql.conditions import (
    PLAIN,
    Node,
    Resolve,
    constant,
    parse_conditions,
    unsupported,
)

TABLE = "release"
_EXAMPLE = "For instance: SELECT count(*) FROM release WHERE age BETWEEN 30 AND 40"
_AGGREGATES = {"count_star": "count", "count": "count", "sum": "sum", "avg": "avg", "mean": "avg"}
_WEIGHTED = "weighted_"  # before the name of an aggregate: by the release's survey weight
_AGGREGATES |= {f"{_WEIGHTED}{name}": kind for name, kind in [*_AGGREGATES.items()][1:]}


@dataclass(frozen=True)
class Aggregate:
    """A count, sum or average in the SELECT list."""

    label: str
    kind: str  # count, sum or avg
    column: str | None  # None for count(*)
    filter: Mapping[str, Conditions]
    weighted: bool = False  # by the survey weight of the release

    def where(self, conditions: Mapping[str, Conditions]) -> dict[str, Conditions]:
        """All conditions on the records that it aggregates."""
        joined = merge_conditions(conditions, self.filter)
        if self.kind == "count" and self.column is not None:
            return merge_conditions(joined, {self.column: (Condition(),)})
        return joined


@dataclass(frozen=True)
class SelectQuery:
    """A parsed query."""

    selected: tuple[str | Aggregate, ...]  # SELECT list: columns grouped by, and aggregates
    where: Mapping[str, Conditions]
    groups: tuple[str, ...]  # all columns after GROUP BY
    subsets: tuple[tuple[str, ...], ...]  # the grouping sets
    order: tuple[tuple[str, bool], ...]  # columns of the answer, and whether descending
    first: int  # OFFSET
    rows: int | None  # LIMIT

    @property
    def aggregates(self) -> list[Aggregate]:
        """The counts, sums and averages in the SELECT list."""
        return [item for item in self.selected if isinstance(item, Aggregate)]


def merge_conditions(
    first: Mapping[str, Conditions], second: Mapping[str, Conditions]
) -> dict[str, Conditions]:
    """Return conditions of which all have to hold, those of both arguments."""
    names = [*first, *(name for name in second if name not in first)]
    return {name: (*first.get(name, ()), *second.get(name, ())) for name in names}


def parse_query(sql: str, columns: Sequence[str]) -> SelectQuery:
    """Parse a query, or raise a `UsageError` that names the unsupported part."""
    node = _syntax_tree(sql)
    _refuse_clauses(node)

    def resolve(reference: Node) -> str:
        name = str(reference["column_names"][-1])
        exact = [column for column in columns if column == name]
        found = exact or [column for column in columns if column.lower() == name.lower()]
        if len(found) != 1:
            raise UsageError(f"The release has no column '{name}'.", did_you_mean(name, columns))
        return found[0]

    groups = [_group(part, node, resolve) for part in node["group_expressions"]]
    if node["aggregate_handling"] == "FORCE_AGGREGATES":  # GROUP BY ALL
        groups = [resolve(part) for part in node["select_list"] if part["class"] == "COLUMN_REF"]
    selected = tuple(_labelled(_selected(node["select_list"], groups, resolve)))
    if not any(isinstance(item, Aggregate) for item in selected):
        raise unsupported("a SELECT without count, sum or avg", f"{_EXAMPLE}. {PLAIN}")
    sets = node["group_sets"] or [list(range(len(groups)))]
    order, first, rows = _modifiers(node["modifiers"], selected)
    return SelectQuery(
        selected=selected,
        where=parse_conditions(node["where_clause"], resolve),
        groups=tuple(groups),
        subsets=tuple(tuple(groups[place] for place in chosen) for chosen in sets),
        order=order,
        first=first,
        rows=rows,
    )


def _syntax_tree(sql: str) -> Node:
    """The syntax tree of one SELECT statement, by DuckDB."""
    with duckdb.connect(
        config={"enable_external_access": "false", "temp_directory": ""}
    ) as connection:
        row = connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
    assert row is not None
    try:
        tree = json.loads(row[0])
    except RecursionError:
        raise UsageError("The SQL is nested too deeply.", f"{_EXAMPLE}.") from None
    if tree["error"]:
        message = str(tree["error_message"]).removesuffix(".").replace("!", "")
        raise UsageError(f"The SQL cannot be read: {message}.", f"{_EXAMPLE}.")
    if len(tree["statements"]) != 1:
        raise UsageError(f"There are {len(tree['statements'])} statements.", "Run one at a time.")
    node: Node = tree["statements"][0]["node"]
    return node


def _refuse_clauses(node: Node) -> None:
    """Raise for clauses that estimates do not support."""
    if node["type"] != "SELECT_NODE":
        raise unsupported("UNION and other combinations of queries", "Run each query separately.")
    if node["cte_map"]["map"]:
        raise unsupported("WITH")
    source = node["from_table"]
    if source["type"] != "BASE_TABLE":
        raise unsupported("anything but FROM release (joins, subqueries)")
    if source["table_name"].lower() != TABLE or source["schema_name"] or source["catalog_name"]:
        raise UsageError(
            f"There is no table '{source['table_name']}'.", f"The release is named '{TABLE}'."
        )
    for clause, name in (("having", "HAVING"), ("qualify", "QUALIFY"), ("sample", "a sample")):
        if node[clause] is not None:
            raise unsupported(name)
    if source["sample"] is not None:
        raise unsupported("a sample")


def _group(part: Node, node: Node, resolve: Resolve) -> str:
    """The column of one GROUP BY expression, which may be its position in the SELECT list."""
    if part["class"] == "CONSTANT":
        place = constant(part)
        listed = node["select_list"]
        if not isinstance(place, int) or not 1 <= place <= len(listed):
            raise UsageError(f"GROUP BY {place} is not a valid position in the SELECT list.")
        part = listed[place - 1]
    if part["class"] != "COLUMN_REF":
        raise unsupported(
            "GROUP BY anything but columns",
            "Group numbers by ranges in Python: release.group_by(['age'], breaks={'age': [30]}).",
        )
    return resolve(part)


def _selected(
    listed: Sequence[Node], groups: Sequence[str], resolve: Resolve
) -> Iterator[str | Aggregate]:
    """The items of the SELECT list."""
    for item in listed:
        if item["class"] == "COLUMN_REF":
            column = resolve(item)
            if column not in groups:
                raise UsageError(
                    f"Column '{column}' is selected, but not grouped by.", f"GROUP BY {column}."
                )
            if item["alias"] and item["alias"] != column:
                raise unsupported("renamed columns", "Leave out AS.")
            yield column
        elif item["class"] == "FUNCTION" and item["function_name"] in _AGGREGATES:
            yield _aggregate(item, resolve)
        elif item["class"] == "STAR":
            raise unsupported("SELECT *", f"{_EXAMPLE}. {PLAIN}")
        else:
            what = item.get("function_name", item["class"].lower())
            raise unsupported(
                f"'{what}' in the SELECT list",
                f"Use count, sum or avg, or weighted_count, weighted_sum or weighted_avg. {PLAIN}",
            )


def _aggregate(item: Node, resolve: Resolve) -> Aggregate:
    """One count, sum or average."""
    kind = _AGGREGATES[item["function_name"]]
    if item["distinct"]:
        raise unsupported("DISTINCT")
    arguments = [argument["expression"] for argument in item["arguments"]]
    weighted = item["function_name"].startswith(_WEIGHTED)
    column = None
    everything = not arguments or arguments[0]["class"] == "STAR"
    if item["function_name"] != "count_star" and not (kind == "count" and everything):
        if len(arguments) != 1 or arguments[0]["class"] != "COLUMN_REF":
            raise unsupported(f"{kind} of anything but a column")
        column = resolve(arguments[0])
    named = f"{_WEIGHTED}{kind}" if weighted else kind
    label = item["alias"] or (named if column is None else f"{named}_{column}")
    return Aggregate(label, kind, column, parse_conditions(item["filter"], resolve), weighted)


def _labelled(items: Iterator[str | Aggregate]) -> Iterator[str | Aggregate]:
    """Check that no two columns of the answer have the same name."""
    used: set[str] = set()
    for item in items:
        names = answer_columns(item)
        if used & set(names):
            raise UsageError(
                f"Two columns of the answer are called '{names[0]}'.", "Name one: count(*) AS n."
            )
        used |= set(names)
        yield item


def answer_columns(item: str | Aggregate) -> list[str]:
    """Return the columns of the answer for an item of the SELECT list."""
    if isinstance(item, str):
        return [item]
    return [item.label, *(f"{item.label}_{part}" for part in ("low", "high", "error"))]


def _modifiers(
    modifiers: Sequence[Node], selected: Sequence[str | Aggregate]
) -> tuple[tuple[tuple[str, bool], ...], int, int | None]:
    """ORDER BY and LIMIT of the answer."""
    columns = [item if isinstance(item, str) else item.label for item in selected]
    order: list[tuple[str, bool]] = []
    first, rows = 0, None
    for modifier in modifiers:
        if modifier["type"] == "ORDER_MODIFIER":
            order = [
                (_order_column(part["expression"], selected, columns), "DESC" in part["type"])
                for part in modifier["orders"]
            ]
        elif modifier["type"] == "LIMIT_MODIFIER" and modifier["limit_type"] == "ROW_COUNT":
            first, limit = (
                0 if modifier[part] is None else constant(modifier[part])
                for part in ("offset", "limit")
            )
            rows = None if modifier["limit"] is None else limit
        else:
            raise unsupported(str(modifier["type"]).split("_")[0])
    return tuple(order), int(first), rows


def _order_column(
    expression: Node, selected: Sequence[str | Aggregate], columns: Sequence[str]
) -> str:
    """The column of the answer that an ORDER BY expression names."""
    if expression["class"] == "CONSTANT":
        place = constant(expression)
        if isinstance(place, int) and 1 <= place <= len(columns):
            return columns[place - 1]
    names = [name for item in selected for name in answer_columns(item)]
    if expression["class"] == "COLUMN_REF":
        name = str(expression["column_names"][-1]).lower()
        found = [column for column in names if column.lower() == name]
        if found:
            return found[0]
        raise UsageError(
            f"The answer has no column '{name}' to order by.", did_you_mean(name, names)
        )
    if expression["class"] == "FUNCTION" and expression["function_name"] in _AGGREGATES:
        kind = _AGGREGATES[expression["function_name"]]
        weighted = expression["function_name"].startswith(_WEIGHTED)
        matching = [
            item
            for item in selected
            if isinstance(item, Aggregate) and (item.kind, item.weighted) == (kind, weighted)
        ]
        if len(matching) == 1:
            return matching[0].label
    raise unsupported("this ORDER BY", f"Order by a column of the answer: {', '.join(names)}.")
