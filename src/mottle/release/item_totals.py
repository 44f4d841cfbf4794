"""How many records hold each item, and how far counts of items miss: published for analysts.

Both follow from the sets and the graph, which the adversary of every guarantee knows, so he learns
nothing from them (docs/guarantees.md). Even so no total is of fewer than 5 people, or k if that is
more: of rarer items it is only known that they are rarer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from mottle.typing import Float64Array, Int64Array
from mottle.utils.untrusted.text import distinct_texts

MOST_ITEMS = 20_000  # whose totals are published
# Ends of the classes of expected counts, of each of which it is stated how far answers miss.
CLASSES = (1.0, 10.0, 100.0, 1000.0)
MOST_TOGETHER = 3  # items of a question; questions about more are treated as if they were of three
_LARGEST = 1e9


@dataclass(frozen=True)
class ItemTotals:
    """Records by item, for items that at least ``least`` records hold."""

    items: tuple[str, ...]
    counts: tuple[int, ...]  # [items]
    least: int  # items that are not listed are held by fewer records; 0: nothing is known of them
    # [MOST_TOGETHER][CLASSES + 1]: by how much the standard error of a model has to be multiplied,
    # for questions about one, two and more items, by class of the expected count.
    factors: tuple[tuple[float, ...], ...] = ()

    @classmethod
    def of(cls, names: pa.Array, counts: Int64Array, least: int) -> ItemTotals:
        """Take the totals that may be published, of the most frequent items if there are too many.

        >>> ItemTotals.of(pa.array(["rum", "tea"]), np.array([2, 7]), 5).facts
        {'items': ('tea',), 'counts': (7,), 'least': 5, 'factors': ()}
        """
        listed = np.flatnonzero(counts >= least)
        complete = len(listed) <= MOST_ITEMS
        if not complete:
            listed = np.sort(listed[np.argsort(-counts[listed], kind="stable")[:MOST_ITEMS]])
        texts = names.take(pa.array(listed)).to_pylist()
        return cls(tuple(texts), tuple(counts[listed].tolist()), least if complete else 0)

    @cached_property
    def count_of(self) -> dict[str, int]:
        """The total of every item that is listed."""
        return dict(zip(self.items, self.counts, strict=True))

    @property
    def facts(self) -> dict[str, Any]:
        """The entries in the metadata of the column."""
        return {
            "items": self.items,
            "counts": self.counts,
            "least": self.least,
            "factors": self.factors,
        }

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> ItemTotals:
        """Read totals from the entries in the metadata; raise ValueError for odd ones."""
        numbers = [*facts["counts"], facts["least"]]
        if any(type(number) is not int or not 0 <= number < 2**53 for number in numbers):
            raise ValueError("a count that is none")
        items = distinct_texts(facts["items"])
        if len(items) != len(facts["counts"]):
            raise ValueError("as many counts as items are needed")
        factors = tuple(tuple(float(factor) for factor in row) for row in facts["factors"])
        shape = {len(row) for row in factors}
        if factors and (len(factors) != MOST_TOGETHER or shape != {len(CLASSES) + 1}):
            raise ValueError("factors for other questions")
        if any(not (math.isfinite(one) and 0 <= one <= _LARGEST) for row in factors for one in row):
            raise ValueError("a factor that is none")
        return cls(items, tuple(facts["counts"]), facts["least"], factors)

    def factor(self, items: int, expected: float) -> float:
        """Return by how much to multiply the standard error of a question about some items.

        >>> ItemTotals((), (), 0, ((1.0,) * 5, (2.0,) * 4 + (9.0,), (3.0,) * 5)).factor(2, 1e6)
        9.0
        """
        if not self.factors or items < 1:
            return 1.0
        row = self.factors[min(items, MOST_TOGETHER) - 1]
        return row[class_of(expected)]


def class_of(expected: float) -> int:
    """Return the class of an expected count."""
    return sum(expected >= end for end in CLASSES)


def factors_of(
    questions: Float64Array, expected: Float64Array, errors: Float64Array, scales: Float64Array
) -> tuple[tuple[float, ...], ...]:
    """Return the factors that make intervals of 95 % hold the truth in 97.5 % of some questions.

    Some more than 95 %, because there are few questions and others will be asked.

    Parameters
    ----------
    questions : float64[questions]
        The number of items of each.
    expected, errors, scales : float64[questions]
        The expected count, its distance from the truth and the standard error of the model.

    Returns
    -------
    tuple of tuple of float
        As `ItemTotals.factors`; a class with few questions takes its neighbours' as well.
    """
    classes = np.searchsorted(np.array(CLASSES), expected, side="right")
    ratios = np.maximum(errors - 0.5, 0.0) / np.maximum(scales, 1e-9)
    rows = []
    for items in range(1, MOST_TOGETHER + 1):
        row = []
        for wanted in range(len(CLASSES) + 1):
            factor = 1.0
            for reach in range(len(CLASSES) + 1):
                near = (questions == items) & (np.abs(classes - wanted) <= reach) & (scales > 0)
                if near.sum() >= _FEWEST:
                    factor = float(np.quantile(ratios[near], 0.975)) / _NORMAL
                    break
            row.append(round(min(max(factor, _SMALLEST), _LARGEST), 4))
        rows.append(tuple(row))
    return tuple(rows)


_FEWEST = 30  # questions of a class
_NORMAL = 1.96  # standard errors on either side of an interval of 95 %
_SMALLEST = 0.01
