"""Translate SQL conditions, as parsed by DuckDB, into conditions on single columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from mottle.errors import UsageError
from mottle.queries.conditions import Condition, Conditions

Node = dict[str, Any]  # a node of the syntax tree
Resolve = Callable[[Node], str]  # returns the column that a reference names

PLAIN = "Let DuckDB run the query on the published cells, with --plain (plain=True in Python)."

_COMPARISONS: dict[str, Callable[[Any], Condition]] = {
    "COMPARE_EQUAL": lambda value: Condition(values=(value,)),
    "COMPARE_NOTEQUAL": lambda value: Condition(excluded=(value,)),
    "COMPARE_GREATERTHAN": lambda value: Condition(low=value, low_open=True),
    "COMPARE_GREATERTHANOREQUALTO": lambda value: Condition(low=value),
    "COMPARE_LESSTHAN": lambda value: Condition(high=value, high_open=True),
    "COMPARE_LESSTHANOREQUALTO": lambda value: Condition(high=value),
}
_MIRRORED = {
    "COMPARE_GREATERTHAN": "COMPARE_LESSTHAN",
    "COMPARE_GREATERTHANOREQUALTO": "COMPARE_LESSTHANOREQUALTO",
    "COMPARE_LESSTHAN": "COMPARE_GREATERTHAN",
    "COMPARE_LESSTHANOREQUALTO": "COMPARE_GREATERTHANOREQUALTO",
}
_DATES = ("DATE", "TIMESTAMP")


def parse_conditions(expression: Node | None, resolve: Resolve) -> dict[str, Conditions]:
    """Return the conditions by column; all of them have to hold."""
    found: dict[str, Conditions] = {}
    for column, condition in _conjunction(expression, resolve):
        found[column] = (*found.get(column, ()), condition)
    return found


def unsupported(what: str, remedy: str = PLAIN) -> UsageError:
    """An error that names the SQL for which there are no estimates."""
    return UsageError(f"Estimates do not support {what}.", remedy)


def _conjunction(expression: Node | None, resolve: Resolve) -> list[tuple[str, Condition]]:
    """The conditions joined by AND."""
    if expression is None:
        return []
    if expression["type"] == "CONJUNCTION_AND":
        return [
            condition
            for child in expression["children"]
            for condition in _conjunction(child, resolve)
        ]
    return [_single(expression, resolve)]


def _single(expression: Node, resolve: Resolve) -> tuple[str, Condition]:
    """A condition without AND: the column, and what it has to be."""
    kind = expression["type"]
    if kind in _COMPARISONS:
        return _comparison(expression, resolve)
    if kind == "COMPARE_BETWEEN":
        low, high = (constant(expression[end]) for end in ("lower", "upper"))
        return _column(expression["input"], resolve), Condition(low=low, high=high)
    if kind == "COMPARE_IN":
        column, *values = expression["children"]
        return _column(column, resolve), Condition(values=tuple(map(constant, values)))
    if kind == "OPERATOR_IS_NULL":
        column = _column(expression["children"][0], resolve)
        return column, Condition(known=False, missing=True)
    if kind == "OPERATOR_IS_NOT_NULL":
        return _column(expression["children"][0], resolve), Condition()
    if kind == "OPERATOR_NOT":
        return _negation(expression["children"][0], resolve)
    if kind == "CONJUNCTION_OR":
        return _alternatives(expression, resolve)
    raise unsupported(f"the condition {_described(expression)}")


def _comparison(expression: Node, resolve: Resolve) -> tuple[str, Condition]:
    """A comparison of a column with a value, in either order."""
    kind, left, right = expression["type"], expression["left"], expression["right"]
    if left["class"] != "COLUMN_REF" and right["class"] == "COLUMN_REF":
        kind, left, right = _MIRRORED.get(kind, kind), right, left
    if right["class"] == "COLUMN_REF":
        raise unsupported("comparisons of two columns")
    return _column(left, resolve), _COMPARISONS[kind](constant(right))


def _negation(expression: Node, resolve: Resolve) -> tuple[str, Condition]:
    """NOT of a single condition."""
    if expression["type"] == "CONJUNCTION_OR" or expression["type"] == "CONJUNCTION_AND":
        raise unsupported("NOT of several conditions", "Write what has to hold, joined by AND.")
    column, condition = _single(expression, resolve)
    if condition.values is not None:
        return column, Condition(excluded=condition.values)
    if condition.excluded:
        return column, Condition(values=condition.excluded)
    if not condition.has_range:
        return column, replace(condition, known=not condition.known, missing=not condition.missing)
    if condition.low is not None and condition.high is not None:
        raise unsupported("NOT BETWEEN", "Count the values below and those above, and add up.")
    return column, Condition(
        low=condition.high,
        high=condition.low,
        low_open=not condition.high_open,
        high_open=not condition.low_open,
    )


def _alternatives(expression: Node, resolve: Resolve) -> tuple[str, Condition]:
    """OR, if it lists values of one column."""
    parts = [_single(child, resolve) for child in expression["children"]]
    columns = {column for column, _ in parts}
    listing = [part.values for _, part in parts if part.values is not None]
    missing = [part for _, part in parts if not part.known]
    if len(columns) > 1 or len(listing) + len(missing) < len(parts):
        raise unsupported(
            "OR between columns or ranges",
            "Count each alternative and add up (less what satisfies both), or use --plain.",
        )
    values = tuple(value for part in listing for value in part)
    return columns.pop(), Condition(values=values, known=bool(listing), missing=bool(missing))


def _column(expression: Node, resolve: Resolve) -> str:
    """The column of a comparison."""
    if expression["class"] != "COLUMN_REF":
        raise unsupported(
            f"{_described(expression)} of a column", "Compare the column itself with values."
        )
    return resolve(expression)


def constant(expression: Node) -> Any:
    """Return the value of a literal; dates stay text, which is parsed for date columns."""
    if expression["class"] == "CAST" and expression["type_expr"]["type_name"] in _DATES:
        expression = expression["child"]
    if expression["class"] != "CONSTANT":
        raise unsupported(f"comparison with {_described(expression)}", "Write the value itself.")
    literal = expression["literal"]
    kind, text = literal["kind"], literal["text"]
    if kind == "NULL_LITERAL":
        raise UsageError("Nothing equals NULL in SQL.", "Write IS NULL or IS NOT NULL.")
    if kind == "BOOLEAN":
        return text == "true"
    if kind == "INTEGER":
        return int(text)
    if kind == "NUMERIC":
        return float(text) if "e" in text.lower() else Decimal(text)
    return text


def _described(expression: Node) -> str:
    """The SQL name of an expression, for messages."""
    names = {"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE"}
    if expression["class"] == "FUNCTION":
        name = str(expression["function_name"])
        return names.get(name, f"'{name}'")
    return str(expression["class"]).lower().replace("_", " ")
