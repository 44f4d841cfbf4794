"""Anonymizes sets of items in memory: a run of one part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from mottle.encoding.sensitive import SensitiveValues, encode_sensitive
from mottle.errors import UsageError
from mottle.graph.bit_voting import Votes, check_worlds, vote
from mottle.graph.model import Graph
from mottle.guarantees.base import Guarantee
from mottle.guarantees.demand import Demand
from mottle.io.owner_key import owner_key
from mottle.io.read_sets import as_sets
from mottle.itemsets.data import ItemSets, Sets
from mottle.loss.set_errors import error
from mottle.methods.base import Arrangement, Draw, MethodContext
from mottle.methods.sets import SetMethod, method_for
from mottle.pipeline.certify import certify, method_facts
from mottle.pipeline.item_calibration import stated_totals
from mottle.pipeline.owner import OwnedTable
from mottle.pipeline.progress import Clock, Progress
from mottle.pipeline.release import SetRelease
from mottle.pipeline.settings import Settings
from mottle.pipeline.spine import Loss, Published, run
from mottle.release.certificate import ColumnFacts, ReleaseKind, UnitFacts
from mottle.release.links import Links
from mottle.release.set_release import (
    based_items,
    check_names,
    check_published,
    describe_columns,
    publish,
)
from mottle.release.value_totals import least_total
from mottle.risk.certified import risk_of_sets
from mottle.schema.context import Context
from mottle.schema.model import Objective, Role, Schema, Unit
from mottle.utils.csprng import Secret

__all__ = ["anonymize_sets"]

_UNIT = "Every set is taken for that of a person of its own."


def anonymize_sets(
    data: object,
    guarantee: Guarantee,
    *,
    method: str = "auto",
    options: Mapping[str, object] | None = None,
    walk: str = "closed",
    effort: float | None = None,
    seed: int | None = None,
    key: str | Path | bytes | None = None,
    totals: bool = True,
    progress: Callable[[Progress], None] | None = None,
    unsafe_paper_randomization: bool = False,
    context: Context | Mapping[str, object] | None = None,
) -> SetRelease:
    """Anonymize sets; nothing is returned unless all invariants hold.

    Parameters
    ----------
    data : ItemSets, path or collection of collections of str
        An `ItemSets` from one of the readers of `mottle.itemsets`, the path of a transaction file,
        or a collection of collections of items.
    guarantee : Guarantee
        What the release has to promise: ``KAnonymity(10)`` or, when the records have sensitive
        labels, also ``LDiversity(3)`` and the other guarantees about sensitive values.
    method : str
        A name from ``mottle methods --sets``; "auto" takes `freeform` for k-anonymity and `buckets`
        for guarantees about labels.
    options : mapping of str to object, optional
        As for `mottle.anonymize`.
    walk : {"closed", "closed-printed", "backtracking"}
        How the true assignment is drawn: "closed" (SET12), "closed-printed" (SET12's Algorithm 1 as
        printed, slower) or "backtracking" (NH10). If the graph depends on labels, its method
        determines the draw instead.
    effort : float, optional
        Seconds for which a method may improve its result, if it can; 0 for no improvement. Without
        it, a method stops when a further pass gains less than 0.1 %.
    seed : int, optional
        For experiments only: makes the run repeatable, and its secret guessable. The certificate
        states it. Without it, randomness comes from the operating system.
    key : str, Path or bytes, optional
        As for `mottle.anonymize`.
    totals : bool
        Whether the release states how many records hold each item, as far as these are at least 5
        or k records, and how far counts of items miss (docs/queries.md).
    progress : callable, optional
        Called with a `Progress` at the beginning of every stage; the loss is the error rate.
    unsafe_paper_randomization : bool
        For experiments only: draw by the paper's random walk although the graph depends on labels,
        which leaks them. The certificate says so.
    context : Context or mapping, optional
        What the owner states about the release, as for `mottle.Schema.of`.

    Returns
    -------
    SetRelease
        The published sets with their certificate and the owner's links.

    Raises
    ------
    UsageError
        An option has a wrong value, or the method does not give the guarantee.
    DataError
        There are no sets in the data.
    GuaranteeError
        The data cannot have the guarantee; the message names the nearest feasible one.
    PrivacyError
        An invariant does not hold: this is a defect of the program, and nothing is published.

    Examples
    --------
    >>> import mottle
    >>> baskets = [{"milk", "tea"}, {"milk"}, {"tea", "rum"}, {"rum"}, {"milk", "rum"}, set()]
    >>> release = anonymize_sets(baskets, mottle.KAnonymity(3), seed=1)
    >>> release.num_rows, release.certificate.degree.min
    (6, 3)
    """
    clock = Clock.of(progress)
    settings = Settings.of(
        method=method,
        walk=walk,
        effort=effort,
        seed=seed,
        totals=totals,
        unsafe_paper_randomization=unsafe_paper_randomization,
        key=key,
    )
    chosen = method_for(method, guarantee)
    settings = replace(settings, options=chosen.check_options(options or {}))
    if chosen.unsafe and not settings.unsafe:
        raise UsageError(
            f"Method '{chosen.name}' follows its paper exactly and does not keep the guarantee.",
            "For experiments, add --unsafe-paper-randomization.",
        )
    stated = Context.of_toml(context, "the context")
    secret = Secret.draw(seed)
    data = as_sets(data)
    check_names(data)
    owned = None if key is None else OwnedTable.of_sets(owner_key(key), data)
    if owned is not None:
        secret = owned.secret(None, guarantee, settings, {"name": "memory"})

    with clock.stage("code"):
        sensitive = _sensitive(data) if guarantee.about_values else ()
        demand = guarantee.demand(data.records, sensitive)
        least = least_total(demand) if totals else None
        records = SetRecords(chosen, data, data.sets(), demand, least)
    part = run(records, chosen.name, demand, settings, secret, clock)
    certificate = certify(
        part.measurements,
        settings,
        guarantee,
        demand,
        kind=ReleaseKind.SETS,
        method=method_facts(chosen.name, chosen.title, chosen.paper, part.measurements.facts),
        columns=_column_facts(data),
        sensitive=sensitive,
        protected=None if data.labels is None else "label",
        notes=_notes(data, part.published.table),
        seconds=clock.seconds,
        unit=UnitFacts(protects=Unit.PERSON, statement=_UNIT),
        risk_before=risk_of_sets(data),
        context=stated,
        cover_check="possible worlds",
        items=data.universe,
        error_rate=part.loss.mean,
        flipped=part.loss.overall,
    )
    clock.report_end()
    published = part.published
    made_from = owned or OwnedTable.of_sets(b"", data)
    links = replace(part.links, fingerprint=made_from.fingerprint(secret))
    return SetRelease(published.table, published.columns, certificate, links)


@dataclass(frozen=True)
class SetRecords:
    """Sets of items as the spine takes them."""

    method: SetMethod
    data: ItemSets
    sets: Sets
    demand: Demand
    least_total: int | None = None  # fewest records that a published total counts; None: no totals

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

    def check_cover(self, graph: Graph, covered: Votes) -> dict[str, Any]:
        """Check invariant 2: every preimage is a possible world."""
        return {"pairs": check_worlds(graph, self.sets, covered)}

    def publish(self, covered: Votes, links: Links, draw: Draw) -> Published:
        """Put together the outcome of the votes and the true records' labels."""
        totals = None
        if self.least_total is not None:
            totals = stated_totals(self.data, covered, self.least_total)
        table = publish(self.data, covered, links, totals)
        return Published(table, describe_columns(self.data, totals))

    def check_published(self, published: Published, links: Links) -> dict[str, Any]:
        """Check invariant 5: only sets and labels are published, in random order."""
        return check_published(self.data, published.table, links)


def _sensitive(data: ItemSets) -> tuple[SensitiveValues, ...]:
    if data.labels is None:
        return ()
    schema = Schema.of(quasi_identifying=[], sensitive=[data.label_name])
    return encode_sensitive(pa.table({data.label_name: data.labels}), schema)


def _column_facts(data: ItemSets) -> list[ColumnFacts]:
    """Describe names and roles of the columns; nothing about values."""
    columns = [ColumnFacts(name=data.column, role=Role.QUASI_IDENTIFYING, form="worlds")]
    if data.labels is not None:
        label_type = str(data.labels.type)
        columns.append(ColumnFacts(name=data.label_name, role=Role.SENSITIVE, type=label_type))
    return columns


def _notes(data: ItemSets, published: pa.Table) -> list[str]:
    """List what a reader of the certificate should know; no items."""
    notes = list(data.notes)
    unbased = data.universe - based_items(published.column(data.column))
    if unbased:
        notes.append(
            f"{unbased:,} of {data.universe:,} items are in no base set: the release does not say"
            " with what else they are held. release.items() lists them."
        )
    if data.universe == 0:
        notes.append("All sets are empty, so there is nothing to hide and nothing to learn.")
    return notes
