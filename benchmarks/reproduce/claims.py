"""How claims are decided: small predicates on the points of a figure.

Each returns a function of what was found. A claim is undecided as long as a point that it speaks of
has not been run; a point that cannot be measured, because a method refuses, is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from scipy.stats import spearmanr

from benchmarks.reproduce.figure import Found, Verdict, X

Decide = Callable[[Found], Verdict]
UNDECIDED = "not run yet"


def below(
    ours: str,
    other: str,
    measure: str = "loss",
    *,
    factor: float = 1.0,
    groups: Sequence[str] | None = None,
    at: Sequence[X] | None = None,
) -> Decide:
    """At every x that both have: ``ours`` is below ``factor`` times ``other``."""

    def decide(found: Found) -> Verdict:
        ratios: dict[str, float] = {}
        for group in found.groups if groups is None else groups:
            shared = [
                x
                for x in found.expected(ours, group)
                if x in found.expected(other, group) and (at is None or x in at)
            ]
            if _missing(found, ours, shared, group) or _missing(found, other, shared, group):
                return Verdict(None, UNDECIDED)
            for x in shared:
                one = found.value(ours, x, measure, group)
                two = found.value(other, x, measure, group)
                if one is not None and two is not None:
                    ratios[_place(found, group, x)] = _ratio(one, two)
        return _ratios(ratios, factor, f"{ours} / {other}")

    return decide


def fitted_below(series: str, *, factor: float = 1.0) -> Decide:
    """At every x: the error with fitted values is below that under the uniform assumption."""

    def decide(found: Found) -> Verdict:
        ratios: dict[str, float] = {}
        for group in found.groups:
            xs = found.expected(series, group)
            if _missing(found, series, xs, group):
                return Verdict(None, UNDECIDED)
            fitted = found.line(series, "error, fitted", group)
            uniform = found.line(series, "error", group)
            ratios |= {_place(found, group, x): _ratio(fitted[x], uniform[x]) for x in fitted}
        return _ratios(ratios, factor, f"{series}, fitted / uniform")

    return decide


def grows(
    series: Sequence[str],
    measure: str = "loss",
    *,
    falling: bool = False,
    slack: float = 0.02,
    groups: Sequence[str] | None = None,
) -> Decide:
    """Along x, the series never falls (or never rises) by more than ``slack`` of its value."""

    def decide(found: Found) -> Verdict:
        broken, lines = [], []
        for group in found.groups if groups is None else groups:
            for name in series:
                if _missing(found, name, found.expected(name, group), group):
                    return Verdict(None, UNDECIDED)
                line = list(found.line(name, measure, group).items())
                for (_, before), (x, after) in pairwise(line):
                    first, last = (after, before) if falling else (before, after)
                    if last < first * (1 - slack):
                        broken.append(f"{name} at {_place(found, group, x)}")
                if line:
                    lines.append(f"{name} {line[0][1]:.3g} → {line[-1][1]:.3g}")
        text = "; ".join(lines) + (f"; not {', '.join(broken)}" if broken else "")
        return Verdict(not broken if lines else None, text or UNDECIDED)

    return decide


def as_printed(
    series: str, measure: str = "loss", *, most: float = 1.06, least: float = 0.0
) -> Decide:
    """At every x where the paper prints a number: ours divided by it is at most ``most``."""

    def decide(found: Found) -> Verdict:
        ratios: dict[str, float] = {}
        for (group, name, x), numbers in found.figure.printed.items():
            if name != series or measure not in numbers or x not in found.expected(name, group):
                continue
            ours = found.value(series, x, measure, group)
            if ours is None:
                return Verdict(None, found.note(series, x, group) or UNDECIDED)
            ratios[_place(found, group, x)] = _ratio(ours, numbers[measure])
        if not ratios:
            return Verdict(None, UNDECIDED)
        outside = [place for place, ratio in ratios.items() if not least <= ratio <= most]
        return Verdict(not outside, _spread(ratios, "ours / the paper's", outside))

    return decide


def reaches(
    ours: str,
    other: str,
    measure: str,
    least: float,
    *,
    groups: Sequence[str] | None = None,
    somewhere: bool = True,
) -> Decide:
    """``other`` / ``ours`` is at least ``least``, somewhere or everywhere."""

    def decide(found: Found) -> Verdict:
        ratios: dict[str, float] = {}
        for group in found.groups if groups is None else groups:
            shared = [x for x in found.expected(ours, group) if x in found.expected(other, group)]
            if _missing(found, ours, shared, group) or _missing(found, other, shared, group):
                return Verdict(None, UNDECIDED)
            for x in shared:
                one = found.value(ours, x, measure, group)
                two = found.value(other, x, measure, group)
                if one is not None and two is not None:
                    ratios[_place(found, group, x)] = _ratio(two, one)
        if not ratios:
            return Verdict(None, UNDECIDED)
        extreme = max(ratios.values()) if somewhere else min(ratios.values())
        return Verdict(extreme >= least, _spread(ratios, f"{other} / {ours}", []))

    return decide


def stays(
    series: Sequence[str], measure: str, *, within: float, groups: Sequence[str] | None = None
) -> Decide:
    """Along x, the highest value of a series is at most ``within`` times its lowest."""

    def decide(found: Found) -> Verdict:
        spans = {}
        for group in found.groups if groups is None else groups:
            for name in series:
                if _missing(found, name, found.expected(name, group), group):
                    return Verdict(None, UNDECIDED)
                line = found.line(name, measure, group)
                if line:
                    spans[_place(found, group, name)] = _ratio(
                        max(line.values()), min(line.values())
                    )
        if not spans:
            return Verdict(None, UNDECIDED)
        wide = [place for place, span in spans.items() if span > within]
        return Verdict(not wide, _spread(spans, "highest / lowest", wide))

    return decide


def surrounds(printed: str, measure: str = "loss", *, within: float = 1.06) -> Decide:
    """At every x where the paper prints a number: some series comes down to it, some up to it.

    ``printed``: the series that has the paper's numbers; ``within``: the factor up to which two
    numbers count as the same.
    """

    def decide(found: Found) -> Verdict:
        outside, spans = [], []
        for (group, name, x), numbers in found.figure.printed.items():
            if name != printed or measure not in numbers:
                continue
            own = [p.series for p in found.figure.points if p.group == group and p.x == x]
            values = [found.value(series, x, measure, group) for series in own]
            if not own or None in values:
                return Verdict(None, UNDECIDED)
            low, high = (_ratio(end(values), numbers[measure]) for end in (min, max))
            spans.append(f"{_place(found, group, x)}: {low:.3g} to {high:.3g}")
            if not low <= within or not high >= 1 / within:
                outside.append(_place(found, group, x))
        text = f"over the paper's, {'; '.join(spans)}"
        text += f"; not at {', '.join(outside)}" if outside else ""
        return Verdict(not outside, text) if spans else Verdict(None, UNDECIDED)

    return decide


def both(*parts: Decide) -> Decide:
    """All parts hold."""

    def decide(found: Found) -> Verdict:
        verdicts = [part(found) for part in parts]
        text = "; ".join(dict.fromkeys(verdict.measured for verdict in verdicts))
        if any(verdict.holds is None for verdict in verdicts):
            return Verdict(None, text)
        return Verdict(all(verdict.holds for verdict in verdicts), text)

    return decide


def _missing(found: Found, series: str, xs: Sequence[X], group: str) -> bool:
    """Whether a point has not been run, or its method is not available."""
    return any(
        (group, series, x) not in found.outcomes
        or found.outcomes[group, series, x].note.startswith("method not available")
        for x in xs
    )


def _ratio(one: float, two: float) -> float:
    if two == 0:
        return 1.0 if one == 0 else float("inf")
    return one / two


def _place(found: Found, group: str, x: X) -> str:
    shown = f"{x:,}" if isinstance(x, int) else f"{x:g}" if isinstance(x, float) else x
    return f"{group} {shown}" if group and len(found.groups) > 1 else shown


def _ratios(ratios: dict[str, float], factor: float, what: str) -> Verdict:
    if not ratios:
        return Verdict(None, UNDECIDED)
    missed = [place for place, ratio in ratios.items() if ratio >= factor]
    return Verdict(not missed, _spread(ratios, what, missed))


def _spread(ratios: dict[str, float], what: str, missed: Sequence[str]) -> str:
    if not ratios:
        return UNDECIDED
    low, high = min(ratios.values()), max(ratios.values())
    text = f"{what}: {low:.3g}" if low == high else f"{what}: {low:.3g} to {high:.3g}"
    return text + (f"; not at {', '.join(missed)}" if missed else "")


def follows(measure: str, other: str, least: float) -> Decide:
    """Over all points of the figure, ranks of one measure go along with those of another."""

    def decide(found: Found) -> Verdict:
        pairs = []
        for point in found.figure.points:
            place = point.series, point.x
            values = [found.value(*place, name, point.group) for name in (measure, other)]
            if None in values:
                return Verdict(None, UNDECIDED)
            pairs.append(values)
        correlation = float(spearmanr(np.array(pairs, float)).statistic)
        return Verdict(correlation >= least, f"rank correlation: {correlation:.2f}")

    return decide


def lowest_at(series: Sequence[str], at: X, measure: str = "loss") -> Decide:
    """Each series has its lowest value at one x."""

    def decide(found: Found) -> Verdict:
        lowest = {}
        for name in series:
            if _missing(found, name, found.expected(name), ""):
                return Verdict(None, UNDECIDED)
            line = found.line(name, measure)
            if line:
                lowest[name] = min(line, key=lambda x: line[x])
        text = "; ".join(f"{name} lowest at {x}" for name, x in lowest.items())
        return Verdict(all(x == at for x in lowest.values()) if lowest else None, text)

    return decide
