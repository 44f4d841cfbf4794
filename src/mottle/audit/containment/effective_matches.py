"""NH10 §4: the matches left to an adversary who knows everybody, and whether k can still hold.

The adversary has the quasi-identifiers of all originals and joins them with the release. A *match*
⟨i, j⟩ is an original i inside a published record j; an *assignment* gives every original a
published record of its own along matches. Matches that lie in no assignment are *ineffective*: the
adversary strikes them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching, maximum_flow

from mottle.audit.containment.assignment_graph import boolean_matrix, check_rows
from mottle.audit.containment.coded_columns import code_columns
from mottle.audit.containment.index import build_index
from mottle.audit.containment.pruning import disjoint_assignments, prune
from mottle.errors import DataError, UsageError
from mottle.io.read_table import as_table
from mottle.release.data import ReleaseData
from mottle.typing import Int64Array

if TYPE_CHECKING:
    from mottle.audit.containment.assignment_graph import MatchMatrix


@dataclass(frozen=True)
class Verdict:
    """The result of a verification.

    Attributes
    ----------
    k : int
        The k that was verified.
    matches : int
        The fewest matches of any record, original or published, by joining the original table with
        the release.
    effective_matches : int
        The fewest matches of any record after matches that lie in no assignment are struck out.
    match_different_assignments : int
        How many assignments without a common match exist.
    """

    k: int
    matches: int
    effective_matches: int
    match_different_assignments: int

    @property
    def holds(self) -> bool:
        """Whether Definition 2 can hold for k.

        k match-different assignments are enough (draw one of them), and without them no way of
        drawing keeps every match at probability 1/k: k times the probabilities of all matches would
        be a fractional k-regular subgraph, and where there is one, there is an integral one.
        """
        return self.effective_matches >= self.k and self.match_different_assignments >= self.k


def verify(original: object, release: ReleaseData, k: int) -> Verdict:
    """Verify a release against the table it was made from (NH10 §4).

    Equal originals and equal published records are grouped, so that large tables can be verified
    as well.

    Parameters
    ----------
    original : path-like, pyarrow.Table or Arrow stream
        The table the release was made from, with all its rows.
    release : Release
        The release.
    k : int
        The number of matches that everybody must have.

    Returns
    -------
    Verdict
        The fewest matches, before and after striking out, and the match-different assignments.

    Raises
    ------
    DataError
        The release cannot come from the original.
    UsageError
        The release has no quasi-identifiers, or lacks the order or hierarchy of a column.

    Examples
    --------
    >>> import mottle
    >>> people = mottle.datasets.population(100, seed=1).select(["age", "sex"])
    >>> schema = mottle.Schema.of(quasi_identifying=["age", "sex"])
    >>> release = mottle.anonymize(people, schema, mottle.KAnonymity(4), seed=1)
    >>> verify(people, release, 4).holds
    True
    """
    table = as_table(original)
    columns = code_columns(table, release)
    check_rows(table.num_rows, release.table.num_rows)
    index = build_index(columns)
    pruned = prune(index, None)
    if pruned is None:
        raise DataError(
            "Not every original finds a published record of its own: the release does not come from"
            " this table.",
            "Give the table the release was made from.",
        )
    of_boxes = index.originals_in(index.pieces)
    return Verdict(
        k=k,
        matches=int(min(index.matches_of_points().min(), of_boxes.min())),
        effective_matches=int(min(pruned.of_points.min(), pruned.of_boxes.min())),
        match_different_assignments=disjoint_assignments(index, pruned, table.num_rows),
    )


def effective_matches(
    graph: MatchMatrix, assignment: NDArray[np.integer] | None = None
) -> MatchMatrix:
    """Return the matches that lie in at least one assignment (NH10 Theorems 1 and 2).

    Number the records so that ``assignment`` (original i has published record assignment[i]) is
    the identity and read match ⟨i, j⟩ as an arrow from i to j (Definition 6). It is effective iff
    i can be reached from j, that is, iff both are in one strongly connected component.

    Parameters
    ----------
    graph : scipy.sparse.csr_array of bool
        All matches, as `assignment_graph` returns them.
    assignment : array of int, optional
        The published record of every original; any assignment will do. Without it, a maximum
        matching is searched for. Cost O(matches) when it is given, O(matches · √n) otherwise.

    Returns
    -------
    scipy.sparse.csr_array of bool
        The effective matches.

    Raises
    ------
    DataError
        No assignment exists.
    UsageError
        The graph is not square, or ``assignment`` is not one-to-one along matches.

    Examples
    --------
    >>> table4 = csr_array(np.array([  # originals 1..5, published 1-5, 2-3, 3-4, 3-4, 1-5
    ...     [1, 0, 0, 0, 1], [1, 1, 0, 0, 1], [1, 1, 1, 1, 1], [1, 0, 1, 1, 1], [1, 0, 0, 0, 1],
    ... ], bool))
    >>> effective_matches(table4).toarray().astype(int)
    array([[1, 0, 0, 0, 1],
           [0, 1, 0, 0, 0],
           [0, 0, 1, 1, 0],
           [0, 0, 1, 1, 0],
           [1, 0, 0, 0, 1]])
    """
    matches = _check_square(graph).tocoo()
    originals, published = matches.coords
    owner_of = _owners(graph, assignment)
    arrows = boolean_matrix(originals, owner_of[published], graph.shape[0]).astype(np.int8)
    _, component = connected_components(arrows, directed=True, connection="strong")
    effective = component[originals] == component[owner_of[published]]
    return boolean_matrix(originals[effective], published[effective], graph.shape[0])


def match_different_assignments(graph: MatchMatrix) -> int:
    """Return the largest number of assignments without a common match (NH10 Definition 7).

    By König's theorem, k of them exist iff the graph has a k-regular spanning subgraph, that is,
    iff k units can flow from every original to every published record, one along each match. The
    largest such k is found by bisection: O(log k) maximum flows.

    Parameters
    ----------
    graph : scipy.sparse.csr_array of bool
        All matches, as `assignment_graph` returns them.

    Returns
    -------
    int

    Raises
    ------
    UsageError
        The graph is not square.

    Examples
    --------
    >>> ring = csr_array(np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1]], bool))
    >>> match_different_assignments(ring)
    2
    """
    least, most = 0, _least_degree(_check_square(graph))
    while least < most:
        middle = (least + most + 1) // 2
        if _has_regular_subgraph(graph, middle):
            least = middle
        else:
            most = middle - 1
    return least


# ------------------------------------------------------------------------------- graphs and flows


def _check_square(graph: MatchMatrix) -> MatchMatrix:
    if graph.shape[0] != graph.shape[1]:
        raise UsageError(f"An assignment graph is square; this one is {graph.shape}.")
    return graph


def _least_degree(graph: MatchMatrix) -> int:
    """The fewest matches of any record, original or published."""
    originals, published = graph.tocoo().coords
    size = graph.shape[0]
    of_original = np.bincount(originals, minlength=size)
    of_published = np.bincount(published, minlength=size)
    return int(min(of_original.min(), of_published.min()))


def _owners(graph: MatchMatrix, assignment: NDArray[np.integer] | None) -> Int64Array:
    """The original of every published record under ``assignment``, or under some assignment."""
    size = graph.shape[0]
    if assignment is None:
        assignment = maximum_bipartite_matching(graph, perm_type="column")
        if np.any(assignment < 0):
            raise DataError(
                f"{np.count_nonzero(assignment < 0)} originals find no published record of their"
                " own: the release does not come from this table.",
                "Give the table the release was made from.",
            )
    elif not np.array_equal(np.sort(assignment), np.arange(size)) or not np.all(
        graph[np.arange(size), assignment]
    ):
        raise UsageError("The given assignment is not one-to-one along matches.")
    owner_of = np.empty(size, np.int64)
    owner_of[assignment] = np.arange(size)
    return owner_of


def _has_regular_subgraph(graph: MatchMatrix, degree: int) -> bool:
    """Whether ``degree`` units flow through every record, at most one along each match."""
    originals, published = graph.tocoo().coords
    size = graph.shape[0]
    source, sink, records = 2 * size, 2 * size + 1, np.arange(size)
    tails = np.concatenate([originals, np.full(size, source), size + records])
    heads = np.concatenate([size + published, records, np.full(size, sink)])
    capacities = np.ones(len(tails), np.int32)
    capacities[len(originals) :] = degree
    network = csr_array((capacities, (tails, heads)), shape=(2 * size + 2, 2 * size + 2))
    return bool(maximum_flow(network, source, sink).flow_value == degree * size)
