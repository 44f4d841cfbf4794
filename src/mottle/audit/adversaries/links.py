"""A check of the owner's evidence: whether the release comes from this table along these links.

This is not an adversary: everything that is judged with the links depends on it. It checks the
invariants of a run again, from the files alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from mottle.audit.base import register
from mottle.audit.containment.coded_columns import (
    MISSING,
    CodedColumn,
    comparable_values,
    count_outside,
    quasi_identifiers,
)
from mottle.audit.containment.possible_worlds import mismatched_cells, read_worlds_column
from mottle.audit.links.edges import UNKNOWN, Edges
from mottle.audit.report import Outcome
from mottle.audit.sensitive.published_values import common_codes, sensitive_values_by_record
from mottle.audit.view import Evidence, View
from mottle.encoding.domain import Form
from mottle.hierarchy.tree import Hierarchy
from mottle.release.column import PublishedColumn
from mottle.typing import BoolArray, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import kernel


@register(
    "links",
    title="not an adversary: checks that the release comes from this table along these links",
    assumes="has the original, the release and the private link file, as its owner does",
    seconds=3,
)
def links(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Check that published values are those of the table, and check every link."""
    strange = _strange_values(view, evidence)
    identifying = _identifying_columns(view)
    yield Outcome(
        "published values that the table does not have, or not so often",
        strange + identifying,
        0,
        strange + identifying == 0,
        {"strange_values": strange, "identifying_columns": identifying},
    )
    if evidence.edges is None:
        return
    found = _broken_links(view, evidence.edges, evidence.k)
    found["values_of_others"] = _values_of_others(view, evidence)
    broken = sum(found.values())
    facts: dict[str, object] = dict(found)
    if evidence.edges.kept is not None:
        facts["records_with_edges"] = int(np.count_nonzero(evidence.edges.kept))
    yield Outcome("links and cells that do not fit each other", broken, 0, broken == 0, facts)


def _strange_values(view: View, evidence: Evidence) -> int:
    """Count cells of unchanged columns that the original lacks, or has less often.

    Cells that another tool has suppressed carry no value, so they are not counted.
    """
    foreign = view.release.external is not None
    strange = 0
    for name, values in _unchanged_columns(view).items():
        own, published = common_codes(evidence.original.column(name), values)
        if foreign:
            published = published[values.is_valid().to_numpy()]
        size = max(int(own.max(initial=0)), int(published.max(initial=0))) + 1
        more = np.bincount(published, minlength=size) - np.bincount(own, minlength=size)
        strange += int(np.maximum(more, 0).sum())
    return strange


def _identifying_columns(view: View) -> int:
    """Count columns that the certificate calls identifying but the release still contains."""
    certified = view.release.certified
    described = () if certified is None else certified.columns
    removed = {column.name for column in described if column.role.removed}
    return len(removed & {column.name for column in view.release.columns})


def _unchanged_columns(view: View) -> dict[str, pa.ChunkedArray]:
    """The columns that are published unchanged with their true record, by name."""
    sensitive, groups = sensitive_values_by_record(view.release)
    names = [
        column.name
        for column in view.release.columns
        if column.form is None and not column.role.keyed
    ]
    if groups is not None:
        assert view.release.sensitive is not None
        names.remove(view.release.sensitive.column_names[0])
        return {name: view.release.table.column(name) for name in names} | {
            name: sensitive.column(name) for name in sensitive.column_names
        }
    return {name: view.release.table.column(name) for name in names}


def _values_of_others(view: View, evidence: Evidence) -> int:
    """Count records whose value in any unchanged column is not that of their true original."""
    assert evidence.edges is not None
    truth = evidence.edges.truth
    known = np.flatnonzero(truth != UNKNOWN)
    wrong = np.zeros(len(known), np.bool_)
    sensitive, groups = sensitive_values_by_record(view.release)
    for name, values in _unchanged_columns(view).items():
        own, published = common_codes(evidence.original.column(name), values)
        expected = own[truth[known]]
        if groups is None or name not in sensitive.column_names:
            wrong |= expected != published[known]
        else:  # known by group only: compare how often each group has each value
            size = int(max(own.max(), published.max())) + 1
            keys = groups[known] * size
            length = int(keys.max(initial=0)) + size
            counts = [
                np.bincount(keys + numbers, minlength=length)
                for numbers in (expected, published[known])
            ]
            wrong |= (counts[0] != counts[1])[keys + published[known]]
    return int(np.count_nonzero(wrong))


# ------------------------------------------------------------------------------------------ links


def _broken_links(view: View, edges: Edges, k: int | None) -> dict[str, int]:
    """Count the records, originals and edges that break each rule of a valid graph."""
    originals, published = edges.originals, edges.published
    people = view.people.num_rows
    degrees = edges.degrees
    kept = np.ones(edges.records, np.bool_) if edges.kept is None else edges.kept
    matches = np.bincount(originals, minlength=people)
    truths = np.bincount(edges.truth[edges.truth != UNKNOWN], minlength=people)
    found = {
        "records_without_one_true_link": int(np.count_nonzero(edges.truth == UNKNOWN)),
        "originals_without_one_true_link": int(np.count_nonzero(truths != 1)),
        "repeated_edges": int(_repeated_edges(edges.offsets, originals, people)),
        "irregular_edges": int(np.count_nonzero(degrees[published] != matches[originals])),
        "records_below_degree": int(np.count_nonzero((degrees < (k or 1)) & kept)),
    }
    if view.release.sensitive is not None:  # exact cells hold their own record only
        known = np.flatnonzero(edges.truth != UNKNOWN).astype(np.int32)
        found["edges_outside_cells"] = count_outside(view.columns, edges.truth[known], known)
        return found
    found["edges_outside_cells"] = count_outside(view.columns, originals, published)
    found["cells_unlike_their_preimages"] = sum(
        _mismatched_worlds(view, edges, kept, column)
        if column.form is Form.WORLDS
        else _inexact_cells(coded, edges, kept, column.form, column.hierarchy)
        for coded, column in zip(view.columns, quasi_identifiers(view.release), strict=True)
    )
    return found


def _mismatched_worlds(view: View, edges: Edges, kept: BoolArray, column: PublishedColumn) -> int:
    """Count cells that differ from what their preimages' votes make them."""
    values = comparable_values(view.people.column(column.name).combine_chunks(), column)
    cells = view.release.table.column(column.name).combine_chunks()
    worlds = read_worlds_column(values, cells, column.hierarchy)
    return int(np.count_nonzero(mismatched_cells(worlds, edges.offsets, edges.originals) & kept))


def _inexact_cells(
    column: CodedColumn,
    edges: Edges,
    kept: BoolArray,
    form: Form | None,
    hierarchy: Hierarchy | None,
) -> int:
    """Count cells that are not exactly the range, set or node of their preimages."""
    low, high = np.zeros(edges.records, np.int32), np.zeros(edges.records, np.int32)
    missing = np.zeros(edges.records, np.bool_)
    unused = np.zeros(edges.records, np.bool_)
    parallel.over_rows(
        lambda first, last: _cover(
            column, edges.offsets, edges.originals, low, high, missing, unused, first, last
        ),
        edges.records,
    )
    if form is Form.SET:
        return int(np.count_nonzero(unused & kept))
    present = high != MISSING
    if form is Form.NODE:
        assert hierarchy is not None
        nodes = hierarchy.common_ancestors(np.maximum(low - 1, 0), np.maximum(high - 1, 0))
        nodes = np.where(missing & present, hierarchy.root, nodes)
        first, last = hierarchy.extents
        low = np.where(present, first[nodes] + 1, MISSING).astype(np.int32)
        high = np.where(present, last[nodes] + 1, MISSING).astype(np.int32)
        missing = missing | (present & (nodes == hierarchy.root))
    filled = np.diff(column.offsets) > 0
    begin, end = column.offsets[:-1][filled], column.offsets[1:][filled] - 1
    same = np.zeros(edges.records, np.bool_)
    same[filled] = (
        (column.lowest[end] == low[filled])
        & (column.highest[end] == high[filled])
        & ((column.lowest[begin] == MISSING) == missing[filled])
    )
    return int(np.count_nonzero(~same & kept))


@kernel
def _repeated_edges(offsets: Int64Array, originals: Int32Array, people: int) -> int:
    """Count edges that repeat an earlier edge of their record."""
    seen_by = np.full(people, -1, np.int64)
    repeated = 0
    for record in range(len(offsets) - 1):
        for edge in range(offsets[record], offsets[record + 1]):
            repeated += seen_by[originals[edge]] == record
            seen_by[originals[edge]] = record
    return repeated


@kernel
def _cover(
    column: CodedColumn,
    offsets: Int64Array,
    originals: Int32Array,
    low: Int32Array,
    high: Int32Array,
    missing: BoolArray,
    unused: BoolArray,
    first: int,
    last: int,
) -> None:
    """For each record: smallest and largest code of its preimages, and whether one is missing.

    ``unused`` says whether the cell has an interval that is none of its preimages' codes.
    """
    for record in range(first, last):
        begin, end = column.offsets[record], column.offsets[record + 1]
        used = np.zeros(end - begin, np.bool_)
        for edge in range(offsets[record], offsets[record + 1]):
            code = column.codes[originals[edge]]
            if code == MISSING:
                missing[record] = True
            elif high[record] == MISSING:
                low[record] = high[record] = code
            else:
                low[record] = min(low[record], code)
                high[record] = max(high[record], code)
            for interval in range(begin, end):
                if column.lowest[interval] == code == column.highest[interval]:
                    used[interval - begin] = True
        unused[record] = not np.all(used)
