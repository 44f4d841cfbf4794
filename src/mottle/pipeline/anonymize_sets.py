"""Anonymizes sets of items in memory: a run of one part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from mottle.encoding.sensitive import SensitiveValues, encode_sensitive
from mottle.errors import UsageError
from mottle.guarantees.base import Guarantee
from mottle.hierarchy.tree import Hierarchy
from mottle.io.owner_key import owner_key
from mottle.io.read_sets import as_sets
from mottle.itemsets.data import ItemSets
from mottle.methods.sets import method_for
from mottle.pipeline.certify import certify, method_facts
from mottle.pipeline.owner import OwnedTable
from mottle.pipeline.progress import Clock, Progress
from mottle.pipeline.published_nodes import nodes_of_sets, notes_on_nodes
from mottle.pipeline.release import SetRelease
from mottle.pipeline.set_records import (
    UNIT,
    SetRecords,
    column_facts_of_sets,
    notes_on_sets,
)
from mottle.pipeline.settings import Settings
from mottle.pipeline.spine import run
from mottle.release.certificate import ReleaseKind
from mottle.release.set_release import based_items, check_names
from mottle.release.value_totals import least_total
from mottle.risk.certified import risk_of_sets
from mottle.schema.context import Context
from mottle.schema.model import Schema
from mottle.utils.csprng import Secret

__all__ = ["anonymize_sets"]


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
    item_hierarchy: Hierarchy | str | Path | None = None,
    node_holders: int | None = None,
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
    item_hierarchy : Hierarchy, str or Path, optional
        A tree whose leaves are the items, or its file. Items are published as its nodes where that
        loses less; the same item everywhere as the same node (docs/sets.md).
    node_holders : int, optional
        Publish items as the lowest nodes that so many records hold, instead of trying it out.

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
        item_hierarchy=item_hierarchy,
        node_holders=node_holders,
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
    label = None if data.labels is None else data.label_name
    check_names(data.column, label)
    owned = None if key is None else OwnedTable.of_sets(owner_key(key), data)
    if owned is not None:
        secret = owned.secret(None, guarantee, settings, {"name": "memory"})

    with clock.stage("code"):
        sensitive = _sensitive(data) if guarantee.about_values else ()
        demand = guarantee.demand(data.records, sensitive)
        least = least_total(demand) if totals else None
        nodes = nodes_of_sets(data, settings, guarantee.degree)
        shown = data if nodes is None else nodes.of_sets(data)
        records = SetRecords(chosen, shown, shown.sets(), demand, least, nodes)
    part = run(records, chosen.name, demand, settings, secret, clock)
    unbased = shown.universe - len(based_items(part.published.table.column(data.column)))
    certificate = certify(
        part.measurements,
        settings,
        guarantee,
        demand,
        kind=ReleaseKind.SETS,
        method=method_facts(chosen.name, chosen.title, chosen.paper, part.measurements.facts),
        columns=column_facts_of_sets(
            data.column,
            label,
            None if data.labels is None else data.labels.type,
            nodes,
        ),
        sensitive=sensitive,
        protected=None if data.labels is None else "label",
        notes=(
            *data.notes,
            *notes_on_nodes(nodes),
            *notes_on_sets(shown.universe, unbased),
        ),
        seconds=clock.seconds,
        unit=UNIT,
        risk_before=risk_of_sets(data),
        context=stated,
        cover_check="possible worlds",
        items=shown.universe,
        error_rate=part.loss.mean,
        flipped=part.loss.overall,
    )
    clock.report_end()
    published = part.published
    made_from = owned or OwnedTable.of_sets(b"", data)
    links = replace(part.links, fingerprint=made_from.fingerprint(secret))
    return SetRelease(published.table, published.columns, certificate, links)


def _sensitive(data: ItemSets) -> tuple[SensitiveValues, ...]:
    if data.labels is None:
        return ()
    schema = Schema.of(quasi_identifying=[], sensitive=[data.label_name])
    return encode_sensitive(pa.table({data.label_name: data.labels}), schema)
