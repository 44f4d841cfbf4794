"""One chunk of a release of sets: the records as the spine takes them, and what is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle import methods
from mottle.encoding.domain import Codes
from mottle.graph.bit_voting import Votes
from mottle.graph.model import Graph
from mottle.guarantees.demand import Demand
from mottle.itemsets.data import ItemSets
from mottle.methods import sets as set_methods
from mottle.methods.base import Arrangement, Draw, MethodContext
from mottle.pipeline.measurements import Measurements
from mottle.pipeline.progress import LossSoFar
from mottle.pipeline.set_records import SetRecords
from mottle.pipeline.spine import Loss, Published
from mottle.release.links import Links
from mottle.release.set_release import based_items
from mottle.schema.columns import Objective
from mottle.typing import Float64Array


@dataclass(frozen=True)
class SetsOfChunk:
    """The sets of a chunk, and their codes among all sets of the run.

    What `buckets` decides for all chunks together is about codes, so its blocks are matched by
    codes as well: the columns of a table whose only quasi-identifier is the set.
    """

    sets: SetRecords
    codes: Codes
    demand: Demand

    @classmethod
    def of(cls, method: str, codes: Codes, labels: pa.Table, demand: Demand) -> SetsOfChunk:
        """Take the sets of coded rows; ``labels`` has their column of labels, if there is one."""
        (domain,) = codes.domains
        lists = domain.items.sets.take(codes.matrix[:, 0])
        data = ItemSets(domain.items.names, lists.starts, lists.items, column=domain.name)
        name = labels.column_names[0]
        if name:
            data = data.with_labels(labels.column(name), name)
        chosen = set_methods.registered()[method]
        return cls(SetRecords(chosen, data, data.sets(), demand), codes, demand)

    @property
    def size(self) -> int:
        """Number of records."""
        return self.sets.size

    def arrange(self, context: MethodContext) -> Arrangement:
        """Build the graph by the method for sets, or match the blocks of `buckets` by codes."""
        if context.bucket_decision is not None:
            return methods.get("buckets").arrange(self.codes, self.demand, context)
        return self.sets.arrange(context)

    def cover(self, graph: Graph) -> Votes:
        """Find base sets, uncertain items and distances by bit voting."""
        return self.sets.cover(graph)

    def loss(self, graph: Graph, covered: Votes, objective: Objective | None) -> Loss:
        """Measure SET12's error rate."""
        return self.sets.loss(graph, covered, objective)

    def loss_so_far(self, parts: Float64Array) -> LossSoFar:
        """Return the error rate."""
        return self.sets.loss_so_far(parts)

    def check_cover(self, graph: Graph, covered: Votes) -> dict[str, Any]:
        """Check invariant 2: every preimage is a possible world."""
        return self.sets.check_cover(graph, covered)

    def publish(self, covered: Votes, links: Links, draw: Draw) -> Published:
        """Put together the outcome of the votes and the true records' labels."""
        return self.sets.publish(covered, links, draw)

    def check_published(self, published: Published, links: Links) -> dict[str, Any]:
        """Check invariant 5: only sets and labels are published, in random order."""
        return self.sets.check_published(published, links)

    def measured(self, measured: Measurements, loss: Loss, table: pa.Table) -> Measurements:
        """Add what the whole release states about its items to the measurements of the chunk."""
        data = self.sets.data
        assert loss.overall is not None, "sets have an overall loss"
        based = np.zeros(data.universe, np.bool_)
        found = based_items(table.column(data.column))
        based[pc.index_in(found, value_set=data.names).to_numpy()] = True
        return measured.with_sets(loss.overall * max(len(data.items), 1), based)
