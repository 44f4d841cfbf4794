"""Counts of the values of a quasi-identifier, published with a release for its analysts.

An adversary who knows everybody's quasi-identifiers, as the adversary of every guarantee does,
learns nothing from their counts. Even so no count is of fewer than 5 people, or k if that is more:
rare values are counted together, with their neighbours where values have an order, and otherwise as
one group of all rare values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Domain
from mottle.guarantees.demand import Demand
from mottle.typing import Int32Array, Int64Array
from mottle.utils.untrusted.text import distinct_texts

MOST_GROUPS = 1000
LEAST_TOTAL = 5  # fewest people of a count, as is usual in official statistics


def least_total(demand: Demand, most: int = 1) -> int:
    """Return the smallest number of records that a published total may count.

    Parameters
    ----------
    demand : Demand
        What the guarantee demands.
    most : int
        The number of records of the person who has most.

    Returns
    -------
    int
        So many that they are of at least 5 people, or of k if that is more, whoever they are.

    Examples
    --------
    >>> least_total(Demand(7)), least_total(Demand(3), most=10)
    (7, 41)
    """
    return (max(demand.degree, LEAST_TOTAL) - 1) * max(most, 1) + 1


@dataclass(frozen=True)
class Totals:
    """Records by groups of values of one column.

    Where cells are ranges, group i is all values from ``values[i]`` up to the next one. Otherwise
    it is ``values[i]`` alone, and one more group is all other values. The missing value is in a
    group of its own, the last, or in another one if it is rare.
    """

    values: tuple[str, ...]  # as text
    counts: tuple[int, ...]  # [groups]
    missing: int = -1  # the group of the missing value, -1 if none is missing

    @classmethod
    def of(cls, domain: Domain, codes: Int32Array, least: int) -> Totals | None:
        """Count in groups of at least ``least`` records; None where values cannot be published."""
        return cls.of_counts(domain, np.bincount(codes, minlength=domain.size), least)

    @classmethod
    def of_counts(cls, domain: Domain, counts: Int64Array, least: int) -> Totals | None:
        """Count as `of`, from the number of records of each code."""
        rows = int(counts.sum())
        if domain.form.has_items or rows < least:
            return None
        count = _count_ranges if domain.form.has_intervals else _count_values
        groups = count(counts, domain.missing, least)
        if len(groups.counts) > MOST_GROUPS:
            groups = count(counts, domain.missing, max(least, -(-rows // MOST_GROUPS)))
        named = domain.values.take(pa.array(groups.named))
        texts = _as_text(named)
        if texts is None or len(groups.counts) > 2 * MOST_GROUPS:
            return None
        return cls(tuple(texts.to_pylist()), tuple(groups.counts), groups.missing)

    @property
    def facts(self) -> dict[str, Any]:
        """The entries in the metadata of the column."""
        return {"values": self.values, "counts": self.counts, "missing": self.missing}

    @classmethod
    def of_facts(cls, facts: dict[str, Any]) -> Totals:
        """Read totals from the entries in the metadata; raise ValueError for odd ones."""
        counts = facts["counts"]
        if any(type(count) is not int or not 0 <= count < 2**53 for count in counts):
            raise ValueError("a count that is none")
        return cls(distinct_texts(facts["values"]), tuple(counts), int(facts["missing"]))

    def check(self, value_type: pa.DataType, *, ranges: bool, ascending: bool) -> None:
        """Check that there is one count for each group; raise ValueError or an error of Arrow."""
        named = pc.cast(pa.array(self.values, pa.string()), value_type)
        others = 0 if ranges else 1  # a group of all values that are not named
        groups = len(named) + others
        if len(self.counts) not in (groups, groups + 1) or not -1 <= self.missing < len(
            self.counts
        ):
            raise ValueError("as many counts as groups are needed")
        if ascending and not pc.sort_indices(named).equals(
            pa.array(range(len(named)), pa.uint64())
        ):
            raise ValueError("groups of ranges ascend")


@dataclass(frozen=True)
class _Groups:
    named: Int64Array  # the codes that name groups
    counts: list[int]
    missing: int


def _count_ranges(counts: Int64Array, missing: int, least: int) -> _Groups:
    """Group neighbouring values until there are enough; add a rest to the group before it.

    A group ends at the first value with which it has enough records, and the next begins at the
    next value that occurs. Ends at more than `MOST_GROUPS` groups, which are too many.
    """
    absent = int(counts[missing]) if missing >= 0 else 0
    known = counts[:missing] if missing >= 0 else counts
    together = absent if absent < least else 0  # few missing values are counted with the lowest
    up_to = np.cumsum(known)  # [codes]: records of a code and all below it
    starts: list[int] = []
    sums: list[int] = []
    start, before = 0, -together
    while start < len(known) and len(starts) < MOST_GROUPS + 2:
        last = min(int(np.searchsorted(up_to, before + least)), len(known) - 1)
        starts.append(start)
        sums.append(int(up_to[last]) - before)
        before = int(up_to[last])
        start = int(np.searchsorted(up_to, before, side="right"))
    if len(sums) > 1 and sums[-1] < least:
        last = sums.pop()
        starts.pop()
        sums[-1] += last
    if absent >= least and sums and sums[-1] < least:  # too few known values for a group
        return _Groups(np.array(starts, np.int64), [sums[-1] + absent], 0)
    group = -1 if absent == 0 else 0
    if absent >= least:
        group = len(sums)
        sums.append(absent)
    return _Groups(np.array(starts, np.int64), sums, group)


def _count_values(counts: Int64Array, missing: int, least: int) -> _Groups:
    """Count frequent values singly and the rest together, if necessary with the rarest of them."""
    order = np.argsort(-counts, kind="stable")
    frequent = int(np.searchsorted(-counts[order], -least, side="right"))
    rest = int(counts[order[frequent:]].sum())
    while 0 < rest < least and frequent > 0:
        frequent -= 1
        rest += int(counts[order[frequent]])
    named = np.sort(order[:frequent])
    known = named[named != missing]
    sums = [*counts[known].tolist(), rest]
    group = -1
    if missing >= 0:
        group = len(known)
        if len(known) < len(named):
            group = len(sums)
            sums.append(int(counts[missing]))
    return _Groups(known, sums, group)


def _as_text(values: pa.Array) -> pa.Array | None:
    """Values as text; None if they cannot be read back from it."""
    try:
        texts = pc.cast(values, pa.string())
        again = pc.cast(texts, values.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return texts if again.equals(values) else None
