"""Classic measures of a table whose rows are grouped by equal quasi-identifiers.

These measures were defined for homogeneous releases, where a record hides only among equal rows. A
heterogeneous release hides records among overlapping rows, so there they are for information only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.audit.base import register
from mottle.audit.containment.coded_columns import quasi_identifiers
from mottle.audit.containment.compact import group_rows
from mottle.audit.report import Outcome
from mottle.audit.sensitive.published_values import common_codes
from mottle.audit.sensitive.shares import (
    DISTANCE,
    DISTINCT,
    ENHANCED,
    ENTROPY,
    GAIN,
    LOG_RATIO,
    SHARE,
    measure_groups,
    reference_distribution,
)
from mottle.audit.view import Evidence, View
from mottle.errors import SchemaError, UsageError, did_you_mean
from mottle.io.read_table import as_table
from mottle.release.cell_text import text_columns
from mottle.schema.model import Role
from mottle.typing import Int64Array


@dataclass(frozen=True)
class Diversity:
    """How diverse a sensitive column is within classes of equal rows; the worst class counts."""

    column: str
    alpha: float  # (α, k)-anonymity: the highest share of a value in a class
    distinct_l: int  # fewest distinct values in a class
    entropy_l: float  # exp of the smallest entropy of a class
    recursive_c: float  # (c, ℓ)-diversity with ℓ = distinct_l holds for every c above this
    t: float  # t-closeness: largest earth mover's distance from the whole table
    distance: str  # "ordered" for numbers, "equal" for everything else
    beta: float  # basic β-likeness: the highest gain of a value's share, minus 1
    enhanced_beta: float  # the smallest β of enhanced β-likeness; infinite if no β suffices
    delta: float  # δ-disclosure: largest |ln(share / overall share)|; infinite if a value is absent
    delta_of_present_values: float  # the same over the values that occur in each class


@dataclass(frozen=True)
class Classic:
    """The classic measures of a table."""

    rows: int
    classes: int  # groups of rows with equal quasi-identifiers
    k: int  # rows of the smallest class
    unique: int  # rows that are the only one of their class
    sensitive: tuple[Diversity, ...]

    @property
    def uniqueness(self) -> float:
        """Share of rows that are the only one of their class."""
        return self.unique / self.rows


def measure_classes(
    data: object, quasi_identifying: Sequence[str], sensitive: Sequence[str] = ()
) -> Classic:
    """Measure any table, grouped by equal quasi-identifiers.

    A missing value equals a missing value and is a value like any other; NaN counts as missing.
    Neither the order of rows nor an index matters, and naming a column twice changes nothing. If
    an Arrow table has several quasi-identifiers of the same name, all of them count.

    Parameters
    ----------
    data : path-like, pyarrow.Table or Arrow stream
        The table to measure.
    quasi_identifying : sequence of str
        The columns by which rows are grouped.
    sensitive : sequence of str
        The columns whose diversity within groups is measured.

    Returns
    -------
    Classic
        The measures of the table.

    Raises
    ------
    UsageError
        Column names are given as a text instead of a list.
    SchemaError
        The table lacks a column, or has several sensitive columns of the same name.

    Examples
    --------
    >>> table = pa.table({"zip": ["1*", "1*", "2*", "2*", None], "ill": ["a", "b", "a", "a", "a"]})
    >>> found = measure_classes(table, ["zip"], ["ill"])
    >>> found.k, found.classes, found.unique, found.sensitive[0].alpha
    (1, 3, 1, 1.0)
    """
    table, again = _single_names(data)
    for option, names in (("quasi-identifying", quasi_identifying), ("sensitive", sensitive)):
        if isinstance(names, str):
            raise UsageError(f"The {option} columns must be a list, not a text.", "Write [NAME].")
        for name in names:
            if name not in table.column_names:
                raise SchemaError(
                    f"The table has no column '{name}'.",
                    did_you_mean(str(name), table.column_names),
                )
    known_columns = [
        column for name in dict.fromkeys(quasi_identifying) for column in again.get(name, [name])
    ]
    twice = [name for name in sensitive if len(again.get(name, [name])) > 1]
    if twice:
        raise SchemaError(f"The table has several columns '{twice[0]}'.", "Rename or drop them.")
    codes = [_codes(table, name)[0] for name in known_columns]
    groups, _ = group_rows(np.stack([*codes, np.zeros(table.num_rows, np.int64)], axis=1))
    return _measure(table, groups, list(dict.fromkeys(sensitive)))


def _single_names(data: object) -> tuple[pa.Table, dict[str, list[str]]]:
    """The table with unique column names, and the new names of each old name."""
    again: dict[str, list[str]] = {}
    if isinstance(data, pa.Table):
        new_names = []
        for name in data.column_names:
            same = again.setdefault(name, [])
            same.append(name if not same else f"{name} ({len(same) + 1})")
            new_names.append(same[-1])
        if len(set(new_names)) == len(new_names):
            data = data.rename_columns(new_names)
    return as_table(data), again


def _measure(table: pa.Table, groups: Int64Array, sensitive: list[str]) -> Classic:
    """Measure a table whose rows are grouped by ``groups``."""
    sizes = np.bincount(groups)
    return Classic(
        rows=len(groups),
        classes=len(sizes),
        k=int(sizes.min()),
        unique=int(np.count_nonzero(sizes == 1)),
        sensitive=tuple(_diversity(table, name, groups) for name in sensitive),
    )


def _codes(table: pa.Table, name: str) -> tuple[Int64Array, bool]:
    """Ranks of a column's values, missing last; and whether all of them are numbers."""
    column = table.column(name)
    kind = column.type
    values = _plain_values(column)
    known = pc.unique(values).drop_null()
    known = known.take(pc.sort_indices(known))
    codes = pc.fill_null(pc.index_in(values, value_set=known), -1).to_numpy()
    missing = codes < 0
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return np.where(missing, len(known), codes).astype(np.int64), is_number and not missing.any()


def _plain_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values that can be compared: categories decoded, NaN as missing."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if pa.types.is_binary(column.type) or pa.types.is_null(column.type):
        return pc.cast(column, pa.string())
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        return pc.add(column, pa.scalar(0.0, column.type))  # -0.0 and 0.0 are one value
    return column


def _diversity(table: pa.Table, name: str, groups: Int64Array) -> Diversity:
    codes, ordered = _codes(table, name)
    counts = np.bincount(codes)
    measured = measure_groups(
        groups,
        codes.astype(np.int32),
        reference_distribution(counts, np.ones(len(counts)), ordered),
    )
    fewest = int(measured[:, DISTINCT].min())
    of_present = float(measured[:, LOG_RATIO].max())
    return Diversity(
        column=name,
        alpha=float(measured[:, SHARE].max()),
        distinct_l=fewest,
        entropy_l=float(np.exp(measured[:, ENTROPY].min())),
        recursive_c=recursive_c(groups, codes, fewest),
        t=float(measured[:, DISTANCE].max()),
        distance="ordered" if ordered else "equal",
        beta=max(float(measured[:, GAIN].max()) - 1, 0.0),
        enhanced_beta=float(measured[:, ENHANCED].max()),
        delta=of_present if fewest == len(counts) else float("inf"),
        delta_of_present_values=of_present,
    )


def recursive_c(groups: Int64Array, codes: Int64Array, l: int) -> float:  # noqa: E741 - the papers' name
    """The bound of recursive (c, ℓ)-diversity: it holds for every c above it, and for no other.

    In a class with counts r1 ≥ r2 ≥ … it requires r1 < c (rℓ + … + rm). Infinite when some class
    has fewer than ℓ values.
    """
    keys, counts = np.unique(groups * (int(codes.max()) + 1) + codes, return_counts=True)
    owner = keys // (int(codes.max()) + 1)
    order = np.lexsort((-counts, owner))
    owner, counts = owner[order], counts[order]
    first = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
    rank = np.arange(len(owner)) - np.repeat(first, np.diff(np.append(first, len(owner))))
    tails = np.bincount(owner, np.where(rank >= l - 1, counts, 0))
    largest = counts[first].astype(np.float64)
    bounds = np.divide(largest, tails, out=np.full(len(first), np.inf), where=tails > 0)
    return float(bounds.max())


@register(
    "classic",
    title="measures of equal rows: k, (α,k), ℓ, t, β, δ, uniqueness",
    assumes="knows only the release: groups of equal published rows are treated as classes",
    seconds=10,
)
def classic(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Measure the release by its equal rows, comparing cells as text; for information."""
    texts = view.release.to_text()
    names = [
        name
        for column in quasi_identifiers(view.release)
        for name in text_columns(column.name, column.form)
    ]
    codes = np.stack([common_codes(texts.column(name))[0] for name in names], axis=1)
    groups, _ = group_rows(codes)
    sensitive = [c.name for c in view.release.columns if c.role is Role.SENSITIVE]
    found = _measure(view.release.table, groups, sensitive)
    yield Outcome(
        "smallest class of equal rows",
        found.k,
        details={**asdict(found), "uniqueness": found.uniqueness},
        public=True,
    )
