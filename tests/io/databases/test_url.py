"""Addresses of databases: what they are taken for, and that their passwords stay where they are."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mottle
from mottle.errors import UsageError
from mottle.io.databases.identifiers import TableName
from mottle.io.databases.url import is_database, parse, redacted


@pytest.mark.parametrize(
    ("source", "database", "location", "shown"),
    [
        ("sqlite:///here.db", "sqlite", "here.db", "sqlite:///here.db"),
        ("sqlite:////data/x.db", "sqlite", "/data/x.db", "sqlite:////data/x.db"),
        ("duckdb:///x.duckdb", "duckdb", "x.duckdb", "duckdb:///x.duckdb"),
        ("people.sqlite3", "sqlite", "people.sqlite3", "people.sqlite3"),
        ("people.DUCKDB", "duckdb", "people.DUCKDB", "people.DUCKDB"),
    ],
)
def test_files_are_known_by_scheme_and_ending(source, database, location, shown) -> None:
    address = parse(source)
    assert (address.database.name, address.location, address.shown) == (database, location, shown)


def test_an_existing_file_is_what_its_first_bytes_say(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "people.db")) as database:
        database.execute("CREATE TABLE people AS SELECT 1 AS age")
    (tmp_path / "people.db").rename(tmp_path / "people")
    (tmp_path / "other.db").write_bytes((tmp_path / "people").read_bytes())
    assert parse(tmp_path / "people").database.name == "duckdb"
    assert parse(tmp_path / "other.db").database.name == "duckdb"
    (tmp_path / "people.csv").write_text("age\n1\n")
    assert not is_database(tmp_path / "people.csv")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:secret@db:5433/clinic", "postgresql://db:5433/clinic"),
        ("postgres://ada@db/clinic", "postgresql://db/clinic"),
        ("postgresql://?service=clinic", "postgresql:///?service=clinic"),
        ("postgresql:///clinic?host=/run&password=secret", "postgresql:///clinic?host=/run"),
        ("postgresql://u:p%40x@[::1]:5432,other/d", "postgresql://[::1]:5432,other/d"),
    ],
)
def test_postgresql_is_shown_without_user_and_password(url: str, shown: str) -> None:
    address = parse(url)
    assert address.shown == shown
    assert address.location == url
    assert "secret" not in repr(address)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:secret@word@db/clinic",
        "postgresql://ada:secret/word@db/clinic",
        "postgresql://ada:secret?word@db/clinic",
        "postgresql://ada:12?secret@db/clinic",
        "postgresql://ada:12/secret@db/clinic",
        "postgresql://ada:12?host=secret@db/clinic",
        "postgresql://ada:secret%word@db/clinic",
        "postgresql://ada:secret:x/clinic",
    ],
)
def test_a_password_in_the_wrong_place_is_not_shown_as_a_host(url: str) -> None:
    with pytest.raises(UsageError, match="%40") as refused:
        parse(url)
    assert "secret" not in str(refused.value)


@given(st.text(st.characters(codec="ascii", exclude_characters="\x00"), min_size=4))
def test_no_password_survives_wherever_the_url_is_taken_apart(password: str) -> None:
    marked = f"Qz{password}Zq"
    try:
        shown = parse(f"postgresql://ada:{marked}@db/clinic").shown
    except UsageError as error:
        shown = str(error)
    assert "Qz" not in shown
    assert "Zq" not in shown


def test_unknown_schemes_and_files_say_what_there_is() -> None:
    with pytest.raises(UsageError, match=r"redis://.*sqlite:///FILE"):
        parse("redis://ada:secret@db/x")
    with pytest.raises(UsageError, match="not a database"):
        parse("people.csv")
    with pytest.raises(UsageError, match="sqlite:////data"):
        parse("sqlite://people.db")


def test_redaction_of_text_that_quotes_an_address() -> None:
    text = "argument (postgresql://ada:s@cret@db/x?password=other) and sqlite:///a.db"
    assert redacted(text) == "argument (postgresql://db/x?password=…) and sqlite:///a.db"


def test_reading_a_database_as_a_file_points_to_the_reader(tmp_path: Path) -> None:
    for source in ("postgresql://ada:secret@db/clinic", tmp_path / "people.duckdb"):
        with pytest.raises(UsageError, match="read_database") as refused:
            mottle.read_table(source)
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("people", TableName("people")),
        ("clinic.people", TableName("people", "clinic")),
        ('"a.b"."say ""hi"""', TableName('say "hi"', "a.b")),
        ("Two words", TableName("Two words")),
    ],
)
def test_names_of_tables(text: str, expected: TableName) -> None:
    assert TableName.parse(text) == expected


@pytest.mark.parametrize("text", ["", ".", "a.", ".b", "a.b.c", '"a', 'a"b"', '""'])
def test_what_is_no_name_of_a_table(text: str) -> None:
    with pytest.raises(UsageError, match="not the name of a table"):
        TableName.parse(text)
