"""What notebooks show: escaped, small, without scripts and without anything private."""

from __future__ import annotations

import pyarrow as pa

import mottle
from mottle.audit.report import AuditReport, Finding
from mottle.comparison.compare import Comparison, ComparisonRow
from mottle.queries import Estimate

NASTY = "<script>alert(1)</script>"


def check(html: str) -> None:
    assert html.startswith("<table>")
    assert "<script" not in html
    assert "<a " not in html
    assert "javascript" not in html
    assert len(html) < 20_000


def test_estimates_show_the_digits_that_their_error_allows() -> None:
    html = Estimate(3.85, 1, 9, 0.035)._repr_html_()
    check(html)
    assert "3.850" in html
    assert "0.035" in html
    assert str(Estimate(3.85, 1, 9, 0.035)).startswith("3.850 ± 0.035")
    assert str(Estimate(7, 7, 7, 0)) == "7 ± 0 (between 7 and 7 for certain)"


def test_releases_show_published_cells_and_not_the_links() -> None:
    names = [f"{NASTY}{row}" for row in range(40)]
    table = pa.table({"name": names, "age": list(range(20, 60)), NASTY: ["x" * 100] * 40})
    schema = mottle.Schema.of(identifying=["name"], quasi_identifying=["age"], insensitive=[NASTY])
    release = mottle.anonymize(table, schema, mottle.KAnonymity(4), seed=1)
    html = release._repr_html_()
    check(html)
    assert "40 rows" in html
    assert html.count("<tr>") == 7  # names, five rows, one for all others
    assert "x" * 41 not in html
    assert "&lt;script&gt;" in html
    check(schema._repr_html_())
    assert "quasi-identifying" in schema._repr_html_()


def test_reports_and_comparisons_show_figures_only() -> None:
    private = {"rows": ["Ada Lovelace"]}
    finding = Finding("linkage", NASTY, "all", "share", 0.25, 0.2, False, private)
    html = AuditReport(40, None, (finding,))._repr_html_()
    check(html)
    assert "FAILS" in html
    assert "Ada" not in html
    line = ComparisonRow(NASTY, "k = 5", loss=0.123456, seconds=1.0)
    html = Comparison(40, (line,), None, 3)._repr_html_()
    check(html)
    assert "0.1235" in html
