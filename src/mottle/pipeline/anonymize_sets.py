"""The straight line from sets to a checked release."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from mottle._version import __version__
from mottle.assignment import WALKS, assign, check_assignment
from mottle.audit import basic_audit
from mottle.encoding.sensitive import SensitiveValues, encode_sensitive
from mottle.errors import PrivacyError, UsageError, did_you_mean
from mottle.graph.bit_voting import check_worlds, vote
from mottle.graph.degrees import describe_degrees, records_by_degree
from mottle.guarantees.base import Guarantee
from mottle.guarantees.exposure import check_within_caps
from mottle.io.read_sets import as_sets
from mottle.itemsets.data import ItemSets
from mottle.loss.set_errors import error
from mottle.methods import Arrangement, Draw, MethodContext
from mottle.methods.sets import method_for
from mottle.pipeline.anonymize import (
    INTERRUPTED,
    SEEDED,
    UNSAFE,
    Clock,
    Progress,
    as_seconds,
    check_passed,
    decide_draw,
    describe_values,
    measure_cap_violations,
)
from mottle.release.links import Links
from mottle.release.set_release import SetRelease, check_names, check_published, publish
from mottle.schema.model import Schema
from mottle.utils.csprng import Purpose, Secret


def anonymize_sets(
    data: object,
    guarantee: Guarantee,
    *,
    method: str = "auto",
    walk: str = "closed",
    effort: float | None = None,
    seed: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    unsafe_paper_randomization: bool = False,
) -> SetRelease:
    """Anonymize sets: nothing is returned unless all invariants hold.

    Parameters
    ----------
    data
        A `ItemSets` from one of the readers of `mottle.itemsets`, the path of a transaction file,
        or a collection of collections of items.
    guarantee
        What the release has to promise: ``KAnonymity(10)``, or, when the records have sensitive
        labels, also ``LDiversity(3)`` and the other guarantees about sensitive values.
    method
        A name from ``mottle methods --sets``; "auto" takes `freeform` for k-anonymity and `buckets`
        for guarantees about labels.
    walk
        How the true assignment is drawn: "closed" (SET12) or "backtracking" (NH10). Graphs built
        with labels in mind are drawn otherwise, as their method says.
    effort
        Seconds for which a method that can go on improving its result may do so; 0 for not at
        all. Without it, until a further pass gains less than 0.1 %.
    seed
        For experiments only: makes the run repeatable, and its secret guessable. It is stamped on
        the certificate. Without it, randomness comes from the operating system.
    progress
        Called with a `Progress` at the beginning of every stage; the loss is the error rate.
    unsafe_paper_randomization
        For experiments only: draw by the paper's random walk although the graph was built with
        labels in mind, which leaks them. The certificate says so.

    Examples
    --------
    >>> import mottle
    >>> baskets = [{"milk", "tea"}, {"milk"}, {"tea", "rum"}, {"rum"}, {"milk", "rum"}, set()]
    >>> release = anonymize_sets(baskets, mottle.KAnonymity(3), seed=1)
    >>> release.table.num_rows, release.certificate["degree"]
    (6, {'min': 3, 'max': 3, 'records': [[3, 6]]})
    """
    clock = Clock(progress or (lambda _: None))
    chosen = method_for(method, guarantee)
    if walk not in WALKS:
        raise UsageError(f"There is no walk '{walk}'.", did_you_mean(str(walk), WALKS))
    if chosen.unsafe and not unsafe_paper_randomization:
        raise UsageError(
            f"Method '{chosen.name}' does as its paper does and does not keep the guarantee.",
            "For experiments, add --unsafe-paper-randomization.",
        )
    effort = as_seconds(effort)
    secret = Secret.draw(seed)
    data = as_sets(data)
    check_names(data)
    guarantee.check_feasible(data.records)

    with clock.stage("code"):
        sensitive = _sensitive(data) if guarantee.about_values else ()
        demand = guarantee.demand(data.records, sensitive)
        sets = data.sets()
    with clock.stage("arrange"):
        telling = partial(clock.report_loss, "arrange")
        tiebreak = partial(secret.permutation, Purpose.TIEBREAK)
        preview = partial(assign, secret=secret, walk=str(Draw.BUCKETS))
        arrangement = chosen.arrange(
            sets, demand, MethodContext(effort, secret.public_seed, telling, tiebreak, preview)
        )
        graph = arrangement.graph
        if graph.records != data.records:
            raise PrivacyError("Invariant 1: the graph has more or fewer records than the data.")
        degree = graph.check_regular(demand.degree)  # before any kernel trusts its indices
        draw, unsafe = decide_draw(chosen.name, arrangement, walk, unsafe_paper_randomization)
    with clock.stage("cover"):
        votes = vote(graph, sets)
        loss = error(graph, sets, votes)
    clock.gcp = loss.rate
    with clock.stage("assign"):
        truth = assign(graph, secret, draw)
        links = Links(graph, secret.permutation(Purpose.ROW_ORDER, len(truth)), truth)
    with clock.stage("check"):
        checks = [
            check_passed(1, "regular", {"degree": degree, "blocks": len(graph.degrees)}),
            check_passed(2, "possible worlds", {"pairs": check_worlds(graph, sets, votes)}),
            check_passed(3, "one-to-one", {"records": check_assignment(graph, truth)}),
            measure_cap_violations(graph, truth, demand)
            if unsafe
            else check_passed(4, "within caps", check_within_caps(graph, truth, demand)),
        ]
    with clock.stage("publish"):
        table = publish(data, votes, links)
        checks.append(check_passed(5, "anonymous", check_published(data, table, links)))
    clock.on_progress(Progress("done", loss.rate))
    certificate = {
        "mottle": __version__,
        "guarantee": guarantee.describe(),
        "method": {
            "name": chosen.name,
            "title": chosen.title,
            "paper": chosen.paper,
            **arrangement.facts,
        },
        "parameters": {"draw": draw, "effort": effort},
        "rows": data.records,
        "items": data.universe,
        "columns": _describe_columns(data),
        "sensitive": [describe_values(values) for values in sensitive],
        "error_rate": loss.rate,
        "flipped": loss.flipped,
        "degree": describe_degrees(records_by_degree(graph)),
        "seed": secret.seed,
        "checks": checks,
        "audit": basic_audit(graph, demand, guarantee, checks, two_tables=False),
        "notes": [*_notes(data, guarantee, arrangement, seed), *([UNSAFE] if unsafe else [])],
        "sha256": {},
        "seconds": clock.seconds,
    }
    return SetRelease(table, certificate, links)


def _sensitive(data: ItemSets) -> tuple[SensitiveValues, ...]:
    if data.labels is None:
        return ()
    schema = Schema.of(quasi_identifying=[], sensitive=[data.label_name])
    return encode_sensitive(pa.table({data.label_name: data.labels}), schema)


def _describe_columns(data: ItemSets) -> list[dict[str, object]]:
    """Names and roles; nothing about values."""
    columns: list[dict[str, object]] = [
        {"name": data.column, "role": "quasi-identifying", "form": "worlds"}
    ]
    if data.labels is not None:
        columns.append(
            {"name": data.label_name, "role": "sensitive", "type": str(data.labels.type)}
        )
    return columns


def _notes(
    data: ItemSets, guarantee: Guarantee, arrangement: Arrangement, seed: int | None
) -> list[str]:
    """What a reader of the certificate should know; no items."""
    notes = list(data.notes)
    if data.universe == 0:
        notes.append("All sets are empty, so there is nothing to hide and nothing to learn.")
    if "interrupted" in str(arrangement.facts.get("refinement")):
        notes.append(INTERRUPTED)
    if seed is not None:
        notes.append(SEEDED)
    if data.labels is not None and not guarantee.about_values:
        notes.append(
            f"{guarantee.describe()['name']} hides which record is whose. It does not bound what"
            " can be learned about a label that most candidates share."
        )
    return notes
