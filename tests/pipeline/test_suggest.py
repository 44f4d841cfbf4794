"""Suggestions are the strongest guarantees within a loss budget."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle.errors import GuaranteeError, UsageError

PEOPLE = mottle.datasets.population(500, seed=3)
SCHEMA = mottle.Schema.of(
    quasi_identifying=["age", "sex", "education"], sensitive=["diagnosis"], rest="identifying"
)


def loss_of(k: int, method: str) -> float:
    release = mottle.anonymize(
        PEOPLE, SCHEMA, mottle.KAnonymity(k), method=method, seed=0, effort=0
    )
    return release.certificate.loss


def test_the_k_of_one_method_is_that_of_trying_every_k():
    found = mottle.suggest(PEOPLE, SCHEMA, max_loss=0.06, method="nh")
    fitting = [k for k in range(2, 40) if loss_of(k, "nh") <= 0.06]
    assert isinstance(found.guarantee, mottle.KAnonymity)
    assert found.guarantee.k == max(fitting)
    assert found.loss == pytest.approx(loss_of(found.guarantee.k, "nh"))
    assert found.next_stronger is not None
    assert found.next_stronger.value == found.guarantee.k + 1


def test_the_run_loses_no_more_than_the_preview_and_the_budget():
    found = mottle.suggest(PEOPLE, SCHEMA, max_loss=0.06)
    assert found.method == "freeform"
    release = mottle.anonymize(PEOPLE, SCHEMA, found.needed, seed=1)
    assert release.certificate.loss <= found.loss <= 0.06
    fast = mottle.suggest(PEOPLE, SCHEMA, max_loss=0.06, method="nh")
    assert found.needed.degree >= fast.needed.degree


def test_the_choice_of_k_depends_neither_on_other_columns_nor_on_the_order_of_rows():
    """Whoever knows all quasi-identifiers can repeat it: the choice itself reveals nothing."""
    other = PEOPLE.set_column(
        PEOPLE.column_names.index("diagnosis"),
        "diagnosis",
        pa.array(PEOPLE["diagnosis"].to_pylist()[::-1]),
    )
    shuffled = PEOPLE.take(pa.array(np.random.default_rng(1).permutation(500)))
    first, *others = (
        mottle.suggest(table, SCHEMA, max_loss=0.06) for table in (PEOPLE, other, shuffled)
    )
    assert all(found == first for found in others)


@pytest.mark.parametrize("vary", ["l", "beta"])
def test_guarantees_on_values_are_suggested(vary: str):
    found = mottle.suggest(PEOPLE, SCHEMA, max_loss=0.45, vary=vary)
    assert found.loss is not None
    assert found.loss <= 0.45
    kept = [each for each in found.previews if each.loss is not None and each.loss <= 0.45]
    strongest = max if vary == "l" else min
    described = found.needed.describe()
    assert described[vary] == strongest(each.value for each in kept)


def test_a_budget_that_nothing_meets_is_an_error_with_the_least_loss():
    found = mottle.suggest(PEOPLE, SCHEMA, max_loss=1e-6)
    assert found.guarantee is None
    with pytest.raises(GuaranteeError, match=r"No k stays within .* loses \d"):
        _ = found.needed


def test_a_table_whose_rows_are_all_equal_can_have_any_k():
    same = pa.table({"age": [30] * 20})
    found = mottle.suggest(same, mottle.Schema.of(quasi_identifying=["age"]), max_loss=0.01)
    assert found.needed == mottle.KAnonymity(20)
    assert found.next_stronger is None


@pytest.mark.parametrize("budget", [0, 1, -0.1, True, "0.05", float("nan")])
def test_budgets_that_are_no_shares_are_refused(budget: object):
    with pytest.raises(UsageError, match="share above 0"):
        mottle.suggest(PEOPLE, SCHEMA, max_loss=budget)  # type: ignore[arg-type]
