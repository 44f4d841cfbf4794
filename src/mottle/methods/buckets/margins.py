"""The chance that a half of a cut breaks a cap, although its prediction does not.

Of n records of a node that carry a code, a cut is predicted to put the share f on one side. The
number that it does put there varies for three reasons: chance (n·f·(1 − f)); doubt about the
effects, which shrinks with what has been seen; and effects that differ from node to node, the more
the smaller nodes are: by a standard deviation *spread* for every halving, on the scale of log-odds.
The spread of a column is not known in advance. It is learned, from the first wave and from the cuts
that have been made, beginning with one prior for all columns of all tables. Whatever was learned, a
code may behave otherwise in a single node (an interaction of columns), so a share of `_SURPRISES`
of all cuts is expected to have a wide spread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mottle.typing import Float64Array, Int64Array
from mottle.utils.lazy import lazy_module

special = lazy_module("scipy.special")

_SPREADS = np.array([0.03, 0.06, 0.1, 0.15, 0.2, 0.28, 0.4, 0.6, 0.9, 1.4])
_USUAL_SPREAD = 0.08
_PRIOR_CUTS = 4.0  # how many observations the prior is worth
_MOST_SHARED = 12.0  # how many observations of other codes a code's spread may rest on
_OUTLIERS = 0.03  # share of codes whose spread has nothing to do with that of others
_SURPRISES = 0.01  # share of cuts in which a code differs from what its other cuts have shown
_WIDE = np.where(_SPREADS >= 0.5, 1.0, 0.0) / (_SPREADS >= 0.5).sum()
_TAIL = 4.0  # degrees of freedom of what codes share, so that one outlier does not decide
_LEAST_SHARE = 1e-3  # predicted shares are kept away from 0 and 1 by this much
_FEWEST = 10  # records of a code from which on it is learned


class Margins:
    """The spread of every code by every column, as probabilities of a few spreads.

    It is learned from the code's own cuts and, within limits, from those of all codes.
    """

    def __init__(self, columns: int, codes: int) -> None:
        self._prior = -_PRIOR_CUTS * (np.log(_SPREADS) + 0.5 * (_USUAL_SPREAD / _SPREADS) ** 2)
        self._shared = np.zeros((columns, len(_SPREADS)))
        self._observed = np.zeros(columns)
        self._own = np.zeros((columns, codes, len(_SPREADS)))

    def learn(
        self,
        column: int,
        codes: Int64Array,
        counts: Float64Array,
        share: Float64Array,
        found: Float64Array,
        doubt: Float64Array,
        depth: float,
        weight: float = 1.0,
    ) -> None:
        """Learn from a cut, for each of several codes.

        ``counts``: records in the node; ``share``: predicted for one side; ``found``: records on
        that side; ``doubt``: variance of the log-odds of the prediction; ``depth``: see
        `depth_of`.
        """
        known = counts >= _FEWEST
        codes, counts, found, doubt = codes[known], counts[known], found[known], doubt[known]
        share = inside(share[known])
        noise = (counts * share * (1 - share))[:, None]
        variance = noise + noise**2 * (_SPREADS**2 * depth + doubt[:, None])
        error = (found - counts * share)[:, None] ** 2 / variance
        scale = -0.5 * np.log(variance / noise)
        shared = scale - (_TAIL + 1) / 2 * np.log1p(error / _TAIL)
        # An observation without noise counts as one, others as less.
        sharpness = (noise * _USUAL_SPREAD**2 / (1 + noise * _USUAL_SPREAD**2))[:, 0]
        self._shared[column] += weight * shared.sum(axis=0)
        self._observed[column] += weight * sharpness.sum()
        np.add.at(self._own[column], codes, weight * (scale - error / 2))

    def chances(self) -> Float64Array:
        """[columns, codes, spreads]: probability of every spread."""
        limit = np.minimum(1.0, _MOST_SHARED / np.maximum(self._observed, 1e-9))
        shared = self._prior + self._shared * limit[:, None]
        usual = np.exp(shared - shared.max(axis=1, keepdims=True))
        usual /= usual.sum(axis=1, keepdims=True)
        before = np.log((1 - _OUTLIERS) * usual + _OUTLIERS * _WIDE)
        found = before[:, None, :] + self._own
        found = np.exp(found - found.max(axis=2, keepdims=True))
        found /= found.sum(axis=2, keepdims=True)
        return np.asarray((1 - _SURPRISES) * found + _SURPRISES * _WIDE)


def depth_of(size: int, records: int) -> float:
    """How often a table is halved until a node of this size is left.

    Effects in the whole table have no spread. With every halving they may move further away from
    those: their variance is the square of the spread times the depth.

    >>> depth_of(250, 1000)
    2.0
    """
    return float(np.log2(records / max(size, 1)))


class Local(NamedTuple):
    """What the first wave says about the very node that is cut, [cuts, codes] each."""

    information: Float64Array  # about the log-odds of the share
    residual: Float64Array  # records found in the left half, minus those that were predicted


def chance_of_excess(
    counts: Int64Array,
    share: Float64Array,
    most_left: Int64Array,
    most_right: Int64Array,
    doubt: Float64Array,
    chances: Float64Array,
    depth: float,
    local: Local,
) -> Float64Array:
    """The chance that a cut puts too many records of some code on either side, for many cuts.

    ``counts`` [codes]; ``share`` [cuts, codes]: predicted for the left side; ``most_left`` and
    ``most_right`` [cuts, codes]: records that are allowed; ``doubt`` [cuts, codes]; ``chances``
    [cuts, codes, spreads]; ``depth``: see `depth_of`.
    """
    share = inside(share)
    noise = counts * share * (1 - share)
    weights = _weighed_by_local(chances, depth, local)
    total = np.zeros(len(share))
    for spread, weight in zip(_SPREADS, weights, strict=True):
        variance = 1 / (1 / (spread**2 * depth + 1e-9) + local.information)
        expected = counts * share + noise * np.clip(variance * local.residual, -2.0, 2.0)
        deviation = np.sqrt(np.maximum(noise, 1e-9) + noise**2 * (variance + doubt))
        for limit, mean in ((most_left, expected), (most_right, counts - expected)):
            beyond = special.ndtr((mean - limit - 0.5) / deviation)
            total += np.where(counts > limit, weight * beyond, 0.0).sum(axis=1)
    return total


def _weighed_by_local(chances: Float64Array, depth: float, local: Local) -> Float64Array:
    """[spreads, cuts, codes]: the probabilities of spreads, given what is seen in the node."""
    information = np.maximum(local.information, 1e-9)
    between = _SPREADS[:, None, None] ** 2 * depth * information
    fits = -0.5 * (np.log1p(between) + local.residual**2 / (information * (1 + between)))
    found = np.moveaxis(chances, 2, 0) * np.exp(fits - fits.max(axis=0))
    return np.asarray(found / np.maximum(found.sum(axis=0), 1e-300))


def inside(share: Float64Array) -> Float64Array:
    """Shares kept away from 0 and 1."""
    return np.clip(share, _LEAST_SHARE, 1 - _LEAST_SHARE)
