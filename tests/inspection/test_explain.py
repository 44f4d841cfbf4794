"""Why a cell is wide: preimages, what each costs, and previews, checked against the graph."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from typer.testing import CliRunner

import mottle
from mottle import DataError, KAnonymity, LDiversity, Release, Schema, UsageError
from mottle.cli.app import app
from mottle.inspection.explain import explain_row
from mottle.report import Owner, gather_content, report_html

SCHEMA = Schema.of(quasi_identifying=["age", "size"], sensitive=["ill"])


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random = np.random.default_rng(8)
    ages = random.integers(20, 60, 80)
    ages[0] = 99  # far from everybody: costs its neighbours
    return pa.table(
        {
            "age": ages,
            "size": random.choice(["s", "m", "l"], 80),
            "ill": random.permutation(list("abcd") * 20),
        }
    )


@pytest.fixture(scope="module")
def release(table: pa.Table) -> Release:
    return mottle.anonymize(table, SCHEMA, KAnonymity(4), effort=0, seed=1)


def test_costs_are_what_the_cell_would_gain_without_a_preimage(table, release) -> None:
    assert release.links is not None
    true = release.links.original_of_row.tolist()
    row = true.index(0) + 1  # the record of the one far from everybody
    found = explain_row(table, release, release.links, row, previews=False)
    assert [each.original for each in found.preimages if each.true] == [1]
    ages = {each.original: int(each.values["age"]) for each in found.preimages}
    span = max(table.column("age").to_pylist()) - min(table.column("age").to_pylist())
    for each in found.preimages:
        others = [age for original, age in ages.items() if original != each.original]
        sizes = [one.values["size"] for one in found.preimages]
        fewer = [one.values["size"] for one in found.preimages if one is not each]
        gained = (max(ages.values()) - min(ages.values()) - max(others) + min(others)) / span
        gained += (len(set(sizes)) - len(set(fewer))) / 2
        assert each.costs == pytest.approx(gained / 2, abs=1e-9)
    assert (found.preimages[0].original, found.preimages[0].most_in) == (1, "age")
    cell = release.to_text().column("age")[row - 1].as_py()
    assert {one.name: one.cell for one in found.columns}["age"] == cell
    assert sum(one.share for one in found.columns) == pytest.approx(1)


def test_rows_add_up_to_the_loss_of_the_release(table, release) -> None:
    rows = range(1, release.num_rows + 1)
    found = [explain_row(table, release, release.links, row, previews=False) for row in rows]
    assert np.mean([each.loss for each in found]) == pytest.approx(release.gcp)


def test_previews_show_what_an_importance_changes(table, release) -> None:
    found = explain_row(table, release, release.links, 1)
    now, heavier, left_out = found.what_if
    assert heavier.column_loss <= now.column_loss
    assert left_out.column_loss is None
    assert left_out.other_loss <= now.other_loss
    values = mottle.anonymize(table, SCHEMA, LDiversity(2), effort=0, seed=1)
    bounded = explain_row(table, values, values.links, 1)
    assert bounded.what_if == ()
    assert "values together" in bounded.notes[0]


def test_wrong_rows_tables_and_links_are_refused(table, release) -> None:
    with pytest.raises(UsageError, match="rows 1 to 80"):
        explain_row(table, release, release.links, 81)
    with pytest.raises(DataError):
        explain_row(table.slice(1), release, release.links, 1)


def test_the_command_tells_the_owner_and_says_that_it_is_secret(table, release, tmp_path) -> None:
    pacsv.write_csv(table, tmp_path / "people.csv")
    again = mottle.anonymize(tmp_path / "people.csv", SCHEMA, KAnonymity(4), effort=0, seed=1)
    again.save(tmp_path / "out", private=tmp_path / "links.parquet")
    words = ["explain", str(tmp_path / "out"), "--row", "3", "--no-previews"]
    words += ["--original", str(tmp_path / "people.csv")]
    words += ["--private", str(tmp_path / "links.parquet")]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert "For the owner only" in shown.output
    content = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert len(content["preimages"]) == 4
    assert not any("links" in path.name for path in Path(tmp_path / "out").iterdir())


def test_the_internal_report_says_who_pays_and_the_published_one_does_not(table, release) -> None:
    found = gather_content(release, release.certificate, Owner(table)).subgroups
    assert found
    assert release.links is not None
    ages = np.array(table.column("age").to_pylist())
    sizes = np.array(table.column("size").to_pylist())
    lost: list[list[float]] = [[] for _ in range(table.num_rows)]
    for row in range(1, release.num_rows + 1):
        explained = explain_row(table, release, release.links, row, previews=False)
        for preimage in explained.preimages:
            lost[preimage.original - 1].append(explained.loss)
    losses = np.array([np.mean(each) for each in lost])
    for each in found:
        if each.column == "size":
            members = sizes == each.group
        else:
            low, high = map(int, each.group.split(" … "))
            members = (low <= ages) & (ages <= high)
        assert each.rows == members.sum()
        assert each.loss == pytest.approx(losses[members].mean())
        assert each.times == pytest.approx(losses[members].mean() / losses.mean())
    other = mottle.anonymize(table, SCHEMA, KAnonymity(4), effort=0, seed=2)
    drawn = gather_content(other, other.certificate, Owner(table)).subgroups
    assert [each.times for each in drawn] == pytest.approx([each.times for each in found])
    assert "Who pays" in report_html(release, owner=Owner(table))
    assert "Who pays" not in report_html(release)
