"""Linkage: victims with too few matches are caught, risks are those of the definitions."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from certificates import certificate

import mottle
from mottle import DataError, KAnonymity, Schema, anonymize

K4 = certificate(guarantee=KAnonymity(4).describe())


def linkage(table, release, **options):
    return mottle.audit_release(table, release, adversaries=["linkage"], **options).findings


def test_a_sound_release_passes_with_and_without_links(crowd, sound, outside):
    with_links = linkage(crowd, sound)
    assert [finding.passed for finding in with_links] == [True, True]
    without = linkage(crowd, outside(sound))
    assert [finding.passed for finding in without] == [True]
    assert without[0].details == with_links[0].details


def test_a_person_with_too_few_matches_is_caught(of_graph):
    graph = np.ones((6, 6), bool)
    graph[0, 3:] = False  # person 0 fits three records only
    found = linkage(*of_graph(graph, K4))[0]
    assert (found.achieved, found.allowed, found.passed) == (3, 4, False)


def test_exact_quasi_identifiers_with_separate_sensitive_values_are_caught(crowd):
    schema = Schema.of(
        quasi_identifying=["age", "sex", "origin"], sensitive=["diagnosis"], rest="insensitive"
    )
    release = anonymize(crowd, schema, mottle.LDiversity(3), method="anatomy", seed=1)
    found = linkage(crowd, release)
    assert (found[0].achieved, found[0].passed) == (1, False)
    assert found[1].passed  # everybody's own record is the match


def test_risks_are_those_of_the_definitions(of_graph):
    graph = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 1, 1]], bool)
    details = linkage(*of_graph(graph, certificate(guarantee=KAnonymity(3).describe())))[0].details
    assert details["matches"]["fewest"] == 2
    assert details["matches"]["most"] == 3
    assert details["matches"]["mean"] == pytest.approx(9 / 4)
    assert details["prosecutor"] == {"highest": 1 / 2, "mean": pytest.approx(11 / 24)}
    assert details["journalist"] == {"highest": 1 / 2, "mean": pytest.approx(11 / 24)}
    assert details["marketer"] == pytest.approx(11 / 24)
    assert details["share_at_risk"] == 3 / 4  # above 1/3


def test_a_true_record_that_does_not_contain_its_person_is_caught(crowd, sound, with_cells):
    cells = sound.table.column("age").to_pylist()
    ages = crowd.column("age").to_numpy()[sound.links.original_of_row]
    row = int(np.flatnonzero([cell["lo"] == age for cell, age in zip(cells, ages, strict=True)])[0])
    cells[row] = cells[row] | {"lo": cells[row]["lo"] + 1}
    found = linkage(crowd, with_cells(sound, "age", cells))
    assert (found[1].achieved, found[1].passed) == (1, False)


def test_a_release_of_other_people_is_refused(sound, crowd, outside):
    others = crowd.set_column(0, "age", pa.array(np.full(crowd.num_rows, 140)))
    with pytest.raises(DataError, match="does not fit the fingerprint"):
        linkage(others, sound)
    with pytest.raises(DataError, match=r"not the table|fit no published record"):
        linkage(others, outside(sound))


def test_a_sample_reports_its_size_and_finds_what_everybody_shows(crowd, sound, outside):
    everybody = linkage(crowd, outside(sound))[0]
    sampled = linkage(crowd, outside(sound), sample=200, seed=3)[0]
    assert sampled.details["examined"] == 200
    assert "95 %" in sampled.details["confidence"]
    assert sampled.achieved >= everybody.achieved
    assert sampled.details["journalist"]["highest"] <= everybody.details["journalist"]["highest"]
    assert sampled.details["marketer"] == pytest.approx(everybody.details["marketer"], rel=0.1)
    assert "examined" not in everybody.details


def test_without_guarantee_matches_are_for_information(of_graph):
    found = linkage(*of_graph(np.eye(5, dtype=bool)))[0]
    assert (found.allowed, found.passed) == (None, None)
    assert found.details["share_at_risk"] == 1
