"""Releases of sets that are made in chunks: which methods may make them, and their certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mottle import methods
from mottle.encoding.sensitive import SensitiveValues
from mottle.errors import UsageError
from mottle.guarantees.base import Guarantee
from mottle.itemsets.data import notes_on_items
from mottle.methods.sets import method_for
from mottle.pipeline.certify import certify, method_facts
from mottle.pipeline.chunked.chunk import ChunkedPlan
from mottle.pipeline.chunked.survey import DomainSurvey
from mottle.pipeline.measurements import Measurements
from mottle.pipeline.progress import Clock
from mottle.pipeline.published_nodes import notes_on_nodes
from mottle.pipeline.set_records import UNIT, column_facts_of_sets, notes_on_sets
from mottle.pipeline.settings import Settings
from mottle.release.certificate import Certificate, EngineFacts, ReleaseKind
from mottle.release.evidence_facts import RiskFigures


def check_chunked_sets(guarantee: Guarantee, settings: Settings) -> Settings:
    """Check that sets can be anonymized in chunks by a method.

    Parameters
    ----------
    guarantee : Guarantee
        What the release has to promise.
    settings : Settings
        The options of the run.

    Returns
    -------
    Settings
        The same options.

    Raises
    ------
    UsageError
        The method does not give the guarantee, or not in chunks.
    """
    chosen = method_for(settings.method, guarantee)
    in_chunks = methods.get("buckets").gives_in_chunks(guarantee)
    if guarantee.about_values and (chosen.name not in ("auto", "buckets") or not in_chunks):
        raise UsageError(
            f"Method '{chosen.name}' needs all sets in memory for {guarantee.describe()['name']}.",
            "In chunks: buckets. Or leave out --memory and --engine.",
        )
    return replace(settings, options=chosen.check_options(settings.options))


def like_table_method(guarantee: Guarantee) -> str:
    """Return the method that `auto` picks; that for tables of the same name needs as much memory.

    Of the methods for k-anonymity of sets, none needs more memory than `freeform`.
    """
    return "buckets" if guarantee.about_values else "freeform"


def decided_facts(plan: ChunkedPlan, total: Measurements) -> dict[str, Any]:
    """Return the facts about the method's decisions, those for the whole table among them."""
    facts = dict(total.facts)
    if plan.decision is not None:
        facts["tiers"] = [tier.described for tier in plan.tiers]
        facts["wave"] = plan.decision.wave
        facts["blocks"] -= plan.decision.first_chunk  # every first wave is a chunk and no block
    return facts


def certify_sets(
    plan: ChunkedPlan,
    guarantee: Guarantee,
    sensitive: Sequence[SensitiveValues],
    parts: Sequence[Measurements],
    engine: EngineFacts,
    survey: DomainSurvey,
    risk_before: RiskFigures,
    clock: Clock,
) -> Certificate:
    """Certify a release of sets whose chunks all passed their checks."""
    total = Measurements.total(parts)
    clock.gcp = total.loss / total.rows
    settings, codec = plan.settings, plan.codec
    (domain,) = codec.domains
    universe = domain.items.universe
    assert domain.counts is not None, "domains of a survey know how often values occur"
    assert total.flipped is not None, "chunks of sets count what they misreport"
    held = int(domain.items.sets.sizes @ domain.counts)
    unbased = universe - int(np.count_nonzero(total.is_based(universe)))
    label = codec.unchanged[0] if codec.unchanged else None
    chosen = method_for(settings.method, guarantee)
    return certify(
        total,
        settings,
        guarantee,
        plan.demand,
        kind=ReleaseKind.SETS,
        method=method_facts(
            chosen.name,
            chosen.title,
            chosen.paper,
            decided_facts(plan, total),
            picked=plan.method if settings.method == "auto" else None,
        ),
        columns=column_facts_of_sets(
            domain.name,
            None if label is None else label.name,
            None if label is None else label.value_type,
            domain.items.nodes,
        ),
        sensitive=sensitive,
        protected=None if label is None else "label",
        notes=(
            *notes_on_items(*survey.changed_items.get(domain.name, (0, 0))),
            *notes_on_nodes(domain.items.nodes),
            *notes_on_sets(universe, unbased),
        ),
        seconds=clock.seconds,
        unit=UNIT,
        engine=engine,
        risk_before=risk_before,
        context=codec.schema.context,
        cover_check="possible worlds",
        items=universe,
        error_rate=total.loss / total.rows,
        flipped=total.flipped / max(held, 1),
    )
