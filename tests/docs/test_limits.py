"""The page of limits states those that the code has."""

from __future__ import annotations

import re

import pytest
from paths import DOCS

from mottle.evaluation.calibration import MOST_COLUMNS
from mottle.evaluation.k_to_the_m import MOST_COMBINATIONS
from mottle.evaluation.query_accuracy import MOST_QUERIED_ROWS
from mottle.hierarchy.builders import MOST_SIMILAR
from mottle.inspection.explain import MOST_PREVIEWED_ROWS
from mottle.schema.context import MOST_TEXTS
from mottle.schema.rules import MOST_COMPARISONS, MOST_RULES, MOST_VALUES


@pytest.mark.parametrize(
    ("row", "numbers"),
    [
        ("rules in mottle.toml", [MOST_RULES, MOST_COMPARISONS, MOST_VALUES]),
        ("texts of an entry", [MOST_TEXTS]),
        ("hierarchies built by similar names", [MOST_SIMILAR]),
        ("k^m-anonymity", [MOST_COMBINATIONS]),
        ("calibrated errors", [MOST_COLUMNS]),
        ("loss and questions on the report", [MOST_QUERIED_ROWS]),
        ("previews of `mottle explain`", [MOST_PREVIEWED_ROWS]),
    ],
)
def test_limits_are_those_of_the_code(row: str, numbers: list[int]) -> None:
    (line,) = [
        line for line in (DOCS / "limits.md").read_text("utf-8").splitlines() if f"| {row}" in line
    ]
    stated = re.findall(r"\d[\d,]*\d|\d", line.split("|")[2])
    assert [f"{number:,}" for number in numbers] == stated[: len(numbers)]
