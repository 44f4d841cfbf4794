"""Everything a report says, gathered before any HTML is written."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mottle.release.certificate import Certificate, LimitFacts
from mottle.release.data import ReleaseData
from mottle.release.set_release import SetReleaseData
from mottle.report import set_body, table_body
from mottle.report.body import EXAMPLES, Body, Examples, Owner
from mottle.report.checklists import Checklist, checklists_of
from mottle.report.columns import roles
from mottle.report.summary import Summary, summary_of
from mottle.report.wording import Promise, checks, holds_against, limits, promises, unit, warnings
from mottle.schema.model import Role
from mottle.utils.steps import Announced, Step

__all__ = ["EXAMPLES", "Content", "Examples", "Owner", "gather_content"]

_PAGE = "page"
_LIBRARIES = ("numpy", "numba", "scipy", "pyarrow", "duckdb")


@dataclass(frozen=True, kw_only=True)
class Content(Body):
    """The complete content of a report, ready to be rendered.

    Attributes
    ----------
    internal : bool
        Whether the report is for the owner only.
    certificate : Certificate
        The certificate that is written with the release.
    roles : mapping of Role to list of str
        The columns by role.
    promises : list of Promise
        The guarantees, in plain words and precisely.
    holds_against : str
        Against whom they hold.
    limits : list of LimitFacts
        What is not promised.
    warnings : list of str
        Reasons not to publish.
    notes : list of str
        Other notes of the certificate.
    checks : list of tuple of str and bool
        What was checked, and whether it holds.
    versions : dict of str to str
        The versions of mottle, Python and libraries.
    date : str
        The day of the report.
    unit : str
        What one row is taken for.
    source : str
        Where the original was read from; empty unless the report is internal.
    findings : sequence
        What adversaries achieved: as on the certificate or, in an internal report of a run with a
        full audit, as their owner sees it.
    summary : Summary
        What the first page says besides.
    checklists : list of Checklist
        Those that are asked for, filled in.
    """

    internal: bool
    certificate: Certificate
    roles: Mapping[Role, list[str]]
    promises: list[Promise]
    holds_against: str
    limits: list[LimitFacts]
    warnings: list[str]
    notes: list[str]
    checks: list[tuple[str, bool]]
    versions: dict[str, str]
    date: str
    unit: str
    summary: Summary
    checklists: list[Checklist]
    source: str = ""
    findings: Sequence[Any] = ()

    @property
    def all_findings(self) -> bool:
        """Whether findings include those that only the owner may see."""
        return any(getattr(finding, "public", True) is False for finding in self.findings)

    @property
    def exact(self) -> float | None:
        """Share of the cells of generalized columns that have a single value; None without any."""
        shares = [column.exact for column in self.columns if column.exact is not None]
        return sum(shares) / len(shares) if shares else None

    @property
    def typical_error(self) -> tuple[str, float] | None:
        """The typical relative error of counts with two conditions, or one, as the release says."""
        if self.of_sets or not self.accuracy:
            return None
        shown = self.accuracy[min(1, len(self.accuracy) - 1)]
        error = shown.standard_error if shown.true_error is None else shown.true_error
        return None if math.isnan(error) else (shown.question, error)

    @property
    def survey_weight(self) -> str | None:
        """The column of sampling weights, if it is published."""
        name = self.certificate.survey_weight
        return name if name in {column.name for column in self.columns} else None


def gather_content(
    release: ReleaseData,
    certificate: Certificate,
    owner: Owner | None = None,
    on_progress: Callable[[Step], None] | None = None,
) -> Content:
    """Gather everything a report says about a release of a table or of sets.

    Parameters
    ----------
    release : ReleaseData
        The release; a `SetReleaseData` for sets.
    certificate : Certificate
        The certificate that is written with it.
    owner : Owner, optional
        What only the owner knows, for an internal report. Without it, the content has nothing
        beyond the release and its certificate.
    on_progress : callable, optional
        Called with every `Step`.

    Returns
    -------
    Content

    Raises
    ------
    UsageError
        The owner's original is not of the right type.
    DataError
        The release was not made from the owner's original.
    """
    if isinstance(release, SetReleaseData):
        steps = Announced(on_progress, [*set_body.STEPS, _PAGE])
        body = set_body.sets_body(release, certificate, owner, steps)
    else:
        steps = Announced(on_progress, [*table_body.STEPS, _PAGE])
        body = table_body.table_body(release, certificate, owner, steps)
    steps.begin(_PAGE, "Making the page")
    shown_warnings = list(warnings(certificate))
    today = dt.date.today()
    worded = certificate.worded
    return Content(
        **vars(body),
        internal=owner is not None,
        certificate=certificate,
        roles=roles(certificate),
        promises=[
            replace(promise, plain_text=worded(promise.plain_text))
            for promise in promises(certificate, of_sets=body.of_sets)
        ],
        holds_against=worded(holds_against(certificate, of_sets=body.of_sets)),
        limits=limits(certificate),
        warnings=shown_warnings,
        notes=[note for note in certificate.notes if note not in shown_warnings],
        checks=[(worded(words), passed) for words, passed in checks(certificate)],
        versions=_versions(certificate),
        date=f"{today.day} {today:%B %Y}",
        unit=unit(certificate),
        summary=summary_of(certificate),
        checklists=checklists_of(certificate),
        source="" if owner is None else owner.source,
        findings=_findings(release, certificate, internal=owner is not None),
    )


def _findings(release: ReleaseData, certificate: Certificate, *, internal: bool) -> Sequence[Any]:
    """The findings of the certificate; for the owner all of them, if the run made a full audit."""
    if internal and release.audited is not None:
        return tuple(release.audited.findings)
    return () if certificate.audit is None else certificate.audit.findings


def _versions(certificate: Certificate) -> dict[str, str]:
    """The versions of mottle, Python and the libraries it uses."""
    known = {"mottle": certificate.mottle, "Python": platform.python_version()}
    return known | {name: importlib.metadata.version(name) for name in _LIBRARIES}
