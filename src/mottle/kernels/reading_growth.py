"""Growth of what a reader of cells loses when a box takes in one more original: kernels.

A reader who knows how often values occur guesses at the value behind a cell of m preimages. Each of
the s values that a set lists belongs to at least one of them, so it has a chance of at least
a = 1/m; the rest u = 1 - s·a goes to the values by their frequencies f:

    p(v) = a + u · f(v) / M,    M = Σ f over the cell

Of a node he knows only the leaves below it, so s = 0 and p(v) = f(v) / M. What the guess loses,
expected over the preimages x of the cell, is by the Brier score Σ (p(v) - [v = x])²

    1 + s·a² + 2·a·u + u²·Q/M² - 2·(a + u·R/(m·M)),    Q = Σ f² over the cell, R = Σ f over members

and by the logarithmic score of the frequencies alone, -log f(x)/M,

    log M - L/m,    L = Σ log f over members.

Both are 0 for a cell of one value. They may shrink when a box grows, by a frequent value, so growth
may be negative. A table of a column that is not read in this way has no `Reading`, and Numba, which
prunes branches that test an argument for None, compiles nothing of this module for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from mottle.kernels.climbing import Tree, climb
from mottle.typing import Float64Array, Int8Array, Int32Array
from mottle.utils.compiled import inner_kernel

NCP, BRIER, LOGARITHM = 0, 1, 2  # scores of a column; NCP is computed elsewhere


class Reading(NamedTuple):
    """What readers know about columns; codes and nodes are stored as in `Scales`."""

    score: Int8Array  # [d] NCP, BRIER or LOGARITHM
    rate: Float64Array  # [d] weight of the column's score
    share: Float64Array  # [all codes] f of the value
    term: Float64Array  # [all codes] what a member adds to the last sum: f, or log f
    mass: Float64Array  # [all nodes] M of the leaves below
    squares: Float64Array  # [all nodes] Q of the leaves below


@inner_kernel
def is_read(reading: Reading | None, column: int) -> bool:
    """Whether the loss of a column is that of a reader."""
    if reading is None:
        return False
    return bool(reading.score[column] != NCP)


@njit(cache=True, nogil=True, inline="always")
def loss_of_cell(
    logarithm: bool, members: int, listed: float, mass: float, squares: float, terms: float
) -> float:
    """Loss of a cell; ``listed``: s, ``terms``: R or L."""
    each = 1.0 / members
    if logarithm:
        return float(np.log(mass) - terms * each)
    rest = 1.0 - listed * each
    scaled = rest / mass
    return float(
        1.0
        + listed * each * each
        + 2.0 * each * (rest - 1.0)
        + scaled * (scaled * squares - 2.0 * each * terms)
    )


@inner_kernel
def set_value_table(
    reading: Reading | None,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    codes: Int32Array,
    kinds: int,
    column: int,
    offset: int,
    counts: Int32Array,
    table: Float64Array,
) -> None:
    """Set ``table[:kinds]`` to what each of these codes adds to the loss of a box's set.

    ``counts`` is scratch space over all domains, all zero before and after.
    """
    if reading is None:
        return
    logarithm, rate = reading.score[column] == LOGARITHM, reading.rate[column]
    listed, mass, squares, terms = 0, 0.0, 0.0, 0.0
    for member in range(members):
        at = offset + ordered[box[member], column]
        terms += reading.term[at]
        if counts[at] == 0:
            counts[at] = 1
            share = reading.share[at]
            listed += 1
            mass += share
            squares += share * share
    before = loss_of_cell(logarithm, members, listed, mass, squares, terms)
    for number in range(kinds):
        at = offset + codes[number]
        new = counts[at] == 0
        if listed == 1 and not new:
            table[number] = 0.0
        else:
            f = reading.share[at] if new else 0.0
            after = loss_of_cell(
                logarithm,
                members + 1,
                listed + new,
                mass + f,
                squares + f * f,
                terms + reading.term[at],
            )
            table[number] = rate * (after - before)
    for member in range(members):
        counts[offset + ordered[box[member], column]] = 0


@inner_kernel
def set_node_table(
    reading: Reading | None,
    tree: Tree,
    first: int,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    codes: Int32Array,
    kinds: int,
    column: int,
    offset: int,
    table: Float64Array,
) -> None:
    """Set ``table[:kinds]`` to what each of these codes adds to the loss of a box's node.

    ``first`` is the node of the first member.
    """
    if reading is None:
        return
    node, terms = first, 0.0
    for member in range(members):
        code = ordered[box[member], column]
        node = climb(tree, node, code)
        terms += reading.term[offset + code]
    logarithm, rate = reading.score[column] == LOGARITHM, reading.rate[column]
    before = loss_of_cell(logarithm, members, 0, reading.mass[node], reading.squares[node], terms)
    for number in range(kinds):
        code = codes[number]
        above = climb(tree, node, code)
        after = loss_of_cell(
            logarithm,
            members + 1,
            0,
            reading.mass[above],
            reading.squares[above],
            terms + reading.term[offset + code],
        )
        table[number] = rate * (after - before)


@inner_kernel
def set_reading(
    reading: Reading | None,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    column: int,
    offset: int,
    marks: Int32Array,
    mark: int,
) -> float:
    """Loss of a box's set; ``marks`` are those of the column, without ``mark`` before."""
    if reading is None:
        return 0.0
    listed, mass, squares, terms = 0, 0.0, 0.0, 0.0
    for member in range(members):
        code = ordered[box[member], column]
        share = reading.share[offset + code]
        terms += reading.term[offset + code]
        if marks[code] != mark:
            marks[code] = mark
            listed += 1
            mass += share
            squares += share * share
    logarithm = reading.score[column] == LOGARITHM
    return float(
        reading.rate[column] * loss_of_cell(logarithm, members, listed, mass, squares, terms)
    )


@inner_kernel
def node_reading(
    reading: Reading | None,
    node: int,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    column: int,
    offset: int,
) -> float:
    """Loss of a box whose cell is ``node``."""
    if reading is None:
        return 0.0
    terms = 0.0
    for member in range(members):
        terms += reading.term[offset + ordered[box[member], column]]
    logarithm = reading.score[column] == LOGARITHM
    mass, squares = reading.mass[node], reading.squares[node]
    return float(reading.rate[column] * loss_of_cell(logarithm, members, 0, mass, squares, terms))


@inner_kernel
def add_set_savings(
    reading: Reading | None,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    column: int,
    offset: int,
    counts: Int32Array,
    saved: Float64Array,
) -> None:
    """Add to ``saved[:members]`` what removing each member takes from the loss of a box's set.

    ``counts`` are those of the column, all zero before and after.
    """
    if reading is None or members < 2:
        return
    listed, mass, squares, terms = 0, 0.0, 0.0, 0.0
    for member in range(members):
        code = ordered[box[member], column]
        terms += reading.term[offset + code]
        if counts[code] == 0:
            share = reading.share[offset + code]
            listed += 1
            mass += share
            squares += share * share
        counts[code] += 1
    logarithm, rate = reading.score[column] == LOGARITHM, reading.rate[column]
    before = loss_of_cell(logarithm, members, listed, mass, squares, terms)
    for member in range(members):
        code = ordered[box[member], column]
        alone = counts[code] == 1
        f = reading.share[offset + code] if alone else 0.0
        after = loss_of_cell(
            logarithm,
            members - 1,
            listed - alone,
            mass - f,
            squares - f * f,
            terms - reading.term[offset + code],
        )
        saved[member] += rate * (before - after)
    for member in range(members):
        counts[ordered[box[member], column]] = 0


@inner_kernel
def add_node_savings(
    reading: Reading | None,
    whole: int,
    parts: Int32Array,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    column: int,
    offset: int,
    saved: Float64Array,
) -> None:
    """Add to ``saved[:members]`` what removing each member takes from the loss of a box's node.

    ``whole`` is the node, ``parts[member]`` that of the others without the member.
    """
    if reading is None or members < 2:
        return
    terms = 0.0
    for member in range(members):
        terms += reading.term[offset + ordered[box[member], column]]
    logarithm, rate = reading.score[column] == LOGARITHM, reading.rate[column]
    before = loss_of_cell(logarithm, members, 0, reading.mass[whole], reading.squares[whole], terms)
    for member in range(members):
        part = parts[member]
        after = loss_of_cell(
            logarithm,
            members - 1,
            0,
            reading.mass[part],
            reading.squares[part],
            terms - reading.term[offset + ordered[box[member], column]],
        )
        saved[member] += rate * (before - after)
