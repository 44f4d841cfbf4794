"""Fast random numbers for kernels, for choices that nobody has to hide."""

from __future__ import annotations

import numpy as np
from numba import njit

from mottle.typing import UInt64Array


@njit(cache=True, nogil=True)
def fraction(state: UInt64Array) -> float:
    """A number in [0, 1) by Marsaglia's xorshift; ``state[0]`` is not 0 and moves on."""
    word = state[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    state[0] = word
    return float(word >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True)
def below(state: UInt64Array, bound: int) -> int:
    """A whole number in ``0 .. bound - 1``."""
    return int(fraction(state) * bound)
