"""Information loss: NCP of every cell, per column and for the table (GCP).

For a published cell of attribute A the normalized certainty penalty is

- range:  (highest - lowest) / (max A - min A)                        (FAST07 §2.1, HKA15 eq. 1)
- set:    (count - 1) / (|A| - 1)                                     (NH10 Def. 8, HKA15 eq. 2)
- node u: 0 for a leaf, else (leaves below u) / |A|                   (FAST07 §2.1)
- worlds: items told wrongly of a preimage / items that a record holds, means over the preimages of
  the cell and over all records                                       (after SET12's error rate)

and GCP is the weighted mean of all cells' NCP: 0 for the original, 1 when nothing is left.

A missing value counts as one more value. In a set it is a member like any other; in a hierarchy it
hangs below the root; beside a range it lies one mean step g = (max A - min A) / (|A| - 1) away, so
that NCP = (highest - lowest + g·[value or missing]) / (max A - min A + g), which for whole numbers
without gaps is the set formula again. In a column of sets, being missing is one more item.

Of worlds, a single cell may lose more than 1, where many items are told wrongly of people who hold
more than others do. Their mean over a release never does, since at most half of the preimages vote
against what is told: over all cells, no more items are told wrongly than are held.
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
    """NCP by column and GCP of published cells. Cost O(n · d)."""
    share = published.multiplicity / len(published.row_of)
    by_column = [
        min(float(share @ cells.ncp(domain)), 1.0)  # rounding may add up to more
        for cells, domain in zip(published.cells, codes.domains, strict=True)
    ]
    weights = np.array([domain.column.weight for domain in codes.domains])
    return Loss(
        ncp={domain.name: loss for domain, loss in zip(codes.domains, by_column, strict=True)},
        gcp=min(float(np.average(by_column, weights=weights / weights.max())), 1.0),
    )
