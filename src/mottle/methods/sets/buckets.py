"""Buckets for sets: sensitive labels without a leak, by permuting buckets. Ours.

The construction of `mottle.methods.buckets.buckets`, whose proof is in docs/guarantees.md: a tree
of cuts by items, decided from what is public, makes blocks; buckets are filled by labels alone and
at random, buckets are matched by sets alone, and one random permutation of the buckets of each
table decides the true assignment. The loss is the error of bit voting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mottle.graph.bit_voting import vote
from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy
from mottle.guarantees.demand import Demand
from mottle.itemsets.data import Sets, frequent_items
from mottle.kernels.ncp_growth import Scales
from mottle.methods import Arrangement, MethodContext
from mottle.methods.buckets.buckets import arrange_in_buckets
from mottle.methods.buckets.profiles import profiles
from mottle.methods.refinement import Orders
from mottle.methods.sets.base import register
from mottle.methods.sets.freeform import bit_weights, set_orders, voting_error
from mottle.orderings.item_splits import split_order
from mottle.schema.columns import Objective
from mottle.typing import Float64Array, Int32Array, Int64Array

_FEATURES = 100  # number of most frequent items whose shares form the profile of a label


@register(
    "buckets",
    title="labels in buckets, matched by sets, buckets permuted at random",
    paper="mottle, after HET",
    offers=Capability.CAPS | Capability.KNOWN_RECORDS,
    decides_by=DecidesBy.SEPARATELY,
    cost="O(n · μ · (block + s)) time, refinement until the time limit; O(n · (μ + s)) memory",
)
def buckets(sets: Sets, demand: Demand, context: MethodContext) -> Arrangement:
    """Cut blocks, plan and fill buckets, match them, refine; μ is the least that the caps allow."""
    return arrange_in_buckets(SetRecords.of(sets), demand, context)


@dataclass(frozen=True)
class SetRecords:
    """Records that are sets, as `BucketRecords`."""

    sets: Sets
    weights: Int32Array  # [n]: cost of a wrong bit of each record, for orders

    @classmethod
    def of(cls, sets: Sets) -> SetRecords:
        """The records of sets."""
        return cls(sets, bit_weights(sets))

    @property
    def matrix(self) -> Int32Array:
        """Codes [n, 1]: the code of a record is its index."""
        return np.arange(self.sets.records, dtype=np.int32)[:, None]

    def metric(self, degree: int) -> Scales:
        """The error rate."""
        return voting_error(self.sets, degree)

    def objective(self, degree: int, objective: Objective) -> Scales:
        """The error rate: votes follow frequencies already."""
        return self.metric(degree)

    def order(self, tiebreak: Int64Array) -> Int64Array:
        """Order from recursive splits."""
        return tiebreak[split_order(self.sets.take(tiebreak), self.weights[tiebreak], piece=1)]

    def orders(self, members: Int32Array) -> Orders:
        """Orders from recursive splits, with a different random item weighting each time."""
        return set_orders(self.sets, members.astype(np.int64), self.weights)

    def profiles_by_release(self, demand: Demand, graph: Graph, truth: Int32Array) -> Float64Array:
        """Whether the most frequent items are in the base sets."""
        rows = graph.members
        part = self.sets.take(rows)
        votes = vote(graph._replace(members=np.arange(len(rows), dtype=np.int32)), part)
        bases = part._replace(starts=votes.base_starts, items=votes.base)
        features = frequent_items(self.sets, bases, _FEATURES)[votes.row_of]
        return profiles(demand, demand.values[rows[truth]], features)
