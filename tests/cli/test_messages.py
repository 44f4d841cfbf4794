"""What commands print: no cell of the data and no password, whatever goes wrong."""

from __future__ import annotations

import csv
import gzip
import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from mottle.cli._errors import reporting_errors
from mottle.cli.app import app
from mottle.utils.redaction import redacted

MARKER = "zqx7marker"  # part of every cell of the data
PASSWORD = "pw-hunter2"
ROWS = 30


def cell(text: object) -> str:
    return f"{MARKER}{text}"


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose cells can all be recognized in a message, numbers included."""
    folder = tmp_path_factory.mktemp("people")
    with open(folder / "people.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "sex", "place", "ill", "number"])
        for row in range(ROWS):
            ill = cell("flu") if row < 20 else cell(f"rare{row}")
            writer.writerow([7700 + row, cell(row % 2), cell(f"p{row % 3}"), ill, 8800 + row])
    return folder / "people.csv"


def printed(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output + result.stderr


QI = ("--qi", "age,sex", "--sensitive", "ill", "--rest", "insensitive")


def failing_options(folder: Path) -> dict[str, list[str | Path]]:
    """Options with which a run fails because of what is in the table."""
    hierarchy = folder / "places.csv"
    hierarchy.write_text("elsewhere;*\n", encoding="utf-8")
    return {
        "diversity that is not feasible": [*QI, "--l", "5"],
        "too many matches": [*QI, "--k", "500"],
        "kind number": ["--qi", "sex", "--rest", "insensitive", "--kind", "sex=number", "--k", "2"],
        "kind date": ["--qi", "age", "--rest", "insensitive", "--kind", "sex=date", "--k", "2"],
        "order": ["--qi", "sex", "--rest", "insensitive", "--order", "sex=a,b", "--k", "2"],
        "hierarchy": [
            *("--qi", "place", "--rest", "insensitive", "--k", "2"),
            *("--hierarchy", f"place={hierarchy}"),
        ],
        "bins": [*QI, "--bins", "ill=3", "--l", "2"],
        "no role": ["--qi", "age", "--k", "2"],
        "unknown column": ["--qi", "agee", "--rest", "insensitive", "--k", "2"],
        "unknown method": [*QI, "--k", "2", "--method", "nhh"],
        "in parts": [*QI, "--l", "5", "--memory", "1GB"],
    }


@pytest.mark.parametrize("what", list(failing_options(Path("/tmp"))))
def test_errors_of_runs_hold_no_cell(people: Path, tmp_path: Path, what: str) -> None:
    """At 8cdc187 errors about guarantees quoted a sensitive value and its count."""
    code, text = printed(
        "anonymize", people, *failing_options(tmp_path)[what], "-o", tmp_path / "o"
    )
    assert code != 0, what
    assert MARKER not in text
    assert not any(str(number) in text for number in (*range(7700, 7730), *range(8800, 8830)))
    assert not (tmp_path / "o").exists()


def damaged_files(content: bytes) -> dict[str, bytes]:
    lines = content.splitlines(keepends=True)
    return {
        "short.csv": b"".join([*lines[:5], f"{MARKER},1\n".encode(), *lines[5:]]),
        "quote.csv": b"".join([*lines[:5], f'1,"{MARKER}x\n'.encode(), *lines[5:]]),
        "bytes.csv": content + b"7,\xff\xfe\x00," + MARKER.encode() + b"\n",
        "binary.csv": b"\0" * 50 + content,
        "people.parquet": b"PAR1" + content + b"PAR1",
        "people.arrow": b"ARROW1" + content,
        "people.csv.gz": gzip.compress(content)[:-20],
        "header.csv": lines[0],
    }


@pytest.mark.parametrize("name", list(damaged_files(b"a\n")))
def test_errors_about_damaged_files_hold_no_cell(people: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(damaged_files(people.read_bytes())[name])
    for command in (["inspect"], ["anonymize", *QI, "--k", "2", "-o", str(tmp_path / "o")]):
        code, text = printed(command[0], path, *command[1:])
        assert code in (2, 4), text
        assert MARKER not in text


def test_messages_of_a_good_run_and_of_its_audit_hold_no_cell(people: Path, tmp_path: Path) -> None:
    options = [*QI, "--k", "3", "--seed", "1", "-o", tmp_path / "out"]
    code, text = printed("anonymize", people, *options, "--private", tmp_path / "links.parquet")
    assert code == 0
    assert MARKER not in text
    other = tmp_path / "other.csv"
    other.write_text(people.read_text(encoding="utf-8").replace("77", "66"), encoding="utf-8")
    for original in (people, other):
        _, text = printed(
            "audit", original, tmp_path / "out", "--private", tmp_path / "links.parquet"
        )
        assert MARKER not in text
    table = pq.read_table(tmp_path / "links.parquet")
    pq.write_table(table.set_column(0, "published", pa.array([0] * len(table))), tmp_path / "l2")
    _, text = printed("audit", people, tmp_path / "out", "--private", tmp_path / "l2")
    assert MARKER not in text
    certificate = (tmp_path / "out" / "certificate.json").read_text(encoding="utf-8")
    assert MARKER not in certificate


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ada:{PASSWORD}@127.0.0.1:1/clinic",
        f"postgresql://ada:{PASSWORD} x@127.0.0.1:1/clinic",
        f"postgresql://127.0.0.1:1/clinic?password={PASSWORD}",
        f"mysql://ada:{PASSWORD}@127.0.0.1/clinic",
    ],
)
def test_errors_about_databases_hold_no_password(people: Path, tmp_path: Path, url: str) -> None:
    for arguments in (
        ["anonymize", url, "--table", "t", *QI, "--k", "2", "-o", tmp_path / "o"],
        ["anonymize", url, *QI, "--k", "2", "-o", tmp_path / "o"],
        ["anonymize", people, *QI, "--k", "2", "--to", url, "--to-table", "t"],
        ["inspect", url, "--table", "t"],
    ):
        code, text = printed(*arguments)
        assert code != 0
        assert PASSWORD not in text


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://ada:{PASSWORD}@db/x",
        f"could not connect to postgresql://ada:{PASSWORD} and more@db/x",
        f"postgresql://ada:pa/{PASSWORD}@db/x",
        f"host=db password={PASSWORD}",
        f"host=db password = '{PASSWORD} with spaces'",
        f'PGPASSWORD="{PASSWORD} x" psql',
        f"?user=ada&password={PASSWORD}&sslmode=require",
    ],
)
def test_passwords_are_removed_from_texts(text: str) -> None:
    assert PASSWORD not in redacted(text)


def test_passwords_are_removed_from_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        with reporting_errors():
            logging.getLogger("driver").warning("connecting to %s", f"pg://ada:{PASSWORD}@db/x")
    finally:
        root.handlers = handlers
    shown = capsys.readouterr().err
    assert "connecting to" in shown
    assert PASSWORD not in shown
