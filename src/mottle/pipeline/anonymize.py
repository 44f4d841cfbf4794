"""The straight line from a table to a checked release."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from mottle import methods
from mottle._version import __version__
from mottle.assignment import WALKS, assign, check_assignment, check_layers
from mottle.audit import AUDITS, basic_audit, full_audit
from mottle.encoding.cover import check_covers, cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.encoding.sensitive import SensitiveValues, encode_sensitive
from mottle.errors import DataError, PrivacyError, SchemaError, UsageError, did_you_mean
from mottle.graph.degrees import describe_degrees, records_by_degree
from mottle.graph.model import Graph
from mottle.guarantees.base import Guarantee
from mottle.guarantees.demand import Demand
from mottle.guarantees.exposure import check_within_caps, exposure
from mottle.io.read_table import as_table
from mottle.loss.ncp import measure
from mottle.methods import Arrangement, Draw, MethodContext
from mottle.methods.het.dummy_records import add_dummies, dummies_notice
from mottle.release.column import PublishedColumn
from mottle.release.data import Release
from mottle.release.links import Links
from mottle.release.publish import check_publishable, check_published, publish
from mottle.release.two_tables import (
    INSTEAD,
    add_disclosure_notice,
    check_published_apart,
    publish_apart,
)
from mottle.release.value_totals import least_total
from mottle.schema.model import Representation, Role, Schema, parse_word
from mottle.typing import Int32Array
from mottle.utils.csprng import Purpose, Secret

STAGES = ("code", "arrange", "cover", "assign", "check", "publish")


@dataclass(frozen=True)
class Progress:
    """A word on where a run stands, for progress bars."""

    stage: str  # one of STAGES, beginning now; "done" at the end
    gcp: float | None = None  # the loss so far, once it is known
    share: float | None = None  # of the stage's rows that are done, where they come in parts


@dataclass
class Clock:
    """Seconds by stage, and the voice that announces them."""

    on_progress: Callable[[Progress], None]
    seconds: dict[str, float] = field(default_factory=dict)
    gcp: float | None = None

    def report_loss(self, stage: str, gcp: float) -> None:
        """Tell how much is lost so far."""
        self.on_progress(Progress(stage, gcp))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Announce a stage and take its time."""
        self.on_progress(Progress(name, self.gcp))
        begin = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - begin, 4)


def anonymize(
    data: object,
    schema: Schema,
    guarantee: Guarantee,
    *,
    method: str = "auto",
    representation: Representation | str = Representation.RANGE,
    walk: str = "closed",
    effort: float | None = None,
    seed: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    unsafe_paper_randomization: bool = False,
    audit: str = AUDITS[0],
    totals: bool = True,
) -> Release:
    """Anonymize a table: nothing is returned unless all invariants hold.

    Parameters
    ----------
    data
        A pyarrow Table, anything with the Arrow stream protocol (pandas, Polars, DuckDB), or the
        path of a CSV, Parquet or Arrow file.
    schema
        The role of every column, see `Schema`.
    guarantee
        What the release has to promise, for instance ``KAnonymity(10)`` or
        ``KAnonymity(5) & LDiversity(3)``.
    method
        A name from ``mottle methods``.
    representation
        "range" (numbers, dates and ordered values as ranges, hierarchies as nodes) or "set".
    walk
        How the true assignment is drawn: "closed" (SET12) or "backtracking" (NH10). Graphs built
        with sensitive values in mind are drawn otherwise, as their method says.
    effort
        Seconds for which a method that can go on improving its result may do so; 0 for not at
        all. Without it, until a further pass gains less than 0.1 %.
    seed
        For experiments only: makes the run repeatable, and its secret guessable. It is stamped on
        the certificate. Without it, randomness comes from the operating system.
    progress
        Called with a `Progress` at the beginning of every stage.
    unsafe_paper_randomization
        For experiments only: draw by the papers' random walk although the graph was built with
        sensitive values in mind, which leaks them. The certificate says so.
    audit
        "basic" puts on the certificate what the run's own measurements show; "full" plays all
        adversaries against the release, see `mottle.audit_release`.
    totals
        Whether the release says how often the values of quasi-identifiers occur, which makes
        answers to questions much more accurate (docs/queries.md). Rare ones are counted together.

    Examples
    --------
    >>> import mottle
    >>> people = mottle.datasets.population(200, seed=1).select(["age", "sex", "diagnosis"])
    >>> schema = Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    >>> release = anonymize(people, schema, mottle.KAnonymity(5), seed=1)
    >>> release.table.num_rows, release.certificate["degree"]
    (200, {'min': 5, 'max': 5, 'records': [[5, 200]]})
    """
    clock = Clock(progress or (lambda _: None))
    for option, word in (
        ("method", method),
        ("representation", representation),
        ("walk", walk),
        ("audit", audit),
    ):
        _check_word(option, word)
    representation = as_representation(representation)
    effort = as_seconds(effort)
    if walk not in WALKS:
        raise UsageError(f"There is no walk '{walk}'.", did_you_mean(walk, WALKS))
    if audit not in AUDITS:
        raise UsageError(f"There is no audit '{audit}'.", did_you_mean(audit, AUDITS))
    chosen = methods.get(method)
    chosen.check_gives(guarantee)
    if chosen.dummies is not None and not unsafe_paper_randomization:
        raise UsageError(
            f"Method '{chosen.name}' does as its paper does, dummy records included, and does not"
            " keep the guarantee.",
            "Leave the ending -dummies out, or, for experiments, add --unsafe-paper-randomization.",
        )
    check_schema(schema)
    secret = Secret.draw(seed)
    table = as_table(data)
    schema = schema.covering(table.column_names)
    check_publishable(table, schema)
    if table.num_rows == 0:
        raise DataError("The table has no rows.", "Give a table with data.")
    if table.num_rows >= 2**31:
        raise DataError("The table has more than 2,147,483,647 rows.", "Split it.")
    guarantee.check_feasible(table.num_rows)

    with clock.stage("code"):
        sensitive = encode_sensitive(table, schema) if guarantee.about_values else ()
        demand = guarantee.demand(table.num_rows, sensitive)
        tiebreak = partial(secret.permutation, Purpose.TIEBREAK)
        if chosen.dummies is not None:
            demand = demand.with_dummies(chosen.dummies(demand))
            table = add_dummies(table, schema, tiebreak(table.num_rows)[: demand.dummies])
        codes = encode(table, schema, representation)
        codes_to_arrange = chosen.codes_to_arrange(codes, guarantee)
    with clock.stage("arrange"):
        telling = partial(clock.report_loss, "arrange")
        preview = partial(assign, secret=secret, walk=str(Draw.BUCKETS))
        arrangement = chosen.arrange(
            codes_to_arrange,
            demand,
            MethodContext(effort, secret.public_seed, telling, tiebreak, preview),
        )
        graph = arrangement.graph
        if graph.records != codes.records:
            raise PrivacyError("Invariant 1: the graph has more or fewer records than the table.")
        degree = graph.check_regular(demand.degree)  # before any kernel trusts its indices
        draw, unsafe = decide_draw(chosen.name, arrangement, walk, unsafe_paper_randomization)
    with clock.stage("cover"):
        published = cover(graph, codes)
        loss = measure(published, codes)
    clock.gcp = loss.gcp
    with clock.stage("assign"):
        truth = assign(graph, secret, draw)
        links = Links(graph, secret.permutation(Purpose.ROW_ORDER, len(truth)), truth)
    checks: list[dict[str, object]] = []
    apart = arrangement.draw is Draw.APART
    least = least_total(demand) if totals else None
    with clock.stage("check"):
        covered: dict[str, object] = {"pairs": check_covers(graph, codes, published)}
        if apart:
            covered = {"measured_only": True, "published_instead": INSTEAD, **covered}
        checks += [
            check_passed(1, "regular", {"degree": degree, "blocks": len(graph.degrees)}),
            check_passed(2, "covered", covered),
            check_passed(3, "one-to-one", {"records": check_assignment(graph, truth)}),
            measure_cap_violations(graph, truth, demand)
            if unsafe
            else check_passed(4, "within caps", check_within_caps(graph, truth, demand)),
        ]
    with clock.stage("publish"):
        values_apart = None
        if apart:
            released, columns, values_apart = publish_apart(table, schema, links)
            anonymous = check_published_apart(schema, released, values_apart, links)
        else:
            released, columns = publish(table, schema, codes, published, links, least)
            anonymous = check_published(schema, columns, links)
        checks.append(check_passed(5, "anonymous", anonymous))
    clock.on_progress(Progress("done", loss.gcp))
    certificate = {
        "mottle": __version__,
        "guarantee": guarantee.describe(),
        "method": {
            "name": chosen.name,
            "title": chosen.title,
            "paper": chosen.paper,
            **arrangement.facts,
        },
        "parameters": {
            "representation": str(representation),
            "draw": draw,
            "effort": effort,
            "least_total": None if apart else least,
        },
        "rows": table.num_rows,
        "columns": describe_columns(schema, codes, columns),
        "sensitive": [describe_values(values) for values in sensitive],
        "gcp": loss.gcp,
        "ncp": loss.ncp,
        "degree": describe_degrees(records_by_degree(graph)),
        "seed": secret.seed,
        "checks": checks,
        "audit": basic_audit(graph, demand, guarantee, checks, two_tables=apart),
        "notes": [
            *notes_of(schema, codes, guarantee, arrangement.facts, seed),
            *([UNSAFE] if unsafe else []),
            *([dummies_notice(demand.dummies)] if demand.dummies else []),
        ],
        "sha256": {},
        "seconds": clock.seconds,
    }
    if values_apart is not None:
        certificate = add_disclosure_notice(certificate, values_apart)
    release = Release(released, columns, certificate, links, values_apart)
    if audit == "full":
        with clock.stage("audit"):
            certificate["audit"] = full_audit(table, release, schema, guarantee)
    return release


def as_representation(value: Representation | str) -> Representation:
    """A representation by its name."""
    try:
        return parse_word(Representation, value)
    except ValueError as error:
        raise SchemaError(f"{error}.") from None


def _check_word(option: str, value: object) -> None:
    if not isinstance(value, str):
        raise UsageError(f"The {option} must be a word, not a {type(value).__name__}.")


def check_schema(schema: object) -> None:
    """Refuse what is not a schema."""
    if not isinstance(schema, Schema):
        raise UsageError(
            f"A {type(schema).__name__} is not a schema.",
            "Build one with Schema.of(quasi_identifying=[…], …) or Schema.read(FILE).",
        )


def as_seconds(effort: object) -> float | None:
    """The time for improving as a number that the certificate can hold."""
    if effort is None:
        return None
    seconds = float(effort) if isinstance(effort, Real) else -1.0
    if isinstance(effort, bool) or not 0 <= seconds < float("inf"):
        raise UsageError(
            "The time for improving must be a number of seconds from 0 on.",
            "Leave it out to stop when it is no longer worth it.",
        )
    return seconds


def check_passed(invariant: int, name: str, measured: dict[str, object]) -> dict[str, object]:
    """A passed check as it stands on the certificate; a failed one has raised before."""
    return {"invariant": invariant, "name": name, "passed": True, "measured": measured}


SEEDED = (
    "A seed was given: whoever knows it can repeat the draw and undo the anonymization. Do not"
    " publish this release."
)
INTERRUPTED = "The run was interrupted while improving: this is the best until then."
UNSAFE = (
    "UNSAFE: the assignment was drawn by the paper's random walk on a graph built with sensitive"
    " values in mind. An adversary who knows the algorithm strikes out every sensitive value that"
    " occurs twice among a person's matches: the guarantee does not hold. Do not publish this"
    " release."
)


def decide_draw(method: str, arrangement: Arrangement, walk: str, unsafe: bool) -> tuple[str, bool]:
    """The draw that keeps the guarantee, or the papers'; and whether that one is unsafe."""
    draw = arrangement.draw
    layered = draw in (Draw.BUCKETS, Draw.ROTATION)
    if layered:
        check_layers(arrangement.graph, buckets=draw is Draw.BUCKETS)
    elif unsafe:
        raise UsageError(
            f"Method '{method}' has no unsafe randomization to ask for: its graph does not depend"
            " on sensitive values.",
            "Leave --unsafe-paper-randomization out.",
        )
    return (walk if unsafe or draw is Draw.WALK else str(draw)), unsafe


def measure_cap_violations(graph: Graph, truth: Int32Array, demand: Demand) -> dict[str, object]:
    """Invariant 4 as it stands after the papers' walk: measured, not enforced."""
    found = exposure(graph, truth, demand)
    measured = {
        "capped_values": len(demand.caps),
        "individuals": graph.records,
        "individuals_beyond_cap": found.violations,
        "individuals_with_repeated_value": found.repeats,
        "highest_share_of_cap": round(found.nearest, 6),
    }
    return {"invariant": 4, "name": "within caps", "passed": False, "measured": measured}


def describe_values(values: SensitiveValues) -> dict[str, object]:
    """What is capped, in numbers; nothing about single values."""
    described: dict[str, object] = {
        "columns": list(values.columns),
        "values": len(values.counts),
        "largest_share": round(float(values.counts.max() / values.rows), 6),
    }
    if values.binned:
        described["binned"] = values.binned
    return described


def describe_columns(
    schema: Schema, codes: Codes, columns: Sequence[PublishedColumn]
) -> list[dict[str, Any]]:
    """Roles and kinds of the published columns; nothing about their values."""
    coded = {domain.name: domain for domain in codes.domains}
    published = {column.name: column for column in columns}
    described = []
    for column in schema.columns:
        facts: dict[str, Any] = {"name": column.name, "role": str(column.role)}
        if column.name in coded:
            domain = coded[column.name]
            if published[column.name].form is not None:
                facts |= {"kind": str(domain.column.kind), "form": str(domain.form)}
                if domain.column.separator is not None:
                    facts["separator"] = domain.column.separator
            facts["weight"] = column.weight
        if column.name in published:
            facts["type"] = str(published[column.name].value_type)
        described.append(facts)
    known = {column.name for column in schema.columns}
    return [*described, *(column.facts for column in columns if column.name not in known)]


def notes_of(
    schema: Schema,
    codes: Codes,
    guarantee: Guarantee,
    facts: Mapping[str, object],
    seed: int | None,
) -> list[str]:
    """What a reader of the certificate should know; no cell values."""
    notes = list(codes.notes)
    notes += [
        f"Column '{domain.name}' has the same value everywhere, so it neither identifies nor loses."
        for domain in codes.domains
        if domain.size == 1
    ]
    if "interrupted" in str(facts.get("refinement")):
        notes.append(INTERRUPTED)
    if seed is not None:
        notes.append(SEEDED)
    if schema.with_role(Role.SENSITIVE) and not guarantee.about_values:
        notes.append(
            f"{guarantee.describe()['name']} hides which record is whose. It does not bound what"
            " can be learned about a sensitive value that most candidates share."
        )
    return notes


def seconds_of_anonymizing(certificate: dict[str, Any]) -> float:
    """Time from codes to a checked release, without coding and publishing."""
    return float(
        np.sum([certificate["seconds"][stage] for stage in ("arrange", "cover", "assign", "check")])
    )
