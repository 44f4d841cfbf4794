"""Edit rules: statements about the values of a row that hold in every row of a table.

A rule is text in a small language, the table ``[rules]`` of mottle.toml:

    children = "if age < 15 then occupation is 'not in work'"
    pupils = "if school is not missing then age between 5 and 25"

A comparison names one column and what its value is compared with: ``<  <=  >  >=  =  !=``, ``is``
and ``is not`` a value, ``is missing``, ``in (…)``, ``not in (…)``, ``between … and …``. Comparisons
are combined by ``and``, ``or`` and parentheses. A missing value satisfies ``is missing`` and no
other comparison. Texts and dates stand in single quotes, names of columns that are not plain words
in double quotes or backquotes.

Rules are also part of what is published, so a release that was received may hold some: they are
parsed with limits, and nothing in them is executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from mottle.errors import SchemaError, did_you_mean
from mottle.typing import BoolArray

MOST_RULES = 100
LONGEST_RULE = 2000  # characters
MOST_COMPARISONS = 50  # in one rule
MOST_VALUES = 200  # in one list
_DEEPEST = 20  # parentheses inside each other
_LONGEST_NUMBER = 40  # characters

# Steps of a program other than the place of a comparison.
AND, OR, NOT = -1, -2, -3


class Operator(StrEnum):
    """How a value is compared."""

    BELOW = "<"
    UP_TO = "<="
    ABOVE = ">"
    FROM = ">="
    IN = "in"
    NOT_IN = "not in"
    MISSING = "is missing"
    KNOWN = "is not missing"


@dataclass(frozen=True)
class Comparison:
    """A comparison of one column's value with values."""

    column: str
    operator: Operator
    values: tuple[int | Decimal | str | bool, ...] = ()


class Parsed(NamedTuple):
    """A rule as comparisons and a program in postfix order."""

    comparisons: tuple[Comparison, ...]
    program: tuple[int, ...]  # the place of a comparison, `AND`, `OR` or `NOT`


class Rule(BaseModel):
    """A named rule that every row of a table obeys.

    Parameters
    ----------
    name : str
        Its key in ``[rules]``.
    text : str
        What it says.

    Raises
    ------
    pydantic.ValidationError
        The text is not a rule; the message names the rule and the character.

    Examples
    --------
    >>> rule = Rule(name="children", text="if age < 15 then occupation is 'not in work'")
    >>> rule.columns
    ('age', 'occupation')
    >>> rule.program  # not (comparison 0), or comparison 1
    (0, -3, 1, -2)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=100)
    text: str = Field(min_length=1, max_length=LONGEST_RULE)
    _parsed: Parsed = PrivateAttr()

    @model_validator(mode="after")
    def _parse(self) -> Rule:
        if not self.name.isprintable():
            raise ValueError("the name of a rule has characters that cannot be shown")
        self._parsed = _Parser(self.name, self.text).parse()
        return self

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The comparisons, in the order of the text."""
        return self._parsed.comparisons

    @property
    def program(self) -> tuple[int, ...]:
        """How the comparisons are combined, in postfix order."""
        return self._parsed.program

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names."""
        return tuple(dict.fromkeys(one.column for one in self.comparisons))

    def truth(self, comparisons: Sequence[BoolArray]) -> BoolArray:
        """Combine the truth of the comparisons to that of the rule.

        Parameters
        ----------
        comparisons : sequence of bool array
            By comparison: in which rows it is true.

        Returns
        -------
        bool array
            In which rows the rule is true.

        Examples
        --------
        >>> rule = Rule(name="r", text="if a = 1 then b = 1")
        >>> rule.truth([np.array([True, True, False]), np.array([True, False, False])])
        array([ True, False,  True])
        """
        stack: list[BoolArray] = []
        for step in self.program:
            if step >= 0:
                stack.append(np.asarray(comparisons[step], np.bool_))
            elif step == NOT:
                stack.append(~stack.pop())
            else:
                last, before = stack.pop(), stack.pop()
                stack.append(before & last if step == AND else before | last)
        return stack[0]


def rules_of_toml(content: object, source: str) -> tuple[Rule, ...]:
    """Check the table ``[rules]`` of a mottle.toml.

    Parameters
    ----------
    content : object
        What stands there.
    source : str
        The file, for messages.

    Returns
    -------
    tuple of Rule
        In the order of the file.

    Raises
    ------
    SchemaError
        It is no table of texts, or one of them is not a rule.
    """
    if not isinstance(content, Mapping) or not all(isinstance(t, str) for t in content.values()):
        raise SchemaError(
            f"In {source}, rules are given as a table of texts.",
            "Write [rules] and below it children = \"if age < 15 then job is 'none'\".",
        )
    try:
        return rules_of(content)
    except ValueError as error:
        text = str(error).rstrip(".")
        raise SchemaError(f"In {source}, [rules]: {text}.") from None


def rules_of(texts: Mapping[str, str]) -> tuple[Rule, ...]:
    """Parse rules by name; ValueError names the rule and its place."""
    if len(texts) > MOST_RULES:
        raise ValueError(f"there are more than {MOST_RULES} rules")
    for name, text in texts.items():
        if not 0 < len(name) <= 100 or not name.isprintable():
            raise ValueError("the name of a rule has between 1 and 100 characters, all printable")
        if not 0 < len(text) <= LONGEST_RULE:
            raise ValueError(f"rule '{name}' has no text, or more than {LONGEST_RULE:,} characters")
        _Parser(name, text).parse()
    return tuple(Rule(name=name, text=text) for name, text in texts.items())


def check_columns(rules: Sequence[Rule], names: Sequence[str]) -> None:
    """Raise a `SchemaError` if a rule names a column that the table does not have."""
    for rule in rules:
        for column in rule.columns:
            if column not in names:
                raise SchemaError(
                    f"Rule '{rule.name}' names column '{column}', which the table does not have.",
                    did_you_mean(column, names),
                )


_TOKEN = re.compile(
    r"""\s*(?:(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?(?![\w.]))
    |'(?P<text>(?:[^']|'')*)'
    |"(?P<quoted>(?:[^"]|"")+)"
    |`(?P<backquoted>(?:[^`]|``)+)`
    |(?P<word>[^\W\d][\w.-]*)
    |(?P<sign><=|>=|<>|!=|==|[<>=(),])
    |(?P<end>$))""",
    re.VERBOSE,
)
_KEYWORDS = frozenset({"if", "then", "and", "or", "not", "in", "is", "missing", "between"})
_SIGNS = {
    "<": Operator.BELOW,
    "<=": Operator.UP_TO,
    ">": Operator.ABOVE,
    ">=": Operator.FROM,
    "=": Operator.IN,
    "==": Operator.IN,
    "!=": Operator.NOT_IN,
    "<>": Operator.NOT_IN,
}


class _Token(NamedTuple):
    """A word of a rule: its sort, its value, and its first character, counted from 1."""

    sort: str  # number, text, name, key, sign or end
    value: Any
    place: int


class _Parser:
    """Recursive descent over one rule; every error names the rule and the character."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.tokens = list(self._tokens(text))
        self.at = 0
        self.comparisons: list[Comparison] = []
        self.program: list[int] = []

    def parse(self) -> Parsed:
        if self._take("if"):
            self._either(0)
            self.program.append(NOT)
            if not self._take("then"):
                raise self._error("'then' is expected")
            self._either(0)
            self.program.append(OR)
        else:
            self._either(0)
        if self._now.sort != "end":
            raise self._error("the rule should end")
        return Parsed(tuple(self.comparisons), tuple(self.program))

    def _tokens(self, text: str) -> Iterator[_Token]:
        at = 0
        while True:
            found = _TOKEN.match(text, at)
            if found is None:
                place = at + len(text[at:]) - len(text[at:].lstrip()) + 1
                raise ValueError(f"rule '{self.name}', character {place}: this is not understood")
            sort, place = str(found.lastgroup), found.start(str(found.lastgroup)) + 1
            value: Any = found[sort]
            if sort == "number":
                if len(value) > _LONGEST_NUMBER:
                    raise ValueError(
                        f"rule '{self.name}', character {place}: the number is too long"
                    )
                number = Decimal(value)
                whole = abs(number) < 2**63 and number == number.to_integral_value()
                value = int(number) if whole else number
            elif sort == "text":
                value = value.replace("''", "'")
            elif sort in ("quoted", "backquoted"):
                mark = '"' if sort == "quoted" else "`"
                sort, value = "name", value.replace(2 * mark, mark)
            elif sort == "word":
                sort = "key" if value.lower() in _KEYWORDS else "name"
                value = value.lower() if sort == "key" else value
            yield _Token(sort, value, place)
            if sort == "end":
                return
            at = found.end()

    @property
    def _now(self) -> _Token:
        return self.tokens[self.at]

    def _error(self, problem: str) -> ValueError:
        return ValueError(f"rule '{self.name}', character {self._now.place}: {problem}")

    def _take(self, word: str) -> bool:
        """Step over a keyword or sign if it comes next."""
        if self._now.sort in ("key", "sign") and self._now.value == word:
            self.at += 1
            return True
        return False

    def _either(self, depth: int) -> None:
        self._all(depth)
        while self._take("or"):
            self._all(depth)
            self.program.append(OR)

    def _all(self, depth: int) -> None:
        self._one(depth)
        while self._take("and"):
            self._one(depth)
            self.program.append(AND)

    def _one(self, depth: int) -> None:
        if self._take("("):
            if depth >= _DEEPEST:
                raise self._error(f"more than {_DEEPEST} parentheses stand inside each other")
            self._either(depth + 1)
            if not self._take(")"):
                raise self._error("')' is expected")
            return
        if self._now.sort != "name":
            raise self._error("a column is expected (quote names that are no plain words)")
        column = str(self._now.value)
        self.at += 1
        self._comparison(column)

    def _comparison(self, column: str) -> None:
        if self._take("is"):
            negated = self._take("not")
            if self._take("missing"):
                self._add(column, Operator.KNOWN if negated else Operator.MISSING)
            else:
                operator = Operator.NOT_IN if negated else Operator.IN
                self._add(column, operator, self._value())
        elif self._take("between"):
            self._add(column, Operator.FROM, self._ordered())
            if not self._take("and"):
                raise self._error("'and' is expected")
            self._add(column, Operator.UP_TO, self._ordered())
            self.program.append(AND)
        elif self._take("in"):
            self._add(column, Operator.IN, *self._values())
        elif self._take("not"):
            if not self._take("in"):
                raise self._error("'in' is expected")
            self._add(column, Operator.NOT_IN, *self._values())
        elif self._now.sort == "sign" and self._now.value in _SIGNS:
            operator = _SIGNS[self._now.value]
            self.at += 1
            among = operator in (Operator.IN, Operator.NOT_IN)
            self._add(column, operator, self._value() if among else self._ordered())
        else:
            raise self._error("a comparison is expected, such as <, is, in or between")

    def _add(self, column: str, operator: Operator, *values: Any) -> None:
        if len(self.comparisons) >= MOST_COMPARISONS:
            raise self._error(f"the rule has more than {MOST_COMPARISONS} comparisons")
        self.program.append(len(self.comparisons))
        self.comparisons.append(Comparison(column, operator, tuple(values)))

    def _value(self) -> Any:
        token = self._now
        if token.sort in ("number", "text"):
            self.at += 1
            return token.value
        if token.sort == "name" and token.value in ("true", "false"):
            self.at += 1
            return token.value == "true"
        raise self._error("a number or a text in single quotes is expected")

    def _ordered(self) -> Any:
        """A value that others can be below or above."""
        value = self._value()
        if isinstance(value, bool):
            self.at -= 1
            raise self._error("true and false have no order")
        return value

    def _values(self) -> list[Any]:
        if not self._take("("):
            raise self._error("'(' is expected")
        values = [self._value()]
        while self._take(","):
            if len(values) >= MOST_VALUES:
                raise self._error(f"the list has more than {MOST_VALUES} values")
            values.append(self._value())
        if not self._take(")"):
            raise self._error("')' is expected")
        return values
