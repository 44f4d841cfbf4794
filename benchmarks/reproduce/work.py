"""How a point is measured: one function per kind of measurement, found by name.

Seconds are processor seconds of arranging and drawing, of all threads together, from codes on, with
kernels compiled; the least of three runs where they are short. They do not depend on what else
the machine does. Means are over ``seeds`` secrets where a method is random.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from inspect import signature
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import mottle
from benchmarks._printed_walk import printed_walk
from benchmarks.reproduce import data as datasets
from benchmarks.reproduce.data import QUERY_SIZES, Data, item_sets, load
from benchmarks.reproduce.figure import Numbers
from benchmarks.reproduce.node_cuts import IntArray, node_cuts
from mottle import BetaLikeness, KAnonymity, LDiversity, anonymize_sets, assignment, methods
from mottle.assignment import assign
from mottle.audit.sensitive.naive_bayes import naive_bayes_accuracy
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.encoding.sensitive import encode_sensitive
from mottle.evaluation.privbayes import epsilon_of, privbayes
from mottle.evaluation.set_release import compare_sets
from mottle.evaluation.workloads import cube_divergence, prefix_counts, query_error, random_counts
from mottle.graph.model import Graph
from mottle.guarantees.base import Guarantee
from mottle.itemsets.gray import gray_order
from mottle.loss.graph_measures import discernibility
from mottle.loss.ncp import measure
from mottle.methods.base import Arrangement, Method, MethodContext
from mottle.methods.burel import bucketize, reallocate
from mottle.methods.fast07.partitioning import arrange, boxed_groups
from mottle.methods.het.dummy_records import add_dummies
from mottle.methods.sets import base as set_methods
from mottle.methods.sets.gray_ring import ring
from mottle.methods.several_columns import tightest
from mottle.orderings.hilbert import hilbert
from mottle.orderings.unit_cube import place
from mottle.pipeline.progress import Progress
from mottle.queries.engine import Queries
from mottle.schema.model import Representation
from mottle.utils.csprng import STREAM_WORDS, Purpose, Secret, open_stream

REPEATED = 1.0  # seconds below which a measurement of time is repeated twice
PRIVBAYES = "PrivBayes"
ORIGINALS = "originals"  # published as they are: what can be learned at all


class NotAvailableError(Exception):
    """The installed mottle lacks the method, option or walk that a point asks for."""


# ------------------------------------------------------------------------------ finding methods


def method_of(name: str, options: Mapping[str, object]) -> Method:
    """A registered method that has all of these options."""
    if name not in methods.registered():
        raise NotAvailableError(f"method not available: {name}")
    found = methods.get(name)
    _check_options(name, options, found)
    return found


def _check_options(name: str, options: Mapping[str, object], found: object) -> None:
    declared = {option.name for option in getattr(found, "options", ())}
    for option in options:
        if option not in declared:
            raise NotAvailableError(f"method not available: {name} with {option}")


def _context(options: Mapping[str, object], **arguments: Any) -> MethodContext:
    """A context with options, where methods have options."""
    if "options" in {each.name for each in fields(MethodContext)}:
        arguments["options"] = dict(options)
    return MethodContext(**arguments)


def guarantee_of(k: int | None, l: int | None, beta: float | None) -> Guarantee:  # noqa: E741
    """The guarantee that a point names."""
    if k is not None:
        return KAnonymity(k)
    return LDiversity(l) if l is not None else BetaLikeness(beta)


# ------------------------------------------------------------------------- generalized tables


def groups_loss(groups: Sequence[Sequence[int]], codes: Codes) -> dict[str, float]:
    """Loss and discernibility of groups of records that are published alike."""
    ends = np.cumsum([0, *(len(group) for group in groups)])
    members = np.concatenate([np.asarray(group, np.int32) for group in groups])
    graph = Graph.rings(members, ends, np.diff(ends).astype(np.int32))
    return {
        "loss": measure(cover(graph, codes), codes).gcp,
        "discernibility": float(discernibility(graph)),
        "partition": float(graph.sizes.mean()),
    }


def node_mondrian(
    data: str,
    rows: int,
    *,
    k: int | None = None,
    l: int | None = None,  # noqa: E741 - the papers' name
    columns: int | None = None,
) -> Numbers:
    """Mondrian that cuts a taxonomy only where all children of a node have enough records."""
    source = load(data, rows, columns=columns, taxonomies=True)
    codes = encode(source.table, source.schema, Representation.RANGE)
    values = None
    if l is not None:
        (sensitive,) = encode_sensitive(source.table, source.schema)
        values = sensitive.codes

    def is_allowed(part: IntArray) -> bool:
        if values is None:
            return len(part) >= (k or 0)
        return len(part) > 0 and int(np.bincount(values[part]).max()) * (l or 1) <= len(part)

    return groups_loss(node_cuts(codes, is_allowed), codes)


def generalize(
    data: str,
    rows: int,
    method: str,
    *,
    k: int | None = None,
    l: int | None = None,  # noqa: E741 - the papers' name
    beta: float | None = None,
    columns: int | None = None,
    taxonomies: bool = False,
    values: int = datasets.OCCUPATIONS,
    representation: str = "range",
    options: Mapping[str, object] | None = None,
    partition: int | None = None,
    draw: str | None = None,
    effort: float = 0,
    extents: bool = False,
    seeds: int = 1,
) -> Numbers:
    """Loss, time, discernibility and size of partitions of one method.

    ``partition`` is the option of that name; it stands apart because a trial makes it smaller. With
    ``extents``, the domain of a number in the loss of sets is all from its lowest to its highest
    value, not those that occur.
    """
    given = {**(options or {}), **({} if partition is None else {"partition": partition})}
    chosen = method_of(method, given)
    source = load(data, rows, columns=columns, taxonomies=taxonomies, values=values)
    guarantee = guarantee_of(k, l, beta)
    form = Representation(representation)
    runs = [
        _arranged(source, guarantee, chosen, given, form, draw, effort, extents, seed)
        for seed in range(1, seeds + 1)
    ]
    return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}


def _loss_by_extents(ncp: Mapping[str, float], source: Data, codes: Codes) -> float:
    """GCP of sets, (count - 1) / (|A| - 1), if |A| of a number is the extent of its values."""
    losses = []
    for domain in codes.domains:
        column = source.table.column(domain.name)
        loss = ncp[domain.name]
        if pa.types.is_integer(column.type) and not domain.kind.is_unordered:
            ends = pc.min_max(column).as_py()
            loss *= (domain.size - 1) / max(ends["max"] - ends["min"], 1)
        losses.append(loss)
    return float(np.mean(losses))


def _arranged(
    source: Data,
    guarantee: Guarantee,
    chosen: Method,
    options: Mapping[str, object],
    representation: Representation,
    draw: str | None,
    effort: float,
    extents: bool,
    seed: int,
) -> dict[str, float]:
    table, secret = source.table, Secret.draw(seed=seed)
    sensitive = encode_sensitive(table, source.schema) if guarantee.about_values else ()
    demand = guarantee.demand(table.num_rows, sensitive)
    if chosen.dummies is not None:
        demand = demand.with_dummies(chosen.dummies(demand))
        tiebreak = secret.permutation(Purpose.TIEBREAK, table.num_rows)
        table = add_dummies(table, source.schema, tiebreak[: demand.dummies])
        draw = draw or "closed"
    codes = encode(table, source.schema, representation)
    context = _context(
        options,
        seconds=effort,
        seed=secret.public_seed,
        tiebreak=lambda records: secret.permutation(Purpose.TIEBREAK, records),
        preview=lambda graph: assign(graph, secret, "buckets"),
    )
    found: list[Arrangement] = []
    arranging = _processor_seconds(lambda: found.append(chosen.arrange(codes, demand, context)))
    arrangement = found[-1]
    graph = arrangement.graph
    walk = draw or ("closed" if str(arrangement.draw) == "walk" else str(arrangement.draw))
    drawing = _processor_seconds(lambda: assign(graph, secret, walk))
    lost = measure(cover(graph, codes), codes)
    return {
        "loss": _loss_by_extents(lost.ncp, source, codes) if extents else lost.gcp,
        "seconds": arranging + drawing,
        "arranging": arranging,
        "drawing": drawing,
        "discernibility": float(discernibility(graph)),
        "partition": float(graph.sizes.mean()),
        "largest partition": float(graph.sizes.max()),
        "matches": float(np.average(graph.degrees, weights=graph.sizes)),
    }


def _processor_seconds(run: Callable[[], object]) -> float:
    """The processor seconds of a call, of all threads; the least of three where it is short."""
    seconds = []
    while not seconds or (len(seconds) < 3 and seconds[0] < REPEATED):
        began = time.process_time()
        run()
        seconds.append(time.process_time() - began)
    return min(seconds)


def random_parts(data: str, rows: int, method: str, l: int, part: int) -> Numbers:  # noqa: E741
    """Mean loss of a method run on random parts of a table, one after the other.

    The rows of the tables here are in random order, so that consecutive rows are a random part.
    Loss is relative to the values of the whole table.
    """
    chosen, source = method_of(method, {}), load(data, rows)
    codes = encode(source.table, source.schema, Representation.RANGE)
    losses, sizes = [], []
    for first in range(0, rows, part):
        table = source.table.slice(first, part)
        demand = LDiversity(l).demand(table.num_rows, encode_sensitive(table, source.schema))
        own = replace(codes, matrix=codes.matrix[first : first + part])
        graph = chosen.arrange(own, demand, _context({}, seconds=0, seed=1)).graph
        losses.append(measure(cover(graph, own), own).gcp)
        sizes.append(table.num_rows)
    return {"loss": float(np.average(losses, weights=sizes))}


def curve(
    data: str, rows: int, columns: int, k: int, *, categories: str, last_first: bool, bits: int
) -> Numbers:
    """Loss of HS with other places of values on the Hilbert grid.

    Categories lie in the order of their names ("alphabetical") or of their frequency; the first
    coordinate is the last column, or the first one.
    """
    source = load(data, rows, columns=columns)
    codes = encode(source.table, source.schema, Representation.SET)
    points = []
    placed = encode(source.table, source.schema, Representation.RANGE)
    for domain, column in zip(placed.domains, placed.matrix.T, strict=True):
        if domain.positions.size:
            places = np.asarray(domain.positions, np.float64)
        else:
            counts = np.bincount(column, minlength=domain.size)
            by_frequency = np.argsort(np.argsort(-counts, kind="stable"))
            by_name = np.argsort(np.argsort([str(v) for v in domain.values.to_pylist()]))
            places = (by_name if categories == "alphabetical" else by_frequency).astype(float)
        points.append(((places - places.min()) / np.ptp(places))[column])
    order = hilbert(np.stack(points[::-1] if last_first else points).T, bits)
    graph = arrange(order, boxed_groups(codes, order, k)).graph
    return {"loss": measure(cover(graph, codes), codes).gcp}


def largest_buckets(data: str, rows: int, columns: int, l: int) -> Numbers:  # noqa: E741
    """Loss of groups that take the next record along the Hilbert curve from the ℓ largest buckets.

    What is left at the end joins the last group that lacks its value.
    """
    source = load(data, rows, columns=columns)
    (values,) = encode_sensitive(source.table, source.schema)
    codes = encode(source.table, source.schema, Representation.SET)
    order = hilbert(place(codes))
    waiting = [deque(order[values.codes[order] == value]) for value in range(len(values.counts))]
    sizes = np.array([len(bucket) for bucket in waiting])
    groups: list[list[int]] = []
    while (sizes > 0).sum() >= l:
        largest = np.argpartition(-sizes, l - 1)[:l]
        groups.append([int(waiting[value].popleft()) for value in largest])
        sizes[largest] -= 1
    for value in np.flatnonzero(sizes):
        for record in waiting[value]:
            lacking = (g for g in reversed(groups) if all(values.codes[r] != value for r in g))
            next(lacking).append(int(record))
    return groups_loss(groups, codes)


def fullest_bucket(data: str, rows: int, beta: float) -> Numbers:
    """How full BuReL's fullest bucket is, and how many matches a person has in the groups."""
    source = load(data, rows)
    (values,) = encode_sensitive(source.table, source.schema)
    demand = BetaLikeness(beta).demand(rows, [values])
    codes, counts, value_caps = tightest(demand)
    bucket_of, caps = bucketize(counts, value_caps)
    sizes = np.bincount(bucket_of[codes], minlength=len(caps))
    groups = reallocate(sizes, caps, demand.degree).sum(axis=1)
    return {
        "fullest": float((sizes / (caps * rows)).max()),
        "matches": float((groups**2).sum() / rows),
    }


# ---------------------------------------------------------------------- queries, cubes, attacks


KEPT_ROWS = 1_000_000  # of releases that are kept for further points
_RELEASES: dict[tuple[object, ...], mottle.Release | pa.Table] = {}


def _published(*settings: Any) -> mottle.Release | pa.Table:
    """What `_publish` makes; the latest are kept, because figures share many releases."""
    release = _RELEASES.pop(settings, None)
    if release is None:
        release = _publish(*settings)
    _RELEASES[settings] = release
    while len(_RELEASES) > 1 and sum(each.num_rows for each in _RELEASES.values()) > KEPT_ROWS:
        del _RELEASES[next(iter(_RELEASES))]
    return release


def _publish(
    data: str,
    rows: int,
    method: str,
    guarantee: Guarantee,
    taxonomies: bool,
    columns: int | None,
    seed: int,
) -> mottle.Release | pa.Table:
    """A release, PrivBayes' table with ε = ln(1 + β), or the originals."""
    source = load(data, rows, taxonomies=taxonomies, columns=columns)
    if method == ORIGINALS:
        return source.table
    if method == PRIVBAYES:
        assert isinstance(guarantee, BetaLikeness)
        names = [*source.columns, source.sensitive]
        return privbayes(source.table, names, epsilon_of(guarantee.beta), seed=seed)
    chosen = method_of(method, {})
    return mottle.anonymize(
        source.table,
        source.schema,
        guarantee,
        method=method,
        objective="ncp" if chosen.follows_objective else None,
        effort=0,
        seed=seed,
        unsafe_paper_randomization=chosen.dummies is not None,
    )


@lru_cache(maxsize=16)
def _queries(
    data: str,
    rows: int,
    method: str,
    guarantee: Guarantee,
    taxonomies: bool,
    columns: int | None,
    seed: int,
    fit: str,
) -> Queries:
    return Queries.of(_published(data, rows, method, guarantee, taxonomies, columns, seed), fit)


@lru_cache(maxsize=4)
def _truth(data: str, rows: int) -> Queries:
    return Queries.of(load(data, rows).table)


FITS = {"error": "uniform", "error, fitted": "fitted"}  # the papers' assumption, and our default


def counts(
    data: str,
    rows: int,
    method: str,
    beta: float,
    *,
    conditions: int = 3,
    selectivity: float = 0.1,
    prefix: bool = False,
    queries: int = 600,
    seeds: int = 1,
) -> Numbers:
    """Median relative error of HET's random counts, or of its prefix ranges."""
    source = load(data, rows)
    if prefix:
        singles = ("age", "gender", "marital_status", "race")
        wheres = prefix_counts(source.table, "education", singles, number=queries, seed=1)
    else:
        wheres = random_counts(
            source.table,
            source.columns,
            source.sensitive,
            conditions=conditions,
            selectivity=selectivity,
            number=queries,
            seed=1,
        )
    found: dict[str, list[float]] = {name: [] for name in FITS}
    dropped = 0
    for seed in range(1, seeds + 1):
        for name, fit in FITS.items():
            answers = _queries(data, rows, method, BetaLikeness(beta), False, None, seed, fit)
            error = query_error(_truth(data, rows), answers, wheres)
            found[name].append(error.median)
            dropped = error.dropped
    return {name: float(np.mean(errors)) for name, errors in found.items()} | {
        "queries": float(len(wheres) - dropped)
    }


def cube(
    data: str,
    rows: int,
    method: str,
    l: int,  # noqa: E741 - the papers' name
    level: int,
    *,
    columns: int | None = None,
    taxonomies: bool = True,
    fitted: bool = False,
) -> Numbers:
    """KL divergence of one level of the OLAP cube (FAST07 §6.3); ``fitted``: by our default too."""
    source = load(data, rows, columns=columns, taxonomies=taxonomies)
    assert source.sensitive is not None
    return {
        name: cube_divergence(
            source.table,
            _queries(data, rows, method, LDiversity(l), taxonomies, columns, 1, fit),
            source.columns,
            source.sensitive,
            level,
        )
        for name, fit in FITS.items()
        if fitted or fit == "uniform"
    }


def bayes(
    data: str,
    rows: int,
    method: str,
    beta: float,
    *,
    alpha: float,
    delta: float = 0.0,
    seeds: int = 1,
) -> Numbers:
    """Accuracy of the naïve Bayes attack (HET §6), and of always guessing the commonest value."""
    source = load(data, rows)
    assert source.sensitive is not None
    accuracies = [
        naive_bayes_accuracy(
            source.table,
            _published(data, rows, method, BetaLikeness(beta), False, None, seed),
            source.columns,
            source.sensitive,
            alpha=alpha,
            delta=delta,
        )
        for seed in range(1, seeds + 1)
    ]
    values = source.table.column(source.sensitive).to_numpy(zero_copy_only=False)
    commonest = float(np.unique(values, return_counts=True)[1].max() / len(values))
    return {"accuracy": float(np.mean(accuracies)), "commonest value": commonest}


# -------------------------------------------------------------------------------- sets of items


@dataclass
class _Stages:
    """Processor seconds of the stages of a run, which reports where each begins."""

    seconds: dict[str, float] = field(default_factory=dict)
    _at: str = ""
    _began: float = 0.0

    def begin(self, progress: Progress) -> None:
        now = time.process_time()
        self.seconds[self._at] = self.seconds.get(self._at, 0.0) + now - self._began
        self._at, self._began = progress.stage, now


def sets(
    data: str,
    records: int,
    method: str,
    *,
    k: int | None = None,
    l: int | None = None,  # noqa: E741 - the papers' name
    times: int = 1,
    queries: int = 500,
    seeds: int = 1,
) -> Numbers:
    """Error rate and query errors of a method for sets, and its seconds."""
    if method not in set_methods.registered():
        raise NotAvailableError(f"method not available: {method}")
    source = item_sets(data, records, times=times, labelled=l is not None)
    present, absent = QUERY_SIZES[data]
    runs = []
    for seed in range(1, seeds + 1):
        stages = _Stages()
        release = anonymize_sets(
            source,
            guarantee_of(k, l, None),
            method=method,
            seed=seed,
            effort=0,
            unsafe_paper_randomization=set_methods.registered()[method].unsafe,
            progress=stages.begin,
        )
        found = compare_sets(source, release, present=present, absent=absent, queries=queries)
        runs.append(
            {
                "error rate": float(release.error_rate),
                "query error, present": found.query_error_present,
                "query error, absent": found.query_error_absent,
                "seconds": stages.seconds["arrange"] + stages.seconds["assign"],
            }
        )
    return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}


def walk(data: str, records: int, walk: str, k: int, *, times: int = 1, seeds: int = 5) -> Numbers:
    """Processor seconds and steps of one walk on one ring over the Gray order.

    "closed" and "backtracking" are mottle's own, up to the assignment that was drawn;
    "closed-printed" is SET12's Algorithm 1, "backtracking-printed" NH10's Figure 7, both as
    printed, for all k assignments. Steps are known of the printed ones.
    """
    graph = ring(gray_order(item_sets(data, records, times=times).sets()), k)
    run = _walk_of(walk)
    taken, steps = [], []
    for seed in range(seeds):
        secret = Secret.draw(seed=seed)
        began = time.thread_time()
        steps.append(run(graph, secret, k))
        taken.append(time.thread_time() - began)
    found = {"seconds": float(np.mean(taken))}
    if steps[0] is not None:
        found["steps"] = float(np.mean([each for each in steps if each is not None]))
    return found


def _walk_of(name: str) -> Callable[[Graph, Secret, int], int | None]:
    if name == "backtracking-printed":
        return lambda graph, secret, k: int(printed_walk(graph, secret.words, k))
    if name == "closed-printed":
        try:
            from mottle.assignment.printed_closed_walk import extract_as_printed
        except ImportError:
            raise NotAvailableError("method not available: walk closed-printed") from None

        def closed(graph: Graph, secret: Secret, k: int) -> int:
            stream = np.empty(STREAM_WORDS, np.uint32)
            open_stream(stream, secret.words, int(Purpose.WALK), 0)
            holder_of = np.empty(graph.records, np.int32)
            return int(extract_as_printed(graph, 0, k, stream, holder_of))

        return closed
    if name not in assignment.WALKS:
        raise NotAvailableError(f"method not available: walk {name}")

    def own(graph: Graph, secret: Secret, k: int) -> None:
        assign(graph, secret, name)

    return own


Work = Callable[..., Numbers]
WORK: dict[str, Work] = {
    each.__name__: each
    for each in (
        generalize,
        node_mondrian,
        random_parts,
        curve,
        largest_buckets,
        fullest_bucket,
        counts,
        cube,
        bayes,
        sets,
        walk,
    )
}


def check_jobs(jobs: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Check that every job names a function and arguments that it has."""
    for name, settings in jobs:
        signature(WORK[name]).bind(**settings)
