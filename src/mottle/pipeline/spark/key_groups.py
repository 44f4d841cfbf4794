"""Groups of rows with equal keys in sections of sorted rows, and in all sections together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mottle.errors import PrivacyError
from mottle.typing import Int64Array


@dataclass(frozen=True)
class KeyGroups:
    """The groups of a section: the first and the last may go on in the neighbouring sections."""

    first: tuple[tuple[int, ...], int]  # its key, and its rows in the section
    last: tuple[tuple[int, ...], int] | None  # None if there is only one group
    between: int  # groups other than the first and the last
    single: int  # of these: those of one row
    fewest: int  # of these: rows of the smallest; 0 without any
    rows: int

    @classmethod
    def of(cls, keys: Sequence[Int64Array]) -> KeyGroups:
        """Find the groups of sorted rows, of which there is one at least.

        >>> KeyGroups.of([np.array([1, 1, 2, 3, 3, 3])])
        KeyGroups(first=((1,), 2), last=((3,), 3), between=1, single=1, fewest=1, rows=6)
        """
        rows = len(keys[0])
        changes = np.zeros(rows - 1, bool)
        for key in keys:
            changes |= key[1:] != key[:-1]
        starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
        sizes = np.diff(np.append(starts, rows))
        inner = sizes[1:-1]

        def group(place: int) -> tuple[tuple[int, ...], int]:
            return tuple(int(key[starts[place]]) for key in keys), int(sizes[place])

        return cls(
            group(0),
            group(-1) if len(sizes) > 1 else None,
            len(inner),
            int((inner == 1).sum()),
            int(inner.min(initial=rows)) if len(inner) else 0,
            rows,
        )


def figures_of(sections: Sequence[KeyGroups]) -> tuple[float, float, float, float]:
    """Return what `chunked.risk.risk_query` finds in rows without persons.

    Parameters
    ----------
    sections : sequence of KeyGroups
        All sections in order.

    Returns
    -------
    tuple of float
        The highest risk, its mean, the share of unique rows, and the marketer's risk.

    Examples
    --------
    >>> figures_of([KeyGroups.of([np.array([1, 2, 2])]), KeyGroups.of([np.array([2, 5])])])
    (1.0, 0.6, 0.4, 0.6)
    """
    sizes: list[int] = []  # of groups at borders
    at: tuple[int, ...] | None = None  # the key of the last of them
    groups = single = rows = 0
    fewest = 0
    for section in sections:
        rows += section.rows
        for found in (section.first, section.last):
            if found is None:
                continue
            key, size = found
            if at is not None and key < at:
                raise PrivacyError("Invariant 5: sections of sorted rows are not in order.")
            if key == at:
                sizes[-1] += size
            else:
                sizes.append(size)
            at = key
        groups += section.between
        single += section.single
        if section.between:
            fewest = min(fewest or section.fewest, section.fewest)
    groups += len(sizes)
    single += sum(size == 1 for size in sizes)
    fewest = min([*sizes, fewest or rows])
    return 1 / fewest, groups / rows, single / rows, groups / rows
