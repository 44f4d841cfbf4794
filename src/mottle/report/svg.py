"""Small SVG charts that take their colours from the page, in light, dark and print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH = 420  # width of a chart
_ROW = 19  # height of a horizontal bar and its label
_LABELS = 150  # width of the labels left of horizontal bars
_NUMBERS = 48  # width of the numbers right of horizontal bars
_HEIGHT = 132  # height of the columns of a histogram
_FOOT = 22  # height of the labels below a histogram
_MOST_LETTERS = 22  # characters of the longest label
_LETTER = 6  # approximate width of a character


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
    """A share as a percentage for people.

    >>> percent(0.12345), percent(0.00012), percent(0), percent(1)
    ('12.3 %', '0.01 %', '0 %', '100 %')
    """
    hundreds = 100 * share
    if hundreds in (0, 100):
        return f"{hundreds:.0f} %"
    return f"{hundreds:.2f} %" if abs(hundreds) < 0.1 else f"{hundreds:.1f} %"


def shortened(text: str, most: int = _MOST_LETTERS) -> str:
    """A text cut to a maximum length.

    >>> shortened("a very long name of a category")
    'a very long name of a…'
    """
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def horizontal(bars: Sequence[Bar], name: str) -> Markup:
    """A bar chart of categories, with bars one below the other."""
    width = WIDTH - _LABELS - _NUMBERS
    scale = width / _largest(bars)
    parts = []
    for place, bar in enumerate(bars):
        top = place * _ROW
        parts.append(
            f'<g><title>{escape(bar.title)}</title><text class="label" x="{_LABELS - 8}"'
            f' y="{top + 13}" text-anchor="end">{escape(shortened(bar.label))}</text>'
            f'<rect class="bar" x="{_LABELS}" y="{top + 3}" width="{bar.share * scale:.1f}"'
            f' height="{_ROW - 6}" rx="1.5"/>'
        )
        end = _LABELS + max(bar.share, bar.before or 0.0) * scale
        if bar.before is not None:
            at = _LABELS + bar.before * scale
            parts.append(
                f'<line class="before" x1="{at:.1f}" x2="{at:.1f}" y1="{top + 1}"'
                f' y2="{top + _ROW - 1}"/>'
            )
        parts.append(
            f'<text class="number" x="{end + 6:.1f}" y="{top + 13}">{percent(bar.share)}</text></g>'
        )
    return _svg(parts, len(bars) * _ROW + 2, name)


def vertical(bars: Sequence[Bar], edges: Sequence[str], name: str) -> Markup:
    """A histogram with a column for each range and the edges of the ranges below."""
    step = WIDTH / max(len(bars), 1)
    scale = _HEIGHT / _largest(bars)
    base = _HEIGHT + 14
    parts = []
    for place, bar in enumerate(bars):
        height = bar.share * scale
        parts.append(
            f'<g><title>{escape(bar.title)}</title><rect class="bar"'
            f' x="{place * step + 1:.1f}" y="{base - height:.1f}" width="{step - 2:.1f}"'
            f' height="{height:.1f}" rx="1.5"/>'
        )
        if bar.before is not None:
            level = base - bar.before * scale
            parts.append(
                f'<line class="before" x1="{place * step:.1f}" x2="{(place + 1) * step:.1f}"'
                f' y1="{level:.1f}" y2="{level:.1f}"/>'
            )
        parts.append("</g>")
    highest = max(bars, key=lambda bar: bar.share)
    at = (bars.index(highest) + 0.5) * step
    anchor = "start" if at < 24 else "end" if at > WIDTH - 24 else "middle"
    at = 0 if anchor == "start" else WIDTH if anchor == "end" else at
    above = base - max(highest.share, highest.before or 0.0) * scale - 5
    parts.append(
        f'<text class="number" x="{at:.1f}" y="{above:.1f}" text-anchor="{anchor}">'
        f"{percent(highest.share)}</text>"
        f'<line class="axis" x1="0" x2="{WIDTH}" y1="{base}" y2="{base}"/>'
    )
    for place, edge in enumerate(edges):
        if not _has_room(place, len(edges), max(map(len, edges))):
            continue
        anchor = "start" if place == 0 else "end" if place == len(bars) else "middle"
        parts.append(
            f'<text class="label" x="{place * step:.1f}" y="{base + 15}" text-anchor="{anchor}">'
            f"{escape(edge)}</text>"
        )
    return _svg(parts, base + _FOOT, name)


def _has_room(place: int, count: int, letters: int) -> bool:
    """Whether an edge's label has room next to the others: every n-th has, and the last."""
    every = -(-count * (letters * _LETTER + 12) // WIDTH)
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


def _svg(parts: Sequence[str], height: float, name: str) -> Markup:
    return Markup(
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height:.0f}" role="img"'
        f' aria-label="Distribution of {escape(name)}">{"".join(parts)}</svg>'
    )
