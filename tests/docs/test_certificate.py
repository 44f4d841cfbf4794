"""The page about the certificate lists all its entries, and its examples run as shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from paths import DOCS

from mottle import Certificate
from mottle.release.certificate import FORMAT, ReleaseKind, certificate_schema

PAGE = (DOCS / "certificate.md").read_text("utf-8")


def listed_in(section: str) -> list[str]:
    """First cells of the rows of a section's table."""
    content = PAGE.split(f"## {section}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \|", content, re.MULTILINE)
    return [cell.strip("`") for cell in rows[1:]]


def test_page_lists_every_entry_in_the_order_of_the_file() -> None:
    assert listed_in("Entries") == list(Certificate.model_fields)


def test_page_lists_every_kind_of_release() -> None:
    assert listed_in("Kinds of release") == list(ReleaseKind)


def test_page_lists_every_format() -> None:
    assert listed_in("Formats") == [str(number) for number in range(1, FORMAT + 1)]


def test_examples_of_the_certificate_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "certificate.md", "exec"), names)
    content = json.loads((tmp_path / "released" / "certificate.json").read_text("utf-8"))
    assert names["content"] == content


def test_a_file_of_format_1_becomes_valid_once_it_is_read_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0], {})
    content = json.loads((tmp_path / "released" / "certificate.json").read_text("utf-8"))
    old = {key: value for key, value in content.items() if key not in ("format", "kind", "date")}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(old, certificate_schema())
    jsonschema.validate(Certificate.from_dict(old).to_dict(), certificate_schema())
