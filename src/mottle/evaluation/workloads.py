"""The papers' workloads: random conjunctive counts (HET §5) and the OLAP cube (FAST07 §6.3)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import UsageError
from mottle.itemsets.arrow import is_list
from mottle.queries._literals import is_numeric
from mottle.queries.conditions import Where, check_column
from mottle.queries.engine import Queries
from mottle.queries.group_by.selected_groups import expected_counts
from mottle.typing import Float64Array
from mottle.utils.arrow import numbered

if TYPE_CHECKING:
    from mottle.release.data import ReleaseData

__all__ = ["QueryError", "cube_divergence", "prefix_counts", "query_error", "random_counts"]

_AT_ONCE = 500  # queries after which it is said how many are answered


def random_counts(
    table: pa.Table,
    columns: Sequence[str],
    sensitive: str | None,
    *,
    conditions: int = 3,
    selectivity: float = 0.1,
    number: int = 1000,
    seed: int = 0,
    listed: Collection[str] = (),
) -> list[Where]:
    """Draw HET's random conjunctive counts: ranges on λ random columns and on the sensitive one.

    A range covers Θ^(1/(λ+1)) of its column's domain, so that a query selects Θ of the records of a
    uniformly distributed table (Θ^(1/λ) without a sensitive column). Its beginning is random. The
    domain of a number column extends from its lowest to its highest value; other values are taken
    in their order as text. A condition on a column of sets is that one random item is held.

    Parameters
    ----------
    table : pyarrow.Table
        The originals, which give the domains of the columns.
    columns : sequence of str
        The columns from which conditions are drawn.
    sensitive : str or None
        A column on which every query has a condition.
    conditions : int
        The paper's λ: the number of conditions on ``columns``.
    selectivity : float
        The paper's Θ: the share of records that a query selects.
    number : int
        The number of queries.
    seed : int
        Seed for drawing them.
    listed : collection of str
        Columns of numbers that have an order or a hierarchy of their own: values are named.

    Returns
    -------
    list of dict
        The conditions of each query, as `mottle.queries` takes them.

    Raises
    ------
    UsageError
        There are too few columns, a column does not exist or is empty, or the selectivity is not
        between 0 and 1.

    Examples
    --------
    >>> ages = pa.table({"age": list(range(20, 30))})
    >>> random_counts(ages, ["age"], None, conditions=1, selectivity=0.2, number=2, seed=1)
    [{'age': (24, 25)}, {'age': (24, 25)}]
    """
    if not 1 <= conditions <= len(columns):
        raise UsageError(
            f"There are {len(columns)} columns for {conditions} conditions.",
            "Use at least one condition, and at most one for each column.",
        )
    if not 0 < selectivity <= 1:
        raise UsageError(f"A selectivity of {selectivity} is not between 0 and 1.")
    random = np.random.default_rng(seed)
    always = [] if sensitive is None else [sensitive]
    domains = {name: _Domain.of(table, name, name in listed) for name in (*columns, *always)}
    covered = selectivity ** (1 / (conditions + len(always)))
    return [
        {
            columns[place]: domains[columns[place]].random_range(covered, random)
            for place in sorted(random.choice(len(columns), conditions, replace=False))
        }
        | {name: domains[name].random_range(covered, random) for name in always}
        for _ in range(number)
    ]


def prefix_counts(
    table: pa.Table, prefix: str, singles: Sequence[str], *, number: int = 1000, seed: int = 0
) -> list[Where]:
    """Draw HET's prefix-range counts (Figure 10c): one column up to a value, others at a value.

    All values are drawn from the columns' domains, each equally likely.

    Parameters
    ----------
    table : pyarrow.Table
        The originals, which give the domains of the columns.
    prefix : str
        The column that is restricted to values up to a random one.
    singles : sequence of str
        The columns that are restricted to a single random value.
    number : int
        The number of queries.
    seed : int
        Seed for drawing them.

    Returns
    -------
    list of dict
        The conditions of each query, as `mottle.queries` takes them.

    Raises
    ------
    UsageError
        A column does not exist or is empty.
    """
    random = np.random.default_rng(seed)
    upto, others = _Domain.of(table, prefix), {name: _Domain.of(table, name) for name in singles}
    return [
        {prefix: (None, upto.random_value(random))}
        | {name: domain.random_value(random) for name, domain in others.items()}
        for _ in range(number)
    ]


@dataclass(frozen=True, eq=False)
class _Domain:
    """The distinct values of a column, ascending."""

    name: str
    values: list[Any]
    is_number: bool
    is_whole: bool
    is_item: bool = False  # whether the values are items of sets, of which one is queried

    @classmethod
    def of(cls, table: pa.Table, name: str, listed: bool = False) -> _Domain:
        check_column(name, table.column_names)
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        is_item = is_list(column.type)
        if is_item:
            column = pc.list_flatten(column)
        distinct = pc.unique(column).drop_null()
        if len(distinct) == 0:
            raise UsageError(f"Column '{name}' has no values to query.", "Leave it out.")
        values = distinct.take(pc.sort_indices(distinct)).to_pylist()
        is_number = is_numeric(distinct.type) and not listed
        whole = is_number and all(value == int(value) for value in values)
        return cls(name, values, is_number, whole, is_item)

    def random_value(self, random: np.random.Generator) -> Any:
        """Draw a value."""
        return self.values[random.integers(len(self.values))]

    def random_range(self, covered: float, random: np.random.Generator) -> Any:
        """Draw a range that covers a share of the domain; or a single item."""
        if self.is_item:
            return self.random_value(random)
        low, high = self.values[0], self.values[-1]
        if self.is_number and not self.is_whole:
            begin = float(low) + random.random() * (1 - covered) * float(high - low)
            return begin, begin + covered * float(high - low)
        size = int(high - low) + 1 if self.is_whole else len(self.values)
        length = min(max(round(size * covered), 1), size)
        begin = _random_below(size - length + 1, random)
        if self.is_whole:
            return int(low) + begin, int(low) + begin + length - 1
        return self.values[begin : begin + length]


def _random_below(bound: int, random: np.random.Generator) -> int:
    """Draw a whole number below a bound that may have more than 64 bits."""
    if bound < 2**63:
        return int(random.integers(bound))
    return int.from_bytes(random.bytes(bound.bit_length() // 8 + 8)) % bound


@dataclass(frozen=True)
class QueryError:
    """How far a release's answers are from the true ones.

    Attributes
    ----------
    median, mean : float
        Of the relative errors `|expected - true| / true`, over queries whose true count is not 0.
    query_count : int
        The number of queries.
    dropped : int
        The number of queries whose true count is 0.
    within_bounds : int
        The number of queries whose true count lies between ``certain`` and ``possible``.
    errors : numpy.ndarray
        The relative errors themselves.
    """

    median: float
    mean: float
    query_count: int
    dropped: int
    within_bounds: int
    errors: Float64Array


def query_error(
    original: pa.Table | Queries,
    release: ReleaseData | pa.Table | Queries,
    wheres: Sequence[Where],
    fit: str = "fitted",
    *,
    reached: Callable[[int, int], None] = lambda done, of: None,
) -> QueryError:
    """Answer queries on the original and on a release, and compare the answers.

    Parameters
    ----------
    original : pyarrow.Table or Queries
        The originals.
    release : ReleaseData, pyarrow.Table or Queries
        The release; a table in its place is queried unchanged (synthetic data).
    wheres : sequence of dict
        The conditions of each query, for instance from `random_counts`.
    fit : str
        How values inside cells are weighted, as for `mottle.queries.Queries`.
    reached : callable
        Called now and then with the number of queries that are answered, and that of all.

    Returns
    -------
    QueryError

    Examples
    --------
    >>> ages = pa.table({"age": [20, 21, 22, 23]})
    >>> query_error(ages, ages, [{"age": (20, 21)}, {"age": 30}]).median
    0.0
    """
    asked, queried = as_queries(original), as_queries(release, fit)
    true, expected = np.zeros(len(wheres)), np.zeros(len(wheres))
    inside = np.zeros(len(wheres), np.bool_)
    for first in range(0, len(wheres), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        true[part] = asked.counts(wheres[part]).expected
        answers = queried.counts(wheres[part])
        expected[part] = answers.expected
        inside[part] = (answers.certain <= true[part]) & (true[part] <= answers.possible)
        reached(min(first + _AT_ONCE, len(wheres)), len(wheres))
    nonzero = true > 0
    errors = np.abs(expected - true)[nonzero] / true[nonzero]
    return QueryError(
        median=float(np.median(errors)) if len(errors) else float("nan"),
        mean=float(errors.mean()) if len(errors) else float("nan"),
        query_count=len(true),
        dropped=int((~nonzero).sum()),
        within_bounds=int(inside.sum()),
        errors=errors,
    )


def cube_divergence(
    original: pa.Table | Queries,
    release: ReleaseData | pa.Table | Queries,
    columns: Sequence[str],
    sensitive: str,
    level: int,
    *,
    fit: str = "fitted",
    floor: float = 0.0,
    reached: Callable[[int, int], None] = lambda done, of: None,
) -> float:
    """Compute FAST07's error of the OLAP cube at one level of its lattice.

    For every group-by over ``level`` of the columns, with the sensitive value, the originals' cells
    and the estimated ones are two distributions P and Q. Their Kullback-Leibler divergence
    Σ P log(P / Q), natural logarithm, is averaged over all group-bys of the level. 0 is best; it is
    infinite when an estimate is 0 where there are records, which a release never states but
    synthetic data may.

    Parameters
    ----------
    original : pyarrow.Table or Queries
        The originals.
    release : ReleaseData, pyarrow.Table or Queries
        The release; a table in its place is queried unchanged (synthetic data).
    columns : sequence of str
        The columns of the cube.
    sensitive : str
        The column that is part of every group-by.
    level : int
        How many of ``columns`` a group-by has.
    fit : str
        How values inside cells are weighted, as for `mottle.queries.Queries`.
    floor : float
        The lowest number of records that an estimate counts as, to avoid infinite results.
    reached : callable
        Called with the number of group-bys that are computed, and that of all.

    Returns
    -------
    float

    Raises
    ------
    UsageError
        The cube has no such level.
    """
    estimated = as_queries(release, fit)
    if not 1 <= level <= len(columns):
        raise UsageError(f"A cube over {len(columns)} columns has no level {level}.")
    cubes = list(combinations(columns, level))
    found = []
    for names in cubes:
        found.append(_divergence(original, estimated, [*names, sensitive], floor))
        reached(len(found), len(cubes))
    return float(np.mean(found))


def _divergence(
    original: pa.Table | Queries, estimated: Queries, names: list[str], floor: float
) -> float:
    """The divergence of the estimated cells of one group-by."""
    cells, counts = _cells(original, names)
    guesses = np.maximum(expected_counts(estimated, cells), floor)
    records = counts.sum()
    with np.errstate(divide="ignore"):
        logs = np.log(counts * estimated.records) - np.log(guesses * records)
    return float((counts * logs).sum() / records)


def _cells(original: pa.Table | Queries, names: list[str]) -> tuple[pa.Table, Float64Array]:
    """The cells of a group-by that have records, and how many; a table has any number of cells."""
    if isinstance(original, Queries):
        found = original.group_by(names)
        return found.select(names), found.column("expected").to_numpy()
    chosen = numbered(original.select(names))
    found = chosen.group_by(chosen.column_names).aggregate([([], "count_all")])
    counts = found.column("count_all").to_numpy().astype(np.float64)
    return found.select(chosen.column_names).rename_columns(names), counts


def as_queries(source: ReleaseData | pa.Table | Queries, fit: str = "fitted") -> Queries:
    """Prepare a release or table for queries, unless it is prepared already."""
    return source if isinstance(source, Queries) else Queries.of(source, fit)
