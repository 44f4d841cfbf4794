"""From a report's content to HTML."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, select_autoescape

from mottle.release.certificate import Certificate
from mottle.release.data import ReleaseData
from mottle.report.content import Content, Owner, gather
from mottle.report.svg import meter, percent
from mottle.schema.model import Role


def report_html(
    release: ReleaseData, certificate: Certificate | None = None, owner: Owner | None = None
) -> str:
    """A release's report as HTML; the publishable flavour unless an ``owner`` asks.

    ``certificate`` is the one that is written with the release, checksums included.
    """
    return render(gather(release, certificate or release.certificate, owner))


def render(content: Content) -> str:
    """The HTML of a report."""
    page = template("report.html.j2")
    return page.render(content=content, certificate=content.certificate, Role=Role)


@cache
def template(name: str) -> Template:
    """A page of this package with blanks to fill in."""
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
    """A measured number for people.

    >>> _amount(12345), _amount(0.012346), _amount(None)
    ('12,345', '0.01235', '–')
    """
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _names(names: list[str]) -> str:
    """Names in a sentence.

    >>> _names(["a", "b", "c"]), _names(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
