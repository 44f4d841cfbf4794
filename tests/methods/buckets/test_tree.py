"""The tree of cuts: blocks within caps, gains as counted by hand, failures that stay failures."""

from __future__ import annotations

import pickle
from copy import deepcopy
from itertools import product

import numpy as np
import pytest
from bucket_worlds import published_table

from mottle.guarantees.demand import allowed
from mottle.methods.buckets.association import Association
from mottle.methods.buckets.candidates import Scope
from mottle.methods.buckets.cut_columns import CutColumn
from mottle.methods.buckets.plan import SensitiveValues
from mottle.methods.buckets.tree import (
    RISK,
    Cut,
    CutError,
    Kinds,
    Knowledge,
    Node,
    Summary,
    grow,
    summary,
)

AGE = CutColumn(0, 20, np.linspace(0, 1, 20), 0.0)
SEX = CutColumn(1, 2, None, 0.7)
JOB = CutColumn(2, 6, None, 0.4)


class Table:
    """A generated table of 9 values and its first wave of three buckets."""

    def __init__(
        self,
        rows: int,
        columns=(AGE, SEX, JOB),
        diversity: int = 3,
        strength: float = 0.0,
        in_wave: bool = True,
        wave: int = 360,
    ) -> None:
        """Draw it; a share of the people, ``strength``, has value 0 if young, value 1 if old.

        In the wave that is so only if ``in_wave``.
        """
        random = np.random.default_rng(3)
        everybody = rows + wave
        self.columns = columns
        self.codes = np.stack(
            [random.integers(0, column.size, everybody) for column in columns]
        ).astype(np.int32)
        values = random.integers(0, 9, everybody)
        tied = random.random(everybody) < strength
        tied[rows:] &= in_wave
        values[tied] = self.codes[0, tied] * 2 // self.columns[0].size
        self.values = values.astype(np.int32)
        self.rows = np.arange(rows)
        self.caps = np.full(9, 1 / diversity)
        pools = [rows + np.flatnonzero(values[rows:] % 3 == b) for b in range(3)]
        size = min(map(len, pools))
        first = np.concatenate([random.permutation(pool)[: size - size % 8] for pool in pools])
        self.first = first.reshape(3, -1, 8)
        tables = [
            published_table(self.first[:, number].ravel(), self.values, 3, random)
            for number in range(self.first.shape[1])
        ]
        counts = np.bincount(self.values)
        unknown = Association.unknown(columns, self.codes, counts)
        association, evidence = unknown.fitted_to_wave(self.codes, tables)
        self.known = Knowledge(
            columns,
            SensitiveValues(np.arange(9, dtype=np.int32)[:, None], self.caps, np.empty((9, 0))),
            diversity,
            rows + self.first.size,
            association,
            evidence,
            np.bincount(self.values[self.first.ravel()], minlength=9),
            10**9,
        )

    @property
    def root(self) -> Node:
        return Node(self.rows, np.arange(self.first.size))

    def summed(self, values: np.ndarray | None = None) -> Summary:
        """What decides about the root, if records had these values."""
        known, mine = self.known, self.values if values is None else values
        shares = known.association.predicted(known.association.indices(self.codes))
        return summary(known, self.codes, mine, shares, self.root)

    def grown(self) -> list[np.ndarray]:
        known = deepcopy(self.known)
        return grow(known, self.codes, self.values, [self.root])


# ------------------------------------------------------------------------------------- growing


@pytest.mark.parametrize("diversity", [2, 3])
def test_blocks_are_a_partition_within_the_caps_and_not_too_small(diversity):
    table = Table(6000, diversity=diversity)
    blocks = table.grown()
    assert len(blocks) > 3
    assert sorted(np.concatenate(blocks).tolist()) == table.rows.tolist()
    for block in blocks:
        counts = np.bincount(table.values[block], minlength=9)
        assert np.all(counts <= allowed(table.caps, len(block)))
        assert len(block) >= table.known.least


def test_equal_records_are_never_separated_and_their_order_does_not_matter():
    """So cuts can be repeated by whoever does not know the order of equal records."""
    table = Table(6000)
    blocks = table.grown()
    block_of = np.empty(len(table.rows), int)
    for number, block in enumerate(blocks):
        block_of[block] = number
    home: dict[tuple, int] = {}
    for row, key in enumerate(map(tuple, table.codes[:, table.rows].T.tolist())):
        assert home.setdefault(key, block_of[row]) == block_of[row]
    # The same table in the order of its codes, equal records in any order.
    other = Table(6000)
    order = np.random.default_rng(5).permutation(len(table.rows))
    order = order[np.lexsort(table.codes[:, order])]
    other.rows = table.rows[order]
    again = other.grown()
    assert [sorted(block) for block in again] == [sorted(block) for block in blocks]


def test_where_values_follow_a_column_it_is_cut_less():
    """What the wave shows keeps nodes whole that could not keep the caps."""
    free, tied = (
        Table(6000, columns=(AGE,), strength=0.0),
        Table(6000, columns=(AGE,), strength=0.45),
    )
    assert len(tied.grown()) < len(free.grown()) / 2


def test_an_association_that_the_wave_cannot_show_makes_the_run_fail():
    table = Table(6000, columns=(AGE,), strength=0.3, in_wave=False, wave=3000)
    # A wave whose permutations cannot be recognized is not believed; here it is all the same.
    table.known.told = 1.0
    table.known.in_wave = np.full_like(table.known.in_wave, 1e6)
    with pytest.raises(CutError, match="Nothing was published") as raised:
        table.grown()
    assert "would weaken the guarantee" in str(raised.value)


def test_small_nodes_are_blocks():
    table = Table(150)
    (block,) = table.grown()
    assert block.tolist() == table.rows.tolist()


@pytest.mark.parametrize("copied", [deepcopy, lambda known: pickle.loads(pickle.dumps(known))])
def test_copied_knowledge_decides_as_the_original(copied):
    """Chunks are cut by copies, some of them on other machines."""
    table = Table(6000)
    known, other = table.known, copied(table.known)
    found = table.summed()
    mine, theirs = known.best_cut(found), other.best_cut(found)
    assert (mine.chance, mine.size, mine.cut.column, mine.cut.scope) == (
        theirs.chance,
        theirs.size,
        theirs.cut.column,
        theirs.cut.scope,
    )
    assert mine.cut.left.tolist() == theirs.cut.left.tolist()
    halves = grow(other, table.codes, table.values, [table.root])
    assert [half.tolist() for half in halves] == [half.tolist() for half in table.grown()]


def test_a_decision_does_not_depend_on_who_has_which_value():
    table = Table(6000)
    known = table.known
    best = known.best_cut(table.summed())
    values = table.values.copy()
    values[table.rows] = np.sort(values[table.rows])
    other = known.best_cut(table.summed(values))
    assert best.cut.column == other.cut.column
    assert best.cut.left.tolist() == other.cut.left.tolist()


def test_a_cut_that_is_chosen_has_the_size_that_was_foretold():
    table = Table(6000)
    known = table.known
    best = known.best_cut(table.summed())
    left, right = table.root.halves(table.codes, known.wave, best)
    assert len(left.rows) == best.size
    assert len(left.rows) + len(right.rows) == len(table.rows)
    assert len(left.wave) + len(right.wave) == table.first.size


# ---------------------------------------------------------------------------------------- sides


def test_codes_decide_the_side_and_records_outside_the_scope_lie_right():
    codes = np.array([[0, 1, 1, 2, 1, 0], [3, 3, 4, 3, 3, 4]], np.int32)
    left = np.array([True, True, False])
    assert Cut(0, left).sides(codes).tolist() == [1, 1, 1, 0, 1, 1]
    assert Cut(0, left, Scope(1, 3)).sides(codes).tolist() == [1, 1, 0, 0, 1, 0]


def test_cuts_take_no_more_risk_than_is_left():
    """Every cut takes a part of what the cuts above have left to its records."""
    table = Table(6000)
    known = table.known
    found = table.summed()
    best = known.best_cut(found)
    assert best.chance <= RISK * found.size / known.records
    halves = table.root.halves(table.codes, known.wave, best)
    assert [half.spent for half in halves] == [best.chance / found.size] * 2
    spent = sum(half.spent * len(half.rows) for half in halves)
    assert spent == pytest.approx(best.chance)
    assert known.best_cut(found, RISK / known.records) is None or best.chance == 0


def test_records_of_a_kind_have_equal_codes_and_all_are_counted():
    codes = np.random.default_rng(0).integers(0, 3, (2, 50)).astype(np.int32)
    kinds = Kinds.of(codes)
    assert np.array_equal(kinds.codes[:, kinds.of_row], codes)
    assert len(np.unique(kinds.codes, axis=1).T) == kinds.codes.shape[1]
    assert kinds.times.sum() == 50


def test_scopes_are_large_groups_of_unordered_columns():
    known = Table(600).known
    assert known.scopes[0] == Scope()
    assert 1 < len(known.scopes) <= 5
    for scope, number in product(known.scopes[1:], range(3)):
        if scope.column == number:
            assert known.columns[number].positions is None
            assert 0 <= scope.code < known.columns[number].size
