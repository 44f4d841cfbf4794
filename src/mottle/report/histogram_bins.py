"""The bars of a column's chart: ranges with round edges, or its most frequent values."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.evaluation.cell_counts import Tally
from mottle.hierarchy.tree import Hierarchy
from mottle.queries import Condition
from mottle.release.column import PublishedColumn
from mottle.typing import Float64Array

MOST_BARS = 12
FEW_BARS = 7  # of a chart in a report on many columns
MISSING = "missing"
_USUAL = 0.98  # share of values that a chart's ranges of equal width cover
_DAYS = (1, 7, 14)
_MONTHS = (1, 3, 6)
_YEARS = (1, 2, 5, 10, 20, 50, 100, 200, 500)


@dataclass(frozen=True)
class Bins:
    """The bars of a column: the label of each, and the values it counts."""

    labels: tuple[str, ...]
    conditions: tuple[Condition, ...]
    edges: tuple[str, ...] = ()  # of a histogram; empty for values
    ranked: int = 0  # how many bars, from the first, stand in the order of their shares


def bins_of(tally: Tally, most: int = MOST_BARS) -> Bins | None:
    """The bars of a column of a release; None when a chart would not be informative."""
    column = tally.column
    if column.hierarchy is not None:
        return _nodes(column.hierarchy, most)
    if column.order is not None:
        return _along_order(column.order, most)
    values, weights = tally.values()
    distinct = values.unique().drop_null()
    measured = _is_measured(column, distinct.type)
    if len(distinct) > most and measured:
        return _ranges(values, weights, most)
    mostly_different = len(distinct) > tally.records / 2 > most
    if len(distinct) == 0 or (column.form is None and mostly_different):
        return None
    if len(distinct) <= most + 1 and (measured or _begin_with_numbers(distinct)):
        known = distinct.take(pc.sort_indices(distinct)).to_pylist()
        named = [(value, _text(value)) for value in known]
        return _of_values(named if measured else sorted(named, key=lambda one: _leading(one[1])))
    return _most_frequent(values, weights, most, whole=tally.whole)


def _along_order(order: Sequence[str], most: int) -> Bins:
    """Values in their order; neighbours in one bar where there are many."""
    if len(order) <= 2 * most:
        return _of_values([(value, value) for value in order])
    cuts = np.linspace(0, len(order), most + 1).astype(int)
    runs = [order[first:last] for first, last in pairwise(cuts)]
    return Bins(
        tuple(run[0] if len(run) == 1 else f"{run[0]} … {run[-1]}" for run in runs),
        tuple(Condition(values=tuple(run)) for run in runs),
    )


_NUMBER = re.compile(r"\D{0,2}(\d+(?:\.\d+)?)")


def _begin_with_numbers(values: pa.Array) -> bool:
    """Whether values are text such as 0-9, 10-19, 20+, whose order is that of their numbers."""
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return False
    return all(_NUMBER.match(value) for value in values.to_pylist())


def _leading(text: str) -> tuple[float, bool]:
    """The number that a text begins with; texts such as < 10 come before it.

    >>> sorted(["20+", "10-19", "< 10", "5-9"], key=_leading)
    ['5-9', '< 10', '10-19', '20+']
    """
    found = _NUMBER.match(text)
    return (float(found[1]) if found else 0.0, not text.startswith("<"))


def missing_condition() -> Condition:
    """The bar of missing values."""
    return Condition(known=False, missing=True)


def _is_measured(column: PublishedColumn, data_type: pa.DataType) -> bool:
    is_number = pa.types.is_integer(data_type) or pa.types.is_floating(data_type)
    return not (column.kind is not None and column.kind.is_unordered) and (
        is_number or pa.types.is_decimal(data_type) or pa.types.is_date(data_type)
    )


def _most_frequent(values: pa.Array, weights: Float64Array, most: int, *, whole: bool) -> Bins:
    """The values in order of frequency; if there are many, the less frequent ones in one bar."""
    coded = values.dictionary_encode()
    known = coded.is_valid().to_numpy(zero_copy_only=False)
    codes = coded.indices.drop_null().to_numpy()
    counts = np.bincount(codes, weights[known], len(coded.dictionary))
    order = np.argsort(-counts, kind="stable")
    named = [(value, _text(value)) for value in coded.dictionary.take(pa.array(order)).to_pylist()]
    if len(named) <= most + 1:
        return replace(_of_values(named), ranked=len(named))
    shown = _of_values(named[:most])
    rest = Condition(excluded=tuple(value for value, _ in named[:most]))
    others = f"{len(named) - most:,} other values" if whole else "all other values"
    return Bins((*shown.labels, others), (*shown.conditions, rest), ranked=most)


def _text(value: object) -> str:
    return "(empty)" if value == "" else str(value)


def _of_values(named: Sequence[tuple[Any, str]]) -> Bins:
    return Bins(
        tuple(label for _, label in named), tuple(Condition(values=(value,)) for value, _ in named)
    )


def _nodes(hierarchy: Hierarchy, most: int) -> Bins:
    """The lowest level of a hierarchy that fits; nodes are given by their leaves, as originals."""
    levels = hierarchy.ancestors.T
    level = next(nodes for nodes in levels if len(np.unique(nodes)) <= 2 * most)
    nodes = list(dict.fromkeys(level.tolist()))
    labels = tuple(
        "all values" if node == hierarchy.root else hierarchy.labels[node] for node in nodes
    )
    members = [np.flatnonzero(level == node) for node in nodes]
    conditions = [
        Condition(values=tuple(hierarchy.leaves[leaf] for leaf in leaves)) for leaves in members
    ]
    return Bins(labels, tuple(conditions))


def _ranges(values: pa.Array, weights: Float64Array, most: int) -> Bins:
    """Ranges of one round width over numbers or days, and one for the few values far above."""
    weights = weights[values.is_valid().to_numpy(zero_copy_only=False)]
    known = values.drop_null()
    lowest, highest = pc.min_max(known).as_py().values()
    if pa.types.is_date(known.type):
        edges: list[Any] = _round_dates(lowest, highest, most)
        write: Callable[[Any], str] = _date_writer(edges)
    else:
        numbers = known.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        usual = _quantile(numbers, weights, _USUAL)
        is_skewed = usual - float(lowest) < (float(highest) - float(lowest)) / 2
        reach = usual if is_skewed and usual > float(lowest) else float(highest)
        edges, step = _round_numbers(float(lowest), reach, known.type, most)
        write = _number_writer(step)
    exact = Decimal if pa.types.is_decimal(known.type) else (lambda edge: edge)
    conditions = [
        Condition(low=exact(low), high=exact(high), high_open=True) for low, high in pairwise(edges)
    ]
    labels = [f"{write(low)} to below {write(high)}" for low, high in pairwise(edges)]
    texts = [write(edge) for edge in edges]
    if highest >= edges[-1]:
        conditions.append(Condition(low=exact(edges[-1])))
        labels.append(f"{texts[-1]} and above")
        texts.append("and above")
    return Bins(tuple(labels), tuple(conditions), tuple(texts))


def _quantile(numbers: Float64Array, weights: Float64Array, share: float) -> float:
    """The number below which this share of the weights lies; infinite numbers do not count."""
    finite = np.flatnonzero(np.isfinite(numbers))
    order = finite[np.argsort(numbers[finite], kind="stable")]
    upto = np.cumsum(weights[order])
    return float(numbers[order[np.searchsorted(upto, share * upto[-1])]])


def _round_numbers(
    lowest: float, highest: float, data_type: pa.DataType, most: int
) -> tuple[list[Any], float]:
    """Edges around all values, in steps of 1, 2 or 5 times a power of ten."""
    wanted = (highest - lowest) / (most + 2)
    power = 10.0 ** math.floor(math.log10(wanted))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= wanted * 0.999)
    if pa.types.is_integer(data_type):
        whole = max(1, round(step))
        first = math.floor(lowest / whole)
        last = math.floor(highest / whole) + 1
        return [place * whole for place in range(first, last + 1)], whole
    first, last = math.floor(lowest / step), math.floor(highest / step) + 1
    return [round(place * step, 12) for place in range(first, last + 1)], step


def _number_writer(step: float) -> Callable[[float], str]:
    if step >= 10_000:
        return lambda edge: f"{edge / 1000:,.0f} k" if edge else "0"
    digits = max(0, -math.floor(math.log10(step)))
    return lambda edge: f"{edge:,.{digits}f}"


def _round_dates(lowest: dt.date, highest: dt.date, most: int) -> list[dt.date]:
    days = (highest - lowest).days
    for step in _DAYS:
        if days < most * step:
            count = days // step + 2
            return [lowest + dt.timedelta(step * place) for place in range(count)]
    for step in (*_MONTHS, *(12 * years for years in _YEARS)):
        if days < 1.2 * most * 30.4 * step or step == 12 * _YEARS[-1]:
            break
    month = (lowest.year * 12 + lowest.month - 1) // step * step
    edges: list[dt.date] = []
    while not edges or edges[-1] <= highest:
        year = month // 12
        if year > dt.MAXYEAR:
            edges.append(dt.date.max)
            break
        edges.append(dt.date(max(year, 1), month % 12 + 1, 1))
        month += step
    return edges


def _date_writer(edges: Sequence[dt.date]) -> Callable[[dt.date], str]:
    if all((edge.month, edge.day) == (1, 1) for edge in edges):
        return lambda edge: str(edge.year)
    if all(edge.day == 1 for edge in edges):
        return lambda edge: f"{edge:%b %Y}"
    return lambda edge: edge.isoformat()
