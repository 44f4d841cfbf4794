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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mottle.errors import GuaranteeError
from mottle.guarantees.demand import allowed
from mottle.methods.buckets.association import Association, WaveEvidence
from mottle.methods.buckets.bucketization import expected_loss
from mottle.methods.buckets.cut_columns import CutColumn
from mottle.methods.buckets.gains import add_separation, gain_by_code, gain_by_prefix
from mottle.methods.buckets.margins import Local, Margins, chance_of_excess, depth_of, inside
from mottle.methods.buckets.plan import SensitiveValues, counts_by_code, largest_bucket
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


class Scope(NamedTuple):
    """The records that have one of some codes in a column; everybody for no column."""

    column: int = -1
    code: int = -1

    def holds(self, codes: Int32Array) -> BoolArray:
        """Whether each record, given by its codes [columns, n], belongs to it."""
        if self.column < 0:
            return np.ones(codes.shape[1], np.bool_)
        return np.asarray(codes[self.column] == self.code)


EVERYBODY = Scope()


class Cut(NamedTuple):
    """A cut of a node into two halves."""

    column: int
    left: BoolArray  # by code of the column: whether it lies in the left half
    scope: Scope = EVERYBODY  # records outside it lie in the right half

    def sides(self, codes: Int32Array) -> BoolArray:
        """Whether each record of the node, given by its codes [columns, n], lies left."""
        return np.asarray(self.left[codes[self.column]] & self.scope.holds(codes))


class Histograms(NamedTuple):
    """The records of a node that belong to a scope, by the codes of every column."""

    records: tuple[Int64Array, ...]  # by column, [codes]
    predicted: tuple[Float64Array, ...]  # by column, [codes, classes]
    in_wave: tuple[Float64Array, ...]  # the same of the first wave's records, as released


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
        self.starts = np.cumsum([0, *[column.size for column in self.columns]])
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
        families = [
            family
            for scope, found in zip(self.scopes, node.scopes, strict=True)
            if found.records[0].sum() >= self.least
            for number in range(len(self.columns))
            if number != scope.column
            for family in self._families(number, scope, found, node, counts, riskiest[:_RISKIEST])
        ]
        if not families:
            return None
        family_of = np.repeat(np.arange(len(families)), [len(each.gains) for each in families])
        gains, sizes, predicted, in_wave, places = (
            np.concatenate([getattr(each, name) for each in families])
            for name in ("gains", "sizes", "predicted", "in_wave", "places")
        )
        column_of = np.array([each.column for each in families])[family_of]
        left_over = self._left_over(sizes) + self._left_over(node.size - sizes)
        gains = gains - _GROUP_LOSS * self._distance(node) * left_over
        order = np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > 0)]
        chances = self.margins.chances()
        begin, end = 0, _AT_ONCE
        while begin < len(order):
            tried = order[begin:end]
            column = column_of[tried]
            share = self._shares(node, predicted[tried])
            failing = chance_of_excess(
                counts,
                share,
                allowed(self.values.caps, sizes[tried, None]),
                allowed(self.values.caps, node.size - sizes[tried, None]),
                self.doubt(column, share),
                chances[column],
                depth_of(node.size, self.records),
                self._local(share, in_wave[tried], node.seen),
            )
            safe = np.flatnonzero(failing <= budget)
            if len(safe):
                best = tried[safe[0]]
                family = families[family_of[best]]
                cut = family.cut(int(places[best]), self.columns[family.column].size)
                return Candidate(cut, int(sizes[best]), predicted[best], float(failing[safe[0]]))
            begin, end = end, 3 * end
        return None

    def _families(
        self,
        number: int,
        scope: Scope,
        found: Histograms,
        node: Summary,
        counts: Int64Array,
        riskiest: Int64Array,
    ) -> Iterator[_Family]:
        """All cuts by a column inside a scope that leave halves large enough and gain something.

        Codes of an ordered column are cut at every border. Those of others are sorted by the
        predicted share of each of the riskiest sensitive codes, and cut at every border too; and
        every code may be cut off by itself.
        """
        column = self.columns[number]
        records, predicted = found.records[number], found.predicted[number]
        in_wave = found.in_wave[number]
        present = np.flatnonzero(records)
        whole = scope == EVERYBODY  # it may be a copy, in a chunk
        if len(present) < (2 if whole else 1):
            return
        orders = [present]  # a cut takes codes from the front of an order
        if column.positions is None:
            risky = self._shares(node, predicted[present])[:, riskiest] * counts[riskiest]
            by_risk = np.argsort(risky / records[present, None], axis=0, kind="stable")
            orders = list(present[by_risk].T)
        elif not whole:
            orders.append(present[::-1])
        together = min(node.size, self.buckets * self.largest_bucket)
        density = _DENSITY * expected_loss(self.buckets, together)
        for codes in orders:
            held, weight = records[codes].astype(np.float64), predicted[codes]
            sizes = np.cumsum(held)
            fits = self._fit(node, sizes)
            if not fits.any():
                continue
            if whole:
                positions = None if column.positions is None else column.positions[codes]
                gains = gain_by_prefix(held, weight, positions, column.step, density)
            else:
                gains = self._gain_of_separating(scope, node, held, weight, density)
            places = np.flatnonzero(fits & (gains > 0))
            yield _Family(
                number,
                scope,
                codes,
                False,
                places,
                gains[places],
                sizes[places].astype(np.int64),
                np.cumsum(weight, axis=0)[places],
                np.cumsum(in_wave[codes], axis=0)[places],
            )
        fits = self._fit(node, records[present])
        if column.positions is None and whole and fits.any():
            held, weight = records[present].astype(np.float64), predicted[present]
            gains = gain_by_code(held, weight, column.step, density)
            places = np.flatnonzero(fits & (gains > 0))
            codes = present[places]
            yield _Family(
                number,
                scope,
                present,
                True,
                places,
                gains[places],
                records[codes],
                predicted[codes],
                in_wave[codes],
            )

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
        for column, records in zip(self.columns, node.scopes[0].records, strict=True):
            share = records / node.size
            if column.positions is None:
                found += column.step * (1 - float(share @ share))
            else:
                below = np.cumsum(share)[:-1]
                found += 2 * float(below * (1 - below) @ np.diff(column.positions))
        return found

    def _fit(self, node: Summary, sizes: Int64Array | Float64Array) -> BoolArray:
        """Whether halves of these sizes, and what is left of the node, are large enough."""
        return np.asarray((sizes >= self.least) & (node.size - sizes >= self.least))

    def _gain_of_separating(
        self,
        scope: Scope,
        node: Summary,
        held: Float64Array,
        weight: Float64Array,
        density: float,
    ) -> Float64Array:
        """By prefix of the codes: what it gains to separate their records from all others.

        All of these records have the code of the scope, so the gain is that of the scope's column.
        """
        records = node.scopes[0].records[scope.column].astype(np.float64)
        predicted = node.scopes[0].predicted[scope.column]
        step = self.columns[scope.column].step
        size, weight = np.cumsum(held), np.cumsum(weight, axis=0)
        mine, total = records[scope.code], float((records**2).sum())
        left = total - mine**2 + (mine - size) ** 2
        spread = size + left / np.maximum(node.size - size, 1) - total / node.size
        gains: Float64Array = density * step * spread
        add_separation(records, predicted, scope.code, size, weight, step, gains)
        return gains

    def check(self, node: Summary) -> None:
        """Raise `CutError` if a node breaks a cap."""
        if np.any(counts_by_code(node.counts, self.values) > allowed(self.values.caps, node.size)):
            raise CutError


class _Family(NamedTuple):
    """Cuts of a node that take codes from the front of an order, or one code each."""

    column: int
    scope: Scope
    codes: Int64Array  # in their order
    alone: bool  # whether each cut takes one code
    places: Int64Array  # [cuts]: the last code that each cut takes
    gains: Float64Array  # [cuts]
    sizes: Int64Array  # [cuts]: records in the left half
    predicted: Float64Array  # [cuts, classes]: predicted for the left half
    in_wave: Float64Array  # [cuts, classes]: of the first wave, in the left half

    def cut(self, place: int, size: int) -> Cut:
        """The cut that ends at a place; ``size``: number of codes of the column."""
        left = np.zeros(size, np.bool_)
        left[self.codes[place if self.alone else 0 : place + 1]] = True
        return Cut(self.column, left, self.scope)


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
    indices = known.association.indices(codes)
    sample = _sample(codes, np.concatenate([node.rows for node in nodes]))
    node_of = np.zeros(len(values), np.int32)
    blocks: list[Int64Array] = []
    nodes = list(nodes)
    refused: list[Node] = []  # no cut was safe; tried again when more is known
    learned = False  # since the first of them was refused
    while True:
        shares = known.association.predicted(indices)
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
            known.wave, indices[sample], node_of[sample], np.stack(counts)
        )


def _sample(codes: Int32Array, rows: Int64Array) -> Int64Array:
    """Some of the rows, evenly spread over their codes.

    The codes of the sample do not depend on the order of rows with equal codes.
    """
    in_order = rows[np.lexsort(codes[::-1, rows])]
    return in_order[:: -(-len(rows) // _FIT_ROWS)]


def summary(
    known: Knowledge, codes: Int32Array, values: Int32Array, shares: Float32Array, node: Node
) -> Summary:
    """What decides about a node."""
    mine, wave = codes[:, node.rows], known.wave.codes[:, node.wave]
    counted = Summary.counted(known, values[node.rows])
    scopes = tuple(
        _histograms(
            known, codes, shares, node.rows[scope.holds(mine)], node.wave[scope.holds(wave)]
        )
        for scope in known.scopes
    )
    return counted._replace(
        expected=scopes[0].predicted[0].sum(axis=0),
        seen=scopes[0].in_wave[0].sum(axis=0),
        scopes=scopes,
    )


def _histograms(
    known: Knowledge,
    codes: Int32Array,
    shares: Float32Array,
    rows: Int64Array,
    in_wave: Int64Array,
) -> Histograms:
    """Histograms of some rows and of some records of the first wave."""
    held = np.zeros(known.starts[-1], np.int64)
    weight = np.zeros((known.starts[-1], shares.shape[1]))
    _add_up(rows, codes, shares, known.starts, held, weight)
    borders = known.starts[1:-1]
    records, predicted = np.split(held, borders), np.split(weight, borders)
    return Histograms(tuple(records), tuple(predicted), wave_histogram(known, in_wave))


def wave_histogram(known: Knowledge, places: Int64Array) -> tuple[Float64Array, ...]:
    """By column, [codes, classes]: what is known about some records of the first wave."""
    held = np.zeros(known.starts[-1], np.int64)
    seen = np.zeros((known.starts[-1], known.wave.held.shape[1]))
    _add_up(places, known.wave.codes, known.wave.held, known.starts, held, seen)
    return tuple(np.split(seen, known.starts[1:-1]))


@kernel
def _add_up(
    rows: Int64Array,
    codes: Int32Array,
    shares: Float32Array | Float64Array,
    starts: Int64Array,
    held: Int64Array,
    weight: Float64Array,
) -> None:
    """Count rows by the codes of every column; those of a column begin at its start."""
    for column in range(len(codes)):
        for row in rows:
            code = starts[column] + codes[column, row]
            held[code] += 1
            for c in range(shares.shape[1]):
                weight[code, c] += shares[row, c]
