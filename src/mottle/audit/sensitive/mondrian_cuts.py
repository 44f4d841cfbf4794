"""Groups that Mondrian left uncut: the cuts it must have tried, and the worlds that explain why."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mottle.guarantees.demand import ROUNDING
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array, UInt64Array
from mottle.utils.compiled import kernel
from mottle.utils.xorshift import below

STRICT, RELAXED = "strict", "relaxed"

# Which cuts each variation of the method tries, see `mottle.methods.mondrian`.
VARIATIONS = {
    "mondrian": (STRICT, RELAXED),
    "mondrian-strict": (STRICT,),
    "mondrian-relaxed": (RELAXED,),
}


class ExplainingWorlds(NamedTuple):
    """How often each person had each value in the worlds that explain an uncut group."""

    counts: Int64Array  # [people, values]
    accepted: int  # number of worlds that refuse all cuts

    def beliefs(
        self, values: NDArray[np.intp], caps: Float64Array
    ) -> tuple[Float64Array, Float64Array]:
        """For each person: the belief in the given value, and by how many σ it exceeds its cap."""
        belief = self.counts[np.arange(len(values)), values] / max(self.accepted, 1)
        least = 1 / max(self.accepted, 1)
        sigma = np.sqrt(np.maximum(belief * (1 - belief), least) * least)
        return belief, (belief - caps[values]) / sigma


def candidate_cuts(codes: Int32Array, least: int, variation: str) -> BoolArray:
    """The left sides, [cuts, people], of all cuts with enough records on both sides.

    ``codes`` [people, attributes] are those of one group in the order of the table. A strict cut
    puts all people at the median on one side; a relaxed one cuts into halves, with the first people
    at the median going left.
    """
    size = len(codes)
    found = []
    for values in codes.T:
        median = np.sort(values)[size // 2]
        equal = values == median
        below = values < median
        lefts = []
        if STRICT in VARIATIONS[variation]:
            lefts += [below | equal, below]
        if RELAXED in VARIATIONS[variation]:
            first = np.cumsum(equal) <= size // 2 - np.count_nonzero(below)
            lefts.append(below | (equal & first))
        found += [left for left in lefts if least <= np.count_nonzero(left) <= size - least]
    return np.unique(np.array(found, np.bool_).reshape(-1, size), axis=0)


def all_cuts_refused(cuts: BoolArray, sensitive_codes: Int32Array, caps: Float64Array) -> bool:
    """Whether no cut keeps the caps, given people's codes; otherwise one would have been made."""
    space = np.zeros(len(caps), np.int64)
    sizes = cuts.sum(axis=1).astype(np.int64)
    numbers = range(len(cuts))
    return all(
        _is_refused(cuts[cut], int(sizes[cut]), sensitive_codes, caps, space) for cut in numbers
    )


def sample_explaining_worlds(
    cuts: BoolArray,
    sensitive_codes: Int32Array,
    caps: Float64Array,
    values: Int64Array,
    tries: int,
    seed: int,
) -> ExplainingWorlds:
    """Permute the group's sensitive codes repeatedly, and keep the worlds that refuse all cuts.

    ``values`` numbers the value of each row of ``sensitive_codes`` from 0 on.
    """
    counts = np.zeros((len(sensitive_codes), int(values.max()) + 1), np.int64)
    sizes = cuts.sum(axis=1).astype(np.int64)
    state = np.random.default_rng(seed).integers(1, 2**63, 1).astype(np.uint64)
    return ExplainingWorlds(
        counts, int(_deal(cuts, sizes, sensitive_codes, caps, values, tries, state, counts))
    )


@kernel
def _is_refused(
    left: BoolArray, size: int, sensitive_codes: Int32Array, caps: Float64Array, counts: Int64Array
) -> bool:
    """Whether a cut puts some code beyond its cap on one side; ``counts`` are all zero."""
    people, attributes = sensitive_codes.shape
    refused = False
    for side in (True, False):
        records = size if side else people - size
        for person in range(people):
            if left[person] == side:
                for attribute in range(attributes):
                    code = sensitive_codes[person, attribute]
                    counts[code] += 1
                    refused |= counts[code] > caps[code] * records + ROUNDING
            if refused:
                break
        for person in range(people):
            for attribute in range(attributes):
                counts[sensitive_codes[person, attribute]] = 0
        if refused:
            break
    return refused


@kernel
def _deal(
    cuts: BoolArray,
    sizes: Int64Array,
    sensitive_codes: Int32Array,
    caps: Float64Array,
    values: Int64Array,
    tries: int,
    state: UInt64Array,
    counts: Int64Array,
) -> int:
    """Add the worlds that refuse all cuts to ``counts``, and return their number."""
    people = len(sensitive_codes)
    permuted = sensitive_codes.copy()
    order = np.arange(people)
    space = np.zeros(caps.size, np.int64)
    accepted = 0
    likeliest = 0  # the cut that was allowed last is tried first
    for _ in range(tries):
        for place in range(people - 1, 0, -1):
            other = below(state, place + 1)
            order[place], order[other] = order[other], order[place]
        for person in range(people):
            permuted[person] = sensitive_codes[order[person]]
        explains = True
        for step in range(len(cuts)):
            cut = (likeliest + step) % len(cuts)
            if not _is_refused(cuts[cut], sizes[cut], permuted, caps, space):
                explains, likeliest = False, cut
                break
        if explains:
            accepted += 1
            for person in range(people):
                counts[person, values[order[person]]] += 1
    return accepted
