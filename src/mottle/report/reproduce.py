"""The command and the mottle.toml that reproduce a release, from the release itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from mottle.assignment import WALKS
from mottle.guarantees.base import described_as
from mottle.release.certificate import (
    OWNER_KEY,
    Certificate,
    EngineFacts,
    HistoryFacts,
    ReleaseKind,
)
from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData
from mottle.release.per_person import before_aggregation
from mottle.schema.model import Column, Objective, PerPerson, Representation, Role, Schema, Unit


def command_of(certificate: Certificate) -> str:
    """The command that makes a release with this certificate; DATA stands for its table."""
    parameters = certificate.parameters
    words = ["mottle", "anonymize", "DATA", "--schema", "mottle.toml"]
    words += _guarantee_and_method(certificate)
    if parameters.representation not in (None, "range"):
        words += ["--representation", parameters.representation]
    words += _run_options(certificate)
    if parameters.least_total is None and certificate.kind is ReleaseKind.TABLE:
        words.append("--no-totals")
    if certificate.audit is not None and certificate.audit.level == "full":
        words += ["--audit", "full"]
    words += _engine_options(certificate.engine)
    words += _history_options(certificate.history)
    return shlex.join([*words, "-o", "released"])


def command_of_sets(certificate: Certificate) -> str:
    """The same for a release of sets; DATA stands for their file."""
    words = ["mottle", "anonymize-sets", "DATA", *_guarantee_and_method(certificate)]
    labels = [column.name for column in certificate.columns[1:]]
    words += [word for label in labels for word in ("--sensitive-label", label)]
    words += [*_run_options(certificate), *_engine_options(certificate.engine)]
    return shlex.join([*words, "-o", "released"])


def _guarantee_and_method(certificate: Certificate) -> Iterator[str]:
    for part in certificate.guarantee.each:
        kind = described_as(part.name)
        yield from () if kind is None else kind.command(part.to_dict())
    yield from ("--method", certificate.method.name)
    for name, value in certificate.parameters.options.items():
        yield from ("--set", f"{name}={value}")


def _run_options(certificate: Certificate) -> Iterator[str]:
    parameters = certificate.parameters
    if parameters.draw in WALKS and parameters.draw != "closed":
        yield from ("--walk", parameters.draw)
    if certificate.objective is not None and certificate.objective.name != Objective.DEFAULT:
        yield from ("--objective", certificate.objective.name)
    if parameters.effort is not None:
        yield from ("--seconds", f"{parameters.effort:g}")
    if parameters.randomness == OWNER_KEY:
        yield from ("--key", "KEY")
    if certificate.seed is not None:
        yield from ("--seed", str(certificate.seed))


def _engine_options(engine: EngineFacts | None) -> Iterator[str]:
    if engine is not None and engine.memory is not None:
        yield from ("--memory", f"{engine.memory / 1e9:g}GB")
    elif engine is not None:
        yield from ("--engine", engine.name)


def _history_options(history: HistoryFacts | None) -> Iterator[str]:
    """The options of a release over time, with placeholders for what only the owner has."""
    if history is None:
        return
    if history.release == 1:
        yield from ("--same", "COLUMN", "--private", "LINKS")
        return
    yield from ("--previous", "LINKS", "--private", "NEW_LINKS", "--leavers", history.rule)
    yield from ("--least-newcomers", str(history.least_newcomers))


def schema_comments(certificate: Certificate) -> dict[str, str]:
    """What the schema of a release lacks, by column."""
    return {
        name: "its groups of similar values are not part of a release: add a hierarchy or groups"
        for entry in certificate.sensitive
        if entry.levels
        for name in entry.columns
    }


def schema_of(release: ReleaseData) -> Schema:
    """The roles and kinds of all columns, from the release and its certificate."""
    published = {column.name: column for column in release.columns}
    apart = release.sensitive
    whole = release.certificate.parameters.representation
    binned = {
        name: entry.binned
        for entry in release.certificate.sensitive
        for name in entry.columns
        if len(entry.columns) == 1 and entry.binned is not None
    }
    columns = []
    for facts in release.certificate.columns:
        name = facts.name
        if apart is not None and name == apart.column_names[0]:
            continue  # the numbers of groups, which the table never had
        details = _details(published[name], whole) if name in published else {}
        if name in binned:
            details |= _bins(str(binned[name]))
        if facts.shift is not None:
            details["shift"] = facts.shift
        columns.append(
            Column(
                name=name,
                role=facts.role,
                importance=facts.importance or 1.0,
                objective=None if facts.objective is None else Objective(facts.objective),
                **details,
            )
        )
    unit = release.certificate.unit
    if unit is not None and unit.per_person is not None:
        before = tuple(before_aggregation(columns))
        return Schema(
            columns=before,
            per_person=PerPerson.AGGREGATE,
            survey_weight=release.certificate.survey_weight,
            rules=release.certificate.rules,
            context=release.certificate.context,
        )
    protects = None if unit is None else unit.protects
    return Schema(
        columns=tuple(columns),
        unit=None if protects is Unit.PERSON else protects,
        survey_weight=release.certificate.survey_weight,
        rules=release.certificate.rules,
        context=release.certificate.context,
    )


def _details(column: PublishedColumn, whole: str | None) -> dict[str, Any]:
    """The settings of a generalized column in addition to its role."""
    if column.role is not Role.QUASI_IDENTIFYING:
        return {}
    if column.kind is None:  # published as it is, in two tables
        return {}
    details = column.kind.schema_options(column)
    if column.form is not column.kind.form and whole != "set":
        details["representation"] = Representation.SET
    return details


def _bins(described: str) -> dict[str, Any]:
    """Bins from their description on the certificate.

    >>> _bins("3 bins with breaks 20000, 50000"), _bins("10 quantile bins")
    ({'breaks': (20000.0, 50000.0)}, {'bins': 10})
    """
    number, _, rest = described.partition(" ")
    _, _, breaks = rest.partition("breaks ")
    return {"breaks": tuple(map(float, breaks.split(", ")))} if breaks else {"bins": int(number)}
