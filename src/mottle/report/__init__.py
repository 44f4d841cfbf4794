"""The report for a data-protection officer: one HTML file that needs nothing else.

Two flavours. The *publishable* one goes with the release and says nothing that the release and its
certificate do not say. The *internal* one is for the owner: it compares with the original.
"""

from mottle.report.content import EXAMPLES, Content, Owner, gather
from mottle.report.pages import InternalReport, page_of
from mottle.report.parts import Parts
from mottle.report.render import render, report_html

__all__ = [
    "EXAMPLES",
    "Content",
    "InternalReport",
    "Owner",
    "Parts",
    "gather",
    "page_of",
    "render",
    "report_html",
]
