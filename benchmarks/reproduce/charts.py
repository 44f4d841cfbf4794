"""The chart of a figure: its panels side by side, as in the paper."""

from __future__ import annotations

from typing import Any

import altair as alt
import vl_convert

from benchmarks.reproduce.figure import Figure, Found, Panel, X

COLOURS = (
    "#2b8ca0",
    "#d9822b",
    "#8a63c9",
    "#4c9f50",
    "#cf4f5f",
    "#7f8790",
    "#b08a2e",
    "#3f77c8",
    "#9c5a3c",
    "#5a5a5a",
)
PAPER = " (paper)"
_WIDTH, _HEIGHT, _IN_A_ROW = 215, 165, 3


def svg_of(found: Found) -> str | None:
    """The chart as SVG; None while nothing has been measured."""
    charts = [chart for panel in found.figure.panels if (chart := _panel(found, panel)) is not None]
    if not charts:
        return None
    chart = alt.concat(*charts, columns=min(_IN_A_ROW, len(charts)), background="white")
    chart = (
        chart.resolve_scale(color="shared", strokeDash="shared")
        .configure(font="sans-serif", aria=False)
        .configure_axis(labelFontSize=9, titleFontSize=9, titleFontWeight="normal", gridOpacity=0.4)
        .configure_legend(labelFontSize=9, title=None, orient="bottom", columns=6, labelLimit=260)
        .configure_title(fontSize=10, fontWeight="normal", anchor="start")
        .configure_view(stroke="#bbbbbb")
    )
    svg: str = vl_convert.vegalite_to_svg(chart.to_dict())
    return svg + "\n"


def _panel(found: Found, panel: Panel) -> alt.LayerChart | None:
    figure = found.figure
    values = _values(found, panel)
    if not values:
        return None
    series = list(dict.fromkeys(point.series for point in figure.points))
    names = series + [
        name + PAPER for name in series if any(each[1] == name for each in figure.printed)
    ]
    numeric = all(isinstance(value["x"], int | float) for value in values)
    x = alt.X(
        "x:Q" if numeric else "x:N",
        title=panel.x_title or figure.x_title,
        sort=None,
        scale=alt.Scale(type="log" if panel.log_x else "linear", zero=False)
        if numeric
        else alt.Undefined,
        axis=alt.Axis(tickCount=6, format=_format(values, "x"))
        if numeric
        else alt.Axis(labelAngle=-30),
    )
    y = alt.Y(
        "y:Q",
        title=panel.y_title,
        scale=alt.Scale(type="log" if panel.log_y else "linear"),
        axis=alt.Axis(tickCount=5, format=_format(values, "y")),
    )
    colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(series)}
    colour = alt.Color(
        "series:N",
        scale=alt.Scale(domain=names, range=[colours[n.removesuffix(PAPER)] for n in names]),
    )
    dash = alt.StrokeDash(
        "series:N",
        scale=alt.Scale(
            domain=names, range=[[4, 3] if n.endswith(PAPER) else [1, 0] for n in names]
        ),
    )
    base = alt.Chart({"values": values}, title=panel.title, width=_WIDTH, height=_HEIGHT).encode(
        x=x, y=y, color=colour
    )
    return base.mark_line(strokeWidth=1.3).encode(strokeDash=dash) + base.transform_filter(
        alt.datum.paper == False  # noqa: E712 - an expression of the chart
    ).mark_point(filled=True, size=18, opacity=1)


def _values(found: Found, panel: Panel) -> list[dict[str, Any]]:
    """Ours and the paper's numbers of a panel."""
    figure: Figure = found.figure
    values = []

    def add(series: str, x: X, y: float | None, paper: bool) -> None:
        if y is not None and not (panel.log_y and y <= 0):
            values.append({"series": series, "x": x, "y": float(f"{y:.4g}"), "paper": paper})

    for point in figure.points:
        if point.group == panel.group:
            y = found.value(point.series, point.x, panel.measure, point.group)
            add(point.series, point.x, y, False)
    if values:
        for (group, series, x), numbers in figure.printed.items():
            if group == panel.group:
                add(series + PAPER, x, numbers.get(panel.measure), True)
    return values


def _format(values: list[dict[str, Any]], axis: str) -> str:
    """Large numbers with a letter for thousands or millions, others as they are."""
    return "~s" if max(abs(value[axis]) for value in values) >= 10_000 else ".6~r"
