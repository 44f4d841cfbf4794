"""Bit operations on packed item sets."""

from __future__ import annotations

import numpy as np

from mottle.utils.compiled import inner_kernel


@inner_kernel
def popcount(word: np.uint64) -> np.int64:
    """Number of bits that are set, by adding up fields of increasing width."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
