"""The whole line: whatever the table, the invariants hold or an error of ours says why not."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mottle
from mottle import (
    Column,
    DataError,
    GuaranteeError,
    Hierarchy,
    KAnonymity,
    MottleError,
    PrivacyError,
    Progress,
    Schema,
    SchemaError,
    UsageError,
    anonymize,
    methods,
)
from mottle.assignment import DRAWS, WALKS
from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.methods import base
from mottle.pipeline.progress import STAGES
from mottle.release.certificate import Degrees

METHODS = sorted(
    name for name, method in methods.registered().items() if KAnonymity in method.guarantees
)
LEAVES = ("Köln", "Bonn", "Lyon", "{x|y}")
TREE = Hierarchy.from_rows(
    [("Köln", "DE", "*"), ("Bonn", "DE", "*"), ("Lyon", "FR", "*"), ("{x|y}", "??", "*")]
)
LEVELS = ("lo", "", "hi|er")


@st.composite
def odd_tables(draw) -> tuple[pa.Table, Schema]:
    """Tables of 1 to 16 rows with constant, distinct, null, repeated and Unicode columns."""
    rows = draw(st.integers(1, 16))

    def column(values: st.SearchStrategy, data_type: pa.DataType) -> pa.Array:
        shape = draw(st.sampled_from(["free", "nulls", "constant", "all null"]))
        if shape == "all null":
            return pa.nulls(rows, data_type)
        if shape == "constant":
            return pa.array([draw(values)] * rows, data_type)
        cells = st.one_of(st.none(), values) if shape == "nulls" else values
        return pa.array(draw(st.lists(cells, min_size=rows, max_size=rows)), data_type)

    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
    possible = {
        "int": lambda: column(st.integers(-(2**63), 2**63 - 1), pa.int64()),
        "small": lambda: column(st.integers(0, 3), pa.uint8()),
        "distinct": lambda: pa.array(range(rows), pa.int32()),
        "float": lambda: column(st.floats(-1e300, 1e300), pa.float64()),
        "nan": lambda: pa.array([float("nan")] * rows),
        "decimal": lambda: column(st.decimals(-999, 999, places=2), pa.decimal128(7, 2)),
        "date": lambda: column(st.dates(), pa.date32()),
        "moment": lambda: column(
            st.datetimes(dt.datetime(1800, 1, 1), dt.datetime(2200, 1, 1)), pa.timestamp("us")
        ),
        "flag": lambda: column(st.booleans(), pa.bool_()),
        "word": lambda: column(text, pa.string()),
        "place": lambda: column(st.sampled_from(LEAVES), pa.string()),
        "level": lambda: column(st.sampled_from(LEVELS), pa.string()),
    }
    chosen = draw(st.lists(st.sampled_from(list(possible)), min_size=1, max_size=4, unique=True))
    columns = {name: possible[name]() for name in chosen}
    columns["name"] = pa.array([f"id {row}" for row in range(rows)])
    columns["secret"] = column(text, pa.string())
    columns["other"] = column(st.floats(), pa.float64())
    table = pa.table(columns)
    if draw(st.booleans()) and rows > 1:  # duplicate rows
        table = table.take(pa.array([row // 2 for row in range(rows)]))
    schema = Schema.of(
        quasi_identifying=chosen,
        identifying=["name"],
        unit="row",  # some tables have one name several times
        sensitive=["secret"],
        rest="insensitive",
        orders={"level": LEVELS} if "level" in chosen else {},
        hierarchies={"place": TREE} if "place" in chosen else {},
    )
    return table, schema


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=100)  # of every method: coding, covering and publishing see all of them
@given(
    case=odd_tables(),
    k=st.one_of(st.integers(2, 4), st.integers(2, 17)),
    representation=st.sampled_from(["range", "set"]),
    walk=st.sampled_from(sorted(WALKS)),
)
def test_invariants_hold_or_a_named_error_says_why(verify, method, case, k, representation, walk):
    table, schema = case
    options = {"method": method, "representation": representation, "walk": walk}
    try:
        release = anonymize(table, schema, KAnonymity(k), **options)
    except GuaranteeError:
        assert table.num_rows < k
        return
    except DataError as error:
        if any(words in str(error) for words in ("as releases have", "beyond ±1e+150")):
            return  # values that look like a release's, or that nobody can square
        raise
    assert table.num_rows >= k
    verify(table, schema, release, k)
    assert -1e-9 <= release.certificate.gcp <= 1 + 1e-9
    assert all(check.passed for check in release.certificate.checks)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("walk", sorted(WALKS))
@pytest.mark.parametrize("representation", ["range", "set"])
def test_columns_of_every_kind_keep_the_invariants(verify, people, method, walk, representation):
    for k in (2, 5, 39, 40):
        release = anonymize(
            *people, KAnonymity(k), method=method, walk=walk, representation=representation
        )
        verify(*people, release, k)


@pytest.mark.parametrize("method", METHODS)
def test_k_above_the_number_of_rows_is_refused_with_the_largest_feasible(people, method: str):
    with pytest.raises(GuaranteeError, match="largest feasible k is 40"):
        anonymize(*people, KAnonymity(41), method=method)


def test_table_of_one_row_is_refused():
    with pytest.raises(GuaranteeError, match="nobody to hide among"):
        anonymize(pa.table({"q": [1]}), Schema.of(quasi_identifying=["q"]), KAnonymity(2))


def test_empty_table_is_refused():
    table = pa.table({"q": pa.array([], pa.int64())})
    with pytest.raises(DataError, match="no rows"):
        anonymize(table, Schema.of(quasi_identifying=["q"]), KAnonymity(2))


# -------------------------------------------------------------------------------- randomness


def test_same_seed_gives_the_same_release(people):
    first, second = (anonymize(*people, KAnonymity(4), seed=11) for _ in range(2))
    assert first.table.equals(second.table)
    assert first.links.original_of_row.tolist() == second.links.original_of_row.tolist()


def test_threads_do_not_change_the_release_of_a_seed(people, monkeypatch):
    tables = []
    for threads in ("1", "4"):
        monkeypatch.setenv("MOTTLE_THREADS", threads)
        tables.append(anonymize(*people, KAnonymity(4), seed=11).table)
    assert tables[0].equals(tables[1])


def test_other_seed_gives_another_release(people):
    first, second = (anonymize(*people, KAnonymity(4), seed=seed) for seed in (1, 2))
    assert not first.table.equals(second.table)


def test_without_seed_no_two_releases_are_alike(people):
    first, second = (anonymize(*people, KAnonymity(4)) for _ in range(2))
    assert first.certificate.seed is None
    assert not first.table.equals(second.table)
    assert first.links.original_of_row.tolist() != second.links.original_of_row.tolist()


def test_row_order_tells_nothing_about_the_input_order():
    """Over many draws every input row is as often first as any other."""
    table = pa.table({"q": [1, 1, 2, 2, 3, 3], "s": list(range(6))})
    schema = Schema.of(quasi_identifying=["q"], sensitive=["s"])
    first = [
        anonymize(table, schema, KAnonymity(2), seed=seed).table.column("s")[0].as_py()
        for seed in range(300)
    ]
    counts = np.bincount(first, minlength=6)
    assert ((counts - 50) ** 2 / 50).sum() < 25.7  # chi-square, 5 degrees, p = 1e-4


# ------------------------------------------------------------------------- types and inputs


def test_types_survive():
    table = pa.table(
        {
            "int": pa.array([1, 2, 3], pa.int16()),
            "real": pa.array([1.5, 2.5, None], pa.float32()),
            "money": pa.array([Decimal("1.50")] * 3, pa.decimal128(9, 2)),
            "day": pa.array([dt.datetime(2020, 1, 1, 5)] * 3, pa.timestamp("ns", "UTC")),
            "word": ["a", "b", "c"],
            "kept": pa.array([1, None, 3], pa.uint64()),
        }
    )
    schema = Schema.of(
        quasi_identifying=["int", "real", "money", "day", "word"], insensitive=["kept"]
    )
    released = anonymize(table, schema, KAnonymity(2)).table.schema

    def span(value_type: pa.DataType) -> pa.DataType:
        return pa.struct([("lo", value_type), ("hi", value_type), ("missing", pa.bool_())])

    assert released.types == [
        span(pa.int16()),
        span(pa.float32()),
        span(pa.decimal128(9, 2)),
        span(pa.date32()),
        pa.list_(pa.string()),
        pa.uint64(),
    ]


def test_identifying_columns_are_gone_from_everything(people, release):
    assert "name" not in release.table.column_names
    assert "name" not in release.to_text().column_names
    assert "Person" not in release.certificate.to_json()
    assert "Person" not in release.to_text().to_pandas().to_string()


def test_every_kind_of_input_gives_the_same_release():
    rows = 24
    table = pa.table(
        {
            "age": pa.array([20 + row * 7 % 30 for row in range(rows)], pa.int64()),
            "city": [("Köln", "Bonn", "Lyon")[row % 3] for row in range(rows)],
            "diagnosis": [f"d{row % 5}" for row in range(rows)],
        }
    )
    schema = Schema.of(quasi_identifying=["age", "city"], sensitive=["diagnosis"])
    frame = table.to_pandas()  # noqa: F841 - DuckDB finds it by its name
    inputs = {
        "pyarrow": table,
        "chunked": pa.concat_tables([table.slice(0, 5), table.slice(5)]),
        "reader": pa.RecordBatchReader.from_batches(table.schema, table.to_batches(7)),
        "batch": table.to_batches()[0],
        "pandas": table.to_pandas(),
        "pandas with an index": table.to_pandas().set_index(pd.Index(range(100, 100 + rows))),
        "polars": pl.from_arrow(table),
        "duckdb": duckdb.sql("select * from frame"),
    }
    releases = {
        name: anonymize(data, schema, KAnonymity(3), seed=5).table for name, data in inputs.items()
    }
    for name, released in releases.items():
        assert released.to_pylist() == releases["pyarrow"].to_pylist(), name


@pytest.mark.parametrize("data", [[1, 2], {"q": [1, 2]}, None, 5])
def test_what_is_no_table_is_refused(data: object):
    with pytest.raises(UsageError, match="is not a table"):
        anonymize(data, Schema.of(quasi_identifying=["q"]), KAnonymity(2))


# ------------------------------------------------------------------------------- certificate


def test_certificate_has_every_field(people):
    certificate = anonymize(
        *people, KAnonymity(4), method="nh", seed=3, representation="set"
    ).certificate
    assert certificate.mottle == mottle.__version__
    assert certificate.guarantee.k == 4
    assert certificate.method.name == "nh"
    assert certificate.parameters.representation == "set"
    assert certificate.parameters.draw == "closed"
    assert certificate.rows == 40
    assert set(certificate.ncp) == {"age", "sex", "size", "born", "place"}
    assert certificate.gcp == pytest.approx(np.mean(list(certificate.ncp.values())))
    assert certificate.degree == Degrees(min=4, max=4, records=[(4, 40)])
    assert certificate.seed == 3
    assert [check.invariant for check in certificate.checks] == [1, 2, 3, 4, 5]
    assert all(check.passed is True for check in certificate.checks)
    assert certificate.sha256 == {}
    assert set(certificate.seconds) == {*STAGES, "calibrate"}
    assert all(seconds >= 0 for seconds in certificate.seconds.values())
    json.dumps(certificate.to_dict(), allow_nan=False)


def test_degree_of_homogeneous_groups_is_their_size(people):
    certificate = anonymize(*people, KAnonymity(4), method="hp").certificate
    assert 4 <= certificate.degree.min <= certificate.degree.max
    listed = certificate.degree.records
    assert sum(records for _, records in listed) == certificate.rows
    assert all(records % degree == 0 for degree, records in listed)


def test_certificate_quotes_no_cell(places):
    table = pa.table(
        {
            "q": ["CANARY-1", "CANARY-2", "CANARY-3"],
            "x": [73510001.5, 73510002.5, float("nan")],
            "same": ["CANARY-4"] * 3,
            "s": ["CANARY-5"] * 3,
            "id": ["CANARY-6"] * 3,
        }
    )
    schema = Schema.of(quasi_identifying=["q", "x", "same"], sensitive=["s"], identifying=["id"])
    release = anonymize(table, schema, KAnonymity(2))
    for text in (release.certificate.to_json(), repr(release), repr(release.links)):
        assert "CANARY" not in text
        assert "7351" not in text


def test_seed_is_warned_of_in_the_certificate(people):
    notes = anonymize(*people, KAnonymity(4), seed=0).certificate.notes
    assert any("seed was given" in note for note in notes)
    assert not any("seed" in note for note in anonymize(*people, KAnonymity(4)).certificate.notes)


def test_seed_from_numpy_reaches_the_certificate(people, tmp_path):
    anonymize(*people, KAnonymity(4), seed=np.int64(3)).save(tmp_path / "out")


# ---------------------------------------------------------------------------------- progress


def test_progress_sees_every_stage_in_order(people):
    seen: list[Progress] = []
    release = anonymize(*people, KAnonymity(4), method="nh", progress=seen.append)
    assert [progress.stage for progress in seen] == [*STAGES, "calibrate", "done"]
    losses = [progress.gcp for progress in seen]
    assert losses[:3] == [None] * 3
    assert set(losses[3:]) == {release.gcp}


@pytest.mark.parametrize("guarantee", [KAnonymity(4), mottle.LDiversity(2)])
def test_whoever_follows_a_run_may_know_what_every_column_loses_so_far(guarantee):
    table = mottle.datasets.population(600, seed=1).select(["age", "sex", "income", "diagnosis"])
    columns = (
        Column(name="age", role="quasi-identifying"),
        Column(name="sex", role="quasi-identifying", importance=3),
        Column(name="income", role="quasi-identifying", importance=0.5),
        Column(name="diagnosis", role="sensitive"),
    )
    seen = []

    def follow(progress: Progress) -> None:
        if progress.measure is not None:
            seen.append(progress.measure())

    for objective in ("ncp", "reading"):  # whatever is kept low, what will be stated is measured
        seen.clear()
        release = anonymize(
            table,
            Schema(columns=columns),
            guarantee,
            seed=1,
            progress=follow,
            objective=objective,
        )
        assert len(seen) > 1
        assert seen[-1].ncp == pytest.approx(release.certificate.ncp, rel=0.1)
        assert seen[-1].gcp == pytest.approx(release.certificate.gcp, rel=0.1)


def test_interruption_from_the_progress_callback_stops_the_run(people):
    def stop(progress: Progress) -> None:
        if progress.stage == "assign":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        anonymize(*people, KAnonymity(4), progress=stop)


# ----------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"method": "nhh"}, UsageError, "Did you mean 'nh'"),
        ({"walk": "clsed"}, UsageError, "Did you mean 'closed'"),
        ({"representation": "sets"}, SchemaError, "Did you mean 'set'"),
    ],
)
def test_misspelt_option_is_suggested(people, options: dict, error: type, words: str):
    with pytest.raises(error, match=words):
        anonymize(*people, KAnonymity(4), **options)


@pytest.mark.parametrize(
    "options",
    [
        {"method": None},
        {"walk": None},
        {"walk": []},
        {"representation": None},
        {"effort": "5"},
        {"effort": True},
        {"effort": -1},
        {"effort": float("nan")},
        {"effort": float("inf")},
        {"seed": "1"},
        {"seed": True},
        {"seed": 1.5},
    ],
    ids=str,
)
def test_option_of_another_type_is_refused_before_the_data_are_read(options: dict):
    with pytest.raises(UsageError):
        anonymize("absent.csv", Schema.of(quasi_identifying=["q"]), KAnonymity(4), **options)


@pytest.mark.parametrize("schema", [{}, None, "mottle.toml"])
def test_something_else_than_a_schema_is_refused(people, schema: object):
    with pytest.raises(UsageError, match="is not a schema"):
        anonymize(people[0], schema, KAnonymity(4))


def test_unknown_walk_is_refused_before_the_data_are_read():
    with pytest.raises(UsageError, match="no walk"):
        anonymize("absent.csv", Schema.of(quasi_identifying=["q"]), KAnonymity(4), walk="clsed")


def test_effort_from_numpy_reaches_the_certificate(people, tmp_path):
    anonymize(*people, KAnonymity(4), effort=np.float32(0)).save(tmp_path / "out")


UNPUBLISHABLE = {
    "list of lists": pa.array([[[1]], [[2]]]),
    "struct": pa.array([{"a": 1}, {"a": 2}]),
    "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int8())),
    "interval": pa.array([(1, 2, 3), (1, 2, 4)], pa.month_day_nano_interval()),
    "pd.cut": pa.array(pd.cut(pd.Series([1, 9]), [0, 5, 10])),
    "bytes": pa.array([b"\xff", b"\xfe"]),
    "view of bytes": pa.array([b"\xff", b"\xfe"], pa.binary_view()),
    "fixed bytes": pa.array([b"\xff", b"\xfe"], pa.binary(1)),
}


@pytest.mark.parametrize("role", ["quasi_identifying", "sensitive", "insensitive"])
@pytest.mark.parametrize("name", UNPUBLISHABLE)
def test_column_that_no_file_can_hold_is_refused_by_name_at_once(name: str, role: str):
    table = pa.table({"q": [1, 2], "odd": UNPUBLISHABLE[name]})
    roles = {"quasi_identifying": ["q"]}
    roles[role] = [*roles.get(role, []), "odd"]
    with pytest.raises((SchemaError, DataError), match="Column 'odd' holds"):
        anonymize(table, Schema.of(**roles), KAnonymity(2))
    anonymize(table, Schema.of(quasi_identifying=["q"], identifying=["odd"]), KAnonymity(2))


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
def test_lists_are_for_quasi_identifiers(role: str):
    table = pa.table({"q": [1, 2], "odd": [["a"], ["b"]]})
    with pytest.raises((SchemaError, DataError), match="Column 'odd' holds"):
        anonymize(table, Schema.of(quasi_identifying=["q"], **{role: ["odd"]}), KAnonymity(2))
    anonymize(table, Schema.of(quasi_identifying=["q", "odd"]), KAnonymity(2))


CATEGORIES = {
    "time": pa.array([dt.time(1), dt.time(2)]),
    "seconds of the day": pa.array([dt.time(1), dt.time(2)], pa.time32("s")),
    "bytes": pa.array([b"a|b", b"c"]),
    "decimal64": pa.array([Decimal("1.5"), Decimal("2.5")], pa.decimal64(5, 2)),
    "half floats": pa.array([1.5, 2.5], pa.float16()),
    "view of text": pa.array(["a", "b"], pa.string_view()),
    "dictionary": pa.array([7, 8]).dictionary_encode(),
}


@pytest.mark.parametrize("name", CATEGORIES)
@pytest.mark.parametrize("representation", ["range", "set"])
def test_unusual_quasi_identifier_is_read_back(name: str, representation: str, tmp_path):
    table = pa.table({"q": CATEGORIES[name]})
    schema = Schema.of(quasi_identifying=["q"])
    release = anonymize(table, schema, KAnonymity(2), representation=representation)
    release.save(tmp_path / "out")
    for file in ("release.csv", "release.parquet"):
        assert mottle.read_release(tmp_path / "out" / file).table.equals(release.table)


def test_something_else_than_a_guarantee_is_refused(people):
    with pytest.raises(UsageError, match="must be a Guarantee object, not of type int"):
        anonymize(*people, 5)


def test_column_without_a_role_is_refused(people):
    table, _ = people
    with pytest.raises(SchemaError, match="without a role: name, sex"):
        anonymize(table, Schema.of(quasi_identifying=["age"]), KAnonymity(4))


def test_error_about_cells_does_not_quote_them():
    table = pa.table({"q": ["a", "CANARY"], "h": ["CANARY", "f"], "n": [1.0, float("inf")]})
    sexes = Hierarchy.from_rows([("f", "*"), ("m", "*")])
    for options in ({"order": ("a", "b")}, {"kind": "number"}, {"kind": "date"}):
        column = Column(name="q", role="quasi-identifying", **options)
        with pytest.raises(MottleError) as caught:
            anonymize(table, Schema(columns=(column,), rest="insensitive"), KAnonymity(2))
        assert "CANARY" not in str(caught.value)
    for schema in (
        Schema.of(quasi_identifying=["h"], hierarchies={"h": sexes}, rest="insensitive"),
        Schema.of(quasi_identifying=["n"], rest="insensitive"),
    ):
        with pytest.raises(DataError) as caught:
            anonymize(table, schema, KAnonymity(2))
        assert "CANARY" not in str(caught.value)


# ------------------------------------------------------------------------ planted violations

N = 12
BROKEN = {
    "everybody stands for the same three": lambda: written_out([[0, 1, 2]] * N),
    "a preimage is repeated": lambda: written_out([[i, i, (i + 1) % N] for i in range(N)]),
    "a preimage is outside the block": lambda: written_out([[i, (i + 1) % N, N] for i in range(N)]),
    "a preimage is negative": lambda: written_out([[i, (i + 1) % N, -1] for i in range(N)]),
    "degree below k": lambda: rings(np.arange(N), [0, N], [2]),
    "degree above the block": lambda: rings(np.arange(N), [0, N], [N + 1]),
    "one small block": lambda: rings(np.arange(N), [0, 2, N], [2, 3]),
    "an original in two blocks": lambda: rings(np.array([0, *range(N - 1)]), [0, N], [3]),
    "an original that does not exist": lambda: rings(np.arange(N) + 1, [0, N], [3]),
    "a negative original": lambda: rings(np.arange(N) - 1, [0, N], [3]),
    "blocks end too early": lambda: rings(np.arange(N), [0, N - 2], [3]),
    "an empty block": lambda: rings(np.arange(N), [0, 0, N], [3, 3]),
}


def written_out(edges: list[list[int]]) -> Graph:
    return Graph.explicit(np.arange(N), np.array([0, N]), np.array([3]), np.array(edges).ravel())


def rings(members: np.ndarray, starts: list[int], degrees: list[int]) -> Graph:
    return Graph.rings(members, np.array(starts), np.array(degrees))


@pytest.fixture
def plant(monkeypatch):
    """Register a method that returns the given graph, for one test."""

    def add(graph: Graph) -> str:
        method = base.Method(
            "broken", "", "", Capability.K_ANONYMITY, "", lambda *_: methods.Arrangement(graph)
        )
        monkeypatch.setitem(base.METHODS._items, "broken", method)
        return "broken"

    return add


TWELVE = pa.table({"q": list(range(N)), "c": [f"c{row}" for row in range(N)]})
TWELVE_SCHEMA = Schema.of(quasi_identifying=["q", "c"])


@pytest.mark.parametrize("walk", sorted(WALKS))
@pytest.mark.parametrize("flaw", BROKEN)
def test_broken_method_publishes_nothing(plant, flaw: str, walk: str):
    method = plant(BROKEN[flaw]())
    with pytest.raises(PrivacyError, match="Invariant 1"):
        anonymize(TWELVE, TWELVE_SCHEMA, KAnonymity(3), method=method, walk=walk)


def test_method_that_forgets_rows_publishes_nothing(plant):
    method = plant(rings(np.arange(6), [0, 6], [3]))
    with pytest.raises(PrivacyError):
        anonymize(TWELVE, TWELVE_SCHEMA, KAnonymity(3), method=method)


def test_broken_assignment_publishes_nothing(monkeypatch):
    def stay(graph, first, last, key, truth):  # one-to-one, but not along edges for most records
        truth[:] = np.roll(np.arange(len(truth)), 5)

    monkeypatch.setitem(DRAWS, "closed", stay)
    with pytest.raises(PrivacyError, match="Invariant 3"):
        anonymize(TWELVE, TWELVE_SCHEMA, KAnonymity(3))


def test_assignment_that_repeats_an_original_publishes_nothing(monkeypatch):
    def repeat(graph, first, last, key, truth):
        truth[:] = 0

    monkeypatch.setitem(DRAWS, "closed", repeat)
    with pytest.raises(PrivacyError, match="Invariant 3"):
        anonymize(TWELVE, TWELVE_SCHEMA, KAnonymity(3))


def test_broken_cover_publishes_nothing(monkeypatch):
    from mottle.encoding.cover import RangeCells, cover
    from mottle.pipeline import table_records

    def too_narrow(graph, codes):
        published = cover(graph, codes)
        ranges = published.cells[0]
        assert isinstance(ranges, RangeCells)
        ranges.highest[0] -= 1
        return published

    monkeypatch.setattr(table_records, "cover", too_narrow)
    with pytest.raises(PrivacyError, match=r"Invariant 2.*'q'"):
        anonymize(TWELVE, TWELVE_SCHEMA, KAnonymity(3))
