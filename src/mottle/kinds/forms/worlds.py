"""Possible worlds of a set of items: a base set, uncertain items, and how many of them may differ.

NCP of a cell is the mean number of misreported items over the preimages of the cell, divided by the
mean number of items over all records (after SET12's error rate). Being missing is one more item. A
single cell may lose more than 1, where many items are misreported of people who hold more items
than others. The mean over a release is at most 1, since at most half of the preimages vote against
what is reported: over all cells, no more items are misreported than held.

Where items are published as nodes of a hierarchy, c, the mean NCP of the nodes that items are
published as, is lost anyway; of the rest, 1 - c, the share of misreported nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mottle.errors import DataError, PrivacyError
from mottle.kinds._arrow import arrow, pa, pc
from mottle.kinds.coarsening import Coarsening
from mottle.kinds.columns import Domain, ReleasedColumn
from mottle.kinds.forms.base import (
    LARGEST_PROFILE,
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
    not_the_original,
    register,
    truth,
)
from mottle.kinds.forms.grammar import joined, parse_cell, single
from mottle.kinds.forms.set import SetCells
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array
from mottle.utils.lazy import lazy_module

if TYPE_CHECKING:
    from mottle.itemsets import arrow as item_arrow
    from mottle.itemsets import columns as item_columns
    from mottle.itemsets import data as item_data
    from mottle.itemsets import hamming
    from mottle.itemsets.data import Sets
else:
    item_arrow = lazy_module("mottle.itemsets.arrow")
    item_columns = lazy_module("mottle.itemsets.columns")
    item_data = lazy_module("mottle.itemsets.data")
    hamming = lazy_module("mottle.itemsets.hamming")

PARTS = ("base", "uncertain", "distance")  # parts of a cell, each a column of a CSV file
SEPARATOR = ";"  # between the items of a set that is written as text, unless the schema names one


@dataclass(frozen=True)
class WorldCells(Cells):
    """Sets of items of one column, as bit voting publishes them (`mottle.graph.bit_voting`)."""

    base: SetCells  # items held by most of the preimages that are not missing
    uncertain: SetCells  # items held by some of these preimages, but not by all
    distance: Int32Array  # [rows] how many uncertain items may differ from the base
    known: BoolArray  # [rows] whether a set is possible; false where only missing is possible
    missing: BoolArray  # [rows] whether the missing value is possible
    wrong: NDArray[np.float64]  # [rows] items misreported of a preimage, the mean over all

    def take(self, rows: Int32Array) -> WorldCells:
        """The cells of the given rows."""
        return WorldCells(
            self.base.take(rows),
            self.uncertain.take(rows),
            self.distance[rows],
            self.known[rows],
            self.missing[rows],
            self.wrong[rows],
        )

    def is_well_formed(self, rows: int, domain: Domain) -> bool:
        """Whether there is one cell of known items for each row."""
        items = np.concatenate([self.base.values, self.uncertain.values, [0]])
        return bool(
            are_lists(self.base.offsets, self.base.values, rows)
            and are_lists(self.uncertain.offsets, self.uncertain.values, rows)
            and len(self.distance) == len(self.known) == len(self.missing) == rows
            and items.min() >= 0
            and items.max() < max(domain.items.universe, 1)
        )

    def check(self, preimages: Preimages, domain: Domain) -> str | None:
        """Invariant 2: every preimage is a possible world, or missing where that is possible."""
        sets, present = _sets_of_records(domain, preimages.codes)
        distance = np.where(self.known, self.distance, -1).astype(np.int32)
        try:
            preimages.check_votes(
                (self.base.offsets, self.base.values),
                (self.uncertain.offsets, self.uncertain.values),
                distance,
                sets,
                present,
            )
        except PrivacyError as error:
            return f"{error.problem} This is column '{domain.name}'."
        uncovered = preimages.unreported_missing(present, self.missing)
        if not uncovered:
            return None
        return (
            f"Invariant 2: {uncovered} cells of column '{domain.name}' miss that a preimage is"
            " missing."
        )

    def ncp(self, domain: Domain) -> Float64Array:
        """Items misreported by items held; where these are nodes, with the loss of the nodes."""
        return domain.least_loss + (1 - domain.least_loss) * (self.wrong / items_held(domain))

    def decode(self, domain: Domain) -> pa.Array:
        """Cells of struct<base, uncertain, distance, missing>."""
        unknown = pa.array(~self.known)
        return pa.StructArray.from_arrays(
            [
                _lists(domain.items.names, self.base, unknown),
                _lists(domain.items.names, self.uncertain, unknown),
                pa.array(self.distance, mask=~self.known),
                pa.array(self.missing),
            ],
            fields=list(domain.form.arrow_type(domain.values.type)),
        )

    def expected_features(self, domain: Domain) -> Float64Array:
        """Which of the most frequent items the base holds."""
        sets = domain.items.sets
        bases = sets._replace(starts=self.base.offsets, items=self.base.values)
        return item_data.frequent_items(sets, bases, LARGEST_PROFILE)


def _lists(names: pa.Array, cells: SetCells, unknown: pa.Array) -> pa.Array:
    members = names.take(pa.array(cells.values))
    return pa.ListArray.from_arrays(pa.array(cells.offsets, pa.int32()), members, mask=unknown)


def _sets_of_records(domain: Domain, codes: Int32Array) -> tuple[Sets, BoolArray]:
    """The items of every record, and whether it has a set at all."""
    return domain.items.sets.take(codes), codes != domain.missing


def items_held(domain: Domain) -> float:
    """Denominator of the loss of sets: the mean items of a record; 1 if no record holds any."""
    return domain.items.mean_items or 1.0


@register
class Worlds(Form):
    """Cells of struct<base, uncertain, distance, missing>, as text in three columns."""

    name = "worlds"
    kernel_code = 3
    has_items = True
    published_as = "sets of items, some of them uncertain; the most frequent items"

    def cover(self, preimages: Preimages, domain: Domain) -> WorldCells:
        """What most preimages hold, and what some of them do not."""
        votes, degrees = preimages.votes(*_sets_of_records(domain, preimages.codes))
        return WorldCells(
            base=SetCells(votes.base_starts, votes.base),
            uncertain=SetCells(votes.uncertain_starts, votes.uncertain),
            distance=votes.distance,
            known=votes.voters > 0,
            missing=votes.voters < degrees,
            wrong=votes.wrong / degrees,
        )

    def growth(self, domain: Domain, weight: float, degree: int) -> Growth:
        """The cost of one wrong item; the missing value is an item itself."""
        sizes, items = domain.items.sets.sizes, domain.items.sets.items
        if domain.missing >= 0:
            sizes = sizes + (np.arange(domain.size) == domain.missing)
            items = np.append(items, np.int32(domain.items.universe))
        step = weight * (1 - domain.least_loss) / (degree * items_held(domain))
        return Growth(step=step, lists=(sizes.astype(np.int64), items))

    def room(self, domain: Domain, places_of_item: int) -> int:
        """Kernels count votes by item, with room for being missing."""
        return places_of_item * (domain.items.universe + 1)

    def along_a_line(self, domain: Domain) -> Domain:
        """Sets as values on a line, as far from the one before in Gray order as items differ."""
        known = domain.size - (domain.missing >= 0)
        positions = np.zeros(domain.size)
        steps = hamming.steps(domain.items.sets, np.arange(known))[: max(known - 1, 0)]
        positions[1:known] = np.cumsum(steps) / max(steps.sum(), 1)
        return replace(domain, form=Form.RANGE, positions=positions, sets=None)

    def has_profile(self, domain: Domain) -> bool:
        """The most frequent items describe a column of any size."""
        return True

    def block_means(self, domain: Domain, codes: Int32Array, starts: Int64Array) -> Float64Array:
        """The shares of the records that hold each of the most frequent items."""
        sets = domain.items.sets
        held = item_data.frequent_items(sets, sets.take(codes), LARGEST_PROFILE)
        return np.asarray(np.add.reduceat(held, starts[:-1], axis=0) / np.diff(starts)[:, None])

    def as_items(
        self, domain: Domain, codes: Int32Array
    ) -> tuple[Int64Array, Int64Array, Float64Array]:
        """The items that records hold."""
        sets = domain.items.sets.take(codes)
        held_by = np.repeat(np.arange(len(codes)), sets.sizes)
        costs = np.full(domain.items.universe, (1 - domain.least_loss) / items_held(domain))
        return held_by, sets.items.astype(np.int64), costs

    def arrow_type(self, value_type: pa.DataType) -> pa.DataType:
        """Base, uncertain items, distance, and whether missing is possible."""
        return pa.struct(
            [
                ("base", value_type),
                ("uncertain", value_type),
                ("distance", pa.int32()),
                ("missing", pa.bool_()),
            ]
        )

    def value_type(self, cell_type: pa.DataType) -> pa.DataType:
        """The type of the base."""
        return cell_type.field("base").type

    def original_values(self, values: pa.Array, column: ReleasedColumn) -> pa.Array:
        """Sorted lists of items, from lists or from text."""
        if not (item_arrow.is_list(values.type) or arrow.is_plain(values.type)):
            raise not_the_original(column.name, values.type, "sets of items")
        separator = column.separator or SEPARATOR
        try:
            lists = item_columns.sorted_lists(pa.chunked_array([values]), column.name, separator)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise not_the_original(column.name, values.type, "sets of items") from None
        return lists.combine_chunks()

    def text_columns(self, name: str) -> tuple[str, ...]:
        """One column for each part of a cell."""
        return tuple(f"{name}.{part}" for part in PARTS)

    def texts(self, cells: pa.Array, rule: Coarsening | None = None) -> tuple[pa.Array, ...]:
        """Base, uncertain items and distance."""
        base, uncertain, distance, *flags = cells.flatten()
        missing = flags[0] if flags else pa.scalar(False)  # in releases of sets none is missing
        known = base.is_valid()
        no_items = pa.scalar([], pa.list_(pa.string()))
        bases, others = (joined(pc.coalesce(part, no_items))[1] for part in (base, uncertain))
        nothing = pa.scalar(None, pa.string())
        bar = pc.if_else(missing, "|", "")
        return (
            pc.if_else(known, pc.binary_join_element_wise("{", bases, "}", ""), nothing),
            pc.binary_join_element_wise("{", others, bar, "}", ""),
            pc.if_else(known, pc.cast(distance, pa.string()), nothing),
        )

    def cell_texts(self, cells: pa.Array) -> pa.Array:
        """Cells for people: ``{flu} ± 1 of {asthma|diabetes}``."""
        base, uncertain, distance = self.texts(cells)
        doubtful = pc.binary_join_element_wise(base, " ± ", distance, " of ", uncertain, "")
        return pc.coalesce(pc.if_else(pc.equal(uncertain, "{}"), base, doubtful), "")

    def from_texts(
        self,
        texts: Sequence[pa.Array],
        value_type: pa.DataType,
        rule: Coarsening | None = None,
    ) -> pa.Array:
        """Cells from their three parts."""
        try:
            base, uncertain, distance = texts
            return self._typed(base, uncertain, distance, value_type)
        except (pa.ArrowException, ValueError):
            raise DataError("A cell is not a set of items.") from None

    def parse(
        self, texts: list[str], value_type: pa.DataType, rule: Coarsening | None = None
    ) -> pa.Array:
        """One text cannot be read back."""
        raise ValueError("a set of items is in three cells")

    def _typed(
        self, base: pa.Array, uncertain: pa.Array, distance: pa.Array, value_type: pa.DataType
    ) -> pa.Array:
        bases = [None if text is None else _items(text) for text in base.to_pylist()]
        others = [_items(text) for text in uncertain.to_pylist()]
        known = [items is not None for items in bases]
        missing = [None in items for items in others]
        listed = [
            [item for item in items if item is not None] if has_base else None
            for items, has_base in zip(others, known, strict=True)
        ]
        return pa.StructArray.from_arrays(
            [
                pa.array(bases, value_type),
                pa.array(listed, value_type),
                pc.cast(distance, pa.int32()),
                pa.array(missing, pa.bool_()),
            ],
            fields=list(self.arrow_type(value_type)),
        )

    def flaw(self, cells: pa.Array, column: ReleasedColumn) -> str | None:
        """Parts that do not belong together; in releases of sets no set may be missing."""
        base, uncertain, distance, *flags = cells.flatten()
        unknown = base.is_null()
        possible = flags[0] if flags else pa.scalar(False)
        if cells.null_count or any(flag.null_count for flag in flags):
            return "a cell that says nothing"
        if pc.any(pc.and_(unknown, pc.invert(possible))).as_py():
            return "a set without a base"
        if not all(unknown.equals(part.is_null()) for part in (uncertain, distance)):
            return "a set without its uncertain items or their number"
        if any(pc.list_flatten(part).null_count for part in (base, uncertain)):
            return "an item without a name"
        excess = pc.less(pc.list_value_length(uncertain), distance)
        if pc.any(pc.or_(pc.less(distance, 0), excess)).as_py():
            return "more differing items than uncertain ones"
        return None

    def stored_by(self, layout: Layout[Described, Stored], column: Described) -> Stored:
        """In its parts, where the database has no such type."""
        return layout.store_worlds(column)

    def seen_by(self, view: View[Described, Stored], cells: pa.Array, column: Described) -> Stored:
        """As possible sets of items."""
        return view.of_worlds(cells, column)

    def inside(self, cells: pa.Array, others: pa.Array, column: ReleasedColumn) -> BoolArray:
        """Whether every possible set of a cell is one of the other cell's.

        The items in which the bases differ have to be uncertain in the other cell, and so do the
        cell's own uncertain items. The possible set furthest from the other base flips as many of
        the items in which the bases agree as its distance allows.
        """
        parts = [*cells.flatten()[:2], *others.flatten()[:2]]
        items, row_of = zip(*(members_of(part) for part in parts), strict=True)
        coded = pa.concat_arrays(items).dictionary_encode()
        codes = coded.indices.to_numpy().astype(np.int64)
        keys = np.concatenate(row_of) * max(len(coded.dictionary), 1) + codes
        base, uncertain, other_base, other_uncertain = np.split(
            keys, np.cumsum([len(part) for part in items])[:-1]
        )
        distance, other_distance = (
            pc.fill_null(part.flatten()[2], -1).to_numpy() for part in (cells, others)
        )
        rows, universe = len(distance), max(len(coded.dictionary), 1)
        differing = np.setxor1d(base, other_base)
        doubtful = uncertain[distance[uncertain // universe] > 0]
        impossible = np.setdiff1d(np.union1d(differing, doubtful), other_uncertain)
        differences = np.bincount(differing // universe, minlength=rows)
        free = np.bincount(np.setdiff1d(uncertain, differing) // universe, minlength=rows)
        contained = differences + np.minimum(distance, free) <= other_distance
        contained[impossible // universe] = False
        missing, other_missing = (truth(part.flatten()[3]) for part in (cells, others))
        within: BoolArray = ((distance < 0) | contained) & (~missing | other_missing)
        return within

    def widths(self, cells: pa.Array, column: ReleasedColumn) -> Float64Array:
        """How many items may differ from the base, and nodes of it stand for several items."""
        distance = pc.fill_null(cells.field("distance"), 0).to_numpy(zero_copy_only=False)
        widths = np.asarray(distance, np.float64)
        if column.hierarchy is None:
            return widths
        items, row_of = members_of(cells.field("base"))
        broad = pa.array(set(column.hierarchy.labels) - set(column.hierarchy.leaves), pa.string())
        several = np.asarray(pc.is_in(items, value_set=broad), np.float64)
        return widths + np.bincount(row_of, several, minlength=len(cells))

    def width_in_words(self, width: float) -> str:
        """How many items may differ from the base."""
        return f"up to {width:,.0f} items otherwise"


def _items(text: str | None) -> list[str | None]:
    """The members of a set written with braces, of any number."""
    if text is None or not (text.startswith("{") and text.endswith("}")):
        raise ValueError("not a set")
    if text == "{}":
        return []
    items = [single(member) for member in parse_cell(text)]
    return items if items != [None, None] else [None]
