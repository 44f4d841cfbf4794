"""Reports in a real browser: nothing is loaded, nothing fails, and the page fits."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mottle import KAnonymity, LDiversity, Release, Schema, anonymize
from mottle.comparison.compare import compare
from mottle.comparison.html import comparison_html
from mottle.itemsets.data import ItemSets
from mottle.pipeline import streaming
from mottle.pipeline.anonymize_sets import anonymize_sets
from mottle.report import InternalReport, Owner, report_html


@pytest.fixture(scope="module")
def pages(
    people: tuple[pa.Table, Schema], release: Release, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Every kind of report there is."""
    table, _ = people
    assert release.links is not None
    examples = release.links.original_of_row[:10].tolist()
    owner = Owner(table, "mottle anonymize people.csv <b>&", "people.csv", examples)
    apart = anonymize(*people, LDiversity(3), method="anatomy", seed=1)
    audited = anonymize(*people, KAnonymity(4), audit="full", representation="set", seed=1)
    compared = compare(*people, [KAnonymity(3), KAnonymity(5)], ["hilbert", "mondrian"])
    held = ItemSets.of([{"milk", "tea"}, {"milk"}, {"tea"}, {"rum"}], ["a", "b", "a", "b"])
    baskets = anonymize_sets(held, KAnonymity(2), seed=1)
    assert baskets.links is not None
    shoppers = Owner(held, examples=baskets.links.original_of_row.tolist())
    html = {
        "publishable": report_html(release),
        "internal": report_html(release, owner=owner),
        "apart": report_html(apart),
        "audited": report_html(audited),
        "sets": report_html(baskets),
        "sets, internal": report_html(baskets, owner=shoppers),
        "compared": comparison_html(compared),
    }
    folder = tmp_path_factory.mktemp("pages")
    html |= _in_chunks(*people, folder)
    for name, text in html.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in html}


def _in_chunks(table: pa.Table, schema: Schema, folder: Path) -> dict[str, str]:
    """Reports of a release that was made chunk by chunk."""
    pq.write_table(table, folder / "people.parquet")
    internal = InternalReport(folder / "internal", Owner(None), examples=True)
    streaming.anonymize(
        folder / "people.parquet",
        schema,
        KAnonymity(4),
        folder / "out",
        chunk_rows=14,
        internal=internal,
    )
    public = (folder / "out" / "report.html").read_text(encoding="utf-8")
    return {"chunked": public, "chunked, internal": internal.path.read_text(encoding="utf-8")}


REPORTS = [
    "publishable",
    "internal",
    "apart",
    "audited",
    "sets",
    "sets, internal",
    "chunked",
    "chunked, internal",
]
Faults = Callable[[list[Path]], list[str]]
KINDS = [*REPORTS, "compared"]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_requested_but_the_file_and_nothing_is_complained_about(
    browser, pages: dict[str, Path], kind: str
) -> None:
    browser.open(pages[kind])
    asked = [url for url in browser.requests if not url.startswith("data:")]
    assert asked == [pages[kind].as_uri()]
    assert browser.complaints == []
    assert browser.run("document.scripts.length") == 0
    headings = browser.run("document.querySelectorAll('h2').length")
    assert headings >= (6 if kind in REPORTS else 2)


def test_a_page_that_does_load_and_complain_is_noticed(browser, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        "<!DOCTYPE html><title>bad</title><script>console.error('x'); nothing()</script>"
        '<img src="http://127.0.0.1:9/x.png" alt="">'
    )
    browser.open(page)
    assert "http://127.0.0.1:9/x.png" in browser.requests
    assert len(browser.complaints) >= 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [360, 1100])
def test_page_is_no_wider_than_the_screen(browser, pages, kind: str, width: int) -> None:
    browser.open(pages[kind], width=width)
    assert browser.run("document.documentElement.scrollWidth") <= width
    lines = "dd => dd.clientHeight / parseFloat(getComputedStyle(dd).lineHeight)"
    most = browser.run(f"Math.max(0, ...[...document.querySelectorAll('.card dd')].map({lines}))")
    assert most < 3.5, "figures of a column are broken into letters"


def test_dark_and_light_have_readable_contrast(browser, pages) -> None:
    lightness = (
        "(part => { const n = getComputedStyle(document.body)[part].match(/[0-9.]+/g).map(Number);"
        " return (n[0] + n[1] + n[2]) / 765 })"
    )
    for scheme, is_dark in (("light", False), ("dark", True)):
        browser.open(pages["publishable"], scheme=scheme)
        paper = browser.run(f"{lightness}('backgroundColor')")
        ink = browser.run(f"{lightness}('color')")
        assert (paper < ink) is is_dark
        assert abs(paper - ink) > 0.6


@pytest.mark.parametrize(
    ("kind", "charts"), [("internal", 6), ("chunked, internal", 6), ("sets, internal", 5)]
)
def test_charts_are_drawn(browser, pages, kind: str, charts: int) -> None:
    browser.open(pages[kind])
    assert browser.run("document.querySelectorAll('svg.chart').length") == charts
    widths = "[...document.querySelectorAll('svg.chart .bar')].map(bar => bar.getBBox().width)"
    assert browser.run(f"Math.max(...{widths})") > 50
    assert browser.run("document.querySelectorAll('svg.chart .before').length") >= 6


@pytest.mark.parametrize("kind", ["internal", "sets, internal", "chunked"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_prints_dark_on_white(browser, pages, scheme: str, kind: str) -> None:
    browser.open(pages[kind], scheme=scheme)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.send("Emulation.setEmulatedMedia", media="print", features=features)
    paper = browser.run("getComputedStyle(document.body).backgroundColor")
    ink = browser.run("getComputedStyle(document.body).color")
    assert (paper, ink) == ("rgb(255, 255, 255)", "rgb(0, 0, 0)")
    assert browser.pdf().startswith(b"%PDF")


def test_html_is_valid(pages: dict[str, Path], faults_of: Faults) -> None:
    assert faults_of([pages[kind] for kind in KINDS]) == []


def test_validator_finds_faults(tmp_path: Path, faults_of: Faults) -> None:
    page = tmp_path / "bad.html"
    page.write_text("<!DOCTYPE html><html lang=en><title>x</title><p><table><p></table>")
    assert faults_of([page])


A4_WIDTH, A4_HEIGHT = 673, 994  # CSS pixels inside the margins of the style sheet


def printed(browser, page: Path) -> tuple[float, int]:
    """Where the first page's content ends on paper, and the number of pages."""
    browser.open(page)
    pages = len(re.findall(rb"/Type\s*/Page\b", browser.pdf()))
    browser.send(
        "Emulation.setDeviceMetricsOverride",
        width=A4_WIDTH,
        height=A4_HEIGHT,
        deviceScaleFactor=1,
        mobile=False,
    )
    browser.send("Emulation.setEmulatedMedia", media="print", features=[])
    ends = browser.run("document.querySelector('#summary').getBoundingClientRect().bottom")
    browser.send("Emulation.setEmulatedMedia", media="", features=[])
    return float(ends), pages


@pytest.mark.parametrize("kind", ["publishable", "internal", "apart", "audited", "sets"])
def test_what_an_officer_signs_fits_one_printed_page(browser, pages, kind: str) -> None:
    ends, count = printed(browser, pages[kind])
    assert 200 < ends < A4_HEIGHT
    assert count > 1


def test_many_columns_do_not_make_many_pages(browser, tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    table = pa.table({f"question_{place:02d}": random.integers(0, 6, 60) for place in range(48)})
    schema = Schema.of(
        quasi_identifying=table.column_names[:20],
        rest="insensitive",
        context={"purpose": "long " * 60, "controls": ["one", "two"], "checklists": "wp216"},
    )
    release = anonymize(table, schema, KAnonymity(3), effort=0, seed=1)
    (tmp_path / "wide.html").write_text(report_html(release), encoding="utf-8")
    ends, count = printed(browser, tmp_path / "wide.html")
    assert ends < A4_HEIGHT
    assert count <= 12
