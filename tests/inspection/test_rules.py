"""Inspect proposes rules that hold without exception, and few of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mottle import Schema
from mottle.inspection.profile import Profile
from mottle.inspection.rules import MOST_PROPOSED, propose_rules


def proposed(table: pa.Table) -> list[str]:
    profiles = [Profile.of(name, table.column(name)) for name in table.column_names]
    return [rule.text for rule in propose_rules(table, [p for p in profiles if p is not None])]


def people(exceptions: int = 0) -> pa.Table:
    random = np.random.default_rng(1)
    age = random.integers(0, 80, 2000)
    work = np.where(age < 16, "none", random.choice(["none", "shop", "sea"], 2000))
    work[np.flatnonzero(age < 16)[:exceptions]] = "sea"
    return pa.table(
        {
            "age": age,
            "work": work,
            "ship's name": pa.array(["A'dam"] * 2000, mask=work != "sea"),
            "coin": random.choice(["heads", "tails"], 2000),
        }
    )


def test_rules_that_hold_are_proposed_and_those_with_an_exception_are_not() -> None:
    found = proposed(people())
    assert "if age < 16 then work is 'none'" in found
    assert "if \"ship's name\" is 'A''dam' then work is 'sea'" in found
    assert 'if age < 16 then "ship\'s name" is missing' in found
    assert len(found) <= MOST_PROPOSED
    assert not any("coin" in text for text in found)
    assert "if age < 16 then work is 'none'" not in proposed(people(exceptions=1))
    rules = {str(number): text for number, text in enumerate(found)}
    assert len(Schema.of(quasi_identifying=["age"], rules=rules).rules) == len(found)


def test_nothing_is_proposed_that_single_columns_or_few_rows_imply() -> None:
    random = np.random.default_rng(1)
    table = pa.table(
        {
            "constant": ["x"] * 500,
            "number": random.integers(0, 5, 500),
            "rare": ["once"] + ["often", "usual"] * 249 + ["often"],
        }
    )
    assert proposed(table) == []
