"""Names and paths in the documentation lead to things that exist."""

from __future__ import annotations

import re

import pytest
from names import exists, names_in
from paths import DOCS, ROOT

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(DOCS.glob("*.md")),
]
FOLDERS = ("src/", "tests/", "docs/", "benchmarks/", "tools/")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_in_the_documentation_exist(page) -> None:
    missing = [name for name in names_in(page.read_text("utf-8")) if not exists(name)]
    assert not missing, f"{page.name}: {', '.join(missing)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_paths_in_the_documentation_exist(page) -> None:
    quoted = re.findall(r"`([\w/.-]+)`", page.read_text("utf-8"))
    paths = [path for path in quoted if path.startswith(FOLDERS)]
    missing = [path for path in paths if not (ROOT / path).exists()]
    assert not missing, f"{page.name}: {', '.join(missing)}"


def test_glossary_names_every_term_in_code() -> None:
    names = names_in((DOCS / "glossary.md").read_text("utf-8"))
    assert len(names) > 80


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_readme_leads_to_every_page(page) -> None:
    pages = [ROOT / "README.md", *DOCS.glob("*.md"), ROOT / "CONTRIBUTING.md"]
    linked = [each for each in pages if f"{page.name})" in each.read_text("utf-8") and each != page]
    assert linked, f"no page links to docs/{page.name}"
