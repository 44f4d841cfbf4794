"""Sensitive columns as codes: their values, joint values, and groups of similar values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mottle.encoding.encode import codes_of_values, comparable
from mottle.errors import DataError
from mottle.kinds.codes import nan_notes, plain_floats, without_dictionary
from mottle.kinds.hierarchy import check_leaves
from mottle.schema.model import Column, Role, Schema
from mottle.typing import Int32Array, Int64Array

MISSING = "(missing)"
MANY_VALUES = 20  # from this many on, some values of a column are probably similar to each other


@dataclass(frozen=True)
class ValueGroups:
    """Groups of values of a sensitive column: levels of its hierarchy, or one value and others."""

    # The levels that divide the values of the table in this way: 1 is the one above the values.
    # None for a value and all others.
    levels: tuple[int, ...]
    group_of: Int32Array  # [values]: the group of every value; groups are numbered without gaps


@dataclass(frozen=True)
class SensitiveValues:
    """The values of a sensitive column, or the joint values of several, as codes.

    The groups of similar values of a column are coded in the same way, see `of_groups`.
    """

    columns: tuple[str, ...]  # one name, or several for the joint value
    codes: Int32Array  # [n]
    counts: Int64Array  # [values]
    # Per column: text by code of the column; empty for groups, which are never named.
    labels: tuple[pa.Array, ...]
    parts: Int32Array  # [values, columns]: the joint value's code in each column
    binned: str = ""  # how numbers were binned, for the certificate
    # The levels of the hierarchy that the codes stand for; level 0 are the values themselves.
    levels: tuple[int, ...] = (0,)
    groups: tuple[ValueGroups, ...] = ()  # from the lowest level to the highest
    alone: int = 0  # of groups: how many hold one value only
    apart: str = ""  # of two groups, a value (code 0) and all others (code 1): the value, as text

    @property
    def rows(self) -> int:
        """Rows of the whole table; ``codes`` may be those of its distinct values only."""
        return int(self.counts.sum())

    @property
    def joint(self) -> bool:
        """Whether this is the joint value of several columns."""
        return len(self.columns) > 1

    def label(self, value: int) -> str:
        """Return a value as text; for the owner of the data only."""
        texts = [
            labels[int(code)].as_py()
            for labels, code in zip(self.labels, self.parts[value], strict=True)
        ]
        return ", ".join(texts)

    def count_in_words(self, number: int) -> str:
        """Return so many of the values, or groups, as a phrase that names none of them."""
        columns = " × ".join(f"'{column}'" for column in self.columns)
        several = "s" if number > 1 else ""
        if 0 in self.levels:
            return f"{number:,} value{several} of column {columns}"
        if self.apart:
            return f"the values of column {columns} but one, together,"
        return f"{number:,} group{several} of {_levels(self.levels)} of column {columns}"

    def of_groups(self, groups: ValueGroups) -> SensitiveValues:
        """Return the groups of similar values of every record, coded like values."""
        counts = np.bincount(groups.group_of, weights=self.counts)
        return SensitiveValues(
            columns=self.columns,
            codes=groups.group_of[self.codes],
            counts=counts.astype(np.int64),
            labels=(),
            parts=np.empty((len(counts), 0), np.int32),
            levels=groups.levels,
            alone=int(np.count_nonzero(np.bincount(groups.group_of) == 1)),
        )

    def set_apart(self, value: int) -> SensitiveValues:
        """Return two groups, a value and all others, coded like values.

        >>> table = pa.table({"illness": ["flu", "cold", "flu", "flu"]})
        >>> schema = Schema.of(quasi_identifying=[], sensitive=["illness"], rest="insensitive")
        >>> (illness,) = encode_sensitive(table, schema)
        >>> illness.set_apart(0).codes, illness.set_apart(0).counts
        (array([1, 0, 1, 1], dtype=int32), array([1, 3]))
        """
        others = np.ones(len(self.counts), np.int32)
        others[value] = 0
        groups = self.of_groups(ValueGroups((), others))
        return replace(groups, apart=self.label(value), binned=self.binned)


def describe_levels(levels: Sequence[int]) -> str:
    """Return the levels of groups as the end of a phrase; empty for values."""
    if 0 in levels:
        return ""
    return f", groups of {_levels(levels)}" if levels else ", a value and all others"


def _levels(levels: Sequence[int]) -> str:
    return f"level{'s' if len(levels) > 1 else ''} {' and '.join(map(str, levels))}"


def as_counted(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of a sensitive column as they are counted, and so have to be published.

    NaN and missing, and -0.0 and 0.0, are one value with one cap. Published as two, each would be
    believed up to the cap of both.

    >>> as_counted(pa.chunked_array([[-0.0, 0.0, float("nan"), None]])).to_pylist()
    [0.0, 0.0, None, None]
    """
    return plain_floats(without_dictionary(values))


def notes_on_sensitive(table: pa.Table, schema: Schema) -> list[str]:
    """Say for the certificate which sensitive cells are not published as they were."""
    columns = schema.with_role(Role.SENSITIVE)
    return [
        note for column in columns for note in nan_notes(table.column(column.name), column.name)
    ]


def encode_sensitive(table: pa.Table, schema: Schema) -> tuple[SensitiveValues, ...]:
    """Code the sensitive columns; if there are several, the joint value first, then each column.

    >>> table = pa.table({"illness": ["flu", "cold", "flu"], "pay": [1.5, 9.0, 3.0]})
    >>> schema = Schema.of(quasi_identifying=[], sensitive=["illness"], rest="insensitive")
    >>> (illness,) = encode_sensitive(table, schema)
    >>> illness.codes, illness.counts
    (array([1, 0, 1], dtype=int32), array([1, 2]))
    """
    columns = schema.with_role(Role.SENSITIVE)
    single = [_encode_column(table.column(column.name), column) for column in columns]
    if len(single) < 2:
        return tuple(single)
    return (_joint(single), *single)


def _encode_column(values: pa.ChunkedArray, column: Column) -> SensitiveValues:
    binned = ""
    if column.breaks is not None or column.bins is not None:
        values, binned = _binned(values, column)
    codes, known = codes_of_values(values, _without_kind(column))
    labels = known = pc.cast(known, pa.string())
    missing = bool((codes < 0).any())
    if missing:
        codes = np.where(codes < 0, np.int32(len(known)), codes)
        labels = pa.concat_arrays([labels, pa.array([MISSING], pa.string())])
    levels, groups = _groups(known, column, missing)
    return SensitiveValues(
        columns=(column.name,),
        codes=codes.astype(np.int32, copy=False),
        counts=np.bincount(codes, minlength=len(labels)).astype(np.int64),
        labels=(labels,),
        parts=np.arange(len(labels), dtype=np.int32)[:, None],
        binned=binned,
        levels=levels,
        groups=groups,
    )


def _groups(
    known: pa.Array, column: Column, missing: bool
) -> tuple[tuple[int, ...], tuple[ValueGroups, ...]]:
    """The levels that leave every value alone, and the groups of all others, each once.

    A missing value is alone. So is a value that the schema puts in no group; of a hierarchy, all
    values must be leaves.
    """
    texts = known.to_pylist()
    if column.hierarchy is not None:
        check_leaves(texts, column)
        chain = dict(zip(column.hierarchy.leaves, column.hierarchy.ancestors.tolist(), strict=True))
        above = [chain[text][1:-1] for text in texts]  # without the value and the root
    else:
        group = {value: name for name, values in column.groups or () for value in values}
        above = [[group.get(text, (text,))] for text in texts] if column.groups else []
    found: dict[tuple[int, ...], list[int]] = {tuple(range(len(texts) + missing)): [0]}
    for level, groups in enumerate(zip(*above, strict=True), start=1):
        number = {name: place for place, name in enumerate(dict.fromkeys(groups))}
        division = [number[name] for name in groups] + [len(number)] * missing
        found.setdefault(tuple(division), []).append(level)
    (_, alone_at), *divisions = found.items()
    return tuple(alone_at), tuple(
        ValueGroups(tuple(levels), np.array(division, np.int32)) for division, levels in divisions
    )


def _without_kind(column: Column) -> Column:
    """The column as it is published: a kind that merges values (times of a day) does not apply."""
    return column.model_copy(update={"kind": None})


def _binned(values: pa.ChunkedArray, column: Column) -> tuple[pa.ChunkedArray, str]:
    """Numbers as the names of their bins, and how they were binned."""
    numeric = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
    if not (numeric or pa.types.is_decimal(values.type)):
        raise DataError(
            f"Column '{column.name}' has bins but holds {values.type} values.",
            "Only numbers can be binned.",
        )
    floats = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    present = floats[~np.isnan(floats)]
    if column.breaks is not None:
        edges = np.array(column.breaks)
        how = f"{len(edges) + 1} bins with breaks {', '.join(f'{edge:g}' for edge in edges)}"
    else:
        assert column.bins is not None
        shares = np.arange(1, column.bins) / column.bins
        edges = np.unique(np.quantile(present, shares)) if len(present) else np.empty(0)
        how = f"{column.bins} quantile bins"
    bins = pa.array(np.searchsorted(edges, floats, side="right"), mask=np.isnan(floats))
    names = [f"below {edges[0]:g}"] if len(edges) else ["all"]
    names += [f"{low:g} to below {high:g}" for low, high in pairwise(edges)]
    names += [f"{edges[-1]:g} and above"] if len(edges) else []
    return pa.chunked_array([pa.array(names).take(bins)]), how


def _joint(single: Sequence[SensitiveValues]) -> SensitiveValues:
    """One code per combination that occurs."""
    combined = np.stack([values.codes for values in single], axis=1)
    parts, codes, counts = np.unique(combined, axis=0, return_inverse=True, return_counts=True)
    return SensitiveValues(
        columns=tuple(values.columns[0] for values in single),
        codes=codes.ravel().astype(np.int32),
        counts=counts.astype(np.int64),
        labels=tuple(values.labels[0] for values in single),
        parts=parts.astype(np.int32),
    )


# ---------------------------------------------------- tables of which only counts are in memory


def count_values(values: pa.Array, counts: Int64Array, column: Column) -> SensitiveValues:
    """Code a sensitive column of which only the distinct values and their counts are known.

    The result has one code per distinct *coded* value instead of one per row.

    >>> pay = Column(name="pay", role="sensitive", breaks=(5.0,))
    >>> sorted(count_values(pa.array([1.5, 9.0, 3.0]), np.array([2, 1, 4]), pay).counts.tolist())
    [1, 6]
    """
    coded = _encode_column(pa.chunked_array([values]), with_breaks(values, counts, column))
    total = np.bincount(coded.codes, weights=counts, minlength=len(coded.counts))
    how = f"{column.bins} quantile bins" if column.bins is not None else coded.binned
    codes = np.arange(len(total), dtype=np.int32)
    return replace(coded, codes=codes, counts=total.astype(np.int64), binned=how)


def with_breaks(values: pa.Array, counts: Int64Array, column: Column) -> Column:
    """Return the column with its quantile bins as breaks, which do not depend on the table."""
    numeric = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
    if column.bins is None or not (numeric or pa.types.is_decimal(values.type)):
        return column  # a column of other values is rejected when it is coded
    floats = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    present = ~np.isnan(floats)
    order = np.argsort(floats[present])
    edges = _quantiles(floats[present][order], counts[present][order], column.bins)
    return column.model_copy(update={"bins": None, "breaks": tuple(edges.tolist())})


def _quantiles(values: NDArray[np.float64], counts: Int64Array, bins: int) -> NDArray[np.float64]:
    """Distinct inner quantiles of values with counts; as np.quantile on the repeated values."""
    if len(values) == 0:
        return np.empty(0)
    last = np.cumsum(counts) - 1  # the place of each value's last copy
    places = np.arange(1, bins) / bins * last[-1]
    low = values[np.searchsorted(last, np.floor(places))]
    high = values[np.searchsorted(last, np.ceil(places))]
    share = places - np.floor(places)
    between = np.where(share < 0.5, low + (high - low) * share, high - (high - low) * (1 - share))
    return np.unique(between)


def codes_among(values: pa.ChunkedArray, column: Column, known: SensitiveValues) -> Int32Array:
    """Code some rows of a column among the values of the whole table.

    ``column`` has breaks instead of bins, see `with_breaks`.
    """
    if column.breaks is not None:
        values, _ = _binned(values, column)
    texts = pc.cast(comparable(values, _without_kind(column)), pa.string())
    labels = known.labels[0]
    codes = pc.index_in(texts, value_set=labels).to_numpy(zero_copy_only=False)
    missing = texts.is_null().to_numpy(zero_copy_only=False)
    if np.isnan(codes[~missing]).any() or (missing.any() and labels[-1].as_py() != MISSING):
        raise DataError(
            f"Column '{column.name}' has values that were not there when it was first read.",
            "The input changed during the run: make sure nothing modifies it, then try again.",
        )
    return np.where(missing, len(labels) - 1, codes).astype(np.int32)


def join_counts(
    single: Sequence[SensitiveValues], combinations: Int32Array, counts: Int64Array
) -> tuple[SensitiveValues, ...]:
    """Return what `encode_sensitive` returns, for combinations of codes with their counts.

    ``combinations`` is [combinations, columns]; the result has one row for each of them.
    """
    if len(single) == 1:
        return tuple(single)
    each = [
        replace(values, codes=np.ascontiguousarray(combinations[:, place]))
        for place, values in enumerate(single)
    ]
    joint = SensitiveValues(
        columns=tuple(values.columns[0] for values in single),
        codes=np.arange(len(combinations), dtype=np.int32),
        counts=counts,
        labels=tuple(values.labels[0] for values in single),
        parts=combinations,
    )
    return (joint, *each)
