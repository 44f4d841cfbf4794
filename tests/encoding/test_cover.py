"""Covers hold exactly what the preimages have, and the check notices anything less."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mottle import Hierarchy, PrivacyError, Schema
from mottle.encoding.cover import Cover, NodeCells, RangeCells, SetCells, check_covers, cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.graph.model import Graph
from mottle.schema.model import Representation

PLACES = Hierarchy.from_rows(
    [
        ("a", "ab", "abc", "*"),
        ("b", "ab", "abc", "*"),
        ("c", "c", "abc", "*"),  # repeated upwards
        ("d", "de", "de", "*"),
        ("e", "de", "de", "*"),
    ]
)
ORDER = ("low", "middle", "high", "never")
SCHEMA = Schema.of(
    quasi_identifying=["number", "word", "level", "place"],
    orders={"level": ORDER},
    hierarchies={"place": PLACES},
)


@st.composite
def graphs(draw, rows: int) -> Graph:
    """Random blocks, all rings or all written out; complete blocks among them."""
    sizes = []
    while sum(sizes) < rows:
        sizes.append(draw(st.integers(1, rows - sum(sizes))))
    degrees = [draw(st.one_of(st.just(size), st.integers(1, size))) for size in sizes]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    members = np.array(draw(st.permutations(range(rows))))
    if draw(st.booleans()):
        return Graph.rings(members, starts, np.array(degrees))
    edges: list[int] = []
    for size, degree in zip(sizes, degrees, strict=True):
        shifts = draw(st.permutations(range(size)))[:degree]
        order = draw(st.permutations(range(size)))
        edges += [order[(place + shift) % size] for place in range(size) for shift in shifts]
    return Graph.explicit(members, starts, np.array(degrees), np.array(edges))


@st.composite
def cases(draw) -> tuple[pa.Table, Codes, Graph]:
    rows = draw(st.integers(1, 12))

    def column(values: st.SearchStrategy) -> list:
        with_nulls = draw(st.booleans())
        cells = st.one_of(st.none(), values) if with_nulls else values
        return draw(st.lists(cells, min_size=rows, max_size=rows))

    table = pa.table(
        {
            "number": pa.array(column(st.integers(-3, 5)), pa.int64()),
            "word": pa.array(column(st.sampled_from(["", "x", "é", "|"])), pa.string()),
            "level": pa.array(column(st.sampled_from(ORDER[:3])), pa.string()),
            "place": pa.array(column(st.sampled_from(PLACES.leaves)), pa.string()),
        }
    )
    representation = draw(st.sampled_from(Representation))
    return table, encode(table, SCHEMA, representation), draw(graphs(rows))


def naive_cell(name: str, values: list, representation: type) -> object:
    present = [value for value in values if value is not None]
    missing = len(present) < len(values)
    if representation is SetCells:
        rank = ORDER.index if name == "level" else None
        rank = PLACES.leaves.index if name == "place" else rank
        return sorted(set(present), key=rank) + [None] * missing
    if representation is RangeCells:
        rank = ORDER.index if name == "level" else int
        low, high = min(present, key=rank, default=None), max(present, key=rank, default=None)
        return {"lo": low, "hi": high, "missing": missing}
    if not present:
        return None
    chains = [next(row for row in PLACES.rows() if row[0] == value) for value in present]
    if missing:
        return "*"
    return next(label for label in chains[0] if all(label in chain for chain in chains))


@given(cases())
def test_cells_hold_exactly_what_the_preimages_have(case):
    table, codes, graph = case
    published = cover(graph, codes)
    check_covers(graph, codes, published)
    for cells, domain in zip(published.cells, codes.domains, strict=True):
        values = table.column(domain.name).to_pylist()
        decoded = cells.decode(domain).take(pa.array(published.row_of)).to_pylist()
        expected = [
            naive_cell(
                domain.name,
                [values[graph.members[place]] for place in graph.preimages(position)],
                type(cells),
            )
            for position in range(graph.records)
        ]
        assert decoded == expected


@given(cases())
def test_rows_of_the_cover_count_every_record_once(case):
    _, codes, graph = case
    published = cover(graph, codes)
    assert published.multiplicity.sum() == graph.records
    assert published.multiplicity.min() >= 1


def with_cells(published: Cover, column: int, cells: object) -> Cover:
    return replace(
        published,
        cells=(*published.cells[:column], cells, *published.cells[column + 1 :]),
    )


def narrowed(cells: object, codes: Codes, column: int, row: int, choice: int) -> object | None:
    """The cells with one of them made smaller, or None where that cell cannot be."""
    match cells:
        case RangeCells():
            lowest, highest = cells.lowest.copy(), cells.highest.copy()
            missing = cells.missing.copy()
            if choice % 3 == 0 and lowest[row] >= 0:
                lowest[row] += 1
            elif choice % 3 == 1 and highest[row] >= 0:
                highest[row] -= 1
            elif missing[row]:
                missing[row] = False
            else:
                return None
            return RangeCells(lowest, highest, missing)
        case SetCells():
            first, last = cells.offsets[row], cells.offsets[row + 1]
            offsets = cells.offsets.copy()
            offsets[row + 1 :] -= 1
            return SetCells(offsets, np.delete(cells.values, first + choice % (last - first)))
        case NodeCells():
            hierarchy = codes.domains[column].hierarchy
            assert hierarchy is not None
            node = cells.nodes[row]
            below = [
                other
                for other in range(len(hierarchy.labels))
                if node >= 0
                and other != node
                and set(hierarchy.leaves_under(hierarchy.labels[other]))
                < set(hierarchy.leaves_under(hierarchy.labels[node]))
            ]
            changed = below[choice % len(below)] if below else (-1 if node >= 0 else 0)
            nodes = cells.nodes.copy()
            nodes[row] = changed
            return NodeCells(nodes)
    return None


@given(cases(), st.data())
def test_any_narrowed_cell_is_caught(case, data):
    """Cells are minimal, so whatever is taken from one of them is a lost preimage."""
    _, codes, graph = case
    published = cover(graph, codes)
    column = data.draw(st.integers(0, len(codes.domains) - 1))
    row = data.draw(st.integers(0, len(published.block_of) - 1))
    cells = narrowed(published.cells[column], codes, column, row, data.draw(st.integers(0, 10**6)))
    assume(cells is not None)
    with pytest.raises(PrivacyError, match=codes.domains[column].name):
        check_covers(graph, codes, with_cells(published, column, cells))


def ring_of_numbers(n: int = 6) -> tuple[Graph, Codes, Cover]:
    table = pa.table({"q": list(range(n))})
    codes = encode(table, Schema.of(quasi_identifying=["q"]), Representation.RANGE)
    graph = Graph.rings(np.arange(n), np.array([0, n]), np.array([2]))
    return graph, codes, cover(graph, codes)


def test_cells_that_cover_somebody_elses_preimages_are_caught():
    """The cover must not say itself whose preimages a row has to hold."""
    graph, codes, published = ring_of_numbers()
    cells = published.cells[0]
    assert isinstance(cells, RangeCells)
    moved = replace(
        published,
        place_of=np.roll(published.place_of, 3),
        cells=(RangeCells(*(np.roll(a, 3) for a in (cells.lowest, cells.highest, cells.missing))),),
    )
    with pytest.raises(PrivacyError, match="do not agree"):
        check_covers(graph, codes, moved)


def test_records_pointed_at_another_row_are_caught():
    graph, codes, published = ring_of_numbers()
    with pytest.raises(PrivacyError, match="do not agree"):
        check_covers(graph, codes, replace(published, row_of=np.roll(published.row_of, 1)))


def test_malformed_sets_are_caught():
    graph, codes, _ = ring_of_numbers()
    codes = encode(
        pa.table({"q": codes.domains[0].values.take(pa.array(codes.matrix[:, 0]))}),
        Schema.of(quasi_identifying=["q"]),
        Representation.SET,
    )
    published = cover(graph, codes)
    (cells,) = published.cells
    assert isinstance(cells, SetCells)
    beyond = cells.offsets.copy()
    beyond[-1] += 5
    for broken in (SetCells(cells.offsets[:-1], cells.values), SetCells(beyond, cells.values)):
        with pytest.raises(PrivacyError, match="one for each row"):
            check_covers(graph, codes, replace(published, cells=(broken,)))
    with pytest.raises(PrivacyError, match="do not agree"):
        check_covers(graph, codes, replace(published, cells=()))


def test_too_few_cells_are_caught():
    graph, codes, published = ring_of_numbers()
    cells = published.cells[0]
    assert isinstance(cells, RangeCells)
    short = RangeCells(cells.lowest[:1], cells.highest[:1], cells.missing[:1])
    with pytest.raises(PrivacyError):
        check_covers(graph, codes, replace(published, cells=(short,)))


def test_sets_of_records_with_many_preimages_are_sorted_and_distinct():
    n = 300
    table = pa.table({"q": pa.array([str(row * 7 % 90) for row in range(n)])})
    codes = encode(table, Schema.of(quasi_identifying=["q"]), Representation.SET)
    graph = Graph.rings(np.arange(n), np.array([0, n]), np.array([150]))
    published = cover(graph, codes)
    check_covers(graph, codes, published)
    cells = published.cells[0].decode(codes.domains[0]).to_pylist()
    values = table.column("q").to_pylist()
    for position in (0, 149, 299):
        around = [values[(position + step) % n] for step in range(150)]
        assert cells[position] == sorted(set(around))


def test_error_of_the_check_does_not_quote_cells():
    table = pa.table({"q": ["CANARY", "CANARY-2", "x", "y"]})
    codes = encode(table, Schema.of(quasi_identifying=["q"]), Representation.SET)
    graph = Graph.rings(np.arange(4), np.array([0, 4]), np.array([2]))
    published = cover(graph, codes)
    cells = narrowed(published.cells[0], codes, 0, 0, 0)
    with pytest.raises(PrivacyError) as caught:
        check_covers(graph, codes, with_cells(published, 0, cells))
    assert "CANARY" not in str(caught.value)
