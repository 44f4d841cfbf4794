"""Small SVG charts that take their colours from the page, in light, dark and print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH = 420  # width of a chart
COMPACT = 300  # width of a chart in a report on many columns
_ROW = 19  # height of a horizontal bar and its label
_LABELS = 0.36  # share of the width for the labels left of horizontal bars
_NUMBERS = 46  # width of the numbers right of horizontal bars, and of those of the original
_HEIGHT = 0.3  # height of the columns of a histogram, as a share of the width
_FOOT = 22  # height of the labels below a histogram
_MOST_LETTERS = 22  # characters of the longest label
_LEVELS = 3  # lines that show the scale of a histogram, at most
_SCALE = 36  # width of the numbers beside a histogram
_LETTER = 6  # approximate width of a digit
_LABEL_LETTER = 7  # and of a letter


@dataclass(frozen=True)
class Bar:
    """One value, or one range of values, of a column."""

    label: str
    share: float  # expected share of the released records
    certain: float  # lower bound of the share, whatever the true values are
    possible: float  # upper bound of the share
    before: float | None = None  # share in the original; for the owner only

    @property
    def title(self) -> str:
        """The text that appears when the pointer is on the bar."""
        text = f"{self.label}: {percent(self.share)}"
        if self.certain < self.possible:
            text += f", between {percent(self.certain)} and {percent(self.possible)} for certain"
        if self.before is not None:
            text += f"; original {percent(self.before)}"
        return text


def percent(share: float) -> str:
    """A share as a percentage for people; what occurs is never 0 %, and what may not never 100 %.

    >>> percent(0.12345), percent(0.00012), percent(0), percent(1)
    ('12.3 %', '0.01 %', '0 %', '100 %')
    >>> percent(0.00001), percent(0.99999)
    ('< 0.01 %', '> 99.9 %')
    """
    hundreds = 100 * share
    if hundreds in (0, 100):
        return f"{hundreds:.0f} %"
    if 99.95 <= hundreds < 100:
        return "> 99.9 %"
    if abs(hundreds) < 0.005:
        return "< 0.01 %"
    return f"{hundreds:.2f} %" if abs(hundreds) < 0.095 else f"{hundreds:.1f} %"


def charted_percent(share: float) -> str:
    """A share beside others in a chart, all with one decimal.

    >>> charted_percent(0.12345), charted_percent(0.0001), charted_percent(0), charted_percent(1)
    ('12.3 %', '< 0.1 %', '0.0 %', '100.0 %')
    """
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return "> 99.9 %" if 0.9995 <= share < 1 else f"{100 * share:.1f} %"


def shortened(text: str, most: int = _MOST_LETTERS) -> str:
    """A text cut to a maximum length.

    >>> shortened("a very long name of a category")
    'a very long name of a…'
    """
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def horizontal(bars: Sequence[Bar], name: str, width: int = WIDTH) -> Markup:
    """A bar chart of categories, with bars one below the other; numbers in columns of their own."""
    labels = round(_LABELS * width)
    compared = any(bar.before is not None for bar in bars)
    end = width - (2 if compared else 1) * _NUMBERS  # of the longest bar
    scale = (end - labels) / _largest(bars)
    letters = min(int((labels - 8) / _LABEL_LETTER), _MOST_LETTERS)
    parts = []
    for place, bar in enumerate(bars):
        top = place * _ROW
        parts.append(
            f'<g><title>{escape(bar.title)}</title><text class="label" x="{labels - 8}"'
            f' y="{top + 13}" text-anchor="end">{escape(shortened(bar.label, letters))}</text>'
            f'<rect class="bar" x="{labels}" y="{top + 3}" width="{bar.share * scale:.1f}"'
            f' height="{_ROW - 6}" rx="1.5"/>'
        )
        if bar.before is not None:
            at = labels + bar.before * scale
            parts.append(
                f'<line class="before" x1="{at:.1f}" x2="{at:.1f}" y1="{top + 1}"'
                f' y2="{top + _ROW - 1}"/><text class="number was" x="{width}" y="{top + 13}"'
                f' text-anchor="end">{charted_percent(bar.before)}</text>'
            )
        parts.append(
            f'<text class="number" x="{end + _NUMBERS}" y="{top + 13}" text-anchor="end">'
            f"{charted_percent(bar.share)}</text></g>"
        )
    return _svg(parts, len(bars) * _ROW + 2, name, width)


def vertical(bars: Sequence[Bar], edges: Sequence[str], name: str, width: int = WIDTH) -> Markup:
    """A histogram with a column for each range, the edges of the ranges below, and a scale."""
    plot = width - _SCALE  # the scale stands beside the columns, which would hide it
    step = plot / max(len(bars), 1)
    height = round(_HEIGHT * width)
    scale = height / _largest(bars)
    base = height + 14
    parts = []
    for level in _levels(_largest(bars)):
        at = base - level * scale
        parts.append(
            f'<line class="level" x1="0" x2="{width}" y1="{at:.1f}" y2="{at:.1f}"/>'
            f'<text class="number" x="{width}" y="{at - 3:.1f}" text-anchor="end">'
            f"{100 * level:g} %</text>"
        )
    for place, bar in enumerate(bars):
        tall = bar.share * scale
        parts.append(
            f'<g><title>{escape(bar.title)}</title><rect class="bar"'
            f' x="{place * step + 1:.1f}" y="{base - tall:.1f}" width="{step - 2:.1f}"'
            f' height="{tall:.1f}" rx="1.5"/>'
        )
        if bar.before is not None:
            at = base - bar.before * scale
            parts.append(
                f'<line class="before" x1="{place * step:.1f}" x2="{(place + 1) * step:.1f}"'
                f' y1="{at:.1f}" y2="{at:.1f}"/>'
            )
        parts.append("</g>")
    parts.append(f'<line class="axis" x1="0" x2="{plot}" y1="{base}" y2="{base}"/>')
    for place, edge in enumerate(edges):
        if not _has_room(place, len(edges), max(map(len, edges)), plot):
            continue
        anchor = "start" if place == 0 else "end" if place == len(bars) else "middle"
        parts.append(
            f'<text class="label" x="{place * step:.1f}" y="{base + 15}" text-anchor="{anchor}">'
            f"{escape(edge)}</text>"
        )
    return _svg(parts, base + _FOOT, name, width)


def _levels(largest: float) -> list[float]:
    """Round shares up to the largest one, at most `_LEVELS` of them.

    >>> _levels(0.47), _levels(0.08)
    ([0.2, 0.4], [0.05])
    """
    power = 10.0 ** math.floor(math.log10(largest))
    steps = [power / 10 * factor for factor in (1, 2, 5, 10, 20, 50)]
    step = next(step for step in steps if largest / step < _LEVELS + 1)
    return [round(step * number, 12) for number in range(1, math.floor(largest / step) + 1)]


def _has_room(place: int, count: int, letters: int, width: int) -> bool:
    """Whether an edge's label has room next to the others: every n-th has, and the last."""
    every = -(-count * (letters * _LETTER + 14) // width)
    return place == count - 1 or (place % every == 0 and count - 1 - place >= every)


def meter(share: float) -> Markup:
    """A share as a thin bar, for use in tables."""
    return Markup(
        f'<svg class="meter" viewBox="0 0 100 8" aria-hidden="true"><rect class="track" width="100"'
        f' height="8" rx="2"/><rect class="bar" width="{100 * min(max(share, 0.0), 1.0):.1f}"'
        ' height="8" rx="2"/></svg>'
    )


def _largest(bars: Sequence[Bar]) -> float:
    return max([1e-9, *(max(bar.share, bar.before or 0.0) for bar in bars)])


def _svg(parts: Sequence[str], height: float, name: str, width: int) -> Markup:
    return Markup(
        f'<svg class="chart" viewBox="0 0 {width} {height:.0f}" role="img"'
        f' aria-label="Distribution of {escape(name)}">{"".join(parts)}</svg>'
    )
