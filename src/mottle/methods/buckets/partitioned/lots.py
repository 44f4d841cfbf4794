"""Lots for a table that is read region by region: counts first, then records.

How many records of each value a region gives to each place is drawn with the distribution that a
random assignment over the whole table would have (a multivariate hypergeometric draw); which
records these are is decided by the region's random order.
"""

from __future__ import annotations

import numpy as np

from mottle.typing import Int32Array, Int64Array, UInt32Array
from mottle.utils.compiled import inner_kernel, kernel
from mottle.utils.csprng import STREAM_WORDS, Purpose, Secret, below, open_stream

_PURPOSE = int(Purpose.NUMBERS)
_NEGLIGIBLE = 1e-18


def draw_counts(secret: Secret, quotas: Int64Array, counts: Int64Array) -> Int32Array:
    """Draw how many records of each value every region gives to every place.

    ``quotas`` [values, places] are filled by all regions together, whose ``counts`` [regions,
    values] have the same totals; every way to distribute the records is equally likely. Returns
    [regions, values, places].
    """
    return _draw_counts(secret.words, quotas.astype(np.int64), counts.astype(np.int64))


@kernel
def _draw_counts(key: UInt32Array, quotas: Int64Array, counts: Int64Array) -> Int32Array:
    stream = np.empty(STREAM_WORDS, np.uint32)
    open_stream(stream, key, _PURPOSE, 0)
    drawn = np.zeros((counts.shape[0], quotas.shape[0], quotas.shape[1]), np.int32)
    for value in range(quotas.shape[0]):
        for region in range(counts.shape[0]):
            total, sample = quotas[value].sum(), counts[region, value]
            for place in range(quotas.shape[1]):
                quota = quotas[value, place]
                taken = _hypergeometric(stream, quota, total - quota, sample)
                drawn[region, value, place] = taken
                quotas[value, place] -= taken
                total -= quota
                sample -= taken
    return drawn


@inner_kernel
def _hypergeometric(stream: UInt32Array, good: int, bad: int, sample: int) -> int:
    """Draw how many of ``sample`` records, drawn at random, are among the ``good``.

    By inversion, outwards from the most likely number; weights are relative to its probability.
    """
    low, high = max(0, sample - bad), min(good, sample)
    if low >= high:
        return low
    likeliest = min(max((sample + 1) * (good + 1) // (good + bad + 2), low), high)
    uniform = (np.float64(below(stream, 1 << 26)) * (1 << 27) + below(stream, 1 << 27)) / 2.0**53
    whole = 1.0
    for step in (1, -1):
        weight, number = 1.0, likeliest
        while weight > _NEGLIGIBLE and low <= number + step <= high:
            weight *= _ratio(number, step, good, bad, sample)
            number += step
            whole += weight
    left = uniform * whole - 1.0
    if left < 0:
        return likeliest
    for step in (1, -1):
        weight, number = 1.0, likeliest
        while weight > _NEGLIGIBLE and low <= number + step <= high:
            weight *= _ratio(number, step, good, bad, sample)
            number += step
            left -= weight
            if left < 0:
                return number
    return likeliest


@inner_kernel
def _ratio(number: int, step: int, good: int, bad: int, sample: int) -> float:
    """The probability of ``number + step`` divided by that of ``number``."""
    if step > 0:
        above = np.float64(good - number) * np.float64(sample - number)
        return above / (np.float64(number + 1) * np.float64(bad - sample + number + 1))
    above = np.float64(number) * np.float64(bad - sample + number)
    return above / (np.float64(good - number + 1) * np.float64(sample - number + 1))
