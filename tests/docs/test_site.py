"""The documentation site builds without a warning, its links resolve, and it fetches nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from paths import DOCS, ROOT


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.texts: list[str] = []  # of links
        self.in_link = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.places.add(values.get("id") or "")
        self.places.add(values.get("name") or "")
        self.in_link = tag == "a" or (self.in_link and tag in ("span", "em", "strong"))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"] or "")
        for key in ("src", "href"):
            if tag in ("script", "img", "link", "iframe", "source") and values.get(key):
                self.loaded.append(values[key] or "")

    def handle_data(self, data: str) -> None:
        if self.in_link:
            self.texts.append(data.strip())

    def handle_endtag(self, tag: str) -> None:
        self.in_link = self.in_link and tag != "a"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    options = ["-q", "-W", "--keep-going", "-c", str(DOCS), "-d", str(folder / "doctrees")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(ROOT), str(folder / "html")],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "no_proxy": "*"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    found = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    return {path: Page(path.read_text("utf-8")) for path in found}


def test_links_lead_to_places_that_exist(site: Path, pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in {*page.links, *page.loaded}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            known = pages[target].places if target in pages else {place}
            if not target.exists() or (place and place not in known):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken, "\n".join(sorted(broken))


def test_pages_load_nothing_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    loaded = {link for page in pages.values() for link in page.loaded if urlsplit(link).netloc}
    assert loaded == set()
    for style in site.rglob("*.css"):
        found = re.findall(
            r"(?:@import\s*|url\(\s*)[\"']?(?:https?:)?//[^\s\"')]+", style.read_text("utf-8")
        )
        assert not found, style.name


def test_every_page_is_in_the_navigation_and_in_llms_txt(site: Path) -> None:
    listed = set(re.findall(r"\]\(([^)]+)\): \S", (site / "llms.txt").read_text("utf-8")))
    assert all((site / page).exists() for page in listed)
    sections = {
        f"docs/{name}.html" for name in ("index", "how-to", "reference", "explanation", "project")
    }
    pages = {f"docs/{page.stem}.html" for page in DOCS.glob("*.md")}
    assert pages - sections <= listed


def test_links_are_called_by_titles_and_not_by_files(pages: dict[Path, Page]) -> None:
    assert len(pages) > 100
    for path, page in pages.items():
        assert not [text for text in page.texts if text.endswith(".md")], path.name


def test_public_names_are_documented_with_parameters_and_examples(site: Path) -> None:
    page = (site / "docs" / "api" / "mottle.html").read_text("utf-8")
    for place in ("mottle.anonymize", "mottle.Schema.of", "mottle.KAnonymity", "mottle.UsageError"):
        assert f'id="{place}"' in page
    assert 'href="api/mottle.html#mottle.anonymize"' in (site / "docs" / "api.html").read_text(
        "utf-8"
    )


def test_names_link_to_their_source(site: Path, pages: dict[Path, Page]) -> None:
    linked = pages[site / "docs" / "api" / "mottle.html"].links
    assert "../../_modules/mottle/pipeline/anonymize.html#anonymize" in linked


def test_examples_can_be_downloaded_as_programs(site: Path, pages: dict[Path, Page]) -> None:
    programs = sorted((site / "_examples").glob("*.py"))
    assert len(programs) >= 8
    for path in programs:
        compile(path.read_text("utf-8"), path.name, "exec")
        page = pages[site / "docs" / f"{path.stem}.html"]
        assert f"../_examples/{path.name}" in page.links
    tutorial = (site / "_examples" / "tutorial.py").read_text("utf-8")
    assert tutorial.index("write_csv(patients") < tutorial.index("mottle inspect patients.csv")
