"""Methods for sets are compared by the same questions, the rival with what it does not promise."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pytest
from command_line import mottle_command, refused

import mottle
from mottle import KAnonymity, LDiversity, UsageError
from mottle.comparison.set_methods import compare_set_methods


@pytest.fixture(scope="module")
def baskets() -> mottle.ItemSets:
    return mottle.datasets.baskets(400, 40, 4.0, seed=1)


def test_methods_answer_the_same_questions_and_keep_their_bounds(baskets) -> None:
    names = ["freeform", "gray-ring", "k-m"]
    found = compare_set_methods(baskets, [KAnonymity(4), LDiversity(2)], names, effort=0)
    ours, ring, rival, *refused_lines = found.lines
    assert [line.method for line in found.lines] == names * 2
    for line in (ours, ring):
        assert line.bounds_hold == 1.0
        assert line.linked == pytest.approx(1 / 4)
        assert line.note == ""
    assert ours.error_rate < ring.error_rate
    assert rival.guarantee == "k = 4, m = 2"
    assert rival.bounds_hold is rival.covered is rival.error_rate is None
    assert rival.pair_error > ours.pair_error
    assert "more than 2 items" in rival.note
    assert all(line.note and line.seconds is None for line in refused_lines)
    assert found.to_arrow().num_rows == 6
    assert "k = 4, m = 2" in found._repr_html_()


def test_with_m_1_and_frequent_items_the_rival_is_exact_and_links_everybody() -> None:
    sets = [["a", "b"], ["a"], ["b"], ["a", "b", "c"], ["c"]]
    found = compare_set_methods(sets, [KAnonymity(2)], ["k-m"], m=1)
    assert found.lines[0].item_error == found.lines[0].pair_error == 0.0
    assert found.lines[0].linked == 1.0


def test_there_has_to_be_something_to_compare(baskets) -> None:
    with pytest.raises(UsageError, match="nothing to compare"):
        compare_set_methods(baskets, [], ["freeform"])
    with pytest.raises(UsageError, match="no method for sets 'fre'"):
        compare_set_methods(baskets, [KAnonymity(4)], ["freeform", "fre"])
    with pytest.raises(UsageError, match="m = 9 is not supported"):
        compare_set_methods(baskets, [KAnonymity(4)], ["freeform", "k-m"], m=9)


def test_the_command_writes_a_table_and_reads_a_hierarchy(baskets, tmp_path: Path) -> None:
    file, tree = tmp_path / "baskets.dat", tmp_path / "items.csv"
    lines = [",".join(baskets.record(number)) for number in range(baskets.records)]
    file.write_text("\n".join(lines) + "\n")
    tree.write_text("".join(f"{name};g{name[-1]};*\n" for name in baskets.names.to_pylist()))
    options = ("--k", "5", "--methods", "gray-ring,k-m", "--separator", ",")
    options += ("--item-hierarchy", tree)
    result = mottle_command("compare-sets", file, *options, "-o", tmp_path / "out", "--json")
    assert result.exit_code == 0, result.output
    written = pyarrow.csv.read_csv(tmp_path / "out" / "compare.csv")
    assert written.column("method").to_pylist() == ["gray-ring", "k-m"]
    assert json.loads(result.stdout)[1]["linked"] == written.column("linked")[1].as_py()
    again = mottle_command("compare-sets", file, *options, "-o", tmp_path / "out")
    refused(again, 5, "compare.csv", "--overwrite")
    shown = mottle_command("compare-sets", file, *options, "-o", tmp_path / "out", "--overwrite")
    heading = next(line for line in shown.stdout.splitlines() if "linked" in line)
    assert heading.split()[-1] in ("s", "time,", "time")  # all columns fit a terminal of 80


def test_methods_publish_items_as_nodes_beside_k_m_on_the_same_hierarchy() -> None:
    sets = mottle.datasets.baskets(200, 20, 4.0, seed=2)
    tree = mottle.Hierarchy.from_rows(
        [(name, f"group {place // 4}", "*") for place, name in enumerate(sets.names.to_pylist())]
    )
    found = compare_set_methods(
        sets, [mottle.KAnonymity(4)], ["gray-ring", "gray-ring+nodes", "k-m"], hierarchy=tree
    )
    plain, nodes, rival = found.lines
    assert plain.bounds_hold == nodes.bounds_hold == 1.0
    assert nodes.error_rate < plain.error_rate
    assert nodes.linked == plain.linked == 0.25
    assert rival.item_error is not None
    with pytest.raises(UsageError, match="needs a hierarchy"):
        compare_set_methods(sets, [mottle.KAnonymity(4)], ["gray-ring+nodes"])
