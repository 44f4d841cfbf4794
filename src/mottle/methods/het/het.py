"""HET: heterogeneous ℓ-diversity and β-likeness by matching buckets of sensitive values.

"DISCONT", the paper that docs/papers.md lists as HET, §3 to §5. Buckets are filled by sensitive
values alone and matched by quasi-identifiers alone, so neither decision reveals the other; two
variants that mix them (threshold mode, and partitions that must be eligible) say so.

What differs from the paper, because the paper's algorithm leaks (docs/guarantees.md):

- *Draw.* One random permutation of the buckets decides the true assignment, not a random walk; the
  walk must be asked for (``unsafe_paper_randomization``).
- *Buckets.* With a permutation, the matches of an individual carry the value of one record of every
  bucket. So a value may lie in no more buckets than its cap allows, whereas Algorithm 1 may split
  it over two; what does not fit is filled into further buckets (`bucketization.fills_within_caps`).
  Buckets are numbered at random before they are matched, because the order of matching shows in the
  result.
- *Dummies.* None: tables whose size is not a multiple of the number of buckets have a remainder,
  which is filled into further buckets too.

``het-greedy-dummies``, ``het-sortgreedy-dummies`` and ``het-hungarian-dummies`` keep all three as
in the paper (Algorithms 1 to 3, Theorem 4), and run only if the unsafe randomization is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mottle.encoding.domain import Codes
from mottle.errors import UsageError
from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy
from mottle.guarantees.demand import ROUNDING, Demand
from mottle.kernels.scales import scales
from mottle.methods.base import Arrangement, Draw, MethodContext, register
from mottle.methods.buckets.bucketization import (
    diverse_fill,
    diversity_for_likeness,
    fills_within_caps,
    largest_bucket_size,
    likeness_fill,
)
from mottle.methods.buckets.plan import SensitiveValues, make_plan
from mottle.methods.het.layout import FilledBlocks, SensitiveRecords, eligible_parts, lay_out
from mottle.methods.het.matching import (
    ANY_VALUE,
    GREEDY,
    HUNGARIAN,
    SORTGREEDY,
    BucketBlocks,
    match_buckets,
)
from mottle.methods.het.threshold import RecordDistances
from mottle.methods.options import MethodOption
from mottle.typing import Float64Array, Int32Array, Int64Array

LIMIT = 6000  # most records per bucket; their cost matrix takes 288 MB
PARTITION = MethodOption(
    "partition",
    500,
    "records of a partition, or as many more as it takes to be within the caps (p of §5.1)",
    least=1,
    most=2**31,
)


class _Buckets(NamedTuple):
    """Records in buckets, ready to be matched."""

    layout: FilledBlocks
    values: Int32Array  # [n], as in the layout: values that no box may hold twice, or ANY_VALUE
    facts: Mapping[str, object]


Bucketize = Callable[[Codes, Demand, MethodContext, str], _Buckets]


# -------------------------------------------------------------------- from records to buckets


def _whole_table(codes: Codes, demand: Demand, context: MethodContext, name: str) -> _Buckets:
    """All records in one set of buckets; what does not fit goes into smaller ones."""
    records = SensitiveRecords.of(codes, demand, context)
    everybody = np.arange(codes.records)
    return _free(lay_out(records, _filled(records, [everybody], demand.degree)))


def _by_threshold(codes: Codes, demand: Demand, context: MethodContext, name: str) -> _Buckets:
    """Threshold mode τ: as `_whole_table`, with distant records in the same bucket."""
    demand.one_column(name, "buckets are filled by the distances between its values")
    records = SensitiveRecords.of(codes, demand, context)
    distances = RecordDistances(codes, records, name)
    everybody = np.arange(codes.records)
    filled = _filled(records, [everybody], demand.degree, distances.of_values())
    return _free(lay_out(records, filled, distances.most_distant_first))


def _by_partition(codes: Codes, demand: Demand, context: MethodContext, name: str) -> _Buckets:
    """Buckets within partitions of neighbours (GR_p, SG_p and HG_p of §5.1)."""
    records = SensitiveRecords.of(codes, demand, context)
    parts = list(eligible_parts(records, demand.degree, context.option(PARTITION)))
    layout = lay_out(records, _filled(records, parts, demand.degree))
    return _free(layout, partitions=len(parts))


def _filled(
    records: SensitiveRecords,
    parts: Sequence[Int64Array],
    least: int,
    distance: Float64Array | None = None,
) -> Iterator[tuple[Int64Array, Sequence[Int64Array]]]:
    """Every part with the fills of its buckets.

    With several sensitive columns (HET §7) buckets hold joint values, and no value of any column
    lies in more of them than its cap allows.
    """
    for rows in parts:
        counts = records.counts(rows)
        present = np.flatnonzero(counts)
        if records.sensitive.sensitive_codes.shape[1] > 1:
            yield rows, [fill[present] for fill in planned_fills(counts, records.sensitive, least)]
            continue
        far = None if distance is None else distance[np.ix_(present, present)]
        yield rows, fills_within_caps(counts[present], records.caps[present], least, far)


def planned_fills(counts: Int64Array, values: SensitiveValues, least: int) -> list[Int64Array]:
    """Fills within the caps of several columns, by counts alone; the last may be a plain group.

    ``counts`` are those of the joint values, which are within all caps together.
    """
    present = np.unique(values.sensitive_codes[counts > 0])
    fewest = max(least, math.ceil(float(1 / values.caps[present].min()) - ROUNDING))
    plan = make_plan(counts, values, fewest)
    group = np.repeat(np.arange(len(counts)), plan.group)
    alone = np.zeros((len(counts), len(group)), np.int64)  # buckets of one record each
    alone[group, np.arange(len(group))] = 1
    return [*plan.tables, *([alone] if len(group) else [])]


def _free(layout: FilledBlocks, **facts: object) -> _Buckets:
    """Buckets filled within the caps: however they are matched, no value can occur too often."""
    values = np.full(len(layout.members), ANY_VALUE, np.int32)
    sizes = np.diff(layout.starts)
    in_groups = int(sizes[sizes == layout.degrees].sum())
    return _Buckets(layout, values, {"in_plain_groups": in_groups, **facts})


# --------------------------------------------------------------------------- as in the paper


def _as_in_the_paper(codes: Codes, demand: Demand, context: MethodContext, name: str) -> _Buckets:
    """Algorithm 1 for ℓ-diversity, Algorithm 3 for β-likeness; records include dummies."""
    records = SensitiveRecords.of(codes, demand, context)
    real = demand.counts[: len(demand.counts) - demand.dummies]
    diversity, size = _paper_buckets(demand)
    if diversity is not None:
        fill = diverse_fill(demand.counts, diversity)
    else:
        fill = np.zeros((len(demand.counts), -(-int(real.sum()) // size)), np.int64)
        fill[: len(real)] = likeness_fill(real, size)
        fill[len(real) :, -1] = 1
    layout = lay_out(records, [(np.arange(codes.records), [fill])])
    values = records.values[layout.members]  # Theorem 2: no box holds a value twice
    if diversity is None:
        values = np.full_like(values, ANY_VALUE)
    return _Buckets(layout, values, {"dummies": demand.dummies})


def dummies_needed(demand: Demand) -> int:
    """Number of records that the paper adds so that all buckets have the same size."""
    demand.one_column("het-…-dummies", "its paper's Algorithms 1 and 3 count one")
    diversity, size = _paper_buckets(demand)
    records = int(demand.counts.sum())
    buckets = diversity or -(-records // size)
    if buckets < demand.degree:
        raise UsageError(
            f"The methods het-…-dummies make {buckets} buckets, as their paper does, but"
            f" k = {demand.degree} requires more.",
            "Leave k out, or use the method without the ending -dummies.",
        )
    return -records % (diversity or size)


def _paper_buckets(demand: Demand) -> tuple[int | None, int]:
    """The ℓ of Algorithm 1 if it applies (also by Theorem 4), else Algorithm 3's bucket size."""
    real = len(demand.counts) - demand.dummies
    counts, caps = demand.counts[:real], demand.caps[:real]
    beta = caps * counts.sum() / counts - 1
    diversity = diversity_for_likeness(counts, beta)
    return diversity, 0 if diversity is not None else largest_bucket_size(counts, beta)


# ------------------------------------------------------------------------ from buckets to a graph


class _Rule(NamedTuple):
    """A rule to match two buckets of c records each."""

    number: int
    title: str
    cost: str  # time for all pairs of buckets


def _arrange(
    codes: Codes,
    demand: Demand,
    context: MethodContext,
    *,
    name: str,
    bucketize: Bucketize,
    rule: _Rule,
) -> Arrangement:
    """Fill buckets, then match each one with every other (Algorithm 2)."""
    layout, values, facts = bucketize(codes, demand, context, name)
    blocks = BucketBlocks.of(layout.starts, layout.degrees)
    if blocks.largest_bucket > LIMIT:
        raise UsageError(
            f"Method '{name}' compares all pairs of two buckets and takes buckets of at most"
            f" {LIMIT:,} records, not {blocks.largest_bucket:,}.",
            "Use --method buckets, or one of the het methods that end in -partitioned.",
        )
    ordered = np.ascontiguousarray(codes.matrix[layout.members])
    edges, loss = match_buckets(scales(codes), ordered, values, blocks, rule.number)
    context.on_progress(loss)
    graph = Graph.explicit(layout.members, layout.starts, layout.degrees, edges)
    return Arrangement(graph, {"buckets": int(layout.degrees.max()), **facts}, Draw.BUCKETS)


_RULES = {
    "greedy": _Rule(GREEDY, "each record in turn where it widens least", "n·c·d"),
    "sortgreedy": _Rule(SORTGREEDY, "always the lightest pair left", "n·c·(d + log c)"),
    "hungarian": _Rule(HUNGARIAN, "by the cheapest assignment", "n·c·(c + d)"),
}


class _Way(NamedTuple):
    """A way from records to buckets."""

    bucketize: Bucketize
    remark: str  # for the title
    mixed_decision: str  # the decision that looks at quasi-identifiers and values together
    options: tuple[MethodOption[Any], ...] = ()


_WAYS = {
    "": _Way(_whole_table, "", ""),
    "-threshold": _Way(
        _by_threshold,
        "; distant records share a bucket, which may leak",
        "values whose records are distant share a bucket",
    ),
    "-partitioned": _Way(
        _by_partition,
        "; in partitions of neighbours, which may leak",
        "a partition of neighbours grows until it is within the caps",
        (PARTITION,),
    ),
}
_TITLE = "buckets of sensitive values, matched pair by pair: "

for _rule_name, _rule in _RULES.items():
    for _name, _way in _WAYS.items():
        register(
            f"het-{_rule_name}{_name}",
            title=_TITLE + _rule.title + _way.remark,
            paper="HET",
            offers=Capability.CAPS,
            cost=f"O({_rule.cost}) time with c records per bucket; O(c² + n·buckets) memory",
            decides_by=DecidesBy.BOTH if _way.mixed_decision else DecidesBy.SEPARATELY,
            mixed_decision=_way.mixed_decision,
            options=_way.options,
        )(partial(_arrange, name=f"het-{_rule_name}{_name}", bucketize=_way.bucketize, rule=_rule))

for _rule_name, _rule in _RULES.items():
    register(
        f"het-{_rule_name}-dummies",
        title=f"het-{_rule_name} exactly as in the paper, dummy records included; unsafe",
        paper="HET",
        offers=Capability.EQUAL_CAPS | Capability.SHARE_CAPS,
        cost=f"O({_rule.cost}) time with c records per bucket",
        dummies=dummies_needed,
        decides_by=DecidesBy.BOTH,
        mixed_decision="records of one value are never matched with each other",
    )(
        partial(
            _arrange,
            name=f"het-{_rule_name}-dummies",
            bucketize=_as_in_the_paper,
            rule=_rule,
        )
    )
