"""Public rules that make the values of a column coarser before anything else is done with it.

A rule divides the values of a column into *bins*: steps of a number (``snap``), intervals between
given numbers (``breaks``), calendar units (``granularity``), and everything above or below a value
(``top``, ``bottom``). Codes are bins, so that every method, engine and check works on bins as it
works on values, and a published cell is a run of whole bins.

Bins are closed ranges of values that the type of the column can hold: 20 to 24 for whole numbers in
steps of five, and 20.0 to the largest float below 25.0 for floats. The lower end of the first float
after a bottom is the next float. So a range of values means the same in a column with bins and in
one without. A tail has one end only: everything above ``top`` is published as ``top``, everything
below ``bottom`` as ``bottom``, and as text it is open (``90+``, ``..10``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mottle.errors import SchemaError
from mottle.kinds._arrow import pa, pc
from mottle.typing import Float64Array

Limit = int | float | date

CALENDAR = ("day", "week", "month", "quarter", "year", "decade")
CLOCK = ("second", "minute", "hour")
SPANS = ("second", "minute", "hour", "day")  # of durations
_MONDAY = 3  # days from 1970-01-01, a Thursday, back to a Monday
_FINEST = 2.0**53  # bins of floats are counted in floats
_LARGEST = 1e300  # of an option
_FIRST_DAY, _LAST_DAY = (
    day.toordinal() - date(1970, 1, 1).toordinal() for day in (date.min, date.max)
)


class Bins(NamedTuple):
    """The bin of every value: the ends that are published."""

    lower: pa.Array
    upper: pa.Array


@dataclass(frozen=True)
class Coarsening:
    """The rule of one column; `check` says which options go together.

    Examples
    --------
    >>> bins = Coarsening(snap=5, top=90).bins(pa.array([23, 88, 97]), "age")
    >>> bins.lower.to_pylist(), bins.upper.to_pylist()
    ([20, 85, 90], [24, 89, 90])
    """

    snap: float | None = None  # numbers: the width of a bin; bins begin at multiples of it
    breaks: tuple[float, ...] | None = None  # numbers: where bins begin; what is outside is a tail
    bottom: Limit | None = None  # the largest value of the lower tail
    top: Limit | None = None  # the smallest value of the upper tail
    granularity: str | None = None  # dates, times and durations: the unit

    @classmethod
    def of(cls, **options: Any) -> Coarsening | None:
        """Return the rule that options make; None if all of them are None."""
        given = {name: option for name, option in options.items() if option is not None}
        return cls(**given) if given else None

    @property
    def facts(self) -> dict[str, Any]:
        """The entries in metadata: options that are given, days as text."""
        return {
            name: value.isoformat() if isinstance(value, date) else value
            for name, value in asdict(self).items()
            if value is not None
        }

    @classmethod
    def of_facts(cls, facts: object) -> Coarsening:
        """Read a rule from the entries in metadata; raise TypeError or ValueError for odd ones."""
        if not isinstance(facts, Mapping) or not facts or set(facts) - set(OPTIONS):
            raise ValueError("not a rule")
        read = dict(facts)
        for end in ("bottom", "top"):
            if isinstance(read.get(end), str):
                read[end] = date.fromisoformat(read[end])
        if "breaks" in read:
            read["breaks"] = tuple(read["breaks"])
        numbers = [read[name] for name in ("snap", "bottom", "top") if name in read]
        if any(type(number) not in (int, float, date) for number in numbers) or any(
            type(number) not in (int, float) for number in read.get("breaks", ())
        ):
            raise TypeError("not a number")
        rule = cls(**read)
        rule.check()
        return rule

    def check(self, dates: bool | None = None) -> None:
        """Raise ValueError if options are wrong or contradict each other.

        ``dates`` is whether bottom and top have to be dates; None if that is not known.
        """
        for name in ("snap", "bottom", "top"):
            value = getattr(self, name)
            if not _is_finite(value):
                raise ValueError(f"{name} must be a finite number")
            if None not in (value, dates) and name != "snap" and isinstance(value, date) != dates:
                raise ValueError(f"{name} must be a {'date' if dates else 'number'}")
        if self.snap is not None and not self.snap > 0:
            raise ValueError("snap must be a number above 0")
        if self.breaks is not None:
            others = [name for name in ("snap", "bottom", "top") if getattr(self, name) is not None]
            if others:
                raise ValueError(f"give breaks or {others[0]}, not both: breaks have open ends")
            ascending = all(low < high for low, high in pairwise(self.breaks))
            if not self.breaks or not ascending or not all(map(_is_finite, self.breaks)):
                raise ValueError("the breaks must be numbers from lowest to highest")
        if self.bottom is not None and self.top is not None:
            if isinstance(self.bottom, date) != isinstance(self.top, date):
                raise ValueError("bottom and top must be both numbers or both dates")
            if not self.bottom < self.top:  # type: ignore[operator]
                raise ValueError("bottom must be less than top")

    # --------------------------------------------------------------------------------------- bins

    def bins(self, values: pa.Array, name: str) -> Bins:
        """Return the bin of every value.

        Parameters
        ----------
        values : pyarrow.Array
            Numbers or days, none of them missing.
        name : str
            The name of the column, for messages.

        Returns
        -------
        Bins
            Lower and upper ends, in the type of the values. Equal values are in the same bin, and
            bins do not overlap.

        Raises
        ------
        SchemaError
            The rule does not fit the type of the values.
        """
        line = _line(values.type, name)
        numbers = line.numbers(values)
        lower, upper = self._inner(numbers, line)
        lowest, highest = self.tails(values.type, name)
        if lowest is not None:
            below = numbers <= lowest
            lower = np.where(below, lowest, np.maximum(lower, line.after(lowest)))
            upper = np.where(below, lowest, upper)
        if highest is not None:
            above = numbers >= highest
            upper = np.where(above, highest, np.minimum(upper, line.before(highest)))
            lower = np.where(above, highest, lower)
        return Bins(line.values(lower), line.values(upper))

    def tails(self, value_type: pa.DataType, name: str) -> tuple[Any, Any]:
        """Return the numbers that stand for the lower and for the upper tail; None without one."""
        line = _line(value_type, name)
        if self.breaks is not None:
            return line.before(line.number(self.breaks[0])), line.number(self.breaks[-1])
        ends = (self.bottom, self.top)
        return tuple(None if end is None else line.number(end) for end in ends)  # type: ignore[return-value]

    def tail_values(self, value_type: pa.DataType, name: str) -> tuple[Any, Any]:
        """Return `tails` as Arrow scalars; None without one."""
        line = _line(value_type, name)
        lowest, highest = self.tails(value_type, name)
        return tuple(  # type: ignore[return-value]
            None if end is None else line.values(np.array([end], line.dtype))[0]
            for end in (lowest, highest)
        )

    def within_tails(self, values: pa.Array, name: str) -> pa.Array:
        """Return values with those of the tails as they are published; missing ones stay."""
        if pa.types.is_null(values.type):
            return values
        lowest, highest = self.tail_values(values.type, name)
        if lowest is not None:
            values = pc.if_else(pc.less(values, lowest), lowest, values)
        if highest is not None:
            values = pc.if_else(pc.greater(values, highest), highest, values)
        return values

    def positions(
        self, bins: Bins, name: str, heights: Callable[[pa.Array], Float64Array]
    ) -> tuple[Float64Array, Float64Array]:
        """Return where bins lie between the lowest end (0) and the highest (1).

        How far a tail reaches is not published and must not show in a release. So it is as wide as
        the mean step from one bin to the next.

        Parameters
        ----------
        bins : Bins
            The distinct bins in ascending order.
        name : str
            The name of the column, for messages.
        heights : callable
            Returns the distance of ascending values from the lowest one.

        Returns
        -------
        middle : Float64Array
            The middle of every bin.
        half : Float64Array
            Half the width of every bin.
        """
        count = len(bins.lower)
        ascending = np.arange(2 * count).reshape(2, count).T.ravel()
        ends = pa.concat_arrays([bins.lower, bins.upper]).take(pa.array(ascending))
        above = heights(ends).astype(np.float64)
        step = above[-1] / max(count - 1, 1) or 1.0
        lowest, highest = self.tail_values(ends.type, name)
        if highest is not None and bins.upper[-1].equals(highest):
            above[-1] += step
        if lowest is not None and bins.lower[0].equals(lowest):
            above[1:] += step
        above = above / (above[-1] or 1.0)
        return (above[0::2] + above[1::2]) / 2, (above[1::2] - above[0::2]) / 2

    def _inner(self, numbers: NDArray[Any], line: _Line) -> tuple[NDArray[Any], NDArray[Any]]:
        """The bins of all values, as if there were no tails."""
        if self.snap is not None:
            return line.steps(numbers, self.snap)
        if self.breaks is not None:
            breaks: NDArray[Any] = np.array(
                [line.number(value) for value in self.breaks], line.dtype
            )
            before = np.searchsorted(breaks, numbers, side="right")
            inside = (before > 0) & (before < len(breaks))
            lower = np.where(inside, breaks[np.maximum(before - 1, 0)], numbers)
            following = breaks[np.minimum(before, len(breaks) - 1)]
            return lower, np.where(inside, line.before(following), numbers)
        if self.granularity is not None and line.has_calendar:
            first, last = calendar_bins(numbers, self.granularity)
            # the decade of year 9 begins in year 0, which Python's dates do not have
            first = np.where(numbers >= _FIRST_DAY, np.maximum(first, _FIRST_DAY), first)
            return first, np.where(numbers <= _LAST_DAY, np.minimum(last, _LAST_DAY), last)
        return numbers, numbers


OPTIONS = tuple(Coarsening.__dataclass_fields__)


def _is_finite(value: Limit | None) -> bool:
    """Whether an option is no number, or one that a float can hold; NaN is none."""
    return value is None or isinstance(value, date) or abs(value) <= _LARGEST


def as_limit(text: str) -> Limit | str:
    """Read a number or a date; return other text as it is.

    Examples
    --------
    >>> as_limit("90"), as_limit("0.5"), as_limit("1930-12-31"), as_limit("old")
    (90, 0.5, datetime.date(1930, 12, 31), 'old')
    """
    for read in (int, float, date.fromisoformat):
        try:
            found: Limit = read(text)
        except ValueError:
            continue
        return found
    return text


class _Line:
    """The values of a type as numbers on a line, each with a next one."""

    dtype: type = np.int64
    has_calendar = False

    def __init__(self, value_type: pa.DataType, name: str) -> None:
        self.type, self.name = value_type, name

    def numbers(self, values: pa.Array) -> NDArray[Any]:
        """Values as numbers."""
        raise NotImplementedError

    def values(self, numbers: NDArray[Any]) -> pa.Array:
        """Numbers as values."""
        raise NotImplementedError

    def number(self, option: Limit) -> Any:
        """An option as a number."""
        raise NotImplementedError

    def steps(self, numbers: NDArray[Any], snap: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """The ends of steps."""
        step = self.number(snap)
        lower = numbers - numbers % step
        return lower, lower + (step - 1)

    def after(self, number: Any) -> Any:
        """The next number."""
        return number + 1

    def before(self, number: Any) -> Any:
        """The number before."""
        return number - 1

    def unfit(self, option: Limit) -> SchemaError:
        """Make the error for an option that is not a value of the column's type."""
        return SchemaError(
            f"Column '{self.name}' holds {self.type} values, which {option} is not one of.",
            "Write snap, breaks, top and bottom as values that the column can hold.",
        )


class _Integers(_Line):
    """Whole numbers."""

    def numbers(self, values: pa.Array) -> NDArray[Any]:
        """As 64-bit integers."""
        try:
            return np.asarray(pc.cast(values, pa.int64()).to_numpy(zero_copy_only=False))
        except pa.ArrowInvalid:
            raise SchemaError(
                f"Column '{self.name}' has numbers of 2^63 and more, which cannot be made coarser.",
                "Leave snap, breaks, top and bottom out, or use kind 'category'.",
            ) from None

    def values(self, numbers: NDArray[Any]) -> pa.Array:
        """No end exceeds what the type can hold: no value does."""
        limits = np.iinfo(self.type.to_pandas_dtype())
        clipped = np.clip(numbers.astype(np.int64), limits.min, min(limits.max, 2**63 - 1))
        return pc.cast(pa.array(clipped), self.type)

    def number(self, option: Limit) -> int:
        """Only whole numbers are."""
        if isinstance(option, date) or int(option) != option or abs(option) >= 2**62:
            raise self.unfit(option)
        return int(option)


class _Days(_Line):
    """Days, as days since 1970-01-01."""

    has_calendar = True

    def numbers(self, values: pa.Array) -> NDArray[Any]:
        """Days since 1970-01-01."""
        days = pc.cast(pc.cast(values, pa.date32()), pa.int32())
        return np.asarray(days.to_numpy(zero_copy_only=False).astype(np.int64))

    def values(self, numbers: NDArray[Any]) -> pa.Array:
        """Days."""
        return pc.cast(pc.cast(pa.array(numbers.astype(np.int32)), pa.date32()), self.type)

    def number(self, option: Limit) -> int:
        """Only days are."""
        if not isinstance(option, date):
            raise self.unfit(option)
        return (option - date(1970, 1, 1)).days


class _Decimals(_Line):
    """Decimals, as whole numbers of their last digit."""

    dtype = object

    def numbers(self, values: pa.Array) -> NDArray[Any]:
        """Whole numbers of any size."""
        found = np.empty(len(values), object)
        found[:] = [_unscaled(value, self.type.scale) for value in values.to_pylist()]
        return found

    def values(self, numbers: NDArray[Any]) -> pa.Array:
        """Decimals."""
        largest = 10**self.type.precision - 1
        exact = Context(prec=80)
        ends = (max(-largest, min(largest, int(number))) for number in numbers)
        return pa.array([exact.scaleb(end, -self.type.scale) for end in ends], self.type)

    def number(self, option: Limit) -> int:
        """Numbers with as many digits after the point as the column has."""
        if isinstance(option, date):
            raise self.unfit(option)
        unscaled = Fraction(str(option)) * Fraction(10) ** self.type.scale
        if unscaled.denominator != 1:
            raise self.unfit(option)
        return int(unscaled)


class _Floats(_Line):
    """Floats, each followed by the next larger one."""

    dtype = np.float64

    def __init__(self, value_type: pa.DataType, name: str) -> None:
        super().__init__(value_type, name)
        self.own = value_type.to_pandas_dtype()

    def numbers(self, values: pa.Array) -> NDArray[Any]:
        """As 64-bit floats."""
        return np.asarray(values.to_numpy(zero_copy_only=False).astype(np.float64))

    def values(self, numbers: NDArray[Any]) -> pa.Array:
        """Floats of the column's own precision."""
        return pa.array(numbers.astype(self.own) + self.own(0.0), self.type)

    def number(self, option: Limit) -> float:
        """The nearest float."""
        if isinstance(option, date):
            raise self.unfit(option)
        return float(self.own(option))

    def steps(self, numbers: NDArray[Any], snap: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """Multiples of the decimal number, each rounded to a float once."""
        step = Fraction(str(snap))
        places = np.floor(numbers / float(step))
        if len(places) and np.abs(places).max() >= _FINEST:
            raise SchemaError(
                f"Column '{self.name}' has numbers too large for steps of {snap}.",
                "Choose a larger snap.",
            )
        near = np.unique(places[:, None] + np.array([-1.0, 0.0, 1.0, 2.0]))
        edges = np.array([float(self.own(float(int(place) * step))) for place in near])
        begin = np.searchsorted(edges, numbers, side="right") - 1
        return edges[begin], self.before(edges[begin + 1])

    def after(self, number: Any) -> Any:
        """The next larger float."""
        return self._next(number, np.inf)

    def before(self, number: Any) -> Any:
        """The next smaller float."""
        return self._next(number, -np.inf)

    def _next(self, number: Any, towards: float) -> Any:
        own = np.nextafter(np.asarray(number, self.own), self.own(towards))
        return own.astype(np.float64) if own.ndim else float(own)


def _line(value_type: pa.DataType, name: str) -> _Line:
    """The line on which values of a type lie."""
    if pa.types.is_integer(value_type):
        return _Integers(value_type, name)
    if pa.types.is_floating(value_type):
        return _Floats(value_type, name)
    if pa.types.is_decimal(value_type):
        return _Decimals(value_type, name)
    return _Days(value_type, name)


def _unscaled(value: Decimal, scale: int) -> int:
    return int(Fraction(value) * Fraction(10) ** scale)


def calendar_bins(days: NDArray[Any], unit: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the first and the last day of the calendar unit of every day.

    Parameters
    ----------
    days : NDArray
        Days since 1970-01-01.
    unit : str
        One of `CALENDAR`.

    Returns
    -------
    first, last : NDArray
        Days since 1970-01-01.

    Examples
    --------
    >>> calendar_bins(np.array([0, 45]), "quarter")
    (array([0, 0]), array([89, 89]))
    """
    if unit == "day":
        return days, days
    if unit == "week":
        first = days - (days + _MONDAY) % 7
        return first, first + 6
    months = {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit]
    month = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 1970 * 12
    begin = month - month % months - 1970 * 12
    return _first_day(begin), _first_day(begin + months) - 1


def _first_day(months: NDArray[Any]) -> NDArray[Any]:
    days = months.astype("datetime64[M]").astype("datetime64[D]")
    return np.asarray(days.astype(np.int64))
