"""NH10 Definition 3: when one release is better than another, whatever the measure.

A published tuple is better than another when each of its cells is contained in the other's and at
least one is smaller. A release is better when each of its tuples is better or equal and at least
one is better; the tuples compared are those generalized around the same original.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Form
from mottle.errors import UsageError
from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData
from mottle.schema.model import Kind
from mottle.typing import BoolArray, Int64Array


class Ordering(StrEnum):
    """How the first of two releases compares with the second."""

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"
    INCOMPARABLE = "incomparable"


def compare(first: ReleaseData, second: ReleaseData) -> Ordering:
    """Compare two releases of one table by the utility ordering.

    Both need their links, to know which original each tuple was generalized around. Releases are
    incomparable when each is smaller somewhere, which is usual between unrelated methods.
    Cost O(N log N) for N cells and members of sets.

    Parameters
    ----------
    first, second : Release
        Releases of the same table with the same quasi-identifiers and representation.

    Returns
    -------
    Ordering
        How ``first`` compares with ``second``.

    Raises
    ------
    UsageError
        A release has no links, or the releases differ in rows, columns or representation.

    Examples
    --------
    >>> import mottle
    >>> people = mottle.datasets.population(300, seed=1).select(["age", "sex"])
    >>> schema = mottle.Schema.of(quasi_identifying=["age", "sex"])
    >>> k = mottle.KAnonymity(5)
    >>> ring = mottle.anonymize(people, schema, k, method="nh", seed=1)
    >>> groups = mottle.anonymize(people, schema, k, method="hp", seed=1)
    >>> compare(ring, groups), compare(groups, ring), compare(ring, ring)
    (<Ordering.BETTER: 'better'>, <Ordering.WORSE: 'worse'>, <Ordering.EQUAL: 'equal'>)
    """
    within, around = _containment(first, second)
    if within.all():
        return Ordering.EQUAL if around.all() else Ordering.BETTER
    return Ordering.WORSE if around.all() else Ordering.INCOMPARABLE


def tuple_is_better(first: ReleaseData, second: ReleaseData) -> BoolArray:
    """Return, for each row of the original table, whether the first release's tuple is better.

    Parameters
    ----------
    first, second : Release
        Releases of the same table with the same quasi-identifiers and representation.

    Returns
    -------
    numpy.ndarray of bool
        One entry for each original row.

    Raises
    ------
    UsageError
        As for `compare`.

    Examples
    --------
    >>> import mottle
    >>> ages = pa.table({"age": [20, 21, 22, 23, 24]})
    >>> schema = mottle.Schema.of(quasi_identifying=["age"])
    >>> ring = mottle.anonymize(ages, schema, mottle.KAnonymity(3), method="nh", seed=1)
    >>> group = mottle.anonymize(ages, schema, mottle.KAnonymity(3), method="hp", seed=1)
    >>> tuple_is_better(ring, group)  # the tuples around 23 and 24 reach back to 20
    array([ True,  True,  True, False, False])
    """
    within, around = _containment(first, second)
    return within & ~around


def _containment(first: ReleaseData, second: ReleaseData) -> tuple[BoolArray, BoolArray]:
    """For each original: whether first's tuple is within second's, and second's within first's."""
    columns = _common_columns(first, second)
    row_in_first, row_in_second = _row_around_original(first), _row_around_original(second)
    if len(row_in_first) != len(row_in_second):
        raise UsageError(
            f"The releases have {len(row_in_first)} and {len(row_in_second)} rows.",
            "Compare releases of one table.",
        )
    within, around = np.ones((2, len(row_in_first)), np.bool_)
    for column in columns:
        cells = first.table.column(column.name).combine_chunks().take(row_in_first)
        others = second.table.column(column.name).combine_chunks().take(row_in_second)
        within &= _inside(cells, others, column)
        around &= _inside(others, cells, column)
    return within, around


def _common_columns(first: ReleaseData, second: ReleaseData) -> list[PublishedColumn]:
    """The generalized columns, after checking that both releases have the same ones."""
    columns = {column.name: column for column in first.columns if column.form is not None}
    others = {column.name: column for column in second.columns if column.form is not None}
    if columns.keys() != others.keys():
        different = ", ".join(sorted(columns.keys() ^ others.keys()))
        raise UsageError(
            f"Only one of the releases generalizes: {different}.",
            "Compare releases with the same quasi-identifiers.",
        )
    for name, column in columns.items():
        other = others[name]
        if column.form is not other.form:
            raise UsageError(
                f"Column '{name}' is published as {column.form} in one release and as {other.form}"
                " in the other; these do not compare.",
                "Make both with the same representation.",
            )
        if (column.value_type, column.kind, column.order, column.hierarchy) != (
            other.value_type,
            other.kind,
            other.order,
            other.hierarchy,
        ):
            raise UsageError(
                f"Column '{name}' has another type, kind, order or hierarchy in the other release.",
                "Make both from the same table with the same schema.",
            )
    return list(columns.values())


def _row_around_original(release: ReleaseData) -> pa.Array:
    """The release row that was generalized around each original."""
    if release.links is None:
        raise UsageError(
            "A release without links does not say which original a row was generalized around.",
            "Compare releases as anonymize() returns them, not as read from files.",
        )
    original_of_row = release.links.graph.members[release.links.position_of_row]
    return pa.array(np.argsort(original_of_row))


def _inside(cells: pa.Array, others: pa.Array, column: PublishedColumn) -> BoolArray:
    """Whether each cell is contained in the other cell of its row."""
    match column.form:
        case Form.RANGE:
            return _ranges_inside(cells, others, column)
        case Form.SET:
            return _sets_inside(cells, others)
        case Form.WORLDS:
            return _worlds_inside(cells, others)
        case _:
            return _nodes_inside(cells, others, column)


def _ranges_inside(
    cells: pa.StructArray, others: pa.StructArray, column: PublishedColumn
) -> BoolArray:
    lowest, highest, missing = cells.flatten()
    other_lowest, other_highest, other_missing = others.flatten()
    only_missing = _truth(pc.is_null(lowest))
    if pa.types.is_null(lowest.type):
        values_inside = only_missing
    else:
        starts_inside = _at_most(other_lowest, lowest, column)
        values_inside = only_missing | (starts_inside & _at_most(highest, other_highest, column))
    return values_inside & (~_truth(missing) | _truth(other_missing))


def _at_most(smaller: pa.Array, larger: pa.Array, column: PublishedColumn) -> BoolArray:
    """Whether one value is at most the other; false where one of them is missing."""
    if column.kind is Kind.ORDERED:
        if column.order is None:
            raise UsageError(f"The release does not carry the order of column '{column.name}'.")
        order = pa.array(column.order, pa.string())
        smaller, larger = (
            pc.index_in(pc.cast(values, pa.string()), value_set=order)
            for values in (smaller, larger)
        )
    return _truth(pc.less_equal(smaller, larger))


def _sets_inside(cells: pa.ListArray, others: pa.ListArray) -> BoolArray:
    members, row_of = _members(cells)
    other_members, other_row_of = _members(others)
    together = pa.concat_arrays([members, other_members]).dictionary_encode("encode")
    codes = together.indices.to_numpy().astype(np.int64)
    keys = np.concatenate([row_of, other_row_of]) * len(together.dictionary) + codes
    found = np.isin(keys[: len(members)], keys[len(members) :])
    inside: BoolArray = np.bincount(row_of[~found], minlength=len(cells)) == 0
    return inside


def _members(cells: pa.ListArray) -> tuple[pa.Array, Int64Array]:
    """All members of all sets, and the row of each."""
    sizes = pc.fill_null(pc.list_value_length(cells), 0).to_numpy()
    return cells.flatten(), np.repeat(np.arange(len(cells)), sizes)


def _worlds_inside(cells: pa.StructArray, others: pa.StructArray) -> BoolArray:
    """Whether every possible set of a cell is a possible set of the other cell.

    Items in which the bases differ have to be uncertain in the other cell, and so have the cell's
    own uncertain items. The set furthest from the other base flips as many as it may of the items
    in which the bases agree.
    """
    parts = [*cells.flatten()[:2], *others.flatten()[:2]]
    items, row_of = zip(*(_members(part) for part in parts), strict=True)
    coded = pa.concat_arrays(items).dictionary_encode()
    codes = coded.indices.to_numpy().astype(np.int64)
    keys = np.concatenate(row_of) * max(len(coded.dictionary), 1) + codes
    base, uncertain, other_base, other_uncertain = np.split(
        keys, np.cumsum([len(part) for part in items])[:-1]
    )
    distance, other_distance = (
        pc.fill_null(part.flatten()[2], -1).to_numpy() for part in (cells, others)
    )
    rows, universe = len(distance), max(len(coded.dictionary), 1)
    differing = np.setxor1d(base, other_base)
    doubtful = uncertain[distance[uncertain // universe] > 0]
    strange = np.setdiff1d(np.union1d(differing, doubtful), other_uncertain)
    apart = np.bincount(differing // universe, minlength=rows)
    free = np.bincount(np.setdiff1d(uncertain, differing) // universe, minlength=rows)
    inside = apart + np.minimum(distance, free) <= other_distance
    inside[strange // universe] = False
    missing, other_missing = (_truth(part.flatten()[3]) for part in (cells, others))
    within: BoolArray = ((distance < 0) | inside) & (~missing | other_missing)
    return within


def _nodes_inside(cells: pa.Array, others: pa.Array, column: PublishedColumn) -> BoolArray:
    """A node is the interval of its leaves; the root holds the missing value as well."""
    hierarchy = column.hierarchy
    if hierarchy is None:
        raise UsageError(f"The release does not carry the hierarchy of column '{column.name}'.")
    labels = pa.array(hierarchy.labels, pa.string())
    nodes, other_nodes = (
        pc.fill_null(pc.index_in(values, value_set=labels), -1).to_numpy()
        for values in (cells, others)
    )
    first, last = hierarchy.extents
    leaves_inside = (other_nodes >= 0) & (first[other_nodes] <= first[nodes])
    leaves_inside &= last[nodes] <= last[other_nodes]
    missing, other_missing = (
        (every < 0) | (every == hierarchy.root) for every in (nodes, other_nodes)
    )
    inside: BoolArray = ((nodes < 0) | leaves_inside) & (~missing | other_missing)
    return inside


def _truth(flags: pa.Array) -> BoolArray:
    """Flags as NumPy; null is false."""
    return np.asarray(pc.fill_null(flags, False).to_numpy(zero_copy_only=False), np.bool_)
