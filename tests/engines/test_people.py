"""Every engine counts k in people, and refuses rows of which nobody said whose they are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import GuaranteeError, KAnonymity, LDiversity, Schema, UsageError

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")

QI = ["age", "sex", "region"]


def schema_of(**given) -> Schema:
    return Schema.of(
        quasi_identifying=QI,
        insensitive=["ward", "days"],
        rest="identifying",
        kinds={"region": "prefix"},
        **given,
    )


@pytest.fixture(scope="module")
def hospital() -> pa.Table:
    return mottle.datasets.visits(320, seed=2).select(["patient", *QI, "ward", "days", "diagnosis"])


@pytest.mark.parametrize("method", ["nh", "freeform"])
def test_no_record_has_more_than_a_kth_part_of_one_person(engine, hospital, method: str) -> None:
    schema = schema_of(person="patient")
    release = engine.anonymize(hospital, schema, KAnonymity(6), method=method, effort=0)
    unit = release.certificate.unit
    people = hospital.column("patient").value_counts().field("counts").to_pylist()
    assert (unit.protects, unit.column) == ("person", "patient")
    assert (unit.people, unit.most_rows) == (320, max(people))
    assert unit.largest_share == pytest.approx(1 / 6, abs=1e-6)
    assert [check.invariant for check in release.certificate.checks] == [1, 2, 3, 4, 5, 6]
    assert "which rows belong to the same person" in release.certificate.guarantee.statement
    assert "patient" not in release.table.column_names
    in_memory = mottle.anonymize(hospital, schema, KAnonymity(6), method="nh", effort=0)
    risk, expected = release.certificate.risk, in_memory.certificate.risk
    assert risk.before == expected.before
    assert risk.before.prosecutor_mean != risk.before.marketer
    if engine.name != "memory":
        assert risk.after.prosecutor_mean is None
        assert "mean_risk" in [limit.code for limit in release.certificate.limits]
    report = mottle.audit_release(hospital, release, schema=schema.covering(hospital.column_names))
    assert report.passed, report.failed


def test_a_person_with_too_many_rows_is_refused_by_count(engine, hospital) -> None:
    frequent = pa.concat_tables([hospital.slice(0, 1)] * 300 + [hospital]).combine_chunks()
    with pytest.raises(GuaranteeError, match=r"one person has 30\d of 1,\d+ rows.*feasible k is 4"):
        engine.anonymize(frequent, schema_of(person="patient"), KAnonymity(6), effort=0)


def test_a_column_that_repeats_is_refused_unless_the_unit_is_said(engine, hospital) -> None:
    values, rows = 320, f"{hospital.num_rows:,}"
    with pytest.raises(
        UsageError, match=f"'patient' repeats: {values} values in {rows} rows"
    ) as no:
        engine.anonymize(hospital, schema_of(), KAnonymity(6), effort=0)
    assert "say --person patient; if not, say --unit row" in no.value.remedy
    by_row = engine.anonymize(hospital, schema_of(unit="row"), KAnonymity(6), effort=0)
    assert by_row.certificate.unit.protects == "row"
    assert "person" not in by_row.certificate.guarantee.statement


def test_people_with_one_row_each_are_rows(engine, crowd) -> None:
    table, _ = crowd(700)
    schema = Schema.of(quasi_identifying=["age", "sex"], person="person_id", rest="insensitive")
    release = engine.anonymize(table, schema, KAnonymity(5), method="nh", seed=1)
    unit = release.certificate.unit
    assert (unit.people, unit.most_rows, unit.largest_share) == (700, 1, None)
    assert [check.invariant for check in release.certificate.checks] == [1, 2, 3, 4, 5]


def test_missing_persons_are_refused(engine, hospital) -> None:
    names = hospital.column("patient").to_pylist()
    names[3] = names[9] = None
    table = hospital.set_column(0, "patient", pa.array(names))
    with pytest.raises(
        mottle.DataError, match=r"'patient' says whose row it is, but is empty in 2"
    ):
        engine.anonymize(table, schema_of(person="patient"), KAnonymity(6), effort=0)


def test_values_of_people_with_several_rows_are_refused(engine, hospital) -> None:
    schema = Schema.of(
        quasi_identifying=QI, sensitive=["diagnosis"], person="patient", rest="identifying"
    )
    with pytest.raises(UsageError, match="a set of values") as refused:
        engine.anonymize(hospital, schema, LDiversity(2), effort=0)
    assert "--per-person aggregate" in refused.value.remedy


def test_a_chunk_that_is_one_persons_is_refused(engine) -> None:
    rows = 1500
    age = np.arange(rows) // 10
    whose = np.where((age >= 60) & (age < 80), 0, np.arange(rows) + 1)  # all within one chunk
    table = pa.table({"patient": whose, "age": age})
    schema = Schema.of(quasi_identifying=["age"], person="patient")
    if not engine.in_chunks:  # where all rows are worked on at once
        release = engine.anonymize(table, schema, KAnonymity(5), method="nh", effort=0)
        assert release.certificate.unit.largest_share == 0.2
        return
    with pytest.raises(GuaranteeError, match="worked on at once"):
        engine.anonymize(table, schema, KAnonymity(5), method="nh", effort=0)


def _renamed(hospital: pa.Table, spell) -> pa.Table:
    """Every second row of a person has another spelling of the name."""
    names = [f"p{name}" for name in hospital.column("patient").to_pylist()]
    spelled = [spell(name) if row % 2 else name for row, name in enumerate(names)]
    return hospital.set_column(0, "patient", pa.array(spelled))


@pytest.mark.parametrize(
    "spell",
    [lambda name: f"{name.upper()} ", lambda name: name.replace("p", "\uff50")],
    ids=["case and space", "wide letters"],
)
def test_variants_in_spelling_are_one_person(engine, hospital, spell) -> None:
    schema = schema_of(person="patient")
    release = engine.anonymize(_renamed(hospital, spell), schema, KAnonymity(6), effort=0)
    unit = release.certificate.unit
    rows = hospital.column("patient").value_counts().field("counts").to_pylist()
    assert (unit.people, unit.most_rows) == (320, max(rows))


def test_numbers_that_are_none_are_missing_persons_and_zero_is_one_person(engine) -> None:
    ages = list(range(20, 60))
    whose = [float(row) for row in range(40)]
    whose[0], whose[1], whose[3] = 0.0, -0.0, float("nan")
    table = pa.table({"patient": whose, "age": ages})
    schema = Schema.of(quasi_identifying=["age"], person="patient")
    with pytest.raises(mottle.DataError, match=r"but is empty in 1 of 40"):
        engine.anonymize(table, schema, KAnonymity(2), effort=0)
    whose[3] = 3.0
    table = pa.table({"patient": whose, "age": ages})
    unit = engine.anonymize(table, schema, KAnonymity(2), effort=0).certificate.unit
    assert (unit.people, unit.most_rows) == (39, 2)


@pytest.mark.parametrize("cells", [[[1]] * 40, [{"a": 1}] * 40], ids=["list", "struct"])
def test_cells_that_name_nobody_are_refused(engine, cells) -> None:
    table = pa.table({"patient": cells, "age": list(range(40))})
    schema = Schema.of(quasi_identifying=["age"], person="patient")
    with pytest.raises(UsageError, match=r"'patient' \(--person\) holds .* do not name people"):
        engine.anonymize(table, schema, KAnonymity(2), effort=0)


def test_no_total_is_of_few_people(engine) -> None:
    """One person's eight rows are eight records, but one person."""
    whose = [0] * 8 + list(range(1, 93))
    town = ["rare"] * 8 + [("north", "south", "west")[row % 3] for row in range(92)]
    table = pa.table({"patient": whose, "town": town, "age": [row % 40 for row in range(100)]})
    schema = Schema.of(
        quasi_identifying=["town", "age"], person="patient", kinds={"town": "category"}
    )
    release = engine.anonymize(table, schema, KAnonymity(3), representation="set", effort=0)
    assert release.certificate.parameters.least_total == 4 * 8 + 1
    totals = {column.name: column.totals for column in release.columns}
    assert "rare" not in totals["town"].values
    for found in totals.values():
        assert min(found.counts) >= 33
        assert sum(found.counts) == 100
