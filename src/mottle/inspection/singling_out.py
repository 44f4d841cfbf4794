"""How many rows are singled out when an adversary knows one, two, three … columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from mottle.typing import Int32Array, Int64Array

__all__ = ["KnownColumns", "group_sizes", "hashes_of", "singled_out"]

_WORK = 15_000_000  # rows that are sorted for each number of columns
_FEWEST_TRIED, _MOST_TRIED = 20, 400  # combinations
_DEEPEST = 4
_TABLE = 1 << 21  # combinations up to which they are counted in a table
_WORST_SHOWN = 3
_KEPT_COLUMNS, _KEPT = 60, 20  # columns and combinations that are extended by one more column

UInt64Array = NDArray[np.uint64]


@dataclass(frozen=True)
class KnownColumns:
    """What an adversary achieves who knows a number of columns."""

    columns: int  # how many are known
    average: float  # share of the rows that are singled out, over combinations tried
    worst: tuple[tuple[tuple[str, ...], float], ...]  # the worst combinations, with their shares
    tried: int  # combinations
    possible: int  # combinations there are


def hashes_of(columns: Mapping[str, Int32Array]) -> dict[str, UInt64Array]:
    """Give every value of every column a random number.

    Sums of these numbers over columns are the same for rows with the same values; other rows have
    the same sum with a chance of about rows² / 2^65.

    Parameters
    ----------
    columns : mapping of str to Int32Array
        Codes of the rows by column.

    Returns
    -------
    dict of str to numpy.ndarray
        The number of every row's value, by column.
    """
    generator = np.random.default_rng(0)
    return {
        name: generator.integers(0, 2**64, int(codes.max(initial=0)) + 1, np.uint64)[codes]
        for name, codes in columns.items()
    }


def group_sizes(hashes: Sequence[UInt64Array], rows: int) -> Int64Array:
    """Count the rows of every combination of values.

    Parameters
    ----------
    hashes : sequence of numpy.ndarray
        Columns, as from `hashes_of`.
    rows : int
        The number of rows.

    Returns
    -------
    Int64Array
        The number of rows of each combination that occurs.
    """
    keys = np.zeros(rows, np.uint64)
    for column in hashes:
        keys += column
    keys.sort()
    starts = np.flatnonzero(keys[1:] != keys[:-1]) + 1
    return np.asarray(np.diff(np.concatenate([[0], starts, [rows]])), np.int64)


def singled_out(columns: Mapping[str, Int32Array], rows: int) -> tuple[KnownColumns, ...]:
    """Measure what adversaries achieve who know 1, 2, 3 … of some columns.

    Of many combinations, those that contain a bad one of fewer columns are tried, and some drawn at
    random, of which the average is taken; the same ones every time.

    Parameters
    ----------
    columns : mapping of str to Int32Array
        Codes of the rows by column.
    rows : int
        The number of rows.

    Returns
    -------
    tuple of KnownColumns
        For 1, 2, 3 … columns, and for all of them.

    Examples
    --------
    >>> codes = {"sex": np.array([0, 0, 1, 1], np.int32), "age": np.array([0, 0, 0, 1], np.int32)}
    >>> [(known.columns, known.average) for known in singled_out(codes, 4)]
    [(1, 0.125), (2, 0.5)]
    """
    names = list(columns)
    counter = _Counter.of(columns, rows)
    tries = int(np.clip(_WORK // max(rows, 1), _FEWEST_TRIED, _MOST_TRIED))
    generator = np.random.default_rng(0)
    found = []
    bad: list[tuple[str, ...]] = [()]
    for number in range(1, min(len(names), _DEEPEST) + 1):
        possible = comb(len(names), number)
        if possible <= tries:
            drawn = list(combinations(names, number))
            likely: list[tuple[str, ...]] = []
        else:
            drawn = [_draw(names, number, generator) for _ in range(_FEWEST_TRIED)]
            likely = counter.most_telling(_extended(bad, names), tries - len(drawn))
        shares = {chosen: counter.share(chosen) for chosen in dict.fromkeys(drawn + likely)}
        ranked = sorted(shares, key=lambda chosen: -shares[chosen])
        bad = counter.most_telling(ranked, _KEPT_COLUMNS) if number == 1 else ranked[:_KEPT]
        found.append(
            KnownColumns(
                number,
                float(np.mean([shares[chosen] for chosen in drawn])),
                tuple((chosen, shares[chosen]) for chosen in ranked[:_WORST_SHOWN]),
                len(shares),
                possible,
            )
        )
    if len(names) > _DEEPEST:
        share = counter.share(names)
        found.append(KnownColumns(len(names), share, (), 1, 1))
    return tuple(found)


def _draw(names: Sequence[str], number: int, generator: np.random.Generator) -> tuple[str, ...]:
    places = np.sort(generator.choice(len(names), number, replace=False))
    return tuple(names[place] for place in places)


def _extended(bad: Sequence[tuple[str, ...]], names: Sequence[str]) -> list[tuple[str, ...]]:
    """All combinations of a bad one and one more column."""
    order = {name: place for place, name in enumerate(names)}
    made = (
        tuple(sorted((*chosen, name), key=order.__getitem__))
        for chosen in bad
        for name in names
        if name not in chosen
    )
    return list(dict.fromkeys(made))


@dataclass(frozen=True)
class _Counter:
    """Counts rows with a combination of values of their own."""

    rows: int
    codes: Mapping[str, Int32Array]
    sizes: Mapping[str, int]  # number of values
    hashes: Mapping[str, UInt64Array]

    @classmethod
    def of(cls, columns: Mapping[str, Int32Array], rows: int) -> _Counter:
        sizes = {name: int(codes.max(initial=0)) + 1 for name, codes in columns.items()}
        return cls(rows, columns, sizes, hashes_of(columns))

    @cached_property
    def entropies(self) -> dict[str, float]:
        """How many bits each column tells about a row."""
        shares = {name: np.bincount(codes) / self.rows for name, codes in self.codes.items()}
        return {
            name: float(-(share * np.log2(share, where=share > 0, out=share * 0)).sum())
            for name, share in shares.items()
        }

    def most_telling(
        self, candidates: Sequence[tuple[str, ...]], most: int
    ) -> list[tuple[str, ...]]:
        """The combinations whose columns tell most, each by itself."""
        bits = {chosen: sum(self.entropies[name] for name in chosen) for chosen in candidates}
        return sorted(candidates, key=lambda chosen: -bits[chosen])[:most]

    def share(self, chosen: Sequence[str]) -> float:
        """The share of the rows that some columns single out."""
        if prod(self.sizes[name] for name in chosen) <= _TABLE:  # a count for every combination
            keys = np.zeros(self.rows, np.int32)
            for name in chosen:
                keys = keys * np.int32(self.sizes[name]) + self.codes[name]
            sizes = np.bincount(keys)
        else:
            sizes = group_sizes([self.hashes[name] for name in chosen], self.rows)
        return float((sizes == 1).sum() / self.rows)
