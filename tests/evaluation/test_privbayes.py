"""PrivBayes: synthetic rows resemble the originals as far as the budget allows."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from sklearn.metrics import mutual_info_score

from mottle import UsageError
from mottle.evaluation import privbayes as module
from mottle.evaluation._datasynthesizer import mutual_information
from mottle.evaluation.privbayes import network_degree, privbayes


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random = np.random.default_rng(1)
    rows = 2000
    sex = random.integers(0, 2, rows)
    age = random.integers(20, 80, rows)
    days = [dt.date(1950, 1, 1) + dt.timedelta(int(90 * value)) for value in age]
    return pa.table(
        {
            "sex": pa.array(np.array(["f", "m"])[sex]),
            "pregnant": pa.array(np.where(sex == 0, "perhaps", "no")),
            "age": pa.array(age, mask=random.random(rows) < 0.1),
            "born": days,
            "only": ["x"] * rows,
        }
    )


def test_rows_types_and_strong_dependencies_are_kept(table: pa.Table) -> None:
    names = table.column_names
    drawn = privbayes(table, names, 50.0, seed=1)
    assert drawn.schema == table.schema
    assert drawn.num_rows == table.num_rows
    agree = pc.equal(pc.equal(drawn["sex"], "f"), pc.equal(drawn["pregnant"], "perhaps"))
    assert pc.mean(agree.cast(pa.int8())).as_py() > 0.95
    assert drawn["age"].null_count == pytest.approx(table["age"].null_count, rel=0.4)
    values = set(table["age"].to_pylist())
    assert set(drawn["age"].to_pylist()) <= values, "only values of the domain"


def test_less_budget_is_further_from_the_truth(table: pa.Table) -> None:
    def distance(epsilon: float) -> float:
        drawn = privbayes(table, ["sex", "pregnant", "born"], epsilon, seed=2)
        agree = pc.equal(pc.equal(drawn["sex"], "f"), pc.equal(drawn["pregnant"], "perhaps"))
        return 1 - pc.mean(agree.cast(pa.int8())).as_py()

    assert distance(20.0) < 0.05 < distance(0.01)


def test_a_seed_repeats_a_draw_and_a_single_column_works(table: pa.Table) -> None:
    once, again = (privbayes(table, ["sex"], 1.0, seed=5) for _ in range(2))
    assert once.equals(again)
    assert set(once["sex"].to_pylist()) == {"f", "m"}


def test_degree_keeps_counts_above_their_noise() -> None:
    sizes, epsilon = [4, 5, 6, 7], 1.0
    for rows in (100, 3000, 30_000, 10**6):
        degree = network_degree(rows, sizes, epsilon)
        if degree > 1:
            cells = np.prod(sorted(sizes)[-(degree + 1) :])
            noise = (len(sizes) - degree) / (epsilon / 2)
            assert rows / cells >= module.USEFULNESS * noise


def test_mutual_information_of_joined_integers_is_that_of_joined_texts() -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.integers(0, 4, (300, 3)), columns=["a", "b", "c"]).astype(str)
    joined = frame["b"] + " " + frame["c"]
    assert mutual_information(frame["a"], frame[["b", "c"]]) == pytest.approx(
        mutual_info_score(frame["a"], joined)
    )


def test_invalid_arguments_are_refused(table: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="epsilon above 0"):
        privbayes(table, ["sex"], 0.0)
    monkeypatch.setattr(module, "is_installed", lambda: False)
    with pytest.raises(UsageError, match=r"mottle\[dp\]"):
        privbayes(table, ["sex"], 1.0)
