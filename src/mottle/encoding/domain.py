"""The values of quasi-identifiers as integer codes, and the domains that give codes a meaning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mottle.kinds.columns import Domain as Domain
from mottle.kinds.forms.base import Form as Form
from mottle.typing import Int32Array


@dataclass(frozen=True)
class Codes:
    """The quasi-identifiers of a table as integers."""

    domains: tuple[Domain, ...]
    matrix: Int32Array  # [n, d]: the code of every record in every quasi-identifier
    notes: tuple[str, ...] = ()  # how values were converted; for the certificate

    @property
    def records(self) -> int:
        """Number of records n."""
        return len(self.matrix)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """|A| of every quasi-identifier."""
        return np.array([domain.size for domain in self.domains], np.int64)
