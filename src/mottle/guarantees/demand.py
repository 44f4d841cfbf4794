"""The demand of a guarantee on the graph of one table."""

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

# Added before rounding down, so that 1/49 of 49 records is one record in floating point too.
ROUNDING = 1e-9

# How many others one known true record may give away, unless the guarantee states it.
KNOWN_RECORDS = 63


@dataclass(frozen=True)
class Demand:
    """What a guarantee demands of the graph of one table, as methods take it.

    Every record carries one or more *sensitive codes*: that of its sensitive value or, when several
    columns are sensitive, that of its joint value and of its value in each of them; then those of
    the groups of similar values it belongs to, if they have caps. The share of a code among the
    matches of any individual must not exceed the cap of the code. Without a guarantee about
    sensitive values there are no codes.
    """

    degree: int  # least number of matches of every individual
    # [n, attributes]; codes of different attributes are different.
    sensitive_codes: Int32Array = field(default_factory=lambda: np.empty((0, 0), np.int32))
    caps: Float64Array = field(default_factory=lambda: np.empty(0))  # by code
    # By code: how often it occurs in the whole table.
    counts: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))
    # Most other records that one known true record may give away, in methods that bound it.
    known_records: int = KNOWN_RECORDS
    dummies: int = 0  # number of dummy records, which come last; so do their codes
    # Whether the matches of an individual are allowed, given how many of them carry each code; for
    # guarantees that are not a cap per value. Only methods that offer `Capability.BLOCK_CONDITION`
    # keep it; `check_within_caps` enforces it on all.
    condition: Callable[[Int64Array], bool] | None = None
    # [n]: whose row it is, as a code, where people have several rows. Of the preimages of every
    # record at most a part of 1/``degree`` may then be one person's.
    people: Int32Array | None = None

    @property
    def capped(self) -> bool:
        """Whether sensitive values are capped."""
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
        """Count how many of an individual's matches may carry each sensitive code.

        Parameters
        ----------
        matches : int
            The number of matches of the individual.

        Returns
        -------
        Int64Array
            By code: the largest number of matches that may carry it.

        Examples
        --------
        >>> Demand(2, np.zeros((4, 1), np.int32), np.array([1 / 3])).allowed(7)
        array([2])
        """
        return allowed(self.caps, matches)

    def with_dummies(self, count: int) -> Demand:
        """Return a copy with dummy records, each with its own uncapped value.

        The counts and caps of all other values do not change.

        Parameters
        ----------
        count : int
            The number of dummy records.

        Returns
        -------
        Demand
            The demand of the table with the dummy records at its end.
        """
        codes = len(self.caps) + np.arange(count, dtype=np.int32)
        return Demand(
            degree=self.degree,
            sensitive_codes=np.concatenate([self.sensitive_codes, codes[:, None]]),
            caps=np.concatenate([self.caps, np.ones(count)]),
            counts=np.concatenate([self.counts, np.ones(count, np.int64)]),
            known_records=self.known_records,
            dummies=count,
            condition=self.condition,
        )

    def one_column(self, method: str, because: str) -> None:
        """Refuse several sensitive columns for a method that cannot keep the caps of each.

        Parameters
        ----------
        method : str
            The name of the method, for the message.
        because : str
            Why it takes one.

        Raises
        ------
        UsageError
            There are several sensitive columns.
        """
        if self.sensitive_codes.shape[1] > 1:
            raise UsageError(
                f"Method '{method}' takes one sensitive column: {because}.",
                "Use 'buckets' or 'mondrian', or give one of the columns another role.",
            )


def allowed(caps: Float64Array, matches: int | Int64Array) -> Int64Array:
    """Count how often each sensitive code may occur among ``matches`` matches.

    ``matches`` may be a column of numbers; the result then has a row for each.
    """
    return np.floor(caps * matches + ROUNDING).astype(np.int64)
