"""Every engine keeps every guarantee, and publishes everybody once."""

from __future__ import annotations

import math
from collections import Counter

import pyarrow as pa
import pytest

import mottle
from mottle import BetaLikeness, Caps, GroupCaps, KAnonymity, LDiversity, MaxDrop, Release
from mottle.guarantees.base import Guarantee
from mottle.methods.buckets.tree import CutError, Knowledge, Summary

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")

ROWS = 1300
GUARANTEES = {
    "k-anonymity": KAnonymity(6),
    "l-diversity": LDiversity(2),
    "both": KAnonymity(6) & LDiversity(2),
    "beta-likeness": BetaLikeness(4),
    "caps": Caps({"none": 0.9}, default=0.4),
}


@pytest.fixture(params=GUARANTEES)
def kept(request, engine, crowd, once) -> tuple[Guarantee, Release]:
    """A guarantee, and a release that was made to keep it."""
    guarantee = GUARANTEES[request.param]
    return guarantee, once(
        f"{engine.name}, {request.param}",
        lambda: engine.anonymize(*crowd(ROWS), guarantee, effort=0),
    )


def test_the_release_holds_everybody_and_passes_the_audit(kept, crowd) -> None:
    table, schema = crowd(ROWS)
    guarantee, release = kept
    assert release.num_rows == ROWS
    assert "person_id" not in release.table.column_names
    for name in ("diagnosis", "income"):
        published = Counter(release.table.column(name).to_pylist())
        assert published == Counter(table.column(name).to_pylist())
    report = mottle.audit_release(
        table, release, schema=schema.covering(table.column_names), guarantee=guarantee
    )
    assert report.passed, report.failed


def test_the_certificate_states_what_was_checked(kept, engine) -> None:
    guarantee, release = kept
    certificate = release.certificate
    assert certificate.kind == "table"
    assert certificate.rows == ROWS
    assert [check.invariant for check in certificate.checks] == [1, 2, 3, 4, 5]
    assert all(check.passed for check in certificate.checks)
    assert certificate.degree.min >= guarantee.degree
    assert sum(records for _, records in certificate.degree.records) == ROWS
    assert certificate.audit.level == "basic"
    assert certificate.audit.passed
    assert certificate.guarantee.statement == guarantee.describe()["statement"]
    assert set(certificate.ncp) == {"age", "sex", "education", "workclass"}
    assert 0 < certificate.gcp < 1
    assert (certificate.engine is not None) is engine.in_chunks
    if engine.in_chunks:
        assert certificate.engine.name == engine.name
        assert certificate.engine.chunks > 1


def test_several_sensitive_columns_are_capped_each_and_jointly(engine, crowd) -> None:
    table, _ = crowd(ROWS)
    schema = mottle.Schema.of(
        quasi_identifying=["age", "education"],
        sensitive=["diagnosis", "workclass"],
        identifying=["person_id"],
        rest="insensitive",
    )
    release = engine.anonymize(table, schema, BetaLikeness(6), effort=0)
    described = [facts.columns for facts in release.certificate.sensitive]
    assert described == [("workclass", "diagnosis"), ("workclass",), ("diagnosis",)]
    report = mottle.audit_release(table, release, schema=schema.covering(table.column_names))
    assert report.passed, report.failed


def test_groups_of_values_are_capped(engine, crowd) -> None:
    table, _ = crowd(ROWS)
    values = sorted(set(table.column("diagnosis").to_pylist()) - {"none"})
    groups = {"first": values[::2], "second": values[1::2]}
    grouped = mottle.Schema.of(
        quasi_identifying=["age", "sex", "education", "workclass"],
        sensitive=["diagnosis"],
        identifying=["person_id"],
        rest="insensitive",
        groups={"diagnosis": groups},
    )
    floor = MaxDrop({"none": 0.5})
    guarantee = Caps({"none": 0.9}, default=0.4) & GroupCaps({"diagnosis": 0.6}) & floor
    with pytest.raises(mottle.GuaranteeError, match="3 groups of level 1 of column 'diagnosis'"):
        engine.anonymize(table, grouped, GroupCaps({"diagnosis": 0.05}), effort=0)
    release = engine.anonymize(table, grouped, guarantee, effort=0)
    facts, others = release.certificate.sensitive[-2:]
    assert (facts.levels, facts.values, facts.alone, facts.cap) == ((1,), 3, 1, 0.6)
    share = table.column("diagnosis").to_pylist().count("none") / ROWS
    assert (others.levels, others.values) == ((), 2)
    assert others.cap == pytest.approx(1 - share / 2)
    report = mottle.audit_release(
        table, release, schema=grouped.covering(table.column_names), guarantee=guarantee
    )
    assert report.passed, report.failed


def test_what_cannot_be_met_is_refused_and_the_nearest_is_named(engine, crowd) -> None:
    table, schema = crowd(40)
    with pytest.raises(mottle.GuaranteeError, match="largest feasible k is 40"):
        engine.anonymize(table, schema, KAnonymity(41))
    with pytest.raises(mottle.GuaranteeError, match="feasible"):
        engine.anonymize(table, schema, LDiversity(30))


@pytest.mark.parametrize("guarantee", [BetaLikeness(2), KAnonymity(6)], ids=["capped", "uncapped"])
def test_values_with_one_cap_are_published_as_one_value(
    engine, crowd, guarantee: Guarantee
) -> None:
    table, schema = crowd(ROWS)
    levels = [0.0, -0.0, math.nan, None, 1.5, 2.5, 3.5, -math.inf]
    values = pa.array([levels[row % 8] for row in range(ROWS)], pa.float64())
    table = table.set_column(table.column_names.index("diagnosis"), "diagnosis", values)
    release = engine.anonymize(table, schema, guarantee, effort=0)
    published = release.table.column("diagnosis").to_pylist()
    assert Counter(map(str, published)) == {
        "0.0": 326,  # with -0.0
        "None": 326,  # with NaN
        "1.5": 162,
        "2.5": 162,
        "3.5": 162,
        "-inf": 162,
    }
    if guarantee.about_values or engine.name != "spark":  # Spark reads only what is counted
        note = "Column 'diagnosis': 163 NaN cells are taken for missing."
        assert note in release.certificate.notes
    report = mottle.audit_release(
        table, release, schema=schema.covering(table.column_names), guarantee=guarantee
    )
    assert report.passed, report.failed


def test_a_cut_that_breaks_a_cap_publishes_nothing(engine, crowd, monkeypatch) -> None:
    table, schema = crowd(4200)
    checked = []

    def broken(known: Knowledge, node: Summary) -> None:
        checked.append(node.size)
        if node.size < 3000:
            raise CutError

    monkeypatch.setattr(Knowledge, "check", broken)
    with pytest.raises(CutError, match="Nothing was published"):
        engine.anonymize(table, schema, GUARANTEES["caps"], effort=0, seed=1)
    assert checked  # the table is large enough to be cut
    left = [path for path in engine.folder.rglob("*") if path.is_file()]
    assert not any("release" in str(path.relative_to(engine.folder)) for path in left)
    if engine.name != "spark":  # whose staging folder belongs to the owner
        assert all(path.name == "input.parquet" for path in left)
