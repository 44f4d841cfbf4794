"""How many distinct values records have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mottle.queries.aggregates import Summands, standard_error
from mottle.queries.estimate import Estimate


def count_distinct(by_value: Sequence[Summands], together: Summands) -> Estimate:
    """Estimate how many of the values occur, given for each value the records that may have it.

    A value that a record has for certain occurs, and at least one does if a record is certain to
    count at all. No more values occur than may occur, or than records may count.
    """
    absent = np.array([np.prod(1.0 - one.likely) for one in by_value if len(one.likely)])
    sure = sum(bool(one.certain.any()) for one in by_value)
    least = float(max(sure, int(together.certain.any())))
    most = float(min(len(absent), len(together.likely)))
    error = standard_error(absent * (1 - absent), np.ones(len(absent)))
    return Estimate(min(max(float((1 - absent).sum()), least), most), least, most, error)
