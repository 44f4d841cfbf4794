"""Associations of pairs of columns before and after."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mottle.studio.pairs import cramers_v, pairs_of


def test_an_association_that_is_lost_is_seen() -> None:
    random = np.random.default_rng(1)
    ages = random.integers(18, 90, 4000)
    table = pa.table(
        {
            "age": ages,
            "old": np.where(ages > 60, "yes", "no"),
            "town": random.choice(["a", "b", None], 4000),
        }
    )
    shuffled = table.set_column(1, "old", table["old"].take(pa.array(random.permutation(4000))))
    same, lost = pairs_of(table, table)[0], pairs_of(table, shuffled)[0]
    assert {same.first, same.second} == {"age", "old"}
    assert same.before == same.after > 0.9
    assert lost.before > 0.9
    assert lost.after < 0.1
    assert cramers_v([1] * 10, list(range(10))) == 0.0
