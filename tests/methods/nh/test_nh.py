"""Partitions of nh and hp against NH10 Fig. 8 as a plain recursion; rings with ℓ-diversity (§6)."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mottle import KAnonymity, LDiversity, Schema, UsageError, anonymize, methods
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.guarantees.demand import Demand
from mottle.methods import Draw
from mottle.methods.nh.diverse_partitions import FIRST, NEAREST, diverse_partitions
from mottle.methods.nh.nh import lexicographic_partitions
from mottle.methods.nh.rings import (
    HUGE,
    Partitions,
    number_of_pieces,
    order_rings,
    ring_degrees,
    spacing,
    split,
    split_arbitrarily,
    split_huge,
)
from mottle.schema.model import Representation

Rows = list[tuple[int, ...]]


def partition(part: Rows, k: int, attribute: int, *, ends: bool = False) -> list[Rows]:
    """Fig. 8 with the choices stated in `lexicographic_partitions`; line numbers are the figure's.

    ``part`` is sorted; its rows agree on all attributes before ``attribute``.
    """
    if len(part) < 2 * k or attribute == len(part[0]):
        return [part]
    values = sorted({row[attribute] for row in part})
    if ends and len(values) == 1:
        return [part]
    parts = [[row for row in part if row[attribute] == value] for value in values]  # line 2
    place = 0
    while place < len(parts):  # line 4
        small = parts[place]
        if len(small) >= k:
            place += 1
        elif place + 1 < len(parts):  # line 5: the neighbour is the next part
            neighbour = parts[place + 1]
            if len(small) + len(neighbour) >= 2 * k:  # lines 6-7
                wanted = k - len(small)
                parts[place : place + 2] = [small + neighbour[:wanted], neighbour[wanted:]]
            else:  # line 9
                parts[place : place + 2] = [small + neighbour]
        else:  # or the previous one for the last
            neighbour = parts[place - 1]
            if len(small) + len(neighbour) >= 2 * k:
                kept = len(neighbour) + len(small) - k
                parts[place - 1 :] = [neighbour[:kept], neighbour[kept:] + small]
            else:
                parts[place - 1 :] = [neighbour + small]
            place = len(parts)
    finished = []
    for group in parts:  # line 11
        if len({row[attribute] for row in group}) > 1:  # line 12
            finished.append(group)
        else:  # line 15
            finished += partition(group, k, attribute + 1, ends=ends)
    return finished


@st.composite
def small_tables(draw) -> pa.Table:
    attributes = draw(st.integers(1, 4))
    rows = draw(st.integers(2, 60))
    columns = {}
    for attribute in range(attributes):
        values = draw(st.integers(1, 6))
        codes = st.lists(st.integers(0, values - 1), min_size=rows, max_size=rows)
        columns[f"a{attribute}"] = pa.array(draw(codes), pa.int64())
    return pa.table(columns)


def codes_of(table: pa.Table) -> Codes:
    schema = Schema.of(quasi_identifying=table.column_names)
    return encode(table, schema, Representation.RANGE)


@settings(max_examples=300)
@given(small_tables(), st.integers(2, 9), st.booleans())
def test_partitions_are_those_of_figure_8(table: pa.Table, k: int, ends: bool):
    codes = codes_of(table)
    members, starts = lexicographic_partitions(codes, k, ends=ends)
    attributes = sorted(range(len(codes.domains)), key=lambda a: codes.domains[a].size)
    rows = sorted(tuple(row[a] for a in attributes) for row in codes.matrix.tolist())
    expected = partition(rows, k, 0, ends=ends)
    found = [
        [tuple(codes.matrix[row, attributes].tolist()) for row in members[first:last]]
        for first, last in itertools.pairwise(starts)
    ]
    assert found == expected


@pytest.mark.parametrize("method", ["nh", "hp"])
@given(table=small_tables(), k=st.integers(2, 9))
def test_parts_are_large_enough_and_hold_every_row_once(method: str, table: pa.Table, k: int):
    k = min(k, table.num_rows)
    graph = methods.get(method).arrange(codes_of(table), Demand(k), methods.MethodContext()).graph
    assert sorted(graph.members.tolist()) == list(range(table.num_rows))
    assert graph.starts[0] == 0
    assert graph.starts[-1] == table.num_rows
    assert graph.sizes.min() >= k
    expected = graph.sizes if method == "hp" else np.full(len(graph.sizes), k)
    assert graph.degrees.tolist() == expected.tolist()


@given(small_tables())
def test_table_smaller_than_two_groups_stays_whole(table: pa.Table):
    members, starts = lexicographic_partitions(codes_of(table), table.num_rows)
    assert starts.tolist() == [0, table.num_rows]
    assert sorted(members.tolist()) == list(range(table.num_rows))


def test_constant_table_is_one_part():
    codes = codes_of(pa.table({"a": [1] * 50, "b": [2] * 50}))
    assert lexicographic_partitions(codes, 5)[1].tolist() == [0, 50]


def test_recursion_ends_at_an_attribute_that_does_not_split_a_part():
    """As `education-num` after `education` in ADULT; NH10 stopped there (its Fig. 11, d >= 5)."""
    few, many = [1] * 10 + [2] * 10, [*range(10), *range(10)]
    table = pa.table({"a": few, "same": few, "b": many})
    sizes = {
        rule: anonymize(
            table,
            Schema.of(quasi_identifying=table.column_names),
            KAnonymity(2),
            method="hp",
            options={"recursion": rule},
            seed=1,
        ).links.graph.sizes.tolist()
        for rule in ("goes-on", "ends")
    }
    assert sizes == {"goes-on": [2] * 10, "ends": [10, 10]}


def test_ending_recursion_is_refused_with_sensitive_values():
    table = pa.table({"a": [1, 2, 3, 4], "s": list("xyxy")})
    schema = Schema.of(quasi_identifying=["a"], sensitive=["s"])
    with pytest.raises(UsageError, match="recursion and ring"):
        anonymize(table, schema, LDiversity(2), method="nh", options={"recursion": "ends"})


def test_all_distinct_column_is_cut_into_groups_of_k():
    codes = codes_of(pa.table({"a": list(range(23))}))
    assert lexicographic_partitions(codes, 5)[1].tolist() == [0, 5, 10, 15, 23]


# -------------------------------------------------------------------------------- ℓ-diversity (§6)


@st.composite
def diverse_values(draw, largest: int = 12) -> tuple[np.ndarray, int]:
    """Sensitive values in random order, and an ℓ for which they are diverse."""
    counts = np.array(draw(st.lists(st.integers(1, largest), min_size=2, max_size=9)))
    highest = int(counts.sum()) // int(counts.max())
    if highest < 2:
        counts = np.concatenate([counts, counts])
        highest = 2
    random = np.random.default_rng(draw(st.integers(0, 9999)))
    values = random.permutation(np.repeat(np.arange(len(counts)), counts)).astype(np.int32)
    return values, draw(st.integers(2, highest))


def most(values: np.ndarray) -> int:
    return int(np.bincount(values).max())


@pytest.mark.parametrize("search", [NEAREST, FIRST])
@settings(max_examples=200)
@given(diverse_values(), st.integers(1, 9), st.integers(1, 4), st.integers(0, 99))
def test_partitions_are_diverse_large_enough_and_hold_every_row(
    search, case, least, attributes, seed
):
    values, diversity = case
    least = min(least, len(values))
    random = np.random.default_rng(seed)
    rows = random.integers(0, 5, (len(values), attributes)).astype(np.int32)
    rows = np.ascontiguousarray(rows[np.lexsort(rows.T[::-1])])
    kinds = int(values.max()) + 1
    places, starts = diverse_partitions(rows, values, kinds, diversity, least, search, seed + 1)
    assert sorted(places.tolist()) == list(range(len(values)))
    for first, last in itertools.pairwise(starts):
        part = places[first:last]
        assert len(part) >= least
        assert most(values[part]) * diversity <= len(part)


def test_diverse_parts_are_split_and_the_others_join_a_neighbour():
    rows = np.array([[0], [0], [1], [1], [2], [2], [3], [3]], np.int32)
    values = np.array([0, 1, 0, 0, 2, 1, 2, 1], np.int32)  # the second part is not diverse
    places, starts = diverse_partitions(rows, values, 3, 2, 2)
    parts = [places[first:last].tolist() for first, last in itertools.pairwise(starts)]
    assert sorted(map(sorted, parts)) == [[0, 1], [2, 3, 4, 5], [6, 7]]


def test_to_the_letter_the_first_part_that_helps_is_joined():
    rows = np.array([[0], [0], [1], [1], [2], [2], [3], [3]], np.int32)
    values = np.array([2, 1, 1, 2, 0, 0, 2, 1], np.int32)  # {0, 0} is third of four
    places, starts = diverse_partitions(rows, values, 3, 2, 2, FIRST)
    parts = [places[first:last].tolist() for first, last in itertools.pairwise(starts)]
    assert sorted(map(sorted, parts)) == [[0, 1, 4, 5], [2, 3], [6, 7]]


def test_to_the_letter_a_random_part_is_joined_if_none_helps():
    rows = np.arange(6, dtype=np.int32)[:, None]
    values = np.arange(6, dtype=np.int32)
    joined = set()
    for word in np.random.default_rng(0).integers(1, 2**62, 30):
        places, starts = diverse_partitions(rows, values, 6, 3, 1, FIRST, int(word))
        assert sorted(places.tolist()) == list(range(6))
        assert starts.tolist() == [0, 6]  # the first three help all others
        joined.add(tuple(places.tolist()))
    assert len(joined) > 3


@settings(max_examples=100)
@given(diverse_values(largest=20), st.integers(2, 30))
def test_arbitrary_splits_leave_no_value_twice_in_a_piece(case, largest):
    values, diversity = case
    whole = Partitions(np.arange(len(values)), np.array([0, len(values)]))
    tiebreak = np.random.default_rng(0).permutation(len(values))
    pieces = split_arbitrarily(whole, values, tiebreak, largest, diversity)
    assert sorted(pieces.places.tolist()) == list(range(len(values)))
    sizes = pieces.sizes
    assert sizes.min() >= diversity
    if len(values) > largest:
        assert len(sizes) == most(values)
        cuts = itertools.pairwise(pieces.starts)
        assert all(most(values[pieces.places[first:last]]) == 1 for first, last in cuts)
    else:
        assert len(sizes) == 1


def test_nh_to_the_letter_keeps_its_caps_and_says_how_large_partitions_grew():
    random = np.random.default_rng(5)
    table = pa.table(
        {
            "age": random.integers(0, 60, 400),
            "place": random.integers(0, 9, 400),
            "s": np.array(list("aabbcdefgh"))[random.integers(0, 10, 400)],
        }
    )
    schema = Schema.of(quasi_identifying=["age", "place"], sensitive=["s"])
    letter, ours = (
        anonymize(table, schema, LDiversity(4), method=name, seed=2) for name in ("nh-letter", "nh")
    )
    assert letter.certificate.checks[3].passed is True
    assert letter.certificate.method.facts["largest_partition"] > 50
    assert letter.gcp > ours.gcp


def test_part_that_no_neighbour_helps_joins_one_farther_away():
    rows = np.array([[0], [0], [1], [1], [2], [2], [3], [3]], np.int32)
    values = np.array([0, 1, 0, 0, 0, 1, 1, 2], np.int32)  # {0, 0} between two of {0, 1}
    places, starts = diverse_partitions(rows, values, 3, 2, 2)
    parts = [places[first:last].tolist() for first, last in itertools.pairwise(starts)]
    assert sorted(map(sorted, parts)) == [[0, 1], [2, 3, 6, 7], [4, 5]]


def test_part_that_nobody_helps_joins_its_neighbours_one_after_the_other():
    rows = np.array([[0], [1], [2], [3], [4]], np.int32)
    values = np.array([0, 1, 2, 3, 4], np.int32)
    places, starts = diverse_partitions(rows, values, 5, 4, 1)
    assert starts.tolist() == [0, 5]
    assert sorted(places.tolist()) == list(range(5))


@settings(max_examples=300)
@given(diverse_values(largest=20), st.integers(2, 12))
def test_pieces_of_a_split_are_diverse_and_in_order(case, degree):
    values, diversity = case
    size = len(values)
    pieces = number_of_pieces(size, most(values), diversity, degree)
    times = size // pieces // diversity
    places, starts = split(values, int(values.max()) + 1, pieces, times)
    assert sorted(places.tolist()) == list(range(size))
    assert len(starts) == pieces + 1
    for first, last in itertools.pairwise(starts):
        piece = places[first:last]
        assert len(piece) >= size // pieces
        assert most(values[piece]) <= times
        assert most(values[piece]) * diversity <= len(piece)
        assert np.all(np.diff(piece) > 0)


def test_values_that_follow_the_order_are_split_along_it():
    values = np.tile(np.arange(3, dtype=np.int32), 8)
    places, starts = split(values, 3, 8, 1)
    assert places.tolist() == list(range(24))
    assert starts.tolist() == list(range(0, 25, 3))


@settings(max_examples=300)
@given(st.lists(diverse_values(), min_size=1, max_size=3), st.integers(2, 12), st.integers(0, 99))
def test_any_degree_consecutive_records_around_a_ring_are_diverse(cases, least, seed):
    diversity = min(diversity for _, diversity in cases)
    values = np.concatenate([values for values, _ in cases])
    sizes = np.array([len(part) for part, _ in cases])
    least = min(least, int(sizes.min()))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    partitions = Partitions(np.random.default_rng(seed).permutation(len(values)), starts)
    by_place = np.empty_like(values)
    by_place[partitions.places] = values
    tiebreak = np.random.default_rng(seed).permutation(len(values))
    rings = order_rings(partitions, by_place, tiebreak, diversity, least)
    for ring, (first, last) in enumerate(itertools.pairwise(starts)):
        around = rings.places[first:last]
        degree = int(rings.degrees[ring])
        assert sorted(around.tolist()) == sorted(partitions.places[first:last].tolist())
        assert max(least, diversity) <= degree <= last - first
        for place in range(last - first):
            window = by_place[np.take(around, range(place, place + degree), mode="wrap")]
            assert most(window) * diversity <= degree


def test_degree_is_the_least_that_keeps_equal_values_apart():
    for size, count, diversity, least in itertools.product(
        range(2, 25), range(1, 9), (2, 3, 4), (2, 3, 5, 7)
    ):
        if count * diversity > size or size < max(least, diversity):
            continue
        (degree,) = ring_degrees(np.array([size]), np.array([count]), diversity, least)
        able = [
            other
            for other in range(max(least, diversity), size)
            if count <= size // spacing(other, diversity)
        ]
        assert degree == min([*able, size])


def test_ring_of_different_values_keeps_the_lexicographic_order():
    partitions = Partitions(np.arange(7), np.array([0, 7]))
    rings = order_rings(partitions, np.arange(7, dtype=np.int32), np.arange(7)[::-1], 3, 3)
    assert rings.places.tolist() == list(range(7))
    assert rings.degrees.tolist() == [3]


def test_huge_partitions_are_split_and_small_ones_left():
    values = np.tile(np.arange(4, dtype=np.int32), 30)
    partitions = Partitions(np.arange(120), np.array([0, 4 * HUGE - 4, 120]))
    pieces = split_huge(partitions, values, 4, 4)
    assert pieces.starts[1] == 4 * HUGE - 4
    assert np.all(pieces.sizes[1:] == 4)
    assert pieces.places.tolist() == list(range(120))


def test_records_of_equal_value_take_their_places_in_the_ring_by_lot():
    values = np.tile(np.arange(2, dtype=np.int32), 3)
    partitions = Partitions(np.arange(6), np.array([0, 6]))
    seen = set()
    for seed in range(200):
        tiebreak = np.random.default_rng(seed).permutation(6)
        ring = order_rings(partitions, values, tiebreak, 2, 2).places
        turned = np.roll(ring, -int(np.argmin(ring)))  # a ring has no beginning
        seen.add(tuple(turned.tolist()))
    assert len(seen) == 2 * 6  # all ways to alternate three and three


def test_rings_with_diversity_are_turned_and_say_what_decides():
    random = np.random.default_rng(0)
    table = pa.table(
        {
            "a": random.integers(0, 9, 500),
            "b": random.integers(0, 4, 500),
            "s": random.integers(0, 6, 500),
        }
    )
    schema = Schema.of(quasi_identifying=["a", "b"], sensitive=["s"])
    for guarantee, least in ((LDiversity(3), 3), (KAnonymity(7) & LDiversity(3), 7)):
        release = anonymize(table, schema, guarantee, method="nh", seed=1)
        assert release.certificate.parameters.draw == str(Draw.ROTATION)
        assert "together" in release.certificate.method.decides_by
        assert release.certificate.degree.min >= least
