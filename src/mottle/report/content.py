"""Everything a report says, gathered before a word of HTML is written."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import dataclass

from mottle.release.certificate import Certificate
from mottle.release.data import ReleaseData
from mottle.release.set_release import SetReleaseData
from mottle.report.body import EXAMPLES, Body, Examples, Owner
from mottle.report.columns import roles
from mottle.report.set_body import sets_body
from mottle.report.table_body import table_body
from mottle.report.wording import Promise, checks, limits, promises, warnings
from mottle.schema.model import Role

__all__ = ["EXAMPLES", "Content", "Examples", "Owner", "gather"]

_LIBRARIES = ("numpy", "numba", "scipy", "pyarrow", "duckdb")


@dataclass(frozen=True, kw_only=True)
class Content(Body):
    """A report, ready to be written down."""

    internal: bool
    certificate: Certificate
    roles: Mapping[Role, list[str]]
    promises: list[Promise]
    limits: list[str]
    warnings: list[str]
    notes: list[str]
    checks: list[tuple[str, bool]]
    versions: dict[str, str]
    date: str
    source: str = ""


def gather(
    release: ReleaseData,
    certificate: Certificate,
    owner: Owner | None = None,
) -> Content:
    """All that a report says about a release of a table or of sets.

    Without ``owner`` it holds nothing beyond the release and its certificate.
    """
    if isinstance(release, SetReleaseData):
        body = sets_body(release, certificate, owner)
    else:
        body = table_body(release, certificate, owner)
    said = list(warnings(certificate))
    today = dt.date.today()
    return Content(
        **vars(body),
        internal=owner is not None,
        certificate=certificate,
        roles=roles(certificate),
        promises=promises(certificate.guarantee, of_sets=body.of_sets),
        limits=list(limits(certificate)),
        warnings=said,
        notes=[note for note in certificate.notes if note not in said],
        checks=checks(certificate),
        versions=_versions(certificate),
        date=f"{today.day} {today:%B %Y}",
        source="" if owner is None else owner.source,
    )


def _versions(certificate: Certificate) -> dict[str, str]:
    known = {"mottle": certificate.mottle, "Python": platform.python_version()}
    return known | {name: importlib.metadata.version(name) for name in _LIBRARIES}
