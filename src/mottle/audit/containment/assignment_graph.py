"""Matches by containment: which originals lie inside which published records (NH10 §4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mottle.audit.containment.coded_columns import code_columns, offsets_of
from mottle.audit.containment.compact import concatenate_ranges
from mottle.audit.containment.index import build_index
from mottle.errors import DataError
from mottle.io.read_table import as_table
from mottle.release.data import ReleaseData
from mottle.typing import Int64Array

if TYPE_CHECKING:
    MatchMatrix = csr_array[np.bool_, tuple[int, int]]


def assignment_graph(original: object, release: ReleaseData) -> MatchMatrix:
    """Build the matrix of all matches between originals and published records.

    Memory is O(matches + n), which is fine up to some ten million matches; the index of
    `mottle.audit.containment.index` counts more of them without listing them.

    Parameters
    ----------
    original : path-like, pyarrow.Table or Arrow stream
        The table the release was made from, with all its rows.
    release : Release
        The release.

    Returns
    -------
    scipy.sparse.csr_array of bool
        Entry [i, j] is true when original i lies inside published record j. Originals are numbered
        as in ``original``, published records as in ``release.table``.

    Raises
    ------
    DataError
        The release was not made from ``original``.
    UsageError
        The release has no quasi-identifiers, or lacks the order or hierarchy of a column.

    Examples
    --------
    >>> import mottle
    >>> import pyarrow as pa
    >>> people = pa.table({"age": [30, 31, 50, 55]})
    >>> schema = mottle.Schema.of(quasi_identifying=["age"])
    >>> release = mottle.anonymize(people, schema, mottle.KAnonymity(2), seed=1)
    >>> assignment_graph(people, release).sum(axis=0).tolist()
    [2, 2, 2, 2]
    """
    table = as_table(original)
    columns = code_columns(table, release)
    check_rows(table.num_rows, release.table.num_rows)
    index = build_index(columns)
    points, boxes = index.pairs()
    at_point, in_box = index.weights[points], index.multiplicities[boxes]
    sizes = at_point * in_box
    match = concatenate_ranges(np.zeros(len(sizes), np.int64), sizes)  # its number in the pair
    people = offsets_of(index.weights)[points]
    records = offsets_of(index.multiplicities)[boxes]
    by_point, by_box = np.argsort(index.place_of), np.argsort(index.box_of)
    width = np.repeat(in_box, sizes)
    return boolean_matrix(
        by_point[np.repeat(people, sizes) + match // width],
        by_box[np.repeat(records, sizes) + match % width],
        table.num_rows,
    )


def check_rows(originals: int, records: int) -> None:
    """Refuse a release whose number of rows differs from the table's."""
    if originals != records:
        raise DataError(
            f"The original has {originals} rows and the release {records}.",
            "Give the table the release was made from, with all its rows.",
        )


def boolean_matrix(
    rows: NDArray[np.integer] | Int64Array, columns: NDArray[np.integer] | Int64Array, size: int
) -> MatchMatrix:
    """The graph with the given distinct edges."""
    return csr_array((np.ones(len(rows), np.bool_), (rows, columns)), shape=(size, size))
