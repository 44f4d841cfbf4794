"""The figures of README, documentation and paper are those of the kept results."""

from __future__ import annotations

import re
import runpy

import pytest
from paths import DOCS, ROOT

TOOL = runpy.run_path(str(ROOT / "tools" / "figures.py"))
README = ROOT / "README.md"
RESULTS_PAGE = DOCS / "results.md"
PAPER = ROOT / "paper" / "paper.md"
COMMENT = re.compile(r"<!-- [a-z]+[\w-]*(?: \d)?:")


def test_figures_are_those_of_kept_results() -> None:
    for page in TOOL["PAGES"]:
        text = page.read_text("utf-8")
        assert TOOL["filled"](text) == text, f"{page.name}: run python tools/figures.py"
        assert len(COMMENT.findall(text)) == len(TOOL["CELL"].findall(text)), page.name


@pytest.mark.parametrize(
    ("page", "figure", "other"),
    [
        (README, "| **0.0167** |", "| **0.0169** |"),
        (README, "92<!--", "93<!--"),
        (RESULTS_PAGE, "2.07<!--", "2.1<!--"),
        (PAPER, "92<!--", "93<!--"),
        (PAPER, "1.37<!--", "1.4<!--"),
    ],
)
def test_a_changed_figure_is_put_right(page, figure: str, other: str) -> None:
    text = page.read_text("utf-8")
    assert figure in text, "the result was made anew: adapt this test"
    assert TOOL["filled"](text.replace(figure, other)) == text


@pytest.mark.parametrize(
    "cell",
    [
        "no-such-result: 10 | nh",
        "freeform-rivals: 11 | nh",
        "freeform-rivals: 10 | no such column",
        "freeform-adult: 30,162 | nh",  # several rows
    ],
)
def test_a_cell_that_does_not_exist_is_named(cell: str) -> None:
    with pytest.raises(LookupError, match=r"names no cell|has no"):
        TOOL["filled"](f"0.1<!-- {cell} -->")


def unmarked(text: str) -> str:
    """A page without tables, numbers from results, code, citations and options of a guarantee."""
    text = TOOL["CELL"].sub("", TOOL["PLACE"].sub("", text))
    text = re.sub(r"```.*?```|`[^`\n]*`|\[@[^\]]*\]|\]\([^)]*\)", "", text, flags=re.DOTALL)
    return re.sub(r"[kℓβ] = \d+(?:, \d+)*(?: and \d+)?|\b1/[kℓ]|k − 1", "", text)


def test_readme_has_no_figure_that_no_result_is_named_for() -> None:
    assert re.findall(r"\d+\.\d{3,}|\d,\d{3}|\d+ (?:%|s|GB)\b", unmarked(README.read_text())) == []


def test_paper_has_no_number_that_no_result_is_named_for() -> None:
    body = PAPER.read_text("utf-8").split("---\n", 2)[2]
    assert len(TOOL["CELL"].findall(body)) >= 20
    assert re.findall(r"\S*(?<![\w-])\d\S*", unmarked(body)) == []


def test_no_world_was_struck_out_as_the_paper_says() -> None:
    headings, *rows = TOOL["tables_of"]("sensitive-decision")[0]
    column = headings.index("struck out (after)")
    assert len(rows) > 20
    assert all(row[column].startswith("0 of ") for row in rows)


def test_readme_fits_on_a_screen() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= 70


def test_every_picture_is_in_the_gallery_or_on_a_page() -> None:
    pages = "".join(page.read_text("utf-8") for page in DOCS.glob("*.md"))
    for picture in (DOCS / "images").rglob("*.*"):
        assert f"](images/{picture.relative_to(DOCS / 'images').as_posix()})" in pages
