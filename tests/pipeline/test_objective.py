"""What methods keep low: chosen, checked, followed, stated on the certificate."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import Column, DataError, KAnonymity, LDiversity, Objective, Role, Schema, UsageError
from mottle.cli.options.single import OBJECTIVES
from mottle.encoding.encode import encode
from mottle.hierarchy.tree import Hierarchy
from mottle.kernels.graph_loss import objective_loss
from mottle.kernels.ncp_growth import box_loss
from mottle.kernels.scales import scales
from mottle.schema.model import Representation

QI = ("age", "sex", "education", "origin", "workclass")
FOUR = KAnonymity(4)


def people(rows: int = 240) -> pa.Table:
    return mottle.datasets.population(rows, seed=3).select([*QI, "diagnosis"])


def schema_of(objective: Objective | None = None) -> Schema:
    tree = Hierarchy.from_rows(mottle.datasets.origin_hierarchy())
    return Schema(
        columns=(
            *(
                Column(
                    name=name,
                    role=Role.QUASI_IDENTIFYING,
                    hierarchy=tree if name == "origin" else None,
                    objective=objective,
                )
                for name in QI
            ),
            Column(name="diagnosis", role=Role.SENSITIVE),
        )
    )


def released(objective: object, guarantee=FOUR, schema=None, **options):
    method = "buckets" if guarantee.about_values else "freeform"
    return mottle.anonymize(
        people(),
        schema or schema_of(),
        guarantee,
        method=method,
        objective=objective,
        options={"passes": 2},
        seed=1,
        **options,
    )


def test_the_loss_on_the_certificate_is_the_mean_over_all_records() -> None:
    release = released("reading")
    graph, table = release.links.graph, people()
    codes = encode(table, schema_of().covering(table.column_names), Representation.RANGE)
    metric = scales(codes, 4, Objective.READING)
    marks = np.zeros(metric.domain_total, np.int32)
    boxes = [graph.members[graph.preimages(place)] for place in range(graph.records)]
    losses = [
        box_loss(metric, codes.matrix, box, len(box), marks, number + 1)
        for number, box in enumerate(boxes)
    ]
    assert release.certificate.objective.name == "reading"
    assert release.certificate.objective.loss == pytest.approx(np.mean(losses))


@pytest.mark.parametrize("guarantee", [FOUR, LDiversity(2)])
def test_every_objective_is_lowest_where_it_is_followed(guarantee) -> None:
    table = people()
    codes = encode(table, schema_of().covering(table.column_names), Representation.RANGE)
    graphs = {name: released(name, guarantee).links.graph for name in Objective}
    for objective in Objective:
        reached = {name: objective_loss(graph, codes, objective) for name, graph in graphs.items()}
        assert min(reached, key=lambda name: reached[name]) is objective


def test_ncp_as_objective_is_gcp() -> None:
    certificate = released("ncp").certificate
    assert certificate.objective.name == "ncp"
    assert certificate.objective.loss == pytest.approx(certificate.gcp)


def test_columns_may_have_another_objective_than_the_run() -> None:
    whole, by_column = released("ncp"), released("reading", schema=schema_of(Objective.NCP))
    assert by_column.table.equals(whole.table)
    assert {facts.objective for facts in by_column.certificate.columns if facts.kind} == {"ncp"}


def test_an_objective_is_refused_where_it_does_not_exist_or_is_not_followed() -> None:
    with pytest.raises(UsageError, match=r"There is no objective 'npc'\. Did you mean 'ncp'"):
        released("npc")
    with pytest.raises(UsageError, match="'nh' follows no objective") as error:
        mottle.anonymize(people(), schema_of(), KAnonymity(3), method="nh", objective="ncp")
    assert "freeform" in str(error.value)
    assert (
        mottle.anonymize(people(), schema_of(), KAnonymity(3), method="nh").certificate.objective
        is None
    )


def test_cells_that_list_values_of_others_are_named_on_the_certificate() -> None:
    rows = 60
    table = pa.table({"job": [f"job {row}" for row in range(rows)], "sex": ["f", "m"] * 30})
    release = mottle.anonymize(
        table, Schema.of(quasi_identifying=["job", "sex"]), KAnonymity(3), seed=1
    )
    (note,) = [note for note in release.certificate.notes if "list exact values" in note]
    assert "'job' has 60 different values in 60 rows" in note


def test_a_certificate_with_an_objective_that_does_not_exist_is_refused(tmp_path) -> None:
    released("reading").save(tmp_path / "out")
    file = tmp_path / "out" / "certificate.json"
    file.write_text(file.read_text("utf-8").replace('"name": "reading"', '"name": "nothing"'))
    with pytest.raises(DataError, match="entry 'objective'"):
        mottle.read_release(tmp_path / "out")


def test_the_command_line_knows_all_objectives_and_the_default() -> None:
    assert list(OBJECTIVES) == [str(objective) for objective in Objective]
    assert OBJECTIVES[0] == Objective.DEFAULT
