"""Why a published cell is as wide as it is: for the owner, from the original and the links."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mottle import methods
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.encoding.people import People
from mottle.errors import DataError, GuaranteeError, UsageError
from mottle.graph.model import Graph
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.io.link_file import LinkFile
from mottle.io.original import check_original
from mottle.io.read_set_release import load_any_release
from mottle.io.read_table import as_table
from mottle.loss.ncp import Loss, measure
from mottle.methods.base import MethodContext
from mottle.pipeline.published_nodes import codes_with_nodes
from mottle.pipeline.table_records import TableRecords
from mottle.release.certificate import Certificate, ReleaseKind
from mottle.release.data import ReleaseData
from mottle.release.limits import bounds_inference
from mottle.release.links import Links
from mottle.release.named_nodes import codes_as_published
from mottle.release.per_person import original_of
from mottle.release.set_release import SetReleaseData
from mottle.report.reproduce import schema_of
from mottle.schema.model import Objective, Representation, Role, Schema
from mottle.typing import Int64Array

__all__ = ["ColumnCost", "PreimageCost", "RowExplanation", "WhatIf", "explain_row"]

MOST_PREVIEWED_ROWS = 20_000  # of more rows, a sample is previewed
_METHOD = "freeform"  # of the previews, without refinement
_HEAVIER = 2.0  # by which the importance of a column is multiplied in a preview


@dataclass(frozen=True)
class ColumnCost:
    """One cell of the record: what it says and what it loses."""

    name: str
    cell: str  # as in release.csv
    loss: float  # NCP
    share: float  # of the loss of the whole record


@dataclass(frozen=True)
class PreimageCost:
    """One original that the record may stand for, and what it adds to the loss."""

    original: int  # its row in the original, from 1 on
    true: bool  # whether it is the one that the record really is
    values: Mapping[str, str]  # its quasi-identifiers
    costs: float  # how much less the record would lose without it
    most_in: str | None  # the column in which it costs most; None: it costs nothing


@dataclass(frozen=True)
class WhatIf:
    """A preview of the whole table with another schema."""

    change: str
    column_loss: float | None  # NCP of the costliest column, mean over records; None: left out
    other_loss: float  # mean NCP of the other columns


@dataclass(frozen=True)
class RowExplanation:
    """Why the cells of one published record are as wide as they are; for the owner only.

    Attributes
    ----------
    row : int
        The record's row in the release, from 1 on.
    loss : float
        Its loss: the mean of the NCP of its cells, weighted by importance.
    mean_loss : float
        GCP, the mean over all records.
    columns : tuple of ColumnCost
        Its cells, the costliest first.
    preimages : tuple of PreimageCost
        The originals that it may stand for, the costliest first.
    what_if : tuple of WhatIf
        Previews; the first one is of the schema as it is.
    notes : tuple of str
        What a reader has to know.
    """

    row: int
    loss: float
    mean_loss: float
    columns: tuple[ColumnCost, ...]
    preimages: tuple[PreimageCost, ...]
    what_if: tuple[WhatIf, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as types of JSON.

        Returns
        -------
        dict
            All of it; it holds cells of the original.
        """
        return asdict(self)


def explain_row(
    original: object,
    release: ReleaseData | str | Path,
    private: Links | str | Path,
    row: int,
    *,
    previews: bool = True,
) -> RowExplanation:
    """Explain the cells of one published record, from the owner's original and links.

    Parameters
    ----------
    original : table or path
        The table that the release was made from.
    release : Release or path-like
        The release, or its folder.
    private : Links or path-like
        The owner's links, or their file.
    row : int
        The row of the release, from 1 on.
    previews : bool
        Whether to preview what another importance or a coarser column would change.

    Returns
    -------
    RowExplanation
        The explanation. It holds the secret: whose record it is.

    Raises
    ------
    UsageError
        There is no such row, or the release is one of sets or of two tables.
    DataError
        The release was not made from the table, or not with these links.

    Examples
    --------
    >>> import mottle
    >>> people = mottle.datasets.population(200, seed=1).select(["age", "sex"])
    >>> schema = mottle.Schema.of(quasi_identifying=["age", "sex"])
    >>> release = mottle.anonymize(people, schema, mottle.KAnonymity(4), seed=1)
    >>> found = mottle.explain_row(people, release, release.links, 1, previews=False)
    >>> len(found.preimages), sum(one.true for one in found.preimages)
    (4, 1)
    """
    released = (
        load_any_release(Path(release)) if isinstance(release, str | os.PathLike) else release
    )
    certificate = _explainable(released)
    if not 1 <= row <= released.num_rows:
        raise UsageError(
            f"The release has rows 1 to {released.num_rows:,}, and no row {row:,}.",
            "Rows are counted from 1, without the header.",
        )
    links = private if isinstance(private, Links) else LinkFile(Path(private))
    reading = links.reading if isinstance(links, LinkFile) else released.reading
    given = as_table(original, reading)
    table, schema = original_of(given, certificate, schema_of(released))
    check_original(table, released, links.fingerprint)
    assert schema is not None
    schema = schema.with_rest(Role.INSENSITIVE).covering(table.column_names)
    codes = encode(table, schema, Representation(certificate.parameters.representation or "range"))
    codes = codes_as_published(codes, released)
    rows, true = _preimages(links, row - 1, table.num_rows)
    cells = released.text_of(released.table.slice(row - 1, 1)).to_pylist()[0]
    whole = _lost(codes, rows)
    columns = _columns(codes, whole, cells)
    notes: list[str] = []
    what_if = _what_if(table, schema, certificate, columns[0].name, notes) if previews else ()
    return RowExplanation(
        row=row,
        loss=whole.gcp,
        mean_loss=certificate.loss,
        columns=columns,
        preimages=_costs(table, codes, rows, true, whole),
        what_if=what_if,
        notes=tuple(notes),
    )


def _explainable(release: object) -> Certificate:
    """The certificate of a release whose cells cover preimages."""
    if not isinstance(release, ReleaseData):
        raise UsageError(
            f"A {type(release).__name__} is not a release.", "Give a Release or its folder."
        )
    certificate = release.certificate
    if isinstance(release, SetReleaseData) or certificate.kind is not ReleaseKind.TABLE:
        raise UsageError(
            f"Cells are explained of tables, and this is a release of {certificate.kind}.",
            "Give a release of one table.",
        )
    if certificate.history is not None and certificate.history.release > 1:
        raise UsageError(
            "The release continues earlier ones, and describes rows that only its links have.",
            "Rows of the first release of a chain can be explained.",
        )
    return certificate


def _preimages(links: Links | LinkFile, row: int, originals: int) -> tuple[Int64Array, int]:
    """The originals of a released row, and the true one among them."""
    found: list[int] = []
    true = -1
    for batch in links.batches():
        published = batch.column("published").to_numpy(zero_copy_only=False)
        wanted = np.flatnonzero(published == row)
        found += batch.column("original").to_numpy(zero_copy_only=False)[wanted].tolist()
        for place in wanted:
            if batch.column("true")[int(place)].as_py():
                true = batch.column("original")[int(place)].as_py()
    if not found or true < 0 or max(found) >= originals or min(found) < 0:
        raise DataError(
            "The links do not lead from this row to rows of the original.",
            "Give the link file that was written together with the release.",
        )
    return np.array(sorted(found), np.int64), true


def _lost(codes: Codes, rows: Int64Array) -> Loss:
    """The loss of a record that may stand for some originals."""
    some = replace(codes, matrix=codes.matrix[rows])
    size = len(rows)
    block = Graph.rings(
        np.arange(size, dtype=np.int32), np.array([0, size]), np.array([size], np.int32)
    )
    return measure(cover(block, some), some)


def _columns(codes: Codes, whole: Loss, cells: Mapping[str, object]) -> tuple[ColumnCost, ...]:
    importance = {domain.name: domain.column.importance for domain in codes.domains}
    total = sum(importance[name] * loss for name, loss in whole.ncp.items()) or 1.0
    found = [
        ColumnCost(
            name=name,
            cell=str(cells.get(name) or ""),
            loss=loss,
            share=importance[name] * loss / total,
        )
        for name, loss in whole.ncp.items()
    ]
    return tuple(sorted(found, key=lambda each: -each.share))


def _costs(
    table: pa.Table,
    codes: Codes,
    rows: Int64Array,
    true: int,
    whole: Loss,
) -> tuple[PreimageCost, ...]:
    """What each preimage adds: the loss without it, compared with the loss with all."""
    names = [domain.name for domain in codes.domains]
    found = []
    for place, original in enumerate(rows.tolist()):
        without = _lost(codes, np.delete(rows, place))
        saved = {name: whole.ncp[name] - without.ncp[name] for name in names}
        most = max(saved, key=lambda name: saved[name])
        found.append(
            PreimageCost(
                original=original + 1,
                true=original == true,
                values={name: _text(table.column(name)[original].as_py()) for name in names},
                costs=max(whole.gcp - without.gcp, 0.0),
                most_in=most if saved[most] > 0 else None,
            )
        )
    return tuple(sorted(found, key=lambda each: (-each.costs, each.original)))


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _what_if(
    table: pa.Table, schema: Schema, certificate: Certificate, column: str, notes: list[str]
) -> tuple[WhatIf, ...]:
    """Preview the table as it is, with a heavier column, and without it as a quasi-identifier."""
    if bounds_inference(certificate):
        notes.append(
            "Under bounds on sensitive values nothing is previewed: a schema chosen by such losses"
            " would depend on quasi-identifiers and values together."
        )
        return ()
    if table.num_rows > MOST_PREVIEWED_ROWS:
        drawn = np.random.default_rng(0).choice(table.num_rows, MOST_PREVIEWED_ROWS, replace=False)
        table = table.take(pa.array(np.sort(drawn)))
        notes.append(f"Previews are of {MOST_PREVIEWED_ROWS:,} rows drawn at random.")
    others = [each.name for each in schema.with_role(Role.QUASI_IDENTIFYING) if each.name != column]
    changed = {
        "as it is": schema,
        f"importance of '{column}' doubled": _with(schema, column, heavier=True),
    }
    if others:
        changed[f"'{column}' as coarse as can be (left out)"] = _with(schema, column, heavier=False)
    found = []
    for change, tried in changed.items():
        try:
            ncp = _previewed(table, tried, certificate)
        except GuaranteeError:
            notes.append("The rows previewed cannot have the guarantee.")
            return ()
        rest = [ncp[name] for name in others]
        found.append(WhatIf(change, ncp.get(column), float(np.mean(rest)) if rest else 0.0))
    notes.append(
        f"Previews are by method '{_METHOD}' without refinement: compare them with one another."
    )
    return tuple(found)


def _with(schema: Schema, column: str, *, heavier: bool) -> Schema:
    """The schema with a column that counts twice as much, or that is left out."""
    changed = [
        each
        if each.name != column
        else each.model_copy(
            update={"importance": each.importance * _HEAVIER}
            if heavier
            else {"role": Role.INSENSITIVE}
        )
        for each in schema.columns
    ]
    return schema.model_copy(update={"columns": tuple(changed)})


def _previewed(table: pa.Table, schema: Schema, certificate: Certificate) -> Mapping[str, float]:
    """NCP by column of a run that arranges records and publishes nothing."""
    method = methods.get(_METHOD)
    guarantee = KAnonymity(_k(certificate))
    demand = guarantee.demand(table.num_rows, ())
    people = None if schema.person is None else People.of(table, schema.person)
    if people is not None and people.several:
        demand = replace(demand, people=people.codes)
    codes = encode(table, schema, Representation(certificate.parameters.representation or "range"))
    codes = codes_with_nodes(codes, guarantee.degree)
    records = TableRecords(
        method=method,
        table=table,
        schema=schema,
        codes=codes,
        codes_to_arrange=method.codes_to_arrange(codes, guarantee),
        demand=demand,
    )
    stated = certificate.objective
    objective = Objective.NCP if stated is None else Objective(stated.name)
    graph = records.arrange(MethodContext(seconds=0.0, objective=objective)).graph
    return measure(records.cover(graph), codes).ncp


def _k(certificate: Certificate) -> int:
    return int(max(part.facts.get("k", 2) for part in certificate.guarantee.each))
