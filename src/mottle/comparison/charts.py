"""Charts of a comparison, drawn by Altair as SVG that takes its text colour from the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import vl_convert
from markupsafe import Markup

from mottle.comparison.compare import ORIGINAL, Comparison, ComparisonRow
from mottle.guarantees.base import registered

# By the option of a guarantee's parameter: the symbol that papers write it with.
FAMILIES = {kind.options[0].name: kind.symbol for kind in registered() if kind.symbol}
MEASURES = {
    "loss": "information lost (GCP)",
    "query_error": "query error (median)",
    "accuracy": "accuracy of a model",
    "linked": "people linked to their record",
    "guessed": "sensitive values guessed right",
    "seconds": "seconds taken",
}
_SHARES = ("loss", "query_error", "accuracy", "linked", "guessed")
_COLOURS = [
    "#2b8ca0",
    "#d9822b",
    "#8a63c9",
    "#4c9f50",
    "#cf4f5f",
    "#7f8790",
    "#b08a2e",
    "#3f77c8",
]
_INK = "currentColor"
_WIDTH = 330
_SHORTEST = 0.1  # an axis of shares that does not begin at 0


def charts_of(comparison: Comparison) -> list[tuple[str, Markup]]:
    """Draw a chart of every measure, and of privacy against use, for each family of guarantees.

    Parameters
    ----------
    comparison : Comparison
        The results to draw; those of the original appear as dashed lines.

    Returns
    -------
    list[tuple[str, markupsafe.Markup]]
        Title and SVG of each chart.
    """
    measured = [line for line in comparison.lines if not line.note and line.method != ORIGINAL]
    methods = list(dict.fromkeys(line.method for line in measured))
    found = []
    for family, symbol in FAMILIES.items():
        lines = [line for line in measured if line.family == family]
        if not lines:
            continue
        frontier = [line for line in lines if line.linked is not None]
        if frontier:
            found.append((f"Privacy against use, by {symbol}", _frontier(frontier, methods)))
        found += [
            (
                f"{words[0].upper()}{words[1:]}, by {symbol}",
                _curves(lines, measure, symbol, methods, _marks(comparison).get(measure)),
            )
            for measure, words in MEASURES.items()
            if any(getattr(line, measure) is not None for line in lines)
        ]
    return found


def _marks(comparison: Comparison) -> dict[str, tuple[float, str]]:
    """Levels that measures are compared with, and their labels."""
    original = next(line for line in comparison.lines if line.method == ORIGINAL)
    found = {}
    if original.accuracy is not None:
        found["accuracy"] = (original.accuracy, "original")
    if comparison.commonest is not None:
        found["guessed"] = (comparison.commonest, "without any release")
    return found


def _curves(
    lines: Sequence[ComparisonRow],
    measure: str,
    symbol: str,
    methods: Sequence[str],
    mark: tuple[float, str] | None,
) -> Markup:
    values = [
        {"method": line.method, "parameter": line.parameter, "value": getattr(line, measure)}
        for line in lines
        if getattr(line, measure) is not None
    ]
    is_share = measure in _SHARES
    axis = alt.Axis(format="~%" if is_share else "~g", tickCount=5)
    scale = alt.Scale(type="log")
    if is_share:
        seen = [value["value"] for value in values] + ([] if mark is None else [mark[0]])
        low, high = _reach(seen, zero=measure != "accuracy")
        scale = alt.Scale(domain=[low, high], nice=False)
    base = alt.Chart({"values": values}).encode(
        x=alt.X(
            "parameter:Q",
            title=symbol,
            scale=alt.Scale(zero=False, nice=False, padding=12),
            axis=alt.Axis(values=sorted({line.parameter or 0.0 for line in lines})),
        ),
        y=alt.Y("value:Q", title=None, axis=axis, scale=scale),
        color=_colour(methods),
    )
    drawn = base.mark_line(strokeWidth=2) + base.mark_point(filled=True, size=55, opacity=1)
    return _svg(drawn if mark is None else drawn + _level(*mark))


def _reach(shares: Sequence[float], *, zero: bool) -> tuple[float, float]:
    """The ends of an axis: round, around all shares, and no shorter than what matters.

    Without zero, differences of less than a tenth would fill the whole chart and seem large.

    >>> _reach([0.9412, 0.9443], zero=False), _reach([0.021, 0.38], zero=True)
    ((0.8, 0.95), (0.0, 0.4))
    """
    lowest, highest = (0.0 if zero else min(shares)), max(shares)
    step = 0.05 if highest - lowest > _SHORTEST or not zero else highest / 4 or 0.05
    low = max(math.floor((highest - _SHORTEST) / step) * step, 0.0)
    low = 0.0 if zero else min(low, math.floor(lowest / step) * step)
    top = min(math.ceil(highest / step - 1e-9) * step, max(1.0, highest))
    return round(low, 6), round(top, 6)


def _level(value: float, words: str) -> alt.LayerChart:
    """A dashed line at a level to compare with, and its label."""
    base = alt.Chart({"values": [{"value": value, "words": words}]}).encode(y=alt.Y("value:Q"))
    text = base.mark_text(align="right", dy=9, fontSize=10, color=_INK, fill=_INK).encode(
        x=alt.value(_WIDTH), text="words:N"
    )
    drawn: alt.LayerChart = base.mark_rule(strokeDash=[4, 4], color=_INK, opacity=0.6) + text
    return drawn


def _frontier(lines: Sequence[ComparisonRow], methods: Sequence[str]) -> Markup:
    values = [
        {
            "method": line.method,
            "at": line.guarantee,
            "linked": line.linked,
            "error": line.query_error,
            "place": line.parameter,
        }
        for line in lines
        if line.query_error is not None
    ]
    base = alt.Chart({"values": values}).encode(
        x=alt.X(
            "linked:Q",
            title="people linked (less is more private)",
            axis=alt.Axis(format="~%", tickCount=5),
        ),
        y=alt.Y(
            "error:Q",
            title="query error (less is more useful)",
            axis=alt.Axis(format="~%", tickCount=6),
        ),
        color=_colour(methods),
    )
    return _svg(
        base.mark_line(strokeWidth=1.5, opacity=0.7).encode(order="place:Q")
        + base.mark_point(filled=True, size=60, opacity=1)
        + _parameters(values)
    )


def _parameters(values: Sequence[dict[str, Any]]) -> alt.Chart:
    """Label every guarantee once, above the highest of its points; lower labels would overlap."""
    highest: dict[str, dict[str, Any]] = {}
    for value in values:
        known = highest.get(value["at"])
        if known is None or value["error"] > known["error"]:
            highest[value["at"]] = value
    named: alt.Chart = (
        alt.Chart({"values": list(highest.values())})
        .mark_text(dy=-10, fontSize=10, color=_INK, fill=_INK)
        .encode(x="linked:Q", y="error:Q", text="at:N")
    )
    return named


def _colour(methods: Sequence[str]) -> alt.Color:
    palette = [_COLOURS[place % len(_COLOURS)] for place in range(len(methods))]
    scale = alt.Scale(domain=list(methods), range=palette)
    return alt.Color("method:N", title=None, scale=scale, legend=alt.Legend(orient="bottom"))


def _svg(chart: alt.LayerChart) -> Markup:
    quiet: dict[str, Any] = {
        "labelColor": _INK,
        "titleColor": _INK,
        "domainColor": _INK,
        "tickColor": _INK,
        "gridColor": _INK,
        "gridOpacity": 0.14,
        "domainOpacity": 0.5,
        "tickOpacity": 0.5,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
    }
    sized = (
        chart.properties(width=_WIDTH, height=210, background="transparent")
        .configure(font="sans-serif")
        .configure_view(stroke=None)
        .configure_axis(**quiet)
        .configure_legend(labelColor=_INK, labelFontSize=11, symbolSize=70, columns=4)
    )
    svg = vl_convert.vegalite_to_svg(sized.to_dict())
    return Markup(svg.replace("<svg ", '<svg role="img" ', 1))
