"""Set-valued data: an item dictionary, and every record's items as a sorted list of codes.

The lists of all records are stored one after another in one array, so that a million baskets over
a hundred thousand items take a few bytes per item held, and no matrix. If records hold a large part
of all items, kernels work on packed bitmaps instead; `Sets` carries whichever is faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mottle.errors import DataError
from mottle.typing import Int32Array, Int64Array, UInt64Array
from mottle.utils import parallel
from mottle.utils.arrow import as_text, is_plain
from mottle.utils.compiled import kernel

NO_BITMAPS = np.empty((0, 0), np.uint64)
_WORD = 64
_WORDS_PER_ITEM = 16  # words of bitmaps that are compared in the time of one item of lists
_LARGEST_BITMAPS = 1 << 28  # bytes


class Sets(NamedTuple):
    """Records as sets of item codes, in the form that kernels take."""

    starts: Int64Array  # [n + 1]: where each record's items begin
    items: Int32Array  # codes, ascending and distinct within a record
    # [n, words]: the same sets as packed bitmaps, item 0 in the lowest bit; or [0, 0] for none
    words: UInt64Array
    universe: int  # number of different items

    @property
    def records(self) -> int:
        """Number of records."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> Int64Array:
        """Number of items of every record."""
        return np.diff(self.starts)

    def take(self, rows: Int64Array | Int32Array) -> Sets:
        """Return the records ``rows``, in that order."""
        sizes = self.sizes[rows]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        moved = np.repeat(self.starts[:-1][rows] - starts[:-1], sizes)
        items = self.items[moved + np.arange(starts[-1])]
        words = self.words[rows] if len(self.words) else self.words
        return Sets(starts, items, words, self.universe)


@dataclass(frozen=True)
class ItemSets:
    """Records that are sets of items, each with or without a sensitive label.

    Examples
    --------
    >>> data = ItemSets.of([["milk", "bread"], [], ["bread", "bread"]])
    >>> data.names.to_pylist(), data.starts.tolist(), data.items.tolist()
    (['bread', 'milk'], [0, 2, 2, 3], [0, 1, 0])
    >>> data.notes
    ('1 repeated item of a record was merged.',)
    """

    names: pa.Array  # the text of every item, by code
    starts: Int64Array  # [n + 1]: where each record's items begin
    items: Int32Array  # item codes, ascending and distinct within a record
    labels: pa.ChunkedArray | None = None  # [n]: the sensitive label of every record
    label_name: str = "label"
    column: str = "items"  # name of the column that holds the sets in a release
    notes: tuple[str, ...] = field(default=())  # remarks on the data; they never quote an item

    def __post_init__(self) -> None:
        if self.records == 0:
            raise DataError("There are no records.", "Give at least one set.")
        if self.records >= 2**31:
            raise DataError("There are more than 2,147,483,647 records.", "Split the data.")
        if self.labels is not None and len(self.labels) != self.records:
            raise DataError(
                f"There are {len(self.labels)} labels for {self.records} records.",
                "Give every record one label.",
            )

    @classmethod
    def of(
        cls,
        sets: Iterable[Iterable[object]],
        labels: Sequence[object] | None = None,
        label_name: str = "label",
    ) -> ItemSets:
        """Make records from Python collections; items are stored as text.

        Parameters
        ----------
        sets : iterable of iterables
            The items of each record.
        labels : sequence, optional
            The sensitive label of each record.
        label_name : str, default "label"
            Name of the label column in a release.

        Returns
        -------
        ItemSets
            The records; repeated items of a record are merged.

        Raises
        ------
        DataError
            If there are no records, or not one label for every record.
        """
        lists = [[str(item) for item in record] for record in sets]
        record_of = np.repeat(np.arange(len(lists)), [len(record) for record in lists])
        values = pa.array([item for record in lists for item in record], pa.large_string())
        data = cls.of_pairs(len(lists), record_of, values)
        return data if labels is None else data.with_labels(pa.array(labels), label_name)

    @classmethod
    def of_pairs(
        cls, records: int, record_of: Int64Array, values: pa.ChunkedArray | pa.Array
    ) -> ItemSets:
        """Make records from (record number, item) pairs in any order; null items are left out.

        Parameters
        ----------
        records : int
            Number of records.
        record_of : Int64Array
            The record number of each pair.
        values : pa.ChunkedArray or pa.Array
            The item of each pair.

        Returns
        -------
        ItemSets
            The records, with notes on items that were left out or merged.
        """
        missing = values.null_count
        if missing:
            present = pc.is_valid(values)
            record_of = record_of[np.asarray(present)]
            values = values.filter(present)
        codes, names = _encoded(values)
        keys = np.unique(record_of * max(len(names), 1) + codes)
        repeated = len(codes) - len(keys)
        held_by, items = np.divmod(keys, max(len(names), 1))
        sizes = np.bincount(held_by, minlength=records)
        return cls(
            names=names,
            starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            items=items.astype(np.int32),
            notes=tuple(notes_on_items(missing, repeated)),
        )

    @property
    def records(self) -> int:
        """Number of records."""
        return len(self.starts) - 1

    @property
    def universe(self) -> int:
        """Number of different items."""
        return len(self.names)

    @property
    def sizes(self) -> Int64Array:
        """Number of items of every record."""
        return np.diff(self.starts)

    def with_labels(self, labels: pa.ChunkedArray | pa.Array, name: str) -> ItemSets:
        """Return the same records, each with a sensitive label.

        Parameters
        ----------
        labels : pa.ChunkedArray or pa.Array
            [n]: the label of every record.
        name : str
            Name of the label column in a release.

        Returns
        -------
        ItemSets
            A copy with labels.

        Raises
        ------
        DataError
            If the labels have a nested type, or not one label belongs to every record.
        """
        if not is_plain(labels.type):
            raise DataError(
                f"The labels '{name}' are {labels.type} values, which release.csv cannot hold.",
                "Turn them into text.",
            )
        if not isinstance(labels, pa.ChunkedArray):
            labels = pa.chunked_array([labels])
        return replace(self, labels=labels, label_name=name)

    def record(self, number: int) -> list[str]:
        """Return the items of one record as text.

        Parameters
        ----------
        number : int
            Index of the record.

        Returns
        -------
        list of str
            Its items, in the order of their codes.
        """
        codes = self.items[self.starts[number] : self.starts[number + 1]]
        return [str(name) for name in self.names.take(pa.array(codes)).to_pylist()]

    def sets(self) -> Sets:
        """Return the records in the form that kernels take.

        Returns
        -------
        Sets
            The records, with bitmaps if those are faster to compare.
        """
        lists = Sets(self.starts, self.items, NO_BITMAPS, self.universe)
        words = words_for(self.universe) * self.records
        if 8 * words <= _LARGEST_BITMAPS and words <= _WORDS_PER_ITEM * len(self.items):
            return lists._replace(words=bitmaps(lists))
        return lists


def words_for(universe: int) -> int:
    """Number of 64-bit words in a bitmap over ``universe`` items."""
    return max(-(-universe // _WORD), 1)


def bitmaps(sets: Sets) -> UInt64Array:
    """Return the records as packed bitmaps."""
    packed = np.zeros((sets.records, words_for(sets.universe)), np.uint64)
    parallel.over_rows(lambda first, last: _pack(sets, first, last, packed), sets.records)
    return packed


def frequent_items(sets: Sets, lists: Sets, count: int) -> NDArray[np.float64]:
    """[records, count + 1]: 1 where a record of ``lists`` holds an item frequent in ``sets``.

    Columns are the ``count`` most frequent items of ``sets`` (fewer if there are fewer), followed
    by one column of zeros.

    >>> sets = ItemSets.of(["ab", "b", ""]).sets()
    >>> frequent_items(sets, sets, 1).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    """
    counts = np.bincount(sets.items, minlength=sets.universe)
    frequent = np.argsort(-counts, kind="stable")[:count]
    place_of = np.full(sets.universe, -1, np.int64)
    place_of[frequent] = np.arange(len(frequent))
    places = place_of[lists.items]
    among = places >= 0
    held_by = np.repeat(np.arange(lists.records), lists.sizes)
    held = np.zeros((lists.records, len(frequent) + 1))
    held[held_by[among], places[among]] = 1.0
    return held


def notes_on_items(missing: int, repeated: int) -> list[str]:
    """Say how many items were left out because they are missing, and merged as repeated.

    >>> notes_on_items(0, 2)
    ['2 repeated items of a record were merged.']
    """
    counted = (
        (missing, "missing item", "left out"),
        (repeated, "repeated item of a record", "merged"),
    )
    return [f"{_times(count, thing)} {done}." for count, thing, done in counted if count]


def _times(count: int, thing: str) -> str:
    """Subject and verb for a count of things, such as '2 repeated items were'.

    >>> _times(1, "missing item"), _times(2, "missing item")
    ('1 missing item was', '2 missing items were')
    """
    if count == 1:
        return f"1 {thing} was"
    return f"{count:,} {thing.replace('item', 'items', 1)} were"


def are_whole_numbers(names: pa.Array | pa.ChunkedArray) -> bool:
    """Whether all items are whole numbers, which are sorted as such.

    >>> are_whole_numbers(pa.array(["2", "10"])), are_whole_numbers(pa.array(["2", "x"]))
    (True, False)
    """
    return bool(pc.all(pc.match_substring_regex(names, r"^(0|[1-9]\d{0,17})$")).as_py())


def _encoded(values: pa.ChunkedArray | pa.Array) -> tuple[Int64Array, pa.Array]:
    """Codes of the items and their names, sorted as numbers if all of them are whole numbers.

    The order of the names must not reveal the order in which items were read, so they are sorted.
    """
    if not isinstance(values, pa.ChunkedArray):
        values = pa.chunked_array([values])
    texts = as_text(values, "item") if not pa.types.is_large_string(values.type) else values
    encoded = texts.dictionary_encode().unify_dictionaries().combine_chunks()
    names = pc.cast(encoded.dictionary, pa.string())
    keys = pc.cast(names, pa.int64()) if are_whole_numbers(names) else names
    order = pc.sort_indices(keys).to_numpy()
    code_of = np.empty(len(order), np.int64)
    code_of[order] = np.arange(len(order))
    return code_of[encoded.indices.to_numpy()], names.take(pa.array(order))


@kernel
def _pack(sets: Sets, first: int, last: int, packed: UInt64Array) -> None:
    for record in range(first, last):
        for place in range(sets.starts[record], sets.starts[record + 1]):
            item = sets.items[place]
            packed[record, item // 64] |= np.uint64(1) << np.uint64(item % 64)
