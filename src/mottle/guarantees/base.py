"""What a release promises: typed guarantees that travel with it, and what they demand of a table.

Every guarantee about sensitive values is a *cap* per value: the highest share that the value may
have among the records an individual matches. ℓ-diversity caps every value at 1/ℓ, β-likeness at
(1 + β) times its share in the whole table, and `Caps` at what the user says. One mechanism then
serves them all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from mottle.encoding.sensitive import SensitiveValues
from mottle.errors import GuaranteeError, UsageError, did_you_mean

Float64s = NDArray[np.float64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

ROUNDING = 1e-9  # 1/49 of 49 records is one record, whatever floating point says


@dataclass(frozen=True)
class Demand:
    """What a guarantee demands of the graph of one table; what methods work from.

    Every record carries one or more *marks*: its sensitive value or, when several columns are
    sensitive, its joint value and its value in each of them. A mark's share among the matches of
    any individual must stay within the mark's cap. Without sensitive guarantee there are no marks.
    """

    degree: int  # least number of matches of every individual
    marks: Int32s = field(default_factory=lambda: np.empty((0, 0), np.int32))  # [n, systems]
    caps: Float64s = field(default_factory=lambda: np.empty(0))  # by mark
    counts: Int64s = field(default_factory=lambda: np.empty(0, np.int64))  # by mark, whole table
    dummies: int = 0  # the last so many records and marks; everybody else's counts and caps stay

    @property
    def capped(self) -> bool:
        """Whether sensitive values are part of it."""
        return bool(self.marks.shape[1] > 0)

    @property
    def values(self) -> Int32s:
        """The sensitive value of every record: the joint one when there are several columns."""
        return np.ascontiguousarray(self.marks[:, 0])

    @property
    def value_caps(self) -> Float64s:
        """The cap of every sensitive value (of the joint ones when there are several columns)."""
        return self.caps[: int(self.marks[:, 0].max()) + 1]

    @property
    def diversity(self) -> int:
        """ℓ, when all caps are 1/ℓ."""
        return int(np.round(1 / self.caps.max()))

    def allowed(self, matches: int) -> Int64s:
        """How many of an individual's ``matches`` may carry each mark.

        >>> Demand(2, np.zeros((4, 1), np.int32), np.array([1 / 3])).allowed(7)
        array([2])
        """
        return allowed(self.caps, matches)

    def with_dummies(self, count: int) -> Demand:
        """The same demand with so many more records, each of a value of its own without a cap."""
        marks = len(self.caps) + np.arange(count, dtype=np.int32)
        return Demand(
            degree=self.degree,
            marks=np.concatenate([self.marks, marks[:, None]]),
            caps=np.concatenate([self.caps, np.ones(count)]),
            counts=np.concatenate([self.counts, np.ones(count, np.int64)]),
            dummies=count,
        )

    def one_column(self, method: str) -> None:
        """Refuse several sensitive columns where a method cannot keep each one's caps."""
        if self.marks.shape[1] > 1:
            raise UsageError(
                f"Method '{method}' takes one sensitive column.",
                "Use 'buckets' or 'mondrian', or give one of the columns another role.",
            )


def allowed(caps: Float64s, matches: int) -> Int64s:
    """How often each mark may occur among so many matches."""
    return np.floor(caps * matches + ROUNDING).astype(np.int64)


class Guarantee:
    """A promise; ``a & b`` promises both."""

    @property
    def parts(self) -> tuple[Guarantee, ...]:
        """The promises it is made of."""
        return (self,)

    @property
    def degree(self) -> int:
        """How many originals each published record must at least be able to stand for."""
        return 2

    @property
    def about_values(self) -> bool:
        """Whether it speaks about sensitive values."""
        return True

    def check_feasible(self, rows: int) -> None:
        """Raise `GuaranteeError` when no table of ``rows`` records can have this guarantee."""
        if rows < 2:
            raise GuaranteeError(
                "A table of one row cannot be anonymized: its record has nobody to hide among.",
                "Give more rows.",
            )

    def caps(self, values: SensitiveValues) -> Float64s:
        """The highest share each of the values may have among an individual's matches."""
        return np.ones(len(values.counts))

    def remedy(self, values: SensitiveValues, value: int) -> str:
        """The nearest feasible guarantee when ``value`` is too frequent."""
        raise NotImplementedError

    def describe(self) -> dict[str, object]:
        """The guarantee as it stands on the certificate."""
        raise NotImplementedError

    def __and__(self, other: Guarantee) -> Guarantee:
        return Combined((*self.parts, *other.parts))

    def demand(self, rows: int, sensitive: Sequence[SensitiveValues] = ()) -> Demand:
        """What it demands of a table; raises `GuaranteeError` when the table is not eligible.

        ``sensitive`` holds the only sensitive column, or the joint value of several and then each.
        """
        self.check_feasible(rows)
        if not self.about_values:
            return Demand(self.degree)
        if not sensitive:
            raise UsageError(
                f"{self.describe()['name']} is about sensitive values, but no column is sensitive.",
                "Name the column with --sensitive.",
            )
        caps = [self._eligible_caps(values) for values in sensitive]
        sizes = [len(values.counts) for values in sensitive]
        offsets = np.cumsum([0, *sizes[:-1]])
        marks = np.stack(
            [values.codes + offset for values, offset in zip(sensitive, offsets, strict=True)],
            axis=1,
        )
        return Demand(
            degree=self.degree,
            marks=np.ascontiguousarray(marks, np.int32),
            caps=np.concatenate(caps),
            counts=np.concatenate([values.counts for values in sensitive]),
        )

    def _eligible_caps(self, values: SensitiveValues) -> Float64s:
        """The caps of all parts together, after checking that the whole table is within them."""
        rows = values.rows
        for part in self.parts:
            over = values.counts - allowed(part.caps(values), rows)
            if over.max() > 0:
                value = int(np.argmax(over))
                raise GuaranteeError(
                    f"{part.describe()['name']} cannot be met: {values.describe(value)} is"
                    f" {values.counts[value]:,} of {rows:,} rows, too frequent in the table itself"
                    f" for {part.describe()['short']}.",
                    part.remedy(values, value),
                )
        return reduce(np.minimum, [part.caps(values) for part in self.parts])


@dataclass(frozen=True)
class KAnonymity(Guarantee):
    """Nobody is linked to a published record with probability above 1/k (NH10, Definition 2).

    >>> KAnonymity(10)
    KAnonymity(k=10)
    >>> KAnonymity(1)
    Traceback (most recent call last):
    mottle.errors.UsageError: k = 1 hides nobody. Choose k of at least 2 (5, 10 or 20 are common).
    """

    k: int

    def __post_init__(self) -> None:
        _check_whole("k", self.k)
        if self.k < 2:
            raise UsageError(
                f"k = {self.k} hides nobody.",
                "Choose k of at least 2 (5, 10 or 20 are common).",
            )

    @property
    def degree(self) -> int:
        return self.k

    @property
    def about_values(self) -> bool:
        return False

    def check_feasible(self, rows: int) -> None:
        super().check_feasible(rows)
        if rows < self.k:
            raise GuaranteeError(
                f"k = {self.k} cannot be met by a table of {rows} rows.",
                f"The largest feasible k is {rows}.",
            )

    def describe(self) -> dict[str, object]:
        return {
            "name": "k-anonymity",
            "short": f"k = {self.k}",
            "k": self.k,
            "statement": (
                f"Whoever knows the quasi-identifiers of everybody in the table, and the algorithm,"
                f" links a person to a published record with probability at most 1/{self.k}."
            ),
        }


@dataclass(frozen=True)
class LDiversity(Guarantee):
    """Nobody's sensitive value is known with probability above 1/ℓ (NH10, Definition 9).

    This is the strict reading (frequency), not merely ℓ distinct values.

    >>> LDiversity(3)
    LDiversity(l=3)
    """

    l: int  # noqa: E741 - the papers' name

    def __post_init__(self) -> None:
        _check_whole("ℓ", self.l)
        if self.l < 2:
            raise UsageError(
                f"ℓ = {self.l} protects no sensitive value.",
                "Choose ℓ of at least 2 (3 to 5 are common).",
            )

    def caps(self, values: SensitiveValues) -> Float64s:
        return np.full(len(values.counts), 1 / self.l)

    def remedy(self, values: SensitiveValues, value: int) -> str:
        largest = values.rows // int(values.counts[value])
        if largest < 2:
            return "No ℓ is feasible: more than half of the rows share that value."
        return f"The largest feasible ℓ is {largest}."

    def describe(self) -> dict[str, object]:
        return {
            "name": "ℓ-diversity",
            "short": f"ℓ = {self.l}",
            "l": self.l,
            "statement": (
                "Whoever knows the quasi-identifiers of everybody in the table, and the algorithm,"
                f" believes in no sensitive value of a person with more than 1/{self.l}."
            ),
        }


@dataclass(frozen=True)
class BetaLikeness(Guarantee):
    """Belief in a sensitive value grows by no more than the factor 1 + β (HET, Definition 4).

    ``enhanced`` bounds the factor by 1 + min(β, -ln φ), so that frequent values (share φ) stay
    well below certainty.

    >>> BetaLikeness(2)
    BetaLikeness(beta=2.0, enhanced=False)
    """

    beta: float
    enhanced: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", _finite("β", self.beta))
        if self.beta < 0:
            raise UsageError("β must be 0 or more.", "1 to 5 are common; 0 allows no gain at all.")

    def caps(self, values: SensitiveValues) -> Float64s:
        share = values.counts / values.rows
        growth = np.minimum(self.beta, -np.log(share)) if self.enhanced else self.beta
        return np.minimum((1 + growth) * share, 1.0)

    def describe(self) -> dict[str, object]:
        kind = "enhanced β-likeness" if self.enhanced else "β-likeness"
        grown = f"the factor {1 + self.beta:g} over its share in the whole table"
        return {
            "name": kind,
            "short": f"β = {self.beta:g}",
            "beta": self.beta,
            "enhanced": self.enhanced,
            "statement": (
                "Whoever knows the quasi-identifiers of everybody in the table, and the algorithm,"
                f" believes in no sensitive value of a person with more than {grown}"
                + (" (less for frequent values)." if self.enhanced else ".")
            ),
        }


@dataclass(frozen=True)
class Caps(Guarantee):
    """The user's own bounds: no more than this belief in these sensitive values.

    ``shares`` names values as text; all others are bound by ``default``.

    >>> Caps({"HIV": 0.05}, default=0.5).shares
    {'HIV': 0.05}
    """

    shares: Mapping[str, float]
    default: float = 1.0

    def __post_init__(self) -> None:
        for value, share in {**self.shares, "default": self.default}.items():
            if not 0 < _finite(f"The cap of {value}", share) <= 1:
                raise UsageError(
                    f"The cap of {value} must be above 0 and at most 1.", "Write 0.05 for 5 %."
                )

    def __hash__(self) -> int:
        return hash((tuple(sorted(self.shares.items())), self.default))

    def caps(self, values: SensitiveValues) -> Float64s:
        if values.joint:
            return np.ones(len(values.counts))  # each column is bound by itself
        labels = [values.label(value) for value in range(len(values.counts))]
        return np.array([self.shares.get(label, self.default) for label in labels], np.float64)

    def demand(self, rows: int, sensitive: Sequence[SensitiveValues] = ()) -> Demand:
        check_known(self.shares, sensitive)
        return super().demand(rows, sensitive)

    def remedy(self, values: SensitiveValues, value: int) -> str:
        share = values.counts[value] / values.rows
        return f"The smallest feasible cap for it is {math.ceil(share * 10_000) / 10_000:g}."

    def describe(self) -> dict[str, object]:
        lowest = min([*self.shares.values(), self.default])
        return {
            "name": "caps",
            "short": f"its cap (the lowest is {lowest:g})",
            "values": len(self.shares),
            "lowest": lowest,
            "default": self.default,
            "statement": (
                "Whoever knows the quasi-identifiers of everybody in the table, and the algorithm,"
                " believes in no sensitive value of a person with more than the cap the owner set"
                f" for it ({len(self.shares)} values have their own, from {lowest:g}; all others"
                f" {self.default:g})."
            ),
        }


@dataclass(frozen=True)
class Combined(Guarantee):
    """Several guarantees at once, written ``KAnonymity(5) & LDiversity(3)``."""

    guarantees: tuple[Guarantee, ...]

    @property
    def parts(self) -> tuple[Guarantee, ...]:
        return self.guarantees

    @property
    def degree(self) -> int:
        return max(part.degree for part in self.parts)

    @property
    def about_values(self) -> bool:
        return any(part.about_values for part in self.parts)

    def check_feasible(self, rows: int) -> None:
        for part in self.parts:
            part.check_feasible(rows)

    def demand(self, rows: int, sensitive: Sequence[SensitiveValues] = ()) -> Demand:
        for part in self.parts:
            if isinstance(part, Caps):
                check_known(part.shares, sensitive)
        return super().demand(rows, sensitive)

    def describe(self) -> dict[str, object]:
        described = [part.describe() for part in self.parts]
        return {
            "name": " and ".join(str(part["name"]) for part in described),
            "short": ", ".join(str(part["short"]) for part in described),
            "parts": described,
            "statement": " ".join(str(part["statement"]) for part in described),
        }


def check_known(shares: Mapping[str, float], sensitive: Sequence[SensitiveValues]) -> None:
    """Refuse caps for values that no sensitive column has: a misspelt cap protects nobody."""
    single = [values for values in sensitive if not values.joint]
    known = {values.label(value) for values in single for value in range(len(values.counts))}
    for value in shares:
        if single and value not in known:
            raise UsageError(
                f"No sensitive column has the value '{value}' that a cap names.",
                did_you_mean(value, sorted(known)),
            )


def _check_whole(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{name} must be a whole number, not {type(value).__name__}.")


def _finite(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise UsageError(f"{name} must be a number.")
    return float(value)
