"""Records drawn by lot for the calibration of a release, with the originals behind them.

What is drawn depends on the graph, on quasi-identifiers and on a lot of its own; the true
assignment is not passed in. Where all records are taken, the result depends on published cells and
on quasi-identifiers alone.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.audit.containment.compact import group_rows
from mottle.encoding.domain import Codes, Domain
from mottle.evaluation.calibration import Originals, calibrate
from mottle.graph.degrees import describe_degrees
from mottle.graph.model import Graph
from mottle.release.certificate import CalibrationFacts, Certificate, Degrees
from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData
from mottle.release.value_totals import Totals
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils.arrow import numbered
from mottle.utils.csprng import Purpose, Secret

MOST_RECORDS = 10_000  # of a release on which questions are asked
_MOST_EDGES = 1 << 22  # that are looked at together
_ROUNDED = 9  # decimals of weights: sums do not depend on the order of summands


@dataclass(frozen=True)
class CalibrationSample:
    """Some published records without the columns that are published as they are."""

    cells: pa.Table  # of quasi-identifiers
    degrees: dict[int, int]  # records by degree
    codes: Int32Array  # [distinct originals, quasi-identifiers]
    weights: Float64Array  # [distinct originals]: records that each stands for

    @classmethod
    def of(
        cls,
        cells: pa.Table,
        graph: Graph,
        position_of_row: Int64Array,
        codes: Int32Array,
        most: int,
        secret: Secret,
    ) -> CalibrationSample:
        """Draw at most ``most`` of the published records.

        ``cells`` are those of the quasi-identifiers in the order of the release, whose row i is
        the published record at ``position_of_row[i]`` of the graph.
        """
        rows = len(position_of_row)
        if rows <= most:
            place_of, distinct = group_rows(codes.take(graph.members, axis=0))
            counted = Counter[int]()
            for degree, size in zip(graph.degrees.tolist(), graph.sizes.tolist(), strict=True):
                counted[degree] += size
            return cls(cells, dict(counted), distinct, np.bincount(place_of).astype(np.float64))
        chosen = np.sort(secret.part("calibration").permutation(Purpose.TIEBREAK, rows)[:most])
        positions = position_of_row[chosen]
        blocks = np.searchsorted(graph.starts, positions, side="right") - 1
        degrees = graph.degrees[blocks].astype(np.int64)
        weight_of = np.bincount(
            graph.members, _weights(graph, positions, blocks, degrees), minlength=len(codes)
        )
        used = np.flatnonzero(weight_of)  # far fewer than edges where records have many preimages
        place_of, distinct = group_rows(codes.take(used, axis=0))
        weights = np.bincount(place_of, weight_of[used], minlength=len(distinct))
        return cls(
            cells.take(pa.array(chosen)),
            dict(Counter(degrees.tolist())),
            distinct,
            np.round(weights, _ROUNDED),
        )

    @classmethod
    def joined(cls, parts: Sequence[CalibrationSample]) -> CalibrationSample:
        """Put the samples of several parts of a release together."""
        if len(parts) == 1:
            return parts[0]
        codes = np.concatenate([part.codes for part in parts])
        place_of, distinct = group_rows(codes)
        every = np.concatenate([part.weights for part in parts])
        weights = np.bincount(place_of, every, minlength=len(distinct))
        degrees: Counter[int] = Counter()
        for part in parts:
            degrees.update(part.degrees)
        cells = pa.concat_tables([part.cells for part in parts])
        return cls(cells, dict(degrees), distinct, np.round(weights, _ROUNDED))

    def to_text(self) -> str:
        """Write the sample as text."""
        parts = (
            self.cells,
            pa.table({"codes": self.codes.ravel()}),
            pa.table({"weights": self.weights}),
            pa.table({"degree": list(self.degrees), "records": list(self.degrees.values())}),
        )
        return " ".join(base64.b64encode(_written(part)).decode() for part in parts)

    @classmethod
    def from_text(cls, text: str) -> CalibrationSample:
        """Read what `to_text` wrote."""
        cells, codes, weights, degrees = (
            pa.ipc.open_stream(base64.b64decode(part)).read_all() for part in text.split(" ")
        )
        own = weights.column("weights").to_numpy()
        columns = degrees.to_pydict()
        return cls(
            cells,
            dict(zip(columns["degree"], columns["records"], strict=True)),
            codes.column("codes").to_numpy().reshape(len(own), -1),
            own,
        )

    def calibrate(
        self,
        certificate: Certificate,
        columns: Sequence[PublishedColumn],
        domains: Sequence[Domain],
    ) -> CalibrationFacts | None:
        """Ask questions of the sample, as `mottle.evaluation.calibration.calibrate` does."""
        known = {domain.name: domain for domain in domains}
        generalized = [column for column in columns if column.name in known]
        if self.cells.num_rows < certificate.rows:
            generalized = [
                replace(column, totals=self._totals(known[column.name], place))
                for place, column in enumerate(generalized)
            ]
        release = self.release(certificate, generalized)
        table = release.table
        texts = numbered(release.to_text())
        order = pc.sort_indices(
            texts, sort_keys=[(name, "ascending") for name in texts.column_names]
        )
        return calibrate(
            replace(release, stored=table.take(order)),
            Originals(Codes(tuple(domains), self.codes), self.weights),
            certificate.rows,
            list(known),
        )

    def release(self, certificate: Certificate, columns: Sequence[PublishedColumn]) -> ReleaseData:
        """Some columns of the sample as a release of its own."""
        described = certificate.with_changes(
            degree=Degrees.model_validate(describe_degrees(self.degrees)),
            rows=self.cells.num_rows,
            calibration=None,
        )
        table = self.cells.select([column.name for column in columns])
        return ReleaseData(table, tuple(columns), described)

    def _totals(self, domain: Domain, place: int) -> Totals | None:
        """How often values occur behind the records of the sample, as whole numbers."""
        counts = np.bincount(self.codes[:, place], self.weights, minlength=domain.size)
        whole = np.floor(counts + 10.0**-_ROUNDED).astype(np.int64)
        rest = self.cells.num_rows - int(whole.sum())
        whole[np.argsort(whole - counts, kind="stable")[:rest]] += 1
        return Totals.of_counts(domain, whole, 1)


def _weights(
    graph: Graph, positions: Int64Array, blocks: Int64Array, degrees: Int64Array
) -> Float64Array:
    """[n]: how many of some published records each original stands behind, by its position.

    A record that has m preimages counts one m-th for each.
    """
    if graph.edges.size == 0:
        counted = _around_rings(graph, positions, blocks, degrees)
        return counted / np.repeat(graph.degrees, graph.sizes)
    found = np.zeros(graph.records)
    several = max(_MOST_EDGES // int(degrees.max()), 1)
    for first in range(0, len(positions), several):
        here = slice(first, first + several)
        block_of = np.repeat(blocks[here], degrees[here])
        within = graph.edge_starts[blocks[here]]
        within += (positions[here] - graph.starts[blocks[here]]) * degrees[here]
        before = np.cumsum(degrees[here]) - degrees[here]
        edges = np.arange(len(block_of)) + np.repeat(within - before, degrees[here])
        preimages = graph.starts[block_of] + graph.edges[edges]
        shares = np.repeat(1 / degrees[here], degrees[here])
        found += np.bincount(preimages, shares, minlength=graph.records)
    return found


def _around_rings(
    graph: Graph, positions: Int64Array, blocks: Int64Array, degrees: Int64Array
) -> Int64Array:
    """[n]: how many of some records of rings have the original at each position as a preimage.

    Preimages of a record are a run around its ring: runs are counted by where they begin and end.
    """
    ends = graph.starts[blocks + 1]
    beyond = positions + degrees - ends
    steps = np.zeros(graph.records + 1, np.int64)
    np.add.at(steps, positions, 1)
    np.add.at(steps, np.minimum(positions + degrees, ends), -1)
    around = beyond > 0
    np.add.at(steps, graph.starts[blocks[around]], 1)
    np.add.at(steps, graph.starts[blocks[around]] + beyond[around], -1)
    return np.cumsum(steps)[:-1]


def _written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
