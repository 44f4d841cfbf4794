"""Error of counts from our release beside those of ARX and anonypy, read in the usual way.

Usual is: a number is the middle of its range or spread evenly over it, a category is any of the
values below a label or in a set with equal chance, and columns are independent. ARX's releases are
those of `_full_domain`, which searches as ARX does; anonypy runs in an environment of its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from _full_domain import Levels, globally, locally, recoded
from _rivals import ARX_GLOBAL, ARX_LOCAL, run_rival_groups
from _shared import DATA, markdown_table, require_data

import mottle
from mottle import KAnonymity, Release, Schema
from mottle.evaluation.workloads import query_error, random_counts
from mottle.hierarchy.tree import Hierarchy
from mottle.io.external.read import read_external
from mottle.queries.engine import Queries
from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData
from mottle.schema.external_release import CellNotation, ExternalRelease, Tool

KNOWN = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
SENSITIVE, NUMBER = "occupation", "age"
DEGREES = (5, 10, 20)
WIDTHS = (1, 2, 3, 5)
QUESTIONS, SELECTIVITY, PASSES, SECRETS = 600, 0.1, 10, (1, 2, 3)
OURS, UNIFORM = "mottle", "mottle, uniform"
HIERARCHIES = DATA / "hierarchies" / "adult"


def rivals_by_degree() -> list[str]:
    """Sections of the page."""
    table = pq.read_table(require_data("adult_arx.parquet")).select([*KNOWN, SENSITIVE])
    truth = Queries.of(table)
    columns = [
        Levels.of(table.column(name), HIERARCHIES / f"adult_hierarchy_{name}.csv") for name in KNOWN
    ]
    chosen = globally(columns, DEGREES)
    rows, losses = [], []
    ratios: dict[str, list[float]] = {OURS: [], UNIFORM: []}
    for k in DEGREES:
        sources: dict[str, list[Queries]] = {}
        ours = [_ours(table, k, secret) for secret in SECRETS]
        sources[OURS] = [Queries.of(release) for release in ours]
        sources[UNIFORM] = [Queries.of(release, "uniform") for release in ours]
        by_arx = recoded(table, KNOWN, columns, chosen[k])
        local = recoded(table, KNOWN, columns, locally(columns, k))
        others = {
            "ARX, global": _labelled(by_arx.table, table),
            "ARX, local": _labelled(local.table, table),
            "anonypy": _grouped(run_rival_groups("anonypy", table.select(KNOWN), k), table),
        }
        for name, release in others.items():
            sources[f"{name}, midpoints"] = [Queries.of(_with_midpoints(release), "uniform")]
            sources[f"{name}, uniform"] = [Queries.of(release, "uniform")]
        losses.append(
            [
                k,
                f"{by_arx.gcp:.4f}",
                f"{100 * by_arx.suppressed:.1f}",
                f"{ARX_GLOBAL[k]:.4f}",
                f"{local.gcp:.4f}",
                f"{ARX_LOCAL[k]:.4f}",
            ]
        )
        for width in WIDTHS:
            for sensitive in (None, SENSITIVE):
                wheres = _questions(table, width, sensitive)
                errors = {
                    name: float(np.mean([query_error(truth, one, wheres).median for one in every]))
                    for name, every in sources.items()
                }
                asked = f"{width}{' + S' if sensitive else ''}"
                rows.append([f"k = {k}", asked, *(f"{one:.4f}" for one in errors.values())])
                rivals = [one for name, one in errors.items() if not name.startswith(OURS)]
                for name, found in ratios.items():
                    found += [errors[name] / one for one in rivals]
                print(*rows[-1], flush=True)
    return [
        f"{table.num_rows:,} rows of adult_arx, quasi-identifiers {', '.join(KNOWN)}; S is a"
        f" condition on {SENSITIVE}. Medians of relative errors of {QUESTIONS} random counts (HET's"
        f" ranges, Θ = {SELECTIVITY}), without true counts of 0. Ours is `freeform` with"
        f" {PASSES} passes of refinement, the mean of {len(SECRETS)} secrets, read as by default"
        " (fitted) and uniformly. The others are read in the usual way: numbers as the middles of"
        " their ranges, or spread evenly; categories spread evenly over what a label or set holds.",
        markdown_table(["guarantee", "λ", *sources], rows),
        "\n".join(_verdict(name, found) for name, found in ratios.items()),
        "ARX is not a package that can be installed here: its releases are those of"
        " `benchmarks/_full_domain.py`, an exhaustive search over the same hierarchies with the"
        " same rules. Beside ARX 3.9 itself, which was measured beforehand on this table (its loss"
        " is measured over values that occur, that of the search over hierarchies):",
        markdown_table(
            [
                "k",
                "GCP, global",
                "suppressed, %",
                "of ARX 3.9",
                "GCP, local",
                "local, of ARX 3.9",
            ],
            losses,
        ),
    ]


def _verdict(name: str, ratios: Sequence[float]) -> str:
    below = sum(one < 1 for one in ratios)
    return (
        f"- {name} below every other release, however it is read:"
        f" **{'yes' if below == len(ratios) else 'no'}** ({below} of {len(ratios)} comparisons;"
        f" {min(ratios):.2f} to {max(ratios):.2f} times their errors)"
    )


def _questions(
    table: pa.Table, width: int, sensitive: str | None
) -> Sequence[Mapping[str, object]]:
    options = {"conditions": width, "selectivity": SELECTIVITY, "number": QUESTIONS, "seed": width}
    return random_counts(table, KNOWN, sensitive, **options)  # type: ignore[arg-type]


def _schema() -> Schema:
    return Schema.of(quasi_identifying=KNOWN, sensitive=[SENSITIVE])


def _ours(table: pa.Table, k: int, secret: int) -> Release:
    return mottle.anonymize(
        table,
        _schema(),
        KAnonymity(k),
        method="freeform",
        options={"passes": PASSES},
        seed=secret,
    )


def _labelled(cells: pa.Table, original: pa.Table) -> ReleaseData:
    """A release whose cells are labels of hierarchies, as ARX writes it."""
    schema = Schema.of(
        quasi_identifying=KNOWN,
        sensitive=[SENSITIVE],
        hierarchies={
            name: Hierarchy.read(HIERARCHIES / f"adult_hierarchy_{name}.csv")
            for name in KNOWN
            if name != NUMBER
        },
    )
    return _read(cells, original, schema, Tool.ARX, {NUMBER: CellNotation.INTERVAL})


def _grouped(groups: Sequence[int], original: pa.Table) -> ReleaseData:
    """A release in the notation of anonypy: ranges ``20-29`` and sets ``a,b`` of groups."""
    group_of = np.array(groups)
    shown = {SENSITIVE: original.column(SENSITIVE)}
    for name in KNOWN:
        values = original.column(name).to_pylist()
        held: dict[int, set[object]] = {}
        for group, value in zip(groups, values, strict=True):
            held.setdefault(group, set()).add(value)
        text = {
            group: f"{min(own)}-{max(own)}" if name == NUMBER else ",".join(sorted(map(str, own)))  # type: ignore[type-var]
            for group, own in held.items()
        }
        shown[name] = pa.chunked_array([pa.array([text[group] for group in group_of.tolist()])])
    notation = {
        name: CellNotation.INTERVAL if name == NUMBER else CellNotation.SET for name in KNOWN
    }
    return _read(pa.table(shown), original, _schema(), Tool.ANONYPY, notation)


def _read(
    cells: pa.Table,
    original: pa.Table,
    schema: Schema,
    tool: Tool,
    notation: Mapping[str, CellNotation],
) -> ReleaseData:
    described = schema.covering(original.column_names)
    columns = tuple(
        column.model_copy(update={"cells": notation.get(column.name)})
        for column in described.columns
    )
    complete = described.model_copy(
        update={"columns": columns, "release": ExternalRelease(tool=tool)}
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "release.parquet")
        pq.write_table(cells, file)
        return read_external(file, original, complete)


def _with_midpoints(release: ReleaseData) -> ReleaseData:
    """The same with the middle of its range for every number."""
    low, high, _ = release.table.column(NUMBER).combine_chunks().flatten()
    middle = pa.chunked_array([pc.divide(pc.add(pc.cast(low, pa.float64()), high), 2.0)])
    place = release.table.column_names.index(NUMBER)
    columns = [
        PublishedColumn.of_unchanged(column.name, column.role, middle)
        if column.name == NUMBER
        else column
        for column in release.columns
    ]
    table = release.table.set_column(place, columns[place].field(), middle)
    return ReleaseData(table, tuple(columns), external=release.external)
