"""What FAST07 prints: Fig. 11 through the whole pipeline, its findings on ADULT, odd tables."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import DATA

from mottle import Hierarchy, KAnonymity, LDiversity, Schema, anonymize, methods
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.encoding.sensitive import encode_sensitive
from mottle.graph.model import Graph
from mottle.guarantees.demand import Demand
from mottle.io.read_table import as_table
from mottle.loss.graph_measures import discernibility
from mottle.loss.ncp import measure
from mottle.release.certificate import Degrees
from mottle.schema.model import Representation

ADULT = DATA / "adult_arx.parquet"
needs_adult = pytest.mark.skipif(not ADULT.exists(), reason=f"the ADULT table is not at {ADULT}")

FAST07 = [
    name
    for name, method in methods.registered().items()
    if method.paper == "FAST07" and KAnonymity in method.guarantees
]


def test_methods_of_the_paper_and_its_rivals_are_registered():
    assert "anatomy" in methods.registered()
    assert set(FAST07) >= {
        "hilbert",
        "hilbert-fast",
        "idistance",
        "idistance-fast",
        "mondrian",
        "mondrian-relaxed",
        "mondrian-strict",
        "topdown",
    }


# ----------------------------------------------------------- Figure 11: categorical attributes


@pytest.mark.parametrize(
    ("countries", "published", "ncp"),
    [(["Italy", "France"], "Europe", 3 / 5), (["US", "Spain"], "*", 1.0)],
)
@pytest.mark.parametrize("method", FAST07)
def test_figure_11_countries_lose_their_common_ancestor(
    places: Hierarchy, method: str, countries: list[str], published: str, ncp: float
):
    table = pa.table({"country": countries})
    schema = Schema.of(quasi_identifying=["country"], hierarchies={"country": places})
    release = anonymize(table, schema, KAnonymity(2), method=method, seed=1)
    assert release.table.column("country").to_pylist() == [published] * 2
    assert release.certificate.ncp == {"country": pytest.approx(ncp)}
    assert release.certificate.gcp == pytest.approx(ncp)


# ------------------------------------------------------------------- Sections 3 and 6 on ADULT


@cache
def adult(attributes: int = 7) -> Codes:
    columns = ["age", "education", "sex", "race", "marital-status", "native-country", "workclass"]
    table = as_table(ADULT).select(columns[:attributes])
    return encode(table, Schema.of(quasi_identifying=table.column_names), Representation.RANGE)


@cache
def arranged(method: str, k: int, attributes: int = 7) -> Graph:
    codes = adult(attributes)
    return methods.get(method).arrange(codes, Demand(k), methods.MethodContext(seed=1)).graph


def gcp(method: str, k: int, attributes: int = 7) -> float:
    codes = adult(attributes)
    return measure(cover(arranged(method, k, attributes), codes), codes).gcp


@needs_adult
@pytest.mark.parametrize("k", [5, 10, 20, 50])
def test_figure_12a_hilbert_loses_least_and_its_fast_variant_less_than_mondrian(k: int):
    assert gcp("hilbert", k) < gcp("hilbert-fast", k) < gcp("mondrian", k)
    assert gcp("hilbert", k) < gcp("idistance", k) < gcp("idistance-fast", k)


@needs_adult
@pytest.mark.parametrize("k", [5, 10, 20, 50])
def test_figure_12b_groups_below_2k_are_more_discernible_than_strict_mondrian(k: int):
    for method in ("hilbert", "hilbert-fast", "idistance", "idistance-fast", "mondrian"):
        sizes = arranged(method, k).sizes
        assert k <= sizes.min() <= sizes.max() < 2 * k
        assert discernibility(arranged(method, k)) < discernibility(arranged("mondrian-strict", k))


@needs_adult
def test_figure_15_loss_grows_with_dimensionality_from_almost_nothing():
    losses = [gcp("hilbert", 10, attributes) for attributes in (1, 2, 4, 7)]
    assert losses == sorted(losses)
    assert losses[0] < 0.001


@needs_adult
@pytest.mark.parametrize(("k", "anonypy"), [(5, 0.0188), (10, 0.0364), (20, 0.0637), (50, 0.117)])
def test_mondrian_loses_no_more_than_the_best_known_package(k: int, anonypy: float):
    assert gcp("mondrian", k) < gcp("mondrian-strict", k) < anonypy


@needs_adult
@pytest.mark.parametrize("diversity", [2, 3, 5])
def test_figure_16_hilbert_loses_least_of_diverse_groups(diversity: int):
    table = as_table(ADULT)
    columns = ["age", "education", "sex", "race", "marital-status", "native-country", "workclass"]
    schema = Schema.of(quasi_identifying=columns, sensitive=["occupation"], rest="insensitive")
    demand = LDiversity(diversity).demand(table.num_rows, encode_sensitive(table, schema))

    def loss(method: str) -> float:
        graph = methods.get(method).arrange(adult(), demand, methods.MethodContext(seed=1)).graph
        return measure(cover(graph, adult()), adult()).gcp

    assert loss("hilbert") < loss("idistance")
    assert loss("hilbert") < loss("mondrian")
    assert loss("hilbert") < loss("anatomy")


@needs_adult
def test_topdown_of_a_sample_keeps_group_sizes_and_beats_idistance():
    table = as_table(ADULT).slice(0, 3000).select(["age", "education", "sex", "native-country"])
    codes = encode(table, Schema.of(quasi_identifying=table.column_names), Representation.RANGE)

    def loss(method: str) -> float:
        graph = methods.get(method).arrange(codes, Demand(10), methods.MethodContext(seed=1)).graph
        assert 10 <= graph.sizes.min() <= graph.sizes.max() < 20
        return measure(cover(graph, codes), codes).gcp

    assert loss("topdown") < loss("idistance")


# ---------------------------------------------------------------------------------- odd tables


@st.composite
def odd_tables(draw) -> pa.Table:
    rows = draw(st.integers(2, 24))
    kinds = {
        "constant": st.just(7),
        "number": st.one_of(st.none(), st.floats(-1e6, 1e6).map(lambda x: round(x, 1))),
        "nothing": st.none(),
        "category": st.sampled_from(["ä", "b|c", "", None]),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=4, unique=True))
    types = {"constant": pa.int64(), "number": pa.float64(), "category": pa.string()}
    return pa.table(
        {
            name: pa.array(
                draw(st.lists(kinds[name], min_size=rows, max_size=rows)),
                types.get(name, pa.null()),
            )
            for name in chosen
        }
    )


@pytest.mark.parametrize("method", FAST07)
@settings(max_examples=25)
@given(table=odd_tables(), data=st.data())
def test_odd_tables_are_published_in_verified_groups(
    verify: Callable, method: str, table: pa.Table, data: st.DataObject
):
    k = data.draw(st.integers(2, table.num_rows))
    representation = data.draw(st.sampled_from(Representation))
    schema = Schema.of(quasi_identifying=table.column_names)
    release = anonymize(
        table, schema, KAnonymity(k), method=method, representation=representation, seed=1
    )
    assert release.certificate.degree.min >= k
    if representation is Representation.RANGE:
        verify(table, schema, release, k)


@pytest.mark.parametrize("method", FAST07)
def test_table_of_k_rows_is_one_group(people: tuple[pa.Table, Schema], method: str):
    table, schema = people
    release = anonymize(table, schema, KAnonymity(table.num_rows), method=method, seed=1)
    rows = table.num_rows
    assert release.certificate.degree == Degrees(min=rows, max=rows, records=[(rows, rows)])


@pytest.mark.parametrize("method", FAST07)
def test_every_kind_of_column_is_published_in_verified_groups(
    people: tuple[pa.Table, Schema], verify: Callable, method: str
):
    table, schema = people
    verify(table, schema, anonymize(table, schema, KAnonymity(4), method=method, seed=1), 4)


@pytest.mark.parametrize("method", FAST07)
def test_same_seed_gives_the_same_groups(people: tuple[pa.Table, Schema], method: str):
    codes = encode(*people, Representation.RANGE)
    first, again = (
        methods.get(method).arrange(codes, Demand(4), methods.MethodContext(seed=5)).graph
        for _ in range(2)
    )
    assert all(itertools.starmap(np.array_equal, zip(first, again, strict=True)))
