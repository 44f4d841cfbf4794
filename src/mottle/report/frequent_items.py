"""The most frequent items of published sets: in base sets, for certain, and possibly."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.report.svg import Bar
from mottle.typing import Int64Array

MOST_ITEMS = 15


def frequent_items(
    cells: pa.Array,
    counts: Int64Array,
    original: tuple[pa.Array, Int64Array] | None,
) -> list[Bar]:
    """The most frequent items, with the shares of the records that hold them.

    ``cells`` have fields base and uncertain, and each stands for ``counts`` records; ``original``
    are the owner's sets as lists, with their own counts.
    """
    base, uncertain = (cells.field(part) for part in ("base", "uncertain"))
    names = pa.concat_arrays([base.flatten(), uncertain.flatten()]).unique().drop_null()
    names = names.take(pc.sort_indices(names))
    held, doubted = _pairs(base, names), _pairs(uncertain, names)
    both = np.intersect1d(held, doubted)
    in_base, in_doubt, in_both = (
        _records(pairs, counts, len(names)) for pairs in (held, doubted, both)
    )
    records = max(int(counts.sum()), 1)
    before = None
    if original is not None:
        lists, times = original
        before = _records(_pairs(lists, names), times, len(names)) / max(int(times.sum()), 1)
    return [
        Bar(
            _text(names[item].as_py()),
            in_base[item] / records,
            (in_base[item] - in_both[item]) / records,
            (in_base[item] + in_doubt[item] - in_both[item]) / records,
            None if before is None else float(before[item]),
        )
        for item in np.argsort(-in_base, kind="stable")[:MOST_ITEMS].tolist()
    ]


def _text(item: object) -> str:
    return "(empty)" if item == "" else str(item)


def _pairs(lists: pa.Array, names: pa.Array) -> Int64Array:
    """A number for every pair of a set and an item of it that is among ``names``."""
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
    items = pc.index_in(lists.flatten().cast(names.type), value_set=names)
    known = items.is_valid().to_numpy(zero_copy_only=False)
    places = np.repeat(np.arange(len(sizes)), sizes)[known]
    pairs: Int64Array = places * len(names) + items.drop_null().to_numpy()
    return pairs


def _records(pairs: Int64Array, counts: Int64Array, universe: int) -> Int64Array:
    """The number of records that hold each item."""
    places, items = np.divmod(pairs, max(universe, 1))
    held = np.bincount(items, counts[places], minlength=universe)
    return held.astype(np.int64)
