"""Connections to a real PostgreSQL that are refused or die, and passwords nobody sees."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from adbc_driver_postgresql import dbapi
from postgresql_server import Server, rows, run

import mottle
from mottle import Release
from mottle.errors import MottleError, StorageError

BLOCKED = (
    "SELECT pid FROM pg_stat_activity"
    " WHERE wait_event_type = 'Lock' AND datname = current_database()"
)
OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


def secrets_of(server: Server) -> list[str]:
    """The password as it is and as it stands in URLs, and its telling parts."""
    return [server.password, server.url().split(":", 2)[2].split("@")[0], "s3cret", "%27word"]


def caught(writing: threading.Thread, errors: list[BaseException]) -> BaseException:
    writing.join(timeout=60)
    assert not writing.is_alive()
    (error,) = errors
    return error


def in_thread(
    errors: list[BaseException], release: Release, url: str, **options
) -> threading.Thread:
    def write() -> None:
        try:
            mottle.write_database(release, url, "open", **options)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def kill_when_blocked(url: str) -> None:
    """Terminate the writer's connection as soon as it waits for the lock we hold."""
    deadline = time.monotonic() + 60
    while not (waiting := rows(url, BLOCKED)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for (pid,) in waiting:
        run(url, f"SELECT pg_terminate_backend({pid})")


def test_connection_killed_after_all_rows_were_sent_leaves_nothing(
    postgresql: str, release: Release, tmp_path: Path
) -> None:
    errors: list[BaseException] = []
    link = tmp_path / "links.parquet"
    with dbapi.connect(postgresql) as other, other.cursor() as cursor:
        cursor.execute("CREATE TABLE open_certificate(taken int)")  # the writer has to wait here
        writing = in_thread(errors, release, postgresql, private=link)
        kill_when_blocked(postgresql)
        error = caught(writing, errors)
        other.rollback()
    assert isinstance(error, StorageError)
    assert error.exit_code == 5
    assert "was lost. Nothing was written" in str(error)
    assert rows(postgresql, "SELECT relname FROM pg_class WHERE relname LIKE 'open%'") == []
    assert not link.exists()
    mottle.write_database(release, postgresql, "open", private=link)


def test_connection_killed_while_replacing_keeps_the_old_release(
    postgresql: str, release: Release, other_release: Release
) -> None:
    mottle.write_database(release, postgresql, "open")
    before = mottle.read_database(postgresql, table="open_readable")
    errors: list[BaseException] = []
    with dbapi.connect(postgresql) as other, other.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM open_readable")  # its locks keep DROP waiting
        cursor.fetchall()
        writing = in_thread(errors, other_release, postgresql, overwrite=True)
        kill_when_blocked(postgresql)
        error = caught(writing, errors)
        other.rollback()
    assert isinstance(error, StorageError)
    assert mottle.read_database(postgresql, table="open_readable").equals(before)


def test_connection_killed_while_reading(postgresql: str) -> None:
    query = "SELECT i, repeat('x', 1000) AS text FROM generate_series(1, 200000) i"
    reader = mottle.database_batches(postgresql, query=query)
    reader.read_next_batch()
    run(postgresql, OTHERS)
    with pytest.raises(StorageError, match="was lost") as refused:
        reader.read_all()
    assert refused.value.exit_code == 5


def test_errors_of_the_reader_reach_anonymize_as_they_are(postgresql: str) -> None:
    query = "SELECT i AS age, repeat('x', 1000) AS text FROM generate_series(1, 200000) i"
    reader = mottle.database_batches(postgresql, query=query)
    reader.read_next_batch()
    run(postgresql, OTHERS)
    schema = mottle.Schema.of(quasi_identifying=["age"], rest="insensitive")
    with pytest.raises(StorageError, match="was lost"):
        mottle.anonymize(reader, schema, mottle.KAnonymity(2))


def bad_urls(server: Server) -> Iterator[tuple[str, str]]:
    """URLs that do not lead to a database, and a word of what is said about each."""
    secret = server.url().split(":", 2)[2].split("@")[0]
    yield server.url(password=server.password + "x"), "refuses this user and password"
    yield server.url().replace("owner", "nobody"), "refuses this user and password"
    yield server.url_without_password(), "asks for a password"
    yield server.url("missing"), "no such database"
    yield server.url().replace(f":{server.port}", ":1"), "no server listens there"
    yield server.url().replace("127.0.0.1", "nowhere.invalid"), "host is not known"
    yield f"{server.url()}?nonsense=1", "cannot be right"
    yield f"{server.url()}?sslmode={secret}", "cannot be right|could not be reached"
    yield f"{server.url()}?sslmode=require", "encrypted connection failed"
    yield f"postgresql://owner:{server.password}@127.0.0.1/x", "cannot be read"
    yield "postgresql://?service=nobody_defined_this", "service is not defined"


def test_no_failure_shows_the_password(
    postgresql_server: Server, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    for url, words in bad_urls(postgresql_server):
        for attempt in (
            lambda url=url: mottle.read_database(url, table="people"),
            lambda url=url: mottle.write_database(release, url, "open"),
        ):
            with pytest.raises(MottleError, match=words) as refused:
                attempt()
            shown = f"{refused.value} {refused.value!r}"
            for secret in secrets_of(postgresql_server):
                assert secret not in shown


def test_passwords_from_the_environment_and_from_a_service_file(
    postgresql_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "SELECT 1 AS one"
    monkeypatch.setenv("PGPASSWORD", postgresql_server.password)
    found = mottle.read_database(postgresql_server.url_without_password(), query=query)
    assert found.to_pylist() == [{"one": 1}]
    monkeypatch.delenv("PGPASSWORD")
    service = tmp_path / "services.conf"
    service.write_text(
        f"[clinic]\nhost=127.0.0.1\nport={postgresql_server.port}\ndbname=postgres\n"
        f"user={postgresql_server.user}\npassword={postgresql_server.password}\n"
    )
    monkeypatch.setenv("PGSERVICEFILE", str(service))
    found = mottle.read_database("postgresql://?service=clinic", query=query)
    assert found.to_pylist() == [{"one": 1}]
    with pytest.raises(MottleError, match=r"postgresql:///\?service=clinic") as refused:
        mottle.read_database("postgresql://?service=clinic&user=nobody", query=query)
    for secret in secrets_of(postgresql_server):
        assert secret not in str(refused.value)


def test_privileges_are_tried_before_a_long_run(
    postgresql: str, postgresql_server: Server, release: Release
) -> None:
    run(
        postgresql,
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
        "DROP ROLE IF EXISTS reader",
        "CREATE ROLE reader LOGIN PASSWORD 'reader'",
    )
    database = postgresql.rsplit("/", 1)[1]
    as_reader = f"postgresql://reader:reader@127.0.0.1:{postgresql_server.port}/{database}"
    with pytest.raises(StorageError, match="permission denied for schema public"):
        mottle.io.databases.check_database_target(as_reader, "open", overwrite=False)


def test_what_depends_on_an_old_release_is_not_dropped(postgresql: str, release: Release) -> None:
    mottle.write_database(release, postgresql, "open")
    run(postgresql, "CREATE VIEW mine AS SELECT count(*) FROM open")
    with pytest.raises(StorageError, match="Drop what depends on the old release"):
        mottle.write_database(release, postgresql, "open", overwrite=True)
    assert rows(postgresql, "SELECT * FROM mine") == [(40,)]


def test_native_types_of_postgresql(postgresql: str, release: Release) -> None:
    run(postgresql, "CREATE SCHEMA research")
    mottle.write_database(release, postgresql, "research.open")
    types = rows(
        postgresql,
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
        " WHERE attrelid = 'research.open'::regclass AND attnum > 0 ORDER BY attnum",
    )
    assert types == [
        ("age", "int8range"),
        ("age_may_be_missing", "boolean"),
        ("sex", "text[]"),
        ("size_lo", "text"),
        ("size_hi", "text"),
        ("born", "daterange"),
        ("place", "text"),
        ("diagnosis", "text"),
        ("note", "text"),
    ]
    cells = release.table.column("age").to_pylist()
    expected = sum(cell["lo"] is not None and cell["lo"] <= 30 <= cell["hi"] for cell in cells)
    assert rows(postgresql, "SELECT count(*) FROM research.open WHERE age @> 30::bigint") == [
        (expected,)
    ]
    assert rows(
        postgresql, "SELECT certificate->'guarantee'->>'k' FROM research.open_certificate"
    ) == [("4",)]


def test_names_longer_than_postgresql_keeps_are_refused(postgresql_server: Server, release) -> None:
    with pytest.raises(mottle.UsageError, match="longer than the 63 bytes"):
        mottle.write_database(release, postgresql_server.url(), "x" * 55)
