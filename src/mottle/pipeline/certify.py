"""Makes the certificate of a run from the measurements of its parts."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mottle._version import __version__
from mottle.audit.certificate_audit import Matches, basic_audit
from mottle.encoding.domain import Domain
from mottle.encoding.listed_values import listed_values
from mottle.encoding.numbers_as_text import numbers_as_text
from mottle.encoding.sensitive import MANY_VALUES, SensitiveValues
from mottle.graph.degrees import describe_degrees
from mottle.guarantees.base import Guarantee
from mottle.guarantees.decisions import DecidesBy
from mottle.guarantees.demand import Demand
from mottle.methods.base import METHODS, Method
from mottle.methods.sets.base import METHODS as SET_METHODS
from mottle.methods.sets.base import SetMethod
from mottle.pipeline.measurements import Measurements
from mottle.pipeline.settings import Settings
from mottle.release.certificate import (
    Certificate,
    Check,
    ColumnFacts,
    Degrees,
    EngineFacts,
    GuaranteeClaim,
    HistoryFacts,
    Measured,
    MethodFacts,
    ObjectiveFacts,
    ReleaseKind,
    RiskFacts,
    RunParameters,
    SensitiveFacts,
    UnitFacts,
)
from mottle.release.column import PublishedColumn
from mottle.release.evidence_facts import RiskFigures
from mottle.release.formula_guard import GUARD
from mottle.release.limits import known_record, limits_of
from mottle.release.unchanged import certified, warnings_about
from mottle.release.unit_words import about
from mottle.risk.certified import PersonShares, risk_by_graph
from mottle.schema.context import Context
from mottle.schema.model import Role, Schema, Unit
from mottle.schema.rules import Rule
from mottle.utils.dependence import Dependence

_log = logging.getLogger(__name__)

SEEDED = (
    "A seed was given: anyone who knows it can repeat the draw and undo the anonymization. Do not"
    " publish this release."
)
INTERRUPTED = (
    "The run was interrupted while improving: this is the best result up to the interruption."
)
NOTHING_PROMISED = "Nothing is promised: the draw was unsafe, as the notes say."
UNSAFE = (
    "UNSAFE: the assignment was drawn by the paper's random walk on a graph that depends on"
    " sensitive values. An adversary who knows the algorithm can rule out every sensitive value"
    " that occurs twice among a person's matches: the guarantee does not hold. Do not publish this"
    " release."
)


def certify(
    total: Measurements,
    settings: Settings,
    guarantee: Guarantee,
    demand: Demand,
    *,
    kind: ReleaseKind,
    method: MethodFacts,
    columns: Sequence[ColumnFacts],
    sensitive: Sequence[SensitiveValues],
    protected: str | None,
    survey_weight: str | None = None,
    rules: Sequence[Rule] = (),
    notes: Sequence[str],
    seconds: Mapping[str, float],
    risk_before: RiskFigures,
    least_total: int | None = None,
    unchanged: Dependence | None = None,
    unit: UnitFacts | None = None,
    engine: EngineFacts | None = None,
    history: HistoryFacts | None = None,
    shares: PersonShares | None = None,
    context: Context | None = None,
    cover_check: str = "covered",
    **entries: Any,
) -> Certificate:
    """Put the certificate together.

    Parameters
    ----------
    total : Measurements
        The measurements of all parts together.
    settings : Settings
        The options of the run.
    guarantee : Guarantee
        What the release promises.
    demand : Demand
        What the guarantee demands of the table.
    kind : ReleaseKind
        The kind of the release.
    method : MethodFacts
        The method and the facts about its decisions.
    columns : sequence of ColumnFacts
        All columns of input and release.
    sensitive : sequence of SensitiveValues
        The values that are capped.
    protected : str or None
        What notes call the sensitive values ("sensitive value", "label"); None when the data have
        none, so that no note on them is needed.
    survey_weight : str, optional
        The column of sampling weights.
    rules : sequence of Rule
        What the quasi-identifiers of all rows obey, after `mottle.pipeline.rules.check_rules`.
    notes : sequence of str
        What a reader should know in addition; no cell values.
    seconds : mapping of str to float
        The time by stage.
    risk_before : RiskFigures
        How easily people are found in the table.
    least_total : int, optional
        Fewest records that a published total counts; None without totals.
    unchanged : Dependence, optional
        What was measured of the columns that are published as they are.
    unit : UnitFacts, optional
        What one row is taken for.
    engine : EngineFacts, optional
        How the table was worked on in chunks.
    history : HistoryFacts, optional
        How the release continues earlier ones.
    shares : PersonShares, optional
        The shares of people among preimages, where people have several rows and it was measured.
    context : Context, optional
        What the owner states about the release.
    cover_check : str
        The name of invariant 2.
    **entries : object
        Entries of this kind of release, such as ``gcp``.

    Returns
    -------
    Certificate
        The certificate without checksums, which the writer adds.
    """
    two_tables = kind is ReleaseKind.TWO_TABLES
    declared = _declared(kind, method)
    decides_by = declared.decides_by if demand.capped else DecidesBy.QUASI_IDENTIFIERS
    described = guarantee.certified(decides_by)
    if total.people:
        described = {**described, "statement": guarantee.statement_on_people(described)}
    if not total.within_caps:
        described = _nothing_promised(described)
    checks = (
        _check(1, "regular", {"degree": total.degree, "blocks": total.blocks}),
        _check(2, cover_check, total.covered),
        _check(3, "one-to-one", {"records": total.records}),
        _check(4, "within caps", total.within, passed=total.within_caps),
        _check(5, "anonymous", total.anonymous),
        *([_check(6, "people", total.people)] if total.people else []),
    )
    matches = Matches(total.degree[0], total.matches / total.rows, total.marketer / total.rows)
    is_table = kind is not ReleaseKind.SETS
    if is_table:
        entries |= {"gcp": total.mean_loss, "ncp": total.mean_ncp}
        if total.objective is not None and isinstance(declared, Method):
            entries["objective"] = _objective_facts(declared, settings, total)
    if engine is not None:
        entries["engine"] = engine
    if unchanged is not None:
        entries["unchanged"] = certified(unchanged)
    if history is not None:
        entries["history"] = history
    if survey_weight is not None:
        entries["survey_weight"] = survey_weight
    if context is not None:
        entries["context"] = context
    if rules:
        entries["rules"] = tuple(rules)
    if unit is not None:
        entries["unit"] = unit
    protects = Unit.PERSON if unit is None else unit.protects
    worded = about(protects)
    similar = _similar_values(guarantee, sensitive)
    certificate = Certificate(
        format=Certificate.model_fields["format"].default,
        kind=kind,
        mottle=__version__,
        date=dt.date.today(),
        guarantee=GuaranteeClaim.model_validate(_worded(described, worded)),
        method=method.with_decisions(
            str(decides_by), declared.mixed_decision if decides_by is DecidesBy.BOTH else None
        ),
        parameters=RunParameters.model_validate(
            {
                **({"representation": str(settings.representation)} if is_table else {}),
                "draw": total.draw,
                "randomness": settings.randomness,
                "effort": settings.effort,
                **({"options": dict(settings.options)} if settings.options else {}),
                **({"least_total": None if two_tables else least_total} if is_table else {}),
            }
        ),
        rows=total.rows,
        columns=tuple(columns),
        sensitive=tuple(
            _sensitive_facts(values, guarantee) for values in guarantee.attributes(sensitive)
        ),
        degree=Degrees.model_validate(describe_degrees(total.degrees)),
        seed=settings.seed,
        checks=checks,
        audit=basic_audit(
            None if two_tables else matches, total.rows, demand, guarantee, checks, protects
        ),
        notes=tuple(
            worded(note)
            for note in (
                *notes,
                *_notes(total, settings, guarantee, protected),
                *([_mixed_decision(declared)] if decides_by is DecidesBy.BOTH else []),
                *_method_of_others(declared),
                *similar,
                *_limits_of_buckets(method),
                *_price_of_groups(method, total),
            )
        ),
        risk=_risk(total, risk_before, shares, protects, two_tables=two_tables),
        known_record=known_record(method),
        formula_guard=GUARD,
        sha256={},
        seconds=dict(seconds),
        **entries,
    )
    of_others = bool(_method_of_others(declared))
    return certificate.with_changes(
        limits=limits_of(certificate, similar_values=bool(similar), method_of_others=of_others)
    )


def method_facts(
    name: str, title: str, paper: str, facts: Mapping[str, object], picked: str | None = None
) -> MethodFacts:
    """Describe the method and its decisions for the certificate."""
    known = {} if picked is None else {"picked": picked}
    return MethodFacts.model_validate(
        {"name": name, "title": title, "paper": paper, **known, **facts}
    )


def _declared(kind: ReleaseKind, method: MethodFacts) -> Method | SetMethod:
    """The method that arranged the records, with what it declares about its decisions."""
    return (SET_METHODS if kind is ReleaseKind.SETS else METHODS)[method.used]


def _risk(
    total: Measurements,
    before: RiskFigures,
    shares: PersonShares | None,
    protects: Unit,
    *,
    two_tables: bool,
) -> RiskFacts:
    """How easily people are found; where quasi-identifiers are exact, as easily as before."""
    after = risk_by_graph(total.rows, total.degrees, total.people.get("largest_share"), shares)
    return RiskFacts(
        counts=protects,
        before=before,
        after=before if two_tables else after,
    )


def _objective_facts(
    method: Method, settings: Settings, total: Measurements
) -> ObjectiveFacts | None:
    """What the method kept low, and how low; None if 'auto' picked one that follows none."""
    if not method.follows_objective or settings.objective is None or total.objective is None:
        return None
    return ObjectiveFacts(name=str(settings.objective), loss=total.objective / total.rows)


def _nothing_promised(described: Mapping[str, Any]) -> dict[str, Any]:
    """A guarantee that an unsafe draw does not keep."""
    stated = {**described, "statement": NOTHING_PROMISED}
    if "parts" in described:
        stated["parts"] = [_nothing_promised(part) for part in described["parts"]]
    return stated


def _worded(described: Mapping[str, Any], worded: Callable[[str], str]) -> dict[str, Any]:
    """A guarantee in words about what is protected."""
    stated = {**described, "statement": worded(str(described["statement"]))}
    if "parts" in described:
        stated["parts"] = [_worded(part, worded) for part in described["parts"]]
    return stated


def _check(invariant: int, name: str, measured: Mapping[str, Any], *, passed: bool = True) -> Check:
    return Check(
        invariant=invariant, name=name, passed=passed, measured=Measured.model_validate(measured)
    )


def _notes(
    total: Measurements, settings: Settings, guarantee: Guarantee, protected: str | None
) -> list[str]:
    notes = []
    if "interrupted" in str(total.facts.get("refinement")):
        notes.append(INTERRUPTED)
    if settings.seed is not None:
        notes.append(SEEDED)
    if protected is not None and not guarantee.about_values:
        notes.append(
            f"{guarantee.describe()['name']} hides which record belongs to whom. It does not bound"
            f" what can be learned about a {protected} that most candidates share."
        )
    if not total.within_caps:
        notes.append(UNSAFE)
    return notes


def _limits_of_buckets(method: MethodFacts) -> list[str]:
    """State what one known record gives away, and what the caps do not bound."""
    known = known_record(method)
    if known.others is None:
        return []
    return [
        known.statement,
        "The bounds on sensitive values hold against whoever knows how often values occur, not how"
        " they go with quasi-identifiers. Whoever assumes that similar people have similar values"
        " may infer more; fewer known records make that harder.",
    ]


def _price_of_groups(method: MethodFacts, total: Measurements) -> list[str]:
    """State what groups of identical rows lose beyond cells of their own."""
    price = method.facts.get("price")
    if not isinstance(price, float):
        return []
    return [
        "Groups of identical rows were asked for. They lose"
        f" {100 * total.mean_loss:.1f} % (GCP), {100 * price:+.1f} points compared with cells of"
        f" every record's own (method '{method.facts.get('compared_with')}', not improved)."
    ]


def _mixed_decision(method: Method | SetMethod) -> str:
    """Note that a method decided by both, and against whom it therefore does not protect."""
    return (
        f"Method '{method.name}' decided by quasi-identifiers and sensitive values together:"
        f" {method.mixed_decision}. Sensitive values are within their bounds among the records"
        " that may be a person's, but whoever knows the algorithm and replays its decisions may"
        " infer more (minimality attack). Method 'buckets' makes no such decision."
    )


def _method_of_others(method: Method | SetMethod) -> list[str]:
    """Note that a method is not mottle's, and what rests on the word of its authors."""
    registry = SET_METHODS if isinstance(method, SetMethod) else METHODS
    distribution = registry.distribution_of(method.name)
    if distribution is None:
        return []
    return [
        f"Method '{method.name}' is not part of mottle; it comes from {distribution}. The checks of"
        " this run were made as on any other release. What its decisions depend on is stated by"
        " its authors, and mottle's proofs do not cover it."
    ]


def _similar_values(guarantee: Guarantee, sensitive: Sequence[SensitiveValues]) -> list[str]:
    """Note the columns of many values of which similar ones are not protected together.

    β-likeness needs no note: it bounds every group by the sum of the caps of its values.
    """
    if any(part.belief_growth is not None for part in guarantee.parts):
        return []
    grouped = {
        values.columns
        for values in guarantee.attributes(sensitive)
        if 0 not in values.levels and not values.apart
    }
    return [
        f"Column '{values.columns[0]}' has {len(values.counts):,} different values, each bounded"
        " by itself. Similar values are not protected together: what several of them have in"
        " common may be inferred about a person with more confidence."
        for values in sensitive
        if not values.joint
        and not values.binned
        and len(values.counts) > MANY_VALUES
        and values.columns not in grouped
    ]


def _sensitive_facts(values: SensitiveValues, guarantee: Guarantee) -> SensitiveFacts:
    """Describe by numbers what is capped; nothing about single values."""
    facts: dict[str, Any] = {"binned": values.binned} if values.binned else {}
    if 0 not in values.levels:
        cap = float(guarantee.lowest_caps(values).min())
        facts |= {"levels": values.levels, "alone": values.alone, "cap": cap}
    return SensitiveFacts(
        columns=tuple(values.columns),
        values=len(values.counts),
        largest_share=round(float(values.counts.max() / values.rows), 6),
        **facts,
    )


def column_facts(
    schema: Schema, domains: Sequence[Domain], columns: Sequence[PublishedColumn]
) -> list[ColumnFacts]:
    """Describe roles and kinds of all columns of input and release; nothing about values."""
    coded = {domain.name: domain for domain in domains}
    published = {column.name: column for column in columns}
    described = []
    for column in schema.columns:
        facts: dict[str, Any] = {"name": column.name, "role": column.role}
        if column.name in coded:
            domain = coded[column.name]
            if published[column.name].form is not None:
                facts |= {"kind": str(domain.column.kind), "form": str(domain.form)}
                if domain.column.separator is not None:
                    facts["separator"] = domain.column.separator
                if domain.sets is not None and domain.sets.nodes is not None:
                    facts |= {"nodes": domain.sets.nodes.nodes, "node_loss": domain.least_loss}
                if domain.column.coarsening is not None:
                    facts["coarsening"] = domain.column.coarsening.facts
            facts["importance"] = column.importance
            if column.objective is not None:
                facts["objective"] = str(column.objective)
        if column.name in published:
            facts["type"] = str(published[column.name].value_type)
        if column.shift is not None:
            facts["shift"] = column.shift
        described.append(ColumnFacts(**facts))
    known = {column.name for column in schema.columns}
    return [*described, *(column.facts for column in columns if column.name not in known)]


def column_notes(domains: Sequence[Domain], rows: int) -> list[str]:
    """Note the columns that have no loss, or whose loss says little."""
    return [*listed_values(domains, rows), *_constant_columns(domains)]


def _constant_columns(domains: Sequence[Domain]) -> list[str]:
    """Note the columns that identify nobody."""
    return [
        f"Column '{domain.name}' has the same value in all rows: it identifies nobody and loses"
        " nothing."
        for domain in domains
        if domain.size == 1 and domain.uppers is None
    ]


def warn_about(
    unchanged: Dependence | None,
    survey_weight: str | None = None,
    shifted: Sequence[str] = (),
) -> None:
    """Log, for the owner, which unchanged columns give others away; the certificate is public."""
    for text in () if unchanged is None else warnings_about(unchanged, survey_weight, shifted):
        _log.warning(text)


def warn_about_text(schema: Schema, domains: Sequence[Domain]) -> None:
    """Log, for the owner, which numbers become categories because they are text."""
    for text in numbers_as_text(schema, domains):
        _log.warning("%s", text)


def protected_values(schema: Schema) -> str | None:
    """Return what notes call the sensitive values of a table, or None if it has none."""
    return "sensitive value" if schema.with_role(Role.SENSITIVE) else None
