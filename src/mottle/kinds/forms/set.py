"""Sets of values: every possible value, the missing one a member like any other.

For a cell of attribute A, NCP = (count - 1) / (|A| - 1) (NH10 Def. 8, HKA15 eq. 2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from mottle.kinds._arrow import pa, pc
from mottle.kinds.coarsening import Coarsening
from mottle.kinds.columns import Domain, ReleasedColumn
from mottle.kinds.forms.base import (
    Cells,
    Described,
    Form,
    Growth,
    Layout,
    Preimages,
    Stored,
    View,
    are_lists,
    members_of,
    register,
)
from mottle.kinds.forms.grammar import cast_texts, joined, parse_cell, single
from mottle.kinds.forms.range import missed
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array
from mottle.utils.distinct_cells import distinct_lists


@dataclass(frozen=True)
class SetCells(Cells):
    """Sets of codes of one column, each ascending: row r has values[offsets[r]:offsets[r + 1]]."""

    offsets: Int64Array  # [rows + 1]
    values: Int32Array

    def take(self, rows: Int32Array) -> SetCells:
        """The cells of the given rows."""
        counts = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], counts)
        return SetCells(offsets, self.values[places])

    def is_well_formed(self, rows: int, domain: Domain) -> bool:
        """Whether offsets cut the values into one list for each row."""
        return are_lists(self.offsets, self.values, rows)

    def check(self, preimages: Preimages, domain: Domain) -> str | None:
        """Invariant 2 for sets of codes."""
        return missed(preimages.outside_sets(self.offsets, self.values), domain)

    def ncp(self, domain: Domain) -> Float64Array:
        """Members beyond the first, as a share of all others."""
        return np.asarray((np.diff(self.offsets) - 1) / max(domain.size - 1, 1))

    def decode(self, domain: Domain) -> pa.Array:
        """Lists of values."""
        members = domain.values.take(pa.array(self.values))
        return pa.ListArray.from_arrays(pa.array(self.offsets, pa.int32()), members)

    def distinct(self) -> Int32Array | None:
        """Cells are equal where their members are, which ascend."""
        found = distinct_lists(self.values, self.offsets)
        return None if found is None else found[1]

    def expected_features(self, domain: Domain) -> Float64Array:
        """Equal shares of all members."""
        lengths = np.diff(self.offsets)
        features = np.zeros((len(lengths), domain.size))
        row = np.repeat(np.arange(len(lengths)), lengths)
        features[row, self.values] = np.repeat(domain.form.weight(domain) / lengths, lengths)
        return features


@register
class ValueSet(Form):
    """Cells that are lists of values, as text ``{Divorced|Widowed}``."""

    name = "set"
    kernel_code = 0
    published_as = "sets of possible values"

    def cover(self, preimages: Preimages, domain: Domain) -> SetCells:
        """The distinct codes of the preimages."""
        return SetCells(*preimages.distinct())

    def growth(self, domain: Domain, weight: float, degree: int) -> Growth:
        """The cost of one more member."""
        return Growth(step=weight / max(domain.size - 1, 1))

    def coordinates(self, domain: Domain, counts: Int64Array) -> Float64Array:
        """Numbers and days lie at their values, as they do if they are published as ranges."""
        if not domain.kind.is_measured:
            return super().coordinates(domain, counts)
        positions = domain.kind.positions(domain.values)
        return Form.RANGE.coordinates(replace(domain, positions=positions), counts)

    def as_items(
        self, domain: Domain, codes: Int32Array
    ) -> tuple[Int64Array, Int64Array, Float64Array]:
        """An item is to be one of the values."""
        costs = np.full(domain.size, 1 / max(domain.size - 1, 1))
        return np.arange(len(codes)), codes.astype(np.int64), costs

    def arrow_type(self, value_type: pa.DataType) -> pa.DataType:
        """Lists of values."""
        return pa.list_(value_type)

    def value_type(self, cell_type: pa.DataType) -> pa.DataType:
        """The type of the members."""
        return cell_type.value_type

    def cell_texts(self, cells: pa.Array) -> pa.Array:
        """Such as ``{Divorced|Widowed}``."""
        members, texts = joined(cells)
        alone = pc.equal(pc.list_value_length(members), 1)
        return pc.if_else(alone, texts, pc.binary_join_element_wise("{", texts, "}", ""))

    def parse(
        self, texts: list[str], value_type: pa.DataType, rule: Coarsening | None = None
    ) -> pa.Array:
        """Sets from text."""
        parsed = [parse_cell(text) for text in texts]
        members = [single(member) for cell in parsed for member in cell]
        offsets = [0, *accumulate(len(cell) for cell in parsed)]
        values = cast_texts(members, value_type)
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)

    def flaw(self, cells: pa.Array, column: ReleasedColumn) -> str | None:
        """Sets without a member, or with the same one twice."""
        sizes = pc.fill_null(pc.list_value_length(cells), 0).to_numpy()
        if (sizes == 0).any():
            return "an empty set"
        members, row_of = members_of(cells)
        if pa.types.is_null(members.type):
            return "a member twice in one set" if (sizes > 1).any() else None
        if pa.types.is_floating(members.type) and pc.any(pc.is_nan(members)).as_py():
            return "a member that is not a number"
        known = pc.unique(members).drop_null()
        known = known.take(pc.sort_indices(known))
        codes = pc.fill_null(pc.index_in(members, value_set=known), len(known)).to_numpy()
        keys = row_of * (len(known) + 1) + codes
        if (np.diff(keys) <= 0).any() and len(np.unique(keys)) < len(keys):
            return "a member twice in one set"
        return None

    def stored_by(self, layout: Layout[Described, Stored], column: Described) -> Stored:
        """As a list."""
        return layout.store_list(column)

    def seen_by(self, view: View[Described, Stored], cells: pa.Array, column: Described) -> Stored:
        """As lists of members."""
        return view.of_members(cells, column)

    def named_values(self, cells: pa.Array, weights: Float64Array) -> tuple[pa.Array, Float64Array]:
        """The members of every set."""
        sizes = pc.list_value_length(cells).to_numpy()
        return cells.flatten(), np.repeat(weights / np.maximum(sizes, 1), sizes)

    def inside(self, cells: pa.Array, others: pa.Array, column: ReleasedColumn) -> BoolArray:
        """Whether every member is one of the other set."""
        members, row_of = members_of(cells)
        other_members, other_row_of = members_of(others)
        together = pa.concat_arrays([members, other_members]).dictionary_encode("encode")
        codes = together.indices.to_numpy().astype(np.int64)
        keys = np.concatenate([row_of, other_row_of]) * len(together.dictionary) + codes
        found = np.isin(keys[: len(members)], keys[len(members) :])
        contained: BoolArray = np.bincount(row_of[~found], minlength=len(cells)) == 0
        return contained

    def widths(self, cells: pa.Array, column: ReleasedColumn) -> Float64Array:
        """Members beyond the first."""
        return np.asarray(pc.list_value_length(cells).to_numpy() - 1, np.float64)

    def width_in_words(self, width: float) -> str:
        """The number of members."""
        return f"{width + 1:,.0f} possible values"
