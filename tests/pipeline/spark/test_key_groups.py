"""Groups that go on across sections are counted once."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle.errors import PrivacyError
from mottle.pipeline.spark.key_groups import KeyGroups, figures_of


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=40),
    st.lists(st.integers(1, 39), max_size=5),
)
def test_figures_are_those_of_all_rows_together(
    rows: list[tuple[int, int]], cuts: list[int]
) -> None:
    rows = sorted(rows)
    bounds = [0, *sorted({cut for cut in cuts if cut < len(rows)}), len(rows)]
    sections = [
        KeyGroups.of(list(np.array(rows[first:last], np.int64).T))
        for first, last in pairwise(bounds)
    ]
    sizes = Counter(rows).values()
    single = sum(size == 1 for size in sizes) / len(rows)
    mean = len(sizes) / len(rows)
    assert figures_of(sections) == (1 / min(sizes), mean, single, mean)


def test_sections_in_the_wrong_order_are_refused() -> None:
    sections = [KeyGroups.of([np.array([5])]), KeyGroups.of([np.array([4])])]
    with pytest.raises(PrivacyError, match="not in order"):
        figures_of(sections)
