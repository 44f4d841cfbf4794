"""The figures of README and results are those of the kept results."""

from __future__ import annotations

import re
import runpy

import pytest
from paths import DOCS, ROOT

TOOL = runpy.run_path(str(ROOT / "tools" / "figures.py"))
README = ROOT / "README.md"


@pytest.mark.parametrize("page", TOOL["PAGES"], ids=lambda page: page.stem)
def test_tables_and_numbers_are_those_of_kept_results(page) -> None:
    text = page.read_text("utf-8")
    assert "<!-- figures " in text
    assert TOOL["filled"](text) == text, "run python tools/figures.py"
    assert TOOL["unknown_numbers"](text) == []


def test_a_changed_figure_is_noticed() -> None:
    text = README.read_text("utf-8")
    assert TOOL["filled"](text.replace("0.0168", "0.0167")) == text
    assert TOOL["unknown_numbers"]("253<!-- scale-streaming --> s") == [
        "253 is not in scale-streaming"
    ]


def test_readme_has_no_figure_that_no_result_is_named_for() -> None:
    text = TOOL["PLACE"].sub("", README.read_text("utf-8"))
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert re.findall(r"\d+\.\d{3,}|\d+ %", text) == []


def test_readme_fits_on_a_screen() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= 70


def test_every_picture_is_in_the_gallery_or_on_a_page() -> None:
    pages = "".join(page.read_text("utf-8") for page in DOCS.glob("*.md"))
    for picture in (DOCS / "images").rglob("*.*"):
        assert f"](images/{picture.relative_to(DOCS / 'images').as_posix()})" in pages
