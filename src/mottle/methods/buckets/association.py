"""How sensitive values go with quasi-identifiers, learned from what is public.

A ridge regression (multinomial logistic, one effect for every value of every column) predicts the
share of each sensitive value from quasi-identifiers. It is fitted to two kinds of public facts:
the release of the first wave, of which everything is known but the bucket permutations, and the
counts of values in the nodes into which the table has been cut so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numba import njit

from mottle.methods.buckets.cut_columns import CutColumn
from mottle.typing import Float32Array, Float64Array, Int32Array, Int64Array
from mottle.utils.compiled import kernel
from mottle.utils.lazy import lazy_module

optimize = lazy_module("scipy.optimize")
threadpoolctl = lazy_module("threadpoolctl")

_BINS = 16  # quantiles of an ordered column that have effects of their own
_MOST_VALUES = 64  # values of an unordered column, and classes of sensitive values
_RIDGE = 3.0  # pseudo-observations that pull an effect towards none
_WAVE_ROUNDS = 4  # alternations between permutations and effects
_WAVE_STEPS = 15  # steps of each
_NODE_STEPS = 8  # steps when counts of further nodes are known
_ALL_PERMUTATIONS = 6  # most buckets for which all permutations are weighed exactly


class PublishedTable(NamedTuple):
    """A table of buckets as it is published: everything but the permutation."""

    rows: Int64Array  # [buckets · size]: records, bucket after bucket
    buckets: int
    shown: Int32Array  # [rows, buckets]: value published on the match of the row in each bucket


@dataclass(frozen=True)
class Association:
    """Predicts how often records with given quasi-identifiers have each class of values."""

    effect_of: tuple[Int32Array, ...]  # by column: the effect of every code
    class_of: Int32Array  # [values]: frequent values are a class each, all others one
    prior: Float64Array  # [classes]: logarithm of the share in the table
    effects: Float64Array  # [effects, classes]

    @classmethod
    def unknown(
        cls, columns: Sequence[CutColumn], codes: Int32Array, counts: Int64Array
    ) -> Association:
        """Nothing is known but how often each value occurs in the table.

        ``codes`` [columns, n] are those of all records, or of some.
        """
        effect_of, first = [], 0
        for column, mine in zip(columns, codes, strict=True):
            bins = _bins(column, mine)
            effect_of.append(first + bins)
            first += int(bins.max(initial=0)) + 1
        class_of = _pooled(counts)
        shares = np.bincount(class_of, weights=counts) / max(counts.sum(), 1)
        prior = np.log(np.maximum(shares, 1e-9))
        return cls(tuple(effect_of), class_of, prior, np.zeros((first, len(prior))))

    def indices(self, codes: Int32Array) -> Int32Array:
        """[n, columns]: the effects that apply to records with codes [columns, n]."""
        pairs = zip(codes, self.effect_of, strict=True)
        return np.ascontiguousarray(np.stack([effect_of[mine] for mine, effect_of in pairs]).T)

    def predicted(self, indices: Int32Array) -> Float32Array:
        """[rows, classes]: the predicted shares."""
        shares = np.empty((len(indices), len(self.prior)), np.float32)
        _predict(indices, self.effects, self.prior, shares)
        return shares

    def fitted_to_wave(
        self, codes: Int32Array, tables: Sequence[PublishedTable]
    ) -> tuple[Association, WaveEvidence]:
        """Learn from the first wave as released; ``codes`` [columns, n]: those of its records.

        Which permutation each table was published with is unknown; it is weighed by how well its
        values fit the effects, and effects are fitted to the values so weighed, in turns.
        """
        association = self
        codes = np.ascontiguousarray(codes[:, np.concatenate([table.rows for table in tables])])
        indices = self.indices(codes)
        shares = np.broadcast_to(np.exp(self.prior), (len(indices), len(self.prior)))
        for turn in range(_WAVE_ROUNDS):
            weight = 0.0 if turn == 0 else 1.0  # at first all permutations are equally likely
            log_shares = np.log(np.maximum(shares, 1e-12)) * weight
            held = np.concatenate(
                [
                    _weighed(table, log, self.class_of)
                    for table, log in zip(
                        tables, np.split(log_shares, _ends(tables)[:-1]), strict=True
                    )
                ]
            )
            evidence = WaveEvidence(codes, indices, held)
            association = association.fitted([evidence.as_groups()], _WAVE_STEPS)
            shares = association.predicted(indices)
        return association, evidence

    def fitted_to_nodes(
        self,
        wave: WaveEvidence | None,
        indices: Int32Array,
        node: Int32Array,
        times: Float64Array,
        counts: Int64Array,
    ) -> Association:
        """Learn from the counts of values [nodes, values] as well.

        ``indices`` are those of a sample of the records, ``node`` says where each lies, and
        ``times`` how many equal ones it stands for. The counts are scaled to the sample.
        """
        classes = len(self.prior)
        by_class = np.zeros((len(counts), classes))
        for value, pooled in enumerate(self.class_of):
            by_class[:, pooled] += counts[:, value]
        sampled = np.bincount(node, weights=times, minlength=len(counts))
        by_class *= (sampled / np.maximum(by_class.sum(axis=1), 1))[:, None]
        groups = [] if wave is None else [wave.as_groups()]
        return self.fitted([*groups, Groups(indices, node, times, by_class)], _NODE_STEPS)

    def fitted(self, evidence: Sequence[Groups], steps: int) -> Association:
        """The effects of highest posterior probability, after some steps from the present ones."""
        shape = self.effects.shape
        shares = [np.empty((len(group.indices), shape[1]), np.float32) for group in evidence]

        def cost(flat: Float64Array) -> tuple[float, Float64Array]:
            effects = flat.reshape(shape)
            gradient = _RIDGE * effects
            total = 0.5 * _RIDGE * float(np.sum(effects**2))
            for group, mine in zip(evidence, shares, strict=True):
                _predict(group.indices, effects, self.prior, mine)
                expected = np.full(group.counts.shape, 1e-12)
                _add_by_group(mine, group.group, group.times, expected)
                total -= float(np.sum(group.counts * np.log(expected)))
                ratio = group.counts / expected
                _add_gradient(group.indices, mine, group.group, group.times, ratio, gradient)
            return total, gradient.ravel()

        minimize = optimize.minimize
        # Sums over threads would depend on their number, and cuts with them.
        with threadpoolctl.threadpool_limits(1, user_api="blas"):
            found = minimize(
                cost,
                self.effects.ravel(),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": steps, "maxcor": 6},
            )
        return Association(self.effect_of, self.class_of, self.prior, found.x.reshape(shape))


class Groups(NamedTuple):
    """Records in groups of which it is known how often each class of values occurs."""

    indices: Int32Array  # [records, columns]: see `Association.indices`
    group: Int32Array  # [records]
    times: Float64Array  # [records]: how many equal ones each stands for
    counts: Float64Array  # [groups, classes]


class WaveEvidence(NamedTuple):
    """What the first wave says: every record is a group of its own, with weights on classes."""

    codes: Int32Array  # [columns, records]
    indices: Int32Array  # [records, columns]
    held: Float64Array  # [records, classes]: probability that it has a value of the class

    @property
    def certainty(self) -> float:
        """How sure the classes are: 0 if the wave told nothing about who has what, 1 if all."""
        by_chance = float((self.held.mean(axis=0) ** 2).sum())
        mean = float((self.held**2).sum(axis=1).mean())
        return max(mean - by_chance, 0.0) / max(1 - by_chance, 1e-9)

    def as_groups(self) -> Groups:
        """The evidence as groups of one record."""
        alone = np.arange(len(self.held), dtype=np.int32)
        return Groups(self.indices, alone, np.ones(len(alone)), self.held)


def _ends(tables: Sequence[PublishedTable]) -> Int64Array:
    return np.cumsum([len(table.rows) for table in tables])


def _bins(column: CutColumn, codes: Int32Array) -> Int32Array:
    """By code: quantiles of an ordered column, the most frequent values of others."""
    counts = np.bincount(codes, minlength=column.size)
    if column.positions is not None and column.size > _BINS:
        middle = (np.cumsum(counts) - counts / 2) / max(counts.sum(), 1)
        quantile: Int32Array = np.minimum((middle * _BINS).astype(np.int32), _BINS - 1)
        return quantile
    return _pooled(counts)


def _pooled(counts: Int64Array) -> Int32Array:
    """By value: its class; the most frequent are a class each, the others together the last."""
    frequent = np.argsort(-counts, kind="stable")[: _MOST_VALUES - 1]
    found = np.full(len(counts), min(len(counts), _MOST_VALUES) - 1, np.int32)
    found[frequent] = np.arange(len(frequent))
    return found


def _weighed(table: PublishedTable, log_shares: Float64Array, class_of: Int32Array) -> Float64Array:
    """[rows, classes]: probability that each row has a value of each class."""
    classes = class_of[table.shown]
    likelihood = np.take_along_axis(log_shares, classes, axis=1)
    size = len(table.rows) // table.buckets
    fits = likelihood.reshape(table.buckets, size, table.buckets).sum(axis=1)
    went = np.repeat(_permuted(fits), size, axis=0)
    held = np.zeros(log_shares.shape)
    for bucket in range(table.buckets):
        held[np.arange(len(held)), classes[:, bucket]] += went[:, bucket]
    return held


def _permuted(fits: Float64Array) -> Float64Array:
    """Probability that the records of bucket a have the values of bucket b, [buckets, buckets].

    ``fits``: logarithm of the likelihood of each.
    """
    buckets = len(fits)
    if buckets <= _ALL_PERMUTATIONS:
        orders = np.array(list(permutations(range(buckets))))
        total = fits[np.arange(buckets), orders].sum(axis=1)
        chance = np.exp(total - total.max())
        found = np.zeros(fits.shape)
        for bucket in range(buckets):
            np.add.at(found[bucket], orders[:, bucket], chance)
        return np.asarray(found / chance.sum())
    found = np.exp(fits - fits.max(axis=1, keepdims=True)) + 1e-9
    for _ in range(30):  # alternating normalization
        found /= found.sum(axis=1, keepdims=True)
        found /= found.sum(axis=0, keepdims=True)
    return np.asarray(found)


@njit(cache=True, nogil=True, fastmath=True)
def _predict(
    indices: Int32Array, effects: Float64Array, prior: Float64Array, shares: Float32Array
) -> None:
    """Set ``shares`` [rows, classes] to the predicted shares of classes."""
    classes = len(prior)
    score = np.empty(classes)
    for row in range(len(indices)):
        for c in range(classes):
            score[c] = prior[c]
        for place in range(indices.shape[1]):
            effect = indices[row, place]
            for c in range(classes):
                score[c] += effects[effect, c]
        highest = score.max()
        total = 0.0
        for c in range(classes):
            score[c] = np.exp(score[c] - highest)
            total += score[c]
        for c in range(classes):
            shares[row, c] = score[c] / total


@kernel
def _add_by_group(
    shares: Float32Array, group: Int32Array, times: Float64Array, total: Float64Array
) -> None:
    for row in range(len(group)):
        for c in range(shares.shape[1]):
            total[group[row], c] += times[row] * shares[row, c]


@njit(cache=True, nogil=True, fastmath=True)
def _add_gradient(
    indices: Int32Array,
    shares: Float32Array,
    group: Int32Array,
    times: Float64Array,
    ratio: Float64Array,
    gradient: Float64Array,
) -> None:
    """Subtract the derivative of the likelihood from ``gradient`` [effects, classes]."""
    classes = shares.shape[1]
    change = np.empty(classes)
    for row in range(len(indices)):
        mean = 0.0
        for c in range(classes):
            mean += shares[row, c] * ratio[group[row], c]
        for c in range(classes):
            change[c] = times[row] * shares[row, c] * (ratio[group[row], c] - mean)
        for place in range(indices.shape[1]):
            effect = indices[row, place]
            for c in range(classes):
                gradient[effect, c] -= change[c]
