"""NH10 Definition 3: when one release is better than another, whatever the measure.

A published tuple is better than another when each of its cells is contained in the other's and at
least one is smaller. A release is better when each of its tuples is better or equal and at least
one is better; the tuples compared are those generalized around the same original.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import pyarrow as pa

from mottle.errors import UsageError
from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData
from mottle.typing import BoolArray


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
        assert column.form is not None
        within &= column.form.inside(cells, others, column)
        around &= column.form.inside(others, cells, column)
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
        if _tails(column) != _tails(other):
            raise UsageError(
                f"Column '{name}' has other open ends in the other release.",
                "Make both with the same top, bottom and breaks.",
            )
    return list(columns.values())


def _tails(column: PublishedColumn) -> tuple[object, object]:
    """The ends that stand for everything beyond them."""
    return (None, None) if column.rule is None else column.rule.tails(column.value_type, "")


def _row_around_original(release: ReleaseData) -> pa.Array:
    """The release row that was generalized around each original."""
    if release.links is None:
        raise UsageError(
            "A release without links does not say which original a row was generalized around.",
            "Compare releases as anonymize() returns them, not as read from files.",
        )
    original_of_row = release.links.graph.members[release.links.position_of_row]
    return pa.array(np.argsort(original_of_row))
