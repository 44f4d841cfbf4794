"""The report for a data-protection officer: one HTML file that needs nothing else.

Two flavours. The *publishable* one goes with the release and says nothing that the release and its
certificate do not say. The *internal* one is for the owner: it compares with the original.
"""

from mottle.report.content import EXAMPLES, Content, Owner, gather
from mottle.report.render import render, report_html
from mottle.report.report import InternalReport, page_of

__all__ = [
    "EXAMPLES",
    "Content",
    "InternalReport",
    "Owner",
    "gather",
    "page_of",
    "render",
    "report_html",
]
