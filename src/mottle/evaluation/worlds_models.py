"""Estimators of scikit-learn that learn from a release: one for each possible world, pooled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from mottle.errors import DataError, UsageError
from mottle.evaluation.design import Design, numbers_of, texts_of
from mottle.io.read_table import as_table
from mottle.queries._literals import is_numeric
from mottle.queries.conditions import check_column
from mottle.queries.engine import FITS, Queries
from mottle.queries.sampling import Pooled, combine, sample
from mottle.release.data import ReleaseData
from mottle.typing import Float64Array


class _WorldsModel:
    """What classifiers and regressors have in common; see `WorldsClassifier`."""

    def __init__(
        self,
        estimator: Any,
        *,
        m: int = 5,
        features: Sequence[str] | None = None,
        fit_cells: str = "fitted",
        seed: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.m = m
        self.features = features
        self.fit_cells = fit_cells
        self.seed = seed

    def fit(self, X: ReleaseData, y: str) -> Self:  # noqa: N803
        """Draw possible worlds and train a clone of the estimator on each.

        Parameters
        ----------
        X : Release
            The release.
        y : str
            The column to predict.

        Returns
        -------
        self

        Raises
        ------
        UsageError
            There is no such column, or nothing to predict it from.
        """
        if not isinstance(X, ReleaseData):
            raise UsageError(
                f"A {type(X).__name__} is not a release.", "Fit on mottle.read_release(FOLDER)."
            )
        queries = Queries.of(X, self.fit_cells)
        worlds = sample(queries, X, self.m, self.seed, pairs=self.fit_cells == FITS[0])
        columns = worlds[0].column_names
        check_column(y, columns)
        features = list(columns if self.features is None else self.features)
        for name in features:
            check_column(name, columns)
        features = [name for name in features if name != y]
        if not features:
            raise UsageError("There is no column to predict from.", "Name some as features.")
        self._design = Design(worlds, features)
        stated = None if X.certified is None else X.certified.calibration
        self.factor_ = max(1.0, (stated and stated.coefficients) or 1.0)
        self.target_ = y
        self.feature_names_in_ = np.array(features, dtype=object)
        self.n_features_in_ = len(features)
        self.estimators_ = []
        self._variances: list[Float64Array | None] = []
        for world in worlds:
            targets = self._targets(world.column(y))
            known = np.array([target == target and target is not None for target in targets])
            inputs = self._design.encode(world)[known]
            model = clone(self.estimator).fit(inputs, targets[known])
            self.estimators_.append(model)
            self._variances.append(_variances(model, inputs, targets[known]))
        return self

    def _targets(self, column: pa.ChunkedArray) -> Any:
        raise NotImplementedError

    @property
    def coefficient_names_(self) -> list[str]:
        """The names of the numbers that features become, in the order of `encode`."""
        check_is_fitted(self, "estimators_")
        return list(self._design.names)

    def encode(self, X: object) -> Float64Array:  # noqa: N803
        """Return rows as the numbers that the estimator gets.

        Parameters
        ----------
        X : table
            Rows with the features; anything that `mottle.anonymize` takes.

        Returns
        -------
        float64[rows, numbers]
            In the order of ``coefficient_names_``.
        """
        check_is_fitted(self, "estimators_")
        return self._design.encode(as_table(X))

    def score(self, X: object, y: object = None) -> float:  # noqa: N803
        """Return the accuracy of a classifier, or R² of a regressor, on rows that are given.

        Parameters
        ----------
        X : table
            Rows; anything that `mottle.anonymize` takes.
        y : array-like, optional
            The true values. Without them, they are taken from the rows.

        Returns
        -------
        float
        """
        truth = self._targets(as_table(X).column(self.target_)) if y is None else y
        return float(super().score(X, truth))  # type: ignore[misc]

    def pooled_coefficients(self) -> dict[str, Pooled]:
        """Return the coefficients of a linear model, pooled over the worlds by Rubin's rules.

        The variance within a world is that of least squares, or of the likelihood for logistic
        regression; a penalty of the estimator is not taken into account. Worlds weaken relations
        between columns, so the errors are multiplied by the factor that the release states for
        regressions, if it states one.

        Returns
        -------
        dict of str to Pooled
            By feature; values of a category are named ``column=value`` and compared with the first
            value in alphabetical order.

        Raises
        ------
        UsageError
            The estimator has no coefficients, or there are more than two classes, or one world.
        """
        check_is_fitted(self, "estimators_")
        if self.m < 2 or any(variance is None for variance in self._variances):
            raise UsageError(
                "There are no coefficients to pool.",
                "Fit at least two worlds (m=5), by a linear model: LinearRegression, or"
                " LogisticRegression with two classes.",
            )
        values = np.array([np.ravel(model.coef_) for model in self.estimators_])
        within = np.array(self._variances)
        pooled = {
            name: combine(values[:, place].tolist(), within[:, place].tolist())
            for place, name in enumerate(self._design.names)
        }
        return {name: replace(one, error=one.error * self.factor_) for name, one in pooled.items()}


class WorldsClassifier(_WorldsModel, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify by models that were trained on possible worlds of a release.

    Follows the conventions of scikit-learn, except that `fit` takes a release and the name of the
    column to predict. A clone of the estimator is trained on each of ``m`` worlds; probabilities
    are averaged over them.

    Parameters
    ----------
    estimator : object
        A classifier of scikit-learn. It gets numbers as they are, dates as days since 1970, and an
        indicator for each value of other columns.
    m : int, default 5
        The number of worlds.
    features : sequence of str, optional
        The columns to predict from; all others by default.
    fit_cells : {"fitted", "uniform"}
        How likely the values of a cell are, as for `mottle.queries.Queries`.
    seed : int, optional
        Seed of the worlds.

    Examples
    --------
    >>> import mottle
    >>> from sklearn.linear_model import LogisticRegression
    >>> people = mottle.datasets.population(200, seed=1).select(["age", "sex", "diagnosis"])
    >>> schema = mottle.Schema.of(quasi_identifying=["age"], rest="insensitive")
    >>> release = mottle.anonymize(people, schema, mottle.KAnonymity(5), seed=1)
    >>> model = WorldsClassifier(LogisticRegression(max_iter=5000), m=2, features=["age"])
    >>> model.fit(release, "sex").predict(people.slice(0, 2)).shape
    (2,)
    """

    def _targets(self, column: pa.ChunkedArray) -> Any:
        return np.array(texts_of(column).to_pylist(), dtype=object)

    def fit(self, X: ReleaseData, y: str) -> Self:  # noqa: N803
        """Draw possible worlds and train a clone of the estimator on each.

        Parameters
        ----------
        X : Release
            The release.
        y : str
            The column to predict; its values become text.

        Returns
        -------
        self

        Raises
        ------
        UsageError
            There is no such column, or nothing to predict it from.
        DataError
            The column has a single value in one of the worlds.
        """
        try:
            super().fit(X, y)
        except ValueError as error:
            if "class" not in str(error):
                raise
            raise DataError(
                f"Column '{y}' has a single value: there is nothing to learn.",
                "Choose another target.",
            ) from None
        found = {label for model in self.estimators_ for label in model.classes_}
        self.classes_ = np.array(sorted(found), dtype=object)
        return self

    def predict_proba(self, X: object) -> Float64Array:  # noqa: N803
        """Return the probabilities of the classes, averaged over the worlds.

        Parameters
        ----------
        X : table
            Rows with the features; anything that `mottle.anonymize` takes.

        Returns
        -------
        float64[rows, classes]
            In the order of ``classes_``.
        """
        inputs = self.encode(X)
        total = np.zeros((len(inputs), len(self.classes_)))
        for model in self.estimators_:
            total[:, np.searchsorted(self.classes_, model.classes_)] += model.predict_proba(inputs)
        return total / len(self.estimators_)

    def predict(self, X: object) -> Any:  # noqa: N803
        """Return the most probable class of every row.

        Parameters
        ----------
        X : table
            As for `predict_proba`.

        Returns
        -------
        array of str
        """
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]


class WorldsRegressor(_WorldsModel, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predict numbers by models that were trained on possible worlds of a release.

    As `WorldsClassifier`, for a column of numbers; predictions are averaged over the worlds.

    Parameters
    ----------
    estimator : object
        A regressor of scikit-learn.
    m, features, fit_cells, seed
        As for `WorldsClassifier`.
    """

    def _targets(self, column: pa.ChunkedArray) -> Any:
        if not is_numeric(column.type):
            raise UsageError(
                "The column to predict does not hold numbers.", "Use WorldsClassifier."
            )
        return numbers_of(column)

    def predict(self, X: object) -> Float64Array:  # noqa: N803
        """Return the predicted number of every row.

        Parameters
        ----------
        X : table
            Rows with the features; anything that `mottle.anonymize` takes.

        Returns
        -------
        float64[rows]
        """
        inputs = self.encode(X)
        predictions = [model.predict(inputs) for model in self.estimators_]
        return np.asarray(np.mean(predictions, axis=0), np.float64)


def _variances(model: Any, inputs: Float64Array, targets: Any) -> Float64Array | None:
    """The variance of every coefficient of a linear model; None for other models."""
    coefficients = getattr(model, "coef_", None)
    if coefficients is None or np.size(coefficients) != inputs.shape[1]:
        return None
    with_constant = np.column_stack([np.ones(len(inputs)), inputs])
    if hasattr(model, "predict_proba"):
        likely = model.predict_proba(inputs)[:, 1]
        information = with_constant.T @ (with_constant * (likely * (1 - likely))[:, None])
        return _diagonal(np.linalg.pinv(information, hermitian=True))
    if hasattr(model, "classes_"):
        return None
    residuals = targets - model.predict(inputs)
    spread = float(residuals @ residuals) / max(len(inputs) - with_constant.shape[1], 1)
    return _diagonal(spread * np.linalg.pinv(with_constant.T @ with_constant, hermitian=True))


def _diagonal(covariance: Float64Array) -> Float64Array:
    """The variances without that of the constant; below 0 only by rounding."""
    return np.maximum(np.asarray(np.diag(covariance)[1:], np.float64), 0.0)
