"""Learning from a release: train on what is published, test on originals it was not made from.

There are two ways to train. *Samples*: draw possible worlds and train on all their rows. *Ranges*:
train on the cells themselves, a number as the mean of its range, a category as the shares of its
possible values, a set as the probabilities that it holds an item. Numbers are standardized,
categories become one column for each value, and sets one for each of their most frequent items, in
the same way for training and test rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.set_columns import sorted_lists
from mottle.errors import DataError, UsageError, did_you_mean
from mottle.queries._literals import is_numeric
from mottle.queries.cells.atoms import Values
from mottle.queries.cells.cells import CellDistribution
from mottle.queries.cells.from_set_columns import cells_of_exact_sets
from mottle.queries.cells.item_cells import ItemCells
from mottle.queries.conditions import Condition, check_column
from mottle.queries.engine import FITS, Queries
from mottle.queries.sampling import sample
from mottle.schema.model import SEPARATOR
from mottle.typing import Float64Array, Int64Array

if TYPE_CHECKING:
    from mottle.release.data import ReleaseData

__all__ = ["MODELS", "LearningResult", "Training", "learn", "learning_utility"]

MOST_ITEMS = 100  # items of a column of sets that become features


class Training(StrEnum):
    """What a model was trained on."""

    ORIGINALS = "originals"
    SAMPLES = "samples"  # rows of several possible worlds
    RANGES = "ranges"  # the cells themselves


@dataclass(frozen=True)
class LearningResult:
    """How well a model predicts originals that were not used for training.

    Attributes
    ----------
    model : str
        The name of the model.
    training : Training
        What it was trained on.
    accuracy : float
        Share of test rows whose class is predicted correctly.
    auc : float
        Area under the ROC curve, averaged over classes (one against the rest); NaN if undefined.
    majority : float
        The accuracy of always predicting the most frequent class of the test rows.
    """

    model: str
    training: Training
    accuracy: float
    auc: float
    majority: float


def _logistic(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=2000, random_state=seed)


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=100, min_samples_leaf=5, random_state=seed)


def _boosting(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed)


MODELS: dict[str, Callable[[int], Any]] = {
    "logistic regression": _logistic,
    "random forest": _forest,
    "gradient boosting": _boosting,
}


def learn(
    train: ReleaseData | pa.Table,
    test: pa.Table,
    target: str,
    *,
    features: Sequence[str] | None = None,
    training: Training | str = Training.SAMPLES,
    models: Sequence[str] = tuple(MODELS),
    m: int = 5,
    fit: str = "fitted",
    seed: int = 0,
) -> list[LearningResult]:
    """Train models on a release, or on an ordinary table, and test them on originals.

    Parameters
    ----------
    train : ReleaseData or pyarrow.Table
        A release made from other rows than ``test``, or a table (originals, synthetic data).
    test : pyarrow.Table
        Originals to test on.
    target : str
        The column to predict.
    features : sequence of str, optional
        The columns to predict it from. Defaults to all columns that both have.
    training : {"samples", "ranges"}
        Train on the rows of ``m`` possible worlds, or on the cells themselves. A table is always
        trained on unchanged.
    models : sequence of str
        Names from `MODELS`.
    m : int
        The number of possible worlds to draw.
    fit : str
        How values inside cells are weighted, as for `mottle.queries.Queries`.
    seed : int
        Seed for drawing possible worlds and for training.

    Returns
    -------
    list of LearningResult
        One result for each model.

    Raises
    ------
    UsageError
        A column, model or way of training does not exist, or does not suit the release.
    DataError
        The target has a single value.
    """
    tables = [train] if isinstance(train, pa.Table) else None
    trained_on = Training.ORIGINALS if tables is not None else _training(training)
    predictors = _features(train, test, target, features)
    for name in models:
        if name not in MODELS:
            raise UsageError(f"There is no model '{name}'.", did_you_mean(name, MODELS))
    if trained_on is Training.SAMPLES:
        assert not isinstance(train, pa.Table)
        tables = sample(Queries.of(train, fit), train, m, seed, pairs=fit == FITS[0])
    encoder = _Encoder.of(train, predictors, fit)
    if trained_on is Training.RANGES:
        inputs, labels = encoder.ranges(), _exact_labels(train, target)
    else:
        assert tables is not None
        inputs = np.concatenate([encoder.encode(table) for table in tables])
        labels = [label for table in tables for label in _labels(table, target)]
    weights = np.full(len(inputs), 1 / len(tables or [1]))
    known = np.array([label is not None for label in labels])
    if len({label for label in labels if label is not None}) < 2:
        raise DataError(
            f"Column '{target}' has a single value: there is nothing to learn.",
            "Choose another target.",
        )
    classes, targets = np.unique(
        [str(label) for label in labels if label is not None], return_inverse=True
    )
    return [
        _train_and_test(
            name,
            trained_on,
            inputs[known],
            targets,
            weights[known],
            encoder.encode(test),
            _test_targets(test, target, classes),
            seed,
        )
        for name in models
    ]


def learning_utility(
    original: pa.Table,
    release: ReleaseData,
    test: pa.Table,
    target: str,
    *,
    features: Sequence[str] | None = None,
    models: Sequence[str] = tuple(MODELS),
    m: int = 5,
    seed: int = 0,
) -> list[LearningResult]:
    """Train models on the originals, on samples and on ranges, and compare them.

    Parameters
    ----------
    original : pyarrow.Table
        The table the release was made from.
    release : Release
        The release.
    test : pyarrow.Table
        Other originals to test on.
    target : str
        The column to predict.
    features : sequence of str, optional
        The columns to predict it from. Defaults to all columns that release and test table have.
    models : sequence of str
        Names from `MODELS`.
    m : int
        The number of possible worlds to draw.
    seed : int
        Seed for drawing possible worlds and for training.

    Returns
    -------
    list of LearningResult
        The results of all models on the originals, then on samples, then (unless sensitive values
        are published in a second table) on ranges.

    Raises
    ------
    UsageError, DataError
        As for `learn`.
    """
    predictors = _features(release, test, target, features)

    def trained(source: ReleaseData | pa.Table, training: Training) -> list[LearningResult]:
        return learn(
            source,
            test,
            target,
            features=predictors,
            training=training,
            models=models,
            m=m,
            seed=seed,
        )

    learned = trained(original, Training.ORIGINALS) + trained(release, Training.SAMPLES)
    if release.sensitive is None:
        learned += trained(release, Training.RANGES)
    return learned


def _training(name: Training | str) -> Training:
    """The way of training of a given name."""
    names = [str(way) for way in (Training.SAMPLES, Training.RANGES)]
    if name not in names:
        raise UsageError(f"There is no training '{name}'.", did_you_mean(str(name), names))
    return Training(name)


def _features(
    train: ReleaseData | pa.Table, test: pa.Table, target: str, features: Sequence[str] | None
) -> list[str]:
    """The columns to predict from, after checking that training and test rows have them."""
    rows = train if isinstance(train, pa.Table) else train.table
    known = [*rows.column_names]
    if not isinstance(train, pa.Table) and train.sensitive is not None:
        group, *hidden, _ = train.sensitive.column_names
        known = [name for name in known if name != group] + hidden
    check_column(target, known)
    if target not in test.column_names:
        raise UsageError(f"The test table has no column '{target}' to predict.")
    if features is None:
        features = [name for name in known if name in test.column_names]
    for name in features:
        check_column(name, known)
        if name not in test.column_names:
            raise UsageError(f"The test table has no column '{name}' to predict from.")
    predictors = [name for name in features if name != target]
    if not predictors:
        raise UsageError("There is no column to predict from.", "Name some as features.")
    return predictors


@dataclass(frozen=True, eq=False)
class _Encoder:
    """Encodes columns as numbers: standardized, or one indicator for each value."""

    queries: Queries
    features: list[str]

    @classmethod
    def of(cls, train: ReleaseData | pa.Table, features: list[str], fit: str) -> _Encoder:
        """An encoder with the domains of the training data."""
        return cls(Queries.of(train, fit), features)

    def ranges(self) -> Float64Array:
        """Encode the cells of every record: means of numbers, shares of values."""
        parts = []
        for name in self.features:
            if name not in self.queries.names:
                raise UsageError(
                    f"Column '{name}' is published in a separate table.",
                    "Train on samples.",
                )
            cells = self.queries.column(name)
            parts.append(self._cell_codes(cells)[cells.of_row])
        return np.concatenate(parts, axis=1)

    def encode(self, table: pa.Table) -> Float64Array:
        """Encode the rows of an ordinary table in the same way."""
        return np.concatenate(
            [self._encode_column(table.column(name), name) for name in self.features], axis=1
        )

    def _encode_column(self, values: pa.ChunkedArray, name: str) -> Float64Array:
        cells = self.queries.column(name)
        if isinstance(cells, ItemCells):
            tested = cells_of_exact_sets(name, _lists(values, name))
            held = [tested.holding(item)[tested.of_row] for item in _frequent_items(cells)]
            return np.stack([*held, np.zeros(len(values))], axis=1)
        if _is_numeric(cells):
            numbers = _as_numbers(values)
            mean, spread = _scale(cells)
            missing = ~np.isfinite(numbers)
            scaled = np.where(missing, 0.0, (numbers - mean) / spread)
            return np.stack([scaled, missing], axis=1)
        known = _vocabulary(cells)
        codes = pc.fill_null(
            pc.index_in(pc.cast(values, pa.string()), value_set=known), len(known)
        ).to_numpy()
        columns: Float64Array = np.eye(len(known) + 1)[codes][:, :-1]
        return columns

    def _cell_codes(self, cells: CellDistribution) -> Float64Array:
        if isinstance(cells, ItemCells):
            held = [cells.holding(item) for item in _frequent_items(cells)]
            return np.stack([*held, np.zeros(cells.count)], axis=1)
        if _is_numeric(cells):
            moments = cells.moments((Condition(),))
            likely = np.maximum(moments.share, 0.0)
            mean, spread = _scale(cells)
            numbers = np.divide(
                moments.first, likely, out=np.full(len(likely), mean), where=likely > 0
            )
            scaled = np.where(np.isfinite(numbers), (numbers - mean) / spread, 0.0)
            return np.stack([scaled * likely, 1 - likely], axis=1)
        known = _vocabulary(cells).to_pylist()
        texts = dict(zip(_points(cells), cells.atoms.points().to_pylist(), strict=True))
        shares = [cells.shares((Condition(values=(texts[text],)),)) for text in known]
        return np.maximum(np.stack(shares, axis=1), 0.0)


def _frequent_items(cells: ItemCells) -> list[str]:
    """The items that most records hold."""
    items = [str(item) for item in cells.items.values.to_pylist()]
    counts = [float(cells.holding(item)[cells.of_row].sum()) for item in items]
    order = np.argsort(-np.array(counts), kind="stable")[:MOST_ITEMS]
    return [items[place] for place in order]


def _lists(values: pa.ChunkedArray, name: str) -> pa.Array:
    return sorted_lists(values, name, SEPARATOR).combine_chunks()


def _is_numeric(cells: CellDistribution) -> bool:
    atoms = cells.atoms
    return not isinstance(atoms, Values) or (is_numeric(atoms.values.type) and not atoms.ordered)


def _vocabulary(cells: CellDistribution) -> pa.Array:
    return pa.array(_points(cells), pa.string())


def _points(cells: CellDistribution) -> list[str]:
    texts: list[str] = pc.cast(cells.atoms.points(), pa.string()).to_pylist()
    return texts


def _as_numbers(values: pa.ChunkedArray) -> Float64Array:
    if pa.types.is_temporal(values.type):
        values = pc.cast(values, pa.date32(), safe=False).cast(pa.int32())
    numbers = pc.cast(values, pa.float64(), safe=False).to_numpy()
    return np.asarray(numbers, np.float64)


def _scale(cells: CellDistribution) -> tuple[float, float]:
    """The mean and standard deviation of a number column, as estimated from the release.

    0 and 1 if numbers are infinite, which are taken for missing.
    """
    with np.errstate(invalid="ignore"):
        moments = cells.moments((Condition(),))
    rows = cells.of_row
    known = max(float(np.maximum(moments.share, 0.0)[rows].sum()), 1e-12)
    with np.errstate(invalid="ignore"):
        mean = float(moments.first[rows].sum()) / known
        variance = float(moments.second[rows].sum()) / known - mean**2
    if not (np.isfinite(mean) and np.isfinite(variance)):
        return 0.0, 1.0
    return mean, float(np.sqrt(variance)) if variance > 0 else 1.0


def _labels(table: pa.Table, target: str) -> list[Any]:
    labels: list[Any] = pc.cast(table.column(target), pa.string()).to_pylist()
    return labels


def _exact_labels(train: ReleaseData | pa.Table, target: str) -> list[Any]:
    assert not isinstance(train, pa.Table)
    forms = {column.name: column.form for column in train.columns}
    if target not in forms or forms[target] is not None:
        raise UsageError(
            f"Column '{target}' is not published unchanged with the records.",
            "Train on samples.",
        )
    return _labels(train.table, target)


def _test_targets(test: pa.Table, target: str, classes: Any) -> Int64Array:
    """The class of each test row, -1 if it is missing or does not occur in the training data."""
    places = {label: place for place, label in enumerate(classes.tolist())}
    return np.array([places.get(label, -1) for label in _labels(test, target)], np.int64)


def _train_and_test(
    name: str,
    training: Training,
    inputs: Float64Array,
    targets: Int64Array,
    weights: Float64Array,
    test_inputs: Float64Array,
    test_targets: Int64Array,
    seed: int,
) -> LearningResult:
    """Train one model and test it."""
    model = MODELS[name](seed)
    model.fit(inputs, targets, sample_weight=weights)
    likely = model.predict_proba(test_inputs)
    counts = np.bincount(test_targets[test_targets >= 0])
    return LearningResult(
        model=name,
        training=training,
        accuracy=float((likely.argmax(axis=1) == test_targets).mean()),
        auc=_area(test_targets, likely),
        majority=float(counts.max(initial=0) / len(test_targets)),
    )


def _area(targets: Int64Array, likely: Float64Array) -> float:
    """The area under the ROC curve, by ranks; mean over the classes that can be distinguished."""
    from scipy.stats import rankdata

    areas = []
    for place in range(1 if likely.shape[1] == 2 else 0, likely.shape[1]):
        positive = targets == place
        held, others = int(positive.sum()), int((~positive).sum())
        if held and others:
            ranks = rankdata(likely[:, place])[positive].sum()
            areas.append((ranks - held * (held + 1) / 2) / (held * others))
    return float(np.mean(areas)) if areas else float("nan")
