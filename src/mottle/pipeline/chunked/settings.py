"""What streaming and Spark share beside the chunks: options, demand, memory, the certificate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mottle import methods
from mottle._version import __version__
from mottle.assignment import WALKS
from mottle.audit import Matches, summed_audit
from mottle.encoding.domain import Codes
from mottle.encoding.sensitive import SensitiveValues, join_counts
from mottle.errors import PrivacyError, UsageError, did_you_mean
from mottle.graph.degrees import describe_degrees
from mottle.guarantees.base import Guarantee
from mottle.guarantees.demand import Demand
from mottle.methods.auto import PATIENCE, expected_seconds
from mottle.pipeline.anonymize import (
    as_representation,
    as_seconds,
    check_passed,
    check_schema,
    describe_columns,
    describe_values,
    notes_of,
)
from mottle.pipeline.chunked.chunk import ChunkedPlan, RowCodec
from mottle.pipeline.chunked.measurements import Measurements, readable
from mottle.pipeline.chunked.survey import DomainSurvey
from mottle.release.value_totals import Totals, least_total
from mottle.schema.model import Representation, Role, Schema
from mottle.typing import Int64Array

CHUNKED = ("nh", "freeform")  # for k-anonymity …
CHUNKED_VALUES = ("buckets",)  # … and for guarantees about sensitive values

_GIGABYTE = 10**9
BASE_BYTES = 700 * 10**6  # the program itself: libraries, compiled kernels, domains, buffers
SMALLEST_MEMORY = 1 * _GIGABYTE
MOST_ROWS = 1_000_000  # of a chunk: more gain nothing, fewer are lost with an interruption
FEWEST_ROWS = 20_000


@dataclass(frozen=True)
class Settings:
    """The options of a run that works in chunks, checked."""

    method: str
    representation: Representation
    walk: str
    effort: float | None
    seed: int | None
    totals: bool

    @classmethod
    def check(
        cls,
        schema: Schema,
        guarantee: Guarantee,
        *,
        method: str,
        representation: Representation | str,
        walk: str,
        effort: float | None,
        seed: int | None,
        totals: bool,
    ) -> Settings:
        """Refuse what chunks cannot do."""
        check_schema(schema)
        methods.get(method).check_gives(guarantee)
        known = CHUNKED_VALUES if guarantee.about_values else CHUNKED
        if method not in ("auto", *known):
            raise UsageError(
                f"Method '{method}' needs the whole table in memory for"
                f" {guarantee.describe()['name']}.",
                f"In chunks: {', '.join(known)}. Or leave out --memory and --engine.",
            )
        if walk not in WALKS:
            raise UsageError(f"There is no walk '{walk}'.", did_you_mean(walk, WALKS))
        representation = as_representation(representation)
        return cls(method, representation, walk, as_seconds(effort), seed, totals)

    def totals_of(
        self, survey: DomainSurvey, codec: RowCodec, demand: Demand
    ) -> tuple[Totals | None, ...]:
        """How often values occur, as in memory, for every quasi-identifier; or nothing of it."""
        if not self.totals:
            return (None,) * len(codec.domains)
        return survey.totals(codec.domains, least_total(demand))

    def method_for(self, guarantee: Guarantee, rows: int) -> str:
        """The method asked for, or the one that `auto` would pick by rows and time."""
        if self.method != "auto":
            return self.method
        if guarantee.about_values:
            return CHUNKED_VALUES[0]
        limit = PATIENCE if self.effort is None else self.effort
        expected = expected_seconds(rows, guarantee.degree)
        return "nh" if self.effort != 0 and expected > limit else "freeform"


def demand_of(
    guarantee: Guarantee, codec: RowCodec, rows: int, combinations: Int64Array, counts: Int64Array
) -> tuple[Demand, tuple[SensitiveValues, ...]]:
    """What the guarantee demands of the whole table, from counts alone.

    ``combinations`` are numbers of combinations of sensitive codes, ascending, with their counts.
    """
    guarantee.check_feasible(rows)
    if not guarantee.about_values:
        return guarantee.demand(rows), ()
    single = [known for _, known in codec.sensitive]
    sensitive = join_counts(single, codec.value_codes(combinations), counts) if single else ()
    return guarantee.demand(rows, sensitive), sensitive


def memory_bytes(memory: str | int) -> int:
    """How much memory a run may take, as people write it.

    >>> memory_bytes("4GB"), memory_bytes("1.5 GiB"), memory_bytes(2_000_000_000)
    (4000000000, 1610612736, 2000000000)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?", str(memory).strip().lower())
    if match is None:
        raise UsageError(f"'{memory}' is no amount of memory.", "Write for instance --memory 4GB.")
    number, prefix, binary = match.groups()
    step = 1024 if binary else 1000
    amount = int(float(number) * step ** " kmgt".index(prefix or " "))
    if amount < SMALLEST_MEMORY:
        raise UsageError(
            f"{memory} of memory is too little: the program itself takes"
            f" {BASE_BYTES / _GIGABYTE:g} GB.",
            f"Give at least {SMALLEST_MEMORY // _GIGABYTE}GB.",
        )
    return amount


def rows_per_chunk(memory: int, method: str, degree: int, columns: int, row_bytes: float) -> int:
    """How many rows fit into memory at once while a chunk is worked on (docs/scale.md).

    ``columns``: quasi-identifiers; ``row_bytes``: of the columns that are published as they are.
    """
    edges = {"nh": 12, "freeform": 60, "buckets": 90}[method] * degree
    per_row = 250 + 130 * columns + edges + 6 * row_bytes
    rows = int((memory - BASE_BYTES) * 0.8 / per_row)
    return max(min(rows, MOST_ROWS), min(FEWEST_ROWS, rows), 4 * degree)


def cut_regions(demand: Demand, rows: int, largest: int) -> Int64Array:
    """Where regions of equal size begin, and the end; none has more than ``largest`` rows.

    As few as that takes. For sensitive values the table is halved again and again, as `buckets`
    halves cells in memory: what regions leave over then finds the same company. Three regions, say,
    would bring men and women together who in memory find theirs each in their own half.

    >>> cut_regions(Demand(2), 12, 4)
    array([ 0,  4,  8, 12])
    >>> cut_regions(Demand(2, sensitive_codes=np.array([[0], [1]], np.int32)), 12, 4)
    array([ 0,  3,  6,  9, 12])
    """
    regions = -(-rows // largest)
    if demand.capped:
        regions = 1 << (regions - 1).bit_length()
    return np.linspace(0, rows, regions + 1).astype(np.int64)


def certify(
    plan: ChunkedPlan,
    settings: Settings,
    guarantee: Guarantee,
    sensitive: Sequence[SensitiveValues],
    parts: Sequence[Measurements],
    engine: dict[str, object],
    notes: Sequence[str],
    seconds: dict[str, float],
) -> dict[str, Any]:
    """The certificate of a release whose chunks all passed their checks; or raise."""
    total = Measurements.total(parts)
    rows = plan.rows
    if len(parts) != plan.chunks or total.rows != rows or total.records != rows:
        raise PrivacyError("Invariant 3: the chunks together are not the table.")
    schema, domains = plan.codec.schema, plan.codec.domains
    codes = Codes(domains, np.empty((0, len(domains)), np.int32), tuple(notes))
    checks = [
        check_passed(1, "regular", {"degree": total.degree, "blocks": total.blocks}),
        check_passed(2, "covered", {"pairs": total.pairs}),
        check_passed(3, "one-to-one", {"records": total.records}),
        check_passed(4, "within caps", total.within),
        check_passed(
            5,
            "anonymous",
            {
                "identifying_columns": len(schema.with_role(Role.IDENTIFYING)),
                "row_order": "uniformly random",
            },
        ),
    ]
    chosen = methods.get(plan.method)
    facts = readable(total.facts, plan.chunks)
    if plan.decision is not None:
        facts["tiers"] = [tier.described for tier in plan.tiers]
        facts |= plan.decision.facts
    if settings.method == "auto":
        facts = {"picked": plan.method, **facts}
        chosen = methods.get("auto")
    secret = plan.secret
    matches = Matches(total.degree[0], total.matches / rows, total.marketer / rows)
    return {
        "mottle": __version__,
        "guarantee": guarantee.describe(),
        "method": {
            "name": chosen.name,
            "title": chosen.title,
            "paper": chosen.paper,
            **facts,
        },
        "parameters": {
            "representation": str(settings.representation),
            "draw": total.draw,
            "effort": settings.effort,
            "least_total": least_total(plan.demand) if settings.totals else None,
        },
        "engine": {**engine, "chunks": plan.chunks},
        "rows": rows,
        "columns": describe_columns(schema, codes, plan.columns),
        "sensitive": [describe_values(values) for values in sensitive],
        "gcp": min(total.gcp / rows, 1.0),
        "ncp": {name: min(loss / rows, 1.0) for name, loss in total.ncp.items()},
        "degree": describe_degrees(total.degrees),
        "seed": secret.seed,
        "checks": checks,
        "audit": summed_audit(matches, rows, plan.demand, guarantee, checks),
        "notes": notes_of(schema, codes, guarantee, facts, secret.seed),
        "sha256": {},
        "seconds": seconds,
    }
