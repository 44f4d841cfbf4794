"""Tiers: records that need few buckets apart from those that need many, by counts and lots alone.

A value with cap c needs at least 1/c buckets. Were one table to hold them all, its rarest value
would decide the number of buckets for everybody. So the rare values get a *tier* of their own, with
as many others as it takes to keep them within their caps, and everybody else a tier of fewer
buckets; perhaps several such steps. How many records of each value go to which tier follows from
how often values occur in the table; which ones is drawn by lot. So it tells an adversary nothing
(docs/guarantees.md): who is in a tier is as likely in every world that moves values inside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mottle.guarantees.demand import ROUNDING, allowed
from mottle.methods.buckets.bucketization import expected_loss, good_fill, in_proportion
from mottle.methods.buckets.plan import Values, by_mark, is_group, make_plan
from mottle.typing import Int64Array

_MANY_BUCKETS = 24  # from which on a few more may leave fewer records over
_FEWEST_RECORDS = 200  # that may be parted
_STEPS = 9  # numbers of buckets at which tiers may part
_LEAST_STEP = 1.2  # between two such numbers
_MORE_BUCKETS = (1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0)  # than the fewest, for a tier of rare values
_SLACK = 0.05  # share of records that a tier has beyond what caps ask for, so that buckets fill
_PLANNED = 8  # ways that are judged by plans
_LEAST_GAIN = 0.02  # of the loss expected without tiers


class Tier(NamedTuple):
    """Records that share a number of buckets."""

    buckets: int
    counts: Int64Array  # [values]: how many records of each

    @property
    def described(self) -> dict[str, int]:
        """For the certificate."""
        return {"buckets": self.buckets, "records": int(self.counts.sum())}

    @property
    def loss(self) -> float:
        """What its records may be expected to lose, all together."""
        records = int(self.counts.sum())
        return records * expected_loss(self.buckets, records)


def tiers_of(counts: Int64Array, values: Values) -> list[Tier]:
    """The tiers of a table that promise the least loss, that with most buckets first.

    ``counts``: how often each (joint) value occurs.
    """
    need = _buckets_needed(values)
    whole = Tier(_few_buckets(counts, values, int(need[counts > 0].max())), counts)
    if counts.sum() < _FEWEST_RECORDS:
        return [whole]
    found = [(sum(tier.loss for tier in way), way) for way in _ways(counts, values, need)]
    known: dict[tuple[int, bytes], float] = {}

    def planned(tier: Tier) -> float:
        key = (tier.buckets, tier.counts.tobytes())
        if key not in known:
            known[key] = make_plan(tier.counts, values, tier.buckets).loss
        return known[key]

    best, least = [whole], (1 - _LEAST_GAIN) * planned(whole)
    for loss, tiers in sorted(found, key=lambda pair: pair[0])[:_PLANNED]:
        if loss < least and (loss := sum(map(planned, tiers))) < least:
            best, least = tiers, loss
    return best


def edges_per_record(tiers: Sequence[Tier]) -> float:
    """The degree of a record on average."""
    counted = [(tier.buckets, int(tier.counts.sum())) for tier in tiers]
    return sum(buckets * records for buckets, records in counted) / sum(
        records for _, records in counted
    )


def _buckets_needed(values: Values) -> Int64Array:
    """By value, the fewest buckets of which it may lie in one."""
    lowest = values.caps[values.sensitive_codes].min(axis=1)
    need: Int64Array = np.maximum(values.least, np.ceil(1 / lowest - ROUNDING)).astype(np.int64)
    return need


def _few_buckets(counts: Int64Array, values: Values, fewest: int) -> int:
    """The fewest buckets, or where that is many a few more that leave fewer records over."""
    if fewest < _MANY_BUCKETS or values.sensitive_codes.shape[1] > 1:
        return fewest
    present = np.flatnonzero(counts)
    caps = values.caps[values.sensitive_codes[present, 0]]
    return int(good_fill(counts[present], caps, values.least).shape[1])


def _ways(
    counts: Int64Array, values: Values, need: Int64Array, steps: Int64Array | None = None
) -> Iterator[list[Tier]]:
    """Ways to part the records, each with the rarest values first."""
    if steps is None:
        steps = _steps(need[counts > 0])
    yield [Tier(int(need[counts > 0].max()), counts)]
    for place in range(len(steps) - 1):
        tier = _tier_of_rare(counts, values, need, int(steps[place]))
        if tier is None:
            continue
        rest = counts - tier.counts
        if rest.any() and is_group(tier.counts, values) and is_group(rest, values):
            for way in _ways(rest, values, need, steps[: place + 1]):
                yield [tier, *way]


def _steps(need: Int64Array) -> Int64Array:
    """A few of the numbers of buckets that values need, ascending, to the highest."""
    found = np.unique(need)
    least = max(_LEAST_STEP, float(found[-1] / found[0]) ** (1 / _STEPS))
    steps = [found[-1]]
    for number in found[-2::-1]:
        if steps[-1] >= least * number:
            steps.append(number)
    return np.array(steps[::-1])


def _tier_of_rare(counts: Int64Array, values: Values, need: Int64Array, common: int) -> Tier | None:
    """All values that need more than ``common`` buckets, and others in proportion; None for none.

    As few others as keep the rare ones within their caps.
    """
    rare = np.where(need > common, counts, 0)
    if not rare.any():  # those before took them all
        return None
    others = counts - rare
    fewest = int(need[rare > 0].max())
    totals = by_mark(rare, values)
    best: Tier | None = None
    for more in _MORE_BUCKETS:
        buckets = int(np.ceil(fewest * more))
        most = np.maximum(allowed(values.caps, buckets), 1)
        size = max(int(np.ceil(totals / most).max()), -(-int(rare.sum()) // buckets))
        records = (size + int(size * _SLACK)) * buckets
        if records < rare.sum() + others.sum():
            tier = Tier(buckets, rare + in_proportion(others, records - int(rare.sum())))
            best = tier if best is None or tier.loss < best.loss else best
    return best
