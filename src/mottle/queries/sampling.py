"""Possible worlds: ordinary tables drawn from a release, and how to combine what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from scipy.stats import norm, t

from mottle.errors import UsageError
from mottle.queries.engine import Queries
from mottle.queries.two_tables import TwoTables

if TYPE_CHECKING:
    from mottle.release.data import ReleaseData


def sample(queries: Queries, release: ReleaseData, m: int, seed: int | None) -> list[pa.Table]:
    """Draw ``m`` complete tables: every cell becomes one of its values, independently.

    The columns are those of the original and have its types. Rows are those of the release.
    """
    if isinstance(m, bool) or not isinstance(m, int) or m < 1:
        raise UsageError(f"{m!r} is no number of tables.", "Draw at least one.")
    random = np.random.default_rng(seed)
    return [_draw_table(queries, release, random) for _ in range(m)]


def _draw_table(queries: Queries, release: ReleaseData, random: np.random.Generator) -> pa.Table:
    arrays = {}
    for column in release.columns:
        if column.form is None:
            arrays[column.name] = release.table.column(column.name)
        else:
            arrays[column.name] = queries.column(column.name).draw(random)
    if release.sensitive is not None:
        assert queries.apart is not None
        del arrays[release.sensitive.column_names[0]]
        arrays |= _deal_out(queries.apart, release.sensitive, random)
    return pa.table(arrays)


def _deal_out(
    apart: TwoTables, sensitive: pa.Table, random: np.random.Generator
) -> dict[str, pa.ChunkedArray]:
    """Sensitive values by record: those of every group in a random order."""
    values = np.repeat(np.arange(len(apart.counts)), apart.counts)
    by_group = np.lexsort((random.random(len(values)), apart.group_of_value[values]))
    of_row = np.empty(len(values), np.int64)
    of_row[np.argsort(apart.group_of_row, kind="stable")] = values[by_group]
    return {name: sensitive.column(name).take(pa.array(of_row)) for name in apart.columns}


@dataclass(frozen=True)
class Pooled:
    """One estimate out of several tables' estimates."""

    estimate: float
    error: float  # standard error: the root of the total variance
    within: float  # mean of the tables' own variances
    between: float  # variance of the estimates from table to table
    degrees_of_freedom: float  # infinite when the tables agree

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Within which the parameter lies, with this confidence.

        >>> low, high = combine([4.0, 6.0], [1.0, 1.0]).interval()
        >>> round(low, 2), round(high, 2)
        (-4.72, 14.72)
        """
        upper = (1 + confidence) / 2
        if np.isinf(self.degrees_of_freedom):
            reach = float(norm.ppf(upper))
        else:
            reach = float(t.ppf(upper, self.degrees_of_freedom))
        return self.estimate - reach * self.error, self.estimate + reach * self.error


def combine(estimates: Sequence[float], variances: Sequence[float]) -> Pooled:
    """Rubin's rules: pool a parameter estimated on each of m tables, with its variances there.

    The pooled estimate is the mean of the estimates. Its variance is W + (1 + 1/m) B: W is the mean
    of the variances, what an analysis of the originals would have as well, and B the variance among
    the estimates, which is what the release does not say.

    Rubin (1987), Multiple Imputation for Nonresponse in Surveys.

    >>> pooled = combine([4.0, 6.0], [1.0, 1.0])
    >>> pooled.estimate, pooled.within, pooled.between, round(pooled.error, 3)
    (5.0, 1.0, 2.0, 2.0)
    """
    values, own = np.asarray(estimates, np.float64), np.asarray(variances, np.float64)
    if values.ndim != 1 or values.shape != own.shape or len(values) < 2:
        raise UsageError(
            "Rubin's rules need as many variances as estimates, of at least two tables.",
            "Draw them with release.sample(5).",
        )
    if not (np.isfinite(values).all() and np.isfinite(own).all() and (own >= 0).all()):
        raise UsageError("An estimate is not finite, or a variance is below 0.")
    m = len(values)
    within, between = float(own.mean()), float(values.var(ddof=1))
    inflated = (1 + 1 / m) * between
    degrees = np.inf if inflated == 0 else (m - 1) * (1 + within / inflated) ** 2
    return Pooled(
        float(values.mean()), float(np.sqrt(within + inflated)), within, between, float(degrees)
    )
