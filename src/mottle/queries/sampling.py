"""Possible worlds: ordinary tables drawn from a release, and how to pool their estimates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from mottle.errors import UsageError
from mottle.queries.engine import Queries
from mottle.queries.two_tables import TwoTables
from mottle.queries.worlds.draw import JointDraw
from mottle.queries.worlds.rules import check_column
from mottle.schema.rules import check_columns
from mottle.utils.steps import Announced, Step
from mottle.utils.student import t_quantile

if TYPE_CHECKING:
    from mottle.release.data import ReleaseData


def sample(
    queries: Queries,
    release: ReleaseData,
    m: int,
    seed: int | None,
    *,
    pairs: bool = True,
    on_progress: Callable[[Step], None] | None = None,
) -> list[pa.Table]:
    """Draw ``m`` complete tables: every cell becomes one of its values.

    The columns are those of the original table and have its types; rows are those of the release.
    The values of a record are drawn jointly: two columns go together as the whole release says, and
    the rules that the certificate states hold in every row.

    Parameters
    ----------
    queries : Queries
        The release, prepared for queries; it gives the chances of the values in a cell.
    release : Release
        The release itself.
    m : int
        Number of tables, at least 1.
    seed : int or None
        Seed of the draw; the same seed draws the same tables.
    pairs : bool
        Whether two columns go together as the release says; False draws every column by itself,
        except for what rules demand.
    on_progress : callable, optional
        Called with every `Step`.

    Returns
    -------
    list of pyarrow.Table

    Raises
    ------
    UsageError
        If ``m`` is not a positive integer, or a column cannot be queried.
    DataError
        If the rules contradict each other or the cells.
    """
    if isinstance(m, bool) or not isinstance(m, int) or m < 1:
        raise UsageError(f"{m!r} is not a valid number of tables.", "Draw at least one.")
    random = np.random.default_rng(seed)
    steps = Announced(on_progress, ["fit", *["draw"] * m])
    steps.begin("fit", "Fitting pairs of columns")
    joint = _joint(queries, release, random, pairs)
    drawn = []
    for number in range(1, m + 1):
        steps.begin("draw", f"Drawing table {number} of {m}")
        drawn.append(_draw_table(queries, release, joint, random))
    return drawn


def _joint(
    queries: Queries, release: ReleaseData, random: np.random.Generator, pairs: bool
) -> JointDraw | None:
    """The quasi-identifiers that are drawn jointly: all generalized ones except sets of items."""
    rules = () if release.certified is None else release.certified.rules
    if not rules and not pairs:
        return None
    described = {column.name: column for column in release.columns}
    check_columns(rules, list(described))
    for rule in rules:
        for name in rule.columns:
            check_column(rule, described[name])
    named = {name for rule in rules for name in rule.columns}
    drawn = [
        queries.column(column.name)
        for column in release.columns
        if column.name in named or (column.form is not None and not column.form.has_items)
    ]
    return JointDraw.of(drawn, described, rules, random, pairs=pairs)


def _draw_table(
    queries: Queries, release: ReleaseData, joint: JointDraw | None, random: np.random.Generator
) -> pa.Table:
    arrays = {}
    drawn = {} if joint is None else joint.draw(random)
    for column in release.columns:
        if column.form is None:
            arrays[column.name] = release.table.column(column.name)
        elif column.name in drawn:
            arrays[column.name] = drawn[column.name]
        else:
            arrays[column.name] = queries.column(column.name).draw(random)
    if release.sensitive is not None:
        assert queries.two_tables is not None
        del arrays[release.sensitive.column_names[0]]
        arrays |= _draw_sensitive(queries.two_tables, release.sensitive, random)
    return pa.table(arrays)


def _draw_sensitive(
    two_tables: TwoTables, sensitive: pa.Table, random: np.random.Generator
) -> dict[str, pa.ChunkedArray]:
    """Draw sensitive values by record: those of every group in random order."""
    values = np.repeat(np.arange(len(two_tables.counts)), two_tables.counts)
    by_group = np.lexsort((random.random(len(values)), two_tables.group_of_value[values]))
    of_row = np.empty(len(values), np.int64)
    of_row[np.argsort(two_tables.group_of_row, kind="stable")] = values[by_group]
    return {name: sensitive.column(name).take(pa.array(of_row)) for name in two_tables.columns}


@dataclass(frozen=True)
class Pooled:
    """One estimate pooled from the estimates on several tables; see `combine`.

    Parameters
    ----------
    estimate : float
        The pooled estimate: the mean over the tables.
    error : float
        Standard error: the square root of the total variance.
    within : float
        Mean of the variances that the tables give.
    between : float
        Variance of the estimates between tables.
    degrees_of_freedom : float
        Of the t distribution for intervals; infinite if all tables give the same estimate.
    """

    estimate: float
    error: float
    within: float
    between: float
    degrees_of_freedom: float

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the parameter.

        Parameters
        ----------
        confidence : float, default 0.95
            Between 0 and 1.

        Returns
        -------
        low, high : float
            The ends of the interval.

        Examples
        --------
        >>> low, high = combine([4.0, 6.0], [1.0, 1.0]).interval()
        >>> round(low, 2), round(high, 2)
        (-4.72, 14.72)
        """
        upper = (1 + confidence) / 2
        reach = t_quantile(self.degrees_of_freedom, upper)
        return self.estimate - reach * self.error, self.estimate + reach * self.error


def combine(estimates: Sequence[float], variances: Sequence[float]) -> Pooled:
    """Pool a parameter that was estimated on each of m tables, by Rubin's rules.

    The pooled estimate is the mean of the estimates. Its variance is W + (1 + 1/m) B: W is the mean
    of the variances, which an analysis of the originals would have as well, and B is the variance
    of the estimates between tables, which measures what the release does not disclose.

    Parameters
    ----------
    estimates : sequence of float
        The estimate on each table; at least two.
    variances : sequence of float
        The squared standard error of each estimate.

    Returns
    -------
    Pooled

    Raises
    ------
    UsageError
        If there are fewer than two tables, the lengths differ, or a number is not valid.

    References
    ----------
    Rubin (1987), Multiple Imputation for Nonresponse in Surveys.

    Examples
    --------
    >>> pooled = combine([4.0, 6.0], [1.0, 1.0])
    >>> pooled.estimate, pooled.within, pooled.between, round(pooled.error, 3)
    (5.0, 1.0, 2.0, 2.0)
    """
    values, own = np.asarray(estimates, np.float64), np.asarray(variances, np.float64)
    if values.ndim != 1 or values.shape != own.shape or len(values) < 2:
        raise UsageError(
            "Rubin's rules need one estimate and one variance for each of at least two tables.",
            "Draw them with release.sample(5).",
        )
    if not (np.isfinite(values).all() and np.isfinite(own).all() and (own >= 0).all()):
        raise UsageError("An estimate or variance is not finite, or a variance is below 0.")
    m = len(values)
    within, between = float(own.mean()), float(values.var(ddof=1))
    inflated = (1 + 1 / m) * between
    degrees = np.inf if inflated == 0 else (m - 1) * (1 + within / inflated) ** 2
    return Pooled(
        float(values.mean()), float(np.sqrt(within + inflated)), within, between, float(degrees)
    )
