"""The records of a table as the spine takes them: in memory, or one chunk of many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from mottle.encoding.cover import Cover, check_covers, cover
from mottle.encoding.domain import Codes
from mottle.graph.model import Graph
from mottle.guarantees.demand import Demand
from mottle.kernels.graph_loss import objective_loss
from mottle.kernels.reading_scales import importance_of
from mottle.loss.ncp import measure
from mottle.methods.base import Arrangement, Draw, Method, MethodContext
from mottle.pipeline.progress import LossSoFar
from mottle.pipeline.spine import Loss, Published
from mottle.release.links import Links
from mottle.release.publish import check_published, publish
from mottle.release.two_tables import INSTEAD, check_two_tables, publish_two_tables
from mottle.schema.model import Objective, Schema
from mottle.typing import Float64Array


@dataclass(frozen=True)
class TableRecords:
    """The codes of a table, and the table for the columns that are published unchanged."""

    method: Method
    table: pa.Table
    schema: Schema
    codes: Codes
    codes_to_arrange: Codes  # in the form that the method works on
    demand: Demand
    least_total: int | None = None  # fewest records that a published total counts; None: no totals

    @property
    def size(self) -> int:
        """Number of records."""
        return self.codes.records

    def arrange(self, context: MethodContext) -> Arrangement:
        """Build the graph by the method."""
        return self.method.arrange(self.codes_to_arrange, self.demand, context)

    def cover(self, graph: Graph) -> Cover:
        """Find the cells that contain the values of all preimages."""
        return cover(graph, self.codes)

    def loss(self, graph: Graph, covered: Cover, objective: Objective | None) -> Loss:
        """Measure GCP, NCP by column, and the objective."""
        measured = measure(covered, self.codes)
        if objective is None:
            return Loss(measured.gcp, measured.ncp)
        reached = objective_loss(graph, self.codes, objective)
        return Loss(measured.gcp, measured.ncp, objective=reached)

    def loss_so_far(self, parts: Float64Array) -> LossSoFar:
        """Take the importance of columns out of their parts of the loss."""
        domains, weights = self.codes_to_arrange.domains, importance_of(self.codes_to_arrange, None)
        parts = parts + weights * [domain.least_loss for domain in domains]
        losses = np.clip(parts / weights, 0.0, 1.0)
        names = [domain.name for domain in domains]
        return LossSoFar(float(parts.sum()), dict(zip(names, losses.tolist(), strict=True)))

    def check_cover(self, graph: Graph, covered: Cover) -> dict[str, Any]:
        """Check invariant 2: every cell contains the values of all its preimages."""
        pairs: dict[str, Any] = {"pairs": check_covers(graph, self.codes, covered)}
        if self.method.exact:
            return {"measured_only": True, "published_instead": INSTEAD, **pairs}
        return pairs

    def publish(self, covered: Cover, links: Links, draw: Draw) -> Published:
        """Publish generalized cells with the true records' other columns, or two tables."""
        if draw is Draw.TWO_TABLES:
            return Published(*publish_two_tables(self.table, self.schema, links))
        table, columns, coded = publish(
            self.table, self.schema, self.codes, covered, links, self.least_total
        )
        return Published(table, columns, coded=coded)

    def check_published(self, published: Published, links: Links) -> dict[str, Any]:
        """Check invariant 5: nothing published identifies, and the row order is random."""
        if published.sensitive is not None:
            return check_two_tables(self.schema, published.table, published.sensitive, links)
        return check_published(self.schema, published.columns, links)
