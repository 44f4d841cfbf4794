"""Repeats a method's decisions on other worlds, for the audit's adversary `decision`.

The decisions of a run follow from the quasi-identifiers, the sensitive values, the seed for choices
that do not matter to privacy, and a secret random order. The adversary knows all but the last. So
the secret order is replaced by others, and only what is the same for all of them counts as decided.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mottle import methods
from mottle.audit.decisions import Decision, Replay, signature_of_groups
from mottle.audit.report import AuditReport
from mottle.audit.run import audit_release
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.encoding.sensitive import SensitiveValues, encode_sensitive
from mottle.errors import MottleError
from mottle.graph.model import Graph
from mottle.guarantees.base import Guarantee
from mottle.guarantees.demand import Demand
from mottle.guarantees.from_certificate import guarantee_on
from mottle.io.external.read import is_external
from mottle.io.original import check_original, remembered_reading
from mottle.io.read_set_release import holds_sets, load_any_release
from mottle.io.read_sets import as_sets
from mottle.io.read_table import as_table
from mottle.itemsets.data import ItemSets
from mottle.methods.base import Arrangement, Draw, MethodContext
from mottle.methods.buckets.buckets import known_from_wave, tiers_for
from mottle.methods.buckets.records import BucketRecords, TableRecords
from mottle.methods.buckets.tree import CutError, Node, grow
from mottle.methods.buckets.waves import published_tables
from mottle.methods.sets import method_for
from mottle.methods.sets.buckets import SetRecords
from mottle.release.certificate import Certificate, ColumnFacts
from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData
from mottle.release.links import Links
from mottle.release.named_nodes import codes_as_published, sets_as_published
from mottle.release.per_person import original_of
from mottle.release.set_release import SetReleaseData
from mottle.schema.model import Column, Representation, Role, Schema
from mottle.typing import Int32Array, Int64Array
from mottle.utils.csprng import Secret

__all__ = ["audit_and_replay", "replay_of"]

_ORDERS = 3  # secret orders that are tried to see what does not depend on them

_Arrange = Callable[[Demand, MethodContext], Arrangement]


def audit_and_replay(
    original: object,
    release: object,
    *,
    schema: Schema | str | Path | None = None,
    private: Links | str | Path | None = None,
    guarantee: Guarantee | None = None,
    adversaries: Sequence[str] | None = None,
    **options: Any,
) -> AuditReport:
    """Audit a release, repeating its method where that can tell something.

    Parameters
    ----------
    original, release : object
        As for `mottle.audit_release`, and so are ``schema``, ``private``, ``guarantee`` and
        ``adversaries``.
    **options : object
        The other arguments of `mottle.audit_release`.

    Returns
    -------
    AuditReport
        What each adversary achieved.
    """
    if isinstance(schema, str | os.PathLike):
        schema = Schema.read(schema)
    from_files = isinstance(release, str | os.PathLike)
    if isinstance(release, str | os.PathLike):
        path = Path(release)
        if holds_sets(path) or not is_external(path, schema):
            release = load_any_release(path)
    if isinstance(release, SetReleaseData):
        original = as_sets(original)
    elif isinstance(release, ReleaseData):
        table = as_table(original, remembered_reading(schema, private) or release.reading)
        original, schema = original_of(table, release.certified, schema)
        if from_files and private is None and release.certified is not None:
            check_original(original, release)
    if isinstance(release, ReleaseData):
        linked = private is not None or release.links is not None
        if linked and (adversaries is None or "decision" in adversaries):
            links = private if isinstance(private, Links) else release.links
            replay = replay_of(original, release, schema=schema, links=links)
            options.setdefault("replay", replay)
    return audit_release(
        original,
        release,
        schema=schema,
        private=private,
        guarantee=guarantee,
        adversaries=adversaries,
        **options,
    )


def replay_of(
    original: pa.Table | ItemSets,
    release: ReleaseData,
    *,
    schema: Schema | None = None,
    guarantee: Guarantee | None = None,
    secret: Secret | None = None,
    links: Links | None = None,
) -> Replay | str:
    """Prepare a release's method to be repeated with other sensitive values.

    Parameters
    ----------
    original : pyarrow.Table or ItemSets
        What the release was made from.
    release : ReleaseData
        The release, with its certificate.
    schema : Schema, optional
        The schema of the run. Without it, the columns are as the release describes them.
    guarantee : Guarantee, optional
        The guarantee of the run. Without it, that of the certificate.
    secret : Secret, optional
        The key of the run, if it is still known; its secret orders are not used. Without it, the
        one of the certificate's seed.
    links : Links, optional
        The owner's links. With them the cuts of `buckets` are repeated exactly.

    Returns
    -------
    Replay or str
        The function for `mottle.audit_release`, or why the method cannot be repeated.
    """
    certificate = release.certified
    if certificate is None:
        return "the release has no certificate"
    if guarantee is None:
        guarantee, _ = guarantee_on({"guarantee": certificate.guarantee.to_dict()})
    if guarantee is None or not guarantee.about_values:
        return "no decision looked at sensitive values"
    if certificate.engine is not None:
        return "the release was made in chunks"
    if certificate.history is not None and certificate.history.release > 1:
        return "the release continues earlier ones, whose records were arranged at other times"
    if any(values.binned for values in certificate.sensitive) and schema is None:
        return "the guarantee is about bins of numbers, which only the schema defines"
    seed = certificate.seed if secret is None else None
    if secret is None and seed is not None:
        secret = Secret.draw(seed)
    try:
        described = schema or _schema_of(certificate, release)
        if isinstance(original, ItemSets):
            original = sets_as_published(original, release)
            arrange, sensitive = _of_sets(original, certificate, guarantee)
        else:
            arrange, sensitive = _of_table(original, release, described, guarantee)
        cuts = certificate.method.used == "buckets" and certificate.method.facts.get("wave")
        if cuts:
            return _replay_of_cuts(original, release, described, guarantee, sensitive, links)
        public_seed = 0 if secret is None else secret.public_seed
        options = certificate.parameters.options
        return _Repeated.prepare(arrange, guarantee, sensitive, public_seed, options)
    except (MottleError, ValueError):
        return "the method cannot be repeated with this table; give the schema it was made with"


def _replay_of_cuts(
    original: pa.Table | ItemSets,
    release: ReleaseData,
    schema: Schema,
    guarantee: Guarantee,
    sensitive: tuple[SensitiveValues, ...],
    links: Links | None,
) -> Replay | str:
    """The tree of cuts of `buckets`, from its first wave as released."""
    certificate = release.certificate
    if links is None:
        return "the cuts follow from a first wave, which only the links tell apart"
    if len(certificate.method.facts["tiers"]) > 1:
        return "the links do not tell which records belong to which tier"
    records: BucketRecords
    if isinstance(original, ItemSets):
        records = SetRecords.of(original.sets())
    else:
        records = TableRecords(_codes(original, release, schema))
    demand = guarantee.demand(len(records.matrix), sensitive)
    return _RepeatedCuts(records, demand, links, int(certificate.method.facts["wave"]))


class _RepeatedCuts:
    """The cuts of `buckets`, which can be repeated; a `Replay`.

    The worlds of its proof do not change what the first wave's release shows. Cuts follow from the
    counts of nodes, and these from the counts of blocks: where all blocks have the same counts as
    in the true world, the same cuts are made, and need not be repeated.
    """

    def __init__(self, records: BucketRecords, demand: Demand, links: Links, wave: int) -> None:
        """``wave``: number of records of the first wave, which come first in the links."""
        graph, self._values = links.graph, demand.values
        first = graph.members[:wave]
        tables = islice(
            published_tables(graph, links.truth, self._values),
            int(np.searchsorted(graph.starts, wave)),
        )
        (tier,) = tiers_for(demand)
        self._known, self._codes = known_from_wave(records, demand, tier, first, list(tables))
        inside = np.ones(len(self._values), np.bool_)
        inside[first] = False
        # In the order of the run, but for records with equal quasi-identifiers.
        order = records.order(np.arange(len(self._values)))
        self._root = Node(order[inside[order]], np.arange(wave))
        self._block = np.full(len(self._values), -1, np.int64)
        self._truth: tuple[Decision, Int64Array] | None = None

    def __call__(self, source: Int64Array) -> Decision | None:
        """Return the cuts in a world; None if one of them fails."""
        world = self._values[source]
        if self._truth is not None and np.array_equal(self._counts(world), self._truth[1]):
            return self._truth[0]
        known = deepcopy(self._known)
        try:
            blocks = grow(known, self._codes, world, [self._root])
        except CutError:
            return None
        made = Decision(b"", hashlib.sha256(repr(known.cuts).encode()).digest())
        if self._truth is None:  # the first world that is asked for is the true one
            for number, rows in enumerate(blocks):
                self._block[rows] = number
            self._truth = made, self._counts(world)
        return made

    def _counts(self, world: Int32Array) -> Int64Array:
        """How often each value occurs in each block."""
        cut = self._root.rows
        size = len(self._known.seen)
        return np.bincount(self._block[cut] * size + world[cut], minlength=size)


def _of_table(
    table: pa.Table, release: ReleaseData, schema: Schema, guarantee: Guarantee
) -> tuple[_Arrange, tuple[SensitiveValues, ...]]:
    """The method on the codes of a table."""
    chosen = methods.get(release.certificate.method.used)
    codes = chosen.codes_to_arrange(_codes(table, release, schema), guarantee)
    sensitive = encode_sensitive(table, schema.covering(table.column_names))
    return partial(chosen.arrange, codes), sensitive


def _codes(table: pa.Table, release: ReleaseData, schema: Schema) -> Codes:
    """The codes of the run, with the nodes that the release shows in place of items."""
    stated = release.certificate.parameters.representation
    covering = schema.covering(table.column_names)
    codes = encode(table, covering, Representation(stated or Representation.RANGE))
    return codes_as_published(codes, release)


def _of_sets(
    data: ItemSets, certificate: Certificate, guarantee: Guarantee
) -> tuple[_Arrange, tuple[SensitiveValues, ...]]:
    """The method on sets of items."""
    chosen = method_for(certificate.method.used, guarantee)
    schema = Schema.of(quasi_identifying=[], sensitive=[data.label_name])
    labels = pa.table({data.label_name: data.labels})
    return partial(chosen.arrange, data.sets()), encode_sensitive(labels, schema)


def _schema_of(certificate: Certificate, release: ReleaseData) -> Schema:
    """The columns as the release describes them."""
    published = {column.name: column for column in release.columns}
    return Schema(
        columns=tuple(_column_of(facts, published.get(facts.name)) for facts in certificate.columns)
    )


def _column_of(facts: ColumnFacts, published: PublishedColumn | None) -> Column:
    if published is None or published.kind is None:
        return Column(name=facts.name, role=facts.role)
    options: dict[str, Any] = {
        name: getattr(published, name)
        for name in ("order", "hierarchy", "separator")
        if name in published.kind.options
    }
    if published.coarsening is not None:
        rule = published.coarsening
        options |= {name: getattr(rule, name) for name in rule.facts}
    return Column(
        name=facts.name,
        role=Role.QUASI_IDENTIFYING,
        kind=published.kind,
        importance=1.0 if facts.importance is None else facts.importance,
        **options,
    )


@dataclass(frozen=True)
class _Repeated:
    """A method that can be repeated; a `Replay`."""

    arrange: _Arrange
    guarantee: Guarantee
    sensitive: tuple[SensitiveValues, ...]
    seed: int  # for choices that do not matter to privacy
    options: Mapping[str, int | float | str]  # of the method
    by_groups: bool = True  # whether groups do not depend on the secret order
    facts: frozenset[str] = frozenset()  # facts that do not depend on it

    @classmethod
    def prepare(
        cls,
        arrange: _Arrange,
        guarantee: Guarantee,
        sensitive: tuple[SensitiveValues, ...],
        seed: int,
        options: Mapping[str, int | float | str],
    ) -> _Repeated:
        """Find out what does not depend on the secret order."""
        once = cls(arrange, guarantee, sensitive, seed, options)
        everybody = np.arange(len(sensitive[0].codes))
        runs = [once.run(everybody, order) for order in range(_ORDERS)]
        described = [_facts(run, once.values(everybody)) for run in runs]
        same = frozenset(
            name
            for name, text in described[0].items()
            if all(other.get(name) == text for other in described)
        )
        groups = {_groups(run.graph) for run in runs}
        return replace(once, by_groups=len(groups) == 1, facts=same)

    def values(self, source: Int64Array) -> Int32Array:
        """Everybody's sensitive value in a world; of several columns, the joint one."""
        return self.sensitive[0].codes[source]

    def run(self, source: Int64Array, order: int) -> Arrangement:
        """Run the method on a world, with a random order of its own."""
        world = tuple(replace(values, codes=values.codes[source]) for values in self.sensitive)
        context = MethodContext(
            seconds=0,
            seed=self.seed,
            tiebreak=lambda records: np.random.default_rng(order).permutation(records),
            options=self.options,
        )
        return self.arrange(self.guarantee.demand(len(source), world), context)

    def __call__(self, source: Int64Array) -> Decision | None:
        """Return what the method decides in a world; None if it refuses it."""
        try:
            run = self.run(source, 0)
        except MottleError:
            return None
        described = _facts(run, self.values(source))
        facts = sorted((name, described.get(name)) for name in self.facts)
        return Decision(_groups(run.graph) if self.by_groups else b"", repr(facts).encode())


def _facts(arrangement: Arrangement, values: Int32Array) -> dict[str, str]:
    """What becomes public about a method's work, as text."""
    graph = arrangement.graph
    degrees, counts = np.unique(np.repeat(graph.degrees, graph.sizes), return_counts=True)
    public: Mapping[str, Any] = {
        **arrangement.facts,
        "number of blocks": len(graph.sizes),
        "records by degree": [degrees.tolist(), counts.tolist()],
    }
    if arrangement.draw is Draw.BUCKETS:
        public = {**public, "values by bucket": _contents(graph, values)}
    return {name: json.dumps(value, sort_keys=True, default=str) for name, value in public.items()}


def _contents(graph: Graph, values: Int32Array) -> list[list[list[int]]]:
    """For each block: the values of each bucket, in an order that is the same for all draws."""
    own = values[graph.members]
    blocks = zip(graph.starts[:-1], graph.starts[1:], graph.degrees, strict=True)
    return sorted(
        sorted(np.sort(bucket).tolist() for bucket in own[start:end].reshape(degree, -1))
        for start, end, degree in blocks
    )


def _groups(graph: Graph) -> bytes:
    """The signature of a graph's groups."""
    block = np.empty(graph.records, np.int64)
    block[graph.members] = np.repeat(np.arange(len(graph.sizes)), graph.sizes)
    return signature_of_groups(block, graph.degrees[block].astype(np.int64))
