"""Charts of a comparison: drawn by Altair, as SVG that takes its text colour from the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import vl_convert
from markupsafe import Markup

from mottle.comparison import ORIGINAL, Comparison, Line

FAMILIES = {"k": "k", "l": "ℓ", "beta": "β"}
MEASURES = {
    "loss": "information lost (GCP)",
    "query_error": "query error (median)",
    "accuracy": "accuracy of a model",
    "linked": "people linked to their record",
    "guessed": "sensitive values guessed right",
    "seconds": "seconds",
}
_SHARES = ("loss", "query_error", "accuracy", "linked", "guessed")
_COLOURS = [
    "#2b8ca0", "#d9822b", "#8a63c9", "#4c9f50", "#cf4f5f", "#7f8790", "#b08a2e", "#3f77c8",
]  # fmt: skip
_INK = "currentColor"


def charts_of(comparison: Comparison) -> list[tuple[str, Markup]]:
    """A title and a chart for every measure, and the frontier of each kind of guarantee."""
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
                _curves(lines, measure, symbol, methods),
            )
            for measure, words in MEASURES.items()
            if any(getattr(line, measure) is not None for line in lines)
        ]
    return found


def _curves(lines: Sequence[Line], measure: str, symbol: str, methods: Sequence[str]) -> Markup:
    values = [
        {"method": line.method, "parameter": line.parameter, "value": getattr(line, measure)}
        for line in lines
        if getattr(line, measure) is not None
    ]
    axis = alt.Axis(format="%") if measure in _SHARES else alt.Axis()
    base = alt.Chart({"values": values}).encode(
        x=alt.X("parameter:Q", title=symbol, scale=alt.Scale(zero=False, nice=False, padding=12),
                axis=alt.Axis(values=sorted({line.parameter or 0.0 for line in lines}))),
        y=alt.Y("value:Q", title=None, axis=axis, scale=alt.Scale(zero=measure != "accuracy")),
        color=_colour(methods),
    )  # fmt: skip
    return _svg(base.mark_line(strokeWidth=2) + base.mark_point(filled=True, size=55, opacity=1))


def _frontier(lines: Sequence[Line], methods: Sequence[str]) -> Markup:
    values = [
        {"method": line.method, "at": line.guarantee, "linked": line.linked,
         "error": line.query_error}
        for line in lines
    ]  # fmt: skip
    base = alt.Chart({"values": values}).encode(
        x=alt.X("linked:Q", title="people linked (less is more private)",
                axis=alt.Axis(format="%", tickCount=5)),
        y=alt.Y("error:Q", title="query error (less is more useful)", axis=alt.Axis(format="%")),
        color=_colour(methods),
    )  # fmt: skip
    labels = base.mark_text(dx=7, align="left", fontSize=10).encode(text="at:N")
    return _svg(base.mark_point(filled=True, size=70, opacity=1) + labels)


def _colour(methods: Sequence[str]) -> alt.Color:
    palette = [_COLOURS[place % len(_COLOURS)] for place in range(len(methods))]
    scale = alt.Scale(domain=list(methods), range=palette)
    return alt.Color("method:N", title=None, scale=scale, legend=alt.Legend(orient="bottom"))


def _svg(chart: alt.LayerChart) -> Markup:
    quiet: dict[str, Any] = {
        "labelColor": _INK, "titleColor": _INK, "domainColor": _INK, "tickColor": _INK,
        "gridColor": _INK, "gridOpacity": 0.14, "domainOpacity": 0.5, "tickOpacity": 0.5,
        "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal",
    }  # fmt: skip
    sized = (
        chart.properties(width=330, height=210, background="transparent")
        .configure(font="sans-serif")
        .configure_view(stroke=None)
        .configure_axis(**quiet)
        .configure_legend(labelColor=_INK, labelFontSize=11, symbolSize=70, columns=4)
    )
    svg = vl_convert.vegalite_to_svg(sized.to_dict())
    return Markup(svg.replace("<svg ", '<svg role="img" ', 1))
