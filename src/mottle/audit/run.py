"""The audit: read the inputs, play every adversary, and assemble the report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from mottle.audit.base import select_adversaries
from mottle.audit.containment.assignment_graph import check_rows
from mottle.audit.decisions import Replay
from mottle.audit.earlier import described_by, read_series
from mottle.audit.links.edges import Edges, read_edges
from mottle.audit.report import FOR_OWNER, WARNINGS, AuditReport, Finding
from mottle.audit.view import build_view_and_evidence
from mottle.errors import UsageError
from mottle.guarantees.base import Guarantee
from mottle.guarantees.from_certificate import guarantee_on
from mottle.io.external.read import is_external, read_external
from mottle.io.link_file import LinkFile
from mottle.io.original import check_fingerprint, check_original, remembered_reading
from mottle.io.read_set_release import holds_sets, load_any_release
from mottle.io.read_sets import as_sets
from mottle.io.read_table import as_table
from mottle.release.data import ReleaseData
from mottle.release.links import Links
from mottle.release.per_person import original_of
from mottle.release.set_release import SetReleaseData
from mottle.schema.model import Schema, Unit
from mottle.utils.steps import Announced, Step

SAMPLE = 1_000_000  # the number of people up to which everybody is examined


def audit_release(
    original: object,
    release: object,
    *,
    schema: Schema | str | Path | None = None,
    private: Links | str | Path | None = None,
    guarantee: Guarantee | None = None,
    adversaries: Sequence[str] | None = None,
    insider_bound: int | None = None,
    replay: Replay | str | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
    earlier: Sequence[object] = (),
    same: str | None = None,
    on_progress: Callable[[Step], None] | None = None,
) -> AuditReport:
    """Play adversaries against a release.

    Parameters
    ----------
    original : path-like, pyarrow.Table, Arrow stream or ItemSets
        The table the release was made from: a file, a pyarrow Table, or any object with the Arrow
        stream protocol, with all rows in their original order. For a release of sets, the sets:
        an `ItemSets`, a transaction file or a collection of collections.
    release : ReleaseData or path-like
        A `Release` or `SetRelease`, its folder, its ``release.parquet`` or ``release.csv``; or the
        file that another tool wrote, which ``schema`` then describes.
    schema : Schema or path-like, optional
        Required for another tool's release, and where a guarantee is about bins of numbers.
    private : Links or path-like, optional
        The owner's link file. Without it, the links of a release that is still in memory are used;
        if there are none, everything that only the links can show is skipped.
    guarantee : Guarantee, optional
        What has to hold. Defaults to what the certificate promises. If there is neither, findings
        are for information only.
    adversaries : sequence of str, optional
        Names from ``mottle.audit.registered()``. Defaults to all of them.
    insider_bound : int, optional
        The number of others whose sensitive values a participant may learn for certain from the own
        record. Defaults to the entry ``known_records`` of the certificate's method; if there is
        neither, what participants learn is for information only.
    replay : Replay or str, optional
        Repeats the method's decisions on other worlds, for the adversary ``decision``; or why they
        cannot be repeated. `Release.audit` and ``mottle audit`` make one from the certificate.
    sample : int
        The maximum number of people to examine. Larger tables are sampled, and findings say so.
    seed : int
        Seed for choosing the sample and the people whose records are assumed to be known.
    earlier : sequence of EarlierRelease, ReleaseData or path-like, optional
        Earlier releases of the same people, which the adversary ``intersection`` compares. One that
        was made from another table has to be an `EarlierRelease`, which names it.
    same : str, optional
        The column of the originals that says who is who in several releases. Without it, links of
        releases over time say it, or else row numbers.
    on_progress : callable, optional
        Called with a `Step` when each adversary begins.

    Returns
    -------
    AuditReport
        What each adversary achieved, compared with what the guarantee allows.

    Raises
    ------
    UsageError
        An argument is not usable: an unknown adversary, an empty sample, or an object that is not
        a release.
    DataError
        The release was not made from ``original``, or the link file belongs to another release.
    StorageError
        A file cannot be read.

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
    selected = select_adversaries(adversaries)
    if sample < 1:
        raise UsageError("The sample must be at least one person.")
    if isinstance(schema, str | os.PathLike):
        schema = Schema.read(schema)
    if isinstance(earlier, str | os.PathLike | ReleaseData):
        raise UsageError("The earlier releases must be a list.", "Write [RELEASE].")
    given, table, released, schema = _read(original, release, schema, private)
    _check_original(given, released, private, in_memory=isinstance(release, ReleaseData))
    claim = None if released.certified is None else released.certified.guarantee.to_dict()
    promised, notes = guarantee_on({"guarantee": claim})
    if guarantee is not None:
        promised, notes = guarantee, ()
    edges = _read_links(private, released, int(seed))
    series = None
    if earlier:
        links = released.links if private is None else private
        read = _read_sets if isinstance(released, SetReleaseData) else as_table
        series = read_series(given, released, links, edges, earlier, same, int(seed), read)
    view, evidence = build_view_and_evidence(
        table,
        released,
        schema=schema,
        guarantee=promised,
        edges=edges,
        insider_bound=_certified_bound(released) if insider_bound is None else insider_bound,
        replay=replay,
        sample=int(sample),
        seed=int(seed),
        series=series,
    )
    findings: list[Finding] = []
    seconds: dict[str, float] = {}
    people = max(min(table.num_rows, int(sample)), 1) / 1_000_000
    steps = Announced(
        on_progress,
        [adversary.name for adversary in selected],
        [adversary.seconds * people for adversary in selected],
    )
    for adversary in selected:
        steps.begin(adversary.name)
        began = time.perf_counter()
        findings += [
            Finding.of(adversary.name, adversary.title, adversary.assumes, outcome)
            for outcome in adversary.play(view, evidence)
        ]
        seconds[adversary.name] = round(time.perf_counter() - began, 3)
    report = AuditReport(
        rows=table.num_rows,
        guarantee=None if promised is None else promised.describe(),
        findings=tuple(findings),
        notes=(*notes, *_notes(released, promised), *_warnings(findings)),
        seconds=seconds,
    )
    if view.whose is not None and np.bincount(view.whose).max() > 1:
        return report.about(Unit.ROW, f"rows of {int(view.whose.max()) + 1:,} people")
    unit = None if released.certified is None else released.certified.unit
    return report if unit is None else report.about(unit.protects)


def _read(
    original: object, release: object, schema: Schema | None, private: object
) -> tuple[pa.Table, pa.Table, ReleaseData, Schema | None]:
    """Return the original, the rows that the release describes, the release and the schema.

    Files are read if necessary. Releases over time may describe other rows than the original.
    """
    reading = remembered_reading(schema, private)
    if isinstance(release, ReleaseData) and release.external is not None:
        table = as_table(original, reading)
        return table, table, release, schema
    if isinstance(release, ReleaseData):
        released = release
    elif isinstance(release, str | os.PathLike):
        path = Path(release)
        if not holds_sets(path) and is_external(path, schema):
            table = as_table(original, reading)
            return table, table, read_external(path, table, schema), schema
        released = load_any_release(path)
    else:
        raise UsageError(
            f"A {type(release).__name__} is not a release.",
            "Give a Release, its folder or one of its files.",
        )
    of_sets = isinstance(released, SetReleaseData)
    _check_hierarchies(released)
    if of_sets:
        table = _read_sets(original)
    else:
        table = as_table(original, reading or released.reading)
        table, schema = original_of(table, released.certified, schema)
    described = described_by(table, released.links if private is None else private)
    check_rows(described.num_rows, released.table.num_rows)
    return table, described, released, schema


def _check_hierarchies(released: ReleaseData) -> None:
    """Raise `UsageError` if sets hold nodes and the release does not say what is below them."""
    certified = () if released.certified is None else released.certified.columns
    of_nodes = {column.name for column in certified if column.nodes}
    for column in released.columns:
        if column.name in of_nodes and column.hierarchy is None:
            raise UsageError(
                f"The release does not carry the hierarchy of column '{column.name}'.",
                "Read it from release.parquet, which does.",
            )


def _read_sets(original: object) -> pa.Table:
    """Sets as a table: a column of lists, and their labels if there are any."""
    data = as_sets(original)
    items = data.names.take(pa.array(data.items))
    lists = pa.LargeListArray.from_arrays(pa.array(data.starts), items)
    labels = {} if data.labels is None else {data.label_name: data.labels}
    return pa.table({data.column: lists} | labels)


def _certified_bound(release: ReleaseData) -> int | None:
    """How many others' values one known record may reveal, as the certificate says."""
    if release.certified is None:
        return None
    bound = release.certified.method.facts.get("known_records")
    return None if bound is None else int(bound)


def _read_links(private: object, release: ReleaseData, seed: int) -> Edges | None:
    """Read the owner's links, from the given file or from the release itself."""
    given = release.links if private is None else private
    return None if given is None else read_edges(given, release.table.num_rows, seed)


def _check_original(
    table: pa.Table, release: ReleaseData, private: object, *, in_memory: bool
) -> None:
    """Refuse an original that does not fit the links or, without them, the release's files."""
    links = release.links if private is None else private
    if isinstance(links, str | os.PathLike):
        fingerprint = LinkFile(Path(links)).fingerprint
    else:
        fingerprint = links.fingerprint if isinstance(links, Links) else None
    if fingerprint is not None:
        check_fingerprint([table], fingerprint)
    elif not in_memory and release.certified is not None and _is_table(release):
        check_original(table, release)


def _is_table(release: ReleaseData) -> bool:
    return not isinstance(release, SetReleaseData)


def _warnings(findings: Sequence[Finding]) -> list[str]:
    """What adversaries found out about columns, in words for the owner."""
    told = [finding.details.get(FOR_OWNER, {}).get(WARNINGS, ()) for finding in findings]
    return [str(text) for texts in told for text in texts]


def _notes(release: ReleaseData, guarantee: Guarantee | None) -> list[str]:
    """Notes on how another tool's release was read, and on a missing guarantee."""
    notes = [] if release.external is None else list(release.external.notes)
    if guarantee is None:
        notes.append("No guarantee is known, so findings are for information only.")
    return notes
