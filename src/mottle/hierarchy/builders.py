"""Hierarchies built from values: intervals, quantiles, dates, prefixes, frequencies, similarity.

What a builder looks at is all that a hierarchy can tell: the distinct values of one column for
intervals, dates and prefixes; how often they occur for quantiles and frequencies; how often they
occur together with values of other columns for similarity. A hierarchy is published with the
release, so all of these have to be quasi-identifiers, never sensitive columns (docs/guarantees.md).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mottle.errors import DataError, UsageError, did_you_mean
from mottle.hierarchy.tree import Hierarchy
from mottle.hierarchy.validation import ROOT
from mottle.utils.lazy import lazy_module

if TYPE_CHECKING:
    from scipy.cluster import hierarchy as clustering
else:
    clustering = lazy_module("scipy.cluster.hierarchy")

__all__ = [
    "STANDARDS",
    "from_cooccurrence",
    "from_dates",
    "from_frequency",
    "from_intervals",
    "from_mapping",
    "from_prefixes",
    "from_quantiles",
    "from_standard",
]

DATE_UNITS = ("month", "quarter", "year", "decade")
MOST_SIMILAR = 3000  # distinct values that are compared with each other
_NAMED = 3  # members of a group of similar values that its label names
_NUMBER_BINS = 10  # of numbers with which values occur together
_FEW = 20  # distinct numbers that are compared one by one

Value = str | int | float | date


def from_intervals(
    values: Iterable[Value | None],
    *,
    widths: Sequence[float] | None = None,
    breaks: Sequence[float] | None = None,
) -> Hierarchy:
    """Build a hierarchy of numbers from intervals.

    Parameters
    ----------
    values : iterable of number or str
        The values of a column; missing ones are left out.
    widths : sequence of float, optional
        The width of the intervals of every level, from narrow to wide, each a multiple of the one
        before. Intervals begin at multiples of their width.
    breaks : sequence of float, optional
        Where the intervals of one level begin; what is below the first and from the last on are
        intervals with an open end. Give either widths or breaks.

    Returns
    -------
    Hierarchy
        The values in ascending order, below their intervals.

    Raises
    ------
    UsageError
        Neither or both are given, or they are not positive, ascending and multiples.
    DataError
        A value is not a number.

    Examples
    --------
    >>> from_intervals([23, 27, 41], widths=[5, 20]).rows()
    [('23', '20-24', '20-39', '*'), ('27', '25-29', '20-39', '*'), ('41', '40-44', '40-59', '*')]
    >>> [row[1] for row in from_intervals([7, 18, 70], breaks=[18, 65]).rows()]
    ['<18', '18-64', '65+']
    """
    if (widths is None) == (breaks is None):
        raise UsageError("Intervals need either widths or breaks.", "Give one of the two.")
    numbers = _numbers(values)
    whole = all(number.denominator == 1 for number in numbers.values())
    if breaks is not None:
        ends = _ascending(breaks, "breaks")
        labels = [_between(number, ends, whole) for number in numbers.values()]
        return _of_levels(list(numbers), [labels])
    steps = _ascending(widths or (), "widths")
    if steps[0] <= 0 or any(wide % narrow for narrow, wide in pairwise(steps)):
        raise UsageError(
            "The widths are not multiples of each other, so intervals would overlap.",
            "Write for instance 5,10,20.",
        )
    levels = [[_multiple(number, step, whole) for number in numbers.values()] for step in steps]
    return _of_levels(list(numbers), levels)


def from_quantiles(
    values: Iterable[Value | None], *, groups: int = 8, merged: int = 2
) -> Hierarchy:
    """Build a hierarchy of numbers from groups that hold about as many rows each.

    Parameters
    ----------
    values : iterable of number or str
        The values of a column, as often as they occur; missing ones are left out.
    groups : int
        The number of groups of the lowest level. Fewer result where one value is in many rows.
    merged : int
        How many neighbouring groups are one group of the next level.

    Returns
    -------
    Hierarchy
        The values in ascending order, below their groups, which are named by their ends.

    Raises
    ------
    UsageError
        There are fewer than two groups, or fewer than two are merged.
    DataError
        A value is not a number.

    Examples
    --------
    >>> from_quantiles([1, 2, 3, 4, 5, 6, 7, 90], groups=4).rows()[:3]
    [('1', '1-2', '1-4', '*'), ('2', '1-2', '1-4', '*'), ('3', '3-4', '1-4', '*')]
    """
    if groups < 2 or merged < 2:
        raise UsageError("Quantiles need at least 2 groups, and 2 groups to merge.")
    listed = [_text(value) for value in values if not _is_missing(value)]
    counts = Counter(listed)
    texts = list(_numbers(listed))
    upto = np.cumsum([counts[text] for text in texts])
    middle = (upto - np.array([counts[text] for text in texts]) / 2) / max(upto[-1], 1)
    group = np.minimum((middle * groups).astype(np.int64), groups - 1)
    levels: list[list[str]] = []
    while len(np.unique(group)) > 1:
        levels.append(_named_by_ends(texts, group))
        group = group // merged
    return _of_levels(texts, levels)


def from_dates(values: Iterable[Value | None], *, units: Sequence[str] = DATE_UNITS) -> Hierarchy:
    """Build a hierarchy of dates from units of the calendar.

    Parameters
    ----------
    values : iterable of date or str
        The values of a column, as dates or text of the form 2024-12-31; missing ones are left out.
    units : sequence of str
        The units of the levels, from narrow to wide: month, quarter, year, decade.

    Returns
    -------
    Hierarchy
        The days in ascending order, below the names of their units.

    Raises
    ------
    UsageError
        There is no such unit, or the units do not go from narrow to wide.
    DataError
        A value is not a date.

    Examples
    --------
    >>> from_dates(["2024-02-29", "2024-11-01"], units=["quarter", "year"]).rows()
    [('2024-02-29', '2024-Q1', '2024', '*'), ('2024-11-01', '2024-Q4', '2024', '*')]
    """
    for unit in units:
        if unit not in DATE_UNITS:
            raise UsageError(f"There is no unit '{unit}'.", did_you_mean(unit, DATE_UNITS))
    order = [DATE_UNITS.index(unit) for unit in units]
    if not order or order != sorted(set(order)):
        raise UsageError("The units do not go from narrow to wide.", "Write month,year.")
    days: dict[str, date] = {}
    for value in values:
        if not _is_missing(value):
            days[_text(value)] = _day(value)
    ascending = sorted(days, key=days.__getitem__)
    return _of_levels(
        ascending, [[_unit(days[text], unit) for text in ascending] for unit in units]
    )


def from_prefixes(values: Iterable[Value | None], *, lengths: Sequence[int]) -> Hierarchy:
    """Build a hierarchy of codes from their beginnings.

    Parameters
    ----------
    values : iterable of str
        The codes of a column; missing ones are left out.
    lengths : sequence of int
        How many characters a code keeps at every level, from most to fewest.

    Returns
    -------
    Hierarchy
        The codes in alphabetical order, below their beginnings.

    Raises
    ------
    UsageError
        The lengths are not positive and descending.

    Examples
    --------
    >>> from_prefixes(["75001", "75116", "10115"], lengths=[3, 2]).rows()
    [('10115', '101**', '10***', '*'), ('75001', '750**', '75***', '*'), ('75116', '751**', '75***', '*')]
    """  # noqa: E501
    if (
        not lengths
        or any(length < 1 for length in lengths)
        or list(lengths) != sorted(set(lengths), reverse=True)
    ):
        raise UsageError("The lengths are not positive and descending.", "Write for instance 3,2.")
    codes = sorted({_text(value) for value in values if not _is_missing(value)})
    levels = []
    for length in lengths:
        longest: dict[str, int] = {}
        for code in codes:
            longest[code[:length]] = max(longest.get(code[:length], 0), len(code))
        levels.append([code[:length] + "*" * (longest[code[:length]] - length) for code in codes])
    return _of_levels(codes, levels)


def from_frequency(
    values: Iterable[Value | None], *, least: int, label: str = "other values"
) -> Hierarchy:
    """Build a hierarchy that pools rare values.

    Parameters
    ----------
    values : iterable of value
        The values of a column, as often as they occur; missing ones are left out.
    least : int
        Values that occur less often are rare.
    label : str
        The label of the node of all rare values.

    Returns
    -------
    Hierarchy
        Frequent values by descending frequency, then the rare ones below a node of their own.

    Raises
    ------
    UsageError
        ``least`` is less than 2, or the label is a value of the column.

    Examples
    --------
    >>> from_frequency(["a", "a", "a", "b", "c"], least=3).rows()
    [('a', 'a', '*'), ('b', 'other values', '*'), ('c', 'other values', '*')]
    """
    if least < 2:
        raise UsageError("Values that occur less than once are none.", "Give at least 2.")
    counts = Counter(_text(value) for value in values if not _is_missing(value))
    if label in counts or label == ROOT:
        raise UsageError("The label of rare values is a value of the column.", "Choose another.")
    texts = sorted(counts, key=lambda text: (-counts[text], text))
    return _of_levels(texts, [[text if counts[text] >= least else label for text in texts]])


def from_cooccurrence(
    values: Sequence[Value | None],
    others: Mapping[str, Sequence[Value | None]],
    *,
    groups: Sequence[int] | None = None,
) -> Hierarchy:
    """Build a hierarchy of values that occur together with similar values of other columns.

    The profile of a value is how often values of the other columns occur in its rows; numbers are
    compared in ten groups of equal size. Values with similar profiles (Hellinger distance, average
    linkage) are put into one group.

    Parameters
    ----------
    values : sequence of value
        The values of a column, row by row.
    others : mapping of str to sequence of value
        Other columns of the same rows, by name. They have to be quasi-identifiers: the hierarchy
        tells which of their values go with which values of the column.
    groups : sequence of int, optional
        The number of groups of every level, from most to fewest. By default a third of the number
        of values, then a third of that, as long as there are at least two groups.

    Returns
    -------
    Hierarchy
        Similar values next to each other. Groups are named by their most frequent values.

    Raises
    ------
    UsageError
        There are no other columns, their lengths differ, there are more than 3,000 distinct
        values, or the numbers of groups do not descend.

    Examples
    --------
    >>> jobs = ["nurse", "doctor", "farmer", "fisher"] * 2
    >>> places = {"place": ["clinic", "clinic", "outside", "outside"] * 2}
    >>> similar = from_cooccurrence(jobs, places, groups=[2])
    >>> similar.lowest_common_ancestor(["nurse", "doctor"])
    'doctor, nurse'
    """
    if not others:
        raise UsageError("Similarity needs other columns.", "Name at least one quasi-identifier.")
    if any(len(other) != len(values) for other in others.values()):
        raise UsageError("The other columns have another number of rows.")
    kept = [row for row, value in enumerate(values) if not _is_missing(value)]
    texts = [_text(values[row]) for row in kept]
    counts = Counter(texts)
    known = sorted(counts)
    if len(known) > MOST_SIMILAR:
        raise UsageError(
            f"The column has more than {MOST_SIMILAR:,} distinct values to compare.",
            "Build the hierarchy by frequency first, or by prefixes.",
        )
    sizes = _group_counts(len(known), groups)
    if len(known) < 3 or not sizes:
        return _of_levels(known, [])
    place = {text: number for number, text in enumerate(known)}
    code = np.array([place[text] for text in texts])
    profiles = [
        _profiles(code, [other[row] for row in kept], len(known)) for other in others.values()
    ]
    merges = clustering.linkage(np.hstack(profiles), method="average", optimal_ordering=True)
    order = clustering.leaves_list(merges)
    ordered = [known[number] for number in order]
    levels = []
    for size in sizes:
        cluster = clustering.fcluster(merges, size, criterion="maxclust")[order]
        levels.append(_named_by_members(ordered, cluster.tolist(), counts, known))
    return _of_levels(ordered, levels)


def from_mapping(values: Sequence[Value | None], *levels: Sequence[Value | None]) -> Hierarchy:
    """Build a hierarchy from columns that say to which group each value belongs.

    Parameters
    ----------
    values : sequence of value
        The values of a column, row by row, such as countries.
    *levels : sequence of value
        The groups of the same rows, from narrow to wide, such as regions and continents. A row
        without a group stays by itself at that level.

    Returns
    -------
    Hierarchy
        The values in the order of their first rows, below their groups.

    Raises
    ------
    UsageError
        There is no level, or a level has another number of rows.
    DataError
        A value or group belongs to two groups of the next level.

    Examples
    --------
    >>> from_mapping(["Rome", "Nice", "Rome"], ["Italy", "France", "Italy"]).rows()
    [('Rome', 'Italy', '*'), ('Nice', 'France', '*')]
    """
    if not levels:
        raise UsageError("A mapping needs a column of groups.", "Name at least one.")
    if any(len(level) != len(values) for level in levels):
        raise UsageError("The columns of groups have another number of rows.")
    rows: dict[str, list[str]] = {}
    contradictory = set()
    for row, value in enumerate(values):
        if _is_missing(value):
            continue
        chain = [_text(value)]
        for level in levels:
            chain.append(chain[-1] if _is_missing(level[row]) else _text(level[row]))
        if rows.setdefault(chain[0], chain) != chain:
            contradictory.add(chain[0])
    if contradictory:
        raise DataError(
            f"{len(contradictory):,} values belong to different groups in different rows.",
            "Correct these rows, so that every value has one group at every level.",
        )
    texts = list(rows)
    return _of_levels(
        texts, [[rows[text][level] for text in texts] for level in range(1, len(levels) + 1)]
    )


# Classifications whose codes are made of broader codes by a public rule, and how many characters
# of a code name a group. The codes themselves come from the data.
_CODE_LENGTHS: dict[str, tuple[int, ...]] = {
    "icd": (3, 1),  # ICD-10: category, letter
    "isco": (3, 2, 1),  # minor, sub-major, major groups of occupations
    "nuts": (4, 3, 2),  # regions of level 2 and 1, countries
    "nace": (4, 2),  # groups and divisions of activities, as 01.1 and 01
    "naics": (4, 3, 2),  # industry groups, subsectors, sectors
    "atc": (5, 4, 3, 1),  # chemical, pharmacological, therapeutic and anatomical groups
    "postcode": (4, 3, 2, 1),
}
STANDARDS = ("ages", *_CODE_LENGTHS)


def from_standard(values: Iterable[Value | None], standard: str) -> Hierarchy:
    """Build the hierarchy of values whose groups follow from a public rule.

    Parameters
    ----------
    values : iterable of value
        The values of a column; missing ones are left out.
    standard : str
        ``ages`` for whole years in groups of 5, 10, 20 and 40 years; ``icd``, ``isco``, ``nuts``,
        ``nace``, ``naics``, ``atc`` or ``postcode`` for codes that begin with the code of their
        group.

    Returns
    -------
    Hierarchy
        The values below their groups.

    Raises
    ------
    UsageError
        There is no such rule.
    DataError
        A value does not fit it.

    Examples
    --------
    >>> from_standard(["DE212", "FR101"], "nuts").rows()
    [('DE212', 'DE21*', 'DE2**', 'DE***', '*'), ('FR101', 'FR10*', 'FR1**', 'FR***', '*')]
    """
    if standard == "ages":
        return from_intervals(values, widths=(5, 10, 20, 40))
    if standard not in _CODE_LENGTHS:
        raise UsageError(f"There is no rule '{standard}'.", did_you_mean(standard, STANDARDS))
    texts = [_text(value) for value in values if not _is_missing(value)]
    longest = max(map(len, texts), default=0)
    lengths = [length for length in _CODE_LENGTHS[standard] if length < longest]
    return from_prefixes(texts, lengths=lengths or [1])


# --------------------------------------------------------------------------------- values and text


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _text(value: object) -> str:
    """A value as the leaf that stands for it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        value = value.date()
    return value.isoformat() if isinstance(value, date) else str(value)


def _day(value: object) -> date:
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value).strip()[:10])
    except ValueError:
        raise DataError(
            "Some values are not dates.", "Dates are text of the form 2024-12-31."
        ) from None


def _numbers(values: Iterable[object]) -> dict[str, Fraction]:
    """Numbers by their text, ascending."""
    found: dict[str, Fraction] = {}
    for value in values:
        if not _is_missing(value):
            try:
                found[_text(value)] = Fraction(_text(value).strip())
            except (ValueError, ZeroDivisionError):
                raise DataError(
                    "Some values are not numbers.", "Intervals and quantiles are for numbers."
                ) from None
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _ascending(values: Sequence[float], noun: str) -> list[Fraction]:
    ends = [Fraction(str(value)) for value in values]
    if not ends or any(not low < high for low, high in pairwise(ends)):
        raise UsageError(f"The {noun} are not ascending.", "Write for instance 5,10,20.")
    return ends


def _shown(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else repr(float(number))


def _interval(low: Fraction, high: Fraction, whole: bool) -> str:
    """From a number to below another one."""
    if whole and low.denominator == high.denominator == 1:
        return _shown(low) if high == low + 1 else _joined(_shown(low), _shown(high - 1))
    return _joined(_shown(low), f"<{_shown(high)}")


def _joined(low: str, high: str) -> str:
    """The label of an interval, without dots, which text cells would have to escape."""
    return f"{low} to {high}" if low.startswith("-") else f"{low}-{high}"


def _multiple(number: Fraction, step: Fraction, whole: bool) -> str:
    low = math.floor(number / step) * step
    return _interval(low, low + step, whole)


def _between(number: Fraction, ends: list[Fraction], whole: bool) -> str:
    if number < ends[0]:
        return f"<{_shown(ends[0])}"
    if number >= ends[-1]:
        return f"{_shown(ends[-1])}+"
    place = max(place for place, end in enumerate(ends) if end <= number)
    return _interval(ends[place], ends[place + 1], whole)


def _unit(day: date, unit: str) -> str:
    """The name of the unit of the calendar that a day is in."""
    return {
        "month": f"{day.year:04}-{day.month:02}",
        "quarter": f"{day.year:04}-Q{(day.month + 2) // 3}",
        "year": f"{day.year:04}",
        "decade": f"{day.year // 10 * 10:04}s",
    }[unit]


# ------------------------------------------------------------------------------------ rows of trees


def _of_levels(texts: Sequence[str], levels: Sequence[Sequence[str]]) -> Hierarchy:
    """The tree of values and of the labels of their levels, from narrow to wide."""
    if not texts:
        raise DataError("The column has no values.", "Give a column that is not empty.")
    if ROOT in texts:
        raise DataError(f"A value is '{ROOT}', the label of the root.", "Replace it.")
    return Hierarchy.from_rows(
        [(text, *(level[row] for level in levels), ROOT) for row, text in enumerate(texts)]
    )


def _named_by_ends(texts: Sequence[str], group: NDArray[np.int64]) -> list[str]:
    """Groups of ascending values by the first and the last."""
    ends: dict[int, list[str]] = {}
    for text, number in zip(texts, group.tolist(), strict=True):
        ends.setdefault(number, [text, text])[1] = text
    return [
        low if low == high else _joined(low, high)
        for low, high in (ends[number] for number in group.tolist())
    ]


def _group_counts(values: int, groups: Sequence[int] | None) -> list[int]:
    """The number of groups of every level."""
    if groups is not None:
        descending = list(groups) == sorted(set(groups), reverse=True)
        if not groups or not descending or min(groups) < 2:
            raise UsageError("The numbers of groups do not descend.", "Write for instance 12,4.")
        return [size for size in groups if size < values]
    sizes = []
    size = values // 3
    while size >= 2:
        sizes.append(size)
        size //= 3
    return sizes


def _profiles(code: NDArray[np.int64], other: list[Any], values: int) -> NDArray[np.float64]:
    """[values, categories]: square roots of the shares of another column's values."""
    numbers = [cell for cell in other if not _is_missing(cell)]
    if all(isinstance(cell, int | float) for cell in numbers) and len(set(numbers)) > _FEW:
        cuts = np.unique(np.quantile(np.array(numbers, float), np.arange(1, _NUMBER_BINS) / 10))
        cells = [
            "" if _is_missing(cell) else f"{np.searchsorted(cuts, cell, side='right')}"
            for cell in other
        ]
    else:
        cells = ["" if _is_missing(cell) else f"={_text(cell)}" for cell in other]
    _, category = np.unique(np.array(cells), return_inverse=True)
    counts = np.zeros((values, int(category.max(initial=0)) + 1))
    np.add.at(counts, (code, category.ravel()), 1)
    return np.asarray(np.sqrt(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)))


def _named_by_members(
    ordered: Sequence[str],
    cluster: Sequence[int],
    counts: Mapping[str, int],
    taken: Iterable[str],
) -> list[str]:
    """Groups by their most frequent values; a group of one value by the value."""
    members: dict[int, list[str]] = {}
    for text, number in zip(ordered, cluster, strict=True):
        members.setdefault(number, []).append(text)
    used = set(taken)
    names: dict[int, str] = {}
    for number, texts in members.items():
        if len(texts) == 1:
            names[number] = texts[0]
            continue
        frequent = sorted(texts, key=lambda text: (-counts[text], text))
        name = ", ".join(frequent[:_NAMED])
        if len(texts) > _NAMED:
            name += f" and {len(texts) - _NAMED} more"
        while name in used:
            name += " …"
        used.add(name)
        names[number] = name
    return [names[number] for number in cluster]
