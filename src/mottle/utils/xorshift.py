"""Fast random numbers for kernels, for choices that do not matter to privacy."""

from __future__ import annotations

import numpy as np

from mottle.typing import UInt64Array
from mottle.utils.compiled import inner_kernel, kernel

__all__ = ["below", "fraction"]


@inner_kernel
def fraction(state: UInt64Array) -> float:
    """Draw a number in [0, 1) by Marsaglia's xorshift.

    Parameters
    ----------
    state : uint64 array of shape (1,)
        The state of the generator, which is not 0; it is advanced.

    Returns
    -------
    float
        The number.
    """
    word = state[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    state[0] = word
    return float(word >> np.uint64(11)) * 2.0**-53


@kernel
def below(state: UInt64Array, bound: int) -> int:
    """Draw an integer in ``0 .. bound - 1``.

    Parameters
    ----------
    state : uint64 array of shape (1,)
        The state of the generator, which is not 0; it is advanced.
    bound : int
        How many values are possible.

    Returns
    -------
    int
        The number.
    """
    return int(fraction(state) * bound)
