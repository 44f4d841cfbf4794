"""Sets of items as the spine takes them, in memory or one chunk of many, and facts about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from mottle.graph.bit_voting import Votes, check_worlds, vote
from mottle.graph.model import Graph
from mottle.guarantees.demand import Demand
from mottle.itemsets.data import ItemSets, Sets
from mottle.itemsets.nodes import ItemNodes
from mottle.loss.set_errors import error
from mottle.methods.base import Arrangement, Draw, MethodContext
from mottle.methods.sets import SetMethod
from mottle.pipeline.item_calibration import stated_totals
from mottle.pipeline.progress import LossSoFar
from mottle.pipeline.spine import Loss, Published
from mottle.release.certificate import ColumnFacts, UnitFacts
from mottle.release.links import Links
from mottle.release.set_release import check_published, describe_columns, publish
from mottle.schema.model import Objective, Role, Unit
from mottle.typing import Float64Array

UNIT = UnitFacts(
    protects=Unit.PERSON, statement="Every set is taken for that of a person of its own."
)


@dataclass(frozen=True)
class SetRecords:
    """Sets of items as the spine takes them."""

    method: SetMethod
    data: ItemSets
    sets: Sets
    demand: Demand
    least_total: int | None = None  # fewest records that a published total counts; None: no totals
    nodes: ItemNodes | None = None  # what the items are that the sets hold; None: themselves

    @property
    def size(self) -> int:
        """Number of records."""
        return self.data.records

    def arrange(self, context: MethodContext) -> Arrangement:
        """Build the graph by the method."""
        return self.method.arrange(self.sets, self.demand, context)

    def cover(self, graph: Graph) -> Votes:
        """Find base sets, uncertain items and distances by bit voting."""
        return vote(graph, self.sets)

    def loss(self, graph: Graph, covered: Votes, objective: Objective | None) -> Loss:
        """Measure SET12's error rate."""
        lost = error(graph, self.sets, covered)
        return Loss(lost.rate, overall=lost.flipped)

    def loss_so_far(self, parts: Float64Array) -> LossSoFar:
        """Return the error rate; sets have no columns."""
        return LossSoFar(float(parts.sum()), {})

    def check_cover(self, graph: Graph, covered: Votes) -> dict[str, Any]:
        """Check invariant 2: every preimage is a possible world."""
        return {"pairs": check_worlds(graph, self.sets, covered)}

    def publish(self, covered: Votes, links: Links, draw: Draw) -> Published:
        """Put together the outcome of the votes and the true records' labels."""
        totals = None
        if self.least_total is not None:
            totals = stated_totals(self.data, covered, self.least_total, self.nodes)
        hierarchy = None if self.nodes is None else self.nodes.hierarchy
        table = publish(self.data, covered, links, totals, hierarchy)
        return Published(table, describe_columns(self.data, totals, hierarchy))

    def check_published(self, published: Published, links: Links) -> dict[str, Any]:
        """Check invariant 5: only sets and labels are published, in random order."""
        return check_published(self.data, published.table, links)


def column_facts_of_sets(
    column: str,
    label: str | None,
    label_type: pa.DataType | None,
    nodes: ItemNodes | None = None,
) -> list[ColumnFacts]:
    """Describe names and roles of the columns; nothing about values."""
    shown = None if nodes is None else nodes.nodes
    role = Role.QUASI_IDENTIFYING
    columns = [ColumnFacts(name=column, role=role, form="worlds", nodes=shown)]
    if label is not None:
        columns.append(ColumnFacts(name=label, role=Role.SENSITIVE, type=str(label_type)))
    return columns


def notes_on_sets(universe: int, unbased: int) -> list[str]:
    """List what a reader of the certificate should know; no items.

    ``universe`` is the number of different items, ``unbased`` that of those in no base set.
    """
    notes = []
    if unbased:
        notes.append(
            f"{unbased:,} of {universe:,} items are in no base set: the release does not say"
            " with what else they are held. release.items() lists them."
        )
    if universe == 0:
        notes.append("All sets are empty, so there is nothing to hide and nothing to learn.")
    return notes
