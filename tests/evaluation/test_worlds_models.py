"""Estimators that learn from possible worlds follow scikit-learn, and pool as Rubin's rules say."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression

import mottle
from mottle.errors import DataError, UsageError
from mottle.evaluation import WorldsClassifier, WorldsRegressor
from mottle.queries import combine


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    random = np.random.default_rng(5)
    age = random.integers(20, 80, 300)
    group = np.where(random.random(300) < 0.5, "a", "b")
    pay = 100 + 2.0 * age + 30 * (group == "b") + random.normal(0, 5, 300)
    ill = np.where(random.random(300) < 1 / (1 + np.exp(-(age - 50) / 5)), "yes", "no")
    return pa.table({"age": age, "group": group, "pay": pay, "ill": ill})


@pytest.fixture(scope="module")
def release(rows: pa.Table) -> mottle.Release:
    schema = mottle.Schema.of(quasi_identifying=["age", "group"], rest=mottle.Role.INSENSITIVE)
    return mottle.anonymize(rows, schema, mottle.KAnonymity(3), seed=1)


def test_regressions_are_pooled_over_worlds(release: mottle.Release, rows: pa.Table) -> None:
    model = WorldsRegressor(LinearRegression(), m=4, features=["age", "group"], seed=3)
    model.fit(release, "pay")
    pooled = model.pooled_coefficients()
    assert list(pooled) == ["age", "group=b"]
    slopes = [one.coef_[0] for one in model.estimators_]
    again = combine(slopes, [model._variances[world][0] for world in range(4)])
    assert pooled["age"] == again
    assert pooled["age"].estimate == pytest.approx(2.0, abs=0.25)
    mean = np.mean([one.predict(model.encode(rows)) for one in model.estimators_], axis=0)
    assert np.allclose(model.predict(rows), mean)
    assert model.score(rows) > 0.8
    assert np.allclose(model.predict(rows.to_pandas()), mean)


def test_variances_within_a_world_are_those_of_least_squares() -> None:
    table = pa.table({"q": range(4), "x": [0.0, 1.0, 2.0, 3.0], "y": [0.0, 1.5, 1.5, 3.5]})
    schema = mottle.Schema.of(insensitive=["x", "y"], quasi_identifying=["q"])
    release = mottle.anonymize(table, schema, mottle.KAnonymity(2), seed=1)
    model = WorldsRegressor(LinearRegression(), m=2, features=["x"]).fit(release, "y")
    # slope 1.05; residuals -.05, .4, -.65, .3; s² = .6750 / 2; Σ(x - mean)² = 5
    assert model.pooled_coefficients()["x"].within == pytest.approx(0.675 / 2 / 5)


def test_classifiers_average_probabilities(release: mottle.Release, rows: pa.Table) -> None:
    model = WorldsClassifier(LogisticRegression(max_iter=2000), m=3, features=["age", "group"])
    copied = clone(model)
    assert copied.get_params()["m"] == 3
    assert not hasattr(copied, "estimators_")
    copied.fit(release, "ill")
    likely = copied.predict_proba(rows)
    assert np.allclose(likely.sum(axis=1), 1)
    each = [one.predict_proba(copied.encode(rows)) for one in copied.estimators_]
    assert np.allclose(likely, np.mean(each, axis=0))
    assert set(copied.predict(rows)) == {"yes", "no"}
    assert copied.score(rows) > 0.75
    assert copied.pooled_coefficients()["age"].estimate > 0.1
    assert list(copied.feature_names_in_) == ["age", "group"]


def test_what_cannot_be_learned_is_refused(release: mottle.Release, rows: pa.Table) -> None:
    forest = WorldsClassifier(RandomForestClassifier(n_estimators=2, random_state=0), m=2)
    with pytest.raises(UsageError, match="no coefficients"):
        forest.fit(release, "ill").pooled_coefficients()
    with pytest.raises(UsageError, match="no column 'sick'"):
        forest.fit(release, "sick")
    with pytest.raises(UsageError, match="not a release"):
        forest.fit(rows, "ill")
    with pytest.raises(UsageError, match="WorldsClassifier"):
        WorldsRegressor(LinearRegression()).fit(release, "ill")
    with pytest.raises(UsageError, match="no column 'group'"):
        forest.predict(rows.drop_columns(["group"]))
    constant = rows.append_column("same", pa.array(["x"] * 300))
    schema = mottle.Schema.of(quasi_identifying=["age"], rest=mottle.Role.INSENSITIVE)
    uniform = mottle.anonymize(constant, schema, mottle.KAnonymity(3), seed=1)
    with pytest.raises(DataError, match="single value"):
        WorldsClassifier(LogisticRegression(), m=2).fit(uniform, "same")


def test_models_that_are_not_fitted_say_so(rows: pa.Table):
    for model in (WorldsClassifier(LogisticRegression()), WorldsRegressor(LinearRegression())):
        with pytest.raises(NotFittedError):
            model.predict(rows)
