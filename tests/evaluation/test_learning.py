"""Learning from releases: encodings agree, a plain signal is found, mistakes are refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import Release, Schema
from mottle.errors import DataError, UsageError
from mottle.evaluation.learning import Training, learn, learning_utility

MODEL = ("logistic regression",)


def people(rows: int, seed: int) -> pa.Table:
    """A label that follows age and colour, with missing values in both."""
    random = np.random.default_rng(seed)
    age = random.integers(20, 80, rows)
    colour = random.choice(["red", "green", "blue"], rows)
    score = (age - 50) / 8 + np.where(colour == "red", 1.5, -0.5) + random.normal(0, 0.5, rows)
    return pa.table(
        {
            "age": pa.array(age, mask=random.random(rows) < 0.03),
            "colour": pa.array(colour, mask=random.random(rows) < 0.03),
            "rich": np.where(score > 0, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def train() -> pa.Table:
    return people(400, 1)


@pytest.fixture(scope="module")
def test_rows() -> pa.Table:
    return people(400, 2)


@pytest.fixture(scope="module")
def release(train: pa.Table) -> Release:
    schema = Schema.of(quasi_identifying=["age", "colour"], sensitive=["rich"])
    return mottle.anonymize(train, schema, mottle.KAnonymity(4), method="nh", seed=1)


def test_all_ways_of_training_find_the_signal(
    train: pa.Table, release: Release, test_rows: pa.Table
) -> None:
    found = learning_utility(train, release, test_rows, "rich", models=MODEL, m=2)
    assert [one.training for one in found] == list(Training)
    for one in found:
        assert one.accuracy > one.majority + 0.2
        assert one.auc > 0.85
    assert 0.4 < found[0].majority < 0.7


def test_ranges_of_exact_cells_are_the_originals(train: pa.Table, test_rows: pa.Table) -> None:
    """Of pairs of equal records nothing is generalized."""
    twice = pa.concat_tables([train, train])
    schema = Schema.of(quasi_identifying=["age", "colour"], sensitive=["rich"])
    exact = mottle.anonymize(twice, schema, mottle.KAnonymity(2), method="nh", seed=1)
    assert exact.gcp is not None
    assert exact.gcp < 0.002
    (by_ranges,) = learn(exact, test_rows, "rich", training="ranges", models=MODEL)
    (by_rows,) = learn(train, test_rows, "rich", models=MODEL)
    assert by_ranges.accuracy == pytest.approx(by_rows.accuracy, abs=0.01)
    assert by_ranges.auc == pytest.approx(by_rows.auc, abs=0.005)


@pytest.mark.parametrize("model", ["random forest", "gradient boosting"])
def test_other_models_learn_as_well(release: Release, test_rows: pa.Table, model: str) -> None:
    (found,) = learn(release, test_rows, "rich", models=(model,), m=1, fit="fitted")
    assert found.accuracy > found.majority + 0.15


def test_a_generalized_target_is_learned_from_samples_only(
    release: Release, test_rows: pa.Table
) -> None:
    (found,) = learn(release, test_rows, "colour", features=["age", "rich"], models=MODEL, m=1)
    assert 0 <= found.accuracy <= 1
    with pytest.raises(UsageError, match="Train on samples"):
        learn(release, test_rows, "colour", training="ranges", models=MODEL)


def test_two_tables_are_learned_from_by_samples(train: pa.Table, test_rows: pa.Table) -> None:
    schema = Schema.of(quasi_identifying=["age", "rich"], sensitive=["colour"])
    anatomy = mottle.anonymize(train, schema, mottle.LDiversity(2), method="anatomy", seed=1)
    found = learning_utility(train, anatomy, test_rows, "colour", models=MODEL, m=1)
    assert [one.training for one in found] == [Training.ORIGINALS, Training.SAMPLES]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "poor"}, "no column 'poor'"),
        ({"features": ["rich"]}, "no column to predict from"),
        ({"models": ("oracle",)}, "no model 'oracle'"),
        ({"training": "guesses"}, "no training 'guesses'"),
    ],
)
def test_invalid_arguments_are_named(
    release: Release, test_rows: pa.Table, options: dict[str, object], words: str
) -> None:
    asked = {"target": "rich", "models": MODEL, **options}
    with pytest.raises(UsageError, match=words):
        learn(release, test_rows, **asked)  # type: ignore[arg-type]


def test_one_class_cannot_be_learned(train: pa.Table, test_rows: pa.Table) -> None:
    constant = train.set_column(2, "rich", pa.array(["no"] * 400))
    with pytest.raises(DataError, match="nothing to learn"):
        learn(constant, test_rows, "rich", models=MODEL)
