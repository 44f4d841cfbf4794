"""freeform and its refinement: regular, monotone and valid whenever it is stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import mottle
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.guarantees.demand import Demand
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.kernels.ncp_growth import FORBIDDEN, add_growth
from mottle.kernels.scales import scales
from mottle.loss.ncp import measure
from mottle.methods import MethodContext
from mottle.methods.freeform import freeform, match_in_blocks
from mottle.methods.refinement import Refined, column_losses, mean_loss, refine, table_orders
from mottle.release.certificate import Degrees
from mottle.schema.model import Objective, Representation, Schema


def codes_of(rows: int, seed: int, representation: str = "range") -> Codes:
    people = mottle.datasets.population(rows, seed=seed)
    names = ["age", "sex", "education", "marital_status", "origin", "income"]
    schema = Schema.of(
        quasi_identifying=names,
        orders={"education": mottle.datasets.EDUCATION},
        hierarchies={"origin": mottle.Hierarchy.from_rows(mottle.datasets.origin_hierarchy())},
    )
    return encode(people.select(names), schema, Representation(representation))


def gcp(codes: Codes, k: int, effort: MethodContext) -> float:
    graph = freeform(codes, Demand(k), effort).graph
    assert graph.check_regular(k) == (k, k)
    return measure(cover(graph, codes), codes).gcp


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(2, 40))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    missing = random.random(rows) < draw(st.sampled_from([0.0, 0.3, 1.0]))
    values = draw(st.sampled_from([1, 2, 5, 1000]))
    return pa.table(
        {
            "number": pa.array(random.integers(0, values, rows), mask=missing),
            "text": random.integers(0, values, rows).astype(str),
            "other": random.integers(0, 3, rows).astype(str),
        }
    )


class _Stopper:
    """Raises KeyboardInterrupt, as Ctrl-C does, at the given report of the loss."""

    def __init__(self, after: int) -> None:
        self.losses: list[float] = []
        self.after = after

    def __call__(self, gcp: float) -> None:
        self.losses.append(gcp)
        if len(self.losses) == self.after:
            raise KeyboardInterrupt


@settings(deadline=None, max_examples=60)
@given(tables(), st.data())
def test_interrupted_anywhere_the_release_is_regular_and_loss_never_rises(
    table: pa.Table, data: st.DataObject
) -> None:
    k = data.draw(st.integers(2, table.num_rows))
    stop = _Stopper(after=data.draw(st.integers(1, 6)))
    schema = Schema.of(quasi_identifying=table.column_names)
    codes = encode(table, schema, data.draw(st.sampled_from(list(Representation))))
    arrangement = freeform(codes, Demand(k), MethodContext(seconds=60, on_progress=stop))
    assert arrangement.graph.check_regular(k) == (k, k)
    refined = arrangement.facts["refinement"]
    if len(stop.losses) == stop.after:
        assert refined == {"passes": stop.after - 1, "ended": "interrupted"}
    else:  # at most one record loses anything
        assert refined == {"passes": len(stop.losses) - 1, "ended": "no more gain"}
    assert np.all(np.diff(stop.losses) <= 1e-12)
    final = measure(cover(arrangement.graph, codes), codes).gcp
    assert final == pytest.approx(stop.losses[-1])


@settings(deadline=None, max_examples=40)
@given(tables(), st.data())
def test_any_table_and_any_k_give_a_checked_release(table: pa.Table, data: st.DataObject) -> None:
    k = data.draw(st.integers(2, table.num_rows))
    schema = Schema.of(quasi_identifying=table.column_names)
    effort = data.draw(st.sampled_from([0, None]))
    release = mottle.anonymize(table, schema, KAnonymity(k), method="freeform", effort=effort)
    degree = release.certificate.degree
    assert degree == Degrees(min=k, max=k, records=[(k, table.num_rows)])


def test_the_loss_of_every_column_is_known_whenever_the_loss_is_and_adds_up_to_it() -> None:
    people = mottle.datasets.population(400, seed=1).select(["age", "sex", "education", "origin"])
    schema = Schema.of(
        quasi_identifying=people.column_names,
        orders={"education": mottle.datasets.EDUCATION},
        hierarchies={"origin": mottle.Hierarchy.from_rows(mottle.datasets.origin_hierarchy())},
    )
    for objective in Objective:
        codes = encode(people, schema, Representation.SET)
        losses, parts = [], []
        effort = MethodContext(
            on_progress=losses.append,
            on_columns=lambda measure: parts.append(measure()),  # noqa: B023
            objective=objective,
        )
        arrangement = freeform(codes, Demand(5), effort)
        assert len(parts) == len(losses) > 2
        known = measure(cover(arrangement.graph, codes), codes)
        assert (len(known.ncp) * parts[-1]).tolist() == pytest.approx(list(known.ncp.values()))
        assert parts[-1].sum() == pytest.approx(known.gcp)
        if objective is Objective.NCP:
            assert [part.sum() for part in parts] == pytest.approx(losses)


def test_losses_of_columns_in_a_large_table_are_measured_on_a_part_of_it(monkeypatch) -> None:
    codes = codes_of(3000, 1)
    metric, boxes = scales(codes), np.arange(3000, dtype=np.int32).reshape(-1, 10)
    whole = column_losses(metric, codes.matrix, boxes)
    monkeypatch.setattr("mottle.methods.refinement._SAMPLED", 1000)
    assert column_losses(metric, codes.matrix, boxes) == pytest.approx(whole, rel=0.2)
    assert column_losses(metric, codes.matrix, boxes).tolist() != whole.tolist()


def test_repeatable_refinement_stops_by_gain_and_not_by_the_clock() -> None:
    codes = codes_of(700, 1)
    limited = freeform(codes, Demand(5), MethodContext(seconds=1e-9))
    assert limited.facts["refinement"] == {"passes": 0, "ended": "time limit"}
    known = freeform(codes, Demand(5), MethodContext())
    for seconds in (1e-9, 0.05, None):
        again = freeform(codes, Demand(5), MethodContext(seconds=seconds, repeatable=True))
        assert again.facts["refinement"] == known.facts["refinement"]
        assert np.array_equal(again.graph.edges, known.graph.edges)
    with pytest.raises(KeyboardInterrupt):
        freeform(codes, Demand(5), MethodContext(on_progress=_Stopper(after=2), repeatable=True))


def test_no_time_means_blocks_without_refinement() -> None:
    codes = codes_of(700, 1)
    arrangement = freeform(codes, Demand(5), MethodContext(seconds=0))
    assert arrangement.facts["refinement"] is None
    assert len(arrangement.graph.degrees) >= 2


def test_numbers_are_not_ordered_like_categories() -> None:
    random = np.random.default_rng(1)
    numbers = pa.table({name: random.normal(size=3000).round(3) for name in "abcd"})
    codes = encode(numbers, Schema.of(quasi_identifying=list("abcd")), Representation.RANGE)
    arrangement = freeform(codes, Demand(10), MethodContext(seconds=0))
    assert arrangement.facts["order"] != "lexicographic"
    nh = mottle.methods.get("nh").arrange(codes, Demand(10), MethodContext()).graph
    loss = measure(cover(arrangement.graph, codes), codes).gcp
    assert loss < 0.5 * measure(cover(nh, codes), codes).gcp


def test_layers_inside_a_block_are_optimal_assignments_one_after_the_other() -> None:
    codes = codes_of(80, 2)
    metric = scales(codes)
    ordered = np.ascontiguousarray(codes.matrix)
    starts = np.array([0, 80])
    degree = 6
    preimages = match_in_blocks(metric, ordered, starts, degree)
    candidates = np.ascontiguousarray(ordered.T)
    marks = np.zeros(metric.domain_total, np.int32)
    cost = np.empty((80, 80))
    for layer in range(1, degree):
        for place in range(80):
            mark = layer * 80 + place
            box = preimages[place]
            add_growth(metric, ordered, box, layer, candidates, 80, marks, mark, cost[place])
            cost[place, box[:layer]] = FORBIDDEN
        ours = cost[np.arange(80), preimages[:, layer]].sum()
        assert ours == pytest.approx(cost[linear_sum_assignment(cost)].sum())


def test_refinement_goes_below_the_optimum_per_iteration() -> None:
    codes = codes_of(300, 3)
    assert gcp(codes, 8, MethodContext()) < 0.99 * gcp(codes, 8, MethodContext(seconds=0))


def test_freeform_loses_less_than_rings() -> None:
    codes = codes_of(2000, 4)
    nh = mottle.methods.get("nh").arrange(codes, Demand(10), MethodContext()).graph
    assert gcp(codes, 10, MethodContext(seconds=0)) < 0.9 * measure(cover(nh, codes), codes).gcp


def test_result_does_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = codes_of(1500, 5)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("MOTTLE_THREADS", threads)
        graph = freeform(codes, Demand(4), MethodContext(seed=9)).graph
        found.append(graph.edges)
    assert np.array_equal(*found)


def test_refinement_keeps_every_original_and_every_box_regular() -> None:
    codes = codes_of(600, 6)
    metric = scales(codes)
    ordered = np.ascontiguousarray(codes.matrix)
    preimages = match_in_blocks(metric, ordered, np.array([0, 300, 600]), 7)
    before = mean_loss(metric, ordered, preimages)
    orders = table_orders(ordered, codes.sizes)
    refined = refine(metric, ordered, orders, preimages, MethodContext(seconds=1))
    assert refined.ended == "time limit"
    assert refined.passes > 0
    assert np.all(np.bincount(preimages.ravel(), minlength=600) == 7)
    assert all(len(set(box)) == 7 for box in preimages.tolist())
    assert mean_loss(metric, ordered, preimages) < before


def test_records_that_lose_nothing_keep_their_preimages() -> None:
    people = pa.table({"age": [20] * 200 + list(range(30, 130)), "sex": ["f", "m"] * 150})
    codes = encode(people, Schema.of(quasi_identifying=["age", "sex"]), Representation.RANGE)
    metric, ordered = scales(codes), np.ascontiguousarray(codes.matrix)
    in_turn = np.lexsort(codes.matrix.T)
    ring = (np.arange(300)[:, None] + np.arange(5)) % 300
    preimages = np.empty((300, 5), np.int32)
    preimages[in_turn] = in_turn[ring]
    exact = (np.ptp(ordered[preimages], axis=1) == 0).all(axis=1)
    assert 150 < exact.sum() < 250
    before, loss = preimages.copy(), mean_loss(metric, ordered, preimages)
    context = MethodContext(options={"passes": 5})
    refined = refine(metric, ordered, table_orders(ordered, codes.sizes), preimages, context)
    assert refined == Refined(5, "passes")
    assert mean_loss(metric, ordered, preimages) < loss
    assert np.array_equal(preimages[exact], before[exact])


def test_refinement_ends_at_once_where_nothing_is_lost() -> None:
    people = pa.table({"sex": ["f", "m"] * 100})
    codes = encode(people, Schema.of(quasi_identifying=["sex"]), Representation.RANGE)
    arrangement = freeform(codes, Demand(5), MethodContext(seconds=600))
    assert arrangement.facts["refinement"] == {"passes": 0, "ended": "no more gain"}


@pytest.mark.parametrize("seconds", [0, 1e-9])
def test_a_large_k_starts_with_rings(seconds: float) -> None:
    codes = codes_of(1500, 7)
    arrangement = freeform(codes, Demand(700), MethodContext(seconds=seconds))
    assert arrangement.facts["order"] == "rings"
    assert arrangement.graph.check_regular(700) == (700, 700)


def test_huge_and_sparse_domains_do_not_blow_up_memory() -> None:
    rows = 3000
    random = np.random.default_rng(0)
    table = pa.table(
        {"postcode": random.integers(0, 20_000, rows).astype(str), "income": random.random(rows)}
    )
    schema = Schema.of(quasi_identifying=["postcode", "income"])
    release = mottle.anonymize(table, schema, KAnonymity(5), method="freeform", effort=0)
    assert 0 < (release.gcp or 0) < 1


def test_ctrl_c_while_improving_publishes_the_best_so_far(tmp_path: Path) -> None:
    script = f"""
import mottle
people = mottle.datasets.population(4000, seed=1)
schema = mottle.Schema.of(quasi_identifying=["age", "sex", "origin"], rest="insensitive")
def tell(progress):
    if progress.gcp is not None and progress.stage == "arrange":
        print("improving", flush=True)
release = mottle.anonymize(
    people, schema, mottle.KAnonymity(5), method="freeform", effort=600, progress=tell
)
print(release.certificate.method.refinement["ended"], release.certificate.notes)
release.save({str(tmp_path / "out")!r})
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "improving\n"
    assert process.stdout.readline() == "improving\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "interrupted" in output
    assert mottle.read_release(tmp_path / "out").certificate.degree.min == 5
