"""Classic measures: hand-worked examples, odd tables, and pycanon's numbers where it is right."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mottle
from mottle import DataError, SchemaError, UsageError
from mottle.audit.adversaries.classic import measure_classes, recursive_c
from mottle.audit.sensitive.shares import DISTANCE, measure_groups, reference_distribution

# Li, Li, Venkatasubramanian (ICDE 2007): nine people in three classes; salaries in thousands.
LI = pa.table(
    {
        "zip": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
        "age": ["2*"] * 3 + [">=40"] * 3 + ["3*"] * 3,
        "salary": [3, 4, 5, 6, 11, 8, 7, 9, 10],
        "disease": [
            "gastric ulcer",
            "gastritis",
            "stomach cancer",
            "gastritis",
            "flu",
            "bronchitis",
            "bronchitis",
            "pneumonia",
            "stomach cancer",
        ],
    }
)


def test_the_example_of_t_closeness():
    """Their §5.1, by ordered distance: {3, 4, 5} lies 0.375 from all, {6, 8, 11} lies 0.167."""
    found = measure_classes(LI, ["zip", "age"], ["salary"])
    assert (found.k, found.classes, found.unique) == (3, 3, 0)
    (salary,) = found.sensitive
    assert salary.distance == "ordered"
    assert salary.t == pytest.approx(0.375)
    codes = (LI.column("salary").to_numpy() - 3).astype(np.int32)
    values = reference_distribution(np.ones(9, np.int64), np.ones(9), True)
    measured = measure_groups(np.repeat([0, 1, 2], 3), codes, values)
    assert measured[:2, DISTANCE] == pytest.approx([0.375, 1 / 6])


def test_hand_worked_measures_of_two_classes():
    table = pa.table({"q": [1] * 4 + [2] * 4, "s": list("aabc") + list("aaaa")})
    found = measure_classes(table, ["q"], ["s"])
    (s,) = found.sensitive
    assert (found.k, found.classes) == (4, 2)
    assert s.alpha == 1
    assert s.distinct_l == 1
    assert s.entropy_l == pytest.approx(1)
    # overall a 3/4, b 1/8, c 1/8; in the first class a 1/2, b 1/4, c 1/4
    assert s.t == pytest.approx(1 / 4)
    assert s.beta == pytest.approx(1)
    assert s.enhanced_beta == math.inf  # a grows by 1/3, and -ln(3/4) is 0.288
    assert s.delta == math.inf  # the second class lacks b and c
    assert s.delta_of_present_values == pytest.approx(math.log(2))


def test_recursive_diversity_is_bound_by_the_largest_count_over_the_tail():
    groups = np.zeros(8, np.int64)
    counts = np.repeat([0, 1, 2], [5, 2, 1])
    assert recursive_c(groups, counts, 1) == 5 / 8
    assert recursive_c(groups, counts, 2) == 5 / 3
    assert recursive_c(groups, counts, 3) == 5
    assert recursive_c(groups, counts, 4) == math.inf
    two = np.repeat([0, 1], [4, 4])
    assert recursive_c(two, np.array([0, 0, 1, 2, 0, 0, 0, 1]), 2) == 3  # the worse of 2/2 and 3/1


def test_entropy_is_not_cut_off():
    table = pa.table({"q": [1] * 3, "s": ["a", "b", "c"]})
    assert measure_classes(table, ["q"], ["s"]).sensitive[0].entropy_l == pytest.approx(3)


# Numbers computed by pycanon 1.3.5 on tables it treats rightly (benchmarks/classic.py).
ROWS = pa.table(
    {
        "zip": ["1*"] * 3 + ["2*"] * 3,
        "age": [30] * 3 + [40] * 3,
        "ill": ["flu", "cold", "gout", "flu", "flu", "cold"],
        "pay": [1, 2, 3, 1, 1, 4],
    }
)


@pytest.mark.parametrize(("sensitive", "t"), [("ill", 0.16666666666666669), ("pay", 0.1111111111)])
def test_agreement_with_pycanon_where_it_is_right(sensitive, t):
    found = measure_classes(ROWS, ["zip", "age"], [sensitive])
    (spread,) = found.sensitive
    assert found.k == 3
    assert spread.alpha == pytest.approx(0.6666666666666666)
    assert spread.distinct_l == 2
    assert math.floor(spread.entropy_l) == 1
    assert spread.t == pytest.approx(t)
    assert spread.beta == pytest.approx(1.0)
    assert spread.enhanced_beta == pytest.approx(1.0)
    assert spread.delta_of_present_values == pytest.approx(0.6931471805599453)


# ------------------------------------------------------------------------------------ odd tables


def test_missing_values_are_a_value_of_their_own_on_both_sides():
    table = pa.table({"q": ["a", "a", None, None, None], "s": ["x", None, None, None, "x"]})
    found = measure_classes(table, ["q"], ["s"])
    assert (found.k, found.classes) == (2, 2)
    (s,) = found.sensitive
    assert s.alpha == pytest.approx(2 / 3)
    assert s.distinct_l == 2
    assert s.t == pytest.approx(0.1)  # overall x 2/5


def test_a_missing_number_is_as_far_from_all_others_as_can_be():
    table = pa.table({"q": [1, 1, 2, 2], "s": [10, 20, 10, None]})
    (s,) = measure_classes(table, ["q"], ["s"]).sensitive
    assert s.distance == "equal"
    assert s.t == pytest.approx(0.25)


def test_nan_is_missing_and_minus_zero_is_zero():
    table = pa.table({"q": [0.0, -0.0, math.nan, None]})
    found = measure_classes(table, ["q"])
    assert (found.k, found.classes) == (2, 2)


@pytest.mark.parametrize("index", [range(10, 16), [5, 0, 3, 1, 4, 2], list("uvwxyz")])
def test_the_index_of_a_data_frame_does_not_matter(index):
    frame = ROWS.to_pandas()
    frame.index = pd.Index(index)
    assert measure_classes(frame, ["zip"], ["ill", "pay"]) == measure_classes(
        ROWS, ["zip"], ["ill", "pay"]
    )


@given(st.permutations(range(6)))
def test_the_order_of_rows_does_not_matter(order):
    assert measure_classes(ROWS.take(order), ["zip"], ["ill", "pay"]) == measure_classes(
        ROWS, ["zip"], ["ill", "pay"]
    )


def test_a_dictionary_is_its_values_and_unused_categories_are_nothing():
    frame = ROWS.to_pandas()
    frame["zip"] = pd.Categorical(frame["zip"], categories=["2*", "3*", "1*"], ordered=True)
    frame["ill"] = frame["ill"].astype("category")
    assert measure_classes(frame, ["zip"], ["ill"]) == measure_classes(ROWS, ["zip"], ["ill"])


def test_a_column_named_twice_counts_once():
    assert measure_classes(ROWS, ["zip", "zip"], ["ill", "ill"]) == measure_classes(
        ROWS, ["zip"], ["ill"]
    )


def test_two_columns_of_one_name_both_count_as_quasi_identifiers():
    twins = pa.Table.from_arrays([ROWS["zip"], ROWS["ill"], ROWS["pay"]], ["q", "s", "q"])
    both = measure_classes(twins, ["q"], ["s"])
    assert both.k == 1
    assert both.classes == measure_classes(ROWS, ["zip", "pay"]).classes
    again = pa.Table.from_arrays([ROWS["zip"], ROWS["ill"], ROWS["ill"]], ["q", "s", "s"])
    with pytest.raises(SchemaError, match="several columns 's'"):
        measure_classes(again, ["q"], ["s"])
    frame = pd.concat([ROWS.to_pandas(), ROWS.to_pandas()[["ill"]]], axis=1)
    with pytest.raises(DataError, match="distinct column names"):
        measure_classes(frame, ["zip"], ["ill"])


def test_a_constant_column_has_no_distance():
    table = pa.table({"q": [1, 1, 2], "s": [7, 7, 7]})
    (s,) = measure_classes(table, ["q"], ["s"]).sensitive
    assert (s.t, s.beta, s.delta) == (0, 0, 0)


def test_no_quasi_identifier_makes_one_class():
    found = measure_classes(ROWS, [], ["ill"])
    assert (found.k, found.classes, found.uniqueness) == (6, 1, 0)


@pytest.mark.parametrize(("known", "sensitive"), [(["zpi"], []), (["zip"], ["il"])])
def test_an_unknown_column_is_named(known, sensitive):
    with pytest.raises(SchemaError, match="Did you mean"):
        measure_classes(ROWS, known, sensitive)
    with pytest.raises(UsageError, match="must be a list"):
        measure_classes(ROWS, "zip", [])


def test_the_adversary_groups_the_release_by_equal_cells(crowd, sound, diverse):
    def classic(release):
        return mottle.audit_release(crowd, release, adversaries=["classic"]).findings[0]

    sizes = diverse.links.graph.sizes
    found = classic(diverse)
    assert found.achieved >= sizes.min()
    assert found.passed is None
    assert found.details["sensitive"][0]["alpha"] <= 1 / 3 + 1e-9
    assert classic(sound).achieved < 5  # overlapping rows need not be equal
