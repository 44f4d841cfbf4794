"""The tree of cuts (step 1): where a table is cut into blocks, decided from public things.

A node may be cut by any quasi-identifier. Whether and where depends on quasi-identifiers, on how
often values occur in the node *itself* and in the other nodes that exist so far, and on how the
halves are predicted to differ (`mottle.methods.buckets.association`). What it does not depend on is
which records of the node have which values: the halves are counted only after the cut has been
decided. Every node is a union of blocks, and the worlds of the proof move values inside blocks
only, so all of this is the same in all of them (docs/guarantees.md).

If a half then breaks a cap, the table cannot be published: `CutError`. Trying another cut instead
would be a decision that looks at both. `mottle.methods.buckets.margins` keeps this unlikely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mottle.errors import GuaranteeError
from mottle.guarantees.demand import allowed
from mottle.methods.buckets.association import Association, WaveEvidence
from mottle.methods.buckets.bucketization import expected_loss
from mottle.methods.buckets.candidates import (
    EVERYBODY,
    Histograms,
    Places,
    Scope,
    Size,
    cuts_of,
)
from mottle.methods.buckets.cut_columns import CutColumn
from mottle.methods.buckets.margins import Local, Margins, chance_of_excess, depth_of, inside
from mottle.methods.buckets.plan import SensitiveValues, counts_by_code, largest_bucket
from mottle.orderings import lexicographic
from mottle.typing import BoolArray, Float32Array, Float64Array, Int32Array, Int64Array
from mottle.utils.compiled import kernel

RISK = 0.01  # chance that any cut of a table fails, as far as margins are right
_SPENDING = 0.25  # part of the risk left to a node's records that one cut may take
_SMALLEST_BUCKET = 30  # records: fewest of a block, per bucket
_SMALLEST_BOUND = 10  # the same if blocks become tables of fewer records anyway
_SCOPES = 8  # groups of records that may be cut by themselves
_DENSITY = 3.0  # what records that differ lose, over `expected_loss`
_GROUP_LOSS = 2.0  # what records without a place in buckets lose, over that of two at random
_RISKIEST = 3  # codes by whose predicted shares unordered values are sorted
_AT_ONCE = 24  # candidates whose chances are computed first
_LEAST_INFORMATION = 1e-3
_INFORMATION = 0.8  # of a record of the first wave, whose value is known only by a model
_FIT_ROWS = 10_000  # records to which effects are fitted
_PSEUDO_WEIGHT = 0.4  # of what the first wave says about spreads; its cuts overlap
_FEWEST_PSEUDO = 30  # records of the first wave on either side of a cut that teaches spreads


class CutError(GuaranteeError):
    """A cut that had been decided breaks a cap: nothing may be published."""

    def __init__(self) -> None:
        """State what happened and what to do."""
        super().__init__(
            "A block of the table holds a sensitive value more often than its cap allows. Cuts are"
            " decided before their blocks are counted, so that they reveal nothing; this one"
            " failed, which happens in about one table out of a hundred. Nothing was published.",
            "Try a lower --l, a higher --beta or fewer quasi-identifiers. Running the same command"
            " again until it succeeds would weaken the guarantee.",
        )


class Cut(NamedTuple):
    """A cut of a node into two halves."""

    column: int
    left: BoolArray  # by code of the column: whether it lies in the left half
    scope: Scope = EVERYBODY  # records outside it lie in the right half

    def sides(self, codes: Int32Array) -> BoolArray:
        """Whether each record of the node, given by its codes [columns, n], lies left."""
        return np.asarray(self.left[codes[self.column]] & self.scope.holds(codes))


class Kinds(NamedTuple):
    """Records with equal codes are of one kind: they are predicted alike and never part."""

    codes: Int32Array  # [columns, kinds]
    of_row: Int64Array  # [n]: the kind of every record

    @classmethod
    def of(cls, codes: Int32Array) -> Kinds:
        """The kinds of records with codes [columns, n]."""
        sizes = codes.max(axis=1, initial=0).astype(np.int64) + 1
        order = lexicographic(codes.T, sizes, np.arange(len(sizes)))
        in_order = codes[:, order]
        first = np.any(in_order[:, 1:] != in_order[:, :-1], axis=0)
        first = np.append(np.ones(min(len(order), 1), np.bool_), first)
        of_row = np.empty(len(order), np.int64)
        of_row[order] = np.cumsum(first) - 1
        return cls(np.ascontiguousarray(in_order[:, first]), of_row)

    @property
    def times(self) -> Int64Array:
        """[kinds]: how many records are of each."""
        return np.bincount(self.of_row, minlength=self.codes.shape[1])


class Summary(NamedTuple):
    """What decides about a node; summaries of parts of a node may be added up."""

    size: int
    counts: Int64Array  # [values]: records of each value
    expected: Float64Array  # [classes]: predicted records of each class
    seen: Float64Array  # [classes]: records of each class in the first wave, as released
    scopes: tuple[Histograms, ...]  # those of `Knowledge.scopes`

    @classmethod
    def counted(cls, known: Knowledge, values: Int32Array) -> Summary:
        """The counts of records with these values, and nothing else."""
        counts = np.bincount(values, minlength=len(known.seen)).astype(np.int64)
        return cls(len(values), counts, np.zeros(0), np.zeros(0), ())


@dataclass
class Knowledge:
    """What is public so far about a tier, and grows with every cut."""

    columns: Sequence[CutColumn]
    values: SensitiveValues
    buckets: int
    records: int  # of the whole tier, over which the risk is spread
    association: Association
    wave: WaveEvidence
    seen: Int64Array  # [values]: records of the first wave
    known_records: int  # how many others one known record may give away

    def __post_init__(self) -> None:
        codes = len(self.values.caps)
        self.margins = Margins(len(self.columns), codes)
        self.information = np.zeros((len(self.columns), codes))  # from cuts made so far
        self.told = _INFORMATION * self.wave.certainty**2
        self.in_wave = self.told * counts_by_code(self.seen, self.values)
        self.places = Places.of(self.columns)
        # Larger blocks are matched better, unless a bound on known records divides them anyway;
        # most blocks are smaller than twice the least.
        self.largest_bucket = largest_bucket(self.buckets, 1, self.known_records)
        least = min(_SMALLEST_BUCKET, max(self.largest_bucket // 2, _SMALLEST_BOUND))
        self.least = least * max(self.buckets, 2)
        self.cuts: list[tuple[Scope, int, list[int]]] = []  # that were made
        self.scopes = (EVERYBODY, *self._separate_groups())
        self._learn_spreads()

    def _separate_groups(self) -> list[Scope]:
        """A few large groups of records that lose most when they are mixed with others."""
        found: list[tuple[float, int, int]] = []
        for number, column in enumerate(self.columns):
            if column.positions is None:
                share = np.bincount(self.wave.codes[number]) / len(self.wave.held)
                found += [
                    (column.step * share[code] * (1 - share[code]), number, code)
                    for code in np.argsort(-share, kind="stable")[:2].tolist()
                ]
        found.sort(key=lambda each: -each[0])
        return [Scope(number, code) for gain, number, code in found[:_SCOPES] if gain > 0]

    def _learn_spreads(self) -> None:
        """Cut halves of the first wave in halves and see how far predictions are off."""
        wave = self.wave
        shares = self.association.predicted(wave.indices)
        everybody = np.arange(len(wave.held))
        alone = np.bincount(self.association.class_of)[self.association.class_of] == 1
        classes = self.association.class_of[alone]
        codes = self.values.sensitive_codes[alone, 0].astype(np.int64)
        nothing = np.zeros(len(codes))
        for first, column in enumerate(wave.codes):
            inside = _half(column)
            for node in (everybody[inside], everybody[~inside]):
                for second, other in enumerate(wave.codes):
                    left = _half(other[node])
                    if second == first or min(left.sum(), (~left).sum()) < _FEWEST_PSEUDO:
                        continue
                    counts = wave.held[node].sum(axis=0)[classes]
                    expected = np.maximum(shares[node].sum(axis=0), 1e-9)
                    share = (shares[node[left]].sum(axis=0) / expected)[classes]
                    found = wave.held[node[left]].sum(axis=0)[classes]
                    self.margins.learn(
                        second,
                        codes,
                        counts,
                        share,
                        found,
                        nothing,
                        depth_of(len(node), len(everybody)),
                        _PSEUDO_WEIGHT,
                    )

    def doubt(self, column: Int64Array | int, share: Float64Array) -> Float64Array:
        """Variance of the log-odds of predicted shares, from what has been seen."""
        known = inside(share) * (1 - inside(share)) * self.in_wave + self.information[column]
        return np.asarray(1 / (known + _LEAST_INFORMATION))

    def learn(self, cuts: Sequence[tuple[Summary, Candidate, Summary]]) -> None:
        """Learn from cuts of nodes, each given with its left half."""
        information = np.zeros_like(self.information)
        for node, made, left in cuts:
            column = made.cut.column
            counts = counts_by_code(node.counts, self.values).astype(np.float64)
            found = counts_by_code(left.counts, self.values).astype(np.float64)
            share = self._shares(node, made.predicted[None])[0]
            doubt = self.doubt(column, share)
            depth = depth_of(node.size, self.records)
            self.margins.learn(column, np.arange(len(counts)), counts, share, found, doubt, depth)
            information[column] += counts * inside(share) * (1 - inside(share))
            self.cuts.append((made.cut.scope, column, np.flatnonzero(made.cut.left).tolist()))
        self.information += information

    def _shares(self, node: Summary, predicted: Float64Array) -> Float64Array:
        """Predicted shares of codes [cuts, codes] from predicted records [cuts, classes]."""
        by_class = predicted / np.maximum(node.expected, 1e-9)
        values = by_class[:, self.association.class_of] * node.counts
        totals = np.maximum(counts_by_code(node.counts, self.values), 1)
        found = np.zeros((len(predicted), len(totals)))
        for attribute in range(self.values.sensitive_codes.shape[1]):
            np.add.at(found.T, self.values.sensitive_codes[:, attribute], values.T)
        return found / totals

    def _by_code(self, classes: Float64Array) -> Float64Array:
        """Sums over the classes of each code, [cuts, codes]; pooled values are left out."""
        class_of = self.association.class_of
        alone = np.bincount(class_of)[class_of] == 1
        values = np.where(alone, classes[:, class_of], 0.0)
        found = np.zeros((len(classes), len(self.values.caps)))
        for attribute in range(self.values.sensitive_codes.shape[1]):
            np.add.at(found.T, self.values.sensitive_codes[:, attribute], values.T)
        return found

    def _local(self, share: Float64Array, left: Float64Array, whole: Float64Array) -> Local:
        """What the wave says about a node: ``left`` [cuts, classes] of ``whole`` [classes]."""
        share = inside(share)
        seen = self._by_code(whole[None])
        found = self._by_code(left)
        return Local(self.told * seen * share * (1 - share), self.told * (found - seen * share))

    def best_cut(self, node: Summary, spent: float = 0.0) -> Candidate | None:
        """The cut with the highest gain whose chance of failure is within the budget.

        ``spent``: chance of failure per record that the cuts above have taken. A cut may take a
        part of what is left to its records, so that all cuts together stay within `RISK`.
        """
        if node.size < 2 * self.least:
            return None
        budget = _SPENDING * (RISK / self.records - spent) * node.size
        counts = counts_by_code(node.counts, self.values)
        riskiest = np.argsort(-counts / np.maximum(allowed(self.values.caps, node.size), 1))
        chosen = [
            number
            for number, found in enumerate(node.scopes)
            if number == 0 or self._in_scope(number, found) >= self.least
        ]
        together = min(node.size, self.buckets * self.largest_bucket)
        cuts = cuts_of(
            self.places,
            [self.scopes[number] for number in chosen],
            [node.scopes[number] for number in chosen],
            [
                self._risks(node, node.scopes[number], counts, riskiest[:_RISKIEST])
                for number in chosen
            ],
            Size(node.size, self.least),
            _DENSITY * expected_loss(self.buckets, together),
        )
        if cuts is None:
            return None
        left_over = self._left_over(cuts.sizes) + self._left_over(node.size - cuts.sizes)
        gains = cuts.gains - _GROUP_LOSS * self._distance(node) * left_over
        order = np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > 0)]
        chances = self.margins.chances()
        begin, end = 0, _AT_ONCE
        while begin < len(order):
            tried = order[begin:end]
            column, sizes = cuts.column[tried], cuts.sizes[tried, None]
            share = self._shares(node, cuts.predicted[tried])
            in_wave = np.stack(
                [
                    node.scopes[chosen[cuts.scope[cut]]].in_wave[cuts.taken(cut)].sum(axis=0)
                    for cut in tried
                ]
            )
            most_left = allowed(self.values.caps, sizes)
            most_right = allowed(self.values.caps, node.size - sizes)
            local = self._local(share, in_wave, node.seen)
            # Codes that no half can have too often need not be looked at.
            at_risk = np.flatnonzero(np.any(counts > np.minimum(most_left, most_right), axis=0))
            failing = chance_of_excess(
                counts[at_risk],
                share[:, at_risk],
                most_left[:, at_risk],
                most_right[:, at_risk],
                self.doubt(column, share)[:, at_risk],
                chances[column[:, None], at_risk],
                depth_of(node.size, self.records),
                Local(local.information[:, at_risk], local.residual[:, at_risk]),
            )
            safe = np.flatnonzero(failing <= budget)
            if len(safe):
                best = int(tried[safe[0]])
                number = int(cuts.column[best])
                left = np.zeros(self.columns[number].size, np.bool_)
                left[cuts.taken(best) - self.places.starts[number]] = True
                cut = Cut(number, left, self.scopes[chosen[cuts.scope[best]]])
                return Candidate(
                    cut, int(cuts.sizes[best]), cuts.predicted[best], float(failing[safe[0]])
                )
            begin, end = end, 3 * end
        return None

    def _in_scope(self, number: int, found: Histograms) -> int:
        """How many records of a node belong to a scope."""
        scope = self.scopes[number]
        return int(found.records[self.places.starts[scope.column] + scope.code])

    def _risks(
        self, node: Summary, found: Histograms, counts: Int64Array, riskiest: Int64Array
    ) -> Float64Array:
        """[places, riskiest]: the predicted share of the riskiest sensitive codes."""
        at = np.flatnonzero((found.records > 0) & ~self.places.ordered)
        risks = np.zeros((len(found.records), len(riskiest)))
        expected = self._shares(node, found.predicted[at])[:, riskiest] * counts[riskiest]
        risks[at] = expected / found.records[at, None]
        return risks

    def _left_over(self, sizes: Int64Array) -> Float64Array:
        """How many records of halves of these sizes will find no room in buckets of equal size.

        Of large halves fewer are expected: further cuts may leave nothing over.
        """
        rest = sizes % self.buckets
        final = np.minimum(2 * self.least / sizes, 1.0)
        return np.asarray(np.where(rest > 0, self.buckets + rest, 0) * final)

    def _distance(self, node: Summary) -> float:
        """The expected loss of two records of the node, over all columns."""
        found = 0.0
        starts = self.places.starts
        for column, first, last in zip(self.columns, starts, starts[1:], strict=False):
            share = node.scopes[0].records[first:last] / node.size
            if column.positions is None:
                found += column.step * (1 - float(share @ share))
            else:
                below = np.cumsum(share)[:-1]
                found += 2 * float(below * (1 - below) @ np.diff(column.positions))
        return found

    def check(self, node: Summary) -> None:
        """Raise `CutError` if a node breaks a cap."""
        if np.any(counts_by_code(node.counts, self.values) > allowed(self.values.caps, node.size)):
            raise CutError


class Candidate(NamedTuple):
    """A cut that may be made."""

    cut: Cut
    size: int  # records in the left half
    predicted: Float64Array  # [classes]: predicted for the left half
    chance: float  # that a half breaks a cap

    def spent(self, before: float, size: int) -> float:
        """Chance of failure per record after the cut of a node with ``size`` records."""
        return before + self.chance / size


def _half(codes: Int32Array) -> BoolArray:
    """About half of the records, by their codes."""
    counts = np.bincount(codes)
    return np.asarray(codes <= np.searchsorted(np.cumsum(counts), len(codes) / 2))


class Node(NamedTuple):
    """A part of the table that may be cut further."""

    rows: Int64Array
    wave: Int64Array  # records of the first wave in the same part
    spent: float = 0.0  # chance of failure per record that the cuts above have taken

    def halves(self, codes: Int32Array, wave: WaveEvidence, made: Candidate) -> tuple[Node, Node]:
        """Cut the node; ``codes`` [columns, n]."""
        left = made.cut.sides(codes[:, self.rows])
        first = made.cut.sides(wave.codes[:, self.wave])
        spent = made.spent(self.spent, len(self.rows))
        return (
            Node(self.rows[left], self.wave[first], spent),
            Node(self.rows[~left], self.wave[~first], spent),
        )


def grow(
    known: Knowledge,
    codes: Int32Array,
    values: Int32Array,
    nodes: Sequence[Node],
) -> list[Int64Array]:
    """Cut nodes into blocks, until no cut is worth it or safe enough; return the rows of blocks.

    Parameters
    ----------
    known : Knowledge
        What is public; it grows with every cut.
    codes : Int32Array
        [columns, n]: the records, as the tree sees them.
    values : Int32Array
        [n]: their sensitive values.
    nodes : sequence of Node
        Where to begin.

    Returns
    -------
    list of Int64Array
        The rows of every block.

    Raises
    ------
    CutError
        A block breaks a cap.
    """
    kinds = Kinds.of(codes)
    indices = known.association.indices(kinds.codes)
    sample, times = _sample(kinds, nodes)
    node_of = np.zeros(len(values), np.int32)
    blocks: list[Int64Array] = []
    nodes = list(nodes)
    refused: list[Node] = []  # no cut was safe; tried again when more is known
    learned = False  # since the first of them was refused
    while True:
        shares = known.association.predicted(indices)[kinds.of_row]
        made: list[tuple[Summary, Candidate, Summary]] = []
        following: list[Node] = []
        for node in nodes:
            if len(node.rows) < 2 * known.least:
                blocks.append(node.rows)
                continue
            found = summary(known, codes, values, shares, node)
            best = known.best_cut(found, node.spent)
            if best is None:
                refused.append(node)
                continue
            halves = node.halves(codes, known.wave, best)
            counted = [Summary.counted(known, values[half.rows]) for half in halves]
            for half in counted:
                known.check(half)
            made.append((found, best, counted[0]))
            following += halves
        leaves = [*blocks, *[node.rows for node in (*refused, *following)]]
        nodes = following
        if not made:
            if not learned:
                return leaves
            nodes, refused, learned = refused, [], False
            continue
        known.learn(made)
        learned = learned or bool(refused)
        for number, rows in enumerate(leaves):
            node_of[rows] = number
        counts = [np.bincount(values[rows], minlength=len(known.seen)) for rows in leaves]
        known.association = known.association.fitted_to_nodes(
            known.wave, indices[kinds.of_row[sample]], node_of[sample], times, np.stack(counts)
        )


def _sample(kinds: Kinds, nodes: Sequence[Node]) -> tuple[Int64Array, Float64Array]:
    """Some of the rows, evenly spread over their kinds: one of each, and how many it stands for.

    The kinds of the sample do not depend on the order of rows of one kind.
    """
    node = np.repeat(np.arange(len(nodes)), [len(each.rows) for each in nodes])
    rows = np.concatenate([each.rows for each in nodes])
    of_row = kinds.of_row[rows]
    chosen = np.argsort(of_row, kind="stable")[:: -(-len(rows) // _FIT_ROWS)]
    together = of_row[chosen] * len(nodes) + node[chosen]  # rows of a kind and a node never part
    _, first, times = np.unique(together, return_index=True, return_counts=True)
    return rows[chosen[first]], times.astype(np.float64)


def summary(
    known: Knowledge, codes: Int32Array, values: Int32Array, shares: Float32Array, node: Node
) -> Summary:
    """What decides about a node; ``shares`` [n, classes] are predicted."""
    kinds = Kinds.of(codes[:, node.rows])
    times, summed = kinds.times, np.zeros((kinds.codes.shape[1], shares.shape[1]))
    _add_rows(node.rows, kinds.of_row, shares, summed)
    wave = known.wave.codes[:, node.wave]
    starts = known.places.starts
    scopes = []
    for scope in known.scopes:
        held = np.zeros(starts[-1], np.int64)
        weight = np.zeros((starts[-1], shares.shape[1]))
        inside = np.flatnonzero(scope.holds(kinds.codes))
        _add_up(inside, times, kinds.codes, summed, starts, held, weight)
        in_wave = wave_histogram(known, node.wave[scope.holds(wave)])
        scopes.append(Histograms(held, weight, in_wave))
    first = slice(0, starts[1])
    return Summary.counted(known, values[node.rows])._replace(
        expected=scopes[0].predicted[first].sum(axis=0),
        seen=scopes[0].in_wave[first].sum(axis=0),
        scopes=tuple(scopes),
    )


def wave_histogram(known: Knowledge, places: Int64Array) -> Float64Array:
    """[codes of all columns, classes]: what is known about some records of the first wave."""
    starts = known.places.starts
    held = np.zeros(starts[-1], np.int64)
    seen = np.zeros((starts[-1], known.wave.held.shape[1]))
    once = np.ones(len(known.wave.held), np.int64)
    _add_up(places, once, known.wave.codes, known.wave.held, starts, held, seen)
    return seen


@kernel
def _add_rows(
    rows: Int64Array, kind: Int64Array, shares: Float32Array, summed: Float64Array
) -> None:
    """Add what is predicted for rows to that of their kinds."""
    for place in range(len(rows)):
        for c in range(shares.shape[1]):
            summed[kind[place], c] += shares[rows[place], c]


@kernel
def _add_up(
    rows: Int64Array,
    times: Int64Array,
    codes: Int32Array,
    sums: Float64Array,
    starts: Int64Array,
    held: Int64Array,
    weight: Float64Array,
) -> None:
    """Count rows, each ``times``, by the codes of every column, which begin at its start."""
    for column in range(len(codes)):
        for row in rows:
            code = starts[column] + codes[column, row]
            held[code] += times[row]
            for c in range(sums.shape[1]):
                weight[code, c] += sums[row, c]
