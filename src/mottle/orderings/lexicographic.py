"""Lexicographic order of coded records, attributes with few values first (NH10 §5.3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mottle.utils.sorting import stable_order

_KEY_BITS = 63


def by_cardinality(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sort attributes by ascending domain size; equal sizes keep their order.

    Two records that differ in an attribute with few values are costly to generalize together, so
    those attributes come first.

    Parameters
    ----------
    sizes : array of int64
        [d]: number of values of every attribute.

    Returns
    -------
    array of int64
        [d]: attributes in sorted order.

    Examples
    --------
    >>> by_cardinality(np.array([73, 9, 2, 9]))
    array([2, 1, 3, 0])
    """
    return np.argsort(sizes, kind="stable")


@dataclass(frozen=True)
class Packing:
    """How the codes of a row are packed into as few 63-bit keys as their domains need.

    Keys compare as the attributes do, most significant first.

    Examples
    --------
    >>> packing = Packing.of(np.array([3, 9]), np.array([1, 0]))
    >>> packing.unpack(packing.pack(np.array([[2, 8], [0, 5]], np.int32)))
    array([[2, 8], [0, 5]], dtype=int32)
    """

    attributes: tuple[int, ...]  # most significant first
    keys: tuple[int, ...]  # by attribute: the index of its key
    shifts: tuple[int, ...]  # by attribute: its lowest bit in the key
    bits: tuple[int, ...]  # by attribute: its width

    @classmethod
    def of(cls, sizes: NDArray[np.int64], attributes: NDArray[np.int64]) -> Packing:
        """Plan the packing of ``attributes``.

        Parameters
        ----------
        sizes : array of int64
            [d]: number of values of every attribute.
        attributes : array of int64
            The attributes to pack, most significant first.

        Returns
        -------
        Packing
            The plan.
        """
        bits = [max(int(sizes[attribute] - 1).bit_length(), 1) for attribute in attributes]
        keys: list[int] = []
        left = 0
        for width in bits:
            fits = width <= left
            keys.append(keys[-1] if fits else (keys[-1] + 1 if keys else 0))
            left = (left if fits else _KEY_BITS) - width
        shifts = [
            sum(
                width
                for width, other in zip(bits[place + 1 :], keys[place + 1 :], strict=True)
                if other == key
            )
            for place, key in enumerate(keys)
        ]
        return cls(tuple(map(int, attributes)), tuple(keys), tuple(shifts), tuple(bits))

    @property
    def count(self) -> int:
        """Number of keys."""
        return len(set(self.keys))

    def pack(self, matrix: NDArray[np.int32]) -> list[NDArray[np.int64]]:
        """Pack codes into keys.

        Parameters
        ----------
        matrix : array of int32
            [n, d]: the codes of every row.

        Returns
        -------
        list of arrays of int64
            `count` arrays [n], the most significant key first.
        """
        packed = [np.zeros(len(matrix), np.int64) for _ in range(self.count)]
        for attribute, key, shift in zip(self.attributes, self.keys, self.shifts, strict=True):
            packed[key] |= matrix[:, attribute].astype(np.int64) << shift
        return packed

    def unpack(self, packed: Sequence[NDArray[np.int64]]) -> NDArray[np.int32]:
        """Invert `pack`.

        Parameters
        ----------
        packed : sequence of arrays of int64
            Keys as `pack` returns them.

        Returns
        -------
        array of int32
            [n, d]: the codes of every row.
        """
        rows = len(packed[0]) if packed else 0
        matrix = np.empty((rows, len(self.attributes)), np.int32)
        for attribute, key, shift, bits in zip(
            self.attributes, self.keys, self.shifts, self.bits, strict=True
        ):
            matrix[:, attribute] = (packed[key] >> shift) & ((1 << bits) - 1)
        return matrix


def lexicographic(
    matrix: NDArray[np.int32], sizes: NDArray[np.int64], attributes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Sort rows by ``attributes``, most significant first.

    Codes are packed into as few 63-bit keys as their domains need, so that d attributes cost one
    or two sorts instead of d. Cost O(n log n); equal records keep their order.

    Parameters
    ----------
    matrix : array of int32
        [n, d]: the codes of every row.
    sizes : array of int64
        [d]: number of values of every attribute.
    attributes : array of int64
        The attributes to sort by, most significant first.

    Returns
    -------
    array of int64
        [n]: row numbers in sorted order.

    Examples
    --------
    >>> lexicographic(np.array([[1, 0], [0, 1], [0, 0]], np.int32), np.array([2, 2]), np.arange(2))
    array([2, 1, 0])
    """
    packing = Packing.of(sizes, attributes)
    keys = packing.pack(matrix)
    if not keys:
        return np.arange(len(matrix))
    if len(keys) == 1:
        return stable_order(keys[0], (1 << sum(packing.bits)) - 1)
    return np.lexsort(keys[::-1])
