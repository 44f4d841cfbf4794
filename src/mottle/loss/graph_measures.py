"""Measures of a release in addition to GCP: discernibility, class size, classification, entropy.

They were defined for groups of identical records. Here they are computed from the generalization
graph, so that homogeneous and heterogeneous releases can be compared; for complete blocks each is
the measure of the literature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Codes
from mottle.errors import UsageError
from mottle.graph.model import Graph, is_complete, preimage
from mottle.typing import Int32Array
from mottle.utils import parallel
from mottle.utils.compiled import kernel

Labels: TypeAlias = "pa.Array | pa.ChunkedArray | Sequence[Any]"


@dataclass(frozen=True)
class Measures:
    """The measures of one release; smaller is better."""

    discernibility: float
    average_class_size: float
    entropy: float
    classification: float | None  # None without class labels


def measure_graph(graph: Graph, codes: Codes, k: int, labels: Labels | None = None) -> Measures:
    """Compute all measures of a graph over coded records.

    ``labels`` are the class labels of the originals.

    >>> import pyarrow as pa
    >>> from mottle import Schema
    >>> from mottle.encoding.encode import encode
    >>> from mottle.schema.model import Representation
    >>> table = pa.table({"age": [20, 20, 40, 40]})
    >>> codes = encode(table, Schema.of(quasi_identifying=["age"]), Representation.RANGE)
    >>> pairs = Graph.rings(np.arange(4), np.array([0, 2, 4]), np.array([2, 2]))
    >>> measure_graph(pairs, codes, 2, ["a", "b", "b", "b"])
    Measures(discernibility=8.0, average_class_size=1.0, entropy=0.0, classification=0.25)
    """
    return Measures(
        discernibility(graph),
        average_class_size(graph, k),
        entropy(graph, codes),
        None if labels is None else classification(graph, labels),
    )


def discernibility(graph: Graph) -> float:
    """DM: the number of published records that may stand for an original, summed over originals.

    In a regular block that is degree · size; for groups G it is Σ |G|² (Bayardo and Agrawal 2005).
    """
    return float((graph.degrees.astype(np.float64) * graph.sizes).sum())


def average_class_size(graph: Graph, k: int) -> float:
    """C_avg: the harmonic mean over records of their number of matches, divided by k.

    A record with m matches counts as 1/m of a class. So for groups there are as many classes as
    groups, and the measure is (n / groups) / k (LeFevre et al. 2006); 1 is ideal.
    """
    classes = float((graph.sizes / graph.degrees).sum())
    return graph.records / classes / k


def classification(graph: Graph, labels: Labels) -> float:
    """CM: the share of originals whose class label a reader of the release would get wrong.

    The reader assigns every published record to the majority class of its preimages, and an
    original is the true one of each of its matches with equal chance. For groups it is the share of
    records outside the majority of their group (Iyengar 2002).
    """
    if len(labels) != graph.records:
        raise UsageError(
            f"There are {len(labels)} class labels for {graph.records} records.",
            "Give one label for every original, in the order of the table.",
        )
    values = labels if isinstance(labels, pa.Array | pa.ChunkedArray) else pa.array(labels)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    encoded = pc.dictionary_encode(values, null_encoding="encode")
    majority, _ = _mixtures(graph, encoded.indices.to_numpy().astype(np.int32))
    return max(0.0, 1.0 - majority / graph.records)


def entropy(graph: Graph, codes: Codes) -> float:
    """Uncertainty about an original's values that remains when its published record is known.

    For a column X: the mean over published records of the entropy of X among their preimages,
    divided by the entropy of X in the table, that is, H(X | published record) / H(X). It is 0 when
    all preimages agree, and at most 1, because every original has equally many matches; a column
    with one value counts 0. Columns are averaged by their weights.
    """
    weights = [domain.column.importance for domain in codes.domains]
    return entropy_of_columns(graph, list(codes.matrix.T), weights)


def entropy_of_columns(
    graph: Graph, columns: Sequence[Int32Array], weights: Sequence[float]
) -> float:
    """`entropy` of columns given by the codes of all records, from 0 on."""
    shares = np.zeros(len(columns))
    everything = Graph.rings(graph.members, np.array([0, graph.records]), np.array([graph.records]))
    for place, codes in enumerate(columns):
        values = np.ascontiguousarray(codes)
        _, known_nothing = _mixtures(everything, values)
        if known_nothing > 0.0:
            shares[place] = _mixtures(graph, values)[1] / known_nothing
    return float(np.average(shares, weights=weights)) if len(shares) else 0.0


def _mixtures(graph: Graph, values: Int32Array) -> tuple[float, float]:
    """Over published records, the sums of the majority's share and of the entropy of ``values``."""
    ordered = values[graph.members]
    distinct = int(values.max()) + 1
    parts = parallel.over_blocks(
        lambda first, last: _sum_mixtures(graph, ordered, distinct, first, last), graph.starts
    )
    return sum(part[0] for part in parts), sum(part[1] for part in parts)


@kernel
def _sum_mixtures(
    graph: Graph, ordered: Int32Array, distinct: int, first: int, last: int
) -> tuple[float, float]:
    counts = np.zeros(distinct, np.int32)
    majorities, entropies = 0.0, 0.0
    for block in range(first, last):
        start, degree = graph.starts[block], graph.degrees[block]
        size = graph.starts[block + 1] - start
        alike = size if is_complete(graph, block) else 1  # number of records with these preimages
        for place in range(0, size, alike):
            for layer in range(degree):
                counts[ordered[start + preimage(graph, block, place, layer)]] += 1
            largest, bits = 0, 0.0
            for layer in range(degree):
                value = ordered[start + preimage(graph, block, place, layer)]
                count = counts[value]
                if count > 0:
                    largest = max(largest, count)
                    bits -= count / degree * np.log2(count / degree)
                    counts[value] = 0
            majorities += alike * largest / degree
            entropies += alike * bits
    return majorities, entropies
