"""A comparison of methods as one HTML file."""

from __future__ import annotations

import datetime as dt

from mottle._version import __version__
from mottle.comparison.charts import MEASURES, charts_of
from mottle.comparison.compare import Comparison
from mottle.report.render import template


def comparison_html(comparison: Comparison) -> str:
    """Return a comparison as one HTML page with its table and charts.

    Parameters
    ----------
    comparison : Comparison
        What `mottle.comparison.compare.compare` returned.

    Returns
    -------
    str
        The page, which needs no other file.
    """
    today = dt.date.today()
    return template("compare.html.j2").render(
        comparison=comparison,
        charts=charts_of(comparison),
        measures=MEASURES,
        version=__version__,
        date=f"{today.day} {today:%B %Y}",
    )
