"""Groups of identical rows: the best of the homogeneous methods, with a price that is true."""

from __future__ import annotations

import pyarrow as pa
import pytest

import mottle
from mottle import KAnonymity, LDiversity, Release, Schema, UsageError
from mottle.methods.classic import TRIED
from mottle.report import report_html
from mottle.report.identical_rows import identical_rows

COLUMNS = ["age", "sex", "education"]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return mottle.datasets.population(300, seed=6).select([*COLUMNS, "diagnosis"])


def released(table: pa.Table, method: str) -> Release:
    schema = Schema.of(quasi_identifying=COLUMNS, sensitive=["diagnosis"])
    return mottle.anonymize(table, schema, KAnonymity(5), method=method, effort=0, seed=1)


def test_it_is_the_best_of_them_and_states_what_it_costs(table: pa.Table) -> None:
    release = released(table, "classic")
    method = release.certificate.method
    losses = {name: released(table, name).gcp for name in TRIED}
    assert method.facts["losses"] == {
        name: pytest.approx(loss, abs=1e-6) for name, loss in losses.items()
    }
    assert release.gcp == pytest.approx(min(losses.values()), abs=1e-9)
    assert method.used == min(losses, key=lambda name: losses[name])
    schema = Schema.of(quasi_identifying=COLUMNS, sensitive=["diagnosis"])
    own = mottle.anonymize(
        table, schema, KAnonymity(5), method="freeform", objective="ncp", effort=0, seed=1
    )
    assert method.facts["compared_with"] == "freeform"
    assert method.facts["price"] == pytest.approx(release.gcp - own.gcp, abs=1e-6)
    (note,) = [note for note in release.certificate.notes if "points" in note]
    assert f"{100 * method.facts['price']:.1f} points" in note
    assert note in report_html(release).replace("&#39;", "'")


def test_a_checker_of_equal_rows_finds_k(table: pa.Table) -> None:
    found = identical_rows(released(table, "classic"))
    assert found is not None
    assert found.fewest >= 5


def test_bounds_on_sensitive_values_are_refused_with_the_reason(table: pa.Table) -> None:
    schema = Schema.of(quasi_identifying=COLUMNS, sensitive=["diagnosis"])
    with pytest.raises(UsageError, match="replay"):
        mottle.anonymize(table, schema, LDiversity(2), method="classic")
