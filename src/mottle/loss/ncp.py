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

from mottle.encoding.cover import Cover, CoverCells, NodeCells, RangeCells, SetCells, WorldCells
from mottle.encoding.domain import Codes, Domain
from mottle.typing import Float64Array


@dataclass(frozen=True)
class Loss:
    """Loss of a release: NCP by column (mean over records) and their weighted mean, GCP."""

    ncp: dict[str, float]
    gcp: float


def measure(published: Cover, codes: Codes) -> Loss:
    """NCP by column and GCP of published cells. Cost O(n · d)."""
    share = published.multiplicity / len(published.row_of)
    by_column = [
        min(float(share @ ncp(cells, domain)), 1.0)  # rounding may add up to more
        for cells, domain in zip(published.cells, codes.domains, strict=True)
    ]
    weights = np.array([domain.column.weight for domain in codes.domains])
    return Loss(
        ncp={domain.name: loss for domain, loss in zip(codes.domains, by_column, strict=True)},
        gcp=min(float(np.average(by_column, weights=weights / weights.max())), 1.0),
    )


def ncp(cells: CoverCells, domain: Domain) -> Float64Array:
    """NCP of each cell of one column."""
    match cells:
        case RangeCells():
            return _ncp_of_ranges(cells, domain)
        case SetCells():
            return (np.diff(cells.offsets) - 1) / max(domain.size - 1, 1)
        case NodeCells():
            return _ncp_of_nodes(cells, domain)
        case WorldCells():
            return cells.wrong / items_held(domain)


def items_held(domain: Domain) -> float:
    """Denominator of the loss of sets: the mean items of a record; 1 where nobody holds any."""
    assert domain.sets is not None
    return domain.sets.mean_items or 1.0


def range_scale(domain: Domain) -> tuple[float, float]:
    """Denominator of a range's NCP, and the step g that a possible missing value adds."""
    present = domain.positions[: domain.missing] if domain.missing >= 0 else domain.positions
    if len(present) == 0:
        return 1.0, 0.0
    extent = float(present[-1] - present[0])
    if domain.missing < 0:
        return extent or 1.0, 0.0
    step = extent / (len(present) - 1) if extent > 0 else 1.0
    return extent + step, step


def node_penalties(domain: Domain) -> Float64Array:
    """NCP of every node of a column's hierarchy."""
    assert domain.hierarchy is not None
    leaves = domain.hierarchy.cardinality.astype(np.float64)
    leaves[domain.hierarchy.root] = domain.size  # the missing value hangs below the root
    return np.where(leaves == 1, 0.0, leaves / domain.size)


def _ncp_of_ranges(cells: RangeCells, domain: Domain) -> Float64Array:
    scale, step = range_scale(domain)
    present = cells.lowest >= 0
    width = np.where(present, domain.positions[cells.highest] - domain.positions[cells.lowest], 0.0)
    penalty: Float64Array = (width + step * (present & cells.missing)) / scale
    return penalty


def _ncp_of_nodes(cells: NodeCells, domain: Domain) -> Float64Array:
    return np.where(cells.nodes < 0, 0.0, node_penalties(domain)[cells.nodes])
