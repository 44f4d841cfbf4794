"""The conditions of a query on the items that a set holds, by the numbers of the items."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mottle.errors import UsageError
from mottle.queries.cells.items.index import Items
from mottle.queries.conditions import Conditions
from mottle.typing import Int64Array

MOST_CONDITIONS = 12  # conditions on items that have to hold together


class ItemConditions(NamedTuple):
    """All conditions on a set of items, combined."""

    some_of: list[Int64Array]  # at least one item of each list is held
    none_of: Int64Array  # none of these items is held
    known: bool  # whether a set can satisfy the conditions
    missing: bool  # whether a missing set satisfies them

    @classmethod
    def of(cls, items: Items, conditions: Conditions, *, generous: bool = False) -> ItemConditions:
        """Combine conditions; raise `UsageError` for ranges, or if there are too many.

        A record that holds a node may or may not hold an item below it. What is asked about the
        item becomes what every record that satisfies the new conditions satisfies for certain; or,
        if ``generous``, what every record satisfies that may satisfy the given ones.
        """
        some_of, none_of = [], [np.empty(0, np.int64)]
        for condition in conditions:
            if condition.has_range:
                raise UsageError(
                    f"The sets of column '{items.name}' have no order.",
                    f"Name items instead of a range: {{'{items.name}': ITEM}}.",
                )
            if condition.values is not None:
                some_of.append(_places(items, condition.values, nodes=generous))
            none_of.append(_places(items, condition.excluded, nodes=not generous))
        if len(some_of) > MOST_CONDITIONS:
            raise UsageError(
                f"There are {len(some_of)} conditions on the items of column '{items.name}'.",
                f"Use at most {MOST_CONDITIONS} in one query.",
            )
        return cls(
            some_of,
            np.unique(np.concatenate(none_of)),
            all(condition.known for condition in conditions),
            all(condition.missing for condition in conditions),
        )


def _places(items: Items, wanted: tuple[object, ...], *, nodes: bool) -> Int64Array:
    """Numbers of the wanted items, without those that no cell names: no record holds them.

    ``nodes``: with the nodes that are published in place of wanted items below them.
    """
    found: set[int] = set()
    for item in map(str, wanted):
        found.update(items.below(item).tolist())
        above = items.above(item) if nodes else None
        if above is not None:
            found.add(above)
    return np.array(sorted(found), np.int64)


def items_below_nodes(items: Items, conditions: Conditions) -> tuple[list[str], list[str]]:
    """The items that have to be held, and not to be held, of which only a node is published."""
    held, absent = [], []
    if items.hierarchy is not None:
        for condition in conditions:
            held += [
                one for one in map(str, condition.values or ()) if items.above(one) is not None
            ]
            absent += [one for one in map(str, condition.excluded) if items.above(one) is not None]
    return held, absent
