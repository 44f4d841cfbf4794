"""The regression of sensitive values on quasi-identifiers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mottle.audit.containment.coded_columns import CodedColumn
from mottle.audit.sensitive.regression import Regression, features_of


def test_predictions_approach_the_shares_of_every_row():
    features = np.array([[0], [1], [1]], np.int32)
    unknown, row_of = Regression.of(features, np.array([0.5, 0.5]))
    np.testing.assert_allclose(np.exp(unknown.log_shares()), 0.5)
    fitted = unknown.fitted(np.array([[9000.0, 1000.0], [3000.0, 7000.0]]))
    np.testing.assert_allclose(np.exp(fitted.log_shares())[:, 0], [0.9, 0.3], atol=0.01)
    assert row_of.tolist() == [0, 1, 1]


def test_few_observations_are_pulled_towards_the_table():
    unknown, _ = Regression.of(np.array([[0], [1]], np.int32), np.array([0.5, 0.5]))
    fitted = unknown.fitted(np.array([[1.0, 0.0], [500.0, 500.0]]))
    assert 0.5 < np.exp(fitted.log_shares())[0, 0] < 0.7


def test_effects_of_columns_add_up():
    features = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int32)
    unknown, _ = Regression.of(features, np.array([0.5, 0.5]))
    fitted = unknown.fitted(1000 * np.array([[8.0, 2], [5, 5], [5, 5], [2, 8]]))
    odds = fitted.log_shares()[:, 0] - fitted.log_shares()[:, 1]
    np.testing.assert_allclose(odds, [np.log(4), 0, 0, -np.log(4)], atol=0.05)


def test_many_ordered_values_become_quantiles_and_rare_texts_one():
    rows = 1000
    numbers = np.arange(rows)
    table = pa.table({"number": numbers, "text": [f"t{min(each, 200)}" for each in numbers]})
    texts = np.minimum(numbers, 200)
    columns = [
        CodedColumn(codes.astype(np.int32), *[np.zeros(0, np.int64)] * 3)
        for codes in (numbers, texts)
    ]
    found = features_of(table, columns)
    assert np.unique(found[:, 0]).tolist() == list(range(16))
    assert np.all(np.diff(found[:, 0]) >= 0)
    assert found[:, 1].max() == 63
    assert (found[:, 1] == found[-1, 1]).sum() == 800
