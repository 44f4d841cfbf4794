"""A comparison of methods as one HTML file."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from mottle._version import __version__
from mottle.comparison.compare import Comparison
from mottle.report.render import template
from mottle.utils.lazy import lazy_module
from mottle.utils.optional import load_optional

if TYPE_CHECKING:
    from mottle.comparison import charts
else:
    charts = lazy_module("mottle.comparison.charts")  # which needs the extra "charts"


def check_charts() -> None:
    """Check that what draws charts is installed.

    Raises
    ------
    UsageError
        It is not; the error names the extra that installs it.
    """
    for module, package in (("altair", "altair"), ("vl_convert", "vl-convert-python")):
        load_optional(module, package, "mottle[charts]")


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

    Raises
    ------
    UsageError
        What draws charts is not installed.
    """
    check_charts()
    today = dt.date.today()
    return template("compare.html.j2").render(
        comparison=comparison,
        charts=charts.charts_of(comparison),
        measures=charts.MEASURES,
        version=__version__,
        date=f"{today.day} {today:%B %Y}",
    )
