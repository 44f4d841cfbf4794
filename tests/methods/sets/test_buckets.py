"""buckets for sets: caps kept, nothing repeated, nothing decided by sets and labels together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mottle
from mottle import BetaLikeness, Caps, GuaranteeError, KAnonymity, LDiversity, anonymize_sets
from mottle.guarantees.base import Guarantee
from mottle.itemsets.data import ItemSets


@pytest.fixture(scope="module")
def baskets() -> ItemSets:
    data = mottle.datasets.baskets(600, items=60, size=8, seed=1)
    drawn = np.random.default_rng(1).integers(0, 12, data.records)
    return data.with_labels(pa.array([f"illness {number}" for number in drawn]), "illness")


def shares(release: mottle.SetRelease) -> np.ndarray:
    """For every original, how often each label is published on its matches."""
    links, labels = release.links, release.table.column("illness").to_pylist()
    codes = {label: code for code, label in enumerate(sorted(set(labels)))}
    edges = pa.Table.from_batches(links.batches())
    counts = np.zeros((release.table.num_rows, len(codes)))
    on_row = np.array([codes[label] for label in labels])[edges.column("published").to_numpy()]
    np.add.at(counts, (edges.column("original").to_numpy(), on_row), 1)
    return counts / counts.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("guarantee", "highest"),
    [(LDiversity(2), 1 / 2), (LDiversity(5), 1 / 5), (KAnonymity(7) & LDiversity(3), 1 / 3)],
)
@pytest.mark.parametrize("effort", [0.0, 0.3])
def test_no_label_has_a_larger_share_among_anybodys_matches(
    baskets: ItemSets, guarantee: Guarantee, highest: float, effort: float
) -> None:
    release = anonymize_sets(baskets, guarantee, method="buckets", effort=effort, seed=1)
    assert shares(release).max() <= highest + 1e-9
    assert release.certificate.degree.min >= (7 if "k" in str(guarantee) else 2)
    assert all(check.passed for check in release.certificate.checks)
    assert release.certificate.parameters.draw == "buckets"


def test_likeness_and_caps_hold_too(baskets: ItemSets) -> None:
    for guarantee in (BetaLikeness(1.0), Caps({"illness 3": 0.2}, default=0.5)):
        release = anonymize_sets(baskets, guarantee, seed=1, effort=0)
        assert release.certificate.method.picked == "buckets"
        assert all(check.passed for check in release.certificate.checks)


def test_refinement_lowers_the_error(baskets: ItemSets) -> None:
    rates = [
        anonymize_sets(baskets, LDiversity(4), effort=effort, seed=1).error_rate
        for effort in (0, 1.0)
    ]
    assert rates[1] < rates[0]


def test_a_label_that_is_too_frequent_is_refused() -> None:
    data = ItemSets.of(["a", "b", "c", "d"], labels=["x", "x", "x", "y"])
    with pytest.raises(GuaranteeError, match="2"):
        anonymize_sets(data, LDiversity(2))


@given(st.integers(2, 4), st.integers(8, 40), st.integers(0, 50))
@settings(max_examples=15)
def test_any_sets_with_few_equal_labels_are_released(l: int, records: int, seed: int) -> None:  # noqa: E741
    random = np.random.default_rng(seed)
    lists = [random.choice(6, random.integers(0, 6), replace=False) for _ in range(records)]
    labels = [f"label {record % (2 * l)}" for record in range(records)]
    data = ItemSets.of(lists, labels=labels)
    try:
        release = anonymize_sets(data, LDiversity(l), seed=seed, effort=0)
    except GuaranteeError:
        assert max(labels.count(label) for label in labels) * l > records
        return
    assert all(check.passed for check in release.certificate.checks)


def test_the_papers_draw_runs_only_when_asked_for_and_says_that_it_leaks(baskets: ItemSets) -> None:
    with pytest.raises(mottle.UsageError, match="does not keep the guarantee"):
        anonymize_sets(baskets, LDiversity(3), method="closed-walk-greedy")
    release = anonymize_sets(
        baskets, LDiversity(3), method="closed-walk-greedy", seed=1, unsafe_paper_randomization=True
    )
    (within,) = (check for check in release.certificate.checks if check.invariant == 4)
    assert not within.passed
    assert any("UNSAFE" in note for note in release.certificate.notes)


def test_greedy_walks_refuse_more_matches_than_they_give() -> None:
    """At 8cdc187 the run ended with exit code 70, as if a promise had been broken."""
    labels = pa.chunked_array([[str(row % 6) for row in range(60)]])
    data = ItemSets.of([["a"], ["b"], ["a", "b"]] * 20).with_labels(labels, "label")
    with pytest.raises(GuaranteeError, match="ℓ = 2 matches, and k = 5"):
        anonymize_sets(
            data,
            KAnonymity(5) & LDiversity(2),
            method="closed-walk-greedy",
            unsafe_paper_randomization=True,
            seed=1,
        )
