"""The pages that are written with a release, and what becomes of one that cannot be made."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from markupsafe import escape

from mottle.errors import MottleError
from mottle.io.batch_source import Source
from mottle.release.certificate import Certificate
from mottle.release.data import ReleaseData
from mottle.report.content import EXAMPLES, Owner
from mottle.report.render import report_html

Page = Callable[[Certificate], str]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class InternalReport:
    """The owner's own report on a release that is being saved: where it goes, and what is added.

    ``path`` has to lie outside the release's folder.
    """

    path: Path
    owner: Owner
    examples: bool = False  # show ten rows before and after

    def page_of(self, release: ReleaseData) -> Page:
        """The page, once the certificate is known."""
        people = None
        if self.examples and release.links is not None:
            people = release.links.original_of_row[:EXAMPLES].tolist()
        return page_of(release, replace(self.owner, examples=people))

    def owner_of(self, original: Source, people: Sequence[int]) -> Owner:
        """The owner of a release whose rows came in batches; ``people`` the first records are."""
        examples = list(people) if self.examples else None
        return replace(self.owner, original=original, examples=examples)


def page_of(release: ReleaseData, owner: Owner | None = None) -> Page:
    """What makes the report when the release is written, checksums and all.

    Releases can take hours to compute. A defect in a chart must not cost one: then a page that
    says so takes the report's place, with a warning, and ``mottle report`` can make it later.
    """
    return partial(_page, release, owner)


def _page(release: ReleaseData, owner: Owner | None, certificate: Certificate) -> str:
    try:
        return report_html(release, certificate, owner)
    except MottleError:
        raise
    except Exception as error:
        _log.warning(
            "The report could not be made (%s); 'mottle report' tries again.", type(error).__name__
        )
        return _APOLOGY.format(
            error=escape(type(error).__name__),
            statement=escape(certificate.guarantee.statement),
        )


_APOLOGY = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Anonymization report</title></head>
<body>
<h1>Anonymization report</h1>
<p>{statement}</p>
<p>The rest of this report could not be made ({error}), which is a defect in mottle. The release
itself is complete; certificate.json says what was checked. <code>mottle report FOLDER</code> makes
the report again.</p>
</body>
</html>
"""
