"""Draw the generalized columns of possible worlds jointly.

Every record's values lie in its cells. They are drawn so that pairs of columns go together as the
whole release says (`mottle.queries.worlds.lifts`) and so that the published rules hold. Records are
worked on in chunks, so memory is bounded by the chunk; what is fitted is fitted on a sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mottle.errors import DataError, UsageError
from mottle.queries.cells.cells import CellDistribution
from mottle.queries.worlds.chains import begin, sweep
from mottle.queries.worlds.lifts import Lifts
from mottle.queries.worlds.parts import ColumnParts
from mottle.queries.worlds.rules import Programs, broken, condition_of
from mottle.release.column import PublishedColumn
from mottle.schema.rules import Rule
from mottle.typing import BoolArray, Float32Array, Int32Array, Int64Array, UInt64Array
from mottle.utils import parallel

MOST_PARTS = 24  # of a column, unless rules need more
MOST_PLACES = 3000  # parts of all columns together
SAMPLE = 20_000  # records that lifts are fitted to, at most
COPIES = 40_000  # records of which fewer are drawn several times while lifts are fitted
SWEEPS = 8  # draws of every column for each world
_CHANCES = 1 << 24  # chances that are held at once
_REDRAWS = 20  # of values that rules do not allow, for instance since numbers are rounded


@dataclass(frozen=True, eq=False)
class JointDraw:
    """Columns that are drawn jointly, and how they go together."""

    names: tuple[str, ...]
    parts: tuple[ColumnParts, ...]
    rules: tuple[Rule, ...]
    described: Mapping[str, PublishedColumn]
    programs: Programs
    lifts: Lifts
    records: int

    @classmethod
    def of(
        cls,
        cells: Sequence[CellDistribution],
        described: Mapping[str, PublishedColumn],
        rules: Sequence[Rule],
        random: np.random.Generator,
        *,
        pairs: bool,
    ) -> JointDraw:
        """Prepare the columns ``cells``; ``pairs`` says whether pairs of columns are fitted."""
        names = tuple(every.name for every in cells)
        conditions: dict[str, list[tuple[int, int]]] = {name: [] for name in names}
        for number, rule in enumerate(rules):
            for place, comparison in enumerate(rule.comparisons):
                conditions[comparison.column].append((number, place))
        most = max(2, min(MOST_PARTS, MOST_PLACES // max(len(cells), 1)))
        parts = []
        truths: dict[tuple[int, int], BoolArray] = {}
        for every in cells:
            wanted = [
                condition_of(rules[number].comparisons[place])
                for number, place in conditions[every.name]
            ]
            try:
                parts.append(ColumnParts.of(every, wanted, most))
            except UsageError as error:
                raise DataError(
                    f"A rule of the release does not fit its column: {error.problem}",
                    "The release was changed, or its rules do not belong to it.",
                ) from None
            truths |= dict(zip(conditions[every.name], parts[-1].truths, strict=True))
        sizes = np.array([one.count for one in parts], np.int64)
        if sizes.sum() > 2 * MOST_PLACES:
            raise DataError("The rules of the release divide its columns into too many parts.")
        programs = Programs.of(rules, names, [truths[key] for key in sorted(truths)])
        programs.check_work(sizes)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        records = len(cells[0].of_row) if cells else 0
        drawn = cls(
            names, tuple(parts), tuple(rules), described, programs, Lifts.none(offsets), records
        )
        if not pairs or len(cells) < 2 or not records:
            return drawn
        most_rows = max(min(SAMPLE, _CHANCES // int(offsets[-1])), 1)
        rows = np.arange(records)
        if records > most_rows:
            rows = np.sort(random.choice(records, most_rows, replace=False))
        chances = drawn._chances(rows)
        if rules:
            drawn._continued(chances, drawn.lifts, None, _states(random, len(rows)), 0)
        several = np.tile(chances, (max(min(COPIES, most_rows) // len(rows), 1), 1))
        randoms = _states(random, len(several))

        def continued(lifts: Lifts, states: Int32Array | None) -> Int32Array:
            return drawn._continued(several, lifts, states, randoms, 2)

        lifts = Lifts.fitted(chances, offsets, continued)
        return cls(names, tuple(parts), tuple(rules), described, programs, lifts, records)

    def draw(self, random: np.random.Generator) -> dict[str, pa.ChunkedArray]:
        """Draw the values of all records, by column."""
        if not self.parts:  # nothing is generalized
            return {}
        chunks: dict[str, list[pa.Array]] = {name: [] for name in self.names}
        for rows in self._chunks():
            states = self._states_of(rows, random)
            drawn = {
                name: one.draw(rows, states[:, place].astype(np.int64), random)
                for place, (name, one) in enumerate(zip(self.names, self.parts, strict=True))
            }
            self._settle(drawn, rows, states, random)
            for name in self.names:
                chunks[name].append(drawn[name])
        return {name: pa.chunked_array(parts) for name, parts in chunks.items()}

    def _chunks(self) -> Iterator[Int64Array]:
        size = max(_CHANCES // max(int(self.lifts.offsets[-1]), 1), 1)
        for first in range(0, max(self.records, 1), size):
            yield np.arange(first, min(first + size, self.records))

    def _states_of(self, rows: Int64Array, random: np.random.Generator) -> Int32Array:
        """The parts of some records, drawn anew."""
        chances = self._chances(rows)
        return self._continued(chances, self.lifts, None, _states(random, len(rows)), SWEEPS)

    def _chances(self, rows: Int64Array) -> Float32Array:
        offsets = self.lifts.offsets
        chances = np.empty((len(rows), int(offsets[-1])), np.float32)
        for place, one in enumerate(self.parts):
            chances[:, offsets[place] : offsets[place + 1]] = one.chances(rows)
        return chances

    def _continued(
        self,
        chances: Float32Array,
        lifts: Lifts,
        states: Int32Array | None,
        randoms: UInt64Array,
        sweeps: int,
    ) -> Int32Array:
        """Continue a chain, or begin one that obeys the rules."""
        rules = self.programs
        if states is None:
            states = np.empty((len(chances), len(self.parts)), np.int32)
            begun = states
            lost = sum(
                parallel.over_rows(
                    lambda first, last: begin(
                        chances, lifts.offsets, *rules, randoms, first, last, begun
                    ),
                    len(chances),
                )
            )
            if lost:
                raise DataError(
                    "There are records in whose cells no values were found that obey the rules of"
                    " the release.",
                    "The rules contradict each other or the cells: the release was changed, or"
                    " its rules do not belong to it.",
                )
        if sweeps and (lifts.linked.any() or len(self.rules)):
            moved = states
            parallel.over_rows(
                lambda first, last: sweep(
                    chances,
                    lifts.factors,
                    lifts.lifts,
                    lifts.linked,
                    lifts.offsets,
                    *rules,
                    sweeps,
                    randoms,
                    first,
                    last,
                    moved,
                ),
                len(chances),
            )
        return states

    def _settle(
        self,
        drawn: dict[str, pa.Array],
        rows: Int64Array,
        states: Int32Array,
        random: np.random.Generator,
    ) -> None:
        """Check that the rules hold; draw values of the same parts again where they do not."""
        if not self.rules:
            return
        for _ in range(_REDRAWS):
            named = {name for rule in self.rules for name in rule.columns}
            table = pa.table({name: drawn[name] for name in named})
            places = np.unique(np.concatenate(broken(self.rules, table, self.described)))
            if not len(places):
                return
            order = np.arange(len(rows))
            order[places] = len(rows) + np.arange(len(places))
            for place, (name, one) in enumerate(zip(self.names, self.parts, strict=True)):
                if name in named:
                    again = one.draw(rows[places], states[places, place].astype(np.int64), random)
                    drawn[name] = pa.concat_arrays([drawn[name], again]).take(pa.array(order))
        raise DataError(
            f"For {len(places):,} records no values were found that obey the rules of the release.",
            "Draw with another seed.",
        )


def _states(random: np.random.Generator, records: int) -> UInt64Array:
    """A random number other than 0 for every record, with which its chain begins."""
    return random.integers(1, 2**63, records, np.int64).astype(np.uint64) * np.uint64(
        2
    ) + np.uint64(1)
