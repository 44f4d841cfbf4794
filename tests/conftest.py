"""What the tests share: Hypothesis settings, small releases, and a verifier of our own."""

from __future__ import annotations

import datetime as dt
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import mariadb_server as mariadb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from postgresql_server import Server, running_server
from spark_cluster import running_cluster
from suite import COLLECTED

from mottle import Hierarchy, KAnonymity, Release, Schema, anonymize
from mottle.schema.model import Role

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

if "PYTEST_XDIST_WORKER" in os.environ:  # threads of several workers busy-wait for each other
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same examples in every run: what others would find is the fuzzer's to look for.
settings.register_profile(
    "mottle",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("mottle")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count what was collected, before anything is deselected (`tests/test_architecture.py`).

    Tests on Spark come first: workers start with neighbouring tests, so that only one of them
    starts a cluster.
    """
    config.stash[COLLECTED] = len(items)
    items.sort(key=lambda item: not _is_on_spark(item))


def _is_on_spark(item: pytest.Item) -> bool:
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return "session" in getattr(item, "fixturenames", ()) or parameters.get("engine") == "spark"


@pytest.fixture(autouse=True, scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where runs in chunks keep their rows, instead of the cache of whoever runs the tests."""
    folder = tmp_path_factory.mktemp("work")
    os.environ["MOTTLE_WORK"] = str(folder)
    return folder


@pytest.fixture
def own_work(tmp_path: Path) -> Iterator[Path]:
    """A work folder of this test's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOTTLE_WORK", str(tmp_path / "work"))
        yield tmp_path / "work"


@pytest.fixture(scope="session")
def places() -> Hierarchy:
    return Hierarchy.from_rows(
        [
            ("Italy", "South", "Europe", "*"),
            ("Spain", "South", "Europe", "*"),
            ("France", "West", "Europe", "*"),
            ("US", "North", "America", "*"),
            ("Canada", "North", "America", "*"),
        ]
    )


@pytest.fixture(scope="session")
def people(places: Hierarchy) -> tuple[pa.Table, Schema]:
    """A table with a column of every kind and role, nulls included, and its schema."""
    rows = 40
    table = pa.table(
        {
            "name": [f"Person {row}" for row in range(rows)],
            "age": pa.array([None if row % 11 == 0 else 20 + row * 7 % 60 for row in range(rows)]),
            "sex": [("f", "m", None)[row % 3] for row in range(rows)],
            "size": [("S", "M", "L")[row * 5 % 3] for row in range(rows)],
            "born": [dt.date(1950, 1, 1) + dt.timedelta(row * 311 % 9000) for row in range(rows)],
            "place": [None if row % 13 == 0 else places.leaves[row * 3 % 5] for row in range(rows)],
            "diagnosis": [("flu", "", None, "a,b")[row % 4] for row in range(rows)],
            "note": [f'line "{row}"\nnext' for row in range(rows)],
        }
    )
    schema = Schema.of(
        identifying=["name"],
        quasi_identifying=["age", "sex", "size", "born", "place"],
        sensitive=["diagnosis"],
        insensitive=["note"],
        orders={"size": ["S", "M", "L"]},
        hierarchies={"place": places},
    )
    return table, schema


@pytest.fixture(scope="session")
def release(people: tuple[pa.Table, Schema]) -> Release:
    return anonymize(*people, KAnonymity(4), seed=1)


@pytest.fixture(scope="session")
def other_release(people: tuple[pa.Table, Schema]) -> Release:
    return anonymize(*people, KAnonymity(5), seed=2)


@pytest.fixture(scope="session")
def verify() -> Callable[[pa.Table, Schema, Release, int], None]:
    """Re-verify a release from its typed cells and its links alone, without mottle's checks."""
    return _verify


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Server]:
    """A real PostgreSQL for the whole session, one for each worker."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[mariadb.Server]:
    """A MariaDB server that the tests of this process share."""
    with mariadb.running_server() as server:
        yield server


@pytest.fixture(name="mariadb")
def empty_mariadb(mariadb_server: mariadb.Server) -> Iterator[tuple[mariadb.Server, str]]:
    """A MariaDB server and the name of an empty database."""
    with mariadb_server.new_database() as name:
        yield mariadb_server, name


@pytest.fixture
def postgresql(postgresql_server: Server) -> Iterator[str]:
    """The URL of an empty database."""
    with postgresql_server.new_database() as url:
        yield url


def _verify(table: pa.Table, schema: Schema, release: Release, k: int) -> None:
    assert release.links is not None
    edges = pa.Table.from_batches(release.links.batches()).to_pylist()
    n = table.num_rows
    published = release.table
    assert published.num_rows == n
    rows = [[edge for edge in edges if edge["published"] == row] for row in range(n)]
    matches = Counter(edge["original"] for edge in edges)
    true_originals = []
    for row, preimages in enumerate(rows):
        originals = [edge["original"] for edge in preimages]
        assert len(originals) >= k
        assert len(set(originals)) == len(originals)
        assert all(matches[original] == len(originals) for original in originals)
        true = [edge["original"] for edge in preimages if edge["true"]]
        assert len(true) == 1, f"row {row}"
        true_originals += true
    assert sorted(true_originals) == list(range(n))
    complete = schema.covering(table.column_names)
    kept = [column.name for column in complete.columns if column.role is not Role.IDENTIFYING]
    assert published.column_names == kept
    for column in complete.columns:
        if column.role is Role.IDENTIFYING:
            continue
        values = table.column(column.name).to_pylist()
        cells = published.column(column.name).to_pylist()
        if column.role is not Role.QUASI_IDENTIFYING:
            assert [_key(cell) for cell in cells] == [_key(values[o]) for o in true_originals]
            continue
        holds = _holds(column, published.schema.field(column.name).type)
        for cell, preimages in zip(cells, rows, strict=True):
            for edge in preimages:
                assert holds(cell, _comparable(values[edge["original"]])), column.name


def _key(value: object) -> object:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _comparable(value: object) -> object:
    if isinstance(value, float) and math.isnan(value):
        return None
    return value.date() if isinstance(value, dt.datetime) else value


def _holds(column, cell_type: pa.DataType) -> Callable[[object, object], bool]:
    rank = {value: place for place, value in enumerate(column.order or ())}

    def in_range(cell, value) -> bool:
        if value is None:
            return cell["missing"] is True
        low, high = cell["lo"], cell["hi"]
        if low is None:
            return False
        if rank:
            return rank[low] <= rank[value] <= rank[high]
        return low <= value <= high

    def below_node(cell, value) -> bool:
        if value is None:
            return cell is None or cell == "*"
        chain = next(row for row in column.hierarchy.rows() if row[0] == value)
        return cell in chain

    if pa.types.is_struct(cell_type):
        return in_range
    if pa.types.is_list(cell_type):
        return lambda cell, value: value in cell
    return below_node


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark cluster for all tests of a process; it takes its time to start."""
    with running_cluster(tmp_path_factory.mktemp("spark")) as running:
        yield running
