"""The owner's calibration: by how much answers from a release are off, by random questions.

Everything here is a function of published cells, of the quasi-identifiers behind them and of a
fixed seed. Sensitive values, other columns and the true assignment are not passed in, so that what
is published tells nothing to anybody who knows the quasi-identifiers (docs/guarantees.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from math import ceil, floor, log10
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mottle.encoding.domain import Codes, Domain
from mottle.evaluation.design import (
    Design,
    least_squares,
    numbers_of,
    texts_of,
    weighted_coefficients,
)
from mottle.queries._literals import is_numeric
from mottle.queries.calibration import together_in_pairs
from mottle.queries.conditions import Condition
from mottle.queries.engine import Queries
from mottle.queries.sampling import combine, sample
from mottle.queries.stated_errors import count_by_totals
from mottle.release.certificate import CalibrationFacts
from mottle.release.data import ReleaseData
from mottle.release.validation import LARGEST_FACTOR
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array, UInt8Array
from mottle.utils.sorting import stable_order

FEWEST_RECORDS = 100  # a smaller release is not calibrated
_FEWEST = 10  # questions for a factor
_PAIR_FACTORS = (0.3, 20.0)  # smallest and largest
_MOST_PAIRS = 300  # of columns that are told apart
_PER_COLUMN = 9  # conditions on each column of a pair
_UNKNOWN = 3.0  # the factor where no question could be asked
_LARGE = 10.0  # records of questions about averages and relative errors
MOST_COLUMNS = 6  # of a question; answers with a sensitive column use the next factor
_QUESTIONS = (20, 400)  # fewest and most per number of columns
_POOL = (8, 60)  # fewest and most conditions per column from which questions are put together
_SELECTED = (0.02, 0.6)  # smallest and largest share of records, if values were spread evenly
_NEAR = 3  # places in the list of runs by which a drawn one may be off
_AVERAGES = (10, 160)  # fewest and most questions of averages and sums per number of columns
_QUANTILE = 0.97  # of the ratios of error and standard error: 95 %, and the chance of the lot
_REACH = 1.959964  # standard errors of a 95 % interval
_HALF = 0.5  # a count is whole
_LEAST_COUNT = 0.5  # expected records of a question
_DIGITS = 3  # of a published factor
_SEED = 20_070_901
_WORLDS = 5
_REGRESSIONS = 12
_MOST_LEVELS = 6  # values of a category that are told apart in regressions
_MOST_INPUTS = 30
_MOST_LOOKED_UP = 600  # conditions that are kept with their records
_LARGEST_NUMBER = 1e30  # whose squares can be added up
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1) * 1.0  # by byte

_Number = TypeVar("_Number", np.int64, np.float64)


@dataclass(frozen=True)
class Originals:
    """The originals behind some records: distinct ones, and how many records each stands for."""

    codes: Codes
    weights: Float64Array  # [codes.records]


@dataclass(frozen=True, eq=False)
class _Asked:
    """A condition: how likely every record satisfies it, and which codes do."""

    likely: Float64Array  # [cells], not below 0
    codes: BoolArray  # [domain size]
    stated: bool  # whether totals determine the count


@dataclass(frozen=True, eq=False)
class _Pool:
    """Conditions on a column, from which questions are put together."""

    ranges: list[_Asked]  # runs of values, the shortest first; their lengths are evenly spread
    values: list[_Asked]  # single values, as often as they occur, and some rare ones

    def some(self, number: int) -> list[_Asked]:
        """Some of the conditions, runs of middling lengths and single values."""
        runs, values = ceil(number * 2 / 3) if self.ranges else 0, number
        found = [self.ranges[int(len(self.ranges) * (at + 1) / (runs + 2))] for at in range(runs)]
        return [*found, *self.values[: values - len(found)]]

    def draw(self, covered: float | None, random: np.random.Generator) -> _Asked:
        """A run of about this share of all values; a single value for None."""
        if not self.ranges or (covered is None and self.values):
            return self.values[int(random.integers(len(self.values)))]
        if covered is None:
            return self.ranges[int(random.integers(len(self.ranges)))]
        place = int(covered * len(self.ranges)) + int(random.integers(-_NEAR, _NEAR + 1))
        return self.ranges[min(max(place, 0), len(self.ranges) - 1)]


def calibrate(
    release: ReleaseData, originals: Originals, rows: int, columns: Sequence[str]
) -> CalibrationFacts | None:
    """Ask random questions and compare answers with the truth.

    Parameters
    ----------
    release : ReleaseData
        Published cells of quasi-identifiers, of all records or of some drawn by lot, in an order
        that follows from the cells; with their certificate.
    originals : Originals
        The quasi-identifiers behind these records.
    rows : int
        Records of the whole release.
    columns : sequence of str
        The names of the quasi-identifiers.

    Returns
    -------
    CalibrationFacts or None
        None if there are too few records.
    """
    if release.num_rows < FEWEST_RECORDS:
        return None
    asked = _Questions.of(release, originals, columns)
    if not asked.names:
        return None
    # Of a sample: what is wrong is taken to be systematic, so that it grows with the number of
    # records, and standard errors with its square root.
    scale = float(np.sqrt(rows / release.num_rows))
    random = np.random.default_rng(_SEED)
    most = min(MOST_COLUMNS, len(asked.names))
    answers: list[_Answers] = []
    numbers: list[Float64Array] = []
    relative: dict[str, list[float]] = {name: [] for name in asked.names}
    pair_factors = asked.pair_factors()
    of_columns = partial(together_in_pairs, pair_factors)
    for number in range(1, most + 1):
        answers.append(_Answers.of(asked.counts(number, random, relative)))
        found = [(*ratios, of_columns(names)) for ratios, names in asked.numbers(number, random)]
        every = np.array(found).reshape(-1, 3)
        numbers.append(every[:, :2] / every[:, 2:])
    divided = [one.divided(of_columns) for one in answers]
    counts = [
        _Answers.joined(divided[part]).two_factors(scale) for part in _neighbours(len(divided))
    ]
    of_numbers = [np.concatenate(numbers[part]) for part in _neighbours(len(numbers))]
    measured = [pair for pair in counts if pair is not None] or [(1.0, 0.0)]
    largest = max(first for first, _ in measured), max(second for _, second in measured)
    return CalibrationFacts(
        records=release.num_rows,
        questions=asked.number,
        counts=tuple(largest if pair is None else pair for pair in counts),
        pair_factors=pair_factors,
        sums=_filled([_factor(ratios[:, 0], scale) for ratios in of_numbers]),
        averages=_filled([_factor(ratios[:, 1], scale) for ratios in of_numbers]),
        coefficients=_coefficients(release, asked, scale),
        columns={
            name: _rounded(float(np.median(errors)), 2) if errors else 0.0
            for name, errors in relative.items()
        },
    )


def _neighbours(numbers: int) -> list[slice]:
    """For each number of columns, those whose answers say how far off its own are.

    One more column or one fewer makes little difference, and more answers make a factor depend less
    on which questions were drawn. Answers that depend on one column are a matter of totals.
    """
    return [slice(max(place - 1, 1), place + 2) if place else slice(1) for place in range(numbers)]


@dataclass(frozen=True, eq=False)
class _Answers:
    """Answers to counts that depend on the same number of columns."""

    off: Float64Array  # [answers]: how far each is from the truth
    error: Float64Array  # [answers]: the standard error that cells suggest
    columns: list[tuple[str, ...]]

    @classmethod
    def of(cls, found: Iterable[tuple[float, float, tuple[str, ...]]]) -> _Answers:
        rows = list(found)
        return cls(
            np.array([row[0] for row in rows]),
            np.array([row[1] for row in rows]),
            [row[2] for row in rows],
        )

    @classmethod
    def joined(cls, parts: Sequence[_Answers]) -> _Answers:
        """The answers of several numbers of columns."""
        return cls(
            np.concatenate([part.off for part in parts]),
            np.concatenate([part.error for part in parts]),
            [names for part in parts for names in part.columns],
        )

    def divided(self, of_columns: Callable[[Sequence[str]], float]) -> _Answers:
        """The same in units of the factors of the columns."""
        times = [of_columns(names) for names in self.columns]
        return replace(self, off=self.off / np.array(times)) if times else self

    def relation(self) -> float:
        """How large the systematic part of errors is, in relation to the other.

        With V the variance that cells suggest, errors are of size √V where mistakes about records
        cancel out, and of size V where all go in one direction. The relation of the two is the one
        for which the same share of answers is held whatever their size.
        """
        parts = np.array_split(
            np.argsort(self.error, kind="stable"), min(len(self.off) // _FEWEST, 4)
        )
        best, spread = 0.0, np.inf
        for tried in (0.0, *np.geomspace(0.003, 1.0, 18).tolist()):
            ratios = self.ratios(tried)
            reached = np.array([_quantile(ratios[part]) for part in parts])
            differ = float(np.std(np.log(np.maximum(reached, 1e-3))))
            if differ < spread:
                best, spread = tried, differ
        return best

    def ratios(self, relation: float) -> Float64Array:
        """[answers]: how far each is off, in units of an error with both parts."""
        variance = self.error**2
        found: Float64Array = self.off / np.sqrt(variance + (relation * variance) ** 2)
        return found

    def two_factors(self, scale: float) -> tuple[float, float] | None:
        """Both parts, such that 95 % of the answers are held; None if there are too few.

        ``scale`` multiplies the first; the second grows with the number of records by itself.
        """
        if len(self.off) < _FEWEST:
            return None
        relation = self.relation()
        first = _quantile(self.ratios(relation)) / _REACH
        return _rounded(first * scale), _rounded(first * relation)


def _quantile(ratios: Float64Array) -> float:
    """The quantile of ratios that is used, cautious where there are few."""
    place = min(ceil(_QUANTILE * (len(ratios) + 1)), len(ratios)) - 1
    return float(np.sort(ratios)[place])


def _factor(ratios: Float64Array, scale: float) -> float | None:
    """The quantile of ratios, over that of a normal distribution; None if there are too few."""
    ratios = ratios[np.isfinite(ratios)]  # numbers may be too large to be added up
    if len(ratios) < _FEWEST:
        return None
    return _rounded(min(_quantile(ratios) / _REACH * scale, LARGEST_FACTOR))


def _rounded(number: float, digits: int = _DIGITS) -> float:
    """A factor with few digits, not below the number: an interval may hold the truth just so."""
    rounded = float(f"{number:.{digits}g}")
    if rounded >= number:
        return rounded
    step = 10.0 ** (floor(log10(number)) + 1 - digits)
    return float(f"{number + step / 2:.{digits}g}")


def _filled(factors: Sequence[float | None]) -> tuple[float, ...]:
    """Factors, the largest in place of those that could not be measured."""
    largest = max((factor for factor in factors if factor is not None), default=_UNKNOWN)
    return tuple(largest if factor is None else factor for factor in factors)


@dataclass(frozen=True, eq=False)
class _Layout:
    """Places for originals by which the weight of those that fit is counted in few steps.

    Eight neighbouring places are a byte of packed bits. The originals in a byte have the same
    weight, so that their sum is this weight times the number of bits that are set; where no more
    originals have a weight, places stay empty.
    """

    places: Int64Array  # [originals]: the place of each
    weights: Float64Array  # [bytes]: what every bit counts
    present: UInt8Array  # [bytes]: which places are taken

    @classmethod
    def of(cls, weights: Float64Array, codes: Int64Array) -> _Layout:
        """Lay out originals by their weights, and those of equal weight by codes."""
        each, which, counts = np.unique(weights, return_inverse=True, return_counts=True)
        size = -(-counts // 8)  # bytes of every weight
        within = np.empty(len(weights), np.int64)
        several = int(codes.max(initial=0)) + 1
        order = stable_order(which * several + codes, len(each) * several)
        within[order] = np.arange(len(weights)) - np.repeat(np.cumsum(counts) - counts, counts)
        places = 8 * (np.cumsum(size) - size)[which] + within
        taken = np.zeros(8 * int(size.sum()), np.bool_)
        taken[places] = True
        return cls(places, np.repeat(each, size), np.packbits(taken))

    def spread(self, by_original: NDArray[_Number], empty: float) -> NDArray[_Number]:
        """[places]: what ``by_original`` has for each, and ``empty`` where there is none."""
        found = np.full(8 * len(self.weights), empty, by_original.dtype)
        found[self.places] = by_original
        return found


@dataclass(frozen=True, eq=False)
class _Sums:
    """How the numbers of originals that fit are added up, by the bits of a layout.

    Where the known numbers in a byte are equal, bits are counted; elsewhere they are added up place
    by place. Originals are laid out so that most bytes are of the first kind.
    """

    known: UInt8Array  # [bytes]: the places with a number
    of_bit: Float64Array  # [2, bytes]: what every bit adds to the weight and to the sum of numbers
    mixed: Int64Array  # [mixed]: bytes with several numbers
    of_place: Float64Array  # [8 * mixed]: what each of their places adds to the sum

    @classmethod
    def of(cls, layout: _Layout, numbers: Float64Array) -> _Sums:
        """Prepare for a column, by the number of every original; NaN where it is not known."""
        by_place = layout.spread(numbers, np.nan).reshape(-1, 8)
        known = np.isfinite(by_place)
        lowest = np.where(known, by_place, np.inf).min(axis=1, initial=np.inf)
        highest = np.where(known, by_place, -np.inf).max(axis=1, initial=-np.inf)
        equal = lowest == highest
        mixed = np.flatnonzero(lowest < highest)
        of_place = np.where(known, by_place, 0.0)[mixed] * layout.weights[mixed, None]
        of_bit = np.where(equal, lowest, 0.0) * layout.weights
        return cls(np.packbits(known), np.array([layout.weights, of_bit]), mixed, of_place.ravel())

    def among(self, fits: UInt8Array) -> tuple[float, float]:
        """Return the weight and the sum of the numbers whose bits are set."""
        fits = fits & self.known
        weight, total = self.of_bit @ _ONES.take(fits)
        mixed = np.unpackbits(fits.take(self.mixed)).astype(np.float64)
        return float(weight), float(total + self.of_place @ mixed)


@dataclass(frozen=True, eq=False)
class _Spread:
    """By how much sums and averages of a column are off, as sums over records.

    A record satisfies conditions with a probability p, and has then a number with the expected
    value a, the expected square b, and the probability c that it is known at all, all three with
    what is not known counted as 0. Of its number times whether it satisfies them, the variance is
    p b - p² a² = p (b - a²) + p (1 - p) a²: a sum of p times one array and of p (1 - p) times
    another, and so it is for averages.
    """

    typical: float  # from which numbers are counted for averages
    certain: Float64Array  # [6, records]: to be added up with weights p
    uncertain: Float64Array  # [4, records]: with weights p (1 - p)

    @classmethod
    def of(cls, first: Float64Array, second: Float64Array, known: Float64Array) -> _Spread:
        records = float(known.sum())
        typical = float(first.sum()) / records if records > 0 else 0.0
        above = first - typical * known
        squares = second - 2 * typical * first + typical**2 * known
        return cls(
            typical,
            np.array(
                [
                    known,
                    first,
                    np.maximum(second - first**2, 0.0),
                    np.maximum(squares - above**2, 0.0),
                    above * (1 - known),
                    known * (1 - known),
                ]
            ),
            np.array([first**2, above**2, above * known, known**2]),
        )

    def errors(self, likely: Float64Array) -> tuple[float, float, float, float]:
        """Return records, the sum, and the standard errors of the sum and of the average."""
        records, total, one, *rest = (self.certain @ likely).tolist()
        if not records > 0:
            return 0.0, 0.0, 0.0, 0.0
        other, *others = (self.uncertain @ (likely - likely * likely)).tolist()
        mean = total / records - self.typical
        of_mean = np.array([1.0, -2 * mean, mean**2])
        variance = max(float(of_mean @ rest), 0.0) + max(float(of_mean @ others), 0.0)
        return records, total, float(np.sqrt(one + other)), float(np.sqrt(variance)) / records


@dataclass(frozen=True, eq=False)
class _Questions:
    """Conditions on every column, from which questions are put together."""

    queries: Queries
    originals: Originals
    pools: dict[str, _Pool]
    number: int  # questions per number of columns
    _looked_up: dict[int, tuple[Float64Array, UInt8Array]] = field(default_factory=dict)

    @classmethod
    def of(cls, release: ReleaseData, originals: Originals, columns: Sequence[str]) -> _Questions:
        queries = Queries.of(release)
        random = np.random.default_rng(_SEED + 1)
        rows = release.num_rows
        size = int(np.clip(rows // 50, *_POOL))
        pools: dict[str, _Pool] = {}
        for domain, codes in zip(originals.codes.domains, originals.codes.matrix.T, strict=True):
            if domain.name in columns and domain.name in queries.names:
                drawn = _conditions(domain, codes, originals.weights, size, random)
                cells = queries.column(domain.name)
                pools[domain.name] = _Pool(
                    *(
                        [
                            _Asked(
                                np.maximum(cells.shares((condition,)), 0.0),
                                fits,
                                count_by_totals(queries, {domain.name: (condition,)}) is not None,
                            )
                            for condition, fits in part
                        ]
                        for part in drawn
                    )
                )
        pools = {name: pool for name, pool in pools.items() if pool.ranges or pool.values}
        return cls(queries, originals, pools, int(np.clip(rows // 10, *_QUESTIONS)))

    @property
    def names(self) -> list[str]:
        """The columns that can be asked."""
        return list(self.pools)

    @cached_property
    def code_of(self) -> dict[str, Int64Array]:
        """[originals], by column; of the type by which NumPy takes without converting."""
        codes = self.originals.codes
        return {
            domain.name: column.astype(np.int64)
            for domain, column in zip(codes.domains, codes.matrix.T, strict=True)
        }

    @cached_property
    def cell_of(self) -> dict[str, Int64Array]:
        """[records], by column: the place of each record's cell among the distinct ones."""
        return {name: self.queries.column(name).of_row.astype(np.int64) for name in self.names}

    def counts(
        self, columns: int, random: np.random.Generator, relative: dict[str, list[float]]
    ) -> Iterator[tuple[float, float, tuple[str, ...]]]:
        """How far random questions' answers are off, standard errors by cells, and columns."""
        for _ in range(self.number):
            chosen = self._draw(columns, random)
            if len(chosen) == 1 and chosen[0][1].stated:
                continue
            likely = self._likely(chosen)
            expected = float(likely.sum())
            error = float(np.sqrt(max(expected - float(likely @ likely), 0.0)))
            if expected < _LEAST_COUNT or error < 1e-9:
                continue
            true = self._weight_of(self._fits(chosen))
            off = abs(expected - true)
            yield max(off - _HALF, 0.0), error, tuple(name for name, _ in chosen)
            if columns == min(2, len(self.names)) and true >= _LARGE:
                for name, _ in chosen:
                    relative[name].append(off / true)

    def pair_factors(self) -> dict[str, dict[str, float]]:
        """By how much counts about two columns are farther off than about others.

        Answers are off where columns depend on each other inside cells, which is a matter of which
        columns they are: the first question that an analyst asks is about such a pair.
        """
        pairs = list(combinations(self.names, 2))
        random = np.random.default_rng(_SEED + 3)
        if len(pairs) > _MOST_PAIRS:
            chosen = np.sort(random.choice(len(pairs), _MOST_PAIRS, replace=False))
            pairs = [pairs[place] for place in chosen]
        asked = {
            name: self.pools[name].some(_PER_COLUMN)
            for name in {name: None for pair in pairs for name in pair}
        }
        likely = {name: self._likely_of_each(name, asked[name]) for name in asked}
        squares = {name: every**2 for name, every in likely.items()}
        kinds = {name: _kinds_of_codes(asked[name]) for name in asked}
        kind_of = {name: kinds[name][0].take(self.code_of[name]) for name in asked}
        weights = self.originals.weights
        sizes = {}
        for first, second in pairs:
            expected = likely[first] @ likely[second].T
            variance = expected - squares[first] @ squares[second].T
            rows, columns = kinds[first][1], kinds[second][1]
            places = kind_of[first] * len(columns) + kind_of[second]
            counted = np.bincount(places, weights, minlength=len(rows) * len(columns))
            true = rows.T @ counted.reshape(len(rows), len(columns)) @ columns
            answered = (expected >= _LEAST_COUNT) & (variance > 1e-9)
            off = np.maximum(np.abs(expected - true) - _HALF, 0.0)[answered]
            if len(off) >= _FEWEST:
                sizes[first, second] = float(np.sqrt(np.mean(off**2 / variance[answered])))
        low, high = _PAIR_FACTORS
        typical = max(float(np.median(list(sizes.values()))) if sizes else 1.0, 1e-9)
        by_first: dict[str, dict[str, float]] = {}
        for (first, second), size in sizes.items():
            factor = _rounded(min(max(size / typical, low), high), 2)
            by_first.setdefault(first, {})[second] = factor
        return by_first

    def _likely_of_each(self, name: str, asked: Sequence[_Asked]) -> Float64Array:
        """[conditions, records]: how likely each record satisfies each condition on a column."""
        cell_of = self.cell_of[name]
        return np.array([one.likely.take(cell_of) for one in asked])

    def numbers(
        self, columns: int, random: np.random.Generator
    ) -> Iterator[tuple[tuple[float, float], list[str]]]:
        """The ratios of error and standard error of sums and averages of a column; all columns."""
        for _ in range(int(np.clip(self.number // 2, *_AVERAGES)) if self.values else 0):
            name = list(self.values)[int(random.integers(len(self.values)))]
            others = self._draw(columns - 1, random, besides=name)
            sums_of = self.values[name]
            if sums_of is None:
                continue
            spread, sums = sums_of
            records, total, error, mean_error = spread.errors(self._likely(others))
            if records < _LARGE:
                continue
            true_records, true = sums.among(self._fits(others))
            if true_records < _LARGE:
                continue
            if error > 0 and mean_error > 0:
                ratios = (
                    abs(total - true) / error,
                    abs(total / records - true / true_records) / mean_error,
                )
                yield ratios, [name, *(other for other, _ in others)]

    def _draw(
        self, columns: int, random: np.random.Generator, besides: str | None = None
    ) -> list[tuple[str, _Asked]]:
        """Conditions on random columns other than one."""
        names = [name for name in self.names if name != besides]
        if columns == 0 or not names:
            return []
        places = random.choice(len(names), min(columns, len(names)), replace=False)
        low, high = _SELECTED
        covered = (low * (high / low) ** random.random()) ** (1 / len(places))
        with_values = random.random() < 0.5
        return [
            (
                names[place],
                self.pools[names[place]].draw(
                    None if with_values and random.random() < 0.5 else covered, random
                ),
            )
            for place in places
        ]

    def _likely(self, chosen: Sequence[tuple[str, _Asked]]) -> Float64Array:
        """[records]: how likely each satisfies conditions."""
        if not chosen:
            return np.ones(self.queries.records)
        first, *others = [self._by_record(name, asked)[0] for name, asked in chosen]
        if not others:
            return first
        found = first * others[0]
        for other in others[1:]:
            found *= other
        return found

    def _fits(self, chosen: Sequence[tuple[str, _Asked]]) -> UInt8Array:
        """A bit per place of the layout: whether the original there satisfies conditions."""
        if not chosen:
            return self._layout.present
        first, *others = [self._by_record(name, asked)[1] for name, asked in chosen]
        if not others:
            return first
        found = first & others[0]
        for other in others[1:]:
            found &= other
        return found

    def _weight_of(self, fits: UInt8Array) -> float:
        """The weight of the originals whose bits are set."""
        return float(_ONES.take(fits) @ self._layout.weights)

    @cached_property
    def _layout(self) -> _Layout:
        numeric = min(self._numeric, key=lambda domain: domain.size, default=None)
        return _Layout.of(
            self.originals.weights,
            np.zeros(len(self.originals.weights), np.int64)
            if numeric is None
            else self.code_of[numeric.name],
        )

    @cached_property
    def _laid_out(self) -> dict[str, NDArray[np.unsignedinteger]]:
        """[places], by column: the code of the original there; one beyond all codes for none."""
        sizes = {domain.name: domain.size for domain in self.originals.codes.domains}
        return {
            name: self._layout.spread(self.code_of[name], sizes[name]).astype(
                np.min_scalar_type(sizes[name])
            )
            for name in self.names
        }

    def _satisfied(self, name: str, codes: BoolArray) -> BoolArray:
        """[places]: whether the original there has one of some codes of a column."""
        laid_out = self._laid_out[name]
        taken = np.flatnonzero(codes)
        if len(taken) == 0 or taken[-1] - taken[0] >= len(taken):  # no run of codes
            return np.append(codes, False).take(laid_out)
        first, last = laid_out.dtype.type(taken[0]), laid_out.dtype.type(taken[-1])
        found: BoolArray = (laid_out - first) <= last - first  # what is below becomes large
        return found

    def _by_record(self, name: str, asked: _Asked) -> tuple[Float64Array, UInt8Array]:
        """[records] how likely each satisfies a condition; a bit per place, whether it does.

        Conditions are asked again and again, so those of most tables are looked up once.
        """
        known = self._looked_up.get(id(asked))
        if known is None:
            known = (
                asked.likely.take(self.cell_of[name]),
                np.packbits(self._satisfied(name, asked.codes)),
            )
            if len(self._looked_up) < _MOST_LOOKED_UP:
                self._looked_up[id(asked)] = known
        return known

    @cached_property
    def _numeric(self) -> list[Domain]:
        """The columns with numbers that can be added up."""
        return [
            domain
            for domain in self.originals.codes.domains
            if domain.name in self.pools
            and domain.uppers is None
            and domain.form.has_intervals
            and is_numeric(domain.values.type)
            and domain.column.order is None
        ]

    @cached_property
    def values(self) -> dict[str, tuple[_Spread, _Sums] | None]:
        """By column of numbers: sums over records and originals; None if squares are too large."""
        found: dict[str, tuple[_Spread, _Sums] | None] = {}
        for domain in self._numeric:
            cells = self.queries.column(domain.name)
            moments = cells.moments((Condition(),))
            if np.abs(moments.second[cells.of_row]).max(initial=0.0) >= _LARGEST_NUMBER**2:
                found[domain.name] = None
                continue
            rows = cells.of_row
            numbers = np.array(
                [np.nan if one is None else float(one) for one in domain.values.to_pylist()]
            )
            found[domain.name] = (
                _Spread.of(
                    moments.first[rows], moments.second[rows], np.maximum(moments.share, 0.0)[rows]
                ),
                _Sums.of(self._layout, numbers[self.code_of[domain.name]]),
            )
        return found


def _kinds_of_codes(asked: Sequence[_Asked]) -> tuple[Int64Array, Float64Array]:
    """Codes that the same conditions take: [codes] the kind of each; [kinds, conditions] which."""
    taken = np.array([one.codes for one in asked]).T
    kinds, kind_of = np.unique(taken, axis=0, return_inverse=True)
    return kind_of.ravel(), kinds.astype(np.float64)


def _conditions(
    domain: Domain,
    codes: Int32Array,
    weights: Float64Array,
    size: int,
    random: np.random.Generator,
) -> tuple[list[tuple[Condition, BoolArray]], list[tuple[Condition, BoolArray]]]:
    """Random conditions on a column: runs of values from short to long, and single values."""
    if domain.sets is not None:
        return [], _item_conditions(domain, size, random)
    known = domain.size - (domain.missing >= 0)
    shares = np.bincount(codes, weights, minlength=domain.size)
    frequent = random.choice(domain.size, size, p=shares / shares.sum())
    ranges: list[tuple[Condition, BoolArray]] = []
    values: list[tuple[Condition, BoolArray]] = []
    for place in range(size):
        fits = np.zeros(domain.size, np.bool_)
        if place % 3 < 2 and known > 1:
            covered = (len(ranges) + random.random()) / ceil(2 * size / 3)
            length = min(ceil(known * covered), known - 1)
            first = int(random.integers(known - length + 1))
            fits[first : first + length] = True
            ranges.append((_condition(domain, np.flatnonzero(fits).tolist()), fits))
        else:
            rare = place % 12 == 11 and known > 0
            fits[int(random.integers(known)) if rare else int(frequent[place])] = True
            values.append((_condition(domain, np.flatnonzero(fits).tolist()), fits))
    return ranges, values


def _condition(domain: Domain, codes: Sequence[int]) -> Condition:
    """The condition that a value is one of neighbouring codes, or missing."""
    if list(codes) == [domain.missing]:
        return Condition(known=False, missing=True)
    if domain.form.has_intervals:
        uppers = domain.values if domain.uppers is None else domain.uppers
        return Condition(low=domain.values[codes[0]].as_py(), high=uppers[codes[-1]].as_py())
    return Condition(values=tuple(domain.values.take(pa.array(codes)).to_pylist()))


def _item_conditions(
    domain: Domain, size: int, random: np.random.Generator
) -> list[tuple[Condition, BoolArray]]:
    """Random conditions that a set holds an item."""
    assert domain.sets is not None
    sets = domain.sets.sets
    if len(sets.items) == 0:
        return []
    set_of = np.repeat(np.arange(domain.size), np.diff(sets.starts))
    found = []
    for item in sets.items[random.integers(len(sets.items), size=size)].tolist():
        fits = np.zeros(domain.size, np.bool_)
        fits[set_of[sets.items == item]] = True
        found.append((Condition(values=(domain.sets.names[item].as_py(),)), fits))
    return found


# ------------------------------------------------------------------------------------- regressions


def _coefficients(release: ReleaseData, asked: _Questions, scale: float) -> float | None:
    """The factor for coefficients that are pooled over sampled worlds."""
    domains = [
        domain
        for domain in asked.originals.codes.domains
        if domain.name in asked.pools and domain.sets is None and domain.uppers is None
    ]
    if len(domains) < 2:
        return None
    # Column by column: no closer to the original than joint draws are, which take a hundred times
    # as long (7 s for 10,000 records of 9 columns, several times what all the rest of a run takes).
    worlds = sample(asked.queries, release, _WORLDS, _SEED, pairs=False)
    true = pa.table(
        {
            domain.name: pa.chunked_array(
                [domain.values.take(pa.array(asked.code_of[domain.name]))]
            ).cast(worlds[0].column(domain.name).type)
            for domain in domains
        }
    )
    random = np.random.default_rng(_SEED + 2)
    everywhere = (true, *worlds)
    encoded: dict[str, list[Float64Array | BoolArray]] = {}  # features, in the truth and each world
    ratios: list[float] = []
    for _ in range(_REGRESSIONS):
        places = random.permutation(len(domains))[: 1 + int(random.integers(1, 4))]
        target, *features = (domains[place].name for place in places)
        chosen = texts_of(true.column(target))[int(random.integers(len(true)))]
        for name in features:
            if name not in encoded:
                encoded[name] = _encoded([table.column(name) for table in everywhere])
        if not 1 <= sum(len(encoded[name][0]) for name in features) <= _MOST_INPUTS:
            continue
        found = []
        for place, table in enumerate(everywhere):
            weights = None if place else asked.originals.weights
            targets = _targets(table.column(target), chosen)
            known = np.isfinite(targets)
            inputs = np.concatenate([encoded[name][place] for name in features], dtype=float).T
            if not known.all():
                inputs, targets = inputs[known], targets[known]
                weights = None if weights is None else weights[known]
            largest = [np.abs(part).max(initial=0.0) for part in (inputs, targets)]
            if not max(largest) < _LARGEST_NUMBER:
                break
            if weights is None:
                found.append(least_squares(inputs, targets))
            else:
                truth = weighted_coefficients(inputs, targets, weights)
        if len(found) < _WORLDS:
            continue
        values, within = (np.array(part) for part in zip(*found, strict=True))
        if not (
            np.isfinite(truth).all() and np.isfinite(values).all() and np.isfinite(within).all()
        ):
            continue
        for place, exact in enumerate(truth):
            pooled = combine(values[:, place].tolist(), within[:, place].tolist())
            if pooled.error > 0:
                low, high = pooled.interval()
                ratios.append(float(abs(pooled.estimate - exact) / ((high - low) / 2)))
    return _factor(np.array(ratios) * _REACH, scale)


def _targets(column: pa.ChunkedArray, chosen: pa.Scalar) -> Float64Array:
    """What is predicted: a number, or whether a value is the chosen one."""
    if is_numeric(column.type) or pa.types.is_date(column.type):
        return numbers_of(column)
    equal = pc.equal(texts_of(column), chosen)
    return np.asarray(pc.fill_null(pc.cast(equal, pa.float64()), np.nan).to_numpy(), np.float64)


def _encoded(columns: Sequence[pa.ChunkedArray]) -> list[Float64Array | BoolArray]:
    """[inputs, rows] for a feature in several tables: numbers, or whether a value is each one."""
    tables = [pa.table({"": column}) for column in _few_levels(columns)]
    design = Design(tables, [""])
    found = [design.encode(table).T for table in tables]
    return [one.astype(np.bool_) for one in found] if design.levels else [*found]


def _few_levels(columns: Sequence[pa.ChunkedArray]) -> Sequence[pa.ChunkedArray]:
    """A feature in several tables with its rare values as one, so that it has few coefficients.

    Values are rare that are rare in the first table.
    """
    if is_numeric(columns[0].type) or pa.types.is_date(columns[0].type):
        return columns
    texts = [texts_of(column) for column in columns]
    counted = pc.value_counts(texts[0].combine_chunks())
    order = pc.sort_indices(counted.field("counts"), sort_keys=[("", "descending")])
    kept = counted.field("values").take(order)[:_MOST_LEVELS]
    return [pc.if_else(pc.is_in(column, value_set=kept), column, "") for column in texts]
