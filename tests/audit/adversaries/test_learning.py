"""Learning attacks: HET's Naïve Bayes by its formula; memorized records are caught, others pass."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

import mottle
from mottle import LDiversity, Release, Schema, anonymize
from mottle.audit.containment.coded_columns import CodedColumn
from mottle.audit.sensitive.baseline import baseline_correctness
from mottle.audit.sensitive.learners import (
    counts_by_containment,
    log_likelihoods,
    sample_possible_world,
)
from mottle.graph.model import Graph
from mottle.release.column import PublishedColumn
from mottle.release.links import Links
from mottle.schema.model import Role

SCHEMA = Schema.of(
    quasi_identifying=["age", "sex", "origin"], sensitive=["diagnosis"], rest="insensitive"
)


def learning(table, release, **options):
    (found,) = mottle.audit_release(table, release, adversaries=["learning"], **options).findings
    return found


def published_as_it_is(rows: int) -> tuple[pa.Table, Release]:
    """Everybody's exact age with their own illness, which is independent of it."""
    drawn = np.random.default_rng(3).integers(0, 8, rows)
    table = pa.table({"age": np.arange(rows), "ill": [f"illness {number}" for number in drawn]})
    columns = (
        PublishedColumn("age", Role.QUASI_IDENTIFYING, None, None, pa.int64()),
        PublishedColumn("ill", Role.SENSITIVE, None, None, pa.string()),
    )
    everybody = np.arange(rows)
    graph = Graph.rings(everybody, np.arange(rows + 1), np.ones(rows, np.int32))
    schema = pa.schema([column.field() for column in columns])
    links = Links(graph, everybody, everybody.astype(np.int32))
    return table, Release(table.cast(schema), columns, None, links)


def test_records_that_a_learner_can_memorize_are_caught():
    table, release = published_as_it_is(500)
    found = learning(table, release, guarantee=LDiversity(4))
    assert found.passed is False
    boosting = found.details["attacks"]["gradient boosting"]
    assert boosting["right"] > 0.5
    assert boosting["right_if_own_record_unseen"] < 0.25
    assert found.achieved > found.allowed


def test_sound_releases_pass_and_report_baseline_and_upper_bound(crowd, diverse):
    found = learning(crowd, diverse)
    assert found.passed
    assert set(found.details["attacks"]) == {
        "naïve Bayes",
        "naïve Bayes, Laplace",
        "gradient boosting",
        "deFinetti",
    }
    assert 0.1 < found.details["majority"] < 0.25
    assert 0 < found.details["gradient boosting on the original"] < 0.3  # values follow nothing


def test_without_links_it_is_for_information(crowd, diverse, outside):
    found = learning(crowd, outside(diverse))
    assert found.passed is None
    assert found.achieved > 0


def test_values_that_follow_quasi_identifiers_are_learned_without_being_a_breach():
    """Everybody's illness follows from age: learned from others as well as from the own record."""
    generator = np.random.default_rng(1)
    ages = generator.integers(20, 80, 600)
    ill = [f"illness {(age // 10 + generator.integers(0, 2)) % 8}" for age in ages]
    table = pa.table({"age": ages, "sex": generator.integers(0, 2, 600), "ill": ill})
    schema = Schema.of(quasi_identifying=["age", "sex"], sensitive=["ill"])
    release = anonymize(table, schema, LDiversity(2), method="buckets", effort=0, seed=1)
    found = learning(table, release)
    assert found.passed is not False
    attacks = found.details["attacks"]
    best = max(attack["right"] for attack in attacks.values())
    assert best > found.details["majority"] + 0.05
    assert found.details["gradient boosting on the original"] > 0.3


def test_values_published_in_a_second_table_are_learned_by_group(crowd):
    release = anonymize(crowd, SCHEMA, LDiversity(3), method="anatomy", seed=1)
    found = learning(crowd, release)
    assert found.passed is not False
    assert found.details["attacks"]["deFinetti"]["people"] == crowd.num_rows


def test_too_many_values_are_not_learned(crowd, monkeypatch, diverse):
    monkeypatch.setattr("mottle.audit.adversaries.learning._MOST_VALUES", 7)
    assert "7 different values" in learning(crowd, diverse).details["not_played"]


# ------------------------------------------------------------------------------------ by hand


COLUMN = CodedColumn(  # originals 1, 2, 4; cells 1-2, {1, 4} and 4
    codes=np.array([1, 2, 4], np.int32),
    offsets=np.array([0, 1, 3, 4]),
    lowest=np.array([1, 1, 4, 4], np.int32),
    highest=np.array([2, 1, 4, 4], np.int32),
)
VALUES = csr_array(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))


def test_counts_are_records_of_the_value_whose_cell_contains_the_code():
    assert counts_by_containment(COLUMN, VALUES).tolist() == [[1, 1], [1, 0], [0, 2]]


@pytest.mark.parametrize("alpha", [0, 1])
def test_naive_bayes_is_that_of_the_paper(alpha):
    counts = [counts_by_containment(COLUMN, VALUES)] * 2
    totals = np.array([1.0, 2.0])
    found = log_likelihoods([COLUMN, COLUMN], counts, totals, alpha, np.array([0, 2]))
    expected = [
        [
            total / 3 * ((counts[0][row][value] + alpha) / (total + alpha * 3)) ** 2
            for value, total in enumerate(totals)
        ]
        for row in (0, 2)
    ]
    assert np.exp(found) == pytest.approx(np.array(expected))


def test_possible_worlds_lie_in_their_cells():
    drawn = sample_possible_world([COLUMN], np.repeat([0, 1, 2], 200), np.random.default_rng(1))
    by_record = [set(part[:, 0].tolist()) for part in np.split(drawn, 3)]
    assert by_record == [{1, 2}, {1, 4}, {4}]


def test_the_baseline_is_what_the_table_shows_without_the_person():
    codes = np.array([1, 1, 1, 1, 2, 3, 3], np.int32)
    own = np.array([0, 0, 0, 1, 0, 1, 1], np.int32)
    column = COLUMN._replace(codes=codes)
    correct = baseline_correctness([column], own, 2)
    # the three zeros see two zeros and a one; the one sees zeros; alone: the commonest; two ones
    assert correct["equal quasi-identifiers"].tolist() == [1, 1, 1, 0, 1, 1, 1]
    for person in range(7):
        rest = np.delete(np.arange(7), person)
        scores = []
        for value in (0, 1):
            same = rest[own[rest] == value]
            count = np.count_nonzero(codes[same] == codes[person])
            scores.append(len(same) / 6 * (count + 1) / (len(same) + 3))
        if scores[0] != pytest.approx(scores[1]):
            assert correct["naïve Bayes"][person] == (np.argmax(scores) == own[person])
