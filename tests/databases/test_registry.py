"""A database is one registered object: nothing else has to know it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from live_database import DIALECTS, NOT_RUN_HERE

import mottle
from mottle import UsageError
from mottle.io.databases import is_database, parse
from mottle.io.databases.base import DATABASES, Address, Database, Transaction
from mottle.io.databases.drivers import Driver
from mottle.io.databases.file_database import FileDatabase
from mottle.io.databases.identifiers import TableName


class Shelf(FileDatabase):
    """A made-up database: a text file with one column."""

    name = "shelf"
    title = "Shelf"
    schemes = ("shelf",)
    suffixes = (".shelf",)
    example = "shelf:///FILE"
    driver = Driver(package="shelf", module="shelve", errors="shelve")

    def is_file_of(self, head: bytes) -> bool:
        return head.startswith(b"SHELF")

    def list_tables(self, address: Address) -> list[str]:
        return ["only"]

    def read_batches(self, address: Address, table: TableName | None, query: str) -> Iterator[Any]:
        lines = address.path.read_text().splitlines()[1:]
        yield pa.schema({"line": pa.large_string()})
        yield pa.record_batch({"line": pa.array(lines, pa.large_string())})

    def transaction(self, address: Address) -> AbstractContextManager[Transaction]:
        raise UsageError("A shelf is only read.")

    def translating_errors(
        self, address: Address, *, writing: bool
    ) -> AbstractContextManager[None]:
        return nullcontext()


@pytest.fixture
def shelf() -> Iterator[None]:
    list(DATABASES)  # what mottle has itself is registered first
    DATABASES.add(Shelf())
    yield
    del DATABASES._items["shelf"]


@pytest.mark.usefixtures("shelf")
def test_a_new_database_needs_nothing_but_its_registration(tmp_path: Path) -> None:
    file = tmp_path / "books.shelf"
    file.write_text("SHELF\nAda\nEve\n")
    for source in (file, f"shelf:///{file}", str(file)):
        assert is_database(source)
        found = mottle.read_database(source, table="only")
        assert found.to_pydict() == {"line": ["Ada", "Eve"]}
    assert found.schema.types == [pa.string()]  # made uniform as for every database
    with pytest.raises(UsageError, match=r"Its tables: only\."):
        mottle.read_database(file)
    with pytest.raises(UsageError, match=r"books\.shelf is a database"):
        mottle.read_table(file)
    with pytest.raises(UsageError, match=r"shelf:///FILE"):
        parse("mongodb://db/x")
    with pytest.raises(UsageError, match=r"\.shelf"):
        parse("people.csv")


def test_databases_do_not_share_schemes_or_suffixes() -> None:
    schemes = [scheme for known in DATABASES.values() for scheme in known.schemes]
    suffixes = [suffix for known in DATABASES.values() for suffix in known.suffixes]
    assert len(set(schemes)) == len(schemes)
    assert len(set(suffixes)) == len(suffixes)
    assert all(scheme == scheme.lower() for scheme in schemes)


def test_every_database_takes_part_in_these_tests() -> None:
    assert set(DIALECTS) == set(DATABASES) - NOT_RUN_HERE


@pytest.mark.parametrize("name", ["duckdb", "mariadb", "postgresql", "sqlite"])
def test_every_database_keeps_to_the_shape_of_the_others(name: str) -> None:
    known = DATABASES[name]
    assert isinstance(known, Database)
    package = Path(sys.modules[type(known).__module__].__file__ or "").parent
    files = {"__init__.py", "connect.py", "errors.py", "read.py", "types.py", "write.py"}
    assert files <= {path.name for path in package.glob("*.py")}


def test_drivers_are_not_imported_with_the_databases() -> None:
    script = (
        "import sys; from mottle.io.databases.base import DATABASES; names = list(DATABASES);"
        " import mottle.io.databases as databases; databases.parse('postgresql://db/x');"
        " print([known.driver.module for known in DATABASES.values()"
        " if known.driver.package != 'duckdb' and known.driver.module in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
