"""A table that comes in regions is cut as it would be in memory, and tells as much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

import mottle
from mottle import Schema
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.guarantees.demand import Demand
from mottle.methods.buckets.block_cuts import CutRule, best_cut
from mottle.methods.buckets.partitioned import cuts
from mottle.methods.buckets.partitioned.cuts import (
    Cut,
    RegionRows,
    _borders_of,
    counts_between,
    decide_cut,
    gathered_of,
    pieces_of,
)
from mottle.methods.buckets.records import TableRecords
from mottle.schema.model import Representation

ROWS = 6000
QI = ["age", "sex", "education", "workclass"]


@dataclass(frozen=True)
class Held:
    """Ordered partitions that are held in memory."""

    codes: Codes
    sensitive_codes: np.ndarray
    cuts: np.ndarray

    def over(self, work: Callable[[RegionRows], object]) -> list:
        return [
            work(
                RegionRows(
                    number,
                    Codes(self.codes.domains, self.codes.matrix[first:last]),
                    np.ascontiguousarray(self.sensitive_codes[first:last]),
                )
            )
            for number, (first, last) in enumerate(pairwise(self.cuts))
        ]


def line(regions: int, diversity: int, seed: int) -> tuple[Held, Demand]:
    people = mottle.datasets.population(ROWS, seed=seed)
    schema = Schema.of(quasi_identifying=QI, rest="insensitive").covering(people.column_names)
    codes = encode(people, schema, Representation.RANGE)
    order = TableRecords(codes).order(np.random.default_rng(seed).permutation(ROWS))
    codes = Codes(codes.domains, codes.matrix[order])
    values = np.random.default_rng(seed).integers(0, 9, ROWS).astype(np.int32)
    caps = np.full(9, 1 / diversity)
    demand = Demand(diversity, values[:, None], caps, np.bincount(values))
    cuts = np.linspace(0, ROWS, regions + 1).astype(np.int64) + 7
    cuts[[0, -1]] = 0, ROWS
    return Held(codes, demand.sensitive_codes, cuts), demand


@pytest.mark.parametrize("regions", [1, 2, 5])
@pytest.mark.parametrize(("diversity", "seed"), [(3, 1), (6, 2), (7, 3)])
def test_blocks_across_regions_are_those_of_memory(regions, diversity, seed, monkeypatch):
    monkeypatch.setattr(cuts, "_KNOWN_BORDERS", ROWS)
    table, demand = line(regions, diversity, seed)
    everything = np.arange(ROWS)
    expected = best_cut(
        demand, everything, diversity, TableRecords(table.codes).borders(everything)
    )
    cut = decide_cut(table, demand, demand.counts, diversity)
    assert cut.starts is not None
    assert cut.starts.tolist() == expected.tolist()
    assert cut.blocks == len(expected) - 1


@pytest.mark.parametrize("regions", [1, 3])
def test_regions_report_the_deepest_border_of_every_section(regions, monkeypatch):
    monkeypatch.setattr(cuts, "_KNOWN_BORDERS", 60)
    table, _ = line(regions, 3, 8)
    depths = TableRecords(table.codes).borders(np.arange(ROWS))
    depths[0] = len(QI)
    places, firsts = _borders_of(table)
    for depth, (first, last) in enumerate(pairwise(firsts)):
        assert np.all(depths[places[first:last]] == depth)
        assert np.all(np.diff(places[first:last]) > 0)
    assert firsts[1] == (depths == 0).sum() == 1  # between men and women
    assert regions * 60 <= len(places) <= regions * 61
    assert set(table.cuts[1:-1].tolist()) <= set(places.tolist())


def test_regions_without_rows_are_passed_over():
    table, _ = line(1, 3, 8)
    twice = Held(table.codes, table.sensitive_codes, np.array([0, 0, 2000, 2000, ROWS, ROWS]))
    once = Held(table.codes, table.sensitive_codes, np.array([0, 2000, ROWS]))
    assert [part.tolist() for part in _borders_of(twice)] == [
        part.tolist() for part in _borders_of(once)
    ]


def test_a_single_region_that_cuts_itself_does_as_memory_does(monkeypatch):
    monkeypatch.setattr(cuts, "OWN_BLOCKS", 2)
    table, demand = line(1, 3, 4)
    everything = np.arange(ROWS)
    expected = best_cut(demand, everything, 3, TableRecords(table.codes).borders(everything))
    cut = decide_cut(table, demand, demand.counts, 3)
    assert cut.starts is None
    (region,) = table.over(lambda region: region)
    assert cut.of_region(region, table.cuts, 3).tolist() == expected.tolist()


def test_regions_that_cut_themselves_all_keep_the_caps(monkeypatch):
    monkeypatch.setattr(cuts, "OWN_BLOCKS", 2)
    table, demand = line(3, 4, 5)
    cut = decide_cut(table, demand, demand.counts, 4)
    assert cut.starts is None
    for region in table.over(lambda region: region):
        starts = cut.of_region(region, table.cuts, 4)
        assert starts[-1] == len(region.sensitive_codes)
        for first, last in pairwise(starts):
            counts = np.bincount(region.sensitive_codes[first:last, 0], minlength=9)
            assert np.all(counts <= demand.allowed(int(last - first)))


@pytest.mark.parametrize("regions", [1, 3])
@pytest.mark.parametrize("own", [False, True])
def test_profiles_of_regions_add_up_to_those_of_memory(regions, own):
    table, demand = line(regions, 3, 6)
    if own:
        cut = Cut(12, CutRule.EVENLY, None)
        starts = np.concatenate(
            [
                table.cuts[region.number] + cut.of_region(region, table.cuts, 3)[:-1]
                for region in table.over(lambda region: region)
            ]
            + [[ROWS]]
        )
    else:
        starts = np.arange(13) * ROWS // 12
        cut = Cut(12, CutRule.EVENLY, starts)
    expected = TableRecords(table.codes).profiles_by_block(demand, np.arange(ROWS), starts)
    assert gathered_of(table, cut, 3, 9).profiles() == pytest.approx(expected)


def test_counts_of_regions_add_up():
    table, demand = line(4, 3, 7)
    ends = np.array([10, 1600, 1700, 5000, ROWS])
    counts = counts_between(table, ends, 9)
    parts = np.split(demand.values, ends[:-1])
    assert counts.tolist() == [np.bincount(part, minlength=9).tolist() for part in parts]


def test_pieces_cover_a_region_once():
    ends = np.array([3, 7, 7, 12])
    assert pieces_of(ends, 3, 12) == [(1, 3, 7), (3, 7, 12)]
    assert pieces_of(ends, 4, 6) == [(1, 4, 6)]
