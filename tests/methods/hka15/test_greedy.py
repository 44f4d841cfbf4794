"""Greedy and SortGreedy against Algorithms 1 and 2 of HKA15 over all pairs, written plainly."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mottle import Hierarchy, KAnonymity, Schema, anonymize, methods
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.guarantees.demand import Demand
from mottle.kernels.ncp_growth import add_growth
from mottle.kernels.scales import scales
from mottle.loss.ncp import measure
from mottle.release.certificate import Degrees
from mottle.schema.model import Representation

PLACES = Hierarchy.from_rows(
    [("Rome", "South", "*"), ("Bari", "South", "*"), ("Turin", "North", "*"), ("Oslo", "Oslo", "*")]
)
VALUES = {
    "age": st.none() | st.integers(0, 6),
    "sex": st.sampled_from(["f", "m", None]),
    "size": st.sampled_from(["S", "M", "L"]),
    "place": st.sampled_from([*PLACES.leaves, None]),
    "same": st.just(1),
}


@st.composite
def small_tables(draw) -> tuple[pa.Table, Schema]:
    """Tables of all kinds of columns with missing values, weights and many equal rows."""
    names = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, unique=True))
    rows = draw(st.lists(st.tuples(*(VALUES[name] for name in names)), min_size=2, max_size=14))
    table = pa.table(
        {name: pa.array(cells) for name, cells in zip(names, zip(*rows, strict=True), strict=True)}
    )
    kinds = {"age": "number", "sex": "category", "size": "ordered", "place": "hierarchy"}
    schema = Schema.of(
        quasi_identifying=names,
        kinds={name: kind for name, kind in kinds.items() if name in names},
        weights={name: draw(st.sampled_from([1.0, 0.5, 3.0])) for name in names},
        orders={"size": ["S", "M", "L"]} if "size" in names else {},
        hierarchies={"place": PLACES} if "place" in names else {},
    )
    return table, schema


def degrees(rows: int) -> st.SearchStrategy[int]:
    """Any k; often close to n, where originals run out of boxes."""
    return st.integers(2, rows) | st.integers(max(rows - 2, 2), rows)


class Iteration:
    """One assignment under construction, with everything looked up the slow way."""

    def __init__(self, codes: Codes, ordered: np.ndarray, boxes: list[list[int]]) -> None:
        self.n = len(ordered)
        self.boxes = boxes  # the originals every box has taken in before
        self.box_of: dict[int, int] = {}
        self.weight = np.empty((self.n, self.n))  # [original, box]
        candidates = np.ascontiguousarray(ordered.T)
        metric = scales(codes)
        marks = np.zeros(metric.domain_total, np.int32)
        for box, members in enumerate(boxes):
            grown = np.empty(self.n)
            add_growth(
                metric,
                ordered,
                np.array(members, np.int32),
                len(members),
                candidates,
                self.n,
                marks,
                box + 1,
                grown,
            )
            self.weight[:, box] = grown

    def edges(self, original: int) -> list[tuple[float, int, int]]:
        """(weight, original, box) of all edges that are available."""
        taken = set(self.box_of.values())
        return [
            (self.weight[original, box], original, box)
            for box in range(self.n)
            if box not in taken and original not in self.boxes[box]
        ]

    def backtrack(self, original: int) -> str:
        """Find S_{i-x}, matched to T_j, such that e_{i,j} and e_{i-x,m} are available."""
        for distance in range(1, self.n):
            for neighbour in (original - distance, original + distance):
                if neighbour not in self.box_of:
                    continue
                box = self.box_of[neighbour]
                others = self.edges(neighbour)
                if original not in self.boxes[box] and others:
                    self.box_of[neighbour] = min(others)[2]
                    self.box_of[original] = box
                    return "substituted"
        self.augment(original)
        return "augmented"

    def augment(self, original: int) -> None:
        """Breadth first along edges that were not used in earlier iterations."""
        owner = {box: holder for holder, box in self.box_of.items()}
        came_from: dict[int, int] = {}
        queue = [original]
        for mover in queue:
            for box in range(self.n):
                if box in came_from or mover in self.boxes[box]:
                    continue
                came_from[box] = mover
                if box not in owner:
                    while box is not None:
                        mover = came_from[box]
                        self.box_of[mover], box = box, self.box_of.get(mover)
                    return
                queue.append(owner[box])
        raise AssertionError("a regular bipartite graph has an augmenting path")


def greedy(iteration: Iteration) -> list[str]:
    """Algorithm 1: originals in turn, each to its lightest available edge."""
    dead_ends = []
    for original in range(iteration.n):  # lines 1-2
        edges = iteration.edges(original)
        if not edges:  # lines 3-5
            dead_ends.append(iteration.backtrack(original))
        else:  # lines 6-9
            iteration.box_of[original] = min(edges)[2]
    return dead_ends


def sortgreedy(iteration: Iteration) -> list[str]:
    """Algorithm 2: all edges by ascending weight, then the unmatched in lexicographic order."""
    edges = sorted(edge for original in range(iteration.n) for edge in iteration.edges(original))
    for _, original, box in edges:  # lines 1-7
        if original not in iteration.box_of and box not in iteration.box_of.values():
            iteration.box_of[original] = box
    unmatched = [original for original in range(iteration.n) if original not in iteration.box_of]
    return [iteration.backtrack(original) for original in unmatched]  # lines 8-11


ALGORITHMS = {"greedy": greedy, "sortgreedy": sortgreedy}
both = pytest.mark.parametrize("name", list(ALGORITHMS))


def reference(name: str, codes: Codes, k: int) -> tuple[list[list[int]], list[str]]:
    """The boxes by lexicographic position, and how the dead ends were resolved."""
    by_size = sorted(range(len(codes.domains)), key=lambda column: codes.domains[column].size)
    rows = codes.matrix.tolist()
    order = sorted(range(len(rows)), key=lambda row: [rows[row][column] for column in by_size])
    ordered = np.ascontiguousarray(codes.matrix[order])
    boxes = [[position] for position in range(len(rows))]
    dead_ends: list[str] = []
    for _ in range(k - 1):
        iteration = Iteration(codes, ordered, boxes)
        dead_ends += ALGORITHMS[name](iteration)
        for original, box in sorted(iteration.box_of.items()):
            boxes[box].append(original)
    return boxes, dead_ends


@both
@settings(max_examples=400)
@given(given_table=small_tables(), representation=st.sampled_from(Representation), data=st.data())
def test_boxes_are_those_of_the_plain_algorithm(name: str, given_table, representation, data):
    table, schema = given_table
    codes = encode(table, schema, representation)
    k = data.draw(degrees(table.num_rows))
    losses: list[float] = []
    arrangement = methods.get(name).arrange(
        codes, Demand(k), methods.MethodContext(on_progress=losses.append)
    )
    expected, dead_ends = reference(name, codes, k)
    graph = arrangement.graph
    assert graph.edges.reshape(-1, k).tolist() == expected
    assert arrangement.facts["dead_ends"] == len(dead_ends)
    assert graph.check_regular(k) == (k, k)
    assert len(losses) == k - 1
    assert losses[-1] == pytest.approx(measure(cover(graph, codes), codes).gcp)


@both
@pytest.mark.parametrize("seed", range(3))
def test_pruned_searches_find_what_all_pairs_do(name: str, seed: int):
    """Enough records for a tree with branches, equal rows, and more values than bits in a mask."""
    random = np.random.default_rng(seed)
    rows = 220
    table = pa.table(
        {
            "age": pa.array(random.integers(0, 30, rows), mask=random.random(rows) < 0.1),
            "sex": random.choice(["f", "m"], rows),
            "job": [str(job) for job in random.zipf(1.3, rows) % 100],
            "place": [PLACES.leaves[leaf] for leaf in random.integers(0, 4, rows)],
        }
    )
    table = pa.concat_tables([table, table.slice(0, 60)])
    schema = Schema.of(
        quasi_identifying=table.column_names, hierarchies={"place": PLACES}, weights={"age": 2.0}
    )
    codes = encode(table, schema, Representation.RANGE)
    assert max(codes.sizes) > 64
    graph = methods.get(name).arrange(codes, Demand(5), methods.MethodContext()).graph
    assert graph.edges.reshape(-1, 5).tolist() == reference(name, codes, 5)[0]


def hard_case(rows: int, seed: int) -> Codes:
    """A table of random numbers."""
    numbers = np.random.default_rng(seed).integers(0, 4, (rows, 2))
    table = pa.table({"a": numbers[:, 0], "b": numbers[:, 1]})
    schema = Schema.of(quasi_identifying=["a", "b"])
    return encode(table, schema, Representation.RANGE)


@both
@pytest.mark.parametrize("way_out", ["substituted", "augmented"])
def test_dead_ends_are_left_as_the_plain_algorithm_does(name: str, way_out: str):
    met = 0
    for seed in range(60):
        codes = hard_case(10, seed)
        k = 9 if way_out == "augmented" else 6
        expected, dead_ends = reference(name, codes, k)
        met += way_out in dead_ends
        graph = methods.get(name).arrange(codes, Demand(k), methods.MethodContext()).graph
        assert graph.edges.reshape(-1, k).tolist() == expected
    assert met > 0


@both
@given(given_table=small_tables(), representation=st.sampled_from(Representation))
def test_k_of_all_rows_gives_the_complete_graph(name: str, given_table, representation):
    table, schema = given_table
    k = table.num_rows
    codes = encode(table, schema, representation)
    graph = methods.get(name).arrange(codes, Demand(k), methods.MethodContext()).graph
    assert np.array_equal(np.sort(graph.edges.reshape(k, k), axis=1), np.tile(np.arange(k), (k, 1)))


@both
@settings(max_examples=30)
@given(given_table=small_tables(), data=st.data())
def test_releases_pass_all_checks(name: str, given_table, data):
    table, schema = given_table
    k = data.draw(degrees(table.num_rows))
    release = anonymize(table, schema, KAnonymity(k), method=name, seed=1)
    degree = release.certificate.degree
    assert degree == Degrees(min=k, max=k, records=[(k, table.num_rows)])


@both
def test_column_of_thousands_of_values_needs_no_table_of_them(name: str):
    rows = 2000
    table = pa.table({"postcode": [f"{13 * row % rows:05}" for row in range(rows)]})
    codes = encode(table, Schema.of(quasi_identifying=["postcode"]), Representation.RANGE)
    graph = methods.get(name).arrange(codes, Demand(3), methods.MethodContext()).graph
    assert graph.check_regular(3) == (3, 3)
    assert measure(cover(graph, codes), codes).gcp == pytest.approx(2 / (rows - 1))
