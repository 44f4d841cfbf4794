"""Caps for groups of similar values: what they demand, what they refuse, what they say."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mottle import (
    BetaLikeness,
    GroupCaps,
    GuaranteeError,
    Hierarchy,
    KAnonymity,
    LDiversity,
    Schema,
    UsageError,
    anonymize,
)
from mottle.encoding.sensitive import encode_sensitive

# Level 2 divides the values that occur as level 1 does; on level 3 all are together.
CODES = Hierarchy.from_rows(
    [
        ("I20", "heart", "circulatory", "inner", "*"),
        ("I21", "heart", "circulatory", "inner", "*"),
        ("J10", "lungs", "respiratory", "inner", "*"),
        ("J45", "lungs", "respiratory", "inner", "*"),
        ("S02", "head", "injury", "outer", "*"),
    ]
)
VALUES = ["I20", "I20", "I21", "J10", "J45", "J45", None, None]


def values_of(*words, **options):
    schema = Schema.of(quasi_identifying=[], sensitive=["dx"], **options)
    return encode_sensitive(pa.table({"dx": pa.array(words, pa.string())}), schema)


def test_groups_are_further_attributes_with_caps_of_their_own():
    values = values_of(*VALUES, hierarchies={"dx": CODES})
    demand = (LDiversity(2) & GroupCaps({"dx:1": 0.4})).demand(8, values)
    assert demand.caps.tolist() == [0.5] * 5 + [0.4] * 3  # the missing value is alone
    assert demand.sensitive_codes[:, 1].tolist() == [5, 5, 5, 6, 6, 6, 7, 7]
    assert demand.counts.tolist() == [2, 1, 1, 2, 2, 3, 3, 2]


def test_levels_that_divide_alike_are_one_attribute_with_the_lowest_cap():
    values = values_of(*VALUES, hierarchies={"dx": CODES})
    guarantee = LDiversity(2) & GroupCaps({"dx:1": 0.4, "dx:2": 0.45})
    _, groups = guarantee.attributes(values)
    assert groups.levels == (1, 2)
    assert guarantee.demand(8, values).caps.tolist() == [0.5] * 5 + [0.4] * 3


def test_a_level_on_which_every_value_is_alone_caps_the_values():
    values = values_of("a", "b", "c", groups={"dx": {"one": ["a"], "two": ["b"]}})
    assert values[0].levels == (0, 1)
    assert GroupCaps({"dx": 0.5}).demand(3, values).caps.tolist() == [0.5] * 3


def test_levels_without_a_cap_are_left_out():
    values = values_of(*VALUES, hierarchies={"dx": CODES})
    assert LDiversity(2).demand(8, values).sensitive_codes.shape == (8, 1)
    assert GroupCaps({"dx:1": 0.5}).demand(8, values).sensitive_codes.shape == (8, 2)


def test_values_in_no_group_are_alone():
    (values,) = values_of(*"aabbcd", groups={"dx": {"both": ["a", "b"]}})
    (groups,) = values.groups
    found = values.of_groups(groups)
    assert found.codes.tolist() == [0, 0, 0, 0, 1, 2]
    assert (found.counts.tolist(), found.alone) == ([4, 1, 1], 2)


def test_a_group_that_is_too_frequent_is_refused_without_naming_a_value():
    values = values_of(*VALUES, hierarchies={"dx": CODES})
    with pytest.raises(GuaranteeError) as error:
        GroupCaps({"dx:1": 0.3}).demand(8, values)
    assert error.value.exit_code == 3
    said = str(error.value)
    assert "2 groups of levels 1 and 2 of column 'dx' are too frequent" in said
    assert "smallest feasible group cap is 0.375" in said
    assert not any(word in said for word in ("heart", "lungs", "I20", "J45"))
    assert GroupCaps({"dx:1": 0.375}).demand(8, values).caps[-1] == 0.375


def test_a_level_with_one_group_is_refused():
    values = values_of("I20", "J10", hierarchies={"dx": CODES})
    with pytest.raises(GuaranteeError, match="all values that occur are in one group"):
        GroupCaps({"dx:3": 0.5}).demand(2, values)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({"xd": 0.5}, r"'xd', which is not sensitive.*dx"),
        ({"dx:4": 0.5}, r"no level 4.*1 to 3"),
        ({"dx:0": 0.5}, "no level 0"),
    ],
)
def test_a_cap_on_what_does_not_exist_is_refused(shares, words):
    with pytest.raises(UsageError, match=words):
        GroupCaps(shares).demand(8, values_of(*VALUES, hierarchies={"dx": CODES}))


def test_a_cap_without_groups_names_how_to_give_them():
    with pytest.raises(UsageError, match=r"no groups of similar values.*--hierarchy dx=FILE"):
        (KAnonymity(2) & GroupCaps({"dx": 0.5})).demand(2, values_of("a", "b"))


@pytest.mark.parametrize("shares", [{}, {"dx": 0}, {"dx": 1.5}, {"dx": "x"}, {"dx": True}])
def test_group_caps_are_shares(shares):
    with pytest.raises(UsageError):
        GroupCaps(shares)


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_likeness_bounds_groups_by_the_same_factor(beta):
    """The caps of the values of a group sum up to (1 + β) times the share of the group."""
    values = values_of(*VALUES, hierarchies={"dx": CODES})
    demand = BetaLikeness(beta).demand(8, values)
    groups = values[0].of_groups(values[0].groups[0])
    of_value = values[0].groups[0].group_of
    sums = np.bincount(of_value, weights=demand.caps)
    assert np.all(sums <= (1 + beta) * groups.counts / 8 + 1e-12)


def test_a_method_that_takes_one_attribute_refuses():
    table = pa.table({"age": range(8), "dx": VALUES})
    schema = Schema.of(quasi_identifying=["age"], sensitive=["dx"], hierarchies={"dx": CODES})
    for method in ("nh", "hilbert", "anatomy", "burel", "het-greedy"):
        with pytest.raises(UsageError, match=r"does not give.*group caps.*buckets"):
            anonymize(table, schema, LDiversity(2) & GroupCaps({"dx": 0.5}), method=method)
