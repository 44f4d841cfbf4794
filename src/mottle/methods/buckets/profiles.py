"""Where among the quasi-identifiers each sensitive value lies, as far as that is public.

Which values share a bucket is chosen so that buckets become similar. That choice must not depend on
which record has which value; it uses what has already been published, the first wave.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.graph.model import Graph
from mottle.guarantees.demand import Demand
from mottle.typing import Float64Array, Int32Array, Int64Array

_DOUBT = 10  # records of a value below which its profile is not believed much


class Gathered(NamedTuple):
    """Sums of features over the records of each value, and over all records."""

    sums: Float64Array  # [values, features]
    seen: Int64Array  # [values]: number of records of each value
    everybody: Float64Array  # [features]
    records: int  # number of all records

    @classmethod
    def total(cls, parts: Sequence[Gathered]) -> Gathered:
        """Add up several parts of a table."""
        sums, seen, everybody, records = zip(*parts, strict=True)
        return cls(sum(sums), sum(seen), sum(everybody), sum(records))

    def profiles(self) -> Float64Array:
        """Mean features of the records of each value, minus those of all records."""
        seen = self.seen[:, None]
        difference = self.sums / np.maximum(seen, 1) - self.everybody / self.records
        return np.where(seen > 0, difference * (seen / (seen + _DOUBT)), 0.0)


def profiles_by_release(
    codes: Codes, demand: Demand, graph: Graph, truth: Int32Array
) -> Float64Array:
    """Profiles [values, features] from a release: its cells, and the values published on them."""
    rows = graph.members
    part = Codes(codes.domains, codes.matrix[rows])
    published = cover(graph._replace(members=np.arange(len(rows), dtype=np.int32)), part)
    columns = [
        cells.expected_features(domain)[published.row_of]
        for cells, domain in zip(published.cells, codes.domains, strict=True)
        if domain.form.has_profile(domain)
    ]
    features = np.concatenate([np.zeros((len(rows), 1)), *columns], axis=1)
    return profiles(demand, demand.values[rows[truth]], features)


def profiles(demand: Demand, values: Int32Array, features: Float64Array) -> Float64Array:
    """Mean features of the records of each value, minus those of all records."""
    count = int(demand.sensitive_codes[:, 0].max()) + 1
    sums = np.zeros((count, features.shape[1]))
    np.add.at(sums, values, features)
    seen = np.bincount(values, minlength=count)
    return Gathered(sums, seen, features.sum(axis=0), len(features)).profiles()
