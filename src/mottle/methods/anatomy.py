"""Anatomy: groups of records with different sensitive values, published as two tables.

Xiao, Tao: Anatomy: Simple and Effective Privacy Preservation (VLDB 2006), as FAST07 §2.3 and NH10
§7.4 compare with it. Records are hashed into buckets by sensitive value; each group takes one
random record from each of the ℓ largest buckets, as long as there are ℓ buckets. In an eligible
table fewer than ℓ records are left over, no two with the same value; each joins a random group that
lacks its value.
"""

from __future__ import annotations

import numpy as np

from mottle.encoding.domain import Codes
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy
from mottle.guarantees.demand import Demand
from mottle.kernels.heap import NEVER, Heap, heap_of, settle
from mottle.methods.base import Arrangement, Draw, MethodContext, register
from mottle.methods.fast07.partitioning import arrange
from mottle.typing import Int32Array, Int64Array
from mottle.utils.compiled import kernel


@register(
    "anatomy",
    title="exact quasi-identifiers and a second table of sensitive values (for comparison): shows"
    " who is in the table",
    paper="FAST07",
    offers=Capability.EQUAL_CAPS,
    cost="O(n log m) time for m sensitive values, O(n·d) memory",
    exact=True,
    decides_by=DecidesBy.SEPARATELY,
)
def anatomy(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Groups of ℓ or a few more random records with different sensitive values.

    Which records of a value join which group is drawn from the secret. Only choices among values
    and groups, which the published tables show anyway, use the seed.
    """
    demand.one_column("anatomy", "its second table has one count for each value")
    random = np.random.default_rng(context.seed)
    tiebreak = context.tiebreak(codes.records)
    buckets = tiebreak[np.argsort(demand.values[tiebreak], kind="stable")]
    group_of = _draw_groups(demand.values[buckets], demand.diversity, random)
    by_group = buckets[np.argsort(group_of, kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(group_of))])
    return Arrangement(arrange(by_group, starts).graph, draw=Draw.TWO_TABLES)


def _draw_groups(values: Int32Array, diversity: int, random: np.random.Generator) -> Int64Array:
    """The group of every record; ``values`` are those of the records, sorted by bucket."""
    counts = np.bincount(values).astype(np.int64)
    ties = random.permutation(len(counts))
    heap = heap_of(-counts * len(counts) + ties)
    group_of = np.full(len(values), -1, np.int64)
    _take_from_largest(heap, np.cumsum(counts) - counts, counts, ties, diversity, group_of)
    for record in np.flatnonzero(group_of < 0):
        having = np.unique(group_of[values == values[record]])
        lacking = np.setdiff1d(np.arange(group_of.max() + 1), having, assume_unique=True)
        group_of[record] = random.choice(lacking)
    return group_of


@kernel
def _take_from_largest(
    heap: Heap,
    starts: Int64Array,
    left: Int64Array,
    ties: Int64Array,
    diversity: int,
    group_of: Int64Array,
) -> None:
    """Set ``group_of`` for all records except those left over.

    ``starts`` are the starts of the buckets and ``left`` the number of records left in each, which
    are the first ones. The heap has the largest bucket on top.
    """
    chosen = np.empty(diversity, np.int64)
    filled = np.count_nonzero(left)
    group = 0
    while filled >= diversity:
        for place in range(diversity):
            chosen[place] = heap.items[0]
            settle(heap, chosen[place], NEVER)
        for place in range(diversity):
            value = int(chosen[place])
            left[value] -= 1
            group_of[starts[value] + left[value]] = group
            filled -= left[value] == 0
            settle(heap, value, -left[value] * left.size + ties[value])
        group += 1
