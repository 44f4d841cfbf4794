"""Renders a report's content as HTML."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, select_autoescape

from mottle.release.certificate import Certificate
from mottle.release.data import ReleaseData
from mottle.report.content import Content, Owner, gather_content
from mottle.report.svg import meter, percent
from mottle.schema.model import Role


def report_html(
    release: ReleaseData, certificate: Certificate | None = None, owner: Owner | None = None
) -> str:
    """Render a release's report as HTML: the publishable one, or the owner's internal one.

    Parameters
    ----------
    release : ReleaseData
        The release.
    certificate : Certificate, optional
        The certificate that is written with the release, checksums included. Defaults to that of
        the release.
    owner : Owner, optional
        What only the owner knows; given, the report is the internal one.

    Returns
    -------
    str
        A complete HTML page.

    Raises
    ------
    UsageError
        The owner's original is not of the right type.
    DataError
        The release was not made from the owner's original.
    """
    return render(gather_content(release, certificate or release.certificate, owner))


def render(content: Content) -> str:
    """Render a report's content as HTML.

    Parameters
    ----------
    content : Content
        What the report says.

    Returns
    -------
    str
        A complete HTML page.
    """
    page = template("report.html.j2")
    return page.render(content=content, certificate=content.certificate, Role=Role)


@cache
def template(name: str) -> Template:
    """A page template of this package."""
    environment = Environment(
        loader=PackageLoader("mottle.report", "templates"),
        autoescape=select_autoescape(("html", "j2")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "meter": meter, "amount": _amount, "names": _names}
    environment.tests |= {"number": lambda value: isinstance(value, int | float)}
    return environment.get_template(name)


def _amount(value: float | None) -> str:
    """A measured number as text for people.

    >>> _amount(12345), _amount(0.012346), _amount(None)
    ('12,345', '0.01235', '–')
    """
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _names(names: list[str]) -> str:
    """Names as an enumeration in a sentence.

    >>> _names(["a", "b", "c"]), _names(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
