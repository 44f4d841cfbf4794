"""A guarantee refuses parameters that promise nothing and tables that cannot have it."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from mottle import (
    BetaLikeness,
    Caps,
    EntropyLDiversity,
    GroupCaps,
    GuaranteeError,
    KAnonymity,
    LDiversity,
    MaxDrop,
    RecursiveDiversity,
    Schema,
    UsageError,
)
from mottle.encoding.sensitive import SensitiveValues, encode_sensitive


@pytest.mark.parametrize("k", [1, 0, -5])
def test_k_that_hides_nobody_is_refused(k: int):
    with pytest.raises(UsageError, match=f"k = {k} hides nobody"):
        KAnonymity(k)


@pytest.mark.parametrize("k", [2.0, "5", None, True])
def test_k_that_is_no_whole_number_is_refused(k: object):
    with pytest.raises(UsageError, match="whole number"):
        KAnonymity(k)  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [0, 1])
def test_table_without_company_is_infeasible(rows: int):
    with pytest.raises(GuaranteeError, match="nobody to hide among"):
        KAnonymity(2).check_feasible(rows)


def test_message_names_the_largest_feasible_k():
    with pytest.raises(GuaranteeError, match=r"largest feasible k is 9\."):
        KAnonymity(10).check_feasible(9)


def test_k_equal_to_the_number_of_rows_is_feasible():
    KAnonymity(10).check_feasible(10)


def test_description_states_the_probability():
    description = KAnonymity(7).describe()
    assert (description["name"], description["k"]) == ("k-anonymity", 7)
    assert "1/7" in str(description["statement"])


@pytest.mark.parametrize(
    "guarantee",
    [
        LDiversity(3),
        BetaLikeness(2),
        Caps({"HIV": 0.1}, default=0.5),
        GroupCaps({"diagnosis": 0.5}),
        EntropyLDiversity(3),
        RecursiveDiversity(c=3, l=3),
        MaxDrop({"HIV": 0.5}),
    ],
    ids=lambda guarantee: type(guarantee).__name__,
)
def test_bounds_on_values_say_that_they_are_not_proved_against_whoever_knows_tendencies(guarantee):
    described = guarantee.describe()
    assert "equally likely beforehand" in described["statement"]
    plain = guarantee.plain_text(described, "what the columns say")
    assert "what the columns say, but not which values such people tend to have" in plain


def test_degree_is_k():
    assert KAnonymity(3).degree == 3


def test_guarantee_cannot_be_weakened_afterwards():
    with pytest.raises(AttributeError):
        KAnonymity(3).k = 2  # type: ignore[misc]


def values_of(*words: str) -> tuple[SensitiveValues, ...]:
    schema = Schema.of(quasi_identifying=[], sensitive=["illness"])
    return encode_sensitive(pa.table({"illness": words}), schema)


def test_diversity_caps_every_value_alike():
    demand = LDiversity(2).demand(4, values_of("a", "a", "b", "c"))
    assert demand.caps.tolist() == [0.5, 0.5, 0.5]
    assert demand.allowed(5).tolist() == [2, 2, 2]
    assert demand.values.tolist() == [0, 0, 1, 2]


def test_likeness_caps_by_share():
    demand = BetaLikeness(1).demand(4, values_of("a", "a", "b", "c"))
    assert demand.caps.tolist() == [1.0, 0.5, 0.5]
    enhanced = BetaLikeness(9, enhanced=True).demand(4, values_of("a", "a", "b", "c"))
    assert enhanced.caps[0] == pytest.approx((1 + math.log(2)) / 2)
    assert enhanced.caps[1] == pytest.approx((1 + math.log(4)) / 4)


def test_refusal_names_the_column_and_the_largest_feasible_diversity_but_no_value():
    words = r"1 value of column 'illness' is too frequent.*ℓ is 2"
    with pytest.raises(GuaranteeError, match=words) as error:
        LDiversity(3).demand(6, values_of("HIV", "HIV", "HIV", "b", "c", "d"))
    assert error.value.exit_code == 3
    assert "HIV" not in str(error.value)
    with pytest.raises(GuaranteeError, match=r"2 values of column 'illness' are too.*ℓ is 3"):
        LDiversity(4).demand(9, values_of(*"aaabbbcde"))


def test_refusal_when_no_diversity_is_feasible():
    with pytest.raises(GuaranteeError, match="No ℓ is feasible"):
        LDiversity(2).demand(3, values_of("a", "a", "b"))


def test_refusal_names_the_smallest_feasible_cap():
    with pytest.raises(GuaranteeError, match=r"smallest feasible cap.* is 0\.6667"):
        Caps({"a": 0.1}).demand(3, values_of("a", "a", "b"))


def test_misspelt_cap_is_refused_without_naming_a_value_of_the_table():
    with pytest.raises(UsageError, match=r"'HVI'.*spelling") as error:
        Caps({"HVI": 0.5}).demand(2, values_of("HIV", "flu"))
    assert "HIV" not in str(error.value)
    with pytest.raises(UsageError, match="'HVI'"):
        (KAnonymity(2) & Caps({"HVI": 0.5})).demand(2, values_of("HIV", "flu"))


@pytest.mark.parametrize("share", [0, -1, 1.5, float("nan"), "x", True])
def test_caps_are_shares(share):
    with pytest.raises(UsageError):
        Caps({"a": share})


@pytest.mark.parametrize("wrong", [1, 0, -2, 2.5, "3", True, None])
def test_diversity_needs_a_whole_number_from_two(wrong):
    with pytest.raises(UsageError, match="ℓ"):
        LDiversity(wrong)


@pytest.mark.parametrize("wrong", [-0.1, float("inf"), float("nan"), "1", None, True])
def test_likeness_needs_a_number_from_zero(wrong):
    with pytest.raises(UsageError, match="β"):
        BetaLikeness(wrong)


def test_combination_takes_the_strictest():
    both = KAnonymity(5) & LDiversity(2) & Caps({"a": 0.4})
    demand = both.demand(10, values_of(*"aaabbbbccd"))
    assert demand.degree == 5
    assert demand.caps.tolist() == [0.4, 0.5, 0.5, 0.5]
    assert both.describe()["name"] == "k-anonymity and ℓ-diversity and caps"
    assert "at most 1/5" in both.describe()["statement"]


def test_sensitive_guarantee_without_sensitive_column():
    with pytest.raises(UsageError, match="no column is sensitive"):
        LDiversity(2).demand(10)


def test_one_third_of_three_is_one_whatever_floating_point_says():
    for size in range(2, 200):
        demand = LDiversity(size).demand(size, values_of(*map(str, range(size))))
        assert demand.allowed(size).tolist() == [1] * size


@pytest.mark.parametrize(
    ("risk", "k"),
    [(0.5, 2), (0.34, 3), (0.3333, 4), (0.2, 5), (0.1, 10), (0.09, 12), (0.05, 20), (1e-3, 1000)],
)
def test_the_k_of_a_highest_risk_is_the_least_whose_inverse_is_not_above(risk: float, k: int):
    assert KAnonymity.of_risk(risk) == KAnonymity(k)
    assert 1 / k <= risk * (1 + 1e-12)
    assert k == 2 or 1 / (k - 1) > risk
