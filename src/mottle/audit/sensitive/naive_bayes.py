"""HET's naïve Bayes attack in its own set-up: all records teach, and all people are guessed.

`mottle.audit.adversaries.learning` plays the same attack with halves of the records, so that it can
tell what people's own records reveal. Here it is as the paper plays it (§6, Figure 11), also
against synthetic data: a synthetic value counts for every value within a normalized distance δ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array

from mottle.audit.containment.coded_columns import CodedColumn, code_columns, quasi_identifiers
from mottle.audit.sensitive.learners import counts_by_containment, log_likelihoods
from mottle.audit.sensitive.published_values import sensitive_values_by_record
from mottle.errors import UsageError
from mottle.release.data import ReleaseData
from mottle.typing import Float64Array, Int64Array

__all__ = ["naive_bayes_accuracy"]


def naive_bayes_accuracy(
    original: pa.Table,
    published: ReleaseData | pa.Table,
    columns: Sequence[str],
    sensitive: str,
    *,
    alpha: float = 0.0,
    delta: float = 0.0,
) -> float:
    """Return the share of people whose sensitive value naïve Bayes guesses right.

    The guess for a person with quasi-identifiers t is the value v with the highest
    Pr[v] Π Pr[t_j | v], where Pr[t_j | v] = (count(t_j | v) + α) / (count(v) + α |QI_j|) and
    count(t_j | v) is the number of published records with value v whose cell contains t_j. Where no
    value is possible, the commonest one is guessed.

    Parameters
    ----------
    original : pyarrow.Table
        Everybody's quasi-identifiers, and their own values to judge the guesses.
    published : ReleaseData or pyarrow.Table
        A release, or synthetic rows in its place.
    columns : sequence of str
        The quasi-identifiers that the attack uses.
    sensitive : str
        The column that is guessed.
    alpha : float
        0 for classic naïve Bayes, 1 with Laplace's correction.
    delta : float
        For synthetic rows: the distance up to which a value counts as t_j, as a share of the
        column's extent. Numbers have their distance; other values that of their places in order.

    Returns
    -------
    float
        Right guesses divided by people.

    Raises
    ------
    UsageError
        ``delta`` is negative, or is given for a release; or the release publishes sensitive values
        by group.

    Examples
    --------
    >>> people = pa.table({"age": [20, 21, 60, 61], "illness": ["flu", "flu", "cold", "cold"]})
    >>> naive_bayes_accuracy(people, people, ["age"], "illness")
    1.0
    >>> naive_bayes_accuracy(people, people, ["age"], "illness", delta=1.0)
    0.5
    """
    if delta < 0:
        raise UsageError("The distance delta must not be negative.", "Use for example 0.05.")
    if isinstance(published, pa.Table):
        coded = [_neighbourhood(original, published, name, delta) for name in columns]
        values = published.column(sensitive)
    else:
        if delta:
            raise UsageError(
                "A distance delta is for synthetic rows; cells of a release contain values or not."
            )
        values, groups = _published_values(published, sensitive)
        if groups:
            raise UsageError("The attack needs a sensitive value on every record.")
        known = [column.name for column in quasi_identifiers(published)]
        people = original.select(known)
        by_name = dict(zip(known, code_columns(people, published), strict=True))
        coded = [by_name[name] for name in columns]
    kinds = pc.unique(original.column(sensitive).combine_chunks())
    own = _codes(original.column(sensitive), kinds)
    told = _codes(values, kinds)
    counted = np.flatnonzero(told >= 0)
    mixtures = csr_array(
        (np.ones(len(counted)), (counted, told[counted])), shape=(len(told), len(kinds))
    )
    totals = np.asarray(mixtures.sum(axis=0), np.float64).ravel()
    counts = [counts_by_containment(column, mixtures) for column in coded]
    scores = log_likelihoods(coded, counts, totals, alpha, np.arange(original.num_rows))
    return float((_guesses(scores, totals) == own).mean())


def _guesses(scores: Float64Array, totals: Float64Array) -> Int64Array:
    """The likeliest value of every row; the commonest one where every value is impossible."""
    possible = np.isfinite(scores).any(axis=1)
    return np.where(possible, np.argmax(scores, axis=1), int(np.argmax(totals)))


def _published_values(release: ReleaseData, sensitive: str) -> tuple[pa.ChunkedArray, bool]:
    table, groups = sensitive_values_by_record(release)
    return table.column(sensitive), groups is not None


def _codes(values: pa.ChunkedArray, kinds: pa.Array) -> Int64Array:
    """Places of the values among ``kinds``; -1 for values that are not there."""
    places = pc.fill_null(pc.index_in(values.cast(kinds.type), value_set=kinds), -1)
    return np.asarray(places.to_numpy(), np.int64)


def _neighbourhood(original: pa.Table, synthetic: pa.Table, name: str, delta: float) -> CodedColumn:
    """Originals and, around every synthetic value, the interval of those within the distance."""
    values = original.column(name)
    kinds = pc.unique(values.combine_chunks())
    kinds = kinds.take(pc.sort_indices(kinds))
    codes = _codes(values, kinds)
    if pa.types.is_integer(kinds.type) or pa.types.is_floating(kinds.type):
        places = kinds.to_numpy(zero_copy_only=False).astype(np.float64)
        drawn = synthetic.column(name).to_numpy().astype(np.float64)
    else:
        places = np.arange(len(kinds), dtype=np.float64)
        drawn = _codes(synthetic.column(name), kinds).astype(np.float64)
        drawn[drawn < 0] = np.inf  # a value that nobody has is near nobody
    reach = delta * (places[-1] - places[0]) * (1 + 1e-12)
    lowest = np.searchsorted(places, drawn - reach, side="left")
    highest = np.searchsorted(places, drawn + reach, side="right") - 1
    return CodedColumn(
        codes.astype(np.int32),
        np.arange(len(drawn) + 1),
        lowest.astype(np.int32),
        highest.astype(np.int32),
    )
