"""The report pages that are written with a release, and what replaces one that fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from markupsafe import escape

from mottle.errors import MottleError, UsageError
from mottle.io.batch_source import Source
from mottle.itemsets.data import ItemSets
from mottle.release.certificate import Certificate
from mottle.release.data import ReleaseData
from mottle.report.content import EXAMPLES, Owner
from mottle.report.render import report_html

# From the finished certificate to the page's HTML.
Page = Callable[[Certificate], str]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class InternalReport:
    """The owner's internal report on a release that is being saved.

    Attributes
    ----------
    path : pathlib.Path
        Where it is written; outside the release's folder.
    owner : Owner
        What only the owner knows.
    examples : bool
        Whether to show ten rows before and after.
    """

    path: Path
    owner: Owner
    examples: bool = False

    def page_of(self, release: ReleaseData) -> Page:
        """Return the function that makes the page, once the certificate is known.

        Parameters
        ----------
        release : ReleaseData
            The release, with its links if examples are wanted.

        Returns
        -------
        callable
            From the finished certificate to the page's HTML.

        Raises
        ------
        UsageError
            Examples are asked for, but the release has no links.
        """
        people = None
        if self.examples:
            if release.links is None:
                raise UsageError(
                    "Examples need the owner's links, which this release does not have.",
                    "Leave the examples out, or use the release that a run in memory returns.",
                )
            people = release.links.original_of_row[:EXAMPLES].tolist()
        return page_of(release, replace(self.owner, examples=people))

    def owner_of(self, original: Source | ItemSets, people: Sequence[int]) -> Owner:
        """Return what the owner knows about a release whose rows were read in batches.

        Parameters
        ----------
        original : Source or ItemSets
            The original rows.
        people : sequence of int
            The original rows of the first records.

        Returns
        -------
        Owner
        """
        examples = list(people) if self.examples else None
        return replace(self.owner, original=original, examples=examples)


def page_of(release: ReleaseData, owner: Owner | None = None) -> Page:
    """Return the function that makes a report when the release is written.

    Releases can take hours to compute, and a defect in a chart must not cost one: in that case a
    page that says so takes the report's place, a warning is logged, and ``mottle report`` can make
    the report later.

    Parameters
    ----------
    release : ReleaseData
        The release.
    owner : Owner, optional
        What only the owner knows, for an internal report.

    Returns
    -------
    callable
        From the finished certificate, checksums included, to the page's HTML.
    """
    return partial(_page, release, owner)


def _page(release: ReleaseData, owner: Owner | None, certificate: Certificate) -> str:
    """The report, or a substitute page if making it fails by a defect."""
    try:
        return report_html(release, certificate, owner)
    except MottleError:
        raise
    except Exception as error:
        _log.warning(
            "The report could not be made (%s); run 'mottle report' to try again.",
            type(error).__name__,
        )
        return _SUBSTITUTE.format(
            error=escape(type(error).__name__),
            statement=escape(certificate.guarantee.statement),
        )


_SUBSTITUTE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Anonymization report</title></head>
<body>
<h1>Anonymization report</h1>
<p>{statement}</p>
<p>The rest of this report could not be made ({error}), which is a defect in mottle. The release
itself is complete; certificate.json says what was checked. Run <code>mottle report FOLDER</code> to
make the report again.</p>
</body>
</html>
"""
