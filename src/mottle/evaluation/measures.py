"""All measures of one release against its original: of the literature, of queries, of an order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import UsageError
from mottle.evaluation.release_order import Ordering, compare, tuple_is_better
from mottle.evaluation.workloads import (
    as_queries,
    cube_divergence,
    prefix_counts,
    query_error,
    random_counts,
)
from mottle.graph.model import Graph
from mottle.loss.graph_measures import (
    average_class_size,
    classification,
    discernibility,
    entropy_of_columns,
)
from mottle.release.data import ReleaseData
from mottle.schema.model import Role
from mottle.typing import Int32Array
from mottle.utils.steps import Announced, Step

_STEPS = {
    "graph": "Measuring blocks",
    "queries": "Preparing questions",
    "random": "Asking random counts",
    "prefix": "Asking prefix counts",
    "cube": "Computing the cube",
    "order": "Comparing releases",
}
QUERIES = 1000  # counts that a release answers, unless it is asked for another number


@dataclass(frozen=True)
class Evaluation:
    """The measures of a release; None where one does not apply.

    Attributes
    ----------
    gcp : float or None
        GCP, as the certificate states it.
    discernibility, average_class_size, entropy, classification : float or None
        DM, C_avg, entropy loss and CM, see docs/measures.md; they need the owner's links.
    query_error : float or None
        Median relative error of random counts (HET §5.2).
    prefix_error : float or None
        The same of prefix counts (HET Figure 10c), if a column for them was named.
    divergence : float or None
        Kullback-Leibler divergence of the cube at a level (FAST07 §6.3), if one was named.
    ordering : Ordering or None
        How the release compares with another by NH10's Definition 3, if one was given.
    better, worse : float or None
        The shares of tuples that are better and worse than the other release's.
    """

    gcp: float | None
    discernibility: float | None = None
    average_class_size: float | None = None
    entropy: float | None = None
    classification: float | None = None
    query_error: float | None = None
    prefix_error: float | None = None
    divergence: float | None = None
    ordering: Ordering | None = None
    better: float | None = None
    worse: float | None = None


def evaluate(
    original: pa.Table,
    release: ReleaseData,
    *,
    label: str | None = None,
    other: ReleaseData | None = None,
    conditions: int | None = None,
    selectivity: float = 0.1,
    number: int = QUERIES,
    prefix: str | None = None,
    singles: Sequence[str] = (),
    level: int | None = None,
    fit: str = "fitted",
    seed: int = 0,
    on_progress: Callable[[Step], None] | None = None,
) -> Evaluation:
    """Measure what a release is worth to analysts, by the measures of the papers.

    Parameters
    ----------
    original : pyarrow.Table
        What the release was made from, in the same order of rows.
    release : ReleaseData
        The release, with links for the measures that need them.
    label : str, optional
        The column whose classes CM counts.
    other : ReleaseData, optional
        Another release of the same table, with links, to compare with by Definition 3.
    conditions : int, optional
        Quasi-identifiers in each random count; by default three, or as many as there are.
    selectivity : float
        The share of the table's domain that a random count covers, Θ.
    number : int
        How many counts are asked.
    prefix : str, optional
        The column of prefix counts that is restricted to values up to a random one.
    singles : sequence of str
        The columns of prefix counts that are restricted to one value.
    level : int, optional
        The level of the cube over all quasi-identifiers and the first sensitive column.
    fit : {"fitted", "uniform"}
        How likely the values inside a cell are.
    seed : int
        Draws the counts.
    on_progress : callable, optional
        Called with every `Step`.

    Returns
    -------
    Evaluation
        The measures.

    Raises
    ------
    UsageError
        A column does not exist, or a measure needs links or a sensitive column that are not there.

    Examples
    --------
    >>> import mottle
    >>> people = mottle.datasets.population(300, seed=1).select(["age", "sex", "diagnosis"])
    >>> schema = mottle.Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    >>> release = mottle.anonymize(people, schema, mottle.KAnonymity(5), method="hilbert", seed=1)
    >>> found = evaluate(people, release, label="diagnosis", level=1, number=50)
    >>> found.average_class_size >= 1, 0 < found.entropy < 1, found.divergence > 0
    (True, True, True)
    """
    if release.num_rows != original.num_rows:
        raise UsageError(
            f"The original has {original.num_rows} rows and the release {release.num_rows}.",
            "Give the table that the release was made from.",
        )
    generalized = [column.name for column in release.columns if column.form is not None]
    measures = Evaluation(gcp=release.gcp)
    wanted = {
        "graph": release.links is not None,
        "queries": True,
        "random": bool(generalized),
        "prefix": prefix is not None,
        "cube": level is not None,
        "order": other is not None,
    }
    steps = Announced(on_progress, [name for name, asked in wanted.items() if asked])
    if release.links is not None:
        steps.begin("graph", _STEPS["graph"])
        measures = graph_measures(original, release, generalized, label=label)
    elif label is not None:
        raise UsageError("CM needs the owner's links.", "Give --private with the link file.")
    steps.begin("queries", _STEPS["queries"])
    queried = as_queries(original), as_queries(release, fit)
    found: dict[str, float | Ordering | None] = {}
    if generalized:
        steps.begin("random", _STEPS["random"])
        counts = random_counts(
            original,
            generalized,
            None,
            conditions=conditions or min(3, len(generalized)),
            selectivity=selectivity,
            number=number,
            seed=seed,
        )
        found["query_error"] = query_error(*queried, counts, reached=steps.reached).median
    if prefix is not None:
        steps.begin("prefix", _STEPS["prefix"])
        asked = prefix_counts(original, prefix, singles, number=number, seed=seed)
        found["prefix_error"] = query_error(*queried, asked, reached=steps.reached).median
    if level is not None:
        steps.begin("cube", _STEPS["cube"])
        sensitive = [column.name for column in release.columns if column.role is Role.SENSITIVE]
        if not sensitive:
            raise UsageError("The cube needs a sensitive column.", "Leave its level out.")
        found["divergence"] = cube_divergence(
            *queried, generalized, sensitive[0], level, reached=steps.reached
        )
    if other is not None:
        steps.begin("order", _STEPS["order"])
        found["ordering"] = compare(release, other)
        found["better"] = float(tuple_is_better(release, other).mean())
        found["worse"] = float(tuple_is_better(other, release).mean())
    return Evaluation(**{**vars(measures), **found})


def graph_measures(
    original: pa.Table, release: ReleaseData, columns: Sequence[str], *, label: str | None = None
) -> Evaluation:
    """Measure DM, C_avg, entropy loss and CM of a release that has links.

    C_avg is relative to the k that is promised, or to the least number of matches.

    Parameters
    ----------
    original : pyarrow.Table
        What the release was made from.
    release : ReleaseData
        The release, with links and certificate.
    columns : sequence of str
        The generalized columns, whose entropy is measured.
    label : str, optional
        The column whose classes CM counts.

    Returns
    -------
    Evaluation
        These measures, and GCP.
    """
    assert release.links is not None
    graph: Graph = release.links.graph
    certificate = release.certified
    k, weights = int(graph.degrees.min()), {}
    if certificate is not None:
        promised = [part.to_dict().get("k") for part in certificate.guarantee.each]
        k = next((each for each in promised if each), k)
        weights = {each.name: each.importance for each in certificate.columns}
    return Evaluation(
        gcp=release.gcp,
        discernibility=discernibility(graph),
        average_class_size=average_class_size(graph, k),
        entropy=entropy_of_columns(
            graph,
            [_codes(original, name) for name in columns],
            [weights.get(name) or 1.0 for name in columns],
        ),
        classification=None if label is None else classification(graph, _column(original, label)),
    )


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        raise UsageError(f"The table has no column '{name}'.", "Check its spelling.")
    return table.column(name)


def _codes(table: pa.Table, name: str) -> Int32Array:
    """The values of a column as numbers from 0 on."""
    column = _column(table, name)
    if pa.types.is_nested(column.type):
        texts = pa.array([str(cell) for cell in column.to_pylist()])
        return _codes(pa.table({name: texts}), name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    encoded = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
    return np.asarray(encoded.indices.to_numpy(), np.int32)
