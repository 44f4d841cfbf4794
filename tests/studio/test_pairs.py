"""Associations of pairs of columns before and after."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa

from mottle.studio.pairs import cramers_v, joint_of, pairs_of
from mottle.studio.screens.columns import bars_of


def test_an_association_that_is_lost_is_seen() -> None:
    random = np.random.default_rng(1)
    ages = random.integers(18, 90, 4000)
    table = pa.table(
        {
            "age": ages,
            "old": np.where(ages > 60, "yes", "no"),
            "town": random.choice(["a", "b", None], 4000),
        }
    )
    shuffled = table.set_column(1, "old", table["old"].take(pa.array(random.permutation(4000))))
    same, lost = pairs_of(table, table)[0], pairs_of(table, shuffled)[0]
    assert {same.first, same.second} == {"age", "old"}
    assert same.before == same.after > 0.9
    assert lost.before > 0.9
    assert lost.after < 0.1
    assert cramers_v([1] * 10, list(range(10))) == 0.0


def test_pairs_of_values_are_counted_in_both_tables_by_the_same_ranges() -> None:
    original = pa.table({"age": [*range(1, 30), None], "sex": ["f", "m", None] * 10})
    drawn = pa.table({"age": [1] * 30, "sex": ["f"] * 15 + ["x"] * 15})
    found = joint_of(original, drawn, "age", "sex")
    assert found.first.labels == ("to 5", "to 10", "to 15", "to 19", "to 24", "above 24", "missing")
    assert sorted(found.second.labels) == ["all others", "f", "m", "missing"]
    assert (found.before.sum(), found.after.sum()) == (1, 1)
    where = {label: place for place, label in enumerate(found.second.labels)}
    assert found.after[0, where["f"]] == found.after[0, where["all others"]] == 0.5
    assert found.before[:, where["f"]].sum() == 1 / 3
    few, other = pa.table({"n": [10, 9, 10], "m": [1, 1, 2]}), pa.table({"n": [9], "m": [2]})
    assert joint_of(few, other, "n", "m").first.labels == ("9", "10")  # numbers in their order


def test_dates_and_decimals_are_looked_at_by_ranges_as_numbers_are() -> None:
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=30 * row) for row in range(60)]
    amounts = [Decimal(row) / 4 for row in range(60)]
    table = pa.table(
        {
            "day": days,
            "amount": amounts,
            "time": [dt.datetime.combine(day, dt.time(9)) for day in days],
        }
    )
    found = joint_of(table, table, "day", "amount")
    assert found.first.labels[0] == "to 2020-09-27"
    assert found.second.labels[:2] == ("to 2.25", "to 4.75")
    assert np.count_nonzero(found.before) == len(found.first.labels) == 6  # along the diagonal
    assert len(joint_of(table, table, "time", "day").first.labels) == 6
    for name in table.column_names:
        heights = [height for _, _, height in bars_of(table.column(name))]
        assert len(heights) == 12
        assert max(heights) == 24
