"""The linkage adversary: how many published records could be each person's (NH10 §4).

It measures three classic risks. The *prosecutor* looks for a person known to be in the table:
1 / matches. The *journalist* wants to name the person behind any one record: 1 / people who fit it.
The *marketer* links everybody and counts how many links are right on average.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from mottle.audit.base import register
from mottle.audit.containment.coded_columns import count_outside
from mottle.audit.report import Outcome
from mottle.errors import DataError
from mottle.typing import Int64Array

if TYPE_CHECKING:  # every certificate names this adversary, most without playing it
    from mottle.audit.view import Evidence, View

_THRESHOLD = 0.2  # risk above which people count as at risk when there is no guarantee
_SHOWN = {"1 %": 0.01, "5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95}


@register(
    "linkage",
    title="joins the release with everybody's quasi-identifiers",
    assumes="knows the quasi-identifiers of everybody in the table; does not know the algorithm",
    seconds=0.5,
)
def linkage(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Count the matches of every individual, exactly or for a sample of individuals."""
    matches = view.index.matches_of_points()[view.index.place_of]
    strangers = int(np.count_nonzero(matches == 0))
    if 2 * strangers > len(matches):
        raise DataError(
            f"{strangers} of {len(matches)} originals fit no published record: the release does not"
            " come from this table.",
            "Give the table the release was made from.",
        )
    fewest = int(matches.min())
    k = evidence.k
    yield Outcome(
        "fewest matches of a person",
        fewest,
        k,
        None if k is None else fewest >= k,
        {**view.sampling_facts(), **_risks(view, matches, 1 / k if k else _THRESHOLD)},
        public=True,
    )
    if evidence.one_to_one_edges is not None:
        records = np.arange(view.records, dtype=np.int32)
        outside = count_outside(view.columns, evidence.one_to_one_edges.truth, records)
        yield Outcome("people whose own record is no match", outside, 0, outside == 0)


def _risks(view: View, matches: Int64Array, threshold: float) -> dict[str, object]:
    """The distribution of match counts, and the three risks."""
    risk = 1 / np.maximum(matches, 1)
    behind = _people_behind(view)
    quantiles = np.quantile(matches, list(_SHOWN.values()), method="lower")
    return {
        "matches": {
            "fewest": int(matches.min()),
            **dict(zip(_SHOWN, quantiles.astype(int).tolist(), strict=True)),
            "most": int(matches.max()),
            "mean": float(matches.mean()),
        },
        "prosecutor": {"highest": float(risk.max()), "mean": float(risk.mean())},
        "journalist": {
            "highest": float((1 / np.maximum(behind, 1)).max()),
            "mean": float((1 / np.maximum(behind, 1)).mean()),
        },
        "marketer": float(risk.mean()),
        "threshold": threshold,
        "share_at_risk": float(np.mean(risk > threshold + 1e-12)),
        "people_without_match": int(np.count_nonzero(matches == 0)),
        "records_without_person": int(np.count_nonzero(behind == 0)),
    }


def _people_behind(view: View) -> Int64Array:
    """For each published record, or for a sample of them: how many people fit it."""
    if view.is_complete:
        return view.index.originals_in(view.index.pieces)[view.index.box_of]
    index = view.full_index
    sampled = np.random.default_rng(view.seed).choice(
        view.records, min(view.sample, view.records), replace=False
    )
    boxes, number = np.unique(index.box_of[sampled], return_inverse=True)
    return index.originals_in(index.pieces_of(boxes))[number]
