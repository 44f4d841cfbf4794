"""Anonymizes one chunk of a table that is too large to be worked on as a whole.

Everything that concerns the whole table is decided once and is part of a `ChunkedPlan`: domains, so
that codes, scales and loss are those of the whole table; the demand of the guarantee; one secret.
Rows arrive coded and in locality order, one chunk at a time, and every block lies in one chunk:
what holds in every chunk holds in the release. Streaming and Spark differ only in how rows are
moved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mottle import methods
from mottle.encoding.domain import Codes, Domain
from mottle.encoding.encode import along_orders, encode_in
from mottle.encoding.people import person_keys
from mottle.encoding.sensitive import SensitiveValues, as_counted, codes_among
from mottle.errors import PrivacyError
from mottle.graph.model import Graph
from mottle.guarantees.demand import Demand
from mottle.guarantees.people import people_of_keys
from mottle.methods.base import BucketDecision, SetColumns
from mottle.methods.buckets import records
from mottle.methods.buckets.buckets import wave_seconds
from mottle.methods.buckets.cut_columns import codes_of, cut_columns
from mottle.methods.buckets.partitioned.decision import Decision, TierDecision, WaveRelease
from mottle.methods.buckets.partitioned.shares import RegionRows, RowShare
from mottle.methods.buckets.plan import codes_by_value
from mottle.methods.buckets.tiers import Tier
from mottle.methods.buckets.waves import published_tables, random_rank
from mottle.orderings import Packing, by_cardinality
from mottle.pipeline.calibration_sample import MOST_RECORDS, CalibrationSample
from mottle.pipeline.chunked.link_column import LINKS, ROW, links_column
from mottle.pipeline.chunked.sets.chunk import SetsOfChunk
from mottle.pipeline.measurements import Measurements
from mottle.pipeline.progress import Clock, Progress
from mottle.pipeline.rules import check_rules_hold
from mottle.pipeline.settings import Settings
from mottle.pipeline.spine import Records, run
from mottle.pipeline.table_records import TableRecords
from mottle.release.certificate import ReleaseKind
from mottle.release.column import PublishedColumn
from mottle.release.item_totals import ItemTotals
from mottle.release.links import Links
from mottle.release.set_release import set_column, set_field
from mottle.release.value_totals import Totals
from mottle.schema.model import Column, Role, Schema
from mottle.typing import Int32Array, Int64Array
from mottle.utils.csprng import Purpose, Secret

# Columns in addition to the coded ones.
TIEBREAK, CHUNK, SLOT, PERSON = "tiebreak", "chunk", "slot", "person"


@dataclass(frozen=True)
class RowCodec:
    """How rows are coded: as keys of the locality order, a tie-break and the unchanged columns."""

    schema: Schema  # covers all columns
    domains: tuple[Domain, ...]
    sensitive: tuple[tuple[Column, SensitiveValues], ...]  # empty when values are not capped
    unchanged: tuple[PublishedColumn, ...]
    numbered: bool = False  # whether rows carry their number in the input, for the owner's links
    people: bool = False  # whether rows carry a number of their person, of people with several

    @property
    def packing(self) -> Packing:
        """Quasi-identifiers as keys: those with few values first, as in memory."""
        sizes = np.array([domain.size for domain in self.domains], np.int64)
        return Packing.of(sizes, by_cardinality(sizes))

    @property
    def keys(self) -> list[str]:
        """Names of the columns that rows are ordered by, before the tie-break."""
        return [f"key{number}" for number in range(self.packing.count)]

    @property
    def values(self) -> list[str]:
        """Names of the columns with codes of sensitive values."""
        return [f"value{number}" for number in range(len(self.sensitive))]

    @property
    def kept(self) -> list[str]:
        """Names of the columns that are published unchanged."""
        return [f"kept{number}" for number in range(len(self.unchanged))]

    @property
    def fields(self) -> pa.Schema:
        """The columns of what `code` returns."""
        types = [column.value_type for column in self.unchanged]
        return pa.schema(
            [
                *[(name, pa.int64()) for name in [*self.keys, TIEBREAK]],
                *[(name, pa.int32()) for name in self.values],
                *zip(self.kept, types, strict=True),
                *([(ROW, pa.int64())] if self.numbered else []),
                *([(PERSON, pa.int64())] if self.people else []),
            ]
        )

    def code(self, rows: pa.Table, tiebreak: Int64Array, first: int = 0) -> pa.Table:
        """Code some rows.

        Parameters
        ----------
        rows : pa.Table
            Rows of the input.
        tiebreak : Int64Array
            By row: a number that decides the order of rows with equal quasi-identifiers.
        first : int
            The number of the first of the rows in the input.

        Returns
        -------
        pa.Table
            The coded rows, with the columns of `fields`.
        """
        matrix = np.empty((rows.num_rows, len(self.domains)), np.int32)
        for place, domain in enumerate(self.domains):
            matrix[:, place] = encode_in(rows.column(domain.name), domain)
        columns: list[object] = [*self.packing.pack(matrix), tiebreak]
        columns += [
            codes_among(rows.column(column.name), column, known) for column, known in self.sensitive
        ]
        for column in self.unchanged:
            kept = rows.column(column.name).cast(column.value_type)
            columns.append(as_counted(kept) if column.role is Role.SENSITIVE else kept)
        columns += [np.arange(first, first + rows.num_rows)] if self.numbered else []
        if self.people:
            assert self.schema.person is not None
            columns.append(person_keys(rows.column(self.schema.person)))
        return pa.table(columns, schema=self.fields)

    def in_order(self, rows: pa.Table) -> pa.Table:
        """Sort coded rows along the locality order."""
        keys = [rows.column(name).to_numpy() for name in [*self.keys, TIEBREAK]]
        return rows.take(pa.array(np.lexsort(keys[::-1])))

    def value_numbers(self, codes: list[Int32Array]) -> Int64Array:
        """Number the combinations of sensitive codes in their lexicographic order."""
        numbers = np.zeros(len(codes[0]), np.int64)
        for column, (_, known) in zip(codes, self.sensitive, strict=True):
            numbers = numbers * len(known.counts) + column
        return numbers

    def value_codes(self, numbers: Int64Array) -> Int32Array:
        """Return the codes [n, columns] that belong to numbers from `value_numbers`."""
        codes = np.empty((len(numbers), len(self.sensitive)), np.int32)
        for place in range(len(self.sensitive) - 1, -1, -1):
            numbers, codes[:, place] = np.divmod(numbers, len(self.sensitive[place][1].counts))
        return codes


@dataclass(frozen=True)
class ChunkedPlan:
    """What is decided once for the whole table, and everything that a chunk needs of it."""

    codec: RowCodec
    demand: Demand  # its sensitive codes are those of combinations of values, not of rows
    combinations: Int64Array  # ascending: the numbers of these combinations, see `value_numbers`
    method: str
    settings: Settings
    secret: Secret
    largest: int  # rows that a chunk may have
    cuts: Int64Array  # [regions + 1]: first row of every region along the order, then all rows
    totals: tuple[Totals | None, ...]  # [domains]: how often values occur
    tiers: tuple[Tier, ...] = ()  # the tiers of `buckets`
    decision: Decision | None = None  # everything else that `buckets` decides
    # By name of a column of sets: how many records hold each item. Known after all chunks.
    item_totals: Mapping[str, ItemTotals] = field(default_factory=dict)
    kind: ReleaseKind = ReleaseKind.TABLE

    @property
    def regions(self) -> int:
        """Number of regions: sections of the order that are read at once."""
        return len(self.cuts) - 1

    @property
    def chunks(self) -> int:
        """Number of chunks: the regions, and those that `buckets` adds."""
        return self.regions if self.decision is None else self.decision.chunks

    @property
    def rows(self) -> int:
        """Number of rows of the whole table."""
        return int(self.cuts[-1])

    @property
    def columns(self) -> tuple[PublishedColumn, ...]:
        """The columns of the release."""
        if self.kind is ReleaseKind.SETS:
            (sets,) = self.codec.domains
            totals, hierarchy = self.item_totals.get(sets.name), sets.items.hierarchy
            return set_column(sets.name, totals, hierarchy), *self.codec.unchanged
        described = {
            domain.name: PublishedColumn.of_domain(
                domain, totals, self.item_totals.get(domain.name)
            )
            for domain, totals in zip(self.codec.domains, self.totals, strict=True)
        }
        described |= {column.name: column for column in self.codec.unchanged}
        names = [column.name for column in self.codec.schema.columns]
        return tuple(described[name] for name in names if name in described)

    @property
    def fields(self) -> pa.Schema:
        """The columns of the release as an Arrow schema."""
        if self.kind is ReleaseKind.SETS:
            sets, *labels = self.columns
            shown = set_field(sets.name, sets.item_totals, sets.hierarchy)
            return pa.schema([shown, *(one.field() for one in labels)])
        return pa.schema([column.field() for column in self.columns])

    def anonymize(
        self, number: int, rows: pa.Table, on_progress: Callable[[float], None] = lambda _: None
    ) -> tuple[pa.Table, Measurements]:
        """Publish a chunk; the result is the same whenever the chunk is worked on.

        Parameters
        ----------
        number : int
            The number of the chunk.
        rows : pa.Table
            Its coded rows in locality order.
        on_progress : callable
            Called with the loss so far.

        Returns
        -------
        table : pa.Table
            The published rows, in an order that reveals nothing about the order of ``rows``.
        measured : Measurements
            What was measured on the chunk.

        Raises
        ------
        PrivacyError
            An invariant does not hold.
        """
        done = self._publish(
            number, rows, self._bucket_decision(number, rows), self.settings.effort, on_progress
        )
        return done.table, done.measured

    def anonymize_wave(
        self, number: int, rows: pa.Table, buckets: int
    ) -> tuple[pa.Table, Measurements, WaveRelease]:
        """Publish the first wave of a tier as a chunk of its own.

        Parameters
        ----------
        number : int
            The number of the chunk.
        rows : pa.Table
            The coded records of the wave in locality order.
        buckets : int
            The number of buckets.

        Returns
        -------
        table : pa.Table
            The published rows.
        measured : Measurements
            What was measured on them.
        released : WaveRelease
            The wave as its release shows it.
        """
        values = len(codes_by_value(self.demand))
        nowhere = np.zeros(rows.num_rows, np.int64)
        uncut = BucketDecision(
            buckets, np.empty((values, 0)), None, nowhere, (np.empty(0, np.int64),), (0.0,)
        )
        seconds = wave_seconds(self.settings.effort)
        done = self._publish(number, rows, uncut, seconds, lambda _: None)
        wave = records.TableRecords(done.codes)
        found = wave.profiles_by_release(done.demand, done.graph, done.truth)
        profiles = np.zeros((values, found.shape[1]))
        profiles[: len(found)] = found
        columns = cut_columns(wave.matrix, wave.metric(buckets))
        tables = list(published_tables(done.graph, done.truth, done.demand.values))
        released = WaveRelease(columns, codes_of(columns, wave.matrix), tables, profiles)
        return done.table, done.measured, released

    def _publish(
        self,
        number: int,
        rows: pa.Table,
        decision: BucketDecision | None,
        seconds: float | None,
        on_progress: Callable[[float], None],
    ) -> _Done:
        codes, demand = self._codes(rows), self._demand(rows)
        check_rules_hold(self.codec.schema, codes)
        records = self._records(rows, codes, demand)
        part = run(
            records,
            self.method,
            demand,
            replace(self.settings, effort=seconds),
            self.secret.part("chunk", number),
            Clock(partial(_report_arranging, on_progress)),
            bucket_decision=decision,
        )
        links = part.links
        table = pa.Table.from_arrays(part.published.table.columns, schema=self.fields)
        if self.codec.numbered:
            numbers = rows.column(ROW).to_numpy()
            table = table.append_column(LINKS, links_column(number, links, numbers))
        measured = replace(
            part.measurements, sample=self._sample(number, part.published.table, links, codes)
        )
        if isinstance(records, SetsOfChunk):
            measured = records.measured(measured, part.loss, part.published.table)
        return _Done(table, measured, codes, demand, links.graph, links.truth)

    def _records(self, rows: pa.Table, codes: Codes, demand: Demand) -> Records[Any]:
        """The records of a chunk as the spine takes them."""
        unchanged = self._unchanged(rows)
        if self.kind is ReleaseKind.SETS:
            return SetsOfChunk.of(self.method, codes, unchanged, demand)
        method = methods.get(self.method)
        arranged = codes if method.sets is SetColumns.VOTED else along_orders(codes)
        return TableRecords(method, unchanged, self.codec.schema, codes, arranged, demand)

    def _sample(self, number: int, table: pa.Table, links: Links, codes: Codes) -> str:
        """The chunk's share of the records on which the release is calibrated."""
        if not self.settings.totals:
            return ""
        known = quasi_identifiers(self.codec.schema)
        most = table.num_rows
        if self.rows > MOST_RECORDS:
            most = math.ceil(MOST_RECORDS * table.num_rows / self.rows)
        drawn = CalibrationSample.of(
            table.select(known),
            links.graph,
            links.position_of_row,
            codes.matrix,
            most,
            self.secret.part("chunk", number),
        )
        return drawn.to_text()

    # ------------------------------------------------------------------ regions, for `buckets`

    def section(self, number: int, rows: pa.Table, cuts: Int64Array) -> RegionRows:
        """Make a section, which is one region or several, as `buckets` takes it.

        Parameters
        ----------
        number : int
            The number of the section.
        rows : pa.Table
            Its coded rows in order.
        cuts : Int64Array
            The first row of every section, and the end.

        Returns
        -------
        RegionRows
            The codes and sensitive codes of the rows.

        Raises
        ------
        PrivacyError
            The section has more or fewer rows than planned.
        """
        _check_whole(number, rows, cuts)
        return RegionRows(number, self._codes(rows), self.sensitive_codes(rows))

    def parts(self, number: int, rows: pa.Table, share: RowShare) -> Int64Array:
        """Assign each row of a region to a part of the table at random."""
        _check_whole(number, rows, self.cuts)
        tiebreak = self.secret.part("parts of region", number).permutation(
            Purpose.TIEBREAK, rows.num_rows
        )
        values = self.sensitive_codes(rows)[:, 0]
        ends = np.cumsum(share.counts[number], axis=1)[values]
        part: Int64Array = (random_rank(values, tiebreak)[:, None] >= ends).sum(axis=1)
        return part

    def part_of(self, number: int, rows: pa.Table, share: RowShare | None) -> pa.Table:
        """Return those of a region's rows that belong to a share, in order."""
        if share is None or share.is_everything:
            return rows
        return rows.filter(pa.array(self.parts(number, rows, share) == share.part))

    def with_slots(self, tier: TierDecision, section: int, rows: pa.Table) -> pa.Table:
        """Add chunk and slot to the rows of a section of a tier; sorted by chunk, then in order."""
        _check_whole(section, rows, tier.share.cuts)
        # The words are part of the key of the random numbers and must not change.
        secret = self.secret.part("lots of tier", tier.share.part).part("stretch", section)
        chunk, slot = tier.place(
            self.section(section, rows, tier.share.cuts),
            secret.permutation(Purpose.TIEBREAK, rows.num_rows),
        )
        rows = rows.append_column(CHUNK, pa.array(chunk)).append_column(SLOT, pa.array(slot))
        return rows.take(pa.array(np.argsort(chunk, kind="stable")))

    def _bucket_decision(self, number: int, rows: pa.Table) -> BucketDecision | None:
        if self.decision is None:
            return None
        return self.decision.tier_of(number).of_chunk(number, rows.column(SLOT).to_numpy())

    def in_order(self, rows: pa.Table) -> pa.Table:
        """Sort coded rows that arrived in any order along the locality order."""
        return self.codec.in_order(rows)

    def sensitive_codes(self, rows: pa.Table) -> Int32Array:
        """Return the sensitive codes [n, attributes] of coded rows."""
        codes = [rows.column(name).to_numpy() for name in self.codec.values]
        numbers = self.codec.value_numbers(codes)
        places = np.minimum(np.searchsorted(self.combinations, numbers), len(self.combinations) - 1)
        if np.any(self.combinations[places] != numbers):
            raise PrivacyError("Invariant 4: a chunk has sensitive values that were not counted.")
        return np.ascontiguousarray(self.demand.sensitive_codes[places])

    def _codes(self, rows: pa.Table) -> Codes:
        packed = [rows.column(name).to_numpy() for name in self.codec.keys]
        return Codes(self.codec.domains, self.codec.packing.unpack(packed))

    def _demand(self, rows: pa.Table) -> Demand:
        demand = self.demand
        if self.codec.people:
            keys = rows.column(PERSON).to_numpy()
            demand = replace(demand, people=people_of_keys(keys, demand.degree))
        if not demand.capped:
            return demand
        return replace(demand, sensitive_codes=self.sensitive_codes(rows))

    def _unchanged(self, rows: pa.Table) -> pa.Table:
        names = [column.name for column in self.codec.unchanged]
        if not names:
            return pa.table({"": pa.nulls(rows.num_rows)})
        return rows.select(self.codec.kept).rename_columns(names)


def _report_arranging(on_progress: Callable[[float], None], progress: Progress) -> None:
    """Report the loss of a chunk while its method improves it."""
    if progress.stage == "arrange" and progress.gcp is not None:
        on_progress(progress.gcp)


def _check_whole(number: int, rows: pa.Table, cuts: Int64Array) -> None:
    """Raise unless a region, or a section of several, has as many rows as planned."""
    if rows.num_rows != cuts[number + 1] - cuts[number]:
        raise PrivacyError(f"Invariant 5: region {number} has more or fewer rows than planned.")


class _Done(NamedTuple):
    """A chunk that passed its checks."""

    table: pa.Table
    measured: Measurements
    codes: Codes
    demand: Demand
    graph: Graph
    truth: Int32Array


def quasi_identifiers(schema: Schema) -> list[str]:
    """Return the names of the quasi-identifiers."""
    return [column.name for column in schema.with_role(Role.QUASI_IDENTIFYING)]
