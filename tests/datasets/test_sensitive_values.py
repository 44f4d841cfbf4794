"""Generated sensitive columns: the asked distribution, independent of the rest, repeatable."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2_contingency, chisquare

from mottle import UsageError
from mottle.datasets import with_sensitive_values
from mottle.datasets.sensitive_values import zipf_shares

ROWS = 50_000
SIGNIFICANT = 1e-3


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return pa.table({"age": np.arange(ROWS) % 70, "job": np.repeat(["a", "b"], ROWS // 2)})


def counts(table: pa.Table, values: int) -> np.ndarray:
    found = table["secret"].value_counts().to_pylist()
    return np.array(
        [{each["values"]: each["counts"] for each in found}[f"v{r + 1}"] for r in range(values)]
    )


def test_uniform_values_are_equally_frequent(table: pa.Table):
    drawn = with_sensitive_values(table, "secret", 20, seed=1)
    assert chisquare(counts(drawn, 20)).pvalue > SIGNIFICANT


@pytest.mark.parametrize("theta", [0.5, 0.7, 0.9])
def test_zipf_values_follow_the_ranks(table: pa.Table, theta: float):
    drawn = with_sensitive_values(table, "secret", 50, "zipf", theta, seed=2)
    expected = ROWS * np.arange(1, 51) ** -theta / (np.arange(1, 51) ** -theta).sum()
    assert chisquare(counts(drawn, 50), expected).pvalue > SIGNIFICANT


def test_another_skew_fails_the_same_test(table: pa.Table):
    drawn = with_sensitive_values(table, "secret", 50, "zipf", 0.5, seed=2)
    assert chisquare(counts(drawn, 50), ROWS * zipf_shares(50, 0.55)).pvalue < SIGNIFICANT


def test_values_do_not_depend_on_the_other_columns(table: pa.Table):
    drawn = with_sensitive_values(table, "secret", 10, "zipf", 0.5, seed=3)
    together = drawn.group_by(["job", "secret"]).aggregate([([], "count_all")]).to_pandas()
    cross = together.pivot_table(index="job", columns="secret", values="count_all")
    assert chi2_contingency(cross.to_numpy()).pvalue > SIGNIFICANT


def test_column_is_replaced_in_its_place_or_added_at_the_end(table: pa.Table):
    added = with_sensitive_values(table, "secret", 3)
    assert added.column_names == ["age", "job", "secret"]
    replaced = with_sensitive_values(added, "job", ["x", "y"])
    assert replaced.column_names == ["age", "job", "secret"]
    assert set(replaced["job"].to_pylist()) == {"x", "y"}
    assert replaced["age"].equals(table["age"])


def test_same_seed_draws_the_same_and_another_seed_others(table: pa.Table):
    one, same, other = (with_sensitive_values(table, "secret", 9, seed=seed) for seed in (4, 4, 5))
    assert one.equals(same)
    assert not one.equals(other)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"values": 0}, "at least one value"),
        ({"values": []}, "at least one value"),
        ({"values": 3, "distribution": "normal"}, "no distribution 'normal'.*zipf"),
        ({"values": 3, "distribution": "zipf", "theta": -1.0}, "theta of -1.0"),
        ({"values": 3, "distribution": "zipf", "theta": float("nan")}, "theta of nan"),
        ({"values": 3, "seed": -1}, "seed -1"),
    ],
)
def test_impossible_options_are_usage_errors(table: pa.Table, options: dict, complaint: str):
    with pytest.raises(UsageError, match=complaint):
        with_sensitive_values(table, "secret", **options)
