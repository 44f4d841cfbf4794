"""A guarantee refuses parameters that promise nothing and tables that cannot have it."""

from __future__ import annotations

import pytest

from mottle import GuaranteeError, KAnonymity, UsageError


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


def test_degree_is_k():
    assert KAnonymity(3).degree == 3


def test_guarantee_cannot_be_weakened_afterwards():
    with pytest.raises(AttributeError):
        KAnonymity(3).k = 2  # type: ignore[misc]
