"""The registry of one-dimensional orders: any of them with any method that groups along an order.

FAST07 §5: "any other mapping from a multi-dimensional to an one-dimensional space can be used". An
order is a function from codes to the rows in turn; adding one means adding an entry to `ORDERS`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mottle.encoding.domain import Codes
from mottle.methods.base import MethodContext
from mottle.methods.options import MethodOption
from mottle.orderings import by_cardinality, lexicographic
from mottle.orderings.hilbert import BITS as PAPER_BITS
from mottle.orderings.hilbert import hilbert
from mottle.orderings.idistance import CENTRES as PAPER_CENTRES
from mottle.orderings.idistance import ROUNDS as PAPER_ROUNDS
from mottle.orderings.idistance import SAMPLE as PAPER_SAMPLE
from mottle.orderings.idistance import IDistanceMapping, idistance
from mottle.orderings.random_cuts import random_cuts
from mottle.orderings.unit_cube import FINER, length_of_axis, place
from mottle.typing import Float64Array, Int32Array, Int64Array

Order = Callable[[Codes, MethodContext], Int64Array]

MOST_BITS = 31
BITS = MethodOption(
    "bits",
    PAPER_BITS,
    "bits per dimension of the grid of the curve (FAST07 §6.1)",
    least=1,
    most=MOST_BITS,
)

_BY_FREQUENCY = "frequency"
CATEGORIES = MethodOption(
    "categories",
    _BY_FREQUENCY,
    "the order of categories along their axis, which FAST07 does not give",
    choices=(_BY_FREQUENCY, "alphabetical"),
)
_BY_LOSS = "loss"
AXES = MethodOption(
    "axes",
    _BY_LOSS,
    "numbers in sets have axes as long as what they can lose, or equal ones as in FAST07",
    choices=(_BY_LOSS, "equal"),
)
CENTRES = MethodOption(
    "centres", PAPER_CENTRES, "number of cluster centres (FAST07 §5)", least=1, most=100_000
)
SAMPLE = MethodOption(
    "sample", PAPER_SAMPLE, "share of the records that centres are found from", least=0, most=1
)
ROUNDS = MethodOption("rounds", PAPER_ROUNDS, "iterations of k-means", least=0, most=10_000)


def points(codes: Codes, context: MethodContext) -> Float64Array:
    """The records as points of the unit cube, by the options of the run."""
    return place(
        codes,
        by_frequency=context.option(CATEGORIES) == _BY_FREQUENCY,
        by_loss=context.option(AXES) == _BY_LOSS,
    )


def grid_bits(codes: Codes, context: MethodContext) -> int:
    """Bits per dimension of the grid: further ones where axes are shortened."""
    shortened = any(length_of_axis(domain) < 1 for domain in codes.domains)
    if context.option(AXES) == _BY_LOSS and shortened:
        return min(context.option(BITS) + FINER, MOST_BITS)
    return context.option(BITS)


def idistance_mapping(codes: Codes, context: MethodContext) -> IDistanceMapping:
    """The mapping of all records to distances from cluster centres, by the options of the run."""
    return idistance(
        points(codes, context),
        context.seed,
        context.option(CENTRES),
        sample=context.option(SAMPLE),
        rounds=context.option(ROUNDS),
        bits=grid_bits(codes, context),
    )


def _hilbert(codes: Codes, context: MethodContext) -> Int64Array:
    return hilbert(points(codes, context), grid_bits(codes, context))


def _idistance(codes: Codes, context: MethodContext) -> Int64Array:
    return idistance_mapping(codes, context).order


def _lexicographic(codes: Codes, context: MethodContext) -> Int64Array:
    return lexicographic(codes.matrix, codes.sizes, by_cardinality(codes.sizes))


def _median_cuts(codes: Codes, context: MethodContext) -> Int64Array:
    """Random median cuts of random columns down to single records: a k-d tree."""
    if not len(codes.sizes):
        return np.arange(codes.records)
    return random_cuts(codes.matrix, codes.sizes, 1, np.random.default_rng(context.seed))


# Orders of all rows by name; each depends on quasi-identifiers alone.
ORDERS: dict[str, Order] = {
    "hilbert": _hilbert,
    "idistance": _idistance,
    "lexicographic": _lexicographic,
    "median-cuts": _median_cuts,
}

ORDER = MethodOption(
    "order",
    "hilbert",
    "the order along which records are grouped; --order-by",
    choices=tuple(ORDERS),
)
ORDER_OPTIONS = (ORDER, BITS, CATEGORIES, AXES, CENTRES, SAMPLE, ROUNDS)  # with any order

_AS_GROUPED = "as-grouped"
RING = MethodOption(
    "ring",
    "lexicographic",
    "the order of a group's records around its ring (NH10 §5.1); with sensitive values, where all"
    " of a group's differ",
    choices=(*ORDERS, _AS_GROUPED),
)


def order_by(name: str, codes: Codes, context: MethodContext) -> Int64Array:
    """Return the rows in the order of a name.

    Parameters
    ----------
    name : str
        A name in `ORDERS`.
    codes : Codes
        The quasi-identifiers of all records.
    context : MethodContext
        The run's options and seed.

    Returns
    -------
    Int64Array
        [n]: the rows in turn.
    """
    return ORDERS[name](codes, context)


def around_rings(
    members: Int32Array, starts: Int64Array, codes: Codes, context: MethodContext
) -> Int32Array:
    """Return the records of every group in the order of its ring, by the option `RING`.

    Parameters
    ----------
    members : Int32Array
        [n]: rows, group after group.
    starts : Int64Array
        Where groups begin, and n.
    codes : Codes
        The quasi-identifiers of all records.
    context : MethodContext
        The run's options and seed.

    Returns
    -------
    Int32Array
        [n]: the same rows in the same groups.
    """
    name = context.option(RING)
    if name == _AS_GROUPED:
        return members
    rank = np.empty(codes.records, np.int64)
    rank[order_by(name, codes, context)] = np.arange(codes.records)
    group_of = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return members[np.lexsort((rank[members], group_of))]
