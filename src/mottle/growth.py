"""What it costs a published record to take in one more original: NCP growth, for kernels.

`Scales` holds the loss of `mottle.loss` as flat arrays, weights and denominators multiplied in, so
that a kernel adds up plain numbers: the loss of a record is the weighted mean NCP of its cells,
between 0 and 1, and the mean over records is GCP.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mottle.coding import Codes, Domain, Float64s, Form, Int32s
from mottle.loss import node_penalties, range_scale

Int64s = NDArray[np.int64]
Int8s = NDArray[np.int8]

SET, RANGE, NODE = 0, 1, 2
_FORMS = {Form.SET: SET, Form.RANGE: RANGE, Form.NODE: NODE}
FORBIDDEN = 1e6  # growth of an edge that may not be used; real growth is at most 1


class Scales(NamedTuple):
    """The loss of every column as arrays. Codes of column c lie at ``offset[c] + code``."""

    form: Int8s  # [d]
    step: Float64s  # [d] SET: cost of one more member; RANGE: cost of "or missing"
    missing: Int32s  # [d] code of the missing value, -1 for none
    offset: Int64s  # [d] where the codes of a column begin in flat arrays over all domains
    position: Float64s  # [all codes] RANGE: weighted place of the value on its line
    node: Int32s  # [all codes] NODE: the node of the value
    parent: Int32s  # [all nodes] NODE: the node above; the root is its own
    first_leaf: Int32s  # [all nodes] lowest code below the node
    last_leaf: Int32s  # [all nodes] highest code below the node
    penalty: Float64s  # [all nodes] weighted NCP of the node

    @property
    def domain_total(self) -> int:
        """Length of a flat array over all domains."""
        return len(self.position)


def scales(codes: Codes) -> Scales:
    """The loss of ``codes`` in the form kernels take."""
    sizes = codes.sizes
    offset = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    step = np.zeros(len(sizes))
    position = np.zeros(int(sizes.sum()))
    node = np.zeros(int(sizes.sum()), np.int32)
    trees: list[tuple[Int32s, Int32s, Int32s, Float64s]] = []
    nodes = 0
    all_weights = sum(domain.column.weight for domain in codes.domains)
    for column, domain in enumerate(codes.domains):
        weight = domain.column.weight / all_weights
        here = slice(offset[column], offset[column] + domain.size)
        if domain.form is Form.SET:
            step[column] = weight / max(domain.size - 1, 1)
        elif domain.form is Form.RANGE:
            scale, missing_step = range_scale(domain)
            step[column] = weight * missing_step / scale
            position[here] = domain.positions * (weight / scale)
        else:
            parent, first, last, penalty = _tree(domain)
            node[here] = nodes + _nodes_of_codes(domain)
            trees.append((parent + nodes, first, last, weight * penalty))
            nodes += len(parent)
    parents, firsts, lasts, penalties = zip(*trees, strict=True) if trees else ((), (), (), ())
    return Scales(
        form=np.array([_FORMS[domain.form] for domain in codes.domains], np.int8),
        step=step,
        missing=np.array([domain.missing for domain in codes.domains], np.int32),
        offset=offset.astype(np.int64),
        position=position,
        node=node,
        parent=_joined(parents, np.int32),
        first_leaf=_joined(firsts, np.int32),
        last_leaf=_joined(lasts, np.int32),
        penalty=_joined(penalties, np.float64),
    )


def _tree(domain: Domain) -> tuple[Int32s, Int32s, Int32s, Float64s]:
    """Parents, lowest and highest code and NCP of a hierarchy's nodes.

    The missing value becomes one more leaf below the root, numbered after the other nodes.
    """
    tree = domain.hierarchy
    assert tree is not None
    first, last = (bounds.astype(np.int32) for bounds in tree.extents)
    parents, penalty = tree.parents, node_penalties(domain)
    if domain.missing >= 0:
        last[tree.root] = domain.missing
        parents = np.append(parents, np.int32(tree.root))
        first, last = np.append(first, domain.missing), np.append(last, domain.missing)
        penalty = np.append(penalty, 0.0)
    return parents, first, last, penalty


def _nodes_of_codes(domain: Domain) -> Int32s:
    """The node of every code: leaves come first among the nodes, the missing value last."""
    assert domain.hierarchy is not None
    nodes = np.arange(domain.size, dtype=np.int32)
    if domain.missing >= 0:
        nodes[domain.missing] = len(domain.hierarchy.labels)
    return nodes


def _joined(arrays: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate(arrays).astype(dtype) if arrays else np.zeros(1, dtype)


@njit(cache=True, nogil=True)
def add_growth(
    scales: Scales, ordered: Int32s, box: Int32s, members: int,
    candidates: Int32s, count: int, marks: Int32s, mark: int, growth: Float64s,
) -> None:  # fmt: skip
    """Set ``growth[:count]`` to what each candidate would add to the loss of a box.

    ``box[:members]`` are the records (rows of ``ordered`` [n, d]) a published record stands for,
    ``candidates`` [d, ≥ count] the codes of the candidates, column after column. ``marks`` is
    scratch space over all domains in which ``mark`` has not been used before.
    """
    for candidate in range(count):
        growth[candidate] = 0.0
    for column in range(scales.form.size):
        offset = scales.offset[column]
        codes = candidates[column]
        if scales.form[column] == SET:
            for member in range(members):
                marks[offset + ordered[box[member], column]] = mark
            step = scales.step[column]
            for candidate in range(count):
                if marks[offset + codes[candidate]] != mark:
                    growth[candidate] += step
        elif scales.form[column] == RANGE:
            _add_range_growth(scales, ordered, box, members, codes, count, column, offset, growth)
        else:
            node = scales.node[offset + ordered[box[0], column]]
            for member in range(1, members):
                node = climb(scales, node, ordered[box[member], column])
            for candidate in range(count):
                above = climb(scales, node, codes[candidate])
                growth[candidate] += scales.penalty[above] - scales.penalty[node]


@njit(cache=True, nogil=True)
def _add_range_growth(
    scales: Scales, ordered: Int32s, box: Int32s, members: int,
    codes: Int32s, count: int, column: int, offset: int, growth: Float64s,
) -> None:  # fmt: skip
    missing = scales.missing[column]
    step = scales.step[column]
    lowest, highest = np.inf, -np.inf
    or_missing = False
    for member in range(members):
        code = ordered[box[member], column]
        if code == missing:
            or_missing = True
        else:
            position = scales.position[offset + code]
            lowest = min(lowest, position)
            highest = max(highest, position)
    only_missing = highest < lowest
    for candidate in range(count):
        code = codes[candidate]
        if code == missing:
            if not or_missing:
                growth[candidate] += step
        elif only_missing:
            growth[candidate] += step
        else:
            position = scales.position[offset + code]
            growth[candidate] += max(position - highest, 0.0) + max(lowest - position, 0.0)


@njit(cache=True, nogil=True)
def climb(scales: Scales, node: int, code: int) -> int:
    """The lowest node above ``node``, or itself, that has ``code`` below it."""
    while code < scales.first_leaf[node] or code > scales.last_leaf[node]:
        node = scales.parent[node]
    return node


@njit(cache=True, nogil=True)
def box_loss(
    scales: Scales, ordered: Int32s, box: Int32s, members: int, marks: Int32s, mark: int
) -> float:
    """Loss of a published record that stands for ``box[:members]``; ``mark`` as in add_growth."""
    loss = 0.0
    for column in range(scales.form.size):
        offset = scales.offset[column]
        if scales.form[column] == SET:
            distinct = 0
            for member in range(members):
                place = offset + ordered[box[member], column]
                if marks[place] != mark:
                    marks[place] = mark
                    distinct += 1
            loss += scales.step[column] * (distinct - 1)
        elif scales.form[column] == RANGE:
            lowest, _, highest, _, absent = _extremes(scales, ordered, box, members, column)
            if highest >= 0:
                loss += scales.position[offset + highest] - scales.position[offset + lowest]
                loss += scales.step[column] if absent > 0 else 0.0
        else:
            node = scales.node[offset + ordered[box[0], column]]
            for member in range(1, members):
                node = climb(scales, node, ordered[box[member], column])
            loss += scales.penalty[node]
    return loss


@njit(cache=True, nogil=True)
def add_savings(
    scales: Scales, ordered: Int32s, box: Int32s, members: int, counts: Int32s, saved: Float64s
) -> None:
    """Set ``saved[:members]`` to how much less is lost without each member of the box.

    ``counts`` is scratch space over all domains, all zero before and after.
    """
    for member in range(members):
        saved[member] = 0.0
    for column in range(scales.form.size):
        offset = scales.offset[column]
        if scales.form[column] == SET:
            for member in range(members):
                counts[offset + ordered[box[member], column]] += 1
            for member in range(members):
                if counts[offset + ordered[box[member], column]] == 1:
                    saved[member] += scales.step[column]
            for member in range(members):
                counts[offset + ordered[box[member], column]] = 0
            continue
        # Only a member that alone is lowest, highest or missing makes a difference.
        lowest, second_lowest, highest, second_highest, absent = _extremes(
            scales, ordered, box, members, column
        )
        missing = scales.missing[column]
        for member in range(members):
            code = ordered[box[member], column]
            if scales.form[column] == NODE:
                low = second_lowest if code == lowest else lowest
                high = second_highest if code == highest else highest
                if low != lowest or high != highest:
                    whole = climb(scales, scales.node[offset + lowest], highest)
                    part = climb(scales, scales.node[offset + low], high)
                    saved[member] += scales.penalty[whole] - scales.penalty[part]
            elif code == missing:
                if absent == 1 and highest >= 0:
                    saved[member] += scales.step[column]
            else:
                if code == lowest and second_lowest >= 0:
                    saved[member] += (
                        scales.position[offset + second_lowest] - scales.position[offset + lowest]
                    )
                if code == highest and second_highest >= 0:
                    saved[member] += (
                        scales.position[offset + highest] - scales.position[offset + second_highest]
                    )
                if second_lowest < 0 and absent > 0:
                    saved[member] += scales.step[column]


@njit(cache=True, nogil=True)
def _extremes(
    scales: Scales, ordered: Int32s, box: Int32s, members: int, column: int
) -> tuple[int, int, int, int, int]:
    """Lowest, second lowest, highest, second highest code (-1: none), and how many are missing.

    The second lowest of two equal ones is the same code again. In a hierarchy the missing value is
    a code like any other; it is the highest.
    """
    missing = scales.missing[column] if scales.form[column] == RANGE else -1
    lowest, second_lowest, highest, second_highest, absent = -1, -1, -1, -1, 0
    for member in range(members):
        code = ordered[box[member], column]
        if code == missing:
            absent += 1
            continue
        if lowest < 0 or code < lowest:
            lowest, second_lowest = code, lowest
        elif second_lowest < 0 or code < second_lowest:
            second_lowest = code
        if code > highest:
            highest, second_highest = code, highest
        elif code > second_highest:
            second_highest = code
    return lowest, second_lowest, highest, second_highest, absent
