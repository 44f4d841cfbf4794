"""The learners of attacks: counts by containment, possible worlds and gradient boosting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from mottle.audit.containment.coded_columns import CodedColumn
from mottle.audit.containment.index import ContainmentIndex
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils.compiled import kernel

if TYPE_CHECKING:
    from mottle.audit.sensitive.shares import Mixtures

_TREES = 240  # trees of gradient boosting, over all values
_FEWEST_ROUNDS, _MOST_ROUNDS = 8, 40  # bounds for its number of iterations


def counts_by_containment(column: CodedColumn, mixtures: Mixtures) -> Float64Array:
    """Count the records of each value whose cell contains a code: [distinct codes, values].

    Rows follow ``np.unique(column.codes)``.
    """
    present = np.unique(column.codes)
    low = np.searchsorted(present, column.lowest, side="left")
    past = np.searchsorted(present, column.highest, side="right")
    some = low < past
    record = np.repeat(np.arange(len(column.offsets) - 1), np.diff(column.offsets))[some]
    shape = (len(present) + 1, mixtures.shape[0])
    ones = np.ones(len(record))
    begins = csr_array((ones, (low[some], record)), shape=shape) @ mixtures
    ends = csr_array((ones, (past[some], record)), shape=shape) @ mixtures
    counts = np.cumsum((begins - ends).toarray(), axis=0)[:-1]
    return np.asarray(np.maximum(np.round(counts, 9), 0.0))


def log_likelihoods(
    columns: list[CodedColumn],
    counts: list[Float64Array],
    totals: Float64Array,
    alpha: float,
    people: Int64Array,
) -> Float64Array:
    """The logarithm of Pr[v] Π Pr[t_j | v] for people, [people, values], as in HET §6.

    Pr[t_j | v] = (count(t_j | v) + α) / (count(v) + α · |QI_j|).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.tile(np.log(totals / totals.sum()), (len(people), 1))
        for column, count in zip(columns, counts, strict=True):
            share = np.log(count + alpha) - np.log(totals + alpha * len(count))
            share[:, totals == 0] = -np.inf
            rows = np.searchsorted(np.unique(column.codes), column.codes[people])
            found += share[rows]
    return found


def sample_possible_world(
    columns: list[CodedColumn], records: Int64Array, generator: np.random.Generator
) -> Float64Array:
    """Draw a value for each quasi-identifier of some records, uniformly from those in its cell."""
    return np.stack(
        [_value_in_cell(column, records, generator.random(len(records))) for column in columns],
        axis=1,
    )


def _value_in_cell(
    column: CodedColumn, records: Int64Array, tiebreak: Float64Array
) -> Float64Array:
    """A code of an original inside each record's cell; the nearest code where there is none."""
    present = np.unique(column.codes)
    low = np.searchsorted(present, column.lowest, side="left")
    past = np.searchsorted(present, column.highest, side="right")
    drawn = _draw_in_cells(column.offsets, low, np.maximum(past, low), records, tiebreak)
    return present[np.minimum(drawn, len(present) - 1)].astype(np.float64)


@kernel
def _draw_in_cells(
    offsets: Int64Array,
    low: Int64Array,
    past: Int64Array,
    records: Int64Array,
    tiebreak: Float64Array,
) -> Int64Array:
    """Draw one of the positions low .. past - 1 of each record's intervals."""
    drawn = np.empty(records.size, np.int64)
    for place in range(records.size):
        begin, end = offsets[records[place]], offsets[records[place] + 1]
        size = 0
        for interval in range(begin, end):
            size += past[interval] - low[interval]
        left = int(tiebreak[place] * size)
        drawn[place] = low[begin] if end > begin else 0
        for interval in range(begin, end):
            width = past[interval] - low[interval]
            if left < width:
                drawn[place] = low[interval] + left
                break
            left -= width
    return drawn


def boosting_probabilities(
    rows: Float64Array, values: Int32Array, tested: Float64Array, seed: int, kinds: int
) -> Float64Array:
    """Probabilities [tested, kinds] by gradient boosting trained on rows and their values."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    found = np.zeros((len(tested), kinds))
    present = np.unique(values)
    if len(present) == 1:
        found[:, present[0]] = 1.0
        return found
    rounds = int(np.clip(_TREES // len(present), _FEWEST_ROUNDS, _MOST_ROUNDS))
    learner = HistGradientBoostingClassifier(
        learning_rate=0.15,
        max_iter=rounds,
        min_samples_leaf=5,
        early_stopping=False,
        random_state=seed,
    )
    with threadpool_limits(1, user_api="openmp"):  # its threads busy-wait for each other
        found[:, present] = learner.fit(rows, values).predict_proba(tested)
    return found


def mixtures_of_points(index: ContainmentIndex, mixtures: Mixtures) -> Float64Array:
    """The mixture of values on all records that contain each point: [points, values]."""
    records = len(index.box_of)
    members = csr_array(
        (np.ones(records), (index.box_of, np.arange(records))),
        shape=(len(index.multiplicities), records),
    )
    pieces = index.pieces
    inside = csr_array(
        (np.ones(len(pieces.nodes)), (pieces.nodes, pieces.boxes)),
        shape=(len(index.tree.left), len(index.multiplicities)),
    )
    by_node = (inside @ (members @ mixtures)).toarray()
    _push_down_rows(index.tree.parent, by_node)
    leaves = np.flatnonzero(index.tree.left < 0)
    found = np.empty((len(index.weights), mixtures.shape[1]))
    found[index.tree.first[leaves]] = by_node[leaves]
    return found


@kernel
def _push_down_rows(parent: Int64Array, rows: Float64Array) -> None:
    """Add the rows of all ancestors to every node; children come after their parent."""
    for node in range(len(parent)):
        if parent[node] >= 0:
            for value in range(rows.shape[1]):
                rows[node, value] += rows[parent[node], value]
