"""Calls in R scripts, read literally: nothing is evaluated.

What is understood are names, texts, numbers, ``TRUE``, ``FALSE``, ``NULL``, ``c(…)`` of these, and
variables that were assigned one of them before. Everything else has no value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Call", "Script", "parse_script"]

Literal = tuple[str | float | bool, ...]  # NULL is empty
_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?L?)
      | (?P<name>(?:[^\W\d]|\.)[\w.]*|`[^`\n]*`)
      | (?P<assign><-|<<-)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_OPENING, _CLOSING = "([{", ")]}"
_WORDS: dict[str, Literal] = {
    "NULL": (),
    "TRUE": (True,),
    "FALSE": (False,),
    "T": (True,),
    "F": (False,),
}
_MOST_DIGITS = 30


class _Token(NamedTuple):
    sort: str  # text, number, name, assign or other
    text: str


@dataclass(frozen=True)
class Call:
    """A call of a function with its arguments as they stand there."""

    function: str
    positional: tuple[Literal | None, ...]  # None: not a literal
    named: dict[str, Literal | None]
    variable: str | None  # to which the result is assigned
    first: str | None = None  # the name of a variable given as the first argument


@dataclass(frozen=True)
class Script:
    """The calls of a script, in its order."""

    calls: tuple[Call, ...]

    def of(self, *functions: str) -> Iterator[Call]:
        """Yield the calls of some functions.

        Parameters
        ----------
        *functions : str
            Their names.

        Yields
        ------
        Call
            In the order of the script.
        """
        return (call for call in self.calls if call.function in functions)


def parse_script(text: str) -> Script:
    """Find the calls of a script and their literal arguments.

    Parameters
    ----------
    text : str
        The script.

    Returns
    -------
    Script
        Its calls.

    Examples
    --------
    >>> script = parse_script('keys <- c("age", "sex")\\nobj <- f(data, keyVars = keys, k = 3)')
    >>> next(script.of("f")).named
    {'keyVars': ('age', 'sex'), 'k': (3.0,)}
    """
    tokens = list(_tokens(text))
    ends = _ends(tokens)
    known: dict[str, Literal] = {}
    calls = []
    for place, token in enumerate(tokens):
        if token.sort != "name":
            continue
        follows = tokens[place + 1].text if place + 1 < len(tokens) else ""
        if follows in ("<-", "<<-", "=") and (
            place == 0 or tokens[place - 1].text not in ("(", ",")
        ):
            value = _literal(tokens, place + 2, ends, known)
            if value is not None:
                known[_bare(token.text)] = value
            else:
                known.pop(_bare(token.text), None)
        elif follows == "(" and place + 1 in ends:
            before = tokens[max(place - 2, 0) : place]
            assigned = len(before) == 2 and before[1].text in ("<-", "<<-", "=")
            variable = _bare(before[0].text) if assigned and before[0].sort == "name" else None
            calls.append(_call(tokens, place, ends, known, variable))
    return Script(tuple(calls))


def _tokens(text: str) -> Iterator[_Token]:
    for found in _TOKEN.finditer(text):
        if found.lastgroup != "space":
            yield _Token(str(found.lastgroup), found[0])


def _ends(tokens: Sequence[_Token]) -> dict[int, int]:
    """By the place of an opening bracket: the place of the bracket that closes it."""
    opened: list[int] = []
    ends = {}
    for place, token in enumerate(tokens):
        if token.sort == "other" and token.text in _OPENING:
            opened.append(place)
        elif token.sort == "other" and token.text in _CLOSING and opened:
            ends[opened.pop()] = place
    return ends


def _call(
    tokens: Sequence[_Token],
    place: int,
    ends: dict[int, int],
    known: dict[str, Literal],
    variable: str | None,
) -> Call:
    positional: list[Literal | None] = []
    named: dict[str, Literal | None] = {}
    first = None
    for begin, end in _arguments(tokens, place + 1, ends):
        has_name = (
            end - begin > 2 and tokens[begin].sort == "name" and tokens[begin + 1].text == "="
        )
        if has_name:
            value = _whole_literal(tokens, begin + 2, end, ends, known)
            named[_bare(tokens[begin].text)] = value
        else:
            positional.append(_whole_literal(tokens, begin, end, ends, known))
        if first is None and end - begin == (3 if has_name else 1):
            first = _bare(tokens[end - 1].text) if tokens[end - 1].sort == "name" else None
    return Call(_bare(tokens[place].text), tuple(positional), named, variable, first)


def _arguments(
    tokens: Sequence[_Token], opening: int, ends: dict[int, int]
) -> Iterator[tuple[int, int]]:
    """Where the arguments of a call begin and end."""
    begin = place = opening + 1
    while place < ends[opening]:
        if tokens[place].text == "," and tokens[place].sort == "other":
            yield begin, place
            begin = place + 1
        place = ends.get(place, place) + 1
    if begin < ends[opening]:
        yield begin, ends[opening]


def _whole_literal(
    tokens: Sequence[_Token], begin: int, end: int, ends: dict[int, int], known: dict[str, Literal]
) -> Literal | None:
    """The literal that takes all of an argument."""
    is_vector = end - begin > 2 and tokens[begin].text == "c" and ends.get(begin + 1) == end - 1
    return _literal(tokens, begin, ends, known) if is_vector or end - begin == 1 else None


def _literal(
    tokens: Sequence[_Token], place: int, ends: dict[int, int], known: dict[str, Literal]
) -> Literal | None:
    """The literal that begins at a place."""
    if place >= len(tokens):
        return None
    token = tokens[place]
    if token.text == "c" and place + 1 in ends:
        values: list[str | float | bool] = []
        for begin, end in _arguments(tokens, place + 1, ends):
            named = end - begin == 3 and tokens[begin + 1].text == "="
            if end - begin != (3 if named else 1):  # vectors within vectors are not read
                return None
            one = _literal(tokens, end - 1, ends, known)
            if one is None:
                return None
            values += one
        return tuple(values)
    if token.sort == "text":
        return (re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL),)
    if token.sort == "number" and len(token.text) <= _MOST_DIGITS:
        return (float(token.text.rstrip("L")),)
    if token.sort == "name":
        return _WORDS.get(token.text, known.get(_bare(token.text)))
    return None


def _bare(name: str) -> str:
    return name.strip("`")
