"""The report for a data-protection officer: a single, self-contained HTML file.

There are two kinds. The *publishable* report accompanies the release and says nothing that the
release and its certificate do not say. The *internal* report is for the owner: it compares the
release with the original.
"""

from mottle.report.content import EXAMPLES, Content, Owner, gather_content
from mottle.report.render import render, report_html
from mottle.report.report import InternalReport, page_of

__all__ = [
    "EXAMPLES",
    "Content",
    "InternalReport",
    "Owner",
    "gather_content",
    "page_of",
    "render",
    "report_html",
]
