"""The registry of one-dimensional orders: any of them with any method that groups along an order.

FAST07 §5: "any other mapping from a multi-dimensional to an one-dimensional space can be used". An
order is a function from codes to the rows in turn; adding one means adding an entry to `ORDERS`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mottle.encoding.domain import Codes
from mottle.methods.base import MethodContext
from mottle.methods.fast07.hilbert import BITS, CATEGORIES, points
from mottle.methods.fast07.idistance import CENTRES, ROUNDS, SAMPLE, mapping
from mottle.methods.options import MethodOption
from mottle.orderings import by_cardinality, lexicographic
from mottle.orderings.hilbert import hilbert
from mottle.orderings.random_cuts import random_cuts
from mottle.typing import Int32Array, Int64Array

Order = Callable[[Codes, MethodContext], Int64Array]


def _hilbert(codes: Codes, context: MethodContext) -> Int64Array:
    return hilbert(points(codes, context), context.option(BITS))


def _idistance(codes: Codes, context: MethodContext) -> Int64Array:
    return mapping(codes, context).order


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
ORDER_OPTIONS = (ORDER, BITS, CATEGORIES, CENTRES, SAMPLE, ROUNDS)  # of methods that take any order

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
