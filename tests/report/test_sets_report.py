"""Reports of sets say what those of tables say; only the owner's compares with the original."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import numpy as np
import pytest

import mottle
from mottle import DataError, KAnonymity, LDiversity, SetRelease, UsageError
from mottle.itemsets.data import ItemSets
from mottle.report import InternalReport, Owner, gather_content, report_html, set_body
from mottle.report.reproduce import command_of_sets

LABELS = ["flu", "cold", "none"]


@pytest.fixture(scope="module")
def baskets() -> ItemSets:
    random = np.random.default_rng(3)
    held = [
        {f"item {int(item)}" for item in random.geometric(0.25, random.integers(0, 9))}
        for _ in range(200)
    ]
    return ItemSets.of(held, [LABELS[row % 3] for row in range(200)], "illness")


@pytest.fixture(scope="module")
def release(baskets: ItemSets) -> SetRelease:
    return mottle.anonymize_sets(baskets, KAnonymity(4), effort=0)


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.partition("<body")[2]))


def test_publishable_report_is_made_of_the_published_files_alone(release, tmp_path: Path) -> None:
    certificate = release.save(tmp_path / "out")
    written = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert written == report_html(mottle.read_set_release(tmp_path / "out"))
    assert written == report_html(release, certificate)
    assert 'class="before"' not in written
    assert "true error" not in written


def test_it_says_guarantee_items_sizes_labels_attacks_and_how_to_reproduce_it(
    release, tmp_path: Path
) -> None:
    certificate = release.save(tmp_path / "out")
    text = text_of((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert "at least 4 records that may be theirs" in text
    assert "all items of that person" in text
    for words in ("item 1", "uncertain items per record", "distance", "illness", "linkage"):
        assert words in text
    for checksum in certificate.sha256.values():
        assert checksum in text
    assert "mottle anonymize-sets DATA --k 4 --method auto --sensitive-label illness" in text
    assert [line.question for line in gather_content(release, certificate).accuracy] == [
        "1 item",
        "all of 2 items",
        "all of 3 items",
        "none of 2 items",
        "none of 4 items",
    ]


def test_internal_report_compares_and_only_its_owner_reads_it(
    release, baskets: ItemSets, tmp_path: Path
) -> None:
    owner = Owner(baskets, "mottle anonymize-sets baskets.dat", "baskets.dat")
    internal = InternalReport(tmp_path / "mine" / "internal.html", owner, examples=True)
    release.save(tmp_path / "out", internal=internal)
    assert stat.S_IMODE(internal.path.stat().st_mode) == 0o600
    page = internal.path.read_text(encoding="utf-8")
    text = text_of(page)
    assert "Ten people before and after" in text
    assert "SET12’s QE, type I" in text
    assert 'class="before"' in page
    found = gather_content(release, release.certificate, owner)
    assert all(line.within_bounds == 1.0 for line in found.accuracy)
    assert all(line.true_error is not None for line in found.accuracy)


def test_bars_of_items_are_counts_of_base_sets_and_their_bounds(release) -> None:
    cells = release.table.column(0).to_pylist()
    chart = str(gather_content(release, release.certificate).columns[0].chart)
    shown = re.findall(
        r"<title>(.*?): ([0-9.]+) %(?:, between ([0-9.]+) % and ([0-9.]+) %)?", chart
    )
    assert shown
    for item, share, lowest, highest in shown:
        base = sum(item in cell["base"] for cell in cells)
        certain = sum(item in cell["base"] and item not in cell["uncertain"] for cell in cells)
        possible = sum(item in cell["base"] or item in cell["uncertain"] for cell in cells)
        for percentage, count in (
            (share, base),
            (lowest or share, certain),
            (highest or share, possible),
        ):
            assert float(percentage) == pytest.approx(100 * count / len(cells), abs=0.06)


@pytest.mark.parametrize("held", [[set(), set(), set()], [{"only"}, {"only"}, {"only"}, set()]])
def test_odd_sets_have_reports(held: list[set[str]]) -> None:
    release = mottle.anonymize_sets(held, KAnonymity(2))
    owner = Owner(ItemSets.of(held))
    assert "at least 2 records" in text_of(report_html(release, owner=owner))


def test_items_are_written_as_text_and_not_as_html() -> None:
    held = [{"<script>alert(1)</script>"}, {"<script>alert(1)</script>", "&"}, {"&"}, {""}]
    html = report_html(mottle.anonymize_sets(held, KAnonymity(2)))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_sensitive_labels_are_promised_and_shown(baskets: ItemSets) -> None:
    release = mottle.anonymize_sets(baskets, LDiversity(2), effort=0)
    text = text_of(report_html(release))
    assert "no sensitive value with a confidence above 1 in 2" in text
    assert "highest share of a sensitive value" in text


def test_another_original_is_refused(release, baskets: ItemSets) -> None:
    with pytest.raises(DataError, match="records"):
        report_html(release, owner=Owner(ItemSets.of([{"a"}, {"b"}])))
    with pytest.raises(UsageError, match="file of sets"):
        report_html(release, owner=Owner(mottle.datasets.population(200)))


def test_a_defect_in_the_report_does_not_cost_the_release(
    release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret value 42")

    monkeypatch.setattr(set_body, "_items", broken)
    release.save(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "could not be made (ZeroDivisionError)" in page
    assert "42" not in page + caplog.text
    assert mottle.read_set_release(tmp_path / "out").table.equals(release.table)


def test_options_of_a_run_are_in_its_command() -> None:
    release = mottle.anonymize_sets(
        [{"a"}, {"b"}, {"c"}], KAnonymity(3), method="gray-ring", walk="backtracking", seed=5
    )
    assert command_of_sets(release.certificate) == (
        "mottle anonymize-sets DATA --k 3 --method gray-ring --walk backtracking --seed 5"
        " -o released"
    )
