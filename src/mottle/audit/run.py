"""The audit: read what is given, share it out, play every adversary, put the report together."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from mottle.audit.base import chosen
from mottle.audit.containment.assignment_graph import check_rows
from mottle.audit.links.edges import Edges, edges_of
from mottle.audit.report import AuditReport, Finding
from mottle.audit.view import gather
from mottle.errors import UsageError
from mottle.guarantees.base import Guarantee
from mottle.guarantees.from_certificate import guarantee_on
from mottle.io.external.read import is_foreign, read_external
from mottle.io.read_release import load_release
from mottle.io.read_table import as_table
from mottle.release.data import ReleaseData
from mottle.release.links import Links
from mottle.schema.model import Schema

SAMPLE = 1_000_000  # people; up to so many everybody is examined


def audit_release(
    original: object,
    release: object,
    *,
    schema: Schema | str | Path | None = None,
    private: Links | str | Path | None = None,
    guarantee: Guarantee | None = None,
    adversaries: Sequence[str] | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
) -> AuditReport:
    """Play adversaries against a release.

    Parameters
    ----------
    original
        The table the release was made from: a file, a pyarrow Table, or anything with the Arrow
        stream protocol, with all its rows in their order.
    release
        A `Release`, its folder, its ``release.parquet`` or ``release.csv``; or the file another
        tool wrote, which ``schema`` then describes.
    schema
        Needed for another tool's release, and where a guarantee is about bins of numbers.
    private
        The owner's link file. Without it the links of a release that is still in memory are used;
        if there are none, what only the links can show is left out.
    guarantee
        What has to hold; without it, what the certificate promises. If there is neither, findings
        are for information only.
    adversaries
        Names from ``mottle.audit.registered()``; all of them without it.
    sample
        How many people are examined at most. Above that a sample is, and findings say so.
    seed
        For choosing the sample and the people whose records are taken for known.

    Examples
    --------
    >>> import mottle
    >>> people = mottle.datasets.population(300, seed=1).select(["age", "sex", "diagnosis"])
    >>> schema = Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    >>> release = mottle.anonymize(people, schema, mottle.KAnonymity(5), seed=1)
    >>> report = mottle.audit_release(people, release)
    >>> report.passed, report.of("linkage")[0].measure
    (True, 'fewest matches of a person')
    """
    players = chosen(adversaries)
    if sample < 1:
        raise UsageError("The sample must be at least one person.")
    described = Schema.read(schema) if isinstance(schema, str | os.PathLike) else schema
    table = as_table(original)
    released = _released(release, table, described)
    claim = None if released.certified is None else released.certified.guarantee.to_dict()
    promised, notes = guarantee_on({"guarantee": claim})
    if guarantee is not None:
        promised, notes = guarantee, ()
    view, evidence = gather(
        table,
        released,
        schema=described,
        guarantee=promised,
        edges=_links(private, released, int(seed)),
        sample=int(sample),
        seed=int(seed),
    )
    findings: list[Finding] = []
    seconds: dict[str, float] = {}
    for adversary in players:
        began = time.perf_counter()
        findings += [
            Finding.of(adversary.name, adversary.title, adversary.assumes, outcome)
            for outcome in adversary.play(view, evidence)
        ]
        seconds[adversary.name] = round(time.perf_counter() - began, 3)
    return AuditReport(
        rows=table.num_rows,
        guarantee=None if promised is None else promised.describe(),
        findings=tuple(findings),
        notes=(*notes, *_notes(released, promised)),
        seconds=seconds,
    )


def _released(release: object, table: pa.Table, schema: Schema | None) -> ReleaseData:
    """The release as an object, whatever it was given as."""
    if isinstance(release, ReleaseData):
        released = release
    elif isinstance(release, str | os.PathLike):
        path = Path(release)
        if is_foreign(path, schema):
            return read_external(path, table, schema)
        released = load_release(path)
    else:
        raise UsageError(
            f"A {type(release).__name__} is no release.",
            "Give a ReleaseData, its folder or one of its files.",
        )
    check_rows(table.num_rows, released.table.num_rows)
    return released


def _links(private: object, release: ReleaseData, seed: int) -> Edges | None:
    given = release.links if private is None else private
    return None if given is None else edges_of(given, release.table.num_rows, seed)


def _notes(release: ReleaseData, guarantee: Guarantee | None) -> list[str]:
    notes = [] if release.external is None else list(release.external.notes)
    if guarantee is None:
        notes.append("No guarantee is known, so findings are for information only.")
    return notes
