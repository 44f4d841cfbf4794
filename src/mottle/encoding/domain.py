"""The values of quasi-identifiers as integers: what a code means, and what its cells look like."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mottle.encoding.set_columns import SetDomain
from mottle.hierarchy.tree import Hierarchy
from mottle.schema.model import Column
from mottle.typing import Float64Array, Int32Array


class Form(StrEnum):
    """How the cells of a quasi-identifier are published."""

    RANGE = "range"  # lowest and highest value, and whether missing is possible
    SET = "set"  # the possible values
    NODE = "node"  # a node of the column's hierarchy
    WORLDS = "worlds"  # a base set, uncertain items, and how many of these may be otherwise


@dataclass(frozen=True)
class Domain:
    """The values of one quasi-identifier and what generalizing them costs."""

    column: Column
    form: Form
    values: pa.Array  # [size] the value of every code; null for the missing one
    missing: int  # code of the missing value, the last one; -1 when nothing is missing
    positions: Float64Array  # RANGE: [size] where each value lies, 0 lowest, 1 highest; else empty
    hierarchy: Hierarchy | None  # NODE: its leaves are codes 0 .. leaves - 1
    sets: SetDomain | None = None  # WORLDS: the items of every code

    @property
    def size(self) -> int:
        """Number of values |A|, the missing one included."""
        return len(self.values)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name


@dataclass(frozen=True)
class Codes:
    """The quasi-identifiers of a table as integers."""

    domains: tuple[Domain, ...]
    matrix: Int32Array  # [n, d]: the code of every record in every quasi-identifier
    notes: tuple[str, ...] = ()  # what was done to the values on the way; for the certificate

    @property
    def records(self) -> int:
        """Number of records n."""
        return len(self.matrix)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """|A| of every quasi-identifier."""
        return np.array([domain.size for domain in self.domains], np.int64)
