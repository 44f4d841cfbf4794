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

import mottle
from mottle import methods
from mottle.assignment import WALKS, assign, check_assignment
from mottle.coding import Codes, encode
from mottle.cover import check_covers, cover
from mottle.errors import DataError, PrivacyError, SchemaError, UsageError, did_you_mean
from mottle.guarantees import KAnonymity
from mottle.io.read import as_table
from mottle.loss import measure
from mottle.methods import Effort
from mottle.randomness import Purpose, Secret
from mottle.release import (
    Links,
    PublishedColumn,
    Release,
    check_publishable,
    check_published,
    publish,
)
from mottle.schema import Representation, Role, Schema, parse_word

STAGES = ("code", "arrange", "cover", "assign", "check", "publish")


@dataclass(frozen=True)
class Progress:
    """A word on where a run stands, for progress bars."""

    stage: str  # one of STAGES, beginning now; "done" at the end
    gcp: float | None = None  # the loss so far, once it is known


@dataclass
class _Clock:
    """Seconds by stage, and the voice that announces them."""

    tell: Callable[[Progress], None]
    seconds: dict[str, float] = field(default_factory=dict)
    gcp: float | None = None

    def report_loss(self, stage: str, gcp: float) -> None:
        self.tell(Progress(stage, gcp))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.tell(Progress(name, self.gcp))
        begin = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - begin, 4)


def anonymize(
    data: object,
    schema: Schema,
    guarantee: KAnonymity,
    *,
    method: str = "auto",
    representation: Representation | str = Representation.RANGE,
    walk: str = "closed",
    effort: float | None = None,
    seed: int | None = None,
    progress: Callable[[Progress], None] | None = None,
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
        What the release has to promise, for instance ``KAnonymity(10)``.
    method
        A name from ``mottle methods``.
    representation
        "range" (numbers, dates and ordered values as ranges, hierarchies as nodes) or "set".
    walk
        How the true assignment is drawn: "closed" (SET12) or "backtracking" (NH10).
    effort
        Seconds for which a method that can go on improving its result may do so; 0 for not at
        all. Without it, until a further pass gains less than 0.1 %.
    seed
        For experiments only: makes the run repeatable, and its secret guessable. It is stamped on
        the certificate. Without it, randomness comes from the operating system.
    progress
        Called with a `Progress` at the beginning of every stage.

    Examples
    --------
    >>> import mottle
    >>> people = mottle.datasets.population(200, seed=1).select(["age", "sex", "diagnosis"])
    >>> schema = Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    >>> release = anonymize(people, schema, KAnonymity(5), seed=1)
    >>> release.table.num_rows, release.certificate["degree"]
    (200, {'min': 5, 'max': 5})
    """
    clock = _Clock(progress or (lambda _: None))
    for option, word in (("method", method), ("representation", representation), ("walk", walk)):
        _check_word(option, word)
    representation = _representation(representation)
    effort = _seconds(effort)
    if walk not in WALKS:
        raise UsageError(f"There is no walk '{walk}'.", did_you_mean(walk, WALKS))
    chosen = methods.get(method)
    chosen.check_gives(guarantee)
    _check_schema(schema)
    secret = Secret.draw(seed)
    table = as_table(data)
    schema = schema.covering(table.column_names)
    check_publishable(table, schema)
    if table.num_rows == 0:
        raise DataError("The table has no rows.", "Give a table with data.")
    guarantee.check_feasible(table.num_rows)
    if table.num_rows >= 2**31:
        raise DataError("The table has more than 2,147,483,647 rows.", "Split it.")

    with clock.stage("code"):
        codes = encode(table, schema, representation)
    with clock.stage("arrange"):
        telling = partial(clock.report_loss, "arrange")
        arrangement = chosen.arrange(codes, guarantee, Effort(effort, secret.public_seed, telling))
        graph = arrangement.graph
        if graph.records != codes.records:
            raise PrivacyError("Invariant 1: the graph has more or fewer records than the table.")
        degree = graph.check_regular(guarantee.degree)  # before any kernel trusts its indices
    with clock.stage("cover"):
        published = cover(graph, codes)
        loss = measure(published, codes)
    clock.gcp = loss.gcp
    with clock.stage("assign"):
        truth = assign(graph, secret, walk)
        links = Links(graph, secret.permutation(Purpose.ROW_ORDER, len(truth)), truth)
    checks: list[dict[str, object]] = []
    with clock.stage("check"):
        checks += [
            _check(1, "regular", {"degree": degree, "blocks": len(graph.degrees)}),
            _check(2, "covered", {"pairs": check_covers(graph, codes, published)}),
            _check(3, "one-to-one", {"records": check_assignment(graph, truth)}),
        ]
    with clock.stage("publish"):
        released, columns = publish(table, schema, codes, published, links)
        checks.append(_check(4, "within caps", {"capped_values": 0}))  # k-anonymity caps none
        checks.append(_check(5, "anonymous", check_published(schema, columns, links)))
    clock.tell(Progress("done", loss.gcp))
    certificate = {
        "mottle": mottle.__version__,
        "guarantee": guarantee.describe(),
        "method": {
            "name": chosen.name,
            "title": chosen.title,
            "paper": chosen.paper,
            **arrangement.facts,
        },
        "parameters": {"representation": str(representation), "walk": walk, "effort": effort},
        "rows": table.num_rows,
        "columns": _describe_columns(schema, codes, columns),
        "gcp": loss.gcp,
        "ncp": loss.ncp,
        "degree": {"min": degree[0], "max": degree[1]},
        "seed": secret.seed,
        "checks": checks,
        "notes": _notes(schema, codes, guarantee, arrangement.facts, seed),
        "sha256": {},
        "seconds": clock.seconds,
    }
    return Release(released, columns, certificate, links)


def _representation(value: Representation | str) -> Representation:
    try:
        return parse_word(Representation, value)
    except ValueError as error:
        raise SchemaError(f"{error}.") from None


def _check_word(option: str, value: object) -> None:
    if not isinstance(value, str):
        raise UsageError(f"The {option} must be a word, not a {type(value).__name__}.")


def _check_schema(schema: object) -> None:
    if not isinstance(schema, Schema):
        raise UsageError(
            f"A {type(schema).__name__} is not a schema.",
            "Build one with Schema.of(quasi_identifying=[…], …) or Schema.read(FILE).",
        )


def _seconds(effort: object) -> float | None:
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


def _check(invariant: int, name: str, measured: dict[str, object]) -> dict[str, object]:
    """A passed check as it stands on the certificate; a failed one has raised before."""
    return {"invariant": invariant, "name": name, "passed": True, "measured": measured}


def _describe_columns(
    schema: Schema, codes: Codes, columns: Sequence[PublishedColumn]
) -> list[dict[str, Any]]:
    """Roles and kinds of the published columns; nothing about their values."""
    coded = {domain.name: domain for domain in codes.domains}
    types = {column.name: column.value_type for column in columns}
    described = []
    for column in schema.columns:
        facts: dict[str, Any] = {"name": column.name, "role": str(column.role)}
        if column.name in coded:
            domain = coded[column.name]
            facts |= {"kind": str(domain.column.kind), "form": str(domain.form)}
            facts["weight"] = column.weight
        if column.role is not Role.IDENTIFYING:
            facts["type"] = str(types[column.name])
        described.append(facts)
    return described


def _notes(
    schema: Schema,
    codes: Codes,
    guarantee: KAnonymity,
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
        notes.append("The run was interrupted while improving: this is the best until then.")
    if seed is not None:
        notes.append(
            "A seed was given: whoever knows it can repeat the draw and undo the anonymization."
            " Do not publish this release."
        )
    if schema.with_role(Role.SENSITIVE):
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
