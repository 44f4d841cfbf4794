"""How far columns of a table determine others, and how many rows they single out.

Guesses about a row are made from the other rows, so that a column in which every value is different
does not seem to determine everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.typing import BoolArray, Float64Array, Int64Array

__all__ = [
    "ColumnCodes",
    "ColumnDependence",
    "Dependence",
    "Determined",
    "coded",
    "information",
    "is_single",
    "leave_one_out",
    "measure_dependence",
]

MOST_ROWS = 50_000  # of larger tables, a sample is examined for dependence
STRONG = 0.5  # share of what is unknown about a column that another one tells
_ROWS_PER_VALUE = 30  # of coarse codes, on average at least
_MOST_COARSE = 64  # coarse values of a column
_SHUFFLES = 5
_GUESSED_TOGETHER = 5_000  # rows that are guessed from several columns together


@dataclass(frozen=True)
class ColumnCodes:
    """A column as integers: the rank of each value, the missing one last."""

    codes: Int64Array  # [rows]
    size: int  # number of different values
    ordered: bool  # whether neighbouring codes are similar values: numbers, days, times

    def take(self, rows: Int64Array) -> ColumnCodes:
        """Return the codes of some rows.

        Parameters
        ----------
        rows : Int64Array
            The numbers of the rows.

        Returns
        -------
        ColumnCodes
            Their codes, among the same values.
        """
        return ColumnCodes(self.codes[rows], self.size, self.ordered)

    def coarse(self) -> ColumnCodes:
        """Merge values until there are enough rows of each to count with.

        Returns
        -------
        ColumnCodes
            Quantiles of ordered values; of others the most frequent ones, and the rest as one.
        """
        rows = len(self.codes)
        most = int(np.clip(rows // _ROWS_PER_VALUE, 2, _MOST_COARSE))
        if self.size <= most:
            return self
        counts = np.bincount(self.codes, minlength=self.size)
        if self.ordered:
            middle = np.cumsum(counts) - counts / 2
            merged = np.minimum((middle * most / rows).astype(np.int64), most - 1)
        else:
            merged = np.full(self.size, most - 1)
            merged[np.argsort(-counts, kind="stable")[: most - 1]] = np.arange(most - 1)
        return ColumnCodes(merged[self.codes], most, self.ordered)


@dataclass(frozen=True)
class Determined:
    """What one column, or several together, say about another."""

    column: str
    right: float  # share of rows whose value is guessed right, from the other rows
    by_chance: float  # the same without looking at the determining columns
    # Mutual information above that of shuffled columns, as a share of what is unknown; None for
    # several columns together.
    information: float | None = None

    @property
    def skill(self) -> float:
        """The share of wrong guesses that the determining columns avoid."""
        return 0.0 if self.by_chance >= 1 else (self.right - self.by_chance) / (1 - self.by_chance)

    @property
    def is_strong(self) -> bool:
        """Whether at least half of what is unknown is told."""
        return max(self.skill, self.information or 0.0) >= STRONG


@dataclass(frozen=True)
class ColumnDependence:
    """One column, or several together: what they determine and how many rows they single out."""

    columns: tuple[str, ...]
    singles_out: float  # share of rows with a value, or combination, that no other row has
    determines: tuple[Determined, ...]


@dataclass(frozen=True)
class Dependence:
    """What some columns of a table say about others."""

    rows: int  # of the table
    examined: int  # of these, for what columns determine
    single: tuple[ColumnDependence, ...]
    together: ColumnDependence | None  # None if there are not several


def measure_dependence(
    table: pa.Table, columns: Sequence[str], known: Sequence[str], together: Sequence[str]
) -> Dependence:
    """Measure how far columns determine others, and how many rows they single out.

    Columns of lists and structures are left out.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    columns : sequence of str
        The columns that may determine others.
    known : sequence of str
        The columns that may be determined.
    together : sequence of str
        Those of ``columns`` from which guesses are made together.

    Returns
    -------
    Dependence
        What was measured: the same whenever the table is the same.

    Examples
    --------
    >>> ages = [20 + row % 40 for row in range(400)]
    >>> table = pa.table({"age": ages, "born": [2024 - age for age in ages], "row": range(400)})
    >>> found = measure_dependence(table, ["born", "row"], ["age"], ["born", "row"])
    >>> [(one.columns, one.singles_out, one.determines[0].is_strong) for one in found.single]
    [(('born',), 0.0, True), (('row',), 1.0, False)]
    """
    found = {name: coded(table.column(name)) for name in dict.fromkeys([*columns, *known])}
    codes = {name: column for name, column in found.items() if column is not None}
    columns = [name for name in columns if name in codes]
    together = [name for name in together if name in codes]
    everything = table.num_rows
    rows = np.arange(everything)
    if everything > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(everything, MOST_ROWS, replace=False))
    part = {name: column.take(rows) for name, column in codes.items()}
    targets = {name: part[name] for name in known if name in part}
    single = tuple(
        ColumnDependence(
            (name,),
            float(is_single([codes[name]]).mean()),
            tuple(
                _determined(part[name], target, of) for of, target in targets.items() if of != name
            ),
        )
        for name in columns
    )
    joint = None
    if len(columns) > 1:
        joint = ColumnDependence(
            tuple(columns),
            float(is_single([codes[name] for name in columns]).mean()),
            tuple(_guessed_together([part[name] for name in together], targets)),
        )
    return Dependence(everything, len(rows), single, joint)


def coded(values: pa.ChunkedArray) -> ColumnCodes | None:
    """Code a column by the rank of its values; None for lists and structures.

    Parameters
    ----------
    values : pyarrow.ChunkedArray
        The column; NaN counts as missing and -0.0 as 0.0.

    Returns
    -------
    ColumnCodes or None
        The codes.
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = pc.cast(values, kind.value_type)
        kind = values.type
    if pa.types.is_nested(kind):
        return None
    if pa.types.is_null(kind) or len(values) == 0:
        return ColumnCodes(np.zeros(len(values), np.int64), 1, False)
    if pa.types.is_floating(kind):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, kind), values)
        values = pc.add(values, pa.scalar(0.0, kind))
    encoded = pc.dictionary_encode(values).unify_dictionaries().combine_chunks()
    distinct = encoded.dictionary
    rank = np.empty(len(distinct), np.int64)
    rank[pc.sort_indices(distinct).to_numpy()] = np.arange(len(distinct))
    places = pc.fill_null(encoded.indices, -1).to_numpy()
    codes = np.where(places < 0, len(distinct), np.append(rank, 0)[places])
    texts = (pa.types.is_boolean, pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    ordered = not any(is_such(kind) for is_such in texts)
    return ColumnCodes(codes, len(distinct) + bool(encoded.null_count), ordered)


def is_single(columns: Sequence[ColumnCodes]) -> BoolArray:
    """Tell for every row whether no other row has its combination of values.

    Parameters
    ----------
    columns : sequence of ColumnCodes
        One column or several.

    Returns
    -------
    bool array of shape (rows,)
        Rows of which there is only one; several columns are compared by hashes of 64 bits.
    """
    if len(columns) == 1:
        single: BoolArray = np.bincount(columns[0].codes)[columns[0].codes] == 1
        return single
    mixed = np.zeros(len(columns[0].codes), np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:  # multiplying and shifting as splitmix64 does
            mixed = (mixed ^ column.codes.astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed ^= mixed >> np.uint64(31)
    _, place, counts = np.unique(mixed, return_inverse=True, return_counts=True)
    alone: BoolArray = counts[place.ravel()] == 1
    return alone


def leave_one_out(groups: Int64Array, values: Int64Array) -> Float64Array:
    """Guess everybody's value as the most common one of the others of the same group.

    Parameters
    ----------
    groups : int64 array of shape (rows,)
        The group of every row. Whoever is alone is guessed to have the most common value of all.
    values : int64 array of shape (rows,)
        The value of every row.

    Returns
    -------
    float64 array of shape (rows,)
        1 where the guess is right, 0 where it is not, 0.5 where two values are equally common.

    Examples
    --------
    >>> leave_one_out(np.array([0, 0, 0, 1]), np.array([5, 5, 7, 7]))
    array([0.5, 0.5, 0. , 0. ])
    """
    kinds = int(values.max(initial=0)) + 1
    keys, number, counts = np.unique(
        groups * kinds + values, return_inverse=True, return_counts=True
    )
    number = number.ravel()
    first, second, leader = _two_highest(keys // kinds, counts)
    place = np.unique(keys // kinds, return_inverse=True)[1].ravel()[number]
    mine = counts[number]
    rival = np.where(leader[place] == number, second[place], first[place])
    right = (mine - 1 > rival) + 0.5 * (mine - 1 == rival)
    alone = np.bincount(place)[place] == 1
    return np.asarray(np.where(alone, values == np.bincount(values).argmax(), right), np.float64)


def _two_highest(
    groups: Int64Array, counts: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """For each group: the highest and second highest count, and the position of the highest."""
    order = np.lexsort((-counts, groups))
    begins = np.flatnonzero(np.diff(groups[order], prepend=-1))
    ends = np.append(begins[1:], len(order))
    first = counts[order[begins]]
    next_place = np.minimum(begins + 1, len(order) - 1)
    second = np.where(ends - begins > 1, counts[order[next_place]], 0)
    return first, second, order[begins]


def _determined(by: ColumnCodes, target: ColumnCodes, name: str) -> Determined:
    """Measure what one column says about another."""
    chance = np.bincount(target.codes).max() / len(target.codes)
    coarse = by.coarse()
    right = max(
        float(leave_one_out(each.codes, target.codes).mean())
        for each in ([by] if coarse is by else [by, coarse])
    )
    told = information(coarse, target.coarse())
    return Determined(name, max(right, float(chance)), float(chance), told)


def information(by: ColumnCodes, target: ColumnCodes) -> float:
    """Return the adjusted mutual information of two columns.

    Parameters
    ----------
    by : ColumnCodes
        The column that tells something; few values.
    target : ColumnCodes
        The column that it tells something about; few values.

    Returns
    -------
    float
        0 as for shuffled columns, 1 if it tells everything.
    """
    unknown = _entropy(np.bincount(target.codes))
    found = _mutual(by, target)
    random = np.random.default_rng(0)
    shuffled = [
        _mutual(ColumnCodes(random.permutation(by.codes), by.size, by.ordered), target)
        for _ in range(_SHUFFLES)
    ]
    chance = float(np.mean(shuffled))
    return 0.0 if unknown - chance < 1e-9 else float(max(found - chance, 0.0) / (unknown - chance))


def _mutual(one: ColumnCodes, other: ColumnCodes) -> float:
    """Return the mutual information of two columns, in nats."""
    pairs = np.bincount(one.codes * other.size + other.codes)
    return _entropy(np.bincount(one.codes)) + _entropy(np.bincount(other.codes)) - _entropy(pairs)


def _entropy(counts: Int64Array) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def _guessed_together(
    columns: Sequence[ColumnCodes], targets: Mapping[str, ColumnCodes]
) -> Iterator[Determined]:
    """Guess coarse values by naïve Bayes from several columns, each row from all others."""
    if len(columns) < 2:
        return
    columns = [column.coarse() for column in columns]
    rows = len(columns[0].codes)
    guessed = np.arange(0, rows, -(-rows // _GUESSED_TOGETHER))
    for name, target in targets.items():
        coarse = target.coarse()
        own = coarse.codes[guessed]
        mine = np.zeros((len(guessed), coarse.size))
        mine[np.arange(len(guessed)), own] = 1.0
        totals = np.bincount(coarse.codes, minlength=coarse.size) - mine
        with np.errstate(divide="ignore"):
            logs = np.log(totals)
        for column in columns:
            pairs = np.bincount(
                column.codes * coarse.size + coarse.codes, minlength=column.size * coarse.size
            ).reshape(column.size, coarse.size)
            logs += np.log(pairs[column.codes[guessed]] - mine + 1) - np.log(totals + column.size)
        chance = float(np.bincount(coarse.codes).max() / rows)
        right = float(np.mean(logs.argmax(axis=1) == own))
        yield Determined(name, max(right, chance), chance)
