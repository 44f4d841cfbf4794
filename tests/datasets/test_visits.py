"""The generated hospital: several visits for some, many for a few, the same for a seed."""

from __future__ import annotations

import numpy as np
import pytest

from mottle import UsageError
from mottle.datasets import visits


def test_the_same_seed_draws_the_same_visits() -> None:
    assert visits(300, seed=2).equals(visits(300, seed=2))
    assert not visits(300, seed=2).equals(visits(300, seed=3))
    assert visits(0).num_rows == 0


def test_visits_are_skewed_and_patients_keep_what_does_not_change() -> None:
    table = visits(2000, seed=1)
    names, times = np.unique(table.column("patient").to_numpy(), return_counts=True)
    assert len(names) == 2000
    assert np.median(times) == 1
    assert 20 < times.max() <= 80
    assert 2 < times.mean() < 6
    for column in ("sex", "origin", "insurer"):
        pairs = set(zip(table["patient"].to_pylist(), table[column].to_pylist(), strict=True))
        assert len(pairs) == 2000
    assert sorted(table["admitted"].to_pylist()) == table["admitted"].to_pylist()


def test_fewer_than_no_patients_are_refused() -> None:
    with pytest.raises(UsageError, match="cannot be drawn"):
        visits(-1)
