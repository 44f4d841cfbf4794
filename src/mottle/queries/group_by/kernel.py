"""The kernel of all group-bys: add every record to the groups that its cells allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils.compiled import kernel

if TYPE_CHECKING:
    from mottle.queries.engine import Queries
    from mottle.queries.group_by.columns import GroupingColumn


class KernelInput(NamedTuple):
    """The cells of all records, and how every cell is distributed over groups."""

    codes: Int32Array  # [columns, n]: cells, numbered over all columns
    offsets: Int64Array  # [cells + 1]: where the entries of each cell begin
    groups: Int64Array  # [entries]: what each adds to the number of the combined group
    shares: Float64Array  # [entries]: how likely each is; exactly 1 for certain


def kernel_input(
    queries: Queries, names: Sequence[str], columns: Mapping[str, GroupingColumn]
) -> KernelInput:
    """Concatenate the columns to group by; the last one varies fastest in combined groups."""
    codes = np.empty((len(names), queries.records), np.int32)
    offsets, groups, shares = [], [], []
    cells_before, entries_before = 0, 0
    strides = np.cumprod([1, *(len(columns[name].labels) for name in reversed(names))])[::-1][1:]
    for place, name in enumerate(names):
        own = columns[name].shares
        codes[place] = queries.column(name).of_row + np.int32(cells_before)
        offsets.append(own.offsets[:-1] + entries_before)
        groups.append(own.groups * strides[place])
        shares.append(own.shares)
        cells_before += len(own.offsets) - 1
        entries_before += len(own.groups)
    return KernelInput(
        codes,
        np.concatenate([*offsets, [entries_before]]).astype(np.int64),
        np.concatenate([np.empty(0, np.int64), *groups]).astype(np.int64),
        np.concatenate([np.empty(0), *shares]),
    )


@kernel
def add_up(
    codes: Int32Array,
    offsets: Int64Array,
    groups: Int64Array,
    shares: Float64Array,
    likely: Float64Array,
    times: Float64Array,
    selected: Int64Array | None,
    totals: Float64Array,
) -> None:
    """Add every record to the groups it may be in: all combinations of its cells' groups.

    Record ``row`` occurs ``times[row]`` times and satisfies the conditions with probability
    ``likely[row]``, or not at all if that is negative. The rows of ``totals`` are the expected
    counts, the sums of squared shares, and the certain and possible counts. Its columns are the
    groups ``selected``, which ascend, or all groups if that is None (Numba compiles the two cases
    separately). Combinations are enumerated depth first, a level for each column.
    """
    width = codes.shape[0]
    expected, squares, certain, possible = totals
    entry_at = np.zeros(width + 1, np.int64)
    group = np.zeros(width + 1, np.int64)
    share = np.zeros(width + 1)
    for row in range(codes.shape[1]):
        if likely[row] < 0.0:
            continue
        share[0] = likely[row]
        depth = 0
        if width > 0:
            entry_at[0] = offsets[codes[0, row]]
        while depth >= 0:
            if depth == width:
                place = group[depth]
                if selected is not None:
                    place = np.searchsorted(selected, group[depth])
                    if place == len(selected) or selected[place] != group[depth]:
                        place = -1
                if place >= 0:
                    expected[place] += times[row] * share[depth]
                    squares[place] += times[row] * share[depth] * share[depth]
                    certain[place] += times[row] * (share[depth] == 1.0)
                    possible[place] += times[row]
                depth -= 1
                continue
            entry = entry_at[depth]
            if entry == offsets[codes[depth, row] + 1]:
                depth -= 1
                continue
            entry_at[depth] += 1
            group[depth + 1] = group[depth] + groups[entry]
            share[depth + 1] = share[depth] * shares[entry]
            depth += 1
            if depth < width:
                entry_at[depth] = offsets[codes[depth, row]]
