"""Parse SQL queries with DuckDB's parser, and refuse by name what cannot be estimated."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import pyarrow as pa

from mottle.errors import UsageError, did_you_mean
from mottle.queries.expressions.code_list import CodeList
from mottle.queries.expressions.evaluate import Aggregate
from mottle.queries.expressions.spread import Spread
from mottle.queries.expressions.tree import (
    Connected,
    Expression,
    IsNull,
    Lookup,
    Not,
    Reference,
)
from mottle.queries.sql.source import Source, source_of
from mottle.queries.sql.translate import PLAIN, Node, Translator, constant, unsupported

_EXAMPLE = "For instance: SELECT count(*) FROM release WHERE age BETWEEN 30 AND 40"
_AGGREGATES = {
    "count_star": "count",
    "count": "count",
    "sum": "sum",
    "avg": "avg",
    "mean": "avg",
    "median": "quantile",
    "quantile_cont": "quantile",
    "stddev": Spread.STDDEV_SAMP,
    "stddev_samp": Spread.STDDEV_SAMP,
    "stddev_pop": Spread.STDDEV_POP,
    "variance": Spread.VAR_SAMP,
    "var_samp": Spread.VAR_SAMP,
    "var_pop": Spread.VAR_POP,
}
_WEIGHTED = "weighted_"  # before the name of an aggregate: by the release's survey weight
_AGGREGATES |= {f"{_WEIGHTED}{name}": kind for name, kind in list(_AGGREGATES.items())[1:5]}
_INSTEAD = {  # functions that people write, and what to write instead
    "quantile": "Write quantile_cont(age, 0.9).",
    "quantile_disc": "Write quantile_cont(age, 0.9).",
    "max": "Write quantile_cont(age, 0.99), or count the records above a value.",
    "min": "Write quantile_cont(age, 0.01), or count the records below a value.",
}
# Of the five columns of an answer.
ENDINGS = ("", "_low", "_high", "_error", "_reliable")


@dataclass(frozen=True)
class Key:
    """What is grouped by, as a column of the answer."""

    label: str
    expression: Expression

    @property
    def columns(self) -> list[str]:
        """The columns of the answer."""
        return [self.label]

    @property
    def column(self) -> str | None:
        """The column of the release, if it is one under its own name."""
        same = isinstance(self.expression, Reference) and self.expression.column == self.label
        return self.label if same else None


@dataclass(frozen=True)
class Answered:
    """An aggregate, as five columns of the answer."""

    label: str
    aggregate: Aggregate

    @property
    def columns(self) -> list[str]:
        """The columns of the answer."""
        return [f"{self.label}{ending}" for ending in ENDINGS]


@dataclass(frozen=True)
class AnswerColumn:
    """A column of the answer, in HAVING."""

    name: str

    def value(self, at: Mapping[str, Any]) -> Any:
        """Its value in a row of the answer; NULL where there is none."""
        value = at[self.name]
        return None if value != value else value  # NaN differs from itself

    def parts(self) -> tuple[Expression, ...]:
        """None."""
        return ()


@dataclass(frozen=True)
class SelectQuery:
    """A parsed query."""

    selected: tuple[Key | Answered, ...]  # SELECT list
    hidden: tuple[Key | Answered, ...]  # what GROUP BY and HAVING need besides
    where: Expression | None
    groups: tuple[Key, ...]  # all after GROUP BY
    subsets: tuple[tuple[Key, ...], ...]  # the grouping sets
    having: Expression | None
    order: tuple[tuple[str, bool], ...]  # columns of the answer, and whether descending
    first: int  # OFFSET
    rows: int | None  # LIMIT
    lists: tuple[CodeList, ...] = field(default=())

    @property
    def answered(self) -> list[Answered]:
        """The aggregates of the query."""
        return [item for item in (*self.selected, *self.hidden) if isinstance(item, Answered)]


def parse_query(
    sql: str, columns: Sequence[str], tables: Mapping[str, pa.Table] | None = None
) -> SelectQuery:
    """Parse a query, or raise a `UsageError` that names the unsupported part."""
    node = _syntax_tree(sql)
    _refuse_clauses(node)
    source = source_of(node["from_table"], columns, tables or {})
    return _Parser(node, source).query()


class _Parser:
    """Parses one SELECT statement."""

    def __init__(self, node: Node, source: Source) -> None:
        self._node, self._source = node, source
        self._translator = Translator(self._resolve)

    def query(self) -> SelectQuery:
        """The query."""
        node = self._node
        is_distinct = any(one["type"] == "DISTINCT_MODIFIER" for one in node["modifiers"])
        groups = self._groups(is_distinct)
        selected = list(self._selected(groups))
        if is_distinct:
            if node["group_expressions"] or any(isinstance(one, Answered) for one in selected):
                raise unsupported("DISTINCT of answers", "Leave out DISTINCT: groups differ.")
            selected.append(Answered("count", Aggregate("count")))
        if not any(isinstance(item, Answered) for item in selected):
            raise unsupported("a SELECT without count, sum or avg", f"{_EXAMPLE}. {PLAIN}")
        _check_labels(selected)
        groups = [self._named(key, selected, place) for place, key in enumerate(groups)]
        hidden: list[Key | Answered] = [key for key in groups if key not in selected]
        having = self._having(selected, hidden)
        sets = node["group_sets"] or [list(range(len(groups)))]
        order, first, rows = self._modifiers(selected)
        return SelectQuery(
            selected=tuple(selected),
            hidden=tuple(hidden),
            where=self._where(),
            groups=tuple(groups),
            subsets=tuple(tuple(groups[place] for place in chosen) for chosen in sets),
            having=having,
            order=order,
            first=first,
            rows=rows,
            lists=self._source.lists,
        )

    def _resolve(self, node: Node) -> Expression | None:
        """The column that a name stands for."""
        if node["class"] == "COLUMN_REF":
            return self._source.resolve(node["column_names"])
        if node["class"] == "FUNCTION" and node["function_name"] in _AGGREGATES:
            name = str(node["function_name"]).replace("count_star", "count(*)")
            raise unsupported(
                f"{name} inside another expression",
                "Select it by itself, and calculate with the answer.",
            )
        return None

    def _where(self) -> Expression | None:
        """The conditions, and that inner joins find the value in their code list."""
        clause = self._node["where_clause"]
        conditions = [] if clause is None else [self._translator.condition(clause)]
        conditions += [
            Not(IsNull(Lookup(codes.column, codes.name, codes.key)))
            for codes in self._source.lists
            if codes.name in self._source.inner
        ]
        if len(conditions) > 1:
            return Connected(tuple(conditions), decisive=False)
        return conditions[0] if conditions else None

    # ---------------------------------------------------------------------------- groups, selected

    def _groups(self, is_distinct: bool) -> list[Key]:
        """What is grouped by, not yet named."""
        listed = self._node["select_list"]
        if is_distinct and not self._node["group_expressions"]:
            return [self._key(item) for item in listed if not _is_aggregate(item)]
        if self._node["aggregate_handling"] == "FORCE_AGGREGATES":  # GROUP BY ALL
            return [self._key(item) for item in listed if not _is_aggregate(item)]
        return [self._key(self._group(part)) for part in self._node["group_expressions"]]

    def _group(self, part: Node) -> Node:
        """A GROUP BY expression; positions and names of the SELECT list stand for their items."""
        listed: list[Node] = self._node["select_list"]
        if part["class"] == "CONSTANT":
            place = constant(part)
            if not isinstance(place, int) or not 1 <= place <= len(listed):
                raise UsageError(f"GROUP BY {place} is not a valid position in the SELECT list.")
            return listed[place - 1]
        if part["class"] == "COLUMN_REF" and not self._source.knows(part["column_names"]):
            name = str(part["column_names"][-1]).lower()
            named = [item for item in listed if item["alias"].lower() == name]
            if named:
                return named[0]
        return part

    def _key(self, node: Node) -> Key:
        """A key under the name that SQL gives it."""
        if _is_aggregate(node):
            raise unsupported("GROUP BY an aggregate", "Use HAVING to select groups.")
        if node["class"] == "STAR":
            raise unsupported("SELECT *", f"{_EXAMPLE}. {PLAIN}")
        expression = self._translator.expression(node)
        if not isinstance(expression, Reference | Lookup) and node["class"] != "CASE":
            raise unsupported(
                "GROUP BY anything but columns, code lists and CASE",
                "Group numbers by CASE WHEN age < 30 THEN … END, or in Python:"
                " release.group_by(['age'], breaks={'age': [30]}).",
            )
        name = node["alias"]
        if not name and isinstance(expression, Reference):
            name = expression.column
        if not name and isinstance(expression, Lookup):
            name = expression.attribute
        return Key(name or "case", expression)

    @staticmethod
    def _named(key: Key, selected: Sequence[Key | Answered], place: int) -> Key:
        """A key under the name that it is selected by."""
        for item in selected:
            if isinstance(item, Key) and item.expression == key.expression:
                return item
        taken = {column for item in selected for column in item.columns}
        return key if key.label not in taken else replace(key, label=f"group {place + 1}")

    def _selected(self, groups: Sequence[Key]) -> Iterator[Key | Answered]:
        """The items of the SELECT list."""
        for item in self._node["select_list"]:
            if _is_aggregate(item):
                yield Answered(_label(item), self._aggregate(item))
                continue
            if item["class"] == "FUNCTION" and item["function_name"] not in "+-*/":
                name = str(item["function_name"])
                remedy = _INSTEAD.get(name, f"Use count, sum, avg, median or stddev. {PLAIN}")
                raise unsupported(f"'{name}' in the SELECT list", remedy)
            key = self._key(item)
            if not any(key.expression == group.expression for group in groups):
                raise UsageError(
                    f"Column '{key.label}' is selected, but not grouped by.",
                    f"GROUP BY {key.label}.",
                )
            yield key

    def _aggregate(self, item: Node) -> Aggregate:
        """One aggregate function."""
        name = str(item["function_name"])
        arguments = [argument["expression"] for argument in item["arguments"]]
        within = [order["expression"] for order in item["order_bys"].get("orders", [])]
        kind, share = _AGGREGATES[name], 0.5
        if name == "quantile_cont":
            arguments, share = _quantile(arguments, within)
        elif within:
            raise unsupported(f"ORDER BY inside {name}", "Leave it out.")
        argument = None
        if kind == "count" and arguments and arguments[0]["class"] == "STAR":
            arguments = []
        if name != "count_star" and arguments:
            if len(arguments) != 1:
                raise unsupported(f"{name} of several arguments", f"Write {name}(age).")
            argument = self._translator.expression(arguments[0])
        if argument is None and kind != "count":
            raise unsupported(f"{name} without an argument", f"Write {name}(age).")
        if item["distinct"] and (name != "count" or argument is None):
            raise unsupported(f"{name} of DISTINCT values", "Write count(DISTINCT age).")
        condition = item["filter"]
        return Aggregate(
            kind=str(kind),
            argument=argument,
            filter=None if condition is None else self._translator.condition(condition),
            distinct=bool(item["distinct"]),
            share=share,
            weighted=name.startswith(_WEIGHTED),
        )

    # ------------------------------------------------------------------------ having, order, limit

    def _having(
        self, selected: Sequence[Key | Answered], hidden: list[Key | Answered]
    ) -> Expression | None:
        """HAVING, over columns of the answer; aggregates that are not selected become hidden."""
        clause = self._node["having"]
        if clause is None:
            return None

        def resolve(node: Node) -> Expression | None:
            if node["class"] == "COLUMN_REF":
                name = str(node["column_names"][-1])
                items = [*selected, *hidden]
                found = _find(name, [column for item in items for column in item.columns])
                return AnswerColumn(found)
            if not _is_aggregate(node):
                return None
            aggregate = self._aggregate(node)
            for item in (*selected, *hidden):
                if isinstance(item, Answered) and item.aggregate == aggregate:
                    return AnswerColumn(item.label)
            hidden.append(Answered(f"having {len(hidden) + 1}", aggregate))
            return AnswerColumn(hidden[-1].label)

        return Translator(resolve).condition(clause)

    def _modifiers(
        self, selected: Sequence[Key | Answered]
    ) -> tuple[tuple[tuple[str, bool], ...], int, int | None]:
        """ORDER BY and LIMIT of the answer."""
        order: list[tuple[str, bool]] = []
        first, rows = 0, None
        for modifier in self._node["modifiers"]:
            if modifier["type"] == "ORDER_MODIFIER":
                order = [
                    (self._order_column(part["expression"], selected), "DESC" in part["type"])
                    for part in modifier["orders"]
                ]
            elif modifier["type"] == "LIMIT_MODIFIER" and modifier["limit_type"] == "ROW_COUNT":
                first, limit = (
                    0 if modifier[part] is None else constant(modifier[part])
                    for part in ("offset", "limit")
                )
                rows = None if modifier["limit"] is None else limit
            elif modifier["type"] == "DISTINCT_MODIFIER":
                if modifier.get("distinct_on_targets"):
                    raise unsupported("DISTINCT ON", "Group by the columns.")
            else:
                raise unsupported(str(modifier["type"]).split("_")[0])
        return tuple(order), int(first), rows

    def _order_column(self, expression: Node, selected: Sequence[Key | Answered]) -> str:
        """The column of the answer that an ORDER BY expression names."""
        if expression["class"] == "CONSTANT":
            place = constant(expression)
            if isinstance(place, int) and 1 <= place <= len(selected):
                return selected[place - 1].label
        names = [name for item in selected for name in item.columns]
        if expression["class"] == "COLUMN_REF":
            return _find(str(expression["column_names"][-1]), names, " to order by")
        if _is_aggregate(expression):
            aggregate = self._aggregate(expression)
            for item in selected:
                if isinstance(item, Answered) and item.aggregate == aggregate:
                    return item.label
        raise unsupported("this ORDER BY", f"Order by a column of the answer: {', '.join(names)}.")


def _is_aggregate(node: Node) -> bool:
    return bool(node["class"] == "FUNCTION" and node["function_name"] in _AGGREGATES)


def _label(item: Node) -> str:
    """The name of an aggregate in the answer."""
    if item["alias"]:
        return str(item["alias"])
    name = str(item["function_name"])
    kind = {"count_star": "count", "mean": "avg", "quantile_cont": "quantile"}.get(name, name)
    kind = f"{_WEIGHTED}avg" if name == f"{_WEIGHTED}mean" else kind
    columns = [
        str(node["column_names"][-1])
        for argument in item["arguments"]
        if (node := argument["expression"])["class"] == "COLUMN_REF"
    ]
    return "_".join([kind, *columns])


def _quantile(arguments: Sequence[Node], within: Sequence[Node]) -> tuple[list[Node], float]:
    """The argument of a quantile, and its share."""
    if within:  # percentile_cont(0.5) WITHIN GROUP (ORDER BY age)
        arguments = [*within, *arguments]
    remedy = "Write quantile_cont(age, 0.9), with a share between 0 and 1."
    if len(arguments) != 2:
        raise unsupported("a quantile without exactly one share", remedy)
    share = constant(arguments[1])
    if isinstance(share, bool | str | None) or not 0 <= share <= 1:
        raise UsageError("The share of a quantile is not between 0 and 1.", remedy)
    return [arguments[0]], float(share)


def _find(name: str, names: Sequence[str], purpose: str = "") -> str:
    """The column of the answer that a name means."""
    found = [column for column in names if column.lower() == name.lower()]
    if not found:
        raise UsageError(
            f"The answer has no column '{name}'{purpose}.", did_you_mean(name.lower(), names)
        )
    return found[0]


def _check_labels(items: Sequence[Key | Answered]) -> None:
    """Check that no two columns of the answer have the same name."""
    used: set[str] = set()
    for item in items:
        if used & set(item.columns):
            raise UsageError(
                f"Two columns of the answer are called '{item.label}'.", "Name one: count(*) AS n."
            )
        used |= set(item.columns)


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
    for clause, name in (("qualify", "QUALIFY"), ("sample", "a sample")):
        if node[clause] is not None:
            raise unsupported(name)
