"""What a guarantee demands of the graph of one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mottle.errors import UsageError
from mottle.utils.lazy import lazy_module

if TYPE_CHECKING:
    import numpy as np

    from mottle.typing import Float64Array, Int32Array, Int64Array
else:
    np = lazy_module("numpy")  # the command line reads the options of guarantees without it

# Added before rounding down: 1/49 of 49 records is one record, also in floating point.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Demand:
    """What a guarantee demands of the graph of one table; what methods work from.

    Every record carries one or more *marks*: its sensitive value or, when several columns are
    sensitive, its joint value and its value in each of them. A mark's share among the matches of
    any individual must stay within the mark's cap. Without a guarantee about sensitive values
    there are no marks.
    """

    degree: int  # least number of matches of every individual
    sensitive_codes: Int32Array = field(
        default_factory=lambda: np.empty((0, 0), np.int32)
    )  # [n, attributes]
    caps: Float64Array = field(default_factory=lambda: np.empty(0))  # by mark
    counts: Int64Array = field(
        default_factory=lambda: np.empty(0, np.int64)
    )  # by mark, whole table
    dummies: int = 0  # number of dummy records, which come last; so do their marks
    # Whether the matches of an individual are allowed, given how many of them carry each mark; for
    # guarantees that are no cap per value. Only methods that offer `Capability.BLOCK_CONDITION`
    # keep it; `check_within_caps` enforces it on all.
    condition: Callable[[Int64Array], bool] | None = None

    @property
    def capped(self) -> bool:
        """Whether it caps sensitive values."""
        return bool(self.sensitive_codes.shape[1] > 0)

    @property
    def values(self) -> Int32Array:
        """The sensitive value of every record: the joint one when there are several columns."""
        return np.ascontiguousarray(self.sensitive_codes[:, 0])

    @property
    def value_caps(self) -> Float64Array:
        """The cap of every sensitive value (of the joint ones when there are several columns)."""
        return self.caps[: int(self.sensitive_codes[:, 0].max()) + 1]

    @property
    def diversity(self) -> int:
        """ℓ, when all caps are 1/ℓ."""
        return int(np.round(1 / self.caps.max()))

    def allowed(self, matches: int) -> Int64Array:
        """Count how many of an individual's matches may carry each mark.

        Parameters
        ----------
        matches : int
            The number of matches of the individual.

        Returns
        -------
        Int64Array
            By mark: the largest number of matches that may carry it.

        Examples
        --------
        >>> Demand(2, np.zeros((4, 1), np.int32), np.array([1 / 3])).allowed(7)
        array([2])
        """
        return allowed(self.caps, matches)

    def with_dummies(self, count: int) -> Demand:
        """Return a copy with ``count`` dummy records, each with a value of its own, uncapped.

        The counts and caps of all other values stay as they are.
        """
        marks = len(self.caps) + np.arange(count, dtype=np.int32)
        return Demand(
            degree=self.degree,
            sensitive_codes=np.concatenate([self.sensitive_codes, marks[:, None]]),
            caps=np.concatenate([self.caps, np.ones(count)]),
            counts=np.concatenate([self.counts, np.ones(count, np.int64)]),
            dummies=count,
            condition=self.condition,
        )

    def one_column(self, method: str) -> None:
        """Refuse several sensitive columns for a method that cannot keep the caps of each.

        Raises
        ------
        UsageError
            There are several sensitive columns.
        """
        if self.sensitive_codes.shape[1] > 1:
            raise UsageError(
                f"Method '{method}' takes one sensitive column.",
                "Use 'buckets' or 'mondrian', or give one of the columns another role.",
            )


def allowed(caps: Float64Array, matches: int) -> Int64Array:
    """How often each mark may occur among ``matches`` matches."""
    return np.floor(caps * matches + ROUNDING).astype(np.int64)
