"""Compares a release of sets with the sets it was made from, by all measures of SET12 §5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.itemsets.data import ItemSets
from mottle.loss.set_errors import Lists, item_frequency_error, pair_support_error, query_error
from mottle.release.named_nodes import sets_as_published
from mottle.release.set_release import SetReleaseData

__all__ = ["SetComparison", "compare_sets"]

PRESENT_ITEMS, ABSENT_ITEMS = 2, 4  # items in a query, between SET12's for its two datasets


@dataclass(frozen=True)
class SetComparison:
    """How far a release is from the original; all measures are 0 for an equal one.

    Attributes
    ----------
    error_rate : float or None
        ER, from the certificate.
    query_error_present : float
        QE of type I: counts of records that hold all of some random items.
    query_error_absent : float
        QE of type II: counts of records that hold none of some random items.
    item_frequency_error : float
        Error of the frequencies of items.
    pair_support_error : float
        Error of the support of pairs of the most frequent items.
    """

    error_rate: float | None
    query_error_present: float
    query_error_absent: float
    item_frequency_error: float
    pair_support_error: float


def compare_sets(
    data: ItemSets,
    release: SetReleaseData,
    *,
    present: int = PRESENT_ITEMS,
    absent: int = ABSENT_ITEMS,
    queries: int = 500,
    seed: int = 0,
) -> SetComparison:
    """Measure what analysts lose when they count in base sets instead of the original.

    Parameters
    ----------
    data : ItemSets
        The sets the release was made from.
    release : SetRelease
        The release.
    present : int
        The number of items in a query of type I.
    absent : int
        The number of items in a query of type II.
    queries : int
        The number of random queries of each type.
    seed : int
        Seed for drawing the queries.

    Returns
    -------
    SetComparison

    Raises
    ------
    DataError
        The release was not made from ``data``.

    Examples
    --------
    >>> from mottle import KAnonymity, anonymize_sets, read_sets
    >>> data = read_sets([["tea"], ["tea"], ["rum"], ["rum"]])
    >>> compare_sets(data, anonymize_sets(data, KAnonymity(2), seed=1)).query_error_present
    0.0
    """
    if release.table.num_rows != data.records:
        raise DataError(
            f"The release has {release.table.num_rows} records and the data {data.records}.",
            "Give the data the release was made from.",
        )
    data = sets_as_published(data, release)
    before, after = Lists.of_originals(data.sets()), _bases(data, release)
    return SetComparison(
        error_rate=release.error_rate,
        query_error_present=query_error(
            before, after, absent=False, size=present, seed=seed, queries=queries
        ),
        query_error_absent=query_error(
            before, after, absent=True, size=absent, seed=seed, queries=queries
        ),
        item_frequency_error=item_frequency_error(before, after),
        pair_support_error=pair_support_error(before, after),
    )


def _bases(data: ItemSets, release: SetReleaseData) -> Lists:
    """The base sets of a release in the item codes of the data."""
    bases = pc.struct_field(release.table.column(release.column), "base")
    sizes = pc.list_value_length(bases).to_numpy()
    names = pc.list_flatten(bases)
    codes = pc.index_in(names, value_set=pc.cast(data.names, names.type))
    if codes.null_count:
        raise DataError(
            "The release contains items that the data do not contain.",
            "Give the data the release was made from.",
        )
    return Lists(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        _numbers(codes),
        np.ones(len(sizes), np.int64),
        data.universe,
    )


def _numbers(codes: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.asarray(codes.to_numpy(), np.int32)
