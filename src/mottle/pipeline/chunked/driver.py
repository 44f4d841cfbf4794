"""One run in chunks with any engine: survey, order, plan, decide, publish, certify.

Streaming and Spark are an `Engine` each. Everything that does not depend on where rows are
stored is in this module, so that a new engine only has to move rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from mottle import methods
from mottle.encoding.people import check_named
from mottle.encoding.sensitive import SensitiveValues, join_counts
from mottle.errors import PrivacyError, UsageError
from mottle.guarantees.base import Guarantee
from mottle.guarantees.demand import Demand
from mottle.methods.auto import PATIENCE, expected_seconds
from mottle.methods.base import METHODS
from mottle.methods.buckets.buckets import tiers_for
from mottle.methods.buckets.partitioned.decision import WaveRelease, decide
from mottle.methods.buckets.partitioned.shares import OrderedPartitions, RowShare
from mottle.methods.buckets.tiers import edges_per_record
from mottle.pipeline.calibration_sample import CalibrationSample
from mottle.pipeline.certify import (
    certify,
    column_facts,
    column_notes,
    method_facts,
    protected_values,
    warn_about,
    warn_about_text,
)
from mottle.pipeline.chunked.chunk import ChunkedPlan, RowCodec
from mottle.pipeline.chunked.sets.run import certify_sets, decided_facts, like_table_method
from mottle.pipeline.chunked.survey import DomainSurvey
from mottle.pipeline.item_calibration import sampled_item_totals
from mottle.pipeline.measurements import Measurements
from mottle.pipeline.progress import Clock
from mottle.pipeline.published_nodes import domains_with_nodes, notes_on_columns_of_nodes
from mottle.pipeline.rules import check_rules
from mottle.pipeline.settings import Settings, check_schema
from mottle.pipeline.unit import Repeats, check_people, check_repeats, unit_facts
from mottle.release.certificate import Certificate, EngineFacts, ReleaseKind
from mottle.release.evidence_facts import RiskFigures
from mottle.release.value_totals import Totals, least_total
from mottle.schema.model import Schema
from mottle.typing import Int64Array
from mottle.utils.csprng import Secret


class Engine(Protocol):
    """Moves the rows of a table that is worked on in chunks."""

    def survey(self, schema: Schema, to_count: Sequence[str]) -> DomainSurvey:
        """Read all rows to find the domains and how often sensitive values occur.

        The values of the columns ``to_count`` are counted as `DomainSurvey.repeats`.
        """

    def order(self, codec: RowCodec, secret: Secret) -> tuple[Int64Array, Int64Array]:
        """Code all rows and store them so that they can be read along the locality order.

        Returns the numbers of combinations of sensitive codes, ascending, and their counts.
        """

    def risk(self, codec: RowCodec) -> RiskFigures:
        """Measure how easily people are found by the keys of the stored rows."""

    def largest_chunk(self, codec: RowCodec, survey: DomainSurvey, method: str, edges: int) -> int:
        """Return how many rows a chunk may have; ``edges``: of the graph, per record."""

    def partitions(self, plan: ChunkedPlan, share: RowShare | None) -> OrderedPartitions:
        """Return the coded rows of a share of the table, or all, along the order."""

    def publish_wave(
        self, plan: ChunkedPlan, share: RowShare, buckets: int, number: int
    ) -> WaveRelease:
        """Publish the first wave of a tier as a chunk; returns it as released."""

    def settle(self, plan: ChunkedPlan) -> None:
        """Prepare the chunks according to what `buckets` decided, before they are published."""

    def publish(self, plan: ChunkedPlan) -> list[Measurements]:
        """Publish all chunks, each once and completely, and store their rows."""

    def facts(self, plan: ChunkedPlan) -> EngineFacts:
        """Describe the engine for the certificate."""


@dataclass(frozen=True)
class ChunkedRun:
    """All chunks of a table, published but not yet shuffled into one release."""

    plan: ChunkedPlan
    parts: list[Measurements]
    certificate: Certificate


def check_chunked(schema: Schema, guarantee: Guarantee, settings: Settings) -> Settings:
    """Check that a table can be anonymized in chunks.

    Parameters
    ----------
    schema : Schema
        The role of every column.
    guarantee : Guarantee
        What the release has to promise.
    settings : Settings
        The options of the run.

    Returns
    -------
    Settings
        The same options with the objective that the method follows.

    Raises
    ------
    UsageError
        The method does not work in chunks, or does not give the guarantee.
    """
    check_schema(schema)
    if schema.per_person is not None:
        raise UsageError(
            "One row per person is made in memory only.",
            "Leave out --memory and --engine, or make one row per person before, for instance by"
            " GROUP BY in a database.",
        )
    keyed = [column for column in schema.columns if column.role.keyed]
    if keyed:
        raise UsageError(
            f"Column '{keyed[0].name}' has the role '{keyed[0].role}': pseudonyms and shifted dates"
            " are made in memory only.",
            "Leave out --memory and --engine if the table fits into memory; otherwise remove the"
            f' column (--id {keyed[0].name}, or role = "identifying" in mottle.toml).',
        )
    chosen = methods.get(settings.method)
    chosen.check_gives(guarantee)
    if chosen.name != "auto" and not chosen.gives_in_chunks(guarantee):
        raise UsageError(
            f"Method '{chosen.name}' needs the whole table in memory for"
            f" {guarantee.describe()['name']}.",
            f"In chunks: {', '.join(chunked_methods(guarantee))}. Or leave out --memory and"
            " --engine.",
        )
    return replace(settings, objective=chosen.check_objective(settings.objective))


def chunked_methods(guarantee: Guarantee) -> list[str]:
    """List our methods that give a guarantee in chunks, those that need the least memory first.

    >>> from mottle.guarantees.k_anonymity import KAnonymity
    >>> chunked_methods(KAnonymity(2))
    ['nh', 'freeform']
    """
    able = [
        (method.chunking.bytes_per_edge, name)
        for name, method in methods.registered().items()
        if method.chunking is not None
        and method.gives_in_chunks(guarantee)
        and METHODS.distribution_of(name) is None
    ]
    return [name for _, name in sorted(able)]


def drive(
    engine: Engine,
    schema: Schema,
    guarantee: Guarantee,
    settings: Settings,
    secret: Secret,
    clock: Clock,
    *,
    to_count: Sequence[str] = (),
    numbered: bool = False,
    kind: ReleaseKind = ReleaseKind.TABLE,
) -> ChunkedRun:
    """Anonymize a table chunk by chunk.

    Parameters
    ----------
    engine : Engine
        Moves the rows.
    schema : Schema
        Covers all columns.
    guarantee : Guarantee
        What the release has to promise; checked by `check_chunked`.
    settings : Settings
        The options of the run; checked by `check_chunked`.
    secret : Secret
        Key of the whole run.
    clock : Clock
        Times the stages.
    to_count : sequence of str
        The columns that may name people; see `mottle.pipeline.unit.columns_to_count`.
    numbered : bool
        Whether rows carry their number in the input, for the owner's links.
    kind : ReleaseKind
        Whether a table is released, or sets: a table whose only quasi-identifier is a set of items,
        and with at most one other column, which holds labels.

    Returns
    -------
    ChunkedRun
        The plan, the measurements and the certificate; the engine holds the rows of all chunks.

    Raises
    ------
    UsageError
        An identifying column repeats, and nothing says what one row is.
    GuaranteeError
        The table cannot have the guarantee.
    PrivacyError
        An invariant does not hold.
    """
    with clock.stage("survey"):
        survey = engine.survey(schema, to_count)
        guarantee.check_feasible(survey.rows)
        people = _check_unit(schema, guarantee, settings, survey)
        codec = RowCodec(
            schema,
            domains_with_nodes(survey.domains(settings.representation), settings, guarantee.degree),
            survey.sensitive_columns(),
            survey.unchanged_columns(),
            numbered,
            people is not None and people.repeated,
        )
        if kind is ReleaseKind.TABLE:
            warn_about(survey.unchanged, schema.survey_weight)
            warn_about_text(schema, codec.domains)
        check_rules(schema, codec.domains)
        if guarantee.about_values and len(codec.sensitive) < 2:  # refuse before rows are sorted
            _demand(guarantee, codec, survey.rows, *_single_combinations(codec))
    with clock.stage("sort"):
        combinations, counts = engine.order(codec, secret)
        risk_before = engine.risk(codec)
    with clock.stage("cut"):
        demand, sensitive = _demand(guarantee, codec, survey.rows, combinations, counts)
        method = _method(settings, guarantee, survey.rows, kind)
        tiers = tiers_for(demand)
        edges = math.ceil(edges_per_record(tiers)) if tiers else demand.degree
        sized = method if kind is ReleaseKind.TABLE else like_table_method(guarantee)
        largest = engine.largest_chunk(codec, survey, sized, edges)
        largest = min(max(largest, 2 * edges), survey.rows)
        plan = ChunkedPlan(
            codec,
            demand,
            combinations,
            method,
            settings,
            secret,
            largest,
            cut_regions(demand, survey.rows, largest),
            _totals(settings, survey, codec, demand),
            tiers,
            kind=kind,
        )
        if demand.capped:
            plan = _decide(engine, plan)
        engine.settle(plan)
    with clock.stage("chunks"):
        parts = engine.publish(plan)
    facts = engine.facts(plan)
    certify_run = _certify if kind is ReleaseKind.TABLE else certify_sets
    _check_complete(plan, parts)
    certificate = certify_run(plan, guarantee, sensitive, parts, facts, survey, risk_before, clock)
    if settings.totals:
        with clock.stage("calibrate"):
            drawn = CalibrationSample.joined(
                [CalibrationSample.from_text(part.sample) for part in parts]
            )
            found = None
            if kind is ReleaseKind.TABLE:
                found = drawn.calibrate(certificate, plan.columns, codec.domains)
            least = least_total(plan.demand, _most_rows(survey, schema))
            stated = sampled_item_totals(drawn, certificate, plan.columns, codec.domains, least)
            plan = replace(plan, item_totals=stated)
        certificate = certificate.with_calibration(found)
    return ChunkedRun(plan, parts, certificate)


def _check_unit(
    schema: Schema, guarantee: Guarantee, settings: Settings, survey: DomainSurvey
) -> Repeats | None:
    """Check what one row is taken for; returns how often people occur, if a column names them."""
    check_repeats(schema, survey.repeats)
    if schema.person is None:
        return None
    (people,) = survey.repeats
    check_named(people.column, survey.rows - people.rows, survey.rows)
    method = methods.get(settings.method)
    check_people(people.column, people.most, survey.rows, guarantee, method)
    return people


def _decide(engine: Engine, plan: ChunkedPlan) -> ChunkedPlan:
    """Add what `buckets` decides to the plan; this publishes the first waves."""
    decision = decide(
        plan.demand,
        plan.tiers,
        plan.secret,
        plan.largest,
        lambda share: engine.partitions(plan, share),
        lambda share, buckets, number: engine.publish_wave(plan, share, buckets, number),
    )
    return replace(plan, decision=decision)


def _method(settings: Settings, guarantee: Guarantee, rows: int, kind: ReleaseKind) -> str:
    """Return the requested method, or the one that `auto` picks by rows and time."""
    if settings.method != "auto":
        return settings.method
    if kind is ReleaseKind.SETS:
        return like_table_method(guarantee)
    if guarantee.about_values:
        return "buckets"
    limit = PATIENCE if settings.effort is None else settings.effort
    expected = expected_seconds(rows, guarantee.degree)
    return "nh" if settings.effort != 0 and expected > limit else "freeform"


def _totals(
    settings: Settings, survey: DomainSurvey, codec: RowCodec, demand: Demand
) -> tuple[Totals | None, ...]:
    """Count how often values occur, as in memory; None for each column without totals."""
    if not settings.totals:
        return (None,) * len(codec.domains)
    return survey.totals(codec.domains, least_total(demand, _most_rows(survey, codec.schema)))


def _most_rows(survey: DomainSurvey, schema: Schema) -> int:
    """The number of rows of the person who has most."""
    return 1 if schema.person is None else survey.repeats[0].most


def _single_combinations(codec: RowCodec) -> tuple[Int64Array, Int64Array]:
    """Number the values of the only sensitive column; their counts are known before sorting."""
    if not codec.sensitive:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    counts = codec.sensitive[0][1].counts
    return np.arange(len(counts)), counts


def _demand(
    guarantee: Guarantee, codec: RowCodec, rows: int, combinations: Int64Array, counts: Int64Array
) -> tuple[Demand, tuple[SensitiveValues, ...]]:
    """Find what the guarantee demands of the whole table, from counts alone.

    ``combinations`` are numbers of combinations of sensitive codes, ascending, with their counts.
    """
    guarantee.check_feasible(rows)
    if not guarantee.about_values:
        return guarantee.demand(rows), ()
    single = [known for _, known in codec.sensitive]
    sensitive = join_counts(single, codec.value_codes(combinations), counts) if single else ()
    return guarantee.demand(rows, sensitive), sensitive


def cut_regions(demand: Demand, rows: int, largest: int) -> Int64Array:
    """Cut the order into regions of equal size, as few as possible.

    For sensitive values the table is halved repeatedly, as `buckets` halves cells in memory, so
    that unmatched records are retried together with the same others. With three regions, for
    example, men and women would be matched with each other who in memory are matched in their own
    halves.

    Parameters
    ----------
    demand : Demand
        What the guarantee demands.
    rows : int
        The number of rows of the table.
    largest : int
        The most rows of a region.

    Returns
    -------
    Int64Array
        Where regions begin, and the end.

    Examples
    --------
    >>> cut_regions(Demand(2), 12, 4)
    array([ 0,  4,  8, 12])
    >>> cut_regions(Demand(2, sensitive_codes=np.array([[0], [1]], np.int32)), 12, 4)
    array([ 0,  3,  6,  9, 12])
    """
    regions = -(-rows // largest)
    if demand.capped:
        regions = 1 << (regions - 1).bit_length()
    return np.linspace(0, rows, regions + 1).astype(np.int64)


def _check_complete(plan: ChunkedPlan, parts: Sequence[Measurements]) -> None:
    """Raise unless the chunks together are the table."""
    rows, records = (sum(part.rows for part in parts), sum(part.records for part in parts))
    if len(parts) != plan.chunks or rows != plan.rows or records != plan.rows:
        raise PrivacyError("Invariant 3: the chunks together are not the table.")


def _certify(
    plan: ChunkedPlan,
    guarantee: Guarantee,
    sensitive: Sequence[SensitiveValues],
    parts: Sequence[Measurements],
    engine: EngineFacts,
    survey: DomainSurvey,
    risk_before: RiskFigures,
    clock: Clock,
) -> Certificate:
    """Certify a release of a table whose chunks all passed their checks."""
    total = Measurements.total(parts)
    clock.gcp = total.mean_loss
    settings, codec = plan.settings, plan.codec
    facts = decided_facts(plan, total)
    chosen = methods.get(settings.method)
    people = survey.repeats[0] if codec.schema.person is not None else None
    return certify(
        total,
        settings,
        guarantee,
        plan.demand,
        kind=ReleaseKind.TABLE,
        method=method_facts(
            chosen.name,
            chosen.title,
            chosen.paper,
            facts,
            picked=plan.method if settings.method == "auto" else None,
        ),
        columns=column_facts(codec.schema, codec.domains, plan.columns),
        sensitive=sensitive,
        protected=protected_values(codec.schema),
        survey_weight=codec.schema.survey_weight,
        rules=codec.schema.rules,
        notes=(
            *survey.notes,
            *notes_on_columns_of_nodes(codec.domains),
            *column_notes(codec.domains, survey.rows),
        ),
        seconds=clock.seconds,
        least_total=least_total(plan.demand, _most_rows(survey, codec.schema))
        if settings.totals
        else None,
        unchanged=survey.unchanged,
        unit=unit_facts(
            codec.schema,
            people=people,
            largest_share=total.people.get("largest_share"),
            k=plan.demand.degree,
        ),
        engine=engine,
        risk_before=risk_before,
        context=codec.schema.context,
    )
