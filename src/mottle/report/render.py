"""Renders a report's content as HTML."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache

from jinja2 import (
    Environment,
    FileSystemBytecodeCache,
    PackageLoader,
    StrictUndefined,
    Template,
    select_autoescape,
)

from mottle.release.certificate import Certificate
from mottle.release.data import ReleaseData
from mottle.release.unit_words import about
from mottle.report.content import Content, Owner, gather_content
from mottle.report.svg import meter, percent
from mottle.schema.model import Role, Unit
from mottle.utils.private_folders import cache_home, private_folder
from mottle.utils.steps import Step


def report_html(
    release: ReleaseData,
    certificate: Certificate | None = None,
    owner: Owner | None = None,
    on_progress: Callable[[Step], None] | None = None,
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
    on_progress : callable, optional
        Called with every `Step`.

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
    content = gather_content(release, certificate or release.certificate, owner, on_progress)
    return render(content)


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
    unit = content.certificate.unit
    page = template("report.html.j2", Unit.PERSON if unit is None else unit.protects)
    return page.render(content=content, certificate=content.certificate, Role=Role)


class _WordedLoader(PackageLoader):
    """Loads templates whose own words are about what is protected; what they insert is left."""

    def __init__(self, protects: Unit) -> None:
        super().__init__("mottle.report", "templates")
        self._worded = about(protects)

    def get_source(
        self, environment: Environment, template: str
    ) -> tuple[str, str, Callable[[], bool] | None]:
        """Return the source of a template, its path, and whether it is up to date."""
        source, path, current = super().get_source(environment, template)
        parts = re.split(r"(\{\{.*?\}\}|\{%.*?%\})", source, flags=re.DOTALL)
        worded = [
            re.sub(r'"[^"]* [^"]*"', lambda text: self._worded(text[0]), part)
            if part.startswith("{")
            else self._worded(part)
            for part in parts
        ]
        return "".join(worded), path, current


@cache
def template(name: str, protects: Unit = Unit.PERSON) -> Template:
    """A page template of this package, in words about what is protected."""
    environment = Environment(
        loader=_WordedLoader(protects),
        autoescape=select_autoescape(("html", "j2")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_compiled_templates(str(protects)),
    )
    environment.filters |= {"percent": percent, "meter": meter, "amount": _amount, "names": _names}
    environment.filters["figure"] = figure
    environment.tests |= {"number": lambda value: isinstance(value, int | float)}
    return environment.get_template(name)


def figure(value: float | None) -> str:
    """A number of an answer, as short as its size allows; a dash where there is none.

    >>> figure(1234.0), figure(1234.56), figure(0.01234), figure(None)
    ('1,234', '1,234.6', '0.0123', '–')
    """
    if value is None or value != value:
        return "–"
    if value == round(value):
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:,.3g}"


def _compiled_templates(words: str) -> FileSystemBytecodeCache | None:
    """A private folder for compiled templates; None where there is no place for one.

    Whoever can write to it can run code as its user, so it is as private as that of the kernels.
    """
    place = cache_home()
    if place is None or sys.dont_write_bytecode:
        return None
    try:
        folder = private_folder(place, "mottle-templates")
    except OSError:
        return None
    return FileSystemBytecodeCache(str(folder), f"{words}-%s.cache")


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
