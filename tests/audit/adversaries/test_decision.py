"""Decision: methods that decide by values are caught by repeating them; others pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import BetaLikeness, ItemSets, LDiversity, Schema, anonymize
from mottle.audit.decisions import Decision
from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy
from mottle.methods.base import METHODS, Arrangement, Draw, Method
from mottle.pipeline.replay import replay_of

SCHEMA = Schema.of(
    quasi_identifying=["age", "sex", "origin"], sensitive=["diagnosis"], rest="insensitive"
)


def decision(table, release, **options):
    return release.audit(table, adversaries=["decision"], **options).findings


# ------------------------------------------------------------- a planted method of two buckets


def cut_if_allowed(codes, demand, context):
    """Cut the table in two at the median age, but only if both halves keep the caps."""
    tiebreak = np.argsort(context.tiebreak(codes.records))
    order = np.lexsort((tiebreak, codes.matrix[:, 0]))
    halves = np.split(order, 2)
    allowed = all(np.bincount(demand.values[half]).max() <= len(half) / 2 for half in halves)
    return two_buckets(halves if allowed else [order], demand.values, tiebreak)


def never_cut(codes, demand, context):
    """The same without a decision."""
    tiebreak = np.argsort(context.tiebreak(codes.records))
    order = np.lexsort((tiebreak, codes.matrix[:, 0]))
    return two_buckets([order], demand.values, tiebreak)


def two_buckets(parts, values, tiebreak) -> Arrangement:
    """Tables of two buckets, filled by values alone and matched along the order."""
    members, edges = [], []
    for part in parts:
        counts = np.bincount(values)[values[part]]
        filled = np.lexsort((tiebreak[part], -counts))
        half = len(part) // 2
        buckets = [part[np.sort(filled[:half])], part[np.sort(filled[half:])]]
        members += buckets
        pairs = np.stack([np.arange(half), half + np.arange(half)], axis=1)
        edges += [pairs, pairs]
    starts = np.cumsum([0, *(len(part) for part in parts)])
    degrees = np.full(len(parts), 2)
    graph = Graph.explicit(np.concatenate(members), starts, degrees, np.concatenate(edges))
    return Arrangement(graph, {"blocks": len(parts)}, Draw.BUCKETS)


@pytest.fixture
def planted(monkeypatch):
    """Registers the method for one test."""

    def register(arrange) -> str:
        method = Method(
            "planted",
            "planted",
            "-",
            Capability.CAPS,
            "-",
            arrange,
            decides_by=DecidesBy.SEPARATELY,
        )
        assert "planted" not in METHODS
        monkeypatch.setitem(METHODS._items, "planted", method)
        return "planted"

    return register


def half_of_one_value(rows: int, seed: int) -> pa.Table:
    """49 % have one value, everybody else a value of their own."""
    random = np.random.default_rng(seed)
    top = round(0.49 * rows)
    values = np.array(["a"] * top + [f"v{number}" for number in range(rows - top)])
    return pa.table({"age": random.permutation(rows) // 4, "ill": random.permutation(values)})


TWO = Schema.of(quasi_identifying=["age"], sensitive=["ill"])


@pytest.mark.parametrize("rows", [1000, 2000])
def test_a_cut_that_is_made_only_if_caps_allow_it_is_caught(planted, rows):
    """Where the other world would have been cut, everybody's value is certain."""
    method = planted(cut_if_allowed)
    caught, uncut = 0, 0
    for seed in range(12):
        table = half_of_one_value(rows, seed)
        release = anonymize(table, TWO, LDiversity(2), method=method, seed=seed)
        found, right = decision(table, release)
        uncut += release.certificate.method.facts["blocks"] == 1
        if found.passed is False:
            caught += 1
            assert found.achieved > 0.9 * rows
            assert found.details["right_of_those_believed"] == 1
            assert right.achieved == 1
    assert 0 < caught <= uncut


@pytest.mark.parametrize("rows", [1000, 2000])
def test_the_same_method_without_the_decision_passes(planted, rows):
    method = planted(never_cut)
    for seed in range(12):
        table = half_of_one_value(rows, seed)
        release = anonymize(table, TWO, LDiversity(2), method=method, seed=seed)
        found, right = decision(table, release)
        assert (found.achieved, found.passed) == (0, True)
        assert found.details["worlds_struck_out"] == 0
        assert right.passed is not False


# ------------------------------------------------------------------------- methods of mottle


@pytest.mark.parametrize("method", ["nh", "hilbert", "idistance", "het-greedy-threshold"])
def test_methods_that_decide_by_both_are_caught(crowd, method):
    release = anonymize(crowd, SCHEMA, LDiversity(3), method=method, effort=0, seed=1)
    found, _ = decision(crowd, release)
    assert found.passed is False
    assert found.details["worlds_struck_out"] > 0
    assert found.details["people_examined"] > 100


def test_likeness_by_burel_is_caught(crowd):
    release = anonymize(crowd, SCHEMA, BetaLikeness(2), method="burel", seed=1)
    found, _ = decision(crowd, release)
    assert found.passed is False


def test_beliefs_are_right_as_often_as_they_say(crowd):
    """People believed to have a value with p on average have it in a share p of all cases."""
    release = anonymize(crowd, SCHEMA, LDiversity(3), method="hilbert", seed=1)
    found, right = decision(crowd, release)
    believed, right_of_those = (
        found.details["believed_on_average"],
        found.details["right_of_those_believed"],
    )
    assert believed > 0.5
    assert abs(right_of_those - believed) < 0.12
    low, high = right.details["guesses"]["everybody"]["interval"]
    assert 1 / 3 < low < right.details["guesses"]["everybody"]["right"] < high


def test_groups_of_sets_are_caught():
    random = np.random.default_rng(0)
    sets = [{f"item {x}" for x in random.integers(0, 12, 3)} for _ in range(400)]
    data = ItemSets.of(sets, [f"label {x}" for x in random.integers(0, 6, 400)])
    release = mottle.anonymize_sets(data, LDiversity(3), method="cahd", seed=1)
    found, _ = decision(data, release)
    assert found.passed is False


def test_methods_that_never_decide_by_both_pass(crowd):
    release = anonymize(crowd, SCHEMA, LDiversity(3), method="het-greedy", seed=1)
    found, right = decision(crowd, release)
    assert (found.achieved, found.passed) == (0, True)
    assert found.details["worlds_struck_out"] == 0
    assert right.passed is not False


def test_where_groups_depend_on_secret_numbers_no_verdict_is_given(crowd):
    """Only the facts on the certificate can be compared, which proves nothing for this method."""
    release = anonymize(
        crowd, SCHEMA, LDiversity(3), method="het-greedy-partitioned", effort=0, seed=1
    )
    found, _ = decision(crowd, release)
    assert found.details["compared"] == "facts"
    assert found.passed is None


# ------------------------------------------------------------------------- what it is given


def test_a_folder_with_its_links_is_enough(crowd, tmp_path: Path):
    release = anonymize(crowd, SCHEMA, LDiversity(3), method="nh", seed=1)
    release.save(tmp_path / "out", private=tmp_path / "links.parquet", report=False)
    read = mottle.read_release(tmp_path / "out")
    found, _ = decision(crowd, read, private=tmp_path / "links.parquet")
    assert found.achieved == decision(crowd, release)[0].achieved > 0


def test_without_replay_or_links_it_is_not_played(crowd, diverse, outside, sound):
    (found,) = mottle.audit_release(crowd, diverse, adversaries=["decision"]).findings
    assert "not given to be repeated" in found.details["not_played"]
    (found,) = decision(crowd, outside(diverse))
    assert "private link file" in found.details["not_played"]
    (found,) = decision(crowd, sound)
    assert "does_not_apply" in found.details
    why = "the machine that made it is gone"
    (found,) = decision(crowd, diverse, replay=why)
    assert found.details["not_played"] == why


def test_a_method_that_makes_other_groups_is_not_believed(crowd, diverse):
    """A replay has to explain the release itself before it is used against it."""

    def other(source):
        return Decision(b"other groups")

    (found,) = decision(crowd, diverse, replay=other)
    assert "same groups" in found.details["not_played"]


def test_a_method_whose_seed_is_not_known_is_not_repeated(crowd):
    """BUREL chooses by a seed that only the run knows; Mondrian does not."""
    for method, guarantee, known in (
        ("burel", BetaLikeness(2), False),
        ("mondrian", LDiversity(3), True),
    ):
        release = anonymize(crowd, SCHEMA, guarantee, method=method, seed=1)
        unseeded = release.certificate.with_changes(seed=None)
        found = decision(crowd, replace(release, certified=unseeded))
        assert ("not_played" not in found[0].details) is known


def test_a_full_audit_knows_the_runs_own_numbers(crowd):
    release = anonymize(crowd, SCHEMA, BetaLikeness(2), method="burel", audit="full")
    found = release.audited.of("decision")
    assert release.certificate.seed is None
    assert found
    assert all("not_played" not in each.details for each in found)


def test_a_replay_says_why_there_is_none(crowd, sound, diverse):
    assert "no decision" in replay_of(crowd, sound)
    assert "no certificate" in replay_of(crowd, replace(diverse, certified=None))
