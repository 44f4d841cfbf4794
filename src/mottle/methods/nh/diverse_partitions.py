"""NH10 §6: lexicographic partitions that are ℓ-diverse (Fig. 8 with other conditions to merge).

A partition is *diverse* if no sensitive value has a share of more than 1/ℓ of its records.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mottle.typing import Int32Array, Int64Array, UInt64Array
from mottle.utils.compiled import inner_kernel, kernel
from mottle.utils.xorshift import below

NEAREST, FIRST = 0, 1  # which part is joined: the nearest that helps, or the first; `_partner`
_NONE = -1
_REACH = 32  # parts on either side that are tried for a diverse union


class _Parts(NamedTuple):
    """The parts of one call of Fig. 8: a linked list of parts, each with a list of joined parts."""

    start: Int64Array  # [parts + 1]: first row of every part
    size: Int64Array  # number of rows, including those of the parts joined to it; 0 if joined
    most: Int64Array  # number of rows with its most frequent sensitive value
    joined: Int64Array  # the next part in the list of those joined to it
    tail: Int64Array  # the last part in that list
    left: Int64Array  # its left neighbour among the parts that are not joined to another
    right: Int64Array  # its right neighbour


@kernel
def diverse_partitions(
    rows: Int32Array,
    values: Int32Array,
    kinds: int,
    diversity: int,
    least: int,
    search: int = NEAREST,
    seed: int = 1,
) -> tuple[Int64Array, Int64Array]:
    """Places in the lexicographic order, sorted by partition, and where each partition begins.

    ``rows`` [n, d] are sorted lexicographically, ``values`` [n] are their sensitive values, codes
    below ``kinds``. A part that is not diverse, or has fewer than ``least`` rows, is joined with
    the neighbour that makes it diverse, the smaller one if both do; else with another part nearby;
    else with the next part, and so on. The paper says "find a partition" and "a random partition":
    with ``search`` `FIRST`, the first that helps, else one at random (``seed``, a random word that
    is not 0); neighbours lose less. Joined parts are not split further. Cost about O(n·d), in the
    worst case of `FIRST` O(n·p·d) for p parts.
    """
    n, attributes = rows.shape
    places, starts = np.empty(n, np.int64), [0]
    filled = 0
    counts = np.zeros(kinds, np.int64)
    state = np.array([seed], np.uint64)
    parts = _Parts(
        np.empty(n + 1, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
    )
    pending = [(0, n, 0)]
    while len(pending) > 0:
        first, last, attribute = pending.pop()
        while attribute < attributes and rows[first, attribute] == rows[last - 1, attribute]:
            attribute += 1
        splits = attribute < attributes and last - first >= 2 * least
        number = _cut(rows, values, first, last, attribute if splits else _NONE, counts, parts)
        part = 0
        while part != _NONE:
            while parts.size[part] < least or parts.most[part] * diversity > parts.size[part]:
                if search == FIRST:
                    partner = _first_partner(values, counts, parts, part, diversity, state)
                else:
                    partner = _partner(values, counts, parts, part, diversity)
                if partner == _NONE:
                    break  # even all rows together are not diverse
                _join(values, counts, parts, part, partner)
            part = parts.right[part]
        for part in range(number):
            if parts.size[part] == 0:
                continue  # joined to another part
            if splits and parts.joined[part] == _NONE:
                pending.append((parts.start[part], parts.start[part + 1], attribute + 1))
                continue
            piece = part
            while piece != _NONE:
                for place in range(parts.start[piece], parts.start[piece + 1]):
                    places[filled] = place
                    filled += 1
                piece = parts.joined[piece]
            starts.append(filled)
    return places, np.array(starts)


@inner_kernel
def _cut(
    rows: Int32Array,
    values: Int32Array,
    first: int,
    last: int,
    attribute: int,
    counts: Int64Array,
    parts: _Parts,
) -> int:
    """Cut rows ``first .. last - 1`` where the attribute changes; return the number of parts.

    A negative attribute means that they are one part.
    """
    number = 0
    start = first
    while start < last:
        end = last if attribute < 0 else start + 1
        while end < last and rows[end, attribute] == rows[start, attribute]:
            end += 1
        parts.start[number], parts.start[number + 1] = start, end
        parts.size[number] = end - start
        parts.joined[number], parts.tail[number] = _NONE, number
        parts.left[number], parts.right[number] = number - 1, number + 1
        parts.most[number] = _count(values, counts, parts, number, 1)
        _count(values, counts, parts, number, -1)
        number += 1
        start = end
    parts.right[number - 1] = _NONE
    return number


@kernel
def _count(values: Int32Array, counts: Int64Array, parts: _Parts, part: int, step: int) -> int:
    """Add ``step`` to the counts of a part's values; return the highest count on the way."""
    most = 0
    while part != _NONE:
        for place in range(parts.start[part], parts.start[part + 1]):
            counts[values[place]] += step
            most = max(most, counts[values[place]])
        part = parts.joined[part]
    return most


@inner_kernel
def _most_together(
    values: Int32Array, counts: Int64Array, parts: _Parts, one: int, other: int
) -> int:
    """Number of rows with the most frequent value of two parts together."""
    most = max(_count(values, counts, parts, one, 1), _count(values, counts, parts, other, 1))
    _count(values, counts, parts, one, -1)
    _count(values, counts, parts, other, -1)
    return most


@inner_kernel
def _diverse_together(
    values: Int32Array, counts: Int64Array, parts: _Parts, one: int, other: int, diversity: int
) -> bool:
    """Whether two parts together are diverse; for most pairs bounds on the counts decide."""
    size = parts.size[one] + parts.size[other]
    if max(parts.most[one], parts.most[other]) * diversity > size:
        return False
    if (parts.most[one] + parts.most[other]) * diversity <= size:
        return True
    return bool(_most_together(values, counts, parts, one, other) * diversity <= size)


@inner_kernel
def _partner(
    values: Int32Array, counts: Int64Array, parts: _Parts, part: int, diversity: int
) -> int:
    """The part to join: the nearest with which it is diverse, or the next one if there is none."""
    left, right = parts.left[part], parts.right[part]
    for _ in range(_REACH):
        left_does = left != _NONE and _diverse_together(
            values, counts, parts, part, left, diversity
        )
        right_does = right != _NONE and _diverse_together(
            values, counts, parts, part, right, diversity
        )
        if left_does and (not right_does or parts.size[left] < parts.size[right]):
            return int(left)
        if right_does:
            return int(right)
        left = _NONE if left == _NONE else parts.left[left]
        right = _NONE if right == _NONE else parts.right[right]
    return int(parts.right[part] if parts.right[part] != _NONE else parts.left[part])


@inner_kernel
def _first_partner(
    values: Int32Array,
    counts: Int64Array,
    parts: _Parts,
    part: int,
    diversity: int,
    state: UInt64Array,
) -> int:
    """The first part with which it is diverse; else a random one; _NONE if there is no other."""
    first = part
    while parts.left[first] != _NONE:
        first = parts.left[first]
    others = 0
    other = first
    while other != _NONE:
        if other != part:
            if _diverse_together(values, counts, parts, part, other, diversity):
                return int(other)
            others += 1
        other = parts.right[other]
    if others == 0:
        return _NONE
    chosen = below(state, others)
    other = first
    while chosen > 0 or other == part:
        chosen -= other != part
        other = parts.right[other]
    return int(other)


@inner_kernel
def _join(values: Int32Array, counts: Int64Array, parts: _Parts, part: int, other: int) -> None:
    """Join ``other`` to ``part``."""
    parts.most[part] = _most_together(values, counts, parts, part, other)
    parts.size[part] += parts.size[other]
    parts.size[other] = 0
    parts.joined[parts.tail[part]] = other
    parts.tail[part] = parts.tail[other]
    left, right = parts.left[other], parts.right[other]
    if left != _NONE:
        parts.right[left] = right
    if right != _NONE:
        parts.left[right] = left
