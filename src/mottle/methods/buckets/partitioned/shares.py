"""The rows of a table that is read region by region, and shares of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from mottle.encoding.domain import Codes
from mottle.typing import Int32Array, Int64Array

Result = TypeVar("Result")


class RegionRows(NamedTuple):
    """The rows of a region, or of several adjacent ones, in order."""

    number: int
    codes: Codes
    sensitive_codes: Int32Array  # [n, attributes]


class OrderedPartitions(Protocol):
    """All rows along the order; regions are processed one at a time, here or on other machines."""

    @property
    def cuts(self) -> Int64Array:
        """First row of every region, and the end."""

    def over(self, work: Callable[[RegionRows], Result]) -> list[Result]:
        """Call ``work`` for every region; return the results in the order of the regions."""


@dataclass(frozen=True)
class RowShare:
    """The rows of one part of a table: a tier, or its first wave."""

    counts: Int64Array  # [regions, values, parts]: number of rows by region, value and part
    part: int
    regions_per_section: int = 1  # number of adjacent regions that are processed as one section

    @property
    def cuts(self) -> Int64Array:
        """First row of every section of regions, and the end."""
        ends = np.cumsum(self.counts[:, :, self.part].sum(axis=1))
        return np.append(np.concatenate([[0], ends[:-1]])[:: self.regions_per_section], ends[-1])

    @property
    def is_everything(self) -> bool:
        """Whether all rows of the table belong to this part."""
        return bool(self.cuts[-1] == self.counts.sum())

    @property
    def values(self) -> Int64Array:
        """Number of rows of each value in this part."""
        return np.asarray(self.counts[:, :, self.part].sum(axis=0))

    def regions(self, section: int) -> range:
        """The regions of a section."""
        first = section * self.regions_per_section
        return range(first, min(first + self.regions_per_section, len(self.counts)))
