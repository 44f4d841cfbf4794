"""Tiers: separate records that need few buckets from those that need many, by counts and at random.

A value with cap c needs at least 1/c buckets. If one table held all records, its rarest value would
determine the number of buckets for everybody. So the rare values get a *tier* of their own, with as
many other records as it takes to keep them within their caps, and the rest get a tier with fewer
buckets; this may be repeated. How many records of each value go to which tier follows from how
often values occur in the table; which records these are is drawn at random. So it reveals nothing
(docs/guarantees.md): the membership of a tier is equally likely in every world that moves values
inside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mottle.guarantees.demand import ROUNDING, allowed
from mottle.methods.buckets.bucketization import expected_loss, good_fill, in_proportion
from mottle.methods.buckets.plan import SensitiveValues, counts_by_code, is_group, make_plan
from mottle.typing import Int64Array

_MANY_BUCKETS = 24  # number of buckets from which on a few more may leave fewer records over
_FEWEST_RECORDS = 200  # smaller tables have a single tier
_STEPS = 9  # most numbers of buckets at which tiers may be separated
_LEAST_STEP = 1.2  # least ratio between two such numbers
# Numbers of buckets that are tried for a tier of rare values, as multiples of the fewest.
_MORE_BUCKETS = (1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0)
_SLACK = 0.05  # share of records that a tier has beyond what the caps require, to fill its buckets
_PLANNED = 8  # number of candidate divisions into tiers that are compared by plans
_LEAST_GAIN = 0.02  # least gain, as a share of the loss expected without tiers


class Tier(NamedTuple):
    """Records that are put into the same number of buckets."""

    buckets: int
    counts: Int64Array  # [values]: number of records of each value

    @property
    def described(self) -> dict[str, int]:
        """Description for the certificate."""
        return {"buckets": self.buckets, "records": int(self.counts.sum())}

    @property
    def loss(self) -> float:
        """Expected total loss of its records."""
        records = int(self.counts.sum())
        return records * expected_loss(self.buckets, records)


def tiers_of(counts: Int64Array, values: SensitiveValues) -> list[Tier]:
    """The tiers of a table with the least expected loss, the one with most buckets first.

    ``counts``: number of records of each (joint) value.
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
    """The average degree of a record."""
    counted = [(tier.buckets, int(tier.counts.sum())) for tier in tiers]
    return sum(buckets * records for buckets, records in counted) / sum(
        records for _, records in counted
    )


def _buckets_needed(values: SensitiveValues) -> Int64Array:
    """By value, the fewest buckets such that its cap allows it to lie in one of them."""
    lowest = values.caps[values.sensitive_codes].min(axis=1)
    need: Int64Array = np.maximum(values.least, np.ceil(1 / lowest - ROUNDING)).astype(np.int64)
    return need


def _few_buckets(counts: Int64Array, values: SensitiveValues, fewest: int) -> int:
    """The fewest buckets or, if that is many, a few more that leave fewer records over."""
    if fewest < _MANY_BUCKETS or values.sensitive_codes.shape[1] > 1:
        return fewest
    present = np.flatnonzero(counts)
    caps = values.caps[values.sensitive_codes[present, 0]]
    return int(good_fill(counts[present], caps, values.least).shape[1])


def _ways(
    counts: Int64Array, values: SensitiveValues, need: Int64Array, steps: Int64Array | None = None
) -> Iterator[list[Tier]]:
    """Ways to divide the records into tiers, each with the rarest values first."""
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
    """A few of the numbers of buckets that values need, ascending, including the highest."""
    found = np.unique(need)
    least = max(_LEAST_STEP, float(found[-1] / found[0]) ** (1 / _STEPS))
    steps = [found[-1]]
    for number in found[-2::-1]:
        if steps[-1] >= least * number:
            steps.append(number)
    return np.array(steps[::-1])


def _tier_of_rare(
    counts: Int64Array, values: SensitiveValues, need: Int64Array, common: int
) -> Tier | None:
    """All values that need more than ``common`` buckets, and others in proportion; None for none.

    There are as few others as keep the rare values within their caps.
    """
    rare = np.where(need > common, counts, 0)
    if not rare.any():  # earlier tiers took them all
        return None
    others = counts - rare
    fewest = int(need[rare > 0].max())
    totals = counts_by_code(rare, values)
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
