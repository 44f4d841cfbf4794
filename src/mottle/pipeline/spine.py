"""The spine: arrange, check, cover, assign, check, publish. Only this module has these steps.

Three callers use it: a table in memory is a run of one part (`mottle.pipeline.anonymize`), so are
sets of items (`mottle.pipeline.anonymize_sets`), and streaming and Spark run one chunk after the
other (`mottle.pipeline.chunked.chunk`). The protocol `Records` hides what the records are. What was
measured is a `Measurements`, which is summed over parts and becomes a certificate in
`mottle.pipeline.certify`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from mottle.assignment import assign, check_assignment, check_layers
from mottle.errors import PrivacyError, UsageError
from mottle.graph.model import Graph
from mottle.guarantees.demand import Demand
from mottle.guarantees.exposure import check_within_caps, exposure
from mottle.guarantees.people import check_shares
from mottle.methods.base import Arrangement, BucketDecision, Draw, MethodContext
from mottle.pipeline.measurements import Measurements
from mottle.pipeline.progress import Clock, LossSoFar
from mottle.pipeline.settings import Settings
from mottle.release.coded_cells import CodedTable
from mottle.release.column import PublishedColumn
from mottle.release.links import Links
from mottle.schema.columns import Objective
from mottle.typing import Float64Array, Int32Array
from mottle.utils.csprng import Purpose, Secret

Covered = TypeVar("Covered")


@dataclass(frozen=True)
class Loss:
    """The information loss of covered records: mean, and by column if there are several."""

    mean: float
    by_column: Mapping[str, float] = field(default_factory=dict)
    overall: float | None = None  # sets: over all records together
    objective: float | None = None  # tables: mean of the objective that the method followed


@dataclass(frozen=True)
class Published:
    """The published form of some records."""

    table: pa.Table
    columns: tuple[PublishedColumn, ...]
    sensitive: pa.Table | None = None  # sensitive values by group, when published separately
    coded: CodedTable | None = None  # its distinct cells, where they are known


class Records(Protocol[Covered]):
    """The records that are anonymized: the codes of a table, or sets of items."""

    @property
    def size(self) -> int:
        """Number of records."""

    def arrange(self, context: MethodContext) -> Arrangement:
        """Build the graph by the method."""

    def cover(self, graph: Graph) -> Covered:
        """Find the cells that contain the values of all preimages."""

    def loss(self, graph: Graph, covered: Covered, objective: Objective | None) -> Loss:
        """Measure the information loss, and the objective of the run if there is one."""

    def loss_so_far(self, parts: Float64Array) -> LossSoFar:
        """Say what is lost, given how much of the loss of a record each column has."""

    def check_cover(self, graph: Graph, covered: Covered) -> dict[str, Any]:
        """Check invariant 2, or raise `PrivacyError`; returns what was measured."""

    def publish(self, covered: Covered, links: Links, draw: Draw) -> Published:
        """Put the published table together."""

    def check_published(self, published: Published, links: Links) -> dict[str, Any]:
        """Check invariant 5, or raise `PrivacyError`; returns what was measured."""


@dataclass(frozen=True)
class Part:
    """Some records that have passed all checks."""

    published: Published
    links: Links
    loss: Loss
    measurements: Measurements


def run(
    records: Records[Covered],
    method: str,
    demand: Demand,
    settings: Settings,
    secret: Secret,
    clock: Clock,
    *,
    bucket_decision: BucketDecision | None = None,
) -> Part:
    """Arrange, check, cover, assign, check, publish.

    Parameters
    ----------
    records : Records
        What is anonymized.
    method : str
        Name of the method, for messages.
    demand : Demand
        What the guarantee demands of these records.
    settings : Settings
        The options of the run; ``effort`` is for these records.
    secret : Secret
        Key of the random numbers of these records.
    clock : Clock
        Times the stages.
    bucket_decision : BucketDecision, optional
        What `buckets` decided for a larger table of which these records are a part.

    Returns
    -------
    Part
        The published records and what was measured. Nothing is returned unless all invariants
        hold.

    Raises
    ------
    PrivacyError
        An invariant does not hold.
    """

    def on_columns(parts: Callable[[], Float64Array]) -> None:
        clock.measure = lambda: records.loss_so_far(parts())

    with clock.stage("arrange"):
        context = MethodContext(
            seconds=settings.effort,
            seed=secret.public_seed,
            on_progress=partial(clock.report_loss, "arrange"),
            on_columns=on_columns,
            tiebreak=partial(secret.permutation, Purpose.TIEBREAK),
            preview=partial(assign, secret=secret, walk=str(Draw.BUCKETS)),
            repeatable=settings.keyed,
            bucket_decision=bucket_decision,
            objective=settings.objective or Objective.NCP,
            options=settings.options,
        )
        arrangement = records.arrange(context)
        graph = arrangement.graph
        if graph.records != records.size:
            raise PrivacyError("Invariant 1: the graph has more or fewer records than the data.")
        degree = graph.check_regular(demand.degree)  # before any kernel trusts its indices
        people = check_shares(graph, demand)
        draw = _draw(method, arrangement, settings)
    with clock.stage("cover"):
        covered = records.cover(graph)
        loss = records.loss(graph, covered, settings.objective)
    clock.gcp = loss.mean
    with clock.stage("assign"):
        truth = assign(graph, secret, draw)
        truth[len(truth) - len(arrangement.drawn_before) :] = arrangement.drawn_before
        links = Links(graph, secret.permutation(Purpose.ROW_ORDER, len(truth)), truth)
    with clock.stage("check"):
        containment = records.check_cover(graph, covered)
        one_to_one = check_assignment(graph, truth)
        if settings.unsafe:
            within, kept = measure_cap_violations(graph, truth, demand), False
        else:
            within, kept = check_within_caps(graph, truth, demand), True
    with clock.stage("publish"):
        published = records.publish(covered, links, arrangement.draw)
        anonymous = records.check_published(published, links)
    measurements = Measurements.of(
        graph,
        loss_mean=loss.mean,
        loss_by_column=loss.by_column,
        objective=loss.objective,
        degree=degree,
        covered=containment,
        records=one_to_one,
        within=within,
        within_caps=kept,
        anonymous=anonymous,
        people=people,
        draw=draw,
        facts=arrangement.facts,
    )
    return Part(published, links, loss, measurements)


def _draw(method: str, arrangement: Arrangement, settings: Settings) -> str:
    """Return the draw that keeps the guarantee, or that of the papers if it was requested."""
    draw = arrangement.draw
    if draw in (Draw.BUCKETS, Draw.ROTATION):
        check_layers(arrangement.graph, buckets=draw is Draw.BUCKETS)
    elif settings.unsafe:
        raise UsageError(
            f"Method '{method}' has no unsafe randomization: its graph does not depend on"
            " sensitive values.",
            "Leave --unsafe-paper-randomization out.",
        )
    return settings.walk if settings.unsafe or draw is Draw.WALK else str(draw)


def measure_cap_violations(graph: Graph, truth: Int32Array, demand: Demand) -> dict[str, Any]:
    """Measure invariant 4 after the papers' walk, without enforcing it."""
    found = exposure(graph, truth, demand)
    return {
        "capped_values": len(demand.caps),
        "individuals": graph.records,
        "individuals_beyond_cap": found.violations,
        "individuals_with_repeated_value": found.repeats,
        "highest_share_of_cap": round(found.nearest, 6),
    }
