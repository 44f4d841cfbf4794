"""The intersection adversary: compares several releases of the same people.

Columns that are published unchanged link the records of a person across releases. By containment,
a person's candidates are those whose unchanged values also occur on a candidate in every other
release that the person is in; a record that unchanged values single out in two releases does not
belong to anybody who is in one of them only. With the links of releases, candidates are the edges
of their graphs, and where buckets were permuted, only permutations count that give everybody the
same value in all releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mottle.audit.base import register
from mottle.audit.earlier import Series
from mottle.audit.links.edges import UNKNOWN, Edges
from mottle.audit.links.joint import (
    MOST_PAIRS,
    Candidates,
    Cells,
    are_in,
    by_containment,
    group_starts,
    in_some_assignment,
    intersect,
    likeliest,
    pairs_of,
)
from mottle.audit.report import Outcome
from mottle.audit.sensitive.accuracy import GuessAccuracy, judge
from mottle.audit.sensitive.baseline import baseline_correctness
from mottle.audit.sensitive.published_values import SensitiveAttribute, common_codes
from mottle.audit.view import Evidence, View
from mottle.release.data import ReleaseData
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array

_FEWEST = "fewest records left to a person"
_EXPOSED = 0.1  # the share of all people who count as the most exposed
_SHOWN = {"1 %": 0.01, "5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75}


@register(
    "intersection",
    title="compares several releases of the same people",
    assumes="knows everybody's quasi-identifiers and who is in which release; along edges, also the"
    " algorithm and its graphs",
    seconds=15,
)
def intersection(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Measure what all releases together leave of k, and of the caps of sensitive values."""
    series = evidence.series
    if series is None:
        why = "no earlier release of the same people is given (--earlier)"
        yield Outcome(_FEWEST, None, details={"not_played": why}, public=True)
        return
    shared = _shared_columns(series)
    if not shared:
        why = "the releases share no column that is published unchanged"
        yield Outcome(_FEWEST, None, details={"does_not_apply": why}, public=True)
        return
    known = _Known.of(series, shared)
    yield from _play(view, evidence, known, known.by_containment(view.seed), "by containment")
    if any(edges is not None and edges.kept is None for edges in series.edges):
        yield from _play(view, evidence, known, known.along_edges(view.seed), "along edges")


def _shared_columns(series: Series) -> list[str]:
    """The columns that all releases publish with equal values for a person.

    Those that follow from the owner's key are judged by the links: the originals have others.
    """
    if any(release.data.sensitive is not None for release in series.releases):
        return []
    linked = all(edges is not None and edges.kept is None for edges in series.edges)
    named = [
        [
            column.name
            for column in release.data.columns
            if column.form is None and (linked or not column.role.keyed)
        ]
        for release in series.releases
    ]
    return [name for name in named[-1] if all(name in names for names in named)]


def _as_published(
    values: pa.ChunkedArray, name: str, release: ReleaseData, edges: Edges | None
) -> pa.ChunkedArray:
    """What is published of every original in a column: its value, or what the key makes of it."""
    column = next(each for each in release.columns if each.name == name)
    if not column.role.keyed:
        return values
    assert edges is not None
    known = np.flatnonzero(edges.truth != UNKNOWN)
    record_of = np.full(len(values), -1, np.int64)
    record_of[edges.truth[known]] = known
    return release.table.column(name).take(pa.array(record_of, mask=record_of < 0))


@dataclass(frozen=True)
class _Left:
    """What is left to each person in the latest release that holds the person."""

    pairs: Candidates
    scores: Float64Array  # [pairs]: logarithm of how likely the pair is, up to a summand
    pruned: bool  # whether pairs in no assignment were struck out as well
    linked: int  # releases whose links were used


@dataclass(frozen=True)
class _Known:
    """The signatures of all records, and what everybody's true one is."""

    series: Series
    persons: int
    kinds: int
    of_records: tuple[Int64Array, ...]  # by release: the signature of every record
    holders: tuple[Int64Array, ...]  # by release: whose every signature is that is there once
    own: Int64Array  # [persons]: the true signature, as of the latest table that holds the person
    latest: Int64Array  # [persons]: the number of the latest release that holds the person

    @classmethod
    def of(cls, series: Series, names: Sequence[str]) -> _Known:
        parts = []
        for name in names:
            shown = [release.data.table.column(name) for release in series.releases]
            columns = [
                _as_published(table.column(name), name, release.data, edges)
                for table, release, edges in zip(
                    series.originals, series.releases, series.edges, strict=True
                )
            ]
            parts.append(np.concatenate(common_codes(*columns, *shown)))
        rows, signatures = np.unique(np.stack(parts, axis=1), axis=0, return_inverse=True)
        sizes = [table.num_rows for table in series.originals]
        sizes += [release.data.num_rows for release in series.releases]
        split = np.split(signatures.ravel().astype(np.int64), np.cumsum(sizes)[:-1])
        count = len(series.releases)
        persons = 1 + max(int(release.persons.max()) for release in series.releases)
        own, latest = np.full(persons, -1, np.int64), np.full(persons, -1, np.int64)
        frequencies = [np.bincount(each, minlength=len(rows)) for each in split[count:]]
        rare = np.max(frequencies, axis=0) <= 1
        holders = []
        for number, release in enumerate(series.releases):
            own[release.persons] = split[number]
            latest[release.persons] = number
            holder = np.full(len(rows), -1, np.int64)
            holder[split[number]] = release.persons
            holders.append(np.where(rare & (frequencies[number] == 1), holder, -1))
        return cls(series, persons, len(rows), tuple(split[count:]), tuple(holders), own, latest)

    @property
    def present(self) -> list[Int64Array]:
        return [release.persons for release in self.series.releases]

    @property
    def frequencies(self) -> list[Int64Array]:
        """By release: how often every signature occurs."""
        return [np.bincount(shown, minlength=self.kinds) for shown in self.of_records]

    def by_containment(self, seed: int) -> _Left:
        """Compare the records that contain a person."""
        examined = self._examined(seed)
        found = [self._contained(number, examined) for number in range(len(self.of_records))]
        kept = intersect(found, self.present, self.holders, self.persons)
        found = [each.where(mask) for each, mask in zip(found, kept, strict=True)]
        return self._left(found, pruned=bool(examined.all()), linked=0)

    def along_edges(self, seed: int) -> _Left:
        """Compare edges where links are known, and strike out until nothing changes."""
        cells: list[Cells | None] = []
        for number, (release, edges) in enumerate(
            zip(self.series.releases, self.series.edges, strict=True)
        ):
            usable = edges is not None and edges.kept is None
            assert edges is not None or not usable
            cells.append(
                Cells.of(
                    edges,
                    release.persons,
                    self.of_records[number],
                    self.kinds,
                    coupled=_draw(release.data) == "buckets",
                )
                if usable and edges is not None
                else None
            )
        everybody = np.ones(self.persons, np.bool_)
        examined = everybody if all(each is not None for each in cells) else self._examined(seed)
        alive = [None if each is None else np.ones(len(each.source), np.bool_) for each in cells]
        found = [
            self._contained(number, examined)
            if cell is None or mask is None
            else cell.candidates(mask)
            for number, (cell, mask) in enumerate(zip(cells, alive, strict=True))
        ]
        before = -1
        while before != (before := sum(len(each.persons) for each in found)):
            kept = intersect(found, self.present, self.holders, self.persons)
            for number, mask in enumerate(kept):
                cell, living = cells[number], alive[number]
                if cell is None or living is None:
                    found[number] = found[number].where(mask)
                    continue
                fitting = are_in(
                    cell.persons * self.kinds + cell.signatures, found[number].keys[mask]
                )
                struck = cell.strike(living, fitting | ~examined[cell.persons])
                alive[number] = struck
                found[number] = cell.candidates(struck)
        linked = sum(each is not None for each in cells)
        coupled = any(_draw(release.data) == "buckets" for release in self.series.releases)
        return self._left(found, pruned=bool(examined.all()) and not coupled, linked=linked)

    def _contained(self, number: int, examined: BoolArray) -> Candidates:
        release = self.series.releases[number]
        rows = np.flatnonzero(examined[release.persons])
        return by_containment(
            release.columns, rows, release.persons[rows], self.of_records[number], self.kinds
        )

    def _examined(self, seed: int) -> BoolArray:
        """Everybody, or a sample of people whose candidates can be held in memory."""
        load = np.zeros(self.persons, np.int64)
        for release in self.series.releases:
            load[release.persons] += pairs_of(release.columns, np.arange(len(release.persons)))
        order = np.random.default_rng(seed).permutation(self.persons)
        examined = np.zeros(self.persons, np.bool_)
        examined[order[np.cumsum(load[order]) <= MOST_PAIRS]] = True
        return examined

    def _left(self, found: list[Candidates], *, pruned: bool, linked: int) -> _Left:
        """Collect everybody's pairs in the latest release, with their scores."""
        parts, scores = [], []
        for number, each in enumerate(found):
            here = self.latest[each.persons] == number
            pairs = each.where(here)
            score = np.log(pairs.counts.astype(np.float64))
            for other, frequency in zip(found, self.frequencies, strict=True):
                if other is each:
                    continue
                place = np.searchsorted(other.keys, pairs.keys)
                place = np.minimum(place, max(len(other.keys) - 1, 0))
                shown = np.zeros(len(place), np.bool_)
                if len(other.keys):
                    shown = other.keys[place] == pairs.keys
                counts = np.where(shown, other.counts[place] if len(other.keys) else 1, 1)
                lift = counts / np.maximum(frequency[pairs.signatures], 1)
                score += np.where(shown, np.log(lift), 0.0)
            parts.append(pairs)
            scores.append(score)
        joined = Candidates(
            np.concatenate([part.persons for part in parts]),
            np.concatenate([part.signatures for part in parts]),
            np.concatenate([part.counts for part in parts]),
            self.kinds,
        )
        order = np.argsort(joined.keys)
        joined, score = joined.ordered(order), np.concatenate(scores)[order]
        if pruned:
            kept = in_some_assignment(joined, self.own)
            joined, score = joined.where(kept), score[kept]
        return _Left(joined, score, pruned, linked)


def _draw(data: ReleaseData) -> str:
    return "" if data.certified is None else data.certified.parameters.draw


def _play(
    view: View, evidence: Evidence, known: _Known, left: _Left, how: str
) -> Iterator[Outcome]:
    """Measure what is left of k, then of each sensitive value."""
    pairs = left.pairs
    starts = group_starts(pairs.persons)
    persons = pairs.persons[starts[:-1]]
    records = np.add.reduceat(pairs.counts, starts[:-1]) if len(persons) else starts[:0]
    facts = {
        "releases": len(known.series.releases),
        "people_matched_by": known.series.matched_by,
        "people": known.persons,
        "examined": len(persons),
        **({"releases_with_links": left.linked} if left.linked else {}),
        "records_left": _quantiles(records),
    }
    k = evidence.k
    fewest = int(records.min(initial=view.records))
    yield Outcome(f"{_FEWEST}, {how}", fewest, k, None if k is None else fewest >= k, facts)
    guessed, best = likeliest(pairs, left.scores)
    right = pairs.signatures[best] == known.own[guessed]
    named = right & (records == 1)
    share = float(named.mean()) if len(named) else 0.0
    passed = None if k is None else share == 0
    yield Outcome(f"people named for certain, {how}", share, 0, passed, facts)
    chance = right / pairs.counts[best]
    clusters = _clusters(view, evidence, guessed)
    found = judge(chance, np.full(len(chance), 1 / (k or 1)), clusters)
    allowed = None if k is None else found.allowed
    verdict = None if k is None else found.passed
    yield Outcome(
        f"right guesses of records, {how}",
        found.right,
        allowed,
        verdict,
        {**facts, **found.facts()},
    )
    for attribute, own in zip(view.sensitive, evidence.own_codes, strict=True):
        yield _values(view, evidence, known, left, attribute, own, how, facts)


def _quantiles(records: Int64Array) -> dict[str, object]:
    if len(records) == 0:
        return {}
    shown = np.quantile(records, list(_SHOWN.values()), method="lower").astype(int).tolist()
    return {**dict(zip(_SHOWN, shown, strict=True)), "mean": float(records.mean())}


def _clusters(view: View, evidence: Evidence, persons: Int64Array) -> Int64Array:
    """The block of each person, or a neighbourhood; people who left count one by one."""
    people = view.people.num_rows
    links = evidence.one_to_one_edges
    clusters = np.arange(int(persons.max(initial=0)) + people + 1)
    if links is not None:
        clusters[:people] = links.clusters
    else:
        clusters[view.examined] = view.neighbourhoods
    return np.where(persons < people, clusters[persons], persons + people)


def _values(
    view: View,
    evidence: Evidence,
    known: _Known,
    left: _Left,
    attribute: SensitiveAttribute,
    own: Int32Array,
    how: str,
    facts: dict[str, object],
) -> Outcome:
    """Guess the sensitive value of everybody who is in the audited release."""
    code_of = np.full(known.kinds, -1, np.int64)
    code_of[known.of_records[-1]] = attribute.sensitive_codes
    codes = code_of[left.pairs.signatures]
    here = (left.pairs.persons < len(own)) & (codes >= 0)
    persons, scores = left.pairs.persons[here], left.scores[here]
    kinds = len(attribute.reference.overall)
    highest = np.full(len(own), -np.inf)
    np.maximum.at(highest, persons, scores)
    weights = np.exp(scores - highest[persons])
    keys, place = np.unique(persons * kinds + codes[here], return_inverse=True)
    beliefs = Candidates(keys // kinds, keys % kinds, np.ones(len(keys), np.int64), kinds)
    weight = np.bincount(place.ravel(), weights, len(keys)).astype(np.float64)
    guessed, best = likeliest(beliefs, weight)
    total = np.bincount(beliefs.persons, weight, len(own))
    belief = weight[best] / total[guessed]
    guesses = beliefs.signatures[best]
    right = guesses == own[guessed]
    caps = attribute.reference.caps[guesses]
    baselines = baseline_correctness(view.columns, own, kinds)
    clusters = _clusters(view, evidence, guessed)
    exposed = np.argsort(-belief / caps, kind="stable")[: int(np.ceil(_EXPOSED * len(belief)))]
    tried: dict[str, GuessAccuracy] = {}
    for group, people in (
        ("everybody", np.arange(len(right))),
        ("most exposed tenth", exposed),
    ):
        told = max(float(each[guessed[people]].mean()) for each in baselines.values())
        bound = np.maximum(caps[people], told) if told > caps[people].mean() else caps[people]
        tried[group] = judge(right[people], bound, clusters[people])
    worst = max(tried.values(), key=lambda found: found.right - found.allowed)
    details = {
        **facts,
        "columns": list(attribute.columns),
        "guesses": {group: found.facts() for group, found in tried.items()},
        "certain": float(np.mean(right & (belief > 1 - 1e-9))),
    }
    measure = f"{attribute.name}: right guesses, {how}"
    if not attribute.capped:
        return Outcome(measure, tried["everybody"].right, details=details)
    verdicts = [found.passed for found in tried.values()]
    passed = False if False in verdicts else (True if True in verdicts else None)
    return Outcome(measure, worst.right, worst.allowed, passed, details)
