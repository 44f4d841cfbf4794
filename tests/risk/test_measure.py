"""Risks of tables and releases agree with counting pair by pair."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle.errors import DataError, UsageError
from mottle.risk import household_risk, individual_risk

SCHEMA = mottle.Schema.of(quasi_identifying=["age", "sex"], identifying=["hh"], survey_weight="pw")


def sample_and_population() -> tuple[pa.Table, pa.Table]:
    generator = np.random.default_rng(4)
    people = pa.table(
        {
            "age": generator.integers(20, 45, 600),
            "sex": generator.choice(["f", "m"], 600),
        }
    )
    rows = generator.choice(600, 60, replace=False)
    sample = people.take(pa.array(rows))
    sample = sample.append_column("pw", pa.array(generator.choice([5.0, 10.0, 15.0], 60)))
    return sample.append_column("hh", pa.array(np.arange(60) // 2)), people


SAMPLE, PEOPLE = sample_and_population()


@pytest.fixture(scope="module")
def released() -> mottle.Release:
    return mottle.anonymize(SAMPLE, SCHEMA, mottle.KAnonymity(3), seed=1)


def inside(table: pa.Table, release: mottle.Release) -> np.ndarray:
    """[people, records]: whether each lies inside each, cell by cell."""
    ages = np.array(table["age"])[:, None]
    cells = release.table["age"].to_pylist()
    low, high = ([cell[end] for cell in cells] for end in ("lo", "hi"))
    sexes = np.array(
        [
            [sex in cell for cell in release.table["sex"].to_pylist()]
            for sex in table["sex"].to_pylist()
        ]
    )
    return (np.array(low) <= ages) & (ages <= np.array(high)) & sexes


def test_figures_before_and_after_are_those_of_counting(released: mottle.Release):
    found = mottle.measure_risk(
        SAMPLE, SCHEMA, release=released, population=PEOPLE, household="hh", threshold=0.05
    )
    keys = list(zip(SAMPLE["age"].to_pylist(), SAMPLE["sex"].to_pylist(), strict=True))
    alike = np.array([[mine == other for other in keys] for mine in keys])
    frequency, weights = alike.sum(1), np.array(SAMPLE["pw"])
    fits = inside(SAMPLE, released)
    matches = fits.sum(1)
    for name, before, after in (
        ("sample_uniques", (frequency == 1).sum(), (matches == 1).sum()),
        ("violating_5", (frequency < 5).sum(), (matches < 5).sum()),
        ("k", frequency.min(), matches.min()),
        ("prosecutor_highest", 1 / frequency.min(), 1 / matches.min()),
        ("prosecutor_mean", (1 / frequency).mean(), (1 / matches).mean()),
    ):
        figure = found.figure(name)
        assert (figure.before, figure.after) == pytest.approx((before, after))
    assert found.figure("bound_by_graph").after == pytest.approx(1 / 3)

    own = individual_risk(frequency, alike @ weights)
    of_record = individual_risk(fits.sum(0), weights @ fits)
    later = np.where(fits, of_record, 0).max(1)
    household = np.array(SAMPLE["hh"])
    for name, before, after in (
        ("individual_highest", own.max(), later.max()),
        ("expected_reidentifications", own.sum(), later.sum()),
        ("above_threshold", (own > 0.05).sum(), (later > 0.05).sum()),
        (
            "household_mean",
            household_risk(own, household).mean(),
            household_risk(later, household).mean(),
        ),
    ):
        figure = found.figure(name)
        assert (figure.before, figure.after) == pytest.approx((before, after))
    assert found.individual == pytest.approx(own)
    assert found.population == weights.sum()

    others = list(zip(PEOPLE["age"].to_pylist(), PEOPLE["sex"].to_pylist(), strict=True))
    counts = np.array([sum(other == mine for other in others) for mine in keys])
    around = inside(PEOPLE, released).sum(0)
    for name, before, after in (
        ("k_map", counts.min(), around.min()),
        ("true_population_uniques", (counts == 1).sum(), (around == 1).sum()),
        ("journalist_mean", (1 / counts).mean(), (1 / around).mean()),
        ("not_in_population", 0, 0),
    ):
        figure = found.figure(name)
        assert (figure.before, figure.after) == pytest.approx((before, after))


def test_no_person_has_fewer_matches_than_k_and_no_risk_is_above_its_bound(released):
    found = mottle.measure_risk(SAMPLE, release=released)
    bound = found.figure("bound_by_graph").after
    assert found.figure("prosecutor_highest").after <= bound
    assert found.quasi_identifiers == ("age", "sex")
    assert found.population == SAMPLE["pw"].to_numpy().sum()  # by the certificate's weight


def test_a_population_size_stands_for_equal_weights():
    schema = mottle.Schema.of(quasi_identifying=["age", "sex"])
    by_size = mottle.measure_risk(SAMPLE, schema, population_size=600)
    weighted = SAMPLE.set_column(2, "pw", pa.array([10.0] * 60))
    by_weights = mottle.measure_risk(weighted, SCHEMA)
    assert by_size.figure("individual_mean") == by_weights.figure("individual_mean")
    with pytest.raises(UsageError, match="contradicts"):
        mottle.measure_risk(SAMPLE, SCHEMA, population_size=600)


def test_people_outside_the_population_are_counted_and_not_mixed_with_the_others():
    some = PEOPLE.filter(pa.compute.less(PEOPLE["age"], 30))
    found = mottle.measure_risk(SAMPLE, SCHEMA, population=some)
    older = sum(age >= 30 for age in SAMPLE["age"].to_pylist())
    assert found.figure("not_in_population").before >= older
    assert found.figure("k_map").before >= 1


def test_weights_scaled_to_one_and_missing_ones_are_noted():
    scaled = SAMPLE.set_column(2, "pw", pa.array([0.5, None] + [1.0] * 58))
    found = mottle.measure_risk(scaled, SCHEMA)
    assert ["2 rows" in found.notes[0], "scaled back" in found.notes[1]] == [True, True]
    assert found.figure("individual_highest").before == 1


def test_the_report_for_others_holds_no_cell():
    found = mottle.measure_risk(SAMPLE, SCHEMA)
    assert "singling_values" not in found.to_dict()
    assert found.to_dict(values=True)["singling_values"][0]["column"] in ("age", "sex")
    with pytest.raises(UsageError, match="no figure"):
        found.figure("k-map")


def test_a_release_of_another_table_and_missing_roles_are_refused(released):
    with pytest.raises(DataError, match="not the table"):
        mottle.measure_risk(SAMPLE.slice(1), release=released)
    with pytest.raises(UsageError, match="No quasi-identifiers"):
        mottle.measure_risk(SAMPLE)
    with pytest.raises(DataError, match="population has no column 'sex'"):
        mottle.measure_risk(SAMPLE, SCHEMA, population=PEOPLE.drop(["sex"]))
