"""What the documentation shows runs as shown."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from paths import ROOT

import mottle
from mottle import methods


def test_python_example_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert code is not None
    exec(compile(code.group(1), "README.md", "exec"), {})
    assert mottle.read_release("released").table.num_rows == 1000
    assert capsys.readouterr().out


def test_python_example_of_the_page_on_scale_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(mottle.datasets.population(500, seed=1), "people.parquet")
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "scale.md").read_text(), re.DOTALL)
    assert code is not None
    exec(compile(code.group(1), "scale.md", "exec"), {})
    assert mottle.read_release("released").table.num_rows == 500


def test_schema_example_of_the_guide_is_read(tmp_path: Path) -> None:
    toml = re.search(r"```toml\n(.*?)```", (ROOT / "docs" / "guide.md").read_text(), re.DOTALL)
    assert toml is not None
    mottle.Hierarchy.from_rows([("nl", "Europe", "*"), ("us", "America", "*")]).write(
        tmp_path / "origin.csv"
    )
    mottle.Hierarchy.from_rows([("asthma", "lungs", "*"), ("migraine", "nerves", "*")]).write(
        tmp_path / "icd.csv"
    )
    (tmp_path / "mottle.toml").write_text(toml.group(1))
    schema = mottle.Schema.read(tmp_path / "mottle.toml")
    names = ["age", "born", "education", "origin", "postcode", "diagnoses", "diagnosis", "name"]
    names.append("patient")
    assert [column.name for column in schema.columns] == names


def test_every_method_is_described() -> None:
    described = (ROOT / "docs" / "methods.md").read_text()
    for name in methods.registered():
        assert f"`{name}`" in described


def test_links_between_documents_lead_somewhere() -> None:
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_python_example_of_the_page_on_inspect_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "inspect.md").read_text(), re.DOTALL)
    assert code is not None
    exec(compile(code.group(1), "inspect.md", "exec"), {})
    reading = mottle.Schema.read("mottle.toml").reading
    assert (reading.decimal, reading.missing, reading.date_format) == (",", ("?",), ("dd.mm.yyyy",))


def test_reading_options_of_the_guide_are_read(tmp_path: Path) -> None:
    toml = re.search(
        r"```text\n(\[read\].*?)```", (ROOT / "docs" / "guide.md").read_text(), re.DOTALL
    )
    assert toml is not None
    (tmp_path / "mottle.toml").write_text(toml.group(1), encoding="utf-8")
    assert mottle.Schema.read(tmp_path / "mottle.toml").reading.thousands == "."
