"""Translate SQL expressions, as parsed by DuckDB, into trees that can be evaluated."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from mottle.errors import UsageError
from mottle.queries.conditions import Condition, Conditions
from mottle.queries.expressions.tree import (
    ARITHMETIC,
    Arithmetic,
    Case,
    Compared,
    Connected,
    Expression,
    HoldsItems,
    IsNull,
    Literal,
    Not,
    Reference,
    Test,
    walk,
)

Node = dict[str, Any]  # a node of DuckDB's syntax tree

PLAIN = "Let DuckDB run the query on the published cells, with --plain (plain=True in Python)."

_SYMBOLS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
}
_MIRRORED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
_CONDITIONS: dict[str, Callable[[Any], Condition]] = {
    "=": lambda value: Condition(values=(value,)),
    "<>": lambda value: Condition(excluded=(value,)),
    ">": lambda value: Condition(low=value, low_open=True),
    ">=": lambda value: Condition(low=value),
    "<": lambda value: Condition(high=value, high_open=True),
    "<=": lambda value: Condition(high=value),
}
_DATES = ("DATE", "TIMESTAMP")
# Functions of sets of items: whether a set holds one item, one of a list, or all of a list.
_HOLDING = dict.fromkeys(
    ("contains", "list_contains", "array_contains", "list_has", "array_has"), ""
)
_HOLDING |= dict.fromkeys(("list_has_any", "array_has_any", "&&"), "any")
_HOLDING |= dict.fromkeys(("list_has_all", "array_has_all", "@>"), "all")


def unsupported(what: str, remedy: str = PLAIN) -> UsageError:
    """An error that names the SQL for which there are no estimates."""
    return UsageError(f"Estimates do not support {what}.", remedy)


class Translator:
    """Translates nodes; ``resolve`` says what a name, or a function that aggregates, stands for."""

    def __init__(self, resolve: Callable[[Node], Expression | None]) -> None:
        self._resolve = resolve

    def expression(self, node: Node) -> Expression:
        """Translate any expression."""
        resolved = self._resolve(node)
        if resolved is not None:
            return resolved
        kind = node["type"]
        if kind in _SYMBOLS:
            return self._comparison(node)
        if kind in ("CONJUNCTION_AND", "CONJUNCTION_OR"):
            operands = tuple(self.condition(child) for child in node["children"])
            return Connected(operands, decisive=kind == "CONJUNCTION_OR")
        match kind:
            case "VALUE_CONSTANT" | "CAST" | "OPERATOR_CAST":
                return Literal(constant(node))
            case "COMPARE_BETWEEN":
                return self._between(node)
            case "COMPARE_IN" | "COMPARE_NOT_IN":
                listed = self._among(node)
                return listed if kind == "COMPARE_IN" else Not(listed)
            case "OPERATOR_IS_NULL" | "OPERATOR_IS_NOT_NULL":
                is_null = IsNull(self.expression(node["children"][0]))
                return is_null if kind == "OPERATOR_IS_NULL" else Not(is_null)
            case "OPERATOR_NOT":
                return Not(self.condition(node["children"][0]))
            case "CASE_EXPR":
                branches = tuple(
                    (self.condition(each["when_expr"]), self.expression(each["then_expr"]))
                    for each in node["case_checks"]
                )
                return Case(branches, self.expression(node["else_expr"]))
        if node["class"] == "FUNCTION" and node["function_name"] in ARITHMETIC:
            return self._arithmetic(node)
        if node["class"] == "FUNCTION" and node["function_name"] in _HOLDING:
            return self._holding(node)
        remedy = "Write its values out: IN (…), CASE WHEN … THEN … END. " + PLAIN
        raise unsupported(described(node), remedy)

    def condition(self, node: Node) -> Expression:
        """Translate an expression that is true or false."""
        found = self.expression(node)
        is_truth = isinstance(found, Literal) and isinstance(found.stated, bool | None)
        if not is_truth and not isinstance(found, Test | IsNull | Not | Connected | Compared):
            raise unsupported(
                "a condition without a comparison", "Compare with a value: smoker = true."
            )
        return found

    def _comparison(self, node: Node) -> Expression:
        symbol = _SYMBOLS[node["type"]]
        left, right = self.expression(node["left"]), self.expression(node["right"])
        if isinstance(left, Literal) and not isinstance(right, Literal):
            left, right, symbol = right, left, _MIRRORED.get(symbol, symbol)
        return _compared(symbol, left, right)

    def _between(self, node: Node) -> Expression:
        operand, low, high = (self.expression(node[part]) for part in ("input", "lower", "upper"))
        if (
            isinstance(operand, Reference)
            and isinstance(low, Literal)
            and isinstance(high, Literal)
        ):
            ends = (_stated(low), _stated(high))
            return Test(operand.column, Condition(low=ends[0], high=ends[1]))
        both = (_compared(">=", operand, low), _compared("<=", operand, high))
        return Connected(both, decisive=False)

    def _among(self, node: Node) -> Expression:
        if any(child["class"] == "SUBQUERY" for child in node["children"]):
            raise unsupported("a subquery", "List the values: IN ('a', 'b').")
        operand, *listed = (self.expression(child) for child in node["children"])
        if isinstance(operand, Reference) and all(isinstance(one, Literal) for one in listed):
            values = tuple(_stated(one) for one in listed if isinstance(one, Literal))
            return Test(operand.column, Condition(values=values))
        return Connected(tuple(_compared("=", operand, one) for one in listed), decisive=True)

    def _holding(self, node: Node) -> Expression:
        """Whether a set holds items: contains(items, 'a'), list_has_all(items, ['a', 'b'])."""
        name, arguments = node["function_name"], [each["expression"] for each in node["arguments"]]
        example = f"Write {'contains' if not _HOLDING[name] else name}(column, "
        example += "'item')." if not _HOLDING[name] else "['item', 'other'])."
        operand = self.expression(arguments[0]) if len(arguments) == 2 else None
        if not isinstance(operand, Reference):
            raise unsupported(f"'{name}' of anything but a column of sets and items", example)
        listed = [arguments[1]]
        if _HOLDING[name]:
            if arguments[1].get("function_name") != "list_value":
                raise unsupported(f"'{name}' without a list of items", example)
            listed = [each["expression"] for each in arguments[1]["arguments"]]
        stated = [self.expression(one) for one in listed]
        if not all(isinstance(one, Literal) for one in stated):
            raise unsupported(f"'{name}' of anything but a column of sets and items", example)
        items = tuple(_stated(one) for one in stated if isinstance(one, Literal))
        if _HOLDING[name] != "all":
            return HoldsItems(operand.column, Condition(values=items))
        held = tuple(HoldsItems(operand.column, Condition(values=(item,))) for item in items)
        return held[0] if len(held) == 1 else Connected(held, decisive=False)

    def _arithmetic(self, node: Node) -> Expression:
        operands = [self.expression(each["expression"]) for each in node["arguments"]]
        if len(operands) == 1:
            operands = [Literal(0), *operands]
        return Arithmetic(node["function_name"], operands[0], operands[1])


def _compared(symbol: str, left: Expression, right: Expression) -> Expression:
    """A comparison: of a column with a value, or of derived values."""
    if isinstance(left, Reference) and isinstance(right, Reference):
        raise unsupported("comparisons of two columns")
    if isinstance(left, Reference):
        if not isinstance(right, Literal):
            raise unsupported(
                "a comparison of a column with anything but a value", "Write the value itself."
            )
        return Test(left.column, _CONDITIONS[symbol](_stated(right)))
    for side in (left, right):
        if isinstance(side, Arithmetic) and any(isinstance(one, Reference) for one in walk(side)):
            raise unsupported(
                "a comparison of a calculated column",
                "Compare the column itself with a value: income > 1000, not income * 12 > 12000.",
            )
        if isinstance(side, Literal):
            _stated(side)
    return Compared(symbol, left, right)


def _stated(literal: Literal) -> Any:
    """The value of a literal that is compared with."""
    if literal.stated is None:
        raise UsageError("Nothing equals NULL in SQL.", "Write IS NULL or IS NOT NULL.")
    return literal.stated


def constant(node: Node) -> Any:
    """Return the value of a literal; dates stay text, which is parsed for date columns."""
    if node["class"] == "CAST" and node["type_expr"]["type_name"] in _DATES:
        node = node["child"]
    if node["class"] != "CONSTANT":
        raise unsupported(described(node), "Write the value itself.")
    literal = node["literal"]
    kind, text = literal["kind"], literal["text"]
    if kind == "NULL_LITERAL":
        return None
    if kind == "BOOLEAN":
        return text == "true"
    if kind == "INTEGER":
        return int(text)
    if kind == "NUMERIC":
        return float(text) if "e" in text.lower() else Decimal(text)
    return text


def described(node: Node) -> str:
    """Return the SQL name of an expression, for messages."""
    names = {"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE"}
    if node["class"] == "FUNCTION":
        name = str(node["function_name"])
        return names.get(name, f"'{name}'")
    if node["class"] == "SUBQUERY":
        return "a subquery"
    if node["class"] == "STAR":
        return "SELECT *"
    return f"{node['class']}".replace("_", " ").lower() + " expressions"


# ------------------------------------------------------------------------------------- conjunctions


def as_conjunction(expression: Expression | None) -> dict[str, Conditions] | None:
    """Return conditions by column of which all have to hold, or None if it takes more than that."""
    found: dict[str, Conditions] = {}
    for part in _operands(expression):
        single = _single(part)
        if single is None:
            return None
        column, condition = single
        found[column] = (*found.get(column, ()), condition)
    return found


def _operands(expression: Expression | None) -> list[Expression]:
    """The expressions joined by AND."""
    if expression is None:
        return []
    if isinstance(expression, Connected) and not expression.decisive:
        return [one for operand in expression.operands for one in _operands(operand)]
    return [expression]


def _single(part: Expression) -> tuple[str, Condition] | None:
    """The condition on one column that an expression is, if it is one."""
    match part:
        case Test(column, condition):
            return column, condition
        case IsNull(Reference(column)):
            return column, Condition(known=False, missing=True)
        case Not(IsNull(Reference(column))):
            return column, Condition()
        case Not(Test(column, condition)):
            negated = _negation(condition)
            return None if negated is None else (column, negated)
        case Connected(operands, True):
            return _listed(operands)
    return None


def _negation(condition: Condition) -> Condition | None:
    """The negation for known values, if one condition says it."""
    if condition.values is not None:
        return Condition(excluded=condition.values)
    if condition.excluded:
        return Condition(values=condition.excluded)
    if condition.low is not None and condition.high is not None:
        return None
    return Condition(
        low=condition.high,
        high=condition.low,
        low_open=not condition.high_open,
        high_open=not condition.low_open,
    )


def _listed(operands: tuple[Expression, ...]) -> tuple[str, Condition] | None:
    """Alternatives that list values of one column, or that it is missing."""
    columns: set[str] = set()
    values: list[Any] = []
    missing, known = False, False
    for operand in operands:
        match operand:
            case Test(column, Condition(values=tuple(listed))):
                columns.add(column)
                values += listed
                known = True
            case IsNull(Reference(column)):
                columns.add(column)
                missing = True
            case _:
                return None
    if len(columns) > 1:
        return None
    return columns.pop(), Condition(values=tuple(values), known=known, missing=missing)
