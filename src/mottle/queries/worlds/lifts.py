"""Fit how much more often two values occur in one record than their frequencies say.

The cells of a record say in which parts of two columns its values may lie. The *lift* of two parts
is the number of records that have both, divided by the number to be expected if the columns were
independent. It is fitted in two steps, on a sample of the records if there are many.

1. For every pair of columns by itself, by expectation maximization: distribute every record over
   the pairs of parts that its cells hold, in proportion to its own chances and the lifts; count;
   compute the lifts anew. Few records are weak evidence, so lifts are shrunk towards 1. The counts
   are then scaled to what the columns have by themselves (iterative proportional fitting). A method
   generalizes unusual records more than usual ones, so cells that hold several values are less
   associated than exact ones: iteration stops early, and weak associations are believed in part
   (benchmarks/worlds.py).
2. Lifts of several pairs together would count associations twice that one column passes on to
   another. So worlds are drawn with all lifts (`mottle.queries.worlds.chains`), their pairs are
   counted, and lifts and factors of single parts are corrected until the counts are those of step 1
   and the totals of single parts those of the release.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mottle.queries.worlds.chains import pair_counts
from mottle.typing import BoolArray, Float32Array, Float64Array, Int32Array, Int64Array
from mottle.utils import parallel

MOST_PAIRS = 200  # pairs of columns that are fitted: those with most association
ROUNDS = 2  # of expectation maximization
CORRECTIONS = 20  # of step 2
_SCALINGS = 20
_PRIOR = 20.0  # shrinkage: records as expected that are added to every count
_WEAK = 0.2  # Cramér's V of which half of the lift is believed
_PACE = 0.6  # share of the first correction that is made at once; later ones less
_LARGEST, _SMALLEST = 1e3, 1e-3  # lifts beyond are as good as certain


@dataclass(frozen=True, eq=False)
class Lifts:
    """What the parts of a record's other columns say about the part of one."""

    offsets: Int64Array  # [columns + 1]: the first place of every column's parts
    linked: BoolArray  # [columns, columns]: which pairs have lifts
    lifts: Float32Array  # [places, places], symmetric; 1 where pairs have none
    factors: Float64Array  # [places]: corrections of single parts

    @classmethod
    def none(cls, offsets: Int64Array) -> Lifts:
        """Columns that say nothing about each other."""
        size, columns = int(offsets[-1]), len(offsets) - 1
        linked = np.zeros((columns, columns), np.bool_)
        return cls(offsets, linked, np.ones((size, size), np.float32), np.ones(size))

    @classmethod
    def fitted(
        cls,
        chances: Float32Array,
        offsets: Int64Array,
        drawn: Callable[[Lifts, Int32Array | None], Int32Array],
    ) -> Lifts:
        """Fit lifts to the chances [records, places] of records.

        ``drawn`` continues a state of all records, or begins one, by given lifts; a state may be
        of several copies of the records, which makes its counts less random.
        """
        wanted, linked = _wanted(chances, offsets)
        single = chances.sum(axis=0, dtype=np.float64)
        lifts, factors = np.zeros_like(wanted), np.zeros(len(single))
        mean_lifts, mean_factors = np.zeros_like(wanted), np.zeros(len(single))
        states = None
        records = len(chances)
        apart = _of_linked(linked, offsets)
        for number in range(CORRECTIONS):
            current = cls(offsets, linked, np.exp(lifts).astype(np.float32), np.exp(factors))
            states = drawn(current, states)
            counts = counted(states, offsets) * (records / len(states))
            pace = _PACE / (1 + number / 4)
            expected = np.outer(single, single) / records
            prior = np.minimum(_PRIOR, np.maximum(expected, 1e-6))
            change = np.log((wanted + prior) / (counts + prior))
            lifts = np.where(apart, lifts + pace * change, 0.0)
            lifts = np.clip(lifts, np.log(_SMALLEST), np.log(_LARGEST))
            found = np.diag(counts)
            factors += pace * np.log((single + 0.5) / (found + 0.5))
            factors = np.clip(factors, np.log(_SMALLEST), np.log(_LARGEST))
            if number >= CORRECTIONS // 2:  # their mean is less random than the last ones
                mean_lifts += lifts / (CORRECTIONS - CORRECTIONS // 2)
                mean_factors += factors / (CORRECTIONS - CORRECTIONS // 2)
        return cls(offsets, linked, np.exp(mean_lifts).astype(np.float32), np.exp(mean_factors))


def counted(states: Int32Array, offsets: Int64Array) -> Float64Array:
    """[places, places]: how many records have both parts."""
    size = int(offsets[-1])
    held = np.zeros((len(states), size), np.float32)
    held[np.arange(len(states))[:, None], states + offsets[:-1]] = 1.0
    counts: Float64Array = (held.T @ held).astype(np.float64)
    return counts


def _of_linked(linked: BoolArray, offsets: Int64Array) -> BoolArray:
    """[places, places]: whether the columns of two places are linked."""
    column = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return linked[column[:, None], column[None, :]]


def _wanted(chances: Float32Array, offsets: Int64Array) -> tuple[Float64Array, BoolArray]:
    """Step 1: how many records have both parts of a pair, and which columns are linked."""
    columns = len(offsets) - 1
    independent = (chances.T @ chances).astype(np.float64)
    single = chances.sum(axis=0, dtype=np.float64)
    expected = np.outer(single, single) / max(len(chances), 1)
    pairs = _most_associated(independent, expected, offsets)
    linked = np.zeros((columns, columns), np.bool_)
    linked[pairs[:, 0], pairs[:, 1]] = linked[pairs[:, 1], pairs[:, 0]] = True
    lifts = np.ones(expected.shape, np.float32)
    prior = np.minimum(_PRIOR, np.maximum(expected, 1e-6))
    counts = np.zeros_like(expected)
    bounds = np.arange(len(pairs) + 1)
    for _ in range(ROUNDS):
        counts[:] = 0.0
        parallel.over_blocks(
            lambda first, last: pair_counts(chances, lifts, offsets, pairs, first, last, counts),
            bounds,
        )
        for one, two in pairs:
            a, b = slice(*offsets[one : one + 2]), slice(*offsets[two : two + 2])
            counts[a, b] = _scaled(counts[a, b], single[a], single[b])
            lift = (counts[a, b] + prior[a, b]) / (expected[a, b] + prior[a, b])
            lifts[a, b] = np.clip(lift, _SMALLEST, _LARGEST)
            lifts[b, a] = lifts[a, b].T
    for one, two in pairs:
        a, b = slice(*offsets[one : one + 2]), slice(*offsets[two : two + 2])
        trust = _trust(independent[a, b], expected[a, b])
        counts[a, b] = trust * counts[a, b] + (1 - trust) * independent[a, b]
    return counts + counts.T, linked


def _trust(independent: Float64Array, expected: Float64Array) -> float:
    """How much of a lift is believed: weak associations may come from how cells were formed."""
    some = expected > 0
    chi = ((independent - expected)[some] ** 2 / expected[some]).sum() / expected.sum()
    least = min((expected.sum(axis=1) > 0).sum(), (expected.sum(axis=0) > 0).sum()) - 1
    squared = chi / max(least, 1)  # Cramér's V, squared
    return float(squared / (squared + _WEAK**2))


def _most_associated(
    independent: Float64Array, expected: Float64Array, offsets: Int64Array
) -> Int64Array:
    """[pairs, 2]: the pairs of columns whose parts occur together least as expected."""
    columns = len(offsets) - 1
    found = []
    for one in range(columns):
        for two in range(one + 1, columns):
            a, b = slice(*offsets[one : one + 2]), slice(*offsets[two : two + 2])
            some = expected[a, b] > 0
            apart = (independent[a, b] - expected[a, b])[some] ** 2 / expected[a, b][some]
            found.append((float(apart.sum()), one, two))
    found.sort(key=lambda pair: -pair[0])
    return np.array([pair[1:] for pair in found[:MOST_PAIRS]], np.int64).reshape(-1, 2)


def _scaled(counts: Float64Array, rows: Float64Array, columns: Float64Array) -> Float64Array:
    """Scale a table to the sums of its rows and columns (iterative proportional fitting)."""
    for _ in range(_SCALINGS):
        counts = counts * (rows / np.maximum(counts.sum(axis=1), 1e-12))[:, None]
        counts = counts * (columns / np.maximum(counts.sum(axis=0), 1e-12))[None, :]
    return counts
