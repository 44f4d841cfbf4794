"""HET's naïve Bayes attack against releases and synthetic rows, by a count over all pairs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import BetaLikeness, Schema, UsageError
from mottle.audit.sensitive.naive_bayes import naive_bayes_accuracy


def people(rows: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    age = random.integers(20, 60, rows)
    town = random.choice(["a", "b", "c", "d"], rows)
    illness = np.where(random.random(rows) < 0.6, age // 10, random.integers(2, 6, rows))
    return pa.table({"age": age, "town": town, "illness": [f"v{value}" for value in illness]})


def accuracy_by_pairs(original: pa.Table, near: dict[str, np.ndarray], told, alpha: float) -> float:
    """The formula of HET §6 with counts over all pairs of a person and a record."""
    kinds = list(dict.fromkeys(original["illness"].to_pylist()))
    told = np.array(told)
    right = 0
    for person, own in enumerate(original["illness"].to_pylist()):
        scores = []
        for value in kinds:
            having = told == value
            score = having.mean()
            for name, inside in near.items():
                distinct = len(set(original[name].to_pylist()))
                count = (inside[person] & having).sum()
                score *= (count + alpha) / (having.sum() + alpha * distinct)
            scores.append(score)
        totals = [(told == value).sum() for value in kinds]
        best = np.argmax(scores) if max(scores) > 0 else np.argmax(totals)
        right += kinds[best] == own
    return right / original.num_rows


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("delta", [0.0, 0.06, 0.34, 1.0])
def test_synthetic_rows_count_for_their_neighbourhood(alpha: float, delta: float) -> None:
    original, synthetic = people(60, 1), people(80, 2)
    place = {"a": 0, "b": 1, "c": 2, "d": 3}
    ages = [np.array(table["age"].to_pylist(), float) for table in (original, synthetic)]
    towns = [
        np.array([place[town] for town in table["town"].to_pylist()])
        for table in (original, synthetic)
    ]
    extent = ages[0].max() - ages[0].min()
    near = {
        "age": np.abs(ages[0][:, None] - ages[1]) <= delta * extent + 1e-9,
        "town": np.abs(towns[0][:, None] - towns[1]) <= delta * 3 + 1e-9,
    }
    expected = accuracy_by_pairs(original, near, synthetic["illness"].to_pylist(), alpha)
    found = naive_bayes_accuracy(
        original, synthetic, ["age", "town"], "illness", alpha=alpha, delta=delta
    )
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_cells_of_a_release_count_for_what_they_contain(alpha: float) -> None:
    original = people(80, 3)
    schema = Schema.of(quasi_identifying=["age", "town"], sensitive=["illness"])
    release = mottle.anonymize(original, schema, BetaLikeness(2.0), method="burel", seed=1)
    rows = release.table.to_pylist()
    ages, towns = original["age"].to_pylist(), original["town"].to_pylist()
    near = {
        "age": np.array([[r["age"]["lo"] <= age <= r["age"]["hi"] for r in rows] for age in ages]),
        "town": np.array([[town in r["town"] for r in rows] for town in towns]),
    }
    expected = accuracy_by_pairs(original, near, [r["illness"] for r in rows], alpha)
    found = naive_bayes_accuracy(original, release, ["age", "town"], "illness", alpha=alpha)
    assert found == pytest.approx(expected)


def test_a_value_that_nobody_has_is_near_nobody() -> None:
    original = pa.table({"town": ["a", "a", "b"], "illness": ["x", "x", "y"]})
    synthetic = pa.table({"town": ["z", "b", "b"], "illness": ["x", "y", "y"]})
    assert naive_bayes_accuracy(original, synthetic, ["town"], "illness") == pytest.approx(1 / 3)


def test_distances_that_make_no_sense_are_refused() -> None:
    original = people(30, 4)
    with pytest.raises(UsageError, match="delta"):
        naive_bayes_accuracy(original, original, ["age"], "illness", delta=-0.1)
    schema = Schema.of(quasi_identifying=["age"], sensitive=["illness"], rest="identifying")
    release = mottle.anonymize(original, schema, BetaLikeness(4.0), seed=1)
    with pytest.raises(UsageError, match="synthetic"):
        naive_bayes_accuracy(original, release, ["age"], "illness", delta=0.1)
