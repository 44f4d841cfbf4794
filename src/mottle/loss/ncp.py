"""Information loss: NCP of every cell, per column and for the table (GCP).

For a published cell of attribute A the normalized certainty penalty is

- range:  (highest - lowest) / (max A - min A)                        (FAST07 §2.1, HKA15 eq. 1)
- set:    (count - 1) / (|A| - 1)                                     (NH10 Def. 8, HKA15 eq. 2)
- node u: 0 for a leaf, else (leaves below u) / |A|                   (FAST07 §2.1)
- worlds: misreported items of a preimage / items that a record holds, means over the preimages of
  the cell and over all records                                       (after SET12's error rate)

and GCP is the weighted mean of all cells' NCP: 0 for the original, 1 when no information is left.

A missing value counts as one more value. In a set it is a member like any other; in a hierarchy it
is a child of the root; its distance from a range is one mean step g = (max A - min A) / (|A| - 1),
so that NCP = (highest - lowest + g·[value or missing]) / (max A - min A + g), which for whole
numbers without gaps equals the formula of sets. In a column of sets of items, being missing is one
more item.

Where items of worlds are published as nodes of a hierarchy, the mean NCP of these nodes over all
items held is lost of every cell, and of the rest the share of misreported nodes.

A single cell of worlds may lose more than 1, where many items are misreported of people who hold
more items than others. The mean over a release is at most 1, since at most half of the preimages
vote against what is reported: over all cells, no more items are misreported than held.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mottle.encoding.cover import Cover
from mottle.encoding.domain import Codes


@dataclass(frozen=True)
class Loss:
    """Loss of a release: NCP by column (mean over records) and their weighted mean, GCP."""

    ncp: dict[str, float]
    gcp: float


def measure(published: Cover, codes: Codes) -> Loss:
    """Measure NCP by column and GCP of published cells. Cost O(n · d)."""
    share = published.multiplicity / len(published.row_of)
    by_column = [
        min(float(share @ cells.ncp(domain)), 1.0)  # rounding errors may add up to more than 1
        for cells, domain in zip(published.cells, codes.domains, strict=True)
    ]
    weights = np.array([domain.column.importance for domain in codes.domains])
    return Loss(
        ncp={domain.name: loss for domain, loss in zip(codes.domains, by_column, strict=True)},
        gcp=min(float(np.average(by_column, weights=weights / weights.max())), 1.0),
    )
