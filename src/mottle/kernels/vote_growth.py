"""Cost of one more voter when sets are published by bit voting (SET12 §4): kernels.

An item is published if more than half of a record's preimages hold it, and every preimage for which
that is wrong costs the weight of its row. Let c of m voters hold an item, and let one more voter
join. If 2c > m + 1, the item is published whatever the new voter holds; if 2c = m or 2c = m + 1,
the new voter decides, and the others pay for it; if 2c < m, it is not published.

This loss has plateaus: a box in which a third of the voters hold an item costs the same whichever
of them stay, until more than half hold it. The *pull* of a box on a candidate has a slope there: it
is the growth of Ward's sum of squared differences from the mean, which is smaller the more of the
voters agree with the candidate. Refinement adds some of it to rank solutions of equal loss.

Votes are counted in scratch space: three numbers per item, all 0 before and after every call.

A table without sets has no item lists. Its kernels never call these functions, and Numba, which
prunes branches that test an argument for None, compiles nothing of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mottle.itemsets.bits import popcount
from mottle.typing import Float64Array, Int32Array, Int64Array, UInt64Array
from mottle.utils.compiled import inner_kernel, kernel

PULL = 0.5  # weight of the sum of squares
PLACES = 3  # entries per item in scratch space: number of holders, their weight, a number for it


class ItemLists(NamedTuple):
    """The items that the codes of columns of sets stand for, list after list."""

    step: Float64Array  # [d] cost of a wrong bit
    rows: Int64Array  # [d] index of the list of the column's code 0
    starts: Int64Array  # [lists + 1] where the items of each list begin
    items: Int32Array  # each has `PLACES` entries in flat arrays over domains
    weights: Int32Array  # [lists] cost of a wrong bit of the list, in steps


@inner_kernel
def add_growth_of_one(
    lists: ItemLists | None,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    codes: Int32Array,
    count: int,
    column: int,
    votes: Int32Array,
    growth: Float64Array,
) -> None:
    """Add to ``growth[:count]`` what each candidate costs as one more voter of a box."""
    if lists is None:
        return
    seen = np.empty(_most_items(lists, ordered, box, members, column), np.int32)
    distinct, total = _count(lists, ordered, box, members, column, votes, seen)
    certain, spared = 0, 0
    # From here on ``votes`` holds what a holder of the item is spared, and what the others are.
    for number in range(distinct):
        item = seen[number]
        held, turning = 2 * votes[item], 2 * votes[item + 1] - total
        votes[item], votes[item + 1] = 0, 0
        if held > members + 1:
            certain += 1
            votes[item] = 2
        elif held >= members:
            votes[item], votes[item + 1] = 1, turning
            spared += turning if held > members else 0
    step = lists.step[column]
    for candidate in range(count):
        row = lists.rows[column] + codes[candidate]
        first, last = lists.starts[row], lists.starts[row + 1]
        bits, others = certain + last - first, spared
        for at in range(first, last):
            item = PLACES * lists.items[at]
            bits -= votes[item]
            others -= votes[item + 1]
        growth[candidate] += step * (lists.weights[row] * bits + others)
    _forget(votes, seen, distinct)


@inner_kernel
def add_growth_of_all(
    lists: ItemLists | None,
    ordered: Int32Array,
    boxes: Int32Array,
    members: int,
    codes: Int32Array,
    size: int,
    column: int,
    votes: Int32Array,
    cost: Float64Array,
) -> None:
    """Add to ``cost[:size, :size]`` what each candidate costs as one more voter of each box.

    Only items that some box publishes or may publish make a difference between candidates. If many
    candidates hold them, candidates are turned into bitmaps over these items, and most of the work
    is counting bits; if few do, the cost of each item is added to its holders only.
    """
    if lists is None:
        return
    numbered = np.empty(_most_deciding(lists, ordered, boxes, members, size, column), np.int32)
    deciding = np.empty(numbered.size, np.int32)  # box after box: the numbers of its items
    turning = np.empty(numbered.size, np.int32)  # what the other voters save if it is published
    is_certain = np.empty(numbered.size, np.bool_)  # whether it is published in any case
    ends = np.empty(size + 1, np.int64)
    spared = np.zeros(size, np.int64)
    ends[0] = 0
    # A literal 0 for ``numbers`` would make Numba compile `_holders` a second time.
    filled, numbers = 0, int(np.int64(0))
    for place in range(size):
        box = boxes[place]
        seen = np.empty(_most_items(lists, ordered, box, members, column), np.int32)
        distinct, total = _count(lists, ordered, box, members, column, votes, seen)
        for at in range(distinct):
            item = seen[at]
            held = 2 * votes[item]
            if held >= members:
                if votes[item + 2] == 0:
                    numbered[numbers] = item
                    numbers += 1
                    votes[item + 2] = numbers
                deciding[filled] = votes[item + 2] - 1
                is_certain[filled] = held > members + 1
                turning[filled] = 2 * votes[item + 1] - total
                spared[place] += turning[filled] if held == members + 1 else 0
                filled += 1
        _forget(votes, seen, distinct)
        ends[place + 1] = filled
    words = (numbers + 63) // 64
    starts, holders = _holders(lists, codes, size, column, votes, numbers)
    by_lists = 0  # number of additions if every item goes to its holders instead of counting bits
    for at in range(filled):
        by_lists += starts[deciding[at] + 1] - starts[deciding[at]]
    if by_lists < size * size * words:
        _add_by_lists(
            lists,
            codes,
            size,
            column,
            deciding,
            turning,
            is_certain,
            ends,
            spared,
            starts,
            holders,
            cost,
        )
    else:
        held_by = _bitmaps(lists, codes, size, column, votes, words)
        _add_by_bits(
            lists, codes, size, column, deciding, turning, is_certain, ends, spared, held_by, cost
        )
    for number in range(numbers):
        votes[numbered[number] + 2] = 0


@inner_kernel
def _add_by_lists(
    lists: ItemLists,
    codes: Int32Array,
    size: int,
    column: int,
    deciding: Int32Array,
    turning: Int32Array,
    is_certain: NDArray[np.bool_],
    ends: Int64Array,
    spared: Int64Array,
    starts: Int32Array,
    holders: Int32Array,
    cost: Float64Array,
) -> None:
    """The costs of `add_growth_of_all` when candidates hold few of the deciding items."""
    step = lists.step[column]
    weight, whole = np.empty(size), np.empty(size)
    for candidate in range(size):
        row = lists.rows[column] + codes[candidate]
        weight[candidate] = step * lists.weights[row]
        whole[candidate] = lists.starts[row + 1] - lists.starts[row]
    for place in range(size):
        first, last = ends[place], ends[place + 1]
        sure = is_certain[first:last].sum()
        row_cost = cost[place]
        for candidate in range(size):
            row_cost[candidate] += weight[candidate] * (sure + whole[candidate])
            row_cost[candidate] += step * spared[place]
        for at in range(first, last):
            held = holders[starts[deciding[at]] : starts[deciding[at] + 1]]
            if is_certain[at]:
                for candidate in held:
                    row_cost[candidate] -= 2.0 * weight[candidate]
            else:
                others = step * turning[at]
                for candidate in held:
                    row_cost[candidate] -= weight[candidate] + others


@inner_kernel
def _add_by_bits(
    lists: ItemLists,
    codes: Int32Array,
    size: int,
    column: int,
    deciding: Int32Array,
    turning: Int32Array,
    is_certain: NDArray[np.bool_],
    ends: Int64Array,
    spared: Int64Array,
    held_by: UInt64Array,
    cost: Float64Array,
) -> None:
    """The costs of `add_growth_of_all` from candidates as bitmaps over the deciding items."""
    step = lists.step[column]
    certain, either = np.empty(held_by.shape[1], np.uint64), np.empty(held_by.shape[1], np.uint64)
    for place in range(size):
        first, last = ends[place], ends[place + 1]
        sure = _split(deciding[first:last], is_certain[first:last], certain, either)
        row_cost = cost[place]
        for candidate in range(size):
            row = lists.rows[column] + codes[candidate]
            bits = sure + lists.starts[row + 1] - lists.starts[row]
            for word in range(certain.size):
                held = held_by[candidate, word]
                bits -= popcount(held & certain[word]) + popcount(held & either[word])
            row_cost[candidate] += step * (lists.weights[row] * bits + spared[place])
        for at in range(first, last):
            if not is_certain[at]:
                word, bit = deciding[at] // 64, np.uint64(deciding[at] % 64)
                for candidate in range(size):
                    if (held_by[candidate, word] >> bit) & np.uint64(1):
                        row_cost[candidate] -= step * turning[at]


@inner_kernel
def add_pull_of_all(
    lists: ItemLists | None,
    ordered: Int32Array,
    boxes: Int32Array,
    members: int,
    codes: Int32Array,
    size: int,
    column: int,
    votes: Int32Array,
    cost: Float64Array,
) -> None:
    """Add to ``cost[:size, :size]`` the pull of each box on each candidate.

    With W the weight of a box and m its mean bitmap, a candidate x of weight w adds
    w · W / (w + W) · |x - m|² to the sum of squares.
    """
    if lists is None:
        return
    for place in range(size):
        box = boxes[place]
        seen = np.empty(_most_items(lists, ordered, box, members, column), np.int32)
        distinct, total = _count(lists, ordered, box, members, column, votes, seen)
        squares = 0.0  # sum of squares of the mean, times the weight
        for number in range(distinct):
            squares += float(votes[seen[number] + 1]) ** 2
        squares /= max(total, 1)
        step = PULL * lists.step[column]
        row_cost = cost[place]
        for candidate in range(size):
            row = lists.rows[column] + codes[candidate]
            first, last = lists.starts[row], lists.starts[row + 1]
            shared = 0
            for at in range(first, last):
                shared += votes[PLACES * lists.items[at] + 1]
            weight = float(lists.weights[row])
            away = squares + (last - first) * total - 2.0 * shared
            row_cost[candidate] += step * weight / (total + weight) * away
        _forget(votes, seen, distinct)


@inner_kernel
def votes_loss(
    lists: ItemLists | None,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    column: int,
    votes: Int32Array,
) -> float:
    """Total cost of all voters of a box."""
    if lists is None:
        return 0.0
    seen = np.empty(_most_items(lists, ordered, box, members, column), np.int32)
    distinct, total = _count(lists, ordered, box, members, column, votes, seen)
    wrong = 0
    for number in range(distinct):
        item = seen[number]
        published = 2 * votes[item] > members
        wrong += total - votes[item + 1] if published else votes[item + 1]
    _forget(votes, seen, distinct)
    return float(lists.step[column] * wrong)


@inner_kernel
def add_voter_savings(
    lists: ItemLists | None,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    column: int,
    votes: Int32Array,
    saved: Float64Array,
) -> None:
    """Add to ``saved[:members]`` each voter's own cost and what it costs the others.

    That is its growth on top of the other m - 1 voters, of whom c - 1 hold an item that it holds,
    and c an item that it lacks.
    """
    if lists is None:
        return
    seen = np.empty(_most_items(lists, ordered, box, members, column), np.int32)
    distinct, total = _count(lists, ordered, box, members, column, votes, seen)
    published, even, even_weight = 0, 0, 0
    for number in range(distinct):
        item = seen[number]
        published += 2 * votes[item] > members
        if 2 * votes[item] == members:
            even += 1
            even_weight += 2 * votes[item + 1] - total
    for member in range(members):
        row = lists.rows[column] + ordered[box[member], column]
        weight = lists.weights[row]
        first, last = lists.starts[row], lists.starts[row + 1]
        bits, others = published + last - first, even_weight + even * weight
        for at in range(first, last):
            item = PLACES * lists.items[at]
            held = 2 * votes[item]
            bits -= 2 if held > members else 0
            if held == members:
                others -= 2 * votes[item + 1] - total + weight
            elif held == members + 1:
                others -= 2 * votes[item + 1] - total - weight
        saved[member] += lists.step[column] * (weight * bits + others)
    _forget(votes, seen, distinct)


@kernel
def _count(
    lists: ItemLists,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    column: int,
    votes: Int32Array,
    seen: Int32Array,
) -> tuple[int, int]:
    """Count the holders of each item and their weight.

    ``seen[:distinct]`` are the places of the items in ``votes``; returns ``distinct`` and the total
    weight of the voters.
    """
    distinct, total = 0, 0
    for member in range(members):
        row = lists.rows[column] + ordered[box[member], column]
        weight = lists.weights[row]
        total += weight
        for at in range(lists.starts[row], lists.starts[row + 1]):
            item = PLACES * lists.items[at]
            if votes[item] == 0:
                seen[distinct] = item
                distinct += 1
            votes[item] += 1
            votes[item + 1] += weight
    return distinct, total


@inner_kernel
def _forget(votes: Int32Array, seen: Int32Array, distinct: int) -> None:
    for number in range(distinct):
        votes[seen[number]] = 0
        votes[seen[number] + 1] = 0


@inner_kernel
def _most_items(
    lists: ItemLists, ordered: Int32Array, box: Int32Array, members: int, column: int
) -> int:
    """Total number of items that the voters of a box hold, repeats included."""
    held = 0
    for member in range(members):
        row = lists.rows[column] + ordered[box[member], column]
        held += lists.starts[row + 1] - lists.starts[row]
    return held


@inner_kernel
def _most_deciding(
    lists: ItemLists, ordered: Int32Array, boxes: Int32Array, members: int, size: int, column: int
) -> int:
    """Upper bound on the number of items that at least half of a box holds, over all boxes."""
    most = 0
    for place in range(size):
        held = _most_items(lists, ordered, boxes[place], members, column)
        most += 2 * held // max(members, 1)
    return most


@inner_kernel
def _holders(
    lists: ItemLists, codes: Int32Array, size: int, column: int, votes: Int32Array, numbers: int
) -> tuple[Int32Array, Int32Array]:
    """Where the holders of each numbered item begin, and the candidates that hold it."""
    starts = np.zeros(numbers + 1, np.int32)
    for candidate in range(size):
        row = lists.rows[column] + codes[candidate]
        for at in range(lists.starts[row], lists.starts[row + 1]):
            starts[votes[PLACES * lists.items[at] + 2]] += 1
    starts[0] = 0
    for number in range(numbers):
        starts[number + 1] += starts[number]
    holders = np.empty(starts[numbers], np.int32)
    filled = starts[:numbers].copy()
    for candidate in range(size):
        row = lists.rows[column] + codes[candidate]
        for at in range(lists.starts[row], lists.starts[row + 1]):
            number = votes[PLACES * lists.items[at] + 2] - 1
            if number >= 0:
                holders[filled[number]] = candidate
                filled[number] += 1
    return starts, holders


@inner_kernel
def _bitmaps(
    lists: ItemLists, codes: Int32Array, size: int, column: int, votes: Int32Array, words: int
) -> UInt64Array:
    """The candidates as bitmaps over the numbered items."""
    held_by = np.zeros((size, words), np.uint64)
    for candidate in range(size):
        row = lists.rows[column] + codes[candidate]
        for at in range(lists.starts[row], lists.starts[row + 1]):
            number = votes[PLACES * lists.items[at] + 2] - 1
            if number >= 0:
                held_by[candidate, number // 64] |= np.uint64(1) << np.uint64(number % 64)
    return held_by


@inner_kernel
def _split(
    deciding: Int32Array, is_certain: NDArray[np.bool_], certain: UInt64Array, either: UInt64Array
) -> int:
    """Fill bitmaps with the certain items of a box, and with these and the undecided ones.

    Returns the number of certain items.
    """
    certain[:] = 0
    either[:] = 0
    sure = 0
    for at in range(deciding.size):
        bit = np.uint64(1) << np.uint64(deciding[at] % 64)
        either[deciding[at] // 64] |= bit
        if is_certain[at]:
            certain[deciding[at] // 64] |= bit
            sure += 1
    return sure
