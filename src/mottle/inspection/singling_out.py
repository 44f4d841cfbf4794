"""How many rows are singled out when an adversary knows one, two, three … columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from mottle.typing import Int32Array, Int64Array

__all__ = ["KnownColumns", "group_sizes", "row_keys", "singled_out"]

_WORK = 30_000_000  # cells that are looked at for each number of columns
_FEWEST_TRIED, _MOST_TRIED = 30, 600  # combinations
_DEEPEST = 6
_WORST_SHOWN = 3

UInt64Array = np.ndarray


@dataclass(frozen=True)
class KnownColumns:
    """What an adversary achieves who knows a number of columns."""

    columns: int  # how many are known
    average: float  # share of the rows that are singled out, over combinations tried
    worst: tuple[tuple[tuple[str, ...], float], ...]  # the worst combinations, with their shares
    tried: int  # combinations
    possible: int  # combinations there are


def row_keys(columns: Iterable[Int32Array], rows: int) -> UInt64Array:
    """Give every row a number that is the same where all columns are.

    Parameters
    ----------
    columns : iterable of Int32Array
        Codes of the rows.
    rows : int
        The number of rows.

    Returns
    -------
    numpy.ndarray
        64-bit hashes; different rows have the same one with a chance of about rows² / 2^65.
    """
    keys = np.zeros(rows, np.uint64)
    for codes in columns:
        keys = _mixed(keys + codes.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    return keys


def _mixed(keys: UInt64Array) -> UInt64Array:
    """The finalizer of splitmix64, a permutation of 64-bit numbers."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)))


def group_sizes(keys: UInt64Array) -> Int64Array:
    """Count the rows of every key.

    Parameters
    ----------
    keys : numpy.ndarray
        As from `row_keys`.

    Returns
    -------
    Int64Array
        The number of rows of each different key.
    """
    ordered = np.sort(keys)
    starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    return np.asarray(np.diff(np.concatenate([[0], starts, [len(keys)]])), np.int64)


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
            likely = _extended(bad, names, tries - len(drawn))
        shares = {chosen: _share(chosen, columns, rows) for chosen in dict.fromkeys(drawn + likely)}
        ranked = sorted(shares, key=lambda chosen: -shares[chosen])
        bad = ranked[: max(1, tries // 10)]
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
        share = _share(tuple(names), columns, rows)
        found.append(KnownColumns(len(names), share, (), 1, 1))
    return tuple(found)


def _draw(names: Sequence[str], number: int, generator: np.random.Generator) -> tuple[str, ...]:
    places = np.sort(generator.choice(len(names), number, replace=False))
    return tuple(names[place] for place in places)


def _extended(
    bad: Sequence[tuple[str, ...]], names: Sequence[str], most: int
) -> list[tuple[str, ...]]:
    """Combinations of one more column, those of the worst first."""
    order = {name: place for place, name in enumerate(names)}
    made: dict[tuple[str, ...], None] = {}
    for chosen in bad:
        for name in names:
            if name not in chosen:
                made[tuple(sorted((*chosen, name), key=order.__getitem__))] = None
        if len(made) >= most:
            break
    return list(made)[:most]


def _share(chosen: Sequence[str], columns: Mapping[str, Int32Array], rows: int) -> float:
    sizes = group_sizes(row_keys((columns[name] for name in chosen), rows))
    return float((sizes == 1).sum() / rows)
