"""What columns say about others: found where it is there, and not where there is only chance."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from mottle.utils import dependence
from mottle.utils.dependence import ColumnCodes, coded, is_single, leave_one_out, measure_dependence

ROWS = 1500


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random = np.random.default_rng(5)
    age = random.integers(18, 90, ROWS)
    day = (2026 - age) * 365 - random.integers(0, 365, ROWS)
    city = random.integers(0, 200, ROWS)
    return pa.table(
        {
            "age": age,
            "region": [f"r{number % 12}" for number in city],
            "birth_year": 2026 - age,
            "birth_day": pa.array(day).cast(pa.int32()).cast(pa.date32()),
            "city": [f"c{number}" for number in city],
            "noise": random.random(ROWS),
            "code": [f"x{number}" for number in random.integers(0, 700, ROWS)],
            "coin": random.integers(0, 2, ROWS).astype(bool),
            "items": [["a"]] * ROWS,
        }
    )


@pytest.mark.parametrize(
    ("by", "of", "strong"),
    [
        ("birth_year", "age", True),
        ("birth_day", "age", True),  # nearly all values are different
        ("city", "region", True),  # many values without an order
        ("noise", "age", False),
        ("noise", "region", False),
        ("code", "age", False),
        ("code", "region", False),
        ("coin", "age", False),
        ("birth_year", "region", False),
        ("city", "age", False),
    ],
)
def test_strong_dependence_is_told_from_chance(
    table: pa.Table, by: str, of: str, strong: bool
) -> None:
    ((found,),) = (one.determines for one in measure_dependence(table, [by], [of], []).single)
    assert found.is_strong is strong
    assert found.information is not None
    if strong:
        assert found.right > found.by_chance + 0.3
    else:
        assert found.skill < 0.1
        assert found.information < 0.1


def test_function_tells_everything_and_shuffled_columns_nothing(table: pa.Table) -> None:
    (found,) = measure_dependence(table, ["birth_year"], ["age"], []).single[0].determines
    assert found.right == 1.0
    assert found.information > 0.9  # both are coarse, by quantiles that need not agree
    one, other = coded(table["birth_year"]), coded(table["age"])
    assert one is not None
    assert other is not None
    shuffled = ColumnCodes(np.random.default_rng(9).permutation(one.codes), one.size, one.ordered)
    assert dependence.information(shuffled.coarse(), other.coarse()) < 0.02


def test_columns_that_each_say_a_half_say_everything_together() -> None:
    random = np.random.default_rng(2)
    one, two = random.integers(0, 8, 3000), random.integers(0, 8, 3000)
    place = 8 * one + two
    table = pa.table({"place": pa.array(place), "one": pa.array(one), "two": pa.array(two)})
    found = measure_dependence(table, ["one", "two"], ["place"], ["one", "two"])
    assert all(not each.determines[0].skill > 0.2 for each in found.single)
    assert found.together is not None
    assert found.together.determines[0].right > 0.95
    assert found.together.determines[0].is_strong


def test_rows_are_singled_out_alone_and_together(table: pa.Table) -> None:
    found = measure_dependence(table, ["noise", "coin", "code"], ["age"], ["noise", "coin"])
    shares = {one.columns[0]: one.singles_out for one in found.single}
    assert (shares["noise"], shares["coin"]) == (1.0, 0.0)
    pairs = table.select(["coin", "code"]).to_pylist()
    expected = [pairs.count(pair) == 1 for pair in pairs]
    columns = [coded(table[name]) for name in ("coin", "code")]
    assert is_single([column for column in columns if column]).tolist() == expected
    assert found.together is not None
    assert found.together.singles_out == 1.0
    assert found.together.columns == ("noise", "coin", "code")


def test_large_tables_are_sampled_for_dependence_but_not_for_single_rows(
    table: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dependence, "MOST_ROWS", 700)
    found = measure_dependence(table, ["birth_year", "code"], ["age"], [])
    assert (found.rows, found.examined) == (ROWS, 700)
    counts = np.unique(np.array(table["code"].to_pylist()), return_counts=True)[1]
    assert found.single[1].singles_out == pytest.approx((counts == 1).sum() / ROWS)
    assert found.single[0].determines[0].is_strong
    assert measure_dependence(table, ["birth_year", "code"], ["age"], []) == found


def test_lists_are_left_out_and_missing_is_a_value(table: pa.Table) -> None:
    found = measure_dependence(table, ["items", "coin"], ["age", "items"], ["coin"])
    assert [one.columns for one in found.single] == [("coin",)]
    assert found.together is None
    codes = coded(pa.chunked_array([[0.0, -0.0, None], [math.nan, 1.5, 0.0]]))
    assert codes is not None
    assert codes.codes.tolist() == [0, 0, 2, 2, 1, 0]
    assert codes.size == 3
    constant = pa.table({"a": pa.nulls(9), "b": [1] * 9})
    assert measure_dependence(constant, ["a"], ["b"], []).single[0].singles_out == 0


def test_guess_is_made_without_the_own_row() -> None:
    everybody_alone = leave_one_out(np.arange(6), np.array([1, 1, 1, 2, 3, 4]))
    assert everybody_alone.tolist() == [1, 1, 1, 0, 0, 0]
    pairs = leave_one_out(np.array([7, 7, 9, 9]), np.array([1, 1, 2, 3]))
    assert pairs.tolist() == [1, 1, 0, 0]
