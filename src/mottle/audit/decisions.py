"""Repeating a method's decisions on other worlds, for the audit, which does not know methods.

Whoever made a release can hand the audit a `Replay`: a function that runs the method's decisions
again for another assignment of the sensitive values to the people. The pipeline makes one from the
certificate (`mottle.pipeline.replay`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mottle.typing import Int64Array


class Decision(NamedTuple):
    """What a method decided, apart from what it drew at random.

    Attributes
    ----------
    groups : bytes
        `signature_of_groups` of its graph; empty where groups depend on secret random numbers.
    facts : bytes
        Whatever else is public about its decisions, such as the number of blocks.
    """

    groups: bytes
    facts: bytes = b""


# From a world to the method's decisions in it; None if the method refuses the world. A world says
# for each person whose sensitive values the person has: ``source[i]`` is a row of the original.
Replay = Callable[[Int64Array], Decision | None]


def signature_of_groups(block: Int64Array, degree: Int64Array) -> bytes:
    """Return a signature of which originals are in one block, and of the degrees.

    Parameters
    ----------
    block : Int64Array
        [n]: the number of every original's block.
    degree : Int64Array
        [n]: the degree of that block.

    Returns
    -------
    bytes
        Equal for equal groups, however they are numbered.

    Examples
    --------
    >>> degree = np.array([2, 2, 1])
    >>> here = signature_of_groups(np.array([7, 7, 0]), degree)
    >>> here == signature_of_groups(np.array([1, 1, 5]), degree)
    True
    >>> here == signature_of_groups(np.array([1, 5, 5]), degree)
    False
    """
    _, first, number = np.unique(block, return_index=True, return_inverse=True)
    digest = hashlib.sha256(first[number.ravel()].astype("<i8").tobytes())
    digest.update(np.asarray(degree).astype("<i8").tobytes())
    return digest.digest()
