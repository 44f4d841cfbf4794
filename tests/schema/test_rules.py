"""Rules are parsed with limits, and errors name the rule and the place."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from mottle import Schema
from mottle.errors import SchemaError
from mottle.schema.rules import Comparison, Operator, Rule


def rule(text: str) -> Rule:
    return Rule(name="r", text=text)


def test_every_comparison_is_understood() -> None:
    text = (
        "if age <= 15 and (\"marital status\" is not missing or `a``b` != 2.5) or x in ('it''s', 3)"
        " then size between 1 and 2 and job is not 'none' and ok = true and y not in (-1)"
    )
    assert rule(text).comparisons == (
        Comparison("age", Operator.UP_TO, (15,)),
        Comparison("marital status", Operator.KNOWN),
        Comparison("a`b", Operator.NOT_IN, (Decimal("2.5"),)),
        Comparison("x", Operator.IN, ("it's", 3)),
        Comparison("size", Operator.FROM, (1,)),
        Comparison("size", Operator.UP_TO, (2,)),
        Comparison("job", Operator.NOT_IN, ("none",)),
        Comparison("ok", Operator.IN, (True,)),
        Comparison("y", Operator.NOT_IN, (-1,)),
    )


def test_and_binds_more_closely_than_or() -> None:
    truths = [np.array(list(map(bool, column))) for column in np.ndindex(2, 2, 2)]
    a, b, c = np.array(truths).T
    assert np.array_equal(rule("a = 1 or b = 1 and c = 1").truth([a, b, c]), a | (b & c))
    assert np.array_equal(rule("(a = 1 or b = 1) and c = 1").truth([a, b, c]), (a | b) & c)
    assert np.array_equal(rule("if a = 1 then b = 1 or c = 1").truth([a, b, c]), ~a | b | c)


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("if age < 15", 12, "'then'"),
        ("age <", 6, "number or a text"),
        ("age < 15 then", 10, "should end"),
        ("15 < age", 1, "column"),
        ("age = $x", 7, "not understood"),
        ("age is 'a", 8, "not understood"),
        ("age < true", 7, "no order"),
        ("not age = 1", 1, "column"),
        ("age in ()", 9, "number or a text"),
        ("age like 'x'", 5, "comparison"),
        ("age = __import__('os')", 7, "number or a text"),
        ("(" * 21 + "a = 1" + ")" * 21, 22, "parentheses"),
        (" and ".join(["a = 1"] * 51), 506, "comparisons"),
        (f"a in ({', '.join(['1'] * 201)})", 607, "list"),
        (f"a = {'9' * 41}", 5, "too long"),
    ],
)
def test_errors_name_the_rule_and_the_place(text: str, place: int, problem: str) -> None:
    with pytest.raises(SchemaError, match=rf"rule 'r', character {place}: .*{problem}"):
        Schema.of(quasi_identifying=["age"], rules={"r": text})


def test_rules_are_read_from_and_written_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mottle.toml"
    text = "if \"a b\" < 15 then job is 'none'"
    Schema.of(quasi_identifying=["a b", "job"], rules={"the young": text}).write(path)
    again = Schema.read(path)
    assert [(one.name, one.text) for one in again.rules] == [("the young", text)]
    assert again.covering(["a b", "job"]).rules == again.rules
    with pytest.raises(SchemaError, match="names column 'job', which the table does not have"):
        Schema.of(quasi_identifying=["a"], rules={"r": "job = 1"}).covering(["a"])
    path.write_text("[rules]\nr = 5\n[columns.a]\nrole = 'quasi-identifying'\n")
    with pytest.raises(SchemaError, match="table of texts"):
        Schema.read(path)


def test_there_are_at_most_a_hundred_rules_of_limited_length() -> None:
    with pytest.raises(SchemaError, match="more than 100 rules"):
        Schema.of(quasi_identifying=["a"], rules={str(n): "a = 1" for n in range(101)})
    with pytest.raises(SchemaError, match="characters"):
        Schema.of(quasi_identifying=["a"], rules={"r": f"a = '{'x' * 2000}'"})
