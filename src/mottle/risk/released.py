"""What is left of risks in a release, decided by which originals lie inside which records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mottle.audit.containment.coded_columns import code_columns
from mottle.audit.containment.index import ContainmentIndex, Pieces, Tree, build_index
from mottle.errors import DataError
from mottle.release.data import ReleaseData
from mottle.risk.individual import individual_risk
from mottle.typing import Float64Array, Int64Array
from mottle.utils.compiled import kernel


@dataclass(frozen=True)
class ReleasedRisk:
    """People and published records, joined by containment."""

    index: ContainmentIndex

    @classmethod
    def of(cls, original: pa.Table, release: ReleaseData) -> ReleasedRisk:
        """Join a release with the table it was made from."""
        risk = cls(build_index(code_columns(original, release)))
        strangers = int(np.count_nonzero(risk.matches == 0))
        if 2 * strangers > original.num_rows:
            raise DataError(
                f"{strangers:,} of {original.num_rows:,} originals fit no published record: the"
                " release does not come from this table.",
                "Give the table the release was made from.",
            )
        return risk

    @property
    def matches(self) -> Int64Array:
        """[originals]: published records that may be theirs."""
        return self.index.matches_of_points()[self.index.place_of]

    def individual(self, weights: Float64Array) -> Float64Array:
        """Return the individual risk of every original: the highest of the records it fits.

        A record whose cells hold f originals with weights of F̂ together is one person's of F in
        the population; the risk is the expected 1/F, as for the rows of a table.

        Parameters
        ----------
        weights : float64 array of shape (originals,)
            How many people each original stands for.

        Returns
        -------
        float64 array of shape (originals,)
            The risks; 0 for originals that fit no record.
        """
        index, pieces = self.index, self.index.pieces
        inside = index.originals_in(pieces)
        at_points = np.bincount(index.place_of, weights, len(index.weights))
        up_to = np.append(0.0, np.cumsum(at_points))
        tree = index.tree
        sums = np.append(
            0.0, np.cumsum(up_to[tree.last[pieces.nodes]] - up_to[tree.first[pieces.nodes]])
        )
        estimated = sums[pieces.offsets[1:]] - sums[pieces.offsets[:-1]]
        risks = np.zeros(len(inside))
        some = inside > 0
        risks[some] = individual_risk(inside[some], estimated[some])
        return _highest_around(tree, pieces, risks)[index.place_of]


def population_inside(population: pa.Table, release: ReleaseData) -> Int64Array:
    """Count for every published record the rows of the population inside its cells.

    Parameters
    ----------
    population : pyarrow.Table
        A table with the quasi-identifiers of the release.
    release : ReleaseData
        The release.

    Returns
    -------
    int64 array of shape (records,)
        The counts.
    """
    index = build_index(code_columns(population, release))
    return index.originals_in(index.pieces)[index.box_of]


def _highest_around(tree: Tree, pieces: Pieces, values: Float64Array) -> Float64Array:
    """[points]: the highest value of a box that contains it."""
    at_nodes = np.zeros(len(tree.left))
    np.maximum.at(at_nodes, pieces.nodes, values[pieces.boxes])
    return _push_highest_down(tree, at_nodes)


@kernel
def _push_highest_down(tree: Tree, highest: Float64Array) -> Float64Array:
    """The highest value on the branch above every point; modifies ``highest``."""
    points = np.empty(tree.last[0])
    for node in range(len(tree.left)):
        if tree.parent[node] >= 0:
            highest[node] = max(highest[node], highest[tree.parent[node]])
        if tree.left[node] < 0:
            points[tree.first[node]] = highest[node]
    return points
